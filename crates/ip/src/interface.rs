//! One interface: frames in, frames out, nothing else.
//!
//! The caller hands over each frame that arrives with [`handle_frame`](Interface::handle_frame), sends with
//! [`send`](Interface::send) and calls [`poll_transmit`](Interface::poll_transmit) when
//! [`poll_timeout`](Interface::poll_timeout) is reached. Frames to send, and dropped frames with their reasons, go
//! into an [`Out`] that the caller owns.
//!
//! An answer leaves in the buffer of its request, to the MAC address from which the request came: a peer costs one frame
//! for one frame, whatever addresses it forges, and no request for an address.

mod answers;
mod autoconfiguration;
mod link;
mod transmit;

use crate::address::{InterfaceAddress, is_host};
use crate::addresses::{Addresses, Own};
use crate::discovery::{self, Message};
use crate::extensions;
use crate::fragments::{Fragment, Reassembly};
use crate::header::{self, ETHERNET, ICMPV6, Packet};
use crate::icmp::{self, Error};
use crate::limit::RateLimit;
use crate::neighbours::{Neighbours, State};
use crate::options::{self, Refusal};
use crate::routers::Routers;
use crate::routes::{Route, Routes};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::{Frame, Out, Port, Time};
use packet::ethernet::ethertype;

const ALL_NODES: IpAddr = IpAddr::V6(Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1));

/// Reason of a drop.
const BAD_OPTIONS: &str = "bad IP options";

/// Configuration of an interface.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its MAC address.
    pub mac: [u8; 6],
    /// Its addresses; the prefix of each is on the link.
    pub addresses: Vec<InterfaceAddress>,
    /// Routes besides those of the addresses' prefixes; at most [`MAX_ROUTES`](crate::routes::MAX_ROUTES) in all.
    pub routes: Vec<Route>,
    /// Maximum length of an IP packet in one frame, bytes; 576 at least, 1280 with IPv6. Default 1500.
    pub mtu: usize,
    /// The port of the node by which its frames leave. Default 0.
    pub port: Port,
    /// Groups that it belongs to besides those of its addresses.
    pub groups: Vec<Ipv6Addr>,
    /// Whether datagrams to UDP port 7 go back (RFC 862). Default true.
    pub udp_echo: bool,
    /// Whether closed ports and unknown protocols are reported to the sender. Default true.
    pub refuses: bool,
    /// Whether the rate of ICMP errors is [limited](crate::limit). Default true.
    pub limits_errors: bool,
    /// Whether redirects of the current next hop are followed. Default false.
    pub redirects: bool,
    /// Whether addresses are used only once no other interface has them. Default false.
    pub detects_duplicates: bool,
    /// Whether the interface makes a link-local address and takes addresses and routes from routers. Default false.
    pub autoconfiguration: bool,
    /// Time for which the answer of a neighbour counts until it is asked again; `None`, the default: always.
    pub reachable: Option<Time>,
    /// Seed of delays, and of the identification of fragments. Default 0.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: [2, 0, 0, 0, 0, 2],
            addresses: Vec::new(),
            routes: Vec::new(),
            mtu: 1500,
            port: Port(0),
            groups: Vec::new(),
            udp_echo: true,
            refuses: true,
            limits_errors: true,
            redirects: false,
            detects_duplicates: false,
            autoconfiguration: false,
            reachable: None,
            seed: 0,
        }
    }
}

/// Meaning of a frame.
#[derive(Debug)]
pub enum Received {
    /// A whole packet for a protocol of the host. Checksums of TCP, UDP and ICMP are right. The caller passes a packet
    /// without a receiver to [`unclaimed`](Interface::unclaimed).
    Packet(Frame, Packet),
    /// The interface has used it, answered it or dropped it.
    Consumed,
    /// Not for this interface.
    Other(Frame),
}

/// Counts of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that it has answered or ignored.
    pub packets: u64,
    /// ARP requests answered.
    pub arp: u64,
    /// Neighbour solicitations answered.
    pub neighbours: u64,
    /// Echo requests answered.
    pub pings: u64,
    /// Datagrams sent back.
    pub echoes: u64,
    /// Packets answered by a reset or an error.
    pub refused: u64,
    /// Packets that came in fragments.
    pub reassembled: u64,
    /// Frames for others, or that need no answer.
    pub ignored: u64,
    /// Packets with a wrong checksum.
    pub bad_checksums: u64,
}

/// An interface. See the [module](self).
#[derive(Debug)]
pub struct Interface {
    mac: [u8; 6],
    mtu: usize,
    port: Port,
    groups: Vec<Ipv6Addr>,
    udp_echo: bool,
    refuses: bool,
    redirects: bool,
    addresses: Addresses,
    routes: Routes,
    neighbours: Neighbours,
    reassembly: Reassembly,
    limit: RateLimit,
    routers: Option<Routers>,
    /// Of the last packet.
    identification: u32,
    counters: Counters,
    scratch: Vec<u8>,
}

