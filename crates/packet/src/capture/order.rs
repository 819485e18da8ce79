//! Numbers in either byte order.

/// The byte order of a file or section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    Big,
    #[default]
    Little,
}

impl Order {
    /// The number at `at`; zero beyond the end, which callers have excluded.
    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
        let number = u16::from_le_bytes(bytes.copied().unwrap_or_default());
        if self == Order::Big {
            number.swap_bytes()
        } else {
            number
        }
    }

    /// As [`u16`](Order::u16).
    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
        let number = u32::from_le_bytes(bytes.copied().unwrap_or_default());
        if self == Order::Big {
            number.swap_bytes()
        } else {
            number
        }
    }

    /// As [`u16`](Order::u16).
    #[inline]
    pub fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (self.u32(bytes, at).into(), self.u32(bytes, at + 4).into());
        let (high, low): (u64, u64) = match self {
            Order::Big => (first, second),
            Order::Little => (second, first),
        };
        high << 32 | low
    }

    /// A stamp of pcapng: two numbers, the high one first in either order.
    #[inline]
    pub fn stamp(self, bytes: &[u8], at: usize) -> u64 {
        u64::from(self.u32(bytes, at)) << 32 | u64::from(self.u32(bytes, at + 4))
    }
}
