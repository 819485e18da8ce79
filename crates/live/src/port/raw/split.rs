//! Super-frames taken apart. A sending stack, or a receiving card, glues the segments of a TCP
//! connection or a UDP flow together so that they cost less on their way; no wire carries such a
//! frame. The pieces are those that the last card on the way would have made.

use super::offload::Offload;
use packet::checksum::{Sum, checksum};
use packet::ethernet::ethertype;
use packet::vlan::untagged;

const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP: u8 = 5;
/// Bits of TCP's flags that belong to the last piece only, and to the first one.
const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Where the parts of a super-frame begin.
struct Layout {
    ipv6: bool,
    udp: bool,
    network: usize,
    transport: usize,
    payload: usize,
}

/// Gives each piece to `give`; how many, or 0 when the frame is not what its offload header says.
pub fn split(
    frame: &[u8],
    offload: &Offload,
    scratch: &mut Vec<u8>,
    give: &mut dyn FnMut(&[u8]),
) -> usize {
    let Some(layout) = layout(frame, offload) else {
        return 0;
    };
    let (headers, payload) = frame.split_at(layout.payload);
    if offload.piece == 0 || headers.len() + offload.piece > packet::MAX_FRAME_LEN {
        return 0;
    }
    let count = payload.len().div_ceil(offload.piece);
    for (index, piece) in payload.chunks(offload.piece).enumerate() {
        scratch.clear();
        scratch.extend_from_slice(headers);
        scratch.extend_from_slice(piece);
        renumber(
            scratch,
            &layout,
            index,
            index * offload.piece,
            index + 1 == count,
        );
        give(scratch);
    }
    count
}

fn layout(frame: &[u8], offload: &Offload) -> Option<Layout> {
    let (kind, packet) = untagged(frame)?;
    let network = frame.len() - packet.len();
    let ipv6 = match kind {
        ethertype::IPV4 => false,
        ethertype::IPV6 => true,
        _ => return None,
    };
    let transport = offload.start;
    let least = network + if ipv6 { 40 } else { 20 };
    let udp = match (offload.glued, ipv6) {
        (TCP_IPV4, false) | (TCP_IPV6, true) => false,
        (UDP, _) => true,
        _ => return None,
    };
    let header = match udp {
        true => 8,
        false => usize::from(frame.get(transport + 12)? >> 4) * 4,
    };
    let fits = transport >= least && header >= 8 && (udp || header >= 20);
    let payload = transport + header;
    (fits && payload < frame.len()).then_some(Layout {
        ipv6,
        udp,
        network,
        transport,
        payload,
    })
}

/// Makes the headers of a piece its own: `passed` bytes of payload were in those before it.
fn renumber(frame: &mut [u8], layout: &Layout, index: usize, passed: usize, last: bool) {
    let Layout {
        ipv6,
        udp,
        network,
        transport,
        ..
    } = *layout;
    let put = |frame: &mut [u8], at: usize, value: u16| {
        frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
    };
    let length = frame.len() - transport;
    if ipv6 {
        let after = frame.len() - network - 40;
        put(frame, network + 4, after as u16);
    } else {
        let total = frame.len() - network;
        put(frame, network + 2, total as u16);
        let id = u16::from_be_bytes([frame[network + 4], frame[network + 5]]);
        put(frame, network + 4, id.wrapping_add(index as u16));
        put(frame, network + 10, 0);
        let sum = checksum(&frame[network..transport]);
        put(frame, network + 10, sum);
    }
    let place = if udp {
        put(frame, transport + 4, length as u16);
        transport + 6
    } else {
        let at = transport + 4;
        let number = u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        let number = number.wrapping_add(passed as u32);
        frame[at..at + 4].copy_from_slice(&number.to_be_bytes());
        let flags = &mut frame[transport + 13];
        *flags &= if last { 0xFF } else { !FIN_PSH };
        *flags &= if index == 0 { 0xFF } else { !CWR };
        transport + 16
    };
    put(frame, place, 0);
    let addresses = match ipv6 {
        true => network + 8..network + 40,
        false => network + 12..network + 20,
    };
    let protocol = if udp { 17 } else { 6 };
    let sum = Sum::default()
        .plus(&frame[addresses])
        .plus(&[0, protocol])
        .plus(&(length as u32).to_be_bytes())
        .plus(&frame[transport..]);
    let sum = if udp {
        sum.udp_checksum()
    } else {
        sum.checksum()
    };
    put(frame, place, sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(payload: usize) -> (Vec<u8>, Offload) {
        let mut frame = vec![2; 12];
        frame.extend(b"\x08\x00\x45\x00\x00\x00\x00\x07\x40\x00\x40\x06\x00\x00");
        frame.extend(b"\x0a\x00\x00\x01\x0a\x00\x00\x02");
        frame.extend(
            b"\x00\x50\x00\x51\xff\xff\xff\x00\x00\x00\x00\x00\x50\x99\x10\x00\x12\x34\0\0",
        );
        frame.extend((0..payload).map(|n| n as u8));
        let offload = Offload {
            open_checksum: true,
            glued: TCP_IPV4,
            piece: 1000,
            start: 34,
            offset: 16,
        };
        (frame, offload)
    }

    #[test]
    fn pieces_are_whole_packets_whose_payload_is_that_of_the_super_frame() {
        let (frame, offload) = tcp(2500);
        let (mut pieces, mut scratch) = (Vec::new(), Vec::new());
        let count = split(&frame, &offload, &mut scratch, &mut |p| {
            pieces.push(p.to_vec())
        });
        assert_eq!(count, 3);
        let payload: Vec<u8> = pieces.iter().flat_map(|p| p[54..].to_vec()).collect();
        assert_eq!(payload, frame[54..]);
        for (index, piece) in pieces.iter().enumerate() {
            let header = Sum::default().plus(&piece[14..34]);
            assert!(header.is_valid(), "header checksum");
            let [high, low] = (piece.len() as u16 - 34).to_be_bytes();
            let pseudo = Sum::default().plus(&piece[26..34]).plus(&[0, 6, high, low]);
            assert!(pseudo.plus(&piece[34..]).is_valid(), "TCP checksum");
            assert_eq!(piece[18..20], [0, 7 + index as u8]);
            let total = u16::from_be_bytes([piece[16], piece[17]]);
            assert_eq!(usize::from(total), piece.len() - 14);
        }
        // The sequence number runs on beyond 2^32.
        assert_eq!(pieces[1][38..42], 0x0000_02E8u32.to_be_bytes());
        // CWR on the first piece only, FIN and PSH on the last only, ACK on all.
        let flags: Vec<u8> = pieces.iter().map(|p| p[47]).collect();
        assert_eq!(flags, [0x90, 0x10, 0x19]);
    }

    #[test]
    fn what_is_not_as_its_header_says_is_refused() {
        let (frame, offload) = tcp(2500);
        let try_it = |frame: &[u8], offload: Offload| {
            split(frame, &offload, &mut Vec::new(), &mut |_| panic!("a piece"))
        };
        for len in 0..55 {
            assert_eq!(try_it(&frame[..len], offload), 0, "{len}");
        }
        for wrong in [
            Offload {
                glued: 3,
                ..offload
            },
            Offload {
                glued: TCP_IPV6,
                ..offload
            },
            Offload {
                piece: 0,
                ..offload
            },
            Offload {
                start: 20,
                ..offload
            },
            Offload {
                start: 65_535,
                ..offload
            },
        ] {
            assert_eq!(try_it(&frame, wrong), 0);
        }
    }
}
