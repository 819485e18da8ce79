//! DHCPv6 relay (RFC 9915 section 19).
//!
//! - **Parameters:** `ports`, all: list of the ports with clients; `servers`: addresses of one or several servers or relays;
//!   `routes`, true: whether a prefix that a server delegates by this relay gets a route to the client (RFC 8987).
//! - **Counters:** `dhcpv6_relayed_requests`, `dhcpv6_relayed_replies`, `dhcpv6_delegated`: routes that were added.
//! - **Drops:** why a message was not relayed.
//!
//! The interface id of a message is the number of the port as a text.

use super::{Ports, check_servers, link_local_of, send_to_servers, source_mac, v6_of};
use crate::datagram;
use crate::v6::message::{CLIENT_PORT, Kind, Message, Resource, SERVER_PORT, lifetime};
use crate::v6::relay::{RelayMessage, to_servers};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use ip::address::InterfaceAddress;
use ip::service::{Change, Link, ROUTED, Service};
use node::{ConfigError, Frame, Out, Port, Statistics, Time};

/// Maximum number of clients whose MAC addresses are remembered for the reply; the oldest makes room.
const MAX_PEERS: usize = 4096;
/// Maximum number of routes to delegated prefixes.
const MAX_ROUTES: usize = 4096;

/// Configuration, see the [module](self).
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Ports with clients; empty: all.
    pub ports: Vec<u16>,
    /// Servers, at most 16.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub servers: Vec<Ipv6Addr>,
    /// Whether delegated prefixes get routes.
    pub routes: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: Vec::new(),
            servers: Vec::new(),
            routes: true,
        }
    }
}

/// The service.
///
/// # Errors
/// When a key is missing or out of its range.
pub fn make(config: &Config) -> Result<Box<dyn Service>, ConfigError> {
    check_servers(&config.servers)?;
    Ok(Box::new(Relay {
        ports: Ports::new(config.ports.clone())?,
        servers: config.servers.clone(),
        adds_routes: config.routes,
        peers: BTreeMap::new(),
        order: VecDeque::new(),
        routes: BTreeMap::new(),
        ends: BTreeSet::new(),
        changes: VecDeque::new(),
        message: Vec::new(),
        relayed: [0; 2],
        delegated: 0,
    }))
}

/// A client or relay that has asked: its MAC address, and the MAC and link-local addresses of the port.
#[derive(Clone, Copy, Debug)]
struct Peer {
    mac: [u8; 6],
    port_mac: [u8; 6],
    own: Ipv6Addr,
}

#[derive(Debug)]
struct Relay {
    ports: Ports,
    servers: Vec<Ipv6Addr>,
    adds_routes: bool,
    peers: BTreeMap<(u16, Ipv6Addr), Peer>,
    order: VecDeque<(u16, Ipv6Addr)>,
    /// Port, next hop and end of the route to each delegated prefix.
    routes: BTreeMap<(Ipv6Addr, u8), (u16, Ipv6Addr, Time)>,
    ends: BTreeSet<(Time, (Ipv6Addr, u8))>,
    changes: VecDeque<Change>,
    message: Vec<u8>,
    relayed: [u64; 2],
    delegated: u64,
}

impl Relay {
    fn request(
        &mut self,
        link: &Link<'_>,
        peer: Ipv6Addr,
        mac: [u8; 6],
        payload: &[u8],
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let interface = link.port.0.to_string();
        to_servers(
            payload,
            v6_of(link),
            peer,
            interface.as_bytes(),
            &mut self.message,
        )?;
        let key = (link.port.0, peer);
        let seen = Peer {
            mac,
            port_mac: link.interface.mac(),
            own: link_local_of(link),
        };
        if self.peers.insert(key, seen).is_none() {
            self.order.push_back(key);
            if self.order.len() > MAX_PEERS
                && let Some(oldest) = self.order.pop_front()
            {
                self.peers.remove(&oldest);
            }
        }
        self.relayed[0] += 1;
        send_to_servers(&self.servers, SERVER_PORT, &self.message, out);
        Ok(())
    }

