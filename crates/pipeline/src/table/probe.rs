//! Where a table's matcher has what it has, for code that is made while the program runs and looks up by itself.
//!
//! [`Table::PROBE`](super::Table::PROBE) is where a [`Probe`] stands in a [`Table`](super::Table); its words stand in it in the order of their names here. They are addresses and
//! sizes that stay as they are while a [`View`](super::View) shows the table: what one store adds to a table is added to places that are
//! there. Each load depends on the one before it, so that what was written before a row became visible is seen with it.

use super::form::{Form, MatchKind};
use core::sync::atomic::AtomicUsize;

/// How many words a probe has.
const WORDS: usize = 5;

/// What a lookup begins with; the meaning of all but the first word depends on the [`Lookup`].
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct Probe([AtomicUsize; WORDS]);

impl Probe {
    pub(super) fn set(&mut self, words: [usize; WORDS]) {
        for (word, value) in self.0.iter_mut().zip(words) {
            *word.get_mut() = value;
        }
    }
}

/// How code finds the row of a key, 0 for none, with the words of a probe. Numbers are 64 bits wide if nothing else is said, addresses too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// By calling [`Table::lookup`](super::Table::lookup).
    Call,
    /// The key is a place in an array of rows of 32 bits: word 1 is the array, word 2 how many it has; behind its end there is no row.
    Direct,
    /// By hash, of keys of so many cells. It begins as [`HASH_SEED`](super::HASH_SEED), and each cell makes it its difference with the cell (exclusive or), times
    /// [`HASH_FACTOR`](super::HASH_FACTOR), the upper half of the 128 bits mixed into the lower one (exclusive or). Word 1 is an array of slots, word 2 their number less one, a power of two less one; word 3 the
    /// keys by row. The search begins at the slot of the low bits of the hash's upper half: a slot that is 0 ends it; one of which the upper
    /// half is the hash's has a row in the lower half, whose key is to be compared; then the next slot, and the first behind the last.
    Hash(usize),
    /// The key of so many bits, its first bit moved to bit 63, is looked up in a trie. Word 1 is an array of slots for the root, word 2 how far
    /// the key is shifted right to index them, word 3 the nodes: sixteen slots each, for the next four bits. Of a slot the
    /// upper half, if it is not 0, is the best row so far. The lower half is 0 at the end, or the number of a node, or
    /// with [`ALONE`] a row of which the prefix is to be compared: in word 4 by row the prefix, with its first bit at bit 63, and its
    /// length, 1 at least.
    Trie(u32),
}

/// In the lower half of a slot of a trie: what follows is the row of one prefix.
pub const ALONE: u32 = 1 << 31;

impl Form {
    /// How the keys of such a table are found.
    #[must_use]
    pub fn lookup(&self) -> Lookup {
        let exact = self.keys.iter().all(|key| key.kind == MatchKind::Exact);
        match self.keys.as_slice() {
            [] => Lookup::Call,
            [key] if exact && key.ty.width() <= super::direct::MAX_KEY_BITS => Lookup::Direct,
            _ if exact => Lookup::Hash(self.key_cells()),
            [key] if key.kind == MatchKind::Lpm && (1..=64).contains(&key.ty.width()) => {
                Lookup::Trie(key.ty.width())
            }
            _ => Lookup::Call,
        }
    }

    /// From one row to the next, in bytes. A row is the action as 64 bits, in tables without an action profile, and its arguments.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        (1 + self.argument_cells()) * 8
    }
}
