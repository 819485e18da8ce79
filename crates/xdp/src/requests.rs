//! What packets ask for on their way: to be resubmitted, to be recirculated, to be cut.

use p4::ir::{Body, Callee, Function, Program, SlotId, StatementKind};
use pipeline::engine::{Asked, Path};

/// What packets may ask for, by the number that the frame has while a section runs; 0 is nothing.
#[derive(Default)]
pub(crate) struct Requests {
    /// The slots that go along.
    pub(crate) resubmit: Vec<Vec<SlotId>>,
    pub(crate) recirculate: Vec<Vec<SlotId>>,
    /// Whether packets may begin anew at all, and be cut.
    pub(crate) anew: bool,
    pub(crate) truncate: bool,
}

impl Requests {
    pub(crate) fn of(program: &Program, path: &Path) -> Self {
        let truncates = |function: &Function| *function == Function::Truncate;
        Requests {
            anew: begins_anew(program, path),
            truncate: calls(program, truncates),
            ..Self::default()
        }
    }
}

fn calls(program: &Program, asks: impl Fn(&Function) -> bool) -> bool {
    let sections = program.sections.iter().map(|section| &section.body);
    let actions = program.actions.iter().map(|action| &action.body);
    let asks = |body: &Body| {
        let statements = body.blocks.iter().flat_map(|block| &block.statements);
        statements
            .into_iter()
            .any(|statement| match &statement.kind {
                StatementKind::Call {
                    callee: Callee::Function(function),
                    ..
                } => asks(function),
                _ => false,
            })
    };
    sections.chain(actions).any(asks)
}

/// Whether a packet may be recirculated, which copies of it would be one by one.
pub(crate) fn recirculates(program: &Program) -> bool {
    calls(program, |function| {
        matches!(
            function,
            Function::Recirculate | Function::RecirculatePreservingFieldList
        )
    })
}

/// Whether packets may begin anew.
fn begins_anew(program: &Program, path: &Path) -> bool {
    let resubmits = |function: &Function| {
        matches!(
            function,
            Function::Resubmit | Function::ResubmitPreservingFieldList
        )
    };
    match path.detours.asked {
        Asked::Not => path.detours.nic.is_some(),
        Asked::ByExterns { .. } => recirculates(program) || calls(program, resubmits),
        Asked::BySlots { .. } => true,
    }
}
