//! What is wrong with a line.

use core::fmt;

/// Why a line is no packet, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct LineError {
    /// The byte at which the fault is, counted from 1.
    pub column: usize,
    /// The error there, and the fix.
    pub reason: Reason,
}

/// Error of a line, and the fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A byte that is neither a hexadecimal digit nor a space.
    NotHex(u8),
    /// A field whose width is none that can stand there.
    Width {
        /// Its digits.
        found: usize,
        /// What should stand there.
        wanted: &'static str,
    },
    /// The line ends before this field.
    Missing(&'static str),
    /// The frame is longer than [`MAX_FRAME_LEN`](crate::MAX_FRAME_LEN).
    TooManyBytes,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotHex(byte) => write!(
                f,
                "'{}' is no hexadecimal digit (0-9, A-F); fields are parted by blanks, and a comment \
                 begins with #",
                byte.escape_ascii()
            ),
            Reason::Width { found, wanted } => {
                write!(f, "a field of {found} digit(s) where {wanted} should stand")
            }
            Reason::Missing(wanted) => write!(
                f,
                "the line ends before {wanted}; a packet is [TIME ][HASH ]DSTMAC SRCMAC TYPE \
                 and its payload bytes"
            ),
            Reason::TooManyBytes => write!(
                f,
                "the frame is longer than {} bytes; cut it or split it",
                crate::MAX_FRAME_LEN
            ),
        }
    }
}
