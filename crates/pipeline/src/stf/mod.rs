//! STF: packets in, packets out, and what the control plane does between them, a command a line.
//!
//! The language is the one of the P4 compiler's own tests; what it lacks is written in the words of [`crate::control`], and by
//! `expect_digest`, `check_register`, `either` ... `or` ... `end`, and times behind `wait`.

mod parse;
mod run;
mod script;
#[cfg(test)]
mod tests;

pub use parse::{Fault, parse};
pub use run::{Finding, Outcome, run, run_with};
pub use script::{
    Call, Check, Checked, Command, Entry, Expected, Index, Kind, Pattern, Relation, Removed,
};
