//! Programs do the same after the passes as before, in the interpreter.

mod random;

use p4::ir::{Program, text};
use p4::passes;
use random::{Choices, Side, packet, program};
use std::sync::Arc;

/// Runs programs before and after; `observed` says whether the architecture sees all their parameters.
fn compare(seeds: std::ops::Range<u64>, observed: bool, pass: impl Fn(&mut Program)) {
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
        let mut after = before.clone();
        pass(&mut after);
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
    assert!(shorter > 0);
}

#[test]
fn folding_changes_no_outcome() {
    compare(0..200, true, |program| {
        passes::fold::run(program);
    });
}

#[test]
fn propagation_and_folding_change_no_outcome() {
    compare(200..400, true, |program| {
        passes::propagate::run(program);
        passes::fold::run(program);
    });
}

#[test]
fn branches_that_are_known_change_no_outcome() {
    compare(400..600, true, |program| {
        passes::fold::run(program);
        passes::branches::run(program);
    });
}

#[test]
fn dead_assignments_change_nothing_that_the_architecture_sees() {
    compare(600..800, true, |program| {
        passes::fold::run(program);
        passes::dead::run(program);
    });
}

#[test]
fn dead_metadata_and_fields_change_no_packet_counter_or_register() {
    compare(800..1000, false, |program| {
        passes::dead::run(program);
    });
}

#[test]
fn all_passes_together_change_no_outcome() {
    compare(1000..1300, true, passes::optimize);
    compare(1300..1600, false, passes::optimize);
}