impl Interface {
    /// An interface; surplus routes are ignored.
    pub fn new(config: Config) -> Interface {
        let mut addresses = Addresses::new(config.detects_duplicates, config.seed);
        let mut routes = Routes::default();
        for network in config.addresses {
            addresses.add(Time::ZERO, network, None);
            routes.add(Route {
                to: network,
                via: None,
            });
        }
        for route in config.routes {
            routes.add(route);
        }
        let routers = config.autoconfiguration.then(|| {
            let routers = Routers::new(config.mac, &mut addresses);
            let link_local = addresses.iter().last().map(|own| own.network);
            if let Some(to) = link_local {
                routes.add(Route { to, via: None });
            }
            routers
        });
        Interface {
            mac: config.mac,
            mtu: config.mtu,
            port: config.port,
            groups: config.groups,
            udp_echo: config.udp_echo,
            refuses: config.refuses,
            redirects: config.redirects,
            addresses,
            routes,
            neighbours: Neighbours::new(config.reachable),
            reassembly: Reassembly::default(),
            limit: RateLimit::new(config.limits_errors),
            routers,
            identification: config.seed as u32,
            counters: Counters::default(),
            scratch: Vec::new(),
        }
    }

    /// Its MAC address.
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Maximum length of an IP packet in one frame, bytes.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// Adds an address, whose prefix is on the link; `false` when it is there.
    pub fn add_address(&mut self, now: Time, network: InterfaceAddress) -> bool {
        self.routes.add(Route {
            to: network,
            via: None,
        });
        self.addresses.add(now, network, None)
    }

    /// Removes an address, and the route of its prefix. Other addresses with that prefix keep routes of their own.
    pub fn remove_address(&mut self, network: InterfaceAddress) {
        self.addresses.remove(network.address);
        self.routes.remove(Route {
            to: network,
            via: None,
        });
    }

    /// Adds a route, unless it is there; `false` when there is no room.
    pub fn add_route(&mut self, route: Route) -> bool {
        self.routes.add(route)
    }

    /// Removes a route.
    pub fn remove_route(&mut self, route: Route) {
        self.routes.remove(route);
    }

    /// Its addresses, with their states.
    pub fn addresses(&self) -> impl Iterator<Item = &Own> {
        self.addresses.iter()
    }

    /// Its routes, longest prefix first.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }

    /// The state of a neighbour; `None` when it is not known.
    pub fn neighbour(&self, now: Time, who: IpAddr) -> Option<State> {
        self.neighbours.state(now, who)
    }

    /// The MAC address of a neighbour, if it has answered.
    pub fn neighbour_mac(&self, who: IpAddr) -> Option<[u8; 6]> {
        self.neighbours.mac(who)
    }

    /// All neighbours with their MAC addresses and states; of those that have not answered the MAC address is zero.
    pub fn all_neighbours(&self, now: Time) -> impl Iterator<Item = (IpAddr, [u8; 6], State)> {
        self.neighbours.iter(now)
    }

    /// Number of neighbours in the table.
    pub fn neighbours(&self) -> usize {
        self.neighbours.count()
    }

    /// Bytes of packets that wait for neighbours or for fragments, with their overhead.
    pub fn waiting_bytes(&self) -> usize {
        self.neighbours.waiting_bytes() + self.reassembly.bytes()
    }

    /// Its counts.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes a frame that has arrived by `now`.
    pub fn handle_frame(&mut self, now: Time, frame: Frame, out: &mut Out) -> Received {
        let Some(header) = frame.first_chunk::<ETHERNET>() else {
            return self.ignore(frame);
        };
        if header[0] & 1 == 0 && header[..6] != self.mac {
            return self.ignore(frame);
        }
        match u16::from_be_bytes([header[12], header[13]]) {
            ethertype::ARP => self.arp(now, frame, out),
            ethertype::IPV4 | ethertype::IPV6 => {
                let Some(frame) = self.whole(now, frame, out) else {
                    return Received::Consumed;
                };
                match header::read(&frame) {
                    Some(packet) => self.packet(now, frame, packet, out),
                    None => self.ignore(frame),
                }
            }
            _ => self.ignore(frame),
        }
    }

