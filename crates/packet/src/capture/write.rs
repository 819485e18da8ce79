//! Writing pcapng.

use super::options::{padded, put, put_end};
use super::pcapng::{INTERFACE, ORDER, PACKET, SECTION, SIMPLE_PACKET, STATISTICS};
use super::{Interface, Options, Other, PortableBlock, Resolution, Statistics};
use alloc::vec::Vec;

/// Writes one section of pcapng, little-endian: the same packets give the same bytes on every
/// machine. It holds no bytes itself; what it appends to `out` is always a whole block.
///
/// A stamp that an interface's resolution and offset cannot express becomes the nearest that they
/// can ([`Resolution::from_ps`]): in picoseconds a file spans 213 days from the offset, in
/// nanoseconds 584 years.
#[derive(Clone, Debug, Default)]
pub struct PcapngWriter {
    interfaces: Vec<(Resolution, i64)>,
}

impl PcapngWriter {
    /// Appends the section's header: first, and once. `application` is what wrote the file; an
    /// empty one is left out.
    pub fn header(&self, application: &str, out: &mut Vec<u8>) {
        self.header_with(&[], application, out);
    }

    /// The same, with the options of a section that was read; `application` takes the place of the one among them.
    pub fn header_with(&self, others: &[Other], application: &str, out: &mut Vec<u8>) {
        block(SECTION, out, |out| {
            out.extend(ORDER.to_le_bytes());
            out.extend([1, 0, 0, 0]);
            // The section's length is not known yet.
            out.extend([0xFF; 8]);
            let before = out.len();
            for (code, value) in others.iter().filter(|(code, _)| *code != 4) {
                put(*code, value, out);
            }
            if !application.is_empty() {
                put(4, application.as_bytes(), out);
            }
            if out.len() > before {
                put_end(out);
            }
        });
    }

    /// Appends an interface's description and returns its number, for the packets that follow.
    pub fn interface(&mut self, interface: &Interface, out: &mut Vec<u8>) -> u32 {
        block(INTERFACE, out, |out| {
            out.extend(interface.link_type.to_le_bytes());
            out.extend([0; 2]);
            out.extend(interface.snap_len.to_le_bytes());
            for (code, text) in [(2, &interface.name), (3, &interface.description)] {
                if !text.is_empty() {
                    put(code, text.as_bytes(), out);
                }
            }
            if let Some(mac) = interface.mac {
                put(6, &mac, out);
            }
            if interface.speed != 0 {
                put(8, &interface.speed.to_le_bytes(), out);
            }
            put(9, &[interface.resolution.byte()], out);
            if interface.fcs_len != 0 {
                put(13, &[interface.fcs_len], out);
            }
            if interface.offset_s != 0 {
                put(14, &interface.offset_s.to_le_bytes(), out);
            }
            for (code, value) in &interface.others {
                put(*code, value, out);
            }
            put_end(out);
        });
        self.interfaces
            .push((interface.resolution, interface.offset_s));
        self.interfaces.len() as u32 - 1
    }

    /// Appends a whole packet that arrived at `at_ps` picoseconds since 1970.
    ///
    /// # Panics
    /// When `interface` did not come from [`interface`](PcapngWriter::interface).
    pub fn packet(&self, interface: u32, at_ps: u128, bytes: &[u8], out: &mut Vec<u8>) {
        self.cut_packet(interface, at_ps, bytes.len() as u32, bytes, out);
    }

    /// Appends the beginning of a packet that was `original_len` bytes long.
    ///
    /// # Panics
    /// As [`packet`](PcapngWriter::packet).
    pub fn cut_packet(
        &self,
        interface: u32,
        at_ps: u128,
        original_len: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) {
        let stamp = self.stamp(interface, at_ps);
        let pad = padded(bytes.len()) - bytes.len();
        let length = (32 + bytes.len() + pad) as u32;
        let words = [
            PACKET,
            length,
            interface,
            (stamp >> 32) as u32,
            stamp as u32,
            bytes.len() as u32,
            original_len,
        ];
        // One reservation and plain copies: this is the hot path of every capture.
        let mut head = [0; 28];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        out.reserve(length as usize);
        out.extend_from_slice(&head);
        out.extend_from_slice(bytes);
        out.extend_from_slice(&[0; 3][..pad]);
        out.extend_from_slice(&length.to_le_bytes());
    }

    /// The same with options that were read, such as comments.
    ///
    /// # Panics
    /// As [`packet`](PcapngWriter::packet).
    pub fn packet_with(
        &self,
        interface: u32,
        at_ps: u128,
        original_len: u32,
        bytes: &[u8],
        options: Options<'_>,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        self.cut_packet(interface, at_ps, original_len, bytes, out);
        if options.is_empty() {
            return;
        }
        out.truncate(out.len() - 4);
        options.put(out);
        let length = ((out.len() - start + 4) as u32).to_le_bytes();
        out[start + 4..start + 8].copy_from_slice(&length);
        out.extend(length);
    }

    /// Appends a packet of the first interface, without a time and without options.
    ///
    /// `bytes` is the packet as far as the interface's snap length reaches: the block states no
    /// other length than `original_len`, and readers expect the lesser of the two.
    pub fn simple_packet(&self, original_len: u32, bytes: &[u8], out: &mut Vec<u8>) {
        block(SIMPLE_PACKET, out, |out| {
            out.extend(original_len.to_le_bytes());
            out.extend_from_slice(bytes);
            out.resize(out.len() + padded(bytes.len()) - bytes.len(), 0);
        });
    }

    /// Appends an interface's counters, usually at the end.
    ///
    /// # Panics
    /// As [`packet`](PcapngWriter::packet).
    pub fn statistics(&self, statistics: &Statistics, out: &mut Vec<u8>) {
        let halves = |at_ps| {
            let stamp = self.stamp(statistics.interface, at_ps);
            let halves = [(stamp >> 32) as u32, stamp as u32].map(u32::to_le_bytes);
            [halves[0], halves[1]].concat()
        };
        block(STATISTICS, out, |out| {
            out.extend(statistics.interface.to_le_bytes());
            out.extend(halves(statistics.at_ps));
            for (code, time) in [(2, statistics.start_ps), (3, statistics.end_ps)] {
                if let Some(at_ps) = time {
                    put(code, &halves(at_ps), out);
                }
            }
            for (code, count) in [
                (4, statistics.received),
                (5, statistics.dropped),
                (6, statistics.accepted),
                (7, statistics.os_dropped),
                (8, statistics.delivered),
            ] {
                if let Some(count) = count {
                    put(code, &count.to_le_bytes(), out);
                }
            }
            for (code, value) in &statistics.others {
                put(*code, value, out);
            }
            put_end(out);
        });
    }

    /// Appends a block of another file: after the section's header.
    pub fn other(&self, other: &PortableBlock, out: &mut Vec<u8>) {
        block(other.kind(), out, |out| out.extend_from_slice(other.body()));
    }

    fn stamp(&self, interface: u32, at_ps: u128) -> u64 {
        let (resolution, offset_s) = self.interfaces[interface as usize];
        resolution.from_ps(at_ps, offset_s)
    }
}

/// Appends a block: its type, its length, what `body` appends, and its length again.
fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend(length);
}
