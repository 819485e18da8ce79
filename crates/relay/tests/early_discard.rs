//! Delay-sensitive packets through a link that is too narrow for them.

use crate::cast;
use crate::cast::{counter, drops, link, sink, source, udp, wide};
use node::{Channel, Graph, NodeId, Outcome, QueueLimit, Time};
use relay::early_discard::{Config, EarlyDiscard};

const SIZE: usize = 958;

/// A frame of 1000 bytes: 80 us at 100 Mb/s.
fn frame(number: u32, port: u16) -> Vec<u8> {
    let mut payload = [0; SIZE];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    udp((4000, port), &payload)
}

/// 2,000 frames at 200 Mb/s through 100 Mb/s, every second one to port 5004; how long each of those took that came.
fn through(config: Config) -> (Outcome, NodeId, Vec<Time>, usize) {
    let mut graph = Graph::default();
    let at = |n: u32| Time::from_us(40) * n.into();
    let frames = (0..2_000).map(|n| (at(n), frame(n, if n % 2 == 0 { 5004 } else { 9 })));
    let (end, seen) = sink();
    let a = graph.add("a", source(frames));
    let e = graph.add("e", Box::new(EarlyDiscard::new(config).unwrap()));
    let b = graph.add("b", end);
    graph.connect((a, 0), (e, 0), wide());
    let narrow = Channel {
        queue: QueueLimit::Packets(2_000),
        ..link(100)
    };
    graph.connect((e, 1), (b, 0), narrow);
    let outcome = cast::run(graph, Time::from_secs(2));
    let seen = seen.lock().unwrap();
    let sensitive = seen
        .iter()
        .filter(|(_, bytes)| bytes[36..38] == 5004u16.to_be_bytes());
    let took = sensitive.map(|(came, bytes)| {
        let number = u32::from_be_bytes(bytes[42..46].try_into().unwrap());
        *came - at(number)
    });
    (outcome, e, took.collect(), seen.len())
}

fn config() -> Config {
    Config {
        matching: vec![relay::rule::Rule {
            ports: vec!["5004".parse().unwrap()],
            ..Default::default()
        }],
        bound: Time::from_ms(2),
        age: Time::ZERO,
        ..Config::default()
    }
}

#[test]
fn what_comes_is_in_time_and_the_others_all_pass() {
    let (outcome, e, took, all) = through(config());
    // The frame that leaves meanwhile and the own one, with gaps and preambles: not more than 3 % and three frames.
    let most = Time::from_us(2_000 * 103 / 100 + 3 * 82);
    assert!(
        took.iter().all(|took| *took <= most),
        "{:?}",
        took.iter().max()
    );
    let late = drops(&outcome, e, "too late");
    assert_eq!(late, counter(&outcome, e, "late"));
    assert_eq!(counter(&outcome, e, "matched"), 1_000);
    assert_eq!(took.len() as u64, 1_000 - late);
    // What does not match has the whole link but for the wait's first packets: all of it comes.
    assert_eq!(all - took.len(), 1_000);
    assert!(late > 800, "{late}");
}

#[test]
fn without_a_bound_in_reach_nothing_is_dropped() {
    let config = Config {
        bound: Time::from_secs(10),
        ..config()
    };
    let (outcome, e, took, all) = through(config);
    assert_eq!((took.len(), all), (1_000, 2_000));
    assert_eq!(counter(&outcome, e, "unknown"), 0);
    assert!(took.iter().max() > Some(&Time::from_ms(60)));
}

#[test]
fn old_facts_serve_where_all_the_traffic_passes_here() {
    let exact = through(config()).2;
    let config = Config {
        age: Time::from_ms(50),
        ..config()
    };
    let old = through(config).2;
    // Preambles and gaps, 2 %, are not in the own reckoning between facts.
    let most = old.iter().max().unwrap().as_ns() as f64;
    assert!(
        most < 1.1 * exact.iter().max().unwrap().as_ns() as f64,
        "{most} ns"
    );
    assert!(
        old.len().abs_diff(exact.len()) < 20,
        "{} and {}",
        old.len(),
        exact.len()
    );
}

#[test]
fn thinning_drops_some_before_the_bound_and_is_the_same_each_time() {
    let config = || Config {
        thin: Some(Time::from_us(100)),
        probability: 1.0,
        bound: Time::from_ms(200),
        seed: 7,
        ..config()
    };
    let (outcome, e, took, _) = through(config());
    let thinned = drops(&outcome, e, "thinned");
    assert!((20..300).contains(&thinned), "{thinned}");
    assert_eq!(drops(&outcome, e, "too late"), 0);
    assert_eq!(through(config()).2, took);
}

#[test]
fn a_configuration_that_cannot_be_is_refused_with_its_key() {
    let wrong = |config: Config| EarlyDiscard::new(config).unwrap_err().key;
    let probability = Config {
        probability: f64::NAN,
        ..Config::default()
    };
    assert_eq!(wrong(probability), "probability");
    let thin = Config {
        thin: Some(Time::from_ms(20)),
        ..Config::default()
    };
    assert_eq!(wrong(thin), "thin");
}
