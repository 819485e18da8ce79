//! The few facts about Ethernet and IP that nodes need at full speed, without building views.

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
/// 802.1Q customer tag.
pub(crate) const TPID_CUSTOMER: u16 = 0x8100;
/// 802.1ad service tag.
pub(crate) const TPID_SERVICE: u16 = 0x88A8;
/// Addresses that end in 0 to F here are for bridges themselves and are never forwarded (802.1Q 8.6.3).
pub(crate) const RESERVED_GROUP: u64 = 0x0180_C200_0000;
pub(crate) const TYPE_IPV4: u16 = 0x0800;
pub(crate) const TYPE_ARP: u16 = 0x0806;
pub(crate) const TYPE_IPV6: u16 = 0x86DD;
pub(crate) const PROTOCOL_ICMP: u8 = 1;
pub(crate) const PROTOCOL_ICMPV6: u8 = 58;
pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;

/// Tags that are looked behind; more make a frame opaque. QinQ has two.
const MOST_TAGS: usize = 4;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// The destination and the source address of a frame, each as the low 48 bits of a number; `None`
/// when the frame is shorter than an Ethernet header.
pub(crate) fn addresses(frame: &[u8]) -> Option<(u64, u64)> {
    // One load each, though it reads two bytes too many.
    let header = frame.first_chunk::<ETHERNET>()?;
    let number = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes) >> 16;
    Some((number(header.first_chunk()?), number(header.last_chunk()?)))
}

/// Group addresses have the lowest bit of the first byte set.
pub(crate) fn is_group(mac: u64) -> bool {
    mac >> 40 & 1 == 1
}

/// The EtherType behind all VLAN tags, and where the bytes behind it begin.
pub(crate) fn payload(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = ETHERNET;
    for _ in 0..=MOST_TAGS {
        match u16_at(frame, at - 2)? {
            TPID_CUSTOMER | TPID_SERVICE => at += 4,
            ethertype => return Some((ethertype, at)),
        }
    }
    None
}

/// Where the transport header of a whole, or the first, IP datagram begins and its protocol.
/// IPv6 extension headers are not looked behind.
pub(crate) fn transport(frame: &[u8]) -> Option<(u8, usize)> {
    let (ethertype, at) = payload(frame)?;
    match ethertype {
        TYPE_IPV4 => {
            let first = *frame.get(at)?;
            let header = usize::from(first & 15) * 4;
            let later_fragment = u16_at(frame, at + 6)? & 0x1FFF != 0;
            if first >> 4 != 4 || header < 20 || later_fragment {
                return None;
            }
            Some((*frame.get(at + 9)?, at + header))
        }
        TYPE_IPV6 => (*frame.get(at)? >> 4 == 6).then_some((*frame.get(at + 6)?, at + 40)),
        _ => None,
    }
}
