//! The timing NIC in Verilog, by its pins: stamps, hash, departures, counters. What holds at both speeds is held at both.

use cosim::Speed;
use cosim::port::{Leaving, Port};
use node::random::Random;
use packet::word::{Departure, Timer};
use packet::{Packet, Stamp, flow, record};

const BOTH: [Speed; 2] = [Speed::Gigabit, Speed::TenGigabit];

/// Ticks from the one in which a record is given to the first one in which its frame of 60 bytes can leave at once: ten words, and 15 for looking at it and
/// the preamble, or 10 for looking at it and the MAC. At a tick it takes one more, to look at the counter.
fn prepared(speed: Speed) -> u64 {
    match speed {
        Speed::Gigabit => 25,
        Speed::TenGigabit => 20,
    }
}

/// From one frame of 64 bytes to the next at line rate, 84 characters, in places where a frame may begin.
pub(crate) fn line_rate(speed: Speed) -> u64 {
    84 / stride(speed)
}

/// Characters from one such place to the next.
fn stride(speed: Speed) -> u64 {
    match speed {
        Speed::Gigabit => 1,
        Speed::TenGigabit => 4,
    }
}

pub(crate) fn port(speed: Speed) -> Option<Port> {
    let made = Port::new(speed);
    made.inspect_err(|missing| println!("skipped: {missing}"))
        .ok()
}

pub(crate) fn with_fcs(frame: &[u8]) -> Vec<u8> {
    [frame, &phy::crc::fcs(frame).to_le_bytes()].concat()
}

pub(crate) fn record(departure: Departure, frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let stamp = Some(Stamp::Word(departure.to_word()));
    let packet = Packet {
        stamp,
        hash: None,
        bytes: frame,
    };
    record::encode(&packet, &mut bytes).unwrap();
    bytes
}

/// Lets a port run, and gives the ticks and bytes of what leaves and the records that come out.
pub(crate) fn run(port: &mut Port, edges: u64) -> (Vec<Leaving>, Vec<Vec<u8>>) {
    let (mut left, mut records) = (Vec::new(), Vec::new());
    port.advance(
        edges,
        |leaving| left.push(leaving),
        |record| records.push(record.to_vec()),
    );
    (left, records)
}

/// Where frames began.
pub(crate) fn slots(left: &[Leaving]) -> Vec<u64> {
    left.iter().map(|leaving| leaving.slot).collect()
}

/// The packet that a record holds.
pub(crate) fn packet(bytes: &[u8]) -> Packet<'_> {
    let record::Step::Packet { used, packet } = record::next(bytes, true) else {
        panic!("no record: {bytes:02X?}");
    };
    assert_eq!(used, bytes.len());
    packet
}

/// Frames of which the hash has to know everything: tags, options, extension headers, fragments, both versions, noise.
pub(crate) fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..12).map(|_| random.below(256) as u8).collect();
    let bytes = |random: &mut Random, count: u64| {
        (0..count)
            .map(|_| random.below(256) as u8)
            .collect::<Vec<u8>>()
    };
    for _ in 0..random.below(8).saturating_sub(2) {
        let tag = [[0x81, 0x00], [0x88, 0xA8], [0x91, 0x00]][random.below(3) as usize];
        frame.extend(tag);
        frame.extend(bytes(random, 2));
    }
    let protocol = [6, 17, 33, 132, 136, 1, 58, 50][random.below(8) as usize];
    match random.below(8) {
        0..3 => {
            let header = match random.below(8) {
                0 => random.below(256) as u8,
                1 | 2 => 0x40 | (5 + random.below(11)) as u8,
                _ => 0x45,
            };
            let fragment = match random.below(4) {
                0 => random.below(65_536) as u16,
                _ => 0x4000,
            };
            frame.extend([0x08, 0x00, header, 0, 0, 60, 0, 1]);
            frame.extend(fragment.to_be_bytes());
            frame.extend([64, protocol]);
        }
        3..7 => {
            let version = [0x60, 0x60, 0x60, 0x50][random.below(4) as usize];
            let extensions = random.below(11);
            let mut kinds: Vec<u8> = (0..extensions)
                .map(|_| [0, 43, 44, 51, 60, 135, 139, 140][random.below(8) as usize])
                .collect();
            kinds.push(protocol);
            frame.extend([0x86, 0xDD, version, 0, 0, 0, 0, 8, kinds[0], 64]);
            frame.extend(bytes(random, 32));
            for pair in kinds.windows(2) {
                let words = random.below(3) as u8;
                let length = match pair[0] {
                    51 => 8 + 4 * u64::from(words),
                    44 => 8,
                    _ => 8 + 8 * u64::from(words),
                };
                let mut header = bytes(random, length);
                header[..2].copy_from_slice(&[pair[1], words]);
                if pair[0] == 44 && random.below(3) > 0 {
                    header[2..4].copy_from_slice(&[0, 1]);
                }
                frame.extend(header);
            }
        }
        _ => frame.extend([0x08, 0x06]),
    }
    let rest = match random.below(3) {
        0 => random.below(8),
        _ => random.below(90),
    };
    frame.extend(bytes(random, rest));
    if frame.len() < 60 {
        frame.resize(60, 0);
    } else if random.below(3) == 0 {
        let cut = 60 + random.below((frame.len() - 59) as u64) as usize;
        frame.truncate(cut);
    }
    frame
}

