//! Paths of packets through a NIC (PNA): sides of ports, loopback, recirculation and mirrors.
//!
//! Mirrored packets are sent as multicast groups are, to all interfaces at once: there is a group for each session with each port that the packet
//! itself may leave by. The kernel copies a packet when the program is done with it, so all copies are alike.

use crate::copies::GROUPS;
use crate::frame::{BOUND, CLASS, FROM, GROUP, INDEX, LOOPED, PASS, PORT, TO_NET};
use crate::instruction::{Alu, Compare, Label, R0, R1, R2, R7, R8, Size};
use crate::maps::Purpose;
use crate::unit::{Code, Entrance, Fault, Unit};
use p4::ir::SlotId;
use pipeline::engine::Nic;
use pipeline::environment::Environment;
use pipeline::state::nic::Side;
use pipeline::state::replication::Replica;
use std::collections::BTreeMap;

/// Maximum number of groups for mirror sessions.
const MIRRORED: u32 = 4096;
/// Above the port of a mirrored packet, one more, in the number of its group: its direction, and its session.
const DIRECTION: u32 = 1 << 15;
const SESSION: u32 = 16;
/// Marks a packet that has a group, whose number may be 0.
const HAS_GROUP: i32 = 32;
/// Passes of a packet after which the pass number wraps.
const PASSES: i32 = 0x3FFF;

/// In place of the number of copies for ports that are not there: copies of this group are not like the packet.
const OTHERWISE: u64 = u64::MAX;

/// The groups that mirror sessions need, of `ports` interfaces: numbers, the ports of the copies and of the packet itself, and whether the kernel cannot
/// make them, since they are shorter or one comes back from the other side.
pub(crate) fn groups(
    environment: &Environment,
    ports: usize,
) -> BTreeMap<u32, (Vec<Replica>, Option<u64>)> {
    let replication = environment.replication.get();
    let sides = environment.nic.sides.get();
    let mut groups = BTreeMap::new();
    for number in replication.sessions.keys().filter(|n| **n <= 0xFFFF) {
        let Some((session, copies)) = replication.clones(*number) else {
            continue;
        };
        let copies: Vec<Replica> = copies.collect();
        for to_net in [false, true] {
            let loops = |copy: &Replica| match sides.get(&copy.port) {
                Some(Side::Net) => !to_net,
                Some(Side::Host) => to_net,
                None => false,
            };
            let otherwise = session.truncate.is_some() || copies.iter().any(loops);
            let otherwise = otherwise.then_some(OTHERWISE);
            let itself = (0..ports as u32).map(Some).chain([None]);
            for port in itself {
                let own = port.map(|port| Replica { port, instance: 0 });
                let all = own.into_iter().chain(copies.iter().copied());
                let group = group(*number, to_net, port);
                groups.insert(group, (all.collect(), otherwise));
            }
        }
    }
    groups
}

/// The number of a side in [`Purpose::Sides`]: one more than the direction of packets that are looped back there.
pub(crate) fn number(side: Side) -> u64 {
    match side {
        Side::Net => 1,
        Side::Host => 2,
    }
}

/// The number of the group of a session for packets in a direction that leave by a port themselves, too, or do not.
pub(crate) fn group(session: u32, to_net: bool, port: Option<u32>) -> u32 {
    let direction = if to_net { DIRECTION } else { 0 };
    session << SESSION | direction | port.map_or(0, |port| port + 1)
}

