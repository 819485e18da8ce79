//! Entries of one mask, by hash.

use super::hash::{HASH_SEED, Slots, grow, mix, zeros};
use super::range_tree::{RangeEntry, RangeTree};
use super::rule::{LAST, Rank, Rule};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};
use node::random::split_mix;

/// So many entries may share mask and value, told apart by priorities alone; more are better off in a block.
const CHAIN: usize = 16;

/// Whether an entry found place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    In,
    Full,
}

/// What the tuples of a table know of each row.
#[derive(Debug)]
pub(super) struct Rows {
    cells: usize,
    values: Vec<AtomicU64>,
    /// Priority and handle.
    ranks: Vec<AtomicU64>,
    /// Those of the same mask and value that lose to this one.
    next: Vec<AtomicU64>,
}

impl Rows {
    pub(super) fn new(cells: usize) -> Self {
        Rows {
            cells,
            values: Vec::new(),
            ranks: Vec::new(),
            next: zeros(1),
        }
    }

    pub(super) fn room(&mut self, row: u32) {
        let count = row as usize + 1;
        grow(&mut self.values, count * self.cells);
        grow(&mut self.ranks, count * 2);
        grow(&mut self.next, count);
    }

    pub(super) fn has_room(&self, row: u32) -> bool {
        let count = row as usize + 1;
        self.values.len() >= count * self.cells
            && self.ranks.len() >= count * 2
            && self.next.len() >= count
    }

    pub(super) fn write(&self, row: u32, rule: &Rule) {
        let values = &self.values[row as usize * self.cells..];
        for (cell, value) in values.iter().zip(&*rule.pattern.values) {
            cell.store(*value, Relaxed);
        }
        let (Reverse(priority), handle) = rule.rank();
        self.ranks[row as usize * 2].store(u64::from(priority), Relaxed);
        self.ranks[row as usize * 2 + 1].store(handle, Relaxed);
        self.next[row as usize].store(0, Relaxed);
    }

    #[inline]
    fn rank(&self, row: u32) -> Rank {
        let rank = &self.ranks[row as usize * 2..row as usize * 2 + 2];
        (Reverse(rank[0].load(Relaxed) as u32), rank[1].load(Relaxed))
    }

    #[inline]
    fn value(&self, row: u32, cell: u32) -> u64 {
        self.values[row as usize * self.cells + cell as usize].load(Relaxed)
    }

    fn next(&self, row: u32) -> u32 {
        self.next[row as usize].load(Relaxed) as u32
    }

    fn set_next(&self, row: u32, next: u32) {
        self.next[row as usize].store(u64::from(next), Relaxed);
    }
}

/// For each value of the mask the entries that ranges tell apart.
#[derive(Debug)]
struct Piles {
    /// The cells that are sides of boxes.
    sides: Vec<(u32, u64)>,
    /// Values of the active cells, by pile; pile 0 is none.
    values: Vec<u64>,
    piles: Vec<RangeTree>,
    free: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Tuple {
    masks: Box<[u64]>,
    /// The cells where the mask is not zero.
    active: Vec<(u32, u64)>,
    /// Rows, or piles.
    slots: Slots,
    piles: Option<Piles>,
    count: AtomicUsize,
    /// No entry is better.
    best: Rank,
    /// How many have gone since `best` was looked for.
    gone: usize,
}

/// The multiplier of a cell in a tuple's hash; the cells' products are summed, so that none waits for the one before it.
const fn multiplier(cell: u32) -> u64 {
    split_mix(0, cell as u64) | 1
}

const MULTIPLIERS: [u64; 64] = {
    let mut all = [0; 64];
    let mut cell = 0;
    while cell < 64 {
        all[cell as usize] = multiplier(cell);
        cell += 1;
    }
    all
};

impl Tuple {
    /// Of entries that have these masks, and are told apart by the ranges of these cells, each with all bits that its key has.
    pub(super) fn new(masks: &[u64], sides: Vec<(u32, u64)>, wide: bool) -> Self {
        let cells = masks.iter().enumerate();
        let active: Vec<_> = cells
            .filter(|(_, mask)| **mask != 0)
            .map(|(cell, mask)| (cell as u32, *mask))
            .collect();
        let piles = (wide || !sides.is_empty()).then(|| Piles {
            sides,
            values: alloc::vec![0; active.len()],
            piles: alloc::vec![RangeTree::default()],
            free: Vec::new(),
        });
        Tuple {
            masks: masks.into(),
            active,
            slots: Slots::new(),
            piles,
            count: AtomicUsize::new(0),
            best: LAST,
            gone: 0,
        }
    }

