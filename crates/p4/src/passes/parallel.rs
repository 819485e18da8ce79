//! Which statements and tables could run at once.
//!
//! P4FPGA's compiler does in one clock cycle what does not depend on one another. Here this is data only: a target in
//! hardware makes one stage of each group, and `wire p4 info` shows it.

use super::uses::{Shape, fails, hidden, statement};
use crate::ir::*;
use alloc::vec;
use alloc::vec::Vec;

/// Statements of a block, by number: those of one group depend on none of the same group, only on those of groups before.
pub type Statements = Vec<Vec<usize>>;

/// Tables that stand one behind the other in a section, of which none depends on another of the same group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub section: SectionId,
    /// The blocks that apply them, in order.
    pub blocks: Vec<BlockId>,
    /// The tables, in order.
    pub tables: Vec<TableId>,
}

/// What could run at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parallel {
    /// Of each section, and each of its blocks.
    pub sections: Vec<Vec<Statements>>,
    /// Of each action, and each of its blocks.
    pub actions: Vec<Vec<Statements>>,
    /// Groups of more than one table.
    pub tables: Vec<Group>,
}

impl Parallel {
    /// How many steps a section's longest block takes, and how many statements it has.
    #[must_use]
    pub fn longest(&self, section: SectionId) -> (usize, usize) {
        let blocks = self.sections.get(section.index()).into_iter().flatten();
        let sizes = blocks.map(|groups| (groups.len(), groups.iter().map(Vec::len).sum()));
        sizes.max().unwrap_or((0, 0))
    }
}

/// Finds what could run at once.
#[must_use]
pub fn parallel(program: &Program) -> Parallel {
    let shape = Shape::new(program);
    let mut levels = Levels::new(shape.slots.len());
    let mut blocks = |body: &Body| {
        let blocks = body
            .blocks
            .iter()
            .map(|block| statements(&block.statements, &shape, &mut levels));
        blocks.collect()
    };
    let sections = program
        .sections
        .iter()
        .map(|section| blocks(&section.body))
        .collect();
    let actions = program
        .actions
        .iter()
        .map(|action| blocks(&action.body))
        .collect();
    let mut groups = Vec::new();
    for (index, section) in program.sections.iter().enumerate() {
        tables(SectionId(index as u32), &section.body, &shape, &mut groups);
    }
    Parallel {
        sections,
        actions,
        tables: groups,
    }
}

/// The first group behind those that have written a slot, and the last of those that have read it; for each slot.
struct Levels {
    written: Vec<usize>,
    read: Vec<usize>,
}

impl Levels {
    fn new(slots: usize) -> Levels {
        Levels {
            written: vec![0; slots],
            read: vec![0; slots],
        }
    }
}

/// Takes time by the slots that statements name, not by pairs of statements: generated programs have many of both.
fn statements(list: &[Statement], shape: &Shape, levels: &mut Levels) -> Statements {
    // What goes on with the packet, and calls of externs, keep their order.
    let ordered = |kind: &StatementKind| {
        fails(kind)
            || hidden(kind)
            || matches!(
                kind,
                StatementKind::Emit { .. } | StatementKind::EmitValue { .. }
            )
    };
    let (mut behind_ordered, mut behind_hidden) = (0, 0);
    let mut groups: Statements = Vec::new();
    let mut touched = Vec::new();
    for (index, one) in list.iter().enumerate() {
        let kind = &one.kind;
        let uses = statement(kind, shape);
        let reads = uses.reads.iter().map(|slot| levels.written[slot.index()]);
        // All of a group read before any of it writes: registers between stages see to that.
        let writes = uses
            .writes()
            .map(|slot| levels.written[slot.index()].max(levels.read[slot.index()]));
        let mut level = reads.chain(writes).max().unwrap_or(0);
        if ordered(kind) {
            level = level.max(behind_ordered);
        }
        if !matches!(kind, StatementKind::Assign { .. }) {
            level = level.max(behind_hidden);
        }
        if ordered(kind) {
            behind_ordered = behind_ordered.max(level + 1);
        }
        if hidden(kind) {
            behind_hidden = behind_hidden.max(level + 1);
        }
        for slot in &uses.reads {
            let read = &mut levels.read[slot.index()];
            *read = (*read).max(level);
        }
        for slot in uses.writes() {
            let written = &mut levels.written[slot.index()];
            *written = (*written).max(level + 1);
        }
        touched.extend(uses.reads.iter().copied().chain(uses.writes()));
        groups.resize(groups.len().max(level + 1), Vec::new());
        groups[level].push(index);
    }
    for slot in touched {
        levels.written[slot.index()] = 0;
        levels.read[slot.index()] = 0;
    }
    groups
}

fn tables(section: SectionId, body: &Body, shape: &Shape, groups: &mut Vec<Group>) {
    let mut taken = vec![false; body.blocks.len()];
    for (index, block) in body.blocks.iter().enumerate() {
        let Terminator::Apply { table, next, exit } = block.terminator else {
            continue;
        };
        if taken[index] {
            continue;
        }
        let mut group = Group {
            section,
            blocks: vec![BlockId(index as u32)],
            tables: vec![table],
        };
        let mut uses = shape.tables[table.index()].clone();
        let mut at = (next, exit);
        // On to the next table as long as nothing stands between, and no action can leave.
        while at.0 == at.1
            && let Some(block) = body.blocks.get(at.0.index())
            && block.statements.is_empty()
            && let Terminator::Apply { table, next, exit } = block.terminator
            && !group.tables.contains(&table)
        {
            let more = &shape.tables[table.index()];
            let depends = more.keys.meets(&uses.writes)
                || more.reads.meets(&uses.writes)
                || more.writes.meets(&uses.writes)
                || more.writes.meets(&uses.reads)
                || more.writes.meets(&uses.keys)
                || uses.calls && more.calls;
            if depends {
                break;
            }
            uses.keys.add_all(&more.keys);
            uses.reads.add_all(&more.reads);
            uses.writes.add_all(&more.writes);
            uses.calls |= more.calls;
            taken[at.0.index()] = true;
            group.blocks.push(at.0);
            group.tables.push(table);
            at = (next, exit);
        }
        if group.tables.len() > 1 {
            groups.push(group);
        }
    }
}
