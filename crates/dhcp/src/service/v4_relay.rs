//! DHCP relay (RFC 1542, RFC 3046).
//!
//! - **Parameters:** `ports`, all: list of the ports with clients; `servers`: addresses of one or several servers;
//!   `information`, true: whether option 82 names the port by its number; `remote`, none: remote id of option 82, at most
//!   200 bytes; `max_hops`, 4: maximum number of relays that a message passes, 1 to 16.
//! - **Counters:** `dhcp_relayed_requests`, `dhcp_relayed_replies`.
//! - **Drops:** why a message was not relayed.

use super::v4_server::send;
use super::{Ports, check_servers, send_to_servers, v4_of};
use crate::datagram;
use crate::v4::message::{MAX_HOPS, REPLY, SERVER_PORT};
use crate::v4::relay::{self, Settings};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use ip::service::{Link, Service};
use node::{ConfigError, Frame, Out, Port, Statistics, Time};

/// Maximum number of own addresses that are remembered.
const MAX_LINKS: usize = 4096;

/// Configuration, see the [module](self).
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Ports with clients; empty: all.
    pub ports: Vec<u16>,
    /// Servers, at most 16.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub servers: Vec<Ipv4Addr>,
    /// Whether option 82 is added.
    pub information: bool,
    /// Remote id of option 82.
    pub remote: Option<String>,
    /// Maximum number of relays that a message passes, 1 to 16.
    pub max_hops: u8,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: Vec::new(),
            servers: Vec::new(),
            information: true,
            remote: None,
            max_hops: 4,
        }
    }
}

/// The service.
///
/// # Errors
/// When a key is missing or out of its range.
pub fn make(config: &Config) -> Result<Box<dyn Service>, ConfigError> {
    check_servers(&config.servers)?;
    if !(1..=MAX_HOPS).contains(&config.max_hops) {
        return Err(ConfigError::new("max_hops", "1 to 16"));
    }
    let remote = config.remote.clone().unwrap_or_default().into_bytes();
    if remote.len() > 200 {
        return Err(ConfigError::new("remote", "at most 200 bytes"));
    }
    Ok(Box::new(Relay {
        ports: Ports::new(config.ports.clone())?,
        servers: config.servers.clone(),
        settings: Settings {
            information: config.information,
            remote,
            max_hops: config.max_hops,
        },
        links: BTreeMap::new(),
        message: Vec::new(),
        relayed: [0; 2],
    }))
}

#[derive(Debug)]
struct Relay {
    ports: Ports,
    servers: Vec<Ipv4Addr>,
    settings: Settings,
    /// Port and MAC address of each own address by which requests have come.
    links: BTreeMap<Ipv4Addr, (Port, [u8; 6])>,
    message: Vec<u8>,
    relayed: [u64; 2],
}

impl Relay {
    fn request(
        &mut self,
        link: &Link<'_>,
        payload: &[u8],
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let own = v4_of(link).ok_or("DHCP request on a port without an address")?;
        let circuit = link.port.0.to_string();
        relay::to_servers(
            &self.settings,
            own,
            circuit.as_bytes(),
            payload,
            &mut self.message,
        )?;
        if self.links.len() >= MAX_LINKS && !self.links.contains_key(&own) {
            return Err("too many addresses of a relay");
        }
        self.links.insert(own, (link.port, link.interface.mac()));
        self.relayed[0] += 1;
        send_to_servers(&self.servers, SERVER_PORT, &self.message, out);
        Ok(())
    }

    fn reply(&mut self, payload: &[u8], out: &mut Out) -> Result<(), &'static str> {
        let (own, to) = relay::to_client(payload, &mut self.message)?;
        let link = self.links.get(&own);
        let (port, mac) = *link.ok_or("DHCP reply for another relay")?;
        self.relayed[1] += 1;
        send((port, mac), own, to, &self.message, out);
        Ok(())
    }
}

impl Service for Relay {
    fn handle_frame(
        &mut self,
        _now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(datagram) = datagram::read(&frame, SERVER_PORT) else {
            return Some(frame);
        };
        if !matches!(datagram.destination.ip(), IpAddr::V4(_)) {
            return Some(frame);
        }
        let is_reply = datagram.payload.first() == Some(&REPLY);
        if !is_reply && !self.ports.contains(link.port) {
            return Some(frame);
        }
        let done = match is_reply {
            true => self.reply(datagram.payload, out),
            false => self.request(link, datagram.payload, out),
        };
        match done {
            Ok(()) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        None
    }

    fn wake(&mut self, _now: Time, _links: &[Link<'_>], _out: &mut Out) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("dhcp_relayed_requests", self.relayed[0]);
        all.counter("dhcp_relayed_replies", self.relayed[1]);
    }
}
