//! IP packets in frames: reading what comes, writing what goes.

use core::net::{IpAddr, SocketAddr};
use node::Frame;
use nodes::fragments::MAX_PACKET;
use packet::checksum::{self, Pseudo, Sum};
use packet::ethernet::{EthernetView, ethertype};
use packet::ip::IpView;
use packet::ipv4::Ipv4View;
use packet::ipv6::Ipv6View;

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;
/// What hosts send, RFC 1122 and RFC 8200's usual choice.
const HOPS: u8 = 64;
pub(crate) const UDP_HEADER: usize = 8;
/// Bytes of an echo request's header.
pub(crate) const ECHO_HEADER: usize = 8;

/// A whole IP packet without what a link has put behind it.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    /// Where the packet ends in the frame.
    pub end: usize,
    /// Where the payload begins in the frame.
    pub payload: usize,
}

/// Reads an IP packet; `None` when it is broken, a fragment, or none. Extension headers of IPv6 are not
/// looked behind.
pub(crate) fn read(frame: &[u8]) -> Option<Packet> {
    let ethernet = EthernetView::new(frame).ok()?;
    let (source, destination, protocol, length, payload) =
        match IpView::new(ethernet.ethertype(), ethernet.payload()).ok()? {
            IpView::V4(ip) if ip.is_fragment() || !ip.is_checksum_valid() => return None,
            IpView::V4(ip) => (
                ip.source().into(),
                ip.destination().into(),
                ip.protocol(),
                ip.header_length(),
                ip.payload(),
            ),
            IpView::V6(ip) => (
                ip.source().into(),
                ip.destination().into(),
                ip.next_header(),
                40,
                ip.payload(),
            ),
        };
    let at = ETHERNET + length;
    Some(Packet {
        source,
        destination,
        protocol,
        end: at + payload.len(),
        payload: at,
    })
}

/// What a protocol above takes from the IP header into its checksum.
pub(crate) fn pseudo(source: IpAddr, destination: IpAddr, protocol: u8) -> Pseudo {
    match (source, destination) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Pseudo::ipv6(source.octets(), destination.octets(), protocol)
        }
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Pseudo::ipv4(source.octets(), destination.octets(), protocol)
        }
        // Nobody sends from one version to the other.
        _ => Pseudo::ipv4([0; 4], [0; 4], protocol),
    }
}

/// Whether the checksum of a packet's payload is right: of TCP, UDP (which may have none over IPv4), ICMP.
pub(crate) fn is_valid(frame: &[u8], packet: &Packet) -> bool {
    let payload = &frame[packet.payload..packet.end];
    let none = packet.protocol == UDP && packet.source.is_ipv4();
    if none && payload.get(6..8) == Some(&[0, 0]) {
        return true;
    }
    let sum = match packet.protocol {
        ICMP => Sum::default(),
        protocol => pseudo(packet.source, packet.destination, protocol).sum(payload.len()),
    };
    sum.plus(payload).is_valid()
}

/// Bytes of an IP header.
pub(crate) fn header(of: IpAddr) -> usize {
    if of.is_ipv4() { 20 } else { 40 }
}

/// The most bytes that a packet carries.
pub(crate) fn most(of: IpAddr) -> usize {
    match of {
        IpAddr::V4(_) => MAX_PACKET - header(of),
        IpAddr::V6(_) => MAX_PACKET,
    }
}

/// Writes Ethernet's type and the IP header into a frame of zeros that has its length already; the MAC
/// addresses are for who knows them.
pub(crate) fn write_header(frame: &mut Frame, source: IpAddr, destination: IpAddr, protocol: u8) {
    let length = frame.len() - ETHERNET;
    let kind = if source.is_ipv4() {
        ethertype::IPV4
    } else {
        ethertype::IPV6
    };
    frame[12..14].copy_from_slice(&kind.to_be_bytes());
    let ip = &mut frame[ETHERNET..];
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            // Without fragments, unless this host makes them.
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
            ip[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            ip[6] = protocol;
            ip[7] = HOPS;
            ip[8..24].copy_from_slice(&source.octets());
            ip[24..40].copy_from_slice(&destination.octets());
        }
        _ => {}
    }
}

