//! TCP timestamps (RFC 7323 sections 3 to 5): which clock a connection shows, what it echoes, and which segments are old.
//!
//! An endpoint agrees on the option and leaves room for it in each segment; the values are written here.

use super::behind;
use node::Time;

/// Bytes that the option takes of each segment.
pub(super) const LENGTH: usize = 12;

const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
/// The option without its values, behind two bytes of padding.
pub(super) const EMPTY: [u8; LENGTH] = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
/// RFC 7323 section 5.5: a clock of one tick a millisecond may have come round after so long, and says nothing about age.
const OUTDATED: Time = Time::from_secs(24 * 86_400);

/// Timestamps of a connection.
pub(super) struct Timestamps {
    /// What its clock showed at time zero.
    offset: u32,
    /// What the far end's showed in the last segment that came in order, and when that came (TS.Recent); `None` before its first.
    recent: Option<(u32, Time)>,
    /// Up to where the far end has been told that all has come (Last.ACK.sent).
    acknowledged: u32,
}

impl Timestamps {
    /// With a clock that shows this now.
    pub fn new(now: Time, shows: u32) -> Timestamps {
        Timestamps {
            offset: shows.wrapping_sub(ticks(now)),
            recent: None,
            acknowledged: 0,
        }
    }

    /// Whether a segment is older than what came in order before it (PAWS): it goes no further.
    ///
    /// One without the option is not, as in Linux: nothing is known of its age.
    pub fn is_old(&self, now: Time, segment: &[u8]) -> bool {
        let shown = shown(segment).filter(|_| segment[13] & RST == 0);
        let (Some(shown), Some((recent, since))) = (shown, self.recent) else {
            return false;
        };
        behind(recent, shown) && now <= since + OUTDATED
    }

    /// Keeps the timestamp of an acceptable segment that begins at or before the last acknowledgement sent (RFC 7323 section 4.3).
    /// Returns whether the clock has advanced.
    pub fn note(&mut self, now: Time, sequence: u32, shown: u32) -> bool {
        let Some((recent, _)) = self.recent else {
            self.recent = Some((shown, now));
            return false;
        };
        let is_next = !behind(sequence, self.acknowledged);
        if is_next {
            self.recent = Some((shown, now));
        }
        is_next && behind(shown, recent)
    }

    /// Whether the far end's first segment has come without them.
    pub fn are_refused(&self, segment: &[u8]) -> bool {
        self.recent.is_none() && segment[13] & (SYN | RST) == SYN && find(segment).is_none()
    }

    /// Writes the two clocks into a segment that leaves, if it has the option.
    pub fn stamp(&mut self, now: Time, segment: &mut [u8]) {
        let flags = segment[13];
        if flags & ACK != 0 {
            self.acknowledged = word(segment, 8);
        }
        if let Some(at) = find(segment) {
            let echoed = self.recent.filter(|_| flags & ACK != 0);
            let echoed = echoed.map_or(0, |(shown, _)| shown);
            let shows = ticks(now).wrapping_add(self.offset);
            segment[at..at + 4].copy_from_slice(&shows.to_be_bytes());
            segment[at + 4..at + 8].copy_from_slice(&echoed.to_be_bytes());
        }
    }
}

/// Milliseconds, which come round.
fn ticks(now: Time) -> u32 {
    (now.as_ps() / Time::from_ms(1).as_ps()) as u32
}

fn word(segment: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([
        segment[at],
        segment[at + 1],
        segment[at + 2],
        segment[at + 3],
    ])
}

/// What the clock shows that a segment's sender put into it; `None` without the option.
pub(super) fn shown(segment: &[u8]) -> Option<u32> {
    Some(word(segment, find(segment)?))
}

