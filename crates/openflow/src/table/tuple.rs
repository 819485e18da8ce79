//! One mask of a table, and a hash table of the values that entries have under it.

use super::bloom::Bloom;
use crate::key::{Key, WORDS};
use crate::prefetch::fetch;
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

    /// Lines of a node: the head stands before the words.
    fn lines(&self) -> usize {
        usize::from(self.count) / 4 + 1
    }

    /// Word number `i` of those that count, masked; zero beyond them.
    #[inline]
    fn word(&self, i: usize, key: &Key) -> u64 {
        // No index is above 14; the compiler does not know.
        key.0[usize::from(self.at[i]).min(WORDS - 1)] & self.masks[i]
    }

    /// Three words are always mixed, for most masks have no more, and a count that changes from tuple to tuple is a branch
    /// that processors guess wrong.
    #[inline]
    fn hash(&self, key: &Key, seed: u64) -> u32 {
        let part = |i: usize| mix(self.word(i, key), seed.rotate_left(7 * i as u32));
        let mut hash = part(0) ^ part(1) ^ part(2);
        for i in 3..usize::from(self.count) {
            hash ^= part(i);
        }
        finish(hash)
    }
}

/// Mixes a word in by a multiplication whose halves are folded.
#[inline]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
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

/// Four words of a node, which are never in two of the processor's cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Line([u64; 4]);

