//! The timing NIC at 10 Gb/s, by its pins: what `timing_nic` holds of the gigabit one, to ticks of 6.4 ns, of which a frame may begin in the
//! middle. Places are in halves of ticks.

use crate::timing_nic::{frame, record, run, with_fcs};
use cosim::Speed;
use cosim::port::{Leaving, Port};
use node::random::Random;
use packet::word::{Departure, Timer};
use packet::{Packet, Stamp, flow, record};

/// Ticks from the one in which a record is given to the first one in which its frame of 60 bytes can leave at once: ten words, and
/// ten for looking at it and the MAC. At a tick it takes one more, to look at the counter.
const PREPARED: u64 = 20;
/// From one frame of 64 bytes to the next at line rate, in halves of ticks: 84 characters.
const LINE_RATE: u64 = 21;

fn port() -> Option<Port> {
    let made = Port::new(Speed::TenGigabit);
    made.inspect_err(|missing| println!("skipped: {missing}"))
        .ok()
}

fn slots(left: &[Leaving]) -> Vec<u64> {
    left.iter().map(|leaving| leaving.slot).collect()
}

fn packet(bytes: &[u8]) -> Packet<'_> {
    let record::Step::Packet { used, packet } = record::next(bytes, true) else {
        panic!("no record: {bytes:02X?}");
    };
    assert_eq!(used, bytes.len());
    packet
}

#[test]
fn what_comes_is_stamped_hashed_and_given_whole_from_either_lane() {
    let Some(mut port) = port() else { return };
    let mut random = Random::new(3);
    let (mut slot, mut sent) = (100, Vec::new());
    let (mut hashed, mut records, mut lanes) = (0, Vec::new(), [0; 2]);
    for _ in 0..6_000 {
        let frame = frame(&mut random);
        assert!(port.comes(slot, &with_fcs(&frame)));
        lanes[slot as usize % 2] += 1;
        hashed += u32::from(flow::hash(&frame) != 0);
        let characters = 8 + frame.len() as u64 + 4;
        let behind = slot + (characters + 12).div_ceil(4);
        records.extend(run(&mut port, behind / 2).1);
        sent.push((slot, frame));
        // From as close as a receiver has to bear to far apart: an idle port does not see what is passed over.
        slot = match random.below(3) {
            0 => slot + (characters + 5).div_ceil(4),
            1 => behind + random.below(30),
            _ => behind + random.below(1_000_000),
        }
        .max(port.free_at());
    }
    records.extend(run(&mut port, slot).1);
    assert!(hashed > 3_000, "{hashed}");
    assert!(lanes.iter().all(|&count| count > 2_000), "{lanes:?}");
    assert_eq!(records.len(), sent.len());
    for (bytes, (slot, frame)) in records.iter().zip(&sent) {
        let packet = packet(bytes);
        assert_eq!(packet.bytes, frame);
        assert_eq!(packet.stamp, Some(Stamp::Word(slot / 2)));
        assert_eq!(packet.hash, Some(flow::hash(frame)), "{frame:02X?}");
    }
    assert_eq!(port.counters().received, 6_000);
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
    let Some(mut port) = port() else { return };
    let good = with_fcs(&[1; 60]);
    let mut wrong = good.clone();
    wrong[20] ^= 4;
    let short = with_fcs(&[1; 59]);
    let long = with_fcs(&[1; 16_001]);
    let cases: [&[u8]; 6] = [&wrong, &good, &short, &[1, 2], &long, &good];
    for (place, bytes) in cases.iter().enumerate() {
        assert!(port.comes(100 + 5_000 * place as u64, bytes));
    }
    // A second one while the medium is busy is refused.
    assert!(!port.comes(25_110, &good));
    let (_, records) = run(&mut port, 20_000);
    assert_eq!(records.len(), 2);
    let counters = port.counters();
    assert_eq!(
        (counters.received, counters.bad, counters.overflow),
        (2, 4, 0)
    );
}

