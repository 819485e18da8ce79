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
//!
//! **Two classes of acceptors** ([`with_auxiliaries`](Coordinator::with_auxiliaries)), as in Cheap Paxos (Lamport and Massa, DSN 2004; paper 002, section
//! 3.5.2). The main ones are a quorum, and are asked alone. Where they do not answer when they are asked again, auxiliary ones are called and asked as well, until
//! every main one answers. Who is asked is for cost alone: a quorum is the same majority of all, whatever their class.

use crate::acceptor::{Set, majority};
use crate::configuration::Configuration;
use crate::message::{ACCEPTORS, AUXILIARIES, Boots, Instance, Kind, Message, Round, round};
use alloc::vec::Vec;

/// Maximum instance number and round number. It keeps a faulty sender from using up the numbers.
const MAX_NUMBER: u64 = u64::MAX >> 1;

/// Maximum number of pending requests about earlier instances, first or repeated. After a takeover
/// of a full window thousands of answers would arrive together, and the lease would expire while
/// they are handled.
const AGAIN: usize = 64;
/// Retries at which the same waits until auxiliary acceptors are called: it was asked again meanwhile, as one frame may be lost.
const STOOD: u8 = 2;

/// Output of a coordinator.
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
    /// How many acceptors must agree; `None` for a majority.
    pub quorum: Option<usize>,
    identity: u16,
    acceptors: usize,
    configuration: Configuration,
    /// It is the configuration of all instances less than a window above this one, which a replica
    /// has come to.
    learned: Instance,
    /// How many of them are asked first: those behind are auxiliary.
    main: usize,
    /// Whether auxiliary ones are asked as well.
    called: bool,
    /// The first instance that waited for an answer at the last retry, and at how many in a row before, up to [`STOOD`].
    waited: Option<Instance>,
    stood: u8,
    /// While it leads and has called them: who has answered since the last retry.
    present: Set,
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
    /// Instances that others had begun, of which promises or votes are asked for now, up to the
    /// second one.
    lot: (Instance, Instance),
    /// Behind those of which they are asked for after these.
    lots_end: Instance,
    /// Whether a switch uses the instances from `next` on, in this round.
    handed_over: bool,
    /// In a ring, as an acceptor's cells are.
    open: Vec<Open<V>>,
}

impl<V: Clone + Default> Coordinator<V> {
    /// One that follows at first. `identity` is used for this start of this coordinator and never again ([`round`]); `acceptors` are how many
    /// there are, 1 to [`ACCEPTORS`]; `window` is how many instances they remember.
    pub fn new(identity: u16, acceptors: usize, window: usize) -> Coordinator<V> {
        Coordinator::with_members(identity, Configuration::of(acceptors), window)
    }

    /// The same, of a group that begins with these members.
    pub fn with_members(
        identity: u16,
        configuration: Configuration,
        window: usize,
    ) -> Coordinator<V> {
        let acceptors = configuration.acceptors.len();
        Coordinator {
            quorum: None,
            identity,
            acceptors,
            configuration,
            learned: 1,
            main: acceptors,
            called: false,
            waited: None,
            stood: 0,
            present: Set::default(),
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
            lot: (1, 1),
            lots_end: 1,
            handed_over: false,
            open: (0..window.max(1)).map(|_| Open::new(0)).collect(),
        }
    }

    /// The same, where so many acceptors, those of the highest numbers, are auxiliary; at most as many as leave a quorum of main ones.
    #[must_use]
    pub fn with_auxiliaries(mut self, auxiliaries: usize) -> Coordinator<V> {
        self.main =
            (self.acceptors - auxiliaries.min(self.acceptors)).max(majority(self.acceptors));
        self
    }

    /// Whether auxiliary acceptors take part at present.
    pub fn has_called(&self) -> bool {
        self.called
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
        self.waited = None;
        self.stood = 0;
        self.present = Set::default();
        self.lot = (self.base, self.base.saturating_add(1));
        self.lots_end = Instance::MAX;
        self.ask(self.base, out);
    }

    /// Uses no round up to this one: it may have used it before it lost its memory of all else.
    pub fn resume(&mut self, round: Round) {
        self.seen = self.seen.max(round.min(MAX_NUMBER));
    }

    /// Leaves it to another.
    pub fn follow(&mut self) {
        self.stage = Stage::Following;
        self.called = false;
    }

