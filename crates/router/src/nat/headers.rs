//! Reading and rewriting of packets, with incremental checksums (RFC 3022 section 4.2, RFC 1624).

use super::endpoint::Endpoint;
use core::net::Ipv4Addr;
use packet::checksum::{Sum, update_bytes};
use packet::ethernet::ethertype;
use packet::ipv4::{Ipv4View, protocol};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Bytes of the header of an ICMP message.
const ICMP_HEADER: usize = 8;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;

/// Reasons why a packet is dropped.
const MALFORMED: &str = "malformed packet";
const FRAGMENT: &str = "fragment at the NAT";
const BAD_CHECKSUM: &str = "ICMP error with a wrong checksum";

/// Meaning of a packet for the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// TCP, with its flags.
    Tcp(u8),
    Udp,
    /// A query of ICMP: echo, timestamp, address mask, information.
    Request,
    /// The answer to one.
    Reply,
    /// An ICMP error.
    Error(Quote),
    /// Any other ICMP message.
    OtherIcmp,
    /// Another protocol, translated by address alone.
    Other,
}

/// A packet in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub protocol: u8,
    pub source: Endpoint,
    pub destination: Endpoint,
    pub kind: Kind,
    at: Offsets,
}

/// Packet that an ICMP error quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    pub protocol: u8,
    pub source: Endpoint,
    pub destination: Endpoint,
    /// Whether it is a query of ICMP.
    pub is_request: bool,
    /// Whether it is the answer to one.
    pub is_reply: bool,
    at: Offsets,
}

/// Places in a frame, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offsets {
    ip: usize,
    payload: usize,
    end: usize,
}

/// End of a packet to rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Destination,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..at + 2) {
        Some(&[high, low]) => u16::from_be_bytes([high, low]),
        _ => 0,
    }
}

/// Whether a type of ICMP is a query, as `Some(false)`, or the answer to one, as `Some(true)`.
fn query(kind: u8) -> Option<bool> {
    match kind {
        8 | 13 | 15 | 17 => Some(false),
        0 | 14 | 16 | 18 => Some(true),
        _ => None,
    }
}

/// Port or identifier of each end. Those of an ICMP query have the identifier at the end that is
/// the inside host's.
fn ids(number: u8, payload: &[u8], is_outbound_query: bool) -> [u16; 2] {
    match number {
        protocol::TCP | protocol::UDP => [u16_at(payload, 0), u16_at(payload, 2)],
        protocol::ICMP if is_outbound_query => [u16_at(payload, 4), 0],
        protocol::ICMP => [0, u16_at(payload, 4)],
        _ => [0, 0],
    }
}

impl Packet {
    /// Reads a frame; `Ok(None)` when it has no IPv4 packet.
    ///
    /// # Errors
    /// Reason to drop it.
    pub fn read(frame: &[u8]) -> Result<Option<Packet>, &'static str> {
        if frame.len() < ETHERNET || u16_at(frame, 12) != ethertype::IPV4 {
            return Ok(None);
        }
        let ip = Ipv4View::new(&frame[ETHERNET..]).map_err(|_| MALFORMED)?;
        if ip.is_fragment() {
            return Err(FRAGMENT);
        }
        let payload = ip.payload();
        let start = ETHERNET + ip.header_length();
        let at = Offsets {
            ip: ETHERNET,
            payload: start,
            end: start + payload.len(),
        };
        let number = ip.protocol();
        let header = match number {
            protocol::TCP => TCP_HEADER,
            protocol::UDP => UDP_HEADER,
            protocol::ICMP => ICMP_HEADER,
            _ => 0,
        };
        if payload.len() < header {
            return Err(MALFORMED);
        }
        let kind = match number {
            protocol::TCP => Kind::Tcp(payload[13]),
            protocol::UDP => Kind::Udp,
            protocol::ICMP => match (query(payload[0]), payload[0]) {
                (Some(false), _) => Kind::Request,
                (Some(true), _) => Kind::Reply,
                (None, 3..=5 | 11 | 12) => Kind::Error(Quote::read(frame, at)?),
                _ => Kind::OtherIcmp,
            },
            _ => Kind::Other,
        };
        let [from, to] = ids(number, payload, kind == Kind::Request);
        let end = |address, id| Endpoint { address, id };
        Ok(Some(Packet {
            protocol: number,
            source: end(ip.source(), from),
            destination: end(ip.destination(), to),
            kind,
            at,
        }))
    }

    /// Replaces an endpoint, and corrects the checksums.
    pub fn rewrite(&self, frame: &mut [u8], end: End, new: Endpoint) {
        let is_query = matches!(self.kind, Kind::Request | Kind::Reply);
        rewrite(frame, self.protocol, self.at, end, new, is_query);
    }

    /// Replaces an endpoint of the packet that an error quotes, and an address of the error (RFC
    /// 5508 REQ-4 and REQ-5), and corrects all checksums.
    pub fn rewrite_error(
        &self,
        frame: &mut [u8],
        quote: &Quote,
        (inner, new): (End, Endpoint),
        (outer, address): (End, Ipv4Addr),
    ) {
        // The checksum of the error covers all that changes in the quoted packet: its IP header,
        // and of its payload the ports and the checksum, as far as the quote has them.
        let from = quote.at.ip;
        let until = quote.at.end.min(quote.at.payload + TCP_HEADER);
        let until = from + ((until - from) & !1);
        let sum = |frame: &[u8]| {
            let bytes = frame.get(from..until).unwrap_or_default();
            Sum::default().plus(bytes).checksum()
        };
        let before = sum(frame);
        rewrite(frame, quote.protocol, quote.at, inner, new, true);
        let after = sum(frame);
        // Complements of both sums stand for the bytes; exchanged, they are the sums themselves.
        let (old, new) = ((!before).to_be_bytes(), (!after).to_be_bytes());
        update(frame, self.at.payload + 2, self.at.end, &old, &new, false);
        let plain = Endpoint { address, id: 0 };
        rewrite(frame, self.protocol, self.at, outer, plain, false);
    }
}

