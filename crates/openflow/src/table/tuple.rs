//! One mask of a table, and a hash table of the values that entries have under it.

use crate::key::{Key, WORDS};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// The words of a mask that are not zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    count: u8,
    at: [u8; WORDS],
    masks: [u64; WORDS],
}

impl Words {
    pub fn new(mask: &Key) -> Words {
        let mut words = Words {
            count: 0,
            at: [0; WORDS],
            masks: [0; WORDS],
        };
        for (at, &bits) in mask.0.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            words.at[usize::from(words.count)] = at as u8;
            words.masks[usize::from(words.count)] = bits;
            words.count += 1;
        }
        words
    }

    pub fn count(&self) -> usize {
        self.count.into()
    }

    /// The words of a key that count, masked.
    #[inline]
    pub fn of<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = u64> + 'a {
        let count = usize::from(self.count);
        let pairs = self.at[..count].iter().zip(&self.masks[..count]);
        // No index is above 14; the mask of 15 tells the compiler, which then checks one bound less.
        pairs.map(|(&at, &mask)| key.0[usize::from(at).min(WORDS - 1)] & mask)
    }

    #[inline]
    pub fn hash(&self, key: &Key, seed: u64) -> u32 {
        finish(self.of(key).fold(seed, mix))
    }
}

/// Mixes a word in by a multiplication whose halves are folded.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * 0x9E37_79B9_7F4A_7C15u128;
    (product >> 64) as u64 ^ product as u64
}

#[inline]
fn finish(hash: u64) -> u32 {
    (mix(hash, 0x2545_F491_4F6C_DD1D) >> 16) as u32
}

/// A slot of the hash table: the hash above, the node's number plus one below; zero is empty.
#[derive(Clone, Copy, Debug, Default)]
struct Slot(u64);

impl Slot {
    fn new(hash: u32, node: usize) -> Slot {
        Slot(u64::from(hash) << 32 | (node as u64 + 1))
    }
    #[inline]
    fn hash(self) -> u32 {
        (self.0 >> 32) as u32
    }
    #[inline]
    fn node(self) -> Option<usize> {
        (self.0 as u32).checked_sub(1).map(|node| node as usize)
    }
}

/// Entries of one mask.
///
/// A node is a value under the mask: a head - the first entry in the upper half, its rank in the lower one - and the masked
/// words. All are in one piece of memory, so that a lookup touches a slot and a node.
#[derive(Debug)]
pub(super) struct Tuple {
    pub mask: Key,
    words: Words,
    seed: u64,
    slots: Vec<Slot>,
    nodes: Vec<u64>,
    /// How many entries there are by rank, so that the highest is known.
    ranks: BTreeMap<u32, u32>,
    /// The highest rank of any entry.
    pub highest: u32,
}

/// The fewest slots.
const SLOTS: usize = 8;

impl Tuple {
    pub fn new(mask: Key, seed: u64) -> Tuple {
        Tuple {
            mask,
            words: Words::new(&mask),
            seed,
            slots: alloc::vec![Slot::default(); SLOTS],
            nodes: Vec::new(),
            ranks: BTreeMap::new(),
            highest: 0,
        }
    }

    fn stride(&self) -> usize {
        self.words.count() + 1
    }

