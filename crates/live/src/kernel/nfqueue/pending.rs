//! The packets that the kernel waits for an answer about.

use node::{Port, Ticket};
use std::num::NonZeroU64;

/// Maximum length of the head of a packet that is kept, bytes. It is returned to the sender when
/// the resulting packet is too big.
pub const MAX_HEAD_LEN: usize = 128;
/// No slot.
const NONE: u32 = u32::MAX;

/// The numbers of a queue's packets, of 32 bits, extended to numbers that never wrap.
#[derive(Debug, Default)]
pub struct Numbers(Option<u64>);

impl Numbers {
    /// The next packet's number, and how many were passed over: packets for which the kernel found no room.
    pub fn next(&mut self, number: u32) -> (u64, u64) {
        let (whole, missed) = match self.0 {
            None => (u64::from(number) | 1 << 32, 0),
            Some(last) => {
                let step = number.wrapping_sub(last as u32) as i32;
                let missed = u64::try_from(step - 1).unwrap_or(0);
                (last.wrapping_add_signed(step.into()), missed)
            }
        };
        self.0 = Some(whole);
        (whole, missed)
    }
}

/// A packet that waits.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Its number in the queue; of 64 bits, so that it grows forever.
    pub id: u64,
    /// When it was read, ns.
    pub read_ns: u64,
    /// The port at which the node was told of it.
    pub entered: Port,
    /// The port by which the kernel would send it; `None` when that is not decided yet.
    pub leaves: Option<Port>,
    /// The interfaces that it came in by and would leave by, by their numbers; zero for none.
    pub interfaces: [u32; 2],
    /// The hook, as <linux/netfilter.h> counts them.
    pub hook: u8,
    /// Its EtherType.
    pub protocol: u16,
    /// Its length, bytes.
    pub len: u32,
    /// Whether only the kernel can send it: its checksums are not complete, or it is a chain of segments.
    pub unfinished: bool,
    /// How much of `head` there is.
    pub kept: u8,
    /// Its beginning.
    pub head: [u8; MAX_HEAD_LEN],
}

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting {
            id: 0,
            read_ns: 0,
            entered: Port(0),
            leaves: None,
            interfaces: [0; 2],
            hook: 0,
            protocol: 0,
            len: 0,
            unfinished: false,
            kept: 0,
            head: [0; MAX_HEAD_LEN],
        }
    }
}

/// A place for one, in a list by their age.
#[derive(Debug)]
struct Slot {
    /// How often the place has been used, so that an old ticket is known for one.
    turn: u32,
    waits: bool,
    older: u32,
    younger: u32,
    packet: Waiting,
}

/// All that wait, by age. As many places as ever waited at once, which the kernel's queue bounds.
#[derive(Debug)]
pub struct Pending {
    /// Goes into the tickets.
    queue: u8,
    slots: Vec<Slot>,
    free: Vec<u32>,
    oldest: u32,
    youngest: u32,
    count: usize,
}

impl Pending {
    /// None, for the queue of this place among those of its thread.
    pub fn new(queue: u8) -> Pending {
        Pending {
            queue,
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            youngest: NONE,
            count: 0,
        }
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of the oldest.
    pub fn oldest(&self) -> Option<u64> {
        let slot = self.slots.get(self.oldest as usize)?;
        Some(slot.packet.id)
    }

    pub fn oldest_ticket(&self) -> Option<Ticket> {
        let slot = self.slots.get(self.oldest as usize)?;
        ticket(self.queue, slot.turn, self.oldest)
    }

    /// Adds one, younger than all others; what its ticket is, and where to write what is known of it.
    pub fn add(&mut self) -> (Ticket, &mut Waiting) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                turn: 0,
                waits: false,
                older: NONE,
                younger: NONE,
                packet: Waiting::default(),
            });
            (self.slots.len() - 1) as u32
        });
        match self.slots.get_mut(self.youngest as usize) {
            Some(youngest) => youngest.younger = place,
            None => self.oldest = place,
        }
        self.count += 1;
        let slot = &mut self.slots[place as usize];
        slot.turn = slot.turn.wrapping_add(1) & TURNS;
        slot.waits = true;
        slot.older = std::mem::replace(&mut self.youngest, place);
        slot.younger = NONE;
        let ticket = ticket(self.queue, slot.turn, place).expect("a place is counted from one");
        (ticket, &mut slot.packet)
    }

    /// What is known of one; `None` when it does not wait, or has another queue.
    pub fn get(&self, ticket: Ticket) -> Option<&Waiting> {
        self.place(ticket)
            .map(|place| &self.slots[place as usize].packet)
    }

    /// Takes one out.
    pub fn remove(&mut self, ticket: Ticket) -> Option<&Waiting> {
        let place = self.place(ticket)?;
        let slot = &mut self.slots[place as usize];
        slot.waits = false;
        let (older, younger) = (slot.older, slot.younger);
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.younger = younger,
            None => self.oldest = younger,
        }
        match self.slots.get_mut(younger as usize) {
            Some(slot) => slot.older = older,
            None => self.youngest = older,
        }
        self.count -= 1;
        self.free.push(place);
        Some(&self.slots[place as usize].packet)
    }

    fn place(&self, ticket: Ticket) -> Option<u32> {
        let number = ticket.0.get();
        let place = (number as u32).wrapping_sub(1);
        let turn = (number >> 32) as u32 & TURNS;
        let slot = self.slots.get(place as usize)?;
        (slot.waits && slot.turn == turn && queue_of(ticket) == self.queue).then_some(place)
    }
}

/// The bits of a turn in a ticket.
const TURNS: u32 = 0x00FF_FFFF;

/// The queue that a ticket belongs to.
pub fn queue_of(ticket: Ticket) -> u8 {
    (ticket.0.get() >> 56) as u8
}

fn ticket(queue: u8, turn: u32, place: u32) -> Option<Ticket> {
    let number = u64::from(queue) << 56 | u64::from(turn) << 32 | u64::from(place + 1);
    NonZeroU64::new(number).map(Ticket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_known_in_whatever_order_they_are_answered() {
        let mut pending = Pending::new(3);
        let mut tickets: Vec<Ticket> = (1..=4)
            .map(|id| {
                let (ticket, packet) = pending.add();
                packet.id = id;
                ticket
            })
            .collect();
        assert_eq!(pending.oldest(), Some(1));
        assert_eq!(pending.remove(tickets[1]).map(|packet| packet.id), Some(2));
        assert!(pending.remove(tickets[1]).is_none(), "it was answered");
        assert_eq!(pending.oldest(), Some(1));
        pending.remove(tickets[0]);
        assert_eq!((pending.oldest(), pending.count()), (Some(3), 2));
        let (again, packet) = pending.add();
        packet.id = 5;
        tickets.push(again);
        assert!(pending.get(tickets[0]).is_none(), "its place has another");
        pending.remove(tickets[2]);
        pending.remove(tickets[3]);
        assert_eq!(pending.oldest_ticket(), Some(again));
        pending.remove(again);
        assert_eq!((pending.oldest(), pending.count()), (None, 0));
        assert_eq!(queue_of(again), 3);
    }

    #[test]
    fn a_ticket_of_another_queue_is_none_of_ours() {
        let (mut ours, mut theirs) = (Pending::new(0), Pending::new(1));
        ours.add();
        let (ticket, _) = theirs.add();
        assert!(ours.remove(ticket).is_none());
    }
}
