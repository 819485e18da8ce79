//! OpenFlow switch (OpenFlow 1.0.2 and 1.3.5).
//!
//! Frames go through flow tables that controllers fill. All is one state in one thread: a message is carried out before the
//! next one is read, so that after a barrier's reply has left no packet sees what was before.
//!
//! - **Ports:** `ports` data ports, OpenFlow's 1 to n; behind them `controllers` control ports by which the switch opens
//!   connections, and `listeners` by which it accepts them. Control ports carry [segments](packet::segment).
//! - **Parameters:** `ports`, 4. `controllers`, 1. `listeners`, 0. `auxiliary`, 0: connections beside the main one to each
//!   controller. `datapath_id`, 1. `protocols`, `["1.0", "1.3"]`. `tables`, 255: how many flow tables. `flows`, 1,000,000: the
//!   most entries of a table. `eviction`, false: whether a full table gives up the entry that would time out first. `buffers`,
//!   256: packets kept for controllers, for `buffer_life`, 1 s, at least. `miss_send_len`, 128: bytes of a packet without an
//!   entry that go to the controller. `fail_mode`, secure, or standalone: what the switch does without a controller - goes on
//!   with the entries that it has, or forwards by learned addresses. `entries`, none: those that are there from the start, in the
//!   syntax of ovs-ofctl, and so are `groups` and `meters`, none. `rate`, 1 Gb/s: of the data ports, as controllers are
//!   told it. `queues`, none: of ports, each with `port`, `queue`, `min_rate` and `max_rate` in tenths of a percent of the
//!   rate; with a least rate of any queue, the port sends at `rate` and its queues share that: each has its least rate, what
//!   none was promised is shared by the queues without one and by frames of no queue. `names`, `eth1` and so on. `idle`, 5 s: silence before a controller is asked for an echo.
//!   `seed`, 0: of hashes.
//! - **Counters:** `packets`; `messages` and `errors` of controllers; `packet_ins`: packets sent to controllers, one for each;
//!   `packet_ins_dropped`: not sent, since a controller does not read as fast; `packet_ins_unacknowledged`: of those sent, the
//!   ones that a controller had not acknowledged when its connection ended; `flows`; `connections`: there are.
//! - **Drops:** `no entry matches`, `no action outputs it`, `the port is down or does not receive`, `the port is down or does not
//!   forward`, `output to a port that there is not`, `a queue is full`, `a fragment`, `shorter than an Ethernet header`, `above a
//!   meter's rate`, `an invalid TTL`. Only for a packet without another output: `output to the port of arrival`, `no other port`,
//!   `reserved address`, `destination on the port of arrival`. Of packets for controllers: `no controller takes it`, `no controller
//!   reads`, `the port keeps its packets from controllers`, `too many copies for controllers`. Every copy of a packet leaves by a port,
//!   is sent to a controller, or is a drop.
//! - **Paper:** 003 chapter 3, whose switches these figures are to be compared with.

mod async_messages;
mod buffers;
mod bundle;
mod cache;
mod check;
mod config;
mod datapath;
mod features;
mod field_list;
mod flow_mod;
mod group_mod;
mod groups;
mod journal;
mod learning;
mod meters;
mod multipart;
mod pipeline_packet;
mod ports;
mod program;
mod queues;
mod request;
mod session;
mod table_features;

#[cfg(test)]
mod tests;

pub use config::{Config, DisciplineConfig, FailMode, QueueConfig};

use crate::channel::{Batch, Channels, Event, Settings};
use crate::handshake::Handshake;
use crate::message::{Change, FlowCommand, PortReason};
use crate::table::Flows;
use crate::text::{Flow, Group, Meter};
use crate::version::Version;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use buffers::Buffers;
use datapath::Datapath;
use learning::Learning;
use node::ConfigError;
use node::budget::Budget;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use ports::DataPort;
use queues::{Queue, Queues};
use session::Session;

