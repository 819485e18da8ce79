//! Clients of the store, as many as wanted in one node: each asks for one operation after the other, and asks again until it is answered.
//! What they saw is checked for linearizability.
//!
//! **Closed loop:** a client asks `pause` after it was answered. **Open loop:** its operations are due every `interval`, whether the one before is answered
//! or not; one that is due earlier than it can be asked waits, and its latency is from when it was due.
//!
//! **Asking again:** after `timeout`, or what answers take if that is longer, and later each time that it was in vain, so that a group that has more to do than
//! it can is not asked for still more.
//!
//! - **Ports:** as configured, 1 by default, and with `answers` one more.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `asked`, `answered`: operations; `retries`; `closed`: sessions, where clients open any; `linearizable`: 1 when what was seen could have been seen
//!   of one store, 0 when not; `latency_median_ps`, `latency_p99_ps`, `latency_max_ps`, from the first request, or when it was due, to the answer;
//!   `longest_pause_ps`: the longest time without an answer to anybody, while something was asked.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`, `not authentic`, `beyond the window`.

use super::Member;
use super::patience::Patience;
use crate::command::{Command, Value};
use crate::history::{Entry, History};
use crate::key::Key;
use crate::message::{Kind, Message};
use crate::store::{Answer, FIRST_SESSION, OPENS, Open, Opened, Operation};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::outcome::{Flow, Times, Verdict};
use node::random::Random;
use node::{Frame, Histogram, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// Maximum number of operations of a node; the node remembers all of them.
const MAX_OPERATIONS: u64 = 1_000_000;

/// Configuration of clients.
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
    /// The key of the group; `None`: messages have no tags, and all are taken.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub key: Option<Key>,
    /// Whether there is one more, the last, by which a replica answers and nothing leaves.
    pub answers: bool,
    /// The number of the first client, from 1: others follow, below [`FIRST_SESSION`], and no two in a group may be the same.
    pub first: u32,
    /// Random bits, which no other start has: each client opens a session, in place of the number that follows from `first`.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub nonce: Option<u128>,
    /// The name of the first client's session, and of each other's the next: another session of the same name closes it. 0 for none.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub name: u32,
    /// How many clients: 1 to 1024.
    pub clients: u32,
    /// How many operations each asks for.
    pub count: u32,
    /// From how many keys.
    pub keys: u64,
    /// The first of them. What is checked holds of keys in which nothing was before, and that nobody else writes.
    pub first_key: u64,
    /// Between an answer and the next operation.
    pub pause: Time,
    /// From when an operation of a client is due to when its next one is; 0 for a closed loop.
    pub interval: Time,
    /// Asks again after this long at least.
    pub timeout: Time,
    /// When they begin.
    pub start: Time,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            address: Ipv4Addr::new(198, 18, 0, 1),
            group: Ipv4Addr::new(239, 0, 0, 1),
            ports: 1,
            key: None,
            answers: false,
            first: 1,
            nonce: None,
            name: 0,
            clients: 1,
            count: 100,
            keys: 8,
            first_key: 0,
            pause: Time::ZERO,
            interval: Time::ZERO,
            timeout: Time::from_ms(5),
            start: Time::from_ms(1),
            seed: 0,
        }
    }
}

/// One client.
#[derive(Clone, Copy, Debug)]
struct Client {
    /// Its number, once it has one.
    number: Option<u32>,
    /// The operation that it waits for, by its place in the history.
    waits: Option<usize>,
    sequence: u32,
    /// By which port it asks; again it asks by all.
    port: u16,
    /// How often it has asked for what it waits for, and how long it waits now.
    asked: u32,
    wait: Time,
    /// Whether the operation before was asked for more than once.
    troubled: bool,
    /// When it asks, for the first time or again.
    asks: Time,
    /// When the operation that it waits for, or asks for next, was due.
    due: Time,
}

/// The node.
pub struct ClientNode {
    member: Member,
    config: Config,
    clients: Vec<Client>,
    /// Clients by granted number.
    numbers: BTreeMap<u32, usize>,
    history: History,
    random: Random,
    patience: Patience,
    latencies: Histogram,
    round_trip: Times,
    last_answer: Time,
    longest_pause: Time,
    answered: u64,
    retries: u64,
    closed: u64,
}

