//! Blocks and the line against the standard's tables and the bit-serial reference.

use crate::reference;
use crate::reference::{Character, ERROR, IDLE, Random, SEQUENCE, SIGNAL, START, TERMINATE};
use phy::block::{Class, Kind, field};
use phy::xgmii::{Code, Set, Xgmii};
use phy::{Block, Blocks, Encoder, Line, Scrambler, Stamp, Start};
use proptest::prelude::*;

fn bits_of(block: Block) -> Vec<bool> {
    let header = block.header();
    let mut bits = vec![header & 1 == 1, header >> 1 & 1 == 1];
    bits.extend((0..64).map(|n| block.payload >> n & 1 == 1));
    bits
}

fn xgmii_of(characters: &[Character]) -> Xgmii {
    let control = (0..).zip(characters).map(|(n, c)| u8::from(c.0) << n).sum();
    let bytes = std::array::from_fn(|n| characters[n].1);
    Xgmii { control, bytes }
}

fn characters_of(xgmii: Xgmii) -> Vec<Character> {
    (0..8)
        .map(|n| (xgmii.control >> n & 1 == 1, xgmii.bytes[n]))
        .collect()
}

#[test]
fn the_constant_blocks_are_what_the_reference_makes_of_their_characters() {
    let d = |bytes: &[u8]| bytes.iter().map(|&b| (false, b)).collect::<Vec<_>>();
    let fault = [vec![SEQUENCE], d(&[0, 0, 1])].concat();
    for (block, characters) in [
        (Block::IDLE, vec![IDLE; 8]),
        (Block::ERROR, vec![ERROR; 8]),
        (Block::LOCAL_FAULT, [fault.clone(), fault].concat()),
        (
            Block::START,
            [vec![START], d(&[0x55; 6]), d(&[0xD5])].concat(),
        ),
        (
            Block::START_4,
            [vec![IDLE; 4], vec![START], d(&[0x55; 3])].concat(),
        ),
        (
            Block::terminate(&[1, 2, 3, 4, 5]),
            [d(&[1, 2, 3, 4, 5]), vec![TERMINATE], vec![IDLE; 2]].concat(),
        ),
    ] {
        assert_eq!(
            Some(bits_of(block)),
            reference::block(&characters),
            "{block:x?}"
        );
    }
    // The values as they are commonly printed.
    assert_eq!(Block::IDLE.payload, 0x1E);
    assert_eq!(Block::START.payload, 0xD555_5555_5555_5578);
    assert_eq!(Block::START_4.payload, 0x5555_5500_0000_0033);
    assert_eq!(Block::LOCAL_FAULT.payload, 0x0100_0000_0100_0055);
    assert_eq!(Block::ERROR.payload, 0x3C78_F1E3_C78F_1E1E);
}

#[test]
fn types_are_those_of_figure_49_7_and_differ_in_four_bits_at_least() {
    let known: Vec<u8> = (0..=255)
        .filter(|&kind| Block::control(u64::from(kind)).kind().is_some())
        .collect();
    let expected = [
        0x1E, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78, 0x87, 0x99, 0xAA, 0xB4, 0xCC, 0xD2, 0xE1, 0xFF,
    ];
    assert_eq!(known, expected);
    for a in &known {
        for b in known.iter().filter(|b| *b != a) {
            assert!((a ^ b).count_ones() >= 4, "{a:x} {b:x}");
        }
    }
    for (lane, kind) in (0..).zip(field::TERMINATE) {
        let kind = Block::control(kind.into()).kind();
        assert_eq!(kind, Some(Kind::Terminate(lane)));
    }
}

/// Characters of every kind, likely in a combination that a block carries.
fn eight() -> impl Strategy<Value = Vec<Character>> {
    let data = any::<u8>().prop_map(|byte| (false, byte));
    let code = prop::sample::select(vec![
        0x07, 0x07, 0x07, 0x06, 0xFE, 0x1C, 0x3C, 0x7C, 0xBC, 0xDC, 0xF7, 0x00,
    ])
    .prop_map(|byte| (true, byte));
    let set = prop::sample::select(vec![SEQUENCE, SIGNAL]);
    let shape = prop::sample::select(vec![
        "DDDDDDDD", "CCCCCCCC", "CCCCODDD", "CCCCSDDD", "ODDDSDDD", "ODDDODDD", "SDDDDDDD",
        "ODDDCCCC", "TCCCCCCC", "DTCCCCCC", "DDTCCCCC", "DDDTCCCC", "DDDDTCCC", "DDDDDTCC",
        "DDDDDDTC", "DDDDDDDT", "DSDDDDDD", "ODCCCCCC", "CCCCODDC", "TSDDDDDD", "DDDDODDD",
        "CCCCDDDD", "TDDDDDDD", "CCCCTCCC", "SCCCCCCC", "CCCCSCCC", "OCCCCCCC",
    ]);
    let pools = (
        prop::collection::vec(data, 8),
        prop::collection::vec(code, 8),
        prop::collection::vec(set, 8),
    );
    (shape, pools).prop_map(|(shape, (data, codes, sets))| {
        let pick = |(lane, letter)| match letter {
            'D' => data[lane],
            'C' => codes[lane],
            'O' => sets[lane],
            'S' => START,
            _ => TERMINATE,
        };
        shape.chars().enumerate().map(pick).collect()
    })
}

