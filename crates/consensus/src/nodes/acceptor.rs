//! An acceptor as a host process: what an acceptor in a switch is held against.
//!
//! An auxiliary one (Cheap Paxos) takes part only while it is called. When it has lost its memory nobody asks, so it says so itself, until it is admitted.
//!
//! **Memory.** By itself it has none that outlives its process, as a switch has none: for a simulated world. On a host it [keeps](AcceptorNode::keep_in)
//! promises and votes in a [`Storage`], and answers no message of a batch before what they changed is durable. If the storage fails it
//! stops answering: its promises might be lost.
//!
//! - **Ports:** as configured, 1 by default.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `voted`; `refused`; `passed_over`: by an auxiliary acceptor, what was for main ones alone; `admitted`, 0
//!   while it has lost its memory; `high`: the highest instance that it voted in;
//!   `commits`: times that it waited for its storage, if it has one.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`, `not authentic`, `beyond the window`, `storage failed`.

use super::horizon::Horizon;
use super::{Member, check};
use crate::acceptor::Acceptor;
use crate::command::Command;
use crate::journal::{BadJournal, Journal, Role, Storage, StorageFailed};
use crate::key::Key;
use crate::message::{ACCEPTORS, AUXILIARIES, Kind, Message};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// How often an auxiliary acceptor says that it has lost its memory.
const ANNOUNCES: Time = Time::from_ms(10);

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
    /// The key of the group; `None`: messages have no tags, and all are taken.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub key: Option<Key>,
    /// Which acceptor it is, from 0.
    pub id: u16,
    /// Whether it takes part only while it is called, as main acceptors do not answer.
    pub auxiliary: bool,
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
            key: None,
            id: 0,
            auxiliary: false,
            window: 1024,
            restarts: Vec::new(),
        }
    }
}

/// State that an acceptor keeps over restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Promises and votes: it goes on where it was.
    #[default]
    All,
    /// The number of its starts alone, as a switch does: after each start but the first it takes no part until it is admitted.
    Starts,
}

/// The number in a state that says that only starts were kept: neither admitted nor not.
const STARTS_ALONE: u64 = 2;

/// The node.
#[derive(Debug)]
pub struct AcceptorNode {
    member: Member,
    /// `None`: its memory is that of its process.
    journal: Option<Journal>,
    memory: Memory,
    /// Answers of a batch with their ports, held until its changes are durable.
    answers: Vec<(Port, Message<Command>)>,
    /// The acceptor.
    pub acceptor: Acceptor<Command>,
    auxiliary: bool,
    /// The last first.
    restarts: Vec<Time>,
    /// When it says that it has lost its memory.
    announces: Time,
    voted: u64,
    refused: u64,
    passed_over: u64,
}

impl AcceptorNode {
    /// An acceptor that begins with its group.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config) -> Result<AcceptorNode, ConfigError> {
        check(1, config.window)?;
        if usize::from(config.id) >= ACCEPTORS {
            return Err(ConfigError::new("id", "0 to 4"));
        }
        if !config.restarts.is_sorted() {
            return Err(ConfigError::new("restarts", "times in rising order"));
        }
        let mut made = AcceptorNode {
            member: Member::new(
                config.mac,
                config.address,
                config.group,
                config.ports,
                config.key,
            )?,
            journal: None,
            memory: Memory::All,
            answers: Vec::new(),
            acceptor: Acceptor::formed(config.id, config.window),
            auxiliary: config.auxiliary,
            restarts: config.restarts.into_iter().rev().collect(),
            announces: Time::MAX,
            voted: 0,
            refused: 0,
            passed_over: 0,
        };
        made.member.horizon = horizon(&made.acceptor);
        Ok(made)
    }

    /// The same, with a memory in `storage`. Where nothing was ever stored it begins with its group; or, where `start` says that it is a later start, without
    /// the memory of those before, as one that has lost it.
    ///
    /// # Errors
    /// When the stored state is damaged or belongs to another member, or the storage fails.
    pub fn keep_in(
        mut self,
        storage: Box<dyn Storage>,
        memory: Memory,
        start: u16,
    ) -> Result<AcceptorNode, BadJournal> {
        let (id, window) = (self.acceptor.id, self.acceptor.cells.len());
        let owner = self.member.owner(Role::Acceptor, id, window);
        let (journal, stored) = Journal::open(storage, owner)?;
        self.acceptor = match stored {
            None if start > 1 => Acceptor::restarted(id, start, window),
            None => Acceptor::formed(id, window),
            Some(stored) => {
                let kept = stored.first().map(|registers| registers.vote_round);
                let known = Acceptor::restored(id, window, stored);
                let known = known.ok_or(BadJournal::Unknown)?;
                match kept == Some(STARTS_ALONE) || memory == Memory::Starts {
                    false => known,
                    true => {
                        let next = known.boot.checked_add(1).ok_or(BadJournal::NoStartLeft)?;
                        Acceptor::restarted(id, next.max(start), window)
                    }
                }
            }
        };
        self.member.horizon = horizon(&self.acceptor);
        self.announce_loss(Time::ZERO);
        self.memory = memory;
        self.journal = Some(journal);
        match self.keep_all() {
            true => Ok(self),
            false => Err(BadJournal::Storage(StorageFailed)),
        }
    }

    /// Stores its whole state.
    fn keep_all(&mut self) -> bool {
        let Some(journal) = &mut self.journal else {
            return true;
        };
        match self.memory {
            Memory::All => journal.replace(self.acceptor.state()),
            Memory::Starts => {
                journal.replace(self.acceptor.state().take(1).map(|registers| Message {
                    vote_round: STARTS_ALONE,
                    ..registers
                }))
            }
        }
    }

    /// Sends the answers of a batch after its changes are durable.
    fn answer(&mut self, out: &mut Out) {
        let is_kept = match &mut self.journal {
            None => true,
            Some(journal) if journal.is_long() => self.keep_all(),
            Some(journal) => journal.commit(),
        };
        for (port, answer) in self.answers.drain(..).filter(|_| is_kept) {
            self.member.send_by(port, &answer, out);
        }
    }

    fn announce_loss(&mut self, now: Time) {
        if self.auxiliary && !self.acceptor.admitted {
            self.announces = now;
        }
    }

    /// Whether a message is for main acceptors alone, and this is none.
    fn passes_over(&self, message: &Message<Command>) -> bool {
        let asks = matches!(
            message.kind,
            Kind::Phase1A | Kind::Phase2A | Kind::Admit | Kind::Trim
        );
        self.auxiliary && asks && message.high != AUXILIARIES
    }
}

