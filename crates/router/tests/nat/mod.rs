//! Network address translation: against an independent model, against the questions of RFC 5780, and against Linux.

mod allocation;
mod discovery;
mod kernel;
#[cfg(feature = "serde")]
mod keys;
mod limits;
mod model;
mod packets;
mod properties;
