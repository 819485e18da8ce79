//! Constants and copies go to where they are read.
//!
//! What is known of slots goes from a block to those that only it leads to.

use super::fold::statement_values;
use super::uses::{Shape, TableUses, expressions_mut, hidden, statement, successors};
use crate::ir::*;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// What slots are known to hold: a constant, or what another slot holds.
type Known = BTreeMap<SlotId, Expr>;

/// Runs the pass; says whether anything changed.
pub fn run(program: &mut Program) -> bool {
    let shape = Shape::new(program);
    let mut changed = false;
    for body in super::bodies(program) {
        changed |= run_body(body, &shape);
    }
    changed
}

fn run_body(body: &mut Body, shape: &Shape) -> bool {
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); body.blocks.len()];
    for (from, block) in body.blocks.iter().enumerate() {
        for to in successors(&block.terminator) {
            preds[to.index()].push(from);
        }
    }
    if let Some(fail) = body.fail {
        // Errors come from anywhere.
        preds[fail.index()].extend([usize::MAX; 2]);
    }
    let mut changed = false;
    let mut ends: Vec<Option<Known>> = vec![None; body.blocks.len()];
    for (index, block) in body.blocks.iter_mut().enumerate() {
        let mut known = match preds[index].as_slice() {
            [one, rest @ ..] if index > 0 && rest.iter().all(|other| other == one) => {
                ends.get(*one).cloned().flatten().unwrap_or_default()
            }
            _ => Known::new(),
        };
        for Statement { kind, .. } in &mut block.statements {
            changed |= statement_values(kind, &mut |value| replace(value, &known));
            let uses = statement(kind, shape);
            if hidden(kind) {
                known.retain(|slot, value| {
                    let of = |slot: &SlotId| shape.observed.has(*slot);
                    !of(slot) && !matches!(value, Expr::Slot(from) if of(from))
                });
            }
            for slot in uses.writes() {
                forget(&mut known, slot);
            }
            if let StatementKind::Assign {
                target: Place::Slot(slot),
                value,
            } = kind
            {
                learn(&mut known, *slot, value, shape);
            }
        }
        for value in expressions_mut(&mut block.terminator) {
            changed |= replace(value, &known);
        }
        if let Terminator::Apply { table, .. } = block.terminator {
            let TableUses { writes, calls, .. } = &shape.tables[table.index()];
            known.retain(|slot, value| {
                let written =
                    |slot: &SlotId| writes.has(*slot) || *calls && shape.observed.has(*slot);
                !written(slot) && !matches!(value, Expr::Slot(from) if written(from))
            });
        }
        ends[index] = Some(known);
    }
    changed
}

fn forget(known: &mut Known, slot: SlotId) {
    known.remove(&slot);
    known.retain(|_, value| *value != Expr::Slot(slot));
}

fn learn(known: &mut Known, slot: SlotId, value: &Expr, shape: &Shape) {
    let ty = shape.slots[slot.index()];
    if matches!(ty, Ty::Varbit(_)) {
        return;
    }
    match value {
        Expr::Constant(bits, of) if *of == ty && bits.width() == ty.width() => {
            known.insert(slot, value.clone());
        }
        Expr::Slot(from) if *from != slot && shape.slots[from.index()] == ty => {
            known.insert(slot, value.clone());
        }
        _ => {}
    }
}

fn replace(value: &mut Expr, known: &Known) -> bool {
    match value {
        Expr::Slot(slot) => match known.get(slot) {
            Some(other) => {
                *value = other.clone();
                true
            }
            None => false,
        },
        Expr::Constant(..) | Expr::VarbitLength(_) => false,
        Expr::Element { index, .. } => replace(index, known),
        Expr::Unary(_, inner)
        | Expr::Slice { value: inner, .. }
        | Expr::Cast { value: inner, .. } => replace(inner, known),
        Expr::Binary(_, left, right) => replace(left, known) | replace(right, known),
        Expr::Conditional { condition, yes, no } => {
            replace(condition, known) | replace(yes, known) | replace(no, known)
        }
    }
}
