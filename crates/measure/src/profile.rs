//! What a stream of packets is like in time: inter-packet delays, gaps on the line, bursts, rate.
//!
//! - **Inter-packet delay:** from first bit to first bit, as SoNIC's profiler has it (paper 002 section
//!   4.3.3).
//! - **Gap:** the idle time between two frames at a [rate](Config::rate): the inter-packet delay less
//!   the frame before it, its check sequence, and the preamble and start delimiter of the next one. At
//!   10 Gb/s an idle character takes 800 ps.
//! - **Burst:** packets each of which follows the one before it with a gap of no more than
//!   [`Config::burst`].
//! - **Rate:** packets and bytes, the check sequence included, over windows of equal length.
//! - **Loss, order, duplicates, delay:** where packets carry a [`probe`](crate::probe).
//!
//! Sums are exact integers: a stream without variance has a deviation of exactly zero. The space is
//! bounded, whatever the number of packets.
//!
//! ```
//! use measure::profile::{Config, Profile};
//! use node::Rate;
//!
//! let config = Config { rate: Some(Rate::TEN_GIGABIT), ..Config::default() };
//! let mut profile = Profile::new(config);
//! for n in 0..1_000 {
//!     profile.observe(n * 1_356_800, 1514, &[0; 60]); // 9 Gb/s of 1518 bytes with the FCS
//! }
//! let line = profile.line().unwrap();
//! let gap = profile.gaps().unwrap();
//! let delay = profile.delays().summary();
//! assert_eq!(line.idles(gap.summary().mean), 170.0);
//! assert_eq!(line.bits(delay.mean), 13_992.0);
//! assert_eq!(line.bits(delay.sd), 0.0);
//! ```

mod bursts;
mod energy;
mod line;
mod trace;
mod windows;

pub use bursts::Bursts;
pub use energy::{Energy, Octave};
pub use line::Line;
pub use trace::{SAMPLES, Sample};
pub use windows::{MAX_WINDOWS, Rates, Window};

use crate::durations::Durations;
use crate::statistics::{Moments, Order, Statistics, Summary};
use alloc::vec::Vec;
use node::{Histogram, Rate, Time};
pub(crate) use trace::Trace;
use windows::Windows;

/// How finely delays and gaps are counted: to `1/2^FINE` of themselves.
const FINE: u32 = 12;
/// Lengths with the FCS at which the classes of RFC 2819 end; longer ones have a class of their own.
pub const CLASSES: [u32; 6] = [64, 127, 255, 511, 1023, 1518];
/// Stamps below this, in ps, count from the start of a run, and probes tell the delay: 106 days.
const OF_A_RUN: u128 = 1 << 63;
/// Maximum timestamp, ps: the last second of pcapng. Later ones count as this.
const MAX_STAMP_PS: u128 = (u64::MAX as u128) * 1_000_000_000_000;

/// Configuration of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The rate of the line; without it there are no gaps, and bursts only if
    /// [`burst`](Config::burst) is given.
    pub rate: Option<Rate>,
    /// The longest gap within a burst; without a rate, the longest inter-packet delay. By default one
    /// and a half times the standard's least gap, which is 12 characters.
    pub burst: Option<Time>,
    /// The length of the windows over which the rate is taken; by default such that there are some
    /// hundreds of them.
    pub window: Option<Time>,
    /// Whether the [energy](Profile::energy) is wanted.
    pub energy: bool,
}

/// A stream, as far as it has been observed.
#[derive(Clone, Debug)]
pub struct Profile {
    line: Option<Line>,
    /// Packets, and what the probes tell.
    statistics: Statistics,
    first: Option<u128>,
    earliest: u128,
    last: u128,
    last_length: u32,
    lengths: Moments,
    classes: [u64; CLASSES.len() + 1],
    delays: Durations,
    gaps: Durations,
    overlaps: u64,
    backwards: u64,
    /// The greatest common divisor of the inter-packet delays.
    step: u128,
    threshold: Option<Time>,
    bursts: Bursts,
    windows: Windows,
    trace: Trace<Sample>,
    energy: Option<Energy>,
}

