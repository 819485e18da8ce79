//! Router: forwards IPv4 and IPv6 packets between its ports, and answers as Linux's router does.
//!
//! - **Ports:** one for each `port`.
//! - **Parameters:** `port`, a list: `address`, one or several with their prefixes; `mac`, made from the first address;
//!   `mtu`, 1500; `ipv6`, false: a link-local address without another; `vrf`, none; `redirects`, true. `route` and `rule`: lists in the words of iproute2, see [`crate::route`]
//!   and [`crate::rule`]. `nat`, none: the keys of [`crate::nat::Config`], between ports with `outside` and the others;
//!   `external` are the addresses of the former if left out. `port_mapping`, none: the keys of
//!   [`crate::port_mapping::Config`], for hosts of `nat` and of `nat64`, and for pinholes in `firewall`. `siit` or `nat64`, none: the keys of [`crate::siit::Config`] or
//!   [`crate::nat64::Config`], for the VRF of the ports without a name. `mpls`: a list of routes of labels, see
//!   [`crate::mpls`], for ports with `mpls = true`; `ttl_propagate`, true. `multipath`, l3: [`Multipath`].
//!   `icmp_limit`, true. `seed`, 0.
//! - **Counters:** `forwarded`; `fragmented`: packets that left in fragments; `delivered`: for the router itself; `pings`:
//!   echo requests answered; `labelled`: packets whose label was replaced or popped on their way; `errors`: ICMP errors sent; `redirects` sent; `ignored`: frames for other stations or for a
//!   group, and of other protocols than IP and ARP. With services theirs, and `refused_changes`: of addresses and routes. With `nat` those of [`crate::nat::Counters`], each after `nat_`. With
//!   `port_mapping` those of [`crate::port_mapping::Counters`], each after `port_mapping_`. With `siit` or `nat64` packets
//!   translated `to_v4` and `to_v6`; with `nat64` also those of its NAT, each after `nat64_`, `nat64_over_hosts`, and with `port_mapping`
//!   those of its port mappings after `nat64_port_mapping_`.
//! - **Drops:** see [`reason`].
//!
//! A packet is checked, decided upon by the [tables](crate::tables), and sent to its next hop, whose MAC address the port's
//! [`Interface`] finds. Errors come from the address of the port by which they leave, and quote as much of the packet as Linux
//! does; their rate is [limited](ip::limit). A next hop that does not answer is reported to the sender. Routes by a port whose link is
//! down do not count, as with Linux's `ignore_routes_with_linkdown`.

mod border;
mod config;
mod crossing;
mod filter;
mod fragment;
mod labels;
mod mapping;
mod multipath;
mod proxy;
pub mod reason;
mod redirect;
mod report;
mod services;
mod shown;
mod transit;
mod v4;
mod v6;

pub use config::{Config, MAX_ADDRESSES, MAX_PORTS, Multipath, PortConfig};

use crate::nat::Nat;
use crate::route::Hop;
use crate::rule::Key;
use crate::tables::{Decision, Tables};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use border::Border;
use core::net::{IpAddr, Ipv6Addr};
use crossing::Crossing;
use filter::Filter;
use ip::fragments::Longest;
use ip::fragments::Reassembly;
use ip::header::ETHERNET;
use ip::icmp::{self, Error};
use ip::limit::RateLimit;
use ip::neighbours::REACHABLE_TIME;
use ip::service::{Change, Service, Services};
use ip::{Interface, Received, discovery};
use labels::Labels;
use multipath::choose;
use node::event::{Event, What};
use node::outcome::Table;
use node::{ConfigError, Departure, Frame, Node, Out, Port, Properties, Statistics, Time, When};
use packet::arp::Operation;
use packet::ethernet::ethertype;
use redirect::Redirects;
use transit::Transit;

/// The pseudo-port of packets that the router sends by itself, until they have a route.
const OWN: Port = ip::service::ROUTED;
/// Fragments of which the link alone limits the length.
const ANY_LENGTH: Longest = Longest {
    length: usize::MAX,
    is_final: false,
};
/// No port.
const NONE: u16 = u16::MAX;
/// MAC address of the interface that has all addresses of a VRF; never on a link.
const OWN_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0];
/// Groups of all routers on a node, on a link and of a site (RFC 4291 section 2.7.1).
const ALL_ROUTERS: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xFF01, 0, 0, 0, 0, 0, 0, 2),
    Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2),
    Ipv6Addr::new(0xFF05, 0, 0, 0, 0, 0, 0, 2),
];

