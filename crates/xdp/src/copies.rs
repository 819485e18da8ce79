//! Multicast groups: a map of interfaces for each, to all of which the kernel sends a packet at once (BPF_F_BROADCAST, Linux 5.13).
//!
//! The kernel copies a packet when the program is done with it. So all copies are alike, and a program can have them where nothing behind the point at
//! which it would be copied reads what tells one copy from another: by which port it leaves, its number in the group, that it is a copy.

use crate::frame::{ENDED, GROUP, INDEX};
use crate::instruction::{Alu, Compare, Label, R0, R1, R2, R3, R7, R8, Size};
use crate::maps::Purpose;
use crate::requests::recirculates;
use crate::unit::{Code, REDIRECT_MAP, Unit, XDP_DROP};
use p4::ir::{Body, Callee, Function, Program, SectionId, SlotId, StatementKind, Terminator};
use pipeline::engine::{Path, Source, Step};
use pipeline::state::replication::Replica;

/// So many multicast groups there may be.
pub(crate) const GROUPS: u32 = 256;
/// So many copies a group may have.
pub(crate) const COPIES: u32 = 256;
/// BPF_F_BROADCAST.
const BROADCAST: i32 = 1 << 3;

fn alike(program: &Program, path: &Path) -> Option<SlotId> {
    // Each copy would begin anew.
    if recirculates(program) {
        return None;
    }
    let group = path.detours.group?;
    let at = path
        .steps
        .iter()
        .position(|step| *step == Step::LeaveIf(group))?;
    let behind = &path.steps[at + 1..];
    // The slots in which one copy has another value than the next.
    let mut differ: Vec<SlotId> = path.detours.instance.clone();
    differ.extend(&path.detours.kind);
    for step in behind {
        match *step {
            Step::Port(slot) => differ.push(slot),
            Step::Set(slot, Source::Slot(from)) | Step::Move(slot, from)
                if differ.contains(&from) =>
            {
                differ.push(slot);
            }
            // In these the path has what a packet without copies has.
            Step::Set(slot, _)
                if path.detours.instance.contains(&slot) || path.detours.kind.contains(&slot) => {}
            Step::Set(slot, _) | Step::Move(slot, _) => differ.retain(|other| *other != slot),
            Step::Run(section) if names(program, section, &differ) => return None,
            _ => {}
        }
    }
    Some(group)
}

/// Whether a section, or what it calls, names one of these slots.
fn names(program: &Program, section: SectionId, slots: &[SlotId]) -> bool {
    let mut found = false;
    let mut each = |slot: &mut SlotId| found |= slots.contains(slot);
    let body = &program.sections[section.index()].body;
    of_body(body, &mut each);
    for block in &body.blocks {
        if let Terminator::Apply { table, .. } = block.terminator {
            let table = &program.tables[table.index()];
            for key in &table.keys {
                key.value.clone().slots_mut(&mut each);
            }
            for action in &table.actions {
                of_body(&program.actions[action.action.index()].body, &mut each);
            }
        }
    }
    let methods = program.objects.iter().flat_map(|object| &object.methods);
    methods.for_each(|method| of_body(&method.body, &mut each));
    found
}

/// Calls back for each slot of a body. To hand all of `standard_metadata` to `mark_to_drop` is not to read it.
fn of_body(body: &Body, each: &mut dyn FnMut(&mut SlotId)) {
    let mut body = body.clone();
    for block in &mut body.blocks {
        block.statements.retain(|statement| {
            let marks = Callee::Function(Function::MarkToDrop);
            !matches!(&statement.kind, StatementKind::Call { callee, .. } if *callee == marks)
        });
    }
    body.slots_mut(each);
}

/// The numbers of the ports of a group's copies that are there, and how many are not.
pub(crate) fn members(replicas: &[Replica], ports: usize) -> (Vec<usize>, u64) {
    let here = replicas.iter().map(|replica| replica.port as usize);
    let here: Vec<usize> = here
        .filter(|port| *port < ports)
        .take(COPIES as usize)
        .collect();
    let absent = replicas.len() - here.len();
    (here, absent as u64)
}

impl Unit<'_> {
    /// The slot with the number of a packet's group, if all its copies are alike.
    pub(crate) fn alike(&self, path: &Path) -> Option<SlotId> {
        alike(self.program, path)
    }

    /// A packet whose group is in this slot goes on where those do that are sent by one port, and is copied at the end.
    pub(crate) fn copies(&mut self, slot: SlotId, egress: Label) {
        let at = self.cell(slot);
        let on = self.a.label();
        self.a.load(Size::B8, R1, R7, at);
        self.a.jump_if(Compare::Equal, R1, 0, on);
        self.a.store(Size::B8, R7, GROUP, R1);
        self.a.jump(egress);
        self.a.bind(on);
    }

    /// Gives the packet to all interfaces of its group, if it has one.
    pub(crate) fn broadcast(&mut self, redirected: Label, other: Label) {
        let (groups, longest) = (self.map(Purpose::Groups), self.map(Purpose::LongestOf));
        let (single, none) = (self.a.label(), self.a.label());
        self.a.load(Size::B8, R1, R7, GROUP);
        self.a.jump_if(Compare::Equal, R1, 0, single);
        self.a.store(Size::B4, R7, INDEX, R1);
        self.lookup(longest, INDEX);
        self.a.jump_if(Compare::Equal, R0, 0, none);
        // Copies for missing ports, or a session that the kernel does not have.
        self.a.load(Size::B8, R1, R0, 8);
        self.mirrored_otherwise(other);
        let lost = ENDED + 8 * Code::NoCopy as i32;
        self.a.load(Size::B8, R2, R7, lost);
        self.a.alu(Alu::Add, R2, R1);
        self.a.store(Size::B8, R7, lost, R2);
        self.no_longer(other);
        self.lookup(groups, INDEX);
        self.a.jump_if(Compare::Equal, R0, 0, none);
        self.a.alu(Alu::Move, R1, R0);
        self.a.alu(Alu::Move, R2, 0);
        self.a.alu(Alu::Move, R3, BROADCAST | XDP_DROP);
        self.a.call(REDIRECT_MAP);
        self.a.jump(redirected);
        // A group of nobody, or a mirror session.
        self.a.bind(none);
        self.unmirrored(single);
        self.a.number(R8, Code::Dropped as u64);
        self.a.jump(other);
        self.a.bind(single);
    }
}
