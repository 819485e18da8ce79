//! A replica of the store: learns what is decided, does it in order, and answers clients.
//!
//! What it misses it asks of its peers, and of the coordinator, which has it voted for again. It reports how far it has come, by which
//! the coordinator trims: no further than what every replica has delivered, so that a peer always has what another one misses.
//!
//! - **Ports:** 1.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `delivered`: instances; `no_ops` among them; `repeated`: commands that were decided again, and
//!   not done again; `asked`: times that something was missing; `helped`: decisions that it told peers; `conflicts`: decisions that differ, never more than 0.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`.

use super::{Member, check, fault};
use crate::command::Command;
use crate::learner::Learner;
use crate::message::{Instance, Kind, Message};
use crate::store::Store;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use nodes::ConfigError;
use packet::ethernet::Mac;

/// Decisions that a peer is told at once.
const LOT: u64 = 16;

/// What a replica is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its MAC address.
    pub mac: Mac,
    /// Its address.
    pub address: Ipv4Addr,
    /// Where all messages go.
    pub group: Ipv4Addr,
    /// Which replica it is, from 0.
    pub id: u16,
    /// How many acceptors there are: 1 to 5.
    pub acceptors: usize,
    /// How many instances acceptors remember.
    pub window: usize,
    /// How often it reports how far it has come, and asks for what is missing.
    pub report: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            address: Ipv4Addr::new(198, 18, 0, 1),
            group: Ipv4Addr::new(239, 0, 0, 1),
            id: 0,
            acceptors: 3,
            window: 1024,
            report: Time::from_ms(1),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct Replica {
    member: Member,
    /// The learner.
    pub learner: Learner<Command>,
    store: Store,
    id: u16,
    report: Time,
    next_report: Time,
    /// The next instance at the last report.
    reported: Instance,
    delivered: u64,
    no_ops: u64,
    asked: u64,
    helped: u64,
}

impl Replica {
    /// A replica with nothing in it.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config) -> Result<Replica, ConfigError> {
        check(config.acceptors, config.window)?;
        if config.report < Time::from_us(1) {
            return Err(fault("report", "at least 1 us"));
        }
        Ok(Replica {
            member: Member::new(config.mac, config.address, config.group)?,
            learner: Learner::new(config.acceptors, config.window),
            store: Store::default(),
            id: config.id,
            report: config.report,
            next_report: config.report,
            reported: 0,
            delivered: 0,
            no_ops: 0,
            asked: 0,
            helped: 0,
        })
    }

    /// The store as it is.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn deliver(&mut self, out: &mut Out) {
        while let Some((instance, command)) = self.learner.deliver() {
            self.delivered += 1;
            self.no_ops += u64::from(command.is_no_op());
            let Some(answer) = self.store.apply(&command) else {
                continue;
            };
            let response = Message {
                sender: self.id,
                instance,
                value: Command {
                    value: answer.encode(),
                    ..command
                },
                ..Message::new(Kind::Response)
            };
            self.member.send(&response, out);
        }
    }

    /// Tells a peer what it misses.
    fn help(&mut self, from: Instance, out: &mut Out) {
        for instance in from..from.saturating_add(LOT) {
            let Some(value) = self.learner.decided(instance) else {
                return;
            };
            self.helped += 1;
            let decided = Message {
                instance,
                value,
                ..Message::new(Kind::Decided)
            };
            self.member.send(&decided, out);
        }
    }
}

impl Node for Replica {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.member.receive(frame, out) {
                Some(message) if message.kind == Kind::Learn => self.help(message.instance, out),
                // Where the window is full no vote tells any more that something is missing.
                Some(message) if matches!(message.kind, Kind::Delivered | Kind::Lease) => {
                    self.learner.heard(message.instance);
                }
                Some(message) => self.learner.step(&message),
                None => {}
            }
            self.deliver(out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if now < self.next_report {
            return;
        }
        self.next_report = now + self.report;
        let next = self.learner.next();
        let delivered = Message {
            sender: self.id,
            instance: next,
            high: self.learner.high(),
            ..Message::new(Kind::Delivered)
        };
        self.member.send(&delivered, out);
        if next == self.reported && next <= self.learner.high() {
            self.asked += 1;
            let learn = Message {
                sender: self.id,
                instance: next,
                ..Message::new(Kind::Learn)
            };
            self.member.send(&learn, out);
        }
        self.reported = next;
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next_report)
    }

    fn statistics(&self) -> Statistics {
        let mut counts = Statistics::default();
        counts.counter("received", self.member.received);
        counts.counter("sent", self.member.sent);
        counts.counter("delivered", self.delivered);
        counts.counter("no_ops", self.no_ops);
        counts.counter("repeated", self.store.repeated);
        counts.counter("asked", self.asked);
        counts.counter("helped", self.helped);
        counts.counter("conflicts", self.learner.conflicts);
        counts
    }
}
