//! Configuration of a switch.

use crate::stp::{self, Edge, Version};
use crate::{lacp, snooping};
use alloc::vec::Vec;
use core::str::FromStr;
use node::Time;
use packet::ethernet::Mac;

/// When a switch begins to pass a frame on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Mode {
    /// When its last bit is in, FCS and all.
    #[default]
    StoreAndForward,
    /// When its header is in.
    CutThrough,
}

/// Assignment of the fabric's slots.
///
/// As a text: `free`, `round-robin`, `random(0.05)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arbitration {
    /// Every frame the next one: other traffic is never in the way.
    #[default]
    Free,
    /// The ports of arrival in turn, whether they have anything or not: slot k is for port k modulo the
    /// number of ports.
    RoundRobin,
    /// Any slot is taken with this probability, 0 to below 1, by what is not in the model: other ports'
    /// frames, memory refresh, table maintenance.
    Random(f64),
}

/// A text that is no [`Arbitration`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "arbitration is free, round-robin, or random(P) with P from 0 to below 1, such as random(0.05)"
)]
pub struct BadArbitration;

#[cfg(feature = "serde")]
node::deserialize_from_str!(Arbitration: "an arbitration, such as \"round-robin\"");

impl FromStr for Arbitration {
    type Err = BadArbitration;

    fn from_str(text: &str) -> Result<Arbitration, BadArbitration> {
        match text.trim() {
            "free" => Ok(Arbitration::Free),
            "round-robin" => Ok(Arbitration::RoundRobin),
            other => {
                let inner = other.strip_prefix("random(");
                let taken = inner.and_then(|inner| inner.strip_suffix(')'));
                let taken = taken.and_then(|taken| taken.trim().parse().ok());
                let taken = taken.filter(|taken| (0.0..1.0).contains(taken));
                taken.map(Arbitration::Random).ok_or(BadArbitration)
            }
        }
    }
}

/// Configuration of a switch.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Number of ports, at least 1.
    pub ports: u16,
    /// Time that an address is known after its last frame.
    pub ageing: Time,
    /// Maximum number of known addresses, 1 to 16,777,216.
    pub stations: usize,
    /// Whether each VLAN has its own addresses.
    pub vlan_aware: bool,
    /// Whether frames that a bridge must keep to itself are flooded all the same.
    pub forward_reserved: bool,
    /// When a frame may leave.
    pub mode: Mode,
    /// Bytes that must be in before a cut-through switch decides; `None` for 14, or with `vlan_aware` 18,
    /// which is the least. At most 60.
    pub header: Option<u16>,
    /// From the last bit in, of a cut-through switch from the first bit in, to the first bit out. What
    /// is less than the header and a preamble take is as much as that.
    pub latency: Time,
    /// The slot of the fabric, in its own time; zero: frames leave when they are ready.
    pub slot: Time,
    /// How fast the fabric's clock is, parts per million, -1000 to 1000.
    pub clock_ppm: f64,
    /// Assignment of slots to ports.
    pub arbitration: Arbitration,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Spanning tree; `None`: BPDUs are as other frames to reserved addresses.
    pub stp: Option<Version>,
    /// Priority of the bridge in the spanning tree, a multiple of 4096.
    pub bridge_priority: u16,
    /// Address of the switch itself; `None` for a local one by the seed.
    pub mac: Option<Mac>,
    /// Interval of BPDUs, 1 s to 10 s.
    pub hello: Time,
    /// Age from which on a BPDU is not valid, 6 s to 40 s.
    pub max_age: Time,
    /// Duration of listening and of learning, 4 s to 30 s.
    pub forward_delay: Time,
    /// Maximum number of BPDUs of a port in one second, 1 to 10.
    pub hold_count: u8,
    /// Ports with other values than the defaults.
    pub port: Vec<PortConfig>,
    /// Groups of links.
    pub lag: Vec<lacp::Config>,
    /// Snooping of IGMP and MLD; `None`: frames to groups are flooded.
    pub snooping: Option<snooping::Config>,
    /// Port mirrors.
    pub mirror: Vec<MirrorConfig>,
}

impl Default for Config {
    fn default() -> Config {
        let tree = stp::Config::default();
        Config {
            ports: 4,
            ageing: Time::from_secs(300),
            stations: 8192,
            vlan_aware: false,
            forward_reserved: false,
            mode: Mode::StoreAndForward,
            header: None,
            latency: Time::ZERO,
            slot: Time::ZERO,
            clock_ppm: 0.0,
            arbitration: Arbitration::Free,
            seed: 0,
            stp: None,
            bridge_priority: tree.priority,
            mac: None,
            hello: tree.hello,
            max_age: tree.max_age,
            forward_delay: tree.forward_delay,
            hold_count: tree.hold_count,
            port: Vec::new(),
            lag: Vec::new(),
            snooping: None,
            mirror: Vec::new(),
        }
    }
}

/// A port with other values than the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct PortConfig {
    /// Number of the port; of a group its first one.
    pub port: u16,
    /// Path cost in the spanning tree, 1 to 200,000,000; `None` for that of the link's rate.
    pub cost: Option<u32>,
    /// Priority in the spanning tree, a multiple of 16 up to 240.
    pub priority: u8,
    /// Whether no bridge is on the link.
    pub edge: Edge,
    /// Whether a BPDU disables the port until its link goes down.
    pub bpdu_guard: bool,
    /// Whether the port never leads to the root.
    pub root_guard: bool,
    /// Whether the link has two ends only.
    pub point_to_point: bool,
    /// Whether multicast routers are on the link, for snooping.
    pub router: bool,
    /// Whether a leave of a group counts at once: of ports with one host.
    pub fast_leave: bool,
}

impl Default for PortConfig {
    fn default() -> PortConfig {
        let tree = stp::PortConfig::default();
        PortConfig {
            port: 0,
            cost: tree.cost,
            priority: tree.priority,
            edge: tree.edge,
            bpdu_guard: tree.bpdu_guard,
            root_guard: tree.root_guard,
            point_to_point: tree.point_to_point,
            router: false,
            fast_leave: false,
        }
    }
}

/// Frames that a mirror copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Copied {
    /// Those that arrive and those that leave.
    #[default]
    Both,
    /// Those that arrive.
    In,
    /// Those that leave.
    Out,
}

/// A port mirror: copies of the frames of some ports leave by another one, which carries nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct MirrorConfig {
    /// Ports whose frames are copied.
    pub from: Vec<u16>,
    /// Direction of the frames that are copied.
    pub direction: Copied,
    /// Port of the copies.
    pub to: u16,
}
