//! Explicit congestion notification (RFC 3168): a packet is marked instead of being lost.

use crate::checksum::update;
use crate::ip::IpView;
use crate::vlan::untagged;

/// The transport does not understand ECN (RFC 3168 section 5, as are the others).
pub const NOT_ECT: u8 = 0;
/// ECN-capable, with the low latency of a scalable congestion control (RFC 9331).
pub const ECT_1: u8 = 1;
/// ECN-capable.
pub const ECT_0: u8 = 2;
/// Congestion experienced.
pub const CE: u8 = 3;

/// Sets the codepoint, 0 to 3, of the IP header that `ip` begins with, and corrects the checksum of an IPv4 header.
///
/// # Panics
/// When there are fewer bytes than a header has.
pub fn set(ip: &mut [u8], codepoint: u8) {
    match ip[0] >> 4 {
        4 => {
            let old = u16::from_be_bytes([ip[0], ip[1]]);
            ip[1] = ip[1] & !CE | codepoint;
            let new = u16::from_be_bytes([ip[0], ip[1]]);
            let sum = update(u16::from_be_bytes([ip[10], ip[11]]), old, new);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        _ => ip[1] = ip[1] & !(CE << 4) | codepoint << 4,
    }
}

/// Sets the codepoint of an IP packet in a frame to CE, if the packet is ECN-capable (RFC 3168 section 5), and corrects the checksum
/// of an IPv4 header; whether it did.
pub fn mark(frame: &mut [u8]) -> bool {
    let Some((kind, packet)) = untagged(frame) else {
        return false;
    };
    let at = frame.len() - packet.len();
    let Ok(ip) = IpView::new_any_length(kind, packet) else {
        return false;
    };
    if ip.traffic_class() & 3 == 0 {
        return false;
    }
    match ip {
        IpView::V4(ip) => {
            let old = u16::from_be_bytes([frame[at], frame[at + 1]]);
            let sum = update(ip.checksum(), old, old | 3);
            frame[at + 1] |= 3;
            frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        }
        IpView::V6(_) => frame[at + 1] |= 0x30,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::checksum;
    use std::vec::Vec;

    fn ipv4(tos: u8) -> Vec<u8> {
        let mut frame = [0; 60].to_vec();
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14..20].copy_from_slice(&[0x45, tos, 0, 46, 0x12, 0x34]);
        frame[22..24].copy_from_slice(&[64, 17]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn a_packet_that_may_be_marked_is_and_keeps_a_right_checksum() {
        for tos in 0..=255 {
            let mut frame = ipv4(tos);
            assert_eq!(mark(&mut frame), tos & 3 != 0);
            let wanted = if tos & 3 == 0 { tos } else { tos | 3 };
            assert_eq!(frame, ipv4(wanted), "{tos}");
        }
    }

    #[test]
    fn ipv6_is_marked_in_its_traffic_class_and_the_rest_is_left() {
        let mut frame = [0u8; 60];
        frame[12..16].copy_from_slice(&[0x86, 0xDD, 0x60, 0x20]);
        assert!(mark(&mut frame));
        assert_eq!(frame[14..16], [0x60, 0x30]);
        assert!(!mark(&mut [0; 60]));
        assert!(!mark(&mut []));
    }
}
