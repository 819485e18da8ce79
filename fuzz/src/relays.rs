//! The relays, fed with arbitrary frames, events and times, and what they send fed back to them and to their far ends: each frame leaves, is
//! kept, or is dropped; none is longer than a frame can be; and headers of our own come off as they went on.

use node::event::{Event, Interface, Queue, What};
use node::{Frame, Node, Out, Port, Rate, Time};
use relay::encapsulation::locate;
use relay::{duplicate, early_discard, paths, split, xor};

/// Frames that one input comes to.
const STEPS: usize = 400;

fn all() -> Vec<Box<dyn Node>> {
    let early = early_discard::Config {
        thin: Some(Time::from_ms(1)),
        age: Time::ZERO,
        ..Default::default()
    };
    let by_wait = paths::Config {
        paths: 3,
        by: paths::Selection::Wait,
        flows: 16,
        ..Default::default()
    };
    let duplicate = duplicate::Config {
        window: 64,
        streams: 2,
        ..Default::default()
    };
    let relay = xor::Config {
        most: 4,
        ..Default::default()
    };
    let end = xor::Config {
        role: xor::Role::End,
        memory: 16,
        ..Default::default()
    };
    let split = split::Config {
        bound: Time::ZERO,
        connections: 8,
        buffer: 4096,
        ..Default::default()
    };
    vec![
        Box::new(early_discard::EarlyDiscard::new(early).expect("good")),
        Box::new(paths::Paths::new(by_wait).expect("good")),
        Box::new(duplicate::Duplicate::new(duplicate).expect("good")),
        Box::new(xor::Xor::new(relay).expect("good")),
        Box::new(xor::Xor::new(end).expect("good")),
        Box::new(split::Split::new(split).expect("good")),
    ]
}

/// Something to be told, made of three bytes.
fn event(now: Time, port: Port, [a, b, c]: [u8; 3]) -> Event {
    let what = match a & 1 {
        0 => What::Queue(Queue {
            bytes: u64::from(b) << 12,
            rate: Rate::from_bits_per_second(u64::from(c) * 100_000),
            ..Queue::default()
        }),
        _ => What::Interface(Interface {
            up: b & 7 != 0,
            mtu: u32::from(c) * 16,
            ..Interface::default()
        }),
    };
    Event {
        at: now,
        port,
        what,
    }
}

/// What a header of ours does to a frame, and back.
fn there_and_back(bytes: &[u8]) {
    let mut frame = Frame::new(bytes);
    if let Ok(place) = locate(&frame)
        && !place.stays()
        && place.end() < 60_000
    {
        let number = duplicate::Number {
            stream: 7,
            sequence: bytes.len() as u32,
        };
        duplicate::number(&mut frame, &place, 253, number);
        let numbered = locate(&frame).expect("still a packet");
        assert!(duplicate::is_marked(&frame, &numbered));
        assert_eq!(duplicate::restore(&mut frame, &numbered), Ok(number));
        assert_eq!(&frame[..], bytes);
    }
    let Some(whole) = xor::Whole::read(bytes) else {
        return;
    };
    let frame = Frame::new(bytes);
    let mut other = Frame::new(bytes);
    other.extend(&[0; 8]);
    other[6] ^= 1;
    let other_whole = xor::Whole::read(&other).expect("padding changes nothing");
    let mut scratch = [Vec::new(), Vec::new()];
    let mut coded = Frame::new(&[]);
    let packets = ((&frame, &whole), (&other, &other_whole));
    xor::encode(&mut coded, packets.0, packets.1, 253, &mut scratch);
    let outer = xor::Whole::read(&coded).expect("a packet");
    let mut bare = Vec::new();
    let entry = xor::Entry::of(&frame, &whole, &mut bare);
    let mut restored = Frame::new(&[]);
    let known = |asked: &xor::Entry| (asked.id == entry.id).then_some(&bare[..]);
    let mut work = Vec::new();
    xor::decode(&coded, &outer, &mut restored, &mut work, known).expect("it is known");
    assert_eq!(restored[14..], frame[14..14 + whole.len()]);
}

/// A series of frames: one byte of port and time, two of length, and the frame; each fourth one tells of an interface or a queue first.
pub fn target(data: &[u8]) {
    for mut node in all() {
        let (mut out, mut now, mut rest) = (Out::default(), Time::ZERO, data);
        let mut steps = 0;
        while let Some((&[first, high, low], behind)) = rest.split_first_chunk()
            && steps < STEPS
        {
            steps += 1;
            let len = (usize::from(high) << 8 | usize::from(low)).min(behind.len());
            let (bytes, behind) = behind.split_at(len);
            rest = behind;
            now += Time::from_ms(u64::from(first));
            let port = Port(u16::from(first) % node.properties().ports as u16);
            if first & 3 == 0 {
                node.event(now, &event(now, port, [first >> 2, high, low]), &mut out);
            }
            if node.next_wake().is_some_and(|at| at <= now) {
                node.wake(now, &mut out);
            }
            let mut frame = Frame::new(&bytes[..len.min(packet::MAX_FRAME_LEN)]);
            there_and_back(&frame);
            frame.set_arrived(now);
            node.frames(now, port, &mut vec![frame], &mut out);
            let ports = node.properties().ports;
            let sent: Vec<(Port, Frame)> = out
                .sends()
                .map(|departure| (departure.port, departure.frame))
                .collect();
            // What left comes back by the port by which it left.
            for (port, frame) in sent {
                assert!(port.index() < ports && frame.len() <= packet::MAX_FRAME_LEN);
                there_and_back(&frame);
                if steps < STEPS {
                    steps += 1;
                    node.frames(now, port, &mut vec![frame], &mut out);
                    out.sends().for_each(drop);
                }
            }
        }
        let open = node.statistics().get("open");
        assert!(open <= Some(8), "{open:?} connections");
    }
}
