//! Which slots hold what the packet has where their header was read.
//!
//! Headers leave a router nearly as they came. What is known here lets the deparser copy bytes of the packet, and checksums add them up,
//! where the program has changed nothing between reading and writing them: no field is packed that was only unpacked before.
//!
//! A header has a *base*, the address that it was last read at, or of zeros if it was not. A slot is *clean* at a place in the code
//! if on each way there it has the bits that its header has at its base; validity does not matter to that.

use crate::plan::{lvalue_slots, native_header, native_statement, statement_slots};
use p4::ir::*;
use pipeline::environment::Environment;

/// Where each slot is in its header.
pub(crate) struct Origins<'a> {
    program: &'a Program,
    /// By slot: its header, and its first bit there. None of slots in stacks, of which any element may be read.
    homes: Vec<Option<(HeaderId, u32)>>,
    /// What is written when a packet is marked to be dropped.
    marks: [Option<SlotId>; 2],
}

/// A set of slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clean(Vec<u64>);

impl Clean {
    pub(crate) fn has(&self, slot: SlotId) -> bool {
        let word = self.0.get(slot.index() / 64).copied().unwrap_or(0);
        word >> (slot.0 % 64) & 1 != 0
    }

    pub(crate) fn remove(&mut self, slot: SlotId) {
        if let Some(word) = self.0.get_mut(slot.index() / 64) {
            *word &= !(1 << (slot.0 % 64));
        }
    }

    pub(crate) fn insert(&mut self, slot: SlotId) {
        let index = slot.index() / 64;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] |= 1 << (slot.0 % 64);
    }

    /// Leaves what both have, and says whether that is less.
    pub(crate) fn meet(&mut self, other: &Clean) -> bool {
        let mut less = false;
        for (index, word) in self.0.iter_mut().enumerate() {
            let both = *word & other.0.get(index).copied().unwrap_or(0);
            less |= both != *word;
            *word = both;
        }
        less
    }
}

/// What is clean where a body's blocks begin, and where it ends; `None` where no way leads.
pub(crate) struct Flow {
    pub(crate) entries: Vec<Option<Clean>>,
    /// Where it returns.
    next: Option<Clean>,
    /// Where it ends otherwise.
    exit: Option<Clean>,
}

impl Flow {
    /// What is clean behind a section.
    pub(crate) fn end(self) -> Clean {
        let mut end = self.next;
        if let Some(exit) = &self.exit {
            join(&mut end, exit);
        }
        end.unwrap_or_default()
    }
}

fn join(at: &mut Option<Clean>, clean: &Clean) -> bool {
    match at {
        Some(before) => before.meet(clean),
        None => {
            *at = Some(clean.clone());
            true
        }
    }
}

impl<'a> Origins<'a> {
    pub(crate) fn new(environment: &'a Environment) -> Self {
        let program = &*environment.program;
        let mut homes = vec![None; program.slots.len()];
        let mut users = vec![0u32; program.slots.len()];
        let slots = program.headers.iter().flat_map(|header| &header.fields);
        slots.for_each(|slot| users[slot.index()] += 1);
        for (number, header) in program.headers.iter().enumerate() {
            let id = HeaderId(number as u32);
            let stacked = program.stacks.iter().any(|s| s.headers.contains(&id));
            let alone = header.fields.iter().all(|slot| users[slot.index()] == 1);
            if stacked || !alone || native_header(id, program).is_none() {
                continue;
            }
            let mut at = 0;
            for slot in &header.fields {
                homes[slot.index()] = Some((id, at));
                at += program.slots[slot.index()].ty.width();
            }
        }
        Origins {
            program,
            homes,
            marks: environment.marks(),
        }
    }

    /// A slot's header and its first bit there.
    pub(crate) fn home(&self, slot: SlotId) -> Option<(HeaderId, u32)> {
        self.homes[slot.index()]
    }

    /// All slots that have a home, which are clean when a packet comes.
    pub(crate) fn all(&self) -> Clean {
        let mut all = Clean::default();
        for header in 0..self.program.headers.len() {
            self.read(HeaderId(header as u32), &mut all);
        }
        all
    }

