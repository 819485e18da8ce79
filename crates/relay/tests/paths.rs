//! Flows over two paths.

use crate::cast;
use crate::cast::{Seen, counter, drops, link, sink, source, udp, udp_of, wide};
use node::{Channel, Graph, NodeId, Outcome, Time};
use relay::paths::{Config, Paths, Route, Selection};
use relay::rule::Rule;

/// `count` packets of 1000 bytes, one every `gap`, of so many flows in turn.
fn flows(count: u32, flows: u16, gap: Time) -> Vec<(Time, Vec<u8>)> {
    let frame = |n: u32| udp((1_000 + (n % u32::from(flows)) as u16, 9), &[0; 958]);
    (0..count).map(|n| (gap * n.into(), frame(n))).collect()
}

/// Through two paths.
fn over(
    config: Config,
    frames: Vec<(Time, Vec<u8>)>,
    links: [Channel; 2],
) -> (Outcome, NodeId, [Seen; 2]) {
    let mut graph = Graph::default();
    let a = graph.add("a", source(frames));
    let p = graph.add("p", Box::new(Paths::new(config).unwrap()));
    graph.connect((a, 0), (p, 0), wide());
    let mut port = 0;
    let seen = links.map(|link| {
        let (end, seen) = sink();
        let end = graph.add(format!("b{port}"), end);
        port += 1;
        graph.connect((p, port), (end, 0), link);
        seen
    });
    (cast::run(graph, Time::from_secs(60)), p, seen)
}

fn flow_of(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[34], frame[35]])
}

/// The flows that went a way.
fn flows_of(seen: &Seen) -> std::collections::BTreeSet<u16> {
    seen.lock()
        .unwrap()
        .iter()
        .map(|(_, frame)| flow_of(frame))
        .collect()
}

#[test]
fn flows_are_spread_as_the_rates_are_and_each_stays_whole() {
    let (outcome, p, seen) = over(
        Config::default(),
        flows(6_000, 2_000, Time::from_us(100)),
        [link(300), link(100)],
    );
    let [first, second] = [&seen[0], &seen[1]].map(flows_of);
    assert!(first.is_disjoint(&second));
    assert_eq!(first.len() + second.len(), 2_000);
    // Of 2,000 flows three quarters, give or take four deviations.
    assert!((1_420..1_580).contains(&first.len()), "{}", first.len());
    assert_eq!(counter(&outcome, p, "path1"), 3 * first.len() as u64);
}

#[test]
fn weights_count_for_more_than_rates_and_one_without_weight_has_nothing() {
    let config = Config {
        weights: vec![0, 5],
        ..Config::default()
    };
    let (outcome, p, _) = over(
        config,
        flows(500, 500, Time::from_us(100)),
        [link(300), link(100)],
    );
    assert_eq!(counter(&outcome, p, "path1"), 0);
    assert_eq!(counter(&outcome, p, "path2"), 500);
}

#[test]
fn the_first_rule_that_matches_decides() {
    let route = |text: &str, path| Route {
        matching: Rule {
            ports: vec![text.parse().unwrap()],
            ..Rule::default()
        },
        path,
    };
    let dscp = Route {
        matching: Rule {
            dscp: vec![46],
            ..Rule::default()
        },
        path: 2,
    };
    let config = Config {
        rule: vec![
            route("5004", 1),
            dscp,
            route("5004-5010", 2),
            route("0-65535", 1),
        ],
        ..Config::default()
    };
    let ends = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let frames = [(5004, 46, 1), (5005, 0, 2), (80, 46, 2), (80, 0, 1)];
    for (port, dscp, path) in frames {
        let frame = udp_of(ends, (9, port), dscp, &[0; 100]);
        let (outcome, p, _) = over(
            config.clone(),
            vec![(Time::ZERO, frame)],
            [link(10), link(10)],
        );
        assert_eq!(
            counter(&outcome, p, &format!("path{path}")),
            1,
            "{port} {dscp}"
        );
        assert_eq!(counter(&outcome, p, "by_rule"), 1);
    }
}

