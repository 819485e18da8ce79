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

/// The inputs of the transmitter with a word of a frame: data, `keep` and `last`.
fn word_of_a_frame(word: Option<(u64, u64, u64)>) -> [u64; mac10g_tx::LAYOUT.inputs] {
    let mut inputs = [0; mac10g_tx::LAYOUT.inputs];
    if let Some((data, keep, last)) = word {
        inputs[mac10g_tx::S_AXIS_TDATA] = data;
        inputs[mac10g_tx::S_AXIS_TKEEP] = keep;
        inputs[mac10g_tx::S_AXIS_TLAST] = last;
        inputs[mac10g_tx::S_AXIS_TVALID] = 1;
    }
    inputs
}

/// Transmits frames word by word, one behind the other; before word `late.0` of the first the
/// source is `late.1` cycles late.
/// Returns the line, and the number of cycles in which a frame was broken off.
fn transmit_words(
    mac: &mut Module,
    frames: &[&[(u64, u64, u64)]],
    late: Option<(usize, u32)>,
) -> (Vec<Character>, u64) {
    let mut outputs = [0; mac10g_tx::LAYOUT.outputs];
    let (mut line, mut underruns) = (Vec::new(), 0);
    let mut step = |word: Option<(u64, u64, u64)>| {
        let taken = outputs[mac10g_tx::S_AXIS_TREADY] == 1;
        mac.run(&word_of_a_frame(word), &mut outputs);
        underruns += outputs[mac10g_tx::UNDERRUN];
        let (data, control) = (outputs[mac10g_tx::XGMII_TXD], outputs[mac10g_tx::XGMII_TXC]);
        line.extend(characters(data, control));
        taken
    };
    step(None);
    for (number, words) in frames.iter().enumerate() {
        for (place, &word) in words.iter().enumerate() {
            if let Some((at, cycles)) = late.filter(|late| number == 0 && late.0 == place) {
                assert!(at > 0, "a frame has begun with its first word");
                (0..cycles).for_each(|_| {
                    step(None);
                });
            }
            while !step(Some(word)) {}
        }
    }
    (0..8).for_each(|_| {
        step(None);
    });
    (line, underruns)
}

/// The frames that are whole on a line, without those that were broken off by error characters.
fn whole_frames(line: &[Character]) -> Vec<Vec<u8>> {
    let starts = (0..line.len()).filter(|&place| line[place] == (START, true));
    let frames = starts.filter_map(|start| {
        let behind = &line[start + 1..];
        let length = behind.iter().position(|(_, control)| *control)?;
        let bytes = behind[..length].iter().map(|(byte, _)| *byte);
        (behind[length] == (TERMINATE, true)).then(|| bytes.skip(7).collect())
    });
    frames.collect()
}

