//! A host: one port, addresses, a TCP/IP stack, and any number of programs.
//!
//! - **Ports:** 1.
//! - **Parameters:** `address`: one or several, with the bits that all on the link share: `10.0.0.1/24`;
//!   `gateway`, none: who takes what is not for the link; `mac`: left out, it is made from the first address;
//!   `autoconfiguration`, false: IPv6 addresses and routers by router advertisements (RFC 4862); `mtu`, 1500; `udp_echo`, true: whether what comes to UDP port 7 goes back; `timestamps`, false: whether programs' connections offer TCP
//!   timestamps (RFC 7323), of milliseconds; `program`: see [`program`].
//! - **Counters:** those of the [host that only answers](ip::host), and, with programs, `connections`: opened or taken;
//!   `bad_checksums`; `open`: connections at the end.
//! - **Drops:** those of the host that only answers; `wrong checksum`; `old segment`: its timestamp says that others have come since it left (PAWS).
//!
//! Answers ARP, neighbour discovery and ping as the host without programs does, and says that ports are closed, by the same code.
//! Packets longer than the MTU leave in [fragments](ip::fragments). UDP
//! and ICMP of programs are sent by their own clock, exact to the picosecond.

use crate::address::InterfaceAddress;
use crate::connections::{Connections, Delivery, Id};
use crate::net::{Context, Net};
use crate::program::{self, Binding, Program, Programs};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use ip::header::{self, Packet};
use ip::icmp::{self, Report};
use ip::routes::Route;
use ip::service::{self, Change, Service, Services};
use ip::{Interface, Received};
use node::ConfigError;
use node::outcome::Table;
use node::random::Random;
use node::{Departure, Frame, Node, Out, Port, Properties, Statistics, Time, When};
use packet::segment::Segment;

/// Maximum number of addresses of a host.
pub const MAX_ADDRESSES: usize = 8;
/// Maximum number of programs of a host.
pub const MAX_PROGRAMS: usize = 1024;

/// Configuration of a host.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its addresses, each with what is on the link; at most [`MAX_ADDRESSES`].
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::address::several"))]
    pub address: Vec<InterfaceAddress>,
    /// An IPv4 address without a prefix.
    pub ipv4: Option<Ipv4Addr>,
    /// An IPv6 address without a prefix.
    pub ipv6: Option<Ipv6Addr>,
    /// Who takes what is not for the link, one of each version.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::address::several"))]
    pub gateway: Vec<IpAddr>,
    /// Its MAC address; `None`: made from the first address.
    pub mac: Option<packet::ethernet::Mac>,
    /// Whether it makes IPv6 addresses by the prefixes of router advertisements, and takes routers from them (RFC 4862).
    pub autoconfiguration: bool,
    /// The longest IP packet, 576 to 9000 bytes; at least 1280 with IPv6.
    pub mtu: usize,
    /// Whether what comes to UDP port 7 goes back.
    pub udp_echo: bool,
    /// Whether its programs' connections offer TCP timestamps (RFC 7323).
    pub timestamps: bool,
    /// Whether it keeps how the congestion windows of its programs' connections change, for a plot.
    pub windows: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            address: Vec::new(),
            ipv4: None,
            ipv6: None,
            gateway: Vec::new(),
            mac: None,
            autoconfiguration: false,
            mtu: 1500,
            udp_echo: true,
            timestamps: false,
            windows: false,
        }
    }
}

impl Config {
    fn networks(&self) -> Vec<InterfaceAddress> {
        let v4 = self.ipv4.map(InterfaceAddress::from);
        let v6 = self.ipv6.map(InterfaceAddress::from);
        self.address.iter().copied().chain(v4).chain(v6).collect()
    }
}

/// A host without programs, which answers and costs little, or one with.
///
/// # Errors
/// When two programs want one port, or something is out of its range.
pub fn make(config: Config, programs: Programs, seed: u64) -> Result<Box<dyn Node>, ConfigError> {
    with_services(config, programs, Vec::new(), seed)
}

