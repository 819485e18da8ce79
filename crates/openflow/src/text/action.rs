//! Actions and instructions as text.

use super::field::{self, Prerequisites};
use super::{Piece, TextError};
use crate::action::{Action, NO_BUFFER};
use crate::instruction::Instruction;
use crate::list::{Element, List};
use crate::oxm::{Field, Oxm, VLAN_PRESENT};
use crate::port::PortNo;
use crate::version::Version;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// Actions that only Open vSwitch has.
const NICIRA: [&str; 30] = [
    "resubmit",
    "learn",
    "move",
    "load",
    "ct",
    "ct_clear",
    "nat",
    "note",
    "conjunction",
    "bundle",
    "bundle_load",
    "multipath",
    "clone",
    "fin_timeout",
    "exit",
    "pop_queue",
    "push",
    "pop",
    "sample",
    "check_pkt_larger",
    "encap",
    "decap",
    "dec_nsh_ttl",
    "delete_field",
    "sample2",
    "set_tunnel",
    "set_tunnel64",
    "debug_recirc",
    "output_reg",
    "reg_load",
];

/// The actions of a text in the form of this version. `fields` is what the match lets through: names such as `mod_tp_dst`
/// depend on it in 1.3.
///
/// # Errors
/// When a piece is no action, its argument cannot be, or the version has no form for it.
pub fn parse_actions(version: Version, text: &str, fields: &[Oxm]) -> Result<Vec<u8>, TextError> {
    actions(version, Piece::new(text), Prerequisites::of(fields))
}

pub(super) fn actions(
    version: Version,
    text: Piece<'_>,
    prerequisites: Prerequisites,
) -> Result<Vec<u8>, TextError> {
    let mut out = Vec::new();
    let mut prerequisites = prerequisites;
    for piece in text.list() {
        if piece.text.eq_ignore_ascii_case("drop") {
            continue;
        }
        action(version, piece, &mut prerequisites, &mut out)?;
    }
    Ok(out)
}

fn need<'t>(name: Piece<'t>, argument: Option<Piece<'t>>) -> Result<Piece<'t>, TextError> {
    argument.ok_or_else(|| name.error(format!("{0} needs an argument: {0}:...", name.text)))
}

