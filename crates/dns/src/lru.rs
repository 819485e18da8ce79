//! A map that knows which entry was used least recently. Finding and using an entry does not allocate.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::borrow::Borrow;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<K, V> {
    /// `None`: free.
    entry: Option<(K, V)>,
    newer: u32,
    older: u32,
}

/// A map with entries in order of their use. Keys are cloned: they should be cheap to clone.
#[derive(Debug)]
pub struct Lru<K, V> {
    index: BTreeMap<K, u32>,
    slots: Vec<Slot<K, V>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl<K, V> Default for Lru<K, V> {
    fn default() -> Lru<K, V> {
        Lru {
            index: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }
}

impl<K: Ord + Clone, V> Lru<K, V> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// An entry, which becomes the one used last.
    pub fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let slot = *self.index.get(key)?;
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
        let entry = self.slots[slot as usize].entry.as_mut();
        entry.map(|(_, value)| value)
    }

    /// An entry, whose place in the order stays.
    pub fn peek<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let slot = *self.index.get(key)?;
        let entry = self.slots[slot as usize].entry.as_ref();
        entry.map(|(_, value)| value)
    }

    /// Adds or replaces an entry, which becomes the one used last; gives the value replaced.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(old) = self.get(&key) {
            return Some(core::mem::replace(old, value));
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                entry: None,
                newer: NONE,
                older: NONE,
            });
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize].entry = Some((key.clone(), value));
        self.index.insert(key, slot);
        self.link(slot);
        None
    }

    /// Removes an entry.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let slot = self.index.remove(key)?;
        self.unlink(slot);
        self.free.push(slot);
        let entry = self.slots[slot as usize].entry.take();
        entry.map(|(_, value)| value)
    }

    /// The entry used least recently.
    pub fn oldest(&self) -> Option<(&K, &V)> {
        let slot = self.slots.get(self.oldest as usize)?;
        slot.entry.as_ref().map(|(key, value)| (key, value))
    }

    /// Removes the entry used least recently.
    pub fn pop_oldest(&mut self) -> Option<(K, V)> {
        let key = self.oldest()?.0.clone();
        let value = self.remove(&key)?;
        Some((key, value))
    }

    /// All entries in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.index.values().filter_map(|slot| {
            let entry = self.slots[*slot as usize].entry.as_ref();
            entry.map(|(key, value)| (key, value))
        })
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match self.slots.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link(&mut self, slot: u32) {
        let second = core::mem::replace(&mut self.newest, slot);
        let this = &mut self.slots[slot as usize];
        (this.newer, this.older) = (NONE, second);
        match self.slots.get_mut(second as usize) {
            Some(second) => second.newer = slot,
            None => self.oldest = slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    #[test]
    fn the_order_of_use_is_that_of_a_list() {
        let (mut lru, mut model) = (Lru::default(), Vec::new());
        let mut random = Random::new(3);
        for step in 0..20_000 {
            let key = random.below(40);
            let at = model.iter().position(|(other, _)| *other == key);
            match random.below(8) {
                0..=2 => {
                    let old = at.map(|at| model.remove(at));
                    model.push((key, step));
                    assert_eq!(lru.insert(key, step), old.map(|old| old.1));
                }
                3..=5 => {
                    let found = at.map(|at| model.remove(at));
                    model.extend(found);
                    assert_eq!(lru.get(&key).copied(), found.map(|found| found.1));
                }
                6 => {
                    let old = at.map(|at| model.remove(at));
                    assert_eq!(lru.remove(&key), old.map(|old| old.1));
                }
                _ => {
                    let old = (!model.is_empty()).then(|| model.remove(0));
                    assert_eq!(lru.pop_oldest(), old);
                }
            }
            let found = model.iter().find(|(other, _)| *other == key);
            assert_eq!(lru.peek(&key), found.map(|found| &found.1));
            assert_eq!(lru.len(), model.len());
            assert_eq!(lru.is_empty(), model.is_empty());
            assert_eq!(lru.oldest(), model.first().map(|(key, value)| (key, value)));
        }
        let sorted: std::collections::BTreeMap<_, _> = model.into_iter().collect();
        assert!(lru.iter().eq(&sorted));
        assert!(lru.slots.len() <= 40);
    }
}