#[derive(Debug)]
pub struct Switch {
    config: Config,
    datapath: Datapath,
    channels: Channels,
    handshake: Handshake,
    /// By the index of their peers.
    sessions: Vec<Option<Session>>,
    budget: Budget,
    /// The highest generation of a role that was asked for.
    generation: Option<u64>,
    miss_send_len: u16,
    flags: u16,
    /// Controllers that are told statistics in part.
    unfinished: usize,
    counters: Counters,
}

/// What the switch has done.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    packets: u64,
    messages: u64,
    errors: u64,
    packet_ins: u64,
    packet_ins_dropped: u64,
}

/// Packets that are looked up at once.
const AT_ONCE: usize = 64;

/// What waits for a controller before it gets no more packet-ins, bytes.
const PATIENT: usize = 128 << 10;

impl Switch {
    /// A switch without entries.
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(config: Config) -> Result<Switch, ConfigError> {
        config.check()?;
        let rate = config.rate;
        let ports = (0..config.ports).map(|index| {
            let number = u32::from(index) + 1;
            let queues = config.queues.iter().filter(|q| u32::from(q.port) == number);
            let mut disciplines = config.disciplines.iter();
            let discipline = disciplines.find(|own| u32::from(own.port) == number);
            DataPort {
                number,
                node_port: Port(index),
                name: config.name(index),
                hardware: config.hardware(index),
                config: 0,
                link: true,
                advertised: 0,
                rate,
                counters: ports::Counters::default(),
                created: Time::ZERO,
                queues: match discipline {
                    Some(own) => {
                        let queues = queues.map(|q| {
                            let [least, most] = own.rates(q.queue, rate);
                            Queue::new(q.queue, least, most, rate)
                        });
                        let seed = config.seed.wrapping_add(number.into());
                        Queues::disciplined(queues.collect(), rate, &own.discipline, seed)
                    }
                    None => {
                        let queues =
                            queues.map(|q| Queue::new(q.queue, q.min_rate, q.max_rate, rate));
                        Queues::new(queues.collect(), rate)
                    }
                },
            }
        });
        let mut datapath = Datapath::new(
            Flows::new(config.tables.into(), config.seed),
            config.flows,
            ports.collect(),
            Buffers::new(config.buffers.into(), config.buffer_life),
            Learning::new(config.seed),
        );
        datapath.evicts = config.eviction;
        datapath.standalone = config.fail_mode == FailMode::Standalone;
        prepare(&mut datapath, &config)?;
        let settings = Settings {
            limit: 1 << 30,
            idle: config.idle,
            patience: config.idle,
            ..Settings::default()
        };
        let mut channels = Channels::new(settings);
        for controller in 0..config.controllers {
            for connection in 0..=u32::from(config.auxiliary) {
                channels.dial(Port(config.ports + controller), connection);
            }
        }
        Ok(Switch {
            handshake: Handshake::new(&config.protocols),
            miss_send_len: config.miss_send_len,
            config,
            datapath,
            channels,
            sessions: Vec::new(),
            budget: Budget::new(session::MEMORY),
            generation: None,
            flags: 0,
            unfinished: 0,
            counters: Counters::default(),
        })
    }

    /// Bytes that wait for controllers.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        let sessions = self.sessions.iter().flatten();
        sessions.map(|s| self.channels.backlog(s.peer)).sum()
    }

    /// Works through what a control port has brought.
    fn work(&mut self, now: Time, mut batch: Batch, out: &mut Out) {
        loop {
            while let Some(event) = batch.next(&mut self.channels) {
                match event {
                    Event::Opened(peer) => self.opened(peer),
                    Event::Message(peer, bytes) => {
                        self.counters.messages += 1;
                        self.message(now, peer, bytes, out);
                    }
                    Event::Closed(peer, _) => self.closed(peer),
                }
            }
            self.send_async(now, out);
            self.channels.finish(batch, out);
            if self.unfinished == 0 {
                return;
            }
            match self.tell_on(now) {
                Some(next) => batch = next,
                None => return self.channels.flush(out),
            }
        }
    }
}

