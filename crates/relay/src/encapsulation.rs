//! Compressed IP packets that ordinary routers forward.
//!
//! The packet's own IP header stays in front, with addresses, traffic class, identification, flags, hop limit and options as
//! they were; its protocol (IPv6: the last next-header value that stays in front) becomes an experimental one, 253 of RFC 3692
//! unless another was agreed on. Behind it:
//!
//! | octets | what |
//! |---|---|
//! | 0, 1 | the mark `57 43`, which tells such packets from others with the same protocol number |
//! | 2 | version (4 bits, 1) and algorithm (4 bits: 1 LZ4 block, 2 zstd, 3 zstd with a dictionary) |
//! | 3 | the protocol that was replaced |
//! | 4, 5 | bytes that were there behind the IP header: at least 9 |
//! | 6-9 | check |
//! | 10-13 | with a dictionary only: its CRC-32 |
//! | next 8 | the first 8 bytes that were there, as they were |
//! | rest | the others, compressed; a zstd frame lacks its magic number |
//!
//! Numbers are in network order. The check is Ethernet's CRC-32 over all bytes that were there, begun with octets 2 to 5 as the
//! sum so far: zlib's `crc32(octets, bytes)`. So a wrong protocol, length or dictionary is seen as damaged bytes are. The first 8
//! bytes are in clear since they are what an ICMP error must quote of a packet (RFC 792): ports, and a sequence number.
//!
//! **What stays in front** in IPv6 are the extension headers that nodes on the way read: hop-by-hop options, routing headers, and
//! destination options before a routing header. All others are for the destination only, and go with the payload.
//!
//! **Left as they are:** fragments, whose place in the whole counts bytes as they were; packets to or from link-local addresses, or
//! with no hop left, which are for the next router and not for the far node; packets with this protocol number already; bytes
//! behind the packet's end; headers that make no sense; what is not IP, or behind more than four VLAN tags.
//!
//! Nothing is kept from one packet to the next, so lost, reordered and duplicated packets harm no others.

mod locate;
mod quote;

pub use locate::{Offsets, Untouched, locate};
pub use quote::repair_quote;
pub(crate) use quote::{icmp_sum, is_error};

pub use crate::codec::CLEAR;
use crate::codec::{Algorithm, Codec, DecodeError};
use core::fmt;
use node::Frame;
use packet::checksum::update_bytes;

/// The experimental protocol number of RFC 3692 that is used unless another was agreed on.
pub const PROTOCOL: u8 = 253;
/// First bytes of such packets after the IP header.
pub const MARK: [u8; 2] = *b"WC";
/// The version that is written, and the only one that is read.
pub const VERSION: u8 = 1;
/// Maximum length of such a header, bytes.
pub const MAX_HEADER_LEN: usize = SHORT + 4;
/// Without a dictionary's number.
const SHORT: usize = 10;
/// Maximum length of a frame that is built or restored without FCS, bytes: every part carries it.
const MAX_FRAME_LEN: usize = packet::MAX_WIRE_FRAME_LEN;

/// Why an encapsulated packet cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The packet ends before its header does.
    Truncated,
    /// Not version 1.
    Version,
    /// An algorithm without a meaning.
    Algorithm,
    /// A dictionary that is not at hand.
    Dictionary,
    /// A length that no sender writes: not more than the packet has, or more than fits into one.
    Length,
    /// The compressed bytes make no sense, or another number of bytes than announced.
    Data,
    /// What was restored is not what was sent.
    Check,
    /// A router has cut the packet into fragments.
    Fragment,
}