/// Writes an echo request (RFC 792, RFC 4443) with an identifier and a number into an empty frame, and so many bytes behind them.
pub(crate) fn write_echo(
    frame: &mut Frame,
    source: IpAddr,
    destination: IpAddr,
    (identifier, sequence): (u16, u16),
    size: usize,
) {
    let at = ETHERNET + header(source);
    frame.resize(at + 8 + size);
    let (protocol, request) = match source.is_ipv4() {
        true => (ICMP, 8),
        false => (ICMPV6, 128),
    };
    write_header(frame, source, destination, protocol);
    let message = &mut frame[at..];
    message[0] = request;
    message[4..6].copy_from_slice(&identifier.to_be_bytes());
    message[6..8].copy_from_slice(&sequence.to_be_bytes());
    for (index, byte) in message[8..].iter_mut().enumerate() {
        *byte = index as u8;
    }
    finish_icmp(source, destination, frame);
}

/// The identifier and the number of an echo reply; `None` when the packet is something else.
pub(crate) fn echo_reply(frame: &[u8], packet: &Packet) -> Option<(u16, u16)> {
    let reply = match packet.protocol {
        ICMP => 0,
        ICMPV6 => 129,
        _ => return None,
    };
    let message = frame.get(packet.payload..packet.end)?.first_chunk::<8>()?;
    let [identifier, sequence] =
        [4, 6].map(|at| u16::from_be_bytes([message[at], message[at + 1]]));
    (message[0] == reply).then_some((identifier, sequence))
}

/// The port from which a datagram was sent that met a closed port, and where it was sent to; `None` when the packet is no such
/// error.
pub(crate) fn port_unreachable(frame: &[u8], packet: &Packet) -> Option<(u16, SocketAddr)> {
    let (kind, of) = match packet.protocol {
        ICMP => ([3, 3], ethertype::IPV4),
        ICMPV6 => ([1, 4], ethertype::IPV6),
        _ => return None,
    };
    let message = frame.get(packet.payload..packet.end)?;
    let quoted = message.get(8..)?;
    let (protocol, destination, header) = match of {
        ethertype::IPV4 => {
            let ip = Ipv4View::new_cut(quoted).ok()?;
            (ip.protocol(), ip.destination().into(), ip.header_length())
        }
        _ => {
            let ip = Ipv6View::new_cut(quoted).ok()?;
            (ip.next_header(), ip.destination().into(), 40)
        }
    };
    let ports = quoted.get(header..)?.first_chunk::<4>()?;
    let [from, to] = [0, 2].map(|at| u16::from_be_bytes([ports[at], ports[at + 1]]));
    let is_ours = message[..2] == kind && protocol == UDP;
    is_ours.then_some((from, SocketAddr::new(destination, to)))
}

/// Fills in the checksum of a message that is otherwise whole.
pub(crate) fn finish_icmp(source: IpAddr, destination: IpAddr, frame: &mut Frame) {
    let at = ETHERNET + header(source);
    let message = &frame[at..];
    let sum = match source.is_ipv4() {
        true => Sum::default(),
        false => pseudo(source, destination, ICMPV6).sum(message.len()),
    };
    let checksum = sum.plus(message).checksum();
    frame[at + 2..at + 4].copy_from_slice(&checksum.to_be_bytes());
}

/// Writes a UDP header before its payload, whose length the frame's tells, and the checksum.
pub(crate) fn write_udp(frame: &mut Frame, source: (IpAddr, u16), destination: (IpAddr, u16)) {
    let at = ETHERNET + header(source.0);
    let datagram = &mut frame[at..];
    let length = datagram.len();
    datagram[..2].copy_from_slice(&source.1.to_be_bytes());
    datagram[2..4].copy_from_slice(&destination.1.to_be_bytes());
    datagram[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    let sum = pseudo(source.0, destination.0, UDP).sum(length);
    let checksum = sum.plus(datagram).udp_checksum();
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
}
