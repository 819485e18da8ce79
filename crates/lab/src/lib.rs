//! Lab files.
mod channel;
mod each;
mod fault;
mod fields;
mod file;
mod kinds;
mod plan;
mod tree;

pub use fault::{Fault, Faults};
pub use file::parse;
pub use plan::Lab;
