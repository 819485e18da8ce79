//! Packets in all their forms: frames and their headers, text lines, records, pcap and pcapng.
//!
//! No I/O, no clock, no operating system: every codec works on slices that the caller owns.
//!
//! | module | what is in it |
//! |---|---|
//! | [`capture`] | pcap and pcapng files, read and written (FORMATS section 6) |
//! | [`flow`] | five-tuples and their 32-bit hash (FORMATS section 4) |
//! | [`line`] | one packet as one text line (FORMATS section 1) |
//! | [`record`] | one packet as a binary record (FORMATS section 2) |
//! | [`word`] | the 64-bit timestamp word: received stamps and departures (FORMATS section 3) |
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod capture;
pub mod flow;
pub mod line;
pub mod record;
pub mod word;

pub use word::{BadWord, Departure, Tick};

/// The shortest frame that any format carries: an Ethernet header.
pub const SHORTEST: usize = 14;
/// The longest frame that any format carries, in bytes without FCS (FORMATS section 2).
pub const LONGEST: usize = 16_000;

/// A packet as a line, a record or a capture gives it: the bytes, and what stood before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The timestamp word, if there was one.
    pub word: Option<u64>,
    /// The five-tuple hash, if there was one.
    pub hash: Option<u32>,
    /// The frame, without FCS.
    pub bytes: &'a [u8],
}

impl Packet<'_> {
    /// Whether a line or a record can carry this frame.
    ///
    /// # Errors
    /// When it is not 14 to 16,000 bytes long.
    pub fn check(&self) -> Result<(), BadLength> {
        match self.bytes.len() {
            SHORTEST..=LONGEST => Ok(()),
            length => Err(BadLength(length)),
        }
    }
}

/// A frame too short or too long for lines and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes: lines and records carry {SHORTEST} to {LONGEST} bytes")]
pub struct BadLength(pub usize);
