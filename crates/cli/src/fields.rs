//! Fields of a packet by name, taken from its line; only what lies inside the packet is decoded.

use crate::layout::{self, Layout};
use anyhow::Context;
use packet::flow::{self, FiveTuple};
use std::io::Write;
use std::str::FromStr;

/// Bytes of a frame that are decoded to find addresses and ports: enough for tags, IPv6 and eight
/// extension headers of the usual sizes.
const HEAD: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The date or the timestamp word.
    Time,
    /// The five-tuple hash; computed where the line has none.
    Hash,
    /// `DST SRC TYPE`.
    Ether,
    /// Destination MAC address.
    Dst,
    /// Source MAC address.
    Src,
    /// EtherType.
    Type,
    /// Outermost VLAN identifier.
    Vlan,
    /// Source IP address.
    IpSrc,
    /// Destination IP address.
    IpDst,
    /// IP protocol number.
    Proto,
    /// Source port of TCP, UDP and the like.
    Sport,
    /// Destination port.
    Dport,
    /// The bytes behind the EtherType.
    Payload,
}

/// Every field with its name.
const NAMES: [(&str, Field); 13] = [
    ("time", Field::Time),
    ("hash", Field::Hash),
    ("ether", Field::Ether),
    ("dst", Field::Dst),
    ("src", Field::Src),
    ("type", Field::Type),
    ("vlan", Field::Vlan),
    ("ip.src", Field::IpSrc),
    ("ip.dst", Field::IpDst),
    ("proto", Field::Proto),
    ("sport", Field::Sport),
    ("dport", Field::Dport),
    ("payload", Field::Payload),
];

/// Names that mean the same.
const ALSO: [(&str, Field); 1] = [
    // Paper 000 section 6.1.
    ("etherheader", Field::Ether),
];

/// The value of a field that a packet does not have.
pub const NONE: &[u8] = b"-";

/// What each is, for a list.
pub const ABOUT: [(&str, &str); 13] = [
    ("time", "The date or the timestamp word"),
    (
        "hash",
        "The five-tuple hash; computed where the line has none",
    ),
    ("ether, etherheader", "DST SRC TYPE"),
    ("dst", "Destination MAC address"),
    ("src", "Source MAC address"),
    ("type", "EtherType"),
    ("vlan", "Outermost VLAN identifier"),
    ("ip.src", "Source IP address, of IPv4 or IPv6"),
    ("ip.dst", "Destination IP address"),
    ("proto", "IP protocol number"),
    ("sport", "Source port of TCP, UDP and the like"),
    ("dport", "Destination port"),
    ("payload", "The bytes behind the EtherType"),
];

impl Field {
    /// The field of a name.
    pub fn named(name: &str) -> Option<Field> {
        let mut names = NAMES.iter().chain(&ALSO);
        let found = names.find(|(known, _)| *known == name);
        found.map(|(_, field)| *field)
    }

    /// The field's name.
    pub fn name(self) -> &'static str {
        let named = NAMES.iter().find(|(_, field)| *field == self);
        named.map_or("", |(name, _)| name)
    }
}

impl FromStr for Field {
    type Err = anyhow::Error;
    fn from_str(name: &str) -> anyhow::Result<Field> {
        Field::named(name).with_context(|| {
            let known = NAMES.map(|(known, _)| known).join(" ");
            format!("there is no field `{name}`; the fields are {known}")
        })
    }
}

/// A line, and what of its frame has been decoded so far.
pub struct Line<'a> {
    text: &'a [u8],
    layout: Layout,
    head: Option<Head>,
}

struct Head {
    frame: [u8; HEAD],
    len: usize,
    tuple: Option<FiveTuple>,
}

