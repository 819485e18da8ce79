//! What one faulty clock does to all others, by the rule that DTP's devices follow: the maximum of the paper, the gradient, the average.
//! `cargo run --release -p wireline-sim --example dtp_rules -- [MILLISECONDS]`, by default 200.
//!
//! The tree of figure 4.30 (a root, three switches, eight hosts), clocks within 100 ppm, a beacon every 1,200 ticks; and a chain of 33 devices whose one half is 100 ppm fast, the
//! other as slow. Of healthy devices it tells how fast the counters went, by true time, and how far they were apart.

use node::{Channel, Clocks, Graph, Level, Link, NodeId, Oscillator, Time};
use nodes::dtp::network::Network;
use nodes::dtp::{Config, Device, Fault, Rule};

const BEACON: u32 = 1_200;
/// Offsets count after this time: the rules other than the maximum take a while for the first
/// ticks.
const JOINED: Time = Time::from_ms(5);
const FAULTY_FROM: Time = Time::from_ms(20);
/// Interval between two samples of all counters.
const SAMPLE_INTERVAL: Time = Time::from_us(17);

/// Links of the devices, and the frequency error of each oscillator, ppm.
struct Shape {
    name: String,
    ppm: Vec<f64>,
    links: Vec<(usize, usize)>,
}

/// A fault, and its place.
struct Faulty {
    what: &'static str,
    device: usize,
    fault: Fault,
    /// It follows the maximum, whatever the others do: so nothing slows it down.
    stubborn: bool,
}

fn tree() -> Shape {
    let parent = |device: usize| if device < 4 { 0 } else { (device - 4) / 3 + 1 };
    Shape {
        name: "tree of figure 4.30".into(),
        ppm: vec![
            -73.0, 12.0, 88.0, -40.0, 77.0, -99.0, 3.0, 58.0, -61.0, 20.0, 99.0, -7.0,
        ],
        links: (1..12).map(|device| (parent(device), device)).collect(),
    }
}

/// The worst for a rule that looks at neighbours alone: each half of the chain goes as fast as it may, or as slow.
fn chain(devices: usize) -> Shape {
    let ppm = |n| if n < devices / 2 { 100.0 } else { -100.0 };
    Shape {
        name: format!("chain of {devices}"),
        ppm: (0..devices).map(ppm).collect(),
        links: (1..devices).map(|device| (device - 1, device)).collect(),
    }
}

fn run(shape: &Shape, rule: Rule, slew: u32, faulty: Option<&Faulty>, until: Time) {
    let mut graph = Graph::default();
    let mut ports = vec![0; shape.ppm.len()];
    for &(a, b) in &shape.links {
        let mut port = |device: usize| {
            ports[device] += 1;
            (NodeId(device), ports[device] - 1)
        };
        let (from, to) = (port(a), port(b));
        let link = graph.connect(from, to, Channel::default());
        let clock = |device: usize| Oscillator::fast_by(shape.ppm[device]);
        for (channel, [sender, receiver]) in
            graph.links[link].channels.iter_mut().zip([[a, b], [b, a]])
        {
            channel.delay = Time::from_ns(280);
            channel.level = Level::Block(Clocks {
                sender: clock(sender),
                receiver: clock(receiver),
                ..Clocks::default()
            });
        }
    }
    let faulty_at = |device: usize| faulty.filter(|faulty| faulty.device == device);
    let device = |(device, &ports): (usize, &u16)| {
        let faulty = faulty_at(device);
        let stubborn = faulty.is_some_and(|faulty| faulty.stubborn);
        let config = Config {
            rule: if stubborn { Rule::Maximum } else { rule },
            slew,
            beacon: BEACON,
            fault: faulty.map(|faulty| faulty.fault.clone()),
            ..Config::default()
        };
        Device::new(&config, ports.into()).expect("good keys")
    };
    let devices = ports.iter().enumerate().map(device).collect();
    let healthy: Vec<usize> = (0..shape.ppm.len())
        .filter(|&device| faulty_at(device).is_none())
        .collect();
    let links: &[Link] = &graph.links;
    let mut network = Network::new(devices, links, 1).expect("links of blocks");
    let (mut neighbours, mut all) = (0, 0);
    let mut at = JOINED;
    let mut half = None;
    while at < until {
        network.advance(at);
        let counters = network.counters();
        for &(a, b) in &shape.links {
            if healthy.contains(&a) && healthy.contains(&b) {
                neighbours = neighbours.max(counters[a].abs_diff(counters[b]));
            }
        }
        let shown = healthy.iter().map(|&device| counters[device]);
        let (least, most) = (shown.clone().min(), shown.max());
        all = all.max(most.unwrap_or(0) - least.unwrap_or(0));
        if half.is_none() && at + at >= until {
            half = Some((at, counters));
        }
        at += SAMPLE_INTERVAL;
    }
    network.advance(until);
    let counters = network.counters();
    let (half, before) = half.expect("some looks");
    let ticks = (until - half).as_ps() as f64 / 6_400.0;
    let rate = |&device: &usize| ((counters[device] - before[device]) as f64 / ticks - 1.0) * 1e6;
    let rates = healthy.iter().map(rate);
    let (slowest, fastest) = (
        rates.clone().fold(f64::MAX, f64::min),
        rates.fold(f64::MIN, f64::max),
    );
    let ahead = healthy
        .iter()
        .map(|&device| counters[device] as f64 - until.as_ps() as f64 / 6_400.0);
    let ahead = ahead.fold(f64::MIN, f64::max);
    let mut given_up = 0;
    for statistics in network.statistics() {
        for (name, count) in statistics.counters {
            given_up += if name == "dtp_given_up" { count } else { 0 };
        }
    }
    println!(
        "{:<20} {:<42} {:<13} {slowest:>8.1} {fastest:>8.1} {ahead:>12.0} {neighbours:>6} {all:>6} {given_up:>5}",
        shape.name,
        faulty.map_or("none", |faulty| faulty.what),
        match rule {
            Rule::Maximum => "maximum".into(),
            _ => format!("{rule:?} {slew}").to_lowercase(),
        },
    );
}