#[test]
fn what_comes_is_stamped_hashed_and_given_whole() {
    let Some(mut port) = port(Speed::Gigabit) else {
        return;
    };
    let mut random = Random::new(3);
    let (mut tick, mut sent) = (100, Vec::new());
    let (mut hashed, mut records) = (0, Vec::new());
    for _ in 0..3_000 {
        let frame = frame(&mut random);
        assert!(port.comes(tick, &with_fcs(&frame)));
        hashed += u32::from(flow::hash(&frame) != 0);
        // From back to back to far apart: an idle port does not see what is passed over.
        let end = tick + frame.len() as u64 + 4 + 8;
        records.extend(run(&mut port, end + 8).1);
        sent.push((tick, frame));
        tick = end
            + match random.below(3) {
                0 => 12,
                1 => 12 + random.below(30),
                _ => random.below(1_000_000) + 12,
            };
    }
    records.extend(run(&mut port, tick + 1_000).1);
    assert!(hashed > 1_500, "{hashed}");
    assert_eq!(records.len(), sent.len());
    for (bytes, (tick, frame)) in records.iter().zip(&sent) {
        let record::Step::Packet { used, packet } = record::next(bytes, true) else {
            panic!("no record: {bytes:02X?}");
        };
        assert_eq!(used, bytes.len());
        assert_eq!(packet.bytes, frame);
        assert_eq!(packet.stamp, Some(Stamp::Word(*tick)));
        assert_eq!(packet.hash, Some(flow::hash(frame)), "{frame:02X?}");
    }
    assert_eq!(port.counters().received, 3_000);
    // Where nothing happened nothing was simulated.
    assert!(
        port.cycles() < port.edges() / 100,
        "{} of {}",
        port.cycles(),
        port.edges()
    );
}

#[test]
fn bad_frames_are_counted_and_leave_nothing() {
    let Some(mut port) = port(Speed::Gigabit) else {
        return;
    };
    let good = with_fcs(&[1; 60]);
    let mut wrong = good.clone();
    wrong[20] ^= 4;
    let short = with_fcs(&[1; 59]);
    let cases: [&[u8]; 5] = [&wrong, &good, &short, &[1, 2], &good];
    for (place, bytes) in cases.iter().enumerate() {
        assert!(port.comes(100 + 200 * place as u64, bytes));
    }
    // A second one while the medium is busy is refused.
    assert!(!port.comes(920, &good));
    let (_, records) = run(&mut port, 2_000);
    assert_eq!(records.len(), 2);
    let counters = port.counters();
    assert_eq!(
        (counters.received, counters.bad, counters.overflow),
        (2, 3, 0)
    );
}

#[test]
fn every_departure_is_exact_to_the_tick_and_never_early() {
    let Some(mut port) = port(Speed::Gigabit) else {
        return;
    };
    let frame = [7; 60];
    let mut left = Vec::new();
    for at in [1_000, 1_084, 5_000_000, 5_000_085, 5_000_100] {
        port.send(&record(Departure::At(at), &frame));
    }
    left.extend(run(&mut port, 5_001_000).0);
    // The last one is 15 ticks behind the one before, which takes 84 with its gap: late.
    assert_eq!(
        slots(&left),
        [1_000, 1_084, 5_000_000, 5_000_085, 5_000_169]
    );
    for leaving in &left {
        assert_eq!(leaving.bytes, with_fcs(&frame));
    }
    let counters = port.counters();
    assert_eq!(
        (counters.sent, counters.late, counters.bad_records),
        (5, 1, 0)
    );
    assert_eq!(port.diverged(), 0);
}

#[test]
fn a_mark_is_what_later_departures_count_from() {
    for speed in BOTH {
        let Some(mut port) = port(speed) else { return };
        let timer = Timer::new(3).unwrap();
        run(&mut port, 200);
        port.send(&record(Departure::Mark(timer), &[1; 60]));
        for after in [500, 1_000, 1_500] {
            port.send(&record(Departure::After(timer, after), &[2; 100]));
        }
        let left = slots(&run(&mut port, 10_000).0);
        let marked = 200 + prepared(speed);
        let expected = [0, 500, 1_000, 1_500].map(|after| (marked + after) * speed.slots());
        assert_eq!(left, expected);
        assert_eq!((port.timer(3), port.timer(4)), (marked, 0));
    }
}