    /// How many different values there are.
    pub fn len(&self) -> usize {
        self.nodes.len() / self.stride()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether any entry has this rank.
    pub fn has_rank(&self, rank: u32) -> bool {
        self.ranks.contains_key(&rank)
    }

    /// The first entry of a value, and its rank.
    #[inline]
    pub fn lookup(&self, key: &Key) -> Option<(u32, u32)> {
        let head = self.nodes[self.find(key)? * self.stride()];
        Some(((head >> 32) as u32, head as u32))
    }

    /// The hash of a key, by which [`first_slot`](Tuple::first_slot) and [`lookup_from`](Tuple::lookup_from) go.
    #[inline]
    pub fn hash(&self, key: &Key) -> u32 {
        self.words.hash(key, self.seed)
    }

    /// What is in the slot where a search begins.
    #[inline]
    pub fn first_slot(&self, hash: u32) -> u64 {
        self.slots[hash as usize & (self.slots.len() - 1)].0
    }

    /// Loads the head of the node that a slot leads to.
    #[inline]
    pub fn touch(&self, slot: u64) -> u64 {
        let node = Slot(slot).node().unwrap_or(0);
        self.nodes.get(node * self.stride()).copied().unwrap_or(0)
    }

    /// As [`lookup`](Tuple::lookup), with what is known of it already.
    #[inline]
    pub fn lookup_from(&self, key: &Key, hash: u32, slot: u64) -> Option<(u32, u32)> {
        let node = self.find_from(key, hash, Slot(slot))?;
        let head = self.nodes[node * self.stride()];
        Some(((head >> 32) as u32, head as u32))
    }

    /// The node of a value.
    #[inline]
    pub fn find(&self, key: &Key) -> Option<usize> {
        let hash = self.hash(key);
        self.find_from(key, hash, Slot(self.first_slot(hash)))
    }

    #[inline]
    fn find_from(&self, key: &Key, hash: u32, mut slot: Slot) -> Option<usize> {
        let wrap = self.slots.len() - 1;
        let mut at = hash as usize & wrap;
        // There is always an empty slot.
        loop {
            let node = slot.node()?;
            if slot.hash() == hash {
                let first = node * self.stride() + 1;
                let words = &self.nodes[first..first + self.words.count()];
                if self.words.of(key).zip(words).all(|(a, &b)| a == b) {
                    return Some(node);
                }
            }
            at = (at + 1) & wrap;
            slot = self.slots[at];
        }
    }

    /// The first entry of a node.
    pub fn head(&self, node: usize) -> u32 {
        (self.nodes[node * self.stride()] >> 32) as u32
    }

    /// Says which entry of a node comes first.
    pub fn set_head(&mut self, node: usize, entry: u32, rank: u32) {
        let stride = self.stride();
        self.nodes[node * stride] = u64::from(entry) << 32 | u64::from(rank);
    }

    /// The value of a node.
    pub fn value(&self, node: usize) -> Key {
        let mut key = Key::ZERO;
        let first = node * self.stride() + 1;
        for (i, &word) in self.nodes[first..first + self.words.count()]
            .iter()
            .enumerate()
        {
            key.0[usize::from(self.words.at[i])] = word;
        }
        key
    }

    /// Makes room for a value that is not there; its head is to be set.
    pub fn insert(&mut self, key: &Key) -> usize {
        let node = self.len();
        if (node + 1) * 2 > self.slots.len() {
            self.grow();
        }
        self.nodes.push(0);
        self.nodes.extend(self.words.of(key));
        let hash = self.words.hash(key, self.seed);
        put(&mut self.slots, Slot::new(hash, node));
        node
    }

    fn grow(&mut self) {
        let mut slots = alloc::vec![Slot::default(); self.slots.len() * 2];
        for &slot in self.slots.iter().filter(|slot| slot.node().is_some()) {
            put(&mut slots, slot);
        }
        self.slots = slots;
    }

    fn slot_of(&self, node: usize) -> usize {
        let hash = self.words.hash(&self.value(node), self.seed);
        let wrap = self.slots.len() - 1;
        let mut at = hash as usize & wrap;
        while self.slots[at].node() != Some(node) {
            debug_assert!(self.slots[at].node().is_some(), "a node without a slot");
            at = (at + 1) & wrap;
        }
        at
    }

    /// Takes a node out. The last node gets its number; says which that was, if another one.
    pub fn remove(&mut self, node: usize) -> Option<usize> {
        let wrap = self.slots.len() - 1;
        let mut hole = self.slot_of(node);
        let last = self.len() - 1;
        if last != node {
            let moved = self.slot_of(last);
            self.slots[moved] = Slot::new(self.slots[moved].hash(), node);
        }
        // What was put further on because of this slot moves up.
        let mut at = hole;
        loop {
            at = (at + 1) & wrap;
            let slot = self.slots[at];
            if slot.node().is_none() {
                break;
            }
            let home = slot.hash() as usize & wrap;
            if (at.wrapping_sub(home) & wrap) >= (at.wrapping_sub(hole) & wrap) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = Slot::default();
        let stride = self.stride();
        if last != node {
            self.nodes
                .copy_within(last * stride..(last + 1) * stride, node * stride);
        }
        self.nodes.truncate(last * stride);
        (last != node).then_some(last)
    }

    /// Counts an entry in. Says whether the highest rank changed.
    pub fn count(&mut self, rank: u32) -> bool {
        *self.ranks.entry(rank).or_default() += 1;
        let higher = rank > self.highest;
        self.highest = self.highest.max(rank);
        higher
    }

    /// Counts an entry out. Says whether the highest rank changed.
    pub fn discount(&mut self, rank: u32) -> bool {
        if let Some(count) = self.ranks.get_mut(&rank) {
            *count -= 1;
            if *count == 0 {
                self.ranks.remove(&rank);
            }
        }
        let highest = self.ranks.last_key_value().map_or(0, |(&rank, _)| rank);
        let changed = highest != self.highest;
        self.highest = highest;
        changed
    }
}

fn put(slots: &mut [Slot], slot: Slot) {
    let wrap = slots.len() - 1;
    let mut at = slot.hash() as usize & wrap;
    while slots[at].node().is_some() {
        at = (at + 1) & wrap;
    }
    slots[at] = slot;
}
