//! The server (RFC 2131 section 4.3): message in, message out, without I/O.
//!
//! A [`Policy`] decides about each client; the server keeps the leases and the protocol. It answers each message with at
//! most one, which is at most as long as the client takes: 576 bytes unless the client says otherwise.

mod exchange;
mod reply;

use super::message::{Kind, Message, REQUEST, option, sub_option};
use super::policy::{Policy, Request};
use crate::leases::{Lease, Leases, Limits};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use exchange::{Answer, Exchange};
use node::Time;
use packet::ethernet::Mac;
use reply::{write, write_nak};

/// Settings of a server.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time for which an offered address is kept.
    pub offer: Time,
    /// Time for which a declined address is not handed out.
    pub decline: Time,
    /// Limits of the table of leases.
    pub limits: Limits,
    /// Whether a client that asks for two messages gets a lease at once (RFC 4039).
    pub rapid_commit: bool,
    /// Whether the server refuses addresses of which it knows no lease, but for the only one that the client may have; one that is not sure to know all leases of the
    /// link is silent (RFC 2131 section 4.3.2).
    pub authoritative: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            offer: Time::from_secs(10),
            decline: Time::from_secs(600),
            limits: Limits::default(),
            rapid_commit: true,
            authoritative: false,
        }
    }
}

/// Way by which a message has come.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The port.
    pub port: u16,
    /// The server's address to which the message went; that of the port if it was a broadcast.
    pub server: Ipv4Addr,
}

/// Receiver of a reply (RFC 2131 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// UDP port 67 of a relay.
    Relay(Ipv4Addr),
    /// UDP port 68 of a client with an address.
    Client(Ipv4Addr),
    /// UDP port 68 of a client that answers no ARP yet, at the port by which the request came.
    Hardware(Mac, Ipv4Addr),
    /// UDP port 68 of all at the port by which the request came.
    Broadcast,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its receiver.
    pub to: Destination,
    /// Its source address.
    pub from: Ipv4Addr,
    /// Its type.
    pub kind: Kind,
}

/// Counts of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages by type: discover, offer, request, decline, ack, nak, release, inform.
    pub messages: [u64; 8],
    /// Options that did not fit into a reply.
    pub left_out: u64,
}

/// A server. See the [module](self).
#[derive(Debug)]
pub struct Server<P> {
    policy: P,
    settings: Settings,
    leases: Leases,
    counters: Counters,
    key: Vec<u8>,
    circuit: Vec<u8>,
}

impl<P: Policy> Server<P> {
    /// A server without leases.
    pub fn new(policy: P, settings: Settings) -> Server<P> {
        Server {
            policy,
            settings,
            leases: Leases::new(settings.limits),
            counters: Counters::default(),
            key: Vec::new(),
            circuit: Vec::new(),
        }
    }

    /// Its leases.
    pub fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Its policy.
    pub fn policy(&mut self) -> &mut P {
        &mut self.policy
    }

    /// Its counts.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Time at which [`expire`](Server::expire) has something to do.
    pub fn next_end(&self) -> Option<Time> {
        self.leases.next_end()
    }

    /// Ends one lease whose time is over by `now`, and returns it with the state that it had.
    pub fn expire(&mut self, now: Time) -> Option<Lease> {
        self.leases.expire(now)
    }

    /// Ends the lease or offer of an address, for a policy that gives the address to another client; returns the lease with
    /// the state that it had.
    pub fn revoke(&mut self, now: Time, address: Ipv4Addr) -> Option<Lease> {
        let lease = self.leases.get(u32::from(address).into())?;
        let key = lease.key.clone();
        self.leases.release(now, &key)
    }

    /// Takes a message and writes the reply, if there is one, into `out`.
    ///
    /// # Errors
    /// The reason for which the message was ignored.
    pub fn handle(
        &mut self,
        now: Time,
        arrival: &Arrival,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Reply>, &'static str> {
        let message = Message::new(bytes).map_err(|fault| fault.0)?;
        if message.op() != REQUEST {
            return Err("DHCP message of a server");
        }
        for number in [option::CLIENT_ID, option::RELAY_AGENT] {
            // Parts of a longer one would be joined (RFC 3396), and the reply carries both.
            if message
                .option(number)
                .is_some_and(|value| value.len() > 255)
            {
                return Err("DHCP identifier too long");
            }
        }
        while self.leases.expire(now).is_some() {}
        self.counters.messages[message.kind() as usize - 1] += 1;
        let client = message.client();
        let giaddr = message.giaddr();
        let circuit = match giaddr.is_unspecified() {
            true => None,
            false => message.sub_option(sub_option::CIRCUIT),
        };
        self.circuit.clear();
        self.circuit.extend(giaddr.octets());
        match (&circuit, giaddr.is_unspecified()) {
            (_, true) => self.circuit.extend(arrival.port.to_be_bytes()),
            (Some(circuit), false) => self.circuit.extend(circuit),
            (None, false) => {}
        }
        let subnet = self.subnet(&message, &client, arrival);
        self.key.clear();
        let request = Request {
            message: &message,
            client: &client,
            subnet,
            port: arrival.port,
            circuit: circuit.as_deref(),
        };
        let grant = self.policy.decide(now, &request)?;
        // The client may have an address in each subnet.
        let mask = u32::MAX
            .checked_shl(32 - u32::from(grant.prefix.min(32)))
            .unwrap_or(0);
        self.key.extend((u32::from(subnet) & mask).to_be_bytes());
        self.key.extend(&*client);
        let server = grant.server.unwrap_or(arrival.server);
        let exchange = Exchange {
            now,
            message: &message,
            settings: &self.settings,
            leases: &mut self.leases,
            key: &self.key,
            circuit: &self.circuit,
            grant: &grant,
            servers: [server, arrival.server],
        };
        let answer = exchange.answer()?;
        let reply = match answer {
            Answer::Done => return Ok(None),
            Answer::Lease(kind, address) => {
                let (left_out, to) = write(&message, &grant, server, (kind, Some(address)), out);
                self.counters.left_out += left_out as u64;
                (kind, to)
            }
            Answer::Options => {
                let (left_out, to) = write(&message, &grant, server, (Kind::Ack, None), out);
                self.counters.left_out += left_out as u64;
                (Kind::Ack, to)
            }
            Answer::Refuse => (Kind::Nak, write_nak(&message, server, out)),
        };
        let (kind, to) = reply;
        self.counters.messages[kind as usize - 1] += 1;
        Ok(Some(Reply {
            to,
            from: server,
            kind,
        }))
    }

    /// An address of the client's subnet.
    fn subnet(&mut self, message: &Message<'_>, client: &[u8], arrival: &Arrival) -> Ipv4Addr {
        let giaddr = message.giaddr();
        if !giaddr.is_unspecified() {
            let selected = message.sub_option(sub_option::LINK_SELECTION);
            let octets = selected.and_then(|value| <[u8; 4]>::try_from(value).ok());
            return octets.map_or(giaddr, Ipv4Addr::from);
        }
        // A client that renews comes directly, whatever relay it has.
        let ciaddr = message.ciaddr();
        let lease = self.leases.get(u32::from(ciaddr).into());
        match lease {
            Some(lease) if lease.key.get(4..) == Some(client) => {
                let subnet = lease.key.first_chunk::<4>();
                subnet.map_or(ciaddr, |octets| (*octets).into())
            }
            _ => arrival.server,
        }
    }
}
