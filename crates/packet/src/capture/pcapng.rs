//! Reading pcapng: sections, interfaces, packets in their four forms, statistics.

use super::options::{List, Options, Other, interface_number, little_endian, padded};
use super::{
    Block, CaptureError, Found, Interface, MAX_BLOCK_LEN, MAX_INTERFACES, Order, OtherBlock,
    Resolution, Statistics, without_fcs,
};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// The type of a section header: the same in either byte order.
pub const SECTION: u32 = 0x0A0D_0D0A;
/// What tells a section's byte order.
pub const ORDER: u32 = 0x1A2B_3C4D;
/// Block types.
pub const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
pub const SIMPLE_PACKET: u32 = 3;
pub const STATISTICS: u32 = 5;
pub const PACKET: u32 = 6;
/// Type and length before a block's body, and the length behind it.
const FRAMING: usize = 12;
/// Section header without options.
const SECTION_LENGTH: usize = 28;

/// What is needed of an interface to read its packets.
#[derive(Clone, Copy, Debug)]
struct Known {
    resolution: Resolution,
    offset_s: i64,
    snap_len: u32,
    fcs_len: u8,
    /// Some of its stamps may be no whole picoseconds, or before 1970.
    rounds: bool,
}

impl Known {
    #[inline]
    fn ps(&self, units: u64) -> u128 {
        self.resolution.to_ps(units, self.offset_s)
    }
}

/// What the blocks of a section share.
#[derive(Debug, Default)]
pub struct Section {
    pub order: Order,
    /// Interfaces of earlier sections.
    before: u32,
    interfaces: Vec<Known>,
    /// Whether packets are given with their FCS.
    pub keeps_fcs: bool,
    /// Stamps of packets that are no whole picoseconds, or before 1970.
    pub inexact: u64,
}

