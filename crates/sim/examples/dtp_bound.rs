//! Tries to break DTP's bound of 4 ticks between two ports, and shows which assumption each break needs:
//! `cargo run --release -p wireline-sim --example dtp_bound`.
//!
//! For each line all of these are gone through: the cable's length in steps of 1/16 tick over two ticks, so that INIT meets each phase of the
//! clocks; who of the two is the faster, and by how much; lots of the synchronisation FIFO.

use node::{Channel, Clocks, Graph, Level, NodeId, Oscillator, Probability, Sublayer, Time};
use nodes::dtp::{Config, Device};
use nodes::sink::{self, Sink};
use std::sync::{Arc, Mutex};

/// What is assumed.
struct Assumed {
    what: &'static str,
    config: Config,
    /// How likely the FIFO is to hold a message.
    fifo: f64,
    /// So much longer is the cable one way.
    longer: Time,
    most_ppm: f64,
}

/// What came of a run, ticks.
#[derive(Clone, Copy, Default)]
struct Seen {
    greatest: u128,
    /// Looks with more than 4 ticks, and all.
    over: [u64; 2],
    /// By how much the counters went on faster than the faster oscillator, ppm.
    hurried: f64,
    given_up: u64,
}

const ALL: Time = Time::from_ms(4);
const JOINED: Time = Time::from_us(60);

fn run(assumed: &Assumed, delay: Time, ppm: [f64; 2], seed: u64) -> Seen {
    let mut graph = Graph::default();
    for name in ["a", "b"] {
        let sink = Sink::new(sink::Config::default()).expect("a good sink");
        let node = graph.add(name, Box::new(sink));
        let device: Box<dyn Sublayer> =
            Box::new(Device::new(&assumed.config, 1).expect("good keys"));
        graph.sublayers.push((node, device));
    }
    let link = graph.connect((NodeId(0), 0), (NodeId(1), 0), Channel::default());
    for (direction, channel) in graph.links[link].channels.iter_mut().enumerate() {
        channel.delay = delay + assumed.longer * direction as u64;
        let clock = |end: usize| Oscillator::fast_by(ppm[end]);
        channel.level = Level::Block(Clocks {
            sender: clock(direction),
            receiver: clock(1 - direction),
            fifo: Probability::new(assumed.fifo).expect("a probability"),
        });
    }
    let looks: Arc<Mutex<Vec<(Time, u128)>>> = Arc::default();
    let see = looks.clone();
    let options = sim::Options {
        seed,
        until: Some(ALL),
        clocks: Some(sim::ClockTap {
            every: Time::from_ns(617),
            see: Arc::new(move |now, _, counter| {
                if let (true, Ok(mut looks)) = (now >= JOINED, see.lock()) {
                    looks.push((now, counter));
                }
            }),
        }),
        ..sim::Options::default()
    };
    let outcome = sim::run(graph, options).expect("a good graph");
    let looks = looks.lock().expect("nobody panicked");
    let mut seen = Seen::default();
    for both in looks.chunks_exact(2) {
        let apart = both[0].1.abs_diff(both[1].1);
        seen.greatest = seen.greatest.max(apart);
        seen.over[0] += u64::from(apart > 4);
        seen.over[1] += 1;
    }
    let (first, last) = (looks[0], looks[looks.len() - 2]);
    let ticks = (last.0 - first.0).as_ps() as f64 / 6_400.0;
    let faster = ppm[0].max(ppm[1]);
    seen.hurried = ((last.1 - first.1) as f64 / ticks - 1.0) * 1e6 - faster;
    let counters = outcome.nodes.iter().flat_map(|node| &node.counters);
    let given_up = counters.filter(|(name, _)| name == "dtp_given_up");
    seen.given_up = given_up.map(|(_, count)| count).sum();
    seen
}

fn search(assumed: &Assumed) {
    let mut worst = Seen::default();
    let mut runs = 0;
    for step in 0..32 {
        let delay = Time::from_ps(280_000 + 400 * step);
        for share in [1.0, 0.5, 0.1] {
            let ppm = assumed.most_ppm * share;
            for (seed, ppm) in [[ppm, -ppm], [-ppm, ppm], [ppm, 0.9 * ppm]]
                .into_iter()
                .enumerate()
            {
                let seen = run(assumed, delay, ppm, step + 1000 * seed as u64);
                runs += 1;
                worst.greatest = worst.greatest.max(seen.greatest);
                worst.over[0] += seen.over[0];
                worst.over[1] += seen.over[1];
                worst.hurried = worst.hurried.max(seen.hurried);
                worst.given_up += u64::from(seen.given_up > 0);
            }
        }
    }
    println!(
        "{:<44} {:>8} {:>12.6} {:>12.1} {:>8} {:>6}",
        assumed.what,
        worst.greatest,
        100.0 * worst.over[0] as f64 / worst.over[1] as f64,
        worst.hurried,
        worst.given_up,
        runs
    );
}

fn main() {
    println!(
        "{:<44} {:>8} {:>12} {:>12} {:>8} {:>6}",
        "assumed", "greatest", "% over 4", "hurried ppm", "given up", "runs"
    );
    let usual = |what| Assumed {
        what,
        config: Config::default(),
        fifo: 0.5,
        longer: Time::ZERO,
        most_ppm: 100.0,
    };
    let beacon = |what, beacon| Assumed {
        config: Config {
            beacon,
            ..Config::default()
        },
        ..usual(what)
    };
    let alpha = |what, alpha| Assumed {
        config: Config {
            alpha: Some(alpha),
            ..Config::default()
        },
        ..usual(what)
    };
    for assumed in [
        alpha("alpha 0", 0),
        alpha("alpha 1", 1),
        alpha("alpha 2", 2),
        alpha("alpha 3: the paper's", 3),
        alpha("alpha 4", 4),
        beacon("a beacon every 1200 ticks", 1_200),
        beacon("a beacon every 4000 ticks", 4_000),
        beacon("a beacon every 5000 ticks", 5_000),
        beacon("a beacon every 20000 ticks", 20_000),
        Assumed {
            fifo: 0.0,
            ..beacon("every 5000 ticks, the FIFO never holds", 5_000)
        },
        Assumed {
            fifo: 1.0,
            ..beacon("every 5000 ticks, the FIFO always holds", 5_000)
        },
        Assumed {
            fifo: 0.9,
            ..beacon("every 5000 ticks, the FIFO holds 9 of 10", 5_000)
        },
        Assumed {
            most_ppm: 5.0,
            ..beacon("every 5000 ticks, clocks within 5 ppm", 5_000)
        },
        Assumed {
            longer: Time::from_ns(50),
            ..usual("a cable 50 ns longer one way")
        },
    ] {
        search(&assumed);
    }
}
