//! Runs P4 programs: tables, externs, architectures, the reference interpreter, and the node that a pipeline is.
//!
//! An engine runs one [`p4::ir::Section`] at a time on a packet's [`layout::Layout`] of cells; an architecture (v1model, PSA, ...) says which
//! section comes when, and what happens between them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod apply;
pub mod architecture;
pub mod bits;
mod calls;
mod cause;
pub mod context;
pub mod control;
pub mod controlled;
pub mod engine;
pub mod environment;
pub mod externs;
pub mod interpreter;
pub mod layout;
pub mod learning;
pub mod node;
mod restrictions;
pub mod state;
pub mod stf;
pub mod table;
pub mod trace;
mod unsupported;
