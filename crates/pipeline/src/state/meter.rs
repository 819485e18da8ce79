//! Arrays of meters: two rates, three colours (RFC 2698).

use super::counter::Unit;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, Ordering};
use node::Time;
use spin::Mutex;

/// A packet's colour, in order of badness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Within the committed rate.
    #[default]
    Green,
    /// Above the committed, within the peak rate.
    Yellow,
    /// Above the peak rate.
    Red,
}

/// Rates in packets or bytes a second, bursts in packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The committed information rate.
    pub committed: u64,
    /// The committed burst size.
    pub committed_burst: u64,
    /// The peak information rate.
    pub peak: u64,
    /// The peak burst size.
    pub peak_burst: u64,
}

/// Tokens are counted in picoseconds' worth of a rate of 1, so that nothing is rounded.
const TOKEN: u128 = 1_000_000_000_000;

#[derive(Debug, Default)]
struct Cell {
    rates: Option<Rates>,
    committed: u128,
    peak: u128,
    last: Time,
}

/// An array of meters. One without rates says green.
#[derive(Debug)]
pub struct Meter {
    /// Packets or bytes.
    pub unit: Unit,
    // While no meter has rates no packet needs a lock.
    configured: AtomicBool,
    cells: Box<[Mutex<Cell>]>,
}

impl Meter {
    /// None of them has rates.
    #[must_use]
    pub fn new(unit: Unit, size: usize) -> Self {
        Meter {
            unit,
            configured: AtomicBool::new(false),
            cells: (0..size).map(|_| Mutex::default()).collect(),
        }
    }

    #[must_use]
    pub fn size(&self) -> usize {
        self.cells.len()
    }

    /// The rates of one, if it has any; nothing at all beyond the end.
    #[must_use]
    pub fn rates(&self, index: usize) -> Option<Option<Rates>> {
        Some(self.cells.get(index)?.lock().rates)
    }

    /// Gives a meter rates, with full buckets, or takes them away, and says whether there is such an index.
    pub fn set(&self, index: usize, rates: Option<Rates>) -> bool {
        let Some(cell) = self.cells.get(index) else {
            return false;
        };
        let mut cell = cell.lock();
        cell.rates = rates;
        if let Some(rates) = rates {
            cell.committed = u128::from(rates.committed_burst) * TOKEN;
            cell.peak = u128::from(rates.peak_burst) * TOKEN;
            // The first packet's time fills them no further: they are full.
            cell.last = Time::ZERO;
            self.configured.store(true, Ordering::Release);
        }
        true
    }

    /// What one holds: rates if it has any; committed and peak tokens in billionths, whole ones; when it was filled last. Nothing beyond the end.
    #[must_use]
    pub fn held(&self, index: usize) -> Option<(Option<Rates>, [u64; 2], Time)> {
        let cell = self.cells.get(index)?.lock();
        let tokens = [cell.committed, cell.peak].map(|tokens| (tokens / 1000) as u64);
        Some((cell.rates, tokens, cell.last))
    }

    /// Puts back what an engine beside this one has made of a meter's tokens.
    pub fn hold(&self, index: usize, [committed, peak]: [u64; 2], last: Time) {
        if let Some(cell) = self.cells.get(index) {
            let mut cell = cell.lock();
            cell.committed = u128::from(committed) * 1000;
            cell.peak = u128::from(peak) * 1000;
            cell.last = last;
        }
    }

    /// The colour of a packet that had colour `before`; green beyond the end.
    pub fn execute(&self, index: u64, now: Time, bytes: u64, before: Colour) -> Colour {
        if !self.configured.load(Ordering::Acquire) {
            return before;
        }
        let Some(cell) = self.cells.get(index as usize) else {
            return before;
        };
        let mut cell = cell.lock();
        let Some(rates) = cell.rates else {
            return before;
        };
        let gone = u128::from((now - cell.last).as_ps());
        cell.last = cell.last.max(now);
        let fill = |tokens: u128, rate: u64, burst: u64| {
            tokens
                .saturating_add(gone.saturating_mul(u128::from(rate)))
                .min(u128::from(burst) * TOKEN)
        };
        cell.committed = fill(cell.committed, rates.committed, rates.committed_burst);
        cell.peak = fill(cell.peak, rates.peak, rates.peak_burst);
        let cost = TOKEN
            * match self.unit {
                Unit::Packets => 1,
                Unit::Bytes | Unit::Both => u128::from(bytes),
            };
        // RFC 2698 section 3, colour-aware; with green before, it is the colour-blind mode.
        if before == Colour::Red || cell.peak < cost {
            return Colour::Red;
        }
        cell.peak -= cost;
        if before == Colour::Yellow || cell.committed < cost {
            return Colour::Yellow;
        }
        cell.committed -= cost;
        Colour::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(unit: Unit) -> Meter {
        let meter = Meter::new(unit, 2);
        let rates = Rates {
            committed: 10,
            committed_burst: 2,
            peak: 20,
            peak_burst: 4,
        };
        assert!(meter.set(1, Some(rates)));
        meter
    }

    #[test]
    fn bursts_go_green_then_yellow_then_red_and_refill_in_time() {
        let meter = meter(Unit::Packets);
        let at = |ms| meter.execute(1, Time::from_ms(ms), 64, Colour::Green);
        let colours: [_; 5] = core::array::from_fn(|_| at(1000));
        use Colour::{Green, Red, Yellow};
        assert_eq!(colours, [Green, Green, Yellow, Yellow, Red]);
        // 50 ms are one token of the peak rate and half of one of the committed.
        assert_eq!(at(1049), Red);
        assert_eq!(at(1050), Yellow);
        assert_eq!(at(1050), Red);
        assert_eq!(at(1100), Green);
    }

    #[test]
    fn a_colour_never_gets_better() {
        let meter = meter(Unit::Bytes);
        let at = |before| meter.execute(1, Time::ZERO, 1, before);
        assert_eq!(at(Colour::Red), Colour::Red);
        assert_eq!(at(Colour::Yellow), Colour::Yellow);
        assert_eq!(at(Colour::Green), Colour::Green);
    }

    #[test]
    fn without_rates_or_beyond_the_end_all_is_green() {
        let meter = meter(Unit::Packets);
        for index in [0, 2, u64::MAX] {
            assert_eq!(
                meter.execute(index, Time::ZERO, 1, Colour::Green),
                Colour::Green
            );
        }
        assert!(!meter.set(2, None));
    }
}
