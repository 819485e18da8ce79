//! DHCPv6 server (RFC 9915), and delegating router.
//!
//! - **Parameters:** `ports`, all: list of the ports on which it answers clients. `subnets`, a list: `network`, the prefix of the
//!   link, such as `2001:db8:1::/64`; `pool`, none: one range or several, such as `2001:db8:1::100-2001:db8:1::1ff`;
//!   `prefixes`, none: one or several of which parts are delegated, such as `2001:db8:100::/40`; `delegated`, 56: length of a
//!   delegated prefix; `preferred`, 1 h, and `valid`, 2 h: lifetimes; `hosts`, none: a list of `duid`, `address` and
//!   `prefix`; `dns`, `search`, none. `duid`, made from the MAC address of the first port: in hexadecimal. `preference`, 0:
//!   0 to 255. `offer`, 10 s; `decline`, 10 min; `max_leases`, 65536; `max_offers`, 1024; `max_per_circuit`, no limit;
//!   `rapid_commit`, true: as those of the [DHCP server](super::v4_server). Each association of a client counts as a lease.
//! - **Routes:** one to each delegated prefix by the client that has it, unless a relay is between.
//! - **Counters:** `dhcpv6_` and `solicit`, `advertise`, `request`, `confirm`, `renew`, `rebind`, `reply`, `release`,
//!   `decline`, `information_request`; `dhcpv6_leases`, `dhcpv6_offers` at the end.
//! - **Tables:** `DHCPv6 leases`.
//! - **Drops:** why a message was ignored.

use super::{MAX_SHOWN, Ports, link_local_of, source_mac, v6_of};
use crate::datagram;
use crate::leases::{Lease, State};
use crate::v4::options::hex;
use crate::v6::message::{MAX_DUID, SERVER_PORT, duid, option};
use crate::v6::policy::{Policy, SubnetConfig, Subnets};
use crate::v6::server::{Arrival, Server, Settings, client_of};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use ip::service::{Change, Link, ROUTED, Service};
use node::outcome::Table;
use node::{ConfigError, Frame, Out, Statistics, Time};

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
    /// Links; at least one.
    pub subnets: Vec<SubnetConfig>,
    /// DUID in hexadecimal, 3 to 130 bytes; `None`: made from a MAC address.
    pub duid: Option<String>,
    /// Preference, 0 to 255.
    pub preference: u8,
    /// Time for which an offered address is kept, 1 s to 10 min.
    pub offer: Time,
    /// Time for which a declined address is not handed out.
    pub decline: Time,
    /// Maximum number of leases, 1 to 16,777,216.
    pub max_leases: usize,
    /// Maximum number of offers at a time, 1 to 65,536.
    pub max_offers: usize,
    /// Maximum number of leases and offers of a port or a relay's interface, at least 1.
    pub max_per_circuit: Option<usize>,
    /// Whether clients that ask for it get leases by two messages.
    pub rapid_commit: bool,
}

impl Default for Config {
    fn default() -> Config {
        let settings = Settings::new(Vec::new());
        Config {
            ports: Vec::new(),
            subnets: Vec::new(),
            duid: None,
            preference: settings.preference,
            offer: settings.offer,
            decline: settings.decline,
            max_leases: settings.limits.leases,
            max_offers: settings.limits.offers,
            max_per_circuit: None,
            rapid_commit: settings.rapid_commit,
        }
    }
}

/// A DUID of a configuration.
pub(super) fn read_duid(text: Option<&str>) -> Result<Option<Vec<u8>>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    let duid = hex(text).filter(|duid| (3..=MAX_DUID).contains(&duid.len()));
    match duid {
        Some(duid) => Ok(Some(duid)),
        None => Err(ConfigError::new("duid", "3 to 130 bytes in hexadecimal")),
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
    let limits = super::limits(
        config.offer,
        config.max_leases,
        config.max_offers,
        config.max_per_circuit,
    )?;
    let duid = read_duid(config.duid.as_deref())?;
    Ok(Box::new(Dhcpv6Server {
        ports: Ports::new(config.ports.clone())?,
        has_duid: duid.is_some(),
        settings: Settings {
            duid: duid.unwrap_or_default(),
            offer: config.offer,
            decline: config.decline,
            limits,
            rapid_commit: config.rapid_commit,
            preference: config.preference,
        },
        policy: Some(policy),
        server: None,
        reply: Vec::new(),
        changes: VecDeque::new(),
    }))
}

