//! Passes over the intermediate representation: less to do for the same packets.
//!
//! What others can see stays: packets, what the control plane reads (tables, counters, registers, digests), the slots that
//! an architecture reads and writes, and what is copied along with a packet. What nobody reads any more goes: a trace of an optimised
//! program tells less, so traces are made of programs as lowering leaves them.
//!
//! | pass | |
//! |---|---|
//! | [`fold`] | works out what is known of expressions |
//! | [`propagate`] | constants and copies go to where they are read |
//! | [`branches`] | branches of which the way is known, jumps to jumps, blocks that nothing leads to |
//! | [`dead`] | assignments that nobody reads: of variables, of header fields, of metadata |
//! | [`inline_tables`] | tables of which nobody can change the outcome become selects, which the passes above fuse |
//! | [`layout`] | fields and metadata that nobody names leave the packet's representation |
//! | [`parallel()`] | which statements and tables could run at once, as data for targets that do |

pub mod branches;
pub mod dead;
pub mod fold;
pub mod inline_tables;
pub mod layout;
mod parallel;
pub mod propagate;
mod uses;

pub use parallel::{Group, Parallel, Statements, parallel};

use crate::ir::{Body, Program};

/// More rounds than these never found anything.
const ROUNDS: usize = 8;

/// Runs all passes until nothing changes. Numbers of slots, headers and blocks change: nothing that names them may be kept from before.
pub fn optimize(program: &mut Program) {
    optimize_until(program, &|| false);
}

/// The same, unless `stop` says before one of the passes to give up; then the program is of no use, and the answer `false`.
pub(crate) fn optimize_until(program: &mut Program, stop: &dyn Fn() -> bool) -> bool {
    inline_tables::run(program);
    inline_tables::remove_unused(program);
    let passes: [fn(&mut Program) -> bool; 4] =
        [fold::run, propagate::run, branches::run, dead::run];
    for _ in 0..ROUNDS {
        let mut changed = false;
        for pass in passes {
            if stop() {
                return false;
            }
            changed |= pass(program);
        }
        if !changed {
            break;
        }
    }
    inline_tables::remove_unused(program);
    layout::run(program);
    true
}

/// All bodies: of sections, actions and methods.
fn bodies(program: &mut Program) -> impl Iterator<Item = &mut Body> {
    let sections = program.sections.iter_mut().map(|section| &mut section.body);
    let actions = program.actions.iter_mut().map(|action| &mut action.body);
    let methods = program
        .objects
        .iter_mut()
        .flat_map(|object| &mut object.methods);
    sections
        .chain(actions)
        .chain(methods.map(|method| &mut method.body))
}
