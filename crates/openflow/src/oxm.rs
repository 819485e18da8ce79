//! Match fields as 1.3 writes them: OXM of the basic class (1.3.5 section 7.2.3).

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::{Element, List};
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// The class of the fields here, OFPXMC_OPENFLOW_BASIC.
pub const BASIC: u16 = 0x8000;

/// In a value of [`Field::VlanVid`]: there is a tag.
pub const VLAN_PRESENT: u16 = 0x1000;

macro_rules! fields {
    ($($name:ident $number:literal $bits:literal $maskable:literal $text:literal $doc:literal,)*) => {
        /// A field of the basic class; the discriminant is its number on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Field {
            $(#[doc = $doc] $name = $number,)*
        }

        impl Field {
            /// All, in the order of their numbers.
            pub const ALL: [Field; 40] = [$(Field::$name,)*];

            const fn row(self) -> (u8, bool, &'static str) {
                match self {
                    $(Field::$name => ($bits, $maskable, $text),)*
                }
            }
        }
    };
}

fields! {
    InPort 0 32 false "in_port" "The port that the packet came in by.",
    InPhyPort 1 32 false "in_phy_port" "The physical port beneath it.",
    Metadata 2 64 true "metadata" "What tables pass on.",
    EthDst 3 48 true "eth_dst" "Ethernet destination.",
    EthSrc 4 48 true "eth_src" "Ethernet source.",
    EthType 5 16 false "eth_type" "EtherType, behind all VLAN tags; 0x05ff for 802.3 frames without one.",
    VlanVid 6 13 true "vlan_vid" "VLAN id, with [`VLAN_PRESENT`]; 0 without a tag.",
    VlanPcp 7 3 false "vlan_pcp" "VLAN priority.",
    IpDscp 8 6 false "ip_dscp" "DSCP of IPv4 or IPv6.",
    IpEcn 9 2 false "ip_ecn" "ECN of IPv4 or IPv6.",
    IpProto 10 8 false "ip_proto" "Protocol of IPv4; of IPv6, the next header behind its extensions.",
    Ipv4Src 11 32 true "ipv4_src" "IPv4 source.",
    Ipv4Dst 12 32 true "ipv4_dst" "IPv4 destination.",
    TcpSrc 13 16 false "tcp_src" "TCP source port.",
    TcpDst 14 16 false "tcp_dst" "TCP destination port.",
    UdpSrc 15 16 false "udp_src" "UDP source port.",
    UdpDst 16 16 false "udp_dst" "UDP destination port.",
    SctpSrc 17 16 false "sctp_src" "SCTP source port.",
    SctpDst 18 16 false "sctp_dst" "SCTP destination port.",
    Icmpv4Type 19 8 false "icmpv4_type" "ICMP type.",
    Icmpv4Code 20 8 false "icmpv4_code" "ICMP code.",
    ArpOp 21 16 false "arp_op" "ARP operation.",
    ArpSpa 22 32 true "arp_spa" "ARP source IPv4 address.",
    ArpTpa 23 32 true "arp_tpa" "ARP target IPv4 address.",
    ArpSha 24 48 true "arp_sha" "ARP source hardware address.",
    ArpTha 25 48 true "arp_tha" "ARP target hardware address.",
    Ipv6Src 26 128 true "ipv6_src" "IPv6 source.",
    Ipv6Dst 27 128 true "ipv6_dst" "IPv6 destination.",
    Ipv6Flabel 28 20 true "ipv6_flabel" "IPv6 flow label.",
    Icmpv6Type 29 8 false "icmpv6_type" "ICMPv6 type.",
    Icmpv6Code 30 8 false "icmpv6_code" "ICMPv6 code.",
    Ipv6NdTarget 31 128 false "ipv6_nd_target" "Target of a neighbour solicitation or advertisement.",
    Ipv6NdSll 32 48 false "ipv6_nd_sll" "Source link-layer option of a neighbour solicitation.",
    Ipv6NdTll 33 48 false "ipv6_nd_tll" "Target link-layer option of a neighbour advertisement.",
    MplsLabel 34 20 false "mpls_label" "Label of the outermost MPLS entry.",
    MplsTc 35 3 false "mpls_tc" "Traffic class of the outermost MPLS entry.",
    MplsBos 36 1 false "mpls_bos" "Bottom-of-stack bit of the outermost MPLS entry.",
    PbbIsid 37 24 true "pbb_isid" "I-SID of the outermost PBB tag.",
    TunnelId 38 64 true "tunnel_id" "Metadata of a logical port.",
    Ipv6Exthdr 39 9 true "ipv6_exthdr" "Which IPv6 extension headers there are.",
}

