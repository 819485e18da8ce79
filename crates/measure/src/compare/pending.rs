//! Packets of one side that have not been found on the other yet, in a bounded space.

use alloc::vec;
use alloc::vec::Vec;

/// Maximum number of entries of a hash chain that are compared. Chains are short unless a sender
/// makes keys that collide.
const MAX_CHAIN_LEN: usize = 1024;

/// A packet that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: u64,
    /// Since the first packet of its side, in ps; before it is below zero.
    pub at: i128,
    /// Number of the packet on its side, from 0.
    pub number: u64,
    /// The place of the next entry in its chain, plus one; zero for none.
    next: u64,
    taken: bool,
    /// One of the same key was found while this waited.
    pub twin: bool,
}

/// The oldest and the newest entry of a chain: their places, plus one.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    first: u64,
    last: u64,
}

/// The youngest packets, in order, and found by their keys. Of equal ones the oldest is found first.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    ring: Vec<Entry>,
    /// Places count up forever; that of the oldest in the ring, and that of the next one.
    oldest: u64,
    next: u64,
    chains: Vec<Chain>,
    waiting: usize,
}

impl Pending {
    /// Room for `size` packets, a power of two.
    pub fn new(size: usize) -> Pending {
        Pending {
            ring: vec![Entry::default(); size],
            oldest: 0,
            next: 0,
            chains: vec![Chain::default(); 2 * size],
            waiting: 0,
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds a packet; the oldest is given back if it made room without having been found.
    pub fn add(&mut self, key: u64, at: i128, number: u64) -> Option<Entry> {
        let full = self.next - self.oldest == self.ring.len() as u64;
        let left = if full { self.leave() } else { None };
        let place = self.next;
        let slot = self.slot(place);
        self.ring[slot] = Entry {
            key,
            at,
            number,
            next: 0,
            taken: false,
            twin: false,
        };
        let chain = self.chain(key);
        match self.chains[chain].last {
            0 => self.chains[chain].first = place + 1,
            last => {
                let before = self.slot(last - 1);
                self.ring[before].next = place + 1;
            }
        }
        self.chains[chain].last = place + 1;
        self.next += 1;
        self.waiting += 1;
        left
    }

    /// Takes the oldest packet with this key.
    pub fn take(&mut self, key: u64) -> Option<Entry> {
        let chain = self.chain(key);
        let mut place = self.chains[chain].first;
        for _ in 0..MAX_CHAIN_LEN {
            if place == 0 {
                break;
            }
            let slot = self.slot(place - 1);
            let entry = self.ring[slot];
            if entry.key == key && !entry.taken {
                self.ring[slot].taken = true;
                self.waiting -= 1;
                self.mark_twins(key, entry.next);
                self.trim(chain);
                return Some(entry);
            }
            place = entry.next;
        }
        None
    }

    /// Marks the entries of this key from a place on.
    fn mark_twins(&mut self, key: u64, mut place: u64) {
        for _ in 0..MAX_CHAIN_LEN {
            if place == 0 {
                break;
            }
            let slot = self.slot(place - 1);
            if self.ring[slot].key == key {
                // Those behind it have been marked with it.
                if core::mem::replace(&mut self.ring[slot].twin, true) {
                    break;
                }
            }
            place = self.ring[slot].next;
        }
    }

    /// Takes entries that have been found off the front of a chain.
    fn trim(&mut self, chain: usize) {
        while let first @ 1.. = self.chains[chain].first
            && self.ring[self.slot(first - 1)].taken
        {
            self.chains[chain].first = self.ring[self.slot(first - 1)].next;
        }
        if self.chains[chain].first == 0 {
            self.chains[chain].last = 0;
        }
    }

    /// The oldest leaves the ring; it is given back if it has not been found.
    pub fn leave(&mut self) -> Option<Entry> {
        if self.oldest == self.next {
            return None;
        }
        let entry = self.ring[self.slot(self.oldest)];
        // Those before it in its chain have left already: it is the first, or has been trimmed off.
        let chain = self.chain(entry.key);
        if self.chains[chain].first == self.oldest + 1 {
            self.chains[chain].first = entry.next;
            if entry.next == 0 {
                self.chains[chain].last = 0;
            }
        }
        self.oldest += 1;
        if entry.taken {
            return None;
        }
        self.waiting -= 1;
        Some(entry)
    }

    /// Whether nothing is in the ring, found or not.
    pub fn is_empty(&self) -> bool {
        self.oldest == self.next
    }

    fn slot(&self, place: u64) -> usize {
        place as usize & (self.ring.len() - 1)
    }

    fn chain(&self, key: u64) -> usize {
        key as usize & (self.chains.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_are_taken_in_their_order() {
        let mut pending = Pending::new(8);
        for number in 0..5 {
            pending.add(number % 2, number.into(), number);
        }
        for (key, numbers) in [(0, &[0, 2, 4][..]), (1, &[1, 3])] {
            let taken = core::iter::from_fn(|| pending.take(key));
            let taken: Vec<u64> = taken.map(|entry| entry.number).collect();
            assert_eq!(taken, numbers);
        }
        assert_eq!(pending.waiting(), 0);
    }

    #[test]
    fn the_oldest_makes_room_and_is_given_back_unless_it_was_found() {
        let mut pending = Pending::new(4);
        for number in 0..4 {
            assert_eq!(pending.add(number, 0, number), None);
        }
        assert!(pending.take(0).is_some());
        assert_eq!(pending.add(4, 0, 4), None);
        assert_eq!(pending.add(5, 0, 5).map(|entry| entry.number), Some(1));
        assert_eq!(pending.take(1), None);
        assert_eq!(pending.waiting(), 4);
        let left = core::iter::from_fn(|| (!pending.is_empty()).then(|| pending.leave()));
        assert_eq!(left.flatten().count(), 4);
    }

    #[test]
    fn it_agrees_with_a_list_that_is_searched() {
        let (mut pending, mut list) = (Pending::new(64), Vec::<(u64, u64)>::new());
        let mut state = 9u64;
        let mut order: Vec<u64> = Vec::new();
        for number in 0..20_000u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Few different keys, all in few chains.
            let key = (state >> 40) % 13 * 128;
            if state >> 63 == 0 {
                pending.add(key, 0, number);
                order.push(number);
                list.push((key, number));
                if order.len() > 64 {
                    let gone = order.remove(0);
                    list.retain(|(_, number)| *number != gone);
                }
            } else {
                let found = list.iter().position(|(of, _)| *of == key);
                let found = found.map(|at| list.remove(at).1);
                assert_eq!(pending.take(key).map(|entry| entry.number), found);
            }
            assert_eq!(pending.waiting(), list.len());
        }
    }
}
