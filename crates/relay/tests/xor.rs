//! Two sides that exchange packets by a relay, whose way back both hear.

use crate::cast;
use crate::cast::{Seen, counter, drops, link, udp, wide};
use node::{Channel, Frame, Graph, Node, NodeId, Out, Outcome, Port, Properties, Time};
use nodes::mirror::Mirror;
use relay::xor::{Config, Role, Xor};

/// Sends and takes down at one port.
struct Side {
    source: Box<cast::Source>,
    seen: Seen,
}

impl Node for Side {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.seen.lock().unwrap().push((now, frame.to_vec()));
            out.done(frame);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.source.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.source.next_wake()
    }
}

fn end() -> Config {
    Config {
        role: Role::End,
        ..Config::default()
    }
}

fn node(config: Config) -> Box<Xor> {
    Box::new(Xor::new(config).unwrap())
}

type Frames = Vec<(Time, Vec<u8>)>;

struct Exchange {
    outcome: Outcome,
    relay: NodeId,
    ends: [NodeId; 2],
    seen: [Seen; 2],
}

/// Both sides' frames by a relay, whose shared way is this one.
fn exchange(frames: [Frames; 2], relay: Config, shared: Channel) -> Exchange {
    let mut graph = Graph::default();
    let r = graph.add("r", node(relay));
    let hub = graph.add("hub", Box::new(Mirror::new(Default::default()).unwrap()));
    graph.connect((r, 2), (hub, 0), shared);
    let mut number = 0;
    let parts = frames.map(|frames| {
        let seen = Seen::default();
        let side = Side {
            source: cast::source(frames),
            seen: seen.clone(),
        };
        let side = graph.add(format!("side{number}"), Box::new(side));
        let e = graph.add(format!("end{number}"), node(end()));
        graph.connect((side, 0), (e, 0), wide());
        graph.connect((e, 1), (r, number), wide());
        number += 1;
        // The first of the hub's ways on is in line, the second one its copy.
        graph.connect((hub, number), (e, 2), wide());
        (e, seen)
    });
    let outcome = cast::run(graph, Time::from_secs(60));
    let [(one, first), (other, second)] = parts;
    Exchange {
        outcome,
        relay: r,
        ends: [one, other],
        seen: [first, second],
    }
}

fn frame(from: u8, number: u32, size: usize) -> Vec<u8> {
    let mut payload = vec![from; size];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    let ends = ([10, 0, 0, from], [10, 0, 0, 3 - from]);
    cast::udp_of(ends, (4_000, 5_004), from, &payload)
}

fn stream(from: u8, count: u32, size: usize) -> Frames {
    let gap = Time::from_us(100);
    (0..count)
        .map(|n| (gap * n.into(), frame(from, n, size)))
        .collect()
}

fn bytes(seen: &Seen) -> Vec<Vec<u8>> {
    seen.lock()
        .unwrap()
        .iter()
        .map(|(_, bytes)| bytes.clone())
        .collect()
}

fn only(frames: &Frames) -> Vec<Vec<u8>> {
    frames.iter().map(|(_, frame)| frame.clone()).collect()
}

#[test]
fn what_would_take_two_turns_takes_one_and_all_comes_as_it_was() {
    // Each side sends 80 Mb/s: 160 through 100. The first waits for its partner only while the way is busy.
    let frames = [stream(1, 3_000, 958), stream(2, 3_000, 700)];
    let all = exchange(frames.clone(), Config::default(), link(100));
    assert_eq!(bytes(&all.seen[0]), only(&frames[1]));
    assert_eq!(bytes(&all.seen[1]), only(&frames[0]));
    let coded = counter(&all.outcome, all.relay, "coded");
    // Not more than need be: a packet for which the way is free has not waited.
    assert!((2_000..3_000).contains(&coded), "{coded}");
    for end in all.ends {
        assert_eq!(counter(&all.outcome, end, "coded"), coded);
        // Each hears its own plain packets too, and lets them go.
        let plain = counter(&all.outcome, all.relay, "plain");
        let heard = counter(&all.outcome, end, "plain") + counter(&all.outcome, end, "own");
        assert_eq!(heard, plain);
    }

    let never = Config {
        hold: Time::ZERO,
        ..Config::default()
    };
    let all = exchange(frames, never, link(100));
    assert_eq!(counter(&all.outcome, all.relay, "coded"), 0);
    let came = all.seen[0].lock().unwrap().len() + all.seen[1].lock().unwrap().len();
    assert!(came < 5_500, "{came}");
}