impl Profile {
    /// Nothing observed yet.
    pub fn new(config: Config) -> Profile {
        let line = config.rate.map(Line::new);
        let least = line.map(|line| Time::from_ps(line.least_gap_ps() * 3 / 2));
        Profile {
            line,
            statistics: Statistics::new(None).with_precision(FINE),
            first: None,
            earliest: 0,
            last: 0,
            last_length: 0,
            lengths: Moments::default(),
            classes: [0; CLASSES.len() + 1],
            delays: Durations::with_precision(FINE),
            gaps: Durations::with_precision(FINE),
            overlaps: 0,
            backwards: 0,
            step: 0,
            threshold: config.burst.or(least),
            bursts: Bursts::default(),
            windows: Windows::new(config.window),
            trace: Trace::default(),
            energy: config.energy.then(Energy::default),
        }
    }

    /// Takes a packet into account. `at_ps` is the time of its first bit, from any zero; `length` is
    /// that of the frame without FCS, of which `frame` may be a part.
    pub fn observe(&mut self, at_ps: u128, length: u32, frame: &[u8]) {
        let at_ps = at_ps.min(MAX_STAMP_PS);
        let is_first = self.first.is_none();
        let first = *self.first.get_or_insert(at_ps);
        if is_first {
            (self.earliest, self.last) = (at_ps, at_ps);
        }
        self.lengths.add(length.into());
        let with_fcs = length.saturating_add(4);
        let class = CLASSES.iter().position(|most| with_fcs <= *most);
        self.classes[class.unwrap_or(CLASSES.len())] += 1;
        if at_ps < self.last {
            // No inter-packet delay is below zero: the packet is counted, but has no place in time.
            self.backwards += 1;
            self.earliest = self.earliest.min(at_ps);
            self.statistics.observe_probe(None, frame, length);
            return;
        }
        // Probes tell a delay only if they count from the same zero.
        let arrived = u64::try_from(at_ps).ok().filter(|_| first < OF_A_RUN);
        let arrived = arrived.map(Time::from_ps);
        self.statistics.observe_probe(arrived, frame, length);
        let at = at_ps - first;
        self.windows.add(at, with_fcs);
        if let Some(energy) = &mut self.energy {
            energy.add(at, with_fcs);
        }
        match is_first {
            true => self.bursts.begin(),
            false => self.delay(at, at_ps - self.last),
        }
        self.last = at_ps;
        self.last_length = length;
    }

    fn delay(&mut self, at: u128, delay: u128) {
        if self.step != 1 && delay != 0 && (self.step == 0 || !delay.is_multiple_of(self.step)) {
            self.step = divisor(self.step, delay);
        }
        self.delays.add(delay);
        self.windows.delay(delay);
        self.trace.add(Sample {
            at_ps: at,
            delay_ps: delay,
        });
        let mut apart = delay;
        if let Some(line) = &self.line {
            let taken = u128::from(line.taken_ps(self.last_length));
            self.overlaps += u64::from(delay < taken);
            apart = delay.saturating_sub(taken);
            self.gaps.add(apart);
        }
        if let Some(threshold) = self.threshold {
            self.bursts.add(apart <= threshold.as_ps().into());
        }
    }

    /// Packets.
    pub fn packets(&self) -> u64 {
        self.statistics.packets()
    }

    /// Their bytes, without FCS.
    pub fn bytes(&self) -> u64 {
        self.statistics.bytes()
    }

    /// From the earliest packet to the latest, in ps, whatever their order.
    pub fn duration_ps(&self) -> u128 {
        self.last - self.earliest
    }

    /// The time of the first packet, in ps from the stamps' own zero.
    pub fn first_ps(&self) -> Option<u128> {
        self.first
    }

    /// Burstiness by time scale, if it was [asked for](Config::energy).
    pub fn energy(&self) -> Option<Vec<Octave>> {
        self.energy.as_ref().map(Energy::octaves)
    }

