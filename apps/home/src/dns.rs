//! DNS interception: answers all UDP queries of devices, whatever server they are sent to (paper 003, section 4.4.2).
//!
//! A query for a denied domain gets NXDOMAIN or REFUSED; a caching forwarder sends all others to the configured
//! servers. The response comes from the address that the device asked. The addresses in it are
//! remembered, to judge the device's flows by [their names](crate::names).
//!
//! A response that maps an outside name to an address of the home is refused: it would let a web page of that name reach
//! devices of the home through a browser (DNS rebinding).

mod reverse;

use crate::home::{News, Shared};
use crate::networks::Networks;
use crate::plan::Plan;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use dns::exchange::Via;
use dns::forwarder::{self, Forwarder};
use dns::front::Output;
use dns::message::{self, HEADER, Question, Transport};
use dns::policy::{Decision, Policy};
use dns::recursive::Recursive;
use dns::reply::Client;
use domain::base::iana::{Rcode, Rtype};
use node::{Statistics, Time};
use packet::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Minimum time between two notices of a device about a denied domain.
const NOTICE_INTERVAL: Time = Time::from_ms(100);
/// Minimum time between two notices of a device about the same domain.
const SAME_INTERVAL: Time = Time::from_secs(10);
/// Maximum number of reverse lookups under way.
pub const MAX_REVERSE: usize = 64;

/// Response to a query for a denied domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Denied {
    /// The name does not exist.
    #[default]
    Nxdomain,
    /// REFUSED: a client with several servers tries the next one.
    Refused,
}

/// A message to send, or a name.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// A response to a device.
    Response(Client, Vec<u8>),
    /// A query to a server, from a port of the control program.
    Query(SocketAddr, u16, Vec<u8>),
    /// Name from the reverse lookup of an address.
    Reverse(IpAddr, Option<Arc<str>>),
}

/// Counters of interception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Queries for denied domains.
    pub denied: u64,
    /// Responses that map an outside name to an address of the home.
    pub rebinding: u64,
    /// Reverse lookups.
    pub reverse: u64,
    /// Datagrams to port 53 that are not queries, or come from a device that is not permitted.
    pub ignored: u64,
}

/// Applies the domain rules of devices to their queries.
struct Filter {
    home: Shared,
    denied: Decision,
    /// Time and name of the last notice of each device.
    noticed: BTreeMap<Mac, (Time, String)>,
    counters: Counters,
}

impl core::fmt::Debug for Filter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Filter")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// A name in lower case, without a dot at its end.
fn text(name: &impl ToString) -> String {
    let mut text = name.to_string();
    text.make_ascii_lowercase();
    text.truncate(text.trim_end_matches('.').len());
    text
}

impl Policy for Filter {
    fn decide(&mut self, now: Time, client: &Client, question: &Question<'_>) -> Decision {
        if client.address.ip() == client.own {
            return Decision::Permit;
        }
        let name = text(&question.name);
        let mac = Mac(client.mac);
        let mut home = self.home.lock();
        // Outside servers cannot answer for addresses of the home (RFC 6303).
        if reverse::address_of(&name).is_some_and(|address| home.holds(address)) {
            return Decision::NoSuchName;
        }
        let Some(device) = home.device(mac).filter(|device| device.is_admitted()) else {
            return Decision::Ignore;
        };
        if device.domains.permits(&name) {
            return Decision::Permit;
        }
        self.counters.denied += 1;
        let last = self.noticed.get(&mac);
        let is_early = last.is_some_and(|(at, last)| {
            now < *at + NOTICE_INTERVAL || (*last == name && now < *at + SAME_INTERVAL)
        });
        if !is_early {
            self.noticed.insert(mac, (now, name.clone()));
            home.notify(now, mac, News::DomainDenied(name));
        }
        self.denied
    }

