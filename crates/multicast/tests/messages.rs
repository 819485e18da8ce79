//! Messages: written ones read back the same, and an independent reader agrees.

use multicast::message::*;
use node::random::Random;
use node::{Frame, Time};
use packet::ethernet::Mac;
use std::net::IpAddr;

fn group(random: &mut Random, family: Family) -> IpAddr {
    match family {
        Family::V4 => [239, random.below(256) as u8, 1, random.below(256) as u8].into(),
        Family::V6 => [0xFF05, 0, 0, 0, 0, 0, 0, random.below(65_536) as u16].into(),
    }
}

fn sources(random: &mut Random, family: Family) -> Vec<IpAddr> {
    let count = random.index(20);
    let one = |number: usize| match family {
        Family::V4 => IpAddr::from([10, 0, 0, number as u8]),
        Family::V6 => IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, number as u16]),
    };
    (0..count).map(one).collect()
}

fn message(random: &mut Random, family: Family) -> Message {
    let version = match (random.below(3), family) {
        (0, Family::V4) => Version::One,
        (2, _) => Version::Three,
        _ => Version::Two,
    };
    match random.below(4) {
        0 => {
            let is_three = version == Version::Three;
            // Values that a code of 8 bits, or 16 for MLD, has exactly.
            let step = if family == Family::V4 { 100 } else { 1 };
            let max_response = match version {
                Version::One => Time::from_secs(10),
                Version::Two => Time::from_ms(step * (1 + random.below(255))),
                Version::Three => {
                    Time::from_ms(step * [1, 100, 127, 128, 1024, 31_744][random.index(6)])
                }
            };
            let sources = if is_three {
                sources(random, family)
            } else {
                Vec::new()
            };
            let group = (!sources.is_empty() || random.chance(0.5)).then(|| group(random, family));
            Message::Query(Query {
                version,
                group,
                sources,
                max_response,
                suppress: is_three && random.chance(0.5),
                robustness: if is_three { random.below(8) as u8 } else { 0 },
                interval: if is_three {
                    Time::from_secs([0, 5, 127, 128, 31_744][random.index(5)])
                } else {
                    Time::ZERO
                },
            })
        }
        1 => Message::Report(version.min(Version::Two), group(random, family)),
        2 => Message::Leave(group(random, family)),
        _ => {
            let kinds = [
                RecordKind::IsInclude,
                RecordKind::IsExclude,
                RecordKind::ToInclude,
                RecordKind::ToExclude,
                RecordKind::Allow,
                RecordKind::Block,
            ];
            let count = random.index(5);
            let records = (0..count).map(|_| Record {
                kind: kinds[random.index(6)],
                group: group(random, family),
                sources: sources(random, family),
            });
            Message::Records(records.collect())
        }
    }
}

#[test]
fn a_message_that_is_written_is_read_and_none_with_a_changed_byte_is() {
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let family = Family::BOTH[random.index(2)];
        let source: IpAddr = match family {
            Family::V4 => [10, 0, 0, 1].into(),
            Family::V6 => [0xFE80, 0, 0, 0, 0, 0, 0, 1].into(),
        };
        let message = message(&mut random, family);
        let mut frame = Frame::new(&[]);
        build_frame(&message, source, Mac([2, 0, 0, 0, 0, 1]), &mut frame);
        let read = parse_frame(&frame, 14).expect("a message");
        assert_eq!(
            read,
            Ok(Received {
                source,
                message: message.clone()
            })
        );
        // A changed byte of the body.
        let header = if family == Family::V4 { 38 } else { 62 };
        let length = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        let end = if family == Family::V4 {
            14 + length
        } else {
            54 + usize::from(u16::from_be_bytes([frame[18], frame[19]]))
        };
        let at = header + random.index(end - header);
        let before = frame[at];
        frame[at] = before.wrapping_add(1 + random.below(254) as u8);
        match parse_frame(&frame, 14) {
            // The kind itself.
            None => assert_eq!(at, header),
            Some(result) => assert!(result.is_err(), "{message:?} byte {at}"),
        }
    }
}

#[test]
fn mld_from_beyond_the_link_is_refused() {
    let mut frame = Frame::new(&[]);
    let source = "fe80::1".parse().unwrap();
    let report = Message::Report(Version::Two, "ff05::1".parse().unwrap());
    build_frame(&report, source, Mac([2, 0, 0, 0, 0, 1]), &mut frame);
    frame[21] = 2;
    let refused = Some(Err(BadMessage("MLD from beyond the link")));
    assert_eq!(parse_frame(&frame, 14), refused);
}
