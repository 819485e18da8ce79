//! What the kernel has left undone of a frame, and doing it: it hands over frames whose tag it has taken off, and whose checksum
//! it has left for a card to complete.

use packet::checksum::Sum;

/// Bytes of [`Offload`] before a frame: struct virtio_net_hdr.
pub const OFFLOAD: usize = 10;

/// What an offload has left undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Whether the checksum is to be completed.
    pub open_checksum: bool,
    /// VIRTIO_NET_HDR_GSO_*: the kind of super-frame; 0 for none.
    pub glued: u8,
    /// Payload bytes of each frame that it is to become.
    pub piece: usize,
    /// Where the checksum counts from.
    pub start: usize,
    /// Where it belongs, from there.
    pub offset: usize,
}

impl Offload {
    /// Reads the header; in the machine's own byte order.
    pub fn read(bytes: &[u8]) -> Offload {
        let word = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
        Offload {
            open_checksum: bytes[0] & 1 != 0,
            // The top bit tells of ECN in the first frame, which splitting takes care of anyway.
            glued: bytes[1] & 0x7F,
            piece: word(4),
            start: word(6),
            offset: word(8),
        }
    }
}

/// Bytes that a tag takes.
pub const TAG: usize = 4;

/// Puts a VLAN tag back behind the addresses.
///
/// `room` is the frame with [`TAG`] free bytes before it; the frame then begins where `room` does.
/// The frame has at least its addresses.
pub fn put_tag_back(room: &mut [u8], tpid: u16, tci: u16) {
    room.copy_within(TAG..TAG + 12, 0);
    room[12..14].copy_from_slice(&tpid.to_be_bytes());
    room[14..16].copy_from_slice(&tci.to_be_bytes());
}

/// Completes a checksum that counts from `start` and belongs at `start + offset`, where the sum over
/// the pseudo-header already stands. Returns whether the frame has those places at all.
pub fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(end) = start.checked_add(offset).and_then(|at| at.checked_add(2)) else {
        return false;
    };
    if end > frame.len() {
        return false;
    }
    let sum = Sum::default().plus(&frame[start..]);
    // Zero in a UDP header would mean that there is no checksum (RFC 768); 6 is its place there.
    let sum = if offset == 6 {
        sum.udp_checksum()
    } else {
        sum.checksum()
    };
    frame[end - 2..end].copy_from_slice(&sum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_back_behind_the_addresses() {
        let mut room = *b"....dddddd.ssssss.TTpay";
        room[4..].copy_from_slice(b"ddddddssssssTTpayld");
        put_tag_back(&mut room, 0x8100, 0x2005);
        assert_eq!(&room, b"ddddddssssss\x81\x00\x20\x05TTpayld");
    }

    #[test]
    fn a_checksum_is_completed_over_an_odd_number_of_bytes() {
        // Pseudo-header sum 0x1234 in place, then data.
        let mut frame = [0xFF, 0x12, 0x34, 0x01, 0x02, 0x03];
        assert!(complete_checksum(&mut frame, 1, 0));
        assert_eq!(
            &frame[1..3],
            &(!(0x1234u16 + 0x0102 + 0x0300)).to_be_bytes()
        );
        assert!(!complete_checksum(&mut frame, 5, 0));
        assert!(!complete_checksum(&mut frame, usize::MAX, 6));
    }

    #[test]
    fn a_udp_checksum_is_never_zero() {
        let mut frame = [0, 0, 0, 0, 0, 0, 0xFF, 0xFF];
        assert!(complete_checksum(&mut frame, 0, 6));
        assert_eq!(&frame[6..], &[0xFF, 0xFF]);
    }
}
