//! Match fields as text.

use super::{Piece, TextError};
use crate::matching::Match;
use crate::oxm::{Field, Oxm, VLAN_PRESENT};
use crate::port::PortNo;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use core::net::{Ipv4Addr, Ipv6Addr};
use packet::ethernet::Mac;

/// Words that stand for an EtherType and a protocol.
const WORDS: [(&str, u16, Option<u8>); 14] = [
    ("ip", 0x0800, None),
    ("ipv6", 0x86dd, None),
    ("icmp", 0x0800, Some(1)),
    ("icmp6", 0x86dd, Some(58)),
    ("tcp", 0x0800, Some(6)),
    ("tcp6", 0x86dd, Some(6)),
    ("udp", 0x0800, Some(17)),
    ("udp6", 0x86dd, Some(17)),
    ("sctp", 0x0800, Some(132)),
    ("sctp6", 0x86dd, Some(132)),
    ("arp", 0x0806, None),
    ("rarp", 0x8035, None),
    ("mpls", 0x8847, None),
    ("mplsm", 0x8848, None),
];

/// A port by its number or the name of a reserved one, in any case.
///
/// # Errors
/// When it is neither.
pub fn parse_port(text: &str) -> Result<PortNo, TextError> {
    port(Piece::new(text))
}

pub(super) fn port(piece: Piece<'_>) -> Result<PortNo, TextError> {
    let reserved = [
        ("NONE", PortNo::ANY),
        ("ANY", PortNo::ANY),
        ("IN_PORT", PortNo::IN_PORT),
        ("TABLE", PortNo::TABLE),
        ("NORMAL", PortNo::NORMAL),
        ("FLOOD", PortNo::FLOOD),
        ("ALL", PortNo::ALL),
        ("CONTROLLER", PortNo::CONTROLLER),
        ("LOCAL", PortNo::LOCAL),
    ];
    let named = reserved
        .iter()
        .find(|(name, _)| piece.text.eq_ignore_ascii_case(name));
    if let Some((_, port)) = named {
        return Ok(*port);
    }
    let number = piece.number(u32::MAX.into()).map_err(|_| {
        piece.error(format!(
            "'{}' is not a port: a number, or LOCAL, CONTROLLER, ...",
            piece.text
        ))
    })?;
    // The reserved ports of 1.0, by number.
    Ok(match number {
        0xff00..=0xffff => PortNo::from_v10(number as u16),
        _ => PortNo(number as u32),
    })
}

/// What the fields around one tell about it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prerequisites {
    pub eth_type: Option<u16>,
    pub proto: Option<u8>,
    pub tagged: bool,
}

impl Prerequisites {
    pub fn of(fields: &[Oxm]) -> Prerequisites {
        let get = |field| {
            fields
                .iter()
                .find(|oxm| oxm.field == field)
                .map(|oxm| oxm.value)
        };
        Prerequisites {
            eth_type: get(Field::EthType).map(|value| value as u16),
            proto: get(Field::IpProto).map(|value| value as u8),
            tagged: get(Field::VlanVid).is_some_and(|value| value & 0x1000 != 0),
        }
    }

    /// The fields of the transport ports.
    pub fn ports(self) -> Option<[Field; 2]> {
        match (self.eth_type, self.proto) {
            (_, Some(6)) => Some([Field::TcpSrc, Field::TcpDst]),
            (_, Some(17)) => Some([Field::UdpSrc, Field::UdpDst]),
            (_, Some(132)) => Some([Field::SctpSrc, Field::SctpDst]),
            (Some(0x86dd), Some(58)) => Some([Field::Icmpv6Type, Field::Icmpv6Code]),
            (_, Some(1)) => Some([Field::Icmpv4Type, Field::Icmpv4Code]),
            _ => None,
        }
    }
}