/// Puts the meters, groups and entries of a configuration in.
fn prepare(datapath: &mut Datapath, config: &Config) -> Result<(), ConfigError> {
    let (start, version) = (Time::ZERO, Version::V13);
    for text in &config.meters {
        let read = Meter::parse(text).map_err(|error| error.to_string());
        let added = read.and_then(|meter| {
            let added = datapath.meter_mod(start, &meter.message(Change::Add));
            added.map_err(|fault| fault.to_string())
        });
        added.map_err(|reason| refused("meters", text, &reason))?;
    }
    for text in &config.groups {
        let read = Group::parse(text).map_err(|error| error.to_string());
        let added = read.and_then(|group| {
            let added = datapath.group_mod(start, &group.message(Change::Add));
            added.map_err(|fault| fault.to_string())
        });
        added.map_err(|reason| refused("groups", text, &reason))?;
    }
    for text in &config.entries {
        let read = Flow::parse(version, text).map_err(|error| error.to_string());
        let added = read.and_then(|flow| {
            let added = datapath.flow_mod(start, version, &flow.message(FlowCommand::Add));
            added.map_err(|fault| fault.to_string())
        });
        added.map_err(|reason| refused("entries", text, &reason))?;
    }
    Ok(())
}

fn refused(key: &'static str, text: &str, reason: &str) -> ConfigError {
    let reason = format!("`{text}`: {reason}");
    ConfigError { key, reason }
}

impl Node for Switch {
    fn properties(&self) -> Properties {
        let Config {
            ports,
            controllers,
            listeners,
            ..
        } = self.config;
        let all = usize::from(ports) + usize::from(controllers) + usize::from(listeners);
        Properties {
            endless: (controllers > 0).then_some(crate::channel::ENDLESS),
            ..Properties::of(all)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        if port.0 >= self.config.ports {
            for frame in frames.drain(..) {
                let batch = self.channels.frame(now, port, frame);
                self.work(now, batch, out);
            }
            return;
        }
        // So many that what there is to tell does not pile up.
        while !frames.is_empty() {
            let some = frames.drain(..frames.len().min(AT_ONCE));
            self.counters.packets += some.len() as u64;
            self.datapath.receive_each(now, port.index(), some, out);
            if self.has_news() {
                self.send_async(now, out);
                self.channels.flush(out);
            }
        }
    }

    fn event(&mut self, _now: Time, event: &node::Event, out: &mut Out) {
        let (node::event::What::Link(up), port) = (event.what, event.port) else {
            return;
        };
        // Without the link to a controller there is silence, and that is found out.
        let Some(own) = self.datapath.ports.get_mut(port.index()) else {
            return;
        };
        if up == own.link {
            return;
        }
        let number = own.number;
        match up {
            true => own.link = true,
            false => {
                own.lose_link(out);
                self.datapath.learning.forget(number);
            }
        }
        self.tell_port(port.index(), PortReason::Modify);
        self.channels.flush(out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.datapath.expire(now);
        for port in &mut self.datapath.ports {
            port.serve(now, out);
        }
        let batch = self.channels.wake(now);
        self.work(now, batch, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let shaped = self.datapath.ports.iter().filter_map(DataPort::next_wake);
        let times = [self.channels.next_wake(), self.datapath.flows.next_expiry()];
        times.into_iter().flatten().chain(shaped.min()).min()
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        let Counters {
            packets,
            messages,
            errors,
            packet_ins,
            packet_ins_dropped,
        } = self.counters;
        let tables = 0..self.config.tables;
        let flows: usize = tables.map(|table| self.datapath.flows.len(table)).sum();
        let connections = self.sessions.iter().flatten().count();
        statistics.counter("packets", packets);
        statistics.counter("messages", messages);
        statistics.counter("errors", errors);
        statistics.counter("packet_ins", packet_ins);
        statistics.counter("packet_ins_dropped", packet_ins_dropped);
        let unacknowledged = self.channels.counters().unacknowledged;
        statistics.counter("packet_ins_unacknowledged", unacknowledged);
        statistics.counter("flows", flows as u64);
        statistics.counter("connections", connections as u64);
        statistics
    }

    fn tables(&self, now: Time) -> Vec<node::outcome::Table> {
        self.datapath.shown(now)
    }
}
