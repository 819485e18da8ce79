//! DHCPv6 client (RFC 9915), and requesting router: gives a port its address, and other ports addresses of a delegated prefix.
//!
//! - **Parameters:** `port`, 0: port with the server; `address`, true: whether it wants an address; `prefix`, none: length of
//!   the prefix that it wants delegated, 1 to 64 bits; `prefix_ports`, none: ports that get the first address of a /64 of the
//!   delegated prefix, the first port that of its first /64; `delegate_ports`, none: ports on which a router may have the whole
//!   delegated prefix (RFC 9818), instead of `prefix_ports`; `duid`, made from the MAC address: in hexadecimal;
//!   `rapid_commit`, true. Without an address and a prefix it asks for name servers alone.
//! - **Routes:** with `delegate_ports` one to the prefix by the router that has it.
//! - **Counters:** `dhcpv6_sent`, `dhcpv6_configured`: leases that came into use or changed, `dhcpv6_lost`: leases that
//!   ended, `dhcpv6_conflicts`: addresses that another host had.
//! - **Tables:** `DHCPv6 client`.
//! - **Drops:** why a message was ignored.
//!
//! Its address has a prefix of 128 bits: a router says which addresses are on the link (RFC 5942 section 5).

mod downstream;

use super::v6_server::read_duid;
use super::{Ports, link_local_of};
use crate::datagram;
use crate::v6::client::{Action, Client, Held, Lease, Settings};
use crate::v6::message::{ALL_SERVERS, CLIENT_PORT, SERVER_PORT, duid};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use downstream::Downstream;
use ip::address::InterfaceAddress;
use ip::addresses::Status;
use ip::discovery::group_mac;
use ip::routers::link_local;
use ip::service::{Change, Link, Service};
use node::outcome::Table;
use node::{ConfigError, Frame, Out, Port, Statistics, Time};

/// Time after which an interface has found out whether a new address is a duplicate.
const DETECTION: Time = Time::from_secs(3);
/// Length of the prefix of a port, bits.
const LINK_PREFIX: u8 = 64;

/// Configuration, see the [module](self).
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Port with the server.
    pub port: u16,
    /// Whether it wants an address.
    pub address: bool,
    /// Length of the prefix that it wants, 1 to 64 bits.
    pub prefix: Option<u8>,
    /// Ports that get addresses of the prefix.
    pub prefix_ports: Vec<u16>,
    /// Ports on which a router may have the prefix.
    pub delegate_ports: Vec<u16>,
    /// DUID in hexadecimal, 3 to 130 bytes; `None`: made from the MAC address.
    pub duid: Option<String>,
    /// Whether it asks for leases by two messages.
    pub rapid_commit: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            port: 0,
            address: true,
            prefix: None,
            prefix_ports: Vec::new(),
            delegate_ports: Vec::new(),
            duid: None,
            rapid_commit: true,
        }
    }
}

/// The service.
///
/// # Errors
/// When a key is out of its range.
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
    if config
        .prefix
        .is_some_and(|length| !(1..=LINK_PREFIX).contains(&length))
    {
        return Err(ConfigError::new("prefix", "1 to 64 bits"));
    }
    let ports = Ports::new(config.prefix_ports.clone());
    ports.map_err(|_| ConfigError::new("prefix_ports", "each port appears once"))?;
    if config.prefix.is_none() && !config.prefix_ports.is_empty() {
        let reason = "ports get addresses of a prefix: set `prefix`, too";
        return Err(ConfigError::new("prefix_ports", reason));
    }
    if !config.delegate_ports.is_empty() {
        let alone = config.prefix.is_some() && config.prefix_ports.is_empty();
        let elsewhere = !config.delegate_ports.contains(&config.port);
        if !alone || !elsewhere {
            let reason = "a router gets all of a prefix: set `prefix`, no `prefix_ports`, and ports other than `port`";
            return Err(ConfigError::new("delegate_ports", reason));
        }
    }
    let delegate_ports = Ports::new(config.delegate_ports.clone());
    let delegate_ports =
        delegate_ports.map_err(|_| ConfigError::new("delegate_ports", "each port appears once"))?;
    Ok(Box::new(Dhcpv6Client {
        downstream: Downstream::new(delegate_ports),
        port: Port(config.port),
        prefix_ports: config.prefix_ports.clone(),
        duid: read_duid(config.duid.as_deref())?,
        settings: Settings {
            duid: Vec::new(),
            address: config.address,
            prefix: config.prefix,
            rapid_commit: config.rapid_commit,
        },
        seed,
        client: None,
        message: Vec::new(),
        in_use: Vec::new(),
        lease: None,
        changes: VecDeque::new(),
        check: None,
        sent: 0,
        configured: 0,
        lost: 0,
        conflicts: 0,
    }))
}