/// Where the values of the option are in a segment that has it whole.
fn find(segment: &[u8]) -> Option<usize> {
    let end = usize::from(segment[12] >> 4) * 4;
    let header = segment.get(..end)?;
    let mut at = 20;
    loop {
        match header.get(at..)? {
            [1, ..] => at += 1,
            [8, 10, rest @ ..] if rest.len() >= 8 => return Some(at + 2),
            // The end of the list, a length that cannot be, or the option itself with one that is not its own.
            [0 | 8, ..] | [_, 0 | 1, ..] | [_] | [] => return None,
            [_, length, ..] => at += usize::from(*length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// A segment with these flags and numbers and, perhaps, the option behind others.
    fn segment(flags: u8, sequence: u32, ack: u32, shown: Option<u32>) -> Vec<u8> {
        let mut segment = vec![0; 20];
        segment[4..8].copy_from_slice(&sequence.to_be_bytes());
        segment[8..12].copy_from_slice(&ack.to_be_bytes());
        segment[13] = flags;
        segment.extend([2, 4, 5, 0xB4, 1, 4, 2, 1]);
        if let Some(shown) = shown {
            segment.extend([1, 1, 8, 10]);
            segment.extend(shown.to_be_bytes());
            segment.extend([0; 4]);
        }
        segment[12] = (segment.len() as u8 / 4) << 4;
        segment
    }

    /// Takes an acceptable segment; `false` for one that is old.
    fn comes(stamps: &mut Timestamps, now: Time, segment: &[u8]) -> bool {
        let is_old = stamps.is_old(now, segment);
        if let Some(shown) = shown(segment).filter(|_| !is_old && segment[13] & RST == 0) {
            stamps.note(now, word(segment, 4), shown);
        }
        !is_old
    }

    fn echoed(stamps: &mut Timestamps, now: Time, ack: u32) -> (u32, u32) {
        let mut leaves = segment(ACK, 1, ack, Some(0));
        stamps.stamp(now, &mut leaves);
        let at = find(&leaves).unwrap();
        (word(&leaves, at), word(&leaves, at + 4))
    }

    const MS: fn(u64) -> Time = Time::from_ms;

    #[test]
    fn what_came_in_order_is_echoed_and_what_came_before_it_is_old() {
        let mut stamps = Timestamps::new(MS(5_000), u32::MAX);
        let mut syn = segment(SYN, 7, 0, Some(99));
        stamps.stamp(MS(5_000), &mut syn);
        assert_eq!((shown(&syn), word(&syn, 36)), (Some(u32::MAX), 0));
        assert!(comes(
            &mut stamps,
            MS(5_003),
            &segment(SYN | ACK, 100, 8, Some(500))
        ));
        assert_eq!(echoed(&mut stamps, MS(5_003), 101), (2, 500));
        // Out of order: taken, and not echoed; what fills the gap is, even if it is the elder.
        assert!(comes(
            &mut stamps,
            MS(5_010),
            &segment(ACK, 201, 8, Some(520))
        ));
        assert_eq!(echoed(&mut stamps, MS(5_010), 101), (9, 500));
        assert!(comes(
            &mut stamps,
            MS(5_020),
            &segment(ACK, 101, 8, Some(510))
        ));
        assert_eq!(echoed(&mut stamps, MS(5_020), 301), (19, 510));
        // A segment of before comes again; one of the same millisecond does not look old.
        assert!(!comes(
            &mut stamps,
            MS(5_030),
            &segment(ACK, 301, 8, Some(509))
        ));
        assert!(comes(
            &mut stamps,
            MS(5_030),
            &segment(ACK, 301, 8, Some(510))
        ));
        // Resets have no age, and what has no stamp is taken.
        assert!(comes(
            &mut stamps,
            MS(5_030),
            &segment(RST, 301, 8, Some(1))
        ));
        assert!(comes(&mut stamps, MS(5_030), &segment(ACK, 301, 8, None)));
        assert_eq!(echoed(&mut stamps, MS(5_031), 301), (30, 510));
        // Clocks come round.
        assert!(comes(
            &mut stamps,
            MS(5_040),
            &segment(ACK, 301, 8, Some(0x8000_0100))
        ));
        assert!(comes(
            &mut stamps,
            MS(5_050),
            &segment(ACK, 301, 8, Some(3))
        ));
        assert_eq!(echoed(&mut stamps, MS(5_050), 301), (49, 3));
        // A segment out of order does not advance the clock.
        assert!(!stamps.note(MS(5_060), 302, 5) && stamps.note(MS(5_060), 301, 5));
        assert!(!stamps.note(MS(5_060), 301, 5));
        // After 24 days nobody can tell.
        let later = MS(5_060) + OUTDATED + MS(1);
        assert!(!comes(
            &mut stamps,
            MS(6_000),
            &segment(ACK, 301, 8, Some(2))
        ));
        assert!(comes(&mut stamps, later, &segment(ACK, 301, 8, Some(2))));
        assert_eq!(echoed(&mut stamps, later, 301).1, 2);
    }

    #[test]
    fn who_does_not_offer_them_gets_none() {
        let stamps = Timestamps::new(Time::ZERO, 0);
        assert!(stamps.are_refused(&segment(SYN, 7, 0, None)));
        assert!(!stamps.are_refused(&segment(SYN | ACK, 7, 0, Some(1))));
        assert!(!stamps.are_refused(&segment(ACK, 7, 0, None)));
        // Options that are cut off, or of no length.
        let mut broken = segment(SYN, 7, 0, Some(1));
        broken[12] = 9 << 4;
        assert!(stamps.are_refused(&broken));
        broken[21] = 0;
        assert!(stamps.are_refused(&broken));
    }
}
