//! Behaviour of the database, next to models and SQLite's own tables.

#[cfg(feature = "sql")]
mod questions;
#[cfg(feature = "sql")]
mod standing;
mod subscriptions;
