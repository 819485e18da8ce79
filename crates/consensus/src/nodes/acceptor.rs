//! An acceptor as a host process: what an acceptor in a switch is held against.
//!
//! - **Ports:** as configured, 1 by default.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `voted`; `refused`; `admitted`, 1 while it takes part; `high`: the highest instance that
//!   it voted in.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`.

use super::{Member, check, fault};
use crate::acceptor::Acceptor;
use crate::command::Command;
use crate::message::{ACCEPTORS, Kind};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use nodes::ConfigError;
use packet::ethernet::Mac;

/// What an acceptor is made from.
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
    /// How many ports: 1 to 16.
    pub ports: u16,
    /// Which acceptor it is, from 0.
    pub id: u16,
    /// How many instances it remembers.
    pub window: usize,
    /// When it starts again without its memory, in rising order.
    pub restarts: Vec<Time>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            address: Ipv4Addr::new(198, 18, 0, 1),
            group: Ipv4Addr::new(239, 0, 0, 1),
            ports: 1,
            id: 0,
            window: 1024,
            restarts: Vec::new(),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct AcceptorNode {
    member: Member,
    /// The acceptor.
    pub acceptor: Acceptor<Command>,
    /// The last first.
    restarts: Vec<Time>,
    voted: u64,
    refused: u64,
}

impl AcceptorNode {
    /// An acceptor that begins with its group.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config) -> Result<AcceptorNode, ConfigError> {
        check(1, config.window)?;
        if usize::from(config.id) >= ACCEPTORS {
            return Err(fault("id", "0 to 4"));
        }
        if !config.restarts.is_sorted() {
            return Err(fault("restarts", "times in rising order"));
        }
        Ok(AcceptorNode {
            member: Member::new(config.mac, config.address, config.group, config.ports)?,
            acceptor: Acceptor::formed(config.id, config.window),
            restarts: config.restarts.into_iter().rev().collect(),
            voted: 0,
            refused: 0,
        })
    }
}

impl Node for AcceptorNode {
    fn properties(&self) -> Properties {
        Properties::of(self.member.ports.into())
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let Some(message) = self.member.receive(frame, out) else {
                continue;
            };
            if let Some(answer) = self.acceptor.step(&message) {
                self.voted += u64::from(answer.kind == Kind::Phase2B);
                self.refused += u64::from(answer.kind == Kind::Refused);
                self.member.send_by(port, &answer, out);
            }
        }
    }

    fn wake(&mut self, now: Time, _: &mut Out) {
        while self.restarts.pop_if(|at| *at <= now).is_some() {
            let (id, boot) = (self.acceptor.id, self.acceptor.boot.saturating_add(1));
            self.acceptor = Acceptor::restarted(id, boot, self.acceptor.cells.len());
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.restarts.last().copied()
    }

    fn statistics(&self) -> Statistics {
        let mut counts = Statistics::default();
        counts.counter("received", self.member.received);
        counts.counter("sent", self.member.sent);
        counts.counter("voted", self.voted);
        counts.counter("refused", self.refused);
        counts.counter("admitted", self.acceptor.admitted.into());
        counts.counter("high", self.acceptor.high);
        counts
    }
}
