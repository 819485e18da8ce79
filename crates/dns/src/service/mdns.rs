//! `run = "mdns-relay"`: a relay of multicast DNS between the node's links.
//!
//! Keys: `services`, service types that pass, such as `["_ipp._tcp"]`, default all; `ports`, numbers of the ports between
//! which messages are relayed, default all; `rate`, 100: messages a second from each link.
//!
//! Counters, each after `mdns_relay_`: `queries`, `responses`, `filtered` (questions and records that did not pass), `not_sent`
//! (on a link without an address of the version, or with too small an MTU). Reasons: [`crate::mdns::reason`].

use super::relay::Links;
use super::{count, read};
use crate::mdns::{PORT, Relay};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use ip::service::{Link, Service};
use node::{ConfigError, Frame, Out, Statistics, Time};

/// Groups of multicast DNS (RFC 6762 section 3).
const GROUPS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(224, 0, 0, 251)),
    IpAddr::V6(Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0xFB)),
];
/// Hop limit (RFC 6762 section 11).
const HOPS: u8 = 255;

/// Configuration of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Service types that pass. Default: all.
    pub services: Vec<String>,
    /// Numbers of ports. Default: all.
    pub ports: Vec<u16>,
    /// Messages a second from each link. Default: 100.
    pub rate: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            services: Vec::new(),
            ports: Vec::new(),
            rate: 100,
        }
    }
}

#[derive(Debug)]
struct MdnsRelay {
    relay: Relay,
    links: Links,
    message: Vec<u8>,
    not_sent: u64,
}

/// Makes the service.
///
/// # Errors
/// When a service type is not of the form `_ipp._tcp`.
pub fn make(config: &Config) -> Result<Box<dyn Service>, ConfigError> {
    Ok(Box::new(MdnsRelay {
        relay: Relay::new(&config.services, config.rate)?,
        links: Links::new(&config.ports),
        message: Vec::new(),
        not_sent: 0,
    }))
}

impl Service for MdnsRelay {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let datagram = read(&frame).filter(|datagram| {
            datagram.destination.port() == PORT && GROUPS.contains(&datagram.destination.ip())
        });
        let Some(datagram) = datagram.filter(|_| self.links.has(link.port)) else {
            return Some(frame);
        };
        if self.links.is_own(&datagram) {
            out.drop(frame, crate::mdns::reason::LOOP);
            return None;
        }
        let bytes = &frame[datagram.payload.clone()];
        let source = datagram.source;
        match self
            .relay
            .handle(now, link.port.0, source, bytes, &mut self.message)
        {
            Ok(()) => {
                let group = SocketAddr::new(datagram.destination.ip(), PORT);
                self.not_sent += self
                    .links
                    .send(link.port, PORT, group, HOPS, &self.message, out);
                out.done(frame);
            }
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
        count("mdns-relay", all, |all| {
            let counters = self.relay.counters();
            all.counter("queries", counters.queries);
            all.counter("responses", counters.responses);
            all.counter("filtered", counters.filtered);
            all.counter("not_sent", self.not_sent);
        });
    }
}
