//! Profiles and comparisons: any frames at any times. Records of a stamp's change and a frame, in turn
//! before and behind.

use measure::compare::{self, Comparison, Side};
use measure::profile::{self, MAX_WINDOWS, Profile, SAMPLES};
use node::{Rate, Time};

pub fn target(data: &[u8]) {
    let config = profile::Config {
        rate: Some(Rate::TEN_GIGABIT),
        burst: None,
        window: data.first().map(|byte| Time::from_ps(u64::from(*byte))),
        energy: true,
    };
    let mut profile = Profile::new(config);
    let mut comparison = Comparison::new(compare::Config {
        window: 16,
        bytes: 128,
    });
    let (mut rest, mut at, mut given) = (data, 0u128, 0);
    while let Some(([side, shift, length], more)) = rest.split_first_chunk() {
        let (frame, after) = more.split_at(more.len().min((*length).into()));
        rest = after;
        // Forth and back, by any power of two.
        at = match shift & 0x80 {
            0 => at.wrapping_add(1 << (shift & 0x7F)),
            _ => at.wrapping_sub(1 << (shift & 0x7F)),
        };
        profile.observe(at, frame.len() as u32, frame);
        let side = [Side::Before, Side::Behind][usize::from(side & 1)];
        comparison.give(side, at, frame);
        given += 1;
    }
    for side in [Side::Before, Side::Behind] {
        comparison.end(side);
    }
    assert_eq!(profile.packets(), given);
    assert!(profile.windows().1.len() <= MAX_WINDOWS && profile.samples().len() <= SAMPLES);
    let octaves = profile.energy().unwrap_or_default();
    assert!(octaves.iter().all(|found| found.energy.is_finite()));
    let (by_probe, by_content) = comparison.found();
    let found = by_probe + by_content;
    let (ahead, tail) = comparison.outside();
    // Each packet before is found, lost, or outside; each behind is found, a duplicate, or a stranger.
    let before = found + comparison.lost() + ahead + tail;
    let behind = found + comparison.duplicates() + comparison.only_behind();
    assert_eq!(comparison.packets(Side::Before), before);
    assert_eq!(comparison.packets(Side::Behind), behind);
    assert_eq!(comparison.delays().count(), found);
}