    fn packet(&mut self, now: Time, frame: Frame, packet: Packet, out: &mut Out) -> Received {
        let own = self.addresses.contains(packet.destination);
        let to_us = own || (packet.protocol == ICMPV6 && self.is_member(packet.destination));
        let asks_for_own = packet.protocol == ICMPV6 && packet.source == UNSPECIFIED;
        let sender = is_host(packet.source) || asks_for_own;
        if !to_us || !sender || self.addresses.contains(packet.source) {
            return self.ignore(frame);
        }
        let Some(mut frame) = self.options(now, frame, &packet, out) else {
            return Received::Consumed;
        };
        let packet = header::to_datagram_end(&frame, packet);
        if !header::is_valid(&frame, &packet) {
            self.counters.bad_checksums += 1;
            out.drop(frame, "wrong checksum");
            return Received::Consumed;
        }
        if packet.protocol == ICMPV6
            && let Some(message) = Message::read(&frame, &packet)
        {
            self.hear(now, &packet, &message, out);
            match message {
                Message::Solicitation { target, .. } if self.addresses.contains(target.into()) => {
                    self.count(|counters| counters.neighbours += 1);
                    let scratch = &mut self.scratch;
                    discovery::answer_solicitation(&mut frame, &packet, target, self.mac, scratch);
                    out.send(self.port, frame);
                }
                _ => self.give_up(frame, out),
            }
            return Received::Consumed;
        }
        let from = match own {
            true => Some(packet.destination),
            // A group is answered from an address of the interface.
            false => self.source(packet.source),
        };
        if let Some(from) = from.filter(|_| !asks_for_own)
            && (icmp::reply(&mut frame, &packet, from)
                || (own && icmp::reply_time(now, &mut frame, &packet, from)))
        {
            self.count(|counters| counters.pings += 1);
            // The options still are those of the request.
            let mut echoed = [0; options::MAX_OPTIONS];
            match self.echoed(now, &frame, from, &mut echoed) {
                Some(_) if options::length(&frame) == 0 => {}
                Some(count) => options::replace(&mut frame, &echoed[..count]),
                None => {
                    out.drop(frame, BAD_OPTIONS);
                    return Received::Consumed;
                }
            }
            icmp::turn(&mut frame, self.mac);
            self.answer(frame, out);
            return Received::Consumed;
        }
        match own {
            true => Received::Packet(frame, packet),
            false => self.ignore(frame),
        }
    }

    /// Checks the options of a packet for this interface, and records it in them; returns the frame unless the packet is refused.
    fn options(
        &mut self,
        now: Time,
        mut frame: Frame,
        packet: &Packet,
        out: &mut Out,
    ) -> Option<Frame> {
        let refusal = match packet.destination {
            IpAddr::V6(_) => {
                let refusal = extensions::refusal_of_receiver(&frame[ETHERNET..packet.end]);
                refusal.map(|refusal| match refusal {
                    extensions::Refusal::Silent => None,
                    extensions::Refusal::Option(at) => Some(Error::Option(at)),
                })
            }
            IpAddr::V4(_) if options::length(&frame) == 0 => None,
            IpAddr::V4(own) => {
                let is_own = |address| self.addresses.contains(IpAddr::V4(address));
                match options::arrive(now, &mut frame, own, is_own) {
                    Ok(_) => None,
                    Err(Refusal::SourceRoute) => Some(None),
                    Err(Refusal::Bad(at)) => Some(Some(Error::Parameter(0, at.into()))),
                }
            }
        };
        match refusal {
            None => return Some(frame),
            Some(Some(error)) => self.error(now, error, frame, packet, out),
            Some(None) => out.drop(frame, BAD_OPTIONS),
        }
        None
    }

    /// Puts a fragment for this interface to the others of its packet; gives the frame, or the whole packet.
    fn whole(&mut self, now: Time, frame: Frame, out: &mut Out) -> Option<Frame> {
        let fragment = Fragment::read(&frame);
        let ours = fragment.filter(|one| self.addresses.contains(one.destination()));
        let Some(fragment) = ours else {
            return Some(frame);
        };
        let packet = fragment.packet();
        let length = options::length(&frame);
        if packet.destination.is_ipv4() && length > 0 {
            // Options are looked at before reassembly, and filled in after it.
            let mut copy = [0; ETHERNET + 60];
            let header = ETHERNET + 20 + length;
            copy[..header].copy_from_slice(&frame[..header]);
            if options::arrive(now, &mut copy, Ipv4Addr::UNSPECIFIED, |_| true).is_err() {
                return self.options(now, frame, &packet, out);
            }
        }
        let whole = self.reassembly.take_marked(now, fragment, frame, out)?;
        self.counters.reassembled += 1;
        Some(whole)
    }

    fn count(&mut self, change: impl FnOnce(&mut Counters)) {
        self.counters.packets += 1;
        change(&mut self.counters);
    }

    fn ignore(&mut self, frame: Frame) -> Received {
        self.count(|counters| counters.ignored += 1);
        Received::Other(frame)
    }

    fn give_up(&mut self, frame: Frame, out: &mut Out) {
        self.count(|counters| counters.ignored += 1);
        out.done(frame);
    }
}

const UNSPECIFIED: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
