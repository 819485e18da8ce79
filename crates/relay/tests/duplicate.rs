//! Packets over two paths at once.

use crate::cast;
use crate::cast::{Seen, counter, drops, link, sink, source, udp, wide};
use node::{Channel, Frame, Graph, Node, NodeId, Out, Outcome, Port, Probability, Time};
use relay::duplicate::{Config, Duplicate};

fn frame(number: u32) -> Vec<u8> {
    udp((4_000, 5_004), &number.to_be_bytes().repeat(50))
}

fn node(config: Config) -> Box<Duplicate> {
    Box::new(Duplicate::new(config).unwrap())
}

/// From one side to the other, over these two paths.
fn over(frames: Vec<Vec<u8>>, paths: [Channel; 2]) -> (Outcome, [NodeId; 2], Seen) {
    let mut graph = Graph::default();
    let gap = Time::from_us(50);
    let frames = frames.into_iter().enumerate();
    let a = graph.add(
        "a",
        source(frames.map(|(n, frame)| (gap * n as u64, frame))),
    );
    let near = graph.add("near", node(Config::default()));
    let far = graph.add("far", node(Config::default()));
    let (end, seen) = sink();
    let b = graph.add("b", end);
    graph.connect((a, 0), (near, 0), wide());
    for (index, path) in paths.into_iter().enumerate() {
        let port = index as u16 + 1;
        graph.connect((near, port), (far, port), path);
    }
    graph.connect((far, 0), (b, 0), wide());
    (cast::run(graph, Time::from_secs(60)), [near, far], seen)
}

fn lossy(loss: f64) -> Channel {
    Channel {
        loss: Probability::new(loss).unwrap(),
        ..link(100)
    }
}

/// What came, without padding: all are longer than that.
fn bytes(seen: &Seen) -> Vec<Vec<u8>> {
    seen.lock()
        .unwrap()
        .iter()
        .map(|(_, bytes)| bytes.clone())
        .collect()
}

#[test]
fn a_loss_on_one_path_costs_nothing_and_of_both_little() {
    let count = 20_000;
    let sent: Vec<_> = (0..count).map(frame).collect();
    let (outcome, [near, far], seen) = over(sent.clone(), [lossy(0.1), link(100)]);
    assert_eq!(bytes(&seen), sent);
    assert_eq!(counter(&outcome, near, "duplicated"), u64::from(count));
    let copies = drops(&outcome, far, "copy");
    assert!((17_700..18_300).contains(&copies), "{copies}");

    let (_, _, seen) = over(sent, [lossy(0.1), lossy(0.1)]);
    // One in a hundred is lost on both: 200, give or take four deviations.
    let lost = count as usize - seen.lock().unwrap().len();
    assert!((144..256).contains(&lost), "{lost}");
}

#[test]
fn whatever_the_packet_it_comes_out_as_it_went_in() {
    let mut sent = vec![frame(1), udp((1, 2), &[]), vec![0x55; 80]];
    // Options; a short packet in a frame with padding; IPv6 with hop-by-hop options; a tag; a fragment.
    let mut options = udp((1, 2), &[7; 60]);
    options[14] = 0x46;
    options.splice(34..34, [1, 1, 1, 0]);
    options[17] += 4;
    sent.push(options);
    let mut padded = udp((1, 2), &[1, 2, 3]);
    padded.resize(60, 0xEE);
    sent.push(padded);
    let mut six = vec![2; 12];
    six.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 24, 0, 64]);
    six.extend([0xFD; 32]);
    six.extend([
        17, 0, 5, 2, 0, 0, 1, 0, 0, 1, 0, 2, 0, 16, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8,
    ]);
    // The option 5 is a router alert, which is not touched; the other one is padding.
    sent.push(six.clone());
    six[56..62].copy_from_slice(&[1, 4, 0, 0, 0, 0]);
    sent.push(six);
    let mut tagged = frame(2);
    tagged.splice(12..12, [0x81, 0, 0, 5]);
    sent.push(tagged);
    let mut fragment = frame(3);
    fragment[20] = 0x20;
    sent.push(fragment);
    let wanted: Vec<_> = sent
        .iter()
        .cloned()
        .map(|mut frame| {
            frame.resize(frame.len().max(60), 0);
            frame
        })
        .collect();
    let (outcome, [near, _], seen) = over(sent, [link(100), link(100)]);
    assert_eq!(bytes(&seen), wanted);
    // Not IP, the router alert, the fragment.
    assert_eq!(counter(&outcome, near, "plain"), 3);
}

