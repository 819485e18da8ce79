//! How every object begins that a command writes as JSON: what it is, and of which version.
//!
//! `{"schema":"wireline.ping/1","type":"answer",...}`: the schema names the command or the form, and its version; the type is one of those
//! that the schema has.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// The value of an object's `schema`.
#[must_use]
pub fn schema(what: &str) -> String {
    format!("wireline.{what}/1")
}

/// An object up to behind its `type`, for those who write the rest as text: `{"schema":"wireline.WHAT/1","type":"TYPE"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The command, or the form.
    pub what: &'a str,
    /// Which of its objects.
    pub kind: &'a str,
}

impl fmt::Display for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head { what, kind } = self;
        write!(f, r#"{{"schema":"wireline.{what}/1","type":"{kind}""#)
    }
}
