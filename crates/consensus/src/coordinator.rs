//! A coordinator: orders what clients ask for, and asks acceptors to vote for it (paper 002, figure 3.14, and what the paper left to others).
//!
//! **Taking over** ([`campaign`](Coordinator::campaign)) is phase 1 with a round higher than any seen. A promise is for all instances,
//! so one message to each acceptor would do, but for what was voted for: a coordinator asks for the votes from the highest `base` to
//! the highest `high` that a quorum says, one message for each instance. Those it has voted for again in its round,
//! by the rule of phase 2 (the vote of the highest round, or a no-op); what is above is free.
//!
//! **Acceptors that lost their registers.** Such an acceptor answers [`Forgotten`](Kind::Forgotten), with the number of its start. Then
//!
//! 1. the coordinator begins another round, and names that start in each phase 1A. The round is new, so the acceptor has never voted
//!    in it; and it answers nothing, so the quorum is one of the others.
//! 2. Once every instance with a vote that a quorum knows of is decided again in this round, by the others, whatever was
//!    decided with the lost votes is known to a quorum without them.
//! 3. Only then it admits the acceptor ([`Admit`](Kind::Admit)), which from then on votes in no round below this one.
//!
//! One danger is left: a *promise* that the acceptor gave before, which is still on its way to another coordinator, and which the acceptor no longer
//! keeps. Therefore acceptors remember which starts they were told of, and say so in each promise; a coordinator counts no promise
//! of a start that a later one is known of. As both quorums share an acceptor, it hears of it. This is what Michael et al. call a
//! crash-consistent quorum ("Recovering Shared Objects Without Stable Storage", DISC 2017). If a quorum has lost its registers, nobody is admitted: nothing
//! more is decided, and nothing wrong.

use crate::acceptor::{Set, majority};
use crate::message::{ACCEPTORS, Boots, Instance, Kind, Message, Round, round};
use alloc::vec::Vec;

/// No instance and no round is higher: a message by somebody who counts wrongly uses up no more.
const MOST: u64 = u64::MAX >> 1;

/// What a coordinator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Leaves it to another.
    Following,
    /// Waits for promises.
    ExpectPromises,
    /// Asks for votes.
    Leading,
}

/// What an acceptor says of itself with a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    boot: u16,
    base: Instance,
    high: Instance,
}

/// An instance under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open<V> {
    instance: Instance,
    /// Before it leads: who has told its vote here, as of which start.
    told: [u16; ACCEPTORS],
    /// Of the votes that were told: the highest round, and what that vote was for.
    round: Round,
    value: V,
    /// While it leads: who has voted.
    votes: Set,
    decided: bool,
}

impl<V: Default> Open<V> {
    fn new(instance: Instance) -> Open<V> {
        Open {
            instance,
            told: [0; ACCEPTORS],
            round: 0,
            value: V::default(),
            votes: Set::default(),
            decided: false,
        }
    }
}

/// A coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coordinator<V> {
    /// How many acceptors must agree: a majority, unless it is set otherwise.
    pub quorum: usize,
    identity: u16,
    acceptors: usize,
    stage: Stage,
    round: Round,
    /// The highest round that it has heard of.
    seen: Round,
    boots: Boots,
    /// Acceptors that want to be admitted, by the start that was known when this round began; 0 for those that do not.
    waiting: Boots,
    /// The starts of acceptors that take part, as far as it has heard them do.
    active: Boots,
    promises: [Option<Promise>; ACCEPTORS],
    base: Instance,
    /// The next instance to be used.
    next: Instance,
    /// The highest instance that is not the switch's, or, without one, that others had begun.
    inherited: Instance,
    /// Whether a switch uses the instances from `next` on, in this round.
    handed_over: bool,
    /// In a ring, as an acceptor's cells are.
    open: Vec<Open<V>>,
}

