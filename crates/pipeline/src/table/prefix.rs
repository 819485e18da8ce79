//! Longest prefixes: a trie whose root is indexed directly by as many bits as the number of entries pays for, with nodes of
//! four bits (one or two cache lines) below where prefixes share more than that, and prefixes hung in as they are
//! where they do not.
//!
//! A slot has the longest prefix that ends within the bits of its node (in the high half, 0 for none), and what lies below: nothing, a
//! node, or one prefix alone, which is compared whole. So a lookup in a table of scattered prefixes is two loads, and long common
//! parts cost one load for four bits.

use super::form::Form;
use super::hash::Exact;
use super::pattern::Pattern;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::{BitAnd, Shl, Shr};

/// Values, with their first bit at the left.
pub(super) trait Word:
    Copy
    + Debug
    + Default
    + Eq
    + BitAnd<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    const BITS: u32;
    fn read(cells: &[u64], width: u32) -> Self;
    fn mask(length: u32) -> Self;
    fn index(self) -> usize;
}

impl Word for u64 {
    const BITS: u32 = 64;
    #[inline]
    fn read(cells: &[u64], width: u32) -> Self {
        cells[0].checked_shl(64 - width).unwrap_or(0)
    }
    fn mask(length: u32) -> Self {
        u64::MAX.checked_shl(64 - length).unwrap_or(0)
    }
    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

impl Word for u128 {
    const BITS: u32 = 128;
    #[inline]
    fn read(cells: &[u64], width: u32) -> Self {
        let value = u128::from(cells[0]) | u128::from(cells[1]) << 64;
        value << (128 - width)
    }
    fn mask(length: u32) -> Self {
        u128::MAX.checked_shl(128 - length).unwrap_or(0)
    }
    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

const STRIDE: u32 = 4;
const FAN: usize = 1 << STRIDE;
/// In the low half of a slot: what follows is the row of one prefix.
const ALONE: u32 = 1 << 31;

#[derive(Clone, Copy, Debug, Default)]
struct Prefix<W> {
    value: W,
    mask: W,
    length: u32,
}

/// The prefixes of one value of the exact keys.
#[derive(Debug)]
struct Root {
    /// How many bits index the slots.
    bits: u32,
    slots: Vec<u64>,
    /// Rows of the prefixes shorter than `bits`, as a heap: that of `length` bits with value `v` at `2^length + v`.
    own: Vec<u32>,
    entries: usize,
}

#[derive(Debug)]
pub(super) struct Trie<W> {
    width: u32,
    /// The cells of the prefix in the key.
    at: usize,
    cells: usize,
    /// Which root, plus one, by the exact keys, if there are any.
    exact: Option<(Vec<usize>, Exact)>,
    roots: Vec<Root>,
    free_roots: Vec<u32>,
    /// By row.
    prefixes: Vec<Prefix<W>>,
    nodes: Vec<[u64; FAN]>,
    /// For each node the rows of the prefixes that end in it, as a heap.
    own: Vec<[u32; FAN]>,
    free_nodes: Vec<u32>,
}

impl Root {
    fn new(bits: u32) -> Self {
        Root {
            bits,
            slots: vec![0; 1 << bits],
            own: vec![0; 1 << bits],
            entries: 0,
        }
    }
}

impl<W: Word> Trie<W> {
    pub(super) fn new(form: &Form) -> Self {
        let key = form
            .keys
            .iter()
            .find(|k| k.kind == super::MatchKind::Lpm)
            .expect("a trie is made for a table with an lpm key");
        let cells = key.at..key.at + key.cells();
        let others: Vec<_> = (0..form.key_cells())
            .filter(|cell| !cells.contains(cell))
            .collect();
        let exact = Exact::new(others.len());
        Trie {
            width: key.ty.width(),
            at: key.at,
            cells: key.cells(),
            roots: if others.is_empty() {
                vec![Root::new(STRIDE)]
            } else {
                Vec::new()
            },
            exact: (!others.is_empty()).then_some((others, exact)),
            free_roots: Vec::new(),
            prefixes: Vec::new(),
            // Node 0 is none.
            nodes: vec![[0; FAN]],
            own: vec![[0; FAN]],
            free_nodes: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> u32 {
        let root = match &self.exact {
            None => 0,
            Some((cells, exact)) => match self.root_of(cells, exact, key) {
                0 => return 0,
                found => found as usize - 1,
            },
        };
        let root = &self.roots[root];
        let value = W::read(&key[self.at..], self.width);
        let mut slot = root.slots[(value >> (W::BITS - root.bits)).index()];
        let mut rest = value << root.bits;
        let mut best = 0;
        loop {
            let here = (slot >> 32) as u32;
            if here != 0 {
                best = here;
            }
            let below = slot as u32;
            if below == 0 {
                return best;
            }
            if below & ALONE != 0 {
                let row = below & !ALONE;
                let prefix = &self.prefixes[row as usize];
                return if value & prefix.mask == prefix.value {
                    row
                } else {
                    best
                };
            }
            slot = self.nodes[below as usize][(rest >> (W::BITS - STRIDE)).index() & (FAN - 1)];
            rest = rest << STRIDE;
        }
    }

    #[inline]
    fn root_of(&self, cells: &[usize], exact: &Exact, key: &[u64]) -> u32 {
        if let [cell] = cells {
            return exact.find(&[key[*cell]]);
        }
        let mut part = [0; 8];
        if cells.len() <= part.len() {
            for (to, from) in part.iter_mut().zip(cells) {
                *to = key[*from];
            }
            return exact.find(&part[..cells.len()]);
        }
        let part: Vec<_> = cells.iter().map(|cell| key[*cell]).collect();
        exact.find(&part)
    }

    pub(super) fn insert(&mut self, row: u32, pattern: &Pattern) {
        let masks = &pattern.masks[self.at..self.at + self.cells];
        let length = masks.iter().map(|m| m.count_ones()).sum();
        if self.prefixes.len() <= row as usize {
            self.prefixes.resize_with(row as usize + 1, Prefix::default);
        }
        self.prefixes[row as usize] = Prefix {
            value: W::read(&pattern.values[self.at..], self.width),
            mask: W::mask(length),
            length,
        };
        let root = self.enter(pattern);
        self.roots[root].entries += 1;
        let wanted = match self.roots[root].entries {
            0..=32 => 4,
            33..=512 => 8,
            513..=4096 => 12,
            _ => 16,
        };
        if wanted > self.roots[root].bits && self.roots[root].bits < W::BITS {
            self.widen(root, wanted);
        }
        self.hang(root, row);
    }

    pub(super) fn remove(&mut self, row: u32, pattern: &Pattern) {
        let root = self.enter(pattern);
        self.unhang(root, row);
        self.roots[root].entries -= 1;
        if self.roots[root].entries == 0 {
            self.leave(root, pattern);
        }
    }

    /// The root for the exact keys of a pattern.
    fn enter(&mut self, pattern: &Pattern) -> usize {
        let Some((cells, exact)) = &mut self.exact else {
            return 0;
        };
        let key: Vec<_> = cells.iter().map(|cell| pattern.values[*cell]).collect();
        let found = exact.find(&key);
        if found != 0 {
            return found as usize - 1;
        }
        let root = self.free_roots.pop().unwrap_or_else(|| {
            self.roots.push(Root::new(STRIDE));
            self.roots.len() as u32 - 1
        });
        exact.insert(root + 1, &key);
        root as usize
    }

    /// Gives back the root of exact keys that have no prefixes any more.
    fn leave(&mut self, root: usize, pattern: &Pattern) {
        if let Some((cells, exact)) = &mut self.exact {
            let key: Vec<_> = cells.iter().map(|cell| pattern.values[*cell]).collect();
            exact.remove(root as u32 + 1, &key);
            self.free_roots.push(root as u32);
        }
        self.roots[root] = Root::new(STRIDE);
    }

    /// Builds a root again with more bits.
    fn widen(&mut self, root: usize, bits: u32) {
        let mut rows = Vec::new();
        let old = core::mem::replace(&mut self.roots[root], Root::new(bits));
        rows.extend(old.own.iter().copied().filter(|row| *row != 0));
        let mut below: Vec<u32> = old.slots.iter().map(|slot| *slot as u32).collect();
        while let Some(next) = below.pop() {
            if next & ALONE != 0 {
                rows.push(next & !ALONE);
            } else if next != 0 {
                rows.extend(self.own[next as usize].iter().filter(|row| **row != 0));
                below.extend(self.nodes[next as usize].iter().map(|slot| *slot as u32));
                self.free_node(next);
            }
        }
        self.roots[root].entries = old.entries;
        for row in rows {
            self.hang(root, row);
        }
    }

    fn new_node(&mut self) -> u32 {
        self.free_nodes.pop().unwrap_or_else(|| {
            self.nodes.push([0; FAN]);
            self.own.push([0; FAN]);
            self.nodes.len() as u32 - 1
        })
    }

    fn free_node(&mut self, node: u32) {
        self.nodes[node as usize] = [0; FAN];
        self.own[node as usize] = [0; FAN];
        self.free_nodes.push(node);
    }

    fn slot(&mut self, place: Place) -> &mut u64 {
        match place {
            Place::Root(root, index) => &mut self.roots[root].slots[index],
            Place::Node(node, index) => &mut self.nodes[node as usize][index],
        }
    }

    /// Where below a node the bits from `depth` on lead.
    fn step(node: u32, value: W, depth: u32) -> Place {
        let rest = value << depth;
        Place::Node(node, (rest >> (W::BITS - STRIDE)).index() & (FAN - 1))
    }

    /// Puts a prefix where it belongs.
    fn hang(&mut self, root: usize, row: u32) {
        let prefix = self.prefixes[row as usize];
        let bits = self.roots[root].bits;
        let head = (prefix.value >> (W::BITS - bits)).index();
        if prefix.length < bits {
            let root = &mut self.roots[root];
            root.own[(head >> (bits - prefix.length)) + (1 << prefix.length)] = row;
            let span = 1 << (bits - prefix.length);
            for slot in &mut root.slots[head..head + span] {
                let there = (*slot >> 32) as u32;
                if there == 0 || self.prefixes[there as usize].length < prefix.length {
                    *slot = (*slot & LOW) | u64::from(row) << 32;
                }
            }
            return;
        }
        self.hang_below(Place::Root(root, head), bits, row);
    }

    /// Puts a prefix of at least `depth` bits below a slot.
    fn hang_below(&mut self, mut place: Place, mut depth: u32, row: u32) {
        let prefix = self.prefixes[row as usize];
        loop {
            let below = *self.slot(place) as u32;
            if below == 0 {
                *self.slot(place) |= u64::from(row | ALONE);
                return;
            }
            let node = if below & ALONE != 0 {
                // Two prefixes now: a node for both.
                let node = self.new_node();
                let slot = self.slot(place);
                *slot = (*slot & !LOW) | u64::from(node);
                self.hang_in(node, depth, below & !ALONE);
                node
            } else {
                below
            };
            if prefix.length < depth + STRIDE {
                self.hang_in(node, depth, row);
                return;
            }
            place = Self::step(node, prefix.value, depth);
            depth += STRIDE;
        }
    }

    /// Puts a prefix in a node of which the first bit is `depth`: as one that ends there, or below an empty slot.
    fn hang_in(&mut self, node: u32, depth: u32, row: u32) {
        let prefix = self.prefixes[row as usize];
        if prefix.length >= depth + STRIDE {
            let place = Self::step(node, prefix.value, depth);
            *self.slot(place) |= u64::from(row | ALONE);
            return;
        }
        let length = prefix.length - depth;
        let Place::Node(_, index) = Self::step(node, prefix.value, depth) else {
            return;
        };
        self.own[node as usize][(index >> (STRIDE - length)) + (1 << length)] = row;
        self.spread(node, index, length);
    }

    /// Finds again which of a node's own prefixes is the longest for each slot below one of `length` bits.
    fn spread(&mut self, node: u32, index: usize, length: u32) {
        let own = &self.own[node as usize];
        let first = index & !((FAN - 1) >> length);
        let slots = &mut self.nodes[node as usize];
        for (index, slot) in slots.iter_mut().enumerate().skip(first).take(FAN >> length) {
            *slot = (*slot & LOW) | u64::from(longest(own, index, STRIDE, STRIDE)) << 32;
        }
    }

    /// Takes a prefix out.
    fn unhang(&mut self, root: usize, row: u32) {
        let prefix = self.prefixes[row as usize];
        let bits = self.roots[root].bits;
        let head = (prefix.value >> (W::BITS - bits)).index();
        if prefix.length < bits {
            let root = &mut self.roots[root];
            root.own[(head >> (bits - prefix.length)) + (1 << prefix.length)] = 0;
            let next = longest(&root.own, head, bits, prefix.length);
            let span = 1 << (bits - prefix.length);
            for slot in &mut root.slots[head..head + span] {
                // Longer ones stay; what the gone one covered goes to the next shorter one.
                if (*slot >> 32) as u32 == row {
                    *slot = (*slot & LOW) | u64::from(next) << 32;
                }
            }
            return;
        }
        let mut place = Place::Root(root, head);
        let mut depth = bits;
        let mut path = Vec::new();
        loop {
            let below = *self.slot(place) as u32;
            if below & ALONE != 0 || below == 0 {
                *self.slot(place) &= !LOW;
                break;
            }
            path.push((place, below));
            if prefix.length < depth + STRIDE {
                let length = prefix.length - depth;
                if let Place::Node(_, index) = Self::step(below, prefix.value, depth) {
                    self.own[below as usize][(index >> (STRIDE - length)) + (1 << length)] = 0;
                    self.spread(below, index, length);
                }
                break;
            }
            place = Self::step(below, prefix.value, depth);
            depth += STRIDE;
        }
        // Nodes with nothing left go.
        while let Some((place, node)) = path.pop() {
            let empty = self.nodes[node as usize].iter().all(|slot| *slot == 0);
            if !empty {
                return;
            }
            self.free_node(node);
            *self.slot(place) &= !LOW;
        }
    }
}

/// The longest of the prefixes in a heap, shorter than `below`, that covers the slot with this index of `bits` bits.
fn longest(own: &[u32], index: usize, bits: u32, below: u32) -> u32 {
    let mut lengths = (0..below).rev();
    lengths
        .find_map(
            |length| match own[(index >> (bits - length)) + (1 << length)] {
                0 => None,
                row => Some(row),
            },
        )
        .unwrap_or(0)
}

/// The low half of a slot: what lies below.
const LOW: u64 = 0xffff_ffff;

/// Where a slot is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Root(usize, usize),
    Node(u32, usize),
}