#[test]
fn a_path_that_is_far_behind_gives_copies_and_not_packets() {
    let slow = Channel {
        delay: Time::from_ms(100),
        ..link(100)
    };
    let sent: Vec<_> = (0..5_000).map(frame).collect();
    let (outcome, [_, far], seen) = over(sent.clone(), [slow, link(100)]);
    assert_eq!(bytes(&seen), sent);
    assert_eq!(counter(&outcome, far, "copies"), 5_000);
}

#[test]
fn a_sender_that_begins_anew_is_believed_within_the_hold() {
    let mut far = node(Config::default());
    let mut out = Out::default();
    let mut heard = |at: Time, near: &mut Duplicate, number: u32| {
        let mut way = Out::default();
        near.frames(at, Port(0), &mut vec![Frame::new(&frame(number))], &mut way);
        let mut came = 0;
        for departure in way.sends() {
            far.frames(at, departure.port, &mut vec![departure.frame], &mut out);
            came += out.sends().count();
        }
        came
    };
    let mut near = node(Config::default());
    for number in 0..20_000 {
        assert_eq!(heard(Time::from_us(number.into()), &mut near, number), 1);
    }
    // The same name, and numbers from 0.
    let mut near = node(Config::default());
    let came: Vec<_> = (0..2_000)
        .map(|ms| heard(Time::from_ms(20 + ms), &mut near, 0))
        .collect();
    assert_eq!(came[..999], [0; 999]);
    assert_eq!(came[1_000..], [1; 1_000]);
}

#[test]
fn what_a_path_does_not_carry_with_a_header_goes_by_one_path_as_it_is() {
    let config = Config {
        mtu: Some(1_500),
        ..Config::default()
    };
    let mut near = node(config);
    let mut out = Out::default();
    let mut sent = |size: usize| {
        near.frames(
            Time::ZERO,
            Port(0),
            &mut vec![Frame::new(&udp((1, 2), &vec![0; size]))],
            &mut out,
        );
        let lengths = out.sends().map(|departure| departure.frame.len());
        lengths.collect::<Vec<_>>()
    };
    assert_eq!(sent(1_472 - 16), [1_514, 1_514]);
    assert_eq!(sent(1_472 - 15), [1_499]);
}

#[test]
fn forged_and_damaged_copies_are_dropped_with_their_reasons() {
    let mut near = node(Config::default());
    let mut out = Out::default();
    near.frames(
        Time::ZERO,
        Port(0),
        &mut vec![Frame::new(&frame(1))],
        &mut out,
    );
    let good = out.sends().next().unwrap().frame.to_vec();
    let reason = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        let (mut far, mut out) = (node(Config::default()), Out::default());
        far.frames(Time::ZERO, Port(1), &mut vec![Frame::new(&frame)], &mut out);
        let sent = out.sends().count();
        out.drops()
            .first()
            .map_or(["lost", "passes"][sent], |drop| drop.0)
    };
    assert_eq!(reason(&|_| {}), "passes");
    assert_eq!(reason(&|frame| frame[36] = 0x20), "copy of another version");
    assert_eq!(reason(&|frame| frame[36] = 0x11), "copy of another version");
    assert_eq!(reason(&|frame| frame[37] ^= 1), "damaged copy");
    assert_eq!(reason(&|frame| frame[46] ^= 1), "damaged copy");
    assert_eq!(reason(&|frame| frame[60] ^= 1), "damaged copy");
    assert_eq!(reason(&|frame| frame[17] = 30), "header of a copy cut off");
    // Another's packet with that protocol number.
    assert_eq!(reason(&|frame| frame[34] = 0), "passes");
}

#[test]
fn a_configuration_that_cannot_be_is_refused_with_its_key() {
    let wrong = |config: Config| Duplicate::new(config).unwrap_err().key;
    let base = Config::default;
    assert_eq!(wrong(Config { paths: 1, ..base() }), "paths");
    assert_eq!(
        wrong(Config {
            window: 0,
            ..base()
        }),
        "window"
    );
    assert_eq!(
        wrong(Config {
            window: usize::MAX,
            ..base()
        }),
        "window"
    );
    assert_eq!(
        wrong(Config {
            streams: 0,
            ..base()
        }),
        "streams"
    );
}
