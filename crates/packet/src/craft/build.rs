//! Building a packet of a template: headers first, then lengths, then checksums from the inside out.

use super::layer::Kind;
use super::value::Value;
use super::{CraftError, Defaults, Layer, Template};
use crate::checksum::{Pseudo, checksum};
use crate::ethernet::{Mac, ethertype};
use crate::field::put_u16;
use crate::gre::Gre;
use crate::ipv4::protocol;
use crate::mpls::{self, Label};
use crate::tcp::{TcpOption, flag};
use crate::vlan::Tag;
use crate::vxlan::{self, Vxlan};
use crate::{BadHeader, MAX_FRAME_LEN, dns};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Range;

/// EtherType and protocol number for experiments, of what has none of its own.
const EXPERIMENT: (u16, u8) = (0x88B5, 253);
/// A port that nobody has, from which questions come.
const SOURCE_PORT: u64 = 49152;

/// A layer and the choices that this packet takes.
struct Chosen<'a> {
    layer: &'a Layer,
    /// For each field that is stated.
    values: Vec<(&'static str, Value)>,
    next: Option<&'a Layer>,
    defaults: &'a Defaults,
    /// Where it begins.
    start: usize,
}

/// Why values that are good each by itself make no packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum BuildError {
    #[error(transparent)]
    Header(#[from] BadHeader),
    #[error("a packet of {0} bytes: at most {MAX_FRAME_LEN} fit into a frame")]
    Frame(usize),
    #[error("{layer} with {length} bytes: at most 65535 fit")]
    Length { layer: &'static str, length: usize },
}

pub fn build(
    template: &Template,
    number: u128,
    defaults: &Defaults,
    out: &mut Vec<u8>,
) -> Result<(), CraftError> {
    out.clear();
    let mut layers = choose(template, number, defaults);
    let at = |range: &Range<usize>, error: BuildError| CraftError {
        at: range.clone(),
        message: error.to_string(),
    };
    for layer in &mut layers {
        layer.start = out.len();
        let wrong = |error: BadHeader| at(&layer.layer.at, error.into());
        layer.header(out).map_err(wrong)?;
    }
    if out.len() > MAX_FRAME_LEN {
        return Err(at(&(0..template.length), BuildError::Frame(out.len())));
    }
    for layer in &layers {
        let wrong = |error| at(&layer.layer.at, error);
        layer.length(out).map_err(wrong)?;
    }
    for index in (0..layers.len()).rev() {
        let above = index.checked_sub(1).and_then(|above| layers.get(above));
        layers[index].sum(above, out);
    }
    Ok(())
}

/// The values that the packet of this number has: the last field varies fastest.
fn choose<'a>(template: &'a Template, mut number: u128, defaults: &'a Defaults) -> Vec<Chosen<'a>> {
    let mut layers: Vec<Chosen<'a>> = Vec::new();
    for (index, layer) in template.layers.iter().enumerate().rev() {
        let mut values = Vec::new();
        for field in layer.fields.iter().rev() {
            let count = field.choices.count();
            values.push((field.name, field.choices.get(number % count)));
            number /= count;
        }
        layers.push(Chosen {
            layer,
            values,
            next: template.layers.get(index + 1),
            defaults,
            start: 0,
        });
    }
    layers.reverse();
    layers
}

impl Chosen<'_> {
    fn stated(&self, name: &str) -> Option<&Value> {
        self.values
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    fn number_if(&self, name: &str) -> Option<u64> {
        match self.stated(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn number(&self, name: &str, usual: u64) -> u64 {
        self.number_if(name).unwrap_or(usual)
    }

    fn short(&self, name: &str, usual: u64) -> [u8; 2] {
        (self.number(name, usual) as u16).to_be_bytes()
    }

    fn mac(&self, name: &str, usual: Mac) -> [u8; 6] {
        match self.stated(name) {
            Some(Value::Mac(mac)) => mac.0,
            _ => usual.0,
        }
    }

    fn ipv4(&self, name: &str, usual: Ipv4Addr) -> Ipv4Addr {
        match self.stated(name) {
            Some(Value::Ipv4(address)) => *address,
            _ => usual,
        }
    }

    fn ipv6(&self, name: &str, usual: Ipv6Addr) -> Ipv6Addr {
        match self.stated(name) {
            Some(Value::Ipv6(address)) => *address,
            _ => usual,
        }
    }

    fn header(&self, out: &mut Vec<u8>) -> Result<(), BadHeader> {
        match self.layer.kind {
            Kind::Eth => {
                out.extend(self.mac("dst", self.destination()));
                out.extend(self.mac("src", self.defaults.source));
                out.extend(self.short("type", self.ethertype().into()));
            }
            Kind::Vlan => {
                let tag = Tag {
                    priority: self.number("prio", 0) as u8,
                    drop_eligible: self.number("dei", 0) == 1,
                    ..Tag::new(self.number("id", 1) as u16)
                };
                out.extend(&tag.to_bytes()[2..]);
                out.extend(self.short("type", self.ethertype().into()));
            }
            Kind::Mpls => {
                let label = Label {
                    label: self.number("label", 16) as u32,
                    class: self.number("tc", 0) as u8,
                    ttl: self.number("ttl", 64) as u8,
                };
                let at = out.len();
                mpls::build(&[label], out);
                let last = self.next.is_none_or(|next| next.kind != Kind::Mpls);
                out[at + 2] = out[at + 2] & 0xFE | self.number("bottom", last.into()) as u8;
            }
            Kind::Arp => {
                out.extend([0, 1, 8, 0, 6, 4]);
                out.extend(self.short("op", 1));
                out.extend(self.mac("hwsrc", self.defaults.source));
                out.extend(self.ipv4("psrc", self.defaults.ipv4).octets());
                out.extend(self.mac("hwdst", Mac::default()));
                out.extend(self.ipv4("pdst", Ipv4Addr::new(10, 0, 0, 2)).octets());
            }
            Kind::Ip => self.ip(out),
            Kind::Ipv6 => self.ip6(out),
            Kind::Icmp | Kind::Icmpv6 => self.icmp(out),
            Kind::Tcp => self.tcp(out),
            Kind::Udp => {
                let usual = match self.next.map(|next| next.kind) {
                    Some(Kind::Dns) => dns::PORT,
                    Some(Kind::Vxlan) => vxlan::PORT,
                    // Discard.
                    _ => 9,
                };
                out.extend(self.short("sport", SOURCE_PORT));
                out.extend(self.short("dport", usual.into()));
                out.extend([0; 4]);
            }
            Kind::Dns => self.dns(out)?,
            Kind::Vxlan => {
                let network = self.number("vni", 1) as u32;
                Vxlan { network }.build(out, |_| {});
            }
            Kind::Gre => Gre {
                protocol: self.number("type", self.ethertype().into()) as u16,
                checksum: false,
                key: self.number_if("key").map(|key| key as u32),
                sequence: self.number_if("seq").map(|seq| seq as u32),
            }
            .build(out, |_| {}),
            Kind::Bytes => out.extend(&self.layer.bytes),
        }
        Ok(())
    }

    /// Whom the frame is for, if nobody says.
    fn destination(&self) -> Mac {
        let next = self.next;
        let stated = next.and_then(|next| next.fields.iter().find(|field| field.name == "dst"));
        match (
            next.map(|next| next.kind),
            stated.map(|field| field.choices.get(0)),
        ) {
            (Some(Kind::Arp), _) => Mac::BROADCAST,
            (_, Some(Value::Ipv4(address))) if address.is_broadcast() => Mac::BROADCAST,
            (_, Some(Value::Ipv4(address))) if address.is_multicast() => {
                let [_, b, c, d] = address.octets();
                Mac([1, 0, 0x5E, b & 0x7F, c, d])
            }
            (_, Some(Value::Ipv6(address))) if address.is_multicast() => {
                let [.., a, b, c, d] = address.octets();
                Mac([0x33, 0x33, a, b, c, d])
            }
            _ => self.defaults.destination,
        }
    }

    /// The EtherType of what follows.
    fn ethertype(&self) -> u16 {
        match self.next.map(|next| next.kind) {
            Some(Kind::Vlan) => ethertype::VLAN,
            Some(Kind::Mpls) => ethertype::MPLS,
            Some(Kind::Arp) => ethertype::ARP,
            Some(Kind::Ip) => ethertype::IPV4,
            Some(Kind::Ipv6) => ethertype::IPV6,
            Some(Kind::Eth) => ethertype::BRIDGED,
            _ => EXPERIMENT.0,
        }
    }

    /// The protocol number of what follows.
    fn protocol(&self) -> u8 {
        match self.next.map(|next| next.kind) {
            Some(Kind::Icmp) => protocol::ICMP,
            Some(Kind::Icmpv6) => protocol::ICMPV6,
            Some(Kind::Tcp) => protocol::TCP,
            Some(Kind::Udp) => protocol::UDP,
            Some(Kind::Gre) => protocol::GRE,
            Some(Kind::Ip) => protocol::IPV4,
            Some(Kind::Ipv6) => protocol::IPV6,
            _ => EXPERIMENT.1,
        }
    }

    fn traffic_class(&self, name: &str) -> u8 {
        let usual = self.number("dscp", 0) << 2 | self.number("ecn", 0);
        self.number(name, usual) as u8
    }

    fn ip(&self, out: &mut Vec<u8>) {
        out.extend([0x45, self.traffic_class("tos"), 0, 0]);
        out.extend(self.short("id", 1));
        let flags = self.number("flags", 0) << 13 | self.number("frag", 0);
        out.extend((flags as u16).to_be_bytes());
        out.extend([
            self.number("ttl", 64) as u8,
            self.number("proto", self.protocol().into()) as u8,
            0,
            0,
        ]);
        out.extend(self.ipv4("src", self.defaults.ipv4).octets());
        out.extend(self.ipv4("dst", Ipv4Addr::new(10, 0, 0, 2)).octets());
    }

    fn ip6(&self, out: &mut Vec<u8>) {
        let first =
            6 << 28 | u32::from(self.traffic_class("tc")) << 20 | self.number("fl", 0) as u32;
        out.extend(first.to_be_bytes());
        out.extend([
            0,
            0,
            self.number("nh", self.protocol().into()) as u8,
            self.number("hlim", 64) as u8,
        ]);
        out.extend(self.ipv6("src", self.defaults.ipv6).octets());
        out.extend(
            self.ipv6("dst", Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2))
                .octets(),
        );
    }

    fn icmp(&self, out: &mut Vec<u8>) {
        let usual = if self.layer.kind == Kind::Icmp {
            8
        } else {
            128
        };
        out.extend([
            self.number("type", usual) as u8,
            self.number("code", 0) as u8,
            0,
            0,
        ]);
        out.extend(self.short("id", 0));
        out.extend(self.short("seq", 0));
        // Neighbour discovery is about an address.
        if self.layer.kind == Kind::Icmpv6 && matches!(self.number("type", usual), 135 | 136) {
            out.extend(
                self.ipv6("target", Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2))
                    .octets(),
            );
        }
    }

    fn tcp(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(self.short("sport", SOURCE_PORT));
        out.extend(self.short("dport", 80));
        out.extend((self.number("seq", 0) as u32).to_be_bytes());
        out.extend((self.number("ack", 0) as u32).to_be_bytes());
        out.extend([0, self.number("flags", flag::SYN.into()) as u8]);
        out.extend(self.short("window", 8192));
        out.extend([0; 2]);
        out.extend(self.short("urgptr", 0));
        let options = [
            self.number_if("mss")
                .map(|size| TcpOption::MaximumSegment(size as u16)),
            self.number_if("wscale")
                .map(|shift| TcpOption::WindowScale(shift as u8)),
            self.number_if("sackok")
                .filter(|ok| *ok == 1)
                .map(|_| TcpOption::SackPermitted),
            self.number_if("ts")
                .map(|both| TcpOption::Timestamps((both >> 32) as u32, both as u32)),
        ];
        options
            .iter()
            .flatten()
            .for_each(|option| option.build(out));
        let words = (out.len() - start).div_ceil(4);
        out.resize(start + words * 4, 0);
        out[start + 12] = (words as u8) << 4;
    }

    fn dns(&self, out: &mut Vec<u8>) -> Result<(), BadHeader> {
        let name = match self.stated("name") {
            Some(Value::Text(name)) => name,
            _ => "example.org",
        };
        let at = out.len();
        dns::query(
            self.number("id", 0) as u16,
            name,
            self.number("type", 1) as u16,
            out,
        )?;
        out[at + 2] = self.number("rd", 1) as u8;
        Ok(())
    }

    /// Fills in the length, if the header has one.
    fn length(&self, out: &mut [u8]) -> Result<(), BuildError> {
        let behind = out.len() - self.start;
        let (name, at, length) = match self.layer.kind {
            Kind::Ip => ("len", 2, behind),
            Kind::Ipv6 => ("plen", 4, behind - 40),
            Kind::Udp => ("len", 4, behind),
            _ => return Ok(()),
        };
        let length = match self.number_if(name) {
            Some(stated) => stated as u16,
            None => u16::try_from(length).map_err(|_| BuildError::Length {
                layer: self.layer.kind.name(),
                length,
            })?,
        };
        put_u16(out, self.start + at, length);
        Ok(())
    }

    /// Fills in the checksum, if the header has one; `above` is what it stands in.
    fn sum(&self, above: Option<&Chosen<'_>>, out: &mut [u8]) {
        let bytes = &out[self.start..];
        let pseudo = above.map(|ip| ip.pseudo(self.layer.kind));
        let (at, sum) = match (self.layer.kind, pseudo) {
            (Kind::Ip, _) => (10, checksum(&bytes[..20])),
            (Kind::Icmp, _) => (2, checksum(bytes)),
            (Kind::Icmpv6, Some(pseudo)) => (2, pseudo.sum(bytes.len()).plus(bytes).checksum()),
            (Kind::Tcp, Some(pseudo)) => (16, pseudo.sum(bytes.len()).plus(bytes).checksum()),
            (Kind::Udp, Some(pseudo)) => (6, pseudo.sum(bytes.len()).plus(bytes).udp_checksum()),
            _ => return,
        };
        let sum = self.number_if("chksum").map_or(sum, |stated| stated as u16);
        put_u16(out, self.start + at, sum);
    }

    /// What the IP header, which this is, adds to the checksum of a layer in it.
    fn pseudo(&self, inner: Kind) -> Pseudo {
        let number = match inner {
            Kind::Tcp => protocol::TCP,
            Kind::Udp => protocol::UDP,
            _ => protocol::ICMPV6,
        };
        match self.layer.kind {
            Kind::Ipv6 => Pseudo::ipv6(
                self.ipv6("src", self.defaults.ipv6).octets(),
                self.ipv6("dst", Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2))
                    .octets(),
                number,
            ),
            _ => Pseudo::ipv4(
                self.ipv4("src", self.defaults.ipv4).octets(),
                self.ipv4("dst", Ipv4Addr::new(10, 0, 0, 2)).octets(),
                number,
            ),
        }
    }
}
