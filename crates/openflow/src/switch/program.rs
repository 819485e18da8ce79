//! What entries do: instructions as they are carried out, kept once however many entries have them.

use crate::action::Action;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::list::List;
use crate::port::PortNo;
use crate::version::Version;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The instructions of an entry, in the order in which they are carried out (1.3.5 section 5.9).
#[derive(Debug, Default)]
pub(super) struct Program {
    /// The meter that packets pass first.
    pub meter: Option<u32>,
    pub apply: Vec<Action<'static>>,
    pub clear: bool,
    pub write: Vec<Action<'static>>,
    /// Metadata and its mask.
    pub metadata: Option<(u64, u64)>,
    pub goto: Option<u8>,
    /// The version in whose form the instructions came.
    pub version: Option<Version>,
    /// The version's number, and the instructions in its form.
    wire: Vec<u8>,
    users: u32,
}

impl Program {
    /// The instructions as they came.
    pub fn instructions(&self) -> List<'_, Instruction<'_>> {
        match self.version {
            Some(version) => List::from_checked(version, &self.wire[1..]),
            None => List::EMPTY,
        }
    }

    /// Whether anything in it outputs to this port.
    pub fn outputs_to(&self, wanted: PortNo) -> bool {
        self.apply
            .iter()
            .chain(&self.write)
            .any(|action| match action {
                Action::Output { port, .. } | Action::Enqueue { port, .. } => *port == wanted,
                _ => false,
            })
    }

    /// Whether anything in it leads to this group.
    pub fn leads_to(&self, group: u32) -> bool {
        let mut actions = self.apply.iter().chain(&self.write);
        actions.any(|action| *action == Action::Group(group))
    }
}

/// The action without borrowed parts.
///
/// # Errors
/// An experimenter's action, of which none is known.
pub(super) fn owned(action: Action<'_>) -> Result<Action<'static>, Fault> {
    Ok(match action {
        Action::Experimenter { .. } => return Err(Fault::BadActionExperimenter),
        Action::Output { port, max_len } => Action::Output { port, max_len },
        Action::Enqueue { port, queue } => Action::Enqueue { port, queue },
        Action::SetVlanVid(vid) => Action::SetVlanVid(vid),
        Action::SetVlanPcp(pcp) => Action::SetVlanPcp(pcp),
        Action::SetTpSrc(port) => Action::SetTpSrc(port),
        Action::SetTpDst(port) => Action::SetTpDst(port),
        Action::CopyTtlOut => Action::CopyTtlOut,
        Action::CopyTtlIn => Action::CopyTtlIn,
        Action::SetMplsTtl(ttl) => Action::SetMplsTtl(ttl),
        Action::DecMplsTtl => Action::DecMplsTtl,
        Action::PushVlan(kind) => Action::PushVlan(kind),
        Action::PopVlan => Action::PopVlan,
        Action::PushMpls(kind) => Action::PushMpls(kind),
        Action::PopMpls(kind) => Action::PopMpls(kind),
        Action::SetQueue(queue) => Action::SetQueue(queue),
        Action::Group(group) => Action::Group(group),
        Action::SetNwTtl(ttl) => Action::SetNwTtl(ttl),
        Action::DecNwTtl => Action::DecNwTtl,
        Action::SetField(oxm) => Action::SetField(oxm),
        Action::PushPbb(kind) => Action::PushPbb(kind),
        Action::PopPbb => Action::PopPbb,
    })
}

/// The place of an action in an action set (1.3.5 section 5.10). Of several pops the outermost header goes first.
fn rank(action: &Action<'_>) -> u8 {
    match action {
        Action::CopyTtlIn => 0,
        Action::PopPbb => 1,
        Action::PopVlan => 2,
        Action::PopMpls(_) => 3,
        Action::PushMpls(_) => 4,
        Action::PushPbb(_) => 5,
        Action::PushVlan(_) => 6,
        Action::CopyTtlOut => 7,
        Action::DecMplsTtl => 8,
        Action::DecNwTtl => 9,
        Action::SetMplsTtl(_) => 10,
        Action::SetNwTtl(_) => 11,
        Action::SetField(_)
        | Action::SetVlanVid(_)
        | Action::SetVlanPcp(_)
        | Action::SetTpSrc(_)
        | Action::SetTpDst(_) => 12,
        Action::SetQueue(_) => 13,
        Action::Group(_) => 14,
        Action::Output { .. } | Action::Enqueue { .. } | Action::Experimenter { .. } => 15,
    }
}

/// Puts an action into a set: in its place, instead of one of its kind.
pub(super) fn put(set: &mut Vec<Action<'static>>, action: Action<'static>) {
    let same = |other: &Action<'_>| match (other, &action) {
        (Action::SetField(a), Action::SetField(b)) => a.field == b.field,
        (a, b) => core::mem::discriminant(a) == core::mem::discriminant(b),
    };
    if let Some(place) = set.iter_mut().find(|other| same(other)) {
        *place = action;
        return;
    }
    let at = set.partition_point(|other| rank(other) <= rank(&action));
    set.insert(at, action);
}

