//! Masks, ranges and priorities.
//!
//! Entries that share their mask with many others are found by hashing the masked key, one *tuple* a mask; those of rare masks stand
//! in *blocks* that compare 512 at once. Both are tried in the order of the best that they could give, and not at all once something
//! better is found; tuples only where every cell of the key is among their entries' ([`super::fields`]). A mask gets its own tuple when
//! as many entries have it as a block compares in the time of a hash; with ranges, when there is more than one block. A range of one value is a mask of all bits; all others are left out of
//! the mask, and tell the entries of a tuple that have the same value apart ([`super::range_tree`]).

use super::MatchKind;
use super::block::{Block, ENTRIES, Nibble, nibbles};
use super::fields::{self, Fields};
use super::form::Form;
use super::rule::{LAST, Rank, Rule};
use super::tuple::{Insertion, Rows, Tuple};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Minimum number of entries in blocks that become a tuple of their mask.
const MIN_TUPLE_ENTRIES: usize = 48;
/// Maximum number of tuples that are searched without a filter.
const MAX_UNFILTERED_TUPLES: usize = 2;
/// Maximum number of ranges that are sides of boxes; entries with more are distinguished by the
/// first ones, and compared whole.
const SIDES: usize = 8;

#[derive(Debug)]
pub(super) struct Ternary {
    /// Those first in which the most bits count, as of when the number of entries in blocks last doubled.
    nibbles: Vec<Nibble>,
    /// Number of relevant bits of each nibble, of all entries that ever were in blocks.
    weights: Vec<u64>,
    inserted: u64,
    /// The cells of ranges, and all bits of each.
    sides: Vec<(u32, u64)>,
    /// Whether there are ranges that are no side.
    wide: bool,
    rows: Rows,
    /// Those that can give the best first.
    tuples: Vec<Tuple>,
    fields: Fields,
    /// Entries that have left tuples since the fields were last made.
    gone: usize,
    /// In the order of ranks.
    blocks: Vec<Block>,
    /// By mask: the ranks of the entries in blocks.
    rare: BTreeMap<Box<[u64]>, BTreeSet<Rank>>,
}

