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
//! - **Counters:** `packets`; `flooded`; `learned`; `moved`: stations that turned up at another port;
//!   `not_learned`: addresses for which there was no room; `stations`: known, old ones included.
//! - **Drops:** `shorter than an Ethernet header`, `reserved address`, `destination on the port of
//!   arrival`, `no other port`.
//! - **Paper:** 001 figure 6, the learning switch of shell script.
//!
//! Group addresses are never learned. Addresses that have aged out are unknown at once; their room is
//! taken back when it is needed.

mod table;

use crate::{ConfigError, wire};
use node::{Frame, Node, Out, Port, Time};
use table::{Learned, Table};

/// The VLAN of a frame without a tag.
const DEFAULT_VLAN: u16 = 1;
/// The most stations that can be asked for: 16 Mi, in 800 MB.
const MOST_STATIONS: usize = 1 << 24;

/// What a switch is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// How many ports it has, at least 1.
    pub ports: u16,
    /// How long an address is known after its last frame.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::config::text::parse")
    )]
    pub ageing: Time,
    /// How many addresses are known at once, 1 to 16,777,216.
    pub stations: usize,
    /// Whether each VLAN has its own addresses.
    pub vlan_aware: bool,
    /// Whether frames that a bridge must keep to itself are flooded all the same.
    pub forward_reserved: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: 4,
            ageing: Time::from_secs(300),
            stations: 8192,
            vlan_aware: false,
            forward_reserved: false,
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub struct Switch {
    config: Config,
    table: Table,
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
    /// When it has no port, or `stations` is out of its range.
    pub fn new(config: Config) -> Result<Switch, ConfigError> {
        if config.ports == 0 {
            return Err(ConfigError::new("ports", "a switch has at least 1 port"));
        }
        if !(1..=MOST_STATIONS).contains(&config.stations) {
            let reason = "a switch knows 1 to 16777216 stations";
            return Err(ConfigError::new("stations", reason));
        }
        Ok(Switch {
            table: Table::new(config.stations, config.ageing),
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

    fn flood(&mut self, from: Port, frame: Frame, out: &mut Out) {
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
            out.send(port, copy);
        }
        out.send(last, frame);
    }
}

impl Node for Switch {
    fn ports(&self) -> usize {
        self.config.ports.into()
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
                self.flood(port, frame, out);
            }
            return;
        }
        match self.table.find(now, vlan | destination) {
            Some(known) if known == port => out.drop(frame, "destination on the port of arrival"),
            Some(known) => out.send(known, frame),
            None => self.flood(port, frame, out),
        }
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("packets", self.packets);
        visit("flooded", self.flooded);
        visit("learned", self.learned);
        visit("moved", self.moved);
        visit("not_learned", self.not_learned);
        visit("stations", self.table.len() as u64);
    }
}
