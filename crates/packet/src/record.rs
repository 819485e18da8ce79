//! One packet as a binary record (FORMATS section 2; EtherPIPE's raw format, paper 000 section 4.1).
//!
//! | bytes | field, big-endian |
//! |---|---|
//! | 0-1 | magic `0x3776` |
//! | 2-3 | frame length in bytes, 14 to 16,000; or `0xFFFF`: it follows the header |
//! | 4-11 | timestamp word |
//! | 12-15 | five-tuple hash |
//! | 16-19 | behind `0xFFFF` only: frame length in bytes, 16,001 to 262,144 |
//! | 16- or 20- | the frame, without FCS |
//!
//! Each length has one form, and short frames have that of old: who reads only this finds them as ever.
//!
//! # Resynchronising
//! Where a header should stand and does not, [`next`] looks for the next *plausible* one: magic and
//! length as above, and behind its frame, where the input shows it, the magic and the length of
//! another header, or the end of the stream. Everything before it is [`Step::Skip`]. A header that
//! stands where one should is believed on magic and length alone.

use crate::{BadLength, LONGEST, Packet, SHORTEST, flow};
use alloc::vec::Vec;
use core::ops::Range;

/// Bytes before a frame of up to [`LONGEST_SHORT`] bytes.
pub const HEADER: usize = 16;
/// Bytes before a longer frame.
pub const LONG_HEADER: usize = HEADER + 4;
/// The first two bytes of every record.
pub const MAGIC: u16 = 0x3776;
/// The longest frame whose length stands in the header itself, bytes.
pub const LONGEST_SHORT: usize = 16_000;
/// The longest record, in bytes. A buffer of this, [`LONG_HEADER`] and a byte always lets [`next`] go on.
pub const LONGEST_RECORD: usize = LONG_HEADER + LONGEST;
/// What stands for the length of a longer frame. Zero would have done for reading, but says "drop" where programs
/// answer with records.
const LONG: u16 = 0xFFFF;

/// Appends the packet's record to `out`.
///
/// A missing timestamp word is written as 0, a missing hash is computed.
///
/// # Errors
/// When the frame is not 14 to 262,144 bytes long; `out` is as it was.
pub fn encode(packet: &Packet<'_>, out: &mut Vec<u8>) -> Result<(), BadLength> {
    packet.check()?;
    let hash = packet.hash.unwrap_or_else(|| flow::hash(packet.bytes));
    let long = packet.bytes.len() > LONGEST_SHORT;
    let length = if long {
        LONG
    } else {
        packet.bytes.len() as u16
    };
    let mut header = [0; LONG_HEADER];
    header[..2].copy_from_slice(&MAGIC.to_be_bytes());
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header[4..12].copy_from_slice(&packet.word.unwrap_or(0).to_be_bytes());
    header[12..16].copy_from_slice(&hash.to_be_bytes());
    header[16..].copy_from_slice(&(packet.bytes.len() as u32).to_be_bytes());
    let header = &header[..if long { LONG_HEADER } else { HEADER }];
    out.reserve(header.len() + packet.bytes.len());
    out.extend_from_slice(header);
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
    if let Some(frame) = frame(input)
        && let Some(record) = input.get(..frame.end)
    {
        return packet(record, frame.start);
    }
    let waiting = matches!(front(input), Front::Header | Front::Undecided);
    if input.is_empty() || waiting && !end {
        return Step::More;
    }
    resynchronise(input, end)
}

/// Where in `input` the frame of the record at its front is; it may end behind what is there. `None` when no header
/// stands there, or not the whole of one that tells the length behind itself.
pub fn frame(input: &[u8]) -> Option<Range<usize>> {
    let [m0, m1, l0, l1, ..] = *input else {
        return None;
    };
    if u16::from_be_bytes([m0, m1]) != MAGIC {
        return None;
    }
    let length = u16::from_be_bytes([l0, l1]);
    if (SHORTEST..=LONGEST_SHORT).contains(&usize::from(length)) {
        return Some(HEADER..HEADER + usize::from(length));
    }
    if length != LONG {
        return None;
    }
    let length = u32::from_be_bytes(*input.get(HEADER..)?.first_chunk()?) as usize;
    (LONGEST_SHORT + 1..=LONGEST)
        .contains(&length)
        .then_some(LONG_HEADER..LONG_HEADER + length)
}

/// The packet of a whole record whose frame begins at `start`.
fn packet(record: &[u8], start: usize) -> Step<'_> {
    let (header, bytes) = record.split_at(start);
    let mut word = [0; 8];
    word.copy_from_slice(&header[4..12]);
    let mut hash = [0; 4];
    hash.copy_from_slice(&header[12..16]);
    Step::Packet {
        used: record.len(),
        packet: Packet {
            word: Some(u64::from_be_bytes(word)),
            hash: Some(u32::from_be_bytes(hash)),
            bytes,
        },
    }
}

/// What the first bytes say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Front {
    Header,
    /// Too few bytes to tell, and those there are fit.
    Undecided,
    Other,
}

fn front(input: &[u8]) -> Front {
    match frame(input) {
        Some(_) => Front::Header,
        None if may_begin(input) => Front::Undecided,
        None => Front::Other,
    }
}

/// Whether `input`, where [`frame`] finds nothing, may become the front of a record with more behind it.
pub fn may_begin(input: &[u8]) -> bool {
    let [m0, m1] = MAGIC.to_be_bytes();
    match *input {
        [] => true,
        [a] => a == m0,
        [a, b] => [a, b] == [m0, m1],
        [a, b, c] => [a, b] == [m0, m1] && may_begin_length(c),
        [a, b, c, d, ref rest @ ..] => {
            let long = [a, b] == [m0, m1] && u16::from_be_bytes([c, d]) == LONG;
            // The length's own upper bytes tell first.
            let told = rest.get(HEADER - 4..).unwrap_or_default();
            let most = (LONGEST as u32).to_be_bytes();
            long && told.len() < 4 && told <= &most[..told.len()]
        }
    }
}

/// Whether the upper byte of some plausible length in a header is this.
fn may_begin_length(byte: u8) -> bool {
    usize::from(byte) <= LONGEST_SHORT >> 8 || byte == LONG.to_be_bytes()[0]
}

/// Finds the next plausible header behind the first byte.
fn resynchronise(input: &[u8], end: bool) -> Step<'_> {
    let mut at = 1;
    while let Some(found) = memchr::memchr(MAGIC.to_be_bytes()[0], &input[at..]) {
        at += found;
        let candidate = &input[at..];
        let (whole, verdict) = match frame(candidate) {
            Some(frame) => match candidate.get(frame.end..) {
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
