//! Table 3.4 of paper 003 again: hosts in pairs with full-rate TCP at 100 Mb/s, through one switch or through two, and
//! ns-3 in the same run. The switches are plain learning switches, or OpenFlow switches with a controller that is one, as the paper's
//! were: over a channel of its own, or over TCP in band.
//!
//! Times are those spent on the processor, best of several runs, since other programs load the machine. ns-3 is built by
//! `benches/peers/ns3.sh` if it is installed.

use hosts::control::{self, Tcp};
use hosts::host::{self, make};
use hosts::program::{Config as Program, bulk, sink};
use node::{Channel, Graph, NodeId, Outcome, QueueLimit, Rate, Time};
use nodes::switch::{self, Switch};
use openflow::controller::{Controller, config::Config as Controls};
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
            // From when a switch has its controller.
            start: Time::from_ms(100 + number as u64),
            ..bulk::Config::new(format!("10.0.0.{}", to + 1).parse().expect("an address"))
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

/// What the switches are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Learning by themselves.
    Plain,
    /// OpenFlow switches, each with a link of 1 ms to a controller.
    Ideal,
    /// The same, with the controller's TCP among the frames of the hosts.
    InBand,
}

/// What the switch of an in-band channel does without its controller.
const CONTROL: [&str; 3] = [
    "priority=65535,tcp,tcp_dst=6653,actions=NORMAL",
    "priority=65535,tcp,tcp_src=6653,actions=NORMAL",
    // Of the stations that a channel ends at.
    "priority=65535,arp,arp_spa=10.0.0.192/26,actions=NORMAL",
];

/// A switch with so many ports for hosts and other switches, of those that are called `s0` and `s1`.
fn add_switch(graph: &mut Graph, kind: Kind, number: usize, ports: usize) -> NodeId {
    let name = format!("s{number}");
    if kind == Kind::Plain {
        let config = switch::Config {
            ports: ports as u16,
            ..switch::Config::default()
        };
        return graph.add(name, Box::new(Switch::new(config).expect("good")));
    }
    let in_band = kind == Kind::InBand;
    let ports = ports + if in_band { 2 } else { 0 };
    let config = openflow::switch::Config {
        ports: ports as u16,
        datapath_id: number as u64 + 1,
        entries: match in_band {
            true => CONTROL.map(String::from).into(),
            false => Vec::new(),
        },
        ..openflow::switch::Config::default()
    };
    let made = openflow::switch::Switch::new(config).expect("good");
    let switch = graph.add(name, Box::new(made));
    let made = Controller::of(&Controls::default());
    let controller = graph.add(format!("c{number}"), Box::new(made));
    let control = Channel {
        delay: Time::from_ms(1),
        rate: None,
        ..Channel::default()
    };
    if !in_band {
        graph.connect((switch, ports as u16), (controller, 0), control);
        return switch;
    }
    // At the switch's last two ports: its own end of the channel, and the controller's.
    let addresses = [0, 1].map(|side: usize| format!("10.0.0.{}", 200 + 2 * number + side));
    let tcp = [0, 1].map(|side: usize| {
        let config = control::Config {
            address: vec![format!("{}/24", addresses[side]).parse().expect("good")],
            to: (side == 0).then(|| addresses[1].parse().expect("an address")),
            listen: (side == 1).then_some(control::PORT),
            ..control::Config::default()
        };
        let made = Tcp::new(config, number as u64).expect("good");
        graph.add(format!("t{number}{side}"), Box::new(made))
    });
    let ideal = || Channel {
        rate: None,
        ..Channel::default()
    };
    graph.connect((switch, ports as u16), (tcp[0], 0), ideal());
    graph.connect((controller, 0), (tcp[1], 0), ideal());
    graph.connect((tcp[0], 1), (switch, ports as u16 - 2), ideal());
    graph.connect((tcp[1], 1), (switch, ports as u16 - 1), channel());
    switch
}

/// So many hosts, spread over the switches; each sends to the one half of its switch's hosts further.
fn star(kind: Kind, hosts: usize, switches: usize, both: bool) -> Graph {
    let mut graph = Graph::default();
    let each = hosts / switches;
    let mut before: Option<NodeId> = None;
    for number in 0..switches {
        let trunk = usize::from(switches > 1);
        let switch = add_switch(&mut graph, kind, number, each + trunk);
        for place in 0..each {
            let first = number * each;
            let partner = first + (place + each / 2) % each;
            let sends = both || place < each / 2;
            let takes = both || place >= each / 2;
            let host = add_host(&mut graph, first + place, sends.then_some(partner), takes);
            graph.connect((host, 0), (switch, place as u16), channel());
        }
        if let Some(before) = before.replace(switch) {
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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/ns3.sh");
    let out = env!("CARGO_TARGET_TMPDIR");
    let mut best: Option<(f64, f64, f64)> = None;
    for _ in 0..RUNS {
        let output = Command::new("sh")
            .arg(&script)
            .args([
                out,
                "ns3-tcp-star",
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
    let mut ours = Vec::new();
    let one = [(2, "34"), (8, "180"), (12, "242")];
    let two = [(4, "42"), (8, "100"), (12, "164")];
    let dash = [(2, "-"), (8, "-"), (12, "-")];
    for (name, kind, switches, both, cases) in [
        ("one switch", Kind::Plain, 1, false, one),
        ("two switches", Kind::Plain, 2, false, two),
        ("one switch, both ways", Kind::Plain, 1, true, dash),
        ("OpenFlow, one switch", Kind::Ideal, 1, false, one),
        ("OpenFlow, two switches", Kind::Ideal, 2, false, two),
        ("OpenFlow in band", Kind::InBand, 1, false, one),
    ] {
        for (hosts, paper) in cases {
            let (seconds, outcome) = best(|| star(kind, hosts, switches, both));
            let flows = outcome.nodes.iter().flat_map(|node| &node.flows);
            let sinks = flows.filter(|flow| flow.program == "sink");
            let bytes: u64 = sinks.map(|flow| flow.bytes).sum();
            let packets = outcome.frames as f64;
            show(name, hosts, packets, bytes as f64, seconds, paper);
            if (hosts, switches, both) == (12, 1, false) {
                ours.push((name, seconds));
            }
        }
    }
    for both in [false, true] {
        let name = if both { "ns-3, both ways" } else { "ns-3" };
        match ns3(12, both) {
            Err(reason) => println!("{name}: skipped: {reason}"),
            Ok((packets, bytes, seconds)) => {
                show(name, 12, packets, bytes, seconds, "-");
                for (of, ours) in ours.iter().filter(|_| !both) {
                    println!("  ns-3 : {of:<24} = {:.1} : 1", seconds / ours);
                }
            }
        }
    }
}
