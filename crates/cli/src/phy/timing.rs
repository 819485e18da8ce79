//! When each frame of an encoder's input starts.

use crate::departures::Departures;
use crate::epoch;
use ::capture::file::Item;
use anyhow::Context;
use node::{Rate, Time};
use packet::Tick;
use phy::Start;

/// The timing that was asked for.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// The packets' own: stamps of captures, departures of lines and records.
    Own,
    /// So many idles before each.
    Idles(u64),
    /// From first bit to first bit.
    Gap(Time),
    /// Bits a second, with preamble and the standard's gap.
    Rate(Rate),
}

/// Turns packets into starts.
pub struct Timing {
    pace: Pace,
    departures: Departures,
    /// When the first packet leaves, in ps of the counter, and the counter's zero in ns since 1970.
    pub first: Option<(u128, u64)>,
    /// From the first departure to the next, in ps, and what is left of one.
    next: u128,
    carry: u64,
}

impl Timing {
    /// `tick` is the unit of words.
    pub fn new(pace: Pace, tick: Tick) -> Timing {
        Timing {
            pace,
            departures: Departures::new(tick),
            first: None,
            next: 0,
            carry: 0,
        }
    }

    /// From the first packet's departure to this one's, in ps; `None` where idles say.
    ///
    /// # Errors
    /// When a stream's header has no room for the packet's date.
    pub fn since(&mut self, item: &Item<'_>) -> anyhow::Result<Option<u128>> {
        let own = match item.at_ps {
            Some(at_ps) => {
                let (_, zero_ps) = epoch::origin(at_ps, item.description());
                let epoch_ns = match self.first {
                    Some((_, epoch_ns)) => epoch_ns,
                    None => u64::try_from(zero_ps / 1_000).ok().context(
                        "a packet came after the year 2554, where the time in a stream's header ends; \
                         `wire dump --shift` moves it",
                    )?,
                };
                (at_ps.saturating_sub(u128::from(epoch_ns) * 1_000), epoch_ns)
            }
            None => (self.departures.ps(item.word.unwrap_or(0)), 0),
        };
        let (first, _) = *self.first.get_or_insert(own);
        let since = self.next;
        match self.pace {
            Pace::Own => return Ok(Some(own.0.saturating_sub(first))),
            Pace::Idles(_) => return Ok(None),
            Pace::Gap(gap) => self.next += u128::from(gap.as_ps()),
            Pace::Rate(rate) => {
                use node::link::{FCS, GAP, MIN_WIRE_FRAME_LEN, PREAMBLE};
                let bytes = item.bytes.len().max(MIN_WIRE_FRAME_LEN) + PREAMBLE + FCS + GAP;
                let (time, carry) = rate.time_of(8 * bytes as u64, self.carry);
                self.next += u128::from(time.as_ps());
                self.carry = carry;
            }
        }
        Ok(Some(since))
    }

    /// Where a frame starts that leaves so long behind the first, which starts at `origin`.
    pub fn start(&self, since: Option<u128>, origin: phy::Stamp) -> Start {
        match (self.pace, since) {
            (Pace::Idles(idles), _) => Start::After(idles),
            (_, None) => Start::After(0),
            (_, Some(since)) => {
                // Up to a column, as a port leaves not before its counter gets there.
                let columns = since.div_ceil(u128::from(phy::Stamp::COLUMN_PS));
                let bits = columns.saturating_mul(u128::from(phy::Stamp::COLUMN));
                let at = u64::try_from(bits).unwrap_or(u64::MAX);
                Start::At(phy::Stamp(origin.0.saturating_add(at)))
            }
        }
    }
}
