//! The server (RFC 2131 section 4.3): message in, message out, without I/O.
//!
//! A [`Policy`] decides about each client; the server keeps the leases and the protocol. It answers each message with at
//! most one, which is at most as long as the client takes: 576 bytes unless the client says otherwise.

use super::message::{Header, Kind, Message, REPLY, REQUEST, Writer, option, sub_option};
use super::policy::{Grant, Policy, Request};
use crate::leases::{self, Lease, Leases, Limits, State};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::Time;
use packet::ethernet::Mac;

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
    /// Whether the server refuses addresses of which it knows no lease; one that is not sure to know all leases of the
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

/// Reason of a drop.
const UNKNOWN: &str = "DHCP request for an unknown lease";

/// Decision about a message.
enum Answer {
    Lease(Kind, u32),
    Refuse,
    Options,
    Done,
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

/// One message of a client.
struct Exchange<'a> {
    now: Time,
    message: &'a Message<'a>,
    settings: &'a Settings,
    leases: &'a mut Leases,
    key: &'a [u8],
    circuit: &'a [u8],
    grant: &'a Grant<'a>,
    /// Addresses by which the client may name this server.
    servers: [Ipv4Addr; 2],
}

impl Exchange<'_> {
    fn answer(mut self) -> Result<Answer, &'static str> {
        match self.message.kind() {
            Kind::Discover => self.discover(),
            Kind::Request => self.request(),
            Kind::Decline => self.decline(),
            Kind::Release => self.release(),
            Kind::Inform => Ok(Answer::Options),
            Kind::Offer | Kind::Ack | Kind::Nak => Err("DHCP message of a server"),
        }
    }

    fn discover(&mut self) -> Result<Answer, &'static str> {
        let wanted = self.message.address(option::REQUESTED);
        let wanted = wanted.map(|address| u32::from(address).into());
        let until = self.now + self.settings.offer;
        let ranges = &self.grant.ranges;
        let address = self
            .leases
            .offer(self.key, self.circuit, ranges, wanted, until)
            .map_err(leases::Refusal::reason)?;
        let rapid = self.message.option(option::RAPID_COMMIT).is_some();
        let kind = match self.settings.rapid_commit && rapid {
            true => {
                self.bind(address)?;
                Kind::Ack
            }
            false => Kind::Offer,
        };
        Ok(Answer::Lease(kind, address as u32))
    }

    fn bind(&mut self, address: u128) -> Result<(), &'static str> {
        let until = self.now + self.grant.lease;
        let bound = self
            .leases
            .bind(self.key, self.circuit, &self.grant.ranges, address, until);
        bound.map_err(leases::Refusal::reason)
    }

    fn request(&mut self) -> Result<Answer, &'static str> {
        let server = self.message.address(option::SERVER);
        let ciaddr = self.message.ciaddr();
        let requested = self.message.address(option::REQUESTED);
        let wanted = match ciaddr.is_unspecified() {
            true => requested.ok_or("DHCP request without an address")?,
            false => ciaddr,
        };
        let wanted = u128::from(u32::from(wanted));
        if let Some(server) = server {
            if !self.servers.contains(&server) {
                // The client takes another server's offer.
                if self
                    .leases
                    .find(self.key)
                    .is_some_and(|one| one.state == State::Offered)
                {
                    self.leases.release(self.now, self.key);
                }
                return Ok(Answer::Done);
            }
            return Ok(match self.bind(wanted) {
                Ok(()) => Answer::Lease(Kind::Ack, wanted as u32),
                Err(_) => Answer::Refuse,
            });
        }
        let known = self.leases.find(self.key).map(|lease| lease.address);
        let is_on_link = self.grant.ranges.iter().any(|range| range.contains(wanted));
        match known {
            Some(address) if address == wanted && self.bind(wanted).is_ok() => {
                Ok(Answer::Lease(Kind::Ack, wanted as u32))
            }
            Some(_) => Ok(Answer::Refuse),
            None if self.settings.authoritative => Ok(Answer::Refuse),
            // A client that has come from another link.
            None if !is_on_link && !self.shares_prefix(wanted) => Ok(Answer::Refuse),
            None => Err(UNKNOWN),
        }
    }

    /// Whether an address has the prefix of the client's link, so that another server may have handed it out.
    fn shares_prefix(&self, address: u128) -> bool {
        let subnet = self
            .key
            .first_chunk::<4>()
            .map_or(0, |octets| u32::from_be_bytes(*octets));
        let shift = 32 - u32::from(self.grant.prefix.min(32));
        (subnet ^ address as u32).checked_shr(shift).unwrap_or(0) == 0
    }

    fn decline(&mut self) -> Result<Answer, &'static str> {
        let requested = self.message.address(option::REQUESTED);
        let address = u32::from(requested.ok_or("DHCP decline without an address")?);
        let until = self.now + self.settings.decline;
        let declined = self.leases.decline(self.key, address.into(), until);
        declined.map(|_| Answer::Done).ok_or(UNKNOWN)
    }

    fn release(&mut self) -> Result<Answer, &'static str> {
        let address = u128::from(u32::from(self.message.ciaddr()));
        let lease = self.leases.find(self.key);
        let released = match lease.filter(|lease| lease.address == address) {
            Some(_) => self.leases.release(self.now, self.key),
            None => None,
        };
        released.map(|_| Answer::Done).ok_or(UNKNOWN)
    }
}

