//! A clock's place in the network: alone at its port, or in line as the card of a host; with one server to find, or none.

use crate::endpoint::{Came, Endpoint, Peer};
use core::net::Ipv4Addr;
use core::ops::Range;
use node::ConfigError;
use node::{Frame, Out, Port, Properties, Time};
use packet::ethernet::Mac;

/// Between two questions for the MAC address of the server.
const ASK_AGAIN: Time = Time::from_secs(1);
/// Why a clock that speaks of its own accord goes on without end.
pub(crate) const ENDLESS: &str = "sends messages of its clock";
/// The network's side.
pub(crate) const NETWORK: Port = Port(0);

/// How a clock is attached to the network, by its keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attachment {
    /// 1, or 2 in line.
    pub ports: u16,
    pub mac: Mac,
    pub address: Ipv4Addr,
    pub server: Option<Ipv4Addr>,
    pub gateway: Option<Ipv4Addr>,
}

impl Attachment {
    pub fn check(&self) -> Result<(), ConfigError> {
        let fault = |key, reason: &str| Err(ConfigError::new(key, reason));
        if !(1..=2).contains(&self.ports) {
            return fault("ports", "1, or 2 in line");
        }
        if self.mac.is_group() {
            return fault("mac", "a clock's own address is no group's");
        }
        if self.server == Some(self.address) {
            return fault("server", "a clock is not its own server");
        }
        Ok(())
    }
}

/// How it is attached, and who is known from there.
#[derive(Debug)]
pub(crate) struct Station {
    pub endpoint: Endpoint,
    attachment: Attachment,
    /// Its own UDP port, and that of the server.
    port: u16,
    /// When the server is to be asked next.
    pub next: Option<Time>,
    /// Whether its MAC address is waited for.
    resolving: bool,
}

impl Station {
    /// With datagrams of this UDP port; the server is asked first at `first`.
    pub fn new(attachment: Attachment, port: u16, first: Time) -> Station {
        Station {
            endpoint: Endpoint::new(attachment.mac, attachment.address, port),
            attachment,
            port,
            next: attachment.server.map(|_| first),
            resolving: false,
        }
    }

    pub fn properties(&self) -> Properties {
        Properties {
            may_lack_links: self.attachment.ports > 1,
            endless: self.next.map(|_| ENDLESS),
            ..Properties::of(self.attachment.ports.into())
        }
    }

    /// A datagram for the clock, and where its payload is. What is none goes on in line, or is dropped for this reason.
    pub fn take(
        &mut self,
        now: Time,
        port: Port,
        frame: Frame,
        none: &'static str,
        out: &mut Out,
    ) -> Option<(Peer, Frame, Range<usize>)> {
        if port != NETWORK {
            out.send(NETWORK, frame);
            return None;
        }
        match self.endpoint.look(port, &frame, out) {
            Came::Datagram(peer, place) => return Some((peer, frame, place)),
            Came::Resolved => {
                if core::mem::take(&mut self.resolving) && self.next.is_some() {
                    self.next = Some(now);
                }
                out.done(frame);
            }
            Came::Other if self.attachment.ports == 2 => out.send(Port(1), frame),
            Came::Other => out.drop(frame, none),
        }
        None
    }

    /// The server, if it is due to be asked. While its MAC address is not known, that is asked for.
    pub fn due(&mut self, now: Time, out: &mut Out) -> Option<Peer> {
        let address = self.attachment.server?;
        if self.next.is_none_or(|at| at > now) {
            return None;
        }
        self.find(address, now, out)
    }

    /// Somebody at an address. While the MAC address is not known, that is asked for, and next in a second.
    pub fn find(&mut self, address: Ipv4Addr, now: Time, out: &mut Out) -> Option<Peer> {
        let Some(mac) = self.endpoint.resolve(NETWORK, self.hop(address), out) else {
            self.resolving = true;
            self.next = Some(now + ASK_AGAIN);
            return None;
        };
        self.resolving = false;
        Some(Peer {
            address,
            mac,
            port: self.port,
        })
    }

    /// Whether the MAC address of somebody is known.
    pub fn knows(&self, address: Ipv4Addr) -> bool {
        self.endpoint.known(self.hop(address)).is_some()
    }

    fn hop(&self, address: Ipv4Addr) -> Ipv4Addr {
        self.attachment.gateway.unwrap_or(address)
    }
}
