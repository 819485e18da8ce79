//! Segments as they are read from frames and written into them.

use super::ecn::{self, Ace, Counts};
use core::net::{IpAddr, SocketAddr};
use ip::header::{self, ETHERNET};
use node::{Frame, Out};
pub(super) use packet::tcp::flag::{ACK, CWR, FIN, PSH, RST, SYN};
use packet::tcp::{TcpOption, TcpView};

/// Bytes of a TCP header without options.
pub(super) const HEADER: usize = 20;
/// Selective acknowledgements that fit into a header.
pub(super) const MAX_BLOCKS: usize = 4;
/// Bytes of all options of a header.
pub(super) const MAX_OPTIONS: usize = 40;

/// A segment that came.
pub(super) struct Segment<'a> {
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    /// The bit AE before the flags (RFC 9768).
    is_accurate: bool,
    /// Codepoint of its packet, see [`packet::ecn`].
    pub codepoint: u8,
    /// Marked bytes by the option of accurate ECN.
    pub marked: Option<u32>,
    /// Before scaling.
    pub window: u16,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack_permitted: bool,
    /// Timestamp of the sender, TSval (RFC 7323).
    pub shown: Option<u32>,
    blocks: [(u32, u32); MAX_BLOCKS],
    count: usize,
    pub payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Reads a segment that ends with `bytes`, of a packet with this ECN codepoint; `None` if its header is broken.
    pub fn read(bytes: &'a [u8], codepoint: u8) -> Option<Segment<'a>> {
        let view = TcpView::new(bytes).ok()?;
        let mut segment = Segment {
            source_port: view.source_port(),
            destination_port: view.destination_port(),
            sequence: view.sequence(),
            acknowledgement: view.acknowledgement(),
            flags: view.flags(),
            is_accurate: view.reserved() & 1 != 0,
            codepoint,
            marked: None,
            window: view.window(),
            mss: None,
            scale: None,
            sack_permitted: false,
            shown: None,
            blocks: [(0, 0); MAX_BLOCKS],
            count: 0,
            payload: view.payload(),
        };
        for option in view.options() {
            match option {
                TcpOption::MaximumSegment(size) => segment.mss = Some(size),
                TcpOption::WindowScale(scale) => segment.scale = Some(scale.min(14)),
                TcpOption::SackPermitted => segment.sack_permitted = true,
                TcpOption::Sack(blocks) => segment.read_blocks(blocks),
                TcpOption::Other(kind, value) => {
                    segment.marked = segment.marked.or(Counts::marked(kind, value));
                }
                TcpOption::Timestamps(shown, _) => segment.shown = Some(shown),
            }
        }
        Some(segment)
    }

    fn read_blocks(&mut self, blocks: &[[u8; 8]]) {
        let free = &mut self.blocks[self.count..];
        for (place, &[a, b, c, d, e, f, g, h]) in free.iter_mut().zip(blocks) {
            let (from, to) = ([a, b, c, d], [e, f, g, h]);
            *place = (u32::from_be_bytes(from), u32::from_be_bytes(to));
            self.count += 1;
        }
    }

    /// The blocks of its selective acknowledgement.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count]
    }

    /// The bits AE, CWR and ECE.
    pub fn ace(&self) -> Ace {
        ecn::ace(self.flags, self.is_accurate)
    }

    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Sequence numbers that it takes up.
    pub fn length(&self) -> u32 {
        let flags = u32::from(self.has(SYN)) + u32::from(self.has(FIN));
        self.payload.len() as u32 + flags
    }
}

/// Options of a segment that leaves: a multiple of four bytes, at most 40.
pub(super) struct Options {
    bytes: [u8; MAX_OPTIONS],
    length: usize,
}

impl Options {
    pub fn new() -> Options {
        Options {
            bytes: [0; MAX_OPTIONS],
            length: 0,
        }
    }

    /// Appends an option, or a part of one; at most 40 bytes fit.
    pub fn push(&mut self, option: &[u8]) {
        self.bytes[self.length..self.length + option.len()].copy_from_slice(option);
        self.length += option.len();
    }

    /// Fills up to a multiple of four bytes.
    pub fn pad(&mut self) {
        while !self.length.is_multiple_of(4) {
            self.push(&[1]);
        }
    }

    pub fn length(&self) -> usize {
        self.length
    }
}

/// The header of a segment that leaves.
pub(super) struct Header {
    pub own: SocketAddr,
    pub remote: SocketAddr,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    /// The bit AE before the flags.
    pub is_accurate: bool,
    pub window: u16,
    pub options: Options,
}

impl Header {
    /// A frame with the header and `data` zeros behind it, and the offset of the segment in it. The addresses on the link are
    /// still to be filled in, and the checksum by [`fill_checksum`].
    pub fn frame(&self, data: usize, out: &mut Out) -> (Frame, usize) {
        let mut frame = out.frame();
        let begins = ETHERNET + header::length(self.remote.ip());
        let header = HEADER + self.options.length;
        frame.resize(begins + header + data);
        header::write(&mut frame, self.own.ip(), self.remote.ip(), header::TCP);
        let segment = &mut frame[begins..];
        segment[..2].copy_from_slice(&self.own.port().to_be_bytes());
        segment[2..4].copy_from_slice(&self.remote.port().to_be_bytes());
        segment[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        segment[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        let offset = (header as u8 / 4) << 4 | u8::from(self.is_accurate);
        (segment[12], segment[13]) = (offset, self.flags);
        segment[14..16].copy_from_slice(&self.window.to_be_bytes());
        let options = &self.options.bytes[..self.options.length];
        segment[HEADER..header].copy_from_slice(options);
        (frame, begins)
    }
}

/// Computes a segment's checksum.
pub(super) fn fill_checksum(segment: &mut [u8], source: IpAddr, destination: IpAddr) {
    segment[16..18].fill(0);
    let sum = header::pseudo(source, destination, header::TCP).sum(segment.len());
    let checksum = sum.plus(segment).checksum();
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
}
