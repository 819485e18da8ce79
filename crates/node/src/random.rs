//! Random numbers with a seed: the same on every machine.
//!
//! [`Random`] is the generator of the project. [`split_mix`] is for what must not depend on how many numbers were drawn before:
//! the size of the frame with an index. [`seed_of`] gives each stream of a run its own seed by name.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The number with this index of those that SplitMix64 gives for a seed.
pub const fn split_mix(seed: u64, index: u64) -> u64 {
    let walk = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = seed.wrapping_add(walk);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The seed of a stream of random numbers in a run: it depends on the run's seed, the purpose and the name alone, never
/// on the order of streams. A stream that is added to a run or removed from it leaves all others as they are.
///
/// `name` has one part or several; `["a", "bc"]` and `["ab", "c"]` are two names.
pub fn seed_of(run: u64, purpose: &str, name: &[&str]) -> u64 {
    let parts = core::iter::once(&purpose).chain(name);
    parts.fold(split_mix(run, 0), |seed, part| {
        let words = part.as_bytes().chunks(8).map(|chunk| {
            let bytes = chunk.iter().rev();
            bytes.fold(0, |word, &byte| word << 8 | u64::from(byte))
        });
        let seed = words.fold(seed, |seed, word| split_mix(seed ^ word, 0));
        // The length ends the part.
        split_mix(seed, 1 + part.len() as u64)
    })
}

/// A probability as a fraction of 2^64, so that a decision is one integer comparison and the same
/// everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probability(u64);

impl Probability {
    /// 1/2.
    pub const HALF: Probability = Probability(1 << 63);

    /// From a number in 0..=1; `None` outside it. 1 means always.
    pub fn new(p: f64) -> Option<Probability> {
        // 2^64 as a float: the cast saturates, so 1.0 becomes u64::MAX, which `decide` takes as always.
        (0.0..=1.0)
            .contains(&p)
            .then_some(Probability((p * 18_446_744_073_709_551_616.0) as u64))
    }
}

/// Random numbers by xoshiro256++.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// From a seed; equal seeds give equal draws.
    pub fn new(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Evenly between 0 and 1, neither of which is reached: a multiple of 2^-53 and a half.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// A number below `bound`, or 0 when that is 0. Off by less than bound / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// An index below `len`, or 0 when that is 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Whether something of probability `p` happens. No draw for 0 and 1: what is off costs nothing
    /// and shifts no other draw.
    pub fn chance(&mut self, p: f64) -> bool {
        p >= 1.0 || (p > 0.0 && self.unit() < p)
    }

    /// Whether something of this probability happens. No draw where it is impossible, as above.
    pub fn decide(&mut self, chance: Probability) -> bool {
        chance.0 != 0 && (chance.0 == u64::MAX || self.bits() < chance.0)
    }

    /// The next 64 [decisions](Random::decide) of one probability, the first in the lowest bit.
    pub fn decide_64(&mut self, chance: Probability) -> u64 {
        match chance.0 {
            0 => 0,
            u64::MAX => u64::MAX,
            most => {
                // A copy stays in registers, which is nearly three times as fast.
                let mut random = self.0.clone();
                // Each comes in at the top, and is at its place behind the last.
                let all = (0..64).fold(0, |all, _| {
                    all >> 1 | u64::from(random.next_u64() < most) << 63
                });
                self.0 = random;
                all
            }
        }
    }

    /// How many good bits come before the next wrong one, where each is wrong with this probability.
    ///
    /// The geometric distribution by inversion; `libm` gives the same result on every machine.
    pub fn good_bits(&mut self, bit_error: f64) -> u64 {
        if bit_error <= 0.0 {
            return u64::MAX;
        }
        (libm::log(self.unit()) / libm::log1p(-bit_error.min(1.0))) as u64
    }

    /// From the standard normal distribution, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(square) / square);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed's numbers are part of what a lab file means.
    #[test]
    fn the_numbers_of_a_seed_are_those_that_were_published() {
        // SplitMix64 and xoshiro256++ as their authors give them, for the seed 0.
        assert_eq!(split_mix(0, 0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(split_mix(0, 1), 0x6E78_9E6A_A1B9_65F4);
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0x5317_5D61_490B_23DF);
        assert_ne!(Random::new(1).bits(), 0x5317_5D61_490B_23DF);
    }

    #[test]
    fn a_stream_has_the_seed_of_its_name() {
        // By a program of their own in another language.
        assert_eq!(seed_of(0, "node", &["a"]), 0x8451_E5D6_AD52_9FEA);
        let ports = ["client-of-the-lab", "0", "s", "12"];
        assert_eq!(seed_of(1, "link", &ports), 0x124E_49FB_D42D_E606);
        let names: [&[&str]; 8] = [
            &["ab"],
            &["ba"],
            &["a", "b"],
            &["ab", ""],
            &["", "ab"],
            &["a\0"],
            &["a"],
            &[],
        ];
        let mut seeds = alloc::collections::BTreeSet::new();
        for run in 0..50 {
            for purpose in ["node", "link"] {
                seeds.extend(names.map(|name| seed_of(run, purpose, name)));
            }
        }
        assert_eq!(seeds.len(), 50 * 2 * names.len(), "all differ");
    }

    #[test]
    fn decisions_by_64_are_those_one_by_one() {
        for chance in [0.0, 0.1, 0.5, 0.9, 1.0].map(|p| Probability::new(p).unwrap()) {
            let (mut one, mut many) = (Random::new(5), Random::new(5));
            for _ in 0..3 {
                let all = many.decide_64(chance);
                (0..64).for_each(|n| assert_eq!(one.decide(chance), all >> n & 1 == 1));
            }
        }
    }

    #[test]
    fn what_is_off_draws_nothing() {
        let mut random = Random::new(7);
        assert!(!random.chance(0.0) && random.chance(1.0));
        assert!(!random.decide(Probability(0)) && random.decide(Probability(u64::MAX)));
        assert_eq!(random.good_bits(0.0), u64::MAX);
        assert_eq!(random.bits(), Random::new(7).bits());
    }
}
