//! Table 3.4 of paper 003 again: hosts in pairs with full-rate TCP at 100 Mb/s, through one learning switch or through two, and
//! ns-3 in the same run.
//!
//! Times are those spent on the processor, best of several runs, since other programs load the machine. ns-3 is built by
//! `benches/peers/ns3-tcp-star.sh` if it is installed.

use hosts::host::{self, make};
use hosts::program::{BUFFER, Config as Program, Congestion, bulk, sink};
use node::{Channel, Graph, NodeId, Outcome, QueueLimit, Rate, Time};
use nodes::switch::{self, Switch};
use std::path::Path;
use std::process::Command;

const RUNS: usize = 3;
const SECONDS: u64 = 5;

fn channel() -> Channel {
    Channel {
        rate: Rate::from_bits_per_second(100_000_000),
        delay: Time::from_ms(1),
        queue: QueueLimit::Packets(100),
        ..Channel::default()
    }
}

fn add_host(graph: &mut Graph, number: usize, to: Option<usize>, takes: bool) -> NodeId {
    let mut programs = Vec::new();
    if let Some(to) = to {
        programs.push(Program::Bulk(bulk::Config {
            to: format!("10.0.0.{}", to + 1).parse().expect("an address"),
            start: Time::from_ms(number as u64),
            duration: None,
            flows: None,
            bytes: None,
            count: None,
            every: None,
            pause: None,
            buffer: BUFFER,
            congestion: Congestion::Cubic,
        }));
    }
    if takes {
        programs.push(Program::Sink(sink::Config::default()));
    }
    let config = host::Config {
        address: vec![
            format!("10.0.0.{}/24", number + 1)
                .parse()
                .expect("an address"),
        ],
        ..host::Config::default()
    };
    let node = make(config, programs, number as u64).expect("good");
    graph.add(format!("h{}", number + 1), node)
}

/// So many hosts, spread over the switches; each sends to the one half of its switch's hosts further.
fn star(hosts: usize, switches: usize, both: bool) -> Graph {
    let mut graph = Graph::default();
    let each = hosts / switches;
    for number in 0..switches {
        let trunk = usize::from(switches > 1);
        let config = switch::Config {
            ports: (each + trunk) as u16,
            ..switch::Config::default()
        };
        let switch = graph.add(
            format!("s{number}"),
            Box::new(Switch::new(config).expect("good")),
        );
        for place in 0..each {
            let first = number * each;
            let partner = first + (place + each / 2) % each;
            let sends = both || place < each / 2;
            let takes = both || place >= each / 2;
            let host = add_host(&mut graph, first + place, sends.then_some(partner), takes);
            graph.connect((host, 0), (switch, place as u16), channel());
        }
        if number == 1 {
            let before = graph.members.iter().position(|member| member.name == "s0");
            let before = NodeId(before.expect("the first switch"));
            graph.connect((before, each as u16), (switch, each as u16), channel());
        }
    }
    graph
}

/// How long this thread has been on a processor, seconds.
fn on_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
    ns.expect("Linux tells a thread's time") as f64 / 1e9
}

fn best(make: impl Fn() -> Graph) -> (f64, Outcome) {
    let runs = (0..RUNS).map(|_| {
        let graph = make();
        let options = sim::Options {
            until: Some(Time::from_secs(SECONDS)),
            ..sim::Options::default()
        };
        let start = on_processor();
        let outcome = sim::run(graph, options).expect("a good graph");
        (on_processor() - start, outcome)
    });
    runs.min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("at least one")
}

/// ns-3: packets, bytes, seconds of the best run.
fn ns3(hosts: usize, both: bool) -> Result<(f64, f64, f64), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/ns3-tcp-star.sh");
    let out = env!("CARGO_TARGET_TMPDIR");
    let mut best: Option<(f64, f64, f64)> = None;
    for _ in 0..RUNS {
        let output = Command::new("sh")
            .arg(&script)
            .args([
                out,
                &hosts.to_string(),
                &SECONDS.to_string(),
                if both { "1" } else { "0" },
            ])
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
        let [packets, bytes, seconds] = numbers[..] else {
            return Err(format!("it said: {text}"));
        };
        if best.is_none_or(|best| seconds < best.2) {
            best = Some((packets, bytes, seconds));
        }
    }
    best.ok_or_else(|| "no run".into())
}

fn show(name: &str, hosts: usize, packets: f64, bytes: f64, seconds: f64, paper: &str) {
    println!(
        "{name:<26} {hosts:>5} {:>10.0} {:>9.1} {:>11.4} {paper:>10}",
        packets / SECONDS as f64,
        8.0 * bytes / SECONDS as f64 / 1e6,
        seconds / SECONDS as f64,
    );
}

fn main() {
    println!("one core, {SECONDS} simulated seconds, best of {RUNS}; paper: SDNSIM's slowdown");
    println!(
        "{:<26} {:>5} {:>10} {:>9} {:>11} {:>10}",
        "", "hosts", "packets/s", "Mb/s", "slowdown", "paper"
    );
    let mut ours = 0.0;
    for (name, switches, both, cases) in [
        ("one switch", 1, false, [(2, "34"), (8, "180"), (12, "242")]),
        (
            "two switches",
            2,
            false,
            [(4, "42"), (8, "100"), (12, "164")],
        ),
        (
            "one switch, both ways",
            1,
            true,
            [(2, "-"), (8, "-"), (12, "-")],
        ),
    ] {
        for (hosts, paper) in cases {
            let (seconds, outcome) = best(|| star(hosts, switches, both));
            let flows = outcome.nodes.iter().flat_map(|node| &node.flows);
            let sinks = flows.filter(|flow| flow.program == "sink");
            let bytes: u64 = sinks.map(|flow| flow.bytes).sum();
            show(
                name,
                hosts,
                outcome.frames as f64,
                bytes as f64,
                seconds,
                paper,
            );
            if (hosts, switches, both) == (12, 1, false) {
                ours = seconds;
            }
        }
    }
    for both in [false, true] {
        let name = if both { "ns-3, both ways" } else { "ns-3" };
        match ns3(12, both) {
            Err(reason) => println!("{name}: skipped: {reason}"),
            Ok((packets, bytes, seconds)) => {
                show(name, 12, packets, bytes, seconds, "-");
                if !both {
                    println!("{:<26} ns-3 : sim = {:.1} : 1", "", seconds / ours);
                }
            }
        }
    }
}
