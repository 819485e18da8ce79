//! Files of a 10GBASE-R bit stream: every bit kept, nothing kept twice, and an index.
//!
//! A stream of 10.3125 Gb/s is mostly scrambled idle blocks. A file therefore holds blocks as they are
//! before the scrambler, counts idle blocks instead of storing them, and keeps the scrambler's state at
//! the beginning of each segment. The scrambler is a bijection for a given state, so that the line's
//! bits come back exactly, bit errors among them. Bits that belong to no block (before the first one, or
//! where the stream slipped) are kept as they are. The book's chapter "The PHY" has the layout.
//!
//! No I/O: [`Writer`] appends to a `Vec`, [`Reader`] takes whatever part of a file the caller has.
//!
//! ```
//! use phy::file::{CONTROL, Header, Reader, Step, Writer};
//!
//! let mut file = Vec::new();
//! let mut writer = Writer::begin(&Header::default(), &mut file);
//! writer.idles(1_000_000, &mut file);
//! writer.block(CONTROL, 0x4B, &mut file);
//! writer.finish(&mut file);
//! assert!(file.len() <= 200);
//!
//! let (mut reader, mut rest, mut blocks) = (Reader::default(), &file[..], 0);
//! loop {
//!     let step = reader.next(rest, true)?;
//!     if let Step::Segment { segment, .. } = &step {
//!         blocks += segment.runs().map(|run| run.blocks()).sum::<u64>();
//!     }
//!     let Some(used) = step.used() else { break };
//!     rest = &rest[used..];
//! }
//! assert_eq!(blocks, 1_000_001);
//! # Ok::<(), phy::file::FileError>(())
//! ```

mod feed;
mod idle;
mod index;
mod play;
mod read;
mod record;
mod segment;
mod write;

use crate::Scrambler;

#[cfg(test)]
mod tests;

pub use feed::Feed;
pub use idle::Leap;
pub use index::{Entry, TRAILER, last_index};
pub use play::{Piece, Player};
pub use read::{FileError, Reader, Step};
pub use record::Recorder;
pub use segment::{Blocks, Run, Runs, Segment};
pub use write::Writer;

/// The first bytes of every file. None of them is text, and the line ends do not survive a transfer
/// as text.
pub const MAGIC: [u8; 8] = [0x8A, b'P', b'H', b'Y', 0x0D, 0x0A, 0x1A, 0x0A];
/// The version of the layout that this module writes, and the highest that it reads.
pub const VERSION: u32 = 1;
/// Bytes of the header that this module writes.
pub const HEADER: usize = 48;
/// Bits of the line in a second: 10.3125 Gb/s (IEEE 802.3 clause 49).
pub const LINE_RATE: u64 = 10_312_500_000;
/// Maximum length of the content of a segment, bytes.
pub const MAX_SEGMENT_LEN: usize = 1 << 20;
/// Bits of a block: a sync header of two, a payload of 64.
pub const BLOCK: u64 = 66;
/// The sync header of a control block, as an integer of two bits whose lower one is sent first.
pub const CONTROL: u8 = 0b01;
/// The sync header of a data block.
pub const DATA: u8 = 0b10;
/// The payload of a control block of eight idle characters: type 0x1E, and eight times 0x00.
pub const IDLE: u64 = 0x1E;
/// The bits of the scrambler's state.
pub const STATE: u64 = (1 << 58) - 1;

/// Properties of a file's whole stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bits of the line in a second, not zero.
    pub rate: u64,
    /// The port's counter at the stream's first bit, in picoseconds. A stream begins before its first
    /// frame, and so may begin before the counter.
    pub start_ps: i128,
    /// The time since 1970 at which that counter was zero, in nanoseconds; zero if not known.
    pub epoch_ns: u64,
}

impl Default for Header {
    fn default() -> Header {
        Header {
            rate: LINE_RATE,
            start_ps: 0,
            epoch_ns: 0,
        }
    }
}

impl Header {
    /// The counter's picoseconds at a bit of the stream, rounded down.
    pub fn ps(&self, bit: u64) -> i128 {
        let since = u128::from(bit) * 1_000_000_000_000 / u128::from(self.rate.max(1));
        // Less than 2^104.
        self.start_ps.saturating_add(since as i128)
    }
}

/// The kinds of segments, as their first four bytes.
mod kind {
    pub const BLOCKS: [u8; 4] = *b"BLKS";
    pub const BITS: [u8; 4] = *b"BITS";
    pub const INDEX: [u8; 4] = *b"INDX";
}

/// Bytes before a segment's content.
const SEGMENT: usize = 40;

/// The little-endian number at `at`; zero beyond the end, which callers have excluded.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u64::from_le_bytes(number.copied().unwrap_or_default())
}

/// As [`u64_at`].
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let number = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u32::from_le_bytes(number.copied().unwrap_or_default())
}

/// Whether a block begins a frame: /S/ in lane 0, or in lane 4 behind idles or an ordered set (IEEE
/// 802.3 figure 49-7; paper 002 figure B.2).
pub fn is_start(header: u8, payload: u64) -> bool {
    header == CONTROL && matches!(payload as u8, 0x78 | 0x33 | 0x66)
}

/// What becomes of a payload on the line, for the scrambler's state before it (the last 58 bits sent,
/// the latest in bit 57), and the state behind it.
///
/// Each bit is the exclusive or of itself and those sent 39 and 58 bits before (clause 49.2.6; paper 002
/// algorithm 2).
#[inline]
pub fn scramble(payload: u64, state: u64) -> (u64, u64) {
    let mut scrambler = Scrambler::new(state << 6);
    let line = scrambler.word(payload);
    (line, line >> 6)
}
