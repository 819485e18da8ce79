//! Behaviour of the database, next to models and SQLite's own tables.

mod calls;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "sql")]
mod questions;
#[cfg(feature = "sql")]
mod standing;
mod subscriptions;
#[cfg(feature = "sql")]
mod udp;
