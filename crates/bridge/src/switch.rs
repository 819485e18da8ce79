//! Learning switch (IEEE 802.1Q clause 8), with spanning tree, link aggregation, multicast snooping and port mirrors.
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
//! - **Protocols:** with `stp`, `lag`, `snooping` or `mirror` the switch is a bridge that speaks them: see [`stp`](crate::stp),
//!   [`lacp`](crate::lacp), [`snooping`](crate::snooping) and the fields of [`Config`], with their counters, their tables and drops: `port does
//!   not forward`, `link of a group that does not collect`, `no link of the group distributes`, `group without members`, `came
//!   by a mirror's port`, and BPDUs, LACPDUs and messages that are not valid or too many. Its own frames leave at once.
//!   Without them it does nothing by itself.
//! - **Paper:** 001 figure 6, the learning switch of shell script; 002 section 4.3.3 and figure 4.9, the
//!   inter-packet delays behind two switches.
//!
//! Group addresses are never learned. Addresses that have aged out are unknown at once; their room is
//! taken back when it is needed.

mod config;
mod control;
mod controlled;
mod fabric;
mod report;
mod table;

pub use config::{Arbitration, BadArbitration, Config, Copied, MirrorConfig, Mode, PortConfig};

use crate::wire;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use control::Control;
use fabric::Fabric;
use node::ConfigError;
use node::{Event, Frame, Node, Out, Port, Properties, Statistics, Time, When};
use packet::ethernet::Mac;
use table::{Learned, Table};

/// The VLAN of a frame without a tag.
const DEFAULT_VLAN: u16 = 1;
/// Maximum number of stations that can be configured: 16 Mi, in 800 MB.
const MAX_STATIONS: usize = 1 << 24;

/// See the module's description.
#[derive(Debug)]
pub struct Switch {
    config: Config,
    table: Table,
    fabric: Fabric,
    /// Spanning tree, groups of links, snooping and mirrors, if there are any.
    control: Option<Box<Control>>,
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
            control: Control::new(&config)?.map(Box::new),
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
            forwards: self.config.stp.is_none(),
            statistics_age: self
                .control
                .as_ref()
                .and_then(|control| control.statistics_age()),
            endless: self.control.as_ref().and_then(|control| control.endless()),
            ..Properties::of(self.config.ports.into())
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        if let Some(mut control) = self.control.take() {
            self.start(&mut control, now, out);
            for frame in frames.drain(..) {
                self.controlled(&mut control, now, port, frame, out);
            }
            self.control = Some(control);
            return;
        }
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if let Some(mut control) = self.control.take() {
            self.start(&mut control, now, out);
            control.wake(now);
            self.settle(&mut control, now, out);
            self.control = Some(control);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.control
            .as_ref()
            .and_then(|control| control.next_wake())
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        if let Some(mut control) = self.control.take() {
            control.handle_event(now, event);
            self.settle(&mut control, now, out);
            self.control = Some(control);
        }
    }

    fn statistics(&self) -> Statistics {
        let mut all = Statistics::from([
            ("packets", self.packets),
            ("flooded", self.flooded),
            ("learned", self.learned),
            ("moved", self.moved),
            ("not_learned", self.not_learned),
            ("stations", self.table.len() as u64),
        ]);
        if let Some(control) = &self.control {
            control.count(&mut all);
        }
        all
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
        let mut all = vec![node::outcome::Table {
            name,
            entries: entries.collect(),
        }];
        if let Some(control) = &self.control {
            all.extend(control.tables(now));
        }
        all
    }
}
