//! A mark of congestion in a frame.

use packet::{checksum, vlan};

/// Sets the ECN codepoint of an IP packet in a frame to CE (RFC 3168 section 5), and corrects the checksum of an IPv4 header
/// (RFC 1624). Frames that are not IP, or end in the header, stay as they are.
pub fn mark(frame: &mut [u8]) {
    const IPV4: u16 = 0x0800;
    const IPV6: u16 = 0x86DD;
    let Some((kind, rest)) = vlan::untagged(frame) else {
        return;
    };
    let at = frame.len() - rest.len();
    let packet = &mut frame[at..];
    match (kind, packet) {
        (IPV4, [version, class, rest @ ..]) if rest.len() >= 18 => {
            let old = u16::from_be_bytes([*version, *class]);
            *class |= 3;
            let new = u16::from_be_bytes([*version, *class]);
            let sum = u16::from_be_bytes([rest[8], rest[9]]);
            rest[8..10].copy_from_slice(&checksum::update(sum, old, new).to_be_bytes());
        }
        // The traffic class is in the low bits of the first byte and the high ones of the second.
        (IPV6, [_, class, ..]) => *class |= 3 << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, Facts};
    use alloc::vec::Vec;
    use packet::ip::IpView;

    /// A frame with an empty IPv4 packet of this traffic class, with tags in front.
    fn ipv4(class: u8, tags: &[u8]) -> Vec<u8> {
        let mut header = [0; 20];
        header[..4].copy_from_slice(&[0x45, class, 0, 20]);
        header[8..10].copy_from_slice(&[64, 17]);
        header[12..].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = checksum::checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut frame = [2; 12].to_vec();
        frame.extend(tags);
        frame.extend([8, 0]);
        frame.extend(header);
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn a_marked_ipv4_packet_keeps_its_class_and_has_a_right_checksum() {
        for class in 0..=255 {
            for tags in [&[][..], &[0x81, 0, 0x60, 5]] {
                let mut frame = ipv4(class, tags);
                mark(&mut frame);
                assert_eq!(frame, ipv4(class | 3, tags), "{class}");
                assert_eq!(Facts::of(&frame).ecn, Ecn::Ce);
            }
        }
    }

    #[test]
    fn a_marked_ipv6_packet_differs_in_two_bits() {
        let mut frame = [2; 12].to_vec();
        frame.extend([0x86, 0xDD, 0x6A, 0x9B, 0xCD, 0xEF, 0, 0, 59, 64]);
        frame.resize(14 + 40, 1);
        let before = frame.clone();
        mark(&mut frame);
        assert_eq!(Facts::of(&frame).ecn, Ecn::Ce);
        assert_eq!(frame[15], before[15] | 0x30);
        frame[15] = before[15];
        assert_eq!(frame, before);
        assert_eq!(
            IpView::new_any_length(0x86DD, &frame[14..])
                .unwrap()
                .traffic_class(),
            0xA9
        );
    }

    #[test]
    fn every_cut_of_a_frame_is_left_alone_or_marked() {
        let whole = ipv4(2, &[]);
        for len in 0..whole.len() {
            let mut frame = whole[..len].to_vec();
            mark(&mut frame);
            let is_whole = len >= 34;
            assert_eq!(frame != whole[..len], is_whole, "{len}");
        }
    }
}
