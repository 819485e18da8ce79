//! What the compiler accepts, refuses and makes of a program.

mod info;
mod p4_14;
mod passes;
mod resources;
mod rules;
