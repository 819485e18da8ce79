//! P4 programs in the kernel against the interpreter.

mod corpus;
mod interfaces;
mod agreement;
#[path = "../../jit/tests/random/mod.rs"]
mod random;
