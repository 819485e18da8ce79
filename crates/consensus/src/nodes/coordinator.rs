//! A coordinator as a host process, elected by leases.
//!
//! Who leads says so three times a lease, and which instance is next, so that replicas know when they miss something. Who has not heard of it for a lease, and for a while that is longer the
//! later it comes in the order of identities, takes over. Leases are for progress alone: that two lead at once, or clocks go wrong, costs
//! rounds and no agreement.
//!
//! **With a switch** (`switch`) it orders requests only until all that it has taken over is decided. Then it hands its round over to the switch, and only
//! keeps the lease, trims, offers it again what it had no room for, and begins another round where the switch cannot help itself: an acceptor wants to be let in, a replica goes on missing an
//! instance, or nothing is decided for a lease while clients ask. In the last case it does without the switch for
//! a while.
//!
//! - **Ports:** as configured, 1 by default.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages; `campaigns`: times that it began phase 1, also to let an acceptor in; `proposed`;
//!   `repeated`: requests for what votes are asked for already; `turned_away`: requests that found the window full; `handed_over`: rounds that it left to its switch;
//!   `called`: times that auxiliary acceptors were; `leads`, 1 while it leads; `round`.
//! - **Drops:** `no Paxos message`, `bad Paxos message`, `checksum`, `not authentic`, `beyond the window`.

use super::patience::Patience;
use super::waiting::{Asker, Waiting, asker};
use super::{Member, check};
use crate::acceptor::{Set, majority};
use crate::command::Command;
use crate::configuration::{Change, Configuration};
use crate::coordinator::Coordinator;
use crate::journal::{BadJournal, Journal, Role, Storage, StorageFailed};
use crate::key::Key;
use crate::message::{ACCEPTORS, Instance, Kind, Message, Round};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;

/// The most replicas of a group.
const MAX_REPLICAS: usize = 64;

/// For how many leases it does without a switch that did nothing.
const WITHOUT: u64 = 16;

/// Maximum retransmission timeout in units of `retry`; a longer lease raises the limit to itself.
const MAX_BACKOFF: u64 = 8;

/// Maximum number of held requests, unless a quarter of the window is more.
const MAX_HELD: usize = 64;

/// Times that the wait for a leader doubles at most. Two that take over from each other before the
/// group has decided anything would do so forever: where messages take longer than a lease.
const MAX_DOUBLED: u32 = 2;

