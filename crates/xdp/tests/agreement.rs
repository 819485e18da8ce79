//! The kernel agrees with the interpreter on random programs and packets.

use crate::corpus::allowed;
use crate::random::{Choices, Side, packet, path, program};
use p4::ir::{Body, Program, Statement, Terminator};
use p4::source::Span;
use pipeline::context::Stop;
use pipeline::engine::{Packet, Passed, Path, Source, Step};
use pipeline::environment::{Environment, Options};
use std::collections::BTreeSet;
use std::sync::Arc;
use xdp::{Entrance, Xdp, compile};

fn bodies(program: &mut Program) -> impl Iterator<Item = &mut Body> {
    let sections = program.sections.iter_mut().map(|section| &mut section.body);
    sections.chain(program.actions.iter_mut().map(|action| &mut action.body))
}

/// Gives each statement a place of its own, and each block without any a statement less to tell it by.
fn number(program: &mut Program) {
    let blocks = bodies(program).flat_map(|body| &mut body.blocks);
    let statements = blocks.flat_map(|block| &mut block.statements);
    for (number, statement) in (1..).zip(statements) {
        statement.span = Span {
            start: number,
            end: number,
        };
    }
}

/// Takes out of a random program what the kernel cannot do, until it can. `None` when that comes to no end.
fn for_the_kernel(mut program: Program, path: &Path) -> Option<Arc<Program>> {
    number(&mut program);
    for _ in 0..200 {
        let shared = Arc::new(program.clone());
        let environment = Environment::new(Arc::clone(&shared), Options::default()).ok()?;
        let faults = match compile(&environment, path, Entrance::Trial) {
            Ok(_) => return Some(shared),
            Err(faults) => faults,
        };
        let spans: BTreeSet<u32> = faults
            .iter()
            .map(|fault| fault.span.map_or(0, |span| span.start))
            .collect();
        if spans.contains(&0) {
            return None;
        }
        let is = |statement: &Statement| spans.contains(&statement.span.start);
        for block in bodies(&mut program).flat_map(|body| &mut body.blocks) {
            if block.statements.last().is_some_and(is) {
                // It may be what ends the block.
                let to = match &block.terminator {
                    Terminator::Branch { no, .. } => Some(*no),
                    Terminator::Select { default, .. } => Some(*default),
                    Terminator::Apply { next, .. } => Some(*next),
                    _ => None,
                };
                if let Some(to) = to {
                    block.terminator = Terminator::Jump(to);
                    continue;
                }
            }
            block.statements.retain(|statement| !is(statement));
        }
    }
    None
}

/// As many programs as `XDP_SEEDS` says, from `XDP_FROM` on.
#[test]
fn a_path_in_the_kernel_does_what_its_sections_do_one_by_one() {
    if !allowed() {
        return;
    }
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let from: u64 = number("XDP_FROM").unwrap_or(0);
    let (mut compared, mut programs, mut beside) = (0, 0, 0);
    for seed in from..from + number("XDP_SEEDS").unwrap_or(300) {
        let c = &mut Choices::new(&[], seed);
        let program = program(c);
        let mut path = path(c, &program);
        path.steps.retain(|step| {
            !matches!(
                step,
                Step::Set(_, Source::WaitingPackets(_) | Source::WaitingTime(_))
            )
        });
        let Some(program) = for_the_kernel(program, &path) else {
            continue;
        };
        let mut one = Side::interpreter(&program);
        let mut two = Side::new(&program, |environment| {
            Box::new(Xdp::new(environment).expect("its externs are known"))
        });
        if let Err(why) = two.engine.prepare(Some(&path)) {
            // Loops in loops are more than the verifier follows.
            let large = ["too large", "too complex", "too many", "infinite"];
            assert!(
                large.iter().any(|word| why.message.contains(word)),
                "seed {seed}: {why}"
            );
            continue;
        }
        programs += 1;
        let mut buffers = (two.environment.layout.fresh(), Packet::default());
        for number in 0..12 {
            let bytes = packet(c);
            let port = c.next() as u32;
            let got = two.pass(&mut buffers, port, &bytes);
            if got.passed == Passed::Beside {
                // The kernel does not take it and has not begun.
                beside += 1;
                continue;
            }
            let expected = one.follow(&path, port, &bytes);
            if one.context.stop == Some(Stop::Steps) {
                // The two do not allow the same number of steps.
                break;
            }
            assert!(
                expected == got,
                "seed {seed}, packet {number} {bytes:02x?}\n{expected:?}\n{got:?}\n{path:?}\n{}",
                p4::ir::text::print(&program)
            );
            compared += 1;
        }
    }
    println!("{programs} programs, {compared} packets compared, {beside} not taken");
    assert!(
        compared > 500 && compared > 2 * beside,
        "{programs} programs, {compared} packets, {beside} not taken"
    );
}
