//! A proposer: has values decided, one after the other, and gives what came of each: `submit` of the paper (002, section 3.5.2).
//!
//! It opens a session first, in which it counts what it asks for. A value is asked for again until a replica has answered, and done once. Where the session was
//! closed in between, whether the value was done is not known: it asks for nothing more.
//!
//! - **Ports:** as configured, 1 by default.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `answered`: values; `retries`; `closed`: 1 when its session was closed.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`, `not authentic`, `beyond the window`.

use super::Member;
use super::patience::Patience;
use crate::command::{Command, Value};
use crate::key::Key;
use crate::message::{Instance, Kind, Message};
use crate::store::{Answer, OPENS, Open, Opened};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// What a proposer is made from.
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
    /// Random bits, which no other start has.
    pub nonce: u128,
    /// The name of its session: another one of this name closes it; 0 for none.
    pub name: u32,
    /// Asks again after this long.
    pub timeout: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            address: Ipv4Addr::new(198, 18, 0, 1),
            group: Ipv4Addr::new(239, 0, 0, 1),
            ports: 1,
            key: None,
            nonce: 0,
            name: 0,
            timeout: Time::from_ms(100),
        }
    }
}

/// What came of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Which of the values, from 0.
    pub number: usize,
    /// In which instance it was decided.
    pub instance: Instance,
    /// What the replica's application says.
    pub answer: Value,
    /// From the first request to the answer.
    pub took: Time,
}

/// Takes what came of values, in their order.
pub type Tell = Box<dyn FnMut(Answered) + Send>;

/// The node.
pub struct Proposer {
    member: Member,
    open: Open,
    /// The number that it is granted.
    client: Option<u32>,
    closed: bool,
    patience: Patience,
    values: Vec<Value>,
    tell: Tell,
    answered: usize,
    retries: u64,
    /// When the value under way was first asked for; `None` of none.
    begun: Option<Time>,
    /// How often, and how long it waits now.
    asked: u32,
    wait: Time,
    asks: Time,
    port: u16,
}

impl Proposer {
    /// One that submits these values.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config, values: Vec<Value>, tell: Tell) -> Result<Proposer, ConfigError> {
        if config.timeout < Time::from_us(1) {
            return Err(ConfigError::new("timeout", "at least 1 us"));
        }
        Ok(Proposer {
            member: Member::new(
                config.mac,
                config.address,
                config.group,
                config.ports,
                config.key,
            )?,
            open: Open {
                nonce: config.nonce,
                name: config.name,
            },
            client: None,
            closed: false,
            patience: Patience::new(config.timeout),
            values,
            tell,
            answered: 0,
            retries: 0,
            begun: None,
            asked: 0,
            wait: Time::ZERO,
            asks: Time::ZERO,
            port: 0,
        })
    }

    fn answer(&mut self, now: Time, message: &Message<Command>, out: &mut Out) {
        let command = &message.value;
        if let Some(opened) = Opened::decode(&command.value)
            && command.client == OPENS
            && self.client.is_none()
            && opened.nonce == self.open.nonce
        {
            self.client = Some(opened.client);
            self.begun = None;
            self.asked = 0;
            return self.ask(now, out);
        }
        let own =
            Some(command.client) == self.client && command.sequence == self.answered as u32 + 1;
        let Some(begun) = self.begun.filter(|_| own) else {
            return;
        };
        if Answer::decode(&command.value) == Some(Answer::Closed) {
            self.closed = true;
            return;
        }
        (self.tell)(Answered {
            number: self.answered,
            instance: message.instance,
            answer: command.value,
            took: now - begun,
        });
        self.answered += 1;
        self.begun = None;
        self.patience.answered(now - begun, self.asked);
        self.asked = 0;
        self.ask(now, out);
    }

    fn ask(&mut self, now: Time, out: &mut Out) {
        let Some(value) = self.values.get(self.answered) else {
            return;
        };
        let value = match self.client {
            Some(client) => Command {
                client,
                sequence: self.answered as u32 + 1,
                value: *value,
            },
            None => Command {
                client: OPENS,
                sequence: 0,
                value: self.open.encode(),
            },
        };
        if self.begun.is_some() {
            self.retries += 1;
            self.port = (self.port + 1) % self.member.ports;
        }
        self.begun.get_or_insert(now);
        self.asked += 1;
        self.wait = self.patience.wait(self.asked, self.wait);
        self.asks = now + self.wait;
        let request = Message {
            value,
            ..Message::new(Kind::Request)
        };
        self.member.send_by(Port(self.port), &request, out);
    }
}

impl Node for Proposer {
    fn properties(&self) -> Properties {
        Properties::of(self.member.ports.into())
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.member.receive(frame, out) {
                Some(message) if message.kind == Kind::Response => self.answer(now, &message, out),
                _ => {}
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if self.asks <= now {
            self.ask(now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        (self.answered < self.values.len() && !self.closed).then_some(self.asks)
    }

    fn statistics(&self) -> Statistics {
        [
            ("received", self.member.received),
            ("sent", self.member.sent),
            ("answered", self.answered as u64),
            ("retries", self.retries),
            ("closed", self.closed.into()),
        ]
        .into()
    }
}
