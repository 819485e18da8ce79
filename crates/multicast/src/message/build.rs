//! Writing messages into frames.

use super::{Family, Message, Query, Record, Version, mac_of};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::{Frame, Time};
use packet::checksum::{Pseudo, checksum};
use packet::ethernet::{Mac, ethertype};

/// Bytes of Ethernet and IPv4 headers, the latter with a router alert.
const IGMP_AT: usize = 14 + 24;
/// Bytes of Ethernet and IPv6 headers, and of a hop-by-hop header with a router alert.
const MLD_AT: usize = 14 + 48;

/// The address that a message is sent to.
pub fn destination(message: &Message, family: Family) -> IpAddr {
    let link = |v4: u8, v6: u16| match family {
        Family::V4 => Ipv4Addr::new(224, 0, 0, v4).into(),
        Family::V6 => Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, v6).into(),
    };
    match message {
        Message::Query(query) => query.group.unwrap_or(family.all_hosts()),
        Message::Report(_, group) => *group,
        // RFC 2236 section 3: all routers.
        Message::Leave(_) => link(2, 2),
        Message::Records(_) => link(22, 0x16),
    }
}

/// Appends the frame of a message from an address, whose family decides for IGMP or MLD, to the group's MAC address.
pub fn build_frame(message: &Message, source: IpAddr, mac: Mac, frame: &mut Frame) {
    let family = Family::of(source);
    let to = destination(message, family);
    frame.extend(&mac_of(to).0);
    frame.extend(&mac.0);
    match (source, to) {
        (IpAddr::V4(source), IpAddr::V4(to)) => {
            frame.extend(&ethertype::IPV4.to_be_bytes());
            // Precedence of internetwork control, hop limit 1, router alert (RFC 3376 section 4).
            frame.extend(&[0x46, 0xC0, 0, 0, 0, 0, 0x40, 0, 1, 2, 0, 0]);
            frame.extend(&source.octets());
            frame.extend(&to.octets());
            frame.extend(&[0x94, 4, 0, 0]);
            igmp(message, frame);
            let total = (frame.len() - 14) as u16;
            frame[16..18].copy_from_slice(&total.to_be_bytes());
            let sum = checksum(&frame[14..IGMP_AT]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            let sum = checksum(&frame[IGMP_AT..]);
            frame[IGMP_AT + 2..IGMP_AT + 4].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(source), IpAddr::V6(to)) => {
            frame.extend(&ethertype::IPV6.to_be_bytes());
            frame.extend(&[0x60, 0, 0, 0, 0, 0, 0, 1]);
            frame.extend(&source.octets());
            frame.extend(&to.octets());
            frame.extend(&[58, 0, 5, 2, 0, 0, 1, 0]);
            mld(message, frame);
            let length = (frame.len() - 54) as u16;
            frame[18..20].copy_from_slice(&length.to_be_bytes());
            let body = &frame[MLD_AT..];
            let pseudo = Pseudo::ipv6(source.octets(), to.octets(), 58);
            let sum = pseudo.sum(body.len()).plus(body).checksum();
            frame[MLD_AT + 2..MLD_AT + 4].copy_from_slice(&sum.to_be_bytes());
        }
        _ => unreachable!("the destination has the family of the source"),
    }
    let length = frame.len().max(packet::ethernet::MIN_WIRE_FRAME_LEN);
    frame.resize(length);
}

fn put(address: IpAddr, frame: &mut Frame) {
    match address {
        IpAddr::V4(address) => frame.extend(&address.octets()),
        IpAddr::V6(address) => frame.extend(&address.octets()),
    }
}

fn igmp(message: &Message, frame: &mut Frame) {
    match message {
        Message::Query(query) => {
            let tenths = query.max_response.as_ps() / 100_000_000_000;
            let code = match query.version {
                Version::One => 0,
                Version::Two => tenths.clamp(1, 255) as u16,
                Version::Three => float(tenths, 7),
            };
            frame.extend(&[0x11, code as u8, 0, 0]);
            put(query.group.unwrap_or(Ipv4Addr::UNSPECIFIED.into()), frame);
            sources(query, frame);
        }
        Message::Report(version, group) => {
            let kind = if *version == Version::One { 0x12 } else { 0x16 };
            frame.extend(&[kind, 0, 0, 0]);
            put(*group, frame);
        }
        Message::Leave(group) => {
            frame.extend(&[0x17, 0, 0, 0]);
            put(*group, frame);
        }
        Message::Records(all) => records(0x22, all, frame),
    }
}

fn mld(message: &Message, frame: &mut Frame) {
    let mut plain = |kind: u8, code: u16, group: IpAddr| {
        frame.extend(&[kind, 0, 0, 0]);
        frame.extend(&code.to_be_bytes());
        frame.extend(&[0, 0]);
        put(group, frame);
    };
    match message {
        Message::Query(query) => {
            let ms = query.max_response.as_ps() / 1_000_000_000;
            let code = match query.version {
                Version::Three => float(ms, 15),
                _ => ms.min(u16::MAX.into()) as u16,
            };
            plain(
                130,
                code,
                query.group.unwrap_or(Ipv6Addr::UNSPECIFIED.into()),
            );
            sources(query, frame);
        }
        Message::Report(_, group) => plain(131, 0, *group),
        Message::Leave(group) => plain(132, 0, *group),
        Message::Records(all) => records(143, all, frame),
    }
}

/// The rest of a query of version 3.
fn sources(query: &Query, frame: &mut Frame) {
    if query.version != Version::Three {
        return;
    }
    let suppress = if query.suppress { 8 } else { 0 };
    let interval = float(query.interval.as_ps() / Time::from_secs(1).as_ps(), 7) as u8;
    frame.extend(&[suppress | query.robustness & 7, interval]);
    frame.extend(&(query.sources.len() as u16).to_be_bytes());
    query.sources.iter().for_each(|&source| put(source, frame));
}

fn records(kind: u8, all: &[Record], frame: &mut Frame) {
    frame.extend(&[kind, 0, 0, 0, 0, 0]);
    frame.extend(&(all.len() as u16).to_be_bytes());
    for record in all {
        frame.extend(&[record.kind as u8, 0]);
        frame.extend(&(record.sources.len() as u16).to_be_bytes());
        put(record.group, frame);
        record.sources.iter().for_each(|&source| put(source, frame));
    }
}

/// The code of a value: exact below `1 << point`, then rounded down to a mantissa of 4 bits and an exponent of 3 bits.
fn float(value: u64, point: u32) -> u16 {
    if value >> point == 0 {
        return value as u16;
    }
    let bits = point - 3;
    let exponent = (0..8).find(|exponent| value >> (bits + 1 + exponent + 3) == 0);
    match exponent {
        Some(exponent) => {
            let mantissa = value >> (exponent + 3) & ((1 << bits) - 1);
            (1 << point | u64::from(exponent) << bits | mantissa) as u16
        }
        // The greatest code.
        None => ((1u64 << (point + 1)) - 1) as u16,
    }
}
