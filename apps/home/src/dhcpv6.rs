//! DHCPv6 for permitted devices: the upper /64 of its /63 for a device that asks for a prefix (RFC 9663), and one address of the lower one.
//!
//! A device is the MAC address of its frames, whatever its DUID. Its slot determines prefix and address, so a device keeps both when the
//! program restarts. Devices that are not permitted get no answer: they are known from DHCP or their router solicitations.

use crate::discovery::{PREFERRED_LIMIT, VALID_LIMIT, rest};
use crate::networks::{LINK_LENGTH, Networks};
use core::net::Ipv6Addr;
use dhcp::leases::Range;
use dhcp::v6::message::{Message, Resource, SERVER_PORT, duid, option};
use dhcp::v6::policy::{Grant, Policy, Request};
use dhcp::v6::server::{Arrival, Server, Settings};
use node::Time;
use packet::ethernet::Mac;
use std::borrow::Cow;

/// Renewal time (T1). It limits the time for which a device uses a withdrawn network.
const RENEWAL: Time = Time::from_secs(300);
/// Time for which a declined address is not offered again; the device has no other address.
const DECLINED: Time = Time::from_secs(10);

/// Decision about the current message.
#[derive(Debug, Default)]
struct Decided {
    address: Option<Ipv6Addr>,
    prefix: Option<Ipv6Addr>,
    gateway: Option<Ipv6Addr>,
    preferred: Time,
    valid: Time,
}

impl Policy for Decided {
    fn decide(&mut self, _: Time, _: &Request<'_>) -> Result<Grant<'_>, &'static str> {
        let one = |address: Option<Ipv6Addr>| {
            let ranges = address.map(|address| Range::one(address.into()));
            Cow::Owned(ranges.into_iter().collect::<Vec<_>>())
        };
        let servers = self.gateway.map(|gateway| gateway.octets().to_vec());
        let options = servers.map(|servers| (option::DNS, servers));
        Ok(Grant {
            addresses: one(self.address),
            prefixes: one(self.prefix),
            length: LINK_LENGTH,
            on_link: LINK_LENGTH,
            preferred: self.preferred,
            valid: self.valid,
            renewal: Some(RENEWAL.min(self.preferred)),
            options: Cow::Owned(options.into_iter().collect()),
        })
    }
}

/// The DHCPv6 server of a home.
#[derive(Debug)]
pub struct Dhcpv6 {
    server: Server<Decided>,
    /// The last answer.
    pub reply: Vec<u8>,
    /// Messages of devices that are not permitted.
    pub denied: u64,
    /// Messages that cannot be answered.
    pub ignored: u64,
}

impl Dhcpv6 {
    /// A server without leases, with the MAC address of the gateways in its identifier.
    pub fn new(gateway: Mac) -> Dhcpv6 {
        let settings = Settings {
            decline: DECLINED,
            ..Settings::new(duid(gateway.0))
        };
        Dhcpv6 {
            server: Server::new(Decided::default(), settings),
            reply: Vec::new(),
            denied: 0,
            ignored: 0,
        }
    }

    /// Takes a message of the permitted device of a slot from its address `peer`, and writes the answer into [`reply`](Dhcpv6::reply).
    /// Returns the port of the answer's destination, if there is one.
    pub fn handle(
        &mut self,
        now: Time,
        networks: &Networks,
        slot: u16,
        (peer, to_group): (Ipv6Addr, bool),
        payload: &[u8],
    ) -> Option<u16> {
        let is_relayed = matches!(payload, [12 | 13, ..]);
        let Ok(message) = Message::new(payload) else {
            self.ignored += 1;
            return None;
        };
        let best = networks.best(now);
        let decided = Decided {
            address: best.and_then(|best| best.address_of(slot)),
            prefix: best.and_then(|best| best.delegated(slot)),
            gateway: best.and_then(|best| best.gateway(slot)),
            preferred: best.map_or(Time::ZERO, |best| {
                rest(now, best.preferred_until, PREFERRED_LIMIT)
            }),
            valid: best.map_or(Time::ZERO, |best| rest(now, best.valid_until, VALID_LIMIT)),
        };
        if decided.address.is_none() || is_relayed {
            // Without an answer the client asks again; a refusal would keep it away for up to an hour.
            self.ignored += 1;
            return None;
        }
        // The slot had another device, or its client has another identifier, for example with a new operating system.
        let client = message.client().unwrap_or_default();
        for (resource, held) in [
            (Resource::Address, decided.address),
            (Resource::Prefix, decided.prefix),
        ] {
            let mut wanted = message.options.associations();
            let Some(wanted) = wanted.find(|one| one.resource == resource) else {
                continue;
            };
            let Some(held) = held else { continue };
            let number = match resource {
                Resource::Address => option::IA_NA,
                Resource::Prefix => option::IA_PD,
            };
            let key = [&[number as u8], &wanted.iaid.to_be_bytes()[..], client].concat();
            let lease = self.server.leases().get(held.into());
            if lease.is_some_and(|lease| *lease.key != *key) {
                self.server.revoke(now, held);
            }
        }
        let arrival = Arrival {
            port: slot,
            link: decided.gateway,
            peer,
            to_group,
        };
        *self.server.policy() = decided;
        let reply = self.server.handle(now, &arrival, payload, &mut self.reply);
        // The switch routes by slots.
        while self.server.poll_delegation().is_some() {}
        match reply {
            Ok(reply) => reply.map(|reply| reply.port),
            Err(_) => {
                self.ignored += 1;
                None
            }
        }
    }

    /// The DUID of the client in a message that no relay has forwarded.
    pub fn client(payload: &[u8]) -> Option<&[u8]> {
        let is_relayed = matches!(payload, [12 | 13, ..]);
        Message::new(payload).ok().filter(|_| !is_relayed)?.client()
    }

    /// Ends expired leases.
    pub fn wake(&mut self, now: Time) {
        while self.server.expire(now).is_some() {}
        while self.server.poll_delegation().is_some() {}
    }

    /// Time of the next call of [`wake`](Dhcpv6::wake).
    pub fn next_wake(&self) -> Option<Time> {
        self.server.next_end()
    }

    /// Number of leases, offers and ended leases that are remembered.
    pub fn len(&self) -> usize {
        self.server.leases().len()
    }

    /// Whether there are no leases.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// UDP port of the server.
    pub const PORT: u16 = SERVER_PORT;

    /// Reports its counters.
    pub fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        for (name, count) in self.server.counters().named() {
            visit(&format!("dhcpv6_{name}"), count);
        }
        visit("dhcpv6_denied", self.denied);
        visit("dhcpv6_ignored", self.ignored);
    }
}