fn action(
    version: Version,
    piece: Piece<'_>,
    prerequisites: &mut Prerequisites,
    out: &mut Vec<u8>,
) -> Result<(), TextError> {
    let (name, argument) = piece.call()?;
    let v13 = version == Version::V13;
    let mut put = |action: Action<'_>| {
        action
            .write(version, out)
            .map_err(|error| piece.error(format!("{error}")))
    };
    let number = |highest: u64| need(name, argument)?.number(highest);
    let ether_type = || number(0xffff).map(|number| number as u16);
    let set = |field: Field| field::masked(field, need(name, argument)?).map(Action::SetField);
    match name.text {
        "output" => put(Action::Output { port: field::port(need(name, argument)?)?, max_len: 0 }),
        "controller" | "CONTROLLER" => {
            let max_len = match argument {
                None => NO_BUFFER,
                Some(argument) => match argument.text.strip_prefix("max_len=") {
                    Some(_) => argument.slice(8, argument.text.len()).number(0xffff)? as u16,
                    None => argument.number(0xffff)? as u16,
                },
            };
            put(Action::Output { port: PortNo::CONTROLLER, max_len })
        }
        "enqueue" => {
            let argument = need(name, argument)?;
            let (port, queue) = argument
                .split(&[':', ','])
                .ok_or_else(|| argument.error("enqueue takes a port and a queue: enqueue:1:2"))?;
            let (port, queue) = (field::port(port)?, queue.number(u32::MAX.into())? as u32);
            match version {
                Version::V10 => put(Action::Enqueue { port, queue }),
                Version::V13 => {
                    put(Action::SetQueue(queue))?;
                    put(Action::Output { port, max_len: 0 })
                }
            }
        }
        "mod_vlan_vid" | "set_vlan_vid" | "mod_vlan_pcp" | "set_vlan_pcp" if v13 => {
            if !prerequisites.tagged {
                put(Action::PushVlan(0x8100))?;
                prerequisites.tagged = true;
            }
            put(Action::SetField(match name.text.ends_with("vid") {
                true => Oxm::new(Field::VlanVid, u128::from(number(4095)? | u64::from(VLAN_PRESENT))),
                false => Oxm::new(Field::VlanPcp, number(7)?.into()),
            }))
        }
        "mod_vlan_vid" | "set_vlan_vid" => put(Action::SetVlanVid(number(4095)? as u16)),
        "mod_vlan_pcp" | "set_vlan_pcp" => put(Action::SetVlanPcp(number(7)? as u8)),
        "strip_vlan" | "pop_vlan" => {
            prerequisites.tagged = false;
            put(Action::PopVlan)
        }
        "push_vlan" => {
            prerequisites.tagged = true;
            put(Action::PushVlan(ether_type()?))
        }
        "mod_dl_src" => put(set(Field::EthSrc)?),
        "mod_dl_dst" => put(set(Field::EthDst)?),
        "mod_nw_src" => put(set(Field::Ipv4Src)?),
        "mod_nw_dst" => put(set(Field::Ipv4Dst)?),
        "mod_nw_tos" => {
            let tos = number(255)?;
            if tos & 3 != 0 {
                return Err(piece.error("the lower two bits of nw_tos must be zero"));
            }
            put(Action::SetField(Oxm::new(Field::IpDscp, u128::from(tos >> 2))))
        }
        "mod_nw_ecn" => put(set(Field::IpEcn)?),
        "mod_nw_ttl" | "set_nw_ttl" => put(Action::SetNwTtl(number(255)? as u8)),
        "mod_tp_src" | "mod_tp_dst" => {
            let source = name.text == "mod_tp_src";
            let port = number(0xffff)?;
            put(match version {
                Version::V10 if source => Action::SetTpSrc(port as u16),
                Version::V10 => Action::SetTpDst(port as u16),
                Version::V13 => {
                    let ports = prerequisites.ports().ok_or_else(|| {
                        piece.error("it needs a match on tcp, udp or sctp in OpenFlow 1.3")
                    })?;
                    Action::SetField(Oxm::new(ports[usize::from(!source)], port.into()))
                }
            })
        }
        "set_field" => {
            let argument = need(name, argument)?;
            let arrow = argument.text.find("->");
            let arrow = arrow.ok_or_else(|| argument.error("write set_field:VALUE->FIELD"))?;
            let target = argument.slice(arrow + 2, argument.text.len()).trim();
            let target = field::named(target, *prerequisites)?;
            let value = argument.slice(0, arrow).trim();
            let mut oxm = field::masked(target, value)?;
            if oxm.mask.is_some() {
                return Err(value.error("OpenFlow 1.3 has no mask in set_field"));
            }
            if !target.is_settable() {
                return Err(piece.error(format!("{} cannot be set", target.name())));
            }
            if target == Field::VlanVid {
                oxm.value |= u128::from(VLAN_PRESENT);
            }
            put(Action::SetField(oxm))
        }
        "set_queue" => put(Action::SetQueue(number(u32::MAX.into())? as u32)),
        "group" => put(Action::Group(number(u32::MAX.into())? as u32)),
        "dec_ttl" | "dec_nw_ttl" => put(Action::DecNwTtl),
        "set_mpls_ttl" => put(Action::SetMplsTtl(number(255)? as u8)),
        "dec_mpls_ttl" => put(Action::DecMplsTtl),
        "set_mpls_label" => put(set(Field::MplsLabel)?),
        "set_mpls_tc" => put(set(Field::MplsTc)?),
        "copy_ttl_in" => put(Action::CopyTtlIn),
        "copy_ttl_out" => put(Action::CopyTtlOut),
        "push_mpls" => put(Action::PushMpls(ether_type()?)),
        "pop_mpls" => put(Action::PopMpls(ether_type()?)),
        "push_pbb" => put(Action::PushPbb(ether_type()?)),
        "pop_pbb" => put(Action::PopPbb),
        other if NICIRA.contains(&other) => Err(piece.error(format!(
            "{other} is an extension of Nicira's, and not supported: OpenFlow {version} has no such action"
        ))),
        _ if argument.is_none() => {
            let port = field::port(piece)
                .map_err(|_| piece.error(format!("'{}' is not an action", piece.text)))?;
            put(Action::Output { port, max_len: if port == PortNo::CONTROLLER { NO_BUFFER } else { 0 } })
        }
        other => Err(piece.error(format!("'{other}' is not an action"))),
    }
}