    /// Leaves its round and all instances that are free to the switch whose start has this number, once all that others had begun is decided;
    /// `None` before that.
    /// What it says may be lost, and is said again by another call: a switch takes a round once.
    ///
    /// No two starts of switches in a group have the same number, or two would use the same instances.
    pub fn hand_over(&mut self, boot: u16) -> Option<Message<V>> {
        // A switch would go on into instances after a change.
        if !self.handed_over && self.is_settled() && self.configuration.version == 0 {
            self.handed_over = true;
            // What it has asked for itself in this round stays its own.
            self.inherited = self.inherited.max(self.next - 1);
        }
        (self.is_leading() && self.handed_over).then(|| Message {
            boot,
            round: self.round,
            instance: self.next,
            base: self.base,
            high: self.reach(),
            ..Message::new(Kind::Activate)
        })
    }

    /// Whether it may have one more value voted for.
    pub fn has_room(&self) -> bool {
        let is_full = self.next - self.base >= self.open.len() as u64;
        self.is_leading() && !self.handed_over && !is_full
    }

    /// Has `value` voted for in the next instance; `None` when it does not lead or a switch does it, or when the window is full.
    pub fn propose(&mut self, value: V, out: &mut Vec<Message<V>>) -> Option<Instance> {
        let instance = self.next;
        if !self.has_room() {
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

    /// A replica has delivered what is below an instance, with this configuration after it. A new
    /// configuration needs another round, with promises of the acceptors before and after the
    /// change.
    pub fn learn(
        &mut self,
        below: Instance,
        configuration: &Configuration,
        out: &mut Vec<Message<V>>,
    ) {
        let window = self.open.len() as u64;
        if below > MAX_NUMBER || configuration.since > below || configuration.from > below + window
        {
            // No replica of this group sends such a report.
            return;
        }
        self.learned = self.learned.max(below);
        let is_new = configuration.version > self.configuration.version;
        if is_new {
            self.configuration = *configuration;
            // The acceptors of earlier instances are not known any more; a replica has those decisions.
            self.base = self.base.max(configuration.since);
            self.next = self.next.max(self.base);
        }
        match self.stage {
            Stage::Following => {}
            _ if is_new => self.campaign(out),
            Stage::ExpectPromises => self.go_on(out),
            Stage::Leading => self.fill(out),
        }
    }

    /// Asks again for promises that it has, to learn which acceptors answer.
    pub fn probe(&self, out: &mut Vec<Message<V>>) {
        self.ask(self.base, out);
    }

    /// The configuration that it knows.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Fills the instances before a change applies, so that it does soon.
    fn fill(&mut self, out: &mut Vec<Message<V>>) {
        if self.next >= self.configuration.from || !self.has_room() {
            return;
        }
        let mut open = (self.base..self.next).filter_map(|instance| self.ring(instance));
        let first = open.find(|open| !open.decided).map(|open| open.instance);
        let end = first.unwrap_or(self.next) + AGAIN as u64;
        while self.next < self.configuration.from.min(end) {
            if self.propose(V::default(), out).is_none() {
                return;
            }
        }
    }

    /// Instances below are decided and learned by all who need them.
    pub fn trim(&mut self, below: Instance) {
        if self.is_leading() && self.handed_over {
            self.next = self.next.max(below.min(MAX_NUMBER));
        }
        // What is not yet begun is not decided.
        self.base = self.base.max(below.min(self.next));
    }

    /// Has acceptors forget what is below its base.
    pub fn tell_trim(&self, out: &mut Vec<Message<V>>) {
        out.push(Message {
            instance: self.base,
            high: self.reach(),
            ..Message::new(Kind::Trim)
        });
    }

    /// Asks again for what has not been answered: for the caller's timer. Not for all of it each time, or who is slow would be asked ever more, but for what
    /// an answer to something later has overtaken, and for the first few of all while none of them is answered. The caller is to wait longer while it
    /// [stands still](Coordinator::stands_still).
    pub fn retry(&mut self, out: &mut Vec<Message<V>>) {
        let (left, last) = self.unanswered();
        let first = left.first().copied();
        self.stood = match first.is_some() && first == self.waited {
            true => (self.stood + 1).min(STOOD),
            false => 0,
        };
        self.waited = first;
        if self.choose_classes(out) {
            return;
        }
        if self.is_leading() {
            self.tell_trim(out);
        }
        if self.is_leading() {
            // The requested instances may have been trimmed since.
            self.next_votes(out);
        }
        let not_yet = self.lot.1.max(self.base.saturating_add(1))..self.lots_end;
        let again = left.into_iter();
        let again = again.filter(|instance| !not_yet.contains(instance));
        let again = again.take(AGAIN);
        let again = again.filter(|instance| self.stood > 0 || *instance < last);
        for instance in again {
            match self.is_leading() {
                true => self.ask_votes(instance, out),
                false => self.ask(instance, out),
            }
        }
        if self.stage == Stage::ExpectPromises {
            // The requested instances may have been trimmed since.
            self.go_on(out);
        }
    }

    /// Whether it awaits promises or votes.
    pub fn awaits_answers(&self) -> bool {
        !self.unanswered().0.is_empty()
    }

    /// Whether what waited for an answer at the last retry but one waited for it at the last one too.
    pub fn stands_still(&self) -> bool {
        self.stood > 0
    }

    /// Instances, its own, of which it awaits promises or votes, and the last one of which it does not any more.
    fn unanswered(&self) -> (Vec<Instance>, Instance) {
        let (mut left, mut last) = (Vec::new(), 0);
        let mut sort = |instance, answered| match answered {
            true => last = instance,
            false => left.push(instance),
        };
        match (self.stage, self.inherited_range()) {
            (Stage::Following, _) => {}
            (Stage::ExpectPromises, None) => sort(self.base, false),
            (Stage::ExpectPromises, Some((low, high))) => (low..=high)
                .take(self.open.len())
                .for_each(|instance| sort(instance, self.is_promised(instance))),
            (Stage::Leading, _) => (self.base..self.own_end())
                .filter_map(|instance| self.ring(instance))
                .for_each(|open| sort(open.instance, open.decided)),
        }
        (left, last)
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

    /// What votes are asked for in an instance, while it is not known to be decided.
    pub fn under_way(&self, instance: Instance) -> Option<&V> {
        let own = self.is_leading() && (self.base..self.own_end()).contains(&instance);
        let open = self.ring(instance).filter(|open| own && !open.decided)?;
        Some(&open.value)
    }

    /// Takes an acceptor's or another coordinator's message.
    pub fn step(&mut self, message: &Message<V>, out: &mut Vec<Message<V>>) {
        self.seen = self.seen.max(message.round.min(MAX_NUMBER));
        let from = usize::from(message.sender);
        let is_member = self.configuration.has(message.sender);
        let answers = message.round == self.round && is_member;
        match (message.kind, self.stage) {
            (
                Kind::Lease | Kind::Phase1A | Kind::Phase2A,
                Stage::Leading | Stage::ExpectPromises,
            ) if message.round > self.round => {
                self.follow();
            }
            (Kind::Refused, _) => {
                self.seen = self.seen.max(message.vote_round.min(MAX_NUMBER));
                if message.round == self.round && message.vote_round > self.round {
                    self.follow();
                }
            }
            // An auxiliary acceptor says so by itself, and knows no round.
            (Kind::Forgotten, Stage::Leading | Stage::ExpectPromises)
                if answers || (message.round == 0 && is_member) =>
            {
                self.forgotten(from, message.boot, out);
            }
            (Kind::Phase1B, Stage::ExpectPromises) if answers => self.promised(from, message, out),
            (Kind::Phase1B, Stage::Leading) if answers => self.heard(message.sender),
            (Kind::Phase2B, Stage::Leading) if answers => self.voted(from, message, out),
            _ => {}
        }
    }

    /// Asks for promises, and for the votes in an instance.
    fn ask(&self, instance: Instance, out: &mut Vec<Message<V>>) {
        out.push(Message {
            instance,
            round: self.round,
            high: self.reach(),
            boots: self.boots,
            ..Message::new(Kind::Phase1A)
        });
    }

    fn ask_votes(&self, instance: Instance, out: &mut Vec<Message<V>>) {
        out.push(Message {
            instance,
            round: self.round,
            high: self.reach(),
            value: self.open[self.slot(instance)].value.clone(),
            ..Message::new(Kind::Phase2A)
        });
    }

    /// Who is to take what is said now.
    fn reach(&self) -> Instance {
        match self.called {
            true => AUXILIARIES,
            false => 0,
        }
    }

    /// An acceptor has answered.
    fn heard(&mut self, from: u16) {
        if self.called {
            self.present.add(from);
        }
    }

    /// Calls auxiliary acceptors when main ones have not answered what they were asked again, and does without them when all main ones answer. Whether
    /// that began another round.
    fn choose_classes(&mut self, out: &mut Vec<Message<V>>) -> bool {
        if self.main == self.acceptors || self.configuration.version > 0 {
            return false;
        }
        let present = core::mem::take(&mut self.present);
        if !self.called {
            self.called = self.stood >= STOOD;
        } else if self.is_leading() && (0..self.main).all(|main| present.has(main as u16)) {
            self.called = false;
            // A switch takes a round once, so that it is another in which it does without them.
            if self.handed_over {
                self.campaign(out);
                return true;
            }
        } else if self.is_leading() {
            // Main ones vote where the coordinator does not hear it, or have nothing to vote for: whether they are there they say so.
            self.ask(self.base, out);
        }
        false
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
                high: match acceptor < self.main {
                    true => self.reach(),
                    false => AUXILIARIES,
                },
                boots: self.boots,
                ..Message::new(Kind::Admit)
            });
        }
    }

