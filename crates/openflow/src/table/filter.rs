//! Which parts of keys the entries of a table have, so that lookups leave out masks that cannot match.
//!
//! Open vSwitch tracks the prefixes of a table in tries, and a lookup leaves out the tuples whose prefix length no entry around
//! the packet's address has ([The Design and Implementation of Open vSwitch](https://www.usenix.org/conference/nsdi15/technical-sessions/presentation/pfaff),
//! section 5.4). Here the same is asked of any 32 bits of a key, prefix or not: a part is half a word of the key under the bits that
//! a mask has there, and a [Bloom filter](Bloom) says which values it has in the entries. A tuple is looked into
//! only if each of its parts has the key's value. Tuples share parts: twenty masks over addresses of five lengths ask ten
//! filters, not twenty tables, and filters are small enough for the processor's nearer caches.
//!
//! A filter may say yes where no entry has the value; then a lookup in vain is made. It never says no where one has.

use super::bloom::Bloom;
use super::tuple::mix;
use crate::key::{Key, WORDS};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Minimum number of different values of a selective field. Fewer are constants, such as an
/// EtherType.
const MIN_SELECTIVE_VALUES: usize = 8;

/// Bits for each value when a filter is built; as many values may come before it is built again.
const BITS: usize = 8;

/// Changes after which even the smallest filter is built again.
const REBUILD: usize = 32;

/// Half a word of a key, under the bits that a mask has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    word: usize,
    mask: u64,
}

impl Part {
    /// Those of a mask that are not zero.
    fn of(mask: &Key) -> impl Iterator<Item = Part> + '_ {
        let words = mask.0.iter().enumerate();
        let halves = words.flat_map(|(word, mask)| {
            let half = |half: u64| Part {
                word,
                mask: mask & half,
            };
            [half(u64::MAX << 32), half(u64::MAX >> 32)]
        });
        halves.filter(|part| part.mask != 0)
    }
}

/// The values that a part has in the entries of a table: all of them, and perhaps some more.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    part: Part,
    bloom: Bloom,
    seed: u64,
    /// How many different values it has been seen to have.
    seen: usize,
    /// Tuples that have the part, and their values.
    tuples: usize,
    values: usize,
    /// Values that have come or gone since it was built, and how many may.
    changes: usize,
    bearable: usize,
    selective: bool,
}

impl Filter {
    fn new(part: Part, seed: u64) -> Filter {
        let mut filter = Filter {
            part,
            bloom: Bloom::new(64),
            seed,
            seen: 0,
            tuples: 0,
            values: 0,
            changes: 0,
            bearable: 0,
            selective: false,
        };
        filter.clear();
        filter
    }

    /// Forgets all values, and makes room for as many as there are.
    fn clear(&mut self) {
        // More bits than eight times what the mask can tell apart are of no use.
        let most = 1usize << (self.part.mask.count_ones() + 3).min(40);
        let bits = (self.values.max(REBUILD) * BITS)
            .next_power_of_two()
            .min(most)
            .max(64);
        self.bloom = Bloom::new(bits);
        (self.seen, self.changes) = (0, 0);
        self.bearable = self.values.max(REBUILD);
        self.judge();
    }

    #[inline]
    fn hash(&self, word: u64) -> u64 {
        mix(word & self.part.mask, self.seed)
    }

    /// Takes down the value of the part in a key.
    #[inline]
    fn note(&mut self, key: &Key) {
        let hash = self.hash(key.0[self.part.word]);
        self.seen += usize::from(self.bloom.note(hash));
    }

    /// Decides whether it is worth asking: not when it knows few values, or nearly all that there are.
    fn judge(&mut self) {
        let space = 1usize << self.part.mask.count_ones().min(40);
        let most = space.min(self.bloom.bits() / 2);
        self.selective = self.seen >= MIN_SELECTIVE_VALUES && self.seen < most / 4 * 3;
    }

    /// Whether it is worth asking.
    #[inline]
    pub fn is_selective(&self) -> bool {
        self.selective
    }

    /// Which word of keys it is about.
    #[inline]
    pub fn word(&self) -> usize {
        self.part.word.min(WORDS - 1)
    }

    /// One if an entry may have what a key has in this word; zero is certain.
    #[inline]
    pub fn has(&self, word: u64) -> u64 {
        self.bloom.has(self.hash(word))
    }
}

/// The filters of a table.
#[derive(Debug, Default)]
pub(super) struct Filters {
    all: Vec<Filter>,
    by_part: BTreeMap<Part, u32>,
    /// Those that no tuple has any more.
    free: Vec<u32>,
}

impl Filters {
    #[inline]
    pub fn get(&self, number: u32) -> &Filter {
        &self.all[number as usize]
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The filters of a new tuple's parts.
    pub fn join(&mut self, mask: &Key, seed: u64) -> Vec<u32> {
        let numbers = Part::of(mask).map(|part| {
            let number = *self.by_part.entry(part).or_insert_with(|| {
                let filter = Filter::new(part, seed);
                match self.free.pop() {
                    Some(number) => {
                        self.all[number as usize] = filter;
                        number
                    }
                    None => {
                        self.all.push(filter);
                        (self.all.len() - 1) as u32
                    }
                }
            });
            self.all[number as usize].tuples += 1;
            number
        });
        numbers.collect()
    }

    /// A tuple, which has no values any more, goes.
    pub fn leave(&mut self, numbers: &[u32]) {
        for &number in numbers {
            let filter = &mut self.all[number as usize];
            filter.tuples -= 1;
            if filter.tuples == 0 {
                filter.bloom = Bloom::new(64);
                self.by_part.remove(&filter.part);
                self.free.push(number);
            }
        }
    }

    /// A value has come to a tuple that has these filters. Those that are due want [`build`](Filters::build).
    pub fn insert(&mut self, numbers: &[u32], value: &Key) -> bool {
        let mut due = false;
        for &number in numbers {
            let filter = &mut self.all[number as usize];
            filter.values += 1;
            filter.changes += 1;
            filter.note(value);
            filter.judge();
            due |= filter.changes >= filter.bearable;
        }
        due
    }

    /// A value has gone from a tuple that has these filters: its bits stay until they are built again.
    pub fn remove(&mut self, numbers: &[u32]) -> bool {
        let mut due = false;
        for &number in numbers {
            let filter = &mut self.all[number as usize];
            filter.values -= 1;
            filter.changes += 1;
            due |= filter.changes >= filter.bearable;
        }
        due
    }

    /// Whether a filter has seen as many changes as it had values: building it costs no more than they did.
    pub fn is_due(&self, number: u32) -> bool {
        let filter = &self.all[number as usize];
        filter.changes >= filter.bearable
    }

    /// Builds a filter again from all values of the tuples that have it.
    pub fn build(&mut self, number: u32, values: impl Iterator<Item = Key>) {
        let filter = &mut self.all[number as usize];
        filter.clear();
        values.for_each(|value| filter.note(&value));
        filter.judge();
    }
}
