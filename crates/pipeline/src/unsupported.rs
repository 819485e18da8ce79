//! Why a program cannot be run.

use alloc::string::String;
use core::fmt;
use p4::source::Span;

/// Why a program cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// One sentence without a full stop.
    pub message: String,
    /// Where in the program, if it is about one place.
    pub span: Option<Span>,
}

impl Unsupported {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Unsupported {
            message: message.into(),
            span: None,
        }
    }
}

impl From<String> for Unsupported {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Unsupported {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Unsupported {}
