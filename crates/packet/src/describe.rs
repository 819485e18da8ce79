//! A frame in one line, for people.
//!
//! `10.0.0.1:4000 > 10.0.0.2:53 UDP, 12 bytes`: who to whom, what, and how much payload. Tags,
//! labels and tunnels stand in front of what they carry. A frame that is cut off or malformed is
//! described as far as it makes sense, and then the reason. MAC addresses stand before what is not IP.

use crate::arp::{Arp, Operation};
use crate::ethernet::{EthernetView, ethertype};
use crate::icmp::{Icmp, IcmpView};
use crate::icmpv6::{Icmpv6, Icmpv6View};
use crate::ipv4::protocol;
use crate::layers::{Header, Layers, Next, layers, ports};
use crate::tcp::{TcpView, flag};
use core::fmt::{self, Display, Write};
use core::net::{IpAddr, SocketAddr};

/// Maximum number of nested packets that are described.
const MAX_PACKETS: usize = 6;
/// Maximum number of headers of one packet that are described.
const MAX_HEADERS: usize = 20;

/// Writes the description of an Ethernet frame, without a line end.
///
/// # Errors
/// When `out` fails.
pub fn describe(frame: &[u8], out: &mut dyn Write) -> fmt::Result {
    Describer::new(out).frame(frame, true)
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
        Describer::new(f).frame(self.0, false)
    }
}

struct Describer<'a, 'o> {
    out: &'o mut dyn Write,
    /// Whose addresses are to be written, if what follows is not IP.
    ethernet: Option<EthernetView<'a>>,
    /// Of a packet, to be written with the ports, if there are any.
    addresses: Option<(IpAddr, IpAddr)>,
    packets: usize,
    is_first_fragment: bool,
    fragment_offset: usize,
}

impl<'a, 'o> Describer<'a, 'o> {
    fn new(out: &'o mut dyn Write) -> Describer<'a, 'o> {
        Describer {
            out,
            ethernet: None,
            addresses: None,
            packets: 0,
            is_first_fragment: false,
            fragment_offset: 0,
        }
    }

    /// `macs`: whether addresses stand before what is not IP.
    fn frame(&mut self, frame: &'a [u8], macs: bool) -> fmt::Result {
        let mut walk = layers(frame);
        for _ in 0..MAX_HEADERS {
            let Some(layer) = walk.next() else {
                return self.end(&walk);
            };
            match layer.header {
                Header::Ethernet(view) => {
                    self.addresses(None)?;
                    self.ethernet = Some(view).filter(|_| macs || layer.at > 0);
                }
                Header::Tag(tag) => write!(self.out, "vlan {} ", tag.id)?,
                Header::Ipv4(view) => {
                    let fragment = (view.fragment_offset(), view.more_fragments());
                    self.packet(view.source().into(), view.destination().into())?;
                    self.fragment(fragment);
                }
                Header::Ipv6(view) => {
                    self.packet(view.source().into(), view.destination().into())?;
                }
                Header::Extension(extension) => {
                    if let Some(part) = extension.fragment() {
                        self.fragment((part.offset.into(), part.more));
                    }
                }
                Header::Tcp(view) => {
                    self.addresses(Some((view.source_port(), view.destination_port())))?;
                    self.tcp(view)?;
                }
                Header::Udp(view) => {
                    self.addresses(Some((view.source_port(), view.destination_port())))?;
                    if walk.next_header() == Next::Data {
                        let length = view.length().saturating_sub(8);
                        write!(self.out, "UDP, {length} bytes")?;
                    }
                }
                header => {
                    self.macs()?;
                    self.addresses(None)?;
                    self.other(header, &walk)?;
                }
            }
            if self.packets > MAX_PACKETS {
                break;
            }
        }
        self.out.write_str("...")
    }

    /// A packet begins.
    fn packet(&mut self, source: IpAddr, destination: IpAddr) -> fmt::Result {
        self.addresses(None)?;
        self.ethernet = None;
        self.addresses = Some((source, destination));
        self.packets += 1;
        Ok(())
    }

    /// The packet is a piece of another, if this says so.
    fn fragment(&mut self, (offset, more): (usize, bool)) {
        self.is_first_fragment |= more && offset == 0;
        self.fragment_offset = offset;
    }

    fn macs(&mut self) -> fmt::Result {
        match self.ethernet.take() {
            Some(view) => write!(self.out, "{} > {} ", view.source(), view.destination()),
            None => Ok(()),
        }
    }

