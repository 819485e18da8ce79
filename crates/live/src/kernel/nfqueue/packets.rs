//! What is to be known of IP packets at a hook: where they end, how they are cut, and how their senders are told that
//! they are too big.

use packet::checksum;
use packet::ethernet::ethertype;
use packet::ip::IpView;

/// Length of the Ethernet header that every frame has before its packet.
pub const ETHERNET: usize = 14;
/// EtherType of IPv4.
pub const IPV4: u16 = ethertype::IPV4;
/// EtherType of IPv6.
pub const IPV6: u16 = ethertype::IPV6;
/// The shortest IPv4 header.
const SHORT: usize = 20;
/// The header of IPv6.
const LONG: usize = 40;
/// Don't fragment, and more fragments, in the two bytes with the fragment's offset.
const DF: u16 = 1 << 14;
const MF: u16 = 1 << 13;

/// Writes an Ethernet header before a packet: to and from whom as far as that is known.
pub fn dress(frame: &mut [u8], to: [u8; 6], from: Option<[u8; 6]>, protocol: u16) {
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from.unwrap_or_default());
    frame[12..14].copy_from_slice(&protocol.to_be_bytes());
}

/// The packet in a frame: its EtherType, and its length by its own header. `None` when the frame is no Ethernet frame
/// with an IP packet that is all there.
pub fn packet_of(frame: &[u8]) -> Option<(u16, usize)> {
    let protocol = u16::from_be_bytes(*frame.get(12..)?.first_chunk()?);
    let len = length(protocol, &frame[ETHERNET..])?;
    Some((protocol, len))
}

/// The length of a packet by its own header; `None` when it is not all there, or no such packet.
pub fn length(protocol: u16, packet: &[u8]) -> Option<usize> {
    let ip = IpView::new(protocol, packet).ok()?;
    Some(ip.header_length() + ip.payload().len())
}

fn two(packet: &[u8], at: usize) -> Option<u16> {
    let bytes = packet.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

/// Whether an IPv4 packet may be cut on its way.
pub fn may_be_cut(packet: &[u8]) -> bool {
    two(packet, 6).is_some_and(|word| word & DF == 0)
}

/// Cuts an IPv4 packet that is all there (RFC 791 section 3.2), so that no piece is longer than `mtu`; each piece is built
/// in `piece`, with its checksum. `identification` is for a packet that has none. `false` when it cannot be cut.
pub fn cut(
    packet: &[u8],
    mtu: usize,
    identification: u16,
    piece: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]),
) -> bool {
    let header = usize::from(packet[0] & 15) * 4;
    // A fragment's place counts in eight bytes.
    let room = mtu.saturating_sub(header) & !7;
    if room == 0 || header > packet.len() {
        return false;
    }
    let word = u16::from_be_bytes([packet[6], packet[7]]);
    let (offset, more) = (usize::from(word & 0x1FFF), word & MF);
    let payload = &packet[header..];
    let pieces = payload.len().div_ceil(room);
    for (index, part) in payload.chunks(room).enumerate() {
        piece.clear();
        piece.extend_from_slice(&packet[..header]);
        if index > 0 {
            keep_copied_options(&mut piece[SHORT..]);
        }
        piece.extend_from_slice(part);
        let place = offset + index * room / 8;
        if place > 0x1FFF {
            return false;
        }
        let more = if index + 1 < pieces { MF } else { more };
        let len = piece.len() as u16;
        piece[2..4].copy_from_slice(&len.to_be_bytes());
        piece[6..8].copy_from_slice(&(place as u16 | more).to_be_bytes());
        if piece[4..6] == [0, 0] {
            piece[4..6].copy_from_slice(&identification.max(1).to_be_bytes());
        }
        piece[10..12].fill(0);
        let sum = checksum::checksum(&piece[..header]);
        piece[10..12].copy_from_slice(&sum.to_be_bytes());
        each(piece);
    }
    true
}

/// Makes nothing of those options that only the first fragment has.
fn keep_copied_options(options: &mut [u8]) {
    let mut at = 0;
    while at < options.len() {
        let len = match options[at] {
            0 => break,
            1 => 1,
            _ => usize::from(options.get(at + 1).copied().unwrap_or(0)).max(2),
        };
        let end = (at + len).min(options.len());
        if options[at] & 0x80 == 0 {
            options[at..end].fill(1);
        }
        at = end;
    }
}

