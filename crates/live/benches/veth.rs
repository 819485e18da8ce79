//! Live ports over a veth pair between two namespaces, against tcpreplay, trafgen, tcpdump,
//! netsniff-ng and scapy; and how exact departures are, against plain sleep.
//!
//! Everybody is measured the same way: by the far interface's packet counter over the same time for
//! sending and forwarding, and by what they say they got out of the same flood for receiving. A peer
//! that is not there is left out with a word. `BENCH_SECONDS` (default 1) is the time of each row.

#[path = "bed/mod.rs"]
mod bed;

use ::capture::clock::now_ns;
use bed::{Bed, counter, open, pause, rate};
use live::netns::Namespace;
use live::port::pace::Pacer;
use live::port::{Options, Port, Received};
use node::{Frame, Node, Out, Properties};
use packet::capture::PcapWriter;
use packet::{Departure, Tick};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Frames that a call sends.
const BATCH: usize = 64;

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let Some(bed) = Bed::new("live", 1.0) else {
        return;
    };
    for len in [60, 1514] {
        bed.send(len);
        bed.receive(len);
        bed.forward(len);
    }
    bed.pace();
}

fn frame(len: usize) -> Vec<u8> {
    let mut frame = b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x88\xb5".to_vec();
    frame.resize(len, 0x55);
    frame
}

fn options(ring: bool) -> Options {
    Options {
        ring,
        ..Options::default()
    }
}

struct Row {
    name: String,
    rate: f64,
    note: String,
}

fn table(title: &str, rows: &[Row]) {
    println!("\n{title}");
    let ours = rows.first().map_or(0.0, |row| row.rate);
    for row in rows {
        let ratio = ours / row.rate.max(1.0);
        println!(
            "  {:<28} {:>9.1} kpps   {:>7.2}x   {}",
            row.name,
            row.rate / 1e3,
            ratio,
            row.note
        );
    }
    println!("  (x: the first row's rate over this row's)");
}

/// Starts a program, or tells why not.
fn start(mut command: Command) -> Result<Child, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A group of its own, so that what it starts in turn can be ended with it.
    quiet
        .process_group(0)
        .spawn()
        .map_err(|_| format!("skipped: {name} is not installed"))
}

/// Ends a program and its children as Ctrl-C does, or by force, and returns what it said.
fn end(mut child: Child) -> String {
    let group = -(child.id() as i32);
    // SAFETY: a signal to a group that this program made and whose leader it has not lost sight of.
    let signal = |signal| unsafe { libc::kill(group, signal) };
    signal(libc::SIGINT);
    for _ in 0..100 {
        if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        pause(Duration::from_millis(20));
    }
    // Whoever is left of the group, such as the children of a leader that has gone.
    signal(libc::SIGKILL);
    let output = child
        .wait_with_output()
        .expect("a child that can be waited for");
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    if !output.status.success() && output.status.signal().is_none() && said.is_empty() {
        said = output.status.to_string();
    }
    said
}

/// Sends as fast as it can until told to stop.
fn flood(port: &mut Port, len: usize, stop: &AtomicBool) -> u64 {
    let frame = frame(len);
    let frames = [&frame[..]; BATCH];
    while !stop.load(Ordering::Relaxed) {
        port.tx.send(&frames).expect("a port that sends");
    }
    port.tx.counters().sent
}

impl Bed {
    fn peer(&self, name: &str, at: &str, command: Command) -> Row {
        let row = |rate, note: String| Row {
            name: name.into(),
            rate,
            note,
        };
        let mut child = match start(command) {
            Ok(child) => child,
            Err(why) => return row(0.0, why),
        };
        // Until it has read its input.
        let place = if at == "b" { &self.b } else { &self.c };
        for _ in 0..300 {
            let before = counter(place, at);
            pause(Duration::from_millis(20));
            if counter(place, at) - before > 2 || matches!(child.try_wait(), Ok(Some(_))) {
                break;
            }
        }
        let (_, rate) = rate(place, at, self.time);
        let said = end(child);
        let note = match rate < 1.0 {
            true => format!("nothing sent: {}", said.lines().last().unwrap_or_default()),
            false => String::new(),
        };
        row(rate, note)
    }