impl Unit<'_> {
    fn nic(&self) -> Option<Nic> {
        self.detours.nic.clone()
    }

    /// How many groups of interfaces the program may have.
    pub(crate) fn groups(&self) -> u32 {
        match self.detours.nic {
            Some(_) => MIRRORED,
            None => GROUPS,
        }
    }

    /// Whether packets may be mirrored here.
    pub(crate) fn mirrors(&self) -> bool {
        let nic = self.detours.nic.as_ref();
        self.entrance == Entrance::Attached && nic.is_some_and(|nic| !nic.mirrors.is_empty())
    }

    /// The metadata of a packet that arrives.
    pub(crate) fn arrive_in_nic(&mut self) {
        if self.detours.nic.is_none() {
            return;
        }
        for at in [TO_NET, PASS, LOOPED, CLASS, BOUND] {
            self.a.store_number(Size::B8, R7, at, 0);
        }
        let end = self.a.label();
        self.side_of(FROM, end);
        self.a.alu(Alu::Subtract, R1, 1);
        self.a.store(Size::B8, R7, TO_NET, R1);
        self.a.bind(end);
    }

    /// Loads the side of the port at `at` in the frame into `R1`; jumps to `none` for a port without a side.
    fn side_of(&mut self, at: i32, none: Label) {
        let sides = self.map(Purpose::Sides);
        self.a.load(Size::B8, R1, R7, at);
        self.a.store(Size::B4, R7, INDEX, R1);
        self.lookup(sides, INDEX);
        self.a.jump_if(Compare::Equal, R0, 0, none);
        self.a.load(Size::B8, R1, R0, 0);
    }

    /// Loads the value that a slot gets from the packet's arrival into `R1`. `false` for other slots.
    pub(crate) fn came(&mut self, slot: SlotId) -> bool {
        let Some(nic) = self.nic() else { return false };
        let from = match slot {
            slot if nic.direction.contains(&slot) => TO_NET,
            slot if nic.pass.contains(&slot) => PASS,
            slot if nic.looped.contains(&slot) => LOOPED,
            slot if nic.class == Some(slot) => CLASS,
            // A packet that came back goes on to where it was sent, unless the program says otherwise.
            slot if nic.port == Some(slot) || nic.drop == Some(slot) => BOUND,
            _ => return false,
        };
        self.a.load(Size::B8, R1, R7, from);
        if from == BOUND {
            let none = self.a.label();
            let end = self.a.label();
            self.a.jump_if(Compare::Equal, R1, 0, none);
            match nic.port == Some(slot) {
                true => self.a.alu(Alu::Subtract, R1, 1),
                false => self.a.alu(Alu::Move, R1, 0),
            }
            self.a.jump(end);
            self.a.bind(none);
            self.a.alu(Alu::Move, R1, i32::from(nic.drop == Some(slot)));
            self.a.bind(end);
        }
        true
    }

    /// Whether packets stay on the path until its end when this slot is not zero.
    pub(crate) fn goes_on(&self, slot: SlotId) -> bool {
        self.detours.nic.as_ref().is_some_and(|nic| {
            let mirrors = nic.mirrors.iter().any(|(on, _)| *on == slot);
            nic.recirculate == Some(slot) || mirrors && self.mirrors()
        })
    }

    /// Jumps to `on` for a dropped packet that is recirculated or mirrored first.
    pub(crate) fn unless_dropped(&mut self, slot: SlotId, on: Label) {
        let Some(nic) = self.nic() else { return };
        if nic.drop != Some(slot) {
            return;
        }
        let mirrors = nic.mirrors.iter().map(|(on, _)| *on);
        let mirrors: Vec<SlotId> = mirrors.filter(|_| self.mirrors()).collect();
        for slot in nic.recirculate.into_iter().chain(mirrors) {
            let at = self.cell(slot);
            self.a.load(Size::B8, R1, R7, at);
            self.a.jump_if(Compare::NotEqual, R1, 0, on);
        }
    }

    /// End of a packet's path after the deparser: recirculation, mirror or departure.
    pub(crate) fn end_in_nic(&mut self) -> Result<(), Fault> {
        let Some(nic) = self.nic() else {
            return Ok(());
        };
        let mirrors = self.mirrors();
        if mirrors {
            self.mirror(&nic);
        }
        if let Some(slot) = nic.recirculate {
            let on = self.a.label();
            let at = self.cell(slot);
            self.a.load(Size::B8, R1, R7, at);
            self.a.jump_if(Compare::Equal, R1, 0, on);
            self.unless_mirrored(mirrors);
            self.turn();
            self.a.load(Size::B8, R1, R7, PASS);
            self.a.alu(Alu::Add, R1, 1);
            self.a.alu(Alu::And, R1, PASSES);
            self.a.store(Size::B8, R7, PASS, R1);
            self.a.store_number(Size::B8, R7, BOUND, 0);
            self.pass_on(&nic)?;
            self.a.bind(on);
        }
        let on = self.a.label();
        if let (Some(drop), true) = (nic.drop, mirrors) {
            // Only copies of it leave.
            let at = self.cell(drop);
            self.a.load(Size::B8, R1, R7, at);
            self.a.jump_if(Compare::NotEqual, R1, 0, on);
        }
        self.side_of(PORT, on);
        self.a.alu(Alu::Subtract, R1, 1);
        self.a.load(Size::B8, R2, R7, TO_NET);
        self.a.jump_if(Compare::NotEqual, R1, R2, on);
        self.unless_mirrored(mirrors);
        self.turn();
        self.a.load(Size::B8, R1, R7, TO_NET);
        self.a.alu(Alu::Xor, R1, 1);
        self.a.store(Size::B8, R7, TO_NET, R1);
        self.a.store_number(Size::B8, R7, LOOPED, 1);
        self.a.store_number(Size::B8, R7, PASS, 0);
        self.a.load(Size::B8, R1, R7, PORT);
        self.a.alu(Alu::Add, R1, 1);
        self.a.store(Size::B8, R7, BOUND, R1);
        self.pass_on(&nic)?;
        self.a.bind(on);
        Ok(())
    }

    /// Recirculates the packet with its new class of service.
    fn pass_on(&mut self, nic: &Nic) -> Result<(), Fault> {
        match nic.class_given {
            Some(slot) => self.copy(self.cell(slot), CLASS, 1),
            None => self.a.store_number(Size::B8, R7, CLASS, 0),
        }
        self.restart(1, &[])
    }

    /// Drops and counts a packet that is both recirculated and mirrored: the kernel copies packets only at the end of the program.
    fn unless_mirrored(&mut self, mirrors: bool) {
        if mirrors {
            let single = self.a.label();
            self.a.load(Size::B8, R1, R7, GROUP);
            self.a.jump_if(Compare::Equal, R1, 0, single);
            self.leave(Code::Left);
            self.a.bind(single);
        }
    }

    /// Sets the group of a packet's mirror session, if it has one session.
    fn mirror(&mut self, nic: &Nic) {
        for (slot, session) in &nic.mirrors {
            let on = self.a.label();
            let (at, session) = (self.cell(*slot), self.cell(*session));
            self.a.load(Size::B8, R1, R7, at);
            self.a.jump_if(Compare::Equal, R1, 0, on);
            self.unless_mirrored(true);
            self.a.load(Size::B8, R1, R7, session);
            self.a.alu(Alu::ShiftLeft, R1, SESSION as i32);
            self.a.load(Size::B8, R2, R7, TO_NET);
            self.a.alu(Alu::Multiply, R2, DIRECTION as i32);
            self.a.alu(Alu::Or, R1, R2);
            self.a.number(R2, 1 << HAS_GROUP);
            self.a.alu(Alu::Or, R1, R2);
            let dropped = self.a.label();
            if let Some(drop) = nic.drop {
                let drop = self.cell(drop);
                self.a.load(Size::B8, R2, R7, drop);
                self.a.jump_if(Compare::NotEqual, R2, 0, dropped);
            }
            self.a.load(Size::B8, R2, R7, PORT);
            self.a.alu(Alu::Add, R2, 1);
            let fits = self.a.label();
            self.a.jump_if(Compare::Less, R2, DIRECTION as i32, fits);
            // No interface has such a port.
            self.leave(Code::NoPort);
            self.a.bind(fits);
            self.a.alu(Alu::Or, R1, R2);
            self.a.bind(dropped);
            self.a.store(Size::B8, R7, GROUP, R1);
            self.a.bind(on);
        }
    }

    /// Ends the path of a packet whose session has [`OTHERWISE`] in `R1`.
    pub(crate) fn mirrored_otherwise(&mut self, other: Label) {
        if self.detours.nic.is_some() {
            let on = self.a.label();
            self.a.number(R2, OTHERWISE);
            self.a.jump_if(Compare::NotEqual, R1, R2, on);
            self.a.number(R8, Code::Left as u64);
            self.a.jump(other);
            self.a.bind(on);
        }
    }

    /// A packet whose session or port is missing: jumps to `single` without a copy, unless the packet is dropped.
    pub(crate) fn unmirrored(&mut self, single: Label) {
        if self.detours.nic.is_some() {
            self.a.load(Size::B8, R1, R7, GROUP);
            self.a.alu(Alu::And, R1, DIRECTION as i32 - 1);
            self.a.jump_if(Compare::NotEqual, R1, 0, single);
        }
    }
}
