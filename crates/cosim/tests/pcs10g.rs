//! The PCS of 10GBASE-R in Verilog against `phy`, block for block.

use cosim::ports::{pcs10g_rx, pcs10g_tx};
use node::random::Random;
use phy::block::{Class, Kind};
use phy::decode::State;
use phy::xgmii::{Code, Set, Xgmii};
use phy::{Block, Blocks, Decoder, Descrambler, Encoder, Scrambler, Start};

/// Cycles from a module's input to its output, its first cycle counted.
const TX_LATENCY: usize = 2;
const RX_LATENCY: usize = 3;
/// How many blocks of each test.
const BLOCKS: usize = 1_000_000;

/// At least so many blocks of frames of random lengths with random gaps, ordered sets and codes between them.
fn stream(random: &mut Random, blocks: usize) -> Blocks {
    let (mut encoder, mut made) = (Encoder::new(), Blocks::new());
    let bytes: Vec<u8> = (0..1600).map(|_| random.below(256) as u8).collect();
    while made.iter().len() < blocks {
        match random.below(16) {
            0 => encoder.set(Set::REMOTE_FAULT, &mut made),
            1 => encoder.set(Set::signal([1, 2, 3]), &mut made),
            2 => encoder.codes(
                [
                    Code::Idle,
                    Code::LowPowerIdle,
                    Code::Reserved(3),
                    Code::Reserved(5),
                ],
                &mut made,
            ),
            _ => {
                let length = match random.below(4) {
                    0 => 1515,
                    _ => 1 + random.below(130) as usize,
                };
                let gap = Start::After(random.below(40));
                encoder.frame(&bytes[..length], gap, &mut made).unwrap();
            }
        }
    }
    encoder.flush(&mut made);
    made
}

fn next(state: State, class: Class) -> State {
    match (state, class) {
        (State::Init | State::Control | State::Terminate, Class::Control) => State::Control,
        (State::Init | State::Control | State::Terminate, Class::Start) => State::Data,
        (State::Data | State::Error, Class::Data) => State::Data,
        (State::Data | State::Error, Class::Terminate) => State::Terminate,
        (State::Error, Class::Control) => State::Control,
        _ => State::Error,
    }
}

/// Any character that means something, or nothing.
fn character(random: &mut Random) -> u8 {
    match random.below(3) {
        0 => random.below(256) as u8,
        _ => [
            0x07, 0x06, 0xFE, 0xFB, 0xFD, 0x9C, 0x5C, 0x1C, 0x3C, 0x7C, 0xBC, 0xDC, 0xF7,
        ][random.below(13) as usize],
    }
}

/// Makes about one column in eight wrong, in a lane or as a whole.
fn spoil(random: &mut Random, mut column: Xgmii) -> Xgmii {
    match random.below(24) {
        0 => column.bytes[random.below(8) as usize] = character(random),
        1 => column.control ^= 1 << random.below(8),
        2 => {
            column.control = random.below(256) as u8;
            column.bytes = std::array::from_fn(|_| character(random));
        }
        _ => {}
    }
    column
}

#[test]
fn a_million_columns_with_gaps_and_errors_become_the_blocks_of_phy() {
    let Some(mut tx) = crate::module(pcs10g_tx::LAYOUT) else {
        return;
    };
    let mut random = Random::new(1);
    let blocks = stream(&mut random, BLOCKS);
    let mut columns: Vec<Xgmii> = blocks.iter().map(|block| block.decode().unwrap()).collect();
    for column in &mut columns[BLOCKS / 4..] {
        *column = spoil(&mut random, *column);
    }

    let (mut state, mut errors) = (State::Init, 0);
    let expected = columns.iter().map(|column| {
        let block = column.encode();
        state = next(state, block.map_or(Class::Error, Block::class));
        errors += usize::from(state == State::Error);
        match (state, block) {
            (State::Error, _) | (_, None) => Block::ERROR,
            (_, Some(block)) => block,
        }
    });
    let expected: Vec<Block> = expected.collect();
    assert!(
        errors > BLOCKS / 100 && errors < BLOCKS / 2,
        "{errors} errors"
    );

    // Two cycles of reset, then what is to be sent.
    let mut inputs = Vec::new();
    let idle = [Xgmii::IDLE; 2];
    let head = idle.iter().map(|column| (1, column));
    for (reset, column) in head
        .chain(columns.iter().map(|column| (0, column)))
        .chain(idle.iter().map(|column| (0, column)))
    {
        let mut words = [0; 3];
        words[pcs10g_tx::RST] = reset;
        words[pcs10g_tx::XGMII_TXD] = u64::from_le_bytes(column.bytes);
        words[pcs10g_tx::XGMII_TXC] = column.control.into();
        inputs.extend(words);
    }
    let mut outputs = vec![0; inputs.len() / 3 * 2];
    tx.run(&inputs, &mut outputs);

    let mut scrambler = Scrambler::default();
    for word in outputs.chunks(2).take(2 + TX_LATENCY - 1) {
        // Local faults while it is reset.
        assert_eq!(word[pcs10g_tx::TX_HEADER], 1);
        assert_eq!(
            word[pcs10g_tx::TX_PAYLOAD],
            scrambler.word(Block::LOCAL_FAULT.payload)
        );
    }
    for (place, (block, word)) in expected
        .iter()
        .zip(outputs.chunks(2).skip(2 + TX_LATENCY - 1))
        .enumerate()
    {
        assert_eq!(
            word[pcs10g_tx::TX_HEADER],
            block.header().into(),
            "header {place}"
        );
        assert_eq!(
            word[pcs10g_tx::TX_PAYLOAD],
            scrambler.word(block.payload),
            "payload {place}"
        );
    }
}

