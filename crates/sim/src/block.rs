//! block
pub mod clock;
