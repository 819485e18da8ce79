//! A frame in one line, for people.
//!
//! `10.0.0.1:4000 > 10.0.0.2:53 UDP, 12 bytes`: who to whom, what, and how much payload. Tags,
//! labels and tunnels stand in front of what they carry. A frame that is cut off or malformed is
//! described as far as it makes sense, and then the reason. MAC addresses stand before what is not IP.

use crate::BadHeader;
use crate::arp::{Arp, Operation};
use crate::ethernet::{EthernetView, ethertype};
use crate::gre::GreView;
use crate::icmp::{Icmp, IcmpView};
use crate::icmpv6::{Icmpv6, Icmpv6View};
use crate::ipv4::{Ipv4View, protocol};
use crate::ipv6::Ipv6View;
use crate::mpls::Labels;
use crate::tcp::{TcpView, flag};
use crate::udp::UdpView;
use crate::vlan::Tags;
use crate::vxlan::{self, VxlanView};
use core::fmt::{self, Display, Write};
use core::net::{IpAddr, SocketAddr};

/// Headers inside each other that are described; what is deeper is not looked into.
const DEEPEST: usize = 8;

/// Writes the description of an Ethernet frame, without a line end.
///
/// # Errors
/// When `out` fails.
pub fn describe(frame: &[u8], out: &mut dyn Write) -> fmt::Result {
    Describer { out, depth: 0 }.frame(frame)
}

/// A frame that shows as its description.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a>(pub &'a [u8]);

impl Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(self.0, f)
    }
}

/// A frame that shows as its description without its own MAC addresses, for those who have written
/// them already.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a>(pub &'a [u8]);

impl Display for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Describer { out: f, depth: 0 }.payload(self.0, false)
    }
}

struct Describer<'o> {
    out: &'o mut dyn Write,
    depth: usize,
}

