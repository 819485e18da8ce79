//! Pieces of sections, for an engine that leaves some to the interpreter.

use super::{Calls, Next, Run, Values};
use crate::context::Context;
use crate::engine::Packet;
use crate::environment::Environment;
use crate::externs::Call;
use alloc::sync::Arc;
use p4::ir::{Expr, SectionId, Statement, Terminator};

/// What came of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// Go on.
    On,
    /// The parser fails; its error is written.
    Failed,
    /// The packet is given up: [`Context::stop`] has the reason.
    Stopped,
}

/// Runs one statement of a section, or of an action that runs in it. `call` is what it calls, if it is a call.
pub fn statement(
    section: SectionId,
    statement: &Statement,
    call: Option<&Call>,
    cells: &mut [u64],
    packet: &mut Packet,
    context: &mut Context,
) -> Stepped {
    let calls = Calls::new();
    let environment = Arc::clone(&context.environment);
    let mut run = run(&environment, &calls, section, cells, packet, context);
    match run.statement(statement, call) {
        Next::Statement => Stepped::On,
        Next::Fail => Stepped::Failed,
        Next::Stop => Stepped::Stopped,
    }
}

/// The case of a select that fits, by its number.
pub fn select(
    section: SectionId,
    terminator: &Terminator,
    cells: &mut [u64],
    packet: &mut Packet,
    context: &mut Context,
) -> Option<usize> {
    let Terminator::Select { keys, cases, .. } = terminator else {
        return None;
    };
    let calls = Calls::new();
    let environment = Arc::clone(&context.environment);
    let mut run = run(&environment, &calls, section, cells, packet, context);
    let values: alloc::vec::Vec<_> = keys.iter().map(|key| run.value(key)).collect();
    cases
        .iter()
        .position(|case| run.matches(keys, &values, &case.patterns))
}

/// An expression's value, in as many cells as there are.
pub fn evaluate(environment: &Environment, expression: &Expr, cells: &[u64], output: &mut [u64]) {
    let values = Values {
        slots: &environment.program.slots,
        layout: &environment.layout,
        cells,
    };
    values.value(expression).to_limbs(output);
}

fn run<'a>(
    environment: &'a Environment,
    calls: &'a Calls,
    section: SectionId,
    cells: &'a mut [u64],
    packet: &'a mut Packet,
    context: &'a mut Context,
) -> Run<'a> {
    let program = &*environment.program;
    Run {
        environment,
        program,
        calls,
        cells,
        packet,
        tables: &[],
        context,
        error: program
            .sections
            .get(section.index())
            .and_then(|section| section.error),
    }
}
