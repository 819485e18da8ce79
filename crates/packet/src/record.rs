//! One packet as a binary record (FORMATS section 2; EtherPIPE's raw format, paper 000 section 4.1).
//!
//! | bytes | field, big-endian |
//! |---|---|
//! | 0-1 | magic `0x3776` |
//! | 2-3 | frame length in bytes, 14 to 16,000 |
//! | 4-11 | timestamp word |
//! | 12-15 | five-tuple hash |
//! | 16- | the frame, without FCS |
//!
//! # Resynchronising
//! Where a header should stand and does not, [`next`] looks for the next *plausible* one: magic and
//! length as above, and behind its frame, where the input shows it, the magic and the length of
//! another header, or the end of the stream. Everything before it is [`Step::Skip`]. A header that
//! stands where one should is believed on magic and length alone.

use crate::{BadLength, LONGEST, Packet, SHORTEST, flow};
use alloc::vec::Vec;

/// Bytes before the frame.
pub const HEADER: usize = 16;
/// The first two bytes of every record.
pub const MAGIC: u16 = 0x3776;
/// The longest record, in bytes. A buffer of this and [`HEADER`] always lets [`next`] go on.
pub const LONGEST_RECORD: usize = HEADER + LONGEST;

/// Appends the packet's record to `out`.
///
/// A missing timestamp word is written as 0, a missing hash is computed.
///
/// # Errors
/// When the frame is not 14 to 16,000 bytes long; `out` is as it was.
pub fn encode(packet: &Packet<'_>, out: &mut Vec<u8>) -> Result<(), BadLength> {
    packet.check()?;
    let hash = packet.hash.unwrap_or_else(|| flow::hash(packet.bytes));
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&MAGIC.to_be_bytes());
    header[2..4].copy_from_slice(&(packet.bytes.len() as u16).to_be_bytes());
    header[4..12].copy_from_slice(&packet.word.unwrap_or(0).to_be_bytes());
    header[12..].copy_from_slice(&hash.to_be_bytes());
    out.reserve(HEADER + packet.bytes.len());
    out.extend_from_slice(&header);
    out.extend_from_slice(packet.bytes);
    Ok(())
}

/// What stands at the front of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A whole record.
    Packet {
        /// Bytes to take off the input.
        used: usize,
        /// The packet; word and hash are there.
        packet: Packet<'a>,
    },
    /// These bytes at the front are no record.
    Skip {
        /// Bytes to take off the input; at least 1.
        bytes: usize,
    },
    /// The input ends inside a record, or is empty. Never at the end of a stream, unless nothing
    /// is left.
    More,
}

/// Reads the front of `input`; `end` says that nothing follows it.
///
/// What is found does not depend on how the stream is cut into inputs.
pub fn next(input: &[u8], end: bool) -> Step<'_> {
    if let Some(length) = plausible_length(input)
        && let Some(record) = input.get(..HEADER + length)
    {
        return packet(record);
    }
    let waiting = matches!(front(input), Front::Header | Front::Undecided);
    if input.is_empty() || waiting && !end {
        return Step::More;
    }
    resynchronise(input, end)
}

/// The packet of a whole record.
fn packet(record: &[u8]) -> Step<'_> {
    let (header, bytes) = record.split_at(HEADER);
    let mut word = [0; 8];
    word.copy_from_slice(&header[4..12]);
    let mut hash = [0; 4];
    hash.copy_from_slice(&header[12..]);
    Step::Packet {
        used: record.len(),
        packet: Packet {
            word: Some(u64::from_be_bytes(word)),
            hash: Some(u32::from_be_bytes(hash)),
            bytes,
        },
    }
}

/// What the first four bytes say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Front {
    Header,
    /// Fewer than four bytes, and those there are fit.
    Undecided,
    Other,
}

/// The frame length, where a header's magic and length stand at the front.
fn plausible_length(input: &[u8]) -> Option<usize> {
    let [m0, m1, l0, l1, ..] = *input else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([l0, l1]));
    (u16::from_be_bytes([m0, m1]) == MAGIC && (SHORTEST..=LONGEST).contains(&length))
        .then_some(length)
}

fn front(input: &[u8]) -> Front {
    if plausible_length(input).is_some() {
        return Front::Header;
    }
    let [m0, m1] = MAGIC.to_be_bytes();
    match *input {
        [] => Front::Undecided,
        [a] if a == m0 => Front::Undecided,
        [a, b] if [a, b] == [m0, m1] => Front::Undecided,
        [a, b, c] if [a, b] == [m0, m1] && usize::from(c) <= LONGEST >> 8 => Front::Undecided,
        _ => Front::Other,
    }
}

/// Finds the next plausible header behind the first byte.
fn resynchronise(input: &[u8], end: bool) -> Step<'_> {
    let mut at = 1;
    while let Some(found) = memchr::memchr(MAGIC.to_be_bytes()[0], &input[at..]) {
        at += found;
        let candidate = &input[at..];
        let (whole, verdict) = match plausible_length(candidate) {
            Some(length) => match candidate.get(HEADER + length..) {
                Some(behind) => (true, front(behind)),
                None => (false, Front::Undecided),
            },
            None => (false, front(candidate)),
        };
        match verdict {
            Front::Header => return Step::Skip { bytes: at },
            Front::Undecided if end && whole => return Step::Skip { bytes: at },
            // One byte of the garbage stays in front of the candidate: by it the next call knows
            // that this header is not to be believed on its own.
            Front::Undecided if !end && at > 1 => return Step::Skip { bytes: at - 1 },
            Front::Undecided if !end => return Step::More,
            _ => at += 1,
        }
    }
    // The last byte stays for the same reason, unless nothing follows.
    let bytes = if end { input.len() } else { input.len() - 1 };
    match bytes {
        0 => Step::More,
        _ => Step::Skip { bytes },
    }
}

#[cfg(test)]
mod tests;
