//! Frames of IPv6: reading those of devices, and the advertisements and echo replies of the gateway.

use super::IP;
use crate::flows::FlowKey;
use core::net::Ipv6Addr;
use packet::checksum::update;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmpv6::Icmpv6;
use packet::ipv4::protocol;
use packet::ipv6::{Ipv6, Ipv6View};

/// Bytes of an IPv6 header.
const HEADER: usize = 40;
/// Hop limit of neighbour discovery (RFC 4861 section 3.1).
const ON_LINK: u8 = 255;
/// Flags of an advertisement of a gateway: router, solicited, override.
const ANSWER: u8 = 7;
const DEFENCE: u8 = 5;

/// Headers of an IPv6 packet in a frame without tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Six {
    /// Source.
    pub source: Ipv6Addr,
    /// Destination.
    pub destination: Ipv6Addr,
    /// Protocol after extension headers; [`protocol::FRAGMENT`] for fragments.
    pub protocol: u8,
    /// Ports of TCP and UDP, type and code of ICMPv6; none of a fragment.
    pub ports: Option<(u16, u16)>,
    /// Whether there are extension headers.
    pub is_extended: bool,
}

/// Reads the headers of a packet.
///
/// # Errors
/// The drop reason, for malformed packets and for routing headers and options that the home does not forward.
pub fn read(frame: &[u8]) -> Result<Six, &'static str> {
    let ip = Ipv6View::new(frame.get(IP..).unwrap_or_default()).map_err(|_| "malformed")?;
    let mut extensions = ip.extensions();
    let (mut is_extended, mut is_fragment) = (false, false);
    for extension in &mut extensions {
        is_extended = true;
        match extension.kind {
            protocol::FRAGMENT => is_fragment = true,
            protocol::ROUTING => return Err("routing header"),
            _ => {}
        }
    }
    let upper = extensions.protocol();
    let first = extensions.payload().first_chunk::<4>();
    let ports = match upper {
        _ if is_fragment => None,
        protocol::TCP | protocol::UDP => {
            let [a, b, c, d] = *first.ok_or("malformed")?;
            Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
        }
        protocol::ICMPV6 => {
            let [kind, code, ..] = *first.ok_or("malformed")?;
            Some((kind.into(), code.into()))
        }
        _ => None,
    };
    Ok(Six {
        source: ip.source(),
        destination: ip.destination(),
        protocol: match is_fragment {
            true => protocol::FRAGMENT,
            false => upper,
        },
        ports,
        is_extended,
    })
}

impl Six {
    /// The flow of the packet.
    pub fn key(&self) -> FlowKey {
        FlowKey {
            protocol: self.protocol,
            source: self.source.into(),
            destination: self.destination.into(),
            ports: self.ports,
        }
    }

    /// Type of a message of neighbour discovery.
    pub fn discovery(&self) -> Option<u8> {
        let (kind, _) = self.ports.filter(|_| self.protocol == protocol::ICMPV6)?;
        (133..=137).contains(&kind).then_some(kind as u8)
    }

    /// Whether it is a UDP datagram to a port.
    pub fn is_udp_to(&self, port: u16) -> bool {
        self.protocol == protocol::UDP && self.ports.is_some_and(|(_, to)| to == port)
    }
}

/// A neighbour advertisement for an address of the gateway, to a MAC address. Without `to` it defends the address against a
/// device that wants it.
pub fn advertisement(gateway: Mac, target: Ipv6Addr, mac: Mac, to: Option<Ipv6Addr>) -> Vec<u8> {
    let all = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
    let message = Icmpv6::NeighbourAdvertisement {
        target,
        flags: if to.is_some() { ANSWER } else { DEFENCE },
    };
    let ip = Ipv6 {
        hop_limit: ON_LINK,
        ..Ipv6::new(target, to.unwrap_or(all), protocol::ICMPV6)
    };
    let ethernet = Ethernet {
        destination: mac,
        source: gateway,
        tags: &[],
        ethertype: ethertype::IPV6,
    };
    let mut frame = Vec::with_capacity(IP + HEADER + 32);
    ethernet.build(&mut frame, |out| {
        ip.build(out, |out| {
            message.build(ip.pseudo(), out, |out| {
                out.extend([2, 1]);
                out.extend(gateway.0);
            });
        });
    });
    frame
}

/// Reply to an echo request, from the address that it was sent to. `None` when the frame is not one without extension headers.
pub fn pong(frame: &[u8], mac: Mac) -> Option<Vec<u8>> {
    let six = read(frame).ok()?;
    if six.is_extended || six.ports != Some((128, 0)) || six.protocol != protocol::ICMPV6 {
        return None;
    }
    let icmp = IP + HEADER;
    let mut reply = frame.to_vec();
    reply.copy_within(6..12, 0);
    reply[6..12].copy_from_slice(&mac.0);
    reply.copy_within(IP + 8..IP + 24, IP + 24);
    reply[IP + 8..IP + 24].copy_from_slice(&frame[IP + 24..IP + 40]);
    reply[IP + 7] = 64;
    reply[icmp] = 129;
    let old = u16::from_be_bytes([*frame.get(icmp + 2)?, *frame.get(icmp + 3)?]);
    let new = update(old, 0x8000, 0x8100);
    reply[icmp + 2..icmp + 4].copy_from_slice(&new.to_be_bytes());
    Some(reply)
}