impl Field {
    /// The field with this number in the basic class.
    pub const fn from_wire(number: u8) -> Option<Field> {
        if number < 40 {
            Some(Field::ALL[number as usize])
        } else {
            None
        }
    }

    /// Its width in bits: 1 to 128.
    pub const fn bits(self) -> u8 {
        self.row().0
    }

    /// The bytes of a value: 1 to 16.
    pub const fn bytes(self) -> usize {
        match self.bits() {
            20 => 4,
            bits => bits.div_ceil(8) as usize,
        }
    }

    /// Whether a match may mask it.
    pub const fn is_maskable(self) -> bool {
        self.row().1
    }

    /// The specification's name, in small letters.
    pub const fn name(self) -> &'static str {
        self.row().2
    }

    /// The highest value, which is also the mask of all its bits.
    pub const fn max(self) -> u128 {
        u128::MAX >> (128 - self.bits() as u32)
    }

    /// Whether set-field may set it: not the ports, nor what is no bit of the packet (1.3.5 section 7.2.5).
    pub const fn is_settable(self) -> bool {
        !matches!(
            self,
            Field::InPort | Field::InPhyPort | Field::Metadata | Field::Ipv6Exthdr
        )
    }

    /// The header in a list of ids, without the length of a value but with that of the class and field.
    pub const fn header(self, masked: bool) -> u32 {
        let length = self.bytes() as u32 * if masked { 2 } else { 1 };
        (BASIC as u32) << 16 | (self as u32) << 9 | (masked as u32) << 8 | length
    }
}

/// A field with a value, and a mask where only some bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Oxm {
    pub field: Field,
    /// Its value, right-aligned: an Ethernet address is the lower 48 bits.
    pub value: u128,
    /// The bits that count; `None` for all.
    pub mask: Option<u128>,
}

impl Oxm {
    /// Exactly this value.
    pub const fn new(field: Field, value: u128) -> Oxm {
        Oxm {
            field,
            value,
            mask: None,
        }
    }

    /// These bits of it.
    pub const fn masked(field: Field, value: u128, mask: u128) -> Oxm {
        Oxm {
            field,
            value,
            mask: Some(mask),
        }
    }

    /// The bits that count.
    pub const fn significant(&self) -> u128 {
        match self.mask {
            Some(mask) => mask,
            None => self.field.max(),
        }
    }

    /// Whether value and mask are within the field, the value within the mask, and a mask allowed.
    ///
    /// # Errors
    /// BAD_VALUE, BAD_MASK or BAD_WILDCARDS.
    pub fn check(&self) -> Result<(), Fault> {
        if self.value > self.field.max() {
            return Err(Fault::BadValue);
        }
        if let Some(mask) = self.mask {
            if !self.field.is_maskable() {
                return Err(Fault::BadMask);
            }
            if self.value & !mask != 0 {
                return Err(Fault::BadWildcards);
            }
        }
        Ok(())
    }
}

fn wide(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |value, byte| value << 8 | u128::from(*byte))
}

impl<'a> Element<'a> for Oxm {
    const SHORT: Fault = Fault::BadMatchLen;

