//! What an entry matches: the OXM fields of 1.3, and the 40 bytes of 1.0 told as such fields.

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::{self, Element, List};
use crate::oxm::{Field, Oxm, VLAN_PRESENT};
use crate::port::PortNo;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;
use core::fmt;

/// Wildcards of 1.0 (1.0.2 section 5.2.3).
mod wildcard {
    pub const IN_PORT: u32 = 1;
    pub const DL_VLAN: u32 = 1 << 1;
    pub const DL_SRC: u32 = 1 << 2;
    pub const DL_DST: u32 = 1 << 3;
    pub const DL_TYPE: u32 = 1 << 4;
    pub const NW_PROTO: u32 = 1 << 5;
    pub const TP_SRC: u32 = 1 << 6;
    pub const TP_DST: u32 = 1 << 7;
    pub const NW_SRC_SHIFT: u32 = 8;
    pub const NW_DST_SHIFT: u32 = 14;
    pub const DL_VLAN_PCP: u32 = 1 << 20;
    pub const NW_TOS: u32 = 1 << 21;
    pub const ALL: u32 = (1 << 22) - 1;
}

/// `dl_vlan` of 1.0 for frames without a tag.
const NO_VLAN: u16 = 0xffff;

/// The fields that an entry matches, or that a packet-in tells. Empty, it matches every packet.
///
/// Two are equal when they have the same fields in the same order; a match of 1.0 has them in the order of
/// their numbers.
#[derive(Clone, Copy)]
pub struct Match<'a>(Form<'a>);

#[derive(Clone, Copy)]
enum Form<'a> {
    Fields(List<'a, Oxm>),
    /// What a switch tells: fields of other classes may be between those known here.
    Received(&'a [u8]),
    Ten(&'a [u8; 40]),
    InPort(PortNo),
}

impl<'a> Match<'a> {
    /// Every packet.
    pub const ALL: Match<'static> = Match(Form::Fields(List::EMPTY));

    /// These fields.
    pub fn new(fields: impl Into<List<'a, Oxm>>) -> Match<'a> {
        Match(Form::Fields(fields.into()))
    }

    /// The input port alone.
    pub fn in_port(port: PortNo) -> Match<'a> {
        Match(Form::InPort(port))
    }

    /// The fields, in order.
    pub fn iter(&self) -> Fields<'a> {
        Fields(match self.0 {
            Form::Fields(fields) => FieldsForm::List(fields.iter()),
            Form::Received(bytes) => FieldsForm::Received(Reader::new(bytes, Fault::BadMatchLen)),
            Form::Ten(bytes) => FieldsForm::Array(from_v10(bytes)),
            Form::InPort(port) => {
                let mut fields = Array::default();
                fields.push(Oxm::new(Field::InPort, port.0.into()));
                FieldsForm::Array(fields)
            }
        })
    }

    /// The value and mask of a field, if it is there.
    pub fn get(&self, field: Field) -> Option<Oxm> {
        self.iter().find(|oxm| oxm.field == field)
    }

    /// Whether it matches every packet.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Reads a match of a request, and the padding behind it.
    pub(crate) fn read(version: Version, reader: &mut Reader<'a>) -> Result<Match<'a>, Fault> {
        match version {
            Version::V10 => {
                let bytes = reader.take(40)?;
                let bytes = bytes.first_chunk().ok_or(Fault::BadLen)?;
                Ok(Match(Form::Ten(bytes)))
            }
            Version::V13 => {
                let fields = List::from_wire(version, oxms(reader)?)?;
                Ok(Match(Form::Fields(fields)))
            }
        }
    }

    /// Reads a match that a switch tells. Fields of classes not known here are passed over, and no order is asked for.
    pub(crate) fn read_told(version: Version, reader: &mut Reader<'a>) -> Result<Match<'a>, Fault> {
        if version == Version::V10 {
            return Match::read(version, reader);
        }
        let bytes = oxms(reader)?;
        let mut fields = Reader::new(bytes, Fault::BadMatchLen);
        while !fields.is_empty() {
            told(&mut fields)?;
        }
        Ok(Match(Form::Received(bytes)))
    }

    /// Appends the match in the form of this version, padded.
    ///
    /// # Errors
    /// When 1.0 has no such field, or no such mask.
    pub fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        match (version, self.0) {
            (Version::V10, Form::Ten(bytes)) => out.extend_from_slice(bytes),
            (Version::V10, _) => out.extend_from_slice(&to_v10(self.iter())?),
            (Version::V13, form) => {
                let start = out.len();
                out.u16(1);
                out.u16(0);
                match form {
                    Form::Fields(fields) => fields.write(version, out)?,
                    Form::Received(bytes) => out.extend_from_slice(bytes),
                    _ => {
                        // 1.0 may ask for the priority of frames without a tag; 1.3 may not.
                        let untagged =
                            self.get(Field::VlanVid) == Some(Oxm::new(Field::VlanVid, 0));
                        self.iter()
                            .filter(|oxm| !(untagged && oxm.field == Field::VlanPcp))
                            .try_for_each(|oxm| oxm.write(version, out))?;
                    }
                }
                out.patch(start + 2, start);
                out.pad(start, 8);
            }
        }
        Ok(())
    }
}

impl Default for Match<'_> {
    fn default() -> Self {
        Match::ALL
    }
}

impl PartialEq for Match<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Match<'_> {}

impl fmt::Debug for Match<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Match<'a> {
    type Item = Oxm;
    type IntoIter = Fields<'a>;
    fn into_iter(self) -> Fields<'a> {
        self.iter()
    }
}

