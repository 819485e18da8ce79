//! DHCP client (RFC 2131): gives a port its address and its routes.
//!
//! - **Parameters:** `port`, 0; `id`, none: client identifier, 2 to 255 bytes in hexadecimal; `host_name`, none;
//!   `broadcast`, false: whether replies are broadcast; `rapid_commit`, true (RFC 4039); `probe`, 2 s: time in which another
//!   host may answer for the address, 0 for no probe; `delay`, 1 s: maximum random delay of the first message; `previous`,
//!   none: address that the host had before it was restarted; `routes`, true: whether the routes of the server are used.
//! - **Counters:** `dhcp_sent`, `dhcp_configured`: leases that came into use or changed, `dhcp_lost`: leases that ended,
//!   `dhcp_conflicts`: addresses that another host had.
//! - **Tables:** `DHCP client`.
//! - **Drops:** why a message was ignored.

use crate::datagram;
use crate::v4::client::{Action, Client, Lease, Settings};
use crate::v4::message::{CLIENT_PORT, SERVER_PORT};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use ip::address::InterfaceAddress;
use ip::service::{Change, Link, ROUTED, Service};
use ip::{discovery, header};
use node::outcome::Table;
use node::{ConfigError, Frame, Out, Port, Statistics, Time};
use packet::arp::Arp;
use packet::ethernet::{Mac, ethertype};

/// Configuration, see the [module](self).
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Port that gets the address.
    pub port: u16,
    /// Client identifier in hexadecimal.
    pub id: Option<String>,
    /// Name of the host, at most 255 bytes.
    pub host_name: Option<String>,
    /// Whether replies are broadcast.
    pub broadcast: bool,
    /// Whether the client asks for a lease by two messages.
    pub rapid_commit: bool,
    /// Time in which another host may answer for the address, at most 1 min.
    pub probe: Time,
    /// Maximum random delay of the first message, at most 1 min.
    pub delay: Time,
    /// Address that the host had before.
    pub previous: Option<Ipv4Addr>,
    /// Whether the routes of the server are used.
    pub routes: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            port: 0,
            id: None,
            host_name: None,
            broadcast: false,
            rapid_commit: true,
            probe: Time::from_secs(2),
            delay: Time::from_secs(1),
            previous: None,
            routes: true,
        }
    }
}

const MAX_TIME: Time = Time::from_secs(60);

/// The service.
///
/// # Errors
/// When a key is out of its range.
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
    let id = config.id.as_deref().map(crate::v4::options::hex);
    if id
        .as_ref()
        .is_some_and(|id| id.as_ref().is_none_or(|id| !(2..=255).contains(&id.len())))
    {
        return Err(ConfigError::new("id", "2 to 255 bytes in hexadecimal"));
    }
    for (key, time) in [("probe", config.probe), ("delay", config.delay)] {
        if time > MAX_TIME {
            return Err(ConfigError::new(key, "at most 1 min"));
        }
    }
    let name = config.host_name.as_ref();
    if name.is_some_and(|name| name.is_empty() || name.len() > 255) {
        return Err(ConfigError::new("host_name", "1 to 255 bytes"));
    }
    Ok(Box::new(DhcpClient {
        port: Port(config.port),
        settings: Settings {
            mac: Mac::default(),
            id: id.flatten(),
            host_name: config.host_name.clone(),
            broadcast: config.broadcast,
            rapid_commit: config.rapid_commit,
            probe: config.probe,
            delay: config.delay,
            previous: config.previous,
        },
        uses_routes: config.routes,
        seed,
        client: None,
        message: Vec::new(),
        changes: VecDeque::new(),
        in_use: None,
        sent: 0,
        configured: 0,
        lost: 0,
        conflicts: 0,
    }))
}

#[derive(Debug)]
struct DhcpClient {
    port: Port,
    settings: Settings,
    uses_routes: bool,
    seed: u64,
    client: Option<Client>,
    message: Vec<u8>,
    changes: VecDeque<Change>,
    in_use: Option<Lease>,
    sent: u64,
    configured: u64,
    lost: u64,
    conflicts: u64,
}