impl<V: Clone + Default> Coordinator<V> {
    /// One that follows at first. `identity` is used for this start of this coordinator and never again ([`round`]); `acceptors` are how many
    /// there are, 1 to [`ACCEPTORS`]; `window` is how many instances they remember.
    pub fn new(identity: u16, acceptors: usize, window: usize) -> Coordinator<V> {
        let acceptors = acceptors.clamp(1, ACCEPTORS);
        Coordinator {
            quorum: majority(acceptors),
            identity,
            acceptors,
            stage: Stage::Following,
            round: 0,
            seen: 0,
            boots: [0; ACCEPTORS],
            waiting: [0; ACCEPTORS],
            active: [0; ACCEPTORS],
            promises: [None; ACCEPTORS],
            base: 1,
            next: 1,
            inherited: 0,
            handed_over: false,
            open: (0..window.max(1)).map(|_| Open::new(0)).collect(),
        }
    }

    /// Whether it may propose.
    pub fn is_leading(&self) -> bool {
        self.stage == Stage::Leading
    }

    /// Whether it leaves it to another.
    pub fn is_following(&self) -> bool {
        self.stage == Stage::Following
    }

    /// Its round.
    pub fn round(&self) -> Round {
        self.round
    }

    /// Whether a switch orders requests in this round.
    pub fn has_handed_over(&self) -> bool {
        self.handed_over
    }

    /// The next instance to be used; where a switch uses them, the highest that is known to come after one it has used.
    pub fn next(&self) -> Instance {
        self.next
    }

    /// Below, acceptors may forget.
    pub fn base(&self) -> Instance {
        self.base
    }

    /// Whether all that others had begun is decided, so that a switch can take over from here ([`Activate`](Kind::Activate)).
    pub fn is_settled(&self) -> bool {
        let inherited = self.base..=self.inherited;
        self.is_leading()
            && inherited
                .into_iter()
                .all(|instance| self.ring(instance).is_none_or(|open| open.decided))
    }

    /// Begins phase 1, in a round above any that it has heard of.
    pub fn campaign(&mut self, out: &mut Vec<Message<V>>) {
        self.seen = self.seen.max(self.round);
        self.round = round((self.seen >> 16) + 1, self.identity);
        self.stage = Stage::ExpectPromises;
        self.handed_over = false;
        self.promises = [None; ACCEPTORS];
        self.open.fill(Open::new(0));
        self.ask(self.base, out);
    }

    /// Leaves it to another.
    pub fn follow(&mut self) {
        self.stage = Stage::Following;
    }

    /// Leaves its round and all instances that are free to the switch whose start has this number, once all that others had begun is decided;
    /// `None` before that.
    /// What it says may be lost, and is said again by another call: a switch takes a round once.
    ///
    /// No two starts of switches in a group have the same number, or two would use the same instances.
    pub fn hand_over(&mut self, boot: u16) -> Option<Message<V>> {
        if !self.handed_over && self.is_settled() {
            self.handed_over = true;
            // What it has asked for itself in this round stays its own.
            self.inherited = self.inherited.max(self.next - 1);
        }
        (self.is_leading() && self.handed_over).then(|| Message {
            boot,
            round: self.round,
            instance: self.next,
            base: self.base,
            ..Message::new(Kind::Activate)
        })
    }

    /// Has `value` voted for in the next instance; `None` when it does not lead or a switch does it, or when the window is full.
    pub fn propose(&mut self, value: V, out: &mut Vec<Message<V>>) -> Option<Instance> {
        let instance = self.next;
        if !self.is_leading() || self.handed_over || instance - self.base >= self.open.len() as u64
        {
            return None;
        }
        self.next += 1;
        let slot = self.slot(instance);
        self.open[slot] = Open {
            value,
            ..Open::new(instance)
        };
        self.ask_votes(instance, out);
        Some(instance)
    }

    /// Instances below are decided and learned by all who need them.
    pub fn trim(&mut self, below: Instance) {
        if self.is_leading() && self.handed_over {
            self.next = self.next.max(below.min(MOST));
        }
        // What is not yet begun is not decided.
        self.base = self.base.max(below.min(self.next));
    }

    /// Has acceptors forget what is below its base.
    pub fn tell_trim(&self, out: &mut Vec<Message<V>>) {
        out.push(Message {
            instance: self.base,
            ..Message::new(Kind::Trim)
        });
    }

