//! The 10 Gb/s MAC in Verilog: its frames, its gaps, and what it makes of others' frames.

use cosim::Module;
use cosim::ports::{mac_pcs10g, mac10g_rx, mac10g_tx};
use node::random::Random;

const IDLE: u8 = 0x07;
const START: u8 = 0xFB;
const TERMINATE: u8 = 0xFD;
const PREAMBLE: [u8; 8] = [START, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
/// From the edge at which a frame is seen to that behind which its start is on the XGMII.
const TX_LATENCY: usize = 2;

/// A character of the XGMII, and whether it is one of control.
type Character = (u8, bool);

fn characters(data: u64, control: u64) -> impl Iterator<Item = Character> {
    let lanes = data.to_le_bytes().into_iter().enumerate();
    lanes.map(move |(lane, byte)| (byte, control >> lane & 1 == 1))
}

fn random_frame(random: &mut Random, longest: u64) -> Vec<u8> {
    let length = 1 + random.below(longest) as usize;
    (0..length).map(|_| random.below(256) as u8).collect()
}

/// A frame as it is on the line: padded, with its FCS.
fn on_line(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    bytes.resize(bytes.len().max(60), 0);
    bytes.extend(phy::crc::fcs(&bytes).to_le_bytes());
    bytes
}

/// The words of a frame, with `keep` and `last`.
fn words(frame: &[u8]) -> Vec<(u64, u64, u64)> {
    let chunks = frame.chunks(8);
    let count = chunks.len();
    let word = |(place, chunk): (usize, &[u8])| {
        let mut bytes = [0xA5; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let keep = (1 << chunk.len()) - 1;
        (
            u64::from_le_bytes(bytes),
            keep,
            u64::from(place + 1 == count),
        )
    };
    chunks.enumerate().map(word).collect()
}

/// Transmits frames, each held back for so many cycles; gives what is on the XGMII, and where each was seen.
fn transmit(mac: &mut Module, frames: &[(Vec<u8>, u64)]) -> (Vec<Character>, Vec<(usize, bool)>) {
    let (mut line, mut seen) = (Vec::new(), Vec::new());
    let mut outputs = [0; mac10g_tx::LAYOUT.outputs];
    mac.run(&[0; mac10g_tx::LAYOUT.inputs], &mut outputs);
    let mut cycle = 0;
    for (frame, wait) in frames {
        let (mut wait, mut words) = (*wait, words(frame).into_iter().peekable());
        while words.peek().is_some() {
            let mut inputs = [0; mac10g_tx::LAYOUT.inputs];
            let free = outputs[mac10g_tx::FREE] == 1;
            // A word passes at an edge before which both sides are ready.
            if wait == 0
                && let Some(&(data, keep, last)) = words.peek()
            {
                inputs[mac10g_tx::S_AXIS_TDATA] = data;
                inputs[mac10g_tx::S_AXIS_TKEEP] = keep;
                inputs[mac10g_tx::S_AXIS_TLAST] = last;
                inputs[mac10g_tx::S_AXIS_TVALID] = 1;
                if outputs[mac10g_tx::S_AXIS_TREADY] == 1 {
                    words.next();
                }
            } else if free {
                wait -= 1;
            }
            mac.run(&inputs, &mut outputs);
            if outputs[mac10g_tx::BEGINS] == 1 {
                seen.push((cycle, outputs[mac10g_tx::BEGINS_HIGH] == 1));
            }
            line.extend(characters(
                outputs[mac10g_tx::XGMII_TXD],
                outputs[mac10g_tx::XGMII_TXC],
            ));
            cycle += 1;
        }
    }
    for _ in 0..8 {
        mac.run(&[0; mac10g_tx::LAYOUT.inputs], &mut outputs);
        line.extend(characters(
            outputs[mac10g_tx::XGMII_TXD],
            outputs[mac10g_tx::XGMII_TXC],
        ));
    }
    (line, seen)
}

/// The frames of a line, each with the place of its start and the gap before it.
fn frames_of(line: &[Character]) -> Vec<(Vec<u8>, usize, usize)> {
    let (mut frames, mut place, mut behind) = (Vec::new(), 0, 0);
    while place < line.len() {
        if line[place] == (IDLE, true) {
            place += 1;
            continue;
        }
        assert_eq!(line[place], (START, true), "at {place}");
        assert_eq!(place % 4, 0, "a frame starts in lane 0 or 4");
        let bytes = line[place..].iter().skip(1);
        let bytes: Vec<u8> = bytes
            .take_while(|(_, control)| !control)
            .map(|(byte, _)| *byte)
            .collect();
        assert_eq!(bytes[..7], PREAMBLE[1..]);
        let end = place + 1 + bytes.len();
        assert_eq!(line[end], (TERMINATE, true), "at {end}");
        frames.push((bytes[7..].to_vec(), place, place - behind));
        // The gap begins with the terminate character.
        (place, behind) = (end + 1, end);
    }
    frames
}

#[test]
fn frames_leave_with_preamble_padding_and_fcs_a_fixed_time_after_they_are_seen() {
    let Some(mut mac) = crate::module(mac10g_tx::LAYOUT) else {
        return;
    };
    let mut random = Random::new(1);
    let frames: Vec<(Vec<u8>, u64)> = (0..20_000)
        .map(|_| {
            let wait = random.below(4) * random.below(8);
            (random_frame(&mut random, 200), wait)
        })
        .collect();
    let (line, seen) = transmit(&mut mac, &frames);
    let left = frames_of(&line);
    assert_eq!((left.len(), seen.len()), (20_000, 20_000));
    let mut starts = [0; 2];
    for (n, (bytes, place, gap)) in left.iter().enumerate() {
        assert_eq!(*bytes, on_line(&frames[n].0), "frame {n}");
        assert!(n == 0 || *gap >= 9, "a gap of {gap} before frame {n}");
        let (edge, high) = seen[n];
        assert_eq!(*place, 8 * (edge + TX_LATENCY) + 4 * usize::from(high));
        starts[usize::from(high)] += 1;
    }
    assert!(starts.iter().all(|&count| count > 2_000), "{starts:?}");
}

#[test]
fn gaps_are_of_twelve_bytes_on_average_and_the_deficit_never_exceeds_three() {
    let Some(mut mac) = crate::module(mac10g_tx::LAYOUT) else {
        return;
    };
    let mut random = Random::new(2);
    for same in [Some(60), Some(61), Some(62), Some(63), Some(64), None] {
        let frames: Vec<(Vec<u8>, u64)> = (0..4_000)
            .map(|_| {
                let mut frame = random_frame(&mut random, 300);
                frame.resize(same.unwrap_or(frame.len()), 1);
                (frame, 0)
            })
            .collect();
        let (line, _) = transmit(&mut mac, &frames);
        let mut deficit = 0;
        let left = frames_of(&line);
        for (n, (_, _, gap)) in left.iter().enumerate().skip(1) {
            assert!((9..=15).contains(gap), "{gap} before frame {n} of {same:?}");
            deficit += 12 - *gap as i64;
            assert!(
                (0..=3).contains(&deficit),
                "{deficit} at frame {n} of {same:?}"
            );
        }
    }
}

#[test]
fn a_frame_whose_words_do_not_come_in_time_ends_with_errors_and_the_next_is_whole() {
    let Some(mut mac) = crate::module(mac10g_tx::LAYOUT) else {
        return;
    };
    let mut outputs = [0; mac10g_tx::LAYOUT.outputs];
    let mut step = |word: Option<(u64, u64, u64)>| {
        let mut inputs = [0; mac10g_tx::LAYOUT.inputs];
        if let Some((data, keep, last)) = word {
            inputs[mac10g_tx::S_AXIS_TDATA] = data;
            inputs[mac10g_tx::S_AXIS_TKEEP] = keep;
            inputs[mac10g_tx::S_AXIS_TLAST] = last;
            inputs[mac10g_tx::S_AXIS_TVALID] = 1;
        }
        let taken = outputs[mac10g_tx::S_AXIS_TREADY] == 1;
        mac.run(&inputs, &mut outputs);
        let line: Vec<Character> =
            characters(outputs[mac10g_tx::XGMII_TXD], outputs[mac10g_tx::XGMII_TXC]).collect();
        (taken, outputs[mac10g_tx::UNDERRUN] == 1, line)
    };
    step(None);
    let (mut line, mut underruns) = (Vec::new(), 0);
    let frame: Vec<u8> = (0..100).collect();
    for (missing, frame) in [(true, &frame), (false, &frame)] {
        let words = words(frame);
        let mut next = 0;
        while next < words.len() {
            // At the fourth word the source is a cycle late.
            let late = missing && next == 3 && underruns == 0;
            let (taken, underrun, now) = step(Some(words[next]).filter(|_| !late));
            next += usize::from(taken && !late);
            underruns += u32::from(underrun);
            line.extend(now);
        }
    }
    for _ in 0..8 {
        line.extend(step(None).2);
    }
    assert_eq!(underruns, 1);
    let errors = line.iter().filter(|character| **character == (0xFE, true));
    assert_eq!(errors.count(), 8);
    let at = line
        .iter()
        .rposition(|character| *character == (START, true));
    let whole = frames_of(&line[at.unwrap() / 8 * 8..]);
    assert_eq!(whole[0].0, on_line(&frame));
}

/// A frame that is to come out, and whether it is bad.
type Wanted = (Vec<u8>, bool);

/// What is put on the XGMII of a receiver, and what is to come of it: frames without FCS, and whether they are bad.
fn lines(random: &mut Random, count: usize) -> (Vec<Character>, Vec<Wanted>, u32) {
    let (mut line, mut expected, mut fragments) = (vec![(IDLE, true); 16], Vec::new(), 0);
    let data = |byte: u8| (byte, false);
    for _ in 0..count {
        let mut frame = on_line(&random_frame(random, 300));
        let mut bad = false;
        let mut preamble = PREAMBLE;
        let fault = random.below(16);
        match fault {
            0 => {
                let at = random.below(frame.len() as u64) as usize;
                frame[at] ^= 1 << random.below(8);
                bad = true;
            }
            1 => {
                frame.truncate(random.below(12) as usize);
                bad = true;
            }
            2 => preamble[7] = 0x55,
            _ => {}
        }
        line.push((START, true));
        line.extend(preamble[1..].iter().map(|&byte| data(byte)));
        match (fault, frame.split_last_chunk::<4>()) {
            (2, _) => fragments += 1,
            // Nothing that would be a word and an FCS
            _ if frame.len() < 8 => fragments += 1,
            (_, Some((bytes, _))) => expected.push((bytes.to_vec(), bad)),
            (_, None) => {}
        }
        line.extend(frame.iter().map(|&byte| data(byte)));
        // An error character in place of the terminate one, at times.
        let end = if fault == 3 && frame.len() >= 8 {
            0xFE
        } else {
            TERMINATE
        };
        if end == 0xFE
            && let Some(last) = expected.last_mut()
        {
            last.1 = true;
        }
        line.push((end, true));
        let gap = 4 + random.below(20) as usize;
        line.extend(vec![(IDLE, true); gap]);
        while line.len() % 4 != 0 {
            line.push((IDLE, true));
        }
    }
    line.resize((line.len() + 32).next_multiple_of(8), (IDLE, true));
    (line, expected, fragments)
}

#[test]
fn frames_of_either_lane_are_received_and_bad_ones_are_told() {
    let Some(mut mac) = crate::module(mac10g_rx::LAYOUT) else {
        return;
    };
    let mut random = Random::new(3);
    let (line, expected, expected_fragments) = lines(&mut random, 20_000);
    let (mut frames, mut frame, mut fragments) = (Vec::new(), Vec::new(), 0);
    let (mut begins, mut outputs) = ([0; 2], [0; mac10g_rx::LAYOUT.outputs]);
    for column in line.chunks(8) {
        let mut inputs = [0; mac10g_rx::LAYOUT.inputs];
        for (lane, (byte, control)) in column.iter().enumerate() {
            inputs[mac10g_rx::XGMII_RXD] |= u64::from(*byte) << (8 * lane);
            inputs[mac10g_rx::XGMII_RXC] |= u64::from(*control) << lane;
        }
        mac.run(&inputs, &mut outputs);
        fragments += outputs[mac10g_rx::FRAGMENT];
        if outputs[mac10g_rx::BEGINS] == 1 {
            begins[outputs[mac10g_rx::BEGINS_HIGH] as usize] += 1;
        }
        if outputs[mac10g_rx::M_AXIS_TVALID] == 1 {
            let count = outputs[mac10g_rx::M_AXIS_TKEEP].count_ones() as usize;
            frame.extend(&outputs[mac10g_rx::M_AXIS_TDATA].to_le_bytes()[..count]);
            if outputs[mac10g_rx::M_AXIS_TLAST] == 1 {
                let bad = outputs[mac10g_rx::M_AXIS_TUSER] == 1;
                frames.push((std::mem::take(&mut frame), bad));
            }
        }
    }
    for (n, (seen, expected)) in frames.iter().zip(&expected).enumerate() {
        assert_eq!(seen, expected, "frame {n}");
    }
    assert_eq!(frames.len(), expected.len());
    assert_eq!(fragments, u64::from(expected_fragments));
    assert!(begins.iter().all(|&count| count > 5_000), "{begins:?}");
}

#[test]
fn frames_of_64_bytes_go_through_mac_and_pcs_at_line_rate_for_ten_million_cycles_without_loss() {
    use mac_pcs10g::*;
    const CYCLES: u64 = 10_000_000;
    let Some(mut port) = crate::module(LAYOUT) else {
        return;
    };
    let frame = [0x5A; 60];
    let words = words(&frame);
    let (mut inputs, mut outputs) = ([0; LAYOUT.inputs], [0; LAYOUT.outputs]);
    let (mut next, mut began, mut received, mut bad) = (0, 0, 0, 0);
    inputs[S_AXIS_TVALID] = 1;
    for _ in 0..CYCLES {
        inputs[RX_HEADER] = outputs[TX_HEADER];
        inputs[RX_PAYLOAD] = outputs[TX_PAYLOAD];
        (
            inputs[S_AXIS_TDATA],
            inputs[S_AXIS_TKEEP],
            inputs[S_AXIS_TLAST],
        ) = words[next];
        if outputs[S_AXIS_TREADY] == 1 {
            next = (next + 1) % words.len();
        }
        port.run(&inputs, &mut outputs);
        began += outputs[TX_BEGINS];
        if outputs[M_AXIS_TVALID] & outputs[M_AXIS_TLAST] == 1 {
            received += 1;
            bad += outputs[M_AXIS_TUSER];
            assert_eq!(outputs[M_AXIS_TKEEP], 0x0F);
        }
    }
    // 64 bytes, 8 of preamble, 12 of gap: two in 21 cycles.
    assert!(began >= CYCLES * 2 / 21 - 1, "{began}");
    assert!(received >= began - 3, "{received} of {began}");
    assert_eq!((bad, outputs[RX_ERROR]), (0, 0));
}
