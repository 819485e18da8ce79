//! What programs use of a host: its interface and its connections.

use crate::connections::{Connections, Id, Sender, SocketOptions};
use crate::endpoint::{Egress, Endpoint};
use alloc::collections::BTreeMap;
use core::net::{IpAddr, SocketAddr};
use ip::header::{self, ETHERNET};
use ip::service::Link;
use ip::{Interface, icmp};
use node::{Frame, Out, Port, Time, When};

/// What programs use of a host.
pub(crate) struct Net {
    pub interface: Interface,
    pub connections: Connections,
    /// Which program has which UDP port.
    pub udp: BTreeMap<u16, usize>,
    pub opened: u64,
}

impl Egress for Interface {
    fn send(&mut self, now: Time, to: IpAddr, when: When, frame: Frame, out: &mut Out) {
        Interface::send(self, now, to, when, frame, out);
    }
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
    /// The link of the host, as its services see it.
    pub fn link(&self) -> Link<'_> {
        Link {
            port: Port(0),
            interface: &self.interface,
            mtu: self.interface.mtu(),
        }
    }

    pub fn drive(&mut self, now: Time, id: Id, out: &mut Out) {
        self.connections.drive(now, id, &mut self.interface, out);
    }
}

impl Context<'_> {
    /// Opens a connection; `None` when there is no way, or no room.
    pub fn connect(&mut self, to: SocketAddr, options: SocketOptions) -> Option<Id> {
        let from = self.net.interface.source(to.ip())?;
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
        self.net.interface.source(to)
    }

    /// Sends a datagram whose payload, of so many bytes of zero, `fill` fills; `false` when there is no way or it
    /// is longer than any packet.
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
        let headers = header::length(from) + header::UDP_HEADER;
        if header::UDP_HEADER + length > header::max_payload(from) {
            return false;
        }
        let mut frame = self.out.frame();
        frame.resize(ETHERNET + headers + length);
        fill(&mut frame[ETHERNET + headers..]);
        header::write(&mut frame, from, to.ip(), header::UDP);
        header::write_udp(&mut frame, (from, port), (to.ip(), to.port()));
        self.net
            .interface
            .send_any(self.now, to.ip(), when, frame, self.out);
        true
    }

    /// Sends an echo request with so many bytes behind its header; `false` when there is no way.
    pub fn ask(&mut self, to: IpAddr, sequence: u16, size: usize) -> bool {
        let Some(from) = self.source(to) else {
            return false;
        };
        if header::ECHO_HEADER + size > header::max_payload(from) {
            return false;
        }
        let mut frame = self.out.frame();
        icmp::write_echo(&mut frame, from, to, (self.me as u16, sequence), size);
        let when = When::At(self.now);
        self.net
            .interface
            .send_any(self.now, to, when, frame, self.out);
        true
    }
}