/// The fields of a [`Match`].
#[derive(Clone)]
pub struct Fields<'a>(FieldsForm<'a>);

// An iterator that lives on the stack: a box would cost an allocation for each match read.
#[allow(clippy::large_enum_variant)]
#[derive(Clone)]
enum FieldsForm<'a> {
    List(list::Iter<'a, Oxm>),
    Received(Reader<'a>),
    Array(Array),
}

impl Iterator for Fields<'_> {
    type Item = Oxm;
    fn next(&mut self) -> Option<Oxm> {
        match &mut self.0 {
            FieldsForm::List(fields) => fields.next(),
            FieldsForm::Received(reader) => {
                while !reader.is_empty() {
                    match told(reader) {
                        Ok(Some(oxm)) => return Some(oxm),
                        Ok(None) => {}
                        Err(_) => return None,
                    }
                }
                None
            }
            FieldsForm::Array(array) => array.next(),
        }
    }
}

/// The fields of a match of 1.3; its type, its length and its padding are taken off too.
fn oxms<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Fault> {
    let mut ahead = reader.with(Fault::BadMatchLen);
    let (kind, length) = (ahead.u16()?, usize::from(ahead.u16()?));
    if kind != 1 {
        return Err(Fault::BadMatchType);
    }
    let body = ahead.take(length.checked_sub(4).ok_or(Fault::BadMatchLen)?)?;
    ahead.skip(length.next_multiple_of(8) - length)?;
    reader.take(length.next_multiple_of(8))?;
    Ok(body)
}

