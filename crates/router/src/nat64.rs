//! Stateful translation between IPv6 clients and IPv4 servers (NAT64, RFC 6146).
//!
//! A [`Nat64`] is a [`Siit`] and a [`Nat`]. Each IPv6 host has a number, written as an address of 0.0.0.0/8, which no host
//! on an IPv4 network has. A packet from a host becomes an IPv4 packet from its number by the stateless rules, and then the
//! NAT translates that as the packet of an inside host: its mappings are the binding information base of RFC 6146, its
//! sessions the session table. So `mapping`, `filtering`, port blocks, limits and timeouts are those of
//! [`nat::Config`].
//!
//! - **Prefix:** `prefix`, the well-known one or another (RFC 6052). A packet from an address of the prefix is dropped.
//! - **State:** only packets of IPv6 hosts make any. RFC 6146 also makes sessions of inbound packets that filtering admits;
//!   here these change nothing until the host answers.
//! - **Unsolicited SYNs:** `unsolicited` hold of the NAT is section 3.5.2.2: 6 s, and then an ICMP error.
//! - **Hairpinning:** a packet to an external address comes back as an IPv6 packet (section 3.8).
//! - **ICMP:** queries by identifier, errors with the packet that they quote. An error of a router on the way, whose address is
//!   no host's, comes from the external address of the mapping.
//! - **Other protocols:** by address, as in the NAT; RFC 6146 drops them.
//! - **Bounds:** `hosts` numbers, and those of the NAT. A number of a host without mappings is given to the next host when
//!   all are in use; up to 64 are looked at for a packet. An inside host that varies its address can use all of `hosts`,
//!   and `sessions` of the NAT, but no more.
//!
//! Fragments are reassembled by the caller.

use crate::nat::{self, Forward, Nat, Transport};
use crate::siit::{self, Prefix, Siit};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use node::outcome::Table;
use node::{ConfigError, Frame, Time};
use packet::ipv4::protocol;
use packet::ipv6::Ipv6View;

/// Maximum number of IPv6 hosts.
pub const MAX_HOSTS: usize = 1 << 20;
/// Numbers that are looked at for one that is not in use.
const MAX_TRIED: usize = 64;
const ETHERNET: usize = 14;
const IPV4_DESTINATION: usize = ETHERNET + 16;

const MALFORMED: &str = "malformed packet";
const LOOP: &str = "source in the prefix of the NAT64";
const NO_HOST: &str = "too many IPv6 hosts at the NAT64";
const NOT_HERE: &str = "packet that the NAT64 does not translate";

/// A static mapping of an IPv6 host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Forward6 {
    /// Protocol.
    pub protocol: Transport,
    /// External endpoint, at one of the `external` addresses.
    pub external: SocketAddrV4,
    /// Endpoint of the IPv6 host.
    pub inside: SocketAddrV6,
}

/// Configuration of a NAT64.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Prefix of IPv6 addresses in which IPv4 addresses are embedded. Default: 64:ff9b::/96.
    pub prefix: Prefix,
    /// Keys of the NAT; `forward` stays empty.
    pub nat: nat::Config,
    /// Static mappings. Default: none.
    pub forward: Vec<Forward6>,
    /// Maximum number of IPv6 hosts with mappings, 1 to [`MAX_HOSTS`]. Default: 4,096.
    pub hosts: usize,
    /// MTU of the IPv4 side in bytes, at least 68. Default: 1500.
    pub mtu_v4: u16,
    /// MTU of the IPv6 side in bytes, at least 1280. Default: 1500.
    pub mtu_v6: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            prefix: Prefix::WELL_KNOWN,
            nat: nat::Config::default(),
            forward: Vec::new(),
            hosts: 4_096,
            mtu_v4: 1_500,
            mtu_v6: 1_500,
        }
    }
}

