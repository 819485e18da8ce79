//! Whole streams, both ways: what is sent is the reference's to the bit, and comes back as it was.

use crate::reference;
use crate::reference::{Character, IDLE, Random, SEQUENCE, SIGNAL, TERMINATE};
use phy::gap::Rounding;
use phy::xgmii::Set;
use phy::{
    Blocks, Decoder, Encoder, Event, Item, Line, Receiver, Scrambler, Stamp, Start, Verdict,
};
use proptest::prelude::*;

/// What goes out.
#[derive(Clone, Debug)]
enum Sending {
    Frame { length: usize, start: Gap },
    Raw { length: usize, start: Gap },
    Aborted { length: usize, start: Gap },
    Set(bool, [u8; 3]),
}

#[derive(Clone, Copy, Debug)]
enum Gap {
    Idles(u64),
    /// From where the encoder is, in bits; it may be too soon.
    Bits(u64),
}

fn sending() -> impl Strategy<Value = Sending> {
    let start = || {
        prop_oneof![
            3 => (0u64..80).prop_map(Gap::Idles),
            1 => (0u64..3000).prop_map(Gap::Bits),
        ]
    };
    let length = || prop_oneof![4 => 1usize..200, 1 => 1usize..1600];
    prop_oneof![
        8 => (length(), start()).prop_map(|(length, start)| Sending::Frame { length, start }),
        1 => (length(), start()).prop_map(|(length, start)| Sending::Raw { length, start }),
        1 => (length(), start()).prop_map(|(length, start)| Sending::Aborted { length, start }),
        1 => any::<(bool, [u8; 3])>().prop_map(|(signal, data)| Sending::Set(signal, data)),
    ]
}

/// Characters as they go out, and good frames: stamp, idles, bytes.
#[derive(Default)]
struct Expected {
    characters: Vec<Character>,
    end: usize,
    good: Vec<(Stamp, Option<u64>, Vec<u8>)>,
    frames: usize,
}

impl Expected {
    /// Idles and the frame, when it is told to start `idles` behind the one before it.
    fn frame(&mut self, sent: phy::Sent, frame: &[Character]) {
        let start = self.end + sent.idles as usize;
        assert!(start >= self.characters.len() && start.is_multiple_of(4));
        self.characters.resize(start, IDLE);
        assert_eq!(sent.stamp, Stamp((start as u64 + 8) / 4 * 33));
        self.characters.extend(frame);
        self.frames += 1;
    }

