//! DHCP server (RFC 2131).
//!
//! - **Parameters:** `ports`, all: list of the ports on which it answers. `subnets`, a list: `network`, such as
//!   `10.0.0.0/24`; `pool`, none: one range or several, such as `10.0.0.100-10.0.0.199`; `lease`, 1 h, at least 30 s;
//!   `hosts`, none: a list of `mac` and `address`; `options`, none: `router`, `dns`, `ntp`: addresses, `domain`, `search`,
//!   `mtu`, `routes` such as `10.9.0.0/16 via 10.0.0.2` (RFC 3442), `ipv6_only` (RFC 8925), `options` such as
//!   `150 ip 10.0.0.1`. `offer`, 10 s: time for which an offered address is kept. `decline`, 10 min: time for which a declined
//!   address is not handed out. `max_leases`, 65536, `max_offers`, 1024, `max_per_circuit`, no limit: of leases and
//!   offers of one port, or one circuit of a relay. `rapid_commit`, true (RFC 4039). `authoritative`, false: whether addresses of which
//!   it knows no lease are refused.
//! - **Counters:** `dhcp_` and `discover`, `offer`, `request`, `decline`, `ack`, `nak`, `release`, `inform`;
//!   `dhcp_leases` and `dhcp_offers` at the end; `dhcp_left_out`: options that did not fit.
//! - **Tables:** `DHCP leases`.
//! - **Drops:** why a message was ignored.

use super::{MAX_SHOWN, Ports, is_broadcast, v4_of};
use crate::datagram;
use crate::leases::{Lease, State};
use crate::v4::message::{CLIENT_PORT, SERVER_PORT};
use crate::v4::policy::{Policy, SubnetConfig, Subnets};
use crate::v4::server::{Arrival, Destination, Server, Settings};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use ip::service::{Link, ROUTED, Service};
use node::outcome::Table;
use node::{ConfigError, Frame, Out, Port, Statistics, Time};

/// Configuration, see the [module](self).
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Ports on which it answers; empty: all.
    pub ports: Vec<u16>,
    /// Subnets; at least one.
    pub subnets: Vec<SubnetConfig>,
    /// Time for which an offered address is kept, 1 s to 10 min.
    pub offer: Time,
    /// Time for which a declined address is not handed out.
    pub decline: Time,
    /// Maximum number of leases, 1 to 16,777,216.
    pub max_leases: usize,
    /// Maximum number of offers at a time, 1 to 65,536.
    pub max_offers: usize,
    /// Maximum number of leases and offers of a port or circuit, at least 1.
    pub max_per_circuit: Option<usize>,
    /// Whether clients that ask for it get a lease by two messages.
    pub rapid_commit: bool,
    /// Whether addresses without a known lease are refused.
    pub authoritative: bool,
}

impl Default for Config {
    fn default() -> Config {
        let settings = Settings::default();
        Config {
            ports: Vec::new(),
            subnets: Vec::new(),
            offer: settings.offer,
            decline: settings.decline,
            max_leases: settings.limits.leases,
            max_offers: settings.limits.offers,
            max_per_circuit: None,
            rapid_commit: settings.rapid_commit,
            authoritative: settings.authoritative,
        }
    }
}

impl Config {
    fn settings(&self) -> Result<Settings, ConfigError> {
        let limits = super::limits(
            self.offer,
            self.max_leases,
            self.max_offers,
            self.max_per_circuit,
        )?;
        Ok(Settings {
            offer: self.offer,
            decline: self.decline,
            limits,
            rapid_commit: self.rapid_commit,
            authoritative: self.authoritative,
        })
    }
}

/// The service with the default policy.
///
/// # Errors
/// When a key is missing or out of its range.
pub fn make(config: &Config) -> Result<Box<dyn Service>, ConfigError> {
    let policy = Subnets::new(&config.subnets)?;
    with_policy(config, policy)
}

