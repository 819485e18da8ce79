//! Numbers of 256 bits, for sums of squares.

const HALF: u32 = 64;
/// 2^128, to which the greatest number of 128 bits is rounded.
const BEYOND: f64 = u128::MAX as f64;

/// An unsigned number of 256 bits. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wide {
    high: u128,
    low: u128,
}

impl Wide {
    const MAX: Wide = Wide {
        high: u128::MAX,
        low: u128::MAX,
    };

    /// The square of a number.
    #[inline]
    pub fn square(of: u128) -> Wide {
        match u64::try_from(of) {
            Ok(of) => Wide {
                high: 0,
                low: u128::from(of) * u128::from(of),
            },
            Err(_) => Wide::product(of, of),
        }
    }

    /// By halves of 64 bits.
    #[cold]
    fn product(a: u128, b: u128) -> Wide {
        let halves = |of: u128| (of >> HALF, of & u128::from(u64::MAX));
        let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
        let (middle1, middle0) = (a1 * b0, a0 * b1);
        // At most 2^128 - 2^65 + 1, and two numbers below 2^64.
        let carry = ((a0 * b0) >> HALF) + halves(middle1).1 + halves(middle0).1;
        Wide {
            high: a1 * b1 + halves(middle1).0 + halves(middle0).0 + halves(carry).0,
            low: ((a0 * b0) & u128::from(u64::MAX)) | (carry << HALF),
        }
    }

    /// The sum.
    #[inline]
    pub fn plus(self, other: Wide) -> Wide {
        let (low, carry) = self.low.overflowing_add(other.low);
        let high = self.high.checked_add(other.high);
        match high.and_then(|high| high.checked_add(carry.into())) {
            Some(high) => Wide { high, low },
            None => Wide::MAX,
        }
    }

    /// The difference; zero where `other` is greater.
    pub fn minus(self, other: Wide) -> Wide {
        if self <= other {
            return Wide::default();
        }
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Wide {
            high: self.high - other.high - u128::from(borrow),
            low,
        }
    }

    /// The product.
    #[inline]
    pub fn times(self, count: u64) -> Wide {
        if count == 1 {
            return self;
        }
        let low = Wide::product(self.low, count.into());
        let high = self.high.checked_mul(count.into());
        match high.and_then(|high| high.checked_add(low.high)) {
            Some(high) => Wide { high, ..low },
            None => Wide::MAX,
        }
    }

    /// The nearest number with 53 bits, or one of its neighbours.
    pub fn as_f64(self) -> f64 {
        self.high as f64 * BEYOND + self.low as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_fits_128_bits_is_as_there(a: u64, b: u64, times: u64) {
            let wide = |low: u128| Wide { high: 0, low };
            let (a, b) = (u128::from(a), u128::from(b));
            prop_assert_eq!(Wide::product(a, b), wide(a * b));
            prop_assert_eq!(Wide::square(a), wide(a * a));
            prop_assert_eq!(wide(a).times(times), wide(a * u128::from(times)));
            prop_assert_eq!(wide(a).plus(wide(b)), wide(a + b));
            prop_assert_eq!(wide(a).minus(wide(b)), wide(a.saturating_sub(b)));
        }

        #[test]
        fn beyond_them_the_laws_of_arithmetic_hold(a in 0..u128::MAX / 2, b in 0..u128::MAX / 2, times in 0..1u64 << 40) {
            // (a + b)^2 - a^2 - b^2 = 2ab.
            let rest = Wide::square(a + b).minus(Wide::square(a)).minus(Wide::square(b));
            prop_assert_eq!(rest, Wide::product(a, b).times(2));
            let (low, times) = (a >> 40, times.max(1));
            let many = Wide::square(low).times(times);
            prop_assert_eq!(many.minus(Wide::square(low).times(times - 1)), Wide::square(low));
            prop_assert_eq!(Wide::square(a).plus(many).minus(many), Wide::square(a));
        }
    }

    #[test]
    fn what_does_not_fit_is_the_greatest() {
        assert_eq!(Wide::MAX.plus(Wide { high: 0, low: 1 }), Wide::MAX);
        assert_eq!(Wide::MAX.times(2), Wide::MAX);
        assert_eq!(
            Wide {
                high: 2,
                low: 1 << 127
            }
            .as_f64(),
            2.5 * BEYOND
        );
    }
}
