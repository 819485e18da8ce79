//! The protocol against everything that may go wrong.

#[macro_use]
mod delegate;
mod faults;
mod liveness;
mod memory;
mod model;