#[derive(Debug)]
struct RouterPort {
    interface: Interface,
    mac: [u8; 6],
    mtu: usize,
    vrf: usize,
    redirects: bool,
    has_v6: bool,
    mpls: bool,
}

impl RouterPort {
    /// The first IPv6 address that reaches beyond the link.
    fn global(&self) -> Option<IpAddr> {
        let mut all = self.interface.addresses().map(|own| own.network.address);
        all.find(|own| own.is_ipv6() && !is_link_local(*own))
    }
}

#[derive(Debug)]
struct Vrf {
    name: Option<String>,
    tables: Tables,
    /// All addresses of the VRF: it answers pings, refuses closed ports and reassembles.
    own: Interface,
    services: Services,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    forwarded: u64,
    labelled: u64,
    fragmented: u64,
    delivered: u64,
    errors: u64,
    redirects: u64,
    ignored: u64,
    /// Changes of addresses and routes by services that could not be made.
    refused_changes: u64,
}

/// A router. See the [module](self).
#[derive(Debug)]
pub struct Router {
    config: Config,
    ports: Vec<RouterPort>,
    vrfs: Vec<Vrf>,
    border: Option<Border>,
    crossing: Option<Crossing>,
    labels: Labels,
    filter: Option<Filter>,
    limit: RateLimit,
    redirects: Redirects,
    /// Turn of the next packet among several next hops.
    turn: u32,
    counters: Counters,
    /// Kept for the next packet that the router sends by itself.
    sends: Vec<Departure>,
    /// Kept for the next answer about port mappings.
    answer: Vec<u8>,
    unresolved: Vec<Frame>,
    changes: Vec<Change>,
}

impl Router {
    /// A router.
    ///
    /// # Errors
    /// When a value is out of its range, an address is there twice, or a next hop is not on a link.
    pub fn new(mut config: Config) -> Result<Router, ConfigError> {
        let nat = match config::nat(&mut config)? {
            Some((nat, true)) => Some((Nat::waiting(nat, config.seed)?, true)),
            Some((nat, false)) => Some((Nat::new(nat, config.seed)?, false)),
            None => None,
        };
        let [mut server, server_v6] = config::servers(&config)?;
        let translator = crossing::translator(&mut config)?;
        let filter = Filter::new(&config)?;
        let tables = config::vrfs(&config)?;
        let vrfs: Vec<Vrf> = tables
            .into_iter()
            .map(|(name, tables)| {
                let ports = config.port.iter().filter(|port| port.vrf == name);
                let own = Interface::new(ip::Config {
                    mac: OWN_MAC,
                    addresses: ports
                        .flat_map(|port| port.address.clone())
                        .chain(config::external(&config, &name))
                        .collect(),
                    // Packets are cut when they leave.
                    mtu: usize::from(u16::MAX),
                    port: OWN,
                    udp_echo: false,
                    // The router has one limit for all errors.
                    limits_errors: false,
                    seed: config.seed,
                    ..ip::Config::default()
                });
                Vrf {
                    name,
                    tables,
                    own,
                    services: Services::default(),
                }
            })
            .collect();
        let ports = config.port.iter().enumerate().map(|(number, port)| {
            let mac = port.mac(number);
            let mut addresses = port.address.clone();
            if port.has_v6() {
                addresses.push(ip::routers::link_local(mac));
            }
            RouterPort {
                interface: Interface::new(ip::Config {
                    mac,
                    addresses,
                    mtu: port.mtu,
                    port: Port(number as u16),
                    udp_echo: false,
                    reachable: Some(REACHABLE_TIME),
                    limits_errors: config.icmp_limit,
                    groups: ALL_ROUTERS.into(),
                    seed: config.seed,
                    ..ip::Config::default()
                }),
                mac,
                mtu: port.mtu,
                vrf: vrfs
                    .iter()
                    .position(|vrf| vrf.name == port.vrf)
                    .unwrap_or(0),
                redirects: port.redirects,
                has_v6: port.has_v6(),
                mpls: port.mpls,
            }
        });
        let ports: Vec<RouterPort> = ports.collect();
        let names: Vec<Option<String>> = vrfs.iter().map(|vrf| vrf.name.clone()).collect();
        let labels = labels::labels(&config, &names)?;
        let outside: Vec<bool> = config.port.iter().map(|port| port.outside).collect();
        let border = nat.map(|(nat, is_automatic)| Border {
            nat,
            is_automatic,
            vrf: outside
                .iter()
                .position(|outside| *outside)
                .map_or(0, |port| ports[port].vrf),
            outside,
            reassembly: Reassembly::default(),
            server: server.take(),
        });
        let crossing = translator.map(|own| crossing::crossing(&config, own, server_v6, &vrfs));
        Ok(Router {
            ports,
            crossing,
            vrfs,
            border,
            labels,
            filter,
            limit: RateLimit::new(config.icmp_limit),
            redirects: Redirects::default(),
            turn: 0,
            counters: Counters::default(),
            sends: Vec::new(),
            answer: Vec::new(),
            unresolved: Vec::new(),
            changes: Vec::new(),
            config,
        })
    }

