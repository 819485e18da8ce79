//! Fragmentation of IPv4 packets on their way (RFC 791 section 3.2), which may be fragments already.

use core::net::Ipv4Addr;
use ip::header::ETHERNET;
use ip::options;
use node::{Frame, Out};
use packet::checksum::checksum;

/// The flag that says that another fragment follows.
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
        // A packet that is a later fragment has only copied options.
        if index > 0 && place & !MORE == 0 {
            options::keep_copied(&mut ip[..header]);
        }
        ip[10..12].fill(0);
        let sum = checksum(&ip[..header]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        fragment.extend(piece);
        send(fragment, out);
    }
    out.done(frame);
}

/// Whether a packet cannot come from an address (RFC 1812 section 5.3.7, as Linux has it): none, that of a group, one of the
/// loopback network.
pub(super) fn is_martian_source(address: Ipv4Addr) -> bool {
    address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || address.is_broadcast()
}
