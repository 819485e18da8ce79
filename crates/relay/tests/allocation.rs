//! In steady state the relays of this crate that are not for compression allocate nothing for a packet.

use crate::cast::udp_of;
use node::event::{Event, Queue, What};
use node::{Departure, Frame, Node, Out, Port, Rate, Time};
use relay::{duplicate, early_discard, paths, split, xor};

fn nodes() -> Vec<(&'static str, Box<dyn Node>)> {
    let by_wait = paths::Config {
        by: paths::Selection::Wait,
        ..Default::default()
    };
    let end = xor::Config {
        role: xor::Role::End,
        memory: 64,
        ..Default::default()
    };
    let config = early_discard::Config {
        thin: Some(Time::from_us(1)),
        ..Default::default()
    };
    vec![
        (
            "early-discard",
            Box::new(early_discard::EarlyDiscard::new(config).unwrap()),
        ),
        (
            "paths",
            Box::new(paths::Paths::new(Default::default()).unwrap()),
        ),
        (
            "paths by wait",
            Box::new(paths::Paths::new(by_wait).unwrap()),
        ),
        (
            "duplicate",
            Box::new(duplicate::Duplicate::new(Default::default()).unwrap()),
        ),
        ("xor", Box::new(xor::Xor::new(Default::default()).unwrap())),
        ("xor, an end", Box::new(xor::Xor::new(end).unwrap())),
        (
            "split",
            Box::new(split::Split::new(Default::default()).unwrap()),
        ),
    ]
}

/// Two sides' packets in turn, facts, and wakes.
fn turn(
    node: &mut dyn Node,
    out: &mut Out,
    (sent, lot): (&mut Vec<Departure>, &mut Vec<Frame>),
    round: u32,
    packets: &[Vec<u8>; 2],
) {
    let now = Time::from_us(10 * u64::from(round));
    let queue = What::Queue(Queue {
        bytes: u64::from(round % 64) * 1000,
        rate: Rate::from_bits_per_second(100_000_000),
        ..Queue::default()
    });
    for port in 0..node.properties().ports as u16 {
        let event = Event {
            at: now,
            port: Port(port),
            what: queue,
        };
        node.event(now, &event, out);
    }
    if node.next_wake().is_some_and(|at| at <= now) {
        node.wake(now, out);
    }
    for (port, packet) in packets.iter().enumerate() {
        let mut frame = out.pool().take_with(packet);
        frame[34..36].copy_from_slice(&((round % 500) as u16).to_be_bytes());
        frame[40..42].fill(0);
        frame[42..46].copy_from_slice(&round.to_be_bytes());
        lot.push(frame);
        node.frames(now, Port(port as u16), lot, out);
    }
    sent.extend(out.sends());
    sent.drain(..)
        .for_each(|departure| out.pool().give(departure.frame));
}

#[test]
fn in_steady_state_no_packet_costs_an_allocation() {
    let ends = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let back = (ends.1, ends.0);
    let packets = [
        udp_of(ends, (1, 5_004), 46, &[7; 600]),
        udp_of(back, (2, 5_004), 46, &[9; 300]),
    ];
    for (name, mut node) in nodes() {
        let (mut out, mut sent, mut lot) = (Out::default(), Vec::new(), Vec::new());
        let node = &mut *node;
        (0..5_000).for_each(|round| turn(node, &mut out, (&mut sent, &mut lot), round, &packets));
        let before = allocations::of_this_thread();
        (5_000..20_000)
            .for_each(|round| turn(node, &mut out, (&mut sent, &mut lot), round, &packets));
        let allocations = allocations::of_this_thread() - before;
        assert_eq!(allocations, 0, "{name}: in 15,000 rounds");
    }
}
