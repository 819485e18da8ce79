//! Records read back, and a stream of them survives damage.

use packet::record::{self, Step};
use packet::{Date, Packet, Stamp};
use proptest::prelude::*;

fn write(stamp: Stamp, hash: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let packet = Packet {
        stamp: Some(stamp),
        hash: Some(hash),
        bytes,
    };
    record::encode(&packet, &mut out).unwrap();
    out
}

/// Stamps of the packets found, and how many bytes were skipped, when the stream arrives in pieces.
fn read(stream: &[u8], pieces: &[usize]) -> (Vec<Stamp>, usize) {
    let (mut stamps, mut skipped, mut at, mut seen) = (Vec::new(), 0, 0, 0);
    let mut pieces = pieces.iter().cycle();
    loop {
        match record::next(&stream[at..seen], seen == stream.len()) {
            Step::Packet { used, packet } => {
                stamps.push(packet.stamp.unwrap());
                at += used;
            }
            Step::Skip { bytes } => {
                assert_ne!(bytes, 0);
                skipped += bytes;
                at += bytes;
            }
            Step::More if seen == stream.len() => {
                assert_eq!(at, seen, "bytes are left over");
                return (stamps, skipped);
            }
            Step::More => {
                assert!(seen - at <= record::MAX_RECORD_LEN + record::MAX_HEADER_LEN);
                seen = (seen + pieces.next().unwrap()).min(stream.len());
            }
        }
    }
}

fn frames() -> impl Strategy<Value = Vec<u8>> {
    // Many a frame looks like headers.
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(vec![0x37, 0x76, 0x77, 0, 20])
    ];
    prop::collection::vec(byte, 14..200)
}

/// The first and the last date, and words.
fn stamps() -> impl Strategy<Value = Stamp> {
    let dates = prop_oneof![Just(0), Just((1 << 80) - 1), 0..1u128 << 80];
    prop_oneof![
        any::<u64>().prop_map(Stamp::Word),
        dates.prop_map(|ps| Stamp::Date(Date::from_ps(ps).unwrap())),
    ]
}

proptest! {
    #[test]
    fn records_to_frames_to_records_is_the_identity(
        stamp in stamps(), hash in any::<u32>(), frame in frames()
    ) {
        let bytes = write(stamp, hash, &frame);
        match record::next(&bytes, false) {
            Step::Packet { used, packet } => {
                prop_assert_eq!(used, bytes.len());
                prop_assert_eq!(packet.bytes, &frame[..]);
                let mut back = Vec::new();
                record::encode(&packet, &mut back).unwrap();
                prop_assert_eq!(back, bytes);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn the_size_of_the_pieces_makes_no_difference(
        parts in prop::collection::vec(
            prop_oneof![
                (stamps(), frames()).prop_map(|(stamp, frame)| write(stamp, 2, &frame)),
                frames(),
                Just(vec![0x37]), Just(vec![0x37, 0x76]), Just(vec![0x37, 0x76, 0, 30]),
                Just(vec![0x37, 0x76, 0xFF, 0xFF]), Just(vec![0x37, 0x77, 0, 30, 0]), Just(vec![0x37, 0x77, 0, 30, 1]),
                Just(vec![0x37, 0x77, 0xFF, 0xFF, 0, 0]),
                stamps().prop_map(|stamp| write(stamp, 2, &[0x37; 16_001])),
            ],
            0..12,
        ),
        pieces in prop::collection::vec(1..40usize, 1..5),
    ) {
        let stream = parts.concat();
        let whole = read(&stream, &[stream.len().max(1)]);
        prop_assert_eq!(read(&stream, &pieces), whole);
        prop_assert_eq!(read(&stream, &[1]), read(&stream, &pieces));
    }

    #[test]
    fn garbage_between_records_costs_no_record(
        before in prop::collection::vec(frames(), 1..4),
        garbage in prop::collection::vec(0..0x37u8, 1..100),
        after in prop::collection::vec(frames(), 2..4),
        piece in 1..50usize,
    ) {
        let write = |frames: &[Vec<u8>]| frames.iter().map(|f| write(Stamp::Word(3), 4, f)).collect::<Vec<_>>();
        let stream = [write(&before).concat(), garbage.clone(), write(&after).concat()].concat();
        let (stamps, skipped) = read(&stream, &[piece]);
        prop_assert_eq!(stamps.len(), before.len() + after.len());
        prop_assert_eq!(skipped, garbage.len());
    }
}
