//! The fast engine: P4 programs as machine code.
//!
//! [`Jit`] is an [`Engine`] like the [`Interpreter`], for the same cells and the same environment, and may take turns with it. The
//! architecture's [`Path`] becomes one function, and each section that a packet beside the path needs becomes one too, when the first such
//! packet comes. In a function
//!
//! - slots of at most 64 bits that nobody else sees are registers, all others live in their cells, of which the code
//!   knows what it has read or written in blocks that must have run before;
//! - values are 64-bit limbs, up to eight of them; what is wider, and varbits, the code leaves to the interpreter, statement by
//!   statement;
//! - headers are read and written by wide loads and stores, after one comparison with the packet's length;
//! - exact and longest-prefix matches are looked up by code, all others by a call, and the chosen action's code follows inline;
//! - externs are called with their arguments in cells, as the interpreter does.
//!
//! A packet that is traced is run by the interpreter.
//!
//! | module | |
//! |---|---|
//! | `plan` | which slots live in registers, and what is left to the interpreter |
//! | `origin` | which slots have what the packet has |
//! | `path` | sections one behind the other, and what stands between them |
//! | `unit` | blocks, terminators, slots |
//! | `select`, `table`, `lookup` | where to go on by the values of keys |
//! | `statement`, `packet`, `expression`, `arithmetic` | what they say |
//! | `runtime` | what the code calls |

mod arithmetic;
mod compile;
mod expression;
mod lookup;
mod origin;
mod packet;
mod path;
mod plan;
mod runtime;
mod select;
mod statement;
mod table;
mod unit;

pub use compile::{Error, Options};

use p4::ir::SectionId;
use pipeline::context::{Context, Effects};
use pipeline::engine::{Ended, Engine, Packet, Passed, Path};
use pipeline::environment::{Environment, Unsupported};
use pipeline::externs::Call;
use pipeline::interpreter::Interpreter;
use pipeline::table::Table;
use plan::Plan;
use runtime::State;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The function of a section, or of a path.
type Code = unsafe extern "C" fn(cells: *mut u64, state: *mut State) -> u64;

/// What is known of a section beside its code.
#[derive(Clone, Copy)]
struct Section {
    code: Code,
    /// How many bytes it can append.
    room: usize,
    /// The code takes it that positions are whole bytes.
    aligned: bool,
}

/// A section that may have code.
#[derive(Clone, Copy)]
enum Compiled {
    /// Nobody has asked for it.
    NotYet,
    Code(Section),
    /// It could not be compiled: the interpreter runs it.
    Not,
}

/// What is known of a path beside its code.
#[derive(Clone, Copy)]
struct CompiledPath {
    code: Code,
    /// How many bytes it can append.
    room: usize,
    /// The interpreter or an extern reads the packet's own bytes.
    reads_bytes: bool,
}

/// What code points to. It stays in one place as long as the code lives.
pub(crate) struct Shared {
    pub(crate) environment: Arc<Environment>,
    /// By the address of the statement.
    pub(crate) calls: BTreeMap<usize, Box<Call>>,
}

/// The fast engine.
pub struct Jit {
    shared: Box<Shared>,
    interpreter: Interpreter,
    sections: Vec<Compiled>,
    path: Option<CompiledPath>,
    /// Of the sections one by one.
    plan: Plan,
    /// Owns the memory of the code.
    memory: compile::Memory,
}