/// Configuration of a coordinator.
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
    /// Number of the coordinator, from 1, unique in the group. One that starts again without [`keep_in`](CoordinatorNode::keep_in), or after its storage was
    /// lost, has another one.
    pub identity: u16,
    /// How many acceptors there are: 1 to 5.
    pub acceptors: usize,
    /// How many of them, those of the highest numbers, are auxiliary: asked only while main ones do not answer. At most as many as leave a majority.
    pub auxiliaries: usize,
    /// How many replicas there are: what all of them have delivered that are there is trimmed.
    pub replicas: usize,
    /// A replica that has not reported for so long is not there.
    pub absence: Time,
    /// How many instances acceptors remember.
    pub window: usize,
    /// How long it leads without saying so again.
    pub lease: Time,
    /// What was not answered is asked again after this long, and later while nothing is.
    pub retry: Time,
    /// The number of the start of the switch that orders requests for it, which no other start of a switch in the group has; 0 for none.
    pub switch: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            address: Ipv4Addr::new(198, 18, 0, 1),
            group: Ipv4Addr::new(239, 0, 0, 1),
            ports: 1,
            key: None,
            identity: 1,
            acceptors: 3,
            auxiliaries: 0,
            replicas: 1,
            absence: Time::from_ms(100),
            window: 1024,
            lease: Time::from_ms(10),
            retry: Time::from_ms(1),
            switch: 0,
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct CoordinatorNode {
    member: Member,
    identity: u16,
    /// `None`: its memory is that of its process.
    journal: Option<Journal>,
    /// The last round that it has kept.
    kept: Round,
    /// The coordinator.
    pub coordinator: Coordinator<Command>,
    /// The progress of each replica and the time of its last report; the start of this node for those it was configured with.
    delivered: Vec<(Instance, Option<Time>)>,
    replicas: usize,
    /// When it last heard each acceptor.
    heard: [Option<Time>; ACCEPTORS],
    /// A change of the members that waits, and since when.
    change: Option<(Command, Time)>,
    /// Whether members can change: no switch orders requests, and no acceptor is auxiliary.
    can_change: bool,
    /// In which instance the last command of each client was proposed here: of no more clients than there are instances.
    under_way: BTreeMap<Asker, Instance>,
    window: usize,
    /// Requests that arrived before it led or while the window was full.
    held: Waiting,
    absence: Time,
    /// Up to where it had acceptors forget, at once, and after how many more it does so again.
    trimmed: Instance,
    lot: Instance,
    lease: Time,
    retry: Time,
    switch: u16,
    /// Until then it does without its switch, as nothing came of the last round that it handed over.
    without_switch: Time,
    /// Since when clients ask and nothing more is delivered, while the switch leads.
    stands_still: Option<Time>,
    /// The last instance that a replica missed while the switch led, and from when on another round is to ask for it.
    missed: (Instance, Time),
    /// How long after a lease it takes over.
    patience: Time,
    /// Takeovers since the last decision of the group, or since it last led for a whole lease.
    in_vain: u32,
    /// Since when it leads.
    led_since: Time,
    /// The last decision that it had voted for again as a replica missed it, and when.
    asked_again: (Instance, Time),
    /// When it takes over, unless somebody leads.
    takes_over: Time,
    says_so: Time,
    asks_again: Time,
    /// Estimated time of a decision, and the current retransmission timeout.
    answers: Patience,
    pause: Time,
    /// One more than the number of retries in a row without progress.
    asked: u32,
    /// An instance whose decision is timed: its first request, and how often votes were requested.
    sample: Option<(Instance, Time, u32)>,
    /// The last acceptor that was admitted (number, start), and the time of the Admit.
    let_in: (u16, u16, Time),
    /// Whether nothing waited for an answer at the last retry, so that the next one is a lease later.
    is_idle: bool,
    out: Vec<Message<Command>>,
    campaigns: u64,
    proposed: u64,
    repeated: u64,
    turned_away: u64,
    handed_over: u64,
    called: u64,
}

