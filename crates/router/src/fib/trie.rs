//! The trie of lookups.
//!
//! The first [`direct_bits`](Trie::direct_bits) of an address index an array; below that each node covers six bits. Its children
//! are next to each other, and so are its leaves; a run of equal leaves is stored once. A bit vector says which of 64 places are
//! children, another where a new leaf begins: the number of bits set before a place is the index.

use super::{Entry, Key};
use alloc::vec;
use alloc::vec::Vec;

/// The value of a place without a prefix.
pub const NONE: u32 = LEAF - 1;
/// Maximum value.
pub const MAX_VALUE: u32 = NONE - 1;
/// Set in a slot of the first array that is a value itself; otherwise it is the index of a node.
const LEAF: u32 = 1 << 31;
/// Bits of an address that a node covers.
const STRIDE: u32 = 6;
/// Places of a node.
const PLACES: usize = 1 << STRIDE;

/// Bits of an address that index the first array, by the number of routes: a small table takes 256 bytes, a full one 1 MiB.
fn direct_bits(routes: usize) -> u32 {
    match routes {
        0..256 => STRIDE,
        256..16_384 => 2 * STRIDE,
        _ => 3 * STRIDE,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Places that are nodes.
    children: u64,
    /// Places at which a leaf begins that differs from the one before.
    leaves: u64,
    /// Index of the first child.
    first_child: u32,
    /// Index of the first leaf.
    first_leaf: u32,
}

/// A trie. See the [module](self).
#[derive(Clone, Debug)]
pub struct Trie {
    direct: Vec<u32>,
    bits: u32,
    nodes: Vec<Node>,
    leaves: Vec<u32>,
    /// Size after the last whole build; what has been added since replaces something.
    built: usize,
}

impl Default for Trie {
    fn default() -> Trie {
        Trie {
            direct: vec![LEAF | NONE; PLACES],
            bits: STRIDE,
            nodes: Vec::new(),
            leaves: Vec::new(),
            built: 0,
        }
    }
}

impl Trie {
    /// The value of an address, or [`NONE`].
    #[inline]
    pub fn lookup<K: Key>(&self, address: K) -> u32 {
        let mut index = self.direct[(address >> (K::BITS - self.bits)).low() as usize];
        if index & LEAF != 0 {
            return index & !LEAF;
        }
        let mut offset = self.bits;
        loop {
            let node = &self.nodes[index as usize];
            let place = place(address, offset);
            // This place and all before it.
            let before = u64::MAX >> (63 - place);
            if node.children >> place & 1 == 0 {
                let leaf = (node.leaves & before).count_ones() - 1;
                return self.leaves[(node.first_leaf + leaf) as usize];
            }
            index = node.first_child + (node.children & before).count_ones() - 1;
            offset += STRIDE;
        }
    }

    /// Bits that index the first array.
    pub fn direct_bits(&self) -> u32 {
        self.bits
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.direct[..]) + size_of_val(&self.nodes[..]) + size_of_val(&self.leaves[..])
    }

    /// Whether the whole trie must be built again: half of it is garbage, or the table has another size now.
    pub fn is_due(&self, routes: usize) -> bool {
        self.size() > 2 * self.built + 4096 || direct_bits(routes) > self.bits
    }

    fn size(&self) -> usize {
        self.nodes.len() + self.leaves.len()
    }

    /// Builds the whole trie from all routes, in order.
    pub fn build<K: Key>(&mut self, routes: &[Entry<K>]) {
        self.bits = direct_bits(routes.len());
        self.nodes.clear();
        self.leaves.clear();
        self.direct.resize(1 << self.bits, LEAF);
        self.rebuild(K::ZERO, 0, NONE, routes);
        self.built = self.size();
    }

    /// Builds the slots below a prefix of at most [`direct_bits`](Trie::direct_bits) again, from its routes of at least `length`
    /// bits in order. `covering` is the value of the next shorter prefix that contains it.
    pub fn rebuild<K: Key>(&mut self, prefix: K, length: u32, covering: u32, routes: &[Entry<K>]) {
        let shift = K::BITS - self.bits;
        let slot = |one: K| (one >> shift).low() as usize;
        let bits = self.bits;
        let slots = |prefix: K, length: u32| slot(prefix)..slot(prefix) + (1 << (bits - length));
        self.direct[slots(prefix, length)].fill(LEAF | covering);
        let mut rest = routes;
        while let Some(first) = rest.first() {
            if first.length <= self.bits {
                let range = slots(first.prefix, first.length);
                self.direct[range].fill(LEAF | first.value);
                rest = &rest[1..];
                continue;
            }
            let at = slot(first.prefix);
            let count = rest.partition_point(|one| slot(one.prefix) == at);
            let (below, others) = rest.split_at(count);
            let covering = self.direct[at] & !LEAF;
            self.direct[at] = self.add(self.bits, covering, below);
            rest = others;
        }
    }

    /// Adds a node for routes whose first `offset` bits are equal and that are longer; returns its index.
    fn add<K: Key>(&mut self, offset: u32, covering: u32, routes: &[Entry<K>]) -> u32 {
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.fill(index, offset, covering, routes);
        index as u32
    }

    fn fill<K: Key>(&mut self, index: usize, offset: u32, covering: u32, routes: &[Entry<K>]) {
        let end = offset + STRIDE;
        let mut values = [covering; PLACES];
        let mut below: [&[Entry<K>]; PLACES] = [&[]; PLACES];
        let mut rest = routes;
        while let Some(first) = rest.first() {
            let at = place(first.prefix, offset);
            if first.length <= end {
                values[at as usize..][..1 << (end - first.length)].fill(first.value);
                rest = &rest[1..];
                continue;
            }
            let count = rest.partition_point(|one| place(one.prefix, offset) == at);
            (below[at as usize], rest) = rest.split_at(count);
        }
        let mut node = Node {
            first_leaf: self.leaves.len() as u32,
            first_child: self.nodes.len() as u32,
            ..Node::default()
        };
        let mut last = None;
        for (place, value) in values.iter().enumerate() {
            if !below[place].is_empty() {
                node.children |= 1 << place;
            } else if last != Some(*value) {
                node.leaves |= 1 << place;
                self.leaves.push(*value);
                last = Some(*value);
            }
        }
        self.nodes[index] = node;
        let children = node.children.count_ones() as usize;
        let mut child = self.nodes.len();
        self.nodes.resize(child + children, Node::default());
        for (place, routes) in below.iter().enumerate() {
            if !routes.is_empty() {
                self.fill(child, end, values[place], routes);
                child += 1;
            }
        }
    }
}

/// The six bits of an address from `offset` on; after its end zeros.
#[inline(always)]
fn place<K: Key>(address: K, offset: u32) -> u32 {
    ((address << offset) >> (K::BITS - STRIDE)).low()
}
