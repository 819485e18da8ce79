//! Lookups: of one key, and of several at once.

use super::filter::Filters;
use super::tuple::Tuple;
use super::{FlowId, Flows, Table};
use crate::key::{Key, WORDS};
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
    /// What is looked into: a key, and a tuple by its number.
    tries: [(u8, u32); AT_ONCE],
    hashes: [u32; AT_ONCE],
    slots: [u64; AT_ONCE],
    /// The ranks of what was found.
    ranks: [u32; AT_ONCE],
    /// Takes what was loaded early, so that it is loaded.
    sink: u64,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            candidates: Vec::new(),
            had: Vec::new(),
            gathered: 0,
            columns: [[0; AT_ONCE]; WORDS],
            tries: [(0, 0); AT_ONCE],
            hashes: [0; AT_ONCE],
            slots: [0; AT_ONCE],
            ranks: [0; AT_ONCE],
            sink: 0,
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
            batch.look_up(table, keys, found);
            let hot = found
                .iter()
                .flatten()
                .map(|id| self.hot[id.index()].program);
            batch.sink ^= hot.fold(0, |all, program| all ^ u64::from(program));
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
    fn look_up(&mut self, table: &Table, keys: &[impl AsRef<Key>], found: &mut [Option<FlowId>]) {
        if let [number] = table.order[..] {
            let tuple = table.tuple(number);
            return self.ask(keys, found, keys.len(), |_, at| (at, tuple));
        }
        self.candidates.clear();
        self.gathered = 0;
        self.had.clear();
        let filters = table.filters.as_ref().map_or(0, Filters::len);
        self.had.resize(filters, None);
        let mut open = u64::MAX >> (AT_ONCE - keys.len());
        for round in 0.. {
            let count = self.choose(table, keys, found, &mut open, round > 0);
            if count == 0 {
                return;
            }
            self.ask(keys, found, count, |tries, at| {
                let (key, number) = tries[at];
                (usize::from(key), table.tuple(number))
            });
        }
    }

    /// Chooses tuples for the keys that are open: one for each, or `more` of them. Keys for which nothing is left are closed. Says how many
    /// tries there are.
    fn choose(
        &mut self,
        table: &Table,
        keys: &[impl AsRef<Key>],
        found: &[Option<FlowId>],
        open: &mut u64,
        more: bool,
    ) -> usize {
        // The keys that may have a try, and those that have none yet.
        let (mut count, mut waiting, mut without) = (0, *open, *open);
        for (at, &number) in table.order.iter().enumerate() {
            if waiting == 0 {
                break;
            }
            let tuple = table.tuple(number);
            if at == self.candidates.len() {
                let candidates = match &table.filters {
                    Some(filters) => self.filter(filters, tuple, keys, *open),
                    None => *open,
                };
                self.candidates.push(candidates);
            }
            for key in bits(self.candidates[at] & waiting) {
                let bit = 1 << key;
                // What has found a better entry than any that is left goes no further.
                if found[key].is_some() && self.ranks[key] >= tuple.highest {
                    (*open, waiting) = (*open & !bit, waiting & !bit);
                    continue;
                }
                if count == AT_ONCE {
                    return count;
                }
                self.candidates[at] &= !bit;
                self.tries[count] = (key as u8, number);
                count += 1;
                without &= !bit;
                waiting &= if more { u64::MAX } else { !bit };
            }
        }
        *open &= !without;
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

    /// Looks so many keys up in a tuple each, which `tries` gives by number.
    #[inline]
    fn ask<'a>(
        &mut self,
        keys: &[impl AsRef<Key>],
        found: &mut [Option<FlowId>],
        count: usize,
        tries: impl Fn(&[(u8, u32); AT_ONCE], usize) -> (usize, &'a Tuple),
    ) {
        let (hashes, slots) = (&mut self.hashes[..count], &mut self.slots[..count]);
        for (at, hash) in hashes.iter_mut().enumerate() {
            let (key, tuple) = tries(&self.tries, at);
            *hash = tuple.hash(keys[key].as_ref());
        }
        for (at, (slot, &hash)) in slots.iter_mut().zip(&*hashes).enumerate() {
            *slot = tries(&self.tries, at).1.first_slot(hash);
        }
        // Loads that nothing depends on: they are under way together.
        let mut touched = 0;
        for (at, &slot) in slots.iter().enumerate() {
            touched ^= tries(&self.tries, at).1.touch(slot);
        }
        self.sink ^= touched;
        for (at, (&hash, &slot)) in hashes.iter().zip(&*slots).enumerate() {
            let (key, tuple) = tries(&self.tries, at);
            if let Some((entry, rank)) = tuple.lookup_from(keys[key].as_ref(), hash, slot)
                && (found[key].is_none() || rank > self.ranks[key])
            {
                (found[key], self.ranks[key]) = (Some(FlowId(entry)), rank);
            }
        }
    }
}
