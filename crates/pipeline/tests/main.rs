//! The packet pipeline and its tables.

mod evaluation_order;
mod initializers;
mod meters;
mod node;
mod programs;
mod tables;
mod trace;
mod v1model;
