//! Services: what runs on a host or a router next to its interfaces, such as a DHCP server, and is not a program with sockets.
//!
//! A service sees the links of its node. It takes frames for groups and broadcasts before the interface does, and packets for the
//! node's own addresses after the interface has checked and reassembled them. It sends complete frames by a link's port, or packets
//! that the node routes by [`ROUTED`], and may change addresses and routes by a [`Change`].

use crate::address::InterfaceAddress;
use crate::header::{self, ETHERNET, ICMP, ICMPV6, UDP};
use crate::interface::Interface;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::net::IpAddr;
use node::outcome::Table;
use node::{Frame, Out, Port, Statistics, Time};
use packet::checksum::checksum;
use packet::ethernet::ethertype;

/// Pseudo-port of packets that the node routes. Their Ethernet header needs its type alone. A packet of UDP or ICMP with the unspecified
/// address as its source gets that of the port by which it leaves.
pub const ROUTED: Port = Port(u16::MAX);
/// Maximum number of changes that a service makes in one call; more wait until the next.
const MAX_CHANGES: usize = 4096;

/// A link of a node.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Its port.
    pub port: Port,
    /// The node's interface on it.
    pub interface: &'a Interface,
    /// Maximum length of an IP packet, bytes.
    pub mtu: usize,
}

/// A change of the node's addresses or routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An address with its network's prefix, on a link.
    Address {
        /// The link's port.
        port: Port,
        /// The address.
        network: InterfaceAddress,
        /// Whether it is added; `false`: it is removed.
        present: bool,
    },
    /// A route.
    Route {
        /// Destinations.
        to: InterfaceAddress,
        /// Next hop; `None` where the destinations are on the link.
        via: Option<IpAddr>,
        /// The link's port.
        port: Port,
        /// Whether it is added; `false`: it is removed.
        present: bool,
    },
}

/// A service. It does no I/O and reads no clock.
pub trait Service: Debug + Send {
    /// Takes a frame that has arrived on a link. Returns it if it is not for the service.
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame>;

    /// Whether it is woken at the start, too.
    fn wakes_at_start(&self) -> bool {
        true
    }

    /// Called at the start, and at [`next_wake`](Service::next_wake), with all links.
    fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out);

    /// Time of the next call of [`wake`](Service::wake).
    fn next_wake(&self) -> Option<Time>;

    /// The next change that it makes; asked after each call until there is none.
    fn poll_change(&mut self) -> Option<Change> {
        None
    }

    /// Adds its counters to those of the node.
    fn count(&self, all: &mut Statistics) {
        let _ = all;
    }

    /// Its tables.
    fn tables(&self, now: Time) -> Vec<Table> {
        let _ = now;
        Vec::new()
    }
}

/// The services of a node.
#[derive(Debug)]
pub struct Services {
    all: Vec<Box<dyn Service>>,
    is_started: bool,
}

impl Default for Services {
    fn default() -> Services {
        Services::new(Vec::new())
    }
}

impl Services {
    /// These services; a frame is offered to the first one first.
    pub fn new(all: Vec<Box<dyn Service>>) -> Services {
        Services {
            is_started: !all.iter().any(|one| one.wakes_at_start()),
            all,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a frame is offered before the interface sees it: one for a group, one of ARP, or any while the interface has no
    /// address of the packet's version.
    pub fn come_first(&self, frame: &[u8], interface: &Interface) -> bool {
        if self.all.is_empty() || frame.len() < ETHERNET {
            return false;
        }
        let has = |is_v4: bool| {
            let mut all = interface.addresses();
            all.any(|own| own.network.address.is_ipv4() == is_v4)
        };
        frame[0] & 1 == 1
            || match u16::from_be_bytes([frame[12], frame[13]]) {
                ethertype::IPV4 => !has(true),
                ethertype::IPV6 => !has(false),
                ethertype::ARP => true,
                _ => false,
            }
    }

    /// Offers a frame to the services. Returns it if it is for none of them.
    pub fn offer(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let mut all = self.all.iter_mut();
        all.try_fold(frame, |frame, service| {
            service.handle_frame(now, link, frame, out)
        })
    }

    /// Wakes the services whose time has come.
    pub fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out) {
        for service in &mut self.all {
            let starts = !self.is_started && service.wakes_at_start();
            if starts || service.next_wake().is_some_and(|at| at <= now) {
                service.wake(now, links, out);
            }
        }
        self.is_started = true;
    }

    /// Time of the next call of [`wake`](Services::wake).
    pub fn next_wake(&self) -> Option<Time> {
        if !self.is_started {
            return Some(Time::ZERO);
        }
        self.all.iter().filter_map(|one| one.next_wake()).min()
    }

    /// Moves the changes of all services to a list.
    pub fn take_changes(&mut self, changes: &mut Vec<Change>) {
        let all = self.all.iter_mut();
        let each = all.flat_map(|service| core::iter::from_fn(|| service.poll_change()));
        changes.extend(each.take(MAX_CHANGES));
    }

    /// Adds the counters of all services.
    pub fn count(&self, all: &mut Statistics) {
        self.all.iter().for_each(|service| service.count(all));
    }

    /// The tables of all services.
    pub fn tables(&self, now: Time) -> impl Iterator<Item = Table> {
        self.all.iter().flat_map(move |one| one.tables(now))
    }
}

/// Whether a frame holds a packet of UDP or ICMP without a source address, which the node fills in.
pub fn lacks_source(frame: &[u8]) -> bool {
    header::read(frame).is_some_and(|packet| {
        packet.source.is_unspecified() && matches!(packet.protocol, UDP | ICMP | ICMPV6)
    })
}

/// Fills in the source address of a packet that [lacks](lacks_source) one, and the checksums.
pub fn set_source(frame: &mut Frame, source: IpAddr) {
    let Some(packet) = header::read(frame) else {
        return;
    };
    let ip = &mut frame[ETHERNET..packet.payload];
    match source {
        IpAddr::V4(source) => {
            ip[12..16].copy_from_slice(&source.octets());
            ip[10..12].fill(0);
            let sum = checksum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        IpAddr::V6(source) => ip[8..24].copy_from_slice(&source.octets()),
    }
    let message = &mut frame[packet.payload..packet.end];
    let place = match packet.protocol {
        UDP => 6,
        ICMPV6 => 2,
        // The checksum of ICMP does not cover the addresses.
        _ => return,
    };
    let Some(field) = message.get_mut(place..place + 2) else {
        return;
    };
    field.fill(0);
    let sum = header::pseudo(source, packet.destination, packet.protocol).sum(message.len());
    let sum = sum.plus(message).udp_checksum();
    message[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}