    /// A header has been read.
    pub(crate) fn read(&self, header: HeaderId, clean: &mut Clean) {
        for slot in &self.program.headers[header.index()].fields {
            if self.homes[slot.index()].is_some() {
                clean.insert(*slot);
            }
        }
    }

    /// What is clean in a body. Where positions are not `aligned`, headers are read from copies.
    pub(crate) fn flow(&self, body: &Body, entry: &Clean, aligned: bool) -> Flow {
        let count = body.blocks.len();
        let mut flow = Flow {
            entries: vec![None; count],
            next: None,
            exit: None,
        };
        match flow.entries.first_mut() {
            Some(first) => *first = Some(entry.clone()),
            None => flow.next = Some(entry.clone()),
        }
        let mut waiting: Vec<bool> = (0..count).map(|block| block == 0).collect();
        while let Some(index) = waiting.iter().position(|waits| *waits) {
            waiting[index] = false;
            let Some(clean) = flow.entries[index].clone() else {
                continue;
            };
            for to in self.block(body, index, clean, aligned, &mut flow) {
                waiting[to.index()] = true;
            }
        }
        flow
    }

    /// Follows a block; gives those that have become less clean.
    fn block(
        &self,
        body: &Body,
        index: usize,
        mut clean: Clean,
        aligned: bool,
        flow: &mut Flow,
    ) -> Vec<BlockId> {
        let mut again = Vec::new();
        let block = &body.blocks[index];
        let mut fails = |clean: &Clean, flow: &mut Flow| match body.fail {
            Some(to) if join(&mut flow.entries[to.index()], clean) => again.push(to),
            Some(_) => {}
            None => drop(join(&mut flow.exit, clean)),
        };
        fails(&clean, flow);
        for statement in &block.statements {
            self.statement(&statement.kind, &mut clean, aligned);
            fails(&clean, flow);
        }
        let mut leads = |to: BlockId, clean: &Clean, flow: &mut Flow| {
            if join(&mut flow.entries[to.index()], clean) {
                again.push(to);
            }
        };
        match &block.terminator {
            Terminator::Jump(to) => leads(*to, &clean, flow),
            Terminator::Branch { yes, no, .. } => {
                leads(*yes, &clean, flow);
                leads(*no, &clean, flow);
            }
            Terminator::Select { cases, default, .. } => {
                for case in cases {
                    leads(case.next, &clean, flow);
                }
                leads(*default, &clean, flow);
            }
            Terminator::Apply { table, next, exit } => {
                let table = &self.program.tables[table.index()];
                for slot in table.hit.iter().chain(&table.action_run) {
                    clean.remove(*slot);
                }
                leads(*next, &clean, flow);
                for choice in &table.actions {
                    let action = &self.program.actions[choice.action.index()];
                    let mut clean = clean.clone();
                    for (_, slot, _) in &action.parameters {
                        clean.remove(*slot);
                    }
                    let ended = self.flow(&action.body, &clean, aligned);
                    for (to, clean) in [(*next, ended.next), (*exit, ended.exit)] {
                        if let Some(clean) = clean {
                            leads(to, &clean, flow);
                        }
                    }
                }
            }
            Terminator::Return => drop(join(&mut flow.next, &clean)),
            Terminator::Exit | Terminator::Reject => drop(join(&mut flow.exit, &clean)),
        }
        again
    }

    fn statement(&self, statement: &StatementKind, clean: &mut Clean, aligned: bool) {
        let native = native_statement(statement, self.program);
        let mut dirty = |slot| clean.remove(slot);
        match statement {
            StatementKind::Extract { header, .. } if native && aligned => self.read(*header, clean),
            StatementKind::Emit { .. } | StatementKind::EmitValue { .. } if native => {}
            StatementKind::Assign { target, .. } if native => lvalue_slots(target, &mut dirty),
            StatementKind::Call { results, .. } if native => {
                results
                    .iter()
                    .for_each(|result| lvalue_slots(result, &mut dirty));
                self.marks.iter().flatten().copied().for_each(dirty);
            }
            // What the interpreter reads becomes dirty too; little is lost.
            _ => statement_slots(statement, self.program, &mut dirty),
        }
    }
}
