//! Reading messages from frames.

use super::{Family, Message, Query, Record, RecordKind, Version};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::Time;
use packet::checksum::{Pseudo, Sum};
use packet::ethernet::ethertype;

const ICMPV6: u8 = 58;
const IGMP: u8 = 2;

/// A message, and the source of its packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Source address.
    pub source: IpAddr,
    /// The message.
    pub message: Message,
}

/// Reason why a message is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMessage(pub &'static str);

const SHORT: BadMessage = BadMessage("membership message cut short");
const CHECKSUM: BadMessage = BadMessage("membership message with a wrong checksum");
const GROUP: BadMessage = BadMessage("membership of an address that is no group");

/// Reads the message of a frame whose IP packet begins at `at`; `None` when it has no IGMP and no MLD.
///
/// # Errors
/// When the message is cut short, its checksum is wrong, it names a group that is none, or an MLD message has
/// another hop limit than 1 or a source that is not link-local (RFC 3810 section 6.2).
pub fn parse_frame(frame: &[u8], at: usize) -> Option<Result<Received, BadMessage>> {
    let kind = frame.get(at.checked_sub(2)?..at)?;
    let packet = &frame[at..];
    match u16::from_be_bytes([kind[0], kind[1]]) {
        ethertype::IPV4 => igmp(packet),
        ethertype::IPV6 => mld(packet),
        _ => None,
    }
}

