//! DTP in a data centre: a fat tree of 16-port switches, 1,024 hosts, 320 switches and 3,072 links, by the model that walks only the messages:
//! `cargo run --release -p wireline-sim --example dtp_scale -- [K [MILLISECONDS [PPM]]]`, by default 16, 1000 and 100.
//!
//! Clocks are drawn within so many ppm, and follow the temperature of their row, which goes up and down by 10 degrees. Cables are 2 to 5 m to hosts, 5 to 30 m in a
//! pod, 30 to 150 m above. Every 20 ms a link fails, and comes back 5 ms later.

use node::random::Random;
use node::{Channel, Clocks, Graph, Level, Link, NodeId, Oscillator, Time};
use nodes::dtp::network::Network;
use nodes::dtp::{Config, Device};
use std::time::Duration;

const BEACON: u32 = 1_200;
/// Interval between two samples of all counters: not a multiple of a beacon's interval.
const SAMPLE_INTERVAL: Time = Time::from_us(443);
/// Time after the start, and after a repair, in which counters are not sampled.
const JOINS: Time = Time::from_us(100);

struct FatTree {
    k: usize,
    clocks: Vec<Oscillator>,
    ports: Vec<u16>,
    links: Vec<Link>,
}

impl FatTree {
    fn hosts(&self) -> usize {
        self.k.pow(3) / 4
    }

    fn new(k: usize, ppm: f64, random: &mut Random) -> FatTree {
        let (half, hosts) = (k / 2, k.pow(3) / 4);
        let devices = hosts + k * k + half * half;
        let mut tree = FatTree {
            k,
            clocks: Vec::new(),
            ports: vec![0; devices],
            links: Vec::new(),
        };
        let ms = Time::from_ms;
        for _ in 0..devices {
            let warm = 10.0 * random.unit();
            tree.clocks.push(Oscillator {
                offset: ppm * (2.0 * random.unit() - 1.0),
                // A crystal's some hundredths of a ppm a degree.
                per_degree: 0.2 * random.unit() - 0.1,
                temperature: vec![(ms(100), 20.0), (ms(500), 20.0 + warm), (ms(900), 20.0)],
                ..Oscillator::default()
            });
        }
        let (edges, cores) = (hosts, hosts + k * k);
        for pod in 0..k {
            for edge in 0..half {
                let edge = edges + pod * k + edge;
                for host in 0..half {
                    tree.link(
                        (edge - edges - pod * half) * half + host,
                        edge,
                        2.0..5.0,
                        random,
                    );
                }
                for above in 0..half {
                    tree.link(edge, edges + pod * k + half + above, 5.0..30.0, random);
                }
            }
            for above in 0..half {
                for core in 0..half {
                    let switch = edges + pod * k + half + above;
                    tree.link(switch, cores + above * half + core, 30.0..150.0, random);
                }
            }
        }
        tree
    }