    pub(super) fn has(&self, masks: &[u64]) -> bool {
        *self.masks == *masks
    }

    pub(super) fn masks(&self) -> &[u64] {
        &self.masks
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// No better than this can a lookup give.
    #[inline]
    pub(super) fn best(&self) -> Rank {
        self.best
    }

    /// The first row, or the pile, of a masked key.
    #[inline]
    fn head(&self, rows: &Rows, hash: u64, cells: &[u64]) -> u32 {
        self.slots.find(hash, |found| {
            let same = |number: usize, cell: u32| match &self.piles {
                None => rows.value(found, cell),
                Some(piles) => piles.values[found as usize * self.active.len() + number],
            };
            let active = self.active.iter().enumerate();
            active.fold(0, |differ, (number, (cell, mask))| {
                differ | (same(number, *cell) ^ (cells[*cell as usize] & mask))
            }) == 0
        })
    }

    /// Finds what is better than `best`.
    #[inline]
    pub(super) fn find(&self, rows: &Rows, key: &[u64], best: &mut (u32, Rank)) {
        let hash = hash(&self.active, |cell| key[cell as usize]);
        if !self.slots.may_have(hash) {
            return;
        }
        let head = self.head(rows, hash, key);
        if head == 0 {
            return;
        }
        match &self.piles {
            None => {
                let rank = rows.rank(head);
                if rank < best.1 {
                    *best = (head, rank);
                }
            }
            Some(piles) => piles.find(head, key, best),
        }
    }

    /// Adds an entry while readers are about, if it has a value of its own and wins over nothing that the tuple promises.
    pub(super) fn add(&self, rows: &Rows, row: u32, rule: &Rule) -> bool {
        let values = &rule.pattern.values;
        let hash = hash(&self.active, |cell| values[cell as usize]);
        if self.piles.is_some()
            || !self.slots.has_room()
            || rule.rank() < self.best
            || self.head(rows, hash, values) != 0
        {
            return false;
        }
        rows.write(row, rule);
        self.slots.add(hash, row);
        self.count.store(self.len() + 1, Relaxed);
        true
    }

    /// Adds an entry of which the rows know.
    pub(super) fn insert(&mut self, rows: &Rows, row: u32, rule: &Arc<Rule>) -> Insertion {
        let values = &rule.pattern.values;
        let hash = hash(&self.active, |cell| values[cell as usize]);
        let head = self.head(rows, hash, values);
        let rank = rule.rank();
        if self.piles.is_some() {
            self.pile(hash, head, row, rule);
        } else {
            // The one before it in the chain, and how long the chain is.
            let (mut before, mut at, mut length) = (0, head, 0);
            while at != 0 {
                if rows.rank(at) < rank {
                    before = at;
                }
                length += 1;
                at = rows.next(at);
            }
            if length >= CHAIN {
                return Insertion::Full;
            }
            if before != 0 {
                rows.set_next(row, rows.next(before));
                rows.set_next(before, row);
            } else {
                rows.set_next(row, head);
                if head != 0 {
                    self.slots.replace(hash, head, row);
                } else {
                    self.slots.insert(hash, row);
                }
            }
        }
        *self.count.get_mut() += 1;
        self.best = self.best.min(rank);
        Insertion::In
    }

    fn pile(&mut self, hash: u64, head: u32, row: u32, rule: &Arc<Rule>) {
        let Some(piles) = &mut self.piles else {
            return;
        };
        let mut pile = head;
        if pile == 0 {
            pile = piles.free.pop().unwrap_or_else(|| {
                piles.piles.push(RangeTree::default());
                piles
                    .values
                    .resize(piles.piles.len() * self.active.len(), 0);
                piles.piles.len() as u32 - 1
            });
            let at = pile as usize * self.active.len();
            for (number, (cell, mask)) in self.active.iter().enumerate() {
                piles.values[at + number] = rule.pattern.values[*cell as usize] & mask;
            }
            self.slots.insert(hash, pile);
        }
        let entry = piles.entry(row, rule);
        piles.piles[pile as usize].insert(entry);
    }

    /// Takes an entry out, if it is here.
    pub(super) fn remove(&mut self, rows: &Rows, row: u32, rule: &Arc<Rule>) -> bool {
        let values = &rule.pattern.values;
        let hash = hash(&self.active, |cell| values[cell as usize]);
        let head = self.head(rows, hash, values);
        if head == 0 {
            return false;
        }
        if let Some(piles) = &mut self.piles {
            let sides = piles.entry(row, rule).sides;
            if !piles.piles[head as usize].remove(rule.rank(), &sides) {
                return false;
            }
            if piles.piles[head as usize].len() == 0 {
                piles.piles[head as usize] = RangeTree::default();
                self.slots.remove(hash, head);
                piles.free.push(head);
            }
        } else {
            let (mut before, mut at) = (0, head);
            while at != row {
                if at == 0 {
                    return false;
                }
                (before, at) = (at, rows.next(at));
            }
            let next = rows.next(row);
            if before != 0 {
                rows.set_next(before, next);
            } else if next != 0 {
                self.slots.replace(hash, row, next);
            } else {
                self.slots.remove(hash, row);
            }
        }
        *self.count.get_mut() -= 1;
        self.gone += 1;
        if rule.rank() == self.best && self.gone * 8 > self.len() {
            self.gone = 0;
            self.best = self.look_for_best(rows);
        }
        true
    }

    fn look_for_best(&self, rows: &Rows) -> Rank {
        let ranks = self.slots.all().map(|found| match &self.piles {
            None => rows.rank(found),
            Some(piles) => piles.piles[found as usize].first(),
        });
        ranks.min().unwrap_or(LAST)
    }

    /// Tells the value in a cell of each row or pile.
    pub(super) fn values(&self, rows: &Rows, cell: u32, mut visit: impl FnMut(u64)) {
        let Some(number) = self.active.iter().position(|(active, _)| *active == cell) else {
            return;
        };
        for found in self.slots.all() {
            visit(match &self.piles {
                None => rows.value(found, cell),
                Some(piles) => piles.values[found as usize * self.active.len() + number],
            });
        }
    }
}

/// The hash of the masked value of each cell.
#[inline]
fn hash(active: &[(u32, u64)], value: impl Fn(u32) -> u64) -> u64 {
    let sum = active.iter().fold(0u64, |sum, (cell, mask)| {
        let multiplier = MULTIPLIERS[*cell as usize & 63];
        sum.wrapping_add((value(*cell) & mask).wrapping_mul(multiplier))
    });
    mix(HASH_SEED, sum)
}

impl Piles {
    fn find(&self, pile: u32, key: &[u64], best: &mut (u32, Rank)) {
        let mut point = [0; 8];
        let ranges = &self.piles[pile as usize];
        if ranges.first() >= best.1 {
            return;
        }
        // There are no more sides than that.
        for (at, (cell, _)) in point.iter_mut().zip(&self.sides) {
            *at = key[*cell as usize];
        }
        ranges.find(&point[..self.sides.len()], key, best);
    }

    fn entry(&self, row: u32, rule: &Arc<Rule>) -> RangeEntry {
        let pattern = &rule.pattern;
        let side = |(cell, all): &(u32, u64)| {
            let at = *cell as usize;
            let mut ranges = pattern.ranges.iter();
            match ranges.find(|range| range.at == at && range.low.len() == 1) {
                Some(range) => [range.low[0], range.high[0]],
                // What a mask says.
                None => {
                    let value = pattern.values[at];
                    [value, value | (all & !pattern.masks[at])]
                }
            }
        };
        let sides: Arc<[_]> = self.sides.iter().map(side).collect();
        // A range that is no side.
        let told = |cell: usize| self.sides.iter().any(|(side, _)| *side as usize == cell);
        let wide = pattern.ranges.iter().any(|range| !told(range.at));
        RangeEntry {
            row,
            rank: rule.rank(),
            sides,
            wide: wide.then(|| rule.clone()),
        }
    }
}
