//! A piece of a byte stream in a frame: how a control channel crosses a link.
//!
//! A node has no sockets; it has ports with frames. A stream that ends in a node therefore arrives in
//! frames of EtherType 0x88B5 (local experimental, IEEE 802 section 9.2.4), which the link of a
//! simulated world carries as it carries any frame, which a live port turns into a real connection,
//! and which a node with a TCP stack turns into packets:
//!
//! | bytes | field |
//! |---|---|
//! | 0-13 | Ethernet header of type 0x88B5; the addresses mean nothing |
//! | 14 | kind: 0 open, 1 data, 2 acknowledge, 3 close |
//! | 15 | zero |
//! | 16-19 | connection: several share a port; numbered by the side that opens |
//! | 20-23 | data: how many bytes of the stream went before, modulo 2^32; acknowledge: how many were taken so far; open: the number of the attempt |
//! | 24-25 | how many bytes follow: data; of open and close, a text |
//! | 26- | these |
//!
//! - **open** asks for a connection, and is answered by open (the text says who is at the far end) or by
//!   close (why not). A listening side gets an open and answers with one. The side that asks may number its
//!   attempts from 1 on; the answer then has the same number, and the highest bit set ([`ANSWER`]). Without
//!   numbers, an answer that was under way for long looks like a request, and one that belongs to an attempt
//!   given up like that to the next. Relays to real connections answer 0, which any attempt may have.
//! - **data** may follow as far as [`WINDOW`] bytes ahead of what was acknowledged. Who takes bytes for good
//!   acknowledges them; who is too busy does not, and so holds the far end up, as TCP does.
//! - **close** ends both directions; there is no answer.
//!
//! A link that carries segments is to lose none. A gap in the count of bytes is a lost segment: the
//! connection is of no use any more, and is closed.

use crate::MAX_WIRE_FRAME_LEN;
use alloc::vec::Vec;

/// The EtherType of segments.
pub const ETHERTYPE: u16 = 0x88B5;
/// Bytes before the data.
pub const HEADER: usize = 26;
/// Maximum length of the data in one segment, bytes, so that any wire carries the frame.
pub const MAX_DATA_LEN: usize = MAX_WIRE_FRAME_LEN - HEADER;
/// Set in the number of an open that answers: it is no request.
pub const ANSWER: u32 = 1 << 31;
/// Maximum number of unacknowledged bytes of data in one direction of a connection.
pub const WINDOW: u32 = 1 << 18;

/// Purpose of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Asks for a connection, or says that there is one.
    Open,
    /// Carries bytes of the stream.
    Data,
    /// Says how many bytes were taken.
    Acknowledge,
    /// Ends the connection.
    Close,
}

/// A segment as it stands in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// What it is there for.
    pub kind: Kind,
    /// Which connection of the port it belongs to.
    pub connection: u32,
    /// Of data: bytes of the stream before these; of an acknowledgement: bytes taken so far. Modulo 2^32.
    /// Of an open: the number of the attempt, 0 for none, with [`ANSWER`] in what answers it.
    pub count: u32,
    /// Data, or the text of open and close.
    pub bytes: &'a [u8],
}

/// Why a frame is no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSegment {
    /// Another EtherType.
    #[error("not a segment: its EtherType is not 0x88B5")]
    Type,
    /// Fewer bytes than the header has, or than the header says.
    #[error("the segment is cut short")]
    Short,
    /// A kind that there is not.
    #[error("the segment's kind is {0}; 0 to 3 are known")]
    Kind(u8),
}

impl<'a> Segment<'a> {
    /// Reads a frame, padded or not.
    ///
    /// # Errors
    /// When it is no segment.
    pub fn read(frame: &'a [u8]) -> Result<Segment<'a>, BadSegment> {
        let header: &[u8; HEADER] = frame.first_chunk().ok_or(BadSegment::Short)?;
        if header[12..14] != ETHERTYPE.to_be_bytes() {
            return Err(BadSegment::Type);
        }
        let kind = match header[14] {
            0 => Kind::Open,
            1 => Kind::Data,
            2 => Kind::Acknowledge,
            3 => Kind::Close,
            other => return Err(BadSegment::Kind(other)),
        };
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let length = usize::from(u16::from_be_bytes([header[24], header[25]]));
        let bytes = frame.get(HEADER..HEADER + length);
        Ok(Segment {
            kind,
            connection: word(16),
            count: word(20),
            bytes: bytes.ok_or(BadSegment::Short)?,
        })
    }

    /// What goes before the [`carried`](Segment::carried) bytes in the frame.
    pub fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        header[14] = self.kind as u8;
        header[16..20].copy_from_slice(&self.connection.to_be_bytes());
        header[20..24].copy_from_slice(&self.count.to_be_bytes());
        header[24..26].copy_from_slice(&(self.carried().len() as u16).to_be_bytes());
        header
    }

    /// Of the bytes, the first [`MAX_DATA_LEN`] at most: what the frame carries.
    pub fn carried(&self) -> &'a [u8] {
        &self.bytes[..self.bytes.len().min(MAX_DATA_LEN)]
    }

    /// Appends the segment's frame, with the [`carried`](Segment::carried) bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header());
        out.extend_from_slice(self.carried());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for kind in [Kind::Open, Kind::Data, Kind::Acknowledge, Kind::Close] {
            let segment = Segment {
                kind,
                connection: 7,
                count: 0xFFFF_FFFE,
                bytes: b"hello",
            };
            let mut frame = Vec::new();
            segment.write(&mut frame);
            assert_eq!(Segment::read(&frame), Ok(segment));
            frame.resize(60, 0);
            assert_eq!(Segment::read(&frame), Ok(segment));
            assert_eq!(Segment::read(&frame[..HEADER + 4]), Err(BadSegment::Short));
        }
    }

    #[test]
    fn other_frames_are_refused() {
        assert_eq!(Segment::read(&[0; 60]), Err(BadSegment::Type));
        let mut frame = Vec::new();
        let bytes: &[u8] = &[1; MAX_DATA_LEN + 1];
        let segment = Segment {
            kind: Kind::Data,
            connection: 0,
            count: 0,
            bytes,
        };
        segment.write(&mut frame);
        assert_eq!(frame.len(), MAX_WIRE_FRAME_LEN);
        frame[14] = 9;
        assert_eq!(Segment::read(&frame), Err(BadSegment::Kind(9)));
    }
}
