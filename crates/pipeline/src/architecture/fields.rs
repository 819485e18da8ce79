//! Finds the sections of a program and their parameters' fields.

use crate::engine::{Source, Step};
use crate::environment::{Environment, Unsupported};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use p4::ir::{
    Callee, Function, Program, Role, Section, SectionId, SectionParameter, SlotId, StatementKind,
    Terminator,
};
use p4::source::Span;

/// A field of an architecture's metadata that is at most 64 bits wide: where it is, if the program has it, and how wide.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Field(Option<(usize, u64)>, Option<SlotId>);

impl Field {
    pub(super) fn of(environment: &Environment, parameter: &SectionParameter, name: &str) -> Self {
        let mut fields = parameter.fields.iter();
        let slot = fields
            .find(|(path, _)| &**path == name)
            .map(|(_, slot)| *slot);
        let place = slot.map(|slot| {
            let (at, ty) = environment.layout.cell(slot);
            let mask = u64::MAX >> (64 - ty.width().clamp(1, 64));
            (at, mask)
        });
        Field(place, slot)
    }

    pub(super) fn at(environment: &Environment, slot: Option<SlotId>) -> Self {
        let place = slot.map(|slot| (environment.layout.cell(slot).0, u64::MAX));
        Field(place, slot)
    }

    /// The slot, if the program has it.
    pub(super) fn slot(self) -> Option<SlotId> {
        self.1
    }

    /// The step that gives it a number, if the program has it.
    pub(super) fn step(self, source: Source) -> Option<Step> {
        self.1.map(|slot| Step::Set(slot, source))
    }

    #[inline]
    pub(super) fn set(self, cells: &mut [u64], value: u64) {
        if let Some((at, mask)) = self.0 {
            cells[at] = value & mask;
        }
    }

    /// Gives it another one's value.
    #[inline]
    pub(super) fn copy(self, cells: &mut [u64], from: Field) {
        self.set(cells, from.get(cells));
    }

    /// Zero where there is no such field.
    #[inline]
    pub(super) fn get(self, cells: &[u64]) -> u64 {
        self.0.map_or(0, |(at, _)| cells[at])
    }
}

/// The section with this role.
pub(super) fn section(program: &Program, role: &Role) -> Result<SectionId, Unsupported> {
    let mut sections = program.sections.iter();
    match sections.position(|section| section.role == *role) {
        Some(index) => Ok(SectionId(index as u32)),
        None => Err(Unsupported::new(format!(
            "the program has no `{}`, which its package `{}` needs",
            role.parameter(&program.architecture),
            program.architecture
        ))),
    }
}

/// The section's parameter with this index.
pub(super) fn parameter(
    program: &Program,
    id: SectionId,
    index: usize,
) -> Result<&SectionParameter, Unsupported> {
    let section = &program.sections[id.index()];
    section.parameters.get(index).ok_or_else(|| {
        Unsupported::new(format!(
            "`{}` has {} parameters, fewer than `{}` of `{}` must have",
            section.name,
            section.parameters.len(),
            section.role.parameter(&program.architecture),
            program.architecture
        ))
    })
}

/// A section that does something, or none: it need not be called.
pub(super) fn unless_empty(program: &Program, id: SectionId) -> Option<SectionId> {
    let Section { body, .. } = &program.sections[id.index()];
    let empty = body.blocks.first().is_none_or(|block| {
        block.statements.is_empty() && matches!(block.terminator, Terminator::Return)
    });
    (!empty).then_some(id)
}