    fn is_valid(&self, acceptor: u16, boot: u16) -> bool {
        boot != 0 && boot >= self.boots[usize::from(acceptor)]
    }

    /// From which to which instance others may have had votes, once a quorum has promised: of the
    /// acceptors of each instance. `None` as well where acceptors remember less than it has
    /// learned: it does not know then who they are.
    fn inherited_range(&self) -> Option<(Instance, Instance)> {
        let mut known = Set::default();
        let (mut low, mut high) = (self.base, 0);
        for (acceptor, promise) in (0..).zip(&self.promises) {
            if let Some(promise) = promise
                && self.is_valid(acceptor, promise.boot)
            {
                known.add(acceptor);
                low = low.max(promise.base);
                high = high.max(promise.high);
            }
        }
        let is_known = low <= self.learned;
        let is_quorum = self.configuration.is_quorum_from(low, known, self.quorum);
        (is_known && is_quorum).then_some((low, high))
    }

    /// Whether a quorum has told its votes in an instance.
    fn is_promised(&self, instance: Instance) -> bool {
        let Some(open) = self.ring(instance) else {
            return false;
        };
        let mut valid = Set::default();
        (0..)
            .zip(&open.told)
            .filter(|(acceptor, boot)| self.is_valid(*acceptor, **boot))
            .for_each(|(acceptor, _)| valid.add(acceptor));
        (self.configuration).is_quorum(instance, valid, self.quorum)
    }