/// Highest round and instance that an acceptor accepts. After losing its registers it accepts the
/// first ones that it receives.
fn horizon(acceptor: &Acceptor<Command>) -> Horizon {
    match acceptor.admitted {
        true => Horizon::at(acceptor.promised, acceptor.base.max(acceptor.high)),
        false => Horizon::NEW,
    }
}

impl Node for AcceptorNode {
    fn properties(&self) -> Properties {
        Properties {
            endless: (self.announces != Time::MAX).then_some(super::ENDLESS),
            ..Properties::of(self.member.ports.into())
        }
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        let has_failed = self.journal.as_ref().is_some_and(Journal::has_failed);
        for frame in frames.drain(..) {
            if has_failed {
                out.drop(frame, "storage failed");
                continue;
            }
            let Some(message) = self.member.receive(frame, out) else {
                continue;
            };
            if self.passes_over(&message) {
                self.passed_over += 1;
                continue;
            }
            let (answer, changes) = self.acceptor.step_changes(&message);
            if let Some(journal) = self.journal.as_mut().filter(|_| changes)
                && self.memory == Memory::All
            {
                journal.note(&message);
            }
            if let Some(answer) = answer {
                self.voted += u64::from(answer.kind == Kind::Phase2B);
                self.refused += u64::from(answer.kind == Kind::Refused);
                self.answers.push((port, answer));
            }
        }
        self.answer(out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while self.restarts.pop_if(|at| *at <= now).is_some() {
            let (id, boot) = (self.acceptor.id, self.acceptor.boot.saturating_add(1));
            self.acceptor = Acceptor::restarted(id, boot, self.acceptor.cells.len());
            self.member.horizon = Horizon::NEW;
            self.announce_loss(now);
            self.keep_all();
        }
        if self.announces <= now {
            self.announces = match self.acceptor.admitted {
                true => Time::MAX,
                false => now + ANNOUNCES,
            };
            if !self.acceptor.admitted {
                let forgotten = Message {
                    sender: self.acceptor.id,
                    boot: self.acceptor.boot,
                    ..Message::new(Kind::Forgotten)
                };
                self.member.send(&forgotten, out);
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let restart = self.restarts.last().copied();
        let announces = (self.announces != Time::MAX).then_some(self.announces);
        restart.into_iter().chain(announces).min()
    }

    fn statistics(&self) -> Statistics {
        let mut counts = Statistics::default();
        counts.counter("received", self.member.received);
        counts.counter("sent", self.member.sent);
        counts.counter("voted", self.voted);
        counts.counter("refused", self.refused);
        if self.auxiliary {
            counts.counter("passed_over", self.passed_over);
        }
        counts.counter("admitted", self.acceptor.admitted.into());
        counts.counter("high", self.acceptor.high);
        if let Some(journal) = &self.journal {
            counts.counter("commits", journal.commits());
        }
        counts
    }
}
