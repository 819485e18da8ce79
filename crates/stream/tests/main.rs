//! Behaviour of the database, next to models and SQLite's own tables.

mod questions;
