//! P4 programs in the kernel against the interpreter.

mod corpus;
mod interfaces;
