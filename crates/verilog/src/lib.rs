//! P4 programs as hardware: from the intermediate representation to synthesizable Verilog 2005 and the map of its registers.
//!
//! A [`Design`] takes a word a cycle from an AXI stream of 64 to 512 bits, so that packets of one word come one a cycle. A window with the packet's first bytes goes
//! through a pipeline, in which each value of the program is worked out in the first cycle in which all that it needs is
//! there; the packet itself waits in a queue beside it, and is put together with the new headers at the end. Nothing in
//! the pipeline ever waits.
//!
//! | module | |
//! |---|---|
//! | `walk` | the program's ways, as conditions and choices: start here |
//! | `state` | what is known on the way |
//! | `graph` | operators on bit vectors, each there once |
//! | `detours`, `anew` | copies, and packets that begin anew |
//! | `expressions`, `packet`, `tables`, `objects`, `meters`, `calls`, `hashes` | what the program says, as operators |
//! | `externs` | externs of the user in Verilog |
//! | `schedule` | which operator works in which cycle |
//! | `text`, `build`, `lookups`, `memories`, `registers`, `top`, `design` | the Verilog |
//! | [`map`] | the register map |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod anew;
mod build;
mod calls;
mod design;
mod detours;
mod expressions;
mod externs;
mod graph;
mod hashes;
mod lookups;
pub mod map;
mod memories;
mod meters;
mod names;
mod objects;
mod packet;
mod performance;
mod registers;
mod schedule;
mod state;
mod tables;
mod text;
mod top;
mod walk;

pub use design::{Design, LIBRARY, NO_PATH};
pub use state::reason;

use p4::source::Span;

/// How the hardware is built.
pub struct Options<'a> {
    /// The name of the top module, an identifier.
    pub name: &'a str,
    /// Bits of a word of the streams: 64, 128, 256 or 512.
    pub width: u32,
    /// The parser looks at so many bytes of a packet, at most.
    pub window: u64,
    /// So many levels of logic lie between two registers.
    pub levels: u32,
    /// What is done so that the hardware is smaller or faster.
    pub optimise: Optimise,
    /// Tables of exact keys are a binary CAM in memories, in place of hashes.
    pub cam: bool,
    /// Whether the parser, the tables and the deparser have performance counters: see [`map::Map::performance`].
    pub performance: bool,
    /// The place of a span in the program, for comments.
    pub place: &'a dyn Fn(Span) -> Option<alloc::string::String>,
}

impl Options<'static> {
    /// What is built where nothing else is asked for.
    pub const DEFAULT: Options<'static> = Options {
        name: "p4",
        width: 512,
        window: 1024,
        levels: 6,
        optimise: Optimise::ALL,
        cam: false,
        performance: false,
        place: &|_| None,
    };
}

/// Optimisations, each of which may be left out to see what it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimise {
    /// Tables that do not depend on each other are asked in the same cycle, and not one after the other in the order of the program.
    pub parallel: bool,
    /// An operator on the same values is there once, and one adder or multiplier is there for several actions of which one runs.
    pub shared: bool,
    /// The parser's logic is cut into cycles like all other, and not one piece before the first table.
    pub cut_parser: bool,
}

impl Optimise {
    /// All of them.
    pub const ALL: Optimise = Optimise {
        parallel: true,
        shared: true,
        cut_parser: true,
    };
}
