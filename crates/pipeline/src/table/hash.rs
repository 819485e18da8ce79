//! Exact matches: open addressing with linear probing, at most half full.

use alloc::vec::Vec;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU64, AtomicUsize};

/// Cells of a page of memory.
const PAGE: usize = 4096 / size_of::<AtomicU64>();

/// So many cells of zero.
pub(super) fn zeros(count: usize) -> Vec<AtomicU64> {
    let cells: Vec<_> = (0..count).map(|_| AtomicU64::new(0)).collect();
    // The kernel gives a page at the first write. If somebody has looked before, as those who forward packets do, it takes that look back on all
    // processors, and each of the first inserts would wait for them.
    for cell in cells.iter().step_by(PAGE) {
        cell.store(0, Relaxed);
    }
    cells
}

/// Makes room for `count` cells, with some to spare, so that this seldom happens.
pub(super) fn grow(cells: &mut Vec<AtomicU64>, count: usize) {
    if cells.len() < count {
        cells.resize_with(count.next_power_of_two(), AtomicU64::default);
    }
}

/// What hashes are multiplied by: a number without structure.
pub const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes one more cell into a hash: the two halves of their product with [`HASH_FACTOR`].
#[inline]
pub(super) fn mix(hash: u64, cell: u64) -> u64 {
    let product = u128::from(hash ^ cell) * u128::from(HASH_FACTOR);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Where hashes begin.
pub const HASH_SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// Slots of a row and the upper half of its hash, whose low bits say where the slot is; 0 is free. What the keys are, and how to
/// compare them, the user knows.
///
/// A row is added by one store, so that readers may be about meanwhile. Everything else wants the slots for itself.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<AtomicU64>,
    used: AtomicUsize,
    /// Eight bits or more for each row; one that is not set says that no row has such a hash. Small enough to stay near the processor
    /// where the slots do not.
    filter: Vec<AtomicU64>,
}

/// Bits of the filter for each slot.
const FILTER: usize = 4;

const TAG: u64 = 0xffff_ffff_0000_0000;

/// Where the search for a hash, or for a slot with its upper half, begins.
#[inline]
fn home(hash: u64, mask: usize) -> usize {
    (hash >> 32) as usize & mask
}

impl Slots {
    pub(super) fn new() -> Self {
        Slots {
            slots: zeros(16),
            used: AtomicUsize::new(0),
            filter: zeros(16 * FILTER / 64),
        }
    }

    #[inline]
    fn filter_bit(&self, hash: u64) -> (usize, u64) {
        let bit = home(hash, self.filter.len() * 64 - 1);
        (bit / 64, 1 << (bit % 64))
    }

