//! How much faster than real time PTP is simulated on one core: a boundary clock with 1,000 slaves, 128 Syncs and 128 questions a second each.
//!
//! `cargo bench -p wireline-sim --bench ptp`. Times are those spent on the processor, best of several runs each, since other programs load
//! the machine; of the second half of the simulated time, when all clocks are locked.
use measure::clock::ClockReport;
use node::{Channel, Graph, Time};
use nodes::clock;
use nodes::ptp::{self, Ptp, Role, Type};
use std::time::Duration;

const RUNS: usize = 3;
/// Until the clocks are locked, and again as long.
const SECONDS: u64 = 3;
const SLAVES: u16 = 1_000;

fn clock(number: u16, change: impl Fn(&mut ptp::Config)) -> Box<Ptp> {
    let [high, low] = number.to_be_bytes();
    let mut config = ptp::Config {
        mac: [2, 0, 0, 0, high, low].into(),
        log_announce_interval: -3,
        log_sync_interval: -7,
        log_delay_interval: -7,
        clock: clock::Config {
            ppm: f64::from(number % 200) - 100.0,
            ..clock::Config::default()
        },
        seed: number.into(),
        ..ptp::Config::default()
    };
    change(&mut config);
    Box::new(Ptp::new(config).expect("good"))
}

fn network() -> Graph {
    let channel = || Channel {
        delay: Time::from_us(1),
        ..Channel::default()
    };
    let mut graph = Graph::default();
    let master = graph.add("master", clock(0, |config| config.role = Role::Master));
    let boundary = clock(1, |config| {
        (config.clock_type, config.ports) = (Type::Boundary, SLAVES + 1);
    });
    let boundary = graph.add("boundary", boundary);
    graph.connect((master, 0), (boundary, 0), channel());
    for slave in 1..=SLAVES {
        let node = clock(slave + 1, |config| config.role = Role::Slave);
        let node = graph.add(format!("s{slave}"), node);
        graph.connect((boundary, slave), (node, 0), channel());
    }
    graph
}

/// How long this thread has been on a processor.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("Linux tells a thread's time"))
}

/// The best of several runs: the time on the processor, calls of nodes, and clocks that are locked.
fn run(seconds: u64) -> (Duration, u64, usize) {
    let runs = (0..RUNS).map(|_| {
        let options = sim::Options {
            until: Some(Time::from_secs(seconds)),
            ..sim::Options::default()
        };
        let graph = network();
        let start = on_processor();
        let outcome = sim::run(graph, options).expect("a good graph");
        let took = on_processor() - start;
        let clocks = outcome
            .nodes
            .iter()
            .filter_map(|node| node.extensions.get::<ClockReport>());
        let locked = clocks.filter(|clock| clock.state.ends_with("locked"));
        (took, outcome.events, locked.count())
    });
    runs.min().expect("at least one")
}

fn main() {
    let (before, events, _) = run(SECONDS);
    let (after, all, locked) = run(2 * SECONDS);
    let (took, events) = ((after - before).as_secs_f64(), all - events);
    let ratio = SECONDS as f64 / took;
    println!(
        "{locked} clocks of {} locked; {events} calls of nodes",
        SLAVES + 1
    );
    println!(
        "{SECONDS} s of {SLAVES} slaves in {took:.3} s: {ratio:.2} times as fast as real time"
    );
}
