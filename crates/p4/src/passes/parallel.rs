//! Which statements and tables could run at once.
//!
//! P4FPGA's compiler does in one clock cycle what does not depend on one another. Here this is data only: a target in
//! hardware makes one stage of each group, and `wire p4 info` shows it.

use super::uses::{Set, Shape, Uses, fails, hidden, statement};
use crate::ir::*;
use alloc::vec;
use alloc::vec::Vec;

/// Statements of a block, by number: those of one group depend on none of the same group, only on those of groups before.
pub type Statements = Vec<Vec<usize>>;

/// Tables that stand one behind the other in a section, of which none depends on another of the same group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The section.
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
    let blocks = |body: &Body| {
        let blocks = body
            .blocks
            .iter()
            .map(|block| statements(&block.statements, &shape));
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

fn statements(list: &[Statement], shape: &Shape) -> Statements {
    let uses: Vec<Uses> = list.iter().map(|one| statement(&one.kind, shape)).collect();
    let sets: Vec<(Set, Set)> = uses
        .iter()
        .map(|uses| {
            let (mut read, mut write) = (Set::new(shape.slots.len()), Set::new(shape.slots.len()));
            uses.reads.iter().for_each(|slot| read.add(*slot));
            uses.writes().for_each(|slot| write.add(slot));
            (read, write)
        })
        .collect();
    // What goes on with the packet, and calls of externs, keep their order.
    let ordered = |kind: &StatementKind| {
        fails(kind)
            || hidden(kind)
            || matches!(
                kind,
                StatementKind::Emit { .. } | StatementKind::EmitValue { .. }
            )
    };
    let mut levels = vec![0; list.len()];
    for index in 0..list.len() {
        for earlier in 0..index {
            let ((read, write), (read_before, write_before)) = (&sets[index], &sets[earlier]);
            let depends = read.meets(write_before)
                || write.meets(write_before)
                || ordered(&list[index].kind) && ordered(&list[earlier].kind)
                || hidden(&list[earlier].kind)
                    && !matches!(list[index].kind, StatementKind::Assign { .. });
            if depends {
                levels[index] = levels[index].max(levels[earlier] + 1);
            } else if write.meets(read_before) {
                // All of a group read before any of it writes: registers between stages see to that.
                levels[index] = levels[index].max(levels[earlier]);
            }
        }
    }
    let count = levels.iter().max().map_or(0, |most| most + 1);
    let mut groups = vec![Vec::new(); count];
    for (index, level) in levels.into_iter().enumerate() {
        groups[level].push(index);
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
