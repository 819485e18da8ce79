//! Answers to packets that are for no program here: resets of TCP, and errors of ICMP.

use crate::wire::{ETHERNET, u16_at};
use core::net::IpAddr;
use node::{Frame, Out};
use packet::checksum::{Pseudo, Sum, checksum};
use packet::ethernet::Mac;
use packet::ip::IpView;
use packet::ipv4::protocol;
use packet::tcp::TcpView;
use packet::udp::UdpView;

/// Hop limit of packets from hosts, RFC 1122 and RFC 8200's usual choice.
const HOPS: u8 = 64;
const TCP_HEADER: usize = 20;
/// Bytes of the packet at fault in an error: as many as fit into the packet that every link carries (RFC 1812 section
/// 4.3.2.3, RFC 4443 section 2.4).
const QUOTED_V4: usize = 576 - 20 - 8;
const QUOTED_V6: usize = 1280 - 40 - 8;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const TCP_CHECKSUM: core::ops::Range<usize> = 16..18;

/// Turns a segment or datagram for one of the addresses `own` into the answer of a closed port, but for the MAC addresses; `false`,
/// and the frame is as it was, when none is due. UDP port `open` is no closed one.
pub(crate) fn refuse(
    frame: &mut Frame,
    mut own: impl Iterator<Item = IpAddr>,
    open: Option<u16>,
) -> bool {
    let Some(ip) = u16_at(frame, 12).and_then(|kind| IpView::new(kind, &frame[ETHERNET..]).ok())
    else {
        return false;
    };
    let valid = match ip {
        IpView::V4(ip) => ip.is_checksum_valid(),
        IpView::V6(_) => true,
    };
    let (source, destination) = (ip.source(), ip.destination());
    let for_us = own.any(|own| own == destination);
    if ip.is_fragment() || !valid || !for_us || !is_host(source) {
        return false;
    }
    match ip.protocol() {
        protocol::TCP => {
            let Ok(segment) = TcpView::new(ip.payload()) else {
                return false;
            };
            let valid = segment.is_checksum_valid(ip.pseudo(protocol::TCP));
            if !valid || segment.flags() & RST != 0 {
                return false;
            }
            let reset = reset(&segment);
            write_reset(frame, source, destination, reset);
            true
        }
        protocol::UDP => {
            let Ok(datagram) = UdpView::new(ip.payload()) else {
                return false;
            };
            // Over IPv6 there is always a checksum.
            let checked = datagram.checksum() != 0 || source.is_ipv4();
            let valid = checked && datagram.is_checksum_valid(ip.pseudo(protocol::UDP));
            if !valid || open == Some(datagram.destination_port()) {
                return false;
            }
            let end = ETHERNET + ip.header_length() + ip.payload().len();
            let [kind, code] = if source.is_ipv4() { [3, 3] } else { [1, 4] };
            write_error(frame, end, [kind, code], source, destination);
            true
        }
        _ => false,
    }
}

/// The error that a packet was not put together in time (RFC 792, RFC 4443), of which this is the first fragment; `None` where
/// none is due.
pub fn late(first: &Frame, own: Mac, out: &mut Out) -> Option<Frame> {
    let ip = IpView::new(u16_at(first, 12)?, &first[ETHERNET..]).ok()?;
    let (source, destination) = (ip.source(), ip.destination());
    let is_error =
        ip.protocol() == protocol::ICMP && !matches!(ip.payload().first(), Some(0 | 8 | 13..=18));
    if !is_host(source) || first[0] & 1 == 1 || is_error {
        return None;
    }
    let length = ip.header_length() + ip.payload().len();
    let mut error = out.copy(first);
    let kind = if source.is_ipv4() { 11 } else { 3 };
    write_error(
        &mut error,
        ETHERNET + length,
        [kind, 1],
        source,
        destination,
    );
    error.copy_within(6..12, 0);
    error[6..12].copy_from_slice(&own.0);
    Some(error)
}