fn main() {
    let ms = std::env::args().nth(1).map_or(Ok(200), |word| word.parse());
    let Some(until) = ms.ok().filter(|ms| *ms > 40).map(Time::from_ms) else {
        eprintln!("usage: dtp_rules [MILLISECONDS]: more than 40");
        std::process::exit(2);
    };
    let clock = |ppm, jump| Fault {
        ppm,
        jump,
        from: FAULTY_FROM,
    };
    let host = |what, ppm, jump, stubborn| Faulty {
        what,
        device: 6,
        fault: clock(ppm, jump),
        stubborn,
    };
    let faults = [
        None,
        Some(host("host s6 100 ppm faster", 100, 0, false)),
        Some(host("host s6 200 ppm faster", 200, 0, false)),
        Some(host("host s6 300 ppm faster", 300, 0, false)),
        Some(host(
            "host s6 300 ppm faster, nothing slows it",
            300,
            0,
            true,
        )),
        Some(host("host s6 1,000 ppm faster", 1_000, 0, false)),
        Some(host("host s6 10,000 ppm faster", 10_000, 0, false)),
        Some(host("host s6 jumps by 6 ticks", 0, 6, false)),
        Some(host("host s6 jumps by 10,000 ticks", 0, 10_000, false)),
        Some(Faulty {
            what: "switch s1 300 ppm faster",
            device: 1,
            fault: clock(300, 0),
            stubborn: false,
        }),
        Some(Faulty {
            what: "switch s1 jumps by 10,000 ticks",
            device: 1,
            fault: clock(0, 10_000),
            stubborn: false,
        }),
    ];
    println!(
        "{:<20} {:<42} {:<13} {:>8} {:>8} {:>12} {:>6} {:>6} {:>5}",
        "healthy devices of a",
        "fault, from 20 ms on",
        "rule",
        "slowest",
        "fastest",
        "ahead, ticks",
        "pairs",
        "all",
        "given up"
    );
    let rules = [
        (Rule::Maximum, 500),
        (Rule::Gradient, 250),
        (Rule::Gradient, 500),
        (Rule::Average, 500),
    ];
    for faulty in &faults {
        for (rule, slew) in rules {
            run(&tree(), rule, slew, faulty.as_ref(), until);
        }
    }
    for devices in [3, 5, 9, 17, 33] {
        for (rule, slew) in rules {
            run(&chain(devices), rule, slew, None, until);
        }
    }
}