impl DhcpClient {
    fn drive(&mut self, now: Time, link: &Link<'_>, out: &mut Out) {
        let mac = link.interface.mac();
        loop {
            let client = self.client.get_or_insert_with(|| {
                let settings = Settings {
                    mac: Mac(mac),
                    ..self.settings.clone()
                };
                Client::new(settings, self.seed)
            });
            match client.poll(now, &mut self.message) {
                None => return,
                Some(Action::Send { from, to }) => {
                    self.sent += 1;
                    let from = SocketAddr::new(from.into(), CLIENT_PORT);
                    let macs = [mac, [0xFF; 6]];
                    let receiver = SocketAddr::new(to.into(), SERVER_PORT);
                    let frame = datagram::frame(macs, from, receiver, &self.message, out);
                    match to.is_broadcast() {
                        true => out.send(link.port, frame),
                        false => out.send(ROUTED, frame),
                    }
                }
                Some(Action::Probe(address)) => {
                    let mut bytes = Vec::new();
                    Arp::request(Mac(mac), Ipv4Addr::UNSPECIFIED, address).build_frame(&mut bytes);
                    let mut frame = out.frame();
                    frame.extend(&bytes);
                    out.send(link.port, frame);
                }
                Some(Action::Configure(lease)) => self.configure(Some(lease)),
                Some(Action::Unconfigure(_)) => {
                    self.lost += 1;
                    self.configure(None);
                }
            }
        }
    }

    /// Changes address and routes of the port to those of a lease.
    fn configure(&mut self, lease: Option<Lease>) {
        let old = self
            .in_use
            .as_ref()
            .map_or(Vec::new(), |old| self.all_of(old));
        let new = lease.as_ref().map_or(Vec::new(), |new| self.all_of(new));
        self.configured += u64::from(lease.is_some() && old != new);
        self.in_use = lease;
        // Routes go before the address that they need, and come after it.
        for change in old.iter().rev().filter(|change| !new.contains(change)) {
            self.changes.push_back(absent(*change));
        }
        let added = new.into_iter().filter(|change| !old.contains(change));
        self.changes.extend(added);
    }

    /// Address and routes of a lease.
    fn all_of(&self, lease: &Lease) -> Vec<Change> {
        let port = self.port;
        let network = InterfaceAddress {
            address: lease.address.into(),
            prefix: lease.prefix,
        };
        let mut all = Vec::from([Change::Address {
            port,
            network,
            present: true,
        }]);
        for route in lease.routes.iter().filter(|_| self.uses_routes) {
            let via = (!route.via.is_unspecified()).then_some(IpAddr::V4(route.via));
            let change = Change::Route {
                to: InterfaceAddress {
                    address: route.to.into(),
                    prefix: route.prefix,
                },
                via,
                port,
                present: true,
            };
            if !all.contains(&change) {
                all.push(change);
            }
        }
        all
    }
}

fn absent(change: Change) -> Change {
    match change {
        Change::Address { port, network, .. } => Change::Address {
            port,
            network,
            present: false,
        },
        Change::Route { to, via, port, .. } => Change::Route {
            to,
            via,
            port,
            present: false,
        },
    }
}

impl Service for DhcpClient {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(client) = self.client.as_mut().filter(|_| link.port == self.port) else {
            return Some(frame);
        };
        if frame.get(12..header::ETHERNET) == Some(&ethertype::ARP.to_be_bytes()) {
            if let Some(arp) = discovery::read_arp(&frame)
                && arp.sender_mac.0 != link.interface.mac()
            {
                // One that uses the address, or one that wants to (RFC 5227 section 2.1.1).
                let probes = arp.sender.is_unspecified();
                let address = if probes { arp.target } else { arp.sender };
                let conflict = client.handle_conflict(now, address);
                self.conflicts += u64::from(conflict);
                self.drive(now, link, out);
            }
            return Some(frame);
        }
        let datagram = datagram::read(&frame, CLIENT_PORT);
        let Some(datagram) = datagram.filter(|one| one.source.is_ipv4()) else {
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
        if let Some(link) = links.iter().find(|link| link.port == self.port) {
            self.drive(now, link, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.client.as_ref().and_then(Client::next_wake)
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("dhcp_sent", self.sent);
        all.counter("dhcp_configured", self.configured);
        all.counter("dhcp_lost", self.lost);
        all.counter("dhcp_conflicts", self.conflicts);
    }

    fn tables(&self, _now: Time) -> Vec<Table> {
        let lease = self.in_use.as_ref().map(|lease| {
            let names = lease.name_servers.iter().map(|one| format!(" dns {one}"));
            let names = names.collect::<String>();
            format!(
                "{}/{} server {} until {}{names}",
                lease.address, lease.prefix, lease.server, lease.end
            )
        });
        Vec::from([Table {
            name: "DHCP client".into(),
            entries: lease.into_iter().collect(),
        }])
    }
}