/// Whether an address may be a host's, so that an answer goes to one.
fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, ..] = address.octets();
            first != 0 && first < 224 && !address.is_loopback()
        }
        IpAddr::V6(address) => {
            !address.is_multicast() && !address.is_unspecified() && !address.is_loopback()
        }
    }
}

/// The segment that a closed port answers with: ports, numbers and flags.
struct Reset {
    ports: [u16; 2],
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
}

/// RFC 9293 section 3.10.7.1.
fn reset(segment: &TcpView<'_>) -> Reset {
    let ports = [segment.destination_port(), segment.source_port()];
    if segment.flags() & ACK != 0 {
        return Reset {
            ports,
            sequence: segment.acknowledgement(),
            acknowledgement: 0,
            flags: RST,
        };
    }
    let controls = (segment.flags() & (SYN | FIN)).count_ones();
    let length = segment.payload().len() as u32 + controls;
    Reset {
        ports,
        sequence: 0,
        acknowledgement: segment.sequence().wrapping_add(length),
        flags: RST | ACK,
    }
}

fn write_reset(frame: &mut Frame, source: IpAddr, destination: IpAddr, reset: Reset) {
    let at = write_header(frame, destination, source, protocol::TCP, TCP_HEADER);
    let segment = &mut frame[at..];
    segment.fill(0);
    segment[..2].copy_from_slice(&reset.ports[0].to_be_bytes());
    segment[2..4].copy_from_slice(&reset.ports[1].to_be_bytes());
    segment[4..8].copy_from_slice(&reset.sequence.to_be_bytes());
    segment[8..12].copy_from_slice(&reset.acknowledgement.to_be_bytes());
    segment[12] = (TCP_HEADER as u8 / 4) << 4;
    segment[13] = reset.flags;
    let sum = pseudo(destination, source, protocol::TCP, TCP_HEADER);
    let sum = sum.plus(segment).checksum();
    segment[TCP_CHECKSUM].copy_from_slice(&sum.to_be_bytes());
}

/// Writes an error about the packet that ends at `end` over it.
fn write_error(frame: &mut Frame, end: usize, kind: [u8; 2], source: IpAddr, destination: IpAddr) {
    let is_v4 = source.is_ipv4();
    let (header, most, protocol) = match is_v4 {
        true => (20, QUOTED_V4, protocol::ICMP),
        false => (40, QUOTED_V6, protocol::ICMPV6),
    };
    let quoted = (end - ETHERNET).min(most);
    frame.resize(ETHERNET + quoted);
    frame.insert(ETHERNET, header + 8);
    let at = write_header(frame, destination, source, protocol, 8 + quoted);
    let message = &mut frame[at..];
    message[..2].copy_from_slice(&kind);
    message[2..8].fill(0);
    let sum = match is_v4 {
        true => Sum::default(),
        false => pseudo(destination, source, protocol, message.len()),
    };
    let sum = sum.plus(message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
}

/// Writes the IP header of a packet with a payload of `length` bytes; gives where that begins in the frame.
fn write_header(
    frame: &mut Frame,
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    length: usize,
) -> usize {
    let header = if source.is_ipv4() { 20 } else { 40 };
    frame.resize(ETHERNET + header + length);
    let ip = &mut frame[ETHERNET..ETHERNET + header];
    ip.fill(0);
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&((header + length) as u16).to_be_bytes());
            ip[6] = 0x40;
            ip[8] = HOPS;
            ip[9] = protocol;
            ip[12..16].copy_from_slice(&source.octets());
            ip[16..20].copy_from_slice(&destination.octets());
            let sum = checksum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            ip[0] = 0x60;
            ip[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            ip[6] = protocol;
            ip[7] = HOPS;
            ip[8..24].copy_from_slice(&source.octets());
            ip[24..40].copy_from_slice(&destination.octets());
        }
        // A packet has addresses of one version.
        _ => {}
    }
    ETHERNET + header
}

fn pseudo(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> Sum {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Pseudo::ipv4(source.octets(), destination.octets(), protocol).sum(length)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Pseudo::ipv6(source.octets(), destination.octets(), protocol).sum(length)
        }
        _ => Sum::default(),
    }
}