#[derive(Debug)]
struct Dhcpv6Client {
    downstream: Option<Downstream>,
    port: Port,
    prefix_ports: Vec<u16>,
    duid: Option<Vec<u8>>,
    settings: Settings,
    seed: u64,
    client: Option<Client>,
    message: Vec<u8>,
    in_use: Vec<(Port, InterfaceAddress)>,
    lease: Option<Lease>,
    changes: VecDeque<Change>,
    /// Time at which it looks whether its address is a duplicate.
    check: Option<Time>,
    sent: u64,
    configured: u64,
    lost: u64,
    conflicts: u64,
}

impl Dhcpv6Client {
    fn begin(&mut self, link: &Link<'_>) {
        if self.client.is_some() {
            return;
        }
        let mac = link.interface.mac();
        let mut settings = self.settings.clone();
        settings.duid = self.duid.clone().unwrap_or_else(|| duid(mac));
        self.client = Some(Client::new(settings, self.seed));
        let is_link_local = |address| match address {
            IpAddr::V6(address) => Ipv6Addr::is_unicast_link_local(&address),
            IpAddr::V4(_) => false,
        };
        let mut all = link.interface.addresses();
        if !all.any(|own| is_link_local(own.network.address)) {
            self.changes.push_back(Change::Address {
                port: link.port,
                network: link_local(mac),
                present: true,
            });
        }
    }

    fn drive(&mut self, now: Time, link: &Link<'_>, out: &mut Out) {
        self.begin(link);
        while let Some(client) = &mut self.client {
            match client.poll(now, &mut self.message) {
                None => return,
                Some(Action::Send) => {
                    self.sent += 1;
                    let group = group_mac(ALL_SERVERS.into()).unwrap_or_default();
                    let macs = [link.interface.mac(), group];
                    let from = SocketAddr::new(link_local_of(link).into(), CLIENT_PORT);
                    let to = SocketAddr::new(ALL_SERVERS.into(), SERVER_PORT);
                    let frame = datagram::frame(macs, from, to, &self.message, out);
                    out.send(link.port, frame);
                }
                Some(Action::Configure(lease)) => {
                    self.configure(Some(lease));
                    self.follow(now, link);
                    self.check = Some(now + DETECTION);
                }
                Some(Action::Unconfigure) => {
                    self.lost += 1;
                    self.configure(None);
                    self.follow(now, link);
                }
            }
        }
    }

    fn follow(&mut self, now: Time, link: &Link<'_>) {
        if let Some(downstream) = &mut self.downstream {
            downstream.follow(now, link.interface.mac(), self.lease.as_ref());
        }
        self.take_routes();
    }

    fn take_routes(&mut self) {
        let Some(downstream) = &mut self.downstream else {
            return;
        };
        while let Some(one) = downstream.poll_route() {
            self.changes.push_back(one.into());
        }
    }

    /// Changes the addresses of the ports to those of a lease.
    fn configure(&mut self, lease: Option<Lease>) {
        let new = lease
            .as_ref()
            .map_or(Vec::new(), |lease| self.addresses(lease));
        let old = core::mem::take(&mut self.in_use);
        self.configured += u64::from(lease.is_some() && (old != new || self.lease.is_none()));
        let change = |(port, network): &(Port, InterfaceAddress), present| Change::Address {
            port: *port,
            network: *network,
            present,
        };
        let gone = old.iter().filter(|one| !new.contains(one));
        self.changes.extend(gone.map(|one| change(one, false)));
        let added = new.iter().filter(|one| !old.contains(one));
        self.changes.extend(added.map(|one| change(one, true)));
        (self.in_use, self.lease) = (new, lease);
    }

