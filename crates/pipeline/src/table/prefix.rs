//! Longest prefixes: a trie whose root is indexed directly by as many bits as the number of entries pays for, with nodes of
//! four bits (one or two cache lines) below where prefixes share more than that, and prefixes hung in as they are
//! where they do not.
//!
//! A slot has the longest prefix that ends within the bits of its node (in the high half, 0 for none), and what lies below: nothing, a
//! node, or one prefix alone, which is compared whole. So a lookup in a table of scattered prefixes is two loads, and long common
//! parts cost one load for four bits.
//!
//! Prefixes that have all bits of their root come in by one store, so that readers may be about meanwhile: what is new is built aside,
//! a node that gets one more prefix as a copy, and hung in whole. All else wants the trie for itself.

use super::form::Form;
use super::hash::{Exact, grow, zeros};
use super::pattern::Pattern;
use super::probe::ALONE;
use alloc::vec;
use alloc::vec::Vec;
use core::array::from_fn;
use core::fmt::Debug;
use core::ops::{BitXor, Shl, Shr};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use spin::Mutex;

/// Values, with their first bit at the left.
pub(super) trait Word:
    Copy
    + Debug
    + Default
    + Eq
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    const BITS: u32;
    /// How many cells hold one.
    const CELLS: usize;
    fn read(cells: &[u64], width: u32) -> Self;
    fn store(self, cells: &[AtomicU64]);
    fn load(cells: &[AtomicU64]) -> Self;
    fn index(self) -> usize;
}

impl Word for u64 {
    const BITS: u32 = 64;
    const CELLS: usize = 1;
    #[inline]
    fn read(cells: &[u64], width: u32) -> Self {
        cells[0].checked_shl(64 - width).unwrap_or(0)
    }
    fn store(self, cells: &[AtomicU64]) {
        cells[0].store(self, Relaxed);
    }
    #[inline]
    fn load(cells: &[AtomicU64]) -> Self {
        cells[0].load(Relaxed)
    }
    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

impl Word for u128 {
    const BITS: u32 = 128;
    const CELLS: usize = 2;
    #[inline]
    fn read(cells: &[u64], width: u32) -> Self {
        let value = u128::from(cells[0]) | u128::from(cells[1]) << 64;
        value << (128 - width)
    }
    fn store(self, cells: &[AtomicU64]) {
        cells[0].store(self as u64, Relaxed);
        cells[1].store((self >> 64) as u64, Relaxed);
    }
    #[inline]
    fn load(cells: &[AtomicU64]) -> Self {
        u128::from(cells[0].load(Relaxed)) | u128::from(cells[1].load(Relaxed)) << 64
    }
    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

const STRIDE: u32 = 4;
const FAN: usize = 1 << STRIDE;

/// Maximum number of nodes of one prefix.
const MAX_PREFIX_NODES: usize = 128 / STRIDE as usize + 2;

#[derive(Clone, Copy, Debug)]
struct Prefix<W> {
    value: W,
    length: u32,
}

/// The prefixes of one value of the exact keys.
#[derive(Debug)]
struct Root {
    /// Number of bits that index the slots.
    bits: u32,
    slots: Vec<AtomicU64>,
    /// Rows of the prefixes shorter than `bits`, as a heap: that of `length` bits with value `v` at `2^length + v`.
    own: Vec<AtomicU32>,
    entries: AtomicUsize,
}

/// What packets read of a node: two cache lines, of which they read one.
#[derive(Debug)]
#[repr(C, align(128))]
struct Node([AtomicU64; FAN]);

/// The rows of the prefixes that end in a node, as a heap: those of all its bits too, which so need not be compared.
type Own = [AtomicU32; 2 * FAN];

/// Nodes that are not in the trie. Only who writes looks here.
#[derive(Debug, Default)]
struct Spare {
    /// All of their slots are zero.
    free: Vec<u32>,
    /// Readers may still be in them.
    left: Vec<u32>,
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
    /// By row: the value and the length.
    prefixes: Vec<AtomicU64>,
    nodes: Vec<Node>,
    /// By node.
    owns: Vec<Own>,
    spare: Mutex<Spare>,
    word: core::marker::PhantomData<W>,
}

impl Root {
    fn new(bits: u32) -> Self {
        Root {
            bits,
            slots: zeros(1 << bits),
            own: (0..1 << bits).map(|_| AtomicU32::new(0)).collect(),
            entries: AtomicUsize::new(0),
        }
    }