impl ClientNode {
    /// Clients that have asked for nothing yet.
    ///
    /// # Errors
    /// What is wrong with their configuration.
    pub fn new(config: Config) -> Result<ClientNode, ConfigError> {
        if !(1..=1024).contains(&config.clients) {
            return Err(ConfigError::new("clients", "1 to 1024"));
        }
        let numbers = 1..FIRST_SESSION - config.clients;
        if !numbers.contains(&config.first) {
            return Err(ConfigError::new(
                "first",
                "1 or more, so that all clients have a number below 65,536",
            ));
        }
        if u64::from(config.clients) * u64::from(config.count) > MAX_OPERATIONS {
            return Err(ConfigError::new(
                "count",
                "at most 1,000,000 operations in all",
            ));
        }
        if config.keys == 0 || config.first_key.checked_add(config.keys).is_none() {
            return Err(ConfigError::new(
                "keys",
                "at least 1, and the last of them below 2^64",
            ));
        }
        if config.timeout < Time::from_us(1) {
            return Err(ConfigError::new("timeout", "at least 1 us"));
        }
        if config.pause > Time::ZERO && config.interval > Time::ZERO {
            return Err(ConfigError::new(
                "interval",
                "a pause is for a closed loop: one of the two",
            ));
        }
        let client = |number| Client {
            number: match config.nonce {
                None => Some(config.first + number),
                Some(_) => None,
            },
            waits: None,
            sequence: 0,
            port: 0,
            asked: 0,
            wait: Time::ZERO,
            troubled: false,
            asks: match config.count {
                0 => Time::MAX,
                _ => config.start,
            },
            due: config.start,
        };
        Ok(ClientNode {
            member: Member::new(
                config.mac,
                config.address,
                config.group,
                config.ports,
                config.key,
            )?,
            clients: (0..config.clients).map(client).collect(),
            numbers: BTreeMap::new(),
            history: History::default(),
            random: Random::new(config.seed),
            patience: Patience::new(config.timeout),
            latencies: Histogram::with_precision(7),
            round_trip: Times::default(),
            last_answer: config.start,
            longest_pause: Time::ZERO,
            answered: 0,
            retries: 0,
            closed: 0,
            config,
        })
    }

    /// What the clients saw.
    pub fn history(&self) -> &History {
        &self.history
    }

    fn draw(&mut self) -> Operation {
        let key = self.config.first_key + self.random.below(self.config.keys);
        // So that no two values are the same, but now and then one that may be there.
        let new = self.history.entries.len() as u64 + u64::from(self.config.first) * MAX_OPERATIONS;
        match self.random.below(4) {
            0 => Operation::Put(key, new),
            1 => Operation::Swap(key, self.seen(key), new),
            _ => Operation::Get(key),
        }
    }

    /// What was last seen under a key.
    fn seen(&self, key: u64) -> u64 {
        let entries = self.history.entries.iter().rev().take(64);
        let mut seen = entries.filter_map(|entry| match (entry.operation, entry.answered?.1) {
            (Operation::Get(of), Answer::Found(item)) if of == key => Some(item),
            (Operation::Swap(of, ..), Answer::Differs(item)) if of == key => Some(item),
            (Operation::Put(of, item), _) if of == key => Some(item),
            _ => None,
        });
        seen.next().unwrap_or(0)
    }

    fn ask(&mut self, number: usize, now: Time, out: &mut Out) {
        let (waits, granted) = (self.clients[number].waits, self.clients[number].number);
        self.retries += u64::from(self.clients[number].asked > 0);
        let place = match waits {
            Some(place) => Some(place),
            None if granted.is_none() => None,
            None => {
                let operation = self.draw();
                self.history.entries.push(Entry {
                    operation,
                    asked: now.as_ps(),
                    answered: None,
                });
                self.clients[number].sequence += 1;
                Some(self.history.entries.len() - 1)
            }
        };
        let client = &mut self.clients[number];
        let (port, again) = (Port(client.port), client.asked > 0);
        client.asked += 1;
        client.waits = place;
        client.wait = self.patience.wait(client.asked, client.wait);
        // Again at random, between three and five quarters of it, so that not all who have waited ask at once.
        let quarter = client.wait.as_ps() / 4;
        client.asks = now
            + match again {
                true => Time::from_ps(3 * quarter + self.random.below(2 * quarter)),
                false => client.wait,
            };
        let value = match (granted, place) {
            (Some(client_number), Some(place)) => Command {
                client: client_number,
                sequence: client.sequence,
                value: self.history.entries[place].operation.encode(),
            },
            _ => Command {
                client: OPENS,
                sequence: 0,
                value: open_of(&self.config, number as u32).encode(),
            },
        };
        let request = Message {
            value,
            ..Message::new(Kind::Request)
        };
        match again {
            true => self.member.send(&request, out),
            false => self.member.send_by(port, &request, out),
        }
    }