/// The field of a name, by the specification's names and those of ovs-fields.
pub(super) fn named(name: Piece<'_>, prerequisites: Prerequisites) -> Result<Field, TextError> {
    let arp = matches!(prerequisites.eth_type, Some(0x0806 | 0x8035));
    let six = prerequisites.eth_type == Some(0x86dd);
    let ports = || {
        prerequisites.ports().ok_or_else(|| {
            name.error(format!(
                "{} needs a protocol that has it: add tcp, udp, sctp or icmp",
                name.text
            ))
        })
    };
    Ok(match name.text {
        "dl_src" => Field::EthSrc,
        "dl_dst" => Field::EthDst,
        "dl_type" => Field::EthType,
        "dl_vlan_pcp" => Field::VlanPcp,
        "nw_src" | "ip_src" if arp => Field::ArpSpa,
        "nw_dst" | "ip_dst" if arp => Field::ArpTpa,
        "nw_src" | "ip_src" => Field::Ipv4Src,
        "nw_dst" | "ip_dst" => Field::Ipv4Dst,
        "nw_proto" if arp => Field::ArpOp,
        "nw_proto" => Field::IpProto,
        "nw_ecn" => Field::IpEcn,
        "tp_src" => ports()?[0],
        "tp_dst" => ports()?[1],
        "icmp_type" if six => Field::Icmpv6Type,
        "icmp_code" if six => Field::Icmpv6Code,
        "icmp_type" => Field::Icmpv4Type,
        "icmp_code" => Field::Icmpv4Code,
        "ipv6_label" => Field::Ipv6Flabel,
        "nd_target" => Field::Ipv6NdTarget,
        "nd_sll" => Field::Ipv6NdSll,
        "nd_tll" => Field::Ipv6NdTll,
        "tun_id" => Field::TunnelId,
        other => Field::ALL
            .into_iter()
            .find(|field| field.name() == other)
            .ok_or_else(|| {
                let nicira = [
                    "reg",
                    "xreg",
                    "xxreg",
                    "ct_",
                    "tun_",
                    "nw_frag",
                    "ip_frag",
                    "nw_ttl",
                    "vlan_tci",
                    "tcp_flags",
                    "pkt_mark",
                    "conj_id",
                    "nsh_",
                    "actset_output",
                ];
                if nicira.iter().any(|front| other.starts_with(front)) {
                    name.error(format!(
                        "{other} is an extension of Nicira's or the ONF's, and not supported"
                    ))
                } else {
                    name.error(format!("'{other}' is not a field"))
                }
            })?,
    })
}

/// One value of a field.
fn value(field: Field, piece: Piece<'_>) -> Result<u128, TextError> {
    use Field::*;
    let bad = |what| piece.error(format!("'{}' is no {what}", piece.text));
    let value = match field {
        InPort | InPhyPort => port(piece)?.0.into(),
        EthDst | EthSrc | ArpSha | ArpTha | Ipv6NdSll | Ipv6NdTll => {
            let mac: Mac = piece
                .text
                .parse()
                .map_err(|error| piece.error(format!("{error}")))?;
            mac.0
                .iter()
                .fold(0, |value, byte| value << 8 | u128::from(*byte))
        }
        Ipv4Src | Ipv4Dst | ArpSpa | ArpTpa => {
            let address: Ipv4Addr = piece.text.parse().map_err(|_| bad("IPv4 address"))?;
            u32::from(address).into()
        }
        Ipv6Src | Ipv6Dst | Ipv6NdTarget => {
            let address: Ipv6Addr = piece.text.parse().map_err(|_| bad("IPv6 address"))?;
            address.into()
        }
        _ => piece
            .number(u64::try_from(field.max()).unwrap_or(u64::MAX))?
            .into(),
    };
    Ok(value)
}

/// A value, and behind a slash a mask or the length of a prefix.
pub(super) fn masked(field: Field, piece: Piece<'_>) -> Result<Oxm, TextError> {
    let Some((front, mask)) = piece.split(&['/']) else {
        return Ok(Oxm::new(field, value(field, piece)?));
    };
    if !field.is_maskable() {
        return Err(mask.error(format!("{} takes no mask", field.name())));
    }
    let address = matches!(
        field,
        Field::Ipv4Src
            | Field::Ipv4Dst
            | Field::ArpSpa
            | Field::ArpTpa
            | Field::Ipv6Src
            | Field::Ipv6Dst
    );
    let bits = match mask.text.parse::<u32>() {
        Ok(length) if address => {
            if length > u32::from(field.bits()) {
                return Err(mask.error(format!("a prefix has at most {} bits", field.bits())));
            }
            let host = u32::from(field.bits()) - length;
            field.max() & u128::MAX.checked_shl(host).unwrap_or(0)
        }
        _ => value(field, mask)?,
    };
    let value = value(field, front)? & bits;
    Ok(if bits == field.max() {
        Oxm::new(field, value)
    } else {
        Oxm::masked(field, value, bits)
    })
}

