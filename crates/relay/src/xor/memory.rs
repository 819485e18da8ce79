//! The packets that were sent last, by their names.

use super::coded::Entry;
use alloc::vec;
use alloc::vec::Vec;

/// Places in which a packet may be; of these the oldest makes room.
const WAYS: usize = 8;

/// A fixed number of packets; a new one takes the place, and the buffer, of an old one.
#[derive(Debug)]
pub struct Memory {
    places: Vec<Place>,
    kept: u64,
}

#[derive(Clone, Debug, Default)]
struct Place {
    id: u32,
    /// Counted from 1; 0 when the place is free.
    number: u64,
    bytes: Vec<u8>,
}

impl Memory {
    /// For so many packets, or up to seven more.
    pub fn new(packets: usize) -> Memory {
        Memory {
            places: vec![Place::default(); packets.div_ceil(WAYS).max(1) * WAYS],
            kept: 0,
        }
    }

    fn set(&self, id: u32) -> core::ops::Range<usize> {
        let sets = (self.places.len() / WAYS) as u64;
        let at = ((u64::from(crate::table::mix(id)) * sets) >> 32) as usize * WAYS;
        at..at + WAYS
    }

    /// Keeps a packet, without what routers change; `bare` is some other buffer afterwards.
    pub fn keep(&mut self, entry: &Entry, bare: &mut Vec<u8>) {
        self.kept += 1;
        let set = self.set(entry.id);
        let oldest = self.places[set].iter_mut().min_by_key(|place| place.number);
        if let Some(place) = oldest {
            (place.id, place.number) = (entry.id, self.kept);
            core::mem::swap(&mut place.bytes, bare);
        }
    }

    /// A packet that is kept.
    pub fn get(&self, entry: &Entry) -> Option<&[u8]> {
        let places = &self.places[self.set(entry.id)];
        let found = places.iter().find(|place| {
            place.number != 0
                && place.id == entry.id
                && place.bytes.len() == usize::from(entry.length)
        });
        found.map(|place| &place.bytes[..])
    }
}
