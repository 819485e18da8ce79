//! Nodes behind ports in Verilog, in exact simulated time.

use cosim::{Behind, Speed};
use node::outcome::{Direction, Tap};
use node::{Channel, Graph, Node, Oscillator, Outcome, Rate, Time};
use nodes::{delay, generator, sink};
use std::sync::{Arc, Mutex};

fn behind(node: impl Node + 'static, ppm: f64) -> Option<Box<dyn Node>> {
    behind_at(Speed::Gigabit, node, ppm)
}

fn behind_at(speed: Speed, node: impl Node + 'static, ppm: f64) -> Option<Box<dyn Node>> {
    let made = Behind::new(Box::new(node), speed, &Oscillator::fast_by(ppm), None);
    let made = made.inspect_err(|missing| println!("skipped: {missing}"));
    Some(Box::new(made.ok()?))
}

fn sender(count: u64, gap: Time) -> generator::Generator {
    let config = generator::Config {
        start: Time::from_ms(1),
        count: Some(count),
        gap: Some(gap),
        ..generator::Config::default()
    };
    generator::Generator::new(config).unwrap()
}

fn gigabit() -> Channel {
    Channel {
        rate: Rate::from_bits_per_second(1_000_000_000),
        ..Channel::default()
    }
}

fn ten_gigabit() -> Channel {
    Channel {
        rate: Some(Rate::TEN_GIGABIT),
        ..Channel::default()
    }
}

type Seen = Arc<Mutex<Vec<Time>>>;

/// Runs a chain of nodes; the times at which frames arrive at the last one.
fn run(chain: Vec<Box<dyn Node>>, ports: &[(u16, u16)]) -> (Outcome, Vec<Time>) {
    run_over(gigabit, chain, ports)
}