/// The instructions of a text in the form of this version: actions to apply, and among them `goto_table:`, `meter:`,
/// `write_metadata:`, `write_actions(...)`, `clear_actions`.
///
/// # Errors
/// As [`parse_actions`]; and when 1.0 is asked for an instruction.
pub fn parse_instructions(
    version: Version,
    text: &str,
    fields: &[Oxm],
) -> Result<Vec<u8>, TextError> {
    instructions(version, Piece::new(text), Prerequisites::of(fields))
}

pub(super) fn instructions(
    version: Version,
    text: Piece<'_>,
    prerequisites: Prerequisites,
) -> Result<Vec<u8>, TextError> {
    if version == Version::V10 {
        for piece in text.list() {
            let (name, _) = piece.call()?;
            if INSTRUCTIONS.contains(&name.text) {
                return Err(piece.error(format!("OpenFlow 1.0 has no {}", name.text)));
            }
        }
        return actions(version, text, prerequisites);
    }
    let mut prerequisites = prerequisites;
    let (mut applied, mut written) = (Vec::new(), None);
    let (mut meter, mut goto, mut clear, mut metadata) = (None, None, false, None);
    for piece in text.list() {
        let (name, argument) = piece.call()?;
        match name.text {
            "drop" | "DROP" => {}
            "meter" => meter = Some(need(name, argument)?.number(u32::MAX.into())? as u32),
            "goto_table" => goto = Some(need(name, argument)?.number(254)? as u8),
            "clear_actions" => clear = true,
            "write_actions" => {
                written = Some(actions(version, need(name, argument)?, prerequisites)?);
            }
            "apply_actions" => {
                applied.extend(actions(version, need(name, argument)?, prerequisites)?)
            }
            "write_metadata" => {
                let argument = need(name, argument)?;
                metadata = Some(match argument.split(&['/']) {
                    Some((value, mask)) => (value.number(u64::MAX)?, mask.number(u64::MAX)?),
                    None => (argument.number(u64::MAX)?, u64::MAX),
                });
            }
            _ => action(version, piece, &mut prerequisites, &mut applied)?,
        }
    }
    let mut out = Vec::new();
    let mut put = |instruction: Instruction<'_>| {
        instruction
            .write(version, &mut out)
            .map_err(|error| text.error(format!("{error}")))
    };
    if let Some(meter) = meter {
        put(Instruction::Meter(meter))?;
    }
    if !applied.is_empty() {
        put(Instruction::ApplyActions(List::from_checked(
            version, &applied,
        )))?;
    }
    if clear {
        put(Instruction::ClearActions)?;
    }
    if let Some(written) = &written {
        put(Instruction::WriteActions(List::from_checked(
            version, written,
        )))?;
    }
    if let Some((metadata, mask)) = metadata {
        put(Instruction::WriteMetadata { metadata, mask })?;
    }
    if let Some(table) = goto {
        put(Instruction::GotoTable(table))?;
    }
    Ok(out)
}

const INSTRUCTIONS: [&str; 6] = [
    "meter",
    "goto_table",
    "clear_actions",
    "write_actions",
    "apply_actions",
    "write_metadata",
];