impl Ternary {
    pub(super) fn new(form: &Form) -> Self {
        let nibbles = nibbles(form);
        let ranges = form.keys.iter().filter(|key| key.kind == MatchKind::Range);
        let sides = ranges.clone().filter(|key| key.cells() == 1);
        let all = |width: u32| u64::MAX.checked_shr(64 - width).unwrap_or(0);
        let sides: Vec<_> = sides
            .map(|key| (key.at as u32, all(key.ty.width())))
            .take(SIDES)
            .collect();
        Ternary {
            weights: alloc::vec![0; nibbles.len()],
            inserted: 0,
            nibbles,
            wide: sides.len() < ranges.count(),
            sides,
            rows: Rows::new(form.key_cells()),
            tuples: Vec::new(),
            fields: Fields::new(),
            gone: 0,
            blocks: Vec::new(),
            rare: BTreeMap::new(),
        }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> u32 {
        let mut best = (0, LAST);
        let mut first = 0;
        if self.tuples.len() > MAX_UNFILTERED_TUPLES {
            let mut candidates = fields::none();
            first = self.fields.candidates(key, &mut candidates);
            for number in fields::numbers(&candidates, first / 64) {
                let tuple = &self.tuples[number];
                if best.1 < tuple.best() {
                    break;
                }
                tuple.find(&self.rows, key, &mut best);
            }
        }
        for tuple in self.tuples.iter().skip(first) {
            if best.1 < tuple.best() {
                break;
            }
            tuple.find(&self.rows, key, &mut best);
        }
        for block in &self.blocks {
            if block.first().is_none_or(|first| best.1 < first) {
                break;
            }
            if let Some(found) = block.find(&self.nibbles, key) {
                if found.1 < best.1 {
                    best = found;
                }
                break;
            }
        }
        best.0
    }

    /// The mask of an entry's tuple.
    fn masks(&self, rule: &Rule) -> Box<[u64]> {
        let mut masks = rule.pattern.masks.clone();
        for (cell, all) in &self.sides {
            let mask = &mut masks[*cell as usize];
            if *mask != *all {
                *mask = 0;
            }
        }
        masks
    }

    /// Adds an entry while readers are about, if its tuple can.
    pub(super) fn add(&self, row: u32, rule: &Rule) -> bool {
        let masks = self.masks(rule);
        let Some(tuple) = self.tuples.iter().find(|tuple| tuple.has(&masks)) else {
            return false;
        };
        if !self.rows.has_room(row) || !self.fields.has_room(&masks) {
            return false;
        }
        // Before the tuple has it: who does not look there finds nothing.
        self.fields.add(&masks, &rule.pattern.values);
        tuple.add(&self.rows, row, rule)
    }

    pub(super) fn insert(&mut self, row: u32, rule: &Arc<Rule>) {
        self.rows.room(row);
        self.rows.write(row, rule);
        let masks = self.masks(rule);
        if let Some(at) = self.tuples.iter().position(|t| t.has(&masks)) {
            self.fields.room(&masks, &self.tuples, &self.rows);
            self.fields.add(&masks, &rule.pattern.values);
            if self.tuples[at].insert(&self.rows, row, rule) == Insertion::In {
                self.settle(at);
                return;
            }
        } else {
            let rare = self.rare.entry(masks.clone()).or_default();
            rare.insert(rule.rank());
            // As long as one block has all there is, boxes cannot do better.
            let boxed = self.wide
                || self
                    .sides
                    .iter()
                    .any(|(cell, _)| masks[*cell as usize] == 0);
            if rare.len() >= MIN_TUPLE_ENTRIES && (!boxed || self.blocks.len() > 1) {
                self.promote(masks, row, rule);
                return;
            }
        }
        self.insert_in_block(row, rule);
    }

    /// Makes a tuple of the entries in blocks that have this mask, and one more.
    fn promote(&mut self, masks: Box<[u64]>, row: u32, rule: &Arc<Rule>) {
        let ranks = self.rare.remove(&masks).unwrap_or_default();
        let sides = self.sides.iter().copied();
        let sides = sides.filter(|(cell, _)| masks[*cell as usize] == 0);
        let mut tuple = Tuple::new(&masks, sides.collect(), self.wide);
        let mut left = Vec::new();
        for rank in ranks {
            let taken = if rank == rule.rank() {
                Some((row, rule.clone()))
            } else {
                self.remove_from_block(rank)
            };
            if let Some((row, rule)) = taken
                && tuple.insert(&self.rows, row, &rule) == Insertion::Full
            {
                left.push((row, rule));
            }
        }
        self.fields.meet(&tuple, &self.tuples, &self.rows);
        self.tuples.push(tuple);
        self.settle(self.tuples.len() - 1);
        self.fields.index_tuples(&self.tuples);
        for (row, rule) in left {
            self.insert_in_block(row, &rule);
        }
    }

    pub(super) fn remove(&mut self, row: u32, rule: &Arc<Rule>) {
        let masks = self.masks(rule);
        if let Some(at) = self.tuples.iter().position(|t| t.has(&masks))
            && self.tuples[at].remove(&self.rows, row, rule)
        {
            self.gone += 1;
            if self.tuples[at].len() == 0 {
                self.tuples.remove(at);
                self.fields.index_tuples(&self.tuples);
            } else {
                self.settle(at);
            }
            let left: usize = self.tuples.iter().map(Tuple::len).sum();
            if self.gone > MIN_TUPLE_ENTRIES + left / 2 {
                self.gone = 0;
                self.fields.renew(&self.tuples, &self.rows);
            }
            return;
        }
        if let Some(rare) = self.rare.get_mut(&masks) {
            rare.remove(&rule.rank());
            if rare.is_empty() {
                self.rare.remove(&masks);
            }
        }
        self.remove_from_block(rule.rank());
    }

    /// Moves a tuple to where the best that it can give belongs.
    fn settle(&mut self, from: usize) {
        let mut at = from;
        while at > 0 && self.tuples[at].best() < self.tuples[at - 1].best() {
            self.tuples.swap(at, at - 1);
            at -= 1;
        }
        while at + 1 < self.tuples.len() && self.tuples[at + 1].best() < self.tuples[at].best() {
            self.tuples.swap(at, at + 1);
            at += 1;
        }
        if at != from {
            self.fields.index_tuples(&self.tuples);
        }
    }

    /// The block where an entry with this rank is, or would be.
    fn block_of(&self, rank: Rank) -> usize {
        let at = self
            .blocks
            .partition_point(|block| block.last().is_some_and(|last| last < rank));
        at.min(self.blocks.len().saturating_sub(1))
    }

    fn insert_in_block(&mut self, row: u32, rule: &Arc<Rule>) {
        for nibble in &self.nibbles {
            self.weights[nibble.number()] += nibble.weight(&rule.pattern);
        }
        self.inserted += 1;
        if self.inserted.is_power_of_two() {
            let weights = &self.weights;
            self.nibbles
                .sort_by_key(|nibble| core::cmp::Reverse(weights[nibble.number()]));
        }
        if self.blocks.is_empty() {
            self.blocks.push(Block::new(self.nibbles.len()));
        }
        let mut at = self.block_of(rule.rank());
        if self.blocks[at].len() == ENTRIES {
            let mut upper = Block::new(self.nibbles.len());
            for (row, rule) in self.blocks[at].split() {
                upper.insert(&self.nibbles, row, &rule);
            }
            self.blocks.insert(at + 1, upper);
            at = self.block_of(rule.rank());
        }
        self.blocks[at].insert(&self.nibbles, row, rule);
    }

    fn remove_from_block(&mut self, rank: Rank) -> Option<(u32, Arc<Rule>)> {
        let at = self.block_of(rank);
        let taken = self.blocks.get_mut(at)?.remove(rank);
        // Two that are half empty together are one.
        let small = |block: Option<&Block>| block.map_or(ENTRIES, Block::len);
        if self.blocks[at].len() == 0 {
            self.blocks.remove(at);
        } else if self.blocks[at].len() + small(self.blocks.get(at + 1)) <= ENTRIES / 2 {
            let mut upper = self.blocks.remove(at + 1);
            while let Some(first) = upper.first() {
                if let Some((row, rule)) = upper.remove(first) {
                    self.blocks[at].insert(&self.nibbles, row, &rule);
                }
            }
        }
        taken
    }
}