impl Describer<'_> {
    fn frame(&mut self, frame: &[u8]) -> fmt::Result {
        self.payload(frame, true)
    }

    /// `macs`: whether addresses stand before what is not IP.
    fn payload(&mut self, frame: &[u8], macs: bool) -> fmt::Result {
        let mut tags = match Tags::new(frame) {
            Ok(tags) => tags,
            Err(bad) => return self.bad(bad),
        };
        for tag in tags.by_ref().take(DEEPEST) {
            write!(self.out, "vlan {} ", tag.id)?;
        }
        if macs
            && !matches!(tags.ethertype(), ethertype::IPV4 | ethertype::IPV6)
            && let Ok(view) = EthernetView::new(frame)
        {
            write!(self.out, "{} > {} ", view.source(), view.destination())?;
        }
        self.network(tags.ethertype(), tags.payload())
    }

    fn bad(&mut self, bad: BadHeader) -> fmt::Result {
        write!(self.out, "[{bad}]")
    }

    fn network(&mut self, kind: u16, payload: &[u8]) -> fmt::Result {
        self.depth += 1;
        match kind {
            _ if self.depth > DEEPEST => self.out.write_str("..."),
            ethertype::IPV4 => self.ipv4(payload),
            ethertype::IPV6 => self.ipv6(payload),
            ethertype::ARP => self.arp(payload),
            ethertype::MPLS | ethertype::MPLS_MULTICAST => self.mpls(payload),
            ethertype::BRIDGED => self.frame(payload),
            0..ethertype::LOWEST => write!(self.out, "802.3, {kind} bytes"),
            _ => write!(self.out, "type {kind:04X}, {} bytes", payload.len()),
        }
    }

    fn ipv4(&mut self, packet: &[u8]) -> fmt::Result {
        let view = match Ipv4View::new_cut(packet) {
            Ok(view) => view,
            Err(bad) => return self.bad(bad),
        };
        let addresses = (view.source().into(), view.destination().into());
        let (protocol, payload) = (view.protocol(), view.payload());
        match view.fragment_offset() {
            0 => self.transport(addresses, protocol, payload)?,
            offset => self.later_fragment(addresses, protocol, payload, offset)?,
        }
        if view.more_fragments() && view.fragment_offset() == 0 {
            self.out.write_str(", first fragment")?;
        }
        self.cut(Ipv4View::new(packet).err())
    }

    fn ipv6(&mut self, packet: &[u8]) -> fmt::Result {
        let view = match Ipv6View::new_cut(packet) {
            Ok(view) => view,
            Err(bad) => return self.bad(bad),
        };
        let addresses = (view.source().into(), view.destination().into());
        let (mut walk, mut fragment) = (view.extensions(), None);
        for extension in &mut walk {
            fragment = extension.fragment().or(fragment);
        }
        let (protocol, payload) = (walk.protocol(), walk.payload());
        match fragment {
            Some(part) if part.offset > 0 => {
                self.later_fragment(addresses, protocol, payload, part.offset.into())?;
            }
            Some(part) if part.more => {
                self.transport(addresses, protocol, payload)?;
                self.out.write_str(", first fragment")?;
            }
            _ => self.transport(addresses, protocol, payload)?,
        }
        self.cut(Ipv6View::new(packet).err())
    }

    fn cut(&mut self, bad: Option<BadHeader>) -> fmt::Result {
        match bad {
            Some(bad) => write!(self.out, " [{bad}]"),
            None => Ok(()),
        }
    }

    fn later_fragment(
        &mut self,
        (source, destination): (IpAddr, IpAddr),
        protocol: u8,
        payload: &[u8],
        offset: usize,
    ) -> fmt::Result {
        let length = payload.len();
        write!(self.out, "{source} > {destination} protocol {protocol}, ")?;
        write!(self.out, "{length} bytes, fragment at {offset}")
    }

    fn transport(
        &mut self,
        (source, destination): (IpAddr, IpAddr),
        protocol: u8,
        payload: &[u8],
    ) -> fmt::Result {
        let ends = |out: &mut dyn Write, from: u16, to: u16| {
            let (source, destination) = (
                SocketAddr::new(source, from),
                SocketAddr::new(destination, to),
            );
            write!(out, "{source} > {destination} ")
        };
        match protocol {
            protocol::UDP => {
                if let Ok(view) = UdpView::new_cut(payload) {
                    ends(self.out, view.source_port(), view.destination_port())?;
                    return self.udp(view);
                }
            }
            protocol::TCP => {
                if let Ok(view) = TcpView::new(payload) {
                    ends(self.out, view.source_port(), view.destination_port())?;
                    return self.tcp(view);
                }
            }
            _ => {}
        }
        write!(self.out, "{source} > {destination} ")?;
        match protocol {
            protocol::ICMP => self.icmp(payload),
            protocol::ICMPV6 => self.icmpv6(payload),
            protocol::IPV4 => self.network(ethertype::IPV4, payload),
            protocol::IPV6 => self.network(ethertype::IPV6, payload),
            protocol::GRE => match GreView::new(payload) {
                Ok(view) => {
                    self.out.write_str("GRE ")?;
                    if let Some(key) = view.key() {
                        write!(self.out, "key {key} ")?;
                    }
                    self.network(view.protocol(), view.payload())
                }
                Err(bad) => self.bad(bad),
            },
            protocol::UDP => self.bad(BadHeader("UDP header cut off or malformed")),
            protocol::TCP => self.bad(BadHeader("TCP header cut off or malformed")),
            _ => write!(self.out, "protocol {protocol}, {} bytes", payload.len()),
        }
    }

    fn udp(&mut self, view: UdpView<'_>) -> fmt::Result {
        if view.destination_port() == vxlan::PORT
            && self.depth < DEEPEST
            && let Ok(inner) = VxlanView::new(view.payload())
        {
            write!(self.out, "VXLAN {} ", inner.network())?;
            return self.frame(inner.frame());
        }
        write!(self.out, "UDP, {} bytes", view.length() - 8)
    }

    fn tcp(&mut self, view: TcpView<'_>) -> fmt::Result {
        self.out.write_str("TCP ")?;
        let flags = view.flags();
        for (bit, letter) in [
            (flag::SYN, 'S'),
            (flag::FIN, 'F'),
            (flag::RST, 'R'),
            (flag::PSH, 'P'),
            (flag::URG, 'U'),
            (flag::ECE, 'E'),
            (flag::CWR, 'W'),
            (flag::ACK, '.'),
        ] {
            if flags & bit != 0 {
                self.out.write_char(letter)?;
            }
        }
        write!(self.out, " seq {}", view.sequence())?;
        if flags & flag::ACK != 0 {
            write!(self.out, " ack {}", view.acknowledgement())?;
        }
        write!(
            self.out,
            " win {}, {} bytes",
            view.window(),
            view.payload().len()
        )
    }

    fn icmp(&mut self, packet: &[u8]) -> fmt::Result {
        let view = match IcmpView::new(packet) {
            Ok(view) => view,
            Err(bad) => return self.bad(bad),
        };
        let out = &mut *self.out;
        match view.message() {
            Icmp::EchoRequest {
                identification: id,
                sequence,
            } => {
                write!(out, "ICMP echo request id {id} seq {sequence}")
            }
            Icmp::EchoReply {
                identification: id,
                sequence,
            } => {
                write!(out, "ICMP echo reply id {id} seq {sequence}")
            }
            Icmp::Unreachable { code: 4, mtu } => write!(out, "ICMP too long, mtu {mtu}"),
            Icmp::Unreachable { code, .. } => write!(out, "ICMP unreachable, code {code}"),
            Icmp::Redirect { gateway, .. } => write!(out, "ICMP redirect to {gateway}"),
            Icmp::TimeExceeded { .. } => write!(out, "ICMP time exceeded"),
            Icmp::Other { kind, code, .. } => write!(out, "ICMP type {kind} code {code}"),
        }?;
        write!(out, ", {} bytes", view.payload().len())
    }

    fn icmpv6(&mut self, packet: &[u8]) -> fmt::Result {
        let view = match Icmpv6View::new(packet) {
            Ok(view) => view,
            Err(bad) => return self.bad(bad),
        };
        let out = &mut *self.out;
        match view.message() {
            Icmpv6::EchoRequest {
                identification: id,
                sequence,
            } => {
                write!(out, "ICMPv6 echo request id {id} seq {sequence}")
            }
            Icmpv6::EchoReply {
                identification: id,
                sequence,
            } => {
                write!(out, "ICMPv6 echo reply id {id} seq {sequence}")
            }
            Icmpv6::Unreachable { code } => write!(out, "ICMPv6 unreachable, code {code}"),
            Icmpv6::TooBig { mtu } => write!(out, "ICMPv6 too long, mtu {mtu}"),
            Icmpv6::TimeExceeded { .. } => write!(out, "ICMPv6 time exceeded"),
            Icmpv6::NeighbourSolicitation { target } => write!(out, "ICMPv6 who has {target}"),
            Icmpv6::NeighbourAdvertisement { target, .. } => write!(out, "ICMPv6 {target} is here"),
            Icmpv6::Other { kind, code, .. } => write!(out, "ICMPv6 type {kind} code {code}"),
        }?;
        write!(out, ", {} bytes", view.payload().len())
    }

    fn arp(&mut self, packet: &[u8]) -> fmt::Result {
        let arp = match Arp::parse(packet) {
            Ok(arp) => arp,
            Err(bad) => return self.bad(bad),
        };
        match arp.operation {
            Operation::Request => {
                write!(self.out, "ARP who has {} tell {}", arp.target, arp.sender)
            }
            Operation::Reply => write!(self.out, "ARP {} is at {}", arp.sender, arp.sender_mac),
            Operation::Other(number) => write!(self.out, "ARP operation {number}"),
        }
    }

    fn mpls(&mut self, packet: &[u8]) -> fmt::Result {
        let mut walk = Labels::new(packet);
        for label in walk.by_ref().take(DEEPEST) {
            match label {
                Ok(label) => write!(self.out, "MPLS {} ", label.label)?,
                Err(bad) => return self.bad(bad),
            }
        }
        match walk.payload().first().map(|byte| byte >> 4) {
            Some(4) => self.network(ethertype::IPV4, walk.payload()),
            Some(6) => self.network(ethertype::IPV6, walk.payload()),
            _ => write!(self.out, "{} bytes", walk.payload().len()),
        }
    }
}

#[cfg(test)]
mod tests;
