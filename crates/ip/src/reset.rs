//! The reset with which a closed port answers a TCP segment (RFC 9293 section 3.10.7.1).

use crate::header::{self, ETHERNET, Packet, TCP};
use node::Frame;
use packet::tcp::{TcpView, flag};

const TCP_HEADER: usize = 20;
const CHECKSUM: core::ops::Range<usize> = 16..18;
/// Length of the option with a segment's signature, bytes.
const SIGNATURE: usize = 18;

/// Turns a segment into the reset that answers it; the MAC addresses stay. Returns `false` without a change
/// when no reset is due: to a reset, or to a segment with a broken header. The segment's checksum was checked.
pub fn write(frame: &mut Frame, packet: &Packet) -> bool {
    let segment = TcpView::new(&frame[packet.payload..packet.end]);
    let is_whole = segment.is_ok_and(|segment| are_whole(segment.option_bytes()));
    is_whole && write_for_any_length(frame, packet)
}

/// Whether options have right lengths as far as a signature could follow (RFC 2385). Linux looks for one before it answers, and gives
/// up at a wrong length.
fn are_whole(mut options: &[u8]) -> bool {
    while options.len() >= SIGNATURE {
        options = match options {
            [0, ..] => return true,
            [1, rest @ ..] => rest,
            [_, length, ..] if (2..=options.len()).contains(&usize::from(*length)) => {
                &options[usize::from(*length)..]
            }
            _ => return false,
        };
    }
    true
}

/// As [`write()`], for a segment whose header length may be below 20 bytes or beyond its end, as Linux's firewall does: the sequence
/// number after the segment is counted modulo 2^32 with the length that the header states.
pub fn write_for_any_length(frame: &mut Frame, packet: &Packet) -> bool {
    let Ok(segment) = TcpView::new_cut(&frame[packet.payload..packet.end]) else {
        return false;
    };
    if segment.flags() & flag::RST != 0 {
        return false;
    }
    let ports = [segment.destination_port(), segment.source_port()];
    let (sequence, acknowledgement, flags) = match segment.flags() & flag::ACK {
        0 => {
            let controls = (segment.flags() & (flag::SYN | flag::FIN)).count_ones();
            let whole = (packet.end - packet.payload) as u32;
            let length = whole.wrapping_sub(segment.header_length() as u32);
            let next = segment
                .sequence()
                .wrapping_add(length)
                .wrapping_add(controls);
            (0, next, flag::RST | flag::ACK)
        }
        _ => (segment.acknowledgement(), 0, flag::RST),
    };
    let is_v4 = packet.source.is_ipv4();
    let first = [frame[ETHERNET], frame[ETHERNET + 1]];
    let at = ETHERNET + header::length(packet.source);
    frame.resize(at + TCP_HEADER);
    frame[ETHERNET..].fill(0);
    header::write(frame, packet.destination, packet.source, TCP);
    // With the traffic class of the segment, without the bits of ECN, as Linux's.
    match is_v4 {
        true => header::set_class(frame, first[1] & !3),
        false => header::set_class(frame, (first[0] << 4 | first[1] >> 4) & !3),
    }
    let segment = &mut frame[at..];
    segment[..2].copy_from_slice(&ports[0].to_be_bytes());
    segment[2..4].copy_from_slice(&ports[1].to_be_bytes());
    segment[4..8].copy_from_slice(&u32::to_be_bytes(sequence));
    segment[8..12].copy_from_slice(&u32::to_be_bytes(acknowledgement));
    segment[12] = (TCP_HEADER as u8 / 4) << 4;
    segment[13] = flags;
    let sum = header::pseudo(packet.destination, packet.source, TCP).sum(TCP_HEADER);
    let sum = sum.plus(segment).checksum();
    segment[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
    true
}