    /// This router with services, which see the links of one VRF.
    ///
    /// # Errors
    /// When no port is in the VRF.
    pub fn with_services(
        mut self,
        vrf: Option<&str>,
        services: Vec<Box<dyn Service>>,
    ) -> Result<Router, ConfigError> {
        let mut vrfs = self.vrfs.iter_mut();
        let Some(place) = vrfs.find(|one| one.name.as_deref() == vrf) else {
            return Err(ConfigError::new("vrf", "no port is in this VRF"));
        };
        place.services = Services::new(services);
        Ok(self)
    }

    fn frame(&mut self, now: Time, from: u16, frame: Frame, out: &mut Out) {
        if frame.len() < ETHERNET {
            return out.drop(frame, reason::SHORT);
        }
        let port = &self.ports[usize::from(from)];
        if frame[0] & 1 == 0 && frame[..6] != port.mac {
            return self.ignore(frame, out);
        }
        let services = &self.vrfs[port.vrf].services;
        let frame = match services.come_first(&frame, &port.interface) {
            false => frame,
            true => match self.offer(now, from, frame, out) {
                Some(frame) => frame,
                None => return,
            },
        };
        let port = &self.ports[usize::from(from)];
        let vrf = port.vrf;
        let header = &frame[..ETHERNET];
        match u16::from_be_bytes([header[12], header[13]]) {
            ethertype::IPV4 => self.v4(now, from, vrf, frame, out),
            ethertype::IPV6 if port.has_v6 => self.v6(now, from, vrf, frame, out),
            ethertype::ARP => self.arp(now, from, frame, out),
            ethertype::MPLS => self.labelled(now, from, frame, out),
            _ => self.ignore(frame, out),
        }
    }

    fn ignore(&mut self, frame: Frame, out: &mut Out) {
        self.counters.ignored += 1;
        out.done(frame);
    }

    /// The port's interface answers for its own addresses; for those of other ports the router does, as Linux with
    /// `arp_ignore` 0.
    fn arp(&mut self, now: Time, from: u16, mut frame: Frame, out: &mut Out) {
        let port = &mut self.ports[usize::from(from)];
        let tables = &self.vrfs[port.vrf].tables;
        if let Some(arp) = discovery::read_arp(&frame)
            && arp.operation == Operation::Request
            && tables.is_own(arp.target.into())
            && !tables.is_own(arp.sender.into())
            && !port
                .interface
                .addresses()
                .any(|own| own.network.address == IpAddr::V4(arp.target))
        {
            discovery::answer_arp(&mut frame, &arp, port.mac);
            return out.send(Port(from), frame);
        }
        self.link_frame(now, from, frame, out);
    }