/// Whether who sent a packet may be told of an error with it (RFC 1812 section 4.3.2.7, RFC 4443 section 2.4 e): not for
/// an error message, a later fragment, or a packet to or from many.
pub fn may_be_answered(protocol: u16, packet: &[u8]) -> bool {
    match protocol {
        IPV4 if packet.len() >= SHORT => {
            let header = usize::from(packet[0] & 15) * 4;
            let word = u16::from_be_bytes([packet[6], packet[7]]);
            // ICMP but echo and the like: errors are 3, 4, 5, 11 and 12.
            let error = packet[9] == 1
                && packet
                    .get(header)
                    .is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12));
            let one = |first: u8| (1..224).contains(&first);
            !error && word & 0x1FFF == 0 && one(packet[12]) && one(packet[16])
        }
        IPV6 if packet.len() >= LONG => {
            let (source, destination) = (&packet[8..24], &packet[24..40]);
            let none = source.iter().all(|&byte| byte == 0);
            // Too big is told even of packets to many (RFC 4443 section 2.4 e.3); of a fragment only if it is the first.
            let later = packet[6] == 44
                && packet
                    .get(42..44)
                    .is_none_or(|word| u16::from_be_bytes([word[0], word[1]]) >> 3 != 0);
            let error = packet[6] == 58 && packet.get(40).is_none_or(|kind| *kind < 128);
            !error && !later && !none && source[0] != 0xFF && !destination.is_empty()
        }
        _ => false,
    }
}

/// The message that a packet is too big for a way of this MTU, without an IP header: ICMP `fragmentation needed`
/// (RFC 1191) with its checksum, ICMPv6 `packet too big` (RFC 4443 section 3.2) without.
pub fn too_big(protocol: u16, packet: &[u8], mtu: u32, message: &mut Vec<u8>) {
    message.clear();
    match protocol {
        IPV4 => {
            message.extend_from_slice(&[3, 4, 0, 0, 0, 0]);
            message.extend_from_slice(&(mtu.min(65_535) as u16).to_be_bytes());
            message.extend_from_slice(&packet[..packet.len().min(548)]);
            let sum = checksum::checksum(message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        _ => {
            message.extend_from_slice(&[2, 0, 0, 0]);
            message.extend_from_slice(&mtu.to_be_bytes());
            message.extend_from_slice(&packet[..packet.len().min(1232)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(payload: usize, word: u16, options: &[u8]) -> Vec<u8> {
        let header = SHORT + options.len();
        let mut packet = vec![0; header];
        packet[0] = 0x40 | (header / 4) as u8;
        packet[2..4].copy_from_slice(&((header + payload) as u16).to_be_bytes());
        packet[6..8].copy_from_slice(&word.to_be_bytes());
        packet[8] = 64;
        packet[9] = 17;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet[SHORT..].copy_from_slice(options);
        packet.extend((0..payload).map(|byte| byte as u8));
        packet
    }

    #[test]
    fn pieces_make_the_whole_again() {
        // A copied option (148), one that is not (7, length 3).
        let whole = packet(3000, 0, &[148, 4, 0, 0, 7, 3, 4, 0]);
        let mut pieces = Vec::new();
        let cuts = cut(&whole, 1400, 9, &mut Vec::new(), |piece| {
            pieces.push(piece.to_vec());
        });
        assert!(cuts && pieces.len() == 3);
        let mut payload = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            assert!(piece.len() <= 1400);
            assert_eq!(length(IPV4, piece), Some(piece.len()));
            assert_eq!(checksum::checksum(&piece[..28]), 0);
            assert_eq!(piece[4..6], [0, 9]);
            let word = u16::from_be_bytes([piece[6], piece[7]]);
            assert_eq!(usize::from(word & 0x1FFF) * 8, payload.len());
            assert_eq!(word & MF != 0, index < 2);
            assert_eq!(piece[20..24], [148, 4, 0, 0]);
            assert_eq!(piece[24] == 7, index == 0);
            payload.extend_from_slice(&piece[28..]);
        }
        assert_eq!(payload, whole[28..]);
    }

    #[test]
    fn a_fragment_is_cut_into_fragments() {
        let whole = packet(800, MF | 100, &[]);
        let mut words = Vec::new();
        cut(&whole, 420, 1, &mut Vec::new(), |piece| {
            words.push(u16::from_be_bytes([piece[6], piece[7]]));
        });
        assert_eq!(words, [MF | 100, MF | 150]);
        assert!(!cut(&whole, 24, 1, &mut Vec::new(), |_| ()));
    }

    #[test]
    fn only_a_whole_packet_is_one() {
        let whole = packet(100, 0, &[]);
        let mut frame = vec![0; 12];
        frame.extend_from_slice(&IPV4.to_be_bytes());
        frame.extend_from_slice(&whole);
        assert_eq!(packet_of(&frame), Some((IPV4, 120)));
        for len in 0..frame.len() {
            assert_eq!(packet_of(&frame[..len]), None, "{len}");
        }
        frame[13] = 6;
        assert_eq!(packet_of(&frame), None, "ARP");
    }

    #[test]
    fn errors_are_not_answered() {
        let mut udp = packet(100, 0, &[]);
        assert!(may_be_answered(IPV4, &udp));
        udp[9] = 1;
        udp[20] = 3;
        assert!(!may_be_answered(IPV4, &udp), "an ICMP error");
        udp[20] = 8;
        assert!(may_be_answered(IPV4, &udp), "an echo request");
        assert!(!may_be_answered(IPV4, &packet(8, 5, &[])), "a fragment");
        udp[16] = 224;
        assert!(!may_be_answered(IPV4, &udp), "to many");
    }
}
