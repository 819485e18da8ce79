//! Ethernet II and 802.3 frames, with the tags of 802.1Q and 802.1ad.

use crate::BadHeader;
use crate::field;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// EtherTypes.
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// Reverse ARP (RFC 903).
    pub const RARP: u16 = 0x8035;
    /// Discovery of PPP over Ethernet.
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    /// A session of PPP over Ethernet.
    pub const PPPOE_SESSION: u16 = 0x8864;
    /// Transparent Ethernet bridging: a frame inside GRE.
    pub const BRIDGED: u16 = 0x6558;
    /// A customer tag (802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86DD;
    /// MAC control: PAUSE and PFC (802.3 clause 31).
    pub const MAC_CONTROL: u16 = 0x8808;
    /// MPLS to one receiver.
    pub const MPLS: u16 = 0x8847;
    /// MPLS to many (RFC 5332).
    pub const MPLS_MULTICAST: u16 = 0x8848;
    /// A service tag (802.1ad).
    pub const SERVICE_VLAN: u16 = 0x88A8;
    /// A service tag of equipment older than 802.1ad.
    pub const OLD_SERVICE_VLAN: u16 = 0x9100;
    /// The lowest; below it the field is a length (802.3).
    pub const LOWEST: u16 = 0x0600;
}

/// Minimum frame length on a wire without FCS, bytes; shorter frames are padded.
pub const MIN_WIRE_FRAME_LEN: usize = 60;

/// A MAC address. Written `02:00:00:00:00:01`; read so, with `-`, or without separators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// To all.
    pub const BROADCAST: Mac = Mac([0xFF; 6]);

    /// Whether it names a group: multicast or broadcast.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl From<[u8; 6]> for Mac {
    fn from(bytes: [u8; 6]) -> Mac {
        Mac(bytes)
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A text that is no MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a MAC address is twelve hexadecimal digits, such as 02:00:00:00:00:01 or 020000000001")]
pub struct BadMac;

impl FromStr for Mac {
    type Err = BadMac;
    fn from_str(text: &str) -> Result<Mac, BadMac> {
        let separator = text.bytes().find(|byte| matches!(byte, b':' | b'-'));
        let (step, length) = if separator.is_some() {
            (3, 17)
        } else {
            (2, 12)
        };
        if text.len() != length {
            return Err(BadMac);
        }
        let mut mac = [0; 6];
        for (index, byte) in text.as_bytes().chunks(step).enumerate() {
            let digit = |at: usize| char::from(byte[at]).to_digit(16).ok_or(BadMac);
            mac[index] = (digit(0)? << 4 | digit(1)?) as u8;
            if byte.get(2).copied() != separator.filter(|_| index < 5) {
                return Err(BadMac);
            }
        }
        Ok(Mac(mac))
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Mac {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Mac, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Mac;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a MAC address, such as \"02:00:00:00:00:01\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Mac, E> {
                text.parse().map_err(E::custom)
            }
        }
        input.deserialize_str(Text)
    }
}

/// An Ethernet frame whose header is all there. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct EthernetView<'a> {
    header: &'a [u8; 14],
    payload: &'a [u8],
}

impl<'a> EthernetView<'a> {
    /// Looks at a frame without FCS.
    ///
    /// # Errors
    /// When it is shorter than its header.
    #[inline]
    pub fn new(frame: &'a [u8]) -> Result<EthernetView<'a>, BadHeader> {
        let (header, payload) = field::split(frame, "Ethernet header cut off")?;
        Ok(EthernetView { header, payload })
    }

    /// Whom it is for.
    #[inline]
    pub fn destination(&self) -> Mac {
        Mac(field::bytes::<0, 6, 14>(self.header))
    }

    /// Whom it is from.
    #[inline]
    pub fn source(&self) -> Mac {
        Mac(field::bytes::<6, 6, 14>(self.header))
    }

    /// The EtherType, or below [`ethertype::LOWEST`] the length of an 802.3 payload. A tag's is
    /// that of the tag: [`vlan::Tags`](crate::vlan::Tags) passes over them.
    #[inline]
    pub fn ethertype(&self) -> u16 {
        field::u16::<12, 14>(self.header)
    }

    /// What is behind the header, padding included.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// A tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its EtherType: [`ethertype::VLAN`] or [`ethertype::SERVICE_VLAN`].
    pub ethertype: u16,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Whether the frame may be dropped before others.
    pub drop_eligible: bool,
    /// The VLAN, 0 to 4095.
    pub id: u16,
}

impl Tag {
    /// A customer tag without priority.
    #[inline]
    pub const fn new(id: u16) -> Tag {
        Tag {
            ethertype: ethertype::VLAN,
            priority: 0,
            drop_eligible: false,
            id,
        }
    }

    /// As it stands in a frame, at offset 12.
    #[inline]
    pub fn to_bytes(self) -> [u8; 4] {
        let control = u16::from(self.priority & 7) << 13
            | u16::from(self.drop_eligible) << 12
            | self.id & 0x0FFF;
        let ([a, b], [c, d]) = (self.ethertype.to_be_bytes(), control.to_be_bytes());
        [a, b, c, d]
    }

    /// From the bytes of a frame at offset 12.
    #[inline]
    pub fn from_bytes([a, b, c, d]: [u8; 4]) -> Tag {
        Tag {
            ethertype: u16::from_be_bytes([a, b]),
            priority: c >> 5,
            drop_eligible: c & 0x10 != 0,
            id: u16::from_be_bytes([c & 0x0F, d]),
        }
    }
}

/// Builds a frame's header.
#[derive(Clone, Copy, Debug)]
pub struct Ethernet<'a> {
    /// Whom it is for.
    pub destination: Mac,
    /// Whom it is from.
    pub source: Mac,
    /// Its tags, the outermost first.
    pub tags: &'a [Tag],
    /// The EtherType of the payload.
    pub ethertype: u16,
}

impl Ethernet<'_> {
    /// Appends the header and then what `payload` appends. There is no padding.
    pub fn build(&self, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        out.extend(self.destination.0);
        out.extend(self.source.0);
        for tag in self.tags {
            out.extend(tag.to_bytes());
        }
        out.extend(self.ethertype.to_be_bytes());
        payload(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn macs_are_read_in_each_notation() {
        let mac = Mac([2, 0, 0, 0xAB, 0xCD, 0xEF]);
        for text in ["02:00:00:ab:cd:ef", "02-00-00-AB-CD-EF", "020000abcdef"] {
            assert_eq!(text.parse(), Ok(mac), "{text}");
        }
        assert_eq!(mac.to_string(), "02:00:00:ab:cd:ef");
        for text in [
            "",
            "02:00:00:ab:cd",
            "02:00-00:ab:cd:ef",
            "0200.00ab.cdef",
            "02:00:00:ab:cd:eg",
            "02:00:00:ab:cd:e:",
            "+2:00:00:ab:cd:ef",
            "é2:00:00:ab:cd:e",
        ] {
            assert_eq!(text.parse::<Mac>(), Err(BadMac), "{text}");
        }
        assert!(Mac::BROADCAST.is_group() && !mac.is_group());
    }
}
