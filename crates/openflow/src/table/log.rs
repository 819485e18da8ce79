//! A table's last changes, by which remembered lookups are judged.

use crate::key::{Key, Pattern};
use alloc::vec::Vec;

/// Maximum number of changes that are kept. A search through more would cost as much as a lookup.
const MAX_CHANGES: usize = 16;

/// The matches of the entries that came or went last.
///
/// What a lookup finds hangs on the entries that match its key, and on nothing else: of them the one of the highest rank. So as
/// long as none of them goes and none comes, the same key finds the same entry.
#[derive(Debug)]
pub(super) struct Log {
    /// Change number n is at place n modulo [`MAX_CHANGES`].
    kept: Vec<Pattern>,
    changes: u64,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            kept: Vec::new(),
            // So that a zero is never the number of changes that a table has seen.
            changes: 1,
        }
    }
}

impl Log {
    /// How many there have been, and one.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// An entry that matches this has come or gone.
    #[inline]
    pub fn push(&mut self, pattern: &Pattern) {
        if self.kept.is_empty() {
            self.kept.resize(MAX_CHANGES, Pattern::default());
        }
        self.kept[self.changes as usize % MAX_CHANGES] = *pattern;
        self.changes += 1;
    }

    /// Whether no entry that matches the key has come or gone after so many changes.
    #[inline]
    pub fn holds(&self, key: &Key, since: u64) -> bool {
        let ago = self.changes.wrapping_sub(since);
        ago == 0
            || ago <= MAX_CHANGES as u64
                && (since..self.changes)
                    .all(|change| !self.kept[change as usize % MAX_CHANGES].matches(key))
    }
}
