//! Tables of which nobody can change the outcome: what they do becomes a part of the control flow.
//!
//! A table is *settled* when the control plane can change nothing of it: its default action is `const`, its entries are too (or
//! it has no key), and no action profile, direct counter or meter, or timeout takes note of its lookups. Applying it is then a
//! `select` over its keys whose cases are the actions' bodies with the entries' arguments, in the order in which
//! entries win. The table itself stays, for a controller to read.
//!
//! This is what makes fusion provable: two tables in a row are two selects in a row, and [`super::propagate`] leads each
//! case of the first straight to the case of the second that its key decides, so that one look at the key runs the actions of both.
//! Tables that a controller fills are never fused: it sees and changes each of them alone.

use super::uses::successors;
use crate::ir::*;
use crate::source::Span;
use crate::value::{Bits, mask};
use alloc::vec;
use alloc::vec::Vec;

/// Maximum number of entries of an inlined table; a lookup is faster than more comparisons.
const MAX_ENTRIES: usize = 16;
/// Maximum number of statements that replace one application of a table.
const MAX_STATEMENTS: usize = 128;
/// Maximum number of statements of all inlined tables together. A control that is applied often has
/// its tables as often.
const MAX_TOTAL_STATEMENTS: usize = 8192;

/// Runs the pass; says whether anything changed.
pub fn run(program: &mut Program) -> bool {
    let constant: Vec<bool> = (program.tables.iter())
        .map(|table| is_constant(program, table))
        .collect();
    let mut left = MAX_TOTAL_STATEMENTS;
    let mut changed = false;
    for section in 0..program.sections.len() {
        // From the end, so that the numbers of blocks before stay.
        for index in (0..program.sections[section].body.blocks.len()).rev() {
            let block = &program.sections[section].body.blocks[index];
            let Terminator::Apply { table, next, exit } = block.terminator else {
                continue;
            };
            if !constant[table.index()] {
                continue;
            }
            let instead = Instead::new(program, &program.tables[table.index()]);
            let size = instead.size();
            if size <= left {
                left -= size;
                instead.put(&mut program.sections[section].body, index, next, exit);
                changed = true;
            }
        }
    }
    changed
}

fn is_constant(program: &Program, table: &Table) -> bool {
    let alone = table.implementation.is_none() && table.direct.is_empty() && !table.idle_timeout;
    let fixed = table.const_default && (table.keys.is_empty() || table.const_entries);
    let simple = table.entries.len() <= MAX_ENTRIES && order(table).is_some();
    alone && fixed && simple && {
        let instead = Instead::new(program, table);
        instead.size() <= MAX_STATEMENTS && instead.calls.iter().all(|call| call.plain)
    }
}

/// The entries' cases, the one that wins first; nothing where a lookup is more than that.
fn order(table: &Table) -> Option<Vec<(Vec<Pattern>, &ActionCall)>> {
    let kinds = || table.keys.iter().map(|key| &key.match_kind);
    let priorities = kinds().any(|kind| {
        matches!(
            kind,
            MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
        )
    });
    if kinds().filter(|kind| **kind == MatchKind::Lpm).count() > 1 {
        return None;
    }
    if table.keys.is_empty() {
        return Some(Vec::new());
    }
    let mut all = Vec::new();
    for entry in &table.entries {
        let mut length = 0;
        let mut patterns = Vec::new();
        for (given, key) in entry.keys.iter().zip(&table.keys) {
            let constant = |bits: &Bits| Expr::Constant(bits.clone(), key.ty);
            let pattern = match (given, &key.match_kind) {
                _ if matches!(key.ty, Ty::Varbit(_)) => return None,
                (
                    KeyMatch::Any,
                    MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range | MatchKind::Optional,
                ) => Pattern::Any,
                (KeyMatch::Exact(value), MatchKind::Exact | MatchKind::Optional) => {
                    Pattern::Equal(constant(value))
                }
                (KeyMatch::Prefix(value, bits), MatchKind::Lpm) => {
                    length = *bits;
                    let width = key.ty.width();
                    let leading = mask(width) ^ mask(width - (*bits).min(width));
                    masked(key.ty, value, &Bits::new(width, leading))
                }
                (KeyMatch::Mask(value, bits), MatchKind::Ternary) => masked(key.ty, value, bits),
                // Tables compare without signs.
                (KeyMatch::Range(low, high), MatchKind::Range)
                    if !matches!(key.ty, Ty::Signed(_)) =>
                {
                    Pattern::Range(constant(low), constant(high))
                }
                _ => return None,
            };
            patterns.push(pattern);
        }
        let rank = if priorities { entry.priority } else { length };
        all.push((rank, patterns, &entry.call));
    }
    // Of two that win equally the first does.
    all.sort_by_key(|(rank, ..)| core::cmp::Reverse(*rank));
    let all = all.into_iter();
    Some(all.map(|(_, patterns, call)| (patterns, call)).collect())
}