    fn promised(&mut self, from: usize, message: &Message<V>, out: &mut Vec<Message<V>>) {
        for (known, told) in self.boots.iter_mut().zip(message.boots) {
            *known = told.max(*known);
        }
        if message.base.max(message.high) > MAX_NUMBER {
            return;
        }
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
        self.go_on(out);
    }

    /// Asks for more promises, or leads once there are all.
    fn go_on(&mut self, out: &mut Vec<Message<V>>) {
        if let Some((low, high)) = self.inherited_range() {
            // No more than there is room for.
            let end = high.min(low.saturating_add(self.open.len() as u64 - 1)) + 1;
            self.next_lot(low, end, Coordinator::is_promised, Coordinator::ask, out);
        }
        self.lead_if_promised(out);
    }

    /// Asks for the next batch of instances below `end`, once the batch before is answered.
    fn next_lot(
        &mut self,
        low: Instance,
        end: Instance,
        is_answered: fn(&Self, Instance) -> bool,
        ask: fn(&Self, Instance, &mut Vec<Message<V>>),
        out: &mut Vec<Message<V>>,
    ) {
        loop {
            let (begin, behind) = self.lot;
            let next = behind.max(low);
            let mut asked = begin.max(low)..behind.min(end);
            if next >= end || !asked.all(|instance| is_answered(self, instance)) {
                return;
            }
            self.lot = (next, end.min(next + AGAIN as u64));
            (next..self.lot.1)
                .filter(|instance| !is_answered(self, *instance))
                .for_each(|instance| ask(self, instance, out));
        }
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
        if self.called {
            // They vote for nothing where they remember what is long past.
            self.tell_trim(out);
        }
        self.lot = (low, low);
        self.lots_end = self.next;
        self.next_votes(out);
        self.fill(out);
        self.admit_waiting(out);
    }

    /// Asks for votes in more of what others had begun.
    fn next_votes(&mut self, out: &mut Vec<Message<V>>) {
        let is_decided =
            |known: &Self, instance| known.ring(instance).is_none_or(|open| open.decided);
        let (low, end) = (self.base.max(self.lot.0), self.lots_end);
        self.next_lot(low, end, is_decided, Coordinator::ask_votes, out);
    }

    fn voted(&mut self, from: usize, message: &Message<V>, out: &mut Vec<Message<V>>) {
        self.active[from] = self.active[from].max(message.boot);
        self.heard(message.sender);
        let slot = self.slot(message.instance);
        let open = &mut self.open[slot];
        if open.instance != message.instance || message.instance >= self.next || open.decided {
            return;
        }
        open.votes.add(message.sender);
        open.decided = (self.configuration).is_quorum(message.instance, open.votes, self.quorum);
        if open.decided && message.instance <= self.inherited {
            self.next_votes(out);
            self.admit_waiting(out);
        }
    }

    fn admit_waiting(&self, out: &mut Vec<Message<V>>) {
        (0..ACCEPTORS).for_each(|acceptor| self.admit(acceptor, out));
    }
}

#[cfg(test)]
mod tests;