    /// Gives a frame to the interface of its port alone: address resolution, link-local addresses.
    fn link_frame(&mut self, now: Time, from: u16, frame: Frame, out: &mut Out) {
        let interface = &mut self.ports[usize::from(from)].interface;
        match interface.handle_frame(now, frame, out) {
            Received::Packet(frame, packet) => {
                if let Some(frame) = self.offer(now, from, frame, out) {
                    let interface = &mut self.ports[usize::from(from)].interface;
                    interface.unclaimed(now, frame, &packet, out);
                }
            }
            Received::Consumed => {}
            Received::Other(frame) => self.ignore(frame, out),
        }
    }

    /// Decides about a packet and does what was decided.
    fn route(&mut self, now: Time, transit: &Transit, frame: Frame, out: &mut Out) {
        let tables = &self.vrfs[transit.vrf].tables;
        let decision = tables.decide(transit.destination, || key(&frame, transit));
        let (error, why) = match decision {
            Decision::Forward(hops) => {
                let hop = choose(
                    self.config.multipath,
                    self.config.seed,
                    &mut self.turn,
                    hops,
                    &frame,
                );
                return self.forward(now, transit, hop, frame, out);
            }
            Decision::Own => return self.deliver(now, transit, frame, out),
            Decision::Broadcast => return self.ignore(frame, out),
            Decision::Blackhole => return out.drop(frame, reason::BLACKHOLE),
            Decision::NoRoute => (Error::NoRoute, reason::NO_ROUTE),
            Decision::Prohibit => (Error::Prohibited, reason::PROHIBITED),
            Decision::Unreachable if transit.source.is_ipv4() => {
                (Error::Address, reason::UNREACHABLE)
            }
            Decision::Unreachable => (Error::NoRoute, reason::UNREACHABLE),
        };
        if transit.source.is_ipv4() && !self.limit.allows_route_error(now, transit.source) {
            return out.drop(frame, why);
        }
        self.fail(now, transit, error, why, frame, out);
    }

    /// Sends a packet on (RFC 1812 section 5.2.1, in the order of Linux's `ip_forward` and `ip6_forward`).
    fn forward(&mut self, now: Time, transit: &Transit, hop: Hop, frame: Frame, out: &mut Out) {
        if frame[0] & 1 == 1 {
            return out.drop(frame, reason::GROUP_FRAME);
        }
        if transit.hops <= 1 {
            return self.fail(now, transit, Error::HopLimit, reason::HOP_LIMIT, frame, out);
        }
        let port = usize::from(hop.port.unwrap_or_default());
        if transit.source.is_ipv6() && !transit.crossed && hop.port == Some(transit.from) {
            self.redirect_v6(now, transit, hop, &frame, out);
        } else if transit.source.is_ipv6()
            && let Some(error) = v6::refusal(transit)
        {
            return match error {
                Some(error) => self.fail(now, transit, error, reason::SCOPE, frame, out),
                None => out.drop(frame, reason::SOURCE),
            };
        }
        let mtu = self.ports[port].mtu - hop.labels.bytes();
        let length = transit.end - ETHERNET;
        let fragments = transit.flow.fragments;
        if transit.whole && fragments.map_or(length, |longest| longest.length) > mtu {
            let error = Error::TooBig(mtu as u32);
            return self.fail(now, transit, error, reason::TOO_BIG, frame, out);
        }
        let fragments = fragments.or((length > mtu).then_some(ANY_LENGTH));
        let mut frame = frame;
        match transit.source.is_ipv4() {
            true => v4::count_hop(&mut frame),
            false => frame[ETHERNET + 7] -= 1,
        }
        let mut transit = *transit;
        let passed = self.cross_filter(now, &mut transit, port as u16, frame, out);
        let transit = &transit;
        let leaving = passed.and_then(|frame| {
            let frame = self.leave_by_border(now, transit, port as u16, frame, out)?;
            self.leave_by_filter(now, transit, frame, out)
        });
        let Some(mut frame) = leaving else {
            return;
        };
        // A helper has made its data longer.
        if fragments.is_none() && frame.len() - ETHERNET > mtu {
            return out.drop(frame, reason::TOO_BIG);
        }
        if transit.source.is_ipv4() {
            if !transit.crossed {
                self.redirect(now, transit, hop, &frame, out);
            }
            self.record(transit, hop, &mut frame);
        }
        self.counters.forwarded += 1;
        self.transmit(now, hop, transit.destination, fragments, frame, out);
    }

