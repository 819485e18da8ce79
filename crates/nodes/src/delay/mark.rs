//! Explicit congestion notification, RFC 3168: a packet is marked instead of being lost.

use crate::wire;

/// Marks an IP packet that says it may be marked; whether it did.
pub fn congestion(frame: &mut [u8]) -> bool {
    let Some((ethertype, at)) = wire::payload(frame) else {
        return false;
    };
    match ethertype {
        wire::TYPE_IPV4 if frame.len() >= at + 20 && frame[at] >> 4 == 4 => {
            let old = frame[at + 1];
            if old & 3 == 0 {
                return false;
            }
            frame[at + 1] = old | 3;
            // RFC 1624: the checksum changes by as much as the word does.
            let sum = u16::from_be_bytes([frame[at + 10], frame[at + 11]]);
            let sum = u32::from(!sum) + u32::from(!u16::from(old)) + u32::from(old | 3);
            let sum = (sum & 0xFFFF) + (sum >> 16);
            let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
            frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            true
        }
        wire::TYPE_IPV6 if frame.len() >= at + 40 && frame[at] >> 4 == 6 => {
            if frame[at + 1] & 0x30 == 0 {
                return false;
            }
            frame[at + 1] |= 0x30;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::checksum::checksum;
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
            assert_eq!(congestion(&mut frame), tos & 3 != 0);
            let wanted = if tos & 3 == 0 { tos } else { tos | 3 };
            assert_eq!(frame, ipv4(wanted), "{tos}");
        }
    }

    #[test]
    fn ipv6_is_marked_in_its_traffic_class_and_the_rest_is_left() {
        let mut frame = [0u8; 60];
        frame[12..16].copy_from_slice(&[0x86, 0xDD, 0x60, 0x20]);
        assert!(congestion(&mut frame));
        assert_eq!(frame[14..16], [0x60, 0x30]);
        assert!(!congestion(&mut [0; 60]));
        assert!(!congestion(&mut []));
    }
}