    fn read(_version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let (class, header, length) = (reader.u16()?, reader.u8()?, usize::from(reader.u8()?));
        let body = reader.take(length)?;
        let field = Field::from_wire(header >> 1).filter(|_| class == BASIC);
        let field = field.ok_or(Fault::BadField)?;
        let masked = header & 1 == 1;
        if masked && !field.is_maskable() {
            return Err(Fault::BadMask);
        }
        let width = field.bytes();
        if length != if masked { 2 * width } else { width } {
            return Err(Fault::BadMatchLen);
        }
        // Mask bits above a field whose width is no whole byte count for nothing.
        let mask = masked.then(|| wide(&body[width..]) & field.max());
        let oxm = Oxm {
            field,
            value: wide(&body[..width]),
            mask,
        };
        oxm.check()?;
        Ok(oxm)
    }

    fn write(&self, _version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u32(self.field.header(self.mask.is_some()));
        let width = self.field.bytes();
        for value in core::iter::once(self.value).chain(self.mask) {
            out.extend_from_slice(&value.to_be_bytes()[16 - width..]);
        }
        Ok(())
    }

    fn check_all(list: List<'a, Self>) -> Result<(), Fault> {
        check_order(list.iter())
    }
}

/// Whether no field comes twice, and each behind those that it depends on (1.3.5 section 7.2.3.6).
///
/// # Errors
/// DUP_FIELD or BAD_PREREQ.
pub fn check_order(fields: impl Iterator<Item = Oxm>) -> Result<(), Fault> {
    let mut seen = Seen::default();
    fields.into_iter().try_for_each(|oxm| seen.add(&oxm))
}

/// The fields before the one looked at, as far as others depend on them.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    fields: u64,
    eth_type: u128,
    ip_proto: u128,
    icmpv6_type: u128,
    tagged: bool,
}

impl Seen {
    fn add(&mut self, oxm: &Oxm) -> Result<(), Fault> {
        let bit = 1 << oxm.field as u8;
        if self.fields & bit != 0 {
            return Err(Fault::DuplicateField);
        }
        if !self.allows(oxm.field) {
            return Err(Fault::BadPrereq);
        }
        self.fields |= bit;
        match oxm.field {
            Field::EthType => self.eth_type = oxm.value,
            Field::IpProto => self.ip_proto = oxm.value,
            Field::Icmpv6Type => self.icmpv6_type = oxm.value,
            Field::VlanVid => self.tagged = oxm.value & u128::from(VLAN_PRESENT) != 0,
            _ => {}
        }
        Ok(())
    }

    fn allows(&self, field: Field) -> bool {
        use Field::*;
        let has = |field: Field| self.fields & 1 << field as u8 != 0;
        let proto = |number| has(IpProto) && self.ip_proto == number;
        match field {
            InPort | Metadata | EthDst | EthSrc | EthType | VlanVid | TunnelId => true,
            InPhyPort => has(InPort),
            VlanPcp => self.tagged,
            IpDscp | IpEcn | IpProto => matches!(self.eth_type, 0x0800 | 0x86dd),
            Ipv4Src | Ipv4Dst => self.eth_type == 0x0800,
            TcpSrc | TcpDst => proto(6),
            UdpSrc | UdpDst => proto(17),
            SctpSrc | SctpDst => proto(132),
            Icmpv4Type | Icmpv4Code => self.eth_type == 0x0800 && proto(1),
            ArpOp | ArpSpa | ArpTpa | ArpSha | ArpTha => self.eth_type == 0x0806,
            Ipv6Src | Ipv6Dst | Ipv6Flabel | Ipv6Exthdr => self.eth_type == 0x86dd,
            Icmpv6Type | Icmpv6Code => self.eth_type == 0x86dd && proto(58),
            Ipv6NdTarget => has(Icmpv6Type) && matches!(self.icmpv6_type, 135 | 136),
            Ipv6NdSll => has(Icmpv6Type) && self.icmpv6_type == 135,
            Ipv6NdTll => has(Icmpv6Type) && self.icmpv6_type == 136,
            MplsLabel | MplsTc | MplsBos => matches!(self.eth_type, 0x8847 | 0x8848),
            PbbIsid => self.eth_type == 0x88e7,
        }
    }
}