    /// Sends a packet to its next hop, in fragments no longer than the next link's MTU and those that have arrived.
    fn transmit(
        &mut self,
        now: Time,
        hop: Hop,
        destination: IpAddr,
        fragments: Option<Longest>,
        mut frame: Frame,
        out: &mut Out,
    ) {
        let next = hop.via.unwrap_or(destination);
        let number = usize::from(hop.port.unwrap_or_default());
        let Some(longest) = fragments else {
            self.push_labels(hop, &mut frame);
            let port = &mut self.ports[number];
            return port
                .interface
                .send_to_neighbour(now, next, When::Now, frame, out);
        };
        self.counters.fragmented += 1;
        let mtu = self.ports[number].mtu - hop.labels.bytes();
        let mtu = mtu.min(longest.length);
        let is_v4 = destination.is_ipv4();
        let identification = self.filter.as_mut().filter(|_| !is_v4);
        let identification = identification.map_or(0, Filter::identification);
        let send = |mut frame, out: &mut Out| {
            self.push_labels(hop, &mut frame);
            let port = &mut self.ports[number];
            port.interface
                .send_to_neighbour(now, next, When::Now, frame, out);
        };
        match is_v4 {
            true => fragment::cut(frame, mtu, out, send),
            false => ip::fragments::cut(frame, mtu, identification, out, send),
        }
    }

    /// Gives a packet to the router itself.
    fn deliver(&mut self, now: Time, transit: &Transit, mut frame: Frame, out: &mut Out) {
        let Some(entered) = self.enter_filter(now, transit, frame, out) else {
            return;
        };
        frame = entered;
        self.counters.delivered += 1;
        let own = &mut self.vrfs[transit.vrf].own;
        // A frame for a group stays one: errors are not sent about it.
        if frame[0] & 1 == 0 {
            frame[..6].copy_from_slice(&OWN_MAC);
        }
        match own.handle_frame(now, frame, out) {
            Received::Packet(frame, packet) => {
                let rest = self.map_ports(now, transit, frame, &packet, out);
                let rest = rest.and_then(|frame| self.offer(now, transit.from, frame, out));
                if let Some(frame) = rest {
                    let own = &mut self.vrfs[transit.vrf].own;
                    own.unclaimed(now, frame, &packet, out);
                }
            }
            Received::Consumed => {}
            Received::Other(frame) => out.done(frame),
        }
        self.settle(now, transit.vrf, transit.from, out);
    }

    /// Routes what the VRF's own interface has sent; `link` is the port of arrival of what it answers.
    fn settle(&mut self, now: Time, vrf: usize, link: u16, out: &mut Out) {
        let mut sends = core::mem::take(&mut self.sends);
        sends.extend(out.sends());
        for departure in sends.drain(..) {
            match (departure.port, departure.when) {
                (OWN, _) => {
                    if let Some(frame) = self.fill_source(vrf, link, departure.frame, out) {
                        self.answer(now, vrf, link, frame, out);
                    }
                }
                (port, When::Now) => out.send(port, departure.frame),
                (port, When::At(at)) => out.send_at(port, at, departure.frame),
            }
        }
        self.sends = sends;
    }

    /// Sends an answer of the router itself; an error only if the limit allows it.
    fn answer(&mut self, now: Time, vrf: usize, link: u16, frame: Frame, out: &mut Out) {
        if icmp::is_limited_error(&frame) {
            let to = Transit::own(&frame, link, vrf).map(|transit| transit.destination);
            if to.is_some_and(|to| !self.limit.allows(now, to)) {
                return out.drop(frame, reason::LIMIT);
            }
        }
        self.originate(now, vrf, link, frame, out);
    }

    /// Sends a packet of the router itself, which has its addresses already.
    fn originate(&mut self, now: Time, vrf: usize, link: u16, frame: Frame, out: &mut Out) {
        let Some(transit) = Transit::own(&frame, link, vrf) else {
            return out.drop(frame, reason::BAD_HEADER);
        };
        self.originate_as(now, transit, frame, out);
    }