fn header(message: &Message<'_>, yiaddr: Ipv4Addr) -> Header {
    Header {
        op: REPLY,
        xid: message.xid(),
        secs: 0,
        broadcast: message.is_broadcast(),
        ciaddr: Ipv4Addr::UNSPECIFIED,
        yiaddr,
        siaddr: Ipv4Addr::UNSPECIFIED,
        giaddr: message.giaddr(),
        chaddr: message.chaddr(),
    }
}

/// Options that come from the request: the client's identifier (RFC 6842) and, as the last one, the relay's information.
fn finish(message: &Message<'_>, mut writer: Writer<'_>, relay: Option<&[u8]>) -> usize {
    if let Some(id) = message.option(option::CLIENT_ID) {
        writer.option(option::CLIENT_ID, &id);
    }
    if let Some(relay) = relay {
        writer.option(option::RELAY_AGENT, relay);
    }
    writer.end()
}

/// Writes a refusal. It is broadcast, as the client's address may be wrong (RFC 2131 section 4.3.2).
fn write_nak(message: &Message<'_>, server: Ipv4Addr, out: &mut Vec<u8>) -> Destination {
    let mut header = header(message, Ipv4Addr::UNSPECIFIED);
    header.broadcast |= !header.giaddr.is_unspecified();
    let mut writer = Writer::new(out, &header, Kind::Nak, message.max_size());
    writer.option(option::SERVER, &server.octets());
    let relay = message.option(option::RELAY_AGENT);
    finish(message, writer, relay.as_deref());
    match header.giaddr.is_unspecified() {
        true => Destination::Broadcast,
        false => Destination::Relay(header.giaddr),
    }
}

/// Writes an offer or an acknowledgement; returns the number of options that did not fit.
fn write(
    message: &Message<'_>,
    grant: &Grant<'_>,
    server: Ipv4Addr,
    (kind, address): (Kind, Option<u32>),
    out: &mut Vec<u8>,
) -> (usize, Destination) {
    let yiaddr = Ipv4Addr::from(address.unwrap_or(0));
    let mut header = header(message, yiaddr);
    if kind == Kind::Ack {
        header.ciaddr = message.ciaddr();
    }
    let relay = message.option(option::RELAY_AGENT);
    // Room for what must be in the reply.
    let id = message
        .option(option::CLIENT_ID)
        .map_or(0, |id| id.len() + 4);
    let kept = relay.as_ref().map_or(0, |relay| relay.len() + 4) + id;
    let size = message.max_size().min(1472).max(548);
    let mut writer = Writer::new(out, &header, kind, size.saturating_sub(kept));
    writer.option(option::SERVER, &server.octets());
    let mask = u32::MAX
        .checked_shl(32 - u32::from(grant.prefix.min(32)))
        .unwrap_or(0);
    writer.option(option::SUBNET_MASK, &mask.to_be_bytes());
    if address.is_some() {
        let seconds = seconds(grant.lease);
        writer.option(option::LEASE_TIME, &seconds.to_be_bytes());
        if seconds != u32::MAX {
            // T1 and T2 are 0.5 and 0.875 of the lease (RFC 2131 section 4.4.5).
            writer.option(option::RENEWAL, &(seconds / 2).to_be_bytes());
            let rebinding = seconds - seconds / 8;
            writer.option(option::REBINDING, &rebinding.to_be_bytes());
        }
        let rapid = message.kind() == Kind::Discover && kind == Kind::Ack;
        if rapid {
            writer.option(option::RAPID_COMMIT, &[]);
        }
    }
    match message.option(option::PARAMETERS) {
        Some(wanted) => {
            for (index, number) in wanted.iter().enumerate() {
                let value = grant.options.get(*number);
                if let Some(value) = value.filter(|_| !wanted[..index].contains(number)) {
                    writer.option(*number, value);
                }
            }
        }
        None => {
            // A client must ask for this one (RFC 8925 section 3.3).
            let all = grant.options.iter();
            for (number, value) in all.filter(|(number, _)| *number != option::IPV6_ONLY) {
                writer.option(number, value);
            }
        }
    }
    writer.grow(kept);
    let left_out = finish(message, writer, relay.as_deref());
    let to = match (header.giaddr, message.ciaddr()) {
        (giaddr, _) if !giaddr.is_unspecified() => Destination::Relay(giaddr),
        (_, ciaddr) if !ciaddr.is_unspecified() => Destination::Client(ciaddr),
        _ if message.is_broadcast() || address.is_none() => Destination::Broadcast,
        _ => Destination::Hardware(message.chaddr(), yiaddr),
    };
    (left_out, to)
}

/// Whole seconds of a lease; `u32::MAX` without end.
fn seconds(lease: Time) -> u32 {
    match lease {
        Time::MAX => u32::MAX,
        _ => (lease.as_ns() / 1_000_000_000).min(u64::from(u32::MAX - 1)) as u32,
    }
}
