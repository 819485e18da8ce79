//! ICMP and ICMPv6: echo, errors about packets, and errors that others send about ours (RFC 792, RFC 4443).
//!
//! Errors quote as Linux does: as much of the packet as fits into the packet that every link carries.

use crate::address::is_host;
use crate::header::{self, ETHERNET, HOPS, ICMP, ICMPV6, Packet, UDP};
use crate::options;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use node::{Frame, Time};
use packet::checksum::{Sum, checksum};
use packet::ip::IpView;
use packet::ipv4::protocol;

/// Maximum length of an error with all its headers, bytes (RFC 1812 section 4.3.2.3, RFC 4443 section 2.4).
const MAX_ERROR_V4: usize = 576;
const MAX_ERROR_V6: usize = 1280;
const ICMP_HEADER: usize = 8;
/// Code of the error about an unknown option of IPv6.
const UNKNOWN_OPTION: u8 = 2;

/// An error about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A router has no route.
    NoRoute,
    /// The receiver's address did not resolve.
    Address,
    /// The receiver has no such protocol; of IPv6 with the offset of the byte that names it, bytes.
    Protocol(u32),
    /// The receiver's port is closed.
    Port,
    /// The packet is longer than the next link's MTU, in bytes.
    TooBig(u32),
    /// The hop limit is used up.
    HopLimit,
    /// The packet was not reassembled in time.
    Reassembly,
    /// Communication is prohibited by a rule.
    Prohibited,
    /// The destination is unreachable, with this code of the version's error.
    Unreachable(u8),
    /// The source address does not reach beyond its link; IPv6 only.
    Scope,
    /// A field of the header is wrong: of IPv6 the code, and the offset of the field from the packet's start, bytes.
    Parameter(u8, u32),
    /// An option of IPv6 that is not known, at this offset from the packet's start, bytes.
    Option(u32),
    /// A better next hop on the same link; IPv4 only, as IPv6 has a message of neighbour discovery.
    Redirect(Ipv4Addr),
}

impl Error {
    /// Type, code, and the four bytes after the checksum.
    fn parts(self, v4: bool) -> (u8, u8, u32) {
        match (self, v4) {
            (Error::NoRoute, true) => (3, 0, 0),
            (Error::Address, true) => (3, 1, 0),
            (Error::Protocol(_), true) => (3, 2, 0),
            (Error::Port, true) => (3, 3, 0),
            (Error::TooBig(mtu), true) => (3, 4, mtu & 0xFFFF),
            (Error::HopLimit, true) => (11, 0, 0),
            (Error::Reassembly, true) => (11, 1, 0),
            (Error::Prohibited, true) => (3, 13, 0),
            (Error::Scope, true) => (3, 0, 0),
            (Error::Unreachable(code), true) => (3, code, 0),
            (Error::Unreachable(code), false) => (1, code, 0),
            (Error::Parameter(_, at), true) => (12, 0, at << 24),
            (Error::Prohibited, false) => (1, 1, 0),
            (Error::Scope, false) => (1, 2, 0),
            (Error::Parameter(code, at), false) => (4, code, at),
            (Error::Option(at), _) => (4, UNKNOWN_OPTION, at),
            (Error::Redirect(gateway), _) => (5, 1, gateway.to_bits()),
            (Error::NoRoute, false) => (1, 0, 0),
            (Error::Address, false) => (1, 3, 0),
            (Error::Protocol(at), false) => (4, 1, at),
            (Error::Port, false) => (1, 4, 0),
            (Error::TooBig(mtu), false) => (2, 0, mtu),
            (Error::HopLimit, false) => (3, 0, 0),
            (Error::Reassembly, false) => (3, 1, 0),
        }
    }

    /// Whether Linux limits the rate of this error: all but those that path MTU discovery needs, and redirects.
    pub fn is_limited(self) -> bool {
        !matches!(self, Error::TooBig(_) | Error::Redirect(_))
    }

