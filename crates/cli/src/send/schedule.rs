//! When each packet of a file is to leave.

use ::capture::clock;
use ::capture::file::Item;
use node::{Rate, Time};
use packet::{BadWord, Departure, Tick};

/// From the first packet's being read to its departure, in ps: time to read on meanwhile.
const LEAD: u128 = 10_000_000_000;
/// From the last departure of a loop to the first of the next, in ps, where nothing else says.
const PAUSE: u128 = 1_000_000;
const SECOND: u64 = 1_000_000_000_000;

/// Why a packet has no departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDeparture {
    /// Its word is none.
    #[error(transparent)]
    Word(#[from] BadWord),
    /// It leaves later than a port's counter reaches.
    #[error(
        "it leaves on day {days} of the port's counter, which has 2^56 ticks; --speed or a pace such as --gap brings it nearer"
    )]
    TooLate {
        /// Whole days since the counter was zero.
        days: u128,
    },
}

/// The timing that was asked for.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// What the words say; a capture's own timing.
    Said,
    /// As soon as possible.
    AtOnce,
    /// When a packet's date is; by this machine's clock, whose zero was at this time since 1970, ps.
    AtDate(u128),
    /// The packets' own timing, so many times as fast.
    Own(f64),
    /// From first bit to first bit.
    Gap(Time),
    /// Bits a second on the wire, and what the last packet left of a picosecond.
    Rate(Rate, u64),
    /// Packets a second, and what the last packet left of a picosecond.
    PerSecond(u32, u64),
}

/// Turns packets into departures.
pub struct Schedule {
    pace: Pace,
    replay: bool,
    /// The departure of the first packet of this loop, in ps on the counter.
    base: Option<u128>,
    /// The first packet's own time.
    first: u128,
    /// The last departure.
    last: u128,
}

impl Schedule {
    /// `replay`: words are times to be repeated, not departures.
    pub fn new(pace: Pace, replay: bool) -> Schedule {
        Schedule {
            pace,
            replay,
            base: None,
            first: 0,
            last: 0,
        }
    }

    /// Whether a packet leaves when its own word says.
    pub fn is_stamped(&self, item: &Item<'_>) -> bool {
        match self.pace {
            Pace::Said => item.at_ps.is_none() && !self.replay,
            Pace::AtDate(_) => true,
            _ => false,
        }
    }

    /// The next packet is the file's first again.
    pub fn again(&mut self) {
        if matches!(self.pace, Pace::Said | Pace::Own(_)) && self.base.is_some() {
            self.base = Some(self.last + PAUSE);
            self.first = u128::MAX;
        }
    }

    /// When the next packet leaves.
    ///
    /// # Errors
    /// When its word is none, or the port's counter does not reach its time.
    pub fn departure(&mut self, item: &Item<'_>, tick: Tick) -> Result<Departure, BadDeparture> {
        let word = item.word.unwrap_or(0);
        let at = |ps: u128| {
            const DAY: u128 = 86_400 * SECOND as u128;
            let ticks = tick.checked_count(ps);
            ticks
                .map(Departure::At)
                .ok_or(BadDeparture::TooLate { days: ps / DAY })
        };
        let scale = match self.pace {
            Pace::AtOnce => return Ok(Departure::Now),
            Pace::Gap(_) | Pace::Rate(..) | Pace::PerSecond(..) => {
                return at(self.paced(item.bytes.len()));
            }
            Pace::AtDate(epoch) => {
                return match item.at_ps {
                    Some(date) => at(date.saturating_sub(epoch)),
                    None => Ok(Departure::from_word(word)?),
                };
            }
            Pace::Said if self.is_stamped(item) => {
                return Ok(Departure::from_word(word)?);
            }
            Pace::Said => 1.0,
            Pace::Own(scale) => scale,
        };
        let own = item.at_ps.unwrap_or_else(|| tick.ps(word));
        at(self.own(own, scale))
    }

    /// The departure of a packet that came at `own`; never before the one before it.
    fn own(&mut self, own: u128, scale: f64) -> u128 {
        let base = *self.base.get_or_insert_with(|| {
            self.first = u128::MAX;
            now_ps() + LEAD
        });
        if self.first == u128::MAX {
            self.first = own;
        }
        let since = own.saturating_sub(self.first);
        let since = if scale == 1.0 {
            since
        } else {
            (since as f64 / scale) as u128
        };
        self.last = self.last.max(base + since);
        self.last
    }