#[test]
fn without_a_partner_a_packet_goes_as_it_is_once_its_time_is_over() {
    let alone = [stream(1, 100, 958), Vec::new()];
    let shared = || Channel {
        rate: None,
        ..link(100)
    };
    // Where the queue is not known, as long as it may wait; the two ends add the frame's time at 10 Gb/s.
    let all = exchange(alone.clone(), Config::default(), shared());
    assert_eq!(bytes(&all.seen[1]), only(&alone[0]));
    assert_eq!(counter(&all.outcome, all.relay, "alone"), 100);
    let (at, _) = all.seen[1].lock().unwrap()[0];
    assert!(at > Time::from_ms(5) && at < Time::from_us(5_010), "{at}");
    // Where nothing waits, at once.
    let all = exchange(alone, Config::default(), link(1_000));
    let (at, _) = all.seen[1].lock().unwrap()[0];
    assert!(at < Time::from_us(20), "{at}");
}

#[test]
fn no_more_wait_than_are_to() {
    let frames = [stream(1, 1_000, 958), Vec::new()];
    let config = Config {
        most: 10,
        hold: Time::from_secs(10),
        ..Config::default()
    };
    let shared = Channel {
        rate: None,
        ..link(100)
    };
    let all = exchange(frames.clone(), config, shared);
    assert_eq!(bytes(&all.seen[1]), only(&frames[0]));
    let (at, _) = all.seen[1].lock().unwrap()[989];
    assert!(at < Time::from_us(100_100), "{at}");
}

#[test]
fn what_is_not_coded_keeps_its_place() {
    let arp = |number: u8| {
        let mut frame = vec![number; 60];
        frame[12..14].copy_from_slice(&[8, 6]);
        frame
    };
    let mut one = stream(1, 200, 300);
    for (index, (_, frame)) in one.iter_mut().enumerate() {
        if index % 3 == 1 {
            *frame = arp(index as u8);
        }
    }
    let frames = [one, stream(2, 200, 300)];
    let all = exchange(frames.clone(), Config::default(), link(10));
    let others: Vec<_> = bytes(&all.seen[1])
        .into_iter()
        .filter(|frame| frame[26..30] != [10, 0, 0, 2])
        .collect();
    assert_eq!(others, only(&frames[0]));
}

#[test]
fn a_pair_that_is_too_long_for_the_way_goes_one_by_one() {
    let config = Config {
        mtu: Some(1_500),
        ..Config::default()
    };
    let frames = [stream(1, 500, 1_472), stream(2, 500, 100)];
    let all = exchange(frames.clone(), config, link(100));
    assert_eq!(bytes(&all.seen[1]), only(&frames[0]));
    assert_eq!(counter(&all.outcome, all.relay, "coded"), 0);
    assert!(counter(&all.outcome, all.relay, "too_long") > 800);
}

