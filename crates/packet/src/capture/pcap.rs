//! pcap, in microseconds and nanoseconds, of all versions 2.0 to 2.4, and Kuznetzov's variant.

use super::{
    Block, CaptureError, Found, Interface, MAX_BLOCK_LEN, Options, Order, Resolution, without_fcs,
};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Magic numbers, which also tell the byte order.
const MICRO: u32 = 0xA1B2_C3D4;
const NANO: u32 = 0xA1B2_3C4D;
/// That of Alexey Kuznetzov's patch of libpcap, in microseconds: each packet's header has eight
/// bytes more.
const MODIFIED: u32 = 0xA1B2_CD34;
const VERSION: (u16, u16) = (2, 4);
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
/// Interface, protocol and kind of packet behind the usual header, with a byte of padding.
const MODIFIED_PACKET_HEADER: usize = 24;
const SECOND: u128 = 1_000_000_000_000;
/// In the link type: the top four bits count the FCS, in 16 bits, when this bit is set.
const HAS_FCS: u32 = 1 << 26;

/// What a file's header says.
#[derive(Debug)]
pub struct Header {
    pub order: Order,
    /// Picoseconds of the unit of the stamps' lower half.
    unit: u128,
    fcs_len: u8,
    /// Bytes before each packet.
    packet_header: usize,
    lengths: Lengths,
    /// Whether packets are given with their FCS.
    pub keeps_fcs: bool,
    seen: bool,
}

/// The order of a packet's two lengths, by the file's version, as libpcap reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// Captured, then original: 2.4.
    CapturedFirst,
    /// Original, then captured: until 2.2.
    OriginalFirst,
    /// Either: 2.3, in which writers differ. The captured length is the lesser one.
    Either,
}

impl Header {
    /// The kind of file that begins so, whose header is yet to be read.
    pub fn from_magic(magic: [u8; 4]) -> Option<Header> {
        let orders = [
            (Order::Big, u32::from_be_bytes(magic)),
            (Order::Little, u32::from_le_bytes(magic)),
        ];
        orders.into_iter().find_map(|(order, magic)| {
            let (unit, packet_header) = match magic {
                MICRO => (1_000_000, PACKET_HEADER),
                NANO => (1_000, PACKET_HEADER),
                MODIFIED => (1_000_000, MODIFIED_PACKET_HEADER),
                _ => return None,
            };
            Some(Header {
                order,
                unit,
                fcs_len: 0,
                packet_header,
                lengths: Lengths::CapturedFirst,
                keeps_fcs: false,
                seen: false,
            })
        })
    }

    /// What comes next, for messages.
    pub fn part(&self) -> &'static str {
        if self.seen { "packet" } else { "header" }
    }

    pub fn next<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Found<'a>, CaptureError> {
        if !self.seen {
            return self.read_header(input);
        }
        let order = self.order;
        let header = self.packet_header;
        let Some(head) = input.first_chunk::<PACKET_HEADER>() else {
            return Ok(Found::Wants(header));
        };
        let (captured, original) = match (self.lengths, order.u32(head, 8), order.u32(head, 12)) {
            (Lengths::OriginalFirst, first, second) => (second, first),
            (Lengths::Either, first, second) if first > second => (second, first),
            (_, first, second) => (first, second),
        };
        let length = captured as usize;
        if length > MAX_BLOCK_LEN {
            let (part, length) = ("packet", captured.into());
            return Err(CaptureError::TooLong {
                offset,
                part,
                length,
            });
        }
        let used = header + length;
        let Some(bytes) = input.get(header..used) else {
            return Ok(Found::Wants(used));
        };
        let fcs_len = if self.keeps_fcs { 0 } else { self.fcs_len };
        let (bytes, original_len) = without_fcs(bytes, original, fcs_len);
        let seconds = u128::from(order.u32(head, 0)) * SECOND;
        let at_ps = Some(seconds + u128::from(order.u32(head, 4)) * self.unit);
        let (interface, dropped, flags) = (0, None, None);
        let block = Block::Packet {
            interface,
            at_ps,
            original_len,
            bytes,
            dropped,
            flags,
            options: Options::default(),
        };
        Ok(Found::Block(used, block))
    }

    fn read_header(&mut self, input: &[u8]) -> Result<Found<'static>, CaptureError> {
        let Some(head) = input.first_chunk::<FILE_HEADER>() else {
            return Ok(Found::Wants(FILE_HEADER));
        };
        let order = self.order;
        let (major, minor) = (order.u16(head, 4), order.u16(head, 6));
        self.lengths = match (major, minor) {
            (2, 0..=2) => Lengths::OriginalFirst,
            (2, 3) => Lengths::Either,
            VERSION => Lengths::CapturedFirst,
            // That of tcpdump on DG/UX.
            (543, 0) => Lengths::OriginalFirst,
            _ => {
                return Err(CaptureError::Version {
                    offset: 4,
                    major,
                    minor,
                });
            }
        };
        let network = order.u32(head, 20);
        if network & HAS_FCS != 0 {
            self.fcs_len = (network >> 28) as u8 * 2;
        }
        self.seen = true;
        let interface = Interface {
            link_type: network as u16,
            snap_len: order.u32(head, 16),
            resolution: if self.unit == 1_000 {
                Resolution::NANO
            } else {
                Resolution::MICRO
            },
            fcs_len: self.fcs_len,
            ..Interface::default()
        };
        Ok(Found::Block(
            FILE_HEADER,
            Block::Interface(Box::new(interface)),
        ))
    }
}

/// Writes pcap: one link type, stamps of seconds in 32 bits (until 2106; later ones become the
/// last) and micro- or nanoseconds. Always little-endian: the same packets give the same bytes
/// on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcapWriter {
    nano: bool,
}

impl PcapWriter {
    /// Stamps in microseconds, which every tool reads; they are rounded down.
    pub const MICRO: PcapWriter = PcapWriter { nano: false };
    /// Stamps in nanoseconds.
    pub const NANO: PcapWriter = PcapWriter { nano: true };

    /// Appends the file's header: first, and once. `snap_len` zero stands for no limit.
    pub fn header(&self, link_type: u16, snap_len: u32, out: &mut Vec<u8>) {
        let magic = if self.nano { NANO } else { MICRO };
        let snap_len = if snap_len == 0 { 0x4_0000 } else { snap_len };
        out.extend(magic.to_le_bytes());
        out.extend(VERSION.0.to_le_bytes());
        out.extend(VERSION.1.to_le_bytes());
        out.extend([0; 8]);
        out.extend(snap_len.to_le_bytes());
        out.extend(u32::from(link_type).to_le_bytes());
    }

    /// Appends a whole packet that arrived at `at_ps` picoseconds since 1970.
    pub fn packet(&self, at_ps: u128, bytes: &[u8], out: &mut Vec<u8>) {
        self.cut_packet(at_ps, bytes.len() as u32, bytes, out);
    }

    /// Appends the beginning of a packet that was `original_len` bytes long.
    pub fn cut_packet(&self, at_ps: u128, original_len: u32, bytes: &[u8], out: &mut Vec<u8>) {
        let unit = if self.nano { 1_000 } else { 1_000_000 };
        let seconds = u32::try_from(at_ps / SECOND).unwrap_or(u32::MAX);
        let part = (at_ps % SECOND / unit) as u32;
        let mut head = [0; PACKET_HEADER];
        head[..4].copy_from_slice(&seconds.to_le_bytes());
        head[4..8].copy_from_slice(&part.to_le_bytes());
        head[8..12].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        head[12..].copy_from_slice(&original_len.to_le_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(bytes);
    }
}
