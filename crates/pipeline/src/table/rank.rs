//! Who wins.

use core::cmp::Reverse;

/// The smaller wins: the larger priority, and of two equals the older.
pub(super) type Rank = (Reverse<u32>, u64);

/// Loses to all.
pub(super) const LAST: Rank = (Reverse(0), u64::MAX);