impl<'a> Line<'a> {
    /// A line; `None` if it is not one.
    pub fn new(text: &'a [u8]) -> Option<Line<'a>> {
        Some(Line::with_layout(text, Layout::of(text)?))
    }

    /// A line with the layout that it is known to have.
    pub fn with_layout(text: &'a [u8], layout: Layout) -> Line<'a> {
        Line {
            text,
            layout,
            head: None,
        }
    }

    fn head(&mut self) -> &Head {
        let (text, layout) = (self.text, self.layout);
        self.head.get_or_insert_with(|| {
            let mut frame = [0; HEAD];
            let len = layout::frame_head(text, layout, &mut frame);
            let tuple = flow::five_tuple(&frame[..len]);
            Head { frame, len, tuple }
        })
    }

    /// Source and destination, protocol and ports, if it is IP.
    pub fn tuple(&mut self) -> Option<FiveTuple> {
        self.head().tuple
    }

    /// The identifier in the outermost VLAN tag.
    pub fn vlan(&mut self) -> Option<u16> {
        let head = self.head();
        let tag = head.frame[..head.len].get(12..16)?;
        let tagged = matches!(tag[..2], [0x81 | 0x91, 0x00] | [0x88, 0xA8]);
        tagged.then(|| u16::from_be_bytes([tag[2], tag[3]]) & 0xFFF)
    }

    /// The text of a field that stands in the line itself.
    fn range(&self, field: Field) -> Option<&'a [u8]> {
        let range = match field {
            Field::Time => self.layout.time()?,
            Field::Hash => self.layout.hash()?,
            Field::Ether => self.layout.ether(),
            Field::Dst => self.layout.dst(),
            Field::Src => self.layout.src(),
            Field::Type => self.layout.ethertype(),
            Field::Payload => self.layout.payload()..self.text.len(),
            _ => return None,
        };
        self.text.get(range).filter(|text| !text.is_empty())
    }

    /// Appends a field's value, `-` for what the packet does not have.
    pub fn append(&mut self, field: Field, out: &mut Vec<u8>) {
        if let Some(text) = self.range(field) {
            return out.extend_from_slice(text);
        }
        let begin = out.len();
        // Writing to a Vec does not fail.
        let _ = match field {
            Field::Hash => {
                let hash = self.tuple().map_or(0, |tuple| tuple.hash());
                write!(out, "{hash:08X}")
            }
            Field::Vlan => self.vlan().map_or(Ok(()), |id| write!(out, "{id}")),
            Field::IpSrc | Field::IpDst | Field::Proto | Field::Sport | Field::Dport => {
                match (self.tuple(), field) {
                    (None, _) => Ok(()),
                    (Some(tuple), Field::IpSrc) => write!(out, "{}", tuple.source),
                    (Some(tuple), Field::IpDst) => write!(out, "{}", tuple.destination),
                    (Some(tuple), Field::Proto) => write!(out, "{}", tuple.protocol),
                    (Some(tuple), _) if !has_ports(tuple.protocol) => Ok(()),
                    (Some(tuple), Field::Sport) => write!(out, "{}", tuple.source_port),
                    (Some(tuple), _) => write!(out, "{}", tuple.destination_port),
                }
            }
            _ => Ok(()),
        };
        if out.len() == begin {
            out.extend_from_slice(NONE);
        }
    }
}

/// Whether a protocol begins with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
pub fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: &str = "0000000000000010 001122334455 66778899AABB 8100 00 05 08 00 \
        45 00 00 1C 00 00 00 00 40 11 00 00 0A 00 00 01 0A 00 00 02 00 35 10 00 00 08 00 00";

    fn value(text: &str, name: &str) -> String {
        let mut out = Vec::new();
        Line::new(text.as_bytes())
            .unwrap()
            .append(Field::named(name).unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_field_of_a_tagged_packet_is_found() {
        for (name, expected) in [
            ("time", "0000000000000010"),
            ("ether", "001122334455 66778899AABB 8100"),
            ("dst", "001122334455"),
            ("src", "66778899AABB"),
            ("type", "8100"),
            ("vlan", "5"),
            ("ip.src", "10.0.0.1"),
            ("ip.dst", "10.0.0.2"),
            ("proto", "17"),
            ("sport", "53"),
            ("dport", "4096"),
            ("payload", &UDP[48..]),
        ] {
            assert_eq!(value(UDP, name), expected, "{name}");
        }
        assert_ne!(value(UDP, "hash"), "00000000");
    }

    #[test]
    fn what_is_not_there_is_a_dash() {
        let arp = "FFFFFFFFFFFF 66778899AABB 0806";
        for name in [
            "time", "vlan", "ip.src", "ip.dst", "proto", "sport", "dport", "payload",
        ] {
            assert_eq!(value(arp, name), "-", "{name}");
        }
        assert_eq!(value(arp, "hash"), "00000000");
        assert_eq!(Field::named("ip"), None);
        assert!(
            ABOUT
                .iter()
                .zip(NAMES)
                .all(|(about, name)| about.0.starts_with(name.0))
        );
    }
}
