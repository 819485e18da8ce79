//! World 3: hardware in Verilog, cycle by cycle, beside everything else.
//!
//! `build.rs` verilates the blocks of `rtl/`. Without Verilator the crate builds all the same, and [`Module::new`] says
//! [`Missing`].
//!
//! | module | what is in it |
//! |---|---|
//! | [`behind`] | [`Behind`]: any node, behind ports that are hardware |
//! | [`port`] | a port with receive stamps and scheduled departures: `rtl/timing_nic` or `rtl/timing_nic10g`, its medium and its host |
//! | [`line`](mod@line) | [`Speed`]: 1 or 10 Gb/s, and the pins of either line |
//! | [`module`] | [`Module`], a Verilated module; with `shared` all `unsafe` code |
//! | [`p4`](mod@p4) | P4 programs as hardware: an engine |
//! | [`ports`] | the places of modules' ports among their words, made from the Verilog |
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod behind;
pub mod line;
#[allow(unsafe_code)]
pub mod module;
pub mod p4;
pub mod port;
#[allow(unsafe_code)]
mod shared;
/// The places of modules' ports among their words, made from the Verilog.
pub mod ports {
    include!(concat!(env!("OUT_DIR"), "/ports.rs"));
}

pub use behind::Behind;
pub use line::Speed;
pub use module::{Missing, Module};
