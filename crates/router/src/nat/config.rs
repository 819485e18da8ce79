//! Configuration of a NAT.

#[cfg(feature = "serde")]
mod keys;
mod range;

pub use range::{AddressRange, BadRange, PortRange};

use alloc::format;
use alloc::vec::Vec;
use core::net::SocketAddrV4;
use node::{ConfigError, Time};

/// Maximum number of external addresses. Each has 24 KiB of ports in use.
pub const MAX_EXTERNAL: usize = 1_024;
/// Maximum value of `sessions`: 4 Mi, in 800 MB.
pub const MAX_SESSIONS: usize = 1 << 22;

/// How much of a remote endpoint matters (RFC 4787 sections 4.1 and 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Behaviour {
    /// Nothing of it. Mapping: one for all remote hosts. Filtering: any remote host may send.
    EndpointIndependent,
    /// The address. Filtering: an address may send that the inside host has sent to.
    AddressDependent,
    /// The address and the port. Filtering: an endpoint may send that the inside host has sent to.
    AddressAndPortDependent,
}

/// Choice of a mapping's external port (RFC 4787 section 4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Ports {
    /// The inside port, or where that is in use a random one.
    Preserve,
    /// The port after the last one, of each external address and protocol.
    Sequential,
    /// A random port (RFC 6056 section 3.3.1).
    Random,
}

/// Range of the external ports for inside ports below 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum LowPorts {
    /// 1 to 1023 (RFC 4787 REQ-3a).
    SameRange,
    /// Linux's: 1 to 511 for inside ports below 512, 600 to 1023 for the others below 1024. Any
    /// port may be preserved.
    Linux,
    /// `port_range`, as for all others.
    Any,
}

/// External address of an inside host's next mapping (RFC 4787 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Pooling {
    /// That of its other mappings (REQ-2).
    Paired,
    /// Any.
    Arbitrary,
}

/// Packets that restart the timer of a session that is not TCP's (RFC 4787 REQ-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Refresh {
    /// Outbound packets.
    Outbound,
    /// Packets in both directions. A remote host can then keep a mapping forever.
    Both,
}

/// Treatment of an inbound packet that no mapping admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Unsolicited {
    /// It is dropped.
    Drop,
    /// It is dropped; a SYN to which no outbound SYN corresponds within 6 s is
    /// [answered](super::Nat::poll_unanswered) with an ICMP error (RFC 5382 REQ-4).
    Hold,
    /// It is for the router itself, as in Linux.
    Local,
}

/// Blocks of ports: a host has whole blocks for itself (RFC 6888 REQ-14, RFC 7422).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct PortBlocks {
    /// Ports of a block, for each protocol. At least 1.
    pub size: u16,
    /// Maximum number of blocks of an inside host. At least 1.
    pub per_host: u16,
}

/// Protocol of a [`Forward`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A static mapping. Any remote host may send to it, and it needs no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Forward {
    /// Protocol.
    pub protocol: Transport,
    /// External endpoint, at one of the `external` addresses.
    pub external: SocketAddrV4,
    /// Endpoint of the inside host.
    pub inside: SocketAddrV4,
}

