//! The parser over small programs.
