//! Many queues in one store of packets: no allocation while their total does not grow.

use crate::codel::Source;
use crate::decision::Backlog;
use crate::packet::Packet;
use alloc::vec::Vec;

/// No place.
const NONE: u32 = u32::MAX;

/// Packets of all lists, and the free places.
#[derive(Debug)]
pub(crate) struct Store {
    places: Vec<(Packet, u32)>,
    free: u32,
}

impl Default for Store {
    fn default() -> Store {
        Store {
            places: Vec::new(),
            free: NONE,
        }
    }
}

/// A queue in a [`Store`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
    pub backlog: Backlog,
}

impl Default for List {
    fn default() -> List {
        List {
            head: NONE,
            tail: NONE,
            backlog: Backlog::default(),
        }
    }
}

impl Store {
    /// Appends a packet to a list of this store, and returns its place.
    #[inline]
    pub fn push(&mut self, list: &mut List, packet: Packet) -> u32 {
        let place = self.free;
        let place = match self.places.get_mut(place as usize) {
            Some(free) => {
                self.free = free.1;
                *free = (packet, NONE);
                place
            }
            None => {
                self.places.push((packet, NONE));
                (self.places.len() - 1) as u32
            }
        };
        match self.places.get_mut(list.tail as usize) {
            Some(tail) => tail.1 = place,
            None => list.head = place,
        }
        list.tail = place;
        list.backlog.add(packet.len);
        place
    }

    /// Takes the oldest packet out of a list of this store.
    #[inline]
    pub fn pop(&mut self, list: &mut List) -> Option<Packet> {
        let place = list.head;
        let (packet, next) = self.places.get_mut(place as usize)?;
        let packet = *packet;
        list.head = core::mem::replace(next, self.free);
        self.free = place;
        if list.head == NONE {
            list.tail = NONE;
        }
        list.backlog.remove(packet.len);
        Some(packet)
    }

    /// Places and packets of a list, from the oldest on.
    pub fn places(&self, list: &List) -> impl Iterator<Item = (u32, &Packet)> {
        let mut place = list.head;
        core::iter::from_fn(move || {
            let (packet, next) = self.places.get(place as usize)?;
            Some((core::mem::replace(&mut place, *next), packet))
        })
    }

    /// Place and packet at the end of a list.
    pub fn newest(&self, list: &List) -> Option<(u32, &Packet)> {
        let (packet, _) = self.places.get(list.tail as usize)?;
        Some((list.tail, packet))
    }

    /// Takes the packet after a place of a list out of it; the oldest without a place.
    pub fn remove_after(&mut self, list: &mut List, before: Option<u32>) -> Option<Packet> {
        let Some(before) = before else {
            return self.pop(list);
        };
        let place = self.places.get(before as usize)?.1;
        let (packet, next) = self.places.get_mut(place as usize)?;
        let packet = *packet;
        let next = core::mem::replace(next, self.free);
        self.free = place;
        self.places[before as usize].1 = next;
        if next == NONE {
            list.tail = before;
        }
        list.backlog.remove(packet.len);
        Some(packet)
    }
}

/// A list as CoDel takes packets from it.
pub(crate) struct Listed<'a> {
    pub store: &'a mut Store,
    pub list: &'a mut List,
}

impl Source for Listed<'_> {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        self.store.pop(self.list)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.list.backlog.bytes
    }
}