    /// Packets whose stamp is before that of one that stands before them; they have no inter-packet
    /// delay.
    pub fn backwards(&self) -> u64 {
        self.backwards
    }

    /// Of what all inter-packet delays are multiples, in ps: what the stamps resolve at best. `None`
    /// with no two different stamps.
    pub fn step_ps(&self) -> Option<u128> {
        (self.step > 0).then_some(self.step)
    }

    /// Lengths without FCS, in bytes.
    pub fn lengths(&self) -> Summary {
        self.lengths.summary()
    }

    /// Packets by length with FCS: up to each of [`CLASSES`], and longer ones.
    pub fn classes(&self) -> &[u64; CLASSES.len() + 1] {
        &self.classes
    }

    /// The line, if its rate is known.
    pub fn line(&self) -> Option<Line> {
        self.line
    }

    /// Inter-packet delays.
    pub fn delays(&self) -> &Durations {
        &self.delays
    }

    /// The idle time between frames, if the rate of the line is known.
    pub fn gaps(&self) -> Option<&Durations> {
        self.line.map(|_| &self.gaps)
    }

    /// Packets that begin before the one before them has ended, as coarse stamps or a wrong rate make
    /// it seem; their gap counts as zero.
    pub fn overlaps(&self) -> u64 {
        self.overlaps
    }

    /// The longest gap within a burst, if bursts are looked for.
    pub fn threshold(&self) -> Option<Time> {
        self.threshold
    }

    /// Bursts, if they are looked for.
    pub fn bursts(&self) -> Option<Bursts> {
        self.threshold.map(|_| self.bursts.ended())
    }

    /// The rate over windows.
    pub fn rates(&self) -> Rates {
        self.windows.rates()
    }

    /// The windows for a picture, at most [`MAX_WINDOWS`], and their length in ps, a multiple of
    /// that of [`rates`](Profile::rates).
    pub fn windows(&self) -> (u128, &[Window]) {
        self.windows.list()
    }

    /// Inter-packet delays of packets evenly spread over all, at most [`SAMPLES`].
    pub fn samples(&self) -> &[Sample] {
        self.trace.samples()
    }

    /// How many packets carry a probe.
    pub fn probes(&self) -> u64 {
        self.statistics.probes()
    }

    /// Loss, order and duplicates of the probes.
    pub fn order(&self) -> Order {
        self.statistics.order()
    }

    /// The delays that the probes tell, where their stamps and these count from one zero: sums and
    /// distribution, in ps.
    pub fn probe_delays(&self) -> (Summary, &Histogram) {
        (self.statistics.delays(), self.statistics.delay_histogram())
    }
}