    fn reply(
        &mut self,
        now: Time,
        from: Ipv6Addr,
        payload: &[u8],
        out: &mut Out,
    ) -> Result<(), &'static str> {
        if !self.servers.contains(&from) {
            return Err("DHCPv6 reply of an unknown server");
        }
        let reply = RelayMessage::new(payload).map_err(|fault| fault.0)?;
        let interface = reply.interface.and_then(|id| core::str::from_utf8(id).ok());
        let port: u16 = interface
            .and_then(|id| id.parse().ok())
            .ok_or("DHCPv6 reply for another relay")?;
        let peer = self.peers.get(&(port, reply.peer));
        let peer = *peer.ok_or("DHCPv6 reply for an unknown client")?;
        let is_relay = reply.message.first() == Some(&(Kind::RelayReply as u8));
        if !is_relay && self.adds_routes {
            self.learn(now, port, reply.peer, reply.message);
        }
        let to = match is_relay {
            true => SERVER_PORT,
            false => CLIENT_PORT,
        };
        self.relayed[1] += 1;
        let on_link = reply.peer.is_unicast_link_local();
        let own = if on_link {
            peer.own
        } else {
            Ipv6Addr::UNSPECIFIED
        };
        let from = SocketAddr::new(own.into(), SERVER_PORT);
        let receiver = SocketAddr::new(reply.peer.into(), to);
        let macs = [peer.port_mac, peer.mac];
        let frame = datagram::frame(macs, from, receiver, reply.message, out);
        out.send(if on_link { Port(port) } else { ROUTED }, frame);
        Ok(())
    }

    /// Adds and removes routes to the prefixes of a server's reply.
    fn learn(&mut self, now: Time, port: u16, via: Ipv6Addr, bytes: &[u8]) {
        let Ok(message) = Message::new(bytes) else {
            return;
        };
        if message.kind != Kind::Reply {
            return;
        }
        let all = message.options.associations();
        let prefixes = all.filter(|one| one.resource == Resource::Prefix);
        for item in prefixes.flat_map(|one| one.items()) {
            let key = (item.address, item.length);
            let known = self.routes.get(&key).copied();
            let same = known.is_some_and(|(one, hop, _)| (one, hop) == (port, via));
            if known.is_some() && (!same || item.valid == 0) {
                self.remove(key);
            }
            let until = now + lifetime(item.valid);
            if item.valid > 0 && (same || self.routes.len() < MAX_ROUTES) {
                if let Some((_, _, old)) = self.routes.insert(key, (port, via, until)) {
                    self.ends.remove(&(old, key));
                }
                self.ends.insert((until, key));
                if !same {
                    self.delegated += 1;
                    self.changes.push_back(route(key, (port, via), true));
                }
            }
        }
    }

    fn remove(&mut self, key: (Ipv6Addr, u8)) {
        if let Some((port, via, until)) = self.routes.remove(&key) {
            self.ends.remove(&(until, key));
            self.changes.push_back(route(key, (port, via), false));
        }
    }
}

fn route((prefix, length): (Ipv6Addr, u8), (port, via): (u16, Ipv6Addr), present: bool) -> Change {
    Change::Route {
        to: InterfaceAddress {
            address: prefix.into(),
            prefix: length,
        },
        via: Some(via.into()),
        port: Port(port),
        present,
    }
}

impl Service for Relay {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(datagram) = datagram::read(&frame, SERVER_PORT) else {
            return Some(frame);
        };
        let IpAddr::V6(peer) = datagram.source.ip() else {
            return Some(frame);
        };
        let is_reply = datagram.payload.first() == Some(&(Kind::RelayReply as u8));
        if !is_reply && !self.ports.contains(link.port) {
            return Some(frame);
        }
        let done = match is_reply {
            true => self.reply(now, peer, datagram.payload, out),
            false => self.request(link, peer, source_mac(&frame), datagram.payload, out),
        };
        match done {
            Ok(()) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        None
    }

    fn wake(&mut self, now: Time, _links: &[Link<'_>], _out: &mut Out) {
        while let Some((_, key)) = self.ends.first().copied().filter(|(end, _)| *end <= now) {
            self.remove(key);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let end = self.ends.first().map(|(end, _)| *end);
        end.filter(|end| *end < Time::MAX)
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("dhcpv6_relayed_requests", self.relayed[0]);
        all.counter("dhcpv6_relayed_replies", self.relayed[1]);
        all.counter("dhcpv6_delegated", self.delegated);
    }
}
