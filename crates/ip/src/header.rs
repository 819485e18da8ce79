//! IP packets in frames: reading those received, writing those to send.
//!
//! Extension headers of IPv6 with options are [walked](crate::extensions). A packet that has another belongs to the protocol of
//! that header.

use crate::extensions::Upper;
use core::net::IpAddr;
use node::Frame;
use packet::checksum::{self, Pseudo, Sum};
use packet::ecn;
use packet::ethernet::{EthernetView, ethertype};
use packet::ip::IpView;
pub use packet::ipv4::protocol::{ICMP, ICMPV6, TCP, UDP};

/// Maximum length of an IP packet, and for IPv6 of its payload, bytes.
pub const MAX_PACKET: usize = 65_535;
/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// Bytes of a UDP header.
pub const UDP_HEADER: usize = 8;
/// Bytes of an echo request's header.
pub const ECHO_HEADER: usize = 8;
/// Hop limit of a host's packets (RFC 1700, and the usual choice of RFC 8200's hosts).
pub const HOPS: u8 = 64;
pub(crate) const IPV6_HEADER: usize = 40;

/// A whole IP packet in a frame, without what a link has put after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol of the payload; with IPv6 the next header.
    pub protocol: u8,
    /// Codepoint of explicit congestion notification, 0 to 3, see [`packet::ecn`].
    pub ecn: u8,
    /// Offset of the packet's end in the frame, bytes.
    pub end: usize,
    /// Offset of the payload in the frame, bytes.
    pub payload: usize,
}

/// Reads an IP packet; `None` when it is broken, a fragment, or there is none.
pub fn read(frame: &[u8]) -> Option<Packet> {
    let ethernet = EthernetView::new(frame).ok()?;
    let ip = IpView::new(ethernet.ethertype(), ethernet.payload()).ok()?;
    if let IpView::V4(ip) = ip
        && (ip.is_fragment() || !ip.is_checksum_valid())
    {
        return None;
    }
    let (protocol, header, end) = match ip {
        IpView::V4(ip) => {
            let header = ip.header_length();
            (ip.protocol(), header, header + ip.payload().len())
        }
        IpView::V6(ip) => {
            let end = IPV6_HEADER + ip.payload().len();
            let upper = Upper::of(&ethernet.payload()[..end]);
            (upper.protocol, upper.at, end)
        }
    };
    Some(Packet {
        source: ip.source(),
        destination: ip.destination(),
        protocol,
        ecn: ip.traffic_class() & ecn::CE,
        end: ETHERNET + end,
        payload: ETHERNET + header,
    })
}

/// Part of the IP header that the checksum of an upper protocol covers.
pub fn pseudo(source: IpAddr, destination: IpAddr, protocol: u8) -> Pseudo {
    match (source, destination) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Pseudo::ipv6(source.octets(), destination.octets(), protocol)
        }
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Pseudo::ipv4(source.octets(), destination.octets(), protocol)
        }
        // A packet has addresses of one version.
        _ => Pseudo::ipv4([0; 4], [0; 4], protocol),
    }
}

/// Whether the checksum of a packet's payload is right: of TCP, UDP (which may have none over IPv4), and the ICMP of its version.
/// Other protocols count as right.
pub fn is_valid(frame: &[u8], packet: &Packet) -> bool {
    let payload = &frame[packet.payload..packet.end];
    let none = packet.protocol == UDP && packet.source.is_ipv4();
    if none && payload.get(6..8) == Some(&[0, 0]) {
        return true;
    }
    let sum = match (packet.protocol, packet.source.is_ipv4()) {
        (ICMP, true) => Sum::default(),
        (TCP | UDP, _) | (ICMPV6, false) => {
            pseudo(packet.source, packet.destination, packet.protocol).sum(payload.len())
        }
        _ => return true,
    };
    sum.plus(payload).is_valid()
}

