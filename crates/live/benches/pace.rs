//! What departures are worth here: how far off they are for each way of sending, beside what a loop that
//! only looks at the clock is off by on the same machine in the same minute, and beside trafgen, tcpreplay
//! and plain sleep.
//!
//! Everybody is judged by the same kernel stamps at the far end of a veth pair: on such a pair they are
//! taken inside the call that sends. A peer that is not there is left out with a word. `BENCH_SECONDS`
//! (default 2) is the time of each row; the figures are percentiles in us.

use ::capture::clock::now_ns;
use live::netns::{Namespace, VethEnd, veth};
use live::port::pace::{Floor, PaceReport, Pacer};
use live::port::{self, Options, Port, Transmit};
use live::scheduling::{Priority, real_time};
use node::outcome::{Spread, TimingError};
use node::{Channel, Frame, Graph, Histogram, Node, Out, Properties, Time};
use packet::capture::PcapWriter;
use packet::{Departure, Tick};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const NS: Time = Time::from_ns(1);

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let seconds = std::env::var("BENCH_SECONDS").ok();
    let seconds: f64 = seconds.and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let (Ok(a), Ok(b)) = (Namespace::new(), Namespace::new()) else {
        println!("skipped: making network namespaces needs root");
        return;
    };
    let end = |namespace, name| VethEnd {
        namespace,
        name,
        mac: None,
    };
    veth([end(&a, "a"), end(&b, "b")], 1500).expect("a veth pair");
    let place = std::env::temp_dir().join(format!("wl-pace-bench-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a place for captures");
    let bench = Bench {
        a,
        b,
        place,
        seconds,
    };
    machine(seconds);
    for gap in [10_000_000, 500_000, 100_000, 20_000] {
        bench.schedule(gap);
    }
    let _ = std::fs::remove_dir_all(&bench.place);
}

#[expect(clippy::disallowed_methods, reason = "a benchmark lasts its time")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn head(title: &str) {
    println!("\n{title}");
    println!(
        "  {:<44} {:>9} {:>9} {:>9} {:>10}",
        "us", "p50", "p99", "p99.9", "max"
    );
}

fn row(name: &str, spread: Spread) {
    let us = |time: Time| time.as_ns() as f64 / 1e3;
    println!(
        "  {name:<44} {:>9.3} {:>9.3} {:>9.3} {:>10.2}",
        us(spread.p50),
        us(spread.p99),
        us(spread.p999),
        us(spread.max)
    );
}

/// What the machine is worth: bare loops, and wake-ups.
fn machine(seconds: f64) {
    let spin = |priority: Option<Priority>| {
        let (mut floor, mut now) = (Floor::default(), now_ns());
        // Less than what the kernel allows a real-time thread.
        let end = now + (seconds.min(0.8) * 1e9) as u64;
        while now < end {
            let looked = now_ns();
            floor.record(looked - now);
            now = looked;
        }
        drop(priority);
        floor.spread()
    };
    let on_a_thread = |name: &str, body: &(dyn Fn() -> Spread + Sync)| {
        let spread = std::thread::scope(|scope| scope.spawn(body).join().expect("a thread"));
        row(name, spread);
    };
    head("the machine: a loop that only looks at the clock, and sleeps of 400 us");
    on_a_thread("bare loop, ordinary thread", &|| spin(None));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for core in 0..cores.min(4) {
        // Each thread that hurries gets the next core.
        let name = format!("bare loop, real-time, {core}. core from the last");
        on_a_thread(&name, &|| spin(Some(real_time())));
    }
    let sleep = || {
        let mut late = Histogram::default();
        for _ in 0..(seconds / 400e-6) as u64 {
            let wanted = now_ns() + 400_000;
            pause(Duration::from_micros(400));
            late.record(now_ns().saturating_sub(wanted));
        }
        late.spread(NS)
    };
    on_a_thread("wake-up from sleep, ordinary thread", &sleep);
    on_a_thread("wake-up from sleep, real-time", &|| {
        let _priority = real_time();
        sleep()
    });
}

/// Processor time of this process so far, ns, in the 10 ms that Linux counts in (proc(5)).
fn processor_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name, in brackets, may hold blanks.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|text| text.parse::<u64>().ok())
        .sum::<u64>()
        * 10_000_000
}

fn frame() -> Vec<u8> {
    let mut frame = b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x88\xb5".to_vec();
    frame.resize(60, 0x55);
    frame
}

struct Bench {
    a: Namespace,
    b: Namespace,
    /// Where captures and scripts for the peers are.
    place: PathBuf,
    seconds: f64,
}

fn open(namespace: &Namespace, name: &str) -> Result<Port, String> {
    let spec = name.parse().expect("a port's name");
    let port = namespace.enter(|| port::open(&spec, &Options::default()));
    port.expect("a namespace")
        .map_err(|error| error.to_string())
}