fn show_action(action: &Action<'_>, version: Version, out: &mut String) {
    let field = |out: &mut String, name: &str, oxm: &Oxm| {
        let _ = write!(out, "{name}:");
        field::show_field(oxm, out);
    };
    let _ = match *action {
        Action::Output {
            port: PortNo::CONTROLLER,
            max_len,
        } => write!(out, "CONTROLLER:{max_len}"),
        Action::Output { port, .. } => match port.name() {
            Some(name) => write!(out, "{name}"),
            None => write!(out, "output:{port}"),
        },
        Action::Enqueue { port, queue } => write!(out, "enqueue:{port}:{queue}"),
        Action::SetVlanVid(vid) => write!(out, "mod_vlan_vid:{vid}"),
        Action::SetVlanPcp(pcp) => write!(out, "mod_vlan_pcp:{pcp}"),
        Action::SetTpSrc(port) => write!(out, "mod_tp_src:{port}"),
        Action::SetTpDst(port) => write!(out, "mod_tp_dst:{port}"),
        Action::CopyTtlOut => write!(out, "copy_ttl_out"),
        Action::CopyTtlIn => write!(out, "copy_ttl_in"),
        Action::SetMplsTtl(ttl) => write!(out, "set_mpls_ttl({ttl})"),
        Action::DecMplsTtl => write!(out, "dec_mpls_ttl"),
        Action::PushVlan(kind) => write!(out, "push_vlan:{kind:#06x}"),
        Action::PopVlan if version == Version::V10 => write!(out, "strip_vlan"),
        Action::PopVlan => write!(out, "pop_vlan"),
        Action::PushMpls(kind) => write!(out, "push_mpls:{kind:#06x}"),
        Action::PopMpls(kind) => write!(out, "pop_mpls:{kind:#06x}"),
        Action::SetQueue(queue) => write!(out, "set_queue:{queue}"),
        Action::Group(group) => write!(out, "group:{group}"),
        Action::SetNwTtl(ttl) => write!(out, "mod_nw_ttl:{ttl}"),
        Action::DecNwTtl => write!(out, "dec_ttl"),
        Action::PushPbb(kind) => write!(out, "push_pbb:{kind:#06x}"),
        Action::PopPbb => write!(out, "pop_pbb"),
        Action::Experimenter { experimenter, data } => {
            write!(out, "experimenter({experimenter:#x}, {} bytes)", data.len())
        }
        Action::SetField(oxm) => {
            let ten = match (version, oxm.field) {
                (Version::V10, Field::EthSrc) => Some("mod_dl_src"),
                (Version::V10, Field::EthDst) => Some("mod_dl_dst"),
                (Version::V10, Field::Ipv4Src) => Some("mod_nw_src"),
                (Version::V10, Field::Ipv4Dst) => Some("mod_nw_dst"),
                _ => None,
            };
            match (ten, oxm.field) {
                (Some(name), _) => field(out, name, &oxm),
                (None, Field::IpDscp) if version == Version::V10 => {
                    let _ = write!(out, "mod_nw_tos:{}", oxm.value << 2);
                }
                (None, target) => {
                    field(out, "set_field", &oxm);
                    let _ = write!(out, "->{}", target.name());
                }
            }
            Ok(())
        }
    };
}

/// Appends actions, with commas between them.
pub fn show_actions<'a>(actions: List<'a, Action<'a>>, version: Version, out: &mut String) {
    for (index, action) in actions.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        show_action(&action, version, out);
    }
}

/// Appends instructions, as behind `actions=`: `drop` if there is nothing to do.
pub fn show_instructions<'a>(
    instructions: List<'a, Instruction<'a>>,
    version: Version,
    out: &mut String,
) {
    let start = out.len();
    for instruction in instructions {
        if out.len() > start {
            out.push(',');
        }
        let _ = match instruction {
            Instruction::GotoTable(table) => write!(out, "goto_table:{table}"),
            Instruction::WriteMetadata {
                metadata,
                mask: u64::MAX,
            } => {
                write!(out, "write_metadata:{metadata:#x}")
            }
            Instruction::WriteMetadata { metadata, mask } => {
                write!(out, "write_metadata:{metadata:#x}/{mask:#x}")
            }
            Instruction::WriteActions(actions) => {
                out.push_str("write_actions(");
                show_actions(actions, version, out);
                write!(out, ")")
            }
            Instruction::ApplyActions(actions) => {
                show_actions(actions, version, out);
                if actions.is_empty() && out.ends_with(',') {
                    out.pop();
                }
                Ok(())
            }
            Instruction::ClearActions => write!(out, "clear_actions"),
            Instruction::Meter(meter) => write!(out, "meter:{meter}"),
            Instruction::Experimenter { experimenter, data } => {
                write!(out, "experimenter({experimenter:#x}, {} bytes)", data.len())
            }
        };
    }
    if out.len() == start {
        out.push_str("drop");
    }
}
