//! Lookups: of one key, and of several at once.

use super::filter::Filters;
use super::tuple::{NONE, Tuple};
use super::{FlowId, Flows, Table};
use crate::key::{Key, WORDS};
use crate::prefetch::fetch;
use alloc::vec::Vec;

/// Keys that are looked up at once: a word has a bit for each.
const AT_ONCE: usize = 64;

/// Room for looking several keys up at once.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Which keys each tuple, in order, is still to be asked for: a bit for each key.
    candidates: Vec<u64>,
    /// By filter: the keys that it has, once it has been asked.
    had: Vec<Option<u64>>,
    /// Which words of the keys stand in columns, and the columns.
    gathered: u16,
    columns: [[u64; AT_ONCE]; WORDS],
    /// The keys for which there may be something left, a bit for each.
    open: u64,
    tries: [Try; AT_ONCE],
    /// The ranks of what was found.
    ranks: [u32; AT_ONCE],
}

/// A look for a key in a tuple, which is known by its place in the order.
#[derive(Clone, Copy, Debug, Default)]
struct Try {
    key: u8,
    at: u32,
    hash: u32,
    /// The node that the hash leads to, once that is known.
    node: u32,
}

impl Try {
    #[inline]
    fn new(key: usize, at: usize, hash: u32) -> Try {
        Try {
            key: key as u8,
            at: at as u32,
            hash,
            node: NONE,
        }
    }
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            candidates: Vec::new(),
            had: Vec::new(),
            gathered: 0,
            columns: [[0; AT_ONCE]; WORDS],
            open: 0,
            tries: [Try::default(); AT_ONCE],
            ranks: [0; AT_ONCE],
        }
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}

impl Flows {
    /// The entry that a key matches with the highest rank. A table that there is not has none.
    #[inline]
    pub fn lookup(&self, table: u8, key: &Key) -> Option<FlowId> {
        let table = self.tables.get(usize::from(table))?;
        let mut asked = Asked::default();
        let (mut best, mut best_rank) = (None, 0);
        for &number in &table.order {
            let tuple = table.tuple(number);
            if best.is_some() && tuple.highest <= best_rank {
                break;
            }
            if let Some(filters) = &table.filters
                && !asked.pass(filters, &tuple.filters, key)
            {
                continue;
            }
            if let Some((entry, rank)) = tuple.lookup(key)
                && (best.is_none() || rank > best_rank)
            {
                (best, best_rank) = (Some(FlowId(entry)), rank);
            }
        }
        best
    }

    /// Looks several keys up at once, as [`lookup`](Flows::lookup) does each: `found` gets an entry for each key.
    ///
    /// What one lookup would wait for - a slot, the value that it leads to, the entry's counters - is asked of memory for
    /// all keys before any is used, so that large tables cost the time of one access where they would cost that of many.
    pub fn lookup_each(
        &self,
        table: u8,
        keys: &[impl AsRef<Key>],
        batch: &mut Batch,
        found: &mut Vec<Option<FlowId>>,
    ) {
        found.clear();
        found.resize(keys.len(), None);
        let Some(table) = self.tables.get(usize::from(table)) else {
            return;
        };
        for (keys, found) in keys.chunks(AT_ONCE).zip(found.chunks_mut(AT_ONCE)) {
            batch.look_up(self, table, keys, found);
        }
    }
}

/// What filters have said of one key.
#[derive(Default)]
struct Asked {
    known: u64,
    passed: u64,
}

impl Asked {
    /// Whether all filters that are worth asking have the key.
    #[inline]
    fn pass(&mut self, filters: &Filters, numbers: &[u32], key: &Key) -> bool {
        numbers.iter().all(|&number| {
            // A filter beyond the bits is asked each time.
            let bit = 1u64.checked_shl(number).unwrap_or(0);
            if self.known & bit != 0 {
                return self.passed & bit != 0;
            }
            let filter = filters.get(number);
            let passes = !filter.is_selective() || filter.has(key.0[filter.word()]) == 1;
            self.known |= bit;
            self.passed |= if passes { bit } else { 0 };
            passes
        })
    }
}

