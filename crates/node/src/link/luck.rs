//! What a link draws by lot.

use super::Probability;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Everything that one direction of a link draws by lot: the same for a seed, on every machine.
#[derive(Clone, Debug)]
pub struct Luck {
    rng: Xoshiro256PlusPlus,
}

impl Luck {
    /// The same seed gives the same luck.
    pub fn new(seed: u64) -> Luck {
        Luck {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Whether it happens.
    pub fn decide(&mut self, chance: Probability) -> bool {
        // No draw for an impairment that is off: it costs nothing and shifts no other one's luck.
        chance.0 != 0 && (chance.0 == u64::MAX || self.rng.next_u64() < chance.0)
    }

    /// How many good bits come before the next wrong one, where each is wrong with this chance.
    ///
    /// The geometric distribution by inversion; `libm` gives the same result on every machine.
    pub fn good_bits(&mut self, bit_error: f64) -> u64 {
        if bit_error <= 0.0 {
            return u64::MAX;
        }
        let uniform = ((self.rng.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
        (libm::log(uniform) / libm::log1p(-bit_error.min(1.0))) as u64
    }
}
