//! A transparent clock's part: how long a message that is stamped was inside, told in the message that follows it.
//!
//! Two-step: a Sync's residence goes into the correction of its Follow_Up, that of a Delay_Req into its Delay_Resp. What comes
//! before the residence is known waits for it.

use super::scaled;
use crate::clock::{Clock, Local};
use alloc::vec::Vec;
use node::{Frame, Out, Port, StampId, Time};
use packet::ptp::{Body, Message, PortIdentity, correct};

/// Maximum number of messages that are remembered.
const MAX_PENDING_MESSAGES: usize = 1024;
/// Set in what departures of these are known by.
pub(super) const MARK: u32 = 1 << 31;

/// A message that is stamped, on its way through.
#[derive(Debug)]
struct Passing {
    number: u32,
    source: PortIdentity,
    sequence: u16,
    is_sync: bool,
    from: Port,
    came: Local,
    /// Of its line, besides the residence: with the peer delay mechanism the delay of the link that it came by.
    link: Local,
    /// By port, how long it was inside.
    inside: Vec<Option<Local>>,
    /// What follows it and waits: a frame, where the message in it begins, and the port that it came by.
    follows: Option<(Frame, (usize, bool), Port)>,
    /// By port, whether that is still to be sent there.
    owed: Vec<bool>,
}

/// The residences of a clock.
#[derive(Debug)]
pub(super) struct Transparent {
    passing: Vec<Passing>,
    next: u32,
    /// Messages that were corrected, and those that had to go without.
    pub corrected: u64,
    pub uncorrected: u64,
    /// Those that were kept from a port by which what they follow never left.
    pub withheld: u64,
}

impl Transparent {
    pub fn new(ports: u16) -> Transparent {
        let ports = usize::from(ports);
        let fresh = || Passing {
            number: 0,
            source: PortIdentity::default(),
            sequence: 0,
            is_sync: false,
            from: Port(0),
            came: 0,
            link: 0,
            inside: alloc::vec![None; ports],
            follows: None,
            owed: alloc::vec![false; ports],
        };
        Transparent {
            passing: (0..MAX_PENDING_MESSAGES).map(|_| fresh()).collect(),
            next: 0,
            corrected: 0,
            uncorrected: 0,
            withheld: 0,
        }
    }

    /// A Sync or a Delay_Req has come; its departures are to be told by this.
    pub fn enter(
        &mut self,
        message: &Message,
        from: Port,
        (came, link): (Local, Local),
        out: &mut Out,
    ) -> StampId {
        self.next = if self.next >= MARK - 1 {
            1
        } else {
            self.next + 1
        };
        let passing = &mut self.passing[self.next as usize % MAX_PENDING_MESSAGES];
        if let Some((frame, ..)) = passing.follows.take() {
            // By some port what it follows never left: there is no link, or no room.
            out.done(frame);
            self.withheld += 1;
        }
        passing.number = self.next;
        passing.source = message.source;
        passing.sequence = message.sequence;
        passing.is_sync = matches!(message.body, Body::Sync(_));
        (passing.from, passing.came, passing.link) = (from, came, link);
        passing.inside.fill(None);
        passing.owed.fill(false);
        let id = core::num::NonZeroU32::new(self.next | MARK);
        StampId(id.expect("the mark is not zero"))
    }

    /// A message has left by a port.
    pub fn left(&mut self, id: u32, port: Port, at: Time, clock: &Clock, out: &mut Out) {
        let number = id & !MARK;
        let passing = &mut self.passing[number as usize % MAX_PENDING_MESSAGES];
        let Some(inside) = passing.inside.get_mut(port.index()) else {
            return;
        };
        if passing.number != number {
            return;
        }
        *inside = Some(clock.read(at) - passing.came);
        if let Some((frame, place, from)) = passing.follows.take() {
            self.follow(
                number as usize % MAX_PENDING_MESSAGES,
                frame,
                place,
                from,
                out,
            );
        }
    }

    /// A Follow_Up or a Delay_Resp has come: it goes on with what it is corrected by.
    pub fn general(
        &mut self,
        message: &Message,
        frame: Frame,
        place: (usize, bool),
        from: Port,
        out: &mut Out,
    ) {
        let (is_sync, source) = match message.body {
            Body::DelayResp(_, requester) => (false, requester),
            _ => (true, message.source),
        };
        let same = |passing: &Passing| {
            passing.number > 0
                && passing.source == source
                && passing.sequence == message.sequence
                && passing.is_sync == is_sync
                && (!is_sync || passing.from == from)
                && passing.follows.is_none()
        };
        // The newest first: sequence numbers come again.
        let newest = (0..MAX_PENDING_MESSAGES)
            .map(|back| (self.next as usize + MAX_PENDING_MESSAGES - back) % MAX_PENDING_MESSAGES);
        let found = newest.clone().find(|&index| same(&self.passing[index]));
        match found {
            Some(index) => {
                let owed = self.passing[index].owed.iter_mut().enumerate();
                owed.for_each(|(port, owed)| *owed = port != from.index());
                self.follow(index, frame, place, from, out);
            }
            None => {
                self.uncorrected += 1;
                self.flood(&frame, from, out);
                out.done(frame);
            }
        }
    }

    /// Sends what follows a message to wherever its residence is known, and keeps it for the rest.
    fn follow(
        &mut self,
        index: usize,
        frame: Frame,
        place: (usize, bool),
        from: Port,
        out: &mut Out,
    ) {
        let passing = &mut self.passing[index];
        let ports = passing.owed.len();
        for port in 0..ports {
            // A Delay_Resp comes from where its Delay_Req left to.
            let left_by = if passing.is_sync { port } else { from.index() };
            let Some(inside) = passing.inside.get(left_by).copied().flatten() else {
                continue;
            };
            if core::mem::take(&mut passing.owed[port]) {
                let mut copy = out.copy(&frame);
                correct(&mut copy, place, scaled(inside + passing.link));
                self.corrected += 1;
                out.send(Port(port as u16), copy);
            }
        }
        match passing.owed.contains(&true) {
            true => passing.follows = Some((frame, place, from)),
            false => out.done(frame),
        }
    }

    fn flood(&self, frame: &Frame, from: Port, out: &mut Out) {
        let ports = self.passing[0].owed.len();
        for port in (0..ports).filter(|&port| port != from.index()) {
            let copy = out.copy(frame);
            out.send(Port(port as u16), copy);
        }
    }
}
