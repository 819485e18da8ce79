//! The protocol against everything that may go wrong.

mod faults;
mod memory;
mod model;