impl Batch {
    /// Rounds. In the first, every key is looked for under the best tuple for it, all of them together; in the others, those that
    /// are left under as many as there is room for, since to wait for memory once more would cost more than to look in vain.
    fn look_up(
        &mut self,
        flows: &Flows,
        table: &Table,
        keys: &[impl AsRef<Key>],
        found: &mut [Option<FlowId>],
    ) {
        if let [number] = table.order[..] {
            let tuple = table.tuple(number);
            for (at, (place, key)) in self.tries.iter_mut().zip(keys).enumerate() {
                let hash = tuple.hash(key.as_ref());
                tuple.fetch_slot(hash, 1);
                *place = Try::new(at, 0, hash);
            }
            self.ask(flows, keys, found, keys.len(), |_| tuple);
            return;
        }
        self.candidates.clear();
        self.gathered = 0;
        self.had.clear();
        let filters = table.filters.as_ref().map_or(0, Filters::len);
        self.had.resize(filters, None);
        self.open = u64::MAX >> (AT_ONCE - keys.len());
        for round in 0.. {
            let count = self.choose(table, keys, found, round > 0);
            if count == 0 {
                return;
            }
            let tuple = |at: u32| table.tuple(table.order[at as usize]);
            self.ask(flows, keys, found, count, tuple);
            // Keys that have such an entry by now are closed at once: the next round need not look at them.
            for a in &self.tries[..count] {
                let next = table.order.get(a.at as usize + 1);
                let next = next.map_or(0, |&number| table.tuple(number).highest);
                let key = usize::from(a.key);
                let is_done = found[key].is_some() && self.ranks[key] >= next;
                self.open &= !(u64::from(is_done) << key);
            }
        }
    }

    /// Chooses tuples for the keys that are open: one for each, or `more` of them. Keys for which nothing is left are closed. Says how many
    /// tries there are.
    fn choose(
        &mut self,
        table: &Table,
        keys: &[impl AsRef<Key>],
        found: &[Option<FlowId>],
        more: bool,
    ) -> usize {
        // The keys that may have a try, and those that have none yet.
        let (mut count, mut waiting, mut without) = (0, self.open, self.open);
        for (at, &number) in table.order.iter().enumerate() {
            if waiting == 0 {
                break;
            }
            let tuple = table.tuple(number);
            if at == self.candidates.len() {
                let candidates = match &table.filters {
                    Some(filters) => self.filter(filters, tuple, keys, self.open),
                    None => self.open,
                };
                self.candidates.push(candidates);
            }
            for key in bits(self.candidates[at] & waiting) {
                // What has found a better entry than any that is left goes no further.
                if more && found[key].is_some() && self.ranks[key] >= tuple.highest {
                    waiting &= !(1 << key);
                    continue;
                }
                if count == AT_ONCE {
                    return count;
                }
                self.candidates[at] &= !(1 << key);
                let hash = tuple.hash(keys[key].as_ref());
                let may = tuple.may_have(hash);
                tuple.fetch_slot(hash, may);
                // Written in any case, and counted if it is one: no branch hangs on the answer.
                self.tries[count] = Try::new(key, at, hash);
                count += may as usize;
                without &= !(may << key);
                waiting &= if more { u64::MAX } else { !(may << key) };
            }
        }
        self.open &= !without;
        count
    }

    /// Those of the keys that all of a tuple's filters have.
    #[inline]
    fn filter(
        &mut self,
        filters: &Filters,
        tuple: &Tuple,
        keys: &[impl AsRef<Key>],
        mut left: u64,
    ) -> u64 {
        for &number in &tuple.filters {
            if left == 0 {
                break;
            }
            let filter = filters.get(number);
            if !filter.is_selective() {
                continue;
            }
            // Of all keys, as other tuples will ask for them; no branch hangs on the answers.
            let had = self.had[number as usize].unwrap_or_else(|| {
                let column = &mut self.columns[filter.word()];
                if self.gathered >> filter.word() & 1 == 0 {
                    self.gathered |= 1 << filter.word();
                    for (place, key) in column.iter_mut().zip(keys) {
                        *place = key.as_ref().0[filter.word()];
                    }
                }
                let words = column.iter().rev();
                words.fold(0, |had, &word| had << 1 | filter.has(word))
            });
            self.had[number as usize] = Some(had);
            left &= had;
        }
        left
    }

    /// Makes so many tries, in tuples that are told by their places in the order.
    #[inline]
    fn ask<'a>(
        &mut self,
        flows: &Flows,
        keys: &[impl AsRef<Key>],
        found: &mut [Option<FlowId>],
        count: usize,
        tuple: impl Fn(u32) -> &'a Tuple,
    ) {
        let tries = &mut self.tries[..count];
        for a in &mut *tries {
            let tuple = tuple(a.at);
            a.node = tuple.probe(a.hash);
            tuple.fetch_node(a.node);
        }
        for a in tries {
            let key = usize::from(a.key);
            let looked_up = tuple(a.at).lookup_from(keys[key].as_ref(), a.hash, a.node);
            if let Some((entry, rank)) = looked_up
                && (found[key].is_none() || rank > self.ranks[key])
            {
                (found[key], self.ranks[key]) = (Some(FlowId(entry)), rank);
                fetch(&flows.hot[entry as usize]);
            }
        }
    }
}