impl Quote {
    /// Reads the packet that an error quotes, and checks checksums (RFC 5508 REQ-3).
    fn read(frame: &[u8], outer: Offsets) -> Result<Quote, &'static str> {
        let message = &frame[outer.payload..outer.end];
        if !Sum::default().plus(message).is_valid() {
            return Err(BAD_CHECKSUM);
        }
        let ip = Ipv4View::new_cut(&message[ICMP_HEADER..]).map_err(|_| MALFORMED)?;
        if !ip.is_checksum_valid() {
            return Err(BAD_CHECKSUM);
        }
        if ip.fragment_offset() > 0 {
            return Err(FRAGMENT);
        }
        let number = ip.protocol();
        let payload = ip.payload();
        let has_id = matches!(number, protocol::TCP | protocol::UDP | protocol::ICMP);
        if has_id && payload.len() < 8 {
            return Err(MALFORMED);
        }
        let query = match number {
            // An error about an error is not sent (RFC 1122 section 3.2.2).
            protocol::ICMP => Some(query(payload[0]).ok_or(MALFORMED)?),
            _ => None,
        };
        let [from, to] = ids(number, payload, query == Some(false));
        let start = outer.payload + ICMP_HEADER;
        let end = |address, id| Endpoint { address, id };
        Ok(Quote {
            protocol: number,
            source: end(ip.source(), from),
            destination: end(ip.destination(), to),
            is_request: query == Some(false),
            is_reply: query == Some(true),
            at: Offsets {
                ip: start,
                payload: start + ip.header_length(),
                end: start + ip.header_length() + payload.len(),
            },
        })
    }
}

/// Corrects a checksum, unless a packet ends before it.
fn update(frame: &mut [u8], at: usize, end: usize, old: &[u8], new: &[u8], is_udp: bool) {
    if at + 2 > end {
        return;
    }
    let Some(field) = frame.get_mut(at..at + 2) else {
        return;
    };
    let checksum = u16::from_be_bytes([field[0], field[1]]);
    // Without a checksum it stays so; one that becomes 0 is sent as ones (RFC 768).
    if is_udp && checksum == 0 {
        return;
    }
    let checksum = match update_bytes(checksum, old, new) {
        0 if is_udp => 0xFFFF,
        checksum => checksum,
    };
    field.copy_from_slice(&checksum.to_be_bytes());
}

fn rewrite(frame: &mut [u8], number: u8, at: Offsets, end: End, new: Endpoint, with_id: bool) {
    let (place, port) = match end {
        End::Source => (at.ip + SOURCE, at.payload),
        End::Destination => (at.ip + DESTINATION, at.payload + 2),
    };
    let Some(address) = frame.get_mut(place..place + 4) else {
        return;
    };
    let mut old = [0; 6];
    old[..4].copy_from_slice(address);
    let mut fresh = [0; 6];
    fresh[..4].copy_from_slice(&new.address.octets());
    address.copy_from_slice(&fresh[..4]);
    update(frame, at.ip + 10, at.payload, &old[..4], &fresh[..4], false);
    // Where the port or identifier is, and the checksum that covers it, with the address or
    // without.
    let (id, checksum, covers_address) = match number {
        protocol::TCP => (port, at.payload + 16, true),
        protocol::UDP => (port, at.payload + 6, true),
        protocol::ICMP if with_id => (at.payload + 4, at.payload + 2, false),
        // These have checksums over the addresses, too (RFC 4340 section 9.1, RFC 3828 section
        // 3.1).
        protocol::DCCP | protocol::UDP_LITE => {
            let is_udp = number == protocol::UDP_LITE;
            update(
                frame,
                at.payload + 6,
                at.end,
                &old[..4],
                &fresh[..4],
                is_udp,
            );
            return;
        }
        _ => return,
    };
    let Some(field) = frame.get_mut(id..id + 2) else {
        return;
    };
    old[4..].copy_from_slice(field);
    fresh[4..].copy_from_slice(&new.id.to_be_bytes());
    field.copy_from_slice(&fresh[4..]);
    let from = if covers_address { 0 } else { 4 };
    let is_udp = number == protocol::UDP;
    update(
        frame,
        checksum,
        at.end,
        &old[from..],
        &fresh[from..],
        is_udp,
    );
}
