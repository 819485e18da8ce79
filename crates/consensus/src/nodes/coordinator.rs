//! A coordinator as a host process, elected by leases.
//!
//! Who leads says so three times a lease, and which instance is next, so that replicas know when they miss something. Who has not heard of it for a lease, and for a while that is longer the
//! later it comes in the order of identities, takes over. Leases are for progress alone: that two lead at once, or clocks go wrong, costs
//! rounds and no agreement.
//!
//! - **Ports:** 1.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `campaigns`: times that it began phase 1, also to let an acceptor in; `proposed`;
//!   `turned_away`: requests that found the window full; `leads`, 1 while it leads; `round`.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`.

use super::{Member, check, fault};
use crate::command::Command;
use crate::coordinator::Coordinator;
use crate::message::{Instance, Kind, Message};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use nodes::ConfigError;
use packet::ethernet::Mac;

/// What a coordinator is made from.
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
    /// Which coordinator, from 1: no other may have the same, and whoever has lost its memory has another one.
    pub identity: u16,
    /// How many acceptors there are: 1 to 5.
    pub acceptors: usize,
    /// How many replicas there are: what all of them have delivered is trimmed.
    pub replicas: usize,
    /// How many instances acceptors remember.
    pub window: usize,
    /// How long it leads without saying so again.
    pub lease: Time,
    /// What was not answered is asked again after this long.
    pub retry: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            address: Ipv4Addr::new(198, 18, 0, 1),
            group: Ipv4Addr::new(239, 0, 0, 1),
            identity: 1,
            acceptors: 3,
            replicas: 1,
            window: 1024,
            lease: Time::from_ms(10),
            retry: Time::from_ms(1),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct CoordinatorNode {
    member: Member,
    /// The coordinator.
    pub coordinator: Coordinator<Command>,
    /// How far each replica has delivered.
    delivered: Vec<Instance>,
    lease: Time,
    retry: Time,
    /// How long after a lease it takes over.
    patience: Time,
    /// When it takes over, unless somebody leads.
    takes_over: Time,
    says_so: Time,
    asks_again: Time,
    out: Vec<Message<Command>>,
    campaigns: u64,
    proposed: u64,
    turned_away: u64,
}

impl CoordinatorNode {
    /// A coordinator that leads once it hears of nobody who does.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config) -> Result<CoordinatorNode, ConfigError> {
        check(config.acceptors, config.window)?;
        if config.identity == 0 {
            return Err(fault("identity", "1 to 65,535"));
        }
        if !(1..=64).contains(&config.replicas) {
            return Err(fault("replicas", "1 to 64"));
        }
        if config.retry < Time::from_us(1) || config.retry > config.lease {
            return Err(fault("retry", "at least 1 us, and at most `lease`"));
        }
        if config.lease > Time::from_secs(3600) {
            return Err(fault("lease", "at most 1 h"));
        }
        let patience = Time::from_ps(config.lease.as_ps() / 4 * u64::from(config.identity - 1));
        Ok(CoordinatorNode {
            member: Member::new(config.mac, config.address, config.group)?,
            coordinator: Coordinator::new(config.identity, config.acceptors, config.window),
            delivered: vec![1; config.replicas],
            lease: config.lease,
            retry: config.retry,
            patience,
            takes_over: Time::from_us(1) + patience,
            says_so: Time::MAX,
            asks_again: Time::MAX,
            out: Vec::new(),
            campaigns: 0,
            proposed: 0,
            turned_away: 0,
        })
    }

    fn take(&mut self, now: Time, message: &Message<Command>) {
        let round = self.coordinator.round();
        match message.kind {
            Kind::Request if self.coordinator.is_leading() => {
                let at = self.coordinator.propose(message.value, &mut self.out);
                let counter = match at {
                    Some(_) => &mut self.proposed,
                    None => &mut self.turned_away,
                };
                *counter += 1;
            }
            Kind::Lease => {
                if message.round >= round {
                    self.takes_over = now + self.lease + self.patience;
                }
                self.coordinator.step(message, &mut self.out);
            }
            Kind::Delivered => {
                if let Some(known) = self.delivered.get_mut(usize::from(message.sender)) {
                    *known = message.instance.max(*known);
                }
                let all = self.delivered.iter().copied().min();
                self.coordinator.trim(all.unwrap_or(1));
            }
            Kind::Learn => self.coordinator.ask_again(message.instance, &mut self.out),
            _ => self.coordinator.step(message, &mut self.out),
        }
        if self.coordinator.round() != round {
            self.began(now);
        }
    }

    /// A round has begun.
    fn began(&mut self, now: Time) {
        self.campaigns += 1;
        self.says_so = now;
        self.asks_again = now + self.retry;
    }

    fn say(&mut self, out: &mut Out) {
        for message in self.out.drain(..) {
            self.member.send(&message, out);
        }
    }
}

impl Node for CoordinatorNode {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            if let Some(message) = self.member.receive(frame, out) {
                self.take(now, &message);
            }
        }
        self.say(out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if self.coordinator.is_following() {
            if self.takes_over <= now {
                self.coordinator.campaign(&mut self.out);
                self.began(now);
                self.takes_over = now + self.lease + self.patience;
            }
        } else {
            if self.says_so <= now {
                // Who asks for promises says so too, so that others wait for what comes of it.
                self.out.push(Message {
                    round: self.coordinator.round(),
                    instance: self.coordinator.next(),
                    ..Message::new(Kind::Lease)
                });
                self.says_so = now + Time::from_ps(self.lease.as_ps() / 3);
            }
            if self.asks_again <= now {
                self.coordinator.retry(&mut self.out);
                self.asks_again = now + self.retry;
            }
            self.takes_over = now + self.lease + self.patience;
        }
        self.say(out);
    }

    fn next_wake(&self) -> Option<Time> {
        Some(match self.coordinator.is_following() {
            true => self.takes_over,
            false => self.says_so.min(self.asks_again),
        })
    }

    fn statistics(&self) -> Statistics {
        let mut counts = Statistics::default();
        counts.counter("received", self.member.received);
        counts.counter("sent", self.member.sent);
        counts.counter("campaigns", self.campaigns);
        counts.counter("proposed", self.proposed);
        counts.counter("turned_away", self.turned_away);
        counts.counter("leads", self.coordinator.is_leading().into());
        counts.counter("round", self.coordinator.round());
        counts
    }
}
