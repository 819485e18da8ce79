//! What an entry matches, and who wins.

use super::pattern::Pattern;
use core::cmp::Reverse;

/// The smaller wins: the larger priority, and of two equals the older.
pub(super) type Rank = (Reverse<u32>, u64);

/// Loses to all.
pub(super) const LAST: Rank = (Reverse(0), u64::MAX);

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) pattern: Pattern,
    /// The larger wins; of two equals the older.
    pub(super) priority: u32,
    pub(super) handle: u64,
}

impl Rule {
    /// The smaller wins.
    pub(super) fn rank(&self) -> Rank {
        (Reverse(self.priority), self.handle)
    }
}