#[test]
fn changes_of_routers_on_the_way_do_no_harm() {
    let (mut a, mut r, mut b) = (node(end()), node(Config::default()), node(end()));
    let mut out = Out::default();
    let mut pass = |node: &mut Xor, port: u16, bytes: &[u8]| {
        node.frames(
            Time::ZERO,
            Port(port),
            &mut vec![Frame::new(bytes)],
            &mut out,
        );
        let sent = out.sends().map(|departure| departure.frame.to_vec());
        sent.collect::<Vec<_>>()
    };
    // A router between an end and the relay: one hop less, a congestion mark, other stations.
    let routed = |frame: &[u8]| {
        let mut frame = frame.to_vec();
        frame[..12].copy_from_slice(&[4; 12]);
        frame[15] |= 3;
        frame[22] -= 1;
        frame[24..26].fill(0);
        let sum = packet::checksum::checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    };
    let (p, q) = (frame(1, 7, 300), frame(2, 8, 200));
    let up = [
        routed(&pass(&mut a, 0, &p)[0]),
        routed(&pass(&mut b, 0, &q)[0]),
    ];
    assert!(pass(&mut r, 0, &up[0]).is_empty());
    let coded = pass(&mut r, 1, &up[1]);
    assert_eq!(coded.len(), 1);
    assert_eq!(pass(&mut a, 2, &coded[0]), [up[1].clone()]);
    assert_eq!(pass(&mut b, 2, &coded[0]), [up[0].clone()]);
    // A third one, who knows neither.
    let mut c = node(end());
    assert!(pass(&mut c, 2, &coded[0]).is_empty());
    assert_eq!(out.drops(), [("neither packet is known", 1)]);
}

#[test]
fn forged_and_damaged_coded_packets_are_dropped_with_their_reasons() {
    let mut r = node(Config::default());
    let mut out = Out::default();
    let p = frame(1, 7, 300);
    r.frames(Time::ZERO, Port(0), &mut vec![Frame::new(&p)], &mut out);
    r.frames(
        Time::ZERO,
        Port(1),
        &mut vec![Frame::new(&frame(2, 8, 200))],
        &mut out,
    );
    let good = out.sends().next().unwrap().frame.to_vec();
    let reason = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut coded = good.clone();
        change(&mut coded);
        coded[24..26].fill(0);
        let sum = packet::checksum::checksum(&coded[14..34]);
        coded[24..26].copy_from_slice(&sum.to_be_bytes());
        let (mut a, mut out) = (node(end()), Out::default());
        a.frames(Time::ZERO, Port(0), &mut vec![Frame::new(&p)], &mut out);
        out.sends().count();
        a.frames(Time::ZERO, Port(2), &mut vec![Frame::new(&coded)], &mut out);
        let sent = out.sends().count();
        out.drops()
            .first()
            .map_or(["lost", "passes"][sent], |drop| drop.0)
    };
    assert_eq!(reason(&|_| {}), "passes");
    assert_eq!(
        reason(&|coded| coded[36] = 0x20),
        "coded packet of another version"
    );
    assert_eq!(
        reason(&|coded| coded[37] = 1),
        "coded packet of another version"
    );
    assert_eq!(reason(&|coded| coded[40] ^= 1), "damaged coded packet");
    assert_eq!(reason(&|coded| coded[100] ^= 1), "damaged coded packet");
    assert_eq!(
        reason(&|coded| coded[16..18].copy_from_slice(&[0, 67])),
        "coded packet cut off"
    );
    assert_eq!(
        reason(&|coded| coded[16..18].copy_from_slice(&[0, 90])),
        "coded packet cut off"
    );
    assert_eq!(reason(&|coded| coded[34] = 0), "passes");
}

#[test]
fn what_comes_to_the_relay_by_the_shared_way_ends_there() {
    let mut r = node(Config::default());
    let mut out = Out::default();
    r.frames(
        Time::ZERO,
        Port(2),
        &mut vec![Frame::new(&udp((1, 2), &[0; 20]))],
        &mut out,
    );
    assert_eq!(out.drops(), [("came by the shared way", 1)]);
    let all = exchange(
        [stream(1, 3, 100), Vec::new()],
        Config::default(),
        link(100),
    );
    assert_eq!(drops(&all.outcome, all.relay, "came by the shared way"), 0);
}

#[test]
fn a_configuration_that_cannot_be_is_refused_with_its_key() {
    let wrong = |config: Config| Xor::new(config).unwrap_err().key;
    let base = Config::default;
    assert_eq!(wrong(Config { most: 0, ..base() }), "most");
    assert_eq!(
        wrong(Config {
            memory: 1 << 20,
            ..base()
        }),
        "memory"
    );
}
