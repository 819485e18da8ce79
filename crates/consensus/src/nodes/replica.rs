//! A replica of the store: learns what is decided, does it in order, and answers clients.
//!
//! What it misses it asks of its peers, and of the coordinator, which has it voted for again. It reports how far it has come, by which
//! the coordinator trims: no further than what every replica has delivered that is there. One that was away for longer than its peers remember gets a
//! [`checkpoint`] from one of them, part by part.
//!
//! **Memory.** By itself it has none that outlives its process. On a host it [keeps](Replica::keep_in) decisions in a [`Storage`]. It answers clients before a
//! decision is durable, since acceptors keep it. It reports only durable decisions, since acceptors forget those that every replica has reported.
//!
//! - **Ports:** as configured, 1 by default, and with `answers` one more for those.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `delivered`: instances; `no_ops` among them; `repeated`: commands that were decided again, and
//!   not done again; `asked`: requests for missing decisions; `helped`: decisions sent to peers; `checkpoints`: received ones; `conflicts`: decisions that differ, never more than 0;
//!   `commits`: times that it waited for its storage, if it has one.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`, `not authentic`, `beyond the window`.

use super::{Member, check};
use crate::checkpoint::{self, Arriving};
use crate::command::{Command, Value};
use crate::journal::{BadJournal, Journal, Role, Storage, StorageFailed};
use crate::key::Key;
use crate::learner::Learner;
use crate::message::{Instance, Kind, Message};
use crate::store::Store;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// Decisions, or parts of a checkpoint, in one answer to a peer.
const LOT: u64 = 16;
/// Maximum number of unanswered reports before the replica requests missing values again. Each
/// request in vain doubles the number. The answer may wait in the replica's own queue, and more
/// frequent requests would make that queue longer.
const MAX_REPORTS_BEFORE_RETRY: u32 = 32;

/// Configuration of a replica.
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
    /// Whether clients are behind a port of their own, the one after the others, by which nothing but answers leaves; else an answer leaves where the last
    /// vote for it came.
    pub answers: bool,
    /// Which replica it is, from 0.
    pub id: u16,
    /// How many acceptors there are: 1 to 5.
    pub acceptors: usize,
    /// How many instances acceptors remember.
    pub window: usize,
    /// How often it reports how far it has come, and asks for what is missing. It also reports after a quarter of the window.
    pub report: Time,
    /// How often it reports while nothing is decided and nothing is missing, if that is less often:
    /// the interval doubles from `report` on. Less than the coordinators' `absence`.
    pub idle_report: Time,
    /// When it starts again without its store, in rising order.
    pub restarts: Vec<Time>,
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
            id: 0,
            acceptors: 3,
            window: 1024,
            report: Time::from_ms(1),
            idle_report: Time::from_ms(1),
            restarts: Vec::new(),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct Replica {
    member: Member,
    /// `None`: its memory is that of its process.
    journal: Option<Journal>,
    /// By which port answers leave, if it is always the same.
    answers: Option<Port>,
    /// The learner.
    pub learner: Learner<Command>,
    store: Store,
    acceptors: usize,
    window: usize,
    /// The last checkpoint that it made for a peer: its instance and its parts.
    checkpoint: Option<(Instance, Vec<Value>)>,
    /// The one that it gets, and whether a part has come since it last looked.
    arriving: Option<Arriving>,
    is_fed: bool,
    /// Behind the parts that it has asked for.
    lot_end: u64,
    /// The last first.
    restarts: Vec<Time>,
    id: u16,
    report: Time,
    idle_report: Time,
    /// The interval that ends at `next_report`.
    interval: Time,
    next_report: Time,
    /// The next instance at the last report, and at the last one that was due by time.
    reported: Instance,
    looked: Instance,
    /// Reports until it asks again, and how many there were since it asked last.
    patience: u32,
    waited: u32,
    /// Behind the decisions that it has asked for.
    asked_for: Instance,
    /// Its last answer to a peer: the instance, the part of a checkpoint if it was one, and the time.
    gave: (Instance, Option<u64>, Time),
    /// It reports after so many instances, before acceptors have no room.
    lot: Instance,
    delivered: u64,
    no_ops: u64,
    asked: u64,
    helped: u64,
    checkpoints: u64,
}

