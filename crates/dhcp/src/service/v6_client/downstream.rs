//! Delegation of the client's own prefix to a router on another port (RFC 9818).

use crate::datagram;
use crate::leases::Range;
use crate::service::{Ports, link_local_of, source_mac};
use crate::v6::client::Lease;
use crate::v6::message::{SERVER_PORT, duid};
use crate::v6::policy::{Grant, Policy, Request};
use crate::v6::server::{Arrival, Delegation, Server, Settings};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use ip::service::Link;
use node::{Frame, Out, Time};

/// Time after which the router asks again, so that it follows a new prefix soon.
const RENEWAL: Time = Time::from_secs(15);

/// The delegated prefix: the best prefix of the client as a whole.
#[derive(Debug, Default)]
struct Whole {
    range: Vec<Range>,
    length: u8,
    preferred_until: Time,
    valid_until: Time,
}

impl Policy for Whole {
    fn decide(&mut self, now: Time, _: &Request<'_>) -> Result<Grant<'_>, &'static str> {
        let rest = |until: Time| match until {
            Time::MAX => Time::MAX,
            until => until.max(now) - now,
        };
        Ok(Grant {
            addresses: Cow::Borrowed(&[]),
            prefixes: Cow::Borrowed(&self.range),
            length: self.length,
            on_link: 128,
            preferred: rest(self.preferred_until),
            valid: rest(self.valid_until),
            renewal: Some(RENEWAL),
            options: Cow::Borrowed(&[]),
        })
    }
}

/// The delegating side of a client with a prefix.
#[derive(Debug)]
pub struct Downstream {
    ports: Ports,
    server: Option<Server<Whole>>,
    reply: Vec<u8>,
    /// Whether there is a prefix to delegate.
    has_prefix: bool,
}

impl Downstream {
    /// For routers on these ports; `None` if there are no ports.
    pub fn new(ports: Ports) -> Option<Downstream> {
        (!ports.0.is_empty()).then_some(Downstream {
            ports,
            server: None,
            reply: Vec::new(),
            has_prefix: false,
        })
    }

    fn server(&mut self, mac: [u8; 6]) -> &mut Server<Whole> {
        self.server
            .get_or_insert_with(|| Server::new(Whole::default(), Settings::new(duid(mac))))
    }

    /// Follows the lease of the client; `mac` is that of a port of the router.
    pub fn follow(&mut self, now: Time, mac: [u8; 6], lease: Option<&Lease>) {
        let held = lease.map_or(&[][..], |lease| &lease.prefixes);
        let best = held.iter().max_by_key(|held| {
            let ends = (held.preferred_until, held.valid_until);
            (ends, core::cmp::Reverse(held.item.length))
        });
        self.has_prefix = best.is_some();
        let server = self.server(mac);
        let whole = best.map_or_else(Whole::default, |held| Whole {
            range: Vec::from([Range::one(held.item.address.into())]),
            length: held.item.length,
            preferred_until: held.preferred_until,
            valid_until: held.valid_until,
        });
        let old = core::mem::replace(server.policy(), whole);
        let kept = server.policy().range.first().copied();
        for range in old.range.into_iter().filter(|old| Some(*old) != kept) {
            // The route is removed at once; the router learns of the change at its next renewal.
            server.end_route(range.first.into());
        }
        while server.expire(now).is_some() {}
    }

    /// Takes a frame of a router; returns it if it is not a message for a server on these ports.
    pub fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        if !self.ports.contains(link.port) {
            return Some(frame);
        }
        let Some(datagram) = datagram::read(&frame, SERVER_PORT) else {
            return Some(frame);
        };
        let (IpAddr::V6(peer), IpAddr::V6(own)) = (datagram.source.ip(), datagram.destination.ip())
        else {
            return Some(frame);
        };
        let arrival = Arrival {
            port: link.port.0,
            link: None,
            peer,
            to_group: own.is_multicast(),
        };
        let mac = link.interface.mac();
        if !self.has_prefix && self.server(mac).leases().bound() == 0 {
            // A refusal would make the router wait for up to an hour before it asks again.
            out.drop(frame, "no prefix to delegate");
            return None;
        }
        let mut reply = core::mem::take(&mut self.reply);
        match self
            .server(mac)
            .handle(now, &arrival, datagram.payload, &mut reply)
        {
            Ok(Some(answer)) => {
                let macs = [mac, source_mac(&frame)];
                let from = SocketAddr::new(link_local_of(link).into(), SERVER_PORT);
                let to = SocketAddr::new(peer.into(), answer.port);
                let answer = datagram::frame(macs, from, to, &reply, out);
                out.send(link.port, answer);
                out.done(frame);
            }
            Ok(None) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        self.reply = reply;
        None
    }

    /// Ends expired leases.
    pub fn wake(&mut self, now: Time) {
        if let Some(server) = &mut self.server {
            while server.expire(now).is_some() {}
        }
    }

    pub fn next_wake(&self) -> Option<Time> {
        self.server.as_ref().and_then(Server::next_end)
    }

    /// The next route to the router that has the prefix, or that goes.
    pub fn poll_route(&mut self) -> Option<Delegation> {
        self.server.as_mut().and_then(Server::poll_delegation)
    }
}
