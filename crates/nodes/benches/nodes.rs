//! What a frame costs in each node, as a ratio to the least that any node can do: taking a frame from
//! the pool, handing it on, and giving it back. And the switch's table against the standard map.
//!
//! `cargo bench -p wireline-nodes`

use node::random::Random;
use node::{Departure, Frame, Node, Out, Port, Properties, Rate, Time};
use nodes::filter::Program;
use std::collections::BTreeMap;
use std::hint::black_box;

const ROUNDS: u64 = 200_000;

/// Nanoseconds a round, the best of several runs: other work on the machine only adds.
fn best(mut run: impl FnMut() -> u64) -> f64 {
    (0..7)
        .map(|_| {
            #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
            let start = std::time::Instant::now();
            let rounds = run();
            start.elapsed().as_nanos() as f64 / rounds as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// Hands a frame on: the bound.
struct Wire;

impl Node for Wire {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.send(Port(port.0 ^ 1), frame);
        }
    }
}

/// The switch's learning and look-up with the standard library's ordered map.
#[derive(Default)]
struct MapSwitch(BTreeMap<u64, (Time, Port)>);

impl Node for MapSwitch {
    fn properties(&self) -> Properties {
        Properties::of(64)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let number = |mac: &[u8]| {
                mac.iter()
                    .fold(0, |all: u64, &byte| all << 8 | u64::from(byte))
            };
            self.0.insert(number(&frame[6..12]), (now, port));
            match self.0.get(&number(&frame[..6])) {
                Some(&(seen, port)) if now - seen < Time::from_secs(300) => out.send(port, frame),
                _ => out.drop(frame, "unknown"),
            }
        }
    }
}

/// Drives a node with `stations` talking to each other in a scattered order.
fn drive(node: &mut dyn Node, frames: &[Vec<u8>], stations: u64) -> f64 {
    let (mut out, mut sent, mut lot) = (Out::default(), Vec::<Departure>::new(), Vec::new());
    let ports = node.properties().ports.min(64) as u64;
    let (mut random, mut now) = (Random::new(1), Time::ZERO);
    let mut round = |node: &mut dyn Node, count: u64| {
        for n in 0..count {
            let (source, destination) = (random.below(stations), random.below(stations));
            let mut frame = out.pool().take_with(&frames[n as usize % frames.len()]);
            frame[2..6].copy_from_slice(&(destination as u32).to_be_bytes());
            frame[8..12].copy_from_slice(&(source as u32).to_be_bytes());
            now += Time::from_ps(67_200);
            frame.set_arrived(now);
            lot.push(frame);
            node.frames(now, Port((source % ports) as u16), &mut lot, &mut out);
            sent.extend(out.sends());
            sent.drain(..)
                .for_each(|departure| out.pool().give(departure.frame));
        }
        count
    };
    // Everybody is known before the clock starts.
    round(node, 4 * stations.max(1_000));
    best(|| round(node, ROUNDS))
}

fn generate(config: nodes::generator::Config) -> f64 {
    best(|| {
        let config = nodes::generator::Config {
            count: Some(ROUNDS),
            ..config.clone()
        };
        let mut generator = nodes::generator::Generator::new(config).expect("a good configuration");
        let (mut out, mut sent) = (Out::default(), Vec::<Departure>::new());
        while let Some(at) = generator.next_wake() {
            generator.wake(at, &mut out);
            sent.extend(out.sends());
            sent.drain(..)
                .for_each(|departure| out.pool().give(departure.frame));
        }
        black_box(ROUNDS)
    })
}

fn probe_frames() -> Vec<Vec<u8>> {
    let config = nodes::generator::Config {
        count: Some(64),
        gap: Some(Time::from_ns(68)),
        ..Default::default()
    };
    let mut generator = nodes::generator::Generator::new(config).expect("a good configuration");
    let (mut out, mut frames) = (Out::default(), Vec::new());
    while let Some(at) = generator.next_wake() {
        generator.wake(at, &mut out);
        frames.extend(out.sends().map(|departure| departure.frame.to_vec()));
    }
    frames
}

/// `udp port 53 or tcp port 80`, by tcpdump -ddd: a UDP frame to another port goes most of the way.
const TWO_RULES: &str = "\
    33\n40 0 0 12\n21 0 11 34525\n48 0 0 20\n21 0 4 17\n40 0 0 54\n21 25 0 53\n\
    40 0 0 56\n21 23 24 53\n21 0 23 6\n40 0 0 54\n21 20 0 80\n40 0 0 56\n21 18 19 80\n\
    21 0 18 2048\n48 0 0 23\n21 0 7 17\n40 0 0 20\n69 14 0 8191\n177 0 0 14\n72 0 0 14\n\
    21 10 0 53\n72 0 0 16\n21 8 9 53\n21 0 8 6\n40 0 0 20\n69 6 0 8191\n177 0 0 14\n\
    72 0 0 14\n21 2 0 80\n72 0 0 16\n21 0 1 80\n6 0 0 262144\n6 0 0 0\n";

fn main() {
    let frames = probe_frames();
    let wire = drive(&mut Wire, &frames, 64);
    let show = |name: &str, ns: f64| {
        println!(
            "{name:<34} {ns:>7.1} ns  {:>6.2} Mpps  {:>5.2} x",
            1e3 / ns,
            ns / wire
        );
    };
    println!("64-byte frames; the last column is the ratio to handing a frame on");
    show("handing on (bound)", wire);
    for stations in [64, 8_000] {
        let config = nodes::switch::Config {
            ports: 64,
            ..Default::default()
        };
        let mut switch = nodes::switch::Switch::new(config).expect("a good configuration");
        show(
            &format!("switch, {stations} stations"),
            drive(&mut switch, &frames, stations),
        );
        let mut map = MapSwitch::default();
        show(
            "  the same with a BTreeMap",
            drive(&mut map, &frames, stations),
        );
    }
    let delay = nodes::delay::Config::fixed(Time::from_us(1), Time::from_us(1));
    let program: Program = TWO_RULES.parse().expect("a good program");
    let echo = nodes::echo::Config {
        swap: nodes::echo::Swap::Transport,
        ports: 1,
    };
    let mut all: [(&str, Box<dyn Node>); 7] = [
        (
            "delay",
            Box::new(nodes::delay::Delay::new(delay).expect("no files")),
        ),
        (
            "mirror",
            Box::new(nodes::mirror::Mirror::new(Default::default()).expect("defaults")),
        ),
        (
            "filter, two rules",
            Box::new(nodes::filter::Filter::new(Default::default(), program)),
        ),
        (
            "vlan, tagging",
            Box::new(nodes::vlan::Vlan::new(Default::default()).expect("defaults")),
        ),
        (
            "echo, all layers",
            Box::new(nodes::echo::Echo::new(echo).expect("one port")),
        ),
        (
            "meter, with probes",
            Box::new(nodes::meter::Meter::new(Default::default())),
        ),
        (
            "sink",
            Box::new(nodes::sink::Sink::new(Default::default()).expect("defaults")),
        ),
    ];
    for (name, node) in &mut all {
        show(name, drive(&mut **node, &frames, 64));
    }
    let rate = Some(Rate::TEN_GIGABIT);
    let shortest = nodes::generator::Config {
        rate,
        ..Default::default()
    };
    let imix = nodes::generator::Config {
        size: nodes::generator::Sizes::Imix,
        ..shortest.clone()
    };
    show("generator, 64 bytes", generate(shortest));
    show("generator, IMIX", generate(imix));
}