impl Replica {
    /// A replica with nothing in it.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config) -> Result<Replica, ConfigError> {
        check(config.acceptors, config.window)?;
        if config.report < Time::from_us(1) {
            return Err(ConfigError::new("report", "at least 1 us"));
        }
        if !config.restarts.is_sorted() {
            return Err(ConfigError::new("restarts", "times in rising order"));
        }
        Ok(Replica {
            member: Member::new(
                config.mac,
                config.address,
                config.group,
                config.ports,
                config.key,
            )?,
            journal: None,
            answers: config.answers.then_some(Port(config.ports)),
            learner: Learner::new(config.acceptors, config.window),
            store: Store::of(config.acceptors, config.window),
            acceptors: config.acceptors,
            window: config.window,
            checkpoint: None,
            arriving: None,
            is_fed: false,
            lot_end: LOT,
            restarts: config.restarts.into_iter().rev().collect(),
            id: config.id,
            report: config.report,
            idle_report: config.idle_report.max(config.report),
            interval: config.report,
            next_report: config.report,
            reported: 0,
            looked: 0,
            patience: 1,
            waited: 0,
            asked_for: 0,
            gave: (0, None, Time::ZERO),
            lot: (config.window as u64 / 4).max(1),
            delivered: 0,
            no_ops: 0,
            asked: 0,
            helped: 0,
            checkpoints: 0,
        })
    }

    /// The same, with a memory in `storage`: it goes on where it last reported, or after that. If the storage fails it reports nothing any more.
    ///
    /// # Errors
    /// When the stored state is damaged or belongs to another member, or the storage fails.
    pub fn keep_in(mut self, storage: Box<dyn Storage>) -> Result<Replica, BadJournal> {
        let owner = self.member.owner(Role::Replica, self.id, self.window);
        let (journal, stored) = Journal::open(storage, owner)?;
        if let Some(stored) = stored {
            self.restore(stored).ok_or(BadJournal::Unknown)?;
        }
        self.journal = Some(journal);
        match self.keep_all() {
            true => Ok(self),
            false => Err(BadJournal::Storage(StorageFailed)),
        }
    }

    /// Takes a checkpoint and later decisions; `None` when the messages are no checkpoint.
    fn restore(&mut self, stored: Vec<Message<Command>>) -> Option<()> {
        let first = stored.first()?;
        let mut arriving = Arriving::new(first.instance, first.high)?;
        let is_part = |message: &&Message<Command>| message.kind == Kind::Checkpoint;
        let parts = stored.iter().take_while(is_part);
        parts.for_each(|part| arriving.take(part.base, part.value.value));
        self.store = arriving.store(self.empty())?;
        self.learner.resume(arriving.instance);
        self.learner.configure(*self.store.configuration());
        for decided in stored.iter().skip_while(is_part) {
            self.learner.step(decided);
            let (_, command) = self.learner.deliver()?;
            self.apply(decided.instance, &command);
        }
        Some(())
    }

    /// Stores a checkpoint in place of all that is stored.
    fn keep_all(&mut self) -> bool {
        let Some(journal) = &mut self.journal else {
            return true;
        };
        let parts = checkpoint::parts(&self.store);
        let (id, at, count) = (self.id, self.learner.next(), parts.len() as u64);
        let numbered = parts.iter().zip(0..);
        journal.replace(numbered.map(|(part, number)| of_part(id, at, number, count, *part)))
    }

    /// Whether all that was delivered is durable now.
    fn keep(&mut self) -> bool {
        match &mut self.journal {
            None => true,
            Some(journal) if journal.is_long() => self.keep_all(),
            Some(journal) => journal.commit(),
        }
    }

    /// The store of its group before the first instance.
    fn empty(&self) -> Store {
        Store::of(self.acceptors, self.window)
    }

    /// Does a command; the learner counts votes by the members after it.
    fn apply(&mut self, instance: Instance, command: &Command) -> Option<Value> {
        let answer = self.store.apply(instance, command);
        self.learner.configure(*self.store.configuration());
        answer
    }

    /// The store as it is.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Does what can be done now, and answers by the port for that, or where the last vote for it came.
    fn deliver(&mut self, port: Port, out: &mut Out) {
        let port = self.answers.unwrap_or(port);
        while let Some((instance, command)) = self.learner.deliver() {
            self.delivered += 1;
            self.no_ops += u64::from(command.is_no_op());
            if let Some(journal) = &mut self.journal {
                journal.note(&of_decision(instance, command));
            }
            let Some(value) = self.apply(instance, &command) else {
                continue;
            };
            let response = Message {
                sender: self.id,
                instance,
                value: Command { value, ..command },
                ..Message::new(Kind::Response)
            };
            self.member.send_by(port, &response, out);
        }
    }

    /// Says how far it has come.
    fn tell(&mut self, out: &mut Out) {
        if !self.keep() {
            return;
        }
        self.reported = self.learner.next();
        let delivered = Message {
            sender: self.id,
            instance: self.reported,
            high: self.learner.high(),
            value: Command {
                value: self.members(),
                ..Command::default()
            },
            ..Message::new(Kind::Delivered)
        };
        self.member.send(&delivered, out);
    }

    /// Whether a peer's request is a new one. All peers receive an answer; the same request within the
    /// time of a report was sent before the answer arrived.
    fn is_new(&mut self, now: Time, instance: Instance, part: Option<u64>) -> bool {
        let (last, last_part, at) = self.gave;
        let again = (last, last_part) == (instance, part) && now < at + self.report;
        if !again {
            self.gave = (instance, part, now);
        }
        !again
    }

    /// The members of the group, where they have changed.
    fn members(&self) -> Value {
        match self.store.configuration() {
            changed if changed.version > 0 => changed.encode(),
            _ => Value::default(),
        }
    }

    /// Tells a peer what it misses.
    fn help(&mut self, now: Time, from: Instance, port: Port, out: &mut Out) {
        if !self.is_new(now, from, None) {
            return;
        }
        if from < self.learner.next() && self.learner.decided(from).is_none() {
            return self.give(from, 0, port, out);
        }
        for instance in from..from.saturating_add(LOT) {
            let Some(value) = self.learner.decided(instance) else {
                return;
            };
            self.helped += 1;
            (self.member).send_by(port, &of_decision(instance, value), out);
        }
    }
}

