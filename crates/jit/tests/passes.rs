//! Programs do the same after the passes as before, in the interpreter.

use crate::random::{Choices, Side, packet, program};
use p4::ir::{self, Callee, ObjectId, Program, StatementKind, Terminator, text};
use p4::passes;
use std::cell::Cell;
use std::sync::Arc;

/// Runs programs before and after; `observed` says whether the architecture sees all their parameters. Says how many became shorter.
fn compare(seeds: std::ops::Range<u64>, observed: bool, pass: impl Fn(&mut Program)) -> usize {
    compare_prepared(seeds, observed, |_| {}, pass)
}

/// The same of programs that are changed before.
fn compare_prepared(
    seeds: std::ops::Range<u64>,
    observed: bool,
    prepare: impl Fn(&mut Program),
    pass: impl Fn(&mut Program),
) -> usize {
    let mut changed = 0;
    let mut shorter = 0;
    for seed in seeds.clone() {
        let mut c = Choices::new(&[], seed);
        let mut before = program(&mut c);
        for parameter in before
            .sections
            .iter_mut()
            .flat_map(|section| &mut section.parameters)
        {
            parameter.ty = if observed {
                "standard_metadata_t".into()
            } else {
                "mine".into()
            };
        }
        prepare(&mut before);
        let mut after = before.clone();
        pass(&mut after);
        // The generator does not keep all rules; what it keeps is kept, but for blocks that nothing leads to any more.
        if let (Ok(()), Err(fault)) = (ir::validate(&before), ir::validate(&after)) {
            assert!(
                fault.to_string().contains("cannot be reached"),
                "seed {seed}: {fault}"
            );
        }
        changed += usize::from(after != before);
        let size = |program: &Program| text::print(program).len();
        shorter += usize::from(size(&after) < size(&before));
        let (before, after) = (Arc::new(before), Arc::new(after));
        let mut one = Side::interpreter(&before);
        let mut two = Side::interpreter(&after);
        for _ in 0..8 {
            let bytes = packet(&mut c);
            let (expected, got) = (one.run(&bytes), two.run(&bytes));
            if !expected.ended() {
                // What was done before the steps were used up depends on how many each turn takes.
                break;
            }
            let (expected, got) = (expected.in_any_time(), got.in_any_time());
            let (expected, got) = match observed {
                true => (expected, got),
                false => (expected.outside(), got.outside()),
            };
            assert!(
                expected == got,
                "seed {seed}\n{expected:?}\n{got:?}\n{}\n{}",
                text::print(&before),
                text::print(&after)
            );
        }
    }
    assert!(
        changed > seeds.count() / 4,
        "the pass changed {changed} programs only"
    );
    shorter
}

/// Nobody can change the tables, nor count what they do.
fn settled(program: &mut Program) {
    for table in &mut program.tables {
        (table.const_default, table.const_entries) = (true, true);
        table.direct.clear();
    }
    // Direct counters belong to a table.
    let direct = |kind: &StatementKind| {
        matches!(
            kind,
            StatementKind::Call {
                callee: Callee::Method(ObjectId(2), _),
                ..
            }
        )
    };
    let sections = program.sections.iter_mut().map(|one| &mut one.body);
    let actions = program.actions.iter_mut().map(|one| &mut one.body);
    for block in sections.chain(actions).flat_map(|body| &mut body.blocks) {
        block
            .statements
            .retain(|statement| !direct(&statement.kind));
    }
}

#[test]
fn folding_changes_no_outcome() {
    let shorter = compare(0..200, true, |program| {
        passes::fold::run(program);
    });
    assert!(shorter > 0);
}

#[test]
fn propagation_and_folding_change_no_outcome() {
    let shorter = compare(200..400, true, |program| {
        passes::propagate::run(program);
        passes::fold::run(program);
    });
    assert!(shorter > 0);
}

#[test]
fn branches_that_are_known_change_no_outcome() {
    let shorter = compare(400..600, true, |program| {
        passes::fold::run(program);
        passes::branches::run(program);
    });
    assert!(shorter > 0);
}

#[test]
fn dead_assignments_change_nothing_that_the_architecture_sees() {
    let shorter = compare(600..800, true, |program| {
        passes::fold::run(program);
        passes::dead::run(program);
    });
    assert!(shorter > 0);
}

#[test]
fn dead_metadata_and_fields_change_no_packet_counter_or_register() {
    let shorter = compare(800..1000, false, |program| {
        passes::dead::run(program);
    });
    assert!(shorter > 0);
}

#[test]
fn all_passes_together_change_no_outcome() {
    assert!(compare(1000..1300, true, passes::optimize) > 0);
    assert!(compare(1300..1600, false, passes::optimize) > 0);
    compare_prepared(1600..1900, true, settled, passes::optimize);
    compare_prepared(1900..2200, false, settled, passes::optimize);
}

/// How often a program looks up in a table.
fn applications(program: &Program) -> usize {
    let blocks = program.sections.iter().flat_map(|one| &one.body.blocks);
    let applies = blocks.filter(|block| matches!(block.terminator, Terminator::Apply { .. }));
    applies.count()
}

#[test]
fn a_table_that_nobody_can_change_is_a_select_over_its_entries() {
    let (before, after) = (Cell::new(0), Cell::new(0));
    compare_prepared(2200..2500, true, settled, |program| {
        before.set(before.get() + applications(program));
        passes::inline_tables::run(program);
        after.set(after.get() + applications(program));
        passes::branches::run(program);
    });
    // Those with large actions stay tables.
    assert!(after.get() < before.get(), "{after:?} of {before:?}");
}

#[test]
fn selects_that_follow_each_other_are_decided_once() {
    compare_prepared(2500..2800, true, settled, |program| {
        passes::inline_tables::run(program);
        passes::propagate::run(program);
        passes::branches::run(program);
        passes::propagate::run(program);
        passes::branches::run(program);
    });
}

#[test]
fn fields_that_nobody_names_leave_the_packets_representation() {
    let shorter = compare(2800..3100, false, |program| {
        let slots = program.slots.len();
        passes::layout::run(program);
        assert!(program.slots.len() <= slots);
    });
    assert!(shorter > 100, "{shorter}");
    compare(3100..3200, false, |program| {
        passes::dead::run(program);
        passes::layout::run(program);
        // A second time there is nothing left to do.
        assert!(!passes::layout::run(program));
    });
}
