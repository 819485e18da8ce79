//! The model of DTP that walks only messages, beside the simulation of blocks: the same counters, tick for tick.

use node::{
    Channel, Clocks, Graph, Level, Link, NodeId, Oscillator, Probability, Statistics, Sublayer,
    Time,
};
use nodes::dtp::network::{Network, NetworkError, Work};
use nodes::dtp::{Config, Device};
use nodes::sink::{self, Sink};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Devices and links, for both.
#[derive(Default)]
pub struct Case {
    clocks: Vec<Oscillator>,
    ports: Vec<u16>,
    pub links: Vec<Link>,
    pub config: Config,
    /// Of devices that are not like the others.
    pub own: BTreeMap<usize, Config>,
    pub start: Vec<u128>,
}

pub type Looks = BTreeMap<Time, Vec<u128>>;

impl Case {
    pub fn of(ppm: &[f64]) -> Case {
        Case {
            clocks: ppm.iter().copied().map(Oscillator::fast_by).collect(),
            ports: vec![0; ppm.len()],
            start: vec![0; ppm.len()],
            ..Case::default()
        }
    }

    pub fn link(&mut self, a: usize, b: usize, ns: f64) {
        self.link_with(a, b, [ns; 2], |_| {});
    }

    pub fn link_with(&mut self, a: usize, b: usize, ns: [f64; 2], change: impl Fn(&mut Channel)) {
        let mut graph = Graph::default();
        let mut port = |device: usize| {
            self.ports[device] += 1;
            (NodeId(device), self.ports[device] - 1)
        };
        let (from, to) = (port(a), port(b));
        graph.connect(from, to, Channel::default());
        let mut link = graph.links.remove(0);
        for (direction, channel) in link.channels.iter_mut().enumerate() {
            let [sender, receiver] = if direction == 0 { [a, b] } else { [b, a] };
            channel.delay = Time::from_ps((1000.0 * ns[direction]) as u64);
            channel.level = Level::Block(Clocks {
                sender: self.clocks[sender].clone(),
                receiver: self.clocks[receiver].clone(),
                ..Clocks::default()
            });
            change(channel);
        }
        self.links.push(link);
    }

    pub fn devices(&self) -> Vec<Device> {
        let device = |(index, (&ports, &start)): (usize, (&u16, &u128))| {
            let config = self.own.get(&index).unwrap_or(&self.config);
            let device = Device::new(config, ports.max(1).into()).unwrap();
            device.starting_at(start)
        };
        let each = self.ports.iter().zip(&self.start).enumerate();
        each.map(device).collect()
    }

    /// The simulation of blocks.
    fn blocks(&self, seed: u64, until: Time, every: Time) -> (Looks, Vec<Statistics>) {
        let mut graph = Graph::default();
        for (index, device) in self.devices().into_iter().enumerate() {
            let ports = self.ports[index].max(1);
            let sink = Sink::new(sink::Config { ports }).unwrap();
            let node = graph.add(index.to_string(), Box::new(sink));
            let below: Box<dyn Sublayer> = Box::new(device);
            graph.sublayers.push((node, below));
        }
        graph.links.clone_from(&self.links);
        let looks: Arc<Mutex<BTreeMap<Time, BTreeMap<usize, u128>>>> = Arc::default();
        let see = looks.clone();
        let options = sim::Options {
            seed,
            until: Some(until),
            clocks: Some(sim::ClockTap {
                every,
                see: Arc::new(move |now, node, counter| {
                    let mut looks = see.lock().unwrap();
                    looks.entry(now).or_default().insert(node.0, counter);
                }),
            }),
            ..sim::Options::default()
        };
        let outcome = sim::run(graph, options).unwrap();
        let looks = std::mem::take(&mut *looks.lock().unwrap()).into_iter();
        let looks = looks.map(|(at, row)| (at, row.into_values().collect()));
        let statistics = outcome.nodes.into_iter().map(|node| {
            let own = node.counters.into_iter();
            Statistics {
                counters: own.filter(|(name, _)| name.starts_with("dtp_")).collect(),
                ..Statistics::default()
            }
        });
        (looks.collect(), statistics.collect())
    }

