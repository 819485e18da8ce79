//! The protocol against everything that may go wrong.

#[macro_use]
mod delegate;
mod busy;
mod changes;
mod faults;
mod liveness;
mod memory;
mod model;