/// The service with a policy of its own; `subnets` is not used.
///
/// # Errors
/// When a key is out of its range.
pub fn with_policy(
    config: &Config,
    policy: impl Policy + 'static,
) -> Result<Box<dyn Service>, ConfigError> {
    Ok(Box::new(DhcpServer {
        ports: Ports::new(config.ports.clone())?,
        server: Server::new(policy, config.settings()?),
        reply: Vec::new(),
    }))
}

#[derive(Debug)]
struct DhcpServer<P> {
    ports: Ports,
    server: Server<P>,
    reply: Vec<u8>,
}

impl<P: Policy> Service for DhcpServer<P> {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let datagram = match datagram::read(&frame, SERVER_PORT) {
            Some(datagram) if self.ports.contains(link.port) => datagram,
            _ => return Some(frame),
        };
        let IpAddr::V4(to) = datagram.destination.ip() else {
            return Some(frame);
        };
        let server = match is_broadcast(link, to) {
            true => v4_of(link),
            false => Some(to),
        };
        let Some(server) = server else {
            out.drop(frame, "DHCP request on a port without an address");
            return None;
        };
        let arrival = Arrival {
            port: link.port.0,
            server,
        };
        let answer = self
            .server
            .handle(now, &arrival, datagram.payload, &mut self.reply);
        match answer {
            Ok(reply) => {
                if let Some(reply) = reply {
                    let port = (link.port, link.interface.mac());
                    send(port, reply.from, reply.to, &self.reply, out);
                }
                out.done(frame);
            }
            Err(reason) => out.drop(frame, reason),
        }
        None
    }

    fn wake(&mut self, now: Time, _links: &[Link<'_>], _out: &mut Out) {
        while self.server.expire(now).is_some() {}
    }

    fn next_wake(&self) -> Option<Time> {
        self.server.next_end()
    }

    fn count(&self, all: &mut Statistics) {
        let names = [
            "discover", "offer", "request", "decline", "ack", "nak", "release", "inform",
        ];
        let counters = self.server.counters();
        for (name, count) in names.into_iter().zip(counters.messages) {
            all.counter(&format!("dhcp_{name}"), count);
        }
        let leases = self.server.leases();
        all.counter("dhcp_leases", leases.bound() as u64);
        all.counter("dhcp_offers", leases.offers() as u64);
        all.counter("dhcp_left_out", counters.left_out);
    }

    fn tables(&self, _now: Time) -> Vec<Table> {
        let entries = self.server.leases().iter().take(MAX_SHOWN);
        Vec::from([Table {
            name: "DHCP leases".into(),
            entries: entries.map(line).collect(),
        }])
    }
}

/// A lease as a line.
fn line(lease: &Lease) -> String {
    let address = Ipv4Addr::from(lease.address as u32);
    let id = lease.key.get(4..).unwrap_or_default();
    let id = id.iter().map(|byte| format!("{byte:02x}"));
    let id = id.collect::<Vec<_>>().join(":");
    match lease.state {
        State::Offered => format!("{address} client {id} offered until {}", lease.end),
        State::Bound => format!("{address} client {id} until {}", lease.end),
        State::Declined => format!("{address} declined until {}", lease.end),
        State::Ended => format!("{address} client {id} ended at {}", lease.end),
    }
}

/// Sends a reply: routed to a host with an address, by a port to one without.
pub(super) fn send(
    (port, mac): (Port, [u8; 6]),
    from: Ipv4Addr,
    to: Destination,
    message: &[u8],
    out: &mut Out,
) {
    let from = SocketAddr::new(from.into(), SERVER_PORT);
    let (far, to, to_port) = match to {
        Destination::Relay(relay) => (None, relay, SERVER_PORT),
        Destination::Client(client) => (None, client, CLIENT_PORT),
        Destination::Hardware(far, client) => (Some(far.0), client, CLIENT_PORT),
        Destination::Broadcast => (Some([0xFF; 6]), Ipv4Addr::BROADCAST, CLIENT_PORT),
    };
    let to = SocketAddr::new(to.into(), to_port);
    let macs = [mac, far.unwrap_or_default()];
    let frame = datagram::frame(macs, from, to, message, out);
    out.send(far.map_or(ROUTED, |_| port), frame);
}
