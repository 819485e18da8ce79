//! A P4Runtime server for pipelines.
#![forbid(unsafe_code)]

pub mod messages;