    /// How many bits so many prefixes pay for.
    fn worth(entries: usize) -> u32 {
        match entries {
            0..=32 => 4,
            33..=512 => 8,
            513..=4096 => 12,
            _ => 16,
        }
    }
}

impl Node {
    fn new() -> Self {
        Node(from_fn(|_| AtomicU64::new(0)))
    }
}

fn no_own() -> Own {
    from_fn(|_| AtomicU32::new(0))
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
            nodes: vec![Node::new()],
            owns: vec![no_own()],
            spare: Mutex::default(),
            word: core::marker::PhantomData,
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
        self.descend(root, W::read(&key[self.at..], self.width))
    }

    /// The same where the key has one cell, which is the prefix's.
    #[inline]
    pub(super) fn find_cell(&self, cell: u64) -> u32 {
        self.descend(0, W::read(&[cell], self.width))
    }

    /// Words 1 to 4 of the table's probe, of a trie without exact keys.
    pub(super) fn probe(&self) -> [usize; 4] {
        let Some(root) = self.roots.first() else {
            return [0; 4];
        };
        [
            root.slots.as_ptr().addr(),
            (W::BITS - root.bits) as usize,
            self.nodes.as_ptr().addr(),
            self.prefixes.as_ptr().addr(),
        ]
    }

    #[inline]
    fn descend(&self, root: usize, value: W) -> u32 {
        let root = &self.roots[root];
        let mut slot = root.slots[(value >> (W::BITS - root.bits)).index()].load(Acquire);
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
                let prefix = self.prefix(row);
                // It has at least one bit: all of its root.
                let differ = (value ^ prefix.value) >> (W::BITS - prefix.length);
                return if differ == W::default() { row } else { best };
            }
            let index = (rest >> (W::BITS - STRIDE)).index() & (FAN - 1);
            slot = self.nodes[below as usize].0[index].load(Acquire);
            rest = rest << STRIDE;
        }
    }

    #[inline]
    fn prefix(&self, row: u32) -> Prefix<W> {
        let at = row as usize * (W::CELLS + 1);
        let cells = &self.prefixes[at..at + W::CELLS + 1];
        Prefix {
            value: W::load(cells),
            length: cells[W::CELLS].load(Relaxed) as u32,
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

    fn length(&self, pattern: &Pattern) -> u32 {
        let masks = &pattern.masks[self.at..self.at + self.cells];
        masks.iter().map(|m| m.count_ones()).sum()
    }

    fn write_prefix(&self, row: u32, pattern: &Pattern, length: u32) {
        let cells = &self.prefixes[row as usize * (W::CELLS + 1)..];
        W::read(&pattern.values[self.at..], self.width).store(cells);
        cells[W::CELLS].store(u64::from(length), Relaxed);
    }

    /// Adds a prefix while readers are about, if it has all bits of a root that is there and there is room.
    pub(super) fn add(&self, row: u32, pattern: &Pattern) -> bool {
        let root = match &self.exact {
            None => 0,
            Some((cells, exact)) => match self.root_of(cells, exact, &pattern.values) {
                0 => return false,
                found => found as usize - 1,
            },
        };
        let length = self.length(pattern);
        let (bits, entries) = (self.roots[root].bits, &self.roots[root].entries);
        let count = entries.load(Relaxed) + 1;
        if length < bits
            || Root::worth(count) > bits
            || self.prefixes.len() < (row as usize + 1) * (W::CELLS + 1)
            || self.spare.lock().free.len() < MAX_PREFIX_NODES
        {
            return false;
        }
        entries.store(count, Relaxed);
        self.write_prefix(row, pattern, length);
        self.hang(root, row, true);
        true
    }

    pub(super) fn insert(&mut self, row: u32, pattern: &Pattern) {
        let length = self.length(pattern);
        grow(&mut self.prefixes, (row as usize + 1) * (W::CELLS + 1));
        self.write_prefix(row, pattern, length);
        self.room();
        let root = self.enter(pattern);
        let entries = self.roots[root].entries.get_mut();
        *entries += 1;
        let wanted = Root::worth(*entries);
        if wanted > self.roots[root].bits && self.roots[root].bits < W::BITS {
            self.widen(root, wanted);
        }
        self.hang(root, row, false);
    }

    pub(super) fn remove(&mut self, row: u32, pattern: &Pattern) {
        self.room();
        let root = self.enter(pattern);
        self.unhang(root, row);
        let entries = self.roots[root].entries.get_mut();
        *entries -= 1;
        if *entries == 0 {
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
        let own = old.own.iter().map(|row| row.load(Relaxed));
        rows.extend(own.filter(|row| *row != 0));
        let slots = old.slots.iter().map(|slot| slot.load(Relaxed) as u32);
        let mut below: Vec<u32> = slots.collect();
        while let Some(next) = below.pop() {
            if next & ALONE != 0 {
                rows.push(next & !ALONE);
            } else if next != 0 {
                let own = self.owns[next as usize].iter();
                let own = own.map(|row| row.load(Relaxed));
                rows.extend(own.filter(|row| *row != 0));
                let node = &self.nodes[next as usize];
                below.extend(node.0.iter().map(|slot| slot.load(Relaxed) as u32));
                self.spare.get_mut().left.push(next);
            }
        }
        self.roots[root].entries = old.entries;
        for row in rows {
            self.room();
            self.hang(root, row, false);
        }
    }

    /// Sees to it that there are nodes for another prefix, some to spare, and takes back those that were left. No reader is about.
    fn room(&mut self) {
        let spare = self.spare.get_mut();
        for left in spare.left.drain(..) {
            self.nodes[left as usize] = Node::new();
            self.owns[left as usize] = no_own();
            spare.free.push(left);
        }
        if spare.free.len() < MAX_PREFIX_NODES {
            let first = self.nodes.len();
            let count = first + (first / 2).max(2 * MAX_PREFIX_NODES);
            self.nodes.resize_with(count, Node::new);
            self.owns.resize_with(count, no_own);
            spare
                .free
                .extend((first as u32..self.nodes.len() as u32).rev());
        }
    }

    /// A node with nothing in it. There must be room.
    fn new_node(&self) -> u32 {
        let node = self.spare.lock().free.pop();
        node.expect("each change begins with room")
    }

    fn slot(&self, position: Position) -> &AtomicU64 {
        match position {
            Position::Root(root, index) => &self.roots[root].slots[index],
            Position::Node(node, index) => &self.nodes[node as usize].0[index],
        }
    }

    /// Which slot of a node the bits from `depth` on lead to.
    fn index(value: W, depth: u32) -> usize {
        ((value << depth) >> (W::BITS - STRIDE)).index() & (FAN - 1)
    }

    /// Puts a prefix where it belongs. If readers are about, it must have all bits of the root.
    fn hang(&self, root: usize, row: u32, readers: bool) {
        let prefix = self.prefix(row);
        let bits = self.roots[root].bits;
        let head = (prefix.value >> (W::BITS - bits)).index();
        if prefix.length < bits {
            let root = &self.roots[root];
            let own = (head >> (bits - prefix.length)) + (1 << prefix.length);
            root.own[own].store(row, Relaxed);
            for slot in &root.slots[head..head + (1 << (bits - prefix.length))] {
                let old = slot.load(Relaxed);
                let there = (old >> 32) as u32;
                if there == 0 || self.prefix(there).length < prefix.length {
                    slot.store((old & LOW) | u64::from(row) << 32, Relaxed);
                }
            }
            return;
        }
        let (mut position, mut depth) = (Position::Root(root, head), bits);
        loop {
            let slot = self.slot(position).load(Relaxed);
            let below = slot as u32;
            let new = if below == 0 {
                row | ALONE
            } else if below & ALONE != 0 {
                self.both(depth, below & !ALONE, row)
            } else if prefix.length > depth + STRIDE {
                position = Position::Node(below, Self::index(prefix.value, depth));
                depth += STRIDE;
                continue;
            } else if readers && prefix.length < depth + STRIDE {
                let copy = self.copy(below);
                self.end_in(copy, depth, row);
                self.spare.lock().left.push(below);
                copy
            } else {
                // Where all of the node's bits count that is one slot.
                return self.end_in(below, depth, row);
            };
            self.slot(position)
                .store((slot & !LOW) | u64::from(new), Release);
            return;
        }
    }

    fn copy(&self, node: u32) -> u32 {
        let copy = self.new_node();
        let (from, to) = (&self.nodes[node as usize], &self.nodes[copy as usize]);
        for (from, to) in from.0.iter().zip(&to.0) {
            to.store(from.load(Relaxed), Relaxed);
        }
        let (from, to) = (&self.owns[node as usize], &self.owns[copy as usize]);
        for (from, to) in from.iter().zip(to) {
            to.store(from.load(Relaxed), Relaxed);
        }
        copy
    }

    /// A node, aside, for two prefixes that have the same bits before `depth`.
    fn both(&self, depth: u32, first: u32, second: u32) -> u32 {
        let top = self.new_node();
        let (mut node, mut depth) = (top, depth);
        loop {
            let deep = [first, second].map(|row| self.prefix(row).length > depth + STRIDE);
            let index = [first, second].map(|row| Self::index(self.prefix(row).value, depth));
            let slots = &self.nodes[node as usize].0;
            if deep == [true, true] && index[0] == index[1] {
                let below = self.new_node();
                slots[index[0]].store(u64::from(below), Relaxed);
                node = below;
                depth += STRIDE;
                continue;
            }
            for (number, row) in [first, second].into_iter().enumerate() {
                if deep[number] {
                    slots[index[number]].store(u64::from(row | ALONE), Relaxed);
                }
            }
            for (number, row) in [first, second].into_iter().enumerate() {
                if !deep[number] {
                    self.end_in(node, depth, row);
                }
            }
            return top;
        }
    }

    /// Puts a prefix in a node of which the first bit is `depth`, where it ends.
    fn end_in(&self, node: u32, depth: u32, row: u32) {
        let prefix = self.prefix(row);
        let length = prefix.length - depth;
        let index = Self::index(prefix.value, depth);
        let own = (index >> (STRIDE - length)) + (1 << length);
        self.owns[node as usize][own].store(row, Relaxed);
        self.spread(node, index, length);
    }

    /// Finds again which of a node's own prefixes is the longest for each slot below one of `length` bits.
    fn spread(&self, node: u32, index: usize, length: u32) {
        let (Node(slots), own) = (&self.nodes[node as usize], &self.owns[node as usize]);
        let first = index & !((FAN - 1) >> length);
        for (index, slot) in slots.iter().enumerate().skip(first).take(FAN >> length) {
            let best = longest(own, index, STRIDE, STRIDE + 1);
            let below = slot.load(Relaxed) & LOW;
            slot.store(below | u64::from(best) << 32, Release);
        }
    }

    /// Takes a prefix out.
    fn unhang(&mut self, root: usize, row: u32) {
        let prefix = self.prefix(row);
        let bits = self.roots[root].bits;
        let head = (prefix.value >> (W::BITS - bits)).index();
        if prefix.length < bits {
            let root = &mut self.roots[root];
            let own = (head >> (bits - prefix.length)) + (1 << prefix.length);
            *root.own[own].get_mut() = 0;
            let next = longest(&root.own, head, bits, prefix.length);
            let span = 1 << (bits - prefix.length);
            for slot in &mut root.slots[head..head + span] {
                let slot = slot.get_mut();
                // Longer ones stay; what the gone one covered goes to the next shorter one.
                if (*slot >> 32) as u32 == row {
                    *slot = (*slot & LOW) | u64::from(next) << 32;
                }
            }
            return;
        }
        let mut position = Position::Root(root, head);
        let mut depth = bits;
        let mut path = Vec::new();
        loop {
            let slot = self.slot(position).load(Relaxed);
            let below = slot as u32;
            if below & ALONE != 0 || below == 0 {
                self.slot(position).store(slot & !LOW, Relaxed);
                break;
            }
            path.push((position, below));
            let index = Self::index(prefix.value, depth);
            if prefix.length <= depth + STRIDE {
                let length = prefix.length - depth;
                let own = (index >> (STRIDE - length)) + (1 << length);
                self.owns[below as usize][own].store(0, Relaxed);
                self.spread(below, index, length);
                break;
            }
            position = Position::Node(below, index);
            depth += STRIDE;
        }
        // Nodes with nothing left go.
        while let Some((position, node)) = path.pop() {
            let mut slots = self.nodes[node as usize].0.iter();
            if !slots.all(|slot| slot.load(Relaxed) == 0) {
                return;
            }
            self.spare.get_mut().left.push(node);
            let slot = self.slot(position);
            slot.store(slot.load(Relaxed) & !LOW, Relaxed);
        }
    }
}

/// The longest of the prefixes in a heap, shorter than `below`, that covers the slot with this index of `bits` bits.
fn longest(own: &[AtomicU32], index: usize, bits: u32, below: u32) -> u32 {
    let mut lengths = (0..below).rev();
    lengths
        .find_map(|length| {
            let row = own[(index >> (bits - length)) + (1 << length)].load(Relaxed);
            (row != 0).then_some(row)
        })
        .unwrap_or(0)
}

/// The low half of a slot: what lies below.
const LOW: u64 = 0xffff_ffff;

/// Where a slot is.
#[derive(Clone, Copy, Debug)]
enum Position {
    Root(usize, usize),
    Node(u32, usize),
}
