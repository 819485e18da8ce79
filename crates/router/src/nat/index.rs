//! Storage of a state table: entries by number, and numbers by key.

use super::endpoint::Tuple;
use alloc::vec::Vec;
use core::ops;
use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// A key of an index.
pub(crate) trait Key: Copy + PartialEq {
    /// The bytes that the hash covers.
    fn bytes(self) -> impl AsRef<[u8]>;
}

impl Key for Tuple {
    fn bytes(self) -> impl AsRef<[u8]> {
        let mut bytes = [0; 16];
        let [high, low] = self.0;
        bytes[..8].copy_from_slice(&high.to_ne_bytes());
        bytes[8..].copy_from_slice(&low.to_ne_bytes());
        bytes
    }
}

/// Numbers of entries by key. The hash is keyed, so that peers cannot choose tuples that collide,
/// and the table is never walked, so that nothing depends on the order in it.
#[derive(Debug)]
pub(crate) struct Index<K> {
    entries: HashTable<(K, u32)>,
    hasher: SipHasher13,
}

/// Index of the NAT's mappings and sessions.
pub(super) type TupleIndex = Index<Tuple>;

fn hash<K: Key>(hasher: &SipHasher13, key: K) -> u64 {
    hasher.hash(key.bytes().as_ref())
}

impl<K: Key> Index<K> {
    pub fn new(keys: [u64; 2]) -> Index<K> {
        Index {
            entries: HashTable::new(),
            hasher: SipHasher13::new_with_keys(keys[0], keys[1]),
        }
    }

    pub fn get(&self, key: K) -> Option<u32> {
        let found = self
            .entries
            .find(hash(&self.hasher, key), |entry| entry.0 == key);
        found.map(|&(_, number)| number)
    }

    /// Adds a key that is not in the table.
    pub fn insert(&mut self, key: K, number: u32) {
        let hasher = &self.hasher;
        self.entries
            .insert_unique(hash(hasher, key), (key, number), |entry| {
                hash(hasher, entry.0)
            });
    }

    pub fn remove(&mut self, key: K) {
        let hash = hash(&self.hasher, key);
        if let Ok(entry) = self.entries.find_entry(hash, |entry| entry.0 == key) {
            entry.remove();
        }
    }
}

/// Entries that keep their numbers until they are removed.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub const fn new() -> Slab<T> {
        Slab {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub fn insert(&mut self, entry: T) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self[number] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        }
    }

    /// Frees an entry's number. The entry must be in the slab.
    pub fn remove(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl<T> ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, number: u32) -> &T {
        &self.entries[number as usize]
    }
}

impl<T> ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.entries[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nat::endpoint::Endpoint;
    use alloc::collections::BTreeMap;
    use node::random::Random;

    #[test]
    fn keys_are_found_until_they_are_removed() {
        let mut random = Random::new(1);
        let mut index = TupleIndex::new([1, 2]);
        let mut model = BTreeMap::new();
        for number in 0..20_000 {
            let id = random.below(1_000) as u16;
            let own = Endpoint {
                address: [10, 0, 0, random.below(2) as u8].into(),
                id,
            };
            let key = Tuple::new(17, own, Endpoint::ANY);
            assert_eq!(index.get(key), model.get(&own).copied());
            if model.remove(&own).is_some() {
                index.remove(key);
            } else {
                index.insert(key, number);
                model.insert(own, number);
            }
        }
    }
}
