//! What programs use of a host: addresses, neighbours, connections.

use crate::connections::{Connections, Id, Sender, SocketOptions};
use crate::endpoint::{Egress, Endpoint};
use crate::ip::{self, ETHERNET};
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
    /// Of the last packet in fragments.
    pub identification: u32,
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

    /// Sends a packet at that time, in fragments if it is longer than the MTU: the first at its time, the others right
    /// behind it.
    fn depart(&mut self, to: IpAddr, when: When, frame: Frame) {
        let now = self.now;
        let Net {
            neighbours,
            identification,
            mtu,
            ..
        } = &mut *self.net;
        *identification = identification.wrapping_add(1);
        let mut when = when;
        nodes::fragments::cut(frame, *mtu, *identification, self.out, |frame, out| {
            let when = core::mem::replace(&mut when, When::Now);
            neighbours.send(now, to, when, frame, out);
        });
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
        let headers = ip::header(from) + ip::UDP_HEADER;
        if ip::UDP_HEADER + length > ip::most(from) {
            return false;
        }
        let mut frame = self.out.frame();
        frame.resize(ETHERNET + headers + length);
        fill(&mut frame[ETHERNET + headers..]);
        ip::write_header(&mut frame, from, to.ip(), ip::UDP);
        ip::write_udp(&mut frame, (from, port), (to.ip(), to.port()));
        self.depart(to.ip(), when, frame);
        true
    }

    /// Sends an echo request with so many bytes behind its header; `false` when there is no way.
    pub fn ask(&mut self, to: IpAddr, sequence: u16, size: usize) -> bool {
        let Some(from) = self.source(to) else {
            return false;
        };
        if ip::ECHO_HEADER + size > ip::most(from) {
            return false;
        }
        let mut frame = self.out.frame();
        ip::write_echo(&mut frame, from, to, (self.me as u16, sequence), size);
        self.depart(to, When::At(self.now), frame);
        true
    }
}