fn igmp(packet: &[u8]) -> Option<Result<Received, BadMessage>> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let length = usize::from(header[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF;
    if header[0] >> 4 != 4 || header[9] != IGMP || fragment != 0 || length < 20 {
        return None;
    }
    let Some(body) = packet.get(length..total) else {
        return Some(Err(SHORT));
    };
    // Unknown kinds are for others, such as DVMRP (RFC 4541 section 2.1.1 3).
    if !matches!(body.first(), Some(0x11 | 0x12 | 0x16 | 0x17 | 0x22)) {
        return None;
    }
    let sums = [&packet[..length], body].map(|bytes| Sum::default().plus(bytes).is_valid());
    if sums.contains(&false) {
        return Some(Err(CHECKSUM));
    }
    let source = Ipv4Addr::from([header[12], header[13], header[14], header[15]]);
    let message = igmp_message(body);
    Some(message.map(|message| Received {
        source: source.into(),
        message,
    }))
}

fn igmp_message(body: &[u8]) -> Result<Message, BadMessage> {
    let head: &[u8; 8] = body.first_chunk().ok_or(SHORT)?;
    let address = Ipv4Addr::from([head[4], head[5], head[6], head[7]]);
    let group = || match address.is_multicast() {
        true => Ok(IpAddr::from(address)),
        false => Err(GROUP),
    };
    match head[0] {
        0x11 => {
            let (version, code) = match (body.len(), head[1]) {
                (8, 0) => (Version::One, 100),
                (8, code) => (Version::Two, u32::from(code)),
                (12.., code) => (Version::Three, float(code.into(), 7)),
                _ => return Err(SHORT),
            };
            let group = if address.is_unspecified() {
                None
            } else {
                Some(group()?)
            };
            let max_response = Time::from_ms(100) * code.into();
            query(version, group, max_response, &body[8..], Family::V4)
        }
        0x12 => Ok(Message::Report(Version::One, group()?)),
        0x16 => Ok(Message::Report(Version::Two, group()?)),
        0x17 => Ok(Message::Leave(group()?)),
        _ => records(body, Family::V4),
    }
}

fn mld(packet: &[u8]) -> Option<Result<Received, BadMessage>> {
    let header: &[u8; 40] = packet.first_chunk()?;
    let total = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 != 6 {
        return None;
    }
    // MLD has a router alert in a hop-by-hop header (RFC 2711); some senders leave it out.
    let at = match header[6] {
        ICMPV6 => 40,
        0 if *packet.get(40)? == ICMPV6 => 48 + usize::from(*packet.get(41)?) * 8,
        _ => return None,
    };
    if !matches!(packet.get(at)?, 130..=132 | 143) {
        return None;
    }
    let Some(body) = packet.get(at..total) else {
        return Some(Err(SHORT));
    };
    let address = |at: usize| -> [u8; 16] { core::array::from_fn(|index| header[at + index]) };
    let (source, to) = (address(8), address(24));
    let pseudo = Pseudo::ipv6(source, to, ICMPV6);
    if !pseudo.sum(body.len()).plus(body).is_valid() {
        return Some(Err(CHECKSUM));
    }
    let source = Ipv6Addr::from(source);
    let may_be = source.is_unspecified() && body[0] != 130;
    if header[7] != 1 || !(source.is_unicast_link_local() || may_be) {
        return Some(Err(BadMessage("MLD from beyond the link")));
    }
    let message = mld_message(body);
    Some(message.map(|message| Received {
        source: source.into(),
        message,
    }))
}

fn mld_message(body: &[u8]) -> Result<Message, BadMessage> {
    if body[0] == 143 {
        return records(body, Family::V6);
    }
    let head: &[u8; 24] = body.first_chunk().ok_or(SHORT)?;
    let bytes: [u8; 16] = core::array::from_fn(|index| head[8 + index]);
    let address = Ipv6Addr::from(bytes);
    let group = || match address.is_multicast() {
        true => Ok(IpAddr::from(address)),
        false => Err(GROUP),
    };
    match head[0] {
        130 => {
            let code = u16::from_be_bytes([head[4], head[5]]);
            let (version, code) = match body.len() {
                24 => (Version::Two, u32::from(code)),
                28.. => (Version::Three, float(code, 15)),
                _ => return Err(SHORT),
            };
            let group = if address.is_unspecified() {
                None
            } else {
                Some(group()?)
            };
            let max_response = Time::from_ms(code.into());
            query(version, group, max_response, &body[24..], Family::V6)
        }
        131 => Ok(Message::Report(Version::Two, group()?)),
        _ => Ok(Message::Leave(group()?)),
    }
}

/// A code with an exponent of 3 bits, and a mantissa below it, from `1 << point` on (RFC 3376 section 4.1.1, RFC 3810
/// section 5.1.3).
fn float(code: u16, point: u32) -> u32 {
    let code = u32::from(code);
    if code >> point == 0 {
        return code;
    }
    let bits = point - 3;
    let mantissa = code & ((1 << bits) - 1);
    let exponent = code >> bits & 7;
    (mantissa | 1 << bits) << (exponent + 3)
}

fn query(
    version: Version,
    group: Option<IpAddr>,
    max_response: Time,
    rest: &[u8],
    family: Family,
) -> Result<Message, BadMessage> {
    let mut query = Query {
        version,
        group,
        sources: Vec::new(),
        max_response,
        suppress: false,
        robustness: 0,
        interval: Time::ZERO,
    };
    if version == Version::Three {
        let fields: &[u8; 4] = rest.first_chunk().ok_or(SHORT)?;
        query.suppress = fields[0] & 8 != 0;
        query.robustness = fields[0] & 7;
        query.interval = Time::from_secs(float(fields[1].into(), 7).into());
        let count = u16::from_be_bytes([fields[2], fields[3]]);
        query.sources = addresses(&rest[4..], count.into(), family)?;
    }
    Ok(Message::Query(query))
}

fn size(family: Family) -> usize {
    match family {
        Family::V4 => 4,
        Family::V6 => 16,
    }
}

fn addresses(bytes: &[u8], count: usize, family: Family) -> Result<Vec<IpAddr>, BadMessage> {
    let bytes = bytes.get(..count * size(family)).ok_or(SHORT)?;
    Ok(match family {
        Family::V4 => bytes.as_chunks::<4>().0.iter().map(|&a| a.into()).collect(),
        Family::V6 => bytes
            .as_chunks::<16>()
            .0
            .iter()
            .map(|&a| a.into())
            .collect(),
    })
}

fn records(body: &[u8], family: Family) -> Result<Message, BadMessage> {
    let head: &[u8; 8] = body.first_chunk().ok_or(SHORT)?;
    let count = u16::from_be_bytes([head[6], head[7]]);
    let (mut rest, mut records) = (&body[8..], Vec::new());
    for _ in 0..count {
        let fields: &[u8; 4] = rest.first_chunk().ok_or(SHORT)?;
        let sources = usize::from(u16::from_be_bytes([fields[2], fields[3]]));
        let group = addresses(&rest[4..], 1, family)?[0];
        let sources = addresses(&rest[4 + size(family)..], sources, family)?;
        let length = 4 + size(family) * (1 + sources.len()) + 4 * usize::from(fields[1]);
        rest = rest.get(length..).ok_or(SHORT)?;
        if !group.is_multicast() {
            return Err(GROUP);
        }
        let kind = match fields[0] {
            1 => RecordKind::IsInclude,
            2 => RecordKind::IsExclude,
            3 => RecordKind::ToInclude,
            4 => RecordKind::ToExclude,
            5 => RecordKind::Allow,
            6 => RecordKind::Block,
            // Unknown kinds are ignored (RFC 3376 section 4.2.12).
            _ => continue,
        };
        records.push(Record {
            kind,
            group,
            sources,
        });
    }
    Ok(Message::Records(records))
}