/// All programs, by number.
#[derive(Debug, Default)]
pub(super) struct Programs {
    all: Vec<Option<alloc::boxed::Box<Program>>>,
    free: Vec<u32>,
    by_wire: BTreeMap<Vec<u8>, u32>,
    scratch: Vec<u8>,
}

impl Programs {
    /// The number of the program with these instructions; one user more.
    ///
    /// # Errors
    /// What cannot be carried out.
    pub fn enter(
        &mut self,
        version: Version,
        instructions: List<'_, Instruction<'_>>,
    ) -> Result<u32, Fault> {
        self.scratch.clear();
        self.scratch.push(version.wire());
        let written = instructions.write(version, &mut self.scratch);
        written.map_err(|_| Fault::UnsupportedInstruction)?;
        if let Some(&number) = self.by_wire.get(&self.scratch) {
            self.get_mut(number).users += 1;
            return Ok(number);
        }
        let mut program = Program {
            version: Some(version),
            wire: self.scratch.clone(),
            users: 1,
            ..Program::default()
        };
        for instruction in instructions.iter() {
            match instruction {
                Instruction::GotoTable(table) => program.goto = Some(table),
                Instruction::WriteMetadata { metadata, mask } => {
                    program.metadata = Some((metadata & mask, mask));
                }
                Instruction::WriteActions(actions) => {
                    for action in actions.iter() {
                        put(&mut program.write, owned(action)?);
                    }
                }
                Instruction::ApplyActions(actions) => {
                    let actions: Result<Vec<_>, _> = actions.iter().map(owned).collect();
                    program.apply = actions?;
                }
                Instruction::ClearActions => program.clear = true,
                Instruction::Meter(meter) => program.meter = Some(meter),
                Instruction::Experimenter { .. } => {
                    return Err(Fault::BadInstructionExperimenter);
                }
            }
        }
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        if number as usize == self.all.len() {
            self.all.push(None);
        }
        self.by_wire.insert(program.wire.clone(), number);
        self.all[number as usize] = Some(alloc::boxed::Box::new(program));
        Ok(number)
    }

    /// How many entries have programs of which this holds.
    pub fn users(&self, wanted: impl Fn(&Program) -> bool) -> u32 {
        let programs = self.all.iter().flatten();
        programs.filter(|p| wanted(p)).map(|p| p.users).sum()
    }

    /// One user more.
    pub fn hold(&mut self, number: u32) {
        self.get_mut(number).users += 1;
    }

    /// One user less.
    pub fn leave(&mut self, number: u32) {
        let program = self.get_mut(number);
        program.users -= 1;
        if program.users == 0
            && let Some(program) = self.all[number as usize].take()
        {
            self.by_wire.remove(&program.wire);
            self.free.push(number);
        }
    }

    pub fn get(&self, number: u32) -> &Program {
        let program = self.all[number as usize].as_ref();
        program.expect("an entry's program is there")
    }

    fn get_mut(&mut self, number: u32) -> &mut Program {
        let program = self.all[number as usize].as_mut();
        program.expect("an entry's program is there")
    }

    /// Takes a program out while it is carried out; it must be given back.
    #[inline]
    pub fn take(&mut self, number: u32) -> alloc::boxed::Box<Program> {
        let program = self.all[number as usize].take();
        program.expect("a program is carried out once at a time")
    }

    #[inline]
    pub fn give(&mut self, number: u32, program: alloc::boxed::Box<Program>) {
        self.all[number as usize] = Some(program);
    }
}
