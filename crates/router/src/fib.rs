//! Longest prefix match: a table of prefixes of either IP version, and the value of the longest that contains an address.
//!
//! The routes are kept in order, and for lookups in a trie whose nodes cover six bits each and are found by counting
//! bits (Asai and Ohara, "Poptrie", SIGCOMM 2015). A change rebuilds the part of the trie below the prefix.
//!
//! ```
//! use router::fib::Fib;
//!
//! let mut fib = Fib::<u32>::default();
//! fib.insert(0x0A00_0000, 8, 1);
//! fib.insert(0x0A01_0000, 16, 2);
//! assert_eq!(fib.lookup(0x0A01_0203), Some(2));
//! assert_eq!(fib.lookup(0x0A02_0203), Some(1));
//! assert_eq!(fib.lookup(0x0B02_0203), None);
//! ```

mod trie;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::{BitAnd, Not, Shl, Shr, Sub};
use trie::{MAX_VALUE, NONE, Trie};

/// An address as a number: `u32` of IPv4, `u128` of IPv6.
pub trait Key:
    Copy
    + Default
    + Ord
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + Not<Output = Self>
    + core::ops::BitOr<Output = Self>
{
    /// Length in bits.
    const BITS: u32;
    /// The address of zeros.
    const ZERO: Self;
    /// The low 32 bits.
    fn low(self) -> u32;
}

impl Key for u32 {
    const BITS: u32 = 32;
    const ZERO: u32 = 0;

    #[inline(always)]
    fn low(self) -> u32 {
        self
    }
}

impl Key for u128 {
    const BITS: u32 = 128;
    const ZERO: u128 = 0;

    #[inline(always)]
    fn low(self) -> u32 {
        self as u32
    }
}

/// Bits after a prefix of `length` bits, all set.
fn host_bits<K: Key>(length: u32) -> K {
    match length {
        0 => !K::ZERO,
        length if length >= K::BITS => K::ZERO,
        length => !K::ZERO >> length,
    }
}

/// A prefix and its value, as the trie is built from them.
#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    prefix: K,
    length: u32,
    value: u32,
}

/// A table of prefixes with values from 0 to [`Fib::MAX_VALUE`].
#[derive(Clone, Debug, Default)]
pub struct Fib<K: Key> {
    /// In order of the prefix, and of one prefix the shorter first: a prefix comes before all that it contains.
    routes: BTreeMap<(K, u8), u32>,
    trie: Trie,
    /// Kept for the next change.
    scratch: Vec<Entry<K>>,
}

impl<K: Key> Fib<K> {
    /// Maximum value of a prefix.
    pub const MAX_VALUE: u32 = MAX_VALUE;

    /// The value of the longest prefix that contains an address.
    #[inline]
    pub fn lookup(&self, address: K) -> Option<u32> {
        let value = self.trie.lookup(address);
        (value != NONE).then_some(value)
    }

    /// Sets the value of a prefix, of at most [`Fib::MAX_VALUE`], and gives the one that it had. Bits after `length` do not
    /// count, and a length above that of an address counts as that.
    pub fn insert(&mut self, prefix: K, length: u8, value: u32) -> Option<u32> {
        let key = Self::key(prefix, length);
        let old = self.routes.insert(key, value.min(MAX_VALUE));
        self.rebuild(key);
        old
    }

    /// Removes a prefix, and gives its value.
    pub fn remove(&mut self, prefix: K, length: u8) -> Option<u32> {
        let key = Self::key(prefix, length);
        let old = self.routes.remove(&key)?;
        self.rebuild(key);
        Some(old)
    }

    /// The value of exactly this prefix.
    pub fn exact(&self, prefix: K, length: u8) -> Option<u32> {
        self.routes.get(&Self::key(prefix, length)).copied()
    }

    /// Sets or removes many prefixes at the cost of building the trie once.
    pub fn change_all(&mut self, routes: impl IntoIterator<Item = (K, u8, Option<u32>)>) {
        let mut changed = false;
        for (prefix, length, value) in routes {
            let key = Self::key(prefix, length);
            changed |= match value {
                Some(value) => self.routes.insert(key, value.min(MAX_VALUE)) != Some(value),
                None => self.routes.remove(&key).is_some(),
            };
        }
        if !changed {
            return;
        }
        self.build();
    }

    /// All prefixes with their lengths and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (K, u8, u32)> {
        self.routes
            .iter()
            .map(|(&(prefix, length), &value)| (prefix, length, value))
    }

    /// Number of prefixes.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there is no prefix.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Memory of the trie that lookups read, bytes.
    pub fn lookup_bytes(&self) -> usize {
        self.trie.bytes()
    }

    fn key(prefix: K, length: u8) -> (K, u8) {
        let length = u32::from(length).min(K::BITS);
        (prefix & !host_bits::<K>(length), length as u8)
    }

    fn build(&mut self) {
        self.collect(K::ZERO, 0);
        self.trie.build(&self.scratch);
    }

    /// Collects the routes of at least `length` bits below a prefix of as many.
    fn collect(&mut self, first: K, length: u32) {
        let last = first | host_bits(length);
        self.scratch.clear();
        let routes = self.routes.range((first, 0)..=(last, K::BITS as u8));
        let entries = routes.map(|(&(prefix, length), &value)| Entry {
            prefix,
            length: length.into(),
            value,
        });
        // Shorter prefixes that begin alike come first.
        self.scratch
            .extend(entries.skip_while(|one| one.length < length));
    }

    /// Rebuilds the slots of the trie that a change of one prefix affects.
    fn rebuild(&mut self, (prefix, length): (K, u8)) {
        if self.trie.is_due(self.routes.len()) {
            return self.build();
        }
        let length = u32::from(length).min(self.trie.direct_bits());
        let first = prefix & !host_bits::<K>(length);
        self.collect(first, length);
        let covering = (0..length).rev().find_map(|length| {
            let key = (first & !host_bits::<K>(length), length as u8);
            self.routes.get(&key).copied()
        });
        let covering = covering.unwrap_or(NONE);
        self.trie.rebuild(first, length, covering, &self.scratch);
    }
}

#[cfg(test)]
mod tests;