impl CoordinatorNode {
    /// A coordinator that leads once it hears of nobody who does.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config) -> Result<CoordinatorNode, ConfigError> {
        check(config.acceptors, config.window)?;
        if config.identity == 0 {
            return Err(ConfigError::new("identity", "1 to 65,535"));
        }
        if config.auxiliaries > config.acceptors - majority(config.acceptors) {
            return Err(ConfigError::new(
                "auxiliaries",
                "at most as many as leave a majority of `acceptors` that are not",
            ));
        }
        if !(1..=MAX_REPLICAS).contains(&config.replicas) {
            return Err(ConfigError::new("replicas", "1 to 64"));
        }
        if config.retry < Time::from_us(1) || config.retry > config.lease {
            return Err(ConfigError::new(
                "retry",
                "at least 1 us, and at most `lease`",
            ));
        }
        if config.absence < Time::from_us(1) {
            return Err(ConfigError::new("absence", "at least 1 us"));
        }
        if config.lease > Time::from_secs(3600) {
            return Err(ConfigError::new("lease", "at most 1 h"));
        }
        let patience = Time::from_ps(config.lease.as_ps() / 4 * u64::from(config.identity - 1));
        Ok(CoordinatorNode {
            member: Member::new(
                config.mac,
                config.address,
                config.group,
                config.ports,
                config.key,
            )?,
            identity: config.identity,
            journal: None,
            kept: 0,
            coordinator: Coordinator::new(config.identity, config.acceptors, config.window)
                .with_auxiliaries(config.auxiliaries),
            delivered: (0..MAX_REPLICAS)
                .map(|id| (1, (id < config.replicas).then_some(Time::ZERO)))
                .collect(),
            replicas: config.replicas,
            heard: [None; ACCEPTORS],
            change: None,
            can_change: config.switch == 0 && config.auxiliaries == 0,
            under_way: BTreeMap::new(),
            held: Waiting::new((config.window / 4).max(MAX_HELD)),
            window: config.window,
            absence: config.absence,
            trimmed: 1,
            lot: (config.window as u64 / 4).max(1),
            lease: config.lease,
            retry: config.retry,
            switch: config.switch,
            without_switch: Time::ZERO,
            stands_still: None,
            missed: (0, Time::ZERO),
            patience,
            in_vain: 0,
            led_since: Time::MAX,
            asked_again: (0, Time::ZERO),
            takes_over: Time::from_us(1) + patience,
            says_so: Time::MAX,
            asks_again: Time::MAX,
            answers: Patience::new(config.retry),
            pause: config.retry,
            asked: 1,
            sample: None,
            let_in: (0, 0, Time::ZERO),
            is_idle: false,
            out: Vec::new(),
            campaigns: 0,
            proposed: 0,
            repeated: 0,
            turned_away: 0,
            handed_over: 0,
            called: 0,
        })
    }

    /// The same, with a memory in `storage`: it uses no round twice, so that it may start again with its identity. It keeps each round before it says
    /// anything in it, and says nothing any more if the storage fails.
    ///
    /// # Errors
    /// When the stored state is damaged or belongs to another member, or the storage fails.
    pub fn keep_in(mut self, storage: Box<dyn Storage>) -> Result<CoordinatorNode, BadJournal> {
        let owner = (self.member).owner(Role::Coordinator, self.identity, self.window);
        let (mut journal, stored) = Journal::open(storage, owner)?;
        let rounds = stored.iter().flatten().map(|kept| kept.round);
        self.kept = rounds.max().unwrap_or(0);
        self.coordinator.resume(self.kept);
        if !journal.replace([of_round(self.kept)]) {
            return Err(BadJournal::Storage(StorageFailed));
        }
        self.journal = Some(journal);
        Ok(self)
    }

    /// Keeps its round, if that is a new one; whether it is kept.
    fn keep(&mut self) -> bool {
        let round = self.coordinator.round();
        let Some(journal) = &mut self.journal else {
            return true;
        };
        if round > self.kept {
            self.kept = round;
            journal.note(&of_round(round));
        }
        match journal.is_long() {
            true => journal.replace([of_round(round)]),
            false => journal.commit(),
        }
    }

    fn take(&mut self, now: Time, message: &Message<Command>) {
        let round = self.coordinator.round();
        match message.kind {
            Kind::Request if self.coordinator.has_handed_over() => {
                self.stands_still.get_or_insert(now);
                self.hold(message.value);
            }
            Kind::Request if self.coordinator.is_leading() => {
                if let Some(command) = self.grant(now, message.value) {
                    self.take_up(now, command);
                }
            }
            // Phase 1 ends soon.
            Kind::Request if !self.coordinator.is_following() => self.hold(message.value),
            Kind::Lease => {
                if message.round >= round {
                    self.takes_over = now + self.wait();
                }
                self.coordinator.step(message, &mut self.out);
            }
            Kind::Delivered => {
                let known = Configuration::decode(&message.value.value);
                let known = known.unwrap_or(*self.coordinator.configuration());
                self.coordinator
                    .learn(message.instance, &known, &mut self.out);
                let mut is_progress = false;
                if let Some((known, heard)) = self.delivered.get_mut(usize::from(message.sender)) {
                    *heard = Some(now);
                    if message.instance > *known {
                        *known = message.instance;
                        self.stands_still = None;
                        is_progress = true;
                    }
                }
                let (members, replicas) = (*self.coordinator.configuration(), self.replicas);
                let all = self.delivered.iter().enumerate();
                let all = all.filter(|(id, _)| members.has_replica(*id, replicas));
                let there = all.filter_map(|(_, (known, heard))| {
                    heard
                        .is_some_and(|heard| now <= heard + self.absence)
                        .then_some(*known)
                });
                if let Some(all) = there.min() {
                    self.coordinator.trim(all);
                }
                // Not only when it is time to: acceptors may have no room by then.
                let base = self.coordinator.base();
                if self.coordinator.is_leading() && base >= self.trimmed + self.lot {
                    self.trimmed = base;
                    self.coordinator.tell_trim(&mut self.out);
                }
                if is_progress {
                    self.in_vain = 0;
                }
                if is_progress && self.coordinator.has_handed_over() {
                    // There was no room for them: there is now.
                    self.offer();
                    self.held.clear();
                }
            }
            Kind::Learn if self.coordinator.is_own(message.instance) => {
                self.ask_again(now, message.instance);
            }
            Kind::Learn => self.missed(now, message.instance),
            _ => {
                if matches!(message.kind, Kind::Phase1B | Kind::Phase2B)
                    && let Some(heard) = self.heard.get_mut(usize::from(message.sender))
                {
                    *heard = Some(now);
                }
                self.coordinator.step(message, &mut self.out);
            }
        }
        if self.coordinator.round() != round {
            self.began(now);
        }
        self.change_members(now);
        self.propose_held(now);
        self.hand_over(now, false);
    }

    /// Grants a change of members that the group can carry out. `None`: the change is held.
    fn grant(&mut self, now: Time, command: Command) -> Option<Command> {
        let Some(change) = Change::decode(&command.value).filter(|_| self.can_change) else {
            return Some(command);
        };
        let since = match self.change {
            Some((known, since)) if known == command && now <= since + self.absence => since,
            _ => now,
        };
        let granted = self.granted(command, change, since);
        self.change = match granted {
            Some(_) => None,
            None => {
                self.coordinator.tell_trim(&mut self.out);
                self.coordinator.probe(&mut self.out);
                Some((command, since))
            }
        };
        granted
    }

    /// The command as it is decided, unless the change has to wait.
    fn granted(&self, command: Command, change: Change, since: Time) -> Option<Command> {
        let granted = Change {
            granted: true,
            ..change
        };
        (!self.is_early(granted, since)).then(|| Command {
            value: granted.encode(),
            ..command
        })
    }

    /// Whether a change that was asked for at `since` has to wait.
    ///
    /// - For each new acceptor to answer a message sent after `since`: an earlier answer may be of
    ///   before it lost its memory.
    /// - For all replicas to deliver every instance before the previous change applies. Once this
    ///   change is decided, coordinators know the acceptors of later instances only and repeat no
    ///   votes on earlier ones, so acceptors may forget these.
    fn is_early(&self, change: Change, since: Time) -> bool {
        let known = self.coordinator.configuration();
        let changed = known.changed(change, self.coordinator.next(), self.window as u64);
        if !changed.is_ok_and(|changed| changed.version > known.version) {
            // Replicas refuse it with the reason.
            return false;
        }
        let new = Set::of(change.add & !known.acceptors.bits());
        let is_there = |id: u16| self.heard[usize::from(id)].is_some_and(|at| at >= since);
        let is_missing = (0..ACCEPTORS as u16).any(|id| new.has(id) && !is_there(id));
        is_missing || self.coordinator.base() < known.from
    }

    /// Proposes a held change that need not wait any more. After `absence` the change is dropped, as
    /// its client may be gone.
    fn change_members(&mut self, now: Time) {
        let Some((command, since)) = self.change else {
            return;
        };
        if now > since + self.absence || !self.coordinator.is_leading() {
            self.change = None;
        } else if self.coordinator.has_room()
            && let Some(change) = Change::decode(&command.value)
            && let Some(granted) = self.granted(command, change, since)
        {
            self.change = None;
            self.take_up(now, granted);
        }
    }

    /// Holds a request while the window is full or this coordinator does not lead.
    fn hold(&mut self, command: Command) {
        self.turned_away += u64::from(!self.held.add(command));
    }

    /// Has acceptors vote again for a decision that a replica lacks: once in a retry, as several replicas may lack it.
    /// Instances that are not decided have timers of their own.
    fn ask_again(&mut self, now: Time, instance: Instance) {
        let (last, at) = self.asked_again;
        if self.coordinator.under_way(instance).is_some()
            || last == instance && now < at + self.retry
        {
            return;
        }
        self.asked_again = (instance, now);
        self.coordinator.ask_again(instance, &mut self.out);
    }

    /// The time that it waits for a leader whose messages have stopped.
    fn wait(&self) -> Time {
        let doubled = self.lease.as_ps() << self.in_vain.min(MAX_DOUBLED);
        Time::from_ps(doubled) + self.patience
    }

    /// Interval of lease messages.
    fn lease_third(&self) -> Time {
        Time::from_ps(self.lease.as_ps() / 3)
    }

    /// Gives its switch what that has not taken up, once more.
    fn offer(&mut self) {
        let offered = self.held.offer().map(|value| Message {
            value,
            ..Message::new(Kind::Request)
        });
        self.out.extend(offered);
    }

    /// Proposes the requests that it holds, once it leads without a switch and the window has room.
    fn propose_held(&mut self, now: Time) {
        while self.coordinator.has_room()
            && let Some(command) = self.held.pop()
        {
            if let Some(command) = self.grant(now, command) {
                self.take_up(now, command);
            }
        }
    }

    /// Has votes asked for a command, unless they are already: votes that were lost are asked for again by the coordinator's own timer, and what clients
    /// ask twice is not to cost twice.
    fn take_up(&mut self, now: Time, command: Command) {
        let known = self.under_way.get(&asker(&command));
        if known.is_some_and(|at| self.coordinator.under_way(*at) == Some(&command)) {
            self.repeated += 1;
            return;
        }
        let Some(instance) = self.coordinator.propose(command, &mut self.out) else {
            return self.hold(command);
        };
        self.proposed += 1;
        self.sample.get_or_insert((instance, now, 1));
        self.under_way.insert(asker(&command), instance);
        if self.under_way.len() > self.window {
            let base = self.coordinator.base();
            self.under_way.retain(|_, at| *at >= base);
        }
    }

    /// A replica misses an instance that the switch has used. Its peers may have it; if not, another round asks for it.
    fn missed(&mut self, now: Time, instance: Instance) {
        if !self.coordinator.has_handed_over() || !self.coordinator.is_leading() {
            return;
        }
        if self.missed.0 != instance {
            self.missed = (instance, now + self.retry);
        } else if now >= self.missed.1 {
            // If nobody voted in it that round leaves it free again, and it is missed until it is used.
            self.missed.1 = now + self.lease;
            self.coordinator.campaign(&mut self.out);
        }
    }

    /// Leaves the round to the switch, if there is one; or tells it `again`.
    fn hand_over(&mut self, now: Time, again: bool) {
        let before = self.coordinator.has_handed_over();
        if self.switch == 0 || now < self.without_switch || before && !again {
            return;
        }
        self.out.extend(self.coordinator.hand_over(self.switch));
        self.handed_over += u64::from(self.coordinator.has_handed_over() && !before);
    }

    /// A round has begun.
    fn began(&mut self, now: Time) {
        self.campaigns += 1;
        self.says_so = now;
        self.led_since = now;
        self.sample = None;
        self.asks_again_soon(now);
    }

    /// Starts the retransmission timer for a new request.
    fn asks_again_soon(&mut self, now: Time) {
        self.is_idle = false;
        self.asked = 1;
        self.pause = self.wait_for_answers();
        self.asks_again = now + self.pause;
    }

    /// The retransmission timeout: as long as decisions take on this network and these machines.
    /// An earlier retransmission would only lengthen the queues of busy members.
    fn wait_for_answers(&mut self) -> Time {
        let longest = self.lease.as_ps().max(MAX_BACKOFF * self.retry.as_ps());
        let wait = self.answers.wait(self.asked, self.pause);
        wait.min(Time::from_ps(longest))
    }

    /// Learns how long a decision takes.
    fn measure(&mut self, now: Time) {
        let Some((instance, at, asked)) = self.sample else {
            return;
        };
        if self.coordinator.under_way(instance).is_none() {
            if self.coordinator.is_leading() {
                self.answers.answered(now - at, asked);
            }
            self.sample = None;
        }
    }

    /// Drops Admit messages that repeat one of less than `retry` ago: an acceptor without its memory
    /// answers every message, and each answer requests admission.
    fn let_in_once(&mut self, now: Time) {
        let (last, retry) = (&mut self.let_in, self.retry);
        self.out.retain(|message| {
            let (acceptor, boot, at) = *last;
            let is_again = (acceptor, boot) == (message.sender, message.boot) && now < at + retry;
            let is_kept = message.kind != Kind::Admit || !is_again;
            if message.kind == Kind::Admit && is_kept {
                *last = (message.sender, message.boot, now);
            }
            is_kept
        });
    }

    fn say(&mut self, now: Time, out: &mut Out) {
        self.let_in_once(now);
        if !self.keep() {
            self.out.clear();
        }
        for message in self.out.drain(..) {
            self.member.send(&message, out);
        }
    }
}

