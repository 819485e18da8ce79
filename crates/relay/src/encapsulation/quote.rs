//! ICMP errors about encapsulated packets, from routers on their way.

use super::{CLEAR, MARK, Offsets, SHORT, VERSION, header_len};
use crate::codec::Algorithm;
use node::Frame;
use packet::checksum::{Pseudo, Sum, update_bytes};
use packet::ethernet::ethertype;
use packet::ip::IpView;
use packet::ipv4::protocol as ip;

/// Bytes of an ICMP header.
const ICMP: usize = 8;

/// What a quoted packet was.
struct Quoted {
    /// Its IP header's length.
    header: usize,
    /// Our header's.
    ours: usize,
    protocol: u8,
    /// What its length field says of the packet as it was.
    length: u16,
}

/// Mends an ICMP error, whose packet [`locate`](super::locate) has found, if it quotes a packet encapsulated with this protocol
/// number: from then on it quotes the packet as it was, as far as that is known, its IP header and 8 bytes. So its sender knows which of its
/// packets the error is about: path MTU discovery and traceroute work. `false`, and an unchanged frame, for all others.
pub fn repair_quote(frame: &mut Frame, offsets: &Offsets, protocol: u8) -> bool {
    let quote = offsets.bytes(frame).get(ICMP..);
    let Some(quote) = quote.filter(|_| is_error(frame, offsets)) else {
        return false;
    };
    // A wrong checksum must stay wrong, and padding may be anything.
    if offsets.end != frame.len() || !icmp_sum(frame, offsets).is_valid() {
        return false;
    }
    let Some(quoted) = read(quote, offsets.is_v4, protocol) else {
        return false;
    };
    let at = offsets.body + ICMP;
    let (behind, ours) = (at + quoted.header, quoted.ours);
    frame.copy_within(behind + ours..behind + ours + CLEAR, behind);
    let known = behind + CLEAR;
    // The length of the quote is told where extensions are behind it (RFC 4884): there it stays, and ends with zeros.
    let (field, unit) = match offsets.is_v4 {
        true => (offsets.body + 5, 4),
        false => (offsets.body + 4, 8),
    };
    let may_tell = match offsets.is_v4 {
        true => matches!(frame[offsets.body], 3 | 11 | 12),
        false => matches!(frame[offsets.body], 1 | 3),
    };
    if may_tell && frame[field] != 0 {
        let end = (at + usize::from(frame[field]) * unit).min(offsets.end);
        frame.get_mut(known..end).unwrap_or_default().fill(0);
    } else {
        frame.resize(known);
    }
    if offsets.is_v4 {
        let old = [frame[at + 2], frame[at + 3], 0, frame[at + 9]];
        let [high, low] = quoted.length.to_be_bytes();
        let sum = u16::from_be_bytes([frame[at + 10], frame[at + 11]]);
        let sum = update_bytes(sum, &old, &[high, low, 0, quoted.protocol]);
        frame[at + 2..at + 4].copy_from_slice(&[high, low]);
        frame[at + 9] = quoted.protocol;
        frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    } else {
        frame[at + 4..at + 6].copy_from_slice(&quoted.length.to_be_bytes());
        frame[at + 6] = quoted.protocol;
    }
    let offsets = Offsets {
        end: frame.len(),
        ..*offsets
    };
    offsets.repair(frame, offsets.protocol, offsets.end);
    frame[offsets.body + 2..offsets.body + 4].fill(0);
    let sum = icmp_sum(frame, &offsets).checksum();
    frame[offsets.body + 2..offsets.body + 4].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Whether a packet is an ICMP error, which quotes another packet.
pub(crate) fn is_error(frame: &[u8], offsets: &Offsets) -> bool {
    match (offsets.is_v4, offsets.bytes(frame).first()) {
        (true, Some(3 | 4 | 5 | 11 | 12)) => offsets.protocol == ip::ICMP,
        (false, Some(1..=4)) => offsets.protocol == ip::ICMPV6,
        _ => false,
    }
}

/// The sum over an ICMP message, with IPv6's pseudo header.
pub(crate) fn icmp_sum(frame: &[u8], offsets: &Offsets) -> Sum {
    let bytes = offsets.bytes(frame);
    let addresses = (
        frame.get(offsets.ip + 8..).and_then(<[u8]>::first_chunk),
        frame.get(offsets.ip + 24..).and_then(<[u8]>::first_chunk),
    );
    match addresses {
        (Some(source), Some(destination)) if !offsets.is_v4 => {
            let pseudo = Pseudo::ipv6(*source, *destination, offsets.protocol);
            pseudo.sum(bytes.len()).plus(bytes)
        }
        _ => Sum::default().plus(bytes),
    }
}

/// Reads a quote, which may end early, if our header and the bytes in clear are in it.
fn read(quote: &[u8], is_v4: bool, protocol: u8) -> Option<Quoted> {
    let kind = if is_v4 {
        ethertype::IPV4
    } else {
        ethertype::IPV6
    };
    // Of a packet with extension headers in front it is not told.
    let ip = IpView::new_any_length(kind, quote).ok()?;
    let (header, ours) = (ip.header_length(), ip.payload());
    let head = ours.first_chunk::<SHORT>()?;
    let [a, b, kind, was, high, low, ..] = *head;
    let is_ours = ip.protocol() == protocol && [a, b] == MARK && kind >> 4 == VERSION;
    let len = header_len(Algorithm::of_number(kind & 0x0F).filter(|_| is_ours)?);
    ours.get(len..len + CLEAR)?;
    let counted = if is_v4 { header as u16 } else { 0 };
    Some(Quoted {
        header,
        ours: len,
        protocol: was,
        length: u16::from_be_bytes([high, low]).checked_add(counted)?,
    })
}