fn run_over(
    channel: fn() -> Channel,
    chain: Vec<Box<dyn Node>>,
    ports: &[(u16, u16)],
) -> (Outcome, Vec<Time>) {
    let mut graph = Graph::default();
    let nodes: Vec<_> = chain
        .into_iter()
        .enumerate()
        .map(|(n, node)| graph.add(format!("n{n}"), node))
        .collect();
    for (pair, (from, to)) in nodes.windows(2).zip(ports) {
        graph.connect((pair[0], *from), (pair[1], *to), channel());
    }
    let seen = Seen::default();
    let arrivals = seen.clone();
    let tap = Tap {
        link: ports.len() - 1,
        direction: Direction::Forth,
        see: Box::new(move |_, frame| arrivals.lock().unwrap().push(frame.arrived())),
    };
    let options = sim::Options {
        taps: vec![tap],
        ..sim::Options::default()
    };
    let outcome = sim::run(graph, options).unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

fn counter(outcome: &Outcome, node: usize, name: &str) -> u64 {
    let counters = &outcome.nodes[node].counters;
    counters
        .iter()
        .find(|(known, _)| known == name)
        .unwrap_or_else(|| panic!("{name} in {counters:?}"))
        .1
}

#[test]
fn a_schedule_is_kept_to_the_picosecond_and_what_arrives_is_stamped_so() {
    let gap = Time::from_us(100);
    let chain = || {
        Some(vec![
            behind(sender(200, gap), 0.0)?,
            behind(sink::Sink::new(sink::Config::default()).unwrap(), 0.0)?,
        ])
    };
    let Some(chain) = chain() else { return };
    let (outcome, seen) = run(chain, &[(0, 0)]);
    let expected: Vec<Time> = (0..200)
        .map(|n| Time::from_ms(1) + Time::from_us(100 * n))
        .collect();
    assert_eq!(seen, expected);
    for (node, name, count) in [
        (0, "rtl0_sent", 200),
        (0, "rtl0_late", 0),
        (0, "rtl0_diverged", 0),
        (1, "rtl0_received", 200),
        (1, "rtl0_bad", 0),
        (1, "packets", 200),
    ] {
        assert_eq!(counter(&outcome, node, name), count, "{name}");
    }
}

#[test]
fn a_box_that_delays_by_the_received_stamp_is_exact_at_line_rate() {
    // 84 ticks: frames of 64 bytes back to back.
    let gap = Time::from_ns(672);
    let second =
        || delay::Delay::new(delay::Config::fixed(Time::from_us(50), Time::from_us(50))).unwrap();
    let chain = || {
        Some(vec![
            behind(sender(2_000, gap), 0.0)?,
            behind(second(), 0.0)?,
            behind(sink::Sink::new(sink::Config::default()).unwrap(), 0.0)?,
        ])
    };
    let Some(chain) = chain() else { return };
    let (outcome, seen) = run(chain, &[(0, 0), (1, 0)]);
    let expected: Vec<Time> = (0..2_000)
        .map(|n| Time::from_us(1_050) + Time::from_ns(672 * n))
        .collect();
    assert_eq!(seen, expected);
    assert_eq!(
        (
            counter(&outcome, 1, "rtl1_late"),
            counter(&outcome, 1, "rtl1_sent")
        ),
        (0, 2_000)
    );
}

#[test]
fn an_ordinary_node_and_one_behind_ports_understand_each_other() {
    // 1 us and 3 ns: off the grid of 8 ns, so that stamps are cut to it.
    let gap = Time::from_ns(1_003);
    let mirror =
        || delay::Delay::new(delay::Config::fixed(Time::from_us(20), Time::from_us(20))).unwrap();
    let chain = || {
        Some(vec![
            Box::new(sender(500, gap)) as Box<dyn Node>,
            behind(mirror(), 0.0)?,
            Box::new(sink::Sink::new(sink::Config::default()).unwrap()),
        ])
    };
    let Some(chain) = chain() else { return };
    let (_, seen) = run(chain, &[(0, 0), (1, 0)]);
    assert_eq!(seen.len(), 500);
    for (n, at) in (0..).zip(seen) {
        let stamp = (1_000_000 + 1_003 * n) / 8 * 8;
        assert_eq!(at, Time::from_ns(stamp + 20_000), "frame {n}");
    }
}

#[test]
fn a_clock_that_is_fast_sends_earlier_and_no_tick_is_off() {
    let gap = Time::from_ms(1);
    let chain = || {
        Some(vec![
            behind(sender(50, gap), 100.0)?,
            behind(sink::Sink::new(sink::Config::default()).unwrap(), 0.0)?,
        ])
    };
    let Some(chain) = chain() else { return };
    let (_, seen) = run(chain, &[(0, 0)]);
    assert_eq!(seen.len(), 50);
    for pair in seen.windows(2) {
        let gap = (pair[1] - pair[0]).as_ps();
        // 1 ms of a clock that is 100 ppm fast.
        assert!(gap.abs_diff(999_900_010) <= 1, "{gap} ps");
    }
}

#[test]
fn at_10_gigabits_a_box_that_delays_by_the_received_stamp_is_exact_at_line_rate() {
    // 84 characters of 0.8 ns, 10.5 ticks: frames of 64 bytes back to back, every other one in the middle of a tick. A card has to have a
    // record 21 ticks before its departure, so that the sender is none: it has each frame one frame ahead.
    let gap = Time::from_ps(67_200);
    let wait = Time::from_us(64);
    let delay = || delay::Delay::new(delay::Config::fixed(wait, wait)).unwrap();
    let chain = || {
        Some(vec![
            Box::new(sender(2_000, gap)) as Box<dyn Node>,
            behind_at(Speed::TenGigabit, delay(), 0.0)?,
            Box::new(sink::Sink::new(sink::Config::default()).unwrap()),
        ])
    };
    let Some(chain) = chain() else { return };
    let (outcome, seen) = run_over(ten_gigabit, chain, &[(0, 0), (1, 0)]);
    let expected: Vec<Time> = (0..2_000)
        .map(|n| Time::from_us(1_064) + Time::from_ps(67_200 * n))
        .collect();
    assert_eq!(seen, expected);
    for (name, count) in [
        ("rtl0_received", 2_000),
        ("rtl0_bad", 0),
        ("rtl1_sent", 2_000),
        ("rtl1_late", 0),
        ("rtl1_diverged", 0),
    ] {
        assert_eq!(counter(&outcome, 1, name), count, "{name}");
    }
}

#[test]
fn at_10_gigabits_a_schedule_of_whole_ticks_is_kept_to_the_picosecond() {
    let gap = Time::from_us(100);
    let chain = || {
        Some(vec![
            behind_at(Speed::TenGigabit, sender(200, gap), 0.0)?,
            behind_at(
                Speed::TenGigabit,
                sink::Sink::new(sink::Config::default()).unwrap(),
                0.0,
            )?,
        ])
    };
    let Some(chain) = chain() else { return };
    let (outcome, seen) = run_over(ten_gigabit, chain, &[(0, 0)]);
    let expected: Vec<Time> = (0..200)
        .map(|n| Time::from_ms(1) + Time::from_us(100 * n))
        .collect();
    assert_eq!(seen, expected);
    assert_eq!(counter(&outcome, 1, "rtl0_received"), 200);
}