    /// The departure of a frame of `len` bytes at the pace asked for.
    fn paced(&mut self, len: usize) -> u128 {
        let at = self.base.unwrap_or_else(|| now_ps() + LEAD);
        let gap = match &mut self.pace {
            Pace::Gap(gap) => gap.as_ps(),
            Pace::Rate(rate, carry) => {
                let (time, rest) = rate.time_of(wire_bits(len), *carry);
                *carry = rest;
                time.as_ps()
            }
            Pace::PerSecond(pps, carry) => {
                let (pps, whole) = (u64::from(*pps), SECOND + *carry);
                *carry = whole % pps;
                whole / pps
            }
            Pace::Said | Pace::AtOnce | Pace::AtDate(_) | Pace::Own(_) => 0,
        };
        self.base = Some(at + u128::from(gap));
        at
    }
}

/// Bits that a frame takes on the wire, with preamble, FCS and the gap behind it.
fn wire_bits(len: usize) -> u64 {
    use node::link::{FCS, GAP, MIN_WIRE_FRAME_LEN, PREAMBLE};
    8 * (len.max(MIN_WIRE_FRAME_LEN) + PREAMBLE + FCS + GAP) as u64
}

fn now_ps() -> u128 {
    u128::from(clock::now_ns()) * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departures(pace: Pace, replay: bool, items: &[(Option<u64>, Option<u128>)]) -> Vec<u64> {
        let mut schedule = Schedule::new(pace, replay);
        let mut ticks = items.iter().map(|(word, at_ps)| {
            let item = Item {
                word: *word,
                at_ps: *at_ps,
                ..Item::of(&[0; 60])
            };
            match schedule.departure(&item, Tick::EIGHT_NS).unwrap() {
                Departure::At(ticks) => ticks,
                Departure::Now => 0,
                _ => u64::MAX,
            }
        });
        let first = ticks.next().unwrap();
        [0].into_iter()
            .chain(ticks.map(|tick| tick - first))
            .collect()
    }

    #[test]
    fn a_capture_keeps_its_own_timing_or_a_scaled_one() {
        let items = [1_000_000, 1_800_000, 1_600_000, 5_000_000].map(|at| (None, Some(at)));
        // What went back in time leaves right behind the packet before it.
        assert_eq!(departures(Pace::Said, false, &items), [0, 100, 100, 500]);
        assert_eq!(
            departures(Pace::Own(0.5), false, &items),
            [0, 200, 200, 1000]
        );
    }

    #[test]
    fn words_are_departures_unless_they_are_to_be_replayed() {
        let items = [(Some(7_000), None), (Some(7_010), None)];
        assert_eq!(departures(Pace::Said, false, &items), [0, 10]);
        assert_eq!(departures(Pace::Said, true, &items), [0, 10]);
        assert_eq!(departures(Pace::Own(0.1), true, &items), [0, 100]);
        assert_eq!(departures(Pace::AtOnce, true, &items), [0, 0]);
    }

    #[test]
    fn dates_mean_themselves_where_that_is_asked_for() {
        let items = [9_000_000, 9_800_000, 9_600_000].map(|at| (None, Some(at)));
        let at = departures(Pace::AtDate(1_000_000), false, &items[..2]);
        assert_eq!(at, [0, 100]);
        // What is past leaves when its turn comes; the pacer counts it.
        let mut schedule = Schedule::new(Pace::AtDate(u128::MAX), false);
        let item = Item {
            at_ps: Some(9_000_000),
            ..Item::of(&[0; 60])
        };
        assert!(schedule.is_stamped(&item));
        let departure = schedule.departure(&item, Tick::EIGHT_NS);
        assert!(matches!(departure, Ok(Departure::At(0))));
    }

    #[test]
    fn a_rate_that_is_no_whole_tick_does_not_drift() {
        let items = [(None, None); 1_001];
        let rate = Pace::Rate(Rate::TEN_GIGABIT, 0);
        // 67.2 ns each.
        assert_eq!(departures(rate, false, &items)[1_000].abs_diff(8_400), 0);
        let third = departures(Pace::PerSecond(3, 0), false, &items);
        assert_eq!(
            third[3..=6]
                .iter()
                .map(|tick| tick / 125_000_000)
                .collect::<Vec<_>>(),
            [1, 1, 1, 2]
        );
    }
}
