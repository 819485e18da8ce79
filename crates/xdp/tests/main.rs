//! P4 programs in the kernel against the interpreter.

mod agreement;
mod beside;
mod corpus;
mod interfaces;
mod nic;
#[path = "../../jit/tests/random/mod.rs"]
mod random;