/// Entries of one mask.
///
/// A node is a value under the mask: a head - the first entry in the upper half, its rank in the lower one - and the masked
/// words, with zeros behind them up to the end of a line. All are in one piece of memory, so that a lookup touches a slot and a node.
#[derive(Debug)]
pub(super) struct Tuple {
    pub mask: Key,
    /// The table's filters of the mask's parts, while it has any.
    pub filters: Vec<u32>,
    words: Words,
    seed: u64,
    slots: Vec<Slot>,
    lines: usize,
    nodes: Vec<Line>,
    /// The hashes that there are, if lookups are to ask before they touch a slot, and how many have gone since it was made.
    hashes: Option<Bloom>,
    gone: usize,
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
            filters: Vec::new(),
            words: Words::new(&mask),
            seed,
            slots: alloc::vec![Slot::default(); SLOTS],
            lines: Words::new(&mask).lines(),
            nodes: Vec::new(),
            hashes: None,
            gone: 0,
            ranks: BTreeMap::new(),
            highest: 0,
        }
    }

    /// How many different values there are.
    pub fn len(&self) -> usize {
        self.nodes.len() / self.lines
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether any entry has this rank.
    pub fn has_rank(&self, rank: u32) -> bool {
        self.ranks.contains_key(&rank)
    }

    /// From now on, [`may_have`](Tuple::may_have) tells.
    pub fn filter(&mut self) {
        // A slot is empty as often as not, so this is eight bits for a value at least.
        let mut hashes = Bloom::new((self.slots.len() * 4).max(64));
        for slot in self.slots.iter().filter(|slot| slot.node().is_some()) {
            hashes.note(slot.hash().into());
        }
        (self.hashes, self.gone) = (Some(hashes), 0);
    }

    /// One if a value of this hash may be there; zero is certain.
    #[inline]
    pub fn may_have(&self, hash: u32) -> u64 {
        self.hashes
            .as_ref()
            .map_or(1, |hashes| hashes.has(hash.into()))
    }

    /// The first entry of a value, and its rank.
    #[inline]
    pub fn lookup(&self, key: &Key) -> Option<(u32, u32)> {
        let hash = self.hash(key);
        match self.may_have(hash) {
            0 => None,
            _ => self.lookup_from(key, hash, self.probe(hash)),
        }
    }

    /// The hash of a key, by which a lookup goes.
    #[inline]
    pub fn hash(&self, key: &Key) -> u32 {
        self.words.hash(key, self.seed)
    }

    /// Asks memory for the slot where the search for a hash begins, if it is `wanted`: one, not zero.
    #[inline]
    pub fn fetch_slot(&self, hash: u32, wanted: u64) {
        // No branch: which are wanted is what processors guess wrong.
        fetch(&self.slots[self.home(hash) & (wanted as usize).wrapping_neg()]);
    }

    /// Asks memory for a node, if it is one.
    #[inline]
    pub fn fetch_node(&self, node: u32) {
        if let Some(line) = self.nodes.get(node as usize * self.lines) {
            fetch(line);
        }
    }

    /// The node that a hash leads to - hardly ever that of another value - or [`NONE`] if none has it.
    #[inline]
    pub fn probe(&self, hash: u32) -> u32 {
        let mut at = self.home(hash);
        // There is always an empty slot.
        loop {
            let slot = self.slots[at];
            if slot.hash() == hash || slot.node().is_none() {
                return slot.node().map_or(NONE, |node| node as u32);
            }
            at = self.next(at);
        }
    }

    /// As [`lookup`](Tuple::lookup), with the node that [`probe`](Tuple::probe) gave for the hash.
    #[inline]
    pub fn lookup_from(&self, key: &Key, hash: u32, node: u32) -> Option<(u32, u32)> {
        let node = match node {
            NONE => return None,
            node if self.is_at(node as usize, key) => node as usize,
            _ => self.find_from(key, hash)?,
        };
        let head = self.nodes[node * self.lines].0[0];
        Some(((head >> 32) as u32, head as u32))
    }

    /// The node of a value.
    #[inline]
    pub fn find(&self, key: &Key) -> Option<usize> {
        self.find_from(key, self.hash(key))
    }

    fn find_from(&self, key: &Key, hash: u32) -> Option<usize> {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            let node = slot.node()?;
            if slot.hash() == hash && self.is_at(node, key) {
                return Some(node);
            }
            at = self.next(at);
        }
    }

    /// The slot where the search for a hash begins.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    /// The slot behind another.
    #[inline]
    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// Whether a node is of this value.
    #[inline]
    fn is_at(&self, node: usize, key: &Key) -> bool {
        let first = node * self.lines;
        let word = |i: usize| self.words.word(i, key);
        let Line([_, a, b, c]) = self.nodes[first];
        let off = (a ^ word(0)) | (b ^ word(1)) | (c ^ word(2));
        off == 0
            && self.nodes[first + 1..first + self.lines]
                .iter()
                .flat_map(|line| line.0)
                .zip(3..WORDS)
                .all(|(had, i)| had == word(i))
    }

    /// The first entry of a node.
    pub fn head(&self, node: usize) -> u32 {
        (self.nodes[node * self.lines].0[0] >> 32) as u32
    }

    /// Says which entry of a node comes first.
    pub fn set_head(&mut self, node: usize, entry: u32, rank: u32) {
        self.nodes[node * self.lines].0[0] = u64::from(entry) << 32 | u64::from(rank);
    }

    /// The value of a node.
    pub fn value(&self, node: usize) -> Key {
        let first = node * self.lines;
        let lines = self.nodes[first..first + self.lines].iter();
        let words = lines.flat_map(|line| line.0).skip(1);
        let mut key = Key::ZERO;
        for (word, &at) in words.zip(&self.words.at[..self.words.count.into()]) {
            key.0[usize::from(at)] = word;
        }
        key
    }

    /// Makes room for a value that is not there; its head is to be set.
    pub fn insert(&mut self, key: &Key) -> usize {
        let node = self.len();
        if (node + 1) * 2 > self.slots.len() {
            self.grow();
        }
        for line in 0..self.lines {
            // The head, which is to be set, has the place of a word before the first.
            let word = |place: usize| match (line * 4 + place).checked_sub(1) {
                Some(i) if i < WORDS => self.words.word(i, key),
                _ => 0,
            };
            self.nodes.push(Line(core::array::from_fn(word)));
        }
        let hash = self.words.hash(key, self.seed);
        put(&mut self.slots, Slot::new(hash, node));
        if let Some(hashes) = &mut self.hashes {
            hashes.note(hash.into());
        }
        node
    }

    fn grow(&mut self) {
        let mut slots = alloc::vec![Slot::default(); self.slots.len() * 2];
        for &slot in self.slots.iter().filter(|slot| slot.node().is_some()) {
            put(&mut slots, slot);
        }
        self.slots = slots;
        if self.hashes.is_some() {
            self.filter();
        }
    }

    fn slot_of(&self, node: usize) -> usize {
        let hash = self.words.hash(&self.value(node), self.seed);
        let mut at = self.home(hash);
        while self.slots[at].node() != Some(node) {
            debug_assert!(self.slots[at].node().is_some(), "a node without a slot");
            at = self.next(at);
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
        self.gone += 1;
        if self.hashes.is_some() && self.gone > self.slots.len() / 4 {
            self.filter();
        }
        let lines = self.lines;
        if last != node {
            self.nodes
                .copy_within(last * lines..(last + 1) * lines, node * lines);
        }
        self.nodes.truncate(last * lines);
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