    fn answered(&mut self, now: Time, client: &Client, question: &Question<'_>, response: &[u8]) {
        if client.address.ip() == client.own {
            return;
        }
        let mut name: Option<Arc<str>> = None;
        let mut home = self.home.lock();
        for (_, address, ttl) in message::addresses(response) {
            if !home.holds(address) {
                let name = name.get_or_insert_with(|| text(&question.name).into());
                home.names.note(now, Mac(client.mac), name, address, ttl);
            }
        }
    }
}

/// DNS service of a home.
#[derive(Debug)]
pub struct Dns {
    plan: Plan,
    /// Address of the control program: source of queries to servers.
    own: Ipv4Addr,
    forwarder: Forwarder<Filter>,
    /// Addresses of the reverse lookups under way, by their ports.
    reverse: BTreeMap<u16, IpAddr>,
    next_reverse: u16,
    /// Counters at the last call.
    counted: Counters,
}

impl Dns {
    /// DNS service with these recursive servers. The seed must be secret.
    pub fn new(home: Shared, servers: Vec<SocketAddr>, denied: Denied, seed: u64) -> Dns {
        let plan = home.lock().plan;
        let filter = Filter {
            home,
            denied: match denied {
                Denied::Nxdomain => Decision::NoSuchName,
                Denied::Refused => Decision::Refuse,
            },
            noticed: BTreeMap::new(),
            counters: Counters::default(),
        };
        let config = forwarder::Config {
            servers,
            // The control program has no TCP: after a truncated response the client itself asks the server over TCP.
            tcp: false,
            ..forwarder::Config::default()
        };
        Dns {
            plan,
            own: plan.device(0),
            forwarder: Forwarder::new(config, filter, seed),
            reverse: BTreeMap::new(),
            next_reverse: 0,
            counted: Counters::default(),
        }
    }

    /// Counts a datagram that is not a query of a device.
    pub fn ignore(&mut self) {
        self.forwarder.policy().counters.ignored += 1;
        self.counted.ignored += 1;
    }

    /// Takes a query of a device.
    pub fn query(&mut self, now: Time, client: Client, query: &[u8], out: &mut Vec<Outgoing>) {
        let mut sent = Sent::new(self.scope(), out);
        self.forwarder
            .handle_query(now, client, query, &mut |output| sent.take(output));
        self.settle(sent.rebinding, out);
    }

    /// Whether a query is under way from this port.
    pub fn has_port(&self, port: u16) -> bool {
        self.forwarder.has_port(port)
    }

    /// Takes a response of a server.
    pub fn response(
        &mut self,
        now: Time,
        from: SocketAddr,
        port: u16,
        response: &[u8],
        out: &mut Vec<Outgoing>,
    ) {
        let mut sent = Sent::new(self.scope(), out);
        self.forwarder
            .handle_response(now, from, Via::Udp(port), response, &mut |output| {
                sent.take(output)
            });
        self.settle(sent.rebinding, out);
    }

    /// Looks up the name of an address; the result is an [`Outgoing::Reverse`]. Returns `false` if too many lookups are under way.
    pub fn look_up(&mut self, now: Time, address: IpAddr, out: &mut Vec<Outgoing>) -> bool {
        let pending: BTreeSet<IpAddr> = self.reverse.values().copied().collect();
        if pending.contains(&address) {
            return true;
        }
        if pending.len() >= MAX_REVERSE {
            return false;
        }
        self.next_reverse = self.next_reverse.wrapping_add(1);
        self.reverse.insert(self.next_reverse, address);
        self.forwarder.policy().counters.reverse += 1;
        let client = Client {
            address: SocketAddr::new(self.own.into(), self.next_reverse),
            own: self.own.into(),
            link: 0,
            mac: [0; 6],
            transport: Transport::Udp,
        };
        self.query(now, client, &reverse::query(address), out);
        true
    }

    /// Cancels the lookup of an address.
    pub fn give_up(&mut self, address: IpAddr) {
        self.reverse.retain(|_, pending| *pending != address);
    }

    /// Times out queries without a response.
    pub fn wake(&mut self, now: Time, out: &mut Vec<Outgoing>) {
        let mut sent = Sent::new(self.scope(), out);
        self.forwarder.wake(now, &mut |output| sent.take(output));
        self.settle(sent.rebinding, out);
    }