    /// Asks again for all that has not been answered: for the caller's timer.
    pub fn retry(&mut self, out: &mut Vec<Message<V>>) {
        match self.stage {
            Stage::Following => {}
            Stage::ExpectPromises => match self.inherited_range() {
                None => self.ask(self.base, out),
                // What was asked for may have been trimmed since.
                Some((low, high)) => {
                    let left = (low..=high).take(self.open.len());
                    left.filter(|instance| !self.is_promised(*instance))
                        .for_each(|instance| self.ask(instance, out));
                    self.lead_if_promised(out);
                }
            },
            Stage::Leading => {
                self.tell_trim(out);
                (self.base..self.own_end())
                    .filter(|instance| self.ring(*instance).is_some_and(|open| !open.decided))
                    .for_each(|instance| self.ask_votes(instance, out));
            }
        }
    }

    /// Asks for votes in an instance again, decided or not, for a learner that misses them. Not below the base: there it may lead without
    /// knowing what a quorum has voted for.
    pub fn ask_again(&self, instance: Instance, out: &mut Vec<Message<V>>) {
        let own = (self.base..self.own_end()).contains(&instance);
        if self.is_leading() && own && self.ring(instance).is_some() {
            self.ask_votes(instance, out);
        }
    }

    /// Behind the instances in which it may ask for votes itself: what a switch uses is not its own, and it does not know for what.
    fn own_end(&self) -> Instance {
        match self.handed_over {
            true => self.inherited + 1,
            false => self.next,
        }
    }

    /// Whether it asked for votes in an instance itself, and so can again.
    pub fn is_own(&self, instance: Instance) -> bool {
        instance < self.own_end()
    }

    /// Takes an acceptor's or another coordinator's message.
    pub fn step(&mut self, message: &Message<V>, out: &mut Vec<Message<V>>) {
        self.seen = self.seen.max(message.round.min(MOST));
        let from = usize::from(message.sender);
        let answers = message.round == self.round && from < self.acceptors;
        match (message.kind, self.stage) {
            (
                Kind::Lease | Kind::Phase1A | Kind::Phase2A,
                Stage::Leading | Stage::ExpectPromises,
            ) if message.round > self.round => {
                self.follow();
            }
            (Kind::Refused, _) => {
                self.seen = self.seen.max(message.vote_round.min(MOST));
                if message.round == self.round && message.vote_round > self.round {
                    self.follow();
                }
            }
            (Kind::Forgotten, Stage::Leading | Stage::ExpectPromises) if answers => {
                self.forgotten(from, message.boot, out);
            }
            (Kind::Phase1B, Stage::ExpectPromises) if answers => self.promised(from, message, out),
            (Kind::Phase2B, Stage::Leading) if answers => self.voted(from, message, out),
            _ => {}
        }
    }

    /// Asks for promises, and for the votes in an instance.
    fn ask(&self, instance: Instance, out: &mut Vec<Message<V>>) {
        out.push(Message {
            instance,
            round: self.round,
            boots: self.boots,
            ..Message::new(Kind::Phase1A)
        });
    }

    fn ask_votes(&self, instance: Instance, out: &mut Vec<Message<V>>) {
        out.push(Message {
            instance,
            round: self.round,
            value: self.open[self.slot(instance)].value.clone(),
            ..Message::new(Kind::Phase2A)
        });
    }

    fn slot(&self, instance: Instance) -> usize {
        (instance % self.open.len() as u64) as usize
    }

    /// An instance, if it is under way.
    fn ring(&self, instance: Instance) -> Option<&Open<V>> {
        let open = &self.open[self.slot(instance)];
        (open.instance == instance && instance != 0).then_some(open)
    }

    /// An acceptor has lost its registers.
    fn forgotten(&mut self, from: usize, boot: u16, out: &mut Vec<Message<V>>) {
        if boot <= self.active[from] {
            return;
        }
        if self.waiting[from] == boot {
            self.admit(from, out);
        } else if boot > self.waiting[from] {
            self.waiting[from] = boot;
            self.boots[from] = self.boots[from].max(boot);
            self.campaign(out);
        }
    }

