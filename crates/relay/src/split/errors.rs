//! ICMP errors of routers about segments of split connections: this node has sent these, and their senders know nothing of them.

use crate::encapsulation::{Offsets, icmp_sum, is_error, locate};
use node::Frame;
use packet::checksum::update_bytes;
use packet::ethernet::ethertype;
use packet::flow::FiveTuple;
use packet::ip::IpView;

/// Bytes of an ICMP header.
const ICMP: usize = 8;
const TCP: u8 = 6;
/// Minimum MTU that an error may set, bytes: Linux's limit for IPv4, and the minimum MTU of IPv6.
const MIN_MTU: (usize, usize) = (552, 1280);

/// An error about a segment.
pub(super) struct Error {
    /// Of the segment.
    pub tuple: FiveTuple,
    /// Its sequence number.
    pub sequence: u32,
    /// The longest packet that can pass, if the segment was longer.
    pub mtu: Option<usize>,
    offsets: Offsets,
    /// Where the sequence number is in the frame.
    at: usize,
}

impl Error {
    /// Reads one; `None` for all else, and what is broken.
    pub fn read(frame: &[u8]) -> Option<Error> {
        let offsets = locate(frame)
            .ok()
            .filter(|offsets| is_error(frame, offsets))?;
        if !icmp_sum(frame, &offsets).is_valid() {
            return None;
        }
        let message = offsets.bytes(frame);
        let quote = message.get(ICMP..)?;
        let is_v4 = quote.first()? >> 4 == 4;
        let kind = if is_v4 {
            ethertype::IPV4
        } else {
            ethertype::IPV6
        };
        let ip = IpView::new_any_length(kind, quote).ok()?;
        let (header, protocol) = (ip.header_length(), ip.protocol());
        let segment: &[u8; 8] = ip.payload().first_chunk().filter(|_| protocol == TCP)?;
        let word = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let tuple = FiveTuple {
            source: ip.source(),
            destination: ip.destination(),
            protocol,
            source_port: word(0),
            destination_port: word(2),
        };
        // ICMPv6 has 32 bits for it, ICMP the lower half of them.
        let [_, _, _, _, a, b, c, d] = *message.first_chunk()?;
        let told = u32::from_be_bytes([a, b, c, d]) as usize;
        let mtu = match (is_v4, message[0], message[1]) {
            // A router of before RFC 1191 tells none.
            (true, 3, 4) => Some(told & 0xFFFF)
                .filter(|&mtu| mtu > 0)
                .or(Some(MIN_MTU.0)),
            (false, 2, _) => Some(told),
            _ => None,
        };
        Some(Error {
            tuple,
            sequence: u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]),
            mtu: mtu.map(|mtu| mtu.max(if is_v4 { MIN_MTU.0 } else { MIN_MTU.1 })),
            at: offsets.body() + ICMP + header + 4,
            offsets,
        })
    }

    /// Makes it one about another segment of the tuple, so that its sender knows which.
    pub fn quote(&self, frame: &mut Frame, sequence: u32) {
        let (old, new) = (self.sequence.to_be_bytes(), sequence.to_be_bytes());
        frame[self.at..self.at + 4].copy_from_slice(&new);
        let at = self.offsets.body() + 2;
        let sum = u16::from_be_bytes([frame[at], frame[at + 1]]);
        // Headers have whole words, so the number begins with the first byte of one of the sum's.
        let sum = update_bytes(sum, &old, &new);
        frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}
