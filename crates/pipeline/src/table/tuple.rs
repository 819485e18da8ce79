//! Entries of one mask, by hash.

use super::hash::{SEED, Slots, mix};
use super::lookup::Rule;
use super::rank::{LAST, Rank};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// So many entries may share mask and value, told apart by ranges and priorities; more are better off in a block.
const CHAIN: usize = 16;

/// Whether an entry found place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Full,
}

#[derive(Debug)]
struct Held {
    row: u32,
    /// Those of the same value that lose to this one.
    next: u32,
    rule: Arc<Rule>,
}

#[derive(Debug)]
pub(super) struct Tuple {
    masks: Box<[u64]>,
    /// The cells where the mask is not zero.
    active: Vec<(u32, u64)>,
    slots: Slots,
    /// Values of the active cells, by place.
    values: Vec<u64>,
    /// By place; place 0 is none.
    held: Vec<Option<Held>>,
    free: Vec<u32>,
    places: BTreeMap<u32, u32>,
    ranks: BTreeSet<Rank>,
    best: Rank,
}

impl Tuple {
    pub(super) fn new(masks: &[u64]) -> Self {
        let active: Vec<_> = masks
            .iter()
            .enumerate()
            .filter(|(_, mask)| **mask != 0)
            .map(|(cell, mask)| (cell as u32, *mask))
            .collect();
        Tuple {
            masks: masks.into(),
            values: alloc::vec![0; active.len()],
            active,
            slots: Slots::new(),
            held: alloc::vec![None],
            free: Vec::new(),
            places: BTreeMap::new(),
            ranks: BTreeSet::new(),
            best: LAST,
        }
    }

    pub(super) fn has(&self, masks: &[u64]) -> bool {
        *self.masks == *masks
    }

    pub(super) fn len(&self) -> usize {
        self.ranks.len()
    }

    /// The best that a lookup can give.
    #[inline]
    pub(super) fn best(&self) -> Rank {
        self.best
    }

    #[inline]
    fn hash(&self, cells: &[u64]) -> u64 {
        let masked = self.active.iter();
        masked.fold(SEED, |hash, (cell, mask)| {
            mix(hash, cells[*cell as usize] & mask)
        })
    }

    #[inline]
    fn head(&self, hash: u64, cells: &[u64]) -> u32 {
        let count = self.active.len();
        self.slots.find(hash, |place| {
            let at = place as usize * count;
            let values = &self.values[at..at + count];
            let pairs = values.iter().zip(&self.active);
            pairs.fold(0, |differ, (value, (cell, mask))| {
                differ | (value ^ (cells[*cell as usize] & mask))
            }) == 0
        })
    }

    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<(u32, Rank)> {
        let hash = self.hash(key);
        if !self.slots.may_have(hash) {
            return None;
        }
        let mut place = self.head(hash, key);
        while let Some(held) = &self.held[place as usize] {
            if held.rule.pattern.ranges.iter().all(|r| r.holds(key)) {
                return Some((held.row, held.rule.rank()));
            }
            place = held.next;
        }
        None
    }

    pub(super) fn insert(&mut self, row: u32, rule: &Arc<Rule>) -> Way {
        let values = &rule.pattern.values;
        let hash = self.hash(values);
        let head = self.head(hash, values);
        let rank = rule.rank();
        // The one before it in the chain, and how long the chain is.
        let (mut before, mut at, mut length) = (0, head, 0);
        while let Some(held) = &self.held[at as usize] {
            if held.rule.rank() < rank {
                before = at;
            }
            length += 1;
            at = held.next;
        }
        if length >= CHAIN {
            return Way::Full;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            self.values.resize(self.held.len() * self.active.len(), 0);
            self.held.len() as u32 - 1
        });
        let count = self.active.len();
        for (number, (cell, _)) in self.active.iter().enumerate() {
            self.values[place as usize * count + number] = values[*cell as usize];
        }
        let next = match (&mut self.held[before as usize], head) {
            (Some(held), _) => core::mem::replace(&mut held.next, place),
            (None, head) => head,
        };
        if head == 0 {
            let (values, active) = (&self.values, &self.active);
            let hash_of = |place| hash_place(values, active.len(), place);
            self.slots.insert(hash, place, hash_of);
        } else if before == 0 {
            self.slots.replace(hash, head, place);
        }
        self.held[place as usize] = Some(Held {
            row,
            next,
            rule: rule.clone(),
        });
        self.places.insert(row, place);
        self.ranks.insert(rank);
        self.best = self.best.min(rank);
        Way::In
    }

    /// Takes an entry out, if it is here.
    pub(super) fn remove(&mut self, row: u32, rule: &Rule) -> bool {
        let Some(place) = self.places.remove(&row) else {
            return false;
        };
        let values = &rule.pattern.values;
        let hash = self.hash(values);
        let head = self.head(hash, values);
        let next = self.held[place as usize].as_ref().map_or(0, |h| h.next);
        if head != place {
            let mut at = head;
            while let Some(held) = &mut self.held[at as usize] {
                if held.next == place {
                    held.next = next;
                    break;
                }
                at = held.next;
            }
        } else if next != 0 {
            self.slots.replace(hash, place, next);
        } else {
            let (values, count) = (&self.values, self.active.len());
            self.slots
                .remove(hash, place, |place| hash_place(values, count, place));
        }
        self.held[place as usize] = None;
        self.free.push(place);
        self.ranks.remove(&rule.rank());
        self.best = self.ranks.first().copied().unwrap_or(LAST);
        true
    }
}

fn hash_place(values: &[u64], count: usize, place: u32) -> u64 {
    let values = &values[place as usize * count..(place as usize + 1) * count];
    values.iter().fold(SEED, |hash, value| mix(hash, *value))
}
