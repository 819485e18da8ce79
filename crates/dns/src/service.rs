//! Services next to the interfaces of a router or host: see [`ip::service`].
//!
//! | `run` | service |
//! |---|---|
//! | `dns-zone` | [`zone`]: authoritative server |
//! | `dns-forwarder` | [`forwarder`] |
//! | `dns-resolver` | [`resolver`]: iterative resolver |
//! | `mdns-relay` | [`mdns`]: relay of multicast DNS |
//! | `ssdp-relay` | [`ssdp`]: relay of SSDP |
//!
//! The first three have TCP, too: see [`stream`].

pub mod forwarder;
pub mod mdns;
mod recursive;
mod relay;
pub mod resolver;
pub mod server;
pub mod ssdp;
pub mod stream;
pub mod zone;

use crate::message::Transport;
use crate::reply::Client;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::ops::Range;
use ip::address::InterfaceAddress;
use ip::header::{self, ETHERNET, UDP, UDP_HEADER};
use ip::service::{Link, ROUTED};
use node::{Frame, Out, Port, Statistics};

/// The port of DNS.
const PORT: u16 = 53;

/// A UDP datagram in a frame.
#[derive(Clone, Debug)]
struct Datagram {
    source: SocketAddr,
    destination: SocketAddr,
    payload: Range<usize>,
}

/// Reads a UDP datagram whose checksum is right.
fn read(frame: &[u8]) -> Option<Datagram> {
    let packet = header::read(frame).filter(|packet| packet.protocol == UDP)?;
    let udp: &[u8; UDP_HEADER] = frame[packet.payload..packet.end].first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    let end = packet.payload + usize::from(word(4)).max(UDP_HEADER);
    if end > packet.end || !header::is_valid(frame, &packet) {
        return None;
    }
    Some(Datagram {
        source: SocketAddr::new(packet.source, word(0)),
        destination: SocketAddr::new(packet.destination, word(2)),
        payload: packet.payload + UDP_HEADER..end,
    })
}

/// A frame with a UDP datagram, without MAC addresses.
fn write(out: &mut Out, source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> Frame {
    let mut frame = out.frame();
    let start = ETHERNET + header::length(source.ip()) + UDP_HEADER;
    frame.resize(start);
    frame.extend(payload);
    header::write(&mut frame, source.ip(), destination.ip(), UDP);
    header::write_udp(
        &mut frame,
        (source.ip(), source.port()),
        (destination.ip(), destination.port()),
    );
    frame
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// The query that a datagram to the own port 53 holds: the client, and where the message is.
fn query(link: &Link<'_>, frame: &[u8], datagram: &Datagram) -> Option<Client> {
    // A response to a group's address, or to one of a whole network, would be an amplifier.
    let is_own = frame[0] & 1 == 0 && ip::address::is_unicast(datagram.destination.ip());
    if !is_own || datagram.destination.port() != PORT || !ip::address::is_host(datagram.source.ip())
    {
        return None;
    }
    Some(Client {
        address: datagram.source,
        own: datagram.destination.ip(),
        link: link.port.0,
        mac: frame[6..12].try_into().expect("six octets"),
        transport: Transport::Udp,
    })
}

/// Clients that a service answers.
#[derive(Clone, Debug, Default)]
struct Clients(Vec<InterfaceAddress>);

impl Clients {
    /// Whether a client is in one of the networks; without any, whether it is on the link.
    fn contain(&self, client: IpAddr, link: &Link<'_>) -> bool {
        if !self.0.is_empty() {
            return self.0.iter().any(|network| network.contains(client));
        }
        let mut networks = link.interface.addresses().map(|own| own.network);
        is_link_local(client) || networks.any(|network| network.contains(client))
    }
}

/// Sends a response to a client.
fn respond(client: &Client, own_mac: Option<[u8; 6]>, message: &[u8], out: &mut Out) {
    let own = SocketAddr::new(client.own, PORT);
    let mut frame = write(out, own, client.address, message);
    match own_mac.filter(|_| is_link_local(client.address.ip())) {
        // No route leads to an address of one link.
        Some(mac) => {
            frame[..6].copy_from_slice(&client.mac);
            frame[6..12].copy_from_slice(&mac);
            out.send(Port(client.link), frame);
        }
        None => out.send(ROUTED, frame),
    }
}

/// The address of a host that chooses one when it sends.
fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Adds counters with the service's name before each.
fn count(name: &str, all: &mut Statistics, add: impl FnOnce(&mut Statistics)) {
    let mut own = Statistics::default();
    add(&mut own);
    for (counter, value) in own.counters {
        all.counter(&format!("{}_{counter}", name.replace('-', "_")), value);
    }
}