    fn terminate(&mut self) {
        self.end = self.characters.len();
        self.characters.push(TERMINATE);
        let whole = self.characters.len().next_multiple_of(8);
        self.characters.resize(whole, IDLE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_sent_is_the_reference_s_and_comes_back(
        seed: u64,
        minimum in 1u64..14,
        up: bool,
        sendings in prop::collection::vec(sending(), 1..40),
        state: u64,
        lead in 0usize..130,
        pieces in 1usize..80,
    ) {
        let mut random = Random(seed);
        let rounding = if up { Rounding::Up } else { Rounding::Deficit };
        let mut encoder = Encoder::new().minimum(minimum).rounding(rounding);
        let (mut blocks, mut expected) = (Blocks::new(), Expected::default());
        let mut first = true;
        // A receiver needs 64 blocks to lock, and one that is not looked at may follow a slip.
        encoder.idle_until(Stamp::of_block(400), &mut blocks);
        expected.characters.resize(3200, IDLE);
        for sending in sendings {
            match sending {
                Sending::Frame { length, start } | Sending::Raw { length, start }
                | Sending::Aborted { length, start } => {
                    let bytes = random.bytes(length);
                    let here = encoder.stamp();
                    let begin = match start {
                        Gap::Idles(idles) => Start::After(idles),
                        Gap::Bits(bits) => Start::At(here + bits),
                    };
                    let sent = match sending {
                        Sending::Frame { .. } => encoder.frame(&bytes, begin, &mut blocks),
                        Sending::Raw { .. } => encoder.raw(&bytes, begin, &mut blocks),
                        _ => encoder.aborted(&bytes, begin, &mut blocks),
                    }
                    .unwrap();
                    // As near to what was asked for as there are lanes for it.
                    let soonest = if up { minimum } else { minimum.saturating_sub(3) };
                    prop_assert!(sent.idles >= soonest);
                    match start {
                        Gap::Idles(idles) => {
                            let idles = idles.max(minimum);
                            let place = (here.0 / 33 * 4).saturating_sub(expected.end as u64);
                            prop_assert!(sent.idles <= (idles + 3).max(place).max(8 + 3));
                            let slack = if up { 0 } else { 3 };
                            prop_assert!(sent.idles + slack >= idles);
                        }
                        Gap::Bits(bits) => {
                            let at = Stamp((here + bits).0.div_ceil(33) * 33);
                            prop_assert!(sent.stamp >= at);
                            let soonest = here + 66;
                            let near = sent.stamp == soonest || sent.idles <= minimum.max(8) + 7;
                            prop_assert!(sent.stamp == at || near);
                        }
                    }
                    let raw = |bytes: &[u8]| {
                        let mut characters = reference::frame(&[])[..8].to_vec();
                        characters.extend(bytes.iter().map(|&byte| (false, byte)));
                        characters
                    };
                    match sending {
                        Sending::Frame { .. } => {
                            expected.frame(sent, &reference::frame(&bytes));
                            let mut bytes = bytes;
                            bytes.resize(bytes.len().max(60), 0);
                            let idles = (!first).then_some(sent.idles);
                            expected.good.push((sent.stamp, idles, bytes));
                        }
                        Sending::Raw { .. } => expected.frame(sent, &raw(&bytes)),
                        _ => {
                            expected.frame(sent, &raw(&bytes));
                            // Errors go in a block of their own; what fills none stands behind it.
                            let rest = expected.characters.len() % 8;
                            let rest = expected.characters.split_off(expected.characters.len() - rest);
                            expected.characters.extend([reference::ERROR; 8]);
                            expected.characters.extend(rest);
                        }
                    }
                    first = false;
                    expected.terminate();
                }
                Sending::Set(signal, data) => {
                    let set = if signal { Set::signal(data) } else { Set::sequence(data) };
                    encoder.set(set, &mut blocks);
                    expected.characters.push(if signal { SIGNAL } else { SEQUENCE });
                    expected.characters.extend(data.map(|byte| (false, byte)));
                }
            }
        }
        encoder.flush(&mut blocks);
        expected.characters.resize(expected.characters.len().next_multiple_of(8), IDLE);
        prop_assert_eq!(blocks.len() as u64, encoder.blocks());

        let (mut line, mut words) = (Line::new(Scrambler::new(state)), Vec::new());
        let mut half = Blocks::new();
        for (n, block) in blocks.iter().enumerate() {
            phy::Sink::block(&mut half, block);
            if half.len() > n % (3 * pieces) {
                line.push(&half, &mut words);
                half.clear();
            }
        }
        line.push(&half, &mut words);
        let bits = reference::line(&expected.characters, state);
        let (rest, count) = line.rest();
        prop_assert_eq!(bits.len() as u64, line.bits());
        if count > 0 {
            words.push(rest);
        }
        prop_assert!(words == reference::words(&bits));

        let mut shifted: Vec<bool> = (0..lead).map(|_| random.below(2) == 1).collect();
        shifted.extend(bits);
        let mut receiver = Receiver::default();
        let (mut good, mut all) = (vec![], 0);
        let mut each = |item: Item<'_>| {
            if let Item::Frame(frame) = item {
                all += 1;
                if frame.verdict == Verdict::Good {
                    good.push((Stamp(frame.stamp.0 - lead as u64), frame.idles, frame.bytes.to_vec()));
                }
            }
        };
        let whole = shifted.len() / 64;
        for words in reference::words(&shifted[..64 * whole]).chunks(pieces) {
            receiver.push(words, &mut each);
        }
        let rest = &shifted[64 * whole..];
        if let Some(&word) = reference::words(rest).first() {
            receiver.push_bits(word, rest.len() as u32, &mut each);
        }
        receiver.finish(&mut each);
        prop_assert_eq!(all, expected.frames);
        prop_assert!(good == expected.good);
    }
}

#[test]
fn every_length_starts_and_ends_in_every_lane_it_can() {
    // By the lane of the terminate, and whether the start before it was in lane 4.
    let mut seen = [[0u32; 8]; 2];
    let mut random = Random(9);
    for idles in 12..20 {
        let (mut encoder, mut blocks, mut sent) = (Encoder::new(), Blocks::new(), vec![]);
        for length in 60..200 {
            let bytes = random.bytes(length);
            let told = encoder
                .frame(&bytes, Start::After(idles), &mut blocks)
                .unwrap();
            seen[(told.stamp.0 / 33 % 2) as usize]
                [(length + 4 + (told.stamp.0 / 33 % 2) as usize * 4) % 8] += 1;
            sent.push((told.stamp, bytes));
        }
        let (mut decoder, mut good) = (Decoder::default(), vec![]);
        let mut each = |item: Item<'_>| match item {
            Item::Frame(frame) => {
                assert_eq!(frame.verdict, Verdict::Good);
                assert_eq!(frame.preamble, [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5]);
                assert_eq!(frame.length, frame.bytes.len() as u64 + 4);
                assert_eq!(frame.fcs, reference::fcs(frame.bytes));
                good.push((frame.stamp, frame.bytes.to_vec()));
            }
            Item::Event(at, event) => panic!("{event:?} at {at:?}"),
        };
        for (place, block) in (0..).zip(blocks.iter()) {
            decoder.block(Stamp::of_block(place), Some(block), &mut each);
        }
        decoder.finish(&mut each);
        assert!(good == sent);
    }
    assert!(
        seen.as_flattened().iter().all(|&count| count > 0),
        "{seen:?}"
    );
}

