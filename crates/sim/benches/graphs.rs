//! How many packets and events a second one core simulates: the demo's graph, and a star of 64
//! hosts; the star against ns-3 in the same run.
//!
//! Times are those spent on the processor, best of several runs each, since other programs load the
//! machine. ns-3 is built by
//! `benches/peers/ns3-star.sh` if it is installed.
use node::{Channel, Graph, Outcome, Time};
use nodes::delay::{self, Delay};
use nodes::echo::{self, Echo};
use nodes::generator::{self, Generator};
use nodes::sink::{self, Sink};
use nodes::switch::{self, Switch};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const RUNS: usize = 5;
const HOSTS: u16 = 64;
/// Frames that each host of the star sends, one a microsecond.
const FRAMES: u64 = 10_000;

fn channel() -> Channel {
    Channel {
        delay: Time::from_ns(50),
        ..Channel::default()
    }
}

/// examples/first-light with 200,000 frames.
fn demo() -> Graph {
    let mut graph = Graph::default();
    let generator = generator::Config {
        gap: Some(Time::from_us(10)),
        count: Some(200_000),
        ..generator::Config::default()
    };
    let a = graph.add("a", Box::new(Generator::new(generator).expect("good")));
    let ports = switch::Config {
        ports: 3,
        ..switch::Config::default()
    };
    let switch = graph.add("switch", Box::new(Switch::new(ports).expect("good")));
    let delays = delay::Config::fixed(Time::from_secs(1), Time::from_us(1));
    let delay = Delay::new(delays).expect("no files");
    let delay = graph.add("box", Box::new(delay));
    let echo = Echo::new(echo::Config::default()).expect("good");
    let b = graph.add("b", Box::new(echo));
    let sink = Sink::new(sink::Config::default()).expect("good");
    let c = graph.add("c", Box::new(sink));
    graph.connect((a, 0), (switch, 0), channel());
    graph.connect((switch, 1), (delay, 0), channel());
    graph.connect((delay, 1), (b, 0), channel());
    graph.connect((switch, 2), (c, 0), channel());
    graph
}

/// Every host sends to the one across, through one switch.
fn star() -> Graph {
    let mut graph = Graph::default();
    let ports = switch::Config {
        ports: HOSTS,
        ..switch::Config::default()
    };
    let switch = graph.add("switch", Box::new(Switch::new(ports).expect("good")));
    for host in 0..HOSTS {
        let mac = |host: u16| [2, 0, 0, 0, 0, (host % HOSTS) as u8];
        let config = generator::Config {
            // Not all at the same picosecond.
            start: Time::from_ns(1_000 + 10 * u64::from(host)),
            gap: Some(Time::from_us(1)),
            count: Some(FRAMES),
            source: mac(host).into(),
            destination: mac(host + HOSTS / 2).into(),
            ..generator::Config::default()
        };
        let generator = Generator::new(config).expect("good");
        let host_id = graph.add(format!("h{host}"), Box::new(generator));
        graph.connect((host_id, 0), (switch, host), channel());
    }
    graph
}

fn best(make: impl Fn() -> Graph) -> (Duration, Outcome) {
    let runs = (0..RUNS).map(|_| {
        let graph = make();
        let start = on_processor();
        let outcome = sim::run(graph, sim::Options::default()).expect("a good graph");
        (on_processor() - start, outcome)
    });
    runs.min_by_key(|(time, _)| *time).expect("at least one")
}

/// How long this thread has been on a processor.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("Linux tells a thread's time"))
}

fn show(name: &str, sent: u64, delivered: u64, events: u64, time: Duration) {
    let per_second = |count: u64| count as f64 / time.as_secs_f64() / 1e6;
    println!(
        "{name:<22} {sent:>9} {delivered:>10} {:>9.3} s {:>10.3} {:>10.3} {:>10.3}",
        time.as_secs_f64(),
        per_second(sent),
        per_second(delivered),
        per_second(events)
    );
}

/// Runs ns-3's star: frames sent, delivered by links, events, and the time of its best run.
fn ns3() -> Result<(u64, u64, u64, Duration), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/ns3-star.sh");
    let out = env!("CARGO_TARGET_TMPDIR");
    let mut best: Option<(u64, u64, u64, Duration)> = None;
    for _ in 0..RUNS {
        let output = Command::new("sh")
            .arg(&script)
            .args([out, &HOSTS.to_string(), &FRAMES.to_string()])
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(said.lines().last().unwrap_or("no reason given").to_string());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> = text
            .split_whitespace()
            .filter_map(|n| n.parse().ok())
            .collect();
        let [sent, delivered, events, seconds] = numbers[..] else {
            return Err(format!("it said: {text}"));
        };
        let run = (
            sent as u64,
            delivered as u64,
            events as u64,
            Duration::from_secs_f64(seconds),
        );
        best = Some(best.filter(|best| best.3 <= run.3).unwrap_or(run));
    }
    best.ok_or_else(|| "no run".into())
}

fn main() {
    println!("one core, best of {RUNS}; millions a second on the right");
    println!(
        "{:<22} {:>9} {:>10} {:>11} {:>10} {:>10} {:>10}",
        "graph", "packets", "hops", "time", "packets", "hops", "events"
    );
    let (time, outcome) = best(demo);
    show("first light", 200_000, outcome.frames, outcome.events, time);
    let (time, outcome) = best(star);
    let sent = u64::from(HOSTS) * FRAMES;
    show("star of 64", sent, outcome.frames, outcome.events, time);
    match ns3() {
        Err(reason) => println!("star of 64, ns-3: skipped: {reason}"),
        Ok((peer_sent, hops, events, peer_time)) => {
            show("star of 64, ns-3", peer_sent, hops, events, peer_time);
            let rate = |sent: u64, time: Duration| sent as f64 / time.as_secs_f64();
            let ratio = rate(sent, time) / rate(peer_sent, peer_time);
            println!("packets a second, sim : ns-3 = {ratio:.1} : 1");
        }
    }
}
