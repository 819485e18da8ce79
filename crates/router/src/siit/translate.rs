//! Rewriting of packets.

use super::extensions::{Extensions, FRAGMENT_HEADER, Fragment, MALFORMED};
use super::messages::{self, Translation};
use super::{Siit, Verdict};
use core::net::{Ipv4Addr, Ipv6Addr};
use node::Frame;
use packet::checksum::{Sum, checksum, update_bytes};
use packet::ethernet::ethertype;
use packet::ipv4::{Ipv4View, Options, protocol};
use packet::ipv6::Ipv6View;

const ETHERNET: usize = 14;
const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;
const ICMP_HEADER: usize = 8;
/// Minimum MTU of IPv6, bytes.
const MIN_MTU_V6: u32 = 1_280;
/// Maximum length of an ICMP error, with its IP header (RFC 1812 section 4.3.2.3, RFC 4443 section
/// 2.4).
const MAX_ERROR_V4: usize = 576;
const MAX_ERROR_V6: usize = 1_280;
/// Up to this length an IPv4 packet may be fragmented (RFC 7915 section 5.1).
const MAX_FRAGMENTABLE: usize = 1_260;

const NO_ADDRESS: &str = "address without one of the other version";
const NO_MESSAGE: &str = "ICMP message that the other version does not have";
const SOURCE_ROUTE: &str = "source route";
const FRAGMENTED: &str = "fragment that needs the whole packet";
const BAD_CHECKSUM: &str = "ICMP error with a wrong checksum";
const FOREIGN: &str = "protocol that the other version alone has";
const NESTED: &str = "ICMP error about an ICMP error";

/// A packet's place in a frame, and its meaning.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Offset of its IP header.
    at: usize,
    /// Whether it is quoted in an ICMP error, and may be cut off.
    is_quoted: bool,
    /// Whether it comes from IPv6 and goes back there: its sender's address is embedded, so that answers come this way, too
    /// (RFC 7757 section 4.2).
    is_hairpin: bool,
    /// Whether it came in fragments, and may become some again.
    is_reassembled: bool,
}

const WHOLE: Place = Place {
    at: ETHERNET,
    is_quoted: false,
    is_hairpin: false,
    is_reassembled: false,
};

/// The part of an IPv4 header that the checksum of its payload covers.
fn pseudo_v4(source: Ipv4Addr, destination: Ipv4Addr) -> [u8; 40] {
    let mut bytes = [0; 40];
    bytes[..4].copy_from_slice(&source.octets());
    bytes[4..8].copy_from_slice(&destination.octets());
    bytes
}

/// The same, with length and next header only for ICMPv6: others have these in both versions.
fn pseudo_v6(source: Ipv6Addr, destination: Ipv6Addr, icmp_length: Option<usize>) -> [u8; 40] {
    let mut bytes = [0; 40];
    bytes[..16].copy_from_slice(&source.octets());
    bytes[16..32].copy_from_slice(&destination.octets());
    if let Some(length) = icmp_length {
        bytes[32..36].copy_from_slice(&(length as u32).to_be_bytes());
        bytes[39] = protocol::ICMPV6;
    }
    bytes
}

/// Corrects a checksum if the frame has it.
fn correct(frame: &mut [u8], at: usize, number: u8, old: &[u8], new: &[u8]) {
    let Some(field) = frame.get_mut(at..at + 2) else {
        return;
    };
    let before = u16::from_be_bytes([field[0], field[1]]);
    // No checksum stays none: IPv6 has that for tunnels (RFC 6935).
    if number == protocol::UDP && before == 0 {
        return;
    }
    let is_udp = matches!(number, protocol::UDP | protocol::UDP_LITE);
    let after = match update_bytes(before, old, new) {
        0 if is_udp => 0xFFFF,
        after => after,
    };
    field.copy_from_slice(&after.to_be_bytes());
}

/// Offset of the checksum in the header of a protocol that has a pseudo header.
fn checksum_at(number: u8) -> Option<usize> {
    match number {
        protocol::TCP => Some(16),
        protocol::UDP | protocol::UDP_LITE | protocol::DCCP => Some(6),
        _ => None,
    }
}

/// Replaces `old` bytes at an offset by `new` zero bytes.
fn replace(frame: &mut Frame, at: usize, old: usize, new: usize) {
    if new > old {
        frame.insert(at, new - old);
    } else {
        frame.remove(at, old - new);
    }
    frame[at..at + new].fill(0);
}

fn message_at(frame: &[u8], at: usize) -> Result<messages::Message, &'static str> {
    let header: &[u8; ICMP_HEADER] = frame
        .get(at..)
        .and_then(|message| message.first_chunk())
        .ok_or(MALFORMED)?;
    let [kind, code, _, _, rest @ ..] = *header;
    Ok((kind, code, u32::from_be_bytes(rest)))
}

