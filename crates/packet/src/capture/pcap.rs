//! pcap, in microseconds and nanoseconds.

use super::{
    Block, CaptureError, Found, Interface, LONGEST_BLOCK, Options, Order, Resolution, without_fcs,
};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Magic numbers, which also tell the byte order.
const MICRO: u32 = 0xA1B2_C3D4;
const NANO: u32 = 0xA1B2_3C4D;
const VERSION: (u16, u16) = (2, 4);
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
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
    /// Whether packets are given with their FCS.
    pub keeps_fcs: bool,
    seen: bool,
}

impl Header {
    /// The kind of file that begins so, whose header is yet to be read.
    pub fn from_magic(magic: [u8; 4]) -> Option<Header> {
        let header = |order, unit| {
            Some(Header {
                order,
                unit,
                fcs_len: 0,
                keeps_fcs: false,
                seen: false,
            })
        };
        match (u32::from_be_bytes(magic), u32::from_le_bytes(magic)) {
            (MICRO, _) => header(Order::Big, 1_000_000),
            (NANO, _) => header(Order::Big, 1_000),
            (_, MICRO) => header(Order::Little, 1_000_000),
            (_, NANO) => header(Order::Little, 1_000),
            _ => None,
        }
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
        let Some(head) = input.first_chunk::<PACKET_HEADER>() else {
            return Ok(Found::Wants(PACKET_HEADER));
        };
        let captured = order.u32(head, 8);
        let length = captured as usize;
        if length > LONGEST_BLOCK {
            let (part, length) = ("packet", captured.into());
            return Err(CaptureError::TooLong {
                offset,
                part,
                length,
            });
        }
        let used = PACKET_HEADER + length;
        let Some(bytes) = input.get(PACKET_HEADER..used) else {
            return Ok(Found::Wants(used));
        };
        let fcs_len = if self.keeps_fcs { 0 } else { self.fcs_len };
        let (bytes, original_len) = without_fcs(bytes, order.u32(head, 12).max(captured), fcs_len);
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
        // Until 2.3 the two lengths of a packet stood in the other order.
        if major != VERSION.0 || !(3..=VERSION.1).contains(&minor) {
            return Err(CaptureError::Version {
                offset: 4,
                major,
                minor,
            });
        }
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