/// Configuration of a NAT. The texts of enumerations are their names in kebab-case.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// External addresses, 1 to 1024, such as `192.0.2.1` and `192.0.2.8-192.0.2.15`. A new mapping
    /// tries up to 64 of them. No default.
    pub external: Vec<AddressRange>,
    /// Remote endpoints that share a mapping. Default: all (RFC 4787 REQ-1).
    pub mapping: Behaviour,
    /// Remote endpoints that may send to a mapping. Default: address-dependent (RFC 4787 REQ-8).
    pub filtering: Behaviour,
    /// Choice of external ports. Default: random.
    pub ports: Ports,
    /// Whether mappings of several inside endpoints may share an external endpoint as long as their
    /// remote endpoints differ (RFC 4787 section 4.2.1, which forbids it in REQ-3). Needs
    /// `filtering` address-and-port-dependent. Default: no.
    pub overload: bool,
    /// Whether a new mapping gets the external endpoint that the inside endpoint got last, where
    /// that is free. With `overload` an inside endpoint then looks the same to all remote hosts as
    /// long as that is possible. Default: no.
    pub reuse: bool,
    /// External ports. Default: 1024-65535.
    pub port_range: PortRange,
    /// External ports for inside ports below 1024. Default: same-range.
    pub low_ports: LowPorts,
    /// Whether the external port of UDP is even for an even inside port and odd for an odd one, as
    /// long as there is such a port (RFC 4787 REQ-4). Default: yes.
    pub parity: bool,
    /// Whether the mapping of an odd UDP port gets the external port after that of the port before,
    /// where that is free (RFC 4787 section 4.2.3). Default: no.
    pub contiguity: bool,
    /// Choice of the external address. Default: paired.
    pub pooling: Pooling,
    /// Whether inside hosts reach each other at external addresses, each with its external endpoint
    /// as source (RFC 4787 REQ-9). Default: yes.
    pub hairpin: bool,
    /// Packets that restart timers. Default: outbound.
    pub refresh: Refresh,
    /// Treatment of other inbound packets. Default: hold.
    pub unsolicited: Unsolicited,
    /// Whether a datagram for the router itself occupies its external port towards its sender for `udp_unreplied`, as in Linux
    /// without a firewall; with `unsolicited` local and `overload`. Default: no.
    pub unsolicited_occupies: bool,
    /// Whether an outbound ACK without a session begins one, as part of a connection from before a
    /// restart. Default: no.
    pub pickup: bool,
    /// Timeout of a UDP session, at least 2 min (RFC 4787 REQ-5). Default: 5 min.
    pub udp: Time,
    /// Timeout of a UDP session to a port below 1024 (RFC 4787 REQ-5a). Default: 5 min.
    pub udp_well_known: Time,
    /// Timeout of a UDP session until the first inbound packet; `None`, the default, for that of
    /// others.
    pub udp_unreplied: Option<Time>,
    /// Timeout of an established TCP connection, at least 2 h 4 min (RFC 5382 REQ-5). Default: 2 h
    /// 4 min.
    pub tcp_established: Time,
    /// Timeout of a TCP connection that opens, closes, or was reset, at least 4 min (RFC 5382
    /// REQ-5). Default: 4 min.
    pub tcp_transitory: Time,
    /// Timeout of a session of ICMP queries, at least 60 s (RFC 5508 REQ-2). Default: 60 s.
    pub icmp: Time,
    /// Timeout of a session of another protocol. Default: 10 min.
    pub other: Time,
    /// Whether timeouts may be shorter than the RFCs have them. Default: no.
    pub short_timeouts: bool,
    /// Blocks of ports. Needs `pooling` paired and no `overload`. Default: none.
    pub port_blocks: Option<PortBlocks>,
    /// Maximum number of sessions, 1 to 4,194,304. Default: 65,536.
    pub sessions: usize,
    /// Maximum number of sessions of an inside host, at least 1 (RFC 6888 REQ-5). Default: 8,192.
    pub sessions_per_host: usize,
    /// Static mappings. Default: none.
    pub forward: Vec<Forward>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            external: Vec::new(),
            mapping: Behaviour::EndpointIndependent,
            filtering: Behaviour::AddressDependent,
            ports: Ports::Random,
            overload: false,
            reuse: false,
            port_range: PortRange::default(),
            low_ports: LowPorts::SameRange,
            parity: true,
            contiguity: false,
            pooling: Pooling::Paired,
            hairpin: true,
            refresh: Refresh::Outbound,
            unsolicited: Unsolicited::Hold,
            unsolicited_occupies: false,
            pickup: false,
            udp: Time::from_secs(300),
            udp_well_known: Time::from_secs(300),
            udp_unreplied: None,
            tcp_established: Time::from_secs(7_440),
            tcp_transitory: Time::from_secs(240),
            icmp: Time::from_secs(60),
            other: Time::from_secs(600),
            short_timeouts: false,
            port_blocks: None,
            sessions: 65_536,
            sessions_per_host: 8_192,
            forward: Vec::new(),
        }
    }
}

