//! Ranges of addresses or prefixes.

use alloc::vec::Vec;

/// Addresses from `first` to `last`, `step` apart: 1 for addresses, the size of a prefix for prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The first address.
    pub first: u128,
    /// The last one; not below `first`, a multiple of `step` from it.
    pub last: u128,
    /// Distance of two addresses, at least 1.
    pub step: u128,
}

impl Range {
    /// A range of one address.
    pub const fn one(address: u128) -> Range {
        Range {
            first: address,
            last: address,
            step: 1,
        }
    }

    /// Whether an address is one of the range.
    pub fn contains(&self, address: u128) -> bool {
        (self.first..=self.last).contains(&address)
            && (address - self.first).is_multiple_of(self.step)
    }

    /// The range without some addresses, in parts.
    pub fn without(self, mut holes: Vec<u128>) -> Vec<Range> {
        holes.retain(|hole| self.contains(*hole));
        holes.sort_unstable();
        let mut parts = Vec::new();
        let mut first = Some(self.first);
        for hole in holes {
            if let Some(first) = first.filter(|first| *first < hole) {
                parts.push(Range {
                    first,
                    last: hole - self.step,
                    step: self.step,
                });
            }
            first = hole.checked_add(self.step);
        }
        if let Some(first) = first.filter(|first| *first <= self.last) {
            parts.push(Range { first, ..self });
        }
        parts
    }

    /// Index of the last address.
    pub(super) fn top(&self) -> u128 {
        (self.last - self.first) / self.step
    }

    pub(super) fn address(&self, index: u128) -> u128 {
        self.first + index * self.step
    }
}
