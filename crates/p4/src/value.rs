//! Values of a given width.

use core::fmt;
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Zero};

/// A value of `width` bits. Signed values are held in two's complement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits {
    width: u32,
    value: BigUint,
}

impl Bits {
    /// The lowest `width` bits of `value`.
    #[must_use]
    pub fn new(width: u32, value: impl Into<BigUint>) -> Self {
        let mut value = value.into();
        if value.bits() > u64::from(width) {
            value &= mask(width);
        }
        Bits { width, value }
    }

    /// The lowest `width` bits of the two's complement of `value`.
    #[must_use]
    pub fn from_int(width: u32, value: &BigInt) -> Self {
        match value.sign() {
            Sign::Minus => {
                let modulus = BigInt::from(BigUint::one() << width);
                let wrapped = ((value % &modulus) + &modulus) % &modulus;
                Bits::new(width, wrapped.magnitude().clone())
            }
            _ => Bits::new(width, value.magnitude().clone()),
        }
    }

    #[must_use]
    pub fn zero(width: u32) -> Self {
        Bits {
            width,
            value: BigUint::zero(),
        }
    }

    /// How many bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The bits as a number from 0.
    #[must_use]
    pub fn unsigned(&self) -> &BigUint {
        &self.value
    }

    /// The bits as a number in two's complement.
    #[must_use]
    pub fn signed(&self) -> BigInt {
        if self.width > 0 && self.value.bit(u64::from(self.width) - 1) {
            BigInt::from(self.value.clone()) - BigInt::from(BigUint::one() << self.width)
        } else {
            BigInt::from(self.value.clone())
        }
    }

    /// Whether a bit is set.
    #[must_use]
    pub fn is_true(&self) -> bool {
        !self.value.is_zero()
    }

    /// The same number in another width, cut where it is longer.
    #[must_use]
    pub fn resize(&self, width: u32) -> Self {
        Bits::new(width, self.value.clone())
    }

    /// From 64-bit pieces, the least significant first.
    #[must_use]
    pub fn from_limbs(width: u32, limbs: &[u64]) -> Self {
        let halves = limbs
            .iter()
            .flat_map(|limb| [*limb as u32, (limb >> 32) as u32]);
        Bits::new(width, BigUint::new(halves.collect()))
    }

    /// Into 64-bit pieces, the least significant first; what does not fit is cut, what is left is zero.
    pub fn to_limbs(&self, limbs: &mut [u64]) {
        let mut digits = self.value.iter_u64_digits();
        for limb in limbs {
            *limb = digits.next().unwrap_or(0);
        }
    }

    /// The value, when 64 bits hold it.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(&self.value).ok()
    }
}

impl From<bool> for Bits {
    fn from(value: bool) -> Self {
        Bits::new(1, u8::from(value))
    }
}

/// `16w0x800`.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}w{:#x}", self.width, self.value)
    }
}

/// `width` ones.
#[must_use]
pub fn mask(width: u32) -> BigUint {
    (BigUint::one() << width) - 1u8
}