impl Config {
    /// Behaviour of Linux's masquerade (`nft ... masquerade`), with its default timeouts.
    ///
    /// Each connection has a mapping of its own. It gets the external port of the inside endpoint's
    /// latest connection, or else its own port, and only where another connection to the same
    /// remote endpoint has that, a random one. Mapping looks endpoint-independent to RFC 5780; two
    /// inside hosts with equal ports can break that. Differences from the kernel:
    ///
    /// - its table also holds the connections of the router itself and those of forwarded hosts,
    ///   whose ports are not taken;
    /// - a UDP session has the timeout of replied ones from its first reply, not only 2 s after its
    ///   beginning;
    /// - TCP connections have two timeouts, not ten, and neither windows nor orders of flags are
    ///   checked; one whose only answer is a RST is not forgotten at once;
    /// - all kinds of ICMP queries share their identifiers;
    /// - where the kernel draws a port at random, it tries up to 128 and gives up.
    pub fn linux() -> Config {
        Config {
            mapping: Behaviour::AddressAndPortDependent,
            filtering: Behaviour::AddressAndPortDependent,
            ports: Ports::Preserve,
            overload: true,
            reuse: true,
            low_ports: LowPorts::Linux,
            parity: false,
            hairpin: false,
            refresh: Refresh::Both,
            unsolicited: Unsolicited::Local,
            unsolicited_occupies: true,
            pickup: true,
            udp: Time::from_secs(120),
            udp_well_known: Time::from_secs(120),
            udp_unreplied: Some(Time::from_secs(30)),
            tcp_established: Time::from_secs(432_000),
            tcp_transitory: Time::from_secs(120),
            icmp: Time::from_secs(30),
            other: Time::from_secs(600),
            short_timeouts: true,
            sessions: 262_144,
            sessions_per_host: 262_144,
            ..Config::default()
        }
    }

    /// Checks all keys but `external` and `forward`, whose users check them.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let minima = [
            ("udp", self.udp, 120),
            ("tcp_established", self.tcp_established, 7_440),
            ("tcp_transitory", self.tcp_transitory, 240),
            ("icmp", self.icmp, 60),
        ];
        for (key, timeout, seconds) in minima {
            if timeout < Time::from_secs(seconds) && !self.short_timeouts {
                let reason =
                    format!("{timeout} is below {seconds} s, which needs `short_timeouts`");
                return Err(ConfigError::new(key, reason));
            }
        }
        let unreplied = self.udp_unreplied.unwrap_or(self.udp);
        let others = [
            ("udp", self.udp),
            ("udp_well_known", self.udp_well_known),
            ("udp_unreplied", unreplied),
            ("tcp_established", self.tcp_established),
            ("tcp_transitory", self.tcp_transitory),
            ("icmp", self.icmp),
            ("other", self.other),
        ];
        if let Some((key, _)) = others.iter().find(|(_, time)| *time == Time::ZERO) {
            return Err(ConfigError::new(key, "a timeout is longer than 0"));
        }
        if !(1..=MAX_SESSIONS).contains(&self.sessions) {
            let reason = format!("a NAT has 1 to {MAX_SESSIONS} sessions");
            return Err(ConfigError::new("sessions", reason));
        }
        if self.sessions_per_host == 0 {
            return Err(ConfigError::new("sessions_per_host", "at least 1"));
        }
        if self.overload && self.filtering != Behaviour::AddressAndPortDependent {
            let reason = "only the remote endpoint distinguishes inbound packets: \
                          needs `filtering` address-and-port-dependent";
            return Err(ConfigError::new("overload", reason));
        }
        let Some(blocks) = self.port_blocks else {
            return Ok(());
        };
        if blocks.size == 0 || blocks.per_host == 0 || blocks.size > self.port_range.len() {
            let reason = "`size` is 1 to the length of `port_range`, `per_host` at least 1";
            return Err(ConfigError::new("port_blocks", reason));
        }
        if self.overload || self.pooling == Pooling::Arbitrary {
            let reason = "a host's blocks are its own and of one address: needs `pooling` paired, no `overload`";
            return Err(ConfigError::new("port_blocks", reason));
        }
        Ok(())
    }
}