proptest! {
    #[test]
    fn characters_become_the_reference_s_block_or_none(characters in eight()) {
        let block = xgmii_of(&characters).encode();
        prop_assert_eq!(block.map(bits_of), reference::block(&characters));
        let Some(block) = block else { return Ok(()) };
        if block.class() == Class::Error {
            // The receiver takes such a block for an error: it has an error character among control
            // characters.
            prop_assert_eq!(block.kind(), Some(Kind::Control));
            prop_assert!(characters.contains(&ERROR));
        } else {
            prop_assert_eq!(block.decode().map(characters_of), Some(characters));
        }
    }

    #[test]
    fn payloads_become_the_reference_s_characters_or_none(
        kind in prop::option::of(prop::sample::select(vec![
            0x1Eu8, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78, 0x87, 0x99, 0xAA, 0xB4, 0xCC, 0xD2, 0xE1, 0xFF,
        ])),
        payload: u64,
        mask: u64,
        control: bool,
    ) {
        let payload = match kind {
            Some(kind) => payload & mask & !0xFF | u64::from(kind),
            None => payload,
        };
        let block = Block { control, payload };
        let expected = reference::characters(&bits_of(block));
        if expected.as_ref().is_some_and(|c| c.contains(&ERROR)) && block.kind() == Some(Kind::Control) {
            prop_assert_eq!(block.class(), Class::Error);
        } else {
            prop_assert_eq!(block.decode().map(characters_of), expected);
        }
    }
}

#[test]
fn codes_and_sets_are_those_of_table_49_1() {
    for character in 0..=255u8 {
        let block = xgmii_of(&[(true, character); 8]).encode();
        match Code::from_xgmii(character) {
            Some(code) => {
                assert_eq!(code.xgmii(), character);
                assert_eq!(Code::from_line(code.line()), Some(code));
                assert_eq!(
                    block.map(bits_of),
                    reference::block(&[(true, character); 8])
                );
            }
            None => assert_eq!(block, None, "{character:x}"),
        }
    }
    assert_eq!(Set::LOCAL_FAULT.data, [0, 0, 1]);
    assert_eq!(Set::REMOTE_FAULT.data, [0, 0, 2]);
    assert_eq!(Set::LINK_INTERRUPTION.data, [0, 0, 3]);
}

#[test]
fn a_stream_of_frames_of_all_lengths_is_the_reference_s_to_the_bit() {
    let mut random = Random(1);
    for state in [u64::MAX, 0, 0x0123_4567_89AB_CDEF] {
        let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
        let mut characters: Vec<Character> = vec![];
        for length in (1..200).chain([1514, 1518, 9000, 16_000]) {
            let bytes = random.bytes(length);
            let idles = random.below(40);
            let sent = encoder
                .frame(&bytes, Start::After(idles), &mut blocks)
                .unwrap();
            let terminate = (!characters.is_empty()) as u64;
            assert!(sent.idles + 3 >= idles.max(12) && sent.idles < idles.max(12) + 8);
            characters.extend(vec![IDLE; (sent.idles - terminate) as usize]);
            let place = (characters.len() as u64 + 8) / 4 * 33;
            assert_eq!(sent.stamp, Stamp(place));
            characters.extend(reference::frame(&bytes));
            characters.push(TERMINATE);
        }
        encoder.flush(&mut blocks);
        characters.resize(characters.len().next_multiple_of(8), IDLE);

        let (mut line, mut words) = (Line::new(Scrambler::new(state)), Vec::new());
        line.push(&blocks, &mut words);
        words.push(line.rest().0);
        let expected = reference::words(&reference::line(&characters, state));
        words.truncate(expected.len());
        assert!(words == expected);
    }
}

#[test]
fn idles_scrambled_from_all_ones_are_as_hardware_sends_them() {
    // As eth_phy_10g_tx of verilog-ethernet, run in a simulator, gave them.
    let mut scrambler = Scrambler::default();
    let line = [Block::IDLE; 3].map(|block| scrambler.word(block.payload));
    let expected = [
        0x7BFF_F080_0000_001E,
        0x85CF_F0FF_FFF8_401E,
        0x85D8_4F01_1807_9EE1,
    ];
    assert_eq!(line, expected);
}