fn put_message(frame: &mut [u8], at: usize, (kind, code, rest): messages::Message) {
    frame[at] = kind;
    frame[at + 1] = code;
    frame[at + 2..at + 4].fill(0);
    frame[at + 4..at + 8].copy_from_slice(&rest.to_be_bytes());
}

impl Siit {
    /// Translates an IPv4 packet in an Ethernet frame to IPv6.
    pub fn to_v6(&self, frame: &mut Frame) -> Verdict {
        self.translate_v4(frame, WHOLE)
    }

    /// Translates an IPv4 packet that has been an IPv6 packet back to IPv6 (RFC 7757 section 4.2).
    pub fn hairpin(&self, frame: &mut Frame) -> Verdict {
        let is_hairpin = true;
        self.translate_v4(
            frame,
            Place {
                is_hairpin,
                ..WHOLE
            },
        )
    }

    fn translate_v4(&self, frame: &mut Frame, place: Place) -> Verdict {
        let kind = frame.get(12..14);
        if kind != Some(&ethertype::IPV4.to_be_bytes()) {
            return Verdict::Drop(MALFORMED);
        }
        match self.up(frame, place) {
            Ok(may_fragment) => {
                frame[12..14].copy_from_slice(&ethertype::IPV6.to_be_bytes());
                Verdict::Translated { may_fragment }
            }
            Err(reason) => Verdict::Drop(reason),
        }
    }

    /// Translates an IPv6 packet in an Ethernet frame to IPv4.
    pub fn to_v4(&mut self, frame: &mut Frame) -> Verdict {
        self.translate_v6(frame, WHOLE)
    }

    /// Translates an IPv6 packet that was reassembled to IPv4: routers may fragment it.
    pub fn reassembled_to_v4(&mut self, frame: &mut Frame) -> Verdict {
        let is_reassembled = true;
        self.translate_v6(
            frame,
            Place {
                is_reassembled,
                ..WHOLE
            },
        )
    }

    fn translate_v6(&mut self, frame: &mut Frame, place: Place) -> Verdict {
        let kind = frame.get(12..14);
        if kind != Some(&ethertype::IPV6.to_be_bytes()) {
            return Verdict::Drop(MALFORMED);
        }
        match self.down(frame, place) {
            Ok(()) => {
                frame[12..14].copy_from_slice(&ethertype::IPV4.to_be_bytes());
                Verdict::Translated {
                    may_fragment: false,
                }
            }
            Err(reason) => Verdict::Drop(reason),
        }
    }