#[test]
fn a_new_flow_goes_where_the_wait_is_shorter_and_stays_there() {
    // The first flow has nearly all packets: those that begin later are on the other path, whose queue is shorter.
    let elephant = flows(2_000, 1, Time::from_us(90));
    let mice = (1..100u16).map(|n| {
        let at = Time::from_ms(1) + Time::from_us(1_500) * n.into();
        (at, udp((2_000 + n, 9), &[0; 100]))
    });
    let mut frames: Vec<_> = elephant.into_iter().chain(mice).collect();
    frames.sort();
    let config = Config {
        by: Selection::Wait,
        age: Time::ZERO,
        ..Config::default()
    };
    let (outcome, p, seen) = over(config, frames, [link(80), link(80)]);
    let [first, second] = [&seen[0], &seen[1]].map(flows_of);
    assert!(first.is_disjoint(&second));
    let alone = if first.contains(&1_000) {
        &first
    } else {
        &second
    };
    assert_eq!(alone.len(), 1, "{alone:?}");
    assert_eq!(counter(&outcome, p, "flows"), 100);
    assert_eq!(counter(&outcome, p, "no_room"), 0);
}

#[test]
fn a_path_that_is_down_is_left_at_once() {
    for by in [Selection::Share, Selection::Wait] {
        let config = Config {
            by,
            ..Config::default()
        };
        let down = Channel {
            down: vec![[Time::from_ms(100), Time::from_ms(200)]],
            delay: Time::from_ms(1),
            ..link(100)
        };
        // 300 ms of 50 flows.
        let (outcome, p, seen) = over(
            config,
            flows(3_000, 50, Time::from_us(100)),
            [link(100), down],
        );
        let came = seen[0].lock().unwrap().len() + seen[1].lock().unwrap().len();
        // Those that were on their way are lost, and no others.
        assert!((2_980..3_000).contains(&came), "{by:?}: {came}");
        let meanwhile = seen[1]
            .lock()
            .unwrap()
            .iter()
            .any(|(at, _)| (Time::from_ms(101)..Time::from_ms(200)).contains(at));
        assert!(!meanwhile);
        let back = seen[1]
            .lock()
            .unwrap()
            .iter()
            .any(|(at, _)| *at > Time::from_ms(200));
        // By the wait they stay where they are.
        assert_eq!(back, by == Selection::Share);
        assert_eq!(counter(&outcome, p, "moved") > 10, by == Selection::Wait);
    }
}

#[test]
fn with_all_paths_down_packets_are_dropped_with_a_reason() {
    let down = || Channel {
        down: vec![[Time::from_ms(1), Time::from_secs(50)]],
        ..link(100)
    };
    let frame = udp((1, 2), &[0; 100]);
    let (outcome, p, _) = over(
        Config::default(),
        vec![(Time::from_ms(2), frame), (Time::from_ms(3), vec![0; 60])],
        [down(), down()],
    );
    assert_eq!(drops(&outcome, p, "no path is up"), 2);
}

#[test]
fn more_flows_than_there_is_room_for_go_by_share_and_stay_whole() {
    let config = Config {
        by: Selection::Wait,
        flows: 64,
        ..Config::default()
    };
    let (outcome, p, seen) = over(
        config,
        flows(4_000, 1_000, Time::from_us(100)),
        [link(100), link(100)],
    );
    assert_eq!(counter(&outcome, p, "flows"), 64);
    assert_eq!(counter(&outcome, p, "no_room"), 4_000 - 4 * 64);
    let [first, second] = [&seen[0], &seen[1]].map(flows_of);
    assert!(first.is_disjoint(&second));
}

#[test]
fn a_configuration_that_cannot_be_is_refused_with_its_key() {
    let wrong = |config: Config| Paths::new(config).unwrap_err().key;
    let base = Config::default;
    assert_eq!(wrong(Config { paths: 0, ..base() }), "paths");
    assert_eq!(
        wrong(Config {
            paths: 17,
            ..base()
        }),
        "paths"
    );
    assert_eq!(
        wrong(Config {
            weights: vec![1],
            ..base()
        }),
        "weights"
    );
    assert_eq!(
        wrong(Config {
            weights: vec![0, 0],
            ..base()
        }),
        "weights"
    );
    assert_eq!(
        wrong(Config {
            flows: usize::MAX,
            ..base()
        }),
        "flows"
    );
    let route = Route {
        matching: Rule::default(),
        path: 3,
    };
    assert_eq!(
        wrong(Config {
            rule: vec![route],
            ..base()
        }),
        "rule"
    );
}
