//! The network effect: what the pairs of a whole network say of their clocks, made to agree.
//!
//! Around a loop of pairs true offsets add up to nothing. What measured ones add up to, the loop's surplus, shows errors that no pair can see by itself
//! (Geng et al., "Exploiting a Natural Network Effect for Scalable, Fine-grained Clock Synchronization", NSDI 2018). [`agree`] changes all pairs by as little as
//! possible, by the sum of squares, so that no loop has a surplus. Pairs without one are differences of one number for each clock, so these numbers are those
//! nearest to all pairs: least squares over the graph of pairs, by conjugate gradients. Where there are no loops nothing changes. What errors of pairs have in common around
//! no loop, such as a cable that takes longer one way to all others, stays.

use crate::clock::Local;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// What was found between two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Which clocks, by their places.
    pub ends: [usize; 2],
    /// A time on the first one's clock.
    pub at: i128,
    /// How far the first was ahead of the second then, picoseconds.
    pub ahead: i128,
    /// By how much it was faster, a fraction.
    pub faster: f64,
}

impl Pair {
    /// How far the first is ahead when it shows this.
    fn when_first_shows(&self, shown: Local) -> Local {
        self.ahead + whole(self.faster * (shown - self.at) as f64)
    }

    /// The same, when the second shows this.
    fn when_second_shows(&self, shown: Local) -> Local {
        let since = (shown + self.ahead - self.at) as f64 / (1.0 - self.faster);
        self.ahead + whole(self.faster * since)
    }
}

fn whole(ps: f64) -> Local {
    libm::round(ps) as Local
}

/// Clocks at one instant, by one of them; `None` for who has no way to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreed {
    /// How far each is ahead by the fewest pairs that lead to it, picoseconds.
    pub by_fewest: Vec<Option<i128>>,
    /// By all pairs.
    pub by_all: Vec<Option<i128>>,
    /// How far the first of each pair was ahead at that instant, as the pair has found it.
    pub found: Vec<Option<i128>>,
}

/// So many clocks, when one of them shows this time, by what pairs have found near it.
pub fn agree(clocks: usize, reference: usize, shown: i128, pairs: &[Pair]) -> Agreed {
    let mut by_fewest = vec![None; clocks];
    by_fewest[reference] = Some(0);
    let mut of = vec![Vec::new(); clocks];
    for (index, pair) in pairs.iter().enumerate() {
        for end in pair.ends {
            of[end].push(index);
        }
    }
    let mut queue = VecDeque::from([(reference, 0)]);
    while let Some((clock, ahead)) = queue.pop_front() {
        for pair in of[clock].iter().map(|&index| &pairs[index]) {
            let (other, its) = match pair.ends {
                [first, second] if first == clock => {
                    (second, ahead - pair.when_first_shows(shown + ahead))
                }
                [first, _] => (first, ahead + pair.when_second_shows(shown + ahead)),
            };
            if by_fewest[other].is_none() {
                by_fewest[other] = Some(its);
                queue.push_back((other, its));
            }
        }
    }
    let ends = |pair: &Pair| Some((by_fewest[pair.ends[0]]?, by_fewest[pair.ends[1]]?));
    let found = pairs.iter().map(|pair| {
        let (first, _) = ends(pair)?;
        Some(pair.when_first_shows(shown + first))
    });
    let found: Vec<Option<Local>> = found.collect();
    // Only what pairs differ by from the fewest is small enough for floats.
    let rests = pairs.iter().zip(&found).filter_map(|(pair, found)| {
        let (first, second) = ends(pair)?;
        let [one, other] = pair.ends;
        Some((one, other, ((*found)? - (first - second)) as f64))
    });
    let rests: Vec<(usize, usize, f64)> = rests.collect();
    let more = nearest(clocks, &rests);
    let zero = more[reference];
    let by_all = by_fewest.iter().zip(&more);
    let by_all = by_all.map(|(ahead, more)| Some((*ahead)? + whole(more - zero)));
    Agreed {
        by_all: by_all.collect(),
        by_fewest,
        found,
    }
}

