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
    /// Appends a packet to a list of this store.
    #[inline]
    pub fn push(&mut self, list: &mut List, packet: Packet) {
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
