//! Actions (1.0.2 section 5.2.4, 1.3.5 section 7.2.5).

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::{Element, List};
use crate::oxm::{Field, Oxm};
use crate::port::PortNo;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// For [`Action::Output`] to the controller: the whole packet, without buffering.
pub const NO_BUFFER: u16 = 0xffff;

/// What is done with a packet.
///
/// Where 1.0 and 1.3 mean the same it is one variant: `set_dl_src`, `set_nw_dst`, `set_nw_tos` of 1.0 are set-field
/// of `eth_src`, `ipv4_dst`, `ip_dscp`, and `strip_vlan` is pop-vlan. A field that the packet has not is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Send it by a port.
    Output {
        port: PortNo,
        /// To the controller: at most so many bytes, or [`NO_BUFFER`] for all.
        max_len: u16,
    },
    /// Send it by a port with a queue; 1.0 only.
    Enqueue {
        port: PortNo,
        queue: u32,
    },
    /// Set the VLAN id, and push a tag if there is none; 1.0 only. 0 to 4095.
    SetVlanVid(u16),
    /// Set the VLAN priority, and push a tag if there is none; 1.0 only. 0 to 7.
    SetVlanPcp(u8),
    /// Set the source port of TCP or UDP, or the ICMP type; 1.0 only.
    SetTpSrc(u16),
    /// Set the destination port of TCP or UDP, or the ICMP code; 1.0 only.
    SetTpDst(u16),
    /// Copy the TTL from the next header to the outermost.
    CopyTtlOut,
    /// Copy the TTL from the outermost header to the next.
    CopyTtlIn,
    SetMplsTtl(u8),
    /// Decrement the TTL of MPLS.
    DecMplsTtl,
    /// Push a VLAN tag of this EtherType: 0x8100 or 0x88a8.
    PushVlan(u16),
    /// Take off the outermost VLAN tag.
    PopVlan,
    /// Push an MPLS entry with this EtherType: 0x8847 or 0x8848.
    PushMpls(u16),
    /// Take off the outermost MPLS entry, and set this EtherType.
    PopMpls(u16),
    /// The queue for the outputs behind it.
    SetQueue(u32),
    /// Apply a group.
    Group(u32),
    /// Set the TTL of IP.
    SetNwTtl(u8),
    /// Decrement the TTL of IP.
    DecNwTtl,
    SetField(Oxm),
    /// Push a PBB tag of this EtherType: 0x88e7.
    PushPbb(u16),
    /// Take off the PBB tag.
    PopPbb,
    /// An experimenter's (vendor's).
    Experimenter {
        /// Whose.
        experimenter: u32,
        /// What follows, with its padding.
        data: &'a [u8],
    },
}

impl Action<'_> {
    /// Output of whole packets by a port.
    pub const fn output(port: PortNo) -> Action<'static> {
        Action::Output {
            port,
            max_len: NO_BUFFER,
        }
    }

    /// The number of its type in 1.3; `None` for those of 1.0 alone.
    pub const fn kind(&self) -> Option<u16> {
        Some(match self {
            Action::Output { .. } => 0,
            Action::CopyTtlOut => 11,
            Action::CopyTtlIn => 12,
            Action::SetMplsTtl(_) => 15,
            Action::DecMplsTtl => 16,
            Action::PushVlan(_) => 17,
            Action::PopVlan => 18,
            Action::PushMpls(_) => 19,
            Action::PopMpls(_) => 20,
            Action::SetQueue(_) => 21,
            Action::Group(_) => 22,
            Action::SetNwTtl(_) => 23,
            Action::DecNwTtl => 24,
            Action::SetField(_) => 25,
            Action::PushPbb(_) => 26,
            Action::PopPbb => 27,
            Action::Experimenter { .. } => 0xffff,
            Action::Enqueue { .. }
            | Action::SetVlanVid(_)
            | Action::SetVlanPcp(_)
            | Action::SetTpSrc(_)
            | Action::SetTpDst(_) => return None,
        })
    }
}

/// What a request may not ask for, and a reply is read with all the same.
///
/// # Errors
/// BAD_ARGUMENT, for a push of an EtherType that is none of its kind of tag.
pub(crate) fn check<'a>(actions: List<'a, Action<'a>>) -> Result<(), Fault> {
    let known = actions.iter().all(|action| match action {
        Action::PushVlan(kind) => matches!(kind, 0x8100 | 0x88a8),
        Action::PushMpls(kind) => matches!(kind, 0x8847 | 0x8848),
        Action::PushPbb(kind) => kind == 0x88e7,
        _ => true,
    });
    if known {
        Ok(())
    } else {
        Err(Fault::BadArgument)
    }
}