/// Numbers whose differences are nearest to those that are asked for, by conjugate gradients.
fn nearest(count: usize, differences: &[(usize, usize, f64)]) -> Vec<f64> {
    let square = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    let mut numbers = vec![0.0; count];
    let mut rest = vec![0.0; count];
    for &(one, other, difference) in differences {
        rest[one] += difference;
        rest[other] -= difference;
    }
    let mut way = rest.clone();
    let mut far = square(&rest);
    // A picosecond is whole; rounding may make it longer than the number of unknowns.
    let near = far * 1e-24;
    for _ in 0..2 * count {
        if far <= near {
            break;
        }
        let mut turned = vec![0.0; count];
        let mut steep = 0.0;
        for &(one, other, _) in differences {
            let by = way[one] - way[other];
            turned[one] += by;
            turned[other] -= by;
            steep += by * by;
        }
        let step = far / steep;
        for index in 0..count {
            numbers[index] += step * way[index];
            rest[index] -= step * turned[index];
        }
        let left = square(&rest);
        for (way, rest) in way.iter_mut().zip(&rest) {
            *way = rest + left / far * *way;
        }
        far = left;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    /// Clocks at a time of the first, with rates: what a pair of them would find, and by how much that is wrong.
    fn pair(ahead: &[Local], ends: [usize; 2], wrong: Local) -> Pair {
        let [one, other] = ends;
        let faster = 1e-6 * (one as f64 - other as f64);
        // Told of a time a millisecond before the first clock shows 0.
        let back = 1_000_000_000;
        Pair {
            ends,
            at: ahead[one] - back,
            ahead: ahead[one] - ahead[other] + wrong - whole(faster * back as f64),
            faster,
        }
    }

    /// Some milliseconds apart.
    const AHEAD: [Local; 5] = [0, 3_000_000_017, -2_500_000_000, 900, -70_000_000_001];

    #[test]
    fn without_loops_all_stays_as_it_was_found() {
        let mut pairs: Vec<Pair> = [([1, 0], 700), ([1, 2], -900), ([3, 2], 40), ([0, 4], -3)]
            .map(|(ends, wrong)| pair(&AHEAD, ends, wrong))
            .into();
        let agreed = agree(5, 0, 0, &pairs);
        assert_eq!(agreed.by_all, agreed.by_fewest);
        let wrong = [0, 700, 1_600, 1_640, 3];
        for (clock, (ahead, wrong)) in AHEAD.iter().zip(wrong).enumerate() {
            let off = agreed.by_all[clock].unwrap() - (ahead + wrong);
            assert!(off.abs() <= 1, "{clock}: {off}");
        }
        // Who has no way to the reference is not known.
        pairs.remove(1);
        let parted = agree(5, 0, 0, &pairs);
        let known: Vec<bool> = parted.by_all.iter().map(Option::is_some).collect();
        assert_eq!(known, [true, true, false, false, true]);
        assert_eq!(parted.found[1], None);
    }

    #[test]
    fn a_surplus_is_shared_out_among_the_pairs_of_its_loop() {
        // Around the loop 0, 1, 2 there is a surplus of 90; the fourth pair is in no loop.
        let wrongs = [([0, 1], 90), ([1, 2], 0), ([2, 0], 0), ([3, 2], 40)];
        let pairs = wrongs.map(|(ends, wrong)| pair(&AHEAD, ends, wrong));
        let agreed = agree(4, 0, 0, &pairs);
        let off = |clock: usize| agreed.by_all[clock].unwrap() - AHEAD[clock];
        for (clock, wanted) in [(0, 0), (1, -60), (2, -30), (3, 10)] {
            assert!((off(clock) - wanted).abs() <= 1, "{clock}: {}", off(clock));
        }
        assert_eq!(agreed.found[0], Some(AHEAD[0] - AHEAD[1] + 90));
    }

    #[test]
    fn many_pairs_of_each_clock_make_errors_smaller() {
        let mut random = Random::new(1);
        let (mut single, mut all, mut count) = (0.0, 0.0, 0);
        for _ in 0..20 {
            let ahead: Vec<Local> = (0..40)
                .map(|clock| match clock {
                    0 => 0,
                    _ => random.below(1_000_000_000_000).into(),
                })
                .collect();
            let mut pairs = Vec::new();
            for one in 0..40 {
                // A ring, so that all have a way, and nine more.
                let others = core::iter::once((one + 1) % 40);
                let more: Vec<usize> = (0..9).map(|_| random.below(40) as usize).collect();
                for other in others.chain(more).filter(|&other| other != one) {
                    let wrong = (30_000.0 * random.normal()) as Local;
                    pairs.push(pair(&ahead, [one, other], wrong));
                }
            }
            let agreed = agree(40, 0, 0, &pairs);
            for (pair, found) in pairs.iter().zip(agreed.found) {
                let truth = ahead[pair.ends[0]] - ahead[pair.ends[1]];
                let [one, other] = pair.ends.map(|end| agreed.by_all[end].unwrap());
                single += ((found.unwrap() - truth) as f64).powi(2);
                all += ((one - other - truth) as f64).powi(2);
            }
            count += pairs.len();
        }
        // Of so many independent numbers the part that is left is one for each clock but the first.
        let (left, wanted) = (all / single, 20.0 * 39.0 / count as f64);
        assert!((left / wanted - 1.0).abs() < 0.1, "{left} {wanted}");
    }
}
