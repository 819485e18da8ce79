//! What can be wrong with a capture file.

use super::{MAX_BLOCK_LEN, MAX_INTERFACES};

/// What is wrong with a capture file. Offsets count from the file's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The first bytes are of no known kind.
    #[error(
        "byte 0: the file begins with {0:08X}, which is neither pcap nor pcapng; convert it with `editcap -F pcapng`"
    )]
    Unknown(u32),
    /// A version from before libpcap's own, or a future one.
    #[error(
        "byte {offset}: version {major}.{minor} of the format is not known; convert the file with `editcap -F pcapng`"
    )]
    Version {
        /// Where.
        offset: u64,
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
    /// The file ends within a header, packet or block.
    #[error(
        "byte {offset}: the file ends within its last {part}, {missing} or more bytes early; all before it was read"
    )]
    Truncated {
        /// Where the incomplete part begins.
        offset: u64,
        /// What it is: `header`, `packet` or `block`.
        part: &'static str,
        /// At least how many bytes are missing.
        missing: u64,
    },
    /// A length that no capture has.
    #[error(
        "byte {offset}: a {part} of {length} bytes is beyond the limit of {MAX_BLOCK_LEN}; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    TooLong {
        /// Where the part begins.
        offset: u64,
        /// What it is: `packet` or `block`.
        part: &'static str,
        /// The length it claims.
        length: u64,
    },
    /// A block length that cannot be.
    #[error(
        "byte {offset}: a block of {length} bytes is shorter than its own framing, or not a multiple of 4; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    Length {
        /// Where the block begins.
        offset: u64,
        /// The length it claims.
        length: u32,
    },
    /// A block with another length at its end.
    #[error(
        "byte {offset}: a block has length {length} at its start and {last} at its end; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    Ends {
        /// Where the block begins.
        offset: u64,
        /// The length at its start.
        length: u32,
        /// The length at its end.
        last: u32,
    },
    /// A section without a byte order.
    #[error(
        "byte {offset}: a section header has {magic:08X} for its byte order; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    Order {
        /// Where the section begins.
        offset: u64,
        /// What stands there.
        magic: u32,
    },
    /// More interfaces than anybody has.
    #[error(
        "byte {offset}: more than {MAX_INTERFACES} interfaces in a section; split the file with `editcap -c`"
    )]
    Interfaces {
        /// Where the first one too many is described.
        offset: u64,
    },
    /// A block that contradicts itself or the file before it.
    #[error("byte {offset}: {reason}")]
    Block {
        /// Where the block begins.
        offset: u64,
        /// What is wrong and what is done about it.
        reason: &'static str,
    },
}