/// The next field, or `None` for one that is not known here.
fn told(reader: &mut Reader<'_>) -> Result<Option<Oxm>, Fault> {
    let mut ahead = *reader;
    match Oxm::read(Version::V13, &mut ahead) {
        Ok(oxm) => {
            *reader = ahead;
            Ok(Some(oxm))
        }
        Err(Fault::BadField) => {
            reader.skip(3)?;
            let length = usize::from(reader.u8()?);
            reader.skip(length)?;
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// The twelve fields that 1.0 has, at most.
#[derive(Clone, Default)]
struct Array {
    fields: [Option<Oxm>; 12],
    from: usize,
    to: usize,
}

impl Array {
    fn push(&mut self, oxm: Oxm) {
        if let Some(slot) = self.fields.get_mut(self.to) {
            *slot = Some(oxm);
            self.to += 1;
        }
    }

    fn next(&mut self) -> Option<Oxm> {
        let oxm = self.fields.get(self.from).copied().flatten();
        self.from += 1;
        oxm
    }
}

/// The fields of the transport ports of 1.0: by EtherType and protocol.
fn transport(eth_type: u16, proto: u8) -> Option<(Field, Field)> {
    match (eth_type, proto) {
        (0x0800, 1) => Some((Field::Icmpv4Type, Field::Icmpv4Code)),
        (0x86dd, 58) => Some((Field::Icmpv6Type, Field::Icmpv6Code)),
        (0x0800 | 0x86dd, 6) => Some((Field::TcpSrc, Field::TcpDst)),
        (0x0800 | 0x86dd, 17) => Some((Field::UdpSrc, Field::UdpDst)),
        (0x0800 | 0x86dd, 132) => Some((Field::SctpSrc, Field::SctpDst)),
        _ => None,
    }
}

/// As fields, in the order of their numbers. Those that 1.0 tells to ignore, since the packets have none, are left out.
fn from_v10(bytes: &[u8; 40]) -> Array {
    let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let wide = |range: core::ops::Range<usize>| {
        bytes[range]
            .iter()
            .fold(0, |value: u128, byte| value << 8 | u128::from(*byte))
    };
    let wildcards = wide(0..4) as u32;
    let exact = |bit: u32| wildcards & bit == 0;
    let mut fields = Array::default();
    if exact(wildcard::IN_PORT) {
        fields.push(Oxm::new(
            Field::InPort,
            PortNo::from_v10(u16_at(4)).0.into(),
        ));
    }
    if exact(wildcard::DL_DST) {
        fields.push(Oxm::new(Field::EthDst, wide(12..18)));
    }
    if exact(wildcard::DL_SRC) {
        fields.push(Oxm::new(Field::EthSrc, wide(6..12)));
    }
    let eth_type = exact(wildcard::DL_TYPE).then(|| u16_at(22));
    if let Some(eth_type) = eth_type {
        fields.push(Oxm::new(Field::EthType, eth_type.into()));
    }
    let (vid, pcp) = (u16_at(18), bytes[20] & 7);
    let present = u128::from(VLAN_PRESENT);
    let tagged = match (exact(wildcard::DL_VLAN), exact(wildcard::DL_VLAN_PCP)) {
        (true, asks) if vid == NO_VLAN => {
            fields.push(Oxm::new(Field::VlanVid, 0));
            // Frames without a tag have a priority of zero, so that asking for it changes nothing; but it is told as it was asked.
            if asks {
                fields.push(Oxm::new(Field::VlanPcp, 0));
            }
            false
        }
        (true, pcp) => {
            fields.push(Oxm::new(Field::VlanVid, present | u128::from(vid & 0xfff)));
            pcp
        }
        (false, true) => {
            fields.push(Oxm::masked(Field::VlanVid, present, present));
            true
        }
        (false, false) => false,
    };
    if tagged {
        fields.push(Oxm::new(Field::VlanPcp, pcp.into()));
    }
    let (v4, arp) = (eth_type == Some(0x0800), eth_type == Some(0x0806));
    // IPv6 is of a later day; switches of 1.0 match all but its addresses all the same.
    let ip = v4 || eth_type == Some(0x86dd);
    if ip && exact(wildcard::NW_TOS) {
        fields.push(Oxm::new(Field::IpDscp, u128::from(bytes[24] >> 2)));
    }
    let proto = exact(wildcard::NW_PROTO).then(|| bytes[25]);
    if ip && let Some(proto) = proto {
        fields.push(Oxm::new(Field::IpProto, proto.into()));
    }
    let address = |field: Field, shift: u32, at: usize| {
        let ignored = (wildcards >> shift & 0x3f).min(32);
        let mask = u32::MAX.checked_shl(ignored).unwrap_or(0);
        let value = wide(at..at + 4) & u128::from(mask);
        match ignored {
            32 => None,
            0 => Some(Oxm::new(field, value)),
            _ => Some(Oxm::masked(field, value, mask.into())),
        }
    };
    if arp && let Some(proto) = proto {
        fields.push(Oxm::new(Field::ArpOp, proto.into()));
    }
    let (source, destination) = if arp {
        (Field::ArpSpa, Field::ArpTpa)
    } else {
        (Field::Ipv4Src, Field::Ipv4Dst)
    };
    if v4 || arp {
        address(source, wildcard::NW_SRC_SHIFT, 28)
            .into_iter()
            .for_each(|oxm| fields.push(oxm));
        address(destination, wildcard::NW_DST_SHIFT, 32)
            .into_iter()
            .for_each(|oxm| fields.push(oxm));
    }
    let ports = proto
        .zip(eth_type)
        .and_then(|(proto, eth_type)| transport(eth_type, proto));
    if let Some((source, destination)) = ports {
        for (bit, field, at) in [
            (wildcard::TP_SRC, source, 36),
            (wildcard::TP_DST, destination, 38),
        ] {
            if exact(bit) {
                fields.push(Oxm::new(field, u128::from(u16_at(at)) & field.max()));
            }
        }
    }
    fields
}

/// As the 40 bytes of 1.0.
fn to_v10(fields: impl Iterator<Item = Oxm>) -> Result<[u8; 40], Unsupported> {
    let no = |what| Unsupported::new(Version::V10, what);
    let mut bytes = [0; 40];
    let mut wildcards = wildcard::ALL;
    let mut pcp = false;
    for oxm in fields {
        let exact = oxm.significant() == oxm.field.max();
        let be = oxm.value.to_be_bytes();
        let mut put = |at: usize, width: usize, bit: u32| {
            bytes[at..at + width].copy_from_slice(&be[16 - width..]);
            wildcards &= !bit;
        };
        match oxm.field {
            Field::VlanVid => {
                let present = u128::from(VLAN_PRESENT);
                match (oxm.value, oxm.significant()) {
                    (0, 0) => {}
                    // Without a tag; a tag's absence leaves no bits of an id to ask for.
                    (0, mask) if exact || mask == present => {
                        bytes[18..20].copy_from_slice(&NO_VLAN.to_be_bytes());
                        wildcards &= !wildcard::DL_VLAN;
                    }
                    (value, _) if exact && value & present != 0 => {
                        bytes[18..20].copy_from_slice(&(value as u16 & 0xfff).to_be_bytes());
                        wildcards &= !wildcard::DL_VLAN;
                    }
                    // Any tag: a priority must say so.
                    (value, mask) if value == present && mask == present => pcp = true,
                    _ => return Err(no("a mask on vlan_vid")),
                }
            }
            Field::Ipv4Src | Field::ArpSpa | Field::Ipv4Dst | Field::ArpTpa => {
                let source = matches!(oxm.field, Field::Ipv4Src | Field::ArpSpa);
                let (at, shift) = if source {
                    (28, wildcard::NW_SRC_SHIFT)
                } else {
                    (32, wildcard::NW_DST_SHIFT)
                };
                let mask = oxm.significant() as u32;
                if mask.leading_ones() + mask.trailing_zeros() != 32 {
                    return Err(no("an address mask that is not a prefix"));
                }
                put(at, 4, 0x3f << shift);
                wildcards |= mask.trailing_zeros() << shift;
            }
            _ if oxm.significant() == 0 => {}
            _ if !exact => return Err(no("a mask on this field")),
            Field::InPort => {
                let port = PortNo(oxm.value as u32).to_v10();
                let port = port.ok_or(no("a port number above 65,279"))?;
                bytes[4..6].copy_from_slice(&port.to_be_bytes());
                wildcards &= !wildcard::IN_PORT;
            }
            Field::EthSrc => put(6, 6, wildcard::DL_SRC),
            Field::EthDst => put(12, 6, wildcard::DL_DST),
            Field::VlanPcp => {
                put(20, 1, wildcard::DL_VLAN_PCP);
                pcp = false;
            }
            Field::EthType => put(22, 2, wildcard::DL_TYPE),
            Field::IpDscp => {
                bytes[24] = (oxm.value as u8) << 2;
                wildcards &= !wildcard::NW_TOS;
            }
            Field::IpProto => put(25, 1, wildcard::NW_PROTO),
            Field::ArpOp if oxm.value > 255 => return Err(no("an ARP operation above 255")),
            Field::ArpOp => put(25, 1, wildcard::NW_PROTO),
            Field::TcpSrc
            | Field::UdpSrc
            | Field::SctpSrc
            | Field::Icmpv4Type
            | Field::Icmpv6Type => {
                put(36, 2, wildcard::TP_SRC);
            }
            Field::TcpDst
            | Field::UdpDst
            | Field::SctpDst
            | Field::Icmpv4Code
            | Field::Icmpv6Code => {
                put(38, 2, wildcard::TP_DST);
            }
            _ => return Err(no("this field in a match")),
        }
    }
    if pcp {
        return Err(no("any VLAN tag in a match"));
    }
    bytes[..4].copy_from_slice(&wildcards.to_be_bytes());
    Ok(bytes)
}
