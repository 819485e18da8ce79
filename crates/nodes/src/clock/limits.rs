//! How far a clock may be ahead of another, from messages alone: none comes before it was sent.
//!
//! A message to the clock tells the most that it was ahead when that came, one from it the least. Queues and ways that differ make such a limit wider, never
//! wrong. Limits are of the clock as if nobody had ever corrected it ([`Clock::free`](super::Clock::free)), so that no servo moves them. Between a limit's time
//! and now the clock ran off at a rate that nobody knows, but which all limits together narrow: of all rates that contradict none of
//! them, the worst counts. That the rate itself changes is allowed for, by [`Config::wander`](super::Config::wander) in a second and by
//! [`MAX_RATE_CHANGE`] in all.

use super::Local;
use alloc::collections::VecDeque;

/// Messages of which the best is kept, so that one that did not wait is remembered for a while.
const EACH: u32 = 4;
/// Groups of such messages in each direction. Each pair of limits is compared.
const GROUPS: usize = 8;
/// Maximum difference between the rates of two clocks, a fraction: twice that of the fastest servo
/// here.
const MAX_RATE_DIFFERENCE: f64 = 2e-3;
/// Maximum change of a rate in the time of all limits, a fraction: PHI of RFC 5905.
const MAX_RATE_CHANGE: f64 = 15e-6;

/// At a time on the free clock, that was so far ahead: picoseconds.
type Limit = (Local, Local);

/// One direction's.
#[derive(Clone, Debug)]
struct Side {
    /// 1 if the least counts, -1 if the greatest.
    sign: Local,
    last: Option<Limit>,
    best: VecDeque<Limit>,
    /// Messages of the last group.
    count: u32,
}

impl Side {
    fn new(sign: Local) -> Side {
        Side {
            sign,
            last: None,
            best: VecDeque::with_capacity(GROUPS),
            count: 0,
        }
    }

    /// Takes a limit; `faster` is about by how much the free clock is, a fraction.
    fn add(&mut self, limit: Limit, faster: f64) {
        self.last = Some(limit);
        if self.count.is_multiple_of(EACH) {
            if self.best.len() == GROUPS {
                self.best.pop_front();
            }
            self.best.push_back(limit);
            self.count = 0;
        }
        self.count += 1;
        if let Some(best) = self.best.back_mut() {
            let went = ((limit.0 - best.0) as f64 * faster) as Local;
            if self.sign * (limit.1 - best.1 - went) <= 0 {
                *best = limit;
            }
        }
    }

    /// How long ago, and how far ahead of `base`: seconds would be too coarse, so picoseconds as numbers.
    fn since(&self, now: Local, base: Local) -> impl Iterator<Item = (f64, f64)> {
        let kept = self.best.iter().chain(&self.last);
        let past = kept.filter(move |limit| limit.0 <= now);
        past.map(move |limit| ((now - limit.0) as f64, (limit.1 - base) as f64))
    }

    /// Forgets all but the last.
    fn forget(&mut self) {
        self.best.clear();
        self.count = 0;
    }
}

/// Between what two clocks may be apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub least: Local,
    pub most: Local,
}

impl Span {
    /// The same of a clock that is so much farther ahead.
    pub fn shifted(self, by: Local) -> Span {
        Span {
            least: self.least + by,
            most: self.most + by,
        }
    }

    /// The same where the other clock may itself be so far off.
    pub fn widened(self, by: Local) -> Span {
        Span {
            least: self.least - by,
            most: self.most + by,
        }
    }

    /// How far the truth may be from what is taken for it, picoseconds.
    pub fn from(self, taken: Local) -> u64 {
        let far = (self.most - taken).abs().max((taken - self.least).abs());
        u64::try_from(far).unwrap_or(u64::MAX)
    }
}

/// Limits of both directions.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    below: Side,
    above: Side,
    /// By how much a rate changes: a fraction a picosecond.
    wander: f64,
    /// The middle of the rates that were possible last: about by how much the free clock is faster, a fraction.
    pub faster: f64,
    /// How often all of them together contradicted each other, and the older ones were given up.
    pub contradictions: u64,
}

impl Limits {
    /// None yet; `wander` is in parts per million a second.
    pub fn new(wander: f64) -> Limits {
        Limits {
            below: Side::new(-1),
            above: Side::new(1),
            wander: wander * 1e-18,
            faster: 0.0,
            contradictions: 0,
        }
    }

    /// When it showed `at`, the free clock was at least so far ahead: a message left then.
    pub fn at_least(&mut self, at: Local, ahead: Local) {
        self.below.add((at, ahead), self.faster);
    }

    /// It was at most so far ahead: a message came then.
    pub fn at_most(&mut self, at: Local, ahead: Local) {
        self.above.add((at, ahead), self.faster);
    }

    /// Restarts: it is another clock that messages come from.
    pub fn clear(&mut self) {
        for side in [&mut self.below, &mut self.above] {
            side.forget();
            side.last = None;
        }
    }

    /// How far ahead the free clock may be when it shows `now`; `None` until messages have come from both sides.
    pub fn span(&mut self, now: Local) -> Option<Span> {
        let base = self.above.last?.1;
        self.below.last?;
        if let Some(span) = self.narrowest(now, base) {
            return span;
        }
        // A rate changed by more than was allowed for, or the other clock was set.
        self.contradictions += 1;
        self.below.forget();
        self.above.forget();
        self.narrowest(now, base).flatten()
    }

