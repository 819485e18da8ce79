//! Network address translation: against an independent model, against the questions of RFC 5780,
//! and against Linux.

mod allocation;
mod discovery;
mod generator;
mod kernel;
#[cfg(feature = "serde")]
mod keys;
mod limits;
mod model;
pub mod packets;
mod properties;
