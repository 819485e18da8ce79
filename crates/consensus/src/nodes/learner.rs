//! A learner without a store: gives what is decided, in order, from where it came in.
//!
//! It begins where the first replica that it hears has come to, and asks replicas for what it misses after that. Nobody waits for it: what
//! it misses for longer than replicas remember it passes over, and counts.
//!
//! - **Ports:** as configured, 1 by default.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `delivered`: instances; `asked`: times that something was missing; `skipped`: instances that it
//!   has missed; `conflicts`: decisions that differ, never more than 0.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`, `not authentic`, `beyond the window`.

use super::{Member, check};
use crate::command::{Command, Value};
use crate::configuration::Configuration;
use crate::key::Key;
use crate::learner::Learner;
use crate::message::{Instance, Kind, Message};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// What a learner is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its MAC address.
    pub mac: Mac,
    /// Its address.
    pub address: Ipv4Addr,
    /// Where all messages go.
    pub group: Ipv4Addr,
    /// How many ports: 1 to 16.
    pub ports: u16,
    /// The key of the group; `None`: messages have no tags, and all are taken.
    pub key: Option<Key>,
    /// How many acceptors there are: 1 to 5.
    pub acceptors: usize,
    /// How many instances acceptors remember.
    pub window: usize,
    /// How often it asks for what is missing.
    pub ask: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            address: Ipv4Addr::new(198, 18, 0, 1),
            group: Ipv4Addr::new(239, 0, 0, 1),
            ports: 1,
            key: None,
            acceptors: 3,
            window: 1024,
            ask: Time::from_ms(10),
        }
    }
}

/// Takes what was decided.
pub type Tell = Box<dyn FnMut(Instance, &Command) + Send>;

/// The node.
pub struct LearnerNode {
    member: Member,
    learner: Learner<Command>,
    window: u64,
    tell: Tell,
    /// Whether it knows where it came in.
    began: bool,
    /// The highest instance that a replica has delivered: it knows the acceptors up to a window above it.
    known: Instance,
    ask: Time,
    next_ask: Time,
    /// The next instance when it last looked.
    before: Instance,
    delivered: u64,
    asked: u64,
    skipped: u64,
}

impl LearnerNode {
    /// One that has heard nothing yet.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config, tell: Tell) -> Result<LearnerNode, ConfigError> {
        check(config.acceptors, config.window)?;
        if config.ask < Time::from_us(1) {
            return Err(ConfigError::new("ask", "at least 1 us"));
        }
        Ok(LearnerNode {
            member: Member::new(
                config.mac,
                config.address,
                config.group,
                config.ports,
                config.key,
            )?,
            learner: Learner::new(config.acceptors, config.window),
            window: config.window as u64,
            tell,
            began: false,
            known: 0,
            ask: config.ask,
            next_ask: config.ask,
            before: 0,
            delivered: 0,
            asked: 0,
            skipped: 0,
        })
    }

    /// A replica has delivered what is below an instance.
    fn heard(&mut self, below: Instance, members: &Value) {
        if let Some(members) = Configuration::decode(members)
            && members.version > self.learner.configuration().version
        {
            self.learner.configure(members);
        }
        self.known = self.known.max(below);
        let next = self.learner.next();
        if !self.began {
            self.began = true;
            self.learner.resume(below);
        } else if below > next.saturating_add(self.window) {
            // Replicas have forgotten what comes next.
            self.skipped += below - next;
            self.learner.resume(below);
        }
        self.learner.heard(below);
    }
}

impl Node for LearnerNode {
    fn properties(&self) -> Properties {
        Properties::of(self.member.ports.into())
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.member.receive(frame, out) {
                Some(message) if message.kind == Kind::Delivered => {
                    self.heard(message.instance, &message.value.value);
                }
                Some(message)
                    if self.began && message.instance < self.known.saturating_add(self.window) =>
                {
                    self.learner.step(&message);
                }
                _ => {}
            }
            while let Some((instance, command)) = self.learner.deliver() {
                self.delivered += 1;
                (self.tell)(instance, &command);
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if now < self.next_ask {
            return;
        }
        self.next_ask = now + self.ask;
        let next = self.learner.next();
        if self.began && next == self.before && next <= self.learner.high() {
            self.asked += 1;
            let learn = Message {
                instance: next,
                ..Message::new(Kind::Learn)
            };
            self.member.send(&learn, out);
        }
        self.before = next;
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next_ask)
    }

    fn statistics(&self) -> Statistics {
        [
            ("received", self.member.received),
            ("sent", self.member.sent),
            ("delivered", self.delivered),
            ("asked", self.asked),
            ("skipped", self.skipped),
            ("conflicts", self.learner.conflicts),
        ]
        .into()
    }
}
