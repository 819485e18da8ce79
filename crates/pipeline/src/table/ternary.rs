//! Masks, ranges and priorities.
//!
//! Entries that share their mask with many others are found by hashing the masked key, one *tuple* a mask; those of rare masks stand
//! in *blocks* that compare 512 at once. Both are tried in the order of the best that they could give, and not at all once something
//! better is found. A mask gets its own tuple when as many entries have it as a block compares in the time of a hash.

use super::block::{Block, ENTRIES, Nibble, nibbles};
use super::form::Form;
use super::lookup::Rule;
use super::rank::{LAST, Rank};
use super::tuple::{Tuple, Way};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// So many entries in blocks make a tuple of their mask.
const WORTH: usize = 48;

#[derive(Debug)]
pub(super) struct Ternary {
    /// Those first in which the most bits count, as of when the number of entries last doubled.
    nibbles: Vec<Nibble>,
    /// How many bits of each nibble count, of all entries that ever were.
    weights: Vec<u64>,
    inserted: u64,
    /// Those that can give the best first.
    tuples: Vec<Tuple>,
    /// In the order of ranks.
    blocks: Vec<Block>,
    /// By mask: the ranks of the entries in blocks.
    rare: BTreeMap<Box<[u64]>, BTreeSet<Rank>>,
}

impl Ternary {
    pub(super) fn new(form: &Form) -> Self {
        let nibbles = nibbles(form);
        Ternary {
            weights: alloc::vec![0; nibbles.len()],
            inserted: 0,
            nibbles,
            tuples: Vec::new(),
            blocks: Vec::new(),
            rare: BTreeMap::new(),
        }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> u32 {
        let mut best = (0, LAST);
        for tuple in &self.tuples {
            if best.1 < tuple.best() {
                break;
            }
            if let Some(found) = tuple.find(key)
                && found.1 < best.1
            {
                best = found;
            }
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

    pub(super) fn insert(&mut self, row: u32, rule: &Arc<Rule>) {
        let masks = &rule.pattern.masks;
        for nibble in &self.nibbles {
            self.weights[nibble.number()] += nibble.weight(masks);
        }
        self.inserted += 1;
        if self.inserted.is_power_of_two() {
            let weights = &self.weights;
            self.nibbles
                .sort_by_key(|nibble| core::cmp::Reverse(weights[nibble.number()]));
        }
        if let Some(at) = self.tuples.iter().position(|t| t.has(masks)) {
            if self.tuples[at].insert(row, rule) == Way::In {
                self.settle(at);
                return;
            }
        } else {
            let rare = self.rare.entry(masks.clone()).or_default();
            rare.insert(rule.rank());
            if rare.len() >= WORTH {
                self.promote(masks.clone(), row, rule);
                return;
            }
        }
        self.insert_in_block(row, rule);
    }

    /// Makes a tuple of the entries in blocks that have this mask, and one more.
    fn promote(&mut self, masks: Box<[u64]>, row: u32, rule: &Arc<Rule>) {
        let ranks = self.rare.remove(&masks).unwrap_or_default();
        let mut tuple = Tuple::new(&masks);
        let mut left = Vec::new();
        for rank in ranks {
            let taken = if rank == rule.rank() {
                Some((row, rule.clone()))
            } else {
                self.remove_from_block(rank)
            };
            if let Some((row, rule)) = taken
                && tuple.insert(row, &rule) == Way::Full
            {
                left.push((row, rule));
            }
        }
        self.tuples.push(tuple);
        self.settle(self.tuples.len() - 1);
        for (row, rule) in left {
            self.insert_in_block(row, &rule);
        }
    }

    pub(super) fn remove(&mut self, row: u32, rule: &Rule) {
        let masks = &rule.pattern.masks;
        if let Some(at) = self.tuples.iter().position(|t| t.has(masks))
            && self.tuples[at].remove(row, rule)
        {
            if self.tuples[at].len() == 0 {
                self.tuples.remove(at);
            } else {
                self.settle(at);
            }
            return;
        }
        if let Some(rare) = self.rare.get_mut(masks) {
            rare.remove(&rule.rank());
            if rare.is_empty() {
                self.rare.remove(masks);
            }
        }
        self.remove_from_block(rule.rank());
    }

    /// Moves a tuple to where the best that it can give belongs.
    fn settle(&mut self, at: usize) {
        let mut at = at;
        while at > 0 && self.tuples[at].best() < self.tuples[at - 1].best() {
            self.tuples.swap(at, at - 1);
            at -= 1;
        }
        while at + 1 < self.tuples.len() && self.tuples[at + 1].best() < self.tuples[at].best() {
            self.tuples.swap(at, at + 1);
            at += 1;
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
