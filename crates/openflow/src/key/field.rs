//! The match fields, and where each stands in a key.

/// A match field of the class OFPXMC_OPENFLOW_BASIC, with its number (OpenFlow 1.3.5 section 7.2.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Ingress port; 32 bits.
    InPort = 0,
    /// The physical port under a logical one; 32 bits.
    InPhyPort = 1,
    /// What one table leaves for the next; 64 bits.
    Metadata = 2,
    /// Ethernet destination; 48 bits.
    EthDst = 3,
    /// Ethernet source; 48 bits.
    EthSrc = 4,
    /// Ethernet type of what is behind the VLAN tags; 16 bits.
    EthType = 5,
    /// The outermost tag's VLAN, and 0x1000 if there is a tag; 13 bits.
    VlanVid = 6,
    /// The outermost tag's priority; 3 bits.
    VlanPcp = 7,
    /// Differentiated services of IPv4 or IPv6; 6 bits.
    IpDscp = 8,
    /// Congestion notification of IPv4 or IPv6; 2 bits.
    IpEcn = 9,
    /// IP protocol, of IPv6 that behind the extension headers; 8 bits.
    IpProto = 10,
    /// IPv4 source; 32 bits.
    Ipv4Src = 11,
    /// IPv4 destination; 32 bits.
    Ipv4Dst = 12,
    /// TCP source port; 16 bits.
    TcpSrc = 13,
    /// TCP destination port; 16 bits.
    TcpDst = 14,
    /// UDP source port; 16 bits.
    UdpSrc = 15,
    /// UDP destination port; 16 bits.
    UdpDst = 16,
    /// SCTP source port; 16 bits.
    SctpSrc = 17,
    /// SCTP destination port; 16 bits.
    SctpDst = 18,
    /// ICMP type; 8 bits.
    Icmpv4Type = 19,
    /// ICMP code; 8 bits.
    Icmpv4Code = 20,
    /// ARP operation; 16 bits.
    ArpOp = 21,
    /// Sender's IPv4 address in ARP; 32 bits.
    ArpSpa = 22,
    /// Target's IPv4 address in ARP; 32 bits.
    ArpTpa = 23,
    /// Sender's Ethernet address in ARP; 48 bits.
    ArpSha = 24,
    /// Target's Ethernet address in ARP; 48 bits.
    ArpTha = 25,
    /// IPv6 source; 128 bits.
    Ipv6Src = 26,
    /// IPv6 destination; 128 bits.
    Ipv6Dst = 27,
    /// IPv6 flow label; 20 bits.
    Ipv6Flabel = 28,
    /// ICMPv6 type; 8 bits.
    Icmpv6Type = 29,
    /// ICMPv6 code; 8 bits.
    Icmpv6Code = 30,
    /// Target of neighbour discovery; 128 bits.
    Ipv6NdTarget = 31,
    /// Source's link-layer address in a neighbour solicitation; 48 bits.
    Ipv6NdSll = 32,
    /// Target's link-layer address in a neighbour advertisement; 48 bits.
    Ipv6NdTll = 33,
    /// The outermost MPLS label; 20 bits.
    MplsLabel = 34,
    /// Its traffic class; 3 bits.
    MplsTc = 35,
    /// Whether it is the last of the stack; 1 bit.
    MplsBos = 36,
    /// Service of provider backbone bridging; 24 bits.
    PbbIsid = 37,
    /// What a logical port puts beside a frame; 64 bits.
    TunnelId = 38,
    /// Which extension headers IPv6 has, by the bits of [`exthdr`](super::exthdr); 9 bits.
    Ipv6Exthdr = 39,
}

/// Where a field stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub word: u8,
    pub shift: u8,
    pub bits: u8,
}

impl Place {
    /// As many ones as the field has bits; of one of 128 bits, those of a word.
    pub fn ones(self) -> u64 {
        u64::MAX >> (64 - self.bits.min(64))
    }
}

const fn at(word: u8, shift: u8, bits: u8) -> Place {
    Place { word, shift, bits }
}

/// By number.
const PLACES: [Place; 40] = [
    at(0, 32, 32),
    at(0, 0, 32),
    at(1, 0, 64),
    at(2, 16, 48),
    at(3, 16, 48),
    at(2, 0, 16),
    at(3, 0, 13),
    at(3, 13, 3),
    at(4, 58, 6),
    at(4, 56, 2),
    at(4, 48, 8),
    at(5, 32, 32),
    at(5, 0, 32),
    at(4, 32, 16),
    at(4, 16, 16),
    at(4, 32, 16),
    at(4, 16, 16),
    at(4, 32, 16),
    at(4, 16, 16),
    at(4, 32, 8),
    at(4, 16, 8),
    at(4, 0, 16),
    at(5, 32, 32),
    at(5, 0, 32),
    at(6, 16, 48),
    at(7, 16, 48),
    at(5, 0, 128),
    at(7, 0, 128),
    at(9, 16, 20),
    at(4, 32, 8),
    at(4, 16, 8),
    at(11, 0, 128),
    at(13, 16, 48),
    at(14, 16, 48),
    at(9, 44, 20),
    at(9, 41, 3),
    at(9, 40, 1),
    at(9, 16, 24),
    at(10, 0, 64),
    at(4, 0, 9),
];

/// By number.
const ALL: [Field; 40] = {
    use Field::*;
    [
        InPort,
        InPhyPort,
        Metadata,
        EthDst,
        EthSrc,
        EthType,
        VlanVid,
        VlanPcp,
        IpDscp,
        IpEcn,
        IpProto,
        Ipv4Src,
        Ipv4Dst,
        TcpSrc,
        TcpDst,
        UdpSrc,
        UdpDst,
        SctpSrc,
        SctpDst,
        Icmpv4Type,
        Icmpv4Code,
        ArpOp,
        ArpSpa,
        ArpTpa,
        ArpSha,
        ArpTha,
        Ipv6Src,
        Ipv6Dst,
        Ipv6Flabel,
        Icmpv6Type,
        Icmpv6Code,
        Ipv6NdTarget,
        Ipv6NdSll,
        Ipv6NdTll,
        MplsLabel,
        MplsTc,
        MplsBos,
        PbbIsid,
        TunnelId,
        Ipv6Exthdr,
    ]
};

impl Field {
    /// All of them, in the order of their numbers.
    pub const ALL: &'static [Field] = &ALL;

    /// The field with this number; `None` for none of OpenFlow 1.3.
    pub fn from_number(number: u8) -> Option<Field> {
        ALL.get(usize::from(number)).copied()
    }

    /// How many bits it has.
    pub fn bits(self) -> u32 {
        self.place().bits.into()
    }

    pub(super) fn place(self) -> Place {
        PLACES[self as usize]
    }
}
