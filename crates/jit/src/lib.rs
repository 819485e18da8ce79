//! The fast engine: sections of a P4 program as machine code.
//!
//! [`Jit`] is an [`Engine`] like the [`Interpreter`], for the same cells and the same environment, and may take turns with it. Each
//! section becomes a function, in which
//!
//! - slots of at most 64 bits that only this section uses are registers, all others live in their cells, of which the code
//!   knows what it has read or written in blocks that must have run before;
//! - values are 64-bit limbs, up to eight of them; what is wider, and varbits, the code leaves to the interpreter, statement by
//!   statement;
//! - headers are read and written by wide loads and stores, after one comparison with the packet's length;
//! - tables are looked up by one call, and the chosen action's code follows inline;
//! - externs are called with their arguments in cells, as the interpreter does.
//!
//! A packet that is traced is run by the interpreter.
//!
//! | module | |
//! |---|---|
//! | `plan` | which slots live in registers, and what is left to the interpreter |
//! | `unit` | blocks, terminators, tables, slots |
//! | `statement`, `packet`, `expression`, `arithmetic` | what they say |
//! | `runtime` | what the code calls |

mod arithmetic;
mod compile;
mod expression;
mod packet;
mod plan;
mod runtime;
mod statement;
mod unit;

pub use compile::{Error, Options};

use p4::ir::SectionId;
use pipeline::context::Context;
use pipeline::engine::{Ended, Engine, Packet};
use pipeline::environment::Environment;
use pipeline::externs::Call;
use pipeline::interpreter::Interpreter;
use pipeline::table::Table;
use runtime::State;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A section's function.
type Code = unsafe extern "C" fn(cells: *mut u64, state: *mut State) -> u64;

/// What is known of a section beside its code.
struct Section {
    code: Code,
    /// How many bytes it can append.
    room: usize,
    /// The code takes it that positions are whole bytes.
    aligned: bool,
}

/// What code points to. It stays in one place as long as the code lives.
pub(crate) struct Shared {
    pub(crate) environment: Arc<Environment>,
    /// By the address of the statement.
    pub(crate) calls: BTreeMap<usize, Box<Call>>,
    sections: Vec<Section>,
}

impl Shared {
    /// How many bytes a section can append.
    pub(crate) fn room(&self, section: u64) -> usize {
        self.sections.get(section as usize).map_or(0, |s| s.room)
    }
}

/// The fast engine.
pub struct Jit {
    shared: Box<Shared>,
    interpreter: Interpreter,
    /// Owns the memory of the code.
    _memory: compile::Memory,
}

impl Jit {
    /// Compiles an environment's program.
    ///
    /// # Errors
    /// When the program calls an extern that is not known here, or this machine is none that code can be made for.
    pub fn new(environment: &Arc<Environment>) -> Result<Self, Error> {
        Self::with_options(environment, &Options::default())
    }

    /// The same with a choice.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_options(environment: &Arc<Environment>, options: &Options) -> Result<Self, Error> {
        compile::compile(environment, options)
    }
}

impl Engine for Jit {
    fn run(
        &mut self,
        section: SectionId,
        cells: &mut [u64],
        packet: &mut Packet,
        tables: &[Table],
        context: &mut Context,
    ) -> Ended {
        let compiled = &self.shared.sections[section.index()];
        let odd = !(packet.position | packet.emitted_bits).is_multiple_of(8);
        if context.trace.is_some() || odd && compiled.aligned {
            return self
                .interpreter
                .run(section, cells, packet, tables, context);
        }
        let environment = &self.shared.environment;
        assert!(
            cells.len() == environment.layout.cells()
                && tables.len() == environment.program.tables.len(),
            "cells and tables are those of another program"
        );
        packet.emitted.reserve(compiled.room);
        let mut state = State {
            bytes: packet.bytes.as_ptr(),
            bits: packet.bytes.len() as u64 * 8,
            position: packet.position,
            out: packet.emitted.as_mut_ptr(),
            out_bits: packet.emitted_bits,
            steps: u64::from(context.steps),
            arguments: std::ptr::null(),
            hit: 0,
            cells: cells.as_mut_ptr(),
            packet,
            tables: tables.as_ptr(),
            tables_length: tables.len(),
            context,
            shared: &raw const *self.shared,
            section: u64::from(section.0),
        };
        // SAFETY: the code was made for this program's layout and tables, of which the lengths were just compared. It reads
        // the packet within `bits`, appends no more than `room`, and calls shims that see the same pointers.
        let ended = unsafe { (compiled.code)(state.cells, &raw mut state) };
        state.finish();
        context.steps = state.steps as u32;
        context.hit = None;
        match ended {
            unit::RETURN => Ended::Return,
            unit::REJECT => Ended::Reject,
            _ => Ended::Stop,
        }
    }
}