fn masked(ty: Ty, value: &Bits, bits: &Bits) -> Pattern {
    if !bits.is_true() {
        return Pattern::Any;
    }
    if *bits.unsigned() == mask(ty.width()) {
        return Pattern::Equal(Expr::Constant(value.clone(), ty));
    }
    Pattern::Mask(
        Expr::Constant(value.clone(), ty),
        Expr::Constant(bits.clone(), ty),
    )
}

/// What comes instead of an application.
struct Instead {
    keys: Vec<Expr>,
    /// Patterns, and the index of a call.
    cases: Vec<(Vec<Pattern>, usize)>,
    /// Of [`Self::calls`].
    default: usize,
    calls: Vec<Call>,
}

/// An action with its arguments. Each has a body of its own: what the entry's key tells holds in it, and behind it.
struct Call {
    /// Sets the parameters and the table's results.
    before: Vec<StatementKind>,
    body: Body,
    /// There is nothing in it that only an action of a table can do.
    plain: bool,
}

impl Instead {
    fn new(program: &Program, table: &Table) -> Self {
        let mut instead = Instead {
            keys: table.keys.iter().map(|key| key.value.clone()).collect(),
            cases: Vec::new(),
            default: 0,
            calls: Vec::new(),
        };
        for (patterns, call) in order(table).unwrap_or_default() {
            let call = Call::new(program, table, call, true);
            instead.cases.push((patterns, instead.calls.len()));
            instead.calls.push(call);
        }
        instead.default = instead.calls.len();
        let default = Call::new(program, table, &table.default, false);
        instead.calls.push(default);
        instead
    }

    fn size(&self) -> usize {
        let blocks = self.calls.iter().flat_map(|call| &call.body.blocks);
        let before = self.calls.iter().map(|call| call.before.len());
        before.sum::<usize>()
            + blocks
                .map(|block| block.statements.len() + 1)
                .sum::<usize>()
    }

    /// Puts it in the place of a block's end. The new blocks stand right behind that block, so that jumps forward stay jumps forward.
    fn put(self, body: &mut Body, index: usize, next: BlockId, exit: BlockId) {
        let blocks = self.calls.iter().map(|call| call.body.blocks.len() as u32);
        let added: u32 = blocks.clone().sum();
        let moved = |to: BlockId| match to.index() > index {
            true => BlockId(to.0 + added),
            false => to,
        };
        for block in &mut body.blocks {
            super::branches::each_target(&mut block.terminator, |to| *to = moved(*to));
        }
        body.fail = body.fail.map(moved);
        let (next, exit) = (moved(next), moved(exit));
        let mut starts = Vec::new();
        let mut at = index as u32 + 1;
        for blocks in blocks {
            starts.push(BlockId(at));
            at += blocks;
        }
        let cases: Vec<Case> = (self.cases.into_iter())
            .map(|(patterns, call)| Case {
                patterns,
                next: starts[call],
            })
            .collect();
        let default = starts[self.default];
        body.blocks[index].terminator = match cases.is_empty() {
            true => Terminator::Jump(default),
            false => Terminator::Select {
                keys: self.keys,
                cases,
                default,
            },
        };
        let mut new = Vec::new();
        for (call, start) in self.calls.into_iter().zip(starts) {
            let span = Span::default();
            let before = call.before.into_iter().map(|kind| Statement { kind, span });
            let mut before: Vec<_> = before.collect();
            for mut block in call.body.blocks {
                super::branches::each_target(&mut block.terminator, |to| to.0 += start.0);
                match block.terminator {
                    Terminator::Return => block.terminator = Terminator::Jump(next),
                    Terminator::Exit => block.terminator = Terminator::Jump(exit),
                    _ => {}
                }
                block.name = None;
                before.append(&mut block.statements);
                block.statements = core::mem::take(&mut before);
                new.push(block);
            }
        }
        let behind = index + 1;
        body.blocks.splice(behind..behind, new);
    }
}