impl Replica {
    /// Gives a peer the parts of a checkpoint that it asks for.
    fn feed(&mut self, now: Time, wanted: Instance, from: u64, port: Port, out: &mut Out) {
        if self.is_new(now, wanted, Some(from)) {
            self.give(wanted, from, port, out);
        }
    }

    /// Gives a peer parts of a checkpoint: of the one that is asked for, if it is that still, else of one from which there is a way on.
    fn give(&mut self, wanted: Instance, from: u64, port: Port, out: &mut Out) {
        let next = self.learner.next();
        let half = self.window as u64 / 2;
        let (at, parts) = match self.checkpoint.take() {
            Some(made) if made.0 == wanted || made.0.saturating_add(half) >= next => made,
            _ => (next, checkpoint::parts(&self.store)),
        };
        let from = if at == wanted { from } else { 0 };
        let lot = parts.iter().zip(0..).skip(from as usize).take(LOT as usize);
        for (part, number) in lot {
            let message = of_part(self.id, at, number, parts.len() as u64, *part);
            self.member.send_by(port, &message, out);
        }
        self.checkpoint = Some((at, parts));
    }

    /// Takes a part of a checkpoint.
    fn arrive(&mut self, message: &Message<Command>, out: &mut Out) {
        if message.instance <= self.learner.next() {
            return;
        }
        if self.arriving.is_none() {
            self.lot_end = LOT;
            self.arriving = Arriving::new(message.instance, message.high);
        }
        let own = |arriving: &&mut Arriving| arriving.instance == message.instance;
        let Some(arriving) = self.arriving.as_mut().filter(own) else {
            return;
        };
        let before = arriving.next_missing();
        arriving.take(message.base, message.value.value);
        self.is_fed = true;
        match arriving.next_missing() {
            // The batch is complete. A part that comes twice, or out of order, asks for nothing.
            missing @ Some(next) if missing != before && next >= self.lot_end => self.fetch(out),
            Some(_) => {}
            None => {
                let store = arriving.store(Store::of(self.acceptors, self.window));
                self.arriving = None;
                if let Some(store) = store {
                    self.store = store;
                    self.learner.resume(message.instance);
                    self.learner.configure(*self.store.configuration());
                    self.checkpoints += 1;
                    self.keep_all();
                }
            }
        }
    }

    /// Asks for more of a checkpoint.
    fn fetch(&mut self, out: &mut Out) {
        let Some(arriving) = &self.arriving else {
            return;
        };
        let base = arriving.next_missing().unwrap_or(0);
        self.lot_end = base + LOT;
        let fetch = Message {
            sender: self.id,
            instance: arriving.instance,
            base,
            ..Message::new(Kind::Fetch)
        };
        self.member.send(&fetch, out);
    }

