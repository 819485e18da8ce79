//! Stamps a [prober](super::prober)'s probes and sends the stamps back, a short reply for each.
//!
//! - **Ports:** 1.
//! - **Parameters:** `mac`, 02:00:00:00:00:02, and `address`, 198.18.0.2: its own. `port`, 49153: the UDP port that it listens on.
//! - **Counters:** `probes`: that came, and were answered; `others`: frames that are none.
//!
//! It keeps no state. A stamp is the arrival of a probe's first bit; a reply is a frame of the least size.

use super::message::Message;
use crate::endpoint::{Came, Endpoint};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// What a reflector is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its own MAC address.
    pub mac: Mac,
    /// Its own IPv4 address.
    pub address: Ipv4Addr,
    /// The UDP port that it listens on.
    pub port: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 2]),
            address: Ipv4Addr::new(198, 18, 0, 2),
            port: super::PORT,
        }
    }
}

#[derive(Debug)]
pub struct Reflector {
    endpoint: Endpoint,
    probes: u64,
    others: u64,
}

impl Reflector {
    /// A reflector.
    pub fn new(config: &Config) -> Reflector {
        Reflector {
            endpoint: Endpoint::new(config.mac, config.address, config.port),
            probes: 0,
            others: 0,
        }
    }
}

impl Node for Reflector {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let probe = match self.endpoint.look(port, &frame, out) {
                Came::Datagram(from, place) => Message::parse(&frame[place]).map(|it| (from, it)),
                Came::Resolved | Came::Other => None,
            };
            let Some((from, probe)) = probe.filter(|(_, probe)| probe.came.is_none()) else {
                self.others += 1;
                out.done(frame);
                continue;
            };
            self.probes += 1;
            let reply = Message {
                came: Some(frame.arrived()),
                ..probe
            };
            out.done(frame);
            let reply = self
                .endpoint
                .datagram(from, None, out, |out| reply.build(out));
            out.send(port, reply);
        }
    }

    fn statistics(&self) -> Statistics {
        [("probes", self.probes), ("others", self.others)].into()
    }
}
