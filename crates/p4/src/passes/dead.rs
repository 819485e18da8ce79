//! Assignments that nobody reads: of variables, of header fields, of metadata.
//!
//! At the end of a section those slots count as read that the architecture reads, and those that anything in the program reads.

use super::uses::{Set, Shape, expressions, fails, hidden, statement, successors};
use crate::ir::fold::reads;
use crate::ir::*;
use alloc::vec;
use alloc::vec::Vec;

/// Runs the pass; says whether anything changed.
pub fn run(program: &mut Program) -> bool {
    let shape = Shape::new(program);
    // Slots of a section alone, which nobody reads after it.
    let mut owners: Vec<Option<usize>> = vec![None; program.slots.len()];
    let mut shared = Set::new(program.slots.len());
    let mut own = |number: usize, slot: SlotId, shared: &mut Set| match owners[slot.index()] {
        Some(other) if other != number => shared.add(slot),
        _ => owners[slot.index()] = Some(number),
    };
    let all = program.sections.iter().map(|section| &section.body);
    let all = all.chain(program.actions.iter().map(|action| &action.body));
    for (number, body) in all.enumerate() {
        for block in &body.blocks {
            for Statement { kind, .. } in &block.statements {
                let uses = statement(kind, &shape);
                let slots = uses.reads.iter().copied().chain(uses.writes());
                slots.for_each(|slot| own(number, slot, &mut shared));
            }
            let mut read = Vec::new();
            expressions(&block.terminator)
                .into_iter()
                .for_each(|value| reads(value, &mut read));
            if let Terminator::Apply { table, .. } = block.terminator {
                let table = &program.tables[table.index()];
                table
                    .keys
                    .iter()
                    .for_each(|key| reads(&key.value, &mut read));
                read.extend(table.hit.iter().chain(&table.action_run));
            }
            read.into_iter()
                .for_each(|slot| own(number, slot, &mut shared));
        }
    }
    for parameter in program
        .sections
        .iter()
        .flat_map(|section| &section.parameters)
    {
        parameter
            .fields
            .iter()
            .for_each(|(_, slot)| shared.add(*slot));
    }
    // Whatever others could read.
    let mut after = shape.observed.clone();
    for index in 0..program.slots.len() as u32 {
        let slot = SlotId(index);
        if shape.read.has(slot) && shared.has(slot) {
            after.add(slot);
        }
    }
    let mut changed = false;
    for section in &mut program.sections {
        changed |= run_body(&mut section.body, &shape, &after);
    }
    for action in &mut program.actions {
        changed |= run_body(&mut action.body, &shape, &after);
    }
    changed
}

/// Maximum number of slots times blocks. They take 64 MiB, and time for each round that loops need.
/// Larger bodies are not changed.
const MAX_PLACES: usize = 1 << 29;

fn run_body(body: &mut Body, shape: &Shape, after: &Set) -> bool {
    if body.blocks.len().saturating_mul(shape.slots.len()) > MAX_PLACES {
        return false;
    }
    let nothing = Set::new(shape.slots.len());
    let mut before: Vec<Set> = vec![nothing; body.blocks.len()];
    // Until nothing is added any more: there are loops.
    loop {
        let mut changed = false;
        for index in (0..body.blocks.len()).rev() {
            let mut live = at_end(&body.blocks[index], shape, after, &before);
            for Statement { kind, .. } in body.blocks[index].statements.iter().rev() {
                if !is_dead(kind, &live) {
                    pass(kind, &mut live, shape, after, body.fail, &before);
                }
            }
            if live != before[index] {
                before[index] = live;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut changed = false;
    for index in 0..body.blocks.len() {
        let mut live = at_end(&body.blocks[index], shape, after, &before);
        let statements = core::mem::take(&mut body.blocks[index].statements);
        let mut kept = Vec::with_capacity(statements.len());
        for statement in statements.into_iter().rev() {
            if is_dead(&statement.kind, &live) {
                changed = true;
            } else {
                pass(&statement.kind, &mut live, shape, after, body.fail, &before);
                kept.push(statement);
            }
        }
        kept.reverse();
        body.blocks[index].statements = kept;
    }
    changed
}

/// What is read behind a block's statements.
fn at_end(block: &Block, shape: &Shape, after: &Set, before: &[Set]) -> Set {
    let mut live = match block.terminator {
        Terminator::Return | Terminator::Exit | Terminator::Reject => after.clone(),
        _ => Set::new(shape.slots.len()),
    };
    for to in successors(&block.terminator) {
        live.add_all(&before[to.index()]);
    }
    if let Terminator::Apply { table, .. } = block.terminator {
        let table = &shape.tables[table.index()];
        live.add_all(&table.keys);
        live.add_all(&table.reads);
        if table.calls {
            live.add_all(&shape.observed);
        }
    }
    let mut read = Vec::new();
    expressions(&block.terminator)
        .into_iter()
        .for_each(|value| reads(value, &mut read));
    read.into_iter().for_each(|slot| live.add(slot));
    live
}

fn is_dead(kind: &StatementKind, live: &Set) -> bool {
    match kind {
        StatementKind::Assign { target, value } => match target {
            LValue::Slot(slot) => !live.has(*slot) || *value == Expr::Slot(*slot),
            LValue::Slice { slot, .. } => !live.has(*slot),
            LValue::Element { slots, .. } => !slots.iter().any(|slot| live.has(*slot)),
        },
        StatementKind::Length { into } => !live.has(*into),
        _ => false,
    }
}

/// From behind a statement to before it.
fn pass(
    kind: &StatementKind,
    live: &mut Set,
    shape: &Shape,
    after: &Set,
    fail: Option<BlockId>,
    before: &[Set],
) {
    let uses = statement(kind, shape);
    uses.sets.iter().for_each(|slot| live.remove(*slot));
    uses.reads.iter().for_each(|slot| live.add(*slot));
    if fails(kind) {
        match fail {
            Some(fail) => live.add_all(&before[fail.index()]),
            None => live.add_all(after),
        }
    }
    if hidden(kind) {
        live.add_all(&shape.observed);
        // An assertion ends the packet's way.
        live.add_all(after);
    }
}
