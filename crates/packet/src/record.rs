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
//! A dated record, for what comes from a file, has the magic `0x3777`, its date in bytes 4-15 (96 bits, of which 80
//! are used), and the hash and all behind it 4 bytes later.
//!
//! Each length has one form, and short frames have that of old: who reads only this finds them as ever.
//!
//! # Resynchronising
//! Where a header should stand and does not, [`next`] looks for the next *plausible* one: magic and
//! length as above, and behind its frame, where the input shows it, the magic and the length of
//! another header, or the end of the stream. Everything before it is [`Step::Skip`]. A header that
//! stands where one should is believed on magic and length alone.

use crate::{BadLength, Date, MAX_FRAME_LEN, MIN_FRAME_LEN, Packet, Stamp, flow};
use alloc::vec::Vec;
use core::ops::Range;

/// Bytes before a frame of up to [`MAX_SHORT_FRAME_LEN`] bytes, with a word.
pub const HEADER: usize = 16;
/// The same with a date.
pub const DATED_HEADER: usize = 20;
/// Maximum number of bytes before a frame: a date, and the length of a longer one.
pub const MAX_HEADER_LEN: usize = DATED_HEADER + LENGTH;
/// The upper bytes of a date that no date reaches.
const UNUSED: Range<usize> = 4..6;
/// Bytes of the length after a header.
const LENGTH: usize = 4;
/// The first two bytes of a record with a word.
pub const MAGIC: u16 = 0x3776;
/// The first two bytes of a dated record.
pub const DATED_MAGIC: u16 = 0x3777;
/// Maximum length of a frame whose length is in the header itself, bytes.
pub const MAX_SHORT_FRAME_LEN: usize = 16_000;
/// Maximum length of a record, bytes. A buffer of this, [`MAX_HEADER_LEN`] and a byte always lets
/// [`next`] continue.
pub const MAX_RECORD_LEN: usize = MAX_HEADER_LEN + MAX_FRAME_LEN;
/// Value that replaces the length of a longer frame. Zero would have sufficed for reading, but
/// means "drop" where programs answer with records.
const LONG: u16 = 0xFFFF;

/// Appends the packet's record to `out`.
///
/// A missing date or word is written as the word 0, a missing hash is computed.
///
/// # Errors
/// When the frame is not 14 to 262,144 bytes long; `out` is as it was.
pub fn encode(packet: &Packet<'_>, out: &mut Vec<u8>) -> Result<(), BadLength> {
    packet.check()?;
    let hash = packet.hash.unwrap_or_else(|| flow::hash(packet.bytes));
    let long = packet.bytes.len() > MAX_SHORT_FRAME_LEN;
    let length = if long {
        LONG
    } else {
        packet.bytes.len() as u16
    };
    let mut header = [0; MAX_HEADER_LEN];
    let (magic, end) = match packet.stamp.unwrap_or(Stamp::Word(0)) {
        Stamp::Word(word) => {
            header[4..12].copy_from_slice(&word.to_be_bytes());
            (MAGIC, HEADER)
        }
        Stamp::Date(date) => {
            header[4..16].copy_from_slice(&date.as_ps().to_be_bytes()[4..]);
            (DATED_MAGIC, DATED_HEADER)
        }
    };
    header[..2].copy_from_slice(&magic.to_be_bytes());
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header[end - 4..end].copy_from_slice(&hash.to_be_bytes());
    header[end..end + LENGTH].copy_from_slice(&(packet.bytes.len() as u32).to_be_bytes());
    let header = &header[..if long { end + LENGTH } else { end }];
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
        /// The packet; stamp and hash are there.
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
    let header = header([m0, m1])?;
    if header == DATED_HEADER && *input.get(UNUSED)? != [0; UNUSED.end - UNUSED.start] {
        return None;
    }
    let length = u16::from_be_bytes([l0, l1]);
    if (MIN_FRAME_LEN..=MAX_SHORT_FRAME_LEN).contains(&usize::from(length)) {
        return Some(header..header + usize::from(length));
    }
    if length != LONG {
        return None;
    }
    let length = u32::from_be_bytes(*input.get(header..)?.first_chunk()?) as usize;
    let start = header + LENGTH;
    (MAX_SHORT_FRAME_LEN + 1..=MAX_FRAME_LEN)
        .contains(&length)
        .then_some(start..start + length)
}

/// The bytes of the header that begins with this magic, without the length behind it.
fn header(magic: [u8; 2]) -> Option<usize> {
    match u16::from_be_bytes(magic) {
        MAGIC => Some(HEADER),
        DATED_MAGIC => Some(DATED_HEADER),
        _ => None,
    }
}

/// The packet of a whole record whose frame begins at `start`.
fn packet(record: &[u8], start: usize) -> Step<'_> {
    let (head, bytes) = record.split_at(start);
    let end = header([head[0], head[1]]).unwrap_or(HEADER);
    let (mut stamp, mut hash) = ([0; 16], [0; 4]);
    stamp[16 - (end - 8)..].copy_from_slice(&head[4..end - 4]);
    hash.copy_from_slice(&head[end - 4..end]);
    let stamp = u128::from_be_bytes(stamp);
    // A date that does not fit has no frame.
    let stamp = match Date::from_ps(stamp) {
        Some(date) if end == DATED_HEADER => Stamp::Date(date),
        _ => Stamp::Word(stamp as u64),
    };
    Step::Packet {
        used: record.len(),
        packet: Packet {
            stamp: Some(stamp),
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
    match *input {
        [] => true,
        [a] => a == MAGIC.to_be_bytes()[0],
        [a, b] => header([a, b]).is_some(),
        [a, b, c] => header([a, b]).is_some() && may_begin_length(c),
        [a, b, c, d, ..] => header([a, b]).is_some_and(|header| {
            let length = u16::from_be_bytes([c, d]);
            let short = (MIN_FRAME_LEN..=MAX_SHORT_FRAME_LEN).contains(&usize::from(length));
            let unused = &input[UNUSED.start..input.len().min(UNUSED.end)];
            if header == DATED_HEADER && unused.iter().any(|byte| *byte != 0) {
                return false;
            }
            if header == DATED_HEADER && input.len() < UNUSED.end {
                return short || length == LONG;
            }
            // The length's own upper bytes tell first.
            let told = input.get(header..).unwrap_or_default();
            let most = (MAX_FRAME_LEN as u32).to_be_bytes();
            length == LONG && told.len() < LENGTH && told <= &most[..told.len()]
        }),
    }
}

/// Whether the upper byte of some plausible length in a header is this.
fn may_begin_length(byte: u8) -> bool {
    usize::from(byte) <= MAX_SHORT_FRAME_LEN >> 8 || byte == LONG.to_be_bytes()[0]
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