/// The kernel's stamps of the benchmark's frames at the far end.
fn stamps(port: &mut Port) -> Vec<u64> {
    let mut stamps = Vec::new();
    let wait = Duration::from_millis(20);
    let mut take = |packet: port::Received<'_>| {
        if packet.bytes.get(12..14) == Some(&[0x88, 0xb5]) {
            stamps.push(packet.at_ns);
        }
    };
    while port
        .rx
        .receive(wait, &mut take)
        .expect("a port that receives")
        > 0
    {}
    stamps
}

/// How far off the stamps are from an even schedule that begins where it fits best; and how far off
/// each gap is.
fn judge(stamps: &[u64], gap: u64) -> (Spread, Spread) {
    let mut offsets: Vec<i64> = stamps
        .iter()
        .enumerate()
        .map(|(n, &at)| at as i64 - (n as u64 * gap) as i64)
        .collect();
    offsets.sort_unstable();
    let middle = offsets.get(offsets.len() / 2).copied().unwrap_or(0);
    let (mut schedule, mut gaps) = (Histogram::default(), Histogram::default());
    for offset in offsets {
        schedule.record(offset.abs_diff(middle));
    }
    for pair in stamps.windows(2) {
        gaps.record((pair[1] - pair[0]).abs_diff(gap));
    }
    (schedule.spread(NS), gaps.spread(NS))
}

impl Bench {
    fn schedule(&self, gap: u64) {
        let count = (self.seconds * 1e9 / gap as f64) as u64;
        let what = format!("{count} departures, {} apart", Time::from_ns(gap));
        let mut far = open(&self.b, "b").expect("a port");
        head(&format!("{what}: error as the far end's kernel sees it"));
        let mut own = Vec::new();
        let mut ours = |name: &str, near: Result<Port, String>, far: &mut Port| match near {
            Err(why) => println!("  {name:<44} skipped: {why}"),
            Ok(near) => {
                stamps(far);
                let (began, used) = (now_ns(), processor_ns());
                let (start, report) = paced(near.tx, gap, count);
                let share = (processor_ns() - used) as f64 / (now_ns() - began) as f64;
                let seen = stamps(far);
                let mut exact = Histogram::default();
                for (n, at) in seen.iter().enumerate() {
                    exact.record(at.abs_diff(start + n as u64 * gap));
                }
                let (_, gaps) = judge(&seen, gap);
                row(
                    &format!("{name}: against the time asked for"),
                    exact.spread(NS),
                );
                row(&format!("{name}: gaps"), gaps);
                own.push((name.to_string(), report.timing, Some(share)));
            }
        };
        ours("wire", open(&self.a, "a"), &mut far);
        ours("wire, AF_XDP", open(&self.a, "xdp:a"), &mut far);
        match open(&self.a, "tap:t0") {
            Err(why) => println!("  wire, TAP: skipped: {why}"),
            Ok(near) => match open(&self.a, "t0") {
                Err(why) => println!("  wire, TAP: skipped: {why}"),
                Ok(mut far) => ours("wire, TAP", Ok(near), &mut far),
            },
        }
        let near = open(&self.a, "a").expect("a port");
        stamps(&mut far);
        sleeping(near.tx, gap, count);
        self.show("plain sleep", gap, &stamps(&mut far));
        self.peer("trafgen -t", gap, self.trafgen(gap, count), &mut far);
        let replay = |timer| self.tcpreplay(gap, count, timer);
        self.peer("tcpreplay -p", gap, replay("nano"), &mut far);
        self.peer("tcpreplay -p -T gtod", gap, replay("gtod"), &mut far);
        head(&format!("{what}: what wire itself reports"));
        own.extend(Bench::graph(gap, count).map(|(name, timing)| (name, timing, None)));
        for (name, timing, share) in own {
            row(&format!("{name}: raw"), timing.raw);
            row(&format!("{name}: without pauses"), timing.trimmed);
            row(
                &format!("{name}: the floor in the same thread"),
                timing.floor,
            );
            if timing.stamped > 0 {
                row(&format!("{name}: at the driver"), timing.at_driver);
            }
            if let Some(share) = share {
                println!("  {name}: {:.0} % of a core", 100.0 * share);
            }
            let ratio = |a: Time, b: Time| a.as_ns() as f64 / b.as_ns().max(1) as f64;
            println!(
                "  {name}: over the floor: p50 {:.1}x, p99 {:.1}x, p99.9 {:.1}x; {} ahead, earliest {}; \
                 real-time {}, {} in pauses",
                ratio(timing.raw.p50, timing.floor.p50),
                ratio(timing.raw.p99, timing.floor.p99),
                ratio(timing.raw.p999, timing.floor.p999),
                timing.lead,
                timing.earliest,
                timing.real_time,
                timing.in_pauses,
            );
        }
    }

