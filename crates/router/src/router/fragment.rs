//! Fragmentation of IPv4 packets on their way (RFC 791 section 3.2), which may be fragments already.

use core::net::Ipv4Addr;
use ip::header::ETHERNET;
use node::{Frame, Out};
use packet::checksum::checksum;

/// Options of IPv4: end of list, and no operation.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// The bit of an option's type that says that each fragment has it.
const COPIED: u8 = 0x80;
const MORE: u16 = 0x2000;

/// Sends a packet in fragments of at most `mtu` bytes, each with the packet's header. The frame ends with the packet.
pub(super) fn cut(frame: Frame, mtu: usize, out: &mut Out, mut send: impl FnMut(Frame, &mut Out)) {
    let header = usize::from(frame[ETHERNET] & 15) * 4;
    let step = mtu.saturating_sub(header) & !7;
    let (headers, payload) = frame.split_at(ETHERNET + header);
    // Without the flag that forbids fragments, and the reserved one.
    let place = u16::from_be_bytes([headers[ETHERNET + 6], headers[ETHERNET + 7]]) & 0x3FFF;
    let chunks = payload.chunks(step.max(8));
    let last = chunks.len() - 1;
    for (index, piece) in chunks.enumerate() {
        let mut fragment = out.frame();
        fragment.extend(headers);
        fragment.set_arrived(frame.arrived());
        let ip = &mut fragment[ETHERNET..];
        ip[2..4].copy_from_slice(&((header + piece.len()) as u16).to_be_bytes());
        // Offsets count units of eight bytes in the lower 13 bits.
        let more = if index < last { MORE } else { 0 };
        let offset = place.wrapping_add((index * step / 8) as u16) | more;
        ip[6..8].copy_from_slice(&offset.to_be_bytes());
        // A later fragment has only the right options already.
        if index > 0 && place & !MORE == 0 {
            keep_copied(&mut ip[20..header]);
        }
        ip[10..12].fill(0);
        let sum = checksum(&ip[..header]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        fragment.extend(piece);
        send(fragment, out);
    }
    out.done(frame);
}

/// Replaces the options that only the first fragment has, as Linux does: the length of the header stays.
fn keep_copied(options: &mut [u8]) {
    let mut at = 0;
    while let Some(&kind) = options.get(at) {
        let length = match kind {
            END => return,
            NO_OPERATION => 1,
            _ => match options.get(at + 1) {
                Some(&length) if length >= 2 => usize::from(length),
                _ => return,
            },
        };
        let Some(option) = options.get_mut(at..at + length) else {
            return;
        };
        if kind & COPIED == 0 {
            option.fill(NO_OPERATION);
        }
        at += length;
    }
}

/// Whether the header of an IPv4 packet forbids fragments.
pub(super) fn is_forbidden(frame: &[u8]) -> bool {
    frame
        .get(ETHERNET + 6)
        .is_some_and(|flags| flags & 0x40 != 0)
}

/// Whether a packet cannot come from an address (RFC 1812 section 5.3.7, as Linux has it): none, that of a group, one of the
/// loopback network.
pub(super) fn is_martian_source(address: Ipv4Addr) -> bool {
    address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || address.is_broadcast()
}