    pub fn messages(&self, seed: u64, until: Time, every: Time) -> (Looks, Vec<Statistics>, Work) {
        let mut network = Network::new(self.devices(), &self.links, seed).unwrap();
        let mut looks = Looks::new();
        let mut at = Time::ZERO;
        let longest = self.links.iter().flat_map(|link| &link.channels);
        let longest = longest.map(|channel| channel.delay).max();
        let last = until
            - Time::from_ps(2 * 6_400 * u64::from(self.config.beacon))
            - longest.unwrap_or_default();
        while at <= last {
            network.advance(at);
            looks.insert(at, network.counters());
            at += every;
        }
        // Behind that too little is left for slices, and by events no message is counted before it comes.
        let work = network.work();
        network.advance(last);
        network.statistics();
        while at <= until {
            network.advance(at);
            looks.insert(at, network.counters());
            at += every;
        }
        network.advance(until);
        (looks, network.statistics(), work)
    }

    /// Both, looked at often and seldom: the model then walks by events and by slices. What it did by slices.
    pub fn compare(&self, what: &str) -> Work {
        let runs = [(1, 300, 237), (2, 6_000, 481_000), (3, 20_000, 1_733_000)];
        self.compare_for(what, &runs)
    }

    /// Both, in runs of a seed, how many us, and from one look to the next, ns. What the last did
    /// by slices.
    pub fn compare_for(&self, what: &str, runs: &[(u64, u64, u64)]) -> Work {
        let mut by_slices = Work::default();
        for &(seed, until, every) in runs {
            let (until, every) = (Time::from_us(until), Time::from_ns(every));
            let (seen, counted) = self.blocks(seed, until, every);
            let (walked, counters, work) = self.messages(seed, until, every);
            assert_eq!(seen.len(), walked.len(), "{what}");
            for (at, row) in &seen {
                assert_eq!(row, &walked[at], "{what}, seed {seed}, at {at}: {work:?}");
            }
            for (device, (seen, walked)) in counted.iter().zip(&counters).enumerate() {
                assert_eq!(seen.counters, walked.counters, "{what}, device {device}");
            }
            by_slices = work;
        }
        by_slices
    }
}

const PPM: [f64; 12] = [
    -100.0, 12.0, 100.0, -40.0, 77.0, -99.0, 3.0, 58.0, -61.0, 20.0, 99.0, -7.0,
];

#[test]
fn two_devices() {
    for (fast, slow, ns, beacon) in [
        (100.0, -100.0, 280.0, 200),
        (-100.0, 100.0, 281.7, 1_200),
        (0.0, 0.0, 280.0, 200),
        (1e-3, 0.0, 60.1, 200),
        (33.0, 32.0, 5_280.3, 400),
        (100.0, -100.0, 6.4, 700),
    ] {
        let mut case = Case::of(&[fast, slow]);
        case.config.beacon = beacon;
        case.link(0, 1, ns);
        let work = case.compare(&format!("{fast} and {slow} ppm, {ns} ns"));
        assert_eq!(work.slices > 0, ns > 10.0, "{work:?}");
    }
}

#[test]
fn two_devices_whose_fifo_never_or_always_or_mostly_holds() {
    for fifo in [0.0, 1.0, 0.9] {
        let mut case = Case::of(&[60.0, -90.0]);
        case.link_with(0, 1, [280.0, 300.0], |channel| {
            if let Level::Block(clocks) = &mut channel.level {
                clocks.fifo = Probability::new(fifo).unwrap();
            }
        });
        case.compare(&format!("fifo {fifo}"));
    }
}

#[test]
fn a_chain_a_star_a_tree_and_a_triangle() {
    for beacon in [200, 1_200] {
        let mut chain = Case::of(&PPM[..5]);
        (1..5).for_each(|device| chain.link(device - 1, device, 270.0 + 3.1 * device as f64));
        let mut star = Case::of(&PPM[..6]);
        (1..6).for_each(|device| star.link(0, device, 280.0));
        let mut tree = Case::of(&PPM);
        for device in 1..12 {
            let parent = if device < 4 { 0 } else { (device - 4) / 3 + 1 };
            tree.link(parent, device, 280.0 + 6.0 * device as f64);
        }
        let mut triangle = Case::of(&[40.0, -70.0, 90.0]);
        for (a, b, ns) in [(0, 1, 280.0), (1, 2, 330.0), (2, 0, 295.5)] {
            triangle.link(a, b, ns);
        }
        for (what, mut case) in [
            ("chain", chain),
            ("star", star),
            ("tree", tree),
            ("triangle", triangle),
        ] {
            case.config.beacon = beacon;
            let work = case.compare(&format!("{what}, beacon {beacon}"));
            assert!(
                work.beacons > 10 * work.events.min(work.looked_at),
                "{what}: {work:?}"
            );
            assert_eq!(work.walked_again, 0);
        }
    }
}