    /// From IPv4 to IPv6 (RFC 7915 section 4); whether the packet may be fragmented.
    fn up(&self, frame: &mut Frame, place: Place) -> Result<bool, &'static str> {
        let Place { at, is_quoted, .. } = place;
        let ip = match is_quoted {
            true => Ipv4View::new_cut(&frame[at..]),
            false => Ipv4View::new(&frame[at..]),
        };
        let ip = ip.map_err(|_| MALFORMED)?;
        let is_route = |(kind, value): (u8, &[u8])| {
            // Route and pointer: the route is used up when the pointer is after it.
            let left = value
                .first()
                .is_none_or(|&pointer| usize::from(pointer) <= value.len() + 2);
            matches!(kind, 131 | 137) && left
        };
        if !is_quoted && Options(ip.options()).any(is_route) {
            return Err(SOURCE_ROUTE);
        }
        let (source, destination) = (ip.source(), ip.destination());
        let embedded = |address| self.config.prefix.embed(address);
        let own = |address| self.address_v6(address);
        let (from, to) = match (place.is_hairpin, is_quoted) {
            (false, _) => (own(source), own(destination)),
            (true, false) => (embedded(source), own(destination)),
            (true, true) => (own(source), embedded(destination)),
        };
        let (from, to) = from.zip(to).ok_or(NO_ADDRESS)?;
        let header = ip.header_length();
        let length = usize::from(ip.total_length()).saturating_sub(header);
        let present = ip.payload().len();
        let fragment = ip.is_fragment().then(|| Fragment {
            offset: (ip.fragment_offset() / 8) as u16,
            more: ip.more_fragments(),
            identification: ip.identification().into(),
        });
        let (class, hops, number) = (ip.traffic_class(), ip.hop_limit(), ip.protocol());
        let may_fragment = !ip.dont_fragment() && fragment.is_none();
        let payload = at + header;
        frame.resize(payload + present);
        let is_later = fragment.is_some_and(|fragment| fragment.offset > 0);
        let mut next = number;
        // IPv6 would take these for its own headers.
        if matches!(
            number,
            protocol::HOP_BY_HOP
                | protocol::ROUTING
                | protocol::FRAGMENT
                | protocol::DESTINATION
                | protocol::ICMPV6
        ) {
            return Err(FOREIGN);
        }
        if number == protocol::ICMP {
            if fragment.is_some() {
                return Err(FRAGMENTED);
            }
            next = protocol::ICMPV6;
            self.icmp_up(frame, payload, from, to, length, place)?;
        } else if let Some(field) = checksum_at(number).filter(|_| !is_later) {
            let none =
                number == protocol::UDP && frame.get(payload + 6..payload + 8) == Some(&[0, 0]);
            if none && fragment.is_some() {
                return Err(FRAGMENTED);
            }
            let new = pseudo_v6(from, to, None);
            if none && !is_quoted {
                let sum = ip::header::pseudo(from.into(), to.into(), number).sum(length);
                let sum = sum.plus(&frame[payload..]).udp_checksum();
                frame[payload + 6..payload + 8].copy_from_slice(&sum.to_be_bytes());
            } else if !none {
                let old = pseudo_v4(source, destination);
                correct(frame, payload + field, number, &old, &new);
            }
        }
        // An error about a packet has another length than before.
        let length = match is_quoted {
            true => length,
            false => frame.len() - payload,
        };
        let extension = if fragment.is_some() {
            FRAGMENT_HEADER
        } else {
            0
        };
        replace(frame, at, header, V6_HEADER + extension);
        let ip = &mut frame[at..];
        ip[0] = 0x60 | class >> 4;
        ip[1] = class << 4;
        let total = u16::try_from(length + extension).map_err(|_| MALFORMED)?;
        ip[4..6].copy_from_slice(&total.to_be_bytes());
        ip[6] = next;
        ip[7] = hops;
        ip[8..24].copy_from_slice(&from.octets());
        ip[24..40].copy_from_slice(&to.octets());
        if let Some(fragment) = fragment {
            ip[6] = protocol::FRAGMENT;
            ip[40] = next;
            let place = fragment.offset << 3 | u16::from(fragment.more);
            ip[42..44].copy_from_slice(&place.to_be_bytes());
            ip[44..48].copy_from_slice(&fragment.identification.to_be_bytes());
        }
        Ok(may_fragment)
    }

    /// Translates an ICMP message, from `payload` to the frame's end, to ICMPv6.
    fn icmp_up(
        &self,
        frame: &mut Frame,
        payload: usize,
        from: Ipv6Addr,
        to: Ipv6Addr,
        length: usize,
        place: Place,
    ) -> Result<(), &'static str> {
        let message = message_at(frame, payload)?;
        let translated = match messages::to_v6(message) {
            Translation::None => return Err(NO_MESSAGE),
            Translation::Echo(kind) => {
                let mut old = [0; 42];
                let mut new = [0; 42];
                old[..2].copy_from_slice(&frame[payload..payload + 2]);
                new[0] = kind;
                new[2..].copy_from_slice(&pseudo_v6(from, to, Some(length)));
                frame[payload] = kind;
                correct(frame, payload + 2, protocol::ICMPV6, &old, &new);
                return Ok(());
            }
            Translation::Error(_) | Translation::TooBig(_) if place.is_quoted => {
                return Err(NESTED);
            }
            Translation::Error(message) => message,
            Translation::TooBig(mtu) => {
                let quoted = frame.get(payload + 10..payload + 12).ok_or(MALFORMED)?;
                let quoted = u16::from_be_bytes([quoted[0], quoted[1]]);
                let mtu = if mtu == 0 {
                    messages::plateau(quoted.into())
                } else {
                    mtu
                };
                let of_v4 = u32::from(self.config.mtu_v4) + 20;
                let mtu = (mtu + 20).min(self.config.mtu_v6.into()).min(of_v4);
                (2, 0, mtu.max(MIN_MTU_V6))
            }
        };
        if !Sum::default().plus(&frame[payload..]).is_valid() {
            return Err(BAD_CHECKSUM);
        }
        let at = payload + ICMP_HEADER;
        let is_quoted = true;
        self.up(
            frame,
            Place {
                at,
                is_quoted,
                ..place
            },
        )?;
        let max = payload + MAX_ERROR_V6 - V6_HEADER;
        frame.resize(frame.len().min(max));
        put_message(frame, payload, translated);
        let sum = ip::header::pseudo(from.into(), to.into(), protocol::ICMPV6);
        let sum = sum
            .sum(frame.len() - payload)
            .plus(&frame[payload..])
            .checksum();
        frame[payload + 2..payload + 4].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }

    /// From IPv6 to IPv4 (RFC 7915 section 5).
    fn down(&mut self, frame: &mut Frame, place: Place) -> Result<(), &'static str> {
        let Place { at, is_quoted, .. } = place;
        let ip = match is_quoted {
            true => Ipv6View::new_cut(&frame[at..]),
            false => Ipv6View::new(&frame[at..]),
        };
        let ip = ip.map_err(|_| MALFORMED)?;
        let (source, destination) = (ip.source(), ip.destination());
        let (class, hops) = (ip.traffic_class(), ip.hop_limit());
        let stated = usize::from(ip.payload_length());
        let present = ip.payload().len();
        let extensions = Extensions::read(ip.next_header(), ip.payload())?;
        if extensions.has_route && !is_quoted {
            return Err(SOURCE_ROUTE);
        }
        let number = extensions.next;
        let is_error = number == protocol::ICMPV6
            && ip
                .payload()
                .get(extensions.length)
                .is_some_and(|kind| *kind < 128);
        let to = self.address_v4(destination).ok_or(NO_ADDRESS)?;
        let router = self.config.router.filter(|_| is_error && !is_quoted);
        let from = self.address_v4(source).or(router).ok_or(NO_ADDRESS)?;
        let header = V6_HEADER + extensions.length;
        let length = stated.checked_sub(extensions.length).ok_or(MALFORMED)?;
        let payload = at + header;
        frame.resize(at + V6_HEADER + present);
        let fragment = extensions.fragment;
        let is_later = fragment.is_some_and(|fragment| fragment.offset > 0);
        let mut next = number;
        if number == protocol::ICMP {
            return Err(FOREIGN);
        }
        if number == protocol::ICMPV6 {
            // One that is the whole packet is none (RFC 6946).
            if fragment.is_some_and(|fragment| fragment.offset > 0 || fragment.more) {
                return Err(FRAGMENTED);
            }
            next = protocol::ICMP;
            self.icmp_down(frame, payload, source, destination, length, is_quoted)?;
        } else if let Some(field) = checksum_at(number).filter(|_| !is_later) {
            let old = pseudo_v6(source, destination, None);
            let new = pseudo_v4(from, to);
            correct(frame, payload + field, number, &old, &new);
        }
        let length = match is_quoted {
            true => length,
            false => frame.len() - payload,
        };
        let total = u16::try_from(V4_HEADER + length).map_err(|_| MALFORMED)?;
        replace(frame, at, header, V4_HEADER);
        let ip = &mut frame[at..];
        ip[0] = 0x45;
        ip[1] = class;
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        let (identification, place) = match fragment {
            Some(fragment) => {
                let place = fragment.offset | u16::from(fragment.more) << 13;
                (fragment.identification as u16, place)
            }
            None if usize::from(total) > MAX_FRAGMENTABLE && !place.is_reassembled => (0, 1 << 14),
            None => {
                self.identification = self.identification.wrapping_add(1);
                (self.identification, 0)
            }
        };
        ip[4..6].copy_from_slice(&identification.to_be_bytes());
        ip[6..8].copy_from_slice(&place.to_be_bytes());
        ip[8] = hops;
        ip[9] = next;
        ip[12..16].copy_from_slice(&from.octets());
        ip[16..20].copy_from_slice(&to.octets());
        let sum = checksum(&ip[..V4_HEADER]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }

    /// Translates an ICMPv6 message, from `payload` to the frame's end, to ICMP.
    fn icmp_down(
        &mut self,
        frame: &mut Frame,
        payload: usize,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        length: usize,
        is_quoted: bool,
    ) -> Result<(), &'static str> {
        let message = message_at(frame, payload)?;
        let translated = match messages::to_v4(message) {
            Translation::None => return Err(NO_MESSAGE),
            Translation::Echo(kind) => {
                let mut old = [0; 42];
                let mut new = [0; 42];
                old[..2].copy_from_slice(&frame[payload..payload + 2]);
                old[2..].copy_from_slice(&pseudo_v6(source, destination, Some(length)));
                new[0] = kind;
                frame[payload] = kind;
                correct(frame, payload + 2, protocol::ICMP, &old, &new);
                return Ok(());
            }
            Translation::Error(_) | Translation::TooBig(_) if is_quoted => return Err(NESTED),
            Translation::Error(message) => message,
            Translation::TooBig(mtu) => {
                let of_v6 = u32::from(self.config.mtu_v6) - 20;
                let mtu = mtu.saturating_sub(20).min(of_v6);
                (3, 4, mtu.min(self.config.mtu_v4.into()))
            }
        };
        let sum = ip::header::pseudo(source.into(), destination.into(), protocol::ICMPV6);
        let sum = sum.sum(frame.len() - payload).plus(&frame[payload..]);
        if !sum.is_valid() {
            return Err(BAD_CHECKSUM);
        }
        let at = payload + ICMP_HEADER;
        let is_quoted = true;
        self.down(
            frame,
            Place {
                at,
                is_quoted,
                ..WHOLE
            },
        )?;
        let max = payload + MAX_ERROR_V4 - V4_HEADER;
        frame.resize(frame.len().min(max));
        put_message(frame, payload, translated);
        let sum = checksum(&frame[payload..]);
        frame[payload + 2..payload + 4].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}