#[derive(Debug)]
struct Dhcpv6Server<P> {
    ports: Ports,
    has_duid: bool,
    settings: Settings,
    policy: Option<P>,
    server: Option<Server<P>>,
    reply: Vec<u8>,
    changes: VecDeque<Change>,
}

impl<P: Policy> Dhcpv6Server<P> {
    /// The server, which begins with the first link: its identifier may be made of that one's MAC address.
    fn begin(&mut self, link: &Link<'_>) {
        if let Some(policy) = self.policy.take() {
            let mut settings = self.settings.clone();
            if !self.has_duid {
                settings.duid = duid(link.interface.mac());
            }
            self.server = Some(Server::new(policy, settings));
        }
    }

    fn take_delegations(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        while let Some(one) = server.poll_delegation() {
            self.changes.push_back(one.into());
        }
    }
}

impl<P: Policy> Service for Dhcpv6Server<P> {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(datagram) = datagram::read(&frame, SERVER_PORT) else {
            return Some(frame);
        };
        let (IpAddr::V6(peer), IpAddr::V6(own)) = (datagram.source.ip(), datagram.destination.ip())
        else {
            return Some(frame);
        };
        let to_group = own.is_multicast();
        if to_group && !self.ports.contains(link.port) {
            return Some(frame);
        }
        self.begin(link);
        let Some(server) = &mut self.server else {
            return Some(frame);
        };
        let arrival = Arrival {
            port: link.port.0,
            link: v6_of(link),
            peer,
            to_group,
        };
        match server.handle(now, &arrival, datagram.payload, &mut self.reply) {
            Ok(Some(reply)) => {
                let on_link = peer.is_unicast_link_local();
                let from = match (to_group, on_link) {
                    (false, _) => own,
                    (true, true) => link_local_of(link),
                    // The node fills in the address of the port by which the reply leaves.
                    (true, false) => Ipv6Addr::UNSPECIFIED,
                };
                let macs = [link.interface.mac(), source_mac(&frame)];
                let from = SocketAddr::new(from.into(), SERVER_PORT);
                let to = SocketAddr::new(peer.into(), reply.port);
                let answer = datagram::frame(macs, from, to, &self.reply, out);
                out.send(if on_link { link.port } else { ROUTED }, answer);
                out.done(frame);
            }
            Ok(None) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        self.take_delegations();
        None
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], _out: &mut Out) {
        if let Some(link) = links.first() {
            self.begin(link);
        }
        if let Some(server) = &mut self.server {
            while server.expire(now).is_some() {}
        }
        self.take_delegations();
    }

    fn next_wake(&self) -> Option<Time> {
        self.server.as_ref().and_then(Server::next_end)
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn count(&self, all: &mut Statistics) {
        let Some(server) = &self.server else { return };
        for (name, count) in server.counters().named() {
            all.counter(&format!("dhcpv6_{name}"), count);
        }
        all.counter("dhcpv6_leases", server.leases().bound() as u64);
        all.counter("dhcpv6_offers", server.leases().offers() as u64);
    }

    fn tables(&self, _now: Time) -> Vec<Table> {
        let leases = self.server.iter().flat_map(|server| server.leases().iter());
        Vec::from([Table {
            name: "DHCPv6 leases".into(),
            entries: leases.take(MAX_SHOWN).map(line).collect(),
        }])
    }
}

/// A lease as a line.
fn line(lease: &Lease) -> String {
    let address = Ipv6Addr::from(lease.address);
    let (kind, iaid, duid) = client_of(&lease.key).unwrap_or((0, 0, &[]));
    let what = match u16::from(kind) {
        option::IA_PD => "prefix ",
        _ => "",
    };
    let duid = duid.iter().map(|byte| format!("{byte:02x}"));
    let duid = duid.collect::<String>();
    let state = match lease.state {
        State::Offered => "offered until",
        State::Bound => "until",
        State::Declined => "declined until",
        State::Ended => "ended at",
    };
    format!("{what}{address} client {duid} {iaid} {state} {}", lease.end)
}
