//! The decoder against the receive state machine of the reference, over blocks of all kinds in any
//! order.

use crate::reference;
use phy::decode::State;
use phy::{Block, Decoder, Event, Item, Stamp, Verdict};
use proptest::prelude::*;

fn bits_of(header: u8, payload: u64) -> Vec<bool> {
    let mut bits = vec![header & 1 == 1, header >> 1 & 1 == 1];
    bits.extend((0..64).map(|n| payload >> n & 1 == 1));
    bits
}

/// A header and a payload: every kind of block, good ones more often.
fn block() -> impl Strategy<Value = (u8, u64)> {
    let good = |blocks: Vec<Block>| {
        prop::sample::select(blocks).prop_map(|block| (block.header(), block.payload))
    };
    let terminate = (0usize..8, any::<[u8; 7]>())
        .prop_map(|(length, bytes)| Block::terminate(&bytes[..length]))
        .prop_map(|block| (block.header(), block.payload));
    let kinds = prop::sample::select(vec![
        0x1Eu64, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78, 0x87, 0x99, 0xAA, 0xB4, 0xCC, 0xD2, 0xE1, 0xFF,
    ]);
    prop_oneof![
        8 => any::<u64>().prop_map(|payload| (0b10, payload)),
        6 => good(vec![Block::IDLE, Block::START, Block::START, Block::START_4]),
        4 => terminate,
        2 => good(vec![Block::ERROR, Block::LOCAL_FAULT]),
        1 => (kinds, any::<u64>(), any::<u64>()).prop_map(|(kind, a, b)| (1, kind | a & b & !0xFF)),
        1 => (0u8..4, any::<u64>()),
    ]
}

/// Good frames among any blocks: a good one comes only by design.
fn sequence() -> impl Strategy<Value = Vec<(u8, u64)>> {
    let frame = (any::<bool>(), 64usize..100, any::<u64>()).prop_map(|(high, length, seed)| {
        let bytes = reference::Random(seed).bytes(length - 4);
        let idles = if high { 4 } else { 0 };
        let mut characters = vec![reference::IDLE; idles];
        characters.extend(reference::frame(&bytes));
        characters.push(reference::TERMINATE);
        characters.resize(characters.len().next_multiple_of(8), reference::IDLE);
        let blocks = characters.chunks(8).map(|eight| {
            let bits = reference::block(eight).expect("a block");
            let payload = reference::words(&bits[2..])[0];
            (u8::from(bits[0]) | u8::from(bits[1]) << 1, payload)
        });
        blocks.collect::<Vec<_>>()
    });
    let some = prop_oneof![
        3 => prop::collection::vec(block(), 1..6),
        2 => frame,
    ];
    prop::collection::vec(some, 1..20).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn frames_and_errors_are_those_of_figure_49_17(blocks in sequence()) {
        let raw = reference::receive(
            &blocks.iter().map(|&(header, payload)| bits_of(header, payload)).collect::<Vec<_>>(),
        );
        let characters = raw.concat();
        let whole = reference::frames(&characters);
        let good: Vec<_> = whole.iter().filter(|frame| reference::is_good(&frame.1)).collect();
        let errors = raw.iter().filter(|eight| **eight == [reference::ERROR; 8]).count();

        let mut decoder = Decoder::default();
        let (mut seen, mut told, mut sound) = (vec![], 0, vec![]);
        let mut each = |item: Item<'_>| match item {
            Item::Frame(frame) => {
                let with_fcs = [frame.bytes, &frame.fcs].concat();
                if frame.verdict == Verdict::Good {
                    seen.push((frame.stamp, with_fcs.clone()));
                }
                if matches!(frame.verdict, Verdict::Good | Verdict::BadFcs | Verdict::Short) {
                    sound.push((frame.stamp, frame.length));
                }
            }
            Item::Event(_, Event::BadHeader | Event::BadBlock { .. } | Event::OutOfPlace(_)) => told += 1,
            Item::Event(..) => {}
        };
        for (place, &(header, payload)) in (0..).zip(&blocks) {
            decoder.block(Stamp::of_block(place), Block::new(header, payload), &mut each);
        }
        prop_assert_ne!(decoder.state(), State::Init);
        decoder.finish(&mut each);
        prop_assert_eq!(told, errors);
        prop_assert_eq!(decoder.counters().errors as usize, errors);
        let stamp = |place: u64| Stamp(place / 4 * 33);
        let expected: Vec<_> = good.iter().map(|(place, bytes)| (stamp(*place), bytes.clone())).collect();
        prop_assert_eq!(seen, expected);
        let expected: Vec<_> = whole.iter().map(|(place, bytes)| (stamp(*place), bytes.len() as u64)).collect();
        prop_assert_eq!(sound, expected);
    }
}
