//! The protocol against everything that may go wrong.

mod faults;
mod liveness;
mod memory;
mod model;