    /// Writes the error about the packet that ends at `end` over it, from the address `from`, and exchanges the MAC
    /// addresses for those of the answer; `own` is this interface's. Options that record are answered, with the addresses for
    /// which `is_own` holds. `false`, and the frame is as it was, when the packet must not be answered (RFC 1122 section 3.2.2,
    /// RFC 4443 section 2.4 e).
    pub fn write(
        self,
        now: Time,
        frame: &mut Frame,
        end: usize,
        from: IpAddr,
        own: [u8; 6],
        is_own: impl Fn(Ipv4Addr) -> bool,
    ) -> bool {
        let Some(source) = answerable(frame, self) else {
            return false;
        };
        let is_v4 = source.is_ipv4();
        let mut options = [0; 40];
        let options = match (from, options::length(frame)) {
            (IpAddr::V4(from), 1..) => {
                let limit = match self {
                    Error::Parameter(_, at) => at as usize,
                    _ => usize::MAX,
                };
                match options::echo(now, frame, limit, from, is_own, &mut options) {
                    Some(count) => &options[..count],
                    None => return false,
                }
            }
            _ => &[],
        };
        let header = header::length(source);
        let max = if is_v4 { MAX_ERROR_V4 } else { MAX_ERROR_V6 };
        let quoted = (end - ETHERNET).min(max - header - options.len() - ICMP_HEADER);
        let class = frame[ETHERNET + 1];
        frame.resize(ETHERNET + quoted);
        frame.insert(ETHERNET, header + ICMP_HEADER);
        frame[ETHERNET..ETHERNET + header + ICMP_HEADER].fill(0);
        let protocol = if is_v4 { ICMP } else { ICMPV6 };
        header::write(frame, from, source, protocol);
        let (kind, code, rest) = self.parts(is_v4);
        let at = ETHERNET + header;
        frame[at] = kind;
        frame[at + 1] = code;
        frame[at + 4..at + 8].copy_from_slice(&rest.to_be_bytes());
        finish(frame, from, source);
        if is_v4 {
            // Internetwork control (RFC 1812 section 4.3.2.5), and it may be cut, as Linux's.
            frame[ETHERNET + 6] = 0;
            header::set_class(frame, 0xC0 | class & 0x1E);
            if !options.is_empty() {
                options::replace(frame, options);
            }
        }
        turn(frame, own);
        true
    }
}

/// Whether a number is that of an extension header whose length is in its second byte.
fn is_options(number: u8) -> bool {
    use protocol::{AUTHENTICATION, DESTINATION, HOP_BY_HOP, ROUTING};
    matches!(number, AUTHENTICATION | DESTINATION | HOP_BY_HOP | ROUTING)
}

/// The sender of a packet that an error may answer.
fn answerable(frame: &[u8], error: Error) -> Option<IpAddr> {
    let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
    let ip = IpView::new(kind, &frame[ETHERNET..]).ok()?;
    let (source, destination) = (ip.source(), ip.destination());
    // IPv6 tells of paths to groups all the same.
    let to_group = destination.is_multicast() || frame[0] & 1 == 1;
    let allowed = match error {
        _ if !to_group => true,
        Error::TooBig(_) => source.is_ipv6(),
        // An unknown option whose two highest bits ask for the error whatever the destination.
        Error::Option(at) => {
            let kind = frame.get(ETHERNET + at as usize);
            kind.is_some_and(|kind| kind >> 6 == 2)
        }
        _ => false,
    };
    let later = matches!(ip, IpView::V4(ip) if ip.fragment_offset() > 0);
    let (protocol, payload) = match ip {
        IpView::V4(ip) => (ip.protocol(), ip.payload()),
        IpView::V6(ip) => {
            let mut walk = ip.extensions();
            walk.by_ref().for_each(drop);
            let is_cut = is_options(walk.protocol()) && !walk.is_later_fragment();
            match walk.payload() {
                // Linux passes over a header that is longer than the packet: of the message behind it there is nothing.
                [ICMPV6, _, ..] if is_cut => (ICMPV6, &[][..]),
                rest => (walk.protocol(), rest),
            }
        }
    };
    let about_error = match (ip, protocol, payload.first()) {
        // Types that are no errors. A packet cut short before its type may be one.
        (IpView::V4(_), ICMP, kind) => !matches!(kind, Some(0 | 8..=10 | 13..=18)),
        (IpView::V6(_), ICMPV6, kind) => !matches!(kind, Some(128..=136 | 138..=255)),
        _ => false,
    };
    (is_host(source) && allowed && !later && !about_error).then_some(source)
}

/// Makes a frame go back where it came from.
pub(crate) fn turn(frame: &mut [u8], own: [u8; 6]) {
    frame.copy_within(6..12, 0);
    frame[6..12].copy_from_slice(&own);
}