    fn ours(
        &self,
        name: &str,
        at: (&Namespace, &str),
        body: impl FnOnce(&AtomicBool) + Send,
    ) -> Row {
        let stop = AtomicBool::new(false);
        let cpu = AtomicU64::new(0);
        let began = now_ns();
        let mut measured = 0.0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                body(&stop);
                cpu.store(thread_cpu_ns(), Ordering::Relaxed);
            });
            pause(Duration::from_millis(50));
            (_, measured) = rate(at.0, at.1, self.time);
            stop.store(true, Ordering::Relaxed);
        });
        let cores = cpu.load(Ordering::Relaxed) as f64 / (now_ns() - began) as f64;
        Row {
            name: name.into(),
            rate: measured,
            note: format!("{cores:.2} core"),
        }
    }

    fn send(&self, len: usize) {
        let mut rows = Vec::new();
        let at = (&self.b, "b");
        let mut port = open(&self.a, "a", &options(false)).expect("a port");
        rows.push(self.ours("wire, sendmmsg of 64", at, |stop| {
            flood(&mut port, len, stop);
        }));
        let single = frame(len);
        rows.push(self.ours("wire, one by one", at, |stop| {
            while !stop.load(Ordering::Relaxed) {
                port.tx.send(&[&single]).expect("a port that sends");
            }
        }));
        match open_xdp(&self.a, "a") {
            Ok(mut port) => rows.push(self.ours("wire, AF_XDP", at, |stop| {
                flood(&mut port, len, stop);
            })),
            Err(note) => rows.push(Row {
                name: "wire, AF_XDP".into(),
                rate: 0.0,
                note,
            }),
        }
        let capture = self.capture(len);
        let mut command = self.a.command("tcpreplay");
        command
            .args(["-i", "a", "--topspeed", "-K", "--loop", "1000000"])
            .arg(&capture);
        rows.push(self.peer("tcpreplay --topspeed -K", "b", command));
        let script = self.place.join("trafgen.cfg");
        let bytes: Vec<String> = single.iter().map(|byte| format!("0x{byte:02x}")).collect();
        std::fs::write(&script, format!("{{ {} }}\n", bytes.join(", "))).expect("a script");
        let mut command = self.a.command("trafgen");
        command
            .args(["--dev", "a", "--cpus", "1", "--num", "1000000000", "--conf"])
            .arg(&script);
        rows.push(self.peer("trafgen, one CPU", "b", command));
        let mut command = self.a.command("/usr/bin/python3");
        let program = format!(
            "from scapy.all import *\ns=conf.L2socket(iface='a')\np=Raw(b'\\x55'*{len})\n\
             while True: s.send(p)"
        );
        command.args(["-c", &program]);
        rows.push(self.peer("scapy, L2socket.send", "b", command));
        table(&format!("send, {len} bytes and FCS"), &rows);
    }

    fn capture(&self, len: usize) -> PathBuf {
        let path = self.place.join(format!("{len}.pcap"));
        let mut bytes = Vec::new();
        PcapWriter::MICRO.header(1, 65_535, &mut bytes);
        for n in 0..1000 {
            PcapWriter::MICRO.packet(n * 1_000_000_000, &frame(len), &mut bytes);
        }
        std::fs::write(&path, bytes).expect("a capture");
        path
    }

    /// Floods for the time of a row; how many were sent, and in how many ns.
    fn flood_for_a_while(&self, len: usize) -> (u64, u64) {
        let mut port = open(&self.a, "a", &options(false)).expect("a port");
        let (stop, began) = (AtomicBool::new(false), now_ns());
        let sent = std::thread::scope(|scope| {
            let sender = scope.spawn(|| flood(&mut port, len, &stop));
            pause(self.time);
            stop.store(true, Ordering::Relaxed);
            sender.join().expect("a thread that sends")
        });
        (sent, now_ns() - began)
    }

    fn receive(&self, len: usize) {
        let mut rows = Vec::new();
        let methods: [(&str, Opener); 3] = [
            ("wire, ring", |bed| open(&bed.b, "b", &options(true))),
            ("wire, recvmmsg", |bed| open(&bed.b, "b", &options(false))),
            ("wire, AF_XDP", |bed| open_xdp(&bed.b, "b")),
        ];
        for (name, opener) in methods {
            rows.push(match opener(self) {
                Ok(port) => self.receive_ours(name, port, len),
                Err(note) => Row {
                    name: name.into(),
                    rate: 0.0,
                    note,
                },
            });
        }
        let mut command = self.b.command("tcpdump");
        command.args(["-i", "b", "-n", "-B", "32768", "-w", "/dev/null"]);
        rows.push(self.receive_peer("tcpdump -w /dev/null", command, len, &["packets captured"]));
        let mut command = self.b.command("netsniff-ng");
        command.args([
            "--in",
            "b",
            "--out",
            "/dev/null",
            "--silent",
            "--ring-size",
            "32MiB",
        ]);
        rows.push(self.receive_peer(
            "netsniff-ng to /dev/null",
            command,
            len,
            &["packets incoming", "packets passed"],
        ));
        let mut command = self.b.command("/usr/bin/python3");
        let program = "from scapy.all import *\nn=[0]\ndef f(p): n[0]+=1\n\
             sniff(iface='b',store=0,prn=f)\nprint(n[0],'packets captured')";
        command.args(["-c", program]);
        rows.push(self.receive_peer("scapy sniff", command, len, &["packets captured"]));
        table(
            &format!("receive, {len} bytes and FCS, from a flood"),
            &rows,
        );
    }

    fn receive_ours(&self, name: &str, mut port: Port, len: usize) -> Row {
        let done = AtomicBool::new(false);
        let ((sent, took), (got, cpu)) = std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let (mut got, began) = (0u64, thread_cpu_ns());
                loop {
                    let wait = Duration::from_millis(50);
                    let some = port.rx.receive(wait, &mut |packet: Received<'_>| {
                        got += u64::from(packet.bytes.len() == len);
                    });
                    if some.expect("a port that receives") == 0 && done.load(Ordering::Relaxed) {
                        return (got, thread_cpu_ns() - began);
                    }
                }
            });
            let flooded = self.flood_for_a_while(len);
            done.store(true, Ordering::Relaxed);
            (flooded, receiver.join().expect("a thread that receives"))
        });
        Row {
            name: name.into(),
            rate: got as f64 * 1e9 / took as f64,
            note: format!(
                "{} lost, {:.2} core",
                percent(sent.saturating_sub(got), sent),
                cpu as f64 / took as f64
            ),
        }
    }

    fn receive_peer(&self, name: &str, command: Command, len: usize, marks: &[&str]) -> Row {
        let row = |rate, note| Row {
            name: name.into(),
            rate,
            note,
        };
        let child = match start(command) {
            Ok(child) => child,
            Err(why) => return row(0.0, why),
        };
        // All of them are ready by then.
        pause(Duration::from_millis(1500));
        let (sent, took) = self.flood_for_a_while(len);
        pause(Duration::from_millis(300));
        let said = end(child);
        let line = said
            .lines()
            .find(|line| marks.iter().any(|mark| line.contains(mark)));
        let number = |line: &str| line.split_whitespace().flat_map(str::parse::<u64>).next();
        match line.and_then(number) {
            Some(got) => {
                let lost = percent(sent.saturating_sub(got), sent);
                row(got as f64 * 1e9 / took as f64, format!("{lost} lost"))
            }
            None => row(
                0.0,
                format!(
                    "not understood: {}",
                    said.lines().last().unwrap_or_default()
                ),
            ),
        }
    }

    fn forward(&self, len: usize) {
        struct Wire;
        impl Node for Wire {
            fn properties(&self) -> Properties {
                Properties::of(2)
            }

            fn frames(
                &mut self,
                _: node::Time,
                port: node::Port,
                frames: &mut Vec<Frame>,
                out: &mut Out,
            ) {
                for frame in frames.drain(..) {
                    out.send(node::Port(port.0 ^ 1), frame);
                }
            }
        }
        let mut rows = Vec::new();
        for ring in [false, true] {
            let ports =
                ["b", "out"].map(|name| open(&self.b, name, &options(ring)).expect("a port"));
            let until = Some(node::Time::from_ns(
                self.time.as_nanos() as u64 + 150_000_000,
            ));
            let mut rate = 0.0;
            let mut sent = 0;
            std::thread::scope(|scope| {
                let run = || live::world::on_ports("wire", Box::new(Wire), ports.into(), until);
                let node = scope.spawn(run);
                pause(Duration::from_millis(100));
                let (before, began) = (counter(&self.c, "c"), now_ns());
                sent = self.flood_for_a_while(len).0;
                rate = (counter(&self.c, "c") - before) as f64 * 1e9 / (now_ns() - began) as f64;
                node.join().expect("a node that runs").expect("a run");
            });
            let offered = sent as f64 / self.time.as_secs_f64();
            rows.push(Row {
                name: format!("wire, {}", if ring { "ring" } else { "recvmmsg" }),
                rate,
                note: format!("offered {:.0} kpps", offered / 1e3),
            });
        }
        let mut command = self.b.command("netsniff-ng");
        command.args([
            "--in",
            "b",
            "--out",
            "out",
            "--silent",
            "--ring-size",
            "32MiB",
        ]);
        rows.push(match start(command) {
            Err(note) => Row {
                name: "netsniff-ng".into(),
                rate: 0.0,
                note,
            },
            Ok(child) => {
                pause(Duration::from_millis(1000));
                let (before, began) = (counter(&self.c, "c"), now_ns());
                let sent = self.flood_for_a_while(len).0;
                let rate =
                    (counter(&self.c, "c") - before) as f64 * 1e9 / (now_ns() - began) as f64;
                end(child);
                let offered = sent as f64 / self.time.as_secs_f64();
                Row {
                    name: "netsniff-ng".into(),
                    rate,
                    note: format!("offered {:.0} kpps", offered / 1e3),
                }
            }
        });
        table(
            &format!("forward, {len} bytes and FCS, from a flood"),
            &rows,
        );
    }

    /// Departures 500 us apart, by the pacer and by plain sleep.
    fn pace(&self) {
        let gap = 500_000;
        let count = self.time.as_nanos() as u64 * 2 / gap;
        let frame = frame(60);
        println!("\npacing, {count} departures 500 us apart: error at the call, us");
        println!(
            "  {:<28} {:>8} {:>8} {:>8} {:>9}",
            "", "p50", "p99", "p99.9", "max"
        );
        let show = |name: &str, spread: node::outcome::Spread| {
            let us = |time: node::Time| time.as_ns() as f64 / 1e3;
            println!(
                "  {name:<28} {:>8.2} {:>8.2} {:>8.2} {:>9.2}",
                us(spread.p50),
                us(spread.p99),
                us(spread.p999),
                us(spread.max)
            );
        };
        let port = open(&self.a, "a", &options(false)).expect("a port");
        let pacer = Pacer::start(port.tx, Tick::EIGHT_NS).expect("a thread");
        let start = now_ns() / 8 * 8 + 5_000_000;
        for n in 0..count {
            let at = Departure::At((start + n * gap) / 8);
            pacer.submit(at, &frame).expect("a pacer that takes frames");
        }
        let report = pacer.finish();
        show("wire, raw", report.timing.raw);
        show("wire, without pauses", report.timing.trimmed);
        let mut port = open(&self.a, "a", &options(false)).expect("a port");
        let mut errors = live::port::pace::ErrorMeter::default();
        let start = now_ns() + 5_000_000;
        for n in 0..count {
            let at = start + n * gap;
            pause(Duration::from_nanos(at.saturating_sub(now_ns())));
            errors.record(at, now_ns(), false, false);
            port.tx.send(&[&frame]).expect("a port that sends");
        }
        let plain = errors.report().raw;
        show("plain sleep", plain);
        println!(
            "  plain sleep over wire (without pauses): p50 {:.0}x, p99 {:.0}x; real-time priority: {}; \
             pauses seen: {}",
            plain.p50.as_ns() as f64 / report.timing.trimmed.p50.as_ns().max(1) as f64,
            plain.p99.as_ns() as f64 / report.timing.trimmed.p99.as_ns().max(1) as f64,
            if report.real_time { "yes" } else { "no" },
            report.pauses
        );
    }
}

type Opener = fn(&Bed) -> Result<Port, String>;

fn open_xdp(namespace: &Namespace, name: &str) -> Result<Port, String> {
    open(namespace, &format!("xdp:{name}"), &options(false))
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the result of a clock that always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