    fn admit(&self, acceptor: usize, out: &mut Vec<Message<V>>) {
        let boot = self.waiting[acceptor];
        if boot > self.active[acceptor] && self.is_settled() {
            out.push(Message {
                sender: acceptor as u16,
                boot,
                round: self.round,
                base: self.base,
                boots: self.boots,
                ..Message::new(Kind::Admit)
            });
        }
    }

    fn is_valid(&self, acceptor: usize, boot: u16) -> bool {
        boot != 0 && boot >= self.boots[acceptor]
    }

    /// From which to which instance others may have had votes, once a quorum has promised.
    fn inherited_range(&self) -> Option<(Instance, Instance)> {
        let mut known = 0;
        let (mut low, mut high) = (self.base, 0);
        for (acceptor, promise) in self.promises.iter().enumerate() {
            if let Some(promise) = promise
                && self.is_valid(acceptor, promise.boot)
            {
                known += 1;
                low = low.max(promise.base);
                high = high.max(promise.high);
            }
        }
        (known >= self.quorum).then_some((low, high))
    }

    /// Whether a quorum has told its votes in an instance.
    fn is_promised(&self, instance: Instance) -> bool {
        let Some(open) = self.ring(instance) else {
            return false;
        };
        let told = open.told.iter().enumerate();
        let valid = told.filter(|(acceptor, boot)| self.is_valid(*acceptor, **boot));
        valid.count() >= self.quorum
    }

    fn promised(&mut self, from: usize, message: &Message<V>, out: &mut Vec<Message<V>>) {
        for (known, told) in self.boots.iter_mut().zip(message.boots) {
            *known = told.max(*known);
        }
        if message.base.max(message.high) > MOST {
            return;
        }
        let before = self.inherited_range();
        self.promises[from] = Some(Promise {
            boot: message.boot,
            base: message.base,
            high: message.high,
        });
        let slot = self.slot(message.instance);
        let open = &mut self.open[slot];
        // Of two instances that share a slot the one below is trimmed.
        if message.instance > open.instance {
            *open = Open::new(message.instance);
        }
        if message.instance == open.instance {
            open.told[from] = message.boot;
            if message.vote_round > open.round {
                open.round = message.vote_round;
                open.value = message.value.clone();
            }
        }
        let Some((low, high)) = self.inherited_range() else {
            return;
        };
        if before.is_none_or(|before| before.1 < high) {
            let asked = before.map_or(low, |before| before.1 + 1);
            let more = (asked.max(low)..=high).take(self.open.len());
            more.filter(|instance| !self.is_promised(*instance))
                .for_each(|instance| self.ask(instance, out));
        }
        self.lead_if_promised(out);
    }

    fn lead_if_promised(&mut self, out: &mut Vec<Message<V>>) {
        if let Some((low, high)) = self.inherited_range()
            && (low..=high).all(|instance| self.is_promised(instance))
        {
            self.lead(low, high, out);
        }
    }

    fn lead(&mut self, low: Instance, high: Instance, out: &mut Vec<Message<V>>) {
        self.stage = Stage::Leading;
        self.base = low;
        self.inherited = high;
        self.next = low.max(high + 1);
        (low..=high).for_each(|instance| self.ask_votes(instance, out));
        self.admit_waiting(out);
    }

    fn voted(&mut self, from: usize, message: &Message<V>, out: &mut Vec<Message<V>>) {
        self.active[from] = self.active[from].max(message.boot);
        let slot = self.slot(message.instance);
        let open = &mut self.open[slot];
        if open.instance != message.instance || message.instance >= self.next || open.decided {
            return;
        }
        open.votes.add(message.sender);
        open.decided = open.votes.len() >= self.quorum;
        if open.decided && message.instance <= self.inherited {
            self.admit_waiting(out);
        }
    }

    fn admit_waiting(&self, out: &mut Vec<Message<V>>) {
        (0..self.acceptors).for_each(|acceptor| self.admit(acceptor, out));
    }
}

#[cfg(test)]
mod tests;
