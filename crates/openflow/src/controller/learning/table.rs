//! The stations of one switch: a table with open addressing.

use crate::port::PortNo;
use alloc::vec;
use alloc::vec::Vec;
use node::Time;

/// How far from its place a station may be.
const WINDOW: usize = 16;
/// The first size; it doubles when a window is full.
const FIRST: usize = 256;
/// Maximum number of stations that can be configured.
const MAX_STATIONS: usize = 1 << 24;

/// Result for a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It is where it was.
    Known,
    /// It was not known.
    New,
    /// It was elsewhere.
    Moved,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The address; group addresses are never learned, so that one of them says: empty.
    address: u64,
    port: u32,
    /// Seconds.
    seen: u32,
}

const EMPTY: u64 = u64::MAX;

/// The stations of one switch.
#[derive(Debug)]
pub struct Table {
    slots: Vec<Slot>,
    /// Whether a station gave way to another: entries may be there that lead to it.
    full: bool,
    /// The most slots.
    most: usize,
}

impl Table {
    /// One for so many stations.
    pub fn new(stations: usize) -> Table {
        Table {
            slots: Vec::new(),
            full: false,
            most: stations.clamp(WINDOW, MAX_STATIONS).next_power_of_two(),
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.full = false;
    }

    /// Forgets the stations at a port; says whether entries may lead there.
    pub fn forget(&mut self, port: PortNo) -> bool {
        let mut any = self.full;
        let there = |slot: &&mut Slot| slot.port == port.0 && slot.address != EMPTY;
        for slot in self.slots.iter_mut().filter(there) {
            slot.address = EMPTY;
            any = true;
        }
        any
    }

    /// Where a station's window begins. Addresses that follow each other lie apart.
    fn place(&self, address: u64) -> usize {
        let mixed = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) as usize & (self.slots.len() - 1)
    }

    fn window(&self, address: u64) -> impl Iterator<Item = usize> + use<> {
        let (place, mask) = (self.place(address), self.slots.len() - 1);
        (0..WINDOW).map(move |step| (place + step) & mask)
    }

    /// The port where a station was last.
    #[inline]
    pub fn find(&self, address: u64) -> Option<PortNo> {
        if self.slots.is_empty() {
            return None;
        }
        let mut window = self.window(address);
        let at = window.find(|&at| self.slots[at].address == address)?;
        Some(PortNo(self.slots[at].port))
    }

    /// A station is at this port.
    #[inline]
    pub fn learn(&mut self, address: u64, port: PortNo, now: Time) -> Learned {
        let seen = (now.as_ns() / 1_000_000_000) as u32;
        if self.slots.is_empty() {
            self.resize(FIRST.min(self.most));
        }
        for at in self.window(address) {
            let slot = &mut self.slots[at];
            if slot.address == address {
                slot.seen = seen;
                if slot.port == port.0 {
                    return Learned::Known;
                }
                slot.port = port.0;
                return Learned::Moved;
            }
        }
        let slot = Slot {
            address,
            port: port.0,
            seen,
        };
        while !self.insert(slot) {
            if self.slots.len() >= self.most {
                self.replace_oldest(slot);
                break;
            }
            self.resize(self.slots.len() * 2);
        }
        Learned::New
    }

    fn insert(&mut self, slot: Slot) -> bool {
        let mut window = self.window(slot.address);
        match window.find(|&at| self.slots[at].address == EMPTY) {
            Some(at) => {
                self.slots[at] = slot;
                true
            }
            None => false,
        }
    }

    fn replace_oldest(&mut self, slot: Slot) {
        self.full = true;
        let window = self.window(slot.address);
        if let Some(at) = window.min_by_key(|&at| self.slots[at].seen) {
            self.slots[at] = slot;
        }
    }

    fn resize(&mut self, slots: usize) {
        let empty = Slot {
            address: EMPTY,
            ..Slot::default()
        };
        let old = core::mem::replace(&mut self.slots, vec![empty; slots]);
        for slot in old {
            if slot.address != EMPTY && !self.insert(slot) {
                // As rare as a full window in a table that is half empty.
                self.replace_oldest(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_are_found_where_they_were_last() {
        let mut table = Table::new(100_000);
        let now = Time::from_secs(1);
        for address in 0..50_000 {
            let port = PortNo(address as u32 % 7);
            assert_eq!(table.learn(address << 8, port, now), Learned::New);
        }
        for address in 0..50_000 {
            let port = PortNo(address as u32 % 7);
            assert_eq!(table.find(address << 8), Some(port));
            assert_eq!(table.learn(address << 8, port, now), Learned::Known);
        }
        assert_eq!(table.learn(256, PortNo(9), now), Learned::Moved);
        assert_eq!(table.find(256), Some(PortNo(9)));
        assert_eq!(table.find(1), None);
        // Those at one port are forgotten, and no others.
        assert!(table.forget(PortNo(3)));
        assert!(!table.forget(PortNo(3)));
        for address in 2..50_000 {
            let port = PortNo(address as u32 % 7);
            let known = Some(port).filter(|port| *port != PortNo(3));
            assert_eq!(table.find(address << 8), known);
        }
        table.clear();
        assert_eq!(table.find(256), None);
    }

    #[test]
    fn a_full_table_forgets_the_oldest_and_does_not_grow() {
        let mut table = Table::new(64);
        for address in 0..10_000u64 {
            let now = Time::from_secs(address);
            table.learn(address, PortNo(1), now);
            assert_eq!(table.find(address), Some(PortNo(1)));
            assert!(table.slots.len() <= 64);
        }
        assert_eq!(table.find(5), None);
    }
}
