//! The server (RFC 9915 section 18.3): message in, message out, without I/O.
//!
//! A [`Policy`] decides about each client. Each identity association has one lease, of one address or one prefix. The
//! server answers each message with at most one.

mod binding;
mod delegation;

pub use delegation::Delegation;

use super::message::{self, CLIENT_PORT, Kind, MAX_HOPS, Message, SERVER_PORT, option, status};
use super::policy::{Policy, Request};
use super::relay::RelayMessage;
use crate::leases::{Lease, Leases, Limits};
use alloc::vec::Vec;
use binding::Bindings;
use core::net::Ipv6Addr;
use delegation::Delegations;
use node::Time;

/// Maximum number of associations of a message; more are ignored.
pub const MAX_ASSOCIATIONS: usize = 16;

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// DUID of the server, 3 to 130 bytes.
    pub duid: Vec<u8>,
    /// Time for which an offered address is kept.
    pub offer: Time,
    /// Time for which a declined address is not handed out.
    pub decline: Time,
    /// Limits of the table of leases; each association counts.
    pub limits: Limits,
    /// Whether a client that asks for two messages gets leases at once.
    pub rapid_commit: bool,
    /// Preference of the server, 0 to 255; a client that sees 255 waits for no other one.
    pub preference: u8,
}

impl Settings {
    /// Settings of a server with this DUID.
    pub fn new(duid: Vec<u8>) -> Settings {
        Settings {
            duid,
            offer: Time::from_secs(10),
            decline: Time::from_secs(600),
            limits: Limits::default(),
            rapid_commit: true,
            preference: 0,
        }
    }
}

/// Way by which a message has come.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The port.
    pub port: u16,
    /// An address of the port that is not link-local, if there is one.
    pub link: Option<Ipv6Addr>,
    /// Source address.
    pub peer: Ipv6Addr,
    /// Whether it was sent to a group: what clients do.
    pub to_group: bool,
}

/// A reply: it goes to the source address of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// UDP port: that of clients or of relays.
    pub port: u16,
    /// Type of the message for the client.
    pub kind: Kind,
}

/// Counts of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages for and of clients by type: Solicit, Advertise, Request, Confirm, Renew, Rebind, Reply, Release, Decline,
    /// Reconfigure, Information-request.
    pub messages: [u64; 11],
}

impl Counters {
    /// The messages by the names of their types, without Reconfigure, which the server neither sends nor takes.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = [
            "solicit",
            "advertise",
            "request",
            "confirm",
            "renew",
            "rebind",
            "reply",
            "release",
            "decline",
            "reconfigure",
            "information_request",
        ];
        let named = names.into_iter().zip(self.messages);
        named.filter(|(name, _)| *name != "reconfigure")
    }
}

/// A server. See the [module](self).
#[derive(Debug)]
pub struct Server<P> {
    policy: P,
    settings: Settings,
    leases: Leases,
    delegations: Delegations,
    counters: Counters,
    message: Vec<u8>,
    wrapped: Vec<u8>,
    circuit: Vec<u8>,
}

impl<P: Policy> Server<P> {
    /// A server without leases.
    pub fn new(policy: P, settings: Settings) -> Server<P> {
        Server {
            policy,
            leases: Leases::new(settings.limits),
            settings,
            delegations: Delegations::default(),
            counters: Counters::default(),
            message: Vec::new(),
            wrapped: Vec::new(),
            circuit: Vec::new(),
        }
    }

    /// The policy.
    pub fn policy(&mut self) -> &mut P {
        &mut self.policy
    }

    /// Ends the lease of an address or a prefix, so that another client may have it.
    pub fn revoke(&mut self, now: Time, address: Ipv6Addr) {
        let number = u128::from(address);
        let key = self.leases.get(number).map(|lease| lease.key.clone());
        if let Some(key) = key {
            self.delegations.end(number);
            self.leases.release(now, &key);
        }
    }

    /// Removes the route to a prefix, whose lease stays until its client asks again.
    pub fn end_route(&mut self, prefix: Ipv6Addr) {
        self.delegations.end(prefix.into());
    }

    /// Its leases; keys are those of [`client_of`].
    pub fn leases(&self) -> &Leases {
        &self.leases
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
        let lease = self.leases.expire(now)?;
        self.delegations.end(lease.address);
        Some(lease)
    }

    /// The next route to a delegated prefix that is to be added or removed.
    pub fn poll_delegation(&mut self) -> Option<Delegation> {
        self.delegations.poll()
    }