    /// `None` if the limits contradict each other, `Some(None)` if there are none before `now`.
    fn narrowest(&mut self, now: Local, base: Local) -> Option<Option<Span>> {
        let (mut slowest, mut fastest) = (-MAX_RATE_DIFFERENCE, MAX_RATE_DIFFERENCE);
        let [mut above, mut below] = [[(0.0, 0.0); GROUPS + 1]; 2];
        let above = self.loosened(&self.above, now, base, &mut above);
        let below = self.loosened(&self.below, now, base, &mut below);
        if above.is_empty() || below.is_empty() {
            return Some(None);
        }
        for &(above_age, most) in above {
            for &(below_age, least) in below {
                let (room, longer) = (most - least, below_age - above_age);
                if longer > 0.0 {
                    fastest = f64::min(fastest, room / longer);
                } else if longer < 0.0 {
                    slowest = f64::max(slowest, room / longer);
                } else if room < 0.0 {
                    return None;
                }
            }
        }
        if slowest > fastest {
            return None;
        }
        let most = above.iter().map(|(age, most)| most + fastest * age);
        let least = below.iter().map(|(age, least)| least + slowest * age);
        let most = most.fold(f64::INFINITY, f64::min);
        let least = least.fold(f64::NEG_INFINITY, f64::max);
        self.faster = f64::midpoint(slowest, fastest);
        Some(Some(Span {
            least: base + libm::floor(least) as Local,
            most: base + libm::ceil(most) as Local,
        }))
    }

    /// The limits of a side, each with what the rate may have changed since it was true.
    fn loosened<'a>(
        &self,
        side: &Side,
        now: Local,
        base: Local,
        room: &'a mut [(f64, f64); GROUPS + 1],
    ) -> &'a [(f64, f64)] {
        let until = MAX_RATE_CHANGE / self.wander;
        let mut count = 0;
        for ((age, ahead), place) in side.since(now, base).zip(room.iter_mut()) {
            let off = match age < until {
                true => self.wander * age * age / 2.0,
                false => MAX_RATE_CHANGE * (age - until / 2.0),
            };
            *place = (age, ahead + side.sign as f64 * off);
            count += 1;
        }
        &room[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    const MS: Local = 1_000_000_000;
    const US: Local = 1_000_000;

    /// What a free clock is ahead, picoseconds, at a time that it shows.
    type Truth = fn(Local) -> Local;

    /// Messages each way every `every`, 1 us of way and a random wait: all spans, which must hold.
    fn spans(truth: Truth, wander: f64, every: Local, wait: u64) -> std::vec::Vec<Span> {
        let (mut limits, mut random) = (Limits::new(wander), Random::new(7));
        let mut spans = std::vec::Vec::new();
        for message in 1..400 {
            let (out, back) = (message * every, message * every + every / 3);
            let mut late = || US + Local::from(random.below(wait + 1));
            limits.at_least(out, truth(out) - late());
            limits.at_most(back, truth(back) + late());
            let span = limits.span(back).unwrap();
            let (held, true_now) = (span.least..=span.most, truth(back));
            assert!(held.contains(&true_now), "{message}: {span:?}, {true_now}");
            spans.push(span);
        }
        assert_eq!(limits.contradictions, 0);
        spans
    }

    /// 80 ppm fast and 2 s ahead.
    fn even(at: Local) -> Local {
        2_000_000_000_000 + at / 12_500
    }

    #[test]
    fn on_an_empty_way_it_is_little_more_than_half_of_a_round_trip() {
        for (every, most) in [(8 * MS, 1_100_000), (1_000 * MS, 2_000_000)] {
            let spans = spans(even, 0.1, every, 0);
            let half = spans.iter().map(|span| (span.most - span.least) / 2);
            assert!(half.clone().all(|half| half >= US), "less than the way");
            let widest = half.skip(40).max().unwrap();
            assert!(widest < most, "{every}: {widest}");
        }
    }

    #[test]
    fn under_load_it_holds_and_remembers_what_did_not_wait() {
        // Up to 100 us of queue: the best of some 30 waited for some 3.
        let spans = spans(even, 0.1, 8 * MS, 100_000_000);
        let mean = spans.iter().skip(40).map(|span| span.most - span.least);
        let mean = mean.sum::<Local>() / (spans.len() as Local - 40) / 2;
        assert!((2 * US..20 * US).contains(&mean), "{mean}");
    }

    #[test]
    fn it_holds_for_a_rate_that_changes_as_much_as_is_allowed() {
        // 0.1 ppm a second, to and fro.
        fn warm(at: Local) -> Local {
            let seconds = at as f64 * 1e-12;
            (0.1e-6 * 900.0 * libm::sin(seconds / 30.0) * 1e12) as Local + at / 20_000
        }
        spans(warm, 0.1, 1_000 * MS, 0);
        spans(warm, 0.1, 125 * MS, 20_000_000);
    }

    #[test]
    fn what_cannot_be_is_noticed_and_the_newest_count() {
        let mut limits = Limits::new(0.1);
        for ms in 1..50 {
            // The other clock is set back by 1 s in between.
            let truth = if ms < 30 { 0 } else { 1_000 * MS };
            limits.at_least(ms * MS, truth - US);
            limits.at_most(ms * MS, truth + US);
            let span = limits.span(ms * MS).unwrap();
            assert!((span.least..=span.most).contains(&truth), "{ms}: {span:?}");
        }
        assert_eq!(limits.contradictions, 1);
        limits.clear();
        assert_eq!(limits.span(50 * MS), None);
    }

    #[test]
    fn one_direction_alone_says_nothing() {
        let mut limits = Limits::new(0.1);
        limits.at_most(0, US);
        assert_eq!(limits.span(0), None);
        limits.at_least(5, -US);
        assert_eq!(limits.span(4), None, "it left later");
        let span = limits.span(5).unwrap();
        assert_eq!((span.least, span.most), (-US, US + 1), "0.002 in 5 ps");
        assert_eq!(span.shifted(-US).from(0), 2_000_000);
    }
}