/// The fields of a match, in an order that their prerequisites allow.
///
/// # Errors
/// When a piece is no field, has no value that it could, stands twice, or lacks what it depends on.
pub fn parse_match(text: &str) -> Result<Vec<Oxm>, TextError> {
    let pieces: Vec<Piece<'_>> = Piece::new(text).list().collect();
    fields(&pieces)
}

pub(super) fn fields(pieces: &[Piece<'_>]) -> Result<Vec<Oxm>, TextError> {
    let mut found: Vec<(Oxm, Piece<'_>)> = Vec::new();
    let mut rest = Vec::new();
    // First what tells the kind of packet; the other names depend on it.
    for piece in pieces {
        let (name, argument) = piece.call()?;
        let word = WORDS.iter().find(|(word, ..)| *word == name.text);
        match (word, argument) {
            (Some((_, eth_type, proto)), None) => {
                found.push((Oxm::new(Field::EthType, (*eth_type).into()), *piece));
                if let Some(proto) = proto {
                    found.push((Oxm::new(Field::IpProto, (*proto).into()), *piece));
                }
            }
            (None, None) => {
                return Err(
                    piece.error(format!("'{}' is not a field: write name=value", piece.text))
                );
            }
            (_, Some(argument)) => match name.text {
                "dl_type" | "eth_type" => {
                    found.push((masked(Field::EthType, argument)?, *piece));
                }
                _ => rest.push((name, argument, *piece)),
            },
        }
    }
    let kinds: Vec<Oxm> = found.iter().map(|(oxm, _)| *oxm).collect();
    let mut prerequisites = Prerequisites::of(&kinds);
    if prerequisites.proto.is_none() {
        let proto = rest
            .iter()
            .find(|(name, ..)| matches!(name.text, "nw_proto" | "ip_proto"));
        if let Some((_, argument, _)) = proto {
            prerequisites.proto = Some(argument.number(255)? as u8);
        }
    }
    for (name, argument, piece) in rest {
        let oxm = match name.text {
            "dl_vlan" if matches!(argument.text, "0xffff" | "65535") => Oxm::new(Field::VlanVid, 0),
            "dl_vlan" => Oxm::new(
                Field::VlanVid,
                u128::from(argument.number(4095)? | u64::from(VLAN_PRESENT)),
            ),
            "vlan_tci" => {
                // The tag as it stands in the packet, where bit 12 says that there is one.
                let (value, mask) = match argument.split(&['/']) {
                    Some((value, mask)) => (value.number(0xffff)?, mask.number(0xffff)?),
                    None => (argument.number(0xffff)?, 0xffff),
                };
                let tagged = value & mask & 0x1000 != 0;
                match mask >> 13 {
                    7 if tagged => {
                        found.push((Oxm::new(Field::VlanPcp, u128::from(value >> 13)), piece))
                    }
                    0 => {}
                    7 if value >> 13 == 0 => {}
                    _ => return Err(argument.error("a priority cannot be masked")),
                }
                let (value, mask) = (u128::from(value & mask & 0x1fff), u128::from(mask & 0x1fff));
                match mask {
                    0x1fff => Oxm::new(Field::VlanVid, value),
                    _ => Oxm::masked(Field::VlanVid, value, mask),
                }
            }
            "nw_tos" => Oxm::new(Field::IpDscp, u128::from(argument.number(255)? >> 2)),
            _ => masked(named(name, prerequisites)?, argument)?,
        };
        found.push((oxm, piece));
    }
    // A priority says that there is a tag.
    let has = |field| found.iter().any(|(oxm, _)| oxm.field == field);
    if has(Field::VlanPcp) && !has(Field::VlanVid) {
        let piece = found[0].1;
        let present = u128::from(VLAN_PRESENT);
        found.push((Oxm::masked(Field::VlanVid, present, present), piece));
    }
    found.sort_by_key(|(oxm, _)| oxm.field);
    let mut sorted: Vec<Oxm> = Vec::with_capacity(found.len());
    for (oxm, piece) in found {
        sorted.push(oxm);
        if let Err(fault) = crate::oxm::check_order(sorted.iter().copied()) {
            return Err(piece.error(format!("'{}': {fault}", piece.text)));
        }
    }
    Ok(sorted)
}

fn show_value(field: Field, value: u128, out: &mut String) {
    use Field::*;
    let _ = match field {
        InPort | InPhyPort => write!(out, "{}", PortNo(value as u32)),
        EthDst | EthSrc | ArpSha | ArpTha | Ipv6NdSll | Ipv6NdTll => {
            let [.., a, b, c, d, e, f] = value.to_be_bytes();
            write!(out, "{}", Mac([a, b, c, d, e, f]))
        }
        Ipv4Src | Ipv4Dst | ArpSpa | ArpTpa => write!(out, "{}", Ipv4Addr::from(value as u32)),
        Ipv6Src | Ipv6Dst | Ipv6NdTarget => write!(out, "{}", Ipv6Addr::from(value)),
        EthType => write!(out, "{value:#06x}"),
        VlanVid | Metadata | TunnelId | Ipv6Flabel | PbbIsid | Ipv6Exthdr => {
            write!(out, "{value:#x}")
        }
        _ => write!(out, "{value}"),
    };
}

/// Appends the value of a field, and its mask if there is one; an address's prefix by its length.
pub fn show_field(oxm: &Oxm, out: &mut String) {
    show_value(oxm.field, oxm.value, out);
    let Some(mask) = oxm.mask else { return };
    out.push('/');
    let bits = u32::from(oxm.field.bits());
    let ones = (mask << (128 - bits)).leading_ones();
    let address = matches!(bits, 32 | 128) && !matches!(oxm.field, Field::InPort);
    if address && u128::MAX.checked_shl(bits - ones).unwrap_or(0) & oxm.field.max() == mask {
        let _ = write!(out, "{ones}");
    } else {
        show_value(oxm.field, mask, out);
    }
}

/// Appends a match: words such as `tcp` for the kind of packet, names as ovs-ofctl writes them.
pub fn show_match(matching: &Match<'_>, out: &mut String) {
    let all: Vec<Oxm> = matching.iter().collect();
    let prerequisites = Prerequisites::of(&all);
    let untagged = all.contains(&Oxm::new(Field::VlanVid, 0));
    let mut first = out.is_empty();
    let mut next = |out: &mut String| {
        if !core::mem::take(&mut first) {
            out.push(',');
        }
    };
    let word = WORDS
        .iter()
        .filter(|(_, eth_type, proto)| {
            prerequisites.eth_type == Some(*eth_type)
                && (proto.is_none() || *proto == prerequisites.proto)
        })
        .max_by_key(|(_, _, proto)| proto.is_some());
    for oxm in &all {
        let name = match (oxm.field, word) {
            (Field::EthType, Some((word, ..))) => {
                next(out);
                out.push_str(word);
                continue;
            }
            (Field::IpProto, Some((_, _, Some(_)))) => continue,
            (Field::EthType, _) => "dl_type",
            (Field::EthSrc, _) => "dl_src",
            (Field::EthDst, _) => "dl_dst",
            (Field::VlanVid, _) if oxm.mask.is_none() => {
                next(out);
                let _ = match oxm.value & 0x1000 {
                    0 => write!(out, "dl_vlan=0xffff"),
                    _ => write!(out, "dl_vlan={}", oxm.value & 0xfff),
                };
                continue;
            }
            // That of 1.0 may ask for it beside no tag.
            (Field::VlanPcp, _) if untagged => continue,
            (Field::VlanPcp, _) => "dl_vlan_pcp",
            (Field::Ipv4Src, _) => "nw_src",
            (Field::Ipv4Dst, _) => "nw_dst",
            (Field::IpProto, _) => "nw_proto",
            (Field::IpDscp, _) => {
                next(out);
                let _ = write!(out, "nw_tos={}", oxm.value << 2);
                continue;
            }
            (Field::IpEcn, _) => "nw_ecn",
            (Field::Icmpv4Type | Field::Icmpv6Type, _) => "icmp_type",
            (Field::Icmpv4Code | Field::Icmpv6Code, _) => "icmp_code",
            (Field::TcpSrc | Field::UdpSrc | Field::SctpSrc, _) => "tp_src",
            (Field::TcpDst | Field::UdpDst | Field::SctpDst, _) => "tp_dst",
            (Field::TunnelId, _) => "tun_id",
            (Field::Ipv6NdTarget, _) => "nd_target",
            (Field::Ipv6NdSll, _) => "nd_sll",
            (Field::Ipv6NdTll, _) => "nd_tll",
            (Field::Ipv6Flabel, _) => "ipv6_label",
            (field, _) => field.name(),
        };
        next(out);
        let _ = write!(out, "{name}=");
        show_field(oxm, out);
    }
}
