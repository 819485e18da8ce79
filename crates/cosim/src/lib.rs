//! World 3: hardware in Verilog, cycle by cycle, beside everything else.
//!
//! `build.rs` verilates the blocks of `rtl/`. Without Verilator the crate builds all the same, and [`Module::new`] says
//! [`Missing`].
//!
//! | module | what is in it |
//! |---|---|
//! | [`module`] | [`Module`], a Verilated module; all `unsafe` code |
//! | [`ports`] | the places of modules' ports among their words, made from the Verilog |
#![deny(unsafe_code)]
#![warn(missing_docs)]

#[allow(unsafe_code)]
pub mod module;
/// The places of modules' ports among their words, made from the Verilog.
pub mod ports {
    include!(concat!(env!("OUT_DIR"), "/ports.rs"));
}

pub use module::{Missing, Module};
