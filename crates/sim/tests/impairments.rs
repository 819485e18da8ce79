//! Loss, second copies, overtaking and full queues, alike for a seed.

use crate::cast::{Hub, sink, source};
use node::{Channel, Graph, Probability, QueueLimit, Time};
use sim::{Options, run};

fn through(channel: Channel, seed: u64) -> (node::Outcome, Vec<(Time, Time, u32, usize)>) {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let a = graph.add(
        "a",
        source(10_000, 60, Time::from_us(1), Time::from_ps(67_200)),
    );
    let b = graph.add("b", node);
    graph.connect((a, 0), (b, 0), channel);
    let outcome = run(
        graph,
        Options {
            seed,
            ..Options::default()
        },
    )
    .unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

fn chance(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let channel = Channel {
        loss: chance(0.1),
        duplicate: chance(0.1),
        reorder: chance(0.1),
        reorder_by: Time::from_ns(500),
        bit_error: 1e-5,
        ..Channel::default()
    };
    let first = through(channel.clone(), 1);
    assert_eq!(first, through(channel.clone(), 1));
    assert_ne!(first.1, through(channel, 2).1);
}

#[test]
fn lost_frames_leave_holes_and_the_others_keep_their_times() {
    let (outcome, seen) = through(
        Channel {
            loss: chance(0.25),
            ..Channel::default()
        },
        3,
    );
    let lost = outcome.links[0][0].lost;
    assert_eq!(lost + seen.len() as u64, 10_000);
    assert!((2_300..2_700).contains(&lost), "{lost}");
    for (_, first_bit, number, _) in seen {
        let asked = Time::from_us(1) + Time::from_ps(67_200) * number.into();
        assert_eq!(first_bit, asked);
    }
}

#[test]
fn second_copies_come_one_frame_time_behind_the_first() {
    let (outcome, seen) = through(
        Channel {
            duplicate: chance(1.0),
            ..Channel::default()
        },
        3,
    );
    assert_eq!(
        (outcome.links[0][0].duplicated, seen.len()),
        (10_000, 20_000)
    );
    let mut times = vec![Vec::new(); 10_000];
    for (_, first_bit, number, _) in seen {
        times[number as usize].push(first_bit);
    }
    for of_one in times {
        assert_eq!(of_one[1] - of_one[0], Time::from_ps(67_200));
    }
}

#[test]
fn frames_held_up_are_overtaken_and_none_is_missing() {
    let channel = Channel {
        reorder: chance(0.1),
        reorder_by: Time::from_us(1),
        ..Channel::default()
    };
    let (outcome, seen) = through(channel, 3);
    let overtaken = seen.windows(2).filter(|pair| pair[1].2 < pair[0].2).count();
    assert!(overtaken > 500, "{overtaken}");
    assert!(
        seen.windows(2).all(|pair| pair[0].0 <= pair[1].0),
        "time does not go back"
    );
    let mut numbers: Vec<u32> = seen.iter().map(|seen| seen.2).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..10_000));
    assert!(outcome.links[0][0].reordered > 500);
}

#[test]
fn a_hub_with_two_senders_at_line_rate_drops_at_the_tail_of_its_queue() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let hub = graph.add("hub", Box::new(Hub(3)));
    for (port, name) in [(0, "a"), (1, "b")] {
        let slot = Time::from_ps(67_200);
        let sender = graph.add(name, source(1_000, 60, Time::from_us(1), slot));
        graph.connect((sender, 0), (hub, port), Channel::default());
    }
    let c = graph.add("c", node);
    let queue = QueueLimit::Packets(10);
    let link = graph.connect(
        (hub, 2),
        (c, 0),
        Channel {
            queue,
            ..Channel::default()
        },
    );
    let outcome = run(graph, Options::default()).unwrap();
    let counters = outcome.links[link][0];
    assert_eq!(counters.sent + counters.queue_full, 2_000);
    // A thousand slots, and what the queue still held at the end.
    assert_eq!(counters.sent, 1_000 + 10);
    let seen = seen.lock().unwrap();
    assert!(
        seen.windows(2)
            .all(|pair| pair[1].1 - pair[0].1 == Time::from_ps(67_200))
    );
}

#[test]
fn at_one_time_events_happen_in_the_order_of_their_causes() {
    let mut graph = Graph::default();
    let mut seens = Vec::new();
    let hub = graph.add("hub", Box::new(Hub(9)));
    let a = graph.add("a", source(1, 60, Time::ZERO, Time::ZERO));
    graph.connect((a, 0), (hub, 8), Channel::default());
    for port in 0..8 {
        let (node, seen) = sink();
        let b = graph.add(format!("b{port}"), node);
        graph.connect((hub, port), (b, 0), Channel::default());
        seens.push(seen);
    }
    run(graph, Options::default()).unwrap();
    let times: Vec<Time> = seens.iter().map(|seen| seen.lock().unwrap()[0].0).collect();
    assert!(times.iter().all(|&at| at == times[0]), "all at one time");
}