    fn link(&mut self, a: usize, b: usize, metres: std::ops::Range<f64>, random: &mut Random) {
        let mut port = |device: usize| {
            self.ports[device] += 1;
            (NodeId(device), self.ports[device] - 1)
        };
        let (from, to) = (port(a), port(b));
        let long = metres.start + (metres.end - metres.start) * random.unit();
        let mut graph = Graph::default();
        graph.connect(from, to, Channel::default());
        let mut link = graph.links.remove(0);
        for (channel, [sender, receiver]) in link.channels.iter_mut().zip([[a, b], [b, a]]) {
            // What two PHYs take, and 5 ns a metre.
            channel.delay = Time::from_ps(230_000 + (5_000.0 * long) as u64);
            channel.level = Level::Block(Clocks {
                sender: self.clocks[sender].clone(),
                receiver: self.clocks[receiver].clone(),
                ..Clocks::default()
            });
        }
        self.links.push(link);
    }
}

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<f64>());
    let mut word = |usual: f64| match words.next() {
        None => usual,
        Some(Ok(number)) if number > 0.0 => number,
        Some(_) => {
            eprintln!("usage: dtp_scale [K [MILLISECONDS [PPM]]]: numbers above 0");
            std::process::exit(2);
        }
    };
    let (k, until, ppm) = (
        word(16.0) as usize,
        Time::from_ms(word(1_000.0) as u64),
        word(100.0),
    );
    if k < 4 || k % 2 == 1 || ppm > 99.0 + 1.0 {
        eprintln!("K is an even number from 4 on, PPM at most 100");
        std::process::exit(2);
    }
    let mut random = Random::new(1);
    let mut tree = FatTree::new(k, ppm, &mut random);
    // A host whose link was down: from when to when it is not looked at.
    let mut apart: Vec<(usize, Time, Time)> = Vec::new();
    let mut failures = 0;
    let mut at = Time::from_ms(10);
    while at < until {
        let link = random.below(tree.links.len() as u64) as usize;
        let up = at + Time::from_ms(5);
        for channel in &mut tree.links[link].channels {
            channel.down.push([at, up]);
        }
        apart.push((tree.links[link].ends[0].node.0, at, up + JOINS));
        failures += 1;
        at += Time::from_ms(20);
    }
    let config = Config {
        beacon: BEACON,
        ..Config::default()
    };
    let device = |&ports: &u16| Device::new(&config, ports.into()).expect("good keys");
    let devices = tree.ports.iter().map(device).collect();
    let begun = on_processor();
    let mut network = Network::new(devices, &tree.links, 1).expect("links of blocks");
    let mut greatest = [0; 4];
    let mut looks = 0;
    let mut at = JOINS;
    while at <= until {
        network.advance(at);
        let counters = network.counters();
        look(&tree, &counters, at, &apart, &mut greatest);
        looks += 1;
        at += SAMPLE_INTERVAL;
    }
    network.advance(until);
    let took = on_processor() - begun;
    let work = network.work();
    let mut counted = [0; 3];
    for statistics in network.statistics() {
        for (name, count) in statistics.counters {
            for (sum, known) in
                counted
                    .iter_mut()
                    .zip(["dtp_beacons_sent", "dtp_jumps", "dtp_given_up"])
            {
                *sum += if name == known { count } else { 0 };
            }
        }
    }
    let [sent, jumps, given_up] = counted;
    let ms = until.as_ps() / 1_000_000_000;
    println!(
        "fat tree of {k}-port switches: {} hosts, {} switches, {} links; clocks within {ppm} ppm; {ms} ms simulated",
        tree.hosts(),
        tree.ports.len() - tree.hosts(),
        tree.links.len()
    );
    println!(
        "{:.2} CPU s, {:.1} a simulated second, one thread; {} MB at most",
        took.as_secs_f64(),
        took.as_secs_f64() * 1e3 / ms as f64,
        memory() / 1_000
    );
    println!(
        "{sent} beacons, {:.1} million a CPU second; {jumps} moved a counter; {:.1} % could not change anything by what was known, and were only counted",
        sent as f64 / took.as_secs_f64() / 1e6,
        100.0 * (1.0 - work.looked_at as f64 / work.beacons.max(1) as f64)
    );
    println!(
        "{} slices, {} of them walked again; {} events one by one, around {failures} failures; {given_up} peers given up",
        work.slices, work.walked_again, work.events
    );
    println!("greatest offset at {looks} looks, ticks, and the paper's 4 a hop:");
    for (what, (offset, bound)) in [
        "neighbours",
        "hosts at one switch",
        "hosts of one pod",
        "all hosts",
    ]
    .into_iter()
    .zip(greatest.into_iter().zip([4, 8, 16, 24]))
    {
        println!("{what:<20} {offset:>3} {bound:>4}");
    }
}

/// Greatest offsets of neighbours, and of hosts 2, 4 and 6 hops apart, or less.
fn look(
    tree: &FatTree,
    counters: &[u128],
    now: Time,
    apart: &[(usize, Time, Time)],
    greatest: &mut [u128; 4],
) {
    let is_apart = |device: usize| {
        let mut known = apart.iter().filter(|row| row.0 == device);
        device < tree.hosts() && known.any(|&(_, from, to)| now >= from && now < to)
    };
    let gone: Vec<bool> = (0..tree.hosts()).map(is_apart).collect();
    let is_gone = |device: usize| gone.get(device) == Some(&true);
    for link in &tree.links {
        let [a, b] = link.ends.map(|end| end.node.0);
        if !is_gone(a) && !link.channels[0].is_down(now - JOINS, now) {
            greatest[0] = greatest[0].max(counters[a].abs_diff(counters[b]));
        }
    }
    let half = tree.k / 2;
    for (within, hosts) in [half, half * half, tree.hosts()].into_iter().enumerate() {
        for first in (0..tree.hosts()).step_by(hosts) {
            let here = (first..first + hosts).filter(|host| !is_gone(*host));
            let (least, most) = here.fold((u128::MAX, 0), |(least, most), host| {
                (counters[host].min(least), counters[host].max(most))
            });
            greatest[within + 1] = greatest[within + 1].max(most.saturating_sub(least));
        }
    }
}

/// How long this thread has been on a processor.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("Linux tells a thread's time"))
}

/// The most memory that this process had, kB.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kb.and_then(|kb| kb.trim().parse().ok()).unwrap_or(0)
}
