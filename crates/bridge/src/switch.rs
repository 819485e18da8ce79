//! Learning switch (IEEE 802.1Q clause 8, without spanning tree).
//!
//! A frame's source address is learned at the port it came by; a frame to a learned address leaves by
//! that port only, any other frame by every port except the one it came by.
//!
//! - **Ports:** `ports`.
//! - **Parameters:** `ports`, 4. `ageing`, 300 s: how long an address is known after its last frame.
//!   `stations`, 8192: how many addresses are known at once. `vlan_aware`, false: whether each VLAN
//!   has its own addresses; an untagged or priority-tagged frame is in VLAN 1. `forward_reserved`,
//!   false: whether frames to 01-80-C2-00-00-00 up to -0F (pause, spanning tree, LLDP) are flooded.
//!   `mode`, store-and-forward, or cut-through: when a frame may leave. `header`, 14, with `vlan_aware`
//!   18: bytes that a cut-through switch waits for. `latency`, 0: from the last bit in to the first bit
//!   out, of a cut-through switch from the first bit in to the first bit out (RFC 1242 sections 3.8). `slot`,
//!   none: frames leave at the beginning of a slot of the fabric's own clock, which is `clock_ppm`, 0,
//!   parts per million fast. `arbitration`, free: who gets which slot - [`Arbitration`]. `seed`, 0: what
//!   is drawn comes from it.
//! - **Counters:** `packets`; `flooded`; `learned`; `moved`: stations that turned up at another port;
//!   `not_learned`: addresses for which there was no room; `stations`: known, old ones included.
//! - **Drops:** `shorter than an Ethernet header`, `reserved address`, `destination on the port of
//!   arrival`, `no other port`.
//! - **Paper:** 001 figure 6, the learning switch of shell script; 002 section 4.3.3 and figure 4.9, the
//!   inter-packet delays behind two switches.
//!
//! Group addresses are never learned. Addresses that have aged out are unknown at once; their room is
//! taken back when it is needed.

mod fabric;
mod table;

pub use fabric::{Arbitration, BadArbitration, Mode};

use crate::wire;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use fabric::Fabric;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time, When};
use packet::ethernet::Mac;
use table::{Learned, Table};

/// The VLAN of a frame without a tag.
const DEFAULT_VLAN: u16 = 1;
/// Maximum number of stations that can be configured: 16 Mi, in 800 MB.
const MAX_STATIONS: usize = 1 << 24;

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
    /// Who gets which slot.
    pub arbitration: Arbitration,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
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
        }
    }
}

#[derive(Debug)]
pub struct Switch {
    config: Config,
    table: Table,
    fabric: Fabric,
    packets: u64,
    flooded: u64,
    learned: u64,
    moved: u64,
    not_learned: u64,
}

impl Switch {
    /// A switch that knows no station.
    ///
    /// # Errors
    /// When it has no port, or a value is out of its range.
    pub fn new(config: Config) -> Result<Switch, ConfigError> {
        if config.ports == 0 {
            return Err(ConfigError::new("ports", "a switch has at least 1 port"));
        }
        if !(1..=MAX_STATIONS).contains(&config.stations) {
            let reason = "a switch knows 1 to 16777216 stations";
            return Err(ConfigError::new("stations", reason));
        }
        let least = if config.vlan_aware { 18 } else { 14 };
        if config
            .header
            .is_some_and(|header| !(least..=60).contains(&header))
        {
            let reason = format!("a switch that reads these headers waits for {least} to 60 bytes");
            return Err(ConfigError::new("header", reason));
        }
        Ok(Switch {
            table: Table::new(config.stations, config.ageing),
            fabric: Fabric::new(&config)?,
            config,
            packets: 0,
            flooded: 0,
            learned: 0,
            moved: 0,
            not_learned: 0,
        })
    }

    /// The part of a table key above the address: the VLAN, where that matters.
    fn vlan_key(&self, frame: &[u8]) -> u64 {
        if !self.config.vlan_aware {
            return 0;
        }
        let vlan = match wire::u16_at(frame, 12) {
            Some(wire::TPID_CUSTOMER | wire::TPID_SERVICE) => wire::u16_at(frame, 14),
            _ => None,
        };
        let vlan = vlan.map_or(0, |tag| tag & 0xFFF);
        u64::from(if vlan == 0 { DEFAULT_VLAN } else { vlan }) << 48
    }

    fn learn(&mut self, now: Time, key: u64, port: Port) {
        match self.table.learn(now, key, port) {
            Learned::Known => {}
            Learned::New => self.learned += 1,
            Learned::Moved => self.moved += 1,
            Learned::NoRoom => self.not_learned += 1,
        }
    }

    fn flood(&mut self, now: Time, from: Port, frame: Frame, out: &mut Out) {
        self.flooded += 1;
        let mut others = (0..self.config.ports)
            .map(Port)
            .filter(|&port| port != from);
        // The frame itself goes to the last port, copies of it to those before.
        let Some(last) = others.next_back() else {
            out.drop(frame, "no other port");
            return;
        };
        for port in others {
            let copy = out.copy(&frame);
            self.send(now, from, port, copy, out);
        }
        self.send(now, from, last, frame, out);
    }

    fn send(&mut self, now: Time, from: Port, to: Port, frame: Frame, out: &mut Out) {
        match self.fabric.departure(now, frame.arrived(), from, to) {
            When::Now => out.send(to, frame),
            When::At(at) => out.send_at(to, at, frame),
        }
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        let Some((destination, source)) = wire::addresses(&frame) else {
            out.drop(frame, "shorter than an Ethernet header");
            return;
        };
        self.packets += 1;
        let vlan = self.vlan_key(&frame);
        if !wire::is_group(source) {
            self.learn(now, vlan | source, port);
        }
        if wire::is_group(destination) {
            if destination & !0xF == wire::RESERVED_GROUP && !self.config.forward_reserved {
                out.drop(frame, "reserved address");
            } else {
                self.flood(now, port, frame, out);
            }
            return;
        }
        match self.table.find(now, vlan | destination) {
            Some(known) if known == port => out.drop(frame, "destination on the port of arrival"),
            Some(known) => self.send(now, port, known, frame, out),
            None => self.flood(now, port, frame, out),
        }
    }
}

impl Node for Switch {
    fn properties(&self) -> Properties {
        Properties {
            needs: {
                let least = if self.config.vlan_aware { 18 } else { 14 };
                let header = self.config.header.unwrap_or(least);
                (self.config.mode == Mode::CutThrough).then_some(header.into())
            },
            forwards: true,
            ..Properties::of(self.config.ports.into())
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("flooded", self.flooded),
            ("learned", self.learned),
            ("moved", self.moved),
            ("not_learned", self.not_learned),
            ("stations", self.table.len() as u64),
        ])
    }

    fn tables(&self, now: Time) -> Vec<node::outcome::Table> {
        let mut stations: Vec<(u64, Port, Time)> = self.table.stations(now).collect();
        stations.sort();
        let entries = stations.into_iter().map(|(key, port, age)| {
            let [_, _, mac @ ..] = key.to_be_bytes();
            let vlan = match self.config.vlan_aware {
                true => format!(" VLAN {}", key >> 48),
                false => String::new(),
            };
            format!("{}{vlan} port {port} age {age}", Mac(mac))
        });
        let name = "stations".into();
        vec![node::outcome::Table {
            name,
            entries: entries.collect(),
        }]
    }
}
