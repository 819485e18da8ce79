//! `run = "dns-zone"`: an authoritative server on port 53 of the node's own addresses.
//!
//! Keys: `zone`, a list with `name` and `text`, the master file; `clients`, prefixes of the networks that are answered,
//! default all; `max_size`, 1232: maximum length of a response, bytes; `rate`, 200: responses a second to each network of
//! clients (/24, of IPv6 /56), 0 for no limit; `slip`, 2: every `slip`th response beyond the rate is sent truncated.
//!
//! Counters: those of [`Server::count`], each after `dns_zone_`, and `refused_clients`.

use super::{Clients, query, read, respond};
use crate::server::{Limits, Server};
use crate::zone::Zone;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ip::address::InterfaceAddress;
use ip::service::{Link, Service};
use node::{ConfigError, Frame, Out, Statistics, Time};

/// A zone of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct ZoneConfig {
    /// The zone's name.
    pub name: String,
    /// Its records, as a master file (RFC 1035 section 5).
    pub text: String,
}

/// Configuration of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Zones.
    pub zone: Vec<ZoneConfig>,
    /// Networks of clients. Default: all.
    pub clients: Vec<InterfaceAddress>,
    /// Maximum length of a response, bytes, 512 to 4096. Default: 1232.
    pub max_size: u16,
    /// Responses a second to each network of clients. Default: 200.
    pub rate: u32,
    /// Every `slip`th response beyond the rate is sent truncated. Default: 2.
    pub slip: u32,
}

impl Default for Config {
    fn default() -> Config {
        let Limits {
            max_size,
            rate,
            slip,
        } = Limits::default();
        Config {
            zone: Vec::new(),
            clients: Vec::new(),
            max_size,
            rate,
            slip,
        }
    }
}

#[derive(Debug)]
struct ZoneService {
    server: Server,
    clients: Clients,
    refused: u64,
    response: Vec<u8>,
}

/// Makes the service.
///
/// # Errors
/// When there is no zone, a text is not a zone, or `max_size` is out of range.
pub fn make(config: &Config) -> Result<Box<dyn Service>, ConfigError> {
    if config.zone.is_empty() {
        return Err(ConfigError::new(
            "zone",
            "an authoritative server needs a zone",
        ));
    }
    if !(512..=4096).contains(&config.max_size) {
        return Err(ConfigError::new(
            "max_size",
            "a response has 512 to 4096 bytes",
        ));
    }
    let parse = |zone: &ZoneConfig| {
        let bad = |error| ConfigError::new("zone", format!("{}: {error}", zone.name));
        Zone::parse(&zone.name, &zone.text).map_err(bad)
    };
    let zones = config.zone.iter().map(parse).collect::<Result<_, _>>()?;
    let limits = Limits {
        max_size: config.max_size,
        rate: config.rate,
        slip: config.slip,
    };
    Ok(Box::new(ZoneService {
        server: Server::new(zones, limits),
        clients: Clients(config.clients.clone()),
        refused: 0,
        response: Vec::new(),
    }))
}

impl Service for ZoneService {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let found =
            read(&frame).and_then(|datagram| Some((query(link, &frame, &datagram)?, datagram)));
        let Some((client, datagram)) = found else {
            return Some(frame);
        };
        let all = self.clients.0.is_empty();
        if !all && !self.clients.contain(client.address.ip(), link) {
            self.refused += 1;
            out.drop(frame, "client not allowed");
            return None;
        }
        let message = &frame[datagram.payload];
        let address = client.address.ip();
        if self
            .server
            .handle_query(now, address, message, &mut self.response)
        {
            respond(&client, Some(link.interface.mac()), &self.response, out);
            out.done(frame);
        } else {
            out.drop(frame, "no DNS response");
        }
        None
    }

    fn wake(&mut self, _: Time, _: &[Link<'_>], _: &mut Out) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn count(&self, all: &mut Statistics) {
        super::count("dns-zone", all, |all| {
            self.server.count(all);
            all.counter("refused_clients", self.refused);
        });
    }
}
