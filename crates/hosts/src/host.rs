//! A host: one port, addresses, a TCP/IP stack, and any number of programs.
//!
//! - **Ports:** 1.
//! - **Parameters:** `address`: one or several, with the bits that all on the link share: `10.0.0.1/24`;
//!   `gateway`, none: who takes what is not for the link; `mac`: left out, it is made from the first address;
//!   `mtu`, 1500; `udp_echo`, true: whether what comes to UDP port 7 goes back; `timestamps`, false: whether programs' connections offer TCP
//!   timestamps (RFC 7323), of milliseconds; `program`: see [`program`].
//! - **Counters:** those of the [host that only answers](nodes::host), and, with programs, `connections`: opened or taken;
//!   `bad_checksums`; `open`: connections at the end.
//! - **Drops:** those of the host that only answers; `wrong checksum`; `old segment`: its timestamp says that others have come since it left (PAWS).
//!
//! Answers ARP, neighbour discovery and ping as the host without programs does, and says that ports are closed, by the same code.
//! Packets longer than the MTU leave in [fragments](nodes::fragments). UDP
//! and ICMP of programs are sent by their own clock, exact to the picosecond.

use crate::address::InterfaceAddress;
use crate::connections::{Connections, Delivery, Id};
use crate::ip::{self, ETHERNET, Packet};
use crate::neighbours::Neighbours;
use crate::net::{Context, Net};
use crate::program::{self, Binding, Program, Programs};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use node::ConfigError;
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use nodes::fragments::{Fragment, Reassembly};
use nodes::host::Host as Plain;
use packet::segment::Segment;

/// Maximum number of addresses of a host.
pub const MAX_ADDRESSES: usize = 8;
/// Maximum number of programs of a host.
pub const MAX_PROGRAMS: usize = 1024;
pub(crate) const ARP: [u8; 2] = [8, 6];

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
    let (networks, mac) = check(&config, !programs.is_empty())?;
    if programs.len() > MAX_PROGRAMS {
        let reason = format!("a host runs at most {MAX_PROGRAMS} programs");
        return Err(ConfigError::new("program", reason));
    }
    programs.iter().try_for_each(program::Config::check)?;
    if programs.is_empty() {
        // Who only answers does so for one address of each version.
        let first = |v4: bool| {
            let mut addresses = networks.iter().map(|network| network.address);
            addresses.find(|address| address.is_ipv4() == v4)
        };
        return Ok(Box::new(plain(mac, &config, first(true), first(false))));
    }
    let mut random = Random::new(seed);
    let own = random.bits();
    let programs = programs.into_iter().enumerate();
    let programs = programs.map(|(me, program)| program.make(me, random.bits()));
    let host = Host::new(&config, mac, networks, programs.collect(), own)?;
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
pub(crate) fn check(
    config: &Config,
    programs: bool,
) -> Result<(Vec<InterfaceAddress>, [u8; 6]), ConfigError> {
    let networks = config.networks();
    if networks.len() > MAX_ADDRESSES {
        let reason = format!("a host has at most {MAX_ADDRESSES} addresses");
        return Err(ConfigError::new("address", reason));
    }
    let six = networks.iter().any(|network| network.address.is_ipv6());
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
    let mac = mac.unwrap_or(nodes::host::Config::default().mac.0);
    if mac[0] & 1 == 1 {
        return Err(ConfigError::new(
            "mac",
            "that of a group cannot be a host's",
        ));
    }
    Ok((networks, mac))
}

fn plain(mac: [u8; 6], config: &Config, v4: Option<IpAddr>, v6: Option<IpAddr>) -> Plain {
    let ipv4 = match v4 {
        Some(IpAddr::V4(address)) => Some(address),
        _ => None,
    };
    let ipv6 = match v6 {
        Some(IpAddr::V6(address)) => Some(address),
        _ => None,
    };
    Plain::new(nodes::host::Config {
        mac: packet::ethernet::Mac(mac),
        ipv4,
        ipv6,
        udp_echo: config.udp_echo,
        mtu: config.mtu,
        refuses: true,
    })
}