    fn answer(&mut self, now: Time, command: &Command) {
        if command.client == OPENS {
            return self.opened(now, &command.value);
        }
        let number = match self.config.nonce {
            None => Some(command.client.wrapping_sub(self.config.first) as usize),
            Some(_) => self.numbers.get(&command.client).copied(),
        };
        let Some(client) = number.and_then(|number| self.clients.get_mut(number)) else {
            return;
        };
        let answer = Answer::decode(&command.value);
        let (Some(place), Some(answer)) = (client.waits, answer) else {
            return;
        };
        if client.sequence != command.sequence {
            return;
        }
        if answer == Answer::Closed {
            // Whether it was done is not known.
            client.waits = None;
            client.asks = Time::MAX;
            self.closed += 1;
            return;
        }
        let entry = &mut self.history.entries[place];
        let took = now - Time::from_ps(entry.asked).min(now);
        self.patience.answered(took, client.asked);
        entry.answered = Some((now.as_ps(), answer));
        let took = now - client.due.min(now);
        self.latencies.record(took.as_ps());
        self.round_trip.add(took);
        client.waits = None;
        let again = client.asked > 1;
        client.asked = 0;
        // One frame may be lost. Where that happens twice, nobody who leads is behind this port any more.
        if again && client.troubled {
            client.port = (client.port + 1) % self.config.ports;
        }
        client.troubled = again && !client.troubled;
        client.due = match self.config.interval {
            Time::ZERO => now + self.config.pause,
            interval => client.due + interval,
        };
        client.asks = match client.sequence >= self.config.count {
            true => Time::MAX,
            false => client.due,
        };
        self.answered += 1;
        self.longest_pause = self.longest_pause.max(now - self.last_answer);
        self.last_answer = now;
    }

    /// A session is granted to the client with this nonce; it asks at once.
    fn opened(&mut self, now: Time, value: &Value) {
        let (Some(opened), Some(first)) = (Opened::decode(value), self.config.nonce) else {
            return;
        };
        let number = opened.nonce.wrapping_sub(first);
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let client = self.clients.get_mut(number);
        if let Some(client) = client.filter(|client| client.number.is_none()) {
            client.number = Some(opened.client);
            client.asked = 0;
            client.asks = now;
            self.numbers.insert(opened.client, number);
        }
    }

    fn is_done(&self) -> bool {
        self.answered == u64::from(self.config.clients) * u64::from(self.config.count)
    }

    /// What is to be said of the run.
    fn verdict(&self) -> Verdict {
        let wrong = self.history.wrong_key();
        let verdict = match wrong {
            None => "linearizable".to_string(),
            Some(key) => format!("NOT linearizable, by what was seen of key {key}"),
        };
        let all = u64::from(self.config.clients) * u64::from(self.config.count);
        let [median, most] = [
            self.latencies.value_at(1, 2),
            self.latencies.value_at(99, 100),
        ]
        .map(|ps| ps as f64 / 1e6);
        let seconds = (self.last_answer - self.config.start).as_secs_f64();
        let rate = match seconds > 0.0 {
            true => self.answered as f64 / seconds,
            false => 0.0,
        };
        Verdict {
            told: format!(
                "{verdict}: {} of {all} operations answered, {rate:.0} a second, latency median {median:.1} us, 99 % {most:.1} us, longest pause {:.2} ms",
                self.answered,
                self.longest_pause.as_ps() as f64 / 1e9,
            ),
            holds: wrong.is_none(),
        }
    }

    /// The conversation of all clients with the store.
    fn flow(&self) -> Flow {
        let asked = self.history.entries.len() as u64;
        Flow {
            program: "store",
            from: self.config.address.to_string(),
            to: self.config.group.to_string(),
            begun: self.config.start,
            ended: self.last_answer,
            done: self.is_done(),
            packets: asked,
            lost: asked - self.answered,
            resent: self.retries,
            round_trip: self.round_trip,
            ..Flow::default()
        }
    }
}

/// The request for a session by which a client asks.
fn open_of(config: &Config, client: u32) -> Open {
    Open {
        nonce: config.nonce.unwrap_or(0).wrapping_add(client.into()),
        name: match config.name {
            0 => 0,
            name => name.saturating_add(client),
        },
    }
}

impl Node for ClientNode {
    fn properties(&self) -> Properties {
        Properties::of(usize::from(self.member.ports) + usize::from(self.config.answers))
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.member.receive(frame, out) {
                Some(message) if message.kind == Kind::Response => self.answer(now, &message.value),
                _ => {}
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        for number in 0..self.clients.len() {
            if self.clients[number].asks <= now {
                self.ask(number, now, out);
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let next = self.clients.iter().map(|client| client.asks).min();
        next.filter(|at| *at != Time::MAX)
    }

    fn statistics(&self) -> Statistics {
        let mut counts = Statistics::default();
        counts.counter("received", self.member.received);
        counts.counter("sent", self.member.sent);
        counts.counter("asked", self.history.entries.len() as u64);
        counts.counter("answered", self.answered);
        counts.counter("retries", self.retries);
        if self.config.nonce.is_some() {
            counts.counter("closed", self.closed);
        }
        let verdict = self.verdict();
        counts.counter("linearizable", verdict.holds.into());
        counts.counter("latency_median_ps", self.latencies.value_at(1, 2));
        counts.counter("latency_p99_ps", self.latencies.value_at(99, 100));
        counts.counter("latency_max_ps", self.latencies.max());
        counts.counter("longest_pause_ps", self.longest_pause.as_ps());
        counts.flows.push(self.flow());
        counts.verdict = Some(verdict);
        counts
    }
}