    /// Whether there may be a row with this hash. Worth asking where most lookups find nothing.
    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = self.filter_bit(hash);
        self.filter[word].load(Acquire) & bit != 0
    }

    /// The row with this hash that `is` it, or 0.
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = home(hash, mask);
        loop {
            // What was written before the slot is seen with it.
            let slot = self.slots[at].load(Acquire);
            if slot == 0 {
                return 0;
            }
            if (slot ^ hash) & TAG == 0 && is(slot as u32) {
                return slot as u32;
            }
            at = (at + 1) & mask;
        }
    }

    /// Whether another row can be added by [`Self::add`].
    pub(super) fn has_room(&self) -> bool {
        (self.used.load(Relaxed) + 1) * 2 <= self.slots.len()
    }

    /// Adds a row, which is not there, while there is room.
    pub(super) fn add(&self, hash: u64, row: u32) {
        self.put(hash, (hash & TAG) | u64::from(row));
        self.used.store(self.used.load(Relaxed) + 1, Relaxed);
    }

    /// Adds a row, which is not there.
    pub(super) fn insert(&mut self, hash: u64, row: u32) {
        if !self.has_room() {
            let grown = zeros(self.slots.len() * 2);
            self.filter = zeros(grown.len() * FILTER / 64);
            for slot in core::mem::replace(&mut self.slots, grown) {
                let slot = slot.into_inner();
                if slot != 0 {
                    self.put(slot, slot);
                }
            }
        }
        self.add(hash, row);
    }

    fn put(&self, hash: u64, slot: u64) {
        let (word, bit) = self.filter_bit(hash);
        let bits = self.filter[word].load(Relaxed);
        self.filter[word].store(bits | bit, Release);
        let mask = self.slots.len() - 1;
        let mut at = home(hash, mask);
        while self.slots[at].load(Relaxed) != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at].store(slot, Release);
    }

    /// All rows.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> + '_ {
        let slots = self.slots.iter().map(|slot| slot.load(Relaxed) as u32);
        slots.filter(|row| *row != 0)
    }

    /// Puts another row in the place of one.
    pub(super) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        if let Some(at) = self.position(hash, old) {
            self.slots[at].store((hash & TAG) | u64::from(new), Release);
        }
    }

    /// Takes a row out, and moves those up that it kept from their places.
    pub(super) fn remove(&mut self, hash: u64, row: u32) {
        let Some(mut hole) = self.position(hash, row) else {
            return;
        };
        let mask = self.slots.len() - 1;
        *self.used.get_mut() -= 1;
        let mut at = hole;
        loop {
            *self.slots[hole].get_mut() = 0;
            loop {
                at = (at + 1) & mask;
                let slot = *self.slots[at].get_mut();
                if slot == 0 {
                    return;
                }
                let home = home(slot, mask);
                // It may move if its home is not between the hole and where it is.
                if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                    *self.slots[hole].get_mut() = slot;
                    hole = at;
                    break;
                }
            }
        }
    }

    fn position(&self, hash: u64, row: u32) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut at = home(hash, mask);
        loop {
            match self.slots[at].load(Relaxed) {
                0 => return None,
                slot if slot as u32 == row => return Some(at),
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// All bits of all keys.
#[derive(Debug)]
pub(super) struct Exact {
    slots: Slots,
    cells: usize,
    /// By row.
    keys: Vec<AtomicU64>,
}

impl Exact {
    pub(super) fn new(cells: usize) -> Self {
        Exact {
            slots: Slots::new(),
            cells,
            keys: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> u32 {
        if let [cell] = *key {
            return self.find_cell(cell);
        }
        let cells = self.cells;
        self.slots.find(hash_of(key), |row| {
            let at = row as usize * cells;
            same(&self.keys[at..at + cells], key)
        })
    }

    /// The same where keys have one cell.
    #[inline]
    pub(super) fn find_cell(&self, cell: u64) -> u32 {
        self.slots.find(mix(HASH_SEED, cell), |row| {
            self.keys[row as usize].load(Relaxed) == cell
        })
    }

    /// Words 1 to 4 of the table's probe.
    pub(super) fn probe(&self) -> [usize; 4] {
        let slots = &self.slots.slots;
        let keys = self.keys.as_ptr().addr();
        [slots.as_ptr().addr(), slots.len() - 1, keys, 0]
    }

    /// Adds a row while readers are about, if there is room.
    pub(super) fn add(&self, row: u32, key: &[u64]) -> bool {
        let at = row as usize * self.cells;
        if !self.slots.has_room() || self.keys.len() < at + self.cells {
            return false;
        }
        for (cell, value) in self.keys[at..].iter().zip(key) {
            cell.store(*value, Relaxed);
        }
        self.slots.add(hash_of(key), row);
        true
    }

    pub(super) fn insert(&mut self, row: u32, key: &[u64]) {
        let at = row as usize * self.cells;
        grow(&mut self.keys, at + self.cells);
        for (cell, value) in self.keys[at..].iter_mut().zip(key) {
            *cell.get_mut() = *value;
        }
        self.slots.insert(hash_of(key), row);
    }

    pub(super) fn remove(&mut self, row: u32, key: &[u64]) {
        self.slots.remove(hash_of(key), row);
    }
}

#[inline]
fn same(left: &[AtomicU64], right: &[u64]) -> bool {
    // Not `==`, which calls memcmp for a few words.
    let pairs = left.iter().zip(right);
    pairs.fold(0, |differ, (a, b)| differ | (a.load(Relaxed) ^ b)) == 0
}

/// The hash of a key.
#[inline]
pub(super) fn hash_of(key: &[u64]) -> u64 {
    key.iter().fold(HASH_SEED, |hash, cell| mix(hash, *cell))
}