/// A host that runs programs; [`make`] makes it.
pub struct Host {
    net: Net,
    programs: Vec<Box<dyn Program>>,
    reassembly: Reassembly,
    reassembled: u64,
    bad_checksums: u64,
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
        let addresses: Vec<IpAddr> = networks.iter().map(|network| network.address).collect();
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
        let versions = |v4: bool| {
            let own = addresses.iter().copied();
            own.filter(move |address| address.is_ipv4() == v4)
        };
        let pairs = versions(true).count().max(versions(false).count());
        let answers = (0..pairs).map(|index| {
            let (v4, v6) = (versions(true).nth(index), versions(false).nth(index));
            plain(mac, config, v4, v6)
        });
        Ok(Host {
            net: Net {
                mac,
                answers: answers.collect(),
                addresses,
                mtu: config.mtu,
                neighbours: Neighbours::new(mac, networks, config.gateway.clone()),
                connections,
                udp,
                opened: 0,
                identification: seed as u32,
            },
            reassembly: Reassembly::default(),
            reassembled: 0,
            programs,
            bad_checksums: 0,
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
            .segment(now, &frame, packet, &mut net.neighbours, out);
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
        let Some(header) = datagram.first_chunk::<{ ip::UDP_HEADER }>() else {
            return false;
        };
        let [from, to, length] =
            [0, 2, 4].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        let Some(&owner) = self.net.udp.get(&to) else {
            return false;
        };
        let Some(payload) = datagram.get(ip::UDP_HEADER..length.into()) else {
            return false;
        };
        let from = SocketAddr::new(packet.source, from);
        let mut context = Host::context(&mut self.net, now, owner, out);
        self.programs[owner].datagram(frame.arrived(), from, to, payload, &mut context);
        true
    }

    /// An answer to a ping; `false` when it is something else.
    fn echo(&mut self, now: Time, frame: &Frame, packet: &Packet, out: &mut Out) -> bool {
        let Some((identification, sequence)) = ip::echo_reply(frame, packet) else {
            return false;
        };
        if let Some(program) = self.programs.get_mut(usize::from(identification)) {
            let me = identification.into();
            let mut context = Host::context(&mut self.net, now, me, out);
            program.echoed(frame.arrived(), packet.source, sequence, &mut context);
        }
        true
    }

    /// An error that says that a datagram of a program met a closed port (RFC 792, RFC 4443).
    fn unreachable(&mut self, frame: &Frame, packet: &Packet) -> bool {
        let Some((port, to)) = ip::port_unreachable(frame, packet) else {
            return false;
        };
        for program in &mut self.programs {
            program.unreachable(port, to);
        }
        true
    }

    /// Puts a fragment for this host to the others of its packet; gives the frame, or the whole packet.
    fn whole(&mut self, now: Time, frame: Frame, out: &mut Out) -> Option<Frame> {
        let fragment = Fragment::read(&frame);
        let Some(fragment) = fragment.filter(|one| self.is_for_us(one.destination())) else {
            return Some(frame);
        };
        let whole = self.reassembly.take(now, fragment, frame, out)?;
        self.reassembled += 1;
        Some(whole)
    }

    fn is_for_us(&self, to: IpAddr) -> bool {
        self.net.addresses.contains(&to)
    }

    /// Gives a frame to the part that answers for the address it is for.
    fn answer(&mut self, to: Option<IpAddr>, frame: Frame, out: &mut Out) {
        let own = &self.net.addresses;
        let place = to.and_then(|to| {
            let mut same = own
                .iter()
                .filter(|address| address.is_ipv4() == to.is_ipv4());
            same.position(|address| *address == to)
        });
        let answers = &mut self.net.answers;
        match answers.get_mut(place.unwrap_or(0)) {
            Some(plain) => plain.frame(frame, out),
            None => out.done(frame),
        }
    }

    fn frame(&mut self, now: Time, frame: Frame, out: &mut Out) {
        let Some(header) = frame.first_chunk::<ETHERNET>() else {
            return out.done(frame);
        };
        // A group's, or this host's.
        if header[0] & 1 == 0 && header[..6] != self.net.mac {
            return self.answer(None, frame, out);
        }
        if header[12..14] == ARP {
            self.net.neighbours.hear_arp(&frame, out);
            let target = frame
                .get(38..42)
                .and_then(|target| <[u8; 4]>::try_from(target).ok());
            return self.answer(target.map(IpAddr::from), frame, out);
        }
        let Some(frame) = self.whole(now, frame, out) else {
            return;
        };
        let Some(packet) = ip::read(&frame) else {
            return self.answer(None, frame, out);
        };
        if packet.protocol == ip::ICMPV6 && !self.is_for_us(packet.destination) {
            // A solicitation is for the group of all whose addresses end alike.
            self.net.neighbours.hear_icmpv6(&frame, out);
            let target = frame
                .get(62..78)
                .and_then(|target| <[u8; 16]>::try_from(target).ok());
            return self.answer(target.map(IpAddr::from), frame, out);
        }
        if !self.is_for_us(packet.destination) {
            return self.answer(None, frame, out);
        }
        if !ip::is_valid(&frame, &packet) {
            self.bad_checksums += 1;
            return out.drop(frame, "wrong checksum");
        }
        let taken = match packet.protocol {
            ip::TCP => return self.segment(now, frame, &packet, out),
            ip::UDP => self.datagram(now, &frame, &packet, out),
            ip::ICMP => self.echo(now, &frame, &packet, out) || self.unreachable(&frame, &packet),
            ip::ICMPV6 => {
                self.net.neighbours.hear_icmpv6(&frame, out);
                self.echo(now, &frame, &packet, out) || self.unreachable(&frame, &packet)
            }
            _ => false,
        };
        match taken {
            true => out.done(frame),
            false => self.answer(Some(packet.destination), frame, out),
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
        self.net.neighbours.wake(now, out);
        let mac = packet::ethernet::Mac(self.net.mac);
        self.reassembly.wake(now, out, |first, out| {
            if let Some(error) = nodes::host::late(first, mac, out) {
                out.send(Port(0), error);
            }
        });
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
        let link = self.net.neighbours.next();
        let fragments = self.reassembly.next_wake();
        programs.chain(stack).chain(link).chain(fragments).min()
    }

    fn statistics(&self) -> Statistics {
        let mut all = Statistics::default();
        for plain in &self.net.answers {
            for (name, value) in plain.statistics().counters {
                match all.counters.iter_mut().find(|sum| sum.0 == name) {
                    Some(sum) => sum.1 += value,
                    None => all.counters.push((name, value)),
                }
            }
        }
        for (name, value) in &mut all.counters {
            match &name[..] {
                "refused" => *value += self.refused,
                "reassembled" => *value += self.reassembled,
                _ => {}
            }
        }
        all.counter("connections", self.net.opened + self.accepted);
        all.counter("bad_checksums", self.bad_checksums);
        all.counter("open", self.net.connections.count() as u64);
        for program in &self.programs {
            program.flows(&self.net, &mut |flow| all.flows.push(flow));
        }
        all
    }
}