/// Whether a program reads one of these slots, and the first statement that does, or that runs when a condition holds that does.
/// To hand all of `standard_metadata` to `mark_to_drop` is not to read it.
pub(super) fn reads_any(program: &Program, slots: &[SlotId]) -> (bool, Option<Span>) {
    let mut program = program.clone();
    let sections = program.sections.iter_mut().map(|section| &mut section.body);
    let actions = program.actions.iter_mut().map(|action| &mut action.body);
    let mut first = None;
    for body in sections.chain(actions) {
        for at in 0..body.blocks.len() {
            let block = &mut body.blocks[at];
            block.statements.retain_mut(|statement| {
                let marks = Callee::Function(Function::MarkToDrop);
                if matches!(&statement.kind, StatementKind::Call { callee, .. } if *callee == marks)
                {
                    return false;
                }
                let mut here = false;
                let kind = &mut statement.kind;
                kind.slots_mut(&mut |slot| here |= slots.contains(slot));
                first = first.or(here.then_some(statement.span));
                true
            });
            let mut here = false;
            let Terminator::Branch { condition, yes, .. } = &mut block.terminator else {
                continue;
            };
            condition.slots_mut(&mut |slot| here |= slots.contains(slot));
            let yes = yes.index();
            let held = body.blocks.get(yes).filter(|_| here);
            let statement = held.and_then(|block| block.statements.first());
            first = first.or(statement.map(|statement| statement.span));
        }
    }
    let mut found = false;
    program.used_slots_mut(&mut |slot| found |= slots.contains(slot));
    (found, first)
}

/// A parameter's slots.
pub(super) fn slots(parameter: &SectionParameter) -> Vec<SlotId> {
    parameter.fields.iter().map(|(_, slot)| *slot).collect()
}

/// Cells that a parameter's fields have, neighbours together.
pub(super) fn ranges(environment: &Environment, parameter: &SectionParameter) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = parameter
        .fields
        .iter()
        .map(|(_, slot)| environment.layout.range(*slot))
        .collect();
    all.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in all {
        match joined.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Which cells to copy so that a parameter has another one's value; nothing where both are the same slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfer {
    cells: Vec<(Range<usize>, usize)>,
    /// The same as slots: from, to.
    pub(super) slots: Vec<(SlotId, SlotId)>,
}

impl Transfer {
    /// From a section's parameter to another's, by their indices.
    pub(super) fn new(
        environment: &Environment,
        (from, from_index): (SectionId, usize),
        (to, to_index): (SectionId, usize),
    ) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        let from = parameter(program, from, from_index)?;
        let to = parameter(program, to, to_index)?;
        let layout = &environment.layout;
        let pairs = from.fields.iter().zip(&to.fields);
        let pairs = pairs.map(|((_, from), (_, to))| (*from, *to));
        let slots: Vec<(SlotId, SlotId)> = pairs
            .filter(|(from, to)| {
                let (from, to) = (layout.range(*from), layout.range(*to));
                from != to && from.len() == to.len()
            })
            .collect();
        let cells = slots.iter();
        let cells = cells.map(|(from, to)| (layout.range(*from), layout.range(*to).start));
        Ok(Transfer {
            cells: cells.collect(),
            slots,
        })
    }

    /// As steps of a path.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> {
        self.slots.iter().map(|(from, to)| Step::Move(*to, *from))
    }

    /// Copies within one packet's cells.
    pub(super) fn within(&self, cells: &mut [u64]) {
        for (from, to) in &self.cells {
            cells.copy_within(from.clone(), *to);
        }
    }

    /// Copies from one packet's cells to another's.
    pub(super) fn between(&self, from: &[u64], to: &mut [u64]) {
        for (range, at) in &self.cells {
            to[*at..*at + range.len()].copy_from_slice(&from[range.clone()]);
        }
    }
}

/// Fields by the numbers in their `@field_list` annotations.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldLists(BTreeMap<u32, Vec<SlotId>>);

impl FieldLists {
    pub(super) fn new(program: &Program) -> Self {
        let mut lists: BTreeMap<u32, Vec<SlotId>> = BTreeMap::new();
        for (index, slot) in program.slots.iter().enumerate() {
            for number in slot.field_lists().flat_map(|list| list.split(',')) {
                if let Ok(number) = number.trim().parse() {
                    lists.entry(number).or_default().push(SlotId(index as u32));
                }
            }
        }
        FieldLists(lists)
    }

    pub(super) fn all(&self) -> &BTreeMap<u32, Vec<SlotId>> {
        &self.0
    }

    pub(super) fn slots(&self, list: u32) -> &[SlotId] {
        self.0.get(&list).map_or(&[], |slots| slots)
    }
}
