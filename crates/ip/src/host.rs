//! A host with one address that answers: ARP and IPv6 neighbour discovery, ping, UDP echo.
//!
//! A real kernel on the other end of the link can `ping` it.
//!
//! - **Ports:** 1.
//! - **Parameters:** `mac`, 02:00:00:00:00:02. `ipv4`, none; `ipv6`, none: its addresses. `udp_echo`,
//!   true: whether what comes to UDP port 7 (RFC 862) goes back. `mtu`, 1500: the longest IP packet, in bytes.
//!   `refuses`, true: whether it says that its other ports are closed.
//! - **Counters:** `packets`; `arp`, `neighbours`: requests answered; `pings`: ICMP and ICMPv6 echo
//!   requests answered; `echoes`: UDP datagrams sent back; `refused`: segments and datagrams to closed ports, and packets of
//!   unknown protocols; `reassembled`: packets that came in fragments; `ignored`: frames for others, or that need no answer.
//! - **Drops:** `wrong checksum`; `rate limit of ICMP errors`; `another fragment is missing`, `fragments do not fit together`,
//!   `too many fragments wait`: see [`fragments`](crate::fragments).
//!
//! It is an [`Interface`] and nothing else. An answer leaves when its request's last bit is in, made in the request's own
//! buffer, in fragments if it is longer than the MTU. A closed port answers a segment of TCP with a reset (RFC 9293 section
//! 3.10.7.1) and a datagram with ICMP's port unreachable (RFC 1122 section 4.1.3.1, RFC 4443 section 3.1), as often as Linux
//! does. Tagged frames are ignored; a `vlan` node in front takes tags off.

use crate::address::InterfaceAddress;
use crate::interface::{self, Interface, Received};
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// What a host is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its MAC address.
    pub mac: Mac,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// Whether what comes to UDP port 7 goes back.
    pub udp_echo: bool,
    /// The longest IP packet that it sends in one piece, in bytes.
    pub mtu: usize,
    /// Whether it says that ports are closed; not where something else with the same address has ports.
    pub refuses: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 2]),
            ipv4: None,
            ipv6: None,
            udp_echo: true,
            mtu: 1500,
            refuses: true,
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub struct Host {
    interface: Interface,
}

impl Host {
    /// A host.
    pub fn new(config: Config) -> Host {
        let v4 = config.ipv4.map(InterfaceAddress::from);
        let v6 = config.ipv6.map(InterfaceAddress::from);
        Host::from(Interface::new(interface::Config {
            mac: config.mac.0,
            addresses: v4.into_iter().chain(v6).collect(),
            mtu: config.mtu,
            udp_echo: config.udp_echo,
            refuses: config.refuses,
            ..interface::Config::default()
        }))
    }
}

impl From<Interface> for Host {
    fn from(interface: Interface) -> Host {
        Host { interface }
    }
}

/// The counters of an interface, by the names of a host's.
pub fn statistics(interface: &Interface) -> Statistics {
    let counters = interface.counters();
    Statistics::from([
        ("packets", counters.packets),
        ("arp", counters.arp),
        ("neighbours", counters.neighbours),
        ("pings", counters.pings),
        ("echoes", counters.echoes),
        ("refused", counters.refused),
        ("reassembled", counters.reassembled),
        ("ignored", counters.ignored),
    ])
}

impl Node for Host {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.interface.handle_frame(now, frame, out) {
                Received::Packet(frame, packet) => {
                    self.interface.unclaimed(now, frame, &packet, out);
                }
                Received::Consumed => {}
                Received::Other(frame) => out.done(frame),
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.interface.poll_transmit(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.interface.poll_timeout()
    }

    fn statistics(&self) -> Statistics {
        statistics(&self.interface)
    }
}