/// The greatest common divisor; `b` is not zero.
fn divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn profile(times: impl IntoIterator<Item = u128>, config: Config) -> Profile {
        let mut profile = Profile::new(config);
        times
            .into_iter()
            .for_each(|at| profile.observe(at, 60, &[0; 60]));
        profile
    }

    fn at_ten_gigabit() -> Config {
        Config {
            rate: Some(Rate::TEN_GIGABIT),
            ..Config::default()
        }
    }

    #[test]
    fn frames_back_to_back_have_twelve_idles_and_are_one_burst() {
        let all = profile((0..1_000).map(|n| n * 67_200), at_ten_gigabit());
        let gaps = all.gaps().unwrap().summary();
        assert_eq!((gaps.mean, gaps.sd), (9_600.0, 0.0));
        assert_eq!(all.line().unwrap().idles(gaps.mean), 12.0);
        let bursts = all.bursts().unwrap();
        assert_eq!((bursts.count(), bursts.packets()), (1, 1_000));
        assert_eq!(bursts.lengths().max(), 1_000);
        assert_eq!(all.threshold(), Some(Time::from_ps(14_400)));
    }

    #[test]
    fn what_the_stamps_resolve_is_found() {
        let step = |times: &[u128]| profile(times.iter().copied(), Config::default()).step_ps();
        assert_eq!(step(&[0, 8_000, 24_000, 24_000]), Some(8_000));
        assert_eq!(step(&[5, 8_005, 8_006]), Some(1));
        assert_eq!(step(&[7, 7]), None);
    }

    #[test]
    fn a_stamp_that_goes_back_is_counted_and_has_no_delay() {
        let all = profile([100, 50, 200], Config::default());
        assert_eq!((all.packets(), all.backwards()), (3, 1));
        let delays = all.delays().summary();
        assert_eq!((delays.count, delays.max), (1, 100));
        assert_eq!(all.duration_ps(), 150);
    }

    #[test]
    fn time_that_runs_backwards_lasts_as_long_as_forwards() {
        let back = profile([5, 4, 3, 2, 1].map(|s| s * 1_000), Config::default());
        let (packets, backwards) = (back.packets(), back.backwards());
        assert_eq!((packets, backwards, back.duration_ps()), (5, 4, 4_000));
        assert_eq!(back.delays().summary().count, 0);
    }

    proptest::proptest! {
        /// Stamps up to a thousand years apart, in any order, against the sums by hand.
        #[test]
        fn gaps_of_any_length_are_as_they_are(
            steps in proptest::collection::vec((0..75u32, proptest::prelude::any::<u128>(), 0..5u8), 1..60),
        ) {
            let mut at = 1u128 << 78;
            let times: Vec<u128> = steps.iter().map(|(bits, step, sign)| {
                let step = step >> (127 - bits) >> 1;
                at = if *sign == 0 { at.saturating_sub(step) } else { at + step };
                at
            }).collect();
            let all = profile(times.iter().copied(), at_ten_gigabit());
            let (mut latest, mut delays, mut backwards) = (times[0], Vec::new(), 0);
            for &time in &times[1..] {
                match time.checked_sub(latest) {
                    Some(delay) => { delays.push(delay); latest = time; }
                    None => backwards += 1,
                }
            }
            let span = times.iter().max().unwrap() - times.iter().min().unwrap();
            proptest::prop_assert_eq!(all.duration_ps(), span);
            proptest::prop_assert_eq!((all.packets(), all.backwards()), (times.len() as u64, backwards));
            let summary = all.delays().summary();
            proptest::prop_assert_eq!(summary.count, delays.len() as u64);
            proptest::prop_assert_eq!(summary.max, delays.iter().copied().max().unwrap_or(0));
            proptest::prop_assert_eq!(summary.min, delays.iter().copied().min().unwrap_or(0));
            let gap = all.gaps().unwrap().summary();
            let taken = u128::from(all.line().unwrap().taken_ps(60));
            proptest::prop_assert_eq!(gap.max, summary.max.saturating_sub(taken));
            let counted: u64 = all.windows().1.iter().map(|window| window.packets).sum();
            proptest::prop_assert_eq!(counted + backwards, all.packets());
            let longest = all.windows().1.iter().map(|window| window.longest_ps).max();
            proptest::prop_assert_eq!(longest, Some(summary.max));
            let last = all.samples().last().map_or(0, |sample| sample.at_ps);
            proptest::prop_assert!(last <= span);
        }
    }

    #[test]
    fn frames_that_overlap_at_the_rate_are_told() {
        let all = profile([0, 1_000, 100_000], at_ten_gigabit());
        assert_eq!(all.overlaps(), 1);
        assert_eq!(all.gaps().unwrap().summary().min, 0);
    }

    #[test]
    fn any_stamps_are_survived() {
        for times in [
            [u128::MAX, 0, u128::MAX],
            [0, u128::MAX, 1],
            [1 << 63, 1 << 64, 1 << 127],
        ] {
            let all = profile(times, at_ten_gigabit());
            assert_eq!(all.packets(), 3);
            assert!(all.windows().1.len() <= MAX_WINDOWS);
            assert!(all.delays().summary().sd.is_finite());
        }
        let none = profile([], at_ten_gigabit());
        assert_eq!((none.rates().windows, none.duration_ps()), (0, 0));
    }
}
