//! Branches of which the way is known, jumps to jumps, blocks that nothing leads to.

use super::uses::successors;
use crate::ir::*;
use alloc::vec;
use alloc::vec::Vec;

/// Runs the pass; says whether anything changed.
pub fn run(program: &mut Program) -> bool {
    let mut changed = false;
    for body in super::bodies(program) {
        changed |= decide(body);
        changed |= thread(body);
        changed |= merge(body);
        changed |= sweep(body);
    }
    changed
}

fn known(value: &Expr) -> Option<&crate::value::Bits> {
    match value {
        Expr::Constant(bits, ty) if bits.width() == ty.width() => Some(bits),
        _ => None,
    }
}

fn decide(body: &mut Body) -> bool {
    let mut changed = false;
    for block in &mut body.blocks {
        if let Some(to) = decided(&block.terminator) {
            block.terminator = Terminator::Jump(to);
            changed = true;
        }
    }
    changed
}

/// Where a branch or select leads, when that is known.
pub(super) fn decided(terminator: &Terminator) -> Option<BlockId> {
    match terminator {
        Terminator::Branch { condition, yes, no } => match known(condition) {
            Some(bits) => Some(if bits.is_true() { *yes } else { *no }),
            None => (yes == no).then_some(*yes),
        },
        Terminator::Select {
            keys,
            cases,
            default,
        } => select(keys, cases, *default),
        _ => None,
    }
}

fn select(keys: &[Expr], cases: &[Case], default: BlockId) -> Option<BlockId> {
    for case in cases {
        let mut all = Some(true);
        for (pattern, key) in case.patterns.iter().zip(keys) {
            let fits =
                match pattern {
                    Pattern::Any => Some(true),
                    Pattern::Equal(value) => known(value)
                        .zip(known(key))
                        .map(|(value, key)| value.unsigned() == key.unsigned()),
                    Pattern::Mask(value, mask) => known(value)
                        .zip(known(mask))
                        .zip(known(key))
                        .map(|((value, mask), key)| {
                            value.unsigned() & mask.unsigned() == key.unsigned() & mask.unsigned()
                        }),
                    Pattern::Range(..) | Pattern::ValueSet(_) => None,
                };
            all = match (all, fits) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        match all {
            Some(true) => return Some(case.next),
            Some(false) => {}
            // Whoever comes later need not be looked at: all lead the same way, or it stays open.
            None => {
                let same = cases.iter().all(|case| case.next == default);
                return same.then_some(default);
            }
        }
    }
    Some(default)
}

pub(super) fn each_target(terminator: &mut Terminator, mut f: impl FnMut(&mut BlockId)) {
    match terminator {
        Terminator::Jump(to) => f(to),
        Terminator::Branch { yes, no, .. } => {
            f(yes);
            f(no);
        }
        Terminator::Select { cases, default, .. } => {
            cases.iter_mut().for_each(|case| f(&mut case.next));
            f(default);
        }
        Terminator::Apply { next, exit, .. } => {
            f(next);
            f(exit);
        }
        Terminator::Return | Terminator::Exit | Terminator::Reject => {}
    }
}

/// Jumps forward to a block that only jumps forward go where that goes. States of a parser keep their names.
fn thread(body: &mut Body) -> bool {
    let onward: Vec<Option<BlockId>> = body
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| match block.terminator {
            Terminator::Jump(to)
                if block.statements.is_empty() && block.name.is_none() && to.index() > index =>
            {
                Some(to)
            }
            _ => None,
        })
        .collect();
    let mut changed = false;
    for (index, block) in body.blocks.iter_mut().enumerate() {
        each_target(&mut block.terminator, |to| {
            // A jump backwards is counted, and stays one.
            while to.index() > index
                && let Some(next) = onward[to.index()]
            {
                *to = next;
                changed = true;
            }
        });
    }
    changed
}

/// A block that only one jump leads to, forward, becomes a part of the one before it.
fn merge(body: &mut Body) -> bool {
    let mut count = vec![0u32; body.blocks.len()];
    for block in &body.blocks {
        for to in successors(&block.terminator) {
            count[to.index()] += 1;
        }
    }
    if let Some(fail) = body.fail {
        count[fail.index()] += 2;
    }
    if let Some(first) = count.first_mut() {
        *first += 2;
    }
    let mut changed = false;
    for index in (0..body.blocks.len()).rev() {
        let Terminator::Jump(to) = body.blocks[index].terminator else {
            continue;
        };
        let next = to.index();
        if next <= index || count[next] != 1 || body.blocks[next].name.is_some() {
            continue;
        }
        // What jumps back from there to between the two would be counted no more.
        let back = successors(&body.blocks[next].terminator);
        if back
            .iter()
            .any(|to| to.index() > index && to.index() <= next)
        {
            continue;
        }
        let statements = core::mem::take(&mut body.blocks[next].statements);
        let terminator = core::mem::replace(&mut body.blocks[next].terminator, Terminator::Return);
        body.blocks[index].statements.extend(statements);
        body.blocks[index].terminator = terminator;
        count[next] = 0;
        changed = true;
    }
    changed
}

/// Takes blocks away that nothing leads to; the order of the others stays.
fn sweep(body: &mut Body) -> bool {
    let mut reached = vec![false; body.blocks.len()];
    let mut waiting: Vec<usize> = if body.blocks.is_empty() {
        Vec::new()
    } else {
        vec![0]
    };
    waiting.extend(body.fail.map(BlockId::index));
    while let Some(index) = waiting.pop() {
        if !core::mem::replace(&mut reached[index], true) {
            let next = successors(&body.blocks[index].terminator);
            waiting.extend(next.into_iter().map(BlockId::index));
        }
    }
    if reached.iter().all(|reached| *reached) {
        return false;
    }
    let mut numbers = Vec::new();
    let mut next = 0;
    for reached in &reached {
        numbers.push(BlockId(next));
        next += u32::from(*reached);
    }
    let mut index = 0;
    body.blocks.retain(|_| {
        index += 1;
        reached[index - 1]
    });
    for block in &mut body.blocks {
        each_target(&mut block.terminator, |to| *to = numbers[to.index()]);
    }
    body.fail = body.fail.map(|fail| numbers[fail.index()]);
    true
}
