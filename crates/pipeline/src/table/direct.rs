//! Exact matches of one short key: the key is the place of the row.

use alloc::vec::Vec;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Maximum width of a key, bits: 256 kB when the largest key is there.
pub(super) const MAX_KEY_BITS: u32 = 16;

/// Rows by key, up to the largest key that ever was there.
#[derive(Debug, Default)]
pub(super) struct Direct {
    rows: Vec<AtomicU32>,
}

impl Direct {
    #[inline]
    pub(super) fn find(&self, key: u64) -> u32 {
        let row = usize::try_from(key).ok().and_then(|at| self.rows.get(at));
        row.map_or(0, |row| row.load(Acquire))
    }

    /// Adds a row while readers are about, if there is a place for it.
    pub(super) fn add(&self, row: u32, key: u64) -> bool {
        let place = self.rows.get(key as usize);
        place.map(|place| place.store(row, Release)).is_some()
    }

    pub(super) fn insert(&mut self, row: u32, key: u64) {
        let count = key as usize + 1;
        if self.rows.len() < count {
            self.rows
                .resize_with(count.next_power_of_two(), AtomicU32::default);
        }
        *self.rows[key as usize].get_mut() = row;
    }

    pub(super) fn remove(&mut self, key: u64) {
        if let Some(place) = self.rows.get(key as usize) {
            place.store(0, Relaxed);
        }
    }

    /// Words 1 to 4 of the table's probe.
    pub(super) fn probe(&self) -> [usize; 4] {
        [self.rows.as_ptr().addr(), self.rows.len(), 0, 0]
    }
}