#[test]
fn what_is_past_leaves_at_once_and_is_counted_as_late() {
    for speed in BOTH {
        let Some(mut port) = port(speed) else { return };
        run(&mut port, 10_000);
        port.send(&record(Departure::At(1), &[1; 60]));
        port.send(&record(Departure::At(9_000), &[1; 60]));
        port.send(&record(Departure::Now, &[1; 60]));
        let left = slots(&run(&mut port, 11_000).0);
        let first = (10_000 + prepared(speed) + 1) * speed.slots();
        let expected = [0, 1, 2].map(|frame| first + frame * line_rate(speed));
        assert_eq!(left, expected);
        assert_eq!((port.counters().sent, port.counters().late), (3, 2));
    }
}

#[test]
fn what_is_no_record_is_passed_over_and_counted() {
    let good = record(Departure::Now, &[1; 61]);
    let mut magic = good.clone();
    magic[1] = 0x75;
    let mut length = good.clone();
    length[3] = 70;
    let mut mode = good.clone();
    mode[4] = 0x28;
    for speed in BOTH {
        let Some(mut port) = port(speed) else { return };
        for bytes in [&magic, &good, &length, &mode, &good] {
            port.send(bytes);
        }
        let (left, _) = run(&mut port, 1_000);
        assert_eq!(left.len(), 2);
        let counters = port.counters();
        assert_eq!((counters.sent, counters.bad_records), (2, 3));
    }
}

#[test]
fn lengths_up_to_the_longest_arrive_as_they_left_and_short_ones_padded() {
    for speed in BOTH {
        let (Some(mut port), Some(mut other)) = (port(speed), port(speed)) else {
            return;
        };
        let mut sent = Vec::new();
        for length in (14..90).chain([1_500, 1_514, 9_000, 15_999, 16_000]) {
            let frame: Vec<u8> = (0..length).map(|n| (n * 7 + length) as u8).collect();
            port.send(&record(Departure::Now, &frame));
            sent.push(frame);
        }
        let (left, _) = run(&mut port, 1_000_000);
        assert_eq!(left.len(), sent.len());
        // Back to back, with gaps of 12 bytes: on average, where a frame may not begin at every byte.
        let off = |pair: &[Leaving]| {
            let characters = stride(speed) * (pair[1].slot - pair[0].slot);
            characters as i64 - pair[0].bytes.len() as i64 - 8 - 12
        };
        let most = stride(speed) as i64 - 1;
        let off: Vec<i64> = left.windows(2).map(off).take(70).collect();
        assert!(off.iter().all(|off| off.abs() <= most), "{off:?}");
        for leaving in &left {
            assert!(other.comes(leaving.slot, &leaving.bytes));
        }
        let (_, records) = run(&mut other, 1_000_000);
        assert_eq!(records.len(), sent.len());
        for ((bytes, frame), leaving) in records.iter().zip(&mut sent).zip(&left) {
            frame.resize(frame.len().max(60), 0);
            let packet = packet(bytes);
            let stamp = Stamp::Word(leaving.slot / speed.slots());
            assert_eq!((packet.bytes, packet.stamp), (&frame[..], Some(stamp)));
        }
        assert_eq!((port.diverged(), other.diverged()), (0, 0));
    }
}

#[test]
fn time_that_is_skipped_makes_no_difference() {
    for (speed, apart) in BOTH.into_iter().zip([4_000, 1_000]) {
        let (Some(mut skips), Some(mut steps)) = (port(speed), port(speed)) else {
            return;
        };
        let (mut random, mut end) = (Random::new(9), 0);
        let timer = Timer::new(1).unwrap();
        let mut ports = [
            (&mut skips, Vec::new(), Vec::new()),
            (&mut steps, Vec::new(), Vec::new()),
        ];
        for n in 0..600 {
            let frame = frame(&mut random);
            let departure = match n % 4 {
                0 => Departure::Mark(timer),
                1 => Departure::After(timer, random.below(apart)),
                2 => Departure::At(end + random.below(apart)),
                _ => Departure::Now,
            };
            let slot = end * speed.slots() + random.below(20 * speed.slots());
            let comes = (random.below(2) == 0).then(|| (slot, with_fcs(&frame)));
            end += 1 + random.below(apart);
            for (one_by_one, (port, left, records)) in ports.iter_mut().enumerate() {
                port.send(&record(departure, &frame));
                if let Some((slot, bytes)) = &comes {
                    port.comes(*slot, bytes);
                }
                let step = if one_by_one == 1 { 1 } else { end };
                while port.edges() < end {
                    let (more, new) = run(port, end.min(port.edges() + step));
                    left.extend(more);
                    records.extend(new);
                }
            }
        }
        let [(skips, left, records), (steps, other_left, other_records)] = ports;
        assert!(
            left.len() > 500 && records.len() > 200,
            "{} and {}",
            left.len(),
            records.len()
        );
        assert_eq!((left, records), (other_left, other_records));
        assert_eq!(skips.counters(), steps.counters());
        assert!(steps.cycles() >= end && skips.cycles() < steps.cycles() / 2);
    }
}