    /// The same schedule by a node in a graph on a veth pair.
    fn graph(gap: u64, count: u64) -> Option<(String, TimingError)> {
        struct Source(u64, u64, u64);
        impl Node for Source {
            fn properties(&self) -> Properties {
                Properties::of(1)
            }

            fn frames(
                &mut self,
                _: node::Time,
                _: node::Port,
                frames: &mut Vec<Frame>,
                out: &mut Out,
            ) {
                for frame in frames.drain(..) {
                    out.done(frame);
                }
            }

            fn wake(&mut self, now: Time, out: &mut Out) {
                while let Some(at) = self.next_wake().filter(|&at| at <= now) {
                    let mut frame = out.frame();
                    frame.extend(&self::frame());
                    out.send_at(node::Port(0), at, frame);
                    self.0 += 1;
                }
            }

            fn next_wake(&self) -> Option<Time> {
                (self.0 < self.1).then(|| Time::from_ns(self.2 * (self.0 + 1)))
            }
        }
        let mut graph = Graph::default();
        let source = graph.add("source", Box::new(Source(0, count, gap)));
        let sink = graph.add("sink", Box::new(Source(0, 0, gap)));
        graph.connect((source, 0), (sink, 0), Channel::default());
        let outcome = live::world::run(graph, live::world::Options::default());
        let timing = outcome.map(|outcome| outcome.timing.unwrap_or_default());
        match timing {
            Ok(timing) => Some(("wire, a graph".into(), timing)),
            Err(error) => {
                println!("  wire, a graph: skipped: {error}");
                None
            }
        }
    }

    fn show(&self, name: &str, gap: u64, stamps: &[u64]) {
        if stamps.len() < 2 {
            return println!("  {name:<44} sent nothing");
        }
        let (schedule, gaps) = judge(stamps, gap);
        row(&format!("{name}: against the even schedule"), schedule);
        row(&format!("{name}: gaps"), gaps);
    }

    fn peer(&self, name: &str, gap: u64, mut command: Command, far: &mut Port) {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        stamps(far);
        let said = self.place.join("said");
        let errors = std::fs::File::create(&said).expect("a file");
        let Ok(child) = quiet.stderr(errors).process_group(0).spawn() else {
            return println!("  {name:<44} skipped: not installed");
        };
        wait(child, Duration::from_secs_f64(self.seconds * 4.0 + 5.0));
        let seen = stamps(far);
        self.show(name, gap, &seen);
        if seen.is_empty() {
            print!("{}", std::fs::read_to_string(said).unwrap_or_default());
        }
    }

    fn trafgen(&self, gap: u64, count: u64) -> Command {
        let script = self.place.join("trafgen.cfg");
        let bytes: Vec<String> = frame().iter().map(|byte| format!("0x{byte:02x}")).collect();
        std::fs::write(&script, format!("{{ {} }}\n", bytes.join(", "))).expect("a script");
        let mut command = self.a.command("trafgen");
        command
            .args(["--dev", "a", "--cpus", "1", "--prio-high", "--no-cpu-stats"])
            .args(["--gap", &format!("{gap}ns"), "--num", &count.to_string()])
            .arg("--conf")
            .arg(&script);
        command
    }

    fn tcpreplay(&self, gap: u64, count: u64, timer: &str) -> Command {
        let path = self.place.join("one.pcap");
        let mut bytes = Vec::new();
        PcapWriter::MICRO.header(1, 65_535, &mut bytes);
        PcapWriter::MICRO.packet(0, &frame(), &mut bytes);
        std::fs::write(&path, bytes).expect("a capture");
        let mut command = self.a.command("tcpreplay");
        let pps = 1e9 / gap as f64;
        command
            .args(["-i", "a", "-K", "-T", timer])
            .args(["--pps", &pps.to_string(), "--loop", &count.to_string()])
            .arg(&path);
        command
    }
}

/// Sends on a schedule; when it began, and what came of it.
fn paced(tx: Box<dyn Transmit>, gap: u64, count: u64) -> (u64, PaceReport) {
    let frame = frame();
    let pacer = Pacer::start(tx, Tick::EIGHT_NS).expect("a thread");
    let start = now_ns() / 8 * 8 + 20_000_000;
    for n in 0..count {
        let at = Departure::At((start + n * gap) / 8);
        pacer.submit(at, &frame).expect("a pacer that takes frames");
    }
    (start, pacer.finish())
}

fn sleeping(mut tx: Box<dyn Transmit>, gap: u64, count: u64) {
    let frame = frame();
    let start = now_ns() + 5_000_000;
    for n in 0..count {
        pause(Duration::from_nanos(
            (start + n * gap).saturating_sub(now_ns()),
        ));
        tx.send(&[&frame]).expect("a port that sends");
    }
}

/// Waits for a program, or ends it and those that it has started.
fn wait(mut child: Child, most: Duration) {
    for _ in 0..most.as_millis() / 20 {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        pause(Duration::from_millis(20));
    }
    // SAFETY: a signal to a group that this program made and whose leader it has not lost sight of.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let _ = child.wait();
}