impl<'a> Element<'a> for Action<'a> {
    const SHORT: Fault = Fault::BadActionLen;

    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let (kind, mut body) = reader.element(8, Fault::BadActionLen)?;
        let action = match version {
            Version::V10 => read_v10(kind, &mut body)?,
            Version::V13 => read_v13(kind, &mut body)?,
        };
        body.end()?;
        Ok(action)
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        match version {
            Version::V10 => write_v10(self, out)?,
            Version::V13 => write_v13(self, out)?,
        }
        out.pad(start, 8);
        out.patch(start + 2, start);
        Ok(())
    }
}

fn read_v10<'a>(kind: u16, body: &mut Reader<'a>) -> Result<Action<'a>, Fault> {
    let set = |field, value| Ok(Action::SetField(Oxm::new(field, value)));
    match kind {
        0 => {
            let (port, max_len) = (PortNo::from_v10(body.u16()?), body.u16()?);
            Ok(Action::Output { port, max_len })
        }
        1 => {
            let vid = body.u16()?;
            body.skip(2)?;
            if vid > 0xfff {
                Err(Fault::BadArgument)
            } else {
                Ok(Action::SetVlanVid(vid))
            }
        }
        2 => {
            let pcp = body.u8()?;
            body.skip(3)?;
            if pcp > 7 {
                Err(Fault::BadArgument)
            } else {
                Ok(Action::SetVlanPcp(pcp))
            }
        }
        3 => body.skip(4).map(|()| Action::PopVlan),
        4 | 5 => {
            let field = if kind == 4 {
                Field::EthSrc
            } else {
                Field::EthDst
            };
            let address: [u8; 6] = body.array()?;
            body.skip(6)?;
            set(
                field,
                address
                    .iter()
                    .fold(0, |value, byte| value << 8 | u128::from(*byte)),
            )
        }
        6 => set(Field::Ipv4Src, body.u32()?.into()),
        7 => set(Field::Ipv4Dst, body.u32()?.into()),
        8 => {
            let tos = body.u8()?;
            body.skip(3)?;
            if tos & 3 != 0 {
                return Err(Fault::BadArgument);
            }
            set(Field::IpDscp, u128::from(tos >> 2))
        }
        9 | 10 => {
            let port = body.u16()?;
            body.skip(2)?;
            Ok(if kind == 9 {
                Action::SetTpSrc(port)
            } else {
                Action::SetTpDst(port)
            })
        }
        11 => {
            let port = PortNo::from_v10(body.u16()?);
            body.skip(6)?;
            Ok(Action::Enqueue {
                port,
                queue: body.u32()?,
            })
        }
        0xffff => experimenter(body),
        _ => Err(Fault::BadActionType),
    }
}

fn experimenter<'a>(body: &mut Reader<'a>) -> Result<Action<'a>, Fault> {
    Ok(Action::Experimenter {
        experimenter: body.u32()?,
        data: body.take_rest(),
    })
}

fn read_v13<'a>(kind: u16, body: &mut Reader<'a>) -> Result<Action<'a>, Fault> {
    let plain = |body: &mut Reader<'a>, action| body.skip(4).map(|()| action);
    let byte = |body: &mut Reader<'a>| {
        let value = body.u8()?;
        body.skip(3).map(|()| value)
    };
    let ether_type = |body: &mut Reader<'a>| {
        let value = body.u16()?;
        body.skip(2).map(|()| value)
    };
    match kind {
        0 => {
            let (port, max_len) = (PortNo(body.u32()?), body.u16()?);
            body.skip(6)?;
            Ok(Action::Output { port, max_len })
        }
        11 => plain(body, Action::CopyTtlOut),
        12 => plain(body, Action::CopyTtlIn),
        15 => byte(body).map(Action::SetMplsTtl),
        16 => plain(body, Action::DecMplsTtl),
        17 => ether_type(body).map(Action::PushVlan),
        18 => plain(body, Action::PopVlan),
        19 => ether_type(body).map(Action::PushMpls),
        20 => ether_type(body).map(Action::PopMpls),
        21 => body.u32().map(Action::SetQueue),
        22 => body.u32().map(Action::Group),
        23 => byte(body).map(Action::SetNwTtl),
        24 => plain(body, Action::DecNwTtl),
        25 => set_field(body),
        26 => ether_type(body).map(Action::PushPbb),
        27 => plain(body, Action::PopPbb),
        0xffff => experimenter(body),
        _ => Err(Fault::BadActionType),
    }
}

