use super::*;
use alloc::collections::VecDeque;

/// A frame that carries a number and nothing else.
fn frame(number: u64) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    frame[14..22].copy_from_slice(&number.to_be_bytes());
    frame[22] = 1;
    frame
}

/// Compares two lists of numbers and stamps.
fn compare(before: &[(u64, u128)], behind: &[(u64, u128)], window: usize) -> Comparison {
    let mut comparison = Comparison::new(Config {
        window,
        ..Config::default()
    });
    let mut lists = [before, behind].map(|list| list.iter().copied().collect::<VecDeque<_>>());
    while let Some(side) = comparison.turn() {
        match lists[side as usize].pop_front() {
            Some((number, at)) => comparison.give(side, at, &frame(number)),
            None => comparison.end(side),
        }
    }
    comparison
}

fn sent(count: u64) -> Vec<(u64, u128)> {
    (0..count).map(|n| (n, u128::from(n) * 1_000_000)).collect()
}

#[test]
fn a_constant_delay_is_found_exactly() {
    let before = sent(10_000);
    let behind: Vec<_> = before.iter().map(|(n, at)| (*n, at + 5_000_123)).collect();
    let all = compare(&before, &behind, 64);
    assert_eq!(all.found(), (0, 10_000));
    assert_eq!((all.delays().mean(), all.delays().sd()), (5_000_123.0, 0.0));
    assert_eq!((all.lost(), all.duplicates(), all.only_behind()), (0, 0, 0));
    assert_eq!((all.order().late(), all.zero_ps()), (0, 0));
}

#[test]
fn a_delay_of_more_packets_than_the_window_needs_the_clock() {
    // A second behind, at a packet a microsecond: a million packets are on their way.
    let before = sent(20_000);
    let behind: Vec<_> = before
        .iter()
        .map(|(n, at)| (*n, at + 900_000_000))
        .collect();
    let all = compare(&before, &behind, 1024);
    assert_eq!(all.found().1, 20_000);
}

#[test]
fn loss_duplicates_and_strangers_are_counted_as_they_were_made() {
    let before = sent(50_000);
    let mut behind = Vec::new();
    for (n, at) in &before {
        match n % 1_000 {
            100..103 => {}
            200 => behind.extend([(*n, at + 700), (*n, at + 800)]),
            300 => behind.extend([(*n, at + 700), (1 << 40 | n, at + 800)]),
            _ => behind.push((*n, at + 700)),
        }
    }
    let all = compare(&before, &behind, 4096);
    assert_eq!(all.lost(), 150);
    assert_eq!(all.loss_runs(), (50, 3));
    assert_eq!((all.duplicates(), all.only_behind()), (50, 50));
    assert_eq!(all.lost_list().len(), 150);
    assert_eq!(all.lost_list()[3].number, 1_100);
    assert_eq!(all.delays().max(), 700);
}

#[test]
fn what_was_sent_outside_the_capture_behind_is_not_lost() {
    let before = sent(1_000);
    let behind: Vec<_> = before[100..900]
        .iter()
        .map(|(n, at)| (*n, at + 10))
        .collect();
    let all = compare(&before, &behind, 256);
    assert_eq!((all.lost(), all.outside()), (0, (100, 100)));
    let all = compare(&behind, &before, 256);
    assert_eq!((all.lost(), all.only_behind()), (0, 200));
}

#[test]
fn clocks_that_differ_are_found_out() {
    let before = sent(5_000);
    let base = 1_700_000_000_000_000_000_000_000u128;
    let behind: Vec<_> = before
        .iter()
        .map(|(n, at)| (*n, base + at + 1_000 + u128::from(n % 7) * 100))
        .collect();
    let all = compare(&before, &behind, 256);
    assert_eq!(all.found().1, 5_000);
    assert_eq!(all.zero_ps(), base as i128 + 1_000);
    assert_eq!((all.delays().min(), all.delays().max()), (0, 600));
    let back = compare(&behind, &before, 256);
    assert_eq!(back.found().1, 5_000);
    assert!(back.zero_ps() < 0);
    assert_eq!((back.delays().min(), back.delays().max()), (0, 600));
}

#[test]
fn order_is_that_of_arrival() {
    let before = sent(1_000);
    let mut behind: Vec<_> = before.iter().map(|(n, at)| (*n, at + 10)).collect();
    // The 500th is held up for three packets.
    behind[500].1 += 3_500_000;
    behind.sort_by_key(|(_, at)| *at);
    let all = compare(&before, &behind, 64);
    assert_eq!((all.order().late(), all.order().extents().max()), (1, 3));
    assert_eq!(all.delays().max(), 3_500_010);
}

#[test]
fn nothing_in_common_ends_too() {
    let before = sent(3_000);
    let behind: Vec<_> = before.iter().map(|(n, at)| (n + (1 << 50), *at)).collect();
    let all = compare(&before, &behind, 64);
    assert_eq!((all.found(), all.lost()), ((0, 0), 0));
    assert_eq!((all.outside(), all.only_behind()), ((3_000, 0), 3_000));
    let none = compare(&[], &[], 64);
    assert_eq!(none.delays().count(), 0);
}

#[test]
fn any_stamps_are_survived() {
    let wild = [0, u128::MAX, 5, u128::MAX / 2, 1 << 100];
    let before: Vec<_> = (0..).zip(wild).collect();
    let behind: Vec<_> = (0..).zip(wild.into_iter().rev()).collect();
    let all = compare(&before, &behind, 16);
    assert_eq!(all.found().1, 5);
    assert!(all.delays().sd().is_finite());
}