impl Jit {
    /// An engine for an environment's program. What is compiled depends on what [`Engine::prepare`] is told; without it, each section is
    /// when it is first run.
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
        compile::new(environment, options)
    }

    /// A section's code, made now if need be.
    fn compiled(&mut self, section: SectionId) -> Option<Section> {
        let index = section.index();
        if matches!(self.sections[index], Compiled::NotYet) {
            self.sections[index] = match self.section(index) {
                Ok(section) => Compiled::Code(section),
                Err(_) => Compiled::Not,
            };
        }
        match self.sections[index] {
            Compiled::Code(section) => Some(section),
            _ => None,
        }
    }

    /// Whether cells and tables are those of the program.
    fn fits(&self, cells: &[u64], tables: &[Table]) -> bool {
        let environment = &self.shared.environment;
        cells.len() == environment.layout.cells()
            && tables.len() == environment.program.tables.len()
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
        let odd = !(packet.position | packet.emitted_bits).is_multiple_of(8);
        let compiled = match self.compiled(section) {
            Some(compiled) if context.trace.is_none() && !(odd && compiled.aligned) => compiled,
            _ => {
                return self
                    .interpreter
                    .run(section, cells, packet, tables, context);
            }
        };
        assert!(
            self.fits(cells, tables),
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
            hit: 0,
            cells: cells.as_mut_ptr(),
            packet,
            tables: tables.as_ptr(),
            tables_length: tables.len(),
            context,
            shared: &raw const *self.shared,
            section: u64::from(section.0),
            room: compiled.room,
            asked: 0,
            checksum_error: 0,
            from: 0,
            port: 0,
            now: 0,
            nanoseconds: 0,
        };
        // SAFETY: the code was made for this program's layout and tables, of which the lengths were just compared. It reads
        // the packet within `bits`, appends no more than `room`, and calls shims that see the same pointers.
        let ended = unsafe { (compiled.code)(state.cells, &raw mut state) };
        state.finish();
        context.steps = state.steps as u32;
        context.leave_action();
        match ended {
            unit::RETURN => Ended::Return,
            unit::REJECT => Ended::Reject,
            _ => Ended::Stop,
        }
    }

    fn prepare(&mut self, path: Option<&Path>) -> Result<bool, Unsupported> {
        // Sections of which one reads what the other has written are run one by one.
        if let Some(path) = path.filter(|path| !path.turns()) {
            self.path = match self.path(path) {
                Ok(compiled) => Some(compiled),
                // Too much for one function; then section by section.
                Err(Error::Code(_) | Error::TooLarge(_)) => None,
                Err(error) => return Err(error.into()),
            };
            return Ok(self.path.is_some());
        }
        for index in 0..self.sections.len() {
            self.sections[index] = match self.section(index) {
                Ok(section) => Compiled::Code(section),
                Err(Error::TooLarge(_)) => Compiled::Not,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(false)
    }

    fn pass(
        &mut self,
        port: u32,
        bytes: &[u8],
        cells: &mut [u64],
        packet: &mut Packet,
        tables: &[Table],
        context: &mut Context,
    ) -> Passed {
        let compiled = self.path.expect("a path was prepared");
        assert!(
            self.fits(cells, tables),
            "cells and tables are those of another program"
        );
        packet.emitted.clear();
        packet.emitted.reserve(compiled.room + bytes.len());
        if compiled.reads_bytes {
            packet.bytes.clear();
            packet.bytes.extend_from_slice(bytes);
        }
        context.stop = None;
        context.effects = Effects::default();
        let mut state = State {
            bytes: bytes.as_ptr(),
            bits: bytes.len() as u64 * 8,
            position: 0,
            out: packet.emitted.as_mut_ptr(),
            out_bits: 0,
            steps: u64::from(context.steps),
            hit: 0,
            cells: cells.as_mut_ptr(),
            packet,
            tables: tables.as_ptr(),
            tables_length: tables.len(),
            context,
            shared: &raw const *self.shared,
            section: 0,
            room: compiled.room,
            asked: 0,
            checksum_error: 0,
            from: u64::from(port),
            port: 0,
            now: context.now.as_ns() / 1000,
            nanoseconds: context.now.as_ns(),
        };
        // SAFETY: as in `run`.
        let result = unsafe { (compiled.code)(state.cells, &raw mut state) };
        state.finish();
        context.steps = state.steps as u32;
        context.leave_action();
        let passed = path::passed(result, state.port);
        if matches!(passed, Passed::Sent(_)) {
            emit_rest(packet, bytes);
        }
        passed
    }
}

/// Appends what the parser has not read; of the usual packet, which is small and whose headers are whole bytes, without any call.
#[inline]
fn emit_rest(packet: &mut Packet, bytes: &[u8]) {
    let emitted = packet.emitted.len();
    let rest = bytes.get((packet.position / 8) as usize..);
    match rest {
        Some(rest)
            if (16..=64).contains(&rest.len())
                && (packet.position | packet.emitted_bits).is_multiple_of(8)
                && packet.emitted.capacity() - emitted >= rest.len() =>
        {
            let from = rest.as_ptr();
            // SAFETY: there is room for the rest behind what is emitted, and `copy` stays within it.
            unsafe {
                copy(from, packet.emitted.as_mut_ptr().add(emitted), rest.len());
                packet.emitted.set_len(emitted + rest.len());
            }
            packet.emitted_bits += rest.len() as u64 * 8;
        }
        _ => packet.emit_rest(bytes),
    }
}

/// Copies 16 to 64 bytes: some of them twice, instead of asking how many there are.
///
/// # Safety
/// Both have so many bytes, and do not overlap.
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, count: usize) {
    type Piece = [u8; 16];
    let last = count - 16;
    for at in [0, last.min(16), last.saturating_sub(16), last] {
        // SAFETY: each piece ends at `count` or before.
        unsafe {
            let piece = from.add(at).cast::<Piece>().read_unaligned();
            to.add(at).cast::<Piece>().write_unaligned(piece);
        }
    }
}
