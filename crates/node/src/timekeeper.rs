//! The time of a clock that is slow to read, by a counter that is quick to read: what DTP's daemon does with the counter of a network card,
//! which is behind PCI Express, and the processor's own (paper 002 section 4.5.4).

use alloc::collections::VecDeque;

/// Maximum number of samples from which the rate is computed.
const MAX_WINDOW: usize = 64;

/// A clock as a line over a counter: through the mean of the last few samples, as steep as the oldest that is kept and the last have it.
///
/// Units are the caller's: ticks of the counter, and those of the clock, of which differences over all that is kept are below 2^53.
#[derive(Clone, Debug)]
pub struct Timekeeper {
    /// The counter, and what the clock showed then.
    samples: VecDeque<(u64, i128)>,
    /// Samples whose mean counts.
    window: usize,
    /// Of the clock's units in a tick.
    rate: f64,
    /// How far the line is above the last sample.
    above: f64,
    /// How far a sample of the window is from it, at most.
    spread: f64,
}

impl Timekeeper {
    /// One that knows nothing, and takes the mean of so many samples: 1 for none, which each error of a sample goes through, at most 64.
    pub fn new(window: usize) -> Timekeeper {
        Timekeeper {
            samples: VecDeque::with_capacity(MAX_WINDOW),
            window: window.clamp(1, MAX_WINDOW),
            rate: 0.0,
            above: 0.0,
            spread: 0.0,
        }
    }

    /// The clock showed this at that count. A sample that is not later than the last is not taken.
    pub fn sample(&mut self, ticks: u64, shown: i128) {
        let last = self.samples.back();
        if last.is_some_and(|&(before, _)| ticks <= before) {
            return;
        }
        if self.samples.len() == MAX_WINDOW {
            self.samples.pop_front();
        }
        self.samples.push_back((ticks, shown));
        let (from, began) = self.samples[0];
        if ticks > from {
            self.rate = (shown - began) as f64 / (ticks - from) as f64;
        }
        let rate = self.rate;
        // How far the clock was above a line through the last sample.
        let above = |&(at, showed): &(u64, i128)| {
            (showed - shown) as f64 + rate * ticks.wrapping_sub(at) as f64
        };
        let window = || self.samples.iter().rev().take(self.window).map(above);
        self.above = window().sum::<f64>() / window().count() as f64;
        self.spread = window().fold(0.0, |most, one| f64::max(most, (one - self.above).abs()));
    }

    /// What the clock shows at a count; `None` before the second sample.
    pub fn at(&self, ticks: u64) -> Option<i128> {
        let &(last, shown) = self.samples.back().filter(|_| self.samples.len() > 1)?;
        let passed = ticks.wrapping_sub(last) as i64;
        Some(shown + libm::round(self.above + self.rate * passed as f64) as i128)
    }

    /// How many of the clock's units a tick is; zero before the second sample.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// How far that rate may be off, as a fraction of it: both its ends by as much as samples are apart, over the time between them. None
    /// before the second sample.
    pub fn rate_error(&self) -> Option<f64> {
        let ((_, began), (_, ended)) = (self.samples.front()?, self.samples.back()?);
        let passed = (ended - began).unsigned_abs() as f64;
        (passed > 0.0).then(|| 2.0 * self.spread / passed)
    }

    /// How far one of the samples whose mean counts is from the line, in the clock's units.
    pub fn spread(&self) -> f64 {
        self.spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_known_between_its_samples_and_behind_them() {
        let mut keeper = Timekeeper::new(1);
        let shown = |ticks: u64| 7_000_000 + i128::from(ticks) * 5 / 2;
        keeper.sample(1_000, shown(1_000));
        assert_eq!(keeper.at(1_000), None);
        for ticks in (2_000..100_000).step_by(1_000) {
            keeper.sample(ticks, shown(ticks));
            assert_eq!(keeper.at(ticks + 600), Some(shown(ticks + 600)));
            assert_eq!(keeper.at(ticks - 600), Some(shown(ticks - 600)));
        }
        assert_eq!((keeper.rate(), keeper.spread()), (2.5, 0.0));
        assert_eq!(keeper.rate_error(), Some(0.0));
    }

    #[test]
    fn a_sample_that_is_off_counts_by_its_share_of_the_window() {
        let off = |window| {
            let mut keeper = Timekeeper::new(window);
            for n in 0..30 {
                keeper.sample(n * 1_000, i128::from(n) * 1_000);
            }
            // Also the rate has its share: of 30 intervals one that is 100 too long.
            keeper.sample(30_000, 30_100);
            (keeper.at(30_000).unwrap() - 30_000, keeper.spread())
        };
        assert_eq!(off(1), (100, 0.0));
        let (error, spread) = off(10);
        assert!((10..=30).contains(&error), "{error}");
        assert!((70.0..=100.0).contains(&spread), "{spread}");
        // 100 in 30,000, and told as no less.
        let mut keeper = Timekeeper::new(10);
        assert_eq!(keeper.rate_error(), None);
        for n in 0..30 {
            keeper.sample(n * 1_000, i128::from(n) * 1_000);
        }
        keeper.sample(30_000, 30_100);
        let (off, told) = (keeper.rate() - 1.0, keeper.rate_error().unwrap());
        assert!(
            off > 0.003 && (off..3.0 * off).contains(&told),
            "{off} {told}"
        );
    }

    #[test]
    fn a_sample_from_the_past_changes_nothing() {
        let mut keeper = Timekeeper::new(10);
        keeper.sample(10, 10);
        keeper.sample(20, 20);
        keeper.sample(20, 5_000);
        keeper.sample(3, 5_000);
        assert_eq!(keeper.at(30), Some(30));
    }
}