#[test]
fn a_frame_whose_words_do_not_come_in_time_ends_with_errors_and_the_next_is_whole() {
    let Some(mut mac) = crate::module(mac10g_tx::LAYOUT) else {
        return;
    };
    let next: Vec<u8> = (0..70).collect();
    let last = [9; 61];
    for length in [1, 9, 57, 64, 68, 72, 100] {
        let broken: Vec<u8> = (0..length).collect();
        let frames = [&broken[..], &next, &last].map(words);
        for place in 1..frames[0].len() {
            for cycles in [1, 2, 3, 9] {
                let each = frames.each_ref().map(Vec::as_slice);
                let (line, underruns) = transmit_words(&mut mac, &each, Some((place, cycles)));
                let what = format!("{length} bytes, {cycles} cycles late before word {place}");
                assert_eq!(underruns, 1, "{what}");
                let errors = line.iter().filter(|&&character| character == (0xFE, true));
                assert_eq!(errors.count(), 8, "{what}");
                assert_eq!(
                    whole_frames(&line),
                    [on_line(&next), on_line(&last)],
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn a_last_word_without_bytes_ends_the_frame_with_the_word_before_it() {
    let Some(mut mac) = crate::module(mac10g_tx::LAYOUT) else {
        return;
    };
    let next: Vec<u8> = (0..70).collect();
    // Padded ones, one that pads half of its last word, and whole ones.
    for count in [1, 6, 7, 8, 9, 20] {
        let frame: Vec<u8> = (0..8 * count).collect();
        let mut first = words(&frame);
        first.last_mut().unwrap().2 = 0;
        first.push((0xEEEE_EEEE_EEEE_EEEE, 0, 1));
        let second = words(&next);
        let (line, underruns) = transmit_words(&mut mac, &[&first, &second, &second], None);
        let expected = [on_line(&frame), on_line(&next), on_line(&next)];
        let left = frames_of(&line).into_iter().map(|(bytes, ..)| bytes);
        assert_eq!(left.collect::<Vec<_>>(), expected, "{count} words");
        assert_eq!(underruns, 0);
    }
}

#[test]
fn a_frame_with_a_word_that_is_not_whole_is_broken_off() {
    let Some(mut mac) = crate::module(mac10g_tx::LAYOUT) else {
        return;
    };
    let (frame, next) = ([5; 96], [6; 77]);
    let second = words(&next);
    // All but the last have eight bytes; the last has its lowest ones.
    for (place, keep) in [
        (0, 0x7F),
        (3, 0),
        (4, 0xFE),
        (10, 0x0F),
        (11, 0xF0),
        (11, 0x5F),
    ] {
        let mut first = words(&frame);
        first[place].1 = keep;
        let (line, underruns) = transmit_words(&mut mac, &[&first, &second], None);
        assert_eq!(underruns, 1, "word {place}, {keep:#x}");
        assert_eq!(
            whole_frames(&line),
            [on_line(&next)],
            "word {place}, {keep:#x}"
        );
    }
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

/// Frames and counters that a receiver makes of a line.
#[derive(Default)]
struct Received {
    frames: Vec<Wanted>,
    fragments: u64,
    /// By the half of a column in which they began.
    begins: [u64; 2],
}

fn receive(mac: &mut Module, line: &[Character]) -> Received {
    let (mut received, mut frame) = (Received::default(), Vec::new());
    let mut outputs = [0; mac10g_rx::LAYOUT.outputs];
    for column in line.chunks(8) {
        let mut inputs = [0; mac10g_rx::LAYOUT.inputs];
        for (lane, (byte, control)) in column.iter().enumerate() {
            inputs[mac10g_rx::XGMII_RXD] |= u64::from(*byte) << (8 * lane);
            inputs[mac10g_rx::XGMII_RXC] |= u64::from(*control) << lane;
        }
        mac.run(&inputs, &mut outputs);
        received.fragments += outputs[mac10g_rx::FRAGMENT];
        if outputs[mac10g_rx::BEGINS] == 1 {
            received.begins[outputs[mac10g_rx::BEGINS_HIGH] as usize] += 1;
        }
        if outputs[mac10g_rx::M_AXIS_TVALID] == 1 {
            let count = outputs[mac10g_rx::M_AXIS_TKEEP].count_ones() as usize;
            frame.extend(&outputs[mac10g_rx::M_AXIS_TDATA].to_le_bytes()[..count]);
            if outputs[mac10g_rx::M_AXIS_TLAST] == 1 {
                let bad = outputs[mac10g_rx::M_AXIS_TUSER] == 1;
                received.frames.push((std::mem::take(&mut frame), bad));
            }
        }
    }
    received
}

#[test]
fn frames_of_either_lane_are_received_and_bad_ones_are_told() {
    let Some(mut mac) = crate::module(mac10g_rx::LAYOUT) else {
        return;
    };
    let mut random = Random::new(3);
    let (line, expected, expected_fragments) = lines(&mut random, 20_000);
    let Received {
        frames,
        fragments,
        begins,
    } = receive(&mut mac, &line);
    for (n, (seen, expected)) in frames.iter().zip(&expected).enumerate() {
        assert_eq!(seen, expected, "frame {n}");
    }
    assert_eq!(frames.len(), expected.len());
    assert_eq!(fragments, u64::from(expected_fragments));
    assert!(begins.iter().all(|&count| count > 5_000), "{begins:?}");
}

/// A start with preamble, and a frame behind it, without a terminate character.
fn begun(frame: &[u8]) -> Vec<Character> {
    let data = PREAMBLE[1..].iter().chain(frame).map(|&byte| (byte, false));
    std::iter::once((START, true)).chain(data).collect()
}

#[test]
fn a_start_within_a_frame_ends_it_as_bad_and_begins_another_in_either_lane() {
    let Some(mut mac) = crate::module(mac10g_rx::LAYOUT) else {
        return;
    };
    let whole: Vec<u8> = (0..70).collect();
    let idles = |count| vec![(IDLE, true); count];
    for first_lane in [0, 4] {
        // From a start straight behind another to one in a frame of many words: always in lane 0 or
        // 4.
        for length in (0..120).step_by(4) {
            let cut: Vec<u8> = (0..length).collect();
            let mut line = idles(16 + first_lane);
            line.extend(begun(&cut));
            line.extend(begun(&on_line(&whole)));
            line.push((TERMINATE, true));
            line.resize(line.len().next_multiple_of(8) + 4, (IDLE, true));
            line.extend(begun(&on_line(&whole)));
            line.push((TERMINATE, true));
            line.resize(line.len().next_multiple_of(8) + 32, (IDLE, true));
            let received = receive(&mut mac, &line);
            let what = format!("{length} bytes from lane {first_lane}");
            // Fewer bytes than a word, or a word that would be none without the FCS, are a
            // fragment.
            let mut expected = vec![(whole.clone(), false); 2];
            match length {
                0..8 => assert_eq!(received.fragments, 1, "{what}"),
                _ => expected.insert(0, (cut[..cut.len() - 4].to_vec(), true)),
            }
            assert_eq!(received.frames, expected, "{what}");
            assert_eq!(received.begins.iter().sum::<u64>(), 3, "{what}");
        }
    }
}

#[test]
fn what_a_line_says_is_received_the_same_half_a_column_later() {
    let Some(mut mac) = crate::module(mac10g_rx::LAYOUT) else {
        return;
    };
    let mut random = Random::new(5);
    let whole: Vec<u8> = (0..64).collect();
    let mut bad = 0;
    for _ in 0..2_000 {
        // Starts, ends, errors and pieces of frames in any order, each in lane 0 or 4.
        let mut line = vec![(IDLE, true); 16];
        for _ in 0..1 + random.below(6) {
            let bytes = random.below(30);
            match random.below(6) {
                0 => line.extend(begun(&on_line(&whole))),
                1 | 2 => line.extend(begun(&whole[..bytes as usize])),
                3 => line.push((TERMINATE, true)),
                4 => line.extend((0..bytes).map(|byte| (byte as u8, false))),
                _ => line.extend([(0xFE, true); 3]),
            }
            let fill = [(IDLE, true), (0x55, false), (TERMINATE, true)][random.below(3) as usize];
            line.resize(line.len().next_multiple_of(4), fill);
        }
        line.resize(line.len().next_multiple_of(8) + 32, (IDLE, true));
        let later: Vec<_> = [vec![(IDLE, true); 4], line.clone(), vec![(IDLE, true); 4]].concat();
        let [now, later] = [&line, &later].map(|line| receive(&mut mac, line));
        assert_eq!(now.frames, later.frames, "{line:?}");
        bad += now.frames.iter().filter(|(_, bad)| *bad).count();
    }
    assert!(bad > 1_000, "{bad}");
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
