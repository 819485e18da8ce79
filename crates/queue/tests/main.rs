//! Behaviour of the disciplines: against independent models, and properties that hold for every sequence.

mod drive;
mod models;
