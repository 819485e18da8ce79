//! `run = "dns-zone"`: an authoritative server on port 53 of the node's own addresses.
//!
//! Keys: `zone`, a list with `name` and `text`, the master file; `clients`, prefixes of the networks that are answered,
//! default all; `max_size`, 1232: maximum length of a response, bytes; `rate`, 200: responses a second to each network of
//! clients (/24, of IPv6 /56), 0 for no limit; `slip`, 2: every `slip`th response beyond the rate is sent truncated;
//! `tcp`: limits of TCP connections, see [`stream::Config`].
//!
//! Counters: those of [`Server::count`], each after `dns_zone_`, those of connections (`tcp_accepted`, `tcp_opened`, `tcp_refused`, `tcp_replaced`,
//! `tcp_idle`, `tcp_reset`), and `refused_clients`.

use super::stream::{self, CLIENT_NOT_ALLOWED, Streams};
use super::{Clients, query, read, respond};
use crate::message::Transport;
use crate::server::{Limits, Server};
use crate::zone::Zone;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
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
    /// Limits of TCP connections.
    pub tcp: stream::Config,
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
            tcp: stream::Config::default(),
        }
    }
}

#[derive(Debug)]
struct ZoneService {
    server: Server,
    clients: Clients,
    streams: Streams,
    refused: u64,
    message: Vec<u8>,
    response: Vec<u8>,
}

/// Makes the service.
///
/// # Errors
/// When there is no zone, a text is not a zone, or `max_size` or `tcp` is out of range.
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
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
    config.tcp.check()?;
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
        streams: Streams::new(config.tcp, seed),
        refused: 0,
        message: Vec::new(),
        response: Vec::new(),
    }))
}

impl ZoneService {
    fn handle_datagram(
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
        let address = client.address.ip();
        if !allows(&self.clients, address, link) {
            self.refused += 1;
            out.drop(frame, CLIENT_NOT_ALLOWED);
            return None;
        }
        let message = &frame[datagram.payload];
        let (server, response) = (&mut self.server, &mut self.response);
        if server.handle_query(now, address, Transport::Udp, message, response) {
            respond(&client, Some(link.interface.mac()), response, out);
            out.done(frame);
        } else {
            out.drop(frame, "no DNS response");
        }
        None
    }

    /// Answers the queries on connections, and sends the responses.
    fn serve_streams(&mut self, now: Time, out: &mut Out) {
        let (server, streams) = (&mut self.server, &mut self.streams);
        while let Some(ends) = streams.poll_due(now) {
            loop {
                let mut has_read = false;
                while streams.read(now, ends, &mut self.message) {
                    has_read = true;
                    let client = ends.remote.ip();
                    let (message, response) = (&self.message, &mut self.response);
                    if server.handle_query(now, client, Transport::Tcp, message, response) {
                        streams.respond(now, ends, response);
                    }
                }
                streams.drive(now, ends, out);
                if !has_read {
                    break;
                }
            }
        }
    }
}

/// Whether a client may ask. Without configured networks all may.
fn allows(clients: &Clients, client: IpAddr, link: &Link<'_>) -> bool {
    clients.0.is_empty() || clients.contain(client, link)
}

impl Service for ZoneService {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let clients = &self.clients;
        let allows = |client| allows(clients, client, link);
        let arrival = self.streams.handle_frame(now, link, frame, allows, out);
        let other = arrival.other(&mut self.refused, out);
        let rest = other.and_then(|frame| self.handle_datagram(now, link, frame, out));
        self.serve_streams(now, out);
        rest
    }

    fn wakes_at_start(&self) -> bool {
        false
    }

    fn wake(&mut self, now: Time, _: &[Link<'_>], out: &mut Out) {
        self.serve_streams(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.streams.next_wake()
    }

    fn count(&self, all: &mut Statistics) {
        super::count("dns-zone", all, |all| {
            self.server.count(all);
            self.streams.count(all);
            all.counter("refused_clients", self.refused);
        });
    }
}