/// The packet of a datagram of UDP up to the end that its own header states (RFC 768), if that is before the packet's; other packets as
/// they are. Over IPv6 a length of 0 is no length (RFC 2675 section 4).
pub(crate) fn to_datagram_end(frame: &[u8], packet: Packet) -> Packet {
    let field = frame.get(packet.payload + 4..packet.payload + 6);
    let length = field.map(|field| usize::from(u16::from_be_bytes([field[0], field[1]])));
    match length {
        Some(length) if packet.protocol == UDP && length >= UDP_HEADER => Packet {
            end: packet.end.min(packet.payload + length),
            ..packet
        },
        _ => packet,
    }
}

/// Bytes of an IP header without options, of the version of an address.
pub fn length(of: IpAddr) -> usize {
    if of.is_ipv4() { 20 } else { IPV6_HEADER }
}

/// Maximum number of bytes that a packet carries after its header, of the version of an address.
pub fn max_payload(of: IpAddr) -> usize {
    match of {
        IpAddr::V4(_) => MAX_PACKET - length(of),
        IpAddr::V6(_) => MAX_PACKET,
    }
}

/// Writes Ethernet's type and the IP header into a frame that has its length already. The header's bytes
/// must be zero; the MAC addresses are left.
pub fn write(frame: &mut Frame, source: IpAddr, destination: IpAddr, protocol: u8) {
    let length = frame.len() - ETHERNET;
    let kind = match source.is_ipv4() {
        true => ethertype::IPV4,
        false => ethertype::IPV6,
    };
    frame[12..14].copy_from_slice(&kind.to_be_bytes());
    let ip = &mut frame[ETHERNET..];
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            // Fragments are made by this host alone.
            ip[6] = 0x40;
            ip[8] = HOPS;
            ip[9] = protocol;
            ip[12..16].copy_from_slice(&source.octets());
            ip[16..20].copy_from_slice(&destination.octets());
            let checksum = checksum::checksum(&ip[..20]);
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            ip[0] = 0x60;
            ip[4..6].copy_from_slice(&((length - IPV6_HEADER) as u16).to_be_bytes());
            ip[6] = protocol;
            ip[7] = HOPS;
            ip[8..24].copy_from_slice(&source.octets());
            ip[24..40].copy_from_slice(&destination.octets());
        }
        // A packet has addresses of one version.
        _ => {}
    }
}

/// Sets the traffic class of a packet that [`write`] has begun, and of IPv4 the checksum again.
pub(crate) fn set_class(frame: &mut [u8], class: u8) {
    let ip = &mut frame[ETHERNET..];
    if ip[0] >> 4 != 4 {
        ip[0] = 0x60 | class >> 4;
        ip[1] = ip[1] & 15 | class << 4;
        return;
    }
    ip[1] = class;
    ip[10..12].fill(0);
    let checksum = checksum::checksum(&ip[..20]);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Writes a UDP header before its payload, which ends where the frame does, and the checksum.
pub fn write_udp(frame: &mut Frame, source: (IpAddr, u16), destination: (IpAddr, u16)) {
    let at = ETHERNET + length(source.0);
    let datagram = &mut frame[at..];
    let length = datagram.len();
    datagram[..2].copy_from_slice(&source.1.to_be_bytes());
    datagram[2..4].copy_from_slice(&destination.1.to_be_bytes());
    datagram[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    let sum = pseudo(source.0, destination.0, UDP).sum(length);
    let checksum = sum.plus(datagram).udp_checksum();
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn each_codepoint_is_written_and_read_with_a_right_checksum() {
        let ends: [[IpAddr; 2]; 2] = [
            [
                Ipv4Addr::new(10, 0, 0, 1).into(),
                Ipv4Addr::new(10, 0, 0, 2).into(),
            ],
            [Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        ];
        for [source, destination] in ends {
            let mut frame = Frame::new(&[0; 14 + 40 + 20]);
            write(&mut frame, source, destination, TCP);
            for codepoint in [ecn::ECT_0, ecn::CE, ecn::ECT_1, ecn::NOT_ECT] {
                ecn::set(&mut frame[ETHERNET..], codepoint);
                // Only a packet whose checksum is right is read.
                let packet = read(&frame).expect("a whole packet");
                assert_eq!(packet.ecn, codepoint);
                assert_eq!((packet.source, packet.destination), (source, destination));
            }
        }
    }
}
