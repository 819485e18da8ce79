//! What programs use of a host: addresses, neighbours, connections.

use crate::connections::{Connections, Id, Sender, SocketOptions};
use crate::endpoint::{Egress, Endpoint};
use crate::ip::{self, ETHERNET, Packet};
use crate::neighbours::Neighbours;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use node::{Frame, Out, Time, When};
use nodes::host::Host as Plain;

/// What programs use of a host.
pub(crate) struct Net {
    pub mac: [u8; 6],
    pub addresses: Vec<IpAddr>,
    pub mtu: usize,
    pub neighbours: Neighbours,
    pub connections: Connections,
    /// Which program has which UDP port.
    pub udp: BTreeMap<u16, usize>,
    /// Answers for each pair of addresses.
    pub answers: Vec<Plain>,
    pub opened: u64,
}

/// A program's view of its host during one call.
pub(crate) struct Context<'a> {
    pub now: Time,
    /// Which of the host's programs it is.
    pub me: usize,
    pub net: &'a mut Net,
    pub out: &'a mut Out,
}

impl Net {
    pub fn drive(&mut self, now: Time, id: Id, out: &mut Out) {
        self.connections.drive(now, id, &mut self.neighbours, out);
    }

    /// Tells that nobody has the port of a datagram (RFC 792, RFC 4443).
    pub fn unreachable(&mut self, now: Time, about: &Frame, packet: &Packet, out: &mut Out) {
        if !crate::address::is_unicast(packet.source) || about[0] & 1 == 1 {
            return;
        }
        let v4 = packet.destination.is_ipv4();
        let offending = &about[ETHERNET..packet.end];
        // As much of it as fits into the least packet that every link carries.
        let quoted = &offending[..offending.len().min(if v4 { 548 } else { 1232 })];
        let mut frame = out.frame();
        let at = ETHERNET + ip::header(packet.destination);
        frame.resize(at + 8);
        frame.extend(quoted);
        let protocol = if v4 { ip::ICMP } else { ip::ICMPV6 };
        ip::write_header(&mut frame, packet.destination, packet.source, protocol);
        let kind = if v4 { [3, 3] } else { [1, 4] };
        frame[at..at + 2].copy_from_slice(&kind);
        ip::finish_icmp(packet.destination, packet.source, &mut frame);
        self.neighbours
            .send(now, packet.source, When::Now, frame, out);
    }
}

impl Context<'_> {
    /// Opens a connection; `None` when there is no way, or no room.
    pub fn connect(&mut self, to: SocketAddr, options: SocketOptions) -> Option<Id> {
        let from = self.net.neighbours.source(to.ip())?;
        let id = self.net.connections.connect(self.me, from, to, options)?;
        self.net.opened += 1;
        self.drive(id);
        Some(id)
    }

    /// A connection's socket, until it is over.
    pub fn socket(&mut self, id: Id) -> Option<&mut Endpoint> {
        self.net.connections.socket(id)
    }

    /// Sends what a connection has to send.
    pub fn drive(&mut self, id: Id) {
        self.net.drive(self.now, id, self.out);
    }

    pub fn sender(&self, id: Id) -> Option<&Sender> {
        self.net.connections.sender(id)
    }

    /// How many of the bytes that are left may be given to a connection now.
    pub fn room(&mut self, id: Id, left: u64) -> usize {
        let socket = self.net.connections.socket(id);
        socket.map_or(0, |socket| socket.room(left))
    }

    /// The own end of a connection, and the far one.
    pub fn ends(&self, id: Id) -> Option<(SocketAddr, SocketAddr)> {
        let (port, to) = self.net.connections.ends(id)?;
        let own = self.source(to.ip())?;
        Some((SocketAddr::new(own, port), to))
    }

    /// The own address towards somebody.
    pub fn source(&self, to: IpAddr) -> Option<IpAddr> {
        self.net.neighbours.source(to)
    }

    /// Sends a datagram whose payload, of so many bytes of zero, `fill` fills; `false` when there is no way or it
    /// is too long.
    pub fn datagram(
        &mut self,
        port: u16,
        to: SocketAddr,
        when: When,
        length: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        let Some(from) = self.source(to.ip()) else {
            return false;
        };
        let headers = ip::header(from) + ip::UDP_HEADER;
        if headers + length > self.net.mtu {
            return false;
        }
        let mut frame = self.out.frame();
        frame.resize(ETHERNET + headers + length);
        fill(&mut frame[ETHERNET + headers..]);
        ip::write_header(&mut frame, from, to.ip(), ip::UDP);
        ip::write_udp(&mut frame, (from, port), (to.ip(), to.port()));
        self.net
            .neighbours
            .send(self.now, to.ip(), when, frame, self.out);
        true
    }

    /// Sends an echo request with so many bytes behind its header; `false` when there is no way.
    pub fn ask(&mut self, to: IpAddr, sequence: u16, size: usize) -> bool {
        let Some(from) = self.source(to) else {
            return false;
        };
        let at = ETHERNET + ip::header(from);
        if at - ETHERNET + 8 + size > self.net.mtu {
            return false;
        }
        let mut frame = self.out.frame();
        ip::write_echo(&mut frame, from, to, (self.me as u16, sequence), size);
        self.net
            .neighbours
            .send(self.now, to, When::At(self.now), frame, self.out);
        true
    }
}
