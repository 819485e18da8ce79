//! The packet pipeline and its tables.

mod meters;
mod node;
mod programs;
mod tables;
mod trace;
mod v1model;