    /// Takes a message of a client or a relay and writes the reply, if there is one, into `out`.
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
        while self.expire(now).is_some() {}
        let (layers, inner) = unwrap(bytes)?;
        let message = Message::new(inner).map_err(|fault| fault.0)?;
        if layers.is_empty() && !arrival.to_group {
            // RFC 9915 section 18.4: clients send to the group.
            return Err("DHCPv6 message of a client to one address");
        }
        if matches!(
            message.kind,
            Kind::Advertise | Kind::Reply | Kind::Reconfigure
        ) {
            return Err("DHCPv6 message of a server");
        }
        self.counters.messages[message.kind as usize - 1] += 1;
        // The relay next to the client says where it is (RFC 9915 section 13.1).
        let innermost = layers.last();
        let named = layers.iter().rev().find(|one| !one.link.is_unspecified());
        let link = named.map(|one| one.link);
        let link = link.or(arrival.link.filter(|_| layers.is_empty()));
        let link = link.unwrap_or(Ipv6Addr::UNSPECIFIED);
        let interface = innermost.and_then(|one| one.interface);
        self.circuit.clear();
        match innermost {
            Some(_) => {
                self.circuit.extend(link.octets());
                self.circuit.extend(interface.unwrap_or_default());
            }
            None => self.circuit.extend(arrival.port.to_be_bytes()),
        }
        let client = message.client();
        if client.is_none() && message.kind != Kind::InformationRequest {
            return Err("DHCPv6 message without a client identifier");
        }
        self.check_server(&message)?;
        let peer = innermost.map_or(arrival.peer, |one| one.peer);
        let request = Request {
            message: &message,
            client: client.unwrap_or_default(),
            link,
            peer,
            port: arrival.port,
            circuit: interface,
        };
        let grant = self.policy.decide(now, &request)?;
        let mut bindings = Bindings {
            now,
            settings: &self.settings,
            leases: &mut self.leases,
            delegations: &mut self.delegations,
            grant: &grant,
            client: client.unwrap_or_default(),
            circuit: &self.circuit,
            link,
            // A relay knows the way to its clients by itself.
            route: layers.is_empty().then_some((peer, arrival.port)),
        };
        let kind = bindings.answer(&message, &mut self.message)?;
        self.counters.messages[kind as usize - 1] += 1;
        out.clear();
        out.extend(&self.message);
        for layer in layers.iter().rev() {
            let reply = RelayMessage {
                kind: Kind::RelayReply,
                ..*layer
            };
            reply.write(out, &mut self.wrapped);
            core::mem::swap(out, &mut self.wrapped);
        }
        let port = match layers.is_empty() {
            true => CLIENT_PORT,
            false => SERVER_PORT,
        };
        Ok(Some(Reply { port, kind }))
    }

    /// Checks the rules about the server's identifier (RFC 9915 section 16).
    fn check_server(&self, message: &Message<'_>) -> Result<(), &'static str> {
        let named = message.server();
        let good = match message.kind {
            Kind::Solicit | Kind::Confirm | Kind::Rebind => named.is_none(),
            Kind::InformationRequest => named.is_none_or(|one| one == self.settings.duid),
            _ => named == Some(&*self.settings.duid),
        };
        good.then_some(())
            .ok_or("DHCPv6 message for another server")
    }
}

/// Layers of relays from the outside, and the client's message.
fn unwrap(bytes: &[u8]) -> Result<(Vec<RelayMessage<'_>>, &[u8]), &'static str> {
    let mut layers = Vec::new();
    let mut inner = bytes;
    while inner.first() == Some(&(Kind::RelayForward as u8)) {
        if layers.len() > usize::from(MAX_HOPS) {
            return Err("DHCPv6 message with too many hops");
        }
        let layer = RelayMessage::new(inner).map_err(|fault| fault.0)?;
        inner = layer.message;
        layers.push(layer);
    }
    Ok((layers, inner))
}

/// DUID and association of a key of [`Server::leases`]: the resource's option, the number, the DUID.
pub fn client_of(key: &[u8]) -> Option<(u8, u32, &[u8])> {
    let (head, duid) = key.split_first_chunk::<5>()?;
    let iaid = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    Some((head[0], iaid, duid))
}

/// Appends status and text.
fn refuse(out: &mut Vec<u8>, code: u16) {
    let text = match code {
        status::NO_ADDRESSES => "no addresses",
        status::NO_BINDING => "no binding",
        status::NOT_ON_LINK => "not on link",
        status::NO_PREFIX => "no prefixes",
        _ => "",
    };
    message::write_status(out, code, text);
}

/// Appends identifiers of client and server.
fn write_identifiers(out: &mut Vec<u8>, client: &[u8], server: &[u8]) {
    if !client.is_empty() {
        message::write(out, option::CLIENT_ID, |out| out.extend(client));
    }
    message::write(out, option::SERVER_ID, |out| out.extend(server));
}