/// Turns a timestamp request into its reply, from the address `from` (RFC 792); `false`, and the frame is as it was, when the
/// packet is something else. The checksum was checked.
pub(crate) fn reply_time(now: Time, frame: &mut Frame, packet: &Packet, from: IpAddr) -> bool {
    let message = &frame[packet.payload..packet.end];
    let is_request = packet.protocol == ICMP && from.is_ipv4() && message.first() == Some(&13);
    // Linux answers one without its two empty fields, too.
    if !is_request || message.len() < 12 {
        return false;
    }
    frame.resize(packet.payload + TIMESTAMP.min(packet.end - packet.payload));
    frame.resize(packet.payload + TIMESTAMP);
    let length = (frame.len() - ETHERNET) as u16;
    frame[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
    exchange(frame, packet, from);
    let message = &mut frame[packet.payload..];
    // The code of Linux's reply is 0 whatever that of the request.
    message[..4].copy_from_slice(&[14, 0, 0, 0]);
    let time = options::time(now);
    message[12..16].copy_from_slice(&time);
    message[16..20].copy_from_slice(&time);
    let sum = Sum::default().plus(message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Turns an echo request into its reply, from the address `from`; `false`, and the frame is as it was, when the packet is
/// something else. The checksum was checked.
pub(crate) fn reply(frame: &mut Frame, packet: &Packet, from: IpAddr) -> bool {
    let [request, reply] = match (packet.protocol, from) {
        (ICMP, IpAddr::V4(_)) => [8, 0],
        (ICMPV6, IpAddr::V6(_)) => [128, 129],
        _ => return false,
    };
    let message = &frame[packet.payload..packet.end];
    if message.len() < ECHO || message[0] != request {
        return false;
    }
    // Without the link's padding.
    frame.resize(packet.end);
    let at = bare(frame, packet);
    exchange(frame, packet, from);
    let message = &mut frame[at..];
    message[0] = reply;
    message[2..4].fill(0);
    let sum = match packet.source.is_ipv4() {
        true => Sum::default(),
        false => header::pseudo(from, packet.source, ICMPV6).sum(message.len()),
    };
    let sum = sum.plus(message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Removes the headers with options of an IPv6 packet; gives the offset of the payload, bytes.
pub(crate) fn bare(frame: &mut Frame, packet: &Packet) -> usize {
    if packet.source.is_ipv4() {
        return packet.payload;
    }
    let at = ETHERNET + header::IPV6_HEADER;
    frame.remove(at, packet.payload - at);
    let length = (frame.len() - at) as u16;
    frame[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&length.to_be_bytes());
    frame[ETHERNET + 6] = packet.protocol;
    at
}

/// Makes the header of a packet that of an answer to it, from the address `from`.
pub(crate) fn exchange(frame: &mut [u8], packet: &Packet, from: IpAddr) {
    let ip = &mut frame[ETHERNET..];
    let header = header_length(ip);
    match (from, packet.source) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            ip[12..16].copy_from_slice(&from.octets());
            ip[16..20].copy_from_slice(&to.octets());
            // It may be cut, as Linux's.
            ip[6..8].fill(0);
            ip[8] = HOPS;
            ip[10..12].fill(0);
            let sum = checksum(&ip[..header]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            ip[8..24].copy_from_slice(&from.octets());
            ip[24..40].copy_from_slice(&to.octets());
            ip[7] = HOPS;
        }
        // A packet has addresses of one version.
        _ => {}
    }
}

fn header_length(ip: &[u8]) -> usize {
    usize::from(ip[0] & 15) * 4
}

/// Bytes of a timestamp message.
const TIMESTAMP: usize = 20;
/// Bytes of an echo message's header.
const ECHO: usize = header::ECHO_HEADER;

/// Writes an echo request with an identifier and a sequence number into an empty frame, and `size` bytes of data.
pub fn write_echo(
    frame: &mut Frame,
    source: IpAddr,
    destination: IpAddr,
    (identifier, sequence): (u16, u16),
    size: usize,
) {
    let at = ETHERNET + header::length(source);
    frame.resize(at + ECHO + size);
    let (protocol, request) = match source.is_ipv4() {
        true => (ICMP, 8),
        false => (ICMPV6, 128),
    };
    header::write(frame, source, destination, protocol);
    let message = &mut frame[at..];
    message[0] = request;
    message[4..6].copy_from_slice(&identifier.to_be_bytes());
    message[6..8].copy_from_slice(&sequence.to_be_bytes());
    for (index, byte) in message[ECHO..].iter_mut().enumerate() {
        *byte = index as u8;
    }
    finish(frame, source, destination);
}

/// Fills in the checksum of a message that is otherwise whole, after a header without options.
pub(crate) fn finish(frame: &mut [u8], source: IpAddr, destination: IpAddr) {
    finish_at(
        frame,
        ETHERNET + header::length(source),
        source,
        destination,
    );
}

/// As [`finish`], of a message that begins at this offset.
pub(crate) fn finish_at(frame: &mut [u8], at: usize, source: IpAddr, destination: IpAddr) {
    let message = &frame[at..];
    let sum = match source.is_ipv4() {
        true => Sum::default(),
        false => header::pseudo(source, destination, ICMPV6).sum(message.len()),
    };
    let checksum = sum.plus(message).checksum();
    frame[at + 2..at + 4].copy_from_slice(&checksum.to_be_bytes());
}

/// Identifier and sequence number of an echo reply; `None` when the packet is something else.
pub fn echo_reply(frame: &[u8], packet: &Packet) -> Option<(u16, u16)> {
    let reply = match packet.protocol {
        ICMP => 0,
        ICMPV6 => 129,
        _ => return None,
    };
    let message = frame
        .get(packet.payload..packet.end)?
        .first_chunk::<ECHO>()?;
    let [identifier, sequence] =
        [4, 6].map(|at| u16::from_be_bytes([message[at], message[at + 1]]));
    (message[0] == reply).then_some((identifier, sequence))
}

/// Whether the IP packet in a frame, without extension headers, is an error whose rate Linux limits.
pub fn is_limited_error(frame: &[u8]) -> bool {
    let Some(packet) = header::read(frame) else {
        return false;
    };
    match (packet.protocol, frame.get(packet.payload..packet.end)) {
        // All but those that path MTU discovery needs.
        (ICMP, Some([3, code, ..])) => *code != 4,
        (ICMP, Some([11 | 12, ..])) | (ICMPV6, Some([1 | 3 | 4, ..])) => true,
        _ => false,
    }
}

/// An error that a host or router has sent, and the part of the packet at fault that it quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Type and code.
    pub kind: [u8; 2],
    /// The four bytes after the checksum: an MTU, a gateway.
    pub rest: u32,
    /// Source of the packet at fault.
    pub source: IpAddr,
    /// Destination of the packet at fault.
    pub destination: IpAddr,
    /// Protocol of the packet at fault.
    pub protocol: u8,
    /// The first bytes of its payload, where the ports are; zero where the quote ends before.
    pub begin: [u8; 8],
}

impl Report {
    /// The name of the error in the words of ping(8).
    pub fn name(source_is_v4: bool, [kind, code]: [u8; 2]) -> &'static str {
        match (source_is_v4, kind, code) {
            (true, 3, 0) => "network unreachable",
            (true, 3, 1) => "host unreachable",
            (true, 3, 2) => "protocol unreachable",
            (true, 3, 3) | (false, 1, 4) => "port unreachable",
            (true, 3, 4) => "fragmentation needed",
            (true, 3, 9 | 10 | 13) | (false, 1, 1) => "communication prohibited",
            (false, 1, 0) => "no route",
            (false, 1, 3) => "address unreachable",
            (true, 3, _) | (false, 1, _) => "unreachable",
            (false, 2, _) => "packet too big",
            (true, 5, _) => "redirect",
            (true, 11, 0) | (false, 3, 0) => "time exceeded",
            (true, 11, _) | (false, 3, _) => "reassembly time exceeded",
            (true, 12, _) | (false, 4, _) => "parameter problem",
            _ => "an ICMP error",
        }
    }

    /// Reads an error; `None` when the packet is something else.
    pub fn read(frame: &[u8], packet: &Packet) -> Option<Report> {
        let message = frame.get(packet.payload..packet.end)?;
        let (fields, quoted) = message.split_first_chunk::<ICMP_HEADER>()?;
        let is_error = match (packet.protocol, packet.source.is_ipv4()) {
            (ICMP, true) => matches!(fields[0], 3..=5 | 11 | 12),
            (ICMPV6, false) => fields[0] < 128,
            _ => false,
        };
        if !is_error {
            return None;
        }
        let kind = match packet.protocol {
            ICMP => packet::ethernet::ethertype::IPV4,
            _ => packet::ethernet::ethertype::IPV6,
        };
        let ip = IpView::new_any_length(kind, quoted).ok()?;
        let mut begin = [0; 8];
        let rest = quoted.get(ip.header_length()..).unwrap_or_default();
        let count = rest.len().min(begin.len());
        begin[..count].copy_from_slice(&rest[..count]);
        Some(Report {
            kind: [fields[0], fields[1]],
            rest: u32::from_be_bytes([fields[4], fields[5], fields[6], fields[7]]),
            source: ip.source(),
            destination: ip.destination(),
            protocol: ip.protocol(),
            begin,
        })
    }

    /// The MTU, bytes, of an error about a packet that was too long for a link. It is at least 552, as in Linux, and of IPv6 1280 (RFC
    /// 8200 section 5): a lower one is not believed.
    pub fn too_big(&self) -> Option<usize> {
        match (self.destination, self.kind) {
            (IpAddr::V4(_), [3, 4]) => Some((self.rest as usize & 0xFFFF).max(552)),
            (IpAddr::V6(_), [2, _]) => Some((self.rest as usize).max(1280)),
            _ => None,
        }
    }

    /// The port from which a datagram was sent that met a closed port, and its destination.
    pub fn port_unreachable(&self) -> Option<(u16, SocketAddr)> {
        let closed = match self.destination {
            IpAddr::V4(_) => [3, 3],
            IpAddr::V6(_) => [1, 4],
        };
        let [from, to] = [0, 2].map(|at| u16::from_be_bytes([self.begin[at], self.begin[at + 1]]));
        let is_ours = self.kind == closed && self.protocol == UDP;
        is_ours.then_some((from, SocketAddr::new(self.destination, to)))
    }
}