    /// Asks for what is missing: once nothing has come for a while.
    fn ask(&mut self, out: &mut Out) {
        let next = self.learner.next();
        if self.arriving.is_some() && self.is_fed {
            self.is_fed = false;
            self.fetch(out);
        } else if next != self.looked || next > self.learner.high() {
            (self.patience, self.waited) = (1, 0);
        } else if self.waited + 1 < self.patience {
            self.waited += 1;
        } else {
            // Who gave the checkpoint may be gone.
            self.arriving = None;
            self.patience = (2 * self.patience).min(MAX_REPORTS_BEFORE_RETRY);
            self.waited = 0;
            self.learn(next, out);
        }
        self.looked = next;
    }

    /// Asks for decisions from this instance on.
    fn learn(&mut self, next: Instance, out: &mut Out) {
        self.asked += 1;
        self.asked_for = next.saturating_add(LOT);
        let learn = Message {
            sender: self.id,
            instance: next,
            ..Message::new(Kind::Learn)
        };
        self.member.send(&learn, out);
    }

    /// Asks for the next decisions once those that it asked for are there.
    fn learn_on(&mut self, out: &mut Out) {
        let next = self.learner.next();
        if next > self.learner.high() {
            self.asked_for = 0;
        } else if self.asked_for != 0 && next >= self.asked_for {
            self.learn(next, out);
        }
    }

    /// Whether it knows of something that it has not got.
    fn misses(&self) -> bool {
        self.arriving.is_some() || self.learner.next() <= self.learner.high()
    }

    fn restart(&mut self) {
        self.learner = Learner::new(self.acceptors, self.window);
        self.store = self.empty();
        self.checkpoint = None;
        self.arriving = None;
        self.reported = 0;
        self.looked = 0;
        self.asked_for = 0;
    }
}

/// A decision as a message, for peers and for the journal.
fn of_decision(instance: Instance, value: Command) -> Message<Command> {
    Message {
        instance,
        value,
        ..Message::new(Kind::Decided)
    }
}

/// Part `number` of the `count` parts of a checkpoint, as a message, for peers and for the journal.
fn of_part(id: u16, at: Instance, number: u64, count: u64, part: Value) -> Message<Command> {
    Message {
        sender: id,
        instance: at,
        base: number,
        high: count,
        value: Command {
            value: part,
            ..Command::default()
        },
        ..Message::new(Kind::Checkpoint)
    }
}

impl Node for Replica {
    fn properties(&self) -> Properties {
        let ports = usize::from(self.member.ports) + usize::from(self.answers.is_some());
        Properties {
            endless: Some(super::ENDLESS),
            ..Properties::of(ports)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.member.receive(frame, out) {
                Some(message) if message.kind == Kind::Learn => {
                    self.help(now, message.instance, port, out);
                }
                Some(message) if message.kind == Kind::Fetch => {
                    self.feed(now, message.instance, message.base, port, out);
                }
                Some(message) if message.kind == Kind::Checkpoint => self.arrive(&message, out),
                // Where the window is full no vote tells any more that something is missing.
                Some(message) if matches!(message.kind, Kind::Delivered | Kind::Lease) => {
                    self.learner.heard(message.instance);
                }
                Some(message) => self.learner.step(&message),
                None => {}
            }
            self.deliver(port, out);
        }
        if self.learner.next() >= self.reported.saturating_add(self.lot) {
            self.tell(out);
        }
        self.learn_on(out);
        // Not idle any more.
        if self.interval > self.report && (self.learner.next() > self.reported || self.misses()) {
            self.interval = self.report;
            self.next_report = self.next_report.min(now + self.report);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while self.restarts.pop_if(|at| *at <= now).is_some() {
            self.restart();
            self.keep_all();
        }
        if now < self.next_report {
            return;
        }
        let next = self.learner.next();
        let is_idle = next == self.reported && !self.misses();
        self.interval = match is_idle {
            true => (self.interval + self.interval).min(self.idle_report),
            false => self.report,
        };
        self.next_report = now + self.interval;
        self.tell(out);
        self.ask(out);
    }

    fn next_wake(&self) -> Option<Time> {
        let restart = self.restarts.last().copied();
        Some(restart.map_or(self.next_report, |at| at.min(self.next_report)))
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
        counts.counter("checkpoints", self.checkpoints);
        counts.counter("conflicts", self.learner.conflicts);
        if let Some(journal) = &self.journal {
            counts.counter("commits", journal.commits());
        }
        counts
    }
}
