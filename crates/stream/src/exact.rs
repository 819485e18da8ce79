//! Sums of real numbers without rounding, from which numbers can be subtracted again.
//!
//! A sum is a fixed-point number of 2176 bits whose lowest bit is the least subnormal number, 2^-1074.
//! It holds every finite `f64` exactly, and 2^77 of the largest (the long accumulator of Kulisch and
//! Miranker, 1986).

use alloc::boxed::Box;
use alloc::vec;

const LIMBS: usize = 34;
const FRACTION_BITS: u32 = 52;
const HIDDEN: u64 = 1 << FRACTION_BITS;

/// A sum of real numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exact {
    /// Two's complement, least significant first.
    limbs: Box<[u64]>,
    /// Infinities among the numbers.
    positive: u64,
    negative: u64,
}

impl Exact {
    /// Memory of a sum, bytes.
    pub const BYTES: usize = LIMBS * 8 + size_of::<Exact>();

    pub fn new() -> Exact {
        Exact {
            limbs: vec![0; LIMBS].into_boxed_slice(),
            positive: 0,
            negative: 0,
        }
    }

    pub fn clear(&mut self) {
        self.limbs.fill(0);
        (self.positive, self.negative) = (0, 0);
    }

    /// Adds a number that is not NaN.
    pub fn add(&mut self, value: f64) {
        if value.is_infinite() {
            match value > 0.0 {
                true => self.positive += 1,
                false => self.negative += 1,
            }
            return;
        }
        self.accumulate(value, value.is_sign_negative());
    }

    /// Subtracts a number that was added.
    pub fn subtract(&mut self, value: f64) {
        if value.is_infinite() {
            match value > 0.0 {
                true => self.positive -= 1,
                false => self.negative -= 1,
            }
            return;
        }
        self.accumulate(value, !value.is_sign_negative());
    }

    fn accumulate(&mut self, value: f64, subtract: bool) {
        let bits = value.abs().to_bits();
        let (exponent, fraction) = (bits >> FRACTION_BITS, bits & (HIDDEN - 1));
        // Subnormal numbers have the exponent of the least normal ones, without the hidden bit.
        let (shift, significand) = match exponent {
            0 => (0, fraction),
            _ => (exponent as usize - 1, fraction | HIDDEN),
        };
        let wide = u128::from(significand) << (shift % 64);
        let at = shift / 64;
        let mut carry = false;
        for (index, limb) in self.limbs.iter_mut().enumerate().skip(at) {
            let part = match index - at {
                0 => wide as u64,
                1 => (wide >> 64) as u64,
                _ if !carry => break,
                _ => 0,
            };
            let (once, first) = match subtract {
                true => limb.overflowing_sub(part),
                false => limb.overflowing_add(part),
            };
            let (twice, second) = match subtract {
                true => once.overflowing_sub(carry.into()),
                false => once.overflowing_add(carry.into()),
            };
            *limb = twice;
            carry = first | second;
        }
    }

    /// The sum, rounded to the nearest number, ties to even. NaN for both infinities together.
    pub fn value(&self) -> f64 {
        match (self.positive, self.negative) {
            (0, 0) => {}
            (_, 0) => return f64::INFINITY,
            (0, _) => return f64::NEG_INFINITY,
            _ => return f64::NAN,
        }
        let is_negative = self.limbs[LIMBS - 1] >> 63 == 1;
        // The magnitude, limb by limb.
        let mut magnitude = [0; LIMBS];
        let mut carry = is_negative;
        for (into, limb) in magnitude.iter_mut().zip(&self.limbs) {
            let limb = if is_negative { !limb } else { *limb };
            (*into, carry) = limb.overflowing_add(carry.into());
        }
        let Some(top) = magnitude.iter().rposition(|limb| *limb != 0) else {
            return 0.0;
        };
        let highest = top * 64 + 63 - magnitude[top].leading_zeros() as usize;
        // Bits below the significand's last one; subnormal numbers have none.
        let below = highest.saturating_sub(FRACTION_BITS as usize);
        let bit = |at: usize| magnitude[at / 64] >> (at % 64) & 1;
        let mut significand = (below..=highest).fold(0, |bits, at| bits | bit(at) << (at - below));
        if below > 0 && bit(below - 1) == 1 {
            let rest = (0..(below - 1) / 64).any(|limb| magnitude[limb] != 0)
                || ((below - 1) / 64 * 64..below - 1).any(|at| bit(at) == 1);
            significand += u64::from(rest || significand & 1 == 1);
        }
        // 2^53 after rounding up is 2^52 with the next exponent.
        let below = below as u64 + (significand >> (FRACTION_BITS + 1));
        let significand = significand >> (significand >> (FRACTION_BITS + 1));
        let exponent = match significand < HIDDEN {
            true => 0,
            false => below + 1,
        };
        let value = match exponent {
            2047.. => f64::INFINITY,
            _ => f64::from_bits(exponent << FRACTION_BITS | significand & (HIDDEN - 1)),
        };
        if is_negative { -value } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use node::random::Random;

    fn any(random: &mut Random) -> f64 {
        loop {
            let value = match random.below(4) {
                0 => f64::from_bits(random.bits()),
                1 => (random.unit() - 0.5) * 1e3,
                2 => f64::from_bits(random.bits() & ((1 << 54) - 1)),
                _ => random.below(1000) as f64,
            };
            if !value.is_nan() && value.is_finite() {
                return value;
            }
        }
    }

    #[test]
    fn one_number_is_itself() {
        let mut random = Random::new(2);
        for _ in 0..20_000 {
            let value = any(&mut random);
            let mut sum = Exact::new();
            sum.add(value);
            assert_eq!(sum.value(), value);
            sum.subtract(value);
            assert_eq!(sum, Exact::new());
        }
    }

    #[test]
    fn two_numbers_round_as_the_processor_rounds_them() {
        let mut random = Random::new(3);
        for _ in 0..50_000 {
            let a = any(&mut random);
            let b = match random.below(3) {
                0 => any(&mut random),
                1 => a * (random.unit() - 0.5) * 1e-15,
                _ => -a * (1.0 + random.unit() * 1e-15),
            };
            let mut sum = Exact::new();
            sum.add(a);
            sum.add(b);
            assert_eq!(sum.value(), a + b, "{a:e} + {b:e}");
        }
    }

    #[test]
    fn the_order_of_additions_and_removals_does_not_matter() {
        let mut random = Random::new(4);
        for _ in 0..200 {
            let values: Vec<f64> = (0..50).map(|_| any(&mut random)).collect();
            let (mut all, mut last) = (Exact::new(), Exact::new());
            values.iter().for_each(|value| all.add(*value));
            values[..40].iter().for_each(|value| all.subtract(*value));
            values[40..].iter().rev().for_each(|value| last.add(*value));
            assert_eq!(all, last);
        }
        let mut sum = Exact::new();
        [1e300, 1.0, -1e300]
            .iter()
            .for_each(|value| sum.add(*value));
        assert_eq!(sum.value(), 1.0);
        sum.add(f64::INFINITY);
        assert_eq!(sum.value(), f64::INFINITY);
        sum.add(f64::NEG_INFINITY);
        assert!(sum.value().is_nan());
        sum.subtract(f64::INFINITY);
        sum.subtract(f64::NEG_INFINITY);
        assert_eq!(sum.value(), 1.0);
    }
}