    fn addresses(&mut self, ports: Option<(u16, u16)>) -> fmt::Result {
        match (self.addresses.take(), ports) {
            (Some((source, destination)), Some((from, to))) => {
                let source = SocketAddr::new(source, from);
                let destination = SocketAddr::new(destination, to);
                write!(self.out, "{source} > {destination} ")
            }
            (Some((source, destination)), None) => write!(self.out, "{source} > {destination} "),
            (None, _) => Ok(()),
        }
    }

    fn other(&mut self, header: Header<'_>, walk: &Layers<'_>) -> fmt::Result {
        match header {
            Header::Label(label) => {
                write!(self.out, "MPLS {} ", label.label)?;
                match walk.next_header() {
                    Next::Data => write!(self.out, "{} bytes", walk.rest().len()),
                    _ => Ok(()),
                }
            }
            Header::Gre(view) => {
                self.out.write_str("GRE ")?;
                match view.key() {
                    Some(key) => write!(self.out, "key {key} "),
                    None => Ok(()),
                }
            }
            Header::Vxlan(view) => write!(self.out, "VXLAN {} ", view.network()),
            Header::Geneve(view) => write!(self.out, "Geneve {} ", view.network()),
            Header::Pppoe(view) => {
                let (code, length) = (view.code(), view.payload().len());
                match (code, view.discovery()) {
                    (0, _) => write!(self.out, "PPPoE session {} ", view.session()),
                    (_, Some(name)) => write!(self.out, "PPPoE {name}, {length} bytes"),
                    (_, None) => write!(self.out, "PPPoE code {code}, {length} bytes"),
                }
            }
            Header::Arp(arp) => self.arp(arp),
            Header::Icmp(view) => self.icmp(view),
            Header::Icmpv6(view) => self.icmpv6(view),
            _ => Ok(()),
        }
    }

    /// What is behind the last header.
    fn end(&mut self, walk: &Layers<'_>) -> fmt::Result {
        let (next, length) = (walk.next_header(), walk.rest().len());
        if !matches!(next, Next::Ethertype(ethertype::IPV4 | ethertype::IPV6)) {
            self.macs()?;
        }
        // Ports come first in a header that is cut off.
        let ports = match (walk.bad(), next) {
            (Some(_), Next::Protocol(protocol::TCP | protocol::UDP)) => ports(walk.rest()),
            _ => None,
        };
        // Of an IPv4 packet that is shorter than its header there is nothing behind the addresses.
        let is_bare = self.addresses.is_some() && next == Next::Data;
        self.addresses(ports)?;
        match (walk.bad(), next) {
            (Some(bad), _) => write!(self.out, "[{bad}]"),
            (None, Next::Ethertype(length @ ..ethertype::LOWEST)) => {
                write!(self.out, "802.3, {length} bytes")
            }
            (None, Next::Ethertype(kind)) => write!(self.out, "type {kind:04X}, {length} bytes"),
            (None, Next::Ppp(protocol)) => write!(self.out, "PPP {protocol:04X}, {length} bytes"),
            (None, Next::Protocol(number)) => {
                write!(self.out, "protocol {number}, {length} bytes")
            }
            (None, Next::LaterFragment(number)) => {
                let offset = self.fragment_offset;
                write!(
                    self.out,
                    "protocol {number}, {length} bytes, fragment at {offset}"
                )
            }
            (None, _) => Ok(()),
        }?;
        if self.is_first_fragment {
            self.out.write_str(", first fragment")?;
        }
        match walk.cut() {
            Some(cut) if is_bare => write!(self.out, "[{cut}]"),
            Some(cut) => write!(self.out, " [{cut}]"),
            None => Ok(()),
        }
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

    fn icmp(&mut self, view: IcmpView<'_>) -> fmt::Result {
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

    fn icmpv6(&mut self, view: Icmpv6View<'_>) -> fmt::Result {
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

    fn arp(&mut self, arp: Arp) -> fmt::Result {
        match arp.operation {
            Operation::Request => {
                write!(self.out, "ARP who has {} tell {}", arp.target, arp.sender)
            }
            Operation::Reply => write!(self.out, "ARP {} is at {}", arp.sender, arp.sender_mac),
            Operation::Other(3) => {
                let (target, sender) = (arp.target_mac, arp.sender_mac);
                write!(self.out, "RARP who is {target} tell {sender}")
            }
            Operation::Other(4) => write!(self.out, "RARP {} is {}", arp.target_mac, arp.target),
            Operation::Other(number) => write!(self.out, "ARP operation {number}"),
        }
    }
}

#[cfg(test)]
mod tests;
