//! `run = "ssdp-relay"`: a relay of the Simple Service Discovery Protocol between the node's links, over IPv4.
//!
//! Keys: `targets`, beginnings of the search targets that pass, such as `["urn:schemas-upnp-org:device:MediaServer:"]`, default
//! all; `ports`, numbers of the ports between which messages are relayed, default all; `rate`, 100: messages a second from
//! each link.
//!
//! Counters, each after `ssdp_relay_`: `announcements`, `searches`, `responses`, `not_sent` (on a link without an IPv4 address, or
//! with too small an MTU). Reasons: [`crate::ssdp::reason`].

use super::relay::Links;
use super::{count, read, unspecified, write};
use crate::ssdp::{GROUP, PORT, Relay};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use ip::service::{Link, ROUTED, Service};
use node::{ConfigError, Frame, Out, Statistics, Time};

/// Hop limit of messages to the group (UPnP Device Architecture 2.0, section 1).
const HOPS: u8 = 2;

/// Configuration of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Beginnings of targets that pass. Default: all.
    pub targets: Vec<String>,
    /// Numbers of ports. Default: all.
    pub ports: Vec<u16>,
    /// Messages a second from each link. Default: 100.
    pub rate: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            targets: Vec::new(),
            ports: Vec::new(),
            rate: 100,
        }
    }
}

#[derive(Debug)]
struct SsdpRelay {
    relay: Relay,
    links: Links,
    not_sent: u64,
}

/// Makes the service.
///
/// # Errors
/// When a target is empty.
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
    Ok(Box::new(SsdpRelay {
        relay: Relay::new(&config.targets, config.rate, seed)?,
        links: Links::new(&config.ports),
        not_sent: 0,
    }))
}

impl Service for SsdpRelay {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(datagram) = read(&frame).filter(|_| self.links.has(link.port)) else {
            return Some(frame);
        };
        let (own, source) = (datagram.destination, datagram.source);
        let bytes = &frame[datagram.payload.clone()];
        let group = SocketAddr::new(IpAddr::V4(GROUP), PORT);
        let result = if own == group {
            if self.links.is_own(&datagram) {
                out.drop(frame, crate::ssdp::reason::LOOP);
                return None;
            }
            let relayed = self.relay.handle_group(now, link.port.0, source, bytes);
            relayed.map(|port| {
                self.not_sent += self.links.send(link.port, port, group, HOPS, bytes, out);
            })
        } else if frame[0] & 1 == 0 && own.is_ipv4() && self.relay.has_port(own.port()) {
            let searcher = self.relay.handle_response(now, own.port(), bytes);
            searcher.map(|searcher| {
                let own = SocketAddr::new(unspecified(searcher.ip()), PORT);
                let frame = write(out, own, searcher, bytes);
                out.send(ROUTED, frame);
            })
        } else {
            return Some(frame);
        };
        match result {
            Ok(()) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        None
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], _: &mut Out) {
        self.links.refresh(now, links);
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.links.next_wake())
    }

    fn count(&self, all: &mut Statistics) {
        count("ssdp-relay", all, |all| {
            let counters = self.relay.counters();
            all.counter("announcements", counters.announcements);
            all.counter("searches", counters.searches);
            all.counter("responses", counters.responses);
            all.counter("not_sent", self.not_sent);
        });
    }
}
