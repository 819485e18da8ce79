//! The timing NIC at 10 Gb/s, by its pins: what it does not have in common with the gigabit one (`timing_nic`). Its ticks are 6.4 ns, and a frame may begin in the
//! middle of one. Places are in halves of ticks.

use crate::timing_nic::{frame, line_rate, packet, port, record, run, slots, with_fcs};
use cosim::Speed;
use node::random::Random;
use packet::word::Departure;
use packet::{Stamp, flow};

#[test]
fn what_comes_is_stamped_hashed_and_given_whole_from_either_lane() {
    let Some(mut port) = port(Speed::TenGigabit) else {
        return;
    };
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
    let Some(mut port) = port(Speed::TenGigabit) else {
        return;
    };
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
    let Some(mut port) = port(Speed::TenGigabit) else {
        return;
    };
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
    let Some(mut port) = port(Speed::TenGigabit) else {
        return;
    };
    // More than the ring holds.
    let wanted: Vec<u64> = (0..3_000)
        .map(|n| 2_000 + n * line_rate(Speed::TenGigabit))
        .collect();
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
