//! The P4Runtime server and its messages.

mod controllers;
mod generated;