impl Section {
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Found<'a>, CaptureError> {
        let Some(head) = input.first_chunk::<FRAMING>() else {
            return Ok(Found::Wants(FRAMING));
        };
        // A section header says its byte order itself, and so must be looked at before its length.
        let starts = head[..4] == SECTION.to_be_bytes();
        let order = if starts {
            section_order(head, offset)?
        } else {
            self.order
        };
        let (kind, length) = (order.u32(head, 0), order.u32(head, 4));
        let shortest = if starts { SECTION_LENGTH } else { FRAMING };
        let used = length as usize;
        if used < shortest || !used.is_multiple_of(4) {
            return Err(CaptureError::Length { offset, length });
        }
        let wanted = matches!(
            kind,
            SECTION | INTERFACE | OLD_PACKET | SIMPLE_PACKET | STATISTICS | PACKET
        );
        if used > MAX_BLOCK_LEN {
            let (part, length) = ("block", length.into());
            return if wanted {
                Err(CaptureError::TooLong {
                    offset,
                    part,
                    length,
                })
            } else {
                Ok(Found::Skip(length))
            };
        }
        let Some(block) = input.get(..used) else {
            return Ok(Found::Wants(used));
        };
        let last = order.u32(block, used - 4);
        if last != length {
            return Err(CaptureError::Ends {
                offset,
                length,
                last,
            });
        }
        let body = &block[8..used - 4];
        if starts {
            let options = self.begin(order, body, offset)?;
            return Ok(Found::Block(used, Block::Section(options)));
        }
        let block = match kind {
            INTERFACE => Block::Interface(Box::new(self.interface(body, offset)?)),
            PACKET | OLD_PACKET => self.packet(kind, body, offset),
            SIMPLE_PACKET => self.simple_packet(body, offset),
            STATISTICS => self.statistics(body, offset),
            _ => Block::Other(OtherBlock::of(kind, body, order)),
        };
        Ok(Found::Block(used, block))
    }

    #[inline(never)]
    fn begin(
        &mut self,
        order: Order,
        body: &[u8],
        offset: u64,
    ) -> Result<Vec<Other>, CaptureError> {
        let (major, minor) = (order.u16(body, 4), order.u16(body, 6));
        // 1.2 was written by mistake and is the same as 1.0.
        if major != 1 || !(minor == 0 || minor == 2) {
            return Err(CaptureError::Version {
                offset: offset + 12,
                major,
                minor,
            });
        }
        self.order = order;
        self.before = self.before.saturating_add(self.interfaces.len() as u32);
        self.interfaces.clear();
        let options = List::new(body.get(16..).unwrap_or_default(), order);
        Ok(options
            .map(|(code, value)| (code, little_endian(value, interface_number(code), order)))
            .collect())
    }

    #[inline(never)]
    fn interface(&mut self, body: &[u8], offset: u64) -> Result<Interface, CaptureError> {
        if body.len() < 8 {
            let reason = "an interface block is too short; later packets cannot be told apart, \
                          restore the file from its source";
            return Err(CaptureError::Block { offset, reason });
        }
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(CaptureError::Interfaces { offset });
        }
        let order = self.order;
        let mut interface = Interface {
            link_type: order.u16(body, 0),
            snap_len: order.u32(body, 4),
            resolution: Resolution::MICRO,
            ..Interface::default()
        };
        let text = |value: &[u8]| {
            String::from_utf8_lossy(value)
                .trim_end_matches('\0')
                .to_owned()
        };
        let mut options = List::new(&body[8..], order);
        for (code, value) in options.by_ref() {
            match (code, value.len()) {
                (2, _) => interface.name = text(value),
                (3, _) => interface.description = text(value),
                (6, 6) => interface.mac = value.first_chunk().copied(),
                (8, 8) => interface.speed = order.u64(value, 0),
                (9, 1) => interface.resolution = Resolution::from_byte(value[0]),
                (13, 1) => interface.fcs_len = value[0],
                (14, 8) => interface.offset_s = order.u64(value, 0).cast_signed(),
                (6 | 8 | 9 | 13 | 14, _) => {}
                _ => {
                    let value = little_endian(value, interface_number(code), order);
                    interface.others.push((code, value));
                }
            }
        }
        if options.broken {
            let reason = "an interface's options do not end; the unit of its stamps is not known, \
                          restore the file from its source";
            return Err(CaptureError::Block { offset, reason });
        }
        self.interfaces.push(Known {
            resolution: interface.resolution,
            offset_s: interface.offset_s,
            snap_len: interface.snap_len,
            fcs_len: if self.keeps_fcs { 0 } else { interface.fcs_len },
            rounds: !matches!(interface.resolution.byte(), 0..=12 | 0x80..=0x8C)
                || interface.offset_s < 0,
        });
        Ok(interface)
    }

    /// A packet with a stamp: the two forms differ in their first eight bytes.
    #[inline]
    fn packet<'a>(&mut self, kind: u32, body: &'a [u8], offset: u64) -> Block<'a> {
        let order = self.order;
        let damaged = |reason| Block::Damaged(CaptureError::Block { offset, reason });
        let Some((head, data)) = body.split_first_chunk::<20>() else {
            return damaged("a packet block is too short for its header; it was skipped");
        };
        let (interface, mut dropped) = match (kind, order.u16(head, 2)) {
            (PACKET, _) => (order.u32(head, 0), None),
            (_, 0xFFFF) => (order.u16(head, 0).into(), None),
            (_, drops) => (order.u16(head, 0).into(), Some(drops.into())),
        };
        let Some(known) = self.interfaces.get(interface as usize) else {
            return damaged("a packet of an interface that was not described; it was skipped");
        };
        let captured = order.u32(head, 12);
        let Some(bytes) = data.get(..captured as usize) else {
            return damaged("a packet is longer than its block; it was skipped");
        };
        let mut flags = None;
        let options = Options::of(data.get(padded(bytes.len())..).unwrap_or_default(), order);
        for (code, value) in options.list() {
            match (code, value.len()) {
                (2, 4) => flags = Some(order.u32(value, 0)),
                (4, 8) => dropped = Some(order.u64(value, 0)),
                _ => {}
            }
        }
        let (bytes, original_len) = without_fcs(bytes, order.u32(head, 16), known.fcs_len);
        let units = order.stamp(head, 4);
        let at_ps = Some(known.ps(units));
        let inexact = known.rounds && !known.resolution.is_exact(units, known.offset_s);
        self.inexact += u64::from(inexact);
        let interface = self.before.saturating_add(interface);
        Block::Packet {
            interface,
            at_ps,
            original_len,
            bytes,
            dropped,
            flags,
            options,
        }
    }

    /// A packet with nothing but its length, of the section's first interface.
    #[inline(never)]
    fn simple_packet<'a>(&self, body: &'a [u8], offset: u64) -> Block<'a> {
        let damaged = |reason| Block::Damaged(CaptureError::Block { offset, reason });
        let Some(known) = self.interfaces.first() else {
            return damaged("a packet before any interface was described; it was skipped");
        };
        let Some((head, data)) = body.split_first_chunk::<4>() else {
            return damaged("a packet block is too short for its header; it was skipped");
        };
        let original_len = self.order.u32(head, 0);
        let limit = if known.snap_len == 0 {
            u32::MAX
        } else {
            known.snap_len
        };
        let Some(bytes) = data.get(..original_len.min(limit) as usize) else {
            return damaged("a packet is longer than its block; it was skipped");
        };
        let (bytes, original_len) = without_fcs(bytes, original_len, known.fcs_len);
        let (interface, at_ps, dropped, flags) = (self.before, None, None, None);
        Block::Packet {
            interface,
            at_ps,
            original_len,
            bytes,
            dropped,
            flags,
            options: Options::default(),
        }
    }

    #[inline(never)]
    fn statistics(&self, body: &[u8], offset: u64) -> Block<'static> {
        let order = self.order;
        let damaged = |reason| Block::Damaged(CaptureError::Block { offset, reason });
        let Some((head, options)) = body.split_first_chunk::<12>() else {
            return damaged("a statistics block is too short for its header; it was skipped");
        };
        let interface = order.u32(head, 0);
        let Some(known) = self.interfaces.get(interface as usize) else {
            return damaged("statistics of an interface that was not described; they were skipped");
        };
        let mut statistics = Statistics {
            interface: self.before.saturating_add(interface),
            at_ps: known.ps(order.stamp(head, 4)),
            ..Statistics::default()
        };
        for (code, value) in List::new(options, order) {
            let (time, count) = (known.ps(order.stamp(value, 0)), order.u64(value, 0));
            match (code, value.len()) {
                (2, 8) => statistics.start_ps = Some(time),
                (3, 8) => statistics.end_ps = Some(time),
                (4, 8) => statistics.received = Some(count),
                (5, 8) => statistics.dropped = Some(count),
                (6, 8) => statistics.accepted = Some(count),
                (7, 8) => statistics.os_dropped = Some(count),
                (8, 8) => statistics.delivered = Some(count),
                (2..=8, _) => {}
                _ => {
                    let value = little_endian(value, interface_number(code), order);
                    statistics.others.push((code, value));
                }
            }
        }
        Block::Statistics(Box::new(statistics))
    }
}

/// The byte order that a section header gives itself.
fn section_order(head: &[u8; FRAMING], offset: u64) -> Result<Order, CaptureError> {
    [Order::Big, Order::Little]
        .into_iter()
        .find(|order| order.u32(head, 8) == ORDER)
        .ok_or(CaptureError::Order {
            offset,
            magic: Order::Big.u32(head, 8),
        })
}