    /// Time of the next call of [`wake`](Dns::wake).
    pub fn next_wake(&self) -> Option<Time> {
        self.forwarder.next_wake()
    }

    /// Removes the names and addresses that a device has looked up.
    pub fn forget(&mut self, mac: Mac) {
        let filter = self.forwarder.policy();
        filter.home.lock().names.forget(mac);
        filter.noticed.remove(&mac);
    }

    fn scope(&mut self) -> Scope {
        Scope {
            plan: self.plan,
            networks: self.forwarder.policy().home.lock().networks,
            own: self.own,
        }
    }

    /// Handles the responses to reverse lookups.
    fn settle(&mut self, rebinding: u64, out: &mut [Outgoing]) {
        let counters = &mut self.forwarder.policy().counters;
        counters.rebinding += rebinding;
        self.counted = *counters;
        for outgoing in out {
            if let Outgoing::Response(client, response) = outgoing
                && client.address.ip() == IpAddr::V4(self.own)
            {
                let address = self.reverse.remove(&client.address.port());
                let address = address.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
                *outgoing = Outgoing::Reverse(address, pointer(response));
            }
        }
    }

    /// Reports its counters.
    pub fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        let mut statistics = Statistics::default();
        self.forwarder.count(&mut statistics);
        for (name, count) in &statistics.counters {
            visit(&format!("dns_{name}"), *count);
        }
    }

    /// Counters of interception.
    pub fn intercepted(&self) -> Counters {
        self.counted
    }
}

/// Addresses of the home during a call of the forwarder.
#[derive(Clone, Copy)]
struct Scope {
    plan: Plan,
    networks: Networks,
    /// Address of the control program.
    own: Ipv4Addr,
}

impl Scope {
    fn holds(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => self.plan.holds(address),
            IpAddr::V6(address) => self.networks.of(address).is_some(),
        }
    }
}

/// Takes the messages of a call of the forwarder.
struct Sent<'a> {
    scope: Scope,
    out: &'a mut Vec<Outgoing>,
    rebinding: u64,
}

impl<'a> Sent<'a> {
    fn new(scope: Scope, out: &'a mut Vec<Outgoing>) -> Sent<'a> {
        Sent {
            scope,
            out,
            rebinding: 0,
        }
    }

    fn take(&mut self, output: Output<'_>) {
        let outgoing = match output {
            Output::Query {
                server,
                via: Via::Udp(port),
                message,
            } => Outgoing::Query(server, port, message.to_vec()),
            // Requires `tcp` in the configuration.
            Output::Query { via: Via::Tcp, .. } => return,
            Output::Response { client, message } => {
                let mut response = message.to_vec();
                let is_own = client.address.ip() == IpAddr::V4(self.scope.own);
                if !is_own && names_the_home(&self.scope, message) {
                    self.rebinding += 1;
                    refuse(&mut response);
                }
                Outgoing::Response(client, response)
            }
        };
        self.out.push(outgoing);
    }
}

/// Whether a response contains an address of the home.
fn names_the_home(scope: &Scope, response: &[u8]) -> bool {
    message::addresses(response).any(|(_, address, _)| scope.holds(address))
}

/// Turns a response into one with the code REFUSED; header and question stay.
fn refuse(response: &mut Vec<u8>) {
    let length = Question::read(response).map_or(0, |question| question.wire_len());
    response.truncate(HEADER + length);
    response[3] = response[3] & 0xF0 | Rcode::REFUSED.to_int();
    response[4..6].copy_from_slice(&u16::from(length > 0).to_be_bytes());
    response[6..HEADER].fill(0);
}

/// The name of the first PTR record of a response.
fn pointer(response: &[u8]) -> Option<Arc<str>> {
    let mut records = message::records(response).map_while(Result::ok);
    let place = records.find(|place| place.rtype == Rtype::PTR)?;
    let name = place.name_in_data(response, 0)?;
    Some(text(&name).into())
}