    fn addresses(&self, lease: &Lease) -> Vec<(Port, InterfaceAddress)> {
        let own = lease.addresses.iter().map(|held| {
            let network = InterfaceAddress {
                address: held.item.address.into(),
                prefix: 128,
            };
            (self.port, network)
        });
        let prefixes = lease.prefixes.iter();
        let of_prefix = prefixes.flat_map(|held| {
            let ports = self.prefix_ports.iter().enumerate();
            ports.filter_map(move |(index, port)| Some((Port(*port), numbered(held, index)?)))
        });
        own.chain(of_prefix).collect()
    }
}

/// The first address of a /64 of a prefix; `None` when the prefix has not as many.
fn numbered(held: &Held, index: usize) -> Option<InterfaceAddress> {
    let bits = LINK_PREFIX.checked_sub(held.item.length)?;
    let index = index as u128;
    if index.checked_shr(bits.into()).unwrap_or(0) != 0 {
        return None;
    }
    let address = u128::from(held.item.address) | index << 64 | 1;
    Some(InterfaceAddress {
        address: Ipv6Addr::from(address).into(),
        prefix: LINK_PREFIX,
    })
}

impl Service for Dhcpv6Client {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let frame = match &mut self.downstream {
            None => frame,
            Some(downstream) => {
                let rest = downstream.handle_frame(now, link, frame, out);
                self.take_routes();
                rest?
            }
        };
        let datagram = match datagram::read(&frame, CLIENT_PORT) {
            Some(datagram) if link.port == self.port && datagram.source.is_ipv6() => datagram,
            _ => return Some(frame),
        };
        let Some(client) = &mut self.client else {
            return Some(frame);
        };
        match client.handle(now, datagram.payload) {
            Ok(()) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        self.drive(now, link, out);
        None
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out) {
        if let Some(downstream) = &mut self.downstream {
            downstream.wake(now);
        }
        self.take_routes();
        let Some(link) = links.iter().find(|link| link.port == self.port) else {
            return;
        };
        if self.check.is_some_and(|at| at <= now) {
            self.check = None;
        }
        // The interface detects duplicates (RFC 4862 section 5.4).
        let own = link.interface.addresses();
        let mut duplicates = own.filter(|own| own.status == Status::Duplicate);
        let conflict = duplicates.find_map(|own| match own.network.address {
            IpAddr::V6(address) => {
                let client = self.client.as_mut()?;
                client.handle_conflict(now, address).then_some(())
            }
            IpAddr::V4(_) => None,
        });
        self.conflicts += u64::from(conflict.is_some());
        self.drive(now, link, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let client = self.client.as_ref().and_then(Client::next_wake);
        let downstream = self.downstream.as_ref().and_then(Downstream::next_wake);
        let times = [client, self.check, downstream];
        times.into_iter().flatten().min()
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("dhcpv6_sent", self.sent);
        all.counter("dhcpv6_configured", self.configured);
        all.counter("dhcpv6_lost", self.lost);
        all.counter("dhcpv6_conflicts", self.conflicts);
    }

    fn tables(&self, _now: Time) -> Vec<Table> {
        let lease = self.lease.as_ref();
        let held = lease.into_iter().flat_map(|lease| {
            let all = lease.addresses.iter().chain(&lease.prefixes);
            all.map(|held| {
                let item = &held.item;
                format!(
                    "{}/{} until {}",
                    item.address, item.length, held.valid_until
                )
            })
        });
        let servers = lease.into_iter().flat_map(|lease| {
            let servers = lease.name_servers.iter();
            servers.map(|server| format!("dns {server}"))
        });
        Vec::from([Table {
            name: "DHCPv6 client".into(),
            entries: held.chain(servers).collect(),
        }])
    }
}