/// A round as a journal has it.
fn of_round(round: Round) -> Message<Command> {
    Message {
        round,
        ..Message::new(Kind::Lease)
    }
}

impl Node for CoordinatorNode {
    fn properties(&self) -> Properties {
        Properties {
            endless: Some(super::ENDLESS),
            ..Properties::of(self.member.ports.into())
        }
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            if let Some(message) = self.member.receive(frame, out) {
                self.take(now, &message);
            }
        }
        if self.is_idle && (!self.held.is_empty() || self.coordinator.awaits_answers()) {
            self.asks_again_soon(now);
        }
        self.measure(now);
        self.say(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if self.coordinator.is_following() {
            if self.takes_over <= now {
                self.without_switch = Time::ZERO;
                self.stands_still = None;
                self.held.clear();
                self.coordinator.campaign(&mut self.out);
                self.began(now);
                self.in_vain = self.in_vain.saturating_add(1);
            }
        } else {
            if self
                .stands_still
                .is_some_and(|since| now >= since + self.lease)
            {
                self.without_switch = now + Time::from_ps(self.lease.as_ps() * WITHOUT);
                self.stands_still = None;
                self.coordinator.campaign(&mut self.out);
                self.began(now);
            }
            if self.says_so <= now {
                // Who asks for promises says so too, so that others wait for what comes of it.
                self.out.push(Message {
                    round: self.coordinator.round(),
                    instance: self.coordinator.next(),
                    ..Message::new(Kind::Lease)
                });
                self.says_so = now + self.lease_third();
                if self.coordinator.is_leading() && now >= self.led_since + self.lease {
                    self.in_vain = 0;
                }
                self.hand_over(now, true);
            }
            if self.asks_again <= now {
                self.offer();
                let (round, called) = (self.coordinator.round(), self.coordinator.has_called());
                self.coordinator.retry(&mut self.out);
                self.called += u64::from(self.coordinator.has_called() && !called);
                self.asked = match self.coordinator.stands_still() {
                    true => self.asked.saturating_add(1),
                    false => 1,
                };
                self.pause = self.wait_for_answers();
                if let Some((.., asked)) = &mut self.sample {
                    *asked = 2;
                }
                self.is_idle = self.held.is_empty() && !self.coordinator.awaits_answers();
                let third = self.lease_third();
                self.asks_again = match self.is_idle {
                    // An idle coordinator only sends its trim point, together with a lease message.
                    true => (self.says_so + third + third).max(now + third),
                    false => now + self.pause,
                };
                if self.coordinator.round() != round {
                    self.began(now);
                }
            }
        }
        if !self.coordinator.is_following() {
            self.takes_over = now + self.wait();
        }
        self.say(now, out);
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
        counts.counter("repeated", self.repeated);
        counts.counter("turned_away", self.turned_away);
        counts.counter("handed_over", self.handed_over);
        counts.counter("called", self.called);
        counts.counter("leads", self.coordinator.is_leading().into());
        counts.counter("round", self.coordinator.round());
        counts
    }
}