#[test]
fn clocks_that_drift_and_follow_the_temperature() {
    let mut case = Case::of(&[0.0; 4]);
    let ms = Time::from_ms;
    for (index, clock) in case.clocks.iter_mut().enumerate() {
        *clock = Oscillator {
            offset: [80.0, -60.0, 5.0, -99.0][index],
            drift: [-900.0, 500.0, 0.0, 1_000.0][index],
            per_degree: [0.1, 0.0, -1.0, 0.0][index],
            temperature: vec![(ms(2), 20.0), (ms(5), 22.0), (ms(11), 19.0)],
        };
    }
    for device in 1..4 {
        case.link(device - 1, device, 290.0);
    }
    let work = case.compare("drift");
    assert!(work.slices > 0);
}

#[test]
fn links_that_go_down_and_come_up_again_and_counters_that_join() {
    let us = Time::from_us;
    let mut case = Case::of(&[10.0, -30.0, 80.0, 90.0, -50.0]);
    case.start = vec![1_000_000, 0, 5_000, (1 << 53) - 300_000, 7];
    case.link(0, 1, 280.0);
    case.link_with(1, 2, [280.0; 2], |channel| {
        channel.down = vec![
            [Time::ZERO, us(1_000)],
            [us(2_000), us(3_500)],
            [us(8_000), us(12_345)],
        ];
    });
    case.link(2, 3, 310.0);
    case.link_with(3, 4, [280.0; 2], |channel| {
        channel.down = vec![[us(2_000), us(2_001)], [us(5_000), us(15_000)]];
    });
    let work = case.compare("links down and up");
    assert!(work.slices > 10, "{work:?}");
}

#[test]
fn peers_that_are_given_up() {
    // Delays that come out too long: counters chase each other until the jumps are too many.
    let mut case = Case::of(&[100.0, 99.0, -20.0]);
    case.config.alpha = Some(0);
    case.link(0, 1, 280.0);
    case.link(1, 2, 281.0);
    let work = case.compare("alpha 0");
    assert!(work.slices > 0, "{work:?}");
}

#[test]
fn a_cable_that_is_longer_one_way_and_beacons_out_of_range() {
    let mut case = Case::of(&[100.0, -100.0, 0.0]);
    case.link_with(0, 1, [600.0, 280.0], |_| {});
    case.link_with(1, 2, [280.0, 500.0], |_| {});
    case.compare("asymmetric");
}

#[test]
fn log_messages_are_walked_by_events() {
    let mut case = Case::of(&[100.0, -100.0]);
    case.config.log = Some(3_000);
    case.link(0, 1, 280.0);
    assert_eq!(case.compare("log").slices, 0);
}

#[test]
fn what_cannot_be_modelled_is_refused() {
    let refused = |change: &dyn Fn(&mut Case)| {
        let mut case = Case::of(&[1.0, 2.0]);
        case.link(0, 1, 280.0);
        change(&mut case);
        Network::new(case.devices(), &case.links, 0).err()
    };
    assert_eq!(refused(&|_| {}), None);
    assert_eq!(
        refused(&|case| case.links[0].channels[1].level = Level::Frame),
        Some(NetworkError::Frames(0))
    );
    assert_eq!(
        refused(&|case| case.links[0].channels[1].bit_error = 1e-9),
        Some(NetworkError::BitErrors(0))
    );
    assert_eq!(
        refused(&|case| {
            case.clocks[0] = Oscillator::fast_by(3.0);
            case.link(0, 1, 280.0);
        }),
        Some(NetworkError::TwoClocks(0))
    );
    assert_eq!(
        refused(&|case| case.links[0].ends[0].node = NodeId(7)),
        Some(NetworkError::NoSuchPort {
            link: 0,
            device: 7,
            port: node::Port(0)
        })
    );
}