/// Result of a packet's translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The frame has an IPv4 packet; forward it.
    ToV4,
    /// The frame has an IPv6 packet; forward it.
    ToV6 {
        /// Whether the caller cuts it into fragments of at most 1280 bytes when it is longer (RFC 7915 section 4).
        may_fragment: bool,
    },
    /// The frame is as it was, an IPv4 packet for the router itself.
    NotForNat,
    /// Drop the packet, for this reason. The frame may have changed.
    Drop(&'static str),
    /// Drop the packet, which is an IPv4 packet from a host's number, for this reason, and report that communication is
    /// prohibited; [`inbound`](Nat64::inbound) translates the report.
    Prohibit(&'static str),
}

impl From<siit::Verdict> for Verdict {
    fn from(verdict: siit::Verdict) -> Verdict {
        match verdict {
            siit::Verdict::Translated { may_fragment } => Verdict::ToV6 { may_fragment },
            siit::Verdict::Drop(reason) => Verdict::Drop(reason),
        }
    }
}

/// A stateful translator between IPv6 clients and IPv4 servers. Its time does not go back.
#[derive(Debug)]
pub struct Nat64 {
    siit: Siit,
    nat: Nat,
    max_hosts: usize,
    /// Numbers in use or used before, from 1 on.
    numbers: u32,
    /// Numbers, from 1 on, of hosts with static mappings.
    fixed: u32,
    /// The number that is looked at next when all are in use.
    hand: u32,
    over_hosts: u64,
}

/// The IPv4 address for a host's number.
fn address_of(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(number)
}

fn is_number(address: Ipv4Addr) -> bool {
    address.octets()[0] == 0
}

impl Nat64 {
    /// A NAT64 without mappings other than static ones. Ports are random by `seed`.
    ///
    /// # Errors
    /// When a value is out of its range, or keys contradict each other.
    pub fn new(config: Config, seed: u64) -> Result<Nat64, ConfigError> {
        if !(1..=MAX_HOSTS).contains(&config.hosts) || config.forward.len() >= config.hosts {
            let reason = format!("from 1 to {MAX_HOSTS}, and more than there are in `forward`");
            return Err(ConfigError::new("hosts", reason));
        }
        if !config.nat.forward.is_empty() {
            let reason = "write static mappings of a NAT64 next to `nat`, with IPv6 hosts";
            return Err(ConfigError::new("forward", reason));
        }
        let mut siit = Siit::new(siit::Config {
            prefix: config.prefix,
            mtu_v4: config.mtu_v4,
            mtu_v6: config.mtu_v6,
            // The NAT replaces it.
            router: Some(Ipv4Addr::UNSPECIFIED),
            ..siit::Config::default()
        })?;
        let mut nat = config.nat;
        let mut numbers = 0;
        for forward in &config.forward {
            let host = *forward.inside.ip();
            let number = siit.pair_v4(host).unwrap_or_else(|| {
                numbers += 1;
                siit.add_pair(address_of(numbers), host);
                address_of(numbers)
            });
            nat.forward.push(Forward {
                protocol: forward.protocol,
                external: forward.external,
                inside: SocketAddrV4::new(number, forward.inside.port()),
            });
        }
        Ok(Nat64 {
            siit,
            nat: Nat::new(nat, seed)?,
            max_hosts: config.hosts,
            numbers,
            fixed: numbers,
            hand: numbers,
            over_hosts: 0,
        })
    }

    /// Gives the router's own addresses, which stand for each other in the reports that it sends.
    pub fn set_own(&mut self, v4: Ipv4Addr, v6: Ipv6Addr) {
        self.siit.add_pair(v4, v6);
    }

    /// Whether an address is one of the external addresses.
    pub fn is_external(&self, address: Ipv4Addr) -> bool {
        self.nat.is_external(address)
    }

    /// The IPv4 address in an address of the prefix.
    pub fn remote(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let found = self.siit.prefix().extract(address);
        found.filter(|address| !is_number(*address))
    }

    /// The prefix in which its hosts see IPv4 hosts.
    pub fn prefix(&self) -> Prefix {
        self.siit.prefix()
    }

    /// The NAT behind it, for mappings that a [`host`](Nat64::host) asks for.
    pub fn nat(&mut self) -> &mut Nat {
        &mut self.nat
    }

    /// The address by which the NAT knows a host; `None` when there are too many hosts, or the address is in the prefix. It is the
    /// host's as long as the host has mappings.
    pub fn host(&mut self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        match self.siit.prefix().extract(address) {
            Some(_) => None,
            None => self.number(address),
        }
    }

    /// The address of a host that the NAT knows by this one.
    pub fn name_of(&self, host: Ipv4Addr) -> IpAddr {
        let name = self.siit.pair_v6(host);
        name.map_or(host.into(), IpAddr::V6)
    }

    /// The number of a host; `None` when there are too many hosts.
    fn number(&mut self, host: Ipv6Addr) -> Option<Ipv4Addr> {
        if let Some(number) = self.siit.pair_v4(host) {
            return Some(number);
        }
        let number = match (self.numbers as usize) < self.max_hosts {
            true => {
                self.numbers += 1;
                self.numbers
            }
            false => self.unused()?,
        };
        let number = address_of(number);
        self.siit.remove_pair(number);
        self.siit.add_pair(number, host).then_some(number)
    }

    /// A number whose host has no mapping.
    fn unused(&mut self) -> Option<u32> {
        for _ in 0..MAX_TRIED {
            self.hand = match self.hand < self.numbers {
                true => self.hand + 1,
                false => self.fixed + 1,
            };
            if !self.nat.has_host(address_of(self.hand)) {
                return Some(self.hand);
            }
        }
        self.over_hosts += 1;
        None
    }

    /// Translates an IPv6 packet whose destination is a [`remote`](Nat64::remote) host. The frame has an Ethernet header and
    /// a whole packet, which `is_reassembled` or not.
    pub fn outbound(&mut self, now: Time, frame: &mut Frame, is_reassembled: bool) -> Verdict {
        self.nat.expire(now);
        let packet = frame.get(ETHERNET..).unwrap_or_default();
        let Ok(ip) = Ipv6View::new(packet) else {
            return Verdict::Drop(MALFORMED);
        };
        let source = ip.source();
        if self.siit.prefix().extract(source).is_some() {
            return Verdict::Drop(LOOP);
        }
        // An error makes no state.
        let kind = ip.payload().first();
        let is_error = ip.next_header() == protocol::ICMPV6 && kind.is_some_and(|kind| *kind < 128);
        if !is_error && self.number(source).is_none() {
            return Verdict::Drop(NO_HOST);
        }
        let verdict = match is_reassembled {
            true => self.siit.reassembled_to_v4(frame),
            false => self.siit.to_v4(frame),
        };
        if let siit::Verdict::Drop(reason) = verdict {
            return Verdict::Drop(reason);
        }
        let destination = frame
            .get(IPV4_DESTINATION..)
            .and_then(|rest| rest.first_chunk());
        let destination = destination.map(|bytes: &[u8; 4]| Ipv4Addr::from(*bytes));
        let is_hairpin = destination.is_some_and(|address| self.nat.is_external(address));
        let verdict = match is_hairpin {
            true => self.nat.hairpin(now, frame),
            false => self.nat.outbound(now, frame),
        };
        match verdict {
            nat::Verdict::Translated if is_hairpin => self.siit.hairpin(frame).into(),
            nat::Verdict::Translated => Verdict::ToV4,
            nat::Verdict::NotForNat => Verdict::Drop(NOT_HERE),
            nat::Verdict::Drop(reason) => Verdict::Drop(reason),
            nat::Verdict::Prohibit(reason) => Verdict::Prohibit(reason),
        }
    }

    /// Translates a whole IPv4 packet for an external address, or a report for a host's number.
    pub fn inbound(&mut self, now: Time, frame: &mut Frame) -> Verdict {
        let destination = frame
            .get(IPV4_DESTINATION..)
            .and_then(|rest| rest.first_chunk());
        if destination.is_some_and(|bytes: &[u8; 4]| bytes[0] == 0) {
            return self.siit.to_v6(frame).into();
        }
        match self.nat.inbound(now, frame) {
            nat::Verdict::Translated => self.siit.to_v6(frame).into(),
            nat::Verdict::NotForNat => Verdict::NotForNat,
            nat::Verdict::Drop(reason) => Verdict::Drop(reason),
            nat::Verdict::Prohibit(reason) => Verdict::Prohibit(reason),
        }
    }

    /// As [`Nat::expire`].
    pub fn expire(&mut self, now: Time) {
        self.nat.expire(now);
    }

    /// As [`Nat::poll_unanswered`]: an IPv4 packet.
    pub fn poll_unanswered(&mut self, now: Time) -> Option<Frame> {
        self.nat.poll_unanswered(now)
    }

    /// As [`Nat::next_wake`].
    pub fn next_wake(&self) -> Option<Time> {
        self.nat.next_wake()
    }

    /// Counts of the NAT, and packets that were dropped because of `hosts`.
    pub fn counters(&self) -> (nat::Counters, u64) {
        (self.nat.counters(), self.over_hosts)
    }

    /// Number of mappings, sessions, hosts with sessions, and hosts with a number.
    pub fn sizes(&self) -> [usize; 4] {
        let [mappings, sessions, hosts] = self.nat.sizes();
        [mappings, sessions, hosts, self.numbers as usize]
    }

    /// The table `nat64`, with the lines of [`nat::Row`] and the IPv6 address of each inside host.
    pub fn tables(&self, now: Time) -> Vec<Table> {
        let rows = self.nat.rows(now);
        let entries = rows.iter().map(|row| self.line(row));
        let name = String::from("nat64");
        let entries = entries.collect();
        alloc::vec![Table { name, entries }]
    }

    fn line(&self, row: &nat::Row) -> String {
        let inside = match self.siit.pair_v6(*row.inside.ip()) {
            Some(host) => SocketAddr::new(IpAddr::V6(host), row.inside.port()),
            None => row.inside.into(),
        };
        let mut line = String::new();
        // Writing to a string does not fail.
        let _ = write!(line, "{row}");
        line.replacen(&format!("{}", row.inside), &format!("{inside}"), 1)
    }
}