/// As [`make`], with services next to the programs. With any of them the host needs no address: a service may bring one.
///
/// # Errors
/// Those of [`make`].
pub fn with_services(
    config: Config,
    programs: Programs,
    services: Vec<Box<dyn Service>>,
    seed: u64,
) -> Result<Box<dyn Node>, ConfigError> {
    let brings_address = config.autoconfiguration || !services.is_empty();
    let needs_address = !programs.is_empty() && !brings_address;
    let (networks, mac) = check(&config, needs_address)?;
    if programs.len() + services.len() > MAX_PROGRAMS {
        let reason = format!("a host runs at most {MAX_PROGRAMS} programs");
        return Err(ConfigError::new("program", reason));
    }
    programs.iter().try_for_each(program::Config::check)?;
    if programs.is_empty() && services.is_empty() {
        let interface = interface(&config, networks, mac, 0);
        return Ok(Box::new(ip::host::Host::from(interface)));
    }
    let mut random = Random::new(seed);
    let own = random.bits();
    let programs = programs.into_iter().enumerate();
    let programs = programs.map(|(me, program)| program.make(me, random.bits()));
    let mut host = Host::new(&config, mac, networks, programs.collect(), own)?;
    host.services = Services::new(services);
    Ok(Box::new(host))
}

/// A host with one program that is none of those of the lab files.
pub(crate) fn with(
    config: &Config,
    program: Box<dyn Program>,
    seed: u64,
) -> Result<Host, ConfigError> {
    let (networks, mac) = check(config, true)?;
    Host::new(config, mac, networks, [program].into(), seed)
}

/// The addresses of a host, and its MAC address.
fn check(config: &Config, programs: bool) -> Result<(Vec<InterfaceAddress>, [u8; 6]), ConfigError> {
    let networks = config.networks();
    if networks.len() > MAX_ADDRESSES {
        let reason = format!("a host has at most {MAX_ADDRESSES} addresses");
        return Err(ConfigError::new("address", reason));
    }
    let six = config.autoconfiguration || networks.iter().any(|network| network.address.is_ipv6());
    let least = if six { 1280 } else { 576 };
    if !(least..=9000).contains(&config.mtu) {
        return Err(ConfigError::new(
            "mtu",
            format!("from {least} to 9000 bytes"),
        ));
    }
    if programs && networks.is_empty() {
        let reason = "a host that runs programs needs one, such as \"10.0.0.1/24\"";
        return Err(ConfigError::new("address", reason));
    }
    let mac = config
        .mac
        .map(|mac| mac.0)
        .or(networks.first().map(|network| network.mac()));
    let mac = mac.unwrap_or(ip::Config::default().mac);
    if mac[0] & 1 == 1 {
        return Err(ConfigError::new(
            "mac",
            "that of a group cannot be a host's",
        ));
    }
    Ok((networks, mac))
}

/// The interface of a host.
fn interface(
    config: &Config,
    networks: Vec<InterfaceAddress>,
    mac: [u8; 6],
    seed: u64,
) -> Interface {
    Interface::new(ip::Config {
        mac,
        addresses: networks,
        routes: config
            .gateway
            .iter()
            .map(|gateway| Route::default_via(*gateway))
            .collect(),
        autoconfiguration: config.autoconfiguration,
        mtu: config.mtu,
        udp_echo: config.udp_echo,
        seed,
        ..ip::Config::default()
    })
}

/// A host that runs programs; [`make`] makes it.
pub struct Host {
    net: Net,
    programs: Vec<Box<dyn Program>>,
    services: Services,
    /// Kept for the next packets and changes of services.
    sends: Vec<Departure>,
    changes: Vec<Change>,
    /// Changes of addresses and routes by services that could not be made.
    refused_changes: u64,
    refused: u64,
    accepted: u64,
}

impl Host {
    fn new(
        config: &Config,
        mac: [u8; 6],
        networks: Vec<InterfaceAddress>,
        programs: Vec<Box<dyn Program>>,
        seed: u64,
    ) -> Result<Host, ConfigError> {
        let mut connections = Connections::new(config.mtu, seed);
        connections.windows = config.windows;
        connections.clock = config.timestamps.then_some((seed >> 32) as u32);
        let mut udp = BTreeMap::new();
        for (me, program) in programs.iter().enumerate() {
            for binding in program.bindings() {
                let (free, port) = match binding {
                    Binding::Tcp(port, options) => (connections.listen(port, me, options), port),
                    Binding::Udp(port) => (udp.insert(port, me).is_none(), port),
                };
                if !free {
                    let reason = format!("two programs want port {port}; give one of them another");
                    return Err(ConfigError::new("program", reason));
                }
            }
        }
        Ok(Host {
            net: Net {
                interface: interface(config, networks, mac, seed),
                connections,
                udp,
                opened: 0,
            },
            programs,
            services: Services::default(),
            sends: Vec::new(),
            changes: Vec::new(),
            refused_changes: 0,
            refused: 0,
            accepted: 0,
        })
    }