impl Fault {
    /// As a reason for a drop.
    pub const fn reason(self) -> &'static str {
        match self {
            Fault::Truncated => "encapsulation cut off",
            Fault::Version => "encapsulation of another version",
            Fault::Algorithm => "unknown algorithm",
            Fault::Dictionary => "unknown dictionary",
            Fault::Length => "forged length",
            Fault::Data => "damaged compressed data",
            Fault::Check => "check failed",
            Fault::Fragment => "fragment of a compressed packet",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl core::error::Error for Fault {}

/// Bytes of a frame on a link that pads short ones.
fn on_the_wire(len: usize) -> usize {
    len.max(node::link::MIN_WIRE_FRAME_LEN)
}

/// The header's length.
fn header_len(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::ZstdDictionary => MAX_HEADER_LEN,
        Algorithm::Lz4 | Algorithm::Zstd => SHORT,
    }
}

/// Compresses the packet in `frame`, which [`locate`] has found, and tells how many bytes the frame has lost. `None`, and an
/// unchanged frame, when it would not be shorter on a link.
pub fn encapsulate(
    frame: &mut Frame,
    offsets: &Offsets,
    protocol: u8,
    algorithm: Algorithm,
    codec: &mut Codec,
) -> Option<usize> {
    let before = frame.len();
    // The far end restores nothing longer than a wire carries.
    if offsets.end != before || before > MAX_FRAME_LEN {
        return None;
    }
    let header = header_len(algorithm);
    let bytes = frame.get(offsets.body..offsets.end)?;
    let Ok(length) = u16::try_from(bytes.len()) else {
        return None;
    };
    // There is room for one byte less than would make no difference.
    let most = on_the_wire(before)
        .checked_sub(1)?
        .checked_sub(offsets.body + header + CLEAR)?;
    let check = {
        let (_, tail) = bytes.split_at_checked(CLEAR)?;
        codec.compress(algorithm, tail, most)?;
        let seed = [algorithm.number() | VERSION << 4, offsets.protocol];
        check_of(seed, length, bytes)
    };
    let compressed = codec.compressed();
    let end = offsets.body + header + CLEAR + compressed.len();
    if on_the_wire(end) >= on_the_wire(before) {
        return None;
    }
    // The clear bytes go to their place first: the header lies where they were.
    frame.copy_within(offsets.body..offsets.body + CLEAR, offsets.body + header);
    let at = &mut frame[offsets.body..];
    at[..2].copy_from_slice(&MARK);
    at[2] = algorithm.number() | VERSION << 4;
    at[3] = offsets.protocol;
    at[4..6].copy_from_slice(&length.to_be_bytes());
    at[6..10].copy_from_slice(&check.to_be_bytes());
    if header == MAX_HEADER_LEN {
        at[10..14].copy_from_slice(&codec.dictionary()?.to_be_bytes());
    }
    at[header + CLEAR..header + CLEAR + compressed.len()].copy_from_slice(compressed);
    frame.resize(end);
    offsets.repair(frame, protocol, end);
    Some(on_the_wire(before) - on_the_wire(end))
}

/// Whether the packet that [`locate`] has found has such a header: to be asked if it has the protocol number agreed on.
pub fn is_marked(frame: &[u8], offsets: &Offsets) -> bool {
    let bytes = frame.get(offsets.body..offsets.end);
    bytes.is_some_and(|bytes| bytes.starts_with(&MARK))
}

/// Restores the packet in `frame`, which [`locate`] has found and [`is_marked`].
///
/// # Errors
/// When it cannot be, with the frame in no useful state.
pub fn restore(
    frame: &mut Frame,
    offsets: &Offsets,
    codec: &mut Codec,
) -> Result<Algorithm, Fault> {
    let bytes = frame
        .get(offsets.body..offsets.end)
        .ok_or(Fault::Truncated)?;
    let head = bytes.first_chunk::<SHORT>().ok_or(Fault::Truncated)?;
    let [_, _, kind, protocol, high, low, a, b, c, d] = *head;
    if kind >> 4 != VERSION {
        return Err(Fault::Version);
    }
    let algorithm = Algorithm::of_number(kind & 0x0F).ok_or(Fault::Algorithm)?;
    let header = header_len(algorithm);
    let length = u16::from_be_bytes([high, low]);
    let check = u32::from_be_bytes([a, b, c, d]);
    if let Some(number) = bytes.get(SHORT..header).and_then(<[u8]>::first_chunk)
        && codec.dictionary() != Some(u32::from_be_bytes(*number))
    {
        return Err(Fault::Dictionary);
    }
    let clear = bytes.get(header..header + CLEAR).ok_or(Fault::Truncated)?;
    let restored = usize::from(length);
    let end = offsets.body + restored;
    let most = (usize::from(u16::MAX) + offsets.counted_from()).min(MAX_FRAME_LEN);
    if restored <= bytes.len() || end > most {
        return Err(Fault::Length);
    }
    codec.begin(clear);
    let compressed = offsets.body + header + CLEAR..offsets.end;
    let decoded = codec.decompress(algorithm, frame, compressed, restored);
    decoded.map_err(|error| match error {
        DecodeError::Dictionary => Fault::Dictionary,
        DecodeError::Data => Fault::Data,
    })?;
    let original = codec.restored(restored);
    if check_of([kind, protocol], length, original) != check {
        return Err(Fault::Check);
    }
    frame.resize(offsets.body);
    frame.extend(original);
    offsets.repair(frame, protocol, end);
    Ok(algorithm)
}

fn check_of([kind, protocol]: [u8; 2], length: u16, bytes: &[u8]) -> u32 {
    let [high, low] = length.to_be_bytes();
    let begun = u32::from_be_bytes([kind, protocol, high, low]);
    let mut sum = crc32fast::Hasher::new_with_initial(begun);
    sum.update(bytes);
    sum.finalize()
}

impl Offsets {
    /// Where what the IP header's length counts begins.
    fn counted_from(&self) -> usize {
        match self.is_v4 {
            true => self.ip,
            false => self.ip + 40,
        }
    }

    /// Puts another protocol and another end into the headers in front, and updates IPv4's checksum by what has changed, so that a
    /// wrong one stays wrong.
    pub(crate) fn repair(&self, frame: &mut Frame, protocol: u8, end: usize) {
        let length = (end - self.counted_from()) as u16;
        let at = self.ip + if self.is_v4 { 2 } else { 4 };
        let (old_length, old_protocol) = ([frame[at], frame[at + 1]], frame[self.next]);
        frame[at..at + 2].copy_from_slice(&length.to_be_bytes());
        frame[self.next] = protocol;
        if self.is_v4 {
            let sum = self.ip + 10;
            let old = u16::from_be_bytes([frame[sum], frame[sum + 1]]);
            let [high, low] = length.to_be_bytes();
            // The protocol is the lower half of its word; the other half does not change.
            let (old_bytes, new_bytes) = (
                [old_length[0], old_length[1], 0, old_protocol],
                [high, low, 0, protocol],
            );
            let new = update_bytes(old, &old_bytes, &new_bytes);
            frame[sum..sum + 2].copy_from_slice(&new.to_be_bytes());
        }
    }
}
