//! Services: what runs on a host or a router next to its interfaces, such as a DHCP server, and is not a program with sockets.
//!
//! A service sees the links of its node. It takes frames for groups and broadcasts before the interface does, and packets for the
//! node's own addresses after the interface has checked and reassembled them. It sends complete frames by a link's port, or packets
//! that the node routes by [`ROUTED`], and may change addresses and routes by a [`Change`].

use crate::address::InterfaceAddress;
use crate::header::{self, ETHERNET, UDP, UDP_HEADER};
use crate::interface::Interface;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::net::IpAddr;
use node::outcome::Table;
use node::{Frame, Out, Port, Statistics, Time};
use packet::ethernet::ethertype;

/// Pseudo-port of packets that the node routes. Their Ethernet header needs its type alone. A UDP datagram with the unspecified
/// address as its source leaves from the address of the port by which it leaves.
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
#[derive(Debug, Default)]
pub struct Services {
    all: Vec<Box<dyn Service>>,
    is_started: bool,
}

impl Services {
    /// These services; a frame is offered to the first one first.
    pub fn new(all: Vec<Box<dyn Service>>) -> Services {
        Services {
            all,
            is_started: false,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a frame is offered before the interface sees it: one for a group, or any while the interface has no address of the
    /// packet's version.
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
            if !self.is_started || service.next_wake().is_some_and(|at| at <= now) {
                service.wake(now, links, out);
            }
        }
        self.is_started = true;
    }

    /// Time of the next call of [`wake`](Services::wake).
    pub fn next_wake(&self) -> Option<Time> {
        if !self.is_started && !self.all.is_empty() {
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

/// Whether a frame holds a UDP datagram without a source address, which the node fills in.
pub fn lacks_source(frame: &[u8]) -> bool {
    header::read(frame)
        .is_some_and(|packet| packet.protocol == UDP && packet.source.is_unspecified())
}

/// Fills in the source address of a datagram that [lacks](lacks_source) one, and its checksum.
pub fn set_source(frame: &mut Frame, source: IpAddr) {
    let Some(packet) = header::read(frame) else {
        return;
    };
    let end = packet.payload + UDP_HEADER;
    let Some(ports) = frame.get(packet.payload..end) else {
        return;
    };
    let [from, to] = [0, 2].map(|at| u16::from_be_bytes([ports[at], ports[at + 1]]));
    frame[ETHERNET..packet.payload].fill(0);
    frame[packet.payload + 6..end].fill(0);
    header::write(frame, source, packet.destination, UDP);
    header::write_udp(frame, (source, from), (packet.destination, to));
}