    /// A segment of a control channel, for the only program.
    pub(crate) fn segment_of_channel(&mut self, now: Time, segment: Segment<'_>, out: &mut Out) {
        let mut context = Host::context(&mut self.net, now, 0, out);
        let Some(id) = self.programs[0].segment(segment, &mut context) else {
            return;
        };
        self.net.drive(now, id, out);
        self.attend(now, id, false, out);
    }

    /// What that program says on the channel.
    pub(crate) fn spoken(&mut self, see: &mut dyn FnMut(Segment<'_>)) {
        self.programs[0].spoken(see);
    }

    fn context<'a>(net: &'a mut Net, now: Time, me: usize, out: &'a mut Out) -> Context<'a> {
        Context { now, me, net, out }
    }

    /// Lets the owner of a connection do what it can, sends what comes of that, and ends what is over.
    fn attend(&mut self, now: Time, id: Id, new: bool, out: &mut Out) {
        let Some(owner) = self.net.connections.owner(id) else {
            return;
        };
        let mut context = Host::context(&mut self.net, now, owner, out);
        let program = &mut self.programs[owner];
        program.ready(id, new, &mut context);
        context.drive(id);
        if context.net.connections.is_over(id) {
            program.over(id, &mut context);
            context.net.connections.remove(id);
        }
    }

    fn segment(&mut self, now: Time, frame: Frame, packet: &Packet, out: &mut Out) {
        let net = &mut self.net;
        let came = net
            .connections
            .segment(now, &frame, packet, &mut net.interface, out);
        match came {
            Delivery::Dropped(reason) => return out.drop(frame, reason),
            Delivery::Refused => self.refused += 1,
            Delivery::To(id, new) => {
                self.accepted += u64::from(new);
                self.attend(now, id, new, out);
            }
        }
        out.done(frame);
    }

    /// A datagram for a program; `false` when nobody wants it.
    fn datagram(&mut self, now: Time, frame: &Frame, packet: &Packet, out: &mut Out) -> bool {
        let datagram = &frame[packet.payload..packet.end];
        let Some(header) = datagram.first_chunk::<{ header::UDP_HEADER }>() else {
            return false;
        };
        let [from, to, length] =
            [0, 2, 4].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        let Some(&owner) = self.net.udp.get(&to) else {
            return false;
        };
        let Some(payload) = datagram.get(header::UDP_HEADER..length.into()) else {
            return false;
        };
        let from = SocketAddr::new(packet.source, from);
        let mut context = Host::context(&mut self.net, now, owner, out);
        self.programs[owner].datagram(frame.arrived(), from, to, payload, &mut context);
        true
    }

    /// An answer to a ping; `false` when it is something else.
    fn echo(&mut self, now: Time, frame: &Frame, packet: &Packet, out: &mut Out) -> bool {
        let Some((identification, sequence)) = icmp::echo_reply(frame, packet) else {
            return false;
        };
        if let Some(program) = self.programs.get_mut(usize::from(identification)) {
            let me = identification.into();
            let mut context = Host::context(&mut self.net, now, me, out);
            program.echoed(frame.arrived(), packet.source, sequence, &mut context);
        }
        true
    }

    /// An error about a packet of a program: a datagram that met a closed port (RFC 792, RFC 4443), or a segment that was too long for a
    /// link.
    fn reported(&mut self, now: Time, frame: &Frame, packet: &Packet, out: &mut Out) -> bool {
        let Some(report) = Report::read(frame, packet) else {
            return false;
        };
        if let Some(id) = self.net.connections.too_big(&report) {
            self.net.drive(now, id, out);
            return true;
        }
        let Some((port, to)) = report.port_unreachable() else {
            return false;
        };
        for program in &mut self.programs {
            program.unreachable(port, to);
        }
        true
    }

    /// Offers a frame to the services; returns it if it is for none of them.
    fn offer(&mut self, now: Time, frame: Frame, out: &mut Out) -> Option<Frame> {
        if self.services.is_empty() {
            return Some(frame);
        }
        let link = self.net.link();
        let rest = self.services.offer(now, &link, frame, out);
        self.after_services(now, out);
        rest
    }

    /// Makes the changes of services, and sends their packets.
    fn after_services(&mut self, now: Time, out: &mut Out) {
        self.services.take_changes(&mut self.changes);
        let interface = &mut self.net.interface;
        for change in self.changes.drain(..) {
            let done = match change {
                Change::Address {
                    network,
                    present: true,
                    ..
                } => interface.add_address(now, network),
                Change::Address { network, .. } => {
                    interface.remove_address(network);
                    true
                }
                Change::Route {
                    to,
                    via,
                    present: true,
                    ..
                } => interface.add_route(Route { to, via }),
                Change::Route { to, via, .. } => {
                    interface.remove_route(Route { to, via });
                    true
                }
            };
            self.refused_changes += u64::from(!done);
        }
        self.sends.extend(out.sends());
        for departure in self.sends.drain(..) {
            let mut frame = departure.frame;
            if departure.port != service::ROUTED {
                match departure.when {
                    When::Now => out.send(departure.port, frame),
                    When::At(at) => out.send_at(departure.port, at, frame),
                }
                continue;
            }
            let Some(packet) = header::read(&frame) else {
                out.drop(frame, "bad IP header");
                continue;
            };
            if service::lacks_source(&frame)
                && let Some(own) = interface.source(packet.destination)
            {
                service::set_source(&mut frame, own);
            }
            interface.send_any(now, packet.destination, departure.when, frame, out);
        }
    }

    fn frame(&mut self, now: Time, frame: Frame, out: &mut Out) {
        let first = self.services.come_first(&frame, &self.net.interface);
        let frame = match first {
            true => match self.offer(now, frame, out) {
                Some(frame) => frame,
                None => return,
            },
            false => frame,
        };
        let (frame, packet) = match self.net.interface.handle_frame(now, frame, out) {
            Received::Packet(frame, packet) => (frame, packet),
            Received::Other(frame) => return out.done(frame),
            Received::Consumed => return,
        };
        let Some(frame) = self.offer(now, frame, out) else {
            return;
        };
        let taken = match packet.protocol {
            header::TCP => return self.segment(now, frame, &packet, out),
            header::UDP => self.datagram(now, &frame, &packet, out),
            _ => self.echo(now, &frame, &packet, out) || self.reported(now, &frame, &packet, out),
        };
        match taken {
            true => out.done(frame),
            false => self.net.interface.unclaimed(now, frame, &packet, out),
        }
    }
}

impl Node for Host {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.net.interface.poll_transmit(now, out);
        if self.services.next_wake().is_some_and(|at| at <= now) {
            self.services.wake(now, &[self.net.link()], out);
            self.after_services(now, out);
        }
        while let Some(id) = self.net.connections.due(now) {
            self.net.drive(now, id, out);
            self.attend(now, id, false, out);
        }
        for (me, program) in self.programs.iter_mut().enumerate() {
            if program.next().is_some_and(|next| next <= now) {
                program.wake(&mut Host::context(&mut self.net, now, me, out));
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let programs = self.programs.iter().filter_map(|program| program.next());
        let stack = self.net.connections.next();
        let link = self.net.interface.poll_timeout();
        let services = self.services.next_wake();
        programs.chain(stack).chain(link).chain(services).min()
    }

    fn statistics(&self) -> Statistics {
        let mut all = ip::host::statistics(&self.net.interface);
        for (name, value) in &mut all.counters {
            if name == "refused" {
                *value += self.refused;
            }
        }
        self.services.count(&mut all);
        if self.refused_changes > 0 {
            all.counter("refused_changes", self.refused_changes);
        }
        if self.programs.is_empty() {
            return all;
        }
        all.counter("connections", self.net.opened + self.accepted);
        all.counter("bad_checksums", self.net.interface.counters().bad_checksums);
        all.counter("open", self.net.connections.count() as u64);
        for program in &self.programs {
            program.flows(&self.net, &mut |flow| all.flows.push(flow));
        }
        all
    }

    fn tables(&self, now: Time) -> Vec<Table> {
        self.services.tables(now).collect()
    }
}