#[test]
fn the_mean_gap_is_twelve_and_no_gap_is_under_nine() {
    let mut random = Random(2);
    for fixed in [None, Some(60), Some(61), Some(62), Some(63), Some(1514)] {
        let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
        let (mut total, count) = (0, 4000);
        let bytes = [0; 1600];
        for n in 0..=count {
            let length = fixed.unwrap_or_else(|| 60 + random.below(1500) as usize);
            let sent = encoder
                .frame(&bytes[..length], Start::default(), &mut blocks)
                .unwrap();
            blocks.clear();
            if n > 0 {
                assert!((9..=15).contains(&sent.idles));
                total += sent.idles;
                // Never more than three owed.
                assert!((12 * n - 3..=12 * n).contains(&total), "{n} {total}");
            }
        }
    }
}

#[test]
fn eight_idles_between_frames_of_64_bytes_are_80_byte_times() {
    // Paper 002, section 4.3.1.
    let (mut encoder, mut blocks) = (Encoder::new().minimum(8), Blocks::new());
    let mut last = None;
    for _ in 0..100 {
        let sent = encoder
            .frame(&[3; 60], Start::After(8), &mut blocks)
            .unwrap();
        if let Some(last) = last {
            assert_eq!((sent.idles, sent.stamp - last), (8, 10 * 66));
        }
        last = Some(sent.stamp);
    }
}

#[test]
fn gaps_asked_for_are_exact_where_a_lane_allows_it() {
    // 9 Gb/s of 1518-byte frames: 212 blocks from start to start, without deviation.
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    let mut last = None;
    for _ in 0..1000 {
        let sent = encoder
            .frame(&[7; 1514], Start::After(170), &mut blocks)
            .unwrap();
        if let Some(last) = last {
            assert_eq!((sent.idles, sent.stamp - last), (170, 13_992));
            assert_eq!(Stamp(sent.stamp - last).picoseconds(), 1_356_800);
        }
        last = Some(sent.stamp);
        blocks.clear();
    }
}

#[test]
fn a_departure_at_a_stamp_is_at_that_stamp() {
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    for column in [10u64, 41, 77, 120, 121, 170] {
        let sent = encoder
            .frame(&[7; 60], Start::At(Stamp(33 * column)), &mut blocks)
            .unwrap();
        // 64 and 8 and 12 bytes are 21 columns: 121 is too soon behind 120.
        let at = if column == 121 { 141 } else { column };
        assert_eq!(sent.stamp, Stamp(33 * at));
    }
    let at = Stamp::from_picoseconds(1_000_001);
    let sent = encoder.frame(&[7; 60], Start::At(at), &mut blocks).unwrap();
    assert_eq!(
        (sent.stamp.0 % 33, sent.stamp.picoseconds()),
        (0, 1_001_600)
    );
}

#[test]
fn frames_that_cannot_be_sent_change_nothing() {
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    for length in [0, 16_001] {
        let error = encoder
            .frame(&vec![0; length], Start::After(12), &mut blocks)
            .unwrap_err();
        assert!(
            error.to_string().contains(&format!("{length} bytes")),
            "{error}"
        );
    }
    assert!(encoder.raw(&[], Start::After(12), &mut blocks).is_err());
    assert!(
        encoder
            .aborted(&[0; 16_005], Start::After(12), &mut blocks)
            .is_err()
    );
    assert!(blocks.is_empty() && encoder.stamp() == Stamp(0));
}

#[test]
fn idles_are_made_as_a_run_and_ordered_sets_fill_half_blocks() {
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    encoder.set(Set::LOCAL_FAULT, &mut blocks);
    assert_eq!((blocks.len(), encoder.stamp()), (0, Stamp(33)));
    encoder.idle_until(Stamp(70), &mut blocks);
    assert_eq!((blocks.len(), encoder.stamp()), (2, Stamp(132)));
    assert_eq!(blocks.at(0).kind(), Some(phy::block::Kind::SetControl));
    encoder.set(Set::REMOTE_FAULT, &mut blocks);
    // A start in lane 4, right behind the ordered set.
    let sent = encoder
        .frame(&[0; 60], Start::After(1), &mut blocks)
        .unwrap();
    assert_eq!(blocks.at(2).kind(), Some(phy::block::Kind::SetStart));
    assert_eq!(sent.stamp, Stamp(66 * 3 + 33));
    let mut decoder = Decoder::default();
    let mut told = vec![];
    for (place, block) in (0..).zip(blocks.iter()) {
        decoder.block(
            Stamp::of_block(place),
            Some(block),
            &mut |item| match item {
                Item::Event(at, event) => told.push((at, event)),
                Item::Frame(frame) => assert_eq!(frame.stamp, sent.stamp),
            },
        );
    }
    decoder.finish(&mut |_| ());
    assert_eq!(decoder.counters().good, 1);
    assert_eq!(
        told,
        [
            (Stamp(0), Event::Set(Set::LOCAL_FAULT)),
            (Stamp(132), Event::Set(Set::REMOTE_FAULT)),
        ]
    );
}
