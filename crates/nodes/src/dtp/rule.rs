//! What a device's counter follows: in the place of algorithm 4.
//!
//! By the maximum, the paper's rule, a device takes every counter that is ahead of its own, so all follow the fastest oscillator, and the counter of a faulty
//! one as well. By the other rules a device never takes a counter. It looks at how far its neighbours are ahead of it, in the mean of what
//! came since it looked last, and then puts in one tick, leaves one out, or does neither. So its counter is faster than its own oscillator, or slower, by no
//! more than the `slew` of its [`Config`](super::Config); a neighbour that is faster than that allows is out of range soon, and is given up.
//!
//! - [`Gradient`](Rule::Gradient): the fast and the slow trigger of gradient clock synchronisation (C. Lenzen, T. Locher, R. Wattenhofer, "Tight bounds for clock
//!   synchronization", J. ACM 57(2), 2010; as in J. Bund, M. Függer, C. Lenzen, M. Medina, "Synchronizer-free digital link controller", IEEE TCAS-I
//!   67(10), 2020), which bound the offset of neighbours by the logarithm of the diameter. It goes with the fastest as long as nobody falls back.
//! - [`Average`](Rule::Average): the mean of all neighbours, as in L. Schenato, F. Fiorentin, "Average TimeSynch", Automatica 47(9), 2011. The network goes as fast as its oscillators
//!   do in the mean.

/// Parts of a tick that are told apart.
const TICK: i64 = 16;
/// Kappa of the triggers: more than the two ticks by which two neighbours can be of two minds, as either delay may be one off.
const KAPPA: i64 = 2 * TICK;
/// A mean that is nearer is none: delays are measured to a tick.
const NEAR: i64 = TICK;

/// What a device's counter follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Rule {
    /// The greatest counter: the paper's algorithm 4.
    #[default]
    Maximum,
    /// The neighbour that is furthest ahead, unless another is further behind.
    Gradient,
    /// The mean of the neighbours.
    Average,
}

impl Rule {
    /// What to do by how far neighbours are ahead, in sixteenths of a tick: 1 puts in a tick, -1 leaves one out.
    pub fn step(self, ahead: impl Iterator<Item = i64>) -> i64 {
        match self {
            Rule::Maximum => 0,
            Rule::Gradient => {
                let (most, least) = ahead.fold((0, 0), |(most, least), one: i64| {
                    (one.max(most), one.min(least))
                });
                gradient(most, -least)
            }
            Rule::Average => {
                let (sum, count) = ahead.fold((0, 0), |(sum, count), one| (sum + one, count + 1));
                match sum {
                    sum if sum.abs() <= NEAR * count => 0,
                    sum => sum.signum(),
                }
            }
        }
    }
}

/// By how far one neighbour is ahead at the most, and one behind.
fn gradient(ahead: i64, behind: i64) -> i64 {
    // Levels on which the greater of the two may be.
    let levels = 0..=(ahead.max(behind) / (2 * KAPPA));
    let fast = |level: i64| (2 * level + 1) * KAPPA;
    let slow = |level: i64| (2 * level + 2) * KAPPA;
    if levels
        .clone()
        .any(|s| ahead >= fast(s) && behind <= fast(s))
    {
        return 1;
    }
    let slower = levels
        .clone()
        .any(|s| behind >= slow(s) && ahead <= slow(s));
    -i64::from(slower)
}

/// How far a neighbour was ahead, by the beacons since this was asked last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate {
    sum: i64,
    beacons: i64,
}

impl Estimate {
    pub fn add(&mut self, ahead: i64) {
        self.sum += ahead;
        self.beacons += 1;
    }

    /// The mean, in sixteenths of a tick; `None` if nothing was heard.
    pub fn take(&mut self) -> Option<i64> {
        let Estimate { sum, beacons } = core::mem::take(self);
        (sum * TICK).checked_div(beacons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn step(rule: Rule, ticks: &[i64]) -> i64 {
        rule.step(ticks.iter().map(|ticks| ticks * TICK))
    }

    #[test]
    fn by_the_gradient_a_counter_follows_who_is_ahead_unless_another_is_further_behind() {
        for (ticks, wanted) in [
            (vec![], 0),
            (vec![1, -1], 0),
            (vec![2], 1),
            (vec![2, -2], 1),
            (vec![2, -3], 0),
            (vec![5, -4], 0),
            (vec![4, -4], -1),
            (vec![-3], 0),
            (vec![-4], -1),
            (vec![6, -4], 1),
            (vec![6, -7], 0),
            (vec![7, -8], -1),
            (vec![8, 8, 8, -8], -1),
        ] {
            assert_eq!(step(Rule::Gradient, &ticks), wanted, "{ticks:?}");
        }
    }

    #[test]
    fn by_the_average_one_neighbour_has_its_share() {
        for (ticks, wanted) in [
            (vec![], 0),
            (vec![1], 0),
            (vec![2], 1),
            (vec![-2], -1),
            (vec![8, -2, -2, -2], 0),
            (vec![8, -4, -4, -8], -1),
        ] {
            assert_eq!(step(Rule::Average, &ticks), wanted, "{ticks:?}");
        }
        assert_eq!(step(Rule::Maximum, &[8]), 0);
    }

    #[test]
    fn of_beacons_the_mean_counts_once() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.take(), None);
        for ahead in [3, 2, 3, 2] {
            estimate.add(ahead);
        }
        assert_eq!(estimate.take(), Some(40));
        assert_eq!(estimate.take(), None);
    }
}
