//! Default routes of a router from the advertisements of another one (RFC 4861 section 6.3.4), such as that of a provider (RFC 7084 W-3).
//!
//! - **Parameters:** `port`, 0: port with the other router.
//! - **Routes:** a default route by the first router that was heard, while its lifetime lasts; then by the next. At most four routers are kept.
//! - **Counters:** `routers_heard`: advertisements taken; `routers_refused`: those beyond the limit.
//! - **Tables:** `Default routers`.
//!
//! It makes no addresses from prefixes: a router gets its addresses by DHCPv6.

use super::link_local_of;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use ip::address::InterfaceAddress;
use ip::discovery::{Message, router_solicitation};
use ip::header;
use ip::routers::link_local;
use ip::service::{Change, Link, Service};
use node::outcome::Table;
use node::{Frame, Out, Port, Statistics, Time};

/// Number of solicitations without an answer, and the time between two (RFC 4861 section 10).
const MAX_SOLICITATIONS: u32 = 3;
const SOLICITATION_INTERVAL: Time = Time::from_secs(4);
/// Maximum number of routers.
const MAX_ROUTERS: usize = 4;

/// Configuration, see the [module](self).
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Port with the other router.
    pub port: u16,
}

/// The service.
pub fn make(config: &Config) -> Box<dyn Service> {
    Box::new(Discovery {
        port: Port(config.port),
        routers: Vec::new(),
        changes: VecDeque::new(),
        next: Some(Time::ZERO),
        solicitations: 0,
        has_link_local: false,
        heard: 0,
        refused: 0,
    })
}

#[derive(Debug)]
struct Discovery {
    port: Port,
    /// Routers with the times until which they are default routers; the first one has the route.
    routers: Vec<(Ipv6Addr, Time)>,
    changes: VecDeque<Change>,
    /// Time of the next solicitation.
    next: Option<Time>,
    solicitations: u32,
    has_link_local: bool,
    heard: u64,
    refused: u64,
}

impl Discovery {
    fn route(&self, via: Ipv6Addr, present: bool) -> Change {
        Change::Route {
            to: InterfaceAddress {
                address: Ipv6Addr::UNSPECIFIED.into(),
                prefix: 0,
            },
            via: Some(via.into()),
            port: self.port,
            present,
        }
    }

    /// Changes the list of routers, and the route if another one is the first.
    fn edit(&mut self, edit: impl FnOnce(&mut Vec<(Ipv6Addr, Time)>)) {
        let first = |routers: &[(Ipv6Addr, Time)]| routers.first().map(|(router, _)| *router);
        let old = first(&self.routers);
        edit(&mut self.routers);
        let new = first(&self.routers);
        if old != new {
            let gone = old.map(|router| self.route(router, false));
            let added = new.map(|router| self.route(router, true));
            self.changes.extend(gone.into_iter().chain(added));
        }
    }

    fn hear(&mut self, now: Time, router: Ipv6Addr, lifetime: Time) {
        self.next = None;
        self.heard += 1;
        let until = now + lifetime;
        let known = self.routers.iter().position(|(known, _)| *known == router);
        let is_full = self.routers.len() >= MAX_ROUTERS;
        match known {
            Some(index) if lifetime == Time::ZERO => self.edit(|all| {
                all.remove(index);
            }),
            Some(index) => self.routers[index].1 = until,
            None if lifetime == Time::ZERO => {}
            None if is_full => self.refused += 1,
            None => self.edit(|all| all.push((router, until))),
        }
    }

    fn solicit(&mut self, now: Time, link: &Link<'_>, out: &mut Out) {
        let mac = link.interface.mac();
        let mut message = Vec::new();
        router_solicitation(mac, link_local_of(link), &mut message);
        let mut frame = out.frame();
        frame.extend(&message);
        out.send(link.port, frame);
        self.solicitations += 1;
        let again = self.solicitations < MAX_SOLICITATIONS;
        self.next = again.then(|| now + SOLICITATION_INTERVAL);
    }
}

impl Service for Discovery {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        _out: &mut Out,
    ) -> Option<Frame> {
        if link.port != self.port {
            return Some(frame);
        }
        if let Some(packet) = header::read(&frame)
            && let IpAddr::V6(router) = packet.source
            && header::is_valid(&frame, &packet)
            && let Some(Message::Router(message)) = Message::read(&frame, &packet)
        {
            self.hear(now, router, message.lifetime);
        }
        Some(frame)
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out) {
        if self.routers.iter().any(|(_, until)| *until <= now) {
            self.edit(|all| all.retain(|(_, until)| *until > now));
            // Without a router it asks again.
            if self.routers.is_empty() {
                (self.next, self.solicitations) = (Some(now), 0);
            }
        }
        let link = links.iter().find(|link| link.port == self.port);
        let Some(link) = link.filter(|_| self.next.is_some_and(|at| at <= now)) else {
            return;
        };
        if !self.has_link_local {
            // Solicitations need an address that has passed duplicate address detection.
            self.has_link_local = true;
            self.changes.push_back(Change::Address {
                port: self.port,
                network: link_local(link.interface.mac()),
                present: true,
            });
            self.next = Some(now + SOLICITATION_INTERVAL);
            return;
        }
        self.solicit(now, link, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let ends = self.routers.iter().map(|(_, until)| *until);
        let ends = ends.filter(|until| *until < Time::MAX).min();
        [self.next, ends].into_iter().flatten().min()
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("routers_heard", self.heard);
        all.counter("routers_refused", self.refused);
    }

    fn tables(&self, _now: Time) -> Vec<Table> {
        let line = |(router, until): &(Ipv6Addr, Time)| format!("{router} until {until}");
        Vec::from([Table {
            name: "Default routers".into(),
            entries: self.routers.iter().map(line).collect(),
        }])
    }
}