#[test]
fn a_million_blocks_with_wrong_bits_become_the_columns_of_phy() {
    let Some(mut rx) = crate::module(pcs10g_rx::LAYOUT) else {
        return;
    };
    let mut random = Random::new(2);
    let blocks = stream(&mut random, BLOCKS);
    let mut scrambler = Scrambler::default();
    let mut line: Vec<(u8, u64)> = blocks
        .iter()
        .map(|block| (block.header(), scrambler.word(block.payload)))
        .collect();
    for (header, payload) in &mut line[BLOCKS / 4..] {
        match random.below(32) {
            0 => *header ^= 1 << random.below(2),
            1 => *header ^= 3,
            2 => *payload ^= 1 << random.below(64),
            3 => *payload = random.below(u64::MAX),
            _ => {}
        }
    }
    // An idle at the end tells what a terminate before it was.
    line.push((1, scrambler.word(Block::IDLE.payload)));

    let (mut descrambler, mut decoder) = (Descrambler::default(), Decoder::default());
    let received: Vec<Option<Block>> = line
        .iter()
        .map(|&(header, payload)| Block::new(header, descrambler.word(payload)))
        .collect();
    let mut states = Vec::new();
    let mut place = phy::Stamp(0);
    let mut latest = State::Init;
    for block in &received {
        let before = decoder.counters().errors;
        decoder.block(place, *block, &mut |_| {});
        // A terminate that did not stand is counted with the block behind it.
        let own = u64::from(decoder.state() == State::Error);
        if latest == State::Terminate && decoder.counters().errors - before > own {
            *states.last_mut().unwrap() = State::Error;
        }
        latest = decoder.state();
        states.push(latest);
        place = place + phy::Stamp::BLOCK;
    }
    let errors = states
        .iter()
        .filter(|state| **state == State::Error)
        .count();
    assert!(
        errors > BLOCKS / 100 && errors < BLOCKS / 2,
        "{errors} errors"
    );
    assert!(
        received
            .iter()
            .flatten()
            .any(|block| matches!(block.kind(), Some(Kind::SetStart)))
    );

    let mut inputs = Vec::new();
    let tail = [*line.last().unwrap(); RX_LATENCY];
    // The descrambler is in step from the first block on: the reset has nothing that it would keep.
    for &(header, payload) in line.iter().chain(&tail) {
        let mut words = [0; 3];
        words[pcs10g_rx::RX_HEADER] = header.into();
        words[pcs10g_rx::RX_PAYLOAD] = payload;
        inputs.extend(words);
    }
    let mut outputs = vec![0; inputs.len()];
    rx.run(&inputs, &mut outputs);

    for (place, word) in outputs
        .chunks(3)
        .skip(RX_LATENCY - 1)
        .take(line.len() - 1)
        .enumerate()
    {
        let expected = match (states[place], received[place]) {
            (State::Error, _) | (_, None) => Xgmii {
                control: 0xFF,
                bytes: [0xFE; 8],
            },
            (_, Some(block)) => block.decode().unwrap(),
        };
        let seen = Xgmii {
            control: word[pcs10g_rx::XGMII_RXC] as u8,
            bytes: word[pcs10g_rx::XGMII_RXD].to_le_bytes(),
        };
        assert_eq!(
            seen, expected,
            "column {place}: {:?} in {:?}",
            received[place], states[place]
        );
        assert_eq!(
            word[pcs10g_rx::RX_ERROR] == 1,
            states[place] == State::Error,
            "error {place}"
        );
    }
}

#[test]
fn a_wrong_scrambler_would_be_seen() {
    let Some(mut tx) = crate::module(pcs10g_tx::LAYOUT) else {
        return;
    };
    let mut outputs = [0; 2 * 6];
    let mut words = [0; 3];
    words[pcs10g_tx::XGMII_TXD] = u64::from_le_bytes(Xgmii::IDLE.bytes);
    words[pcs10g_tx::XGMII_TXC] = 0xFF;
    tx.run(&words.repeat(6), &mut outputs);
    let mut other = Scrambler::new(0);
    assert!(
        outputs
            .chunks(2)
            .all(|word| word[pcs10g_tx::TX_PAYLOAD] != other.word(Block::IDLE.payload))
    );
}