#[test]
fn every_departure_is_exact_to_the_tick_and_never_early() {
    let Some(mut port) = port() else { return };
    let frame = [7; 60];
    for at in [1_000, 1_010, 5_000_000, 5_000_011, 5_000_014] {
        port.send(&record(Departure::At(at), &frame));
    }
    let left = run(&mut port, 5_001_000).0;
    // The second one begins within its tick, in lane 4. The last one is 3 ticks behind the one before, which takes 10.5: late.
    assert_eq!(
        slots(&left),
        [2_000, 2_021, 10_000_000, 10_000_022, 10_000_043]
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
fn a_schedule_at_line_rate_is_kept_to_the_tick() {
    let Some(mut port) = port() else { return };
    // More than the ring holds.
    let wanted: Vec<u64> = (0..3_000).map(|n| 2_000 + n * LINE_RATE).collect();
    for (n, slot) in wanted.iter().enumerate() {
        let mut frame = [7; 60];
        frame[..2].copy_from_slice(&(n as u16).to_be_bytes());
        port.send(&record(Departure::At(slot / 2), &frame));
    }
    let left = run(&mut port, 100_000).0;
    assert_eq!(slots(&left), wanted);
    let order = left.iter().map(|leaving| &leaving.bytes[..2]);
    assert!(order.eq((0..3_000u16).map(u16::to_be_bytes)));
    assert_eq!((port.counters().sent, port.counters().late), (3_000, 0));
    assert_eq!(port.diverged(), 0);
}

#[test]
fn a_mark_is_what_later_departures_count_from() {
    let Some(mut port) = port() else { return };
    let timer = Timer::new(3).unwrap();
    run(&mut port, 200);
    port.send(&record(Departure::Mark(timer), &[1; 60]));
    for after in [500, 1_000, 1_500] {
        port.send(&record(Departure::After(timer, after), &[2; 100]));
    }
    let left = slots(&run(&mut port, 10_000).0);
    let marked = left[0] / 2;
    assert_eq!(marked, 200 + PREPARED);
    let behind: Vec<u64> = left[1..].iter().map(|slot| slot - left[0]).collect();
    assert_eq!(behind, [1_000, 2_000, 3_000]);
    assert_eq!((port.timer(3), port.timer(4)), (marked, 0));
}

#[test]
fn what_is_past_leaves_at_once_and_is_counted_as_late() {
    let Some(mut port) = port() else { return };
    run(&mut port, 10_000);
    port.send(&record(Departure::At(1), &[1; 60]));
    port.send(&record(Departure::At(9_000), &[1; 60]));
    port.send(&record(Departure::Now, &[1; 60]));
    let left = slots(&run(&mut port, 11_000).0);
    let first = 2 * (10_000 + PREPARED + 1);
    assert_eq!(left, [first, first + LINE_RATE, first + 2 * LINE_RATE]);
    assert_eq!((port.counters().sent, port.counters().late), (3, 2));
}

#[test]
fn what_is_no_record_is_passed_over_and_counted() {
    let Some(mut port) = port() else { return };
    let good = record(Departure::Now, &[1; 61]);
    let mut magic = good.clone();
    magic[1] = 0x75;
    let mut length = good.clone();
    length[3] = 70;
    let mut mode = good.clone();
    mode[4] = 0x28;
    for bytes in [&magic, &good, &length, &mode, &good] {
        port.send(bytes);
    }
    let (left, _) = run(&mut port, 1_000);
    assert_eq!(left.len(), 2);
    let counters = port.counters();
    assert_eq!((counters.sent, counters.bad_records), (2, 3));
}

#[test]
fn lengths_up_to_the_longest_arrive_as_they_left_and_short_ones_padded() {
    let (Some(mut port), Some(mut other)) = (port(), port()) else {
        return;
    };
    let mut sent = Vec::new();
    for length in (14..90).chain([1_500, 1_514, 9_000, 15_999, 16_000]) {
        let frame: Vec<u8> = (0..length).map(|n| (n * 7 + length) as u8).collect();
        port.send(&record(Departure::Now, &frame));
        sent.push(frame);
    }
    let (left, _) = run(&mut port, 100_000);
    assert_eq!(left.len(), sent.len());
    // Back to back, with gaps of 12 bytes on average.
    let gaps = left
        .windows(2)
        .map(|pair| 4 * (pair[1].slot - pair[0].slot) as i64 - pair[0].bytes.len() as i64 - 8 - 12);
    let gaps: Vec<i64> = gaps.take(70).collect();
    assert!(gaps.iter().all(|gap| (-3..=3).contains(gap)), "{gaps:?}");
    for leaving in &left {
        assert!(other.comes(leaving.slot, &leaving.bytes));
    }
    let (_, records) = run(&mut other, 100_000);
    assert_eq!(records.len(), sent.len());
    for ((bytes, frame), leaving) in records.iter().zip(&mut sent).zip(&left) {
        frame.resize(frame.len().max(60), 0);
        let packet = packet(bytes);
        assert_eq!(
            (packet.bytes, packet.stamp),
            (&frame[..], Some(Stamp::Word(leaving.slot / 2)))
        );
    }
    assert_eq!((port.diverged(), other.diverged()), (0, 0));
}

#[test]
fn time_that_is_skipped_makes_no_difference() {
    let (Some(mut skips), Some(mut steps)) = (port(), port()) else {
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
            1 => Departure::After(timer, random.below(1_000)),
            2 => Departure::At(end + random.below(1_000)),
            _ => Departure::Now,
        };
        let comes = (random.below(2) == 0).then(|| (2 * end + random.below(40), with_fcs(&frame)));
        end += 1 + random.below(1_000);
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