impl Call {
    fn new(program: &Program, table: &Table, call: &ActionCall, hit: bool) -> Self {
        let id = table.actions[call.action as usize].action;
        let action = &program.actions[id.index()];
        let assign = |slot: SlotId, value: Bits| {
            let ty = program.slots[slot.index()].ty;
            StatementKind::Assign {
                target: LValue::Slot(slot),
                value: Expr::Constant(value.resize(ty.width()), ty),
            }
        };
        let arguments = action.parameters.iter().zip(&call.arguments);
        let mut before: Vec<_> = arguments
            .map(|((_, slot, _), value)| assign(*slot, value.clone()))
            .collect();
        before.extend(table.hit.map(|slot| assign(slot, Bits::from(hit))));
        before.extend((table.action_run).map(|slot| assign(slot, Bits::new(32, call.action))));
        let body = action.body.clone();
        let varbit = |slot: SlotId| matches!(program.slots[slot.index()].ty, Ty::Varbit(_));
        // A jump back to its start would set the parameters again.
        let back = |block: &Block| successors(&block.terminator).contains(&BlockId(0));
        let ends = |block: &Block| {
            !matches!(
                block.terminator,
                Terminator::Reject | Terminator::Apply { .. }
            )
        };
        let plain = body.fail.is_none()
            && !body.blocks.is_empty()
            && body.blocks.iter().all(|block| ends(block) && !back(block))
            && !action.parameters.iter().any(|(_, slot, _)| varbit(*slot));
        Call {
            before,
            body,
            plain,
        }
    }
}

/// Takes away what nobody runs any more: keys and results of tables that are applied nowhere, and the bodies of actions that no other table calls.
/// Names and types stay, which a controller needs.
pub(super) fn remove_unused(program: &mut Program) {
    let mut applied = vec![false; program.tables.len()];
    let mut reached = Vec::new();
    for body in program.sections.iter().map(|section| &section.body) {
        reached.clear();
        reached.resize(body.blocks.len(), false);
        let mut open = vec![0];
        open.extend(body.fail.map(BlockId::index));
        while let Some(index) = open.pop() {
            if core::mem::replace(&mut reached[index], true) {
                continue;
            }
            let end = &body.blocks[index].terminator;
            open.extend(successors(end).into_iter().map(BlockId::index));
            if let Terminator::Apply { table, .. } = end {
                applied[table.index()] = true;
            }
        }
    }
    let mut called = vec![false; program.actions.len()];
    for (table, _) in program
        .tables
        .iter()
        .zip(&applied)
        .filter(|(_, used)| **used)
    {
        for choice in &table.actions {
            called[choice.action.index()] = true;
        }
    }
    for (table, _) in program
        .tables
        .iter_mut()
        .zip(&applied)
        .filter(|(_, used)| !**used)
    {
        for key in &mut table.keys {
            key.value = Expr::Constant(Bits::zero(key.ty.width()), key.ty);
        }
        (table.hit, table.action_run) = (None, None);
    }
    for (action, _) in program
        .actions
        .iter_mut()
        .zip(called)
        .filter(|(_, called)| !called)
    {
        action.body = Body {
            blocks: vec![Block {
                name: None,
                statements: Vec::new(),
                terminator: Terminator::Return,
            }],
            fail: None,
        };
    }
}