fn set_field<'a>(body: &mut Reader<'a>) -> Result<Action<'a>, Fault> {
    let mut oxm = body.with(Fault::BadSetLen);
    let field = Oxm::read(Version::V13, &mut oxm).map_err(|fault| match fault {
        Fault::BadField | Fault::BadMask => Fault::BadSetType,
        Fault::BadMatchLen => Fault::BadSetLen,
        Fault::BadSetLen => Fault::BadSetLen,
        _ => Fault::BadSetArgument,
    })?;
    if field.mask.is_some() || !field.field.is_settable() {
        return Err(Fault::BadSetType);
    }
    // Behind it is only the padding to eight bytes.
    if oxm.rest().len() > 7 {
        return Err(Fault::BadSetLen);
    }
    body.take_rest();
    Ok(Action::SetField(field))
}

/// Type, a length to fill in, and then the arguments; the caller pads.
fn head(out: &mut Vec<u8>, kind: u16) {
    out.u16(kind);
    out.u16(0);
}

fn write_v10(action: &Action<'_>, out: &mut Vec<u8>) -> Result<(), Unsupported> {
    let no = |what| Err(Unsupported::new(Version::V10, what));
    match *action {
        Action::Output { port, max_len } => {
            head(out, 0);
            port.write(Version::V10, out)?;
            out.u16(max_len);
        }
        Action::SetVlanVid(vid) => {
            head(out, 1);
            out.u16(vid);
        }
        Action::SetVlanPcp(pcp) => {
            head(out, 2);
            out.u8(pcp);
        }
        Action::PopVlan => head(out, 3),
        Action::SetField(oxm) => match oxm.field {
            Field::EthSrc | Field::EthDst => {
                head(out, if oxm.field == Field::EthSrc { 4 } else { 5 });
                out.extend_from_slice(&oxm.value.to_be_bytes()[10..]);
            }
            Field::Ipv4Src | Field::Ipv4Dst => {
                head(out, if oxm.field == Field::Ipv4Src { 6 } else { 7 });
                out.u32(oxm.value as u32);
            }
            Field::IpDscp => {
                head(out, 8);
                out.u8((oxm.value as u8) << 2);
            }
            _ => return no("set-field of this field"),
        },
        Action::SetTpSrc(port) => {
            head(out, 9);
            out.u16(port);
        }
        Action::SetTpDst(port) => {
            head(out, 10);
            out.u16(port);
        }
        Action::Enqueue { port, queue } => {
            head(out, 11);
            port.write(Version::V10, out)?;
            out.zeros(6);
            out.u32(queue);
        }
        Action::Experimenter { experimenter, data } => {
            head(out, 0xffff);
            out.u32(experimenter);
            out.extend_from_slice(data);
        }
        Action::Group(_) => return no("a group"),
        Action::SetQueue(_) => return no("set-queue without a port"),
        _ => return no("this action"),
    }
    if matches!(action, Action::PopVlan) {
        out.zeros(4);
    }
    Ok(())
}

fn write_v13(action: &Action<'_>, out: &mut Vec<u8>) -> Result<(), Unsupported> {
    let kind = action
        .kind()
        .ok_or(Unsupported::new(Version::V13, "this action of 1.0"))?;
    head(out, kind);
    match *action {
        Action::Output { port, max_len } => {
            out.u32(port.0);
            out.u16(max_len);
        }
        Action::SetMplsTtl(ttl) | Action::SetNwTtl(ttl) => out.u8(ttl),
        Action::PushVlan(kind)
        | Action::PushMpls(kind)
        | Action::PopMpls(kind)
        | Action::PushPbb(kind) => out.u16(kind),
        Action::SetQueue(number) | Action::Group(number) => out.u32(number),
        Action::SetField(oxm) => oxm.write(Version::V13, out)?,
        Action::Experimenter { experimenter, data } => {
            out.u32(experimenter);
            out.extend_from_slice(data);
        }
        _ => out.zeros(4),
    }
    Ok(())
}