    /// The same with a `transit` that the caller has made, as it leaves the firewall.
    fn originate_as(&mut self, now: Time, transit: Transit, frame: Frame, out: &mut Out) {
        let destination = transit.destination;
        let Some(hop) = self.hop(&transit, &frame) else {
            return out.drop(frame, reason::NO_ROUTE);
        };
        let port = &self.ports[usize::from(hop.port.unwrap_or_default())];
        let mtu = port.mtu - hop.labels.bytes();
        let is_long = frame.len() - ETHERNET > mtu && destination.is_ipv4();
        self.note_at_border(now, &transit, hop, &frame);
        let fragments = is_long.then_some(ANY_LENGTH);
        self.send_own(now, &transit, hop, fragments, frame, out);
    }

    /// The hop by which the router's own packets leave.
    fn hop(&mut self, transit: &Transit, frame: &Frame) -> Option<Hop> {
        if is_link_local(transit.destination) {
            return (transit.link != NONE).then_some(Hop {
                port: Some(transit.link),
                ..Hop::default()
            });
        }
        let tables = &self.vrfs[transit.vrf].tables;
        match tables.decide(transit.destination, || key(frame, transit)) {
            Decision::Forward(hops) => {
                let multipath = self.config.multipath;
                Some(choose(
                    multipath,
                    self.config.seed,
                    &mut self.turn,
                    hops,
                    frame,
                ))
            }
            _ => None,
        }
    }
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// Properties of a packet for the rules.
fn key(frame: &[u8], transit: &Transit) -> Key {
    let tuple = packet::flow::five_tuple(frame);
    let tos = match frame[ETHERNET] >> 4 {
        4 => frame[ETHERNET + 1],
        _ => frame[ETHERNET] << 4 | frame[ETHERNET + 1] >> 4,
    };
    let protocol = tuple.map_or(0, |tuple| tuple.protocol);
    let has_ports = packet::ipv4::protocol::has_ports(protocol);
    Key {
        source: transit.source,
        destination: transit.destination,
        iif: (transit.from != NONE).then_some(transit.from),
        tos,
        protocol,
        ports: tuple
            .filter(|_| has_ports)
            .map(|tuple| [tuple.source_port, tuple.destination_port]),
    }
}

impl Node for Router {
    fn properties(&self) -> Properties {
        Properties {
            may_lack_links: true,
            ..Properties::of(self.ports.len())
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port.0, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        for number in 0..self.ports.len() {
            let mut unresolved = core::mem::take(&mut self.unresolved);
            let interface = &mut self.ports[number].interface;
            interface.poll_transmit_or(now, out, |frame, _| unresolved.push(frame));
            for frame in unresolved.drain(..) {
                self.unresolved(now, number, frame, out);
            }
            self.unresolved = unresolved;
        }
        self.wake_border(now, out);
        self.announce(now, out);
        self.announce_v6(now, out);
        self.wake_crossing(now, out);
        self.wake_services(now, out);
        self.wake_filter(now, out);
        for vrf in 0..self.vrfs.len() {
            self.vrfs[vrf].own.poll_transmit(now, out);
            self.settle(now, vrf, NONE, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let ports = self
            .ports
            .iter()
            .filter_map(|port| port.interface.poll_timeout());
        let own = self.vrfs.iter().filter_map(|vrf| vrf.own.poll_timeout());
        let border = self.border.as_ref().and_then(Border::next_wake);
        let crossing = self.crossing.as_ref().and_then(Crossing::next_wake);
        let services = self.vrfs.iter().filter_map(|vrf| vrf.services.next_wake());
        let all = ports.chain(own).chain(border);
        let filter = self.filter.as_ref().and_then(Filter::next_wake);
        all.chain(crossing).chain(services).chain(filter).min()
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        let (What::Link(up), Some(port)) = (event.what, self.ports.get(usize::from(event.port.0)))
        else {
            return;
        };
        self.vrfs[port.vrf].tables.set_link(event.port.0, up);
    }

    fn statistics(&self) -> Statistics {
        self.counted()
    }

    fn tables(&self, now: Time) -> Vec<Table> {
        self.shown(now)
    }
}
