//! Times by key, oldest first, in bounded memory.

use alloc::vec::Vec;
use core::hash::Hasher;
use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

/// No entry: the end of the list.
const NONE: u32 = u32::MAX;

struct Entry {
    key: Vec<u8>,
    time: i64,
    before: u32,
    after: u32,
}

/// Keys with their last times, in the order of insertion.
pub(super) struct Recent {
    hasher: SipHasher13,
    index: HashTable<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    max: usize,
}

impl Recent {
    pub fn new(max: usize, [one, two]: [u64; 2]) -> Recent {
        Recent {
            hasher: SipHasher13::new_with_keys(one, two),
            index: HashTable::new(),
            entries: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
            max,
        }
    }

    /// Maximum memory of a key, bytes. Vectors and tables may have twice the places they need.
    pub fn cost(key_len: usize) -> usize {
        2 * (size_of::<Entry>() + key_len + 4 * size_of::<u32>())
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher;
        hasher.write(key);
        hasher.finish()
    }

    fn find(&self, key: &[u8]) -> Option<u32> {
        let is = |entry: &u32| self.entries[*entry as usize].key == key;
        self.index.find(self.hash(key), is).copied()
    }

    /// The time of a key.
    pub fn time(&self, key: &[u8]) -> Option<i64> {
        self.find(key)
            .map(|entry| self.entries[entry as usize].time)
    }

    /// The oldest key, and its time.
    pub fn oldest(&self) -> Option<(i64, &[u8])> {
        let entry = self.entries.get(self.oldest as usize)?;
        Some((entry.time, &entry.key))
    }

    /// Whether there is no space for another key.
    pub fn is_full(&self) -> bool {
        self.index.len() == self.max
    }

    /// Sets a key's time and makes it the newest; `false` if it is new and there are too many.
    pub fn put(&mut self, key: &[u8], time: i64) -> bool {
        let entry = match self.find(key) {
            Some(entry) => {
                self.unlink(entry);
                entry
            }
            None if self.is_full() => return false,
            None => self.insert(key),
        };
        self.entries[entry as usize].time = time;
        self.entries[entry as usize].before = self.newest;
        self.entries[entry as usize].after = NONE;
        match self.newest {
            NONE => self.oldest = entry,
            newest => self.entries[newest as usize].after = entry,
        }
        self.newest = entry;
        true
    }

    fn insert(&mut self, key: &[u8]) -> u32 {
        let hash = self.hash(key);
        let entry = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry {
                key: Vec::new(),
                time: 0,
                before: NONE,
                after: NONE,
            });
            self.entries.len() as u32 - 1
        });
        let stored = &mut self.entries[entry as usize].key;
        stored.clear();
        stored.extend_from_slice(key);
        let (entries, hasher) = (&self.entries, self.hasher);
        self.index.insert_unique(hash, entry, |entry| {
            let mut hasher = hasher;
            hasher.write(&entries[*entry as usize].key);
            hasher.finish()
        });
        entry
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.find(key) {
            self.drop_entry(entry);
        }
    }

    /// Removes the oldest key.
    pub fn remove_oldest(&mut self) {
        if self.oldest != NONE {
            self.drop_entry(self.oldest);
        }
    }

    fn drop_entry(&mut self, entry: u32) {
        let hash = self.hash(&self.entries[entry as usize].key);
        if let Ok(found) = self.index.find_entry(hash, |other| *other == entry) {
            found.remove();
        }
        self.unlink(entry);
        self.free.push(entry);
    }

    fn unlink(&mut self, entry: u32) {
        let Entry { before, after, .. } = self.entries[entry as usize];
        match before {
            NONE => self.oldest = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => self.newest = before,
            after => self.entries[after as usize].before = before,
        }
    }
}
