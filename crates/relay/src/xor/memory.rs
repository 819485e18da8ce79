//! The packets that were sent last, by their names.

use super::coded::Entry;
use alloc::vec;
use alloc::vec::Vec;

/// Places in which a packet may be; of these the oldest makes room.
const WAYS: usize = 8;

/// A fixed number of packets; a new one takes the place, and the buffer, of an old one.
#[derive(Debug)]
pub struct Memory {
    slots: Vec<Slot>,
    kept: u64,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    id: u32,
    /// Counted from 1; 0 when the place is free.
    number: u64,
    bytes: Vec<u8>,
}

impl Memory {
    /// For so many packets, or up to seven more.
    pub fn new(packets: usize) -> Memory {
        Memory {
            slots: vec![Slot::default(); packets.div_ceil(WAYS).max(1) * WAYS],
            kept: 0,
        }
    }

    fn set(&self, id: u32) -> core::ops::Range<usize> {
        let sets = (self.slots.len() / WAYS) as u64;
        let at = ((u64::from(crate::table::mix(id)) * sets) >> 32) as usize * WAYS;
        at..at + WAYS
    }

    /// Keeps a packet, without what routers change; `bare` is some other buffer afterwards.
    pub fn keep(&mut self, entry: &Entry, bare: &mut Vec<u8>) {
        self.kept += 1;
        let set = self.set(entry.id);
        let oldest = self.slots[set].iter_mut().min_by_key(|slot| slot.number);
        if let Some(slot) = oldest {
            (slot.id, slot.number) = (entry.id, self.kept);
            core::mem::swap(&mut slot.bytes, bare);
        }
    }

    /// A packet that is kept.
    pub fn get(&self, entry: &Entry) -> Option<&[u8]> {
        let slots = &self.slots[self.set(entry.id)];
        let found = slots.iter().find(|slot| {
            slot.number != 0 && slot.id == entry.id && slot.bytes.len() == usize::from(entry.length)
        });
        found.map(|slot| &slot.bytes[..])
    }
}
