//! The protocol, model-checked exhaustively within bounds: every order in which messages can be delivered, once, twice or never, with
//! coordinators that take over at any time, acceptors that lose their registers at any time, and members that are killed at any time and go on from what they
//! have stored. What is checked are the functions that
//! the nodes run; each seeded mistake must be found.

use consensus::acceptor::Cell;
use consensus::message::AUXILIARIES;
use consensus::{
    Acceptor, Change, Configuration, Coordinator, Kind, Learner, Message, Sequencer, majority,
};
use stateright::{Checker, HasDiscoveries, Model, Property};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod runs;

const ACCEPTORS: usize = 3;
/// Maximum number of states of a check; reaching it is a failure.
const MAX_STATES: usize = 30_000_000;

/// Number of consecutive retries after which auxiliary acceptors are called, if any are missing.
const RETRIES: usize = 3;

/// A mistake to be found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// An acceptor votes below what it promised, and refuses above.
    Comparison,
    /// An acceptor does not keep what it voted for.
    VoteForgotten,
    /// A coordinator takes one acceptor for a quorum.
    QuorumOfOne,
    /// A learner takes one vote for a decision.
    LearnsFromOne,
    /// An acceptor that lost its registers takes part at once.
    AdmittedAtOnce,
    /// It is admitted when it asks, and not when the others know all.
    AdmittedTooSoon,
    /// Nobody says which starts are known, so that promises from before count.
    StartsUntold,
    /// A switch that orders requests forgets the round that it gave up, and takes it again.
    RoundForgotten,
    /// Two switches have the same number.
    SameNumber,
    /// An acceptor answers before its changes are durable.
    AnswersTooSoon,
    /// A coordinator that starts again does not know which rounds it has used.
    RoundsForgotten,
    /// A coordinator uses a change of the members when it proposes it.
    UsedBeforeDecided,
    /// Votes are counted by the old members after a change.
    OldQuorum,
}

/// The bounds.
#[derive(Clone)]
struct Group {
    mistake: Mistake,
    window: usize,
    /// How often each coordinator may begin phase 1.
    campaigns: Vec<u8>,
    /// The second coordinator begins with a round above those of the first.
    late: bool,
    /// How many values each coordinator may propose.
    proposals: [u8; 2],
    /// How often each acceptor may lose its registers.
    losses: [u8; ACCEPTORS],
    /// Number of times that acceptors are killed and restarted from their stored state.
    kills: u8,
    /// The same for coordinators.
    restarts: u8,
    /// Whether instances are trimmed once they are learned.
    trims: bool,
    /// How many coordinators have a switch that they hand their rounds over to, some time.
    switches: usize,
    /// How often coordinators may call auxiliary acceptors, or do without them again.
    calls: u8,
    /// How many acceptors, the last ones, are auxiliary. One that is says by itself that it has lost its registers.
    auxiliaries: usize,
    /// Acceptors at first, and after the first value is decided in some instance and a window has
    /// passed, as bits; 0 for none: nothing changes.
    first: u8,
    then: u8,
}

/// The value that changes the members.
const CHANGES: u8 = 1;

const SMALL: Group = Group {
    mistake: Mistake::None,
    window: 1,
    campaigns: Vec::new(),
    late: false,
    proposals: [1, 1],
    losses: [0; ACCEPTORS],
    kills: 0,
    restarts: 0,
    trims: false,
    switches: 0,
    calls: 0,
    auxiliaries: 0,
    first: 0b111,
    then: 0,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    acceptors: Vec<Acceptor<u8>>,
    /// Stored state of each, if they may be killed.
    stored: Vec<Acceptor<u8>>,
    kills: u8,
    restarts: u8,
    coordinators: Vec<Coordinator<u8>>,
    /// One a coordinator, or none.
    switches: Vec<Sequencer>,
    campaigns: Vec<u8>,
    proposed: Vec<u8>,
    losses: [u8; ACCEPTORS],
    calls: u8,
    /// All that was ever said: any of it can come at any time, or never.
    said: BTreeSet<Arc<Message<u8>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    ToAcceptor(usize, Arc<Message<u8>>),
    ToCoordinator(usize, Vec<Arc<Message<u8>>>),
    /// Begins phase 1. That it never hears of others' rounds loses nothing: who begins late with a low round is who began early, and
    /// was heard late.
    Campaign(usize),
    Propose(usize),
    HandOver(usize),
    ToSwitch(usize, Arc<Message<u8>>),
    /// A client's request comes to a switch.
    Request(usize),
    Lose(usize),
    /// An acceptor is killed, and restarts from its stored state.
    Kill(usize),
    /// A coordinator is killed, and knows no more than which rounds it has used.
    Restart(usize),
    Trim(u64),
    /// A coordinator receives the progress of a replica: everything below an instance is delivered.
    Delivered(usize, u64),
    /// A coordinator's timer, until it calls auxiliary acceptors or does without them again.
    Retry(usize),
}

impl Group {
    fn step(&self, acceptor: &mut Acceptor<u8>, message: &Message<u8>) -> Option<Message<u8>> {
        let phase = matches!(message.kind, Kind::Phase1A | Kind::Phase2A);
        match self.mistake {
            Mistake::Comparison if phase && acceptor.admitted => {
                acceptor.promised = match message.round >= acceptor.promised {
                    true if acceptor.promised != 0 => message.round + 1,
                    _ => message.round,
                };
                acceptor.step(message)
            }
            Mistake::VoteForgotten => {
                let answer = acceptor.step(message);
                acceptor.cells.fill(Cell::default());
                answer
            }
            Mistake::StartsUntold => {
                let answer = acceptor.step(message);
                answer.map(|answer| Message {
                    boots: [0; 5],
                    ..answer
                })
            }
            _ => acceptor.step(message),
        }
    }

    /// What is proposed next by, or through, a coordinator.
    fn value(&self, state: &State, number: usize) -> u8 {
        1 + number as u8 * self.proposals[0] + state.proposed[number]
    }

    /// Whether a message reaches an acceptor: auxiliary ones only while they are called.
    fn is_for(&self, acceptor: usize, message: &Message<u8>) -> bool {
        acceptor < ACCEPTORS - self.auxiliaries || message.high == AUXILIARIES
    }

    /// The number of a switch's start.
    fn number(&self, switch: usize) -> u16 {
        match self.mistake {
            Mistake::SameNumber => 7,
            _ => 7 + switch as u16,
        }
    }

    /// By what was voted for alone: the values that a quorum has voted for in one round, by instance.
    fn chosen(&self, state: &State) -> BTreeMap<u64, BTreeSet<u8>> {
        let mut votes: BTreeMap<(u64, u64, u8), BTreeSet<u16>> = BTreeMap::new();
        for vote in state.said.iter().filter(|said| said.kind == Kind::Phase2B) {
            let voters = votes.entry((vote.instance, vote.round, vote.value));
            voters.or_default().insert(vote.sender);
        }
        let mut chosen: BTreeMap<u64, BTreeSet<u8>> = BTreeMap::new();
        for ((instance, _, value), voters) in votes {
            if self.is_quorum(&chosen, instance, &voters) {
                chosen.entry(instance).or_default().insert(value);
            }
        }
        chosen
    }

    /// Whether these are a quorum of an instance, by the changes chosen at least a window before it.
    /// Votes come in the order of instances.
    fn is_quorum(
        &self,
        chosen: &BTreeMap<u64, BTreeSet<u8>>,
        instance: u64,
        voters: &BTreeSet<u16>,
    ) -> bool {
        let before = chosen.range(..(instance + 1).saturating_sub(self.window as u64));
        let mut before = before.map(|(_, values)| values);
        let is_changed = self.then != 0 && before.any(|values| values.contains(&CHANGES));
        let members = if is_changed { self.then } else { self.first };
        let count = voters
            .iter()
            .filter(|voter| members >> **voter & 1 == 1)
            .count();
        count >= majority(members.count_ones() as usize)
    }

    /// The members once the change is decided in an instance.
    fn changed(&self, instance: u64, alpha: u64) -> Configuration {
        let change = Change {
            granted: true,
            add: self.then & !self.first,
            remove: self.first & !self.then,
            ..Change::default()
        };
        let changed = Configuration::with(self.first).changed(change, instance, alpha);
        changed.expect("a change that can be made")
    }

    fn coordinator(&self, identity: u16) -> Coordinator<u8> {
        Coordinator::with_members(identity, Configuration::with(self.first), self.window)
            .with_auxiliaries(self.auxiliaries)
    }

    /// A learner that has heard all.
    fn learner(&self, state: &State) -> Learner<u8> {
        if self.then != 0 {
            return self.learned(state).0;
        }
        let mut learner = Learner::new(ACCEPTORS, 4);
        if self.mistake == Mistake::LearnsFromOne {
            learner.quorum = Some(1);
        }
        state.said.iter().for_each(|said| learner.step(said));
        learner
    }

    /// The same with a change of the members, and the members at its end.
    fn learned(&self, state: &State) -> (Learner<u8>, Configuration) {
        let mut learner = Learner::new(ACCEPTORS, self.window);
        let mut members = Configuration::with(self.first);
        learner.configure(members);
        loop {
            state.said.iter().for_each(|said| learner.step(said));
            let Some((instance, value)) = learner.deliver() else {
                return (learner, members);
            };
            if value == CHANGES && members.version == 0 {
                members = self.changed(instance, self.window as u64);
                if self.mistake != Mistake::OldQuorum {
                    learner.configure(members);
                }
            }
        }
    }
}

impl Model for Group {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let coordinators = self.campaigns.iter().enumerate();
        let acceptors: Vec<_> = (0..ACCEPTORS as u16)
            .map(|id| Acceptor::formed(id, self.window))
            .collect();
        vec![State {
            stored: match self.kills {
                0 => Vec::new(),
                _ => acceptors.clone(),
            },
            kills: self.kills,
            restarts: self.restarts,
            acceptors,
            coordinators: coordinators
                .map(|(number, _)| {
                    let identity = number as u16 + 1;
                    let mut made = self.coordinator(identity);
                    if self.mistake == Mistake::QuorumOfOne {
                        made.quorum = Some(1);
                    }
                    if self.late && number == 1 {
                        let round = consensus::message::round(self.campaigns[0].into(), 0);
                        made.step(
                            &Message {
                                round,
                                ..Message::new(Kind::Lease)
                            },
                            &mut Vec::new(),
                        );
                    }
                    made
                })
                .collect(),
            switches: (0..self.switches)
                .map(|number| Sequencer::new(self.number(number), self.window as u64))
                .collect(),
            campaigns: self.campaigns.clone(),
            proposed: vec![0; self.campaigns.len()],
            losses: self.losses,
            calls: self.calls,
            said: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for message in &state.said {
            if matches!(
                message.kind,
                Kind::Phase1A | Kind::Phase2A | Kind::Admit | Kind::Trim
            ) {
                let all = (0..ACCEPTORS).filter(|acceptor| {
                    (self.first | self.then) >> acceptor & 1 == 1 && self.is_for(*acceptor, message)
                });
                actions.extend(all.map(|acceptor| Action::ToAcceptor(acceptor, message.clone())));
            }
        }
        for (number, coordinator) in state.coordinators.iter().enumerate() {
            let mine = |said: &&Arc<Message<u8>>| {
                said.round == coordinator.round() || said.kind == Kind::Forgotten && said.round == 0
            };
            let said: Vec<_> = state.said.iter().filter(mine).cloned().collect();
            let of = |kind| said.iter().filter(move |said| said.kind == kind);
            let probed = coordinator.is_leading().then(|| of(Kind::Phase1B));
            let alone = of(Kind::Forgotten).chain(of(Kind::Phase2B));
            let alone = alone.chain(probed.into_iter().flatten());
            actions.extend(alone.map(|said| Action::ToCoordinator(number, vec![said.clone()])));
            // Promises change nothing that others can see until there are enough of them, so that they may as well come together.
            let promises: Vec<_> = of(Kind::Phase1B).collect();
            for (place, one) in promises.iter().enumerate() {
                if self.mistake == Mistake::QuorumOfOne || self.then != 0 {
                    actions.push(Action::ToCoordinator(number, vec![(*one).clone()]));
                }
                for (behind, two) in promises.iter().enumerate().skip(place + 1) {
                    let pair = vec![(*one).clone(), (*two).clone()];
                    if one.sender != two.sender {
                        actions.push(Action::ToCoordinator(number, pair.clone()));
                    }
                    // A third is needed when one of the others was given before its acceptor lost its registers.
                    if self.losses != [0; ACCEPTORS] || self.then != 0 {
                        for three in &promises[behind + 1..] {
                            let mut all = pair.clone();
                            all.push((*three).clone());
                            actions.push(Action::ToCoordinator(number, all));
                        }
                    }
                }
            }
            if state.campaigns[number] > 0 {
                actions.push(Action::Campaign(number));
            }
            if state.calls > 0 && !coordinator.is_following() {
                actions.push(Action::Retry(number));
            }
            let has_switch = number < self.switches;
            if coordinator.is_leading()
                && !coordinator.has_handed_over()
                && state.proposed[number] < self.proposals[number]
            {
                actions.push(Action::Propose(number));
            }
            if has_switch && coordinator.is_settled() {
                actions.push(Action::HandOver(number));
            }
        }
        for (number, switch) in state.switches.iter().enumerate() {
            for message in &state.said {
                if matches!(message.kind, Kind::Activate | Kind::Refused | Kind::Trim) {
                    actions.push(Action::ToSwitch(number, message.clone()));
                }
            }
            if switch.active && state.proposed[number] < self.proposals[number] {
                actions.push(Action::Request(number));
            }
        }
        let losers = (0..ACCEPTORS).filter(|acceptor| state.losses[*acceptor] > 0);
        actions.extend(losers.map(Action::Lose));
        if state.kills > 0 {
            actions.extend((0..ACCEPTORS).map(Action::Kill));
        }
        if state.restarts > 0 {
            actions.extend((0..state.coordinators.len()).map(Action::Restart));
        }
        if self.trims {
            let mut learner = self.learner(state);
            while self.then == 0
                && let Some((instance, _)) = learner.deliver()
            {
                actions.push(Action::Trim(instance + 1));
            }
            if self.then != 0 && learner.next() > 1 {
                let all = 0..state.coordinators.len();
                actions.extend(all.map(|number| Action::Delivered(number, learner.next())));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        let mut out = Vec::new();
        match action {
            Action::ToAcceptor(acceptor, message) => {
                let known = &mut state.acceptors[acceptor];
                let before = known.clone();
                out.extend(self.step(known, &message));
                if let Some(stored) = state.stored.get_mut(acceptor) {
                    *stored = match self.mistake {
                        Mistake::AnswersTooSoon => before,
                        _ => {
                            let messages = stored.state().chain([*message]);
                            Acceptor::restored(stored.id, self.window, messages)?
                        }
                    };
                }
            }
            Action::Kill(acceptor) => {
                state.kills -= 1;
                state.acceptors[acceptor] = state.stored[acceptor].clone();
            }
            Action::Restart(number) => {
                state.restarts -= 1;
                let round = state.coordinators[number].round();
                let mut again = self.coordinator(number as u16 + 1);
                if self.mistake != Mistake::RoundsForgotten {
                    again.resume(round);
                }
                state.coordinators[number] = again;
            }
            Action::ToCoordinator(number, messages) => {
                let coordinator = &mut state.coordinators[number];
                let (round, led) = (coordinator.round(), coordinator.is_leading());
                for message in &messages {
                    coordinator.step(message, &mut out);
                }
                let promises = messages[0].kind == Kind::Phase1B;
                if promises && !led && out.is_empty() && !coordinator.is_leading() {
                    return None;
                }
                // A round that begins because an acceptor lost its registers counts as a campaign.
                if coordinator.round() != round {
                    state.campaigns[number] = state.campaigns[number].checked_sub(1)?;
                }
                if self.mistake == Mistake::AdmittedTooSoon && messages[0].kind == Kind::Forgotten {
                    out.push(Message {
                        kind: Kind::Admit,
                        base: 1,
                        ..*messages[0]
                    });
                }
            }
            Action::Retry(number) => {
                state.calls -= 1;
                let coordinator = &mut state.coordinators[number];
                let (round, called) = (coordinator.round(), coordinator.has_called());
                for _ in 0..RETRIES {
                    coordinator.retry(&mut out);
                    if coordinator.has_called() != called {
                        break;
                    }
                }
                if coordinator.round() != round {
                    state.campaigns[number] = state.campaigns[number].checked_sub(1)?;
                }
            }
            Action::Campaign(number) => {
                state.campaigns[number] -= 1;
                state.coordinators[number].campaign(&mut out);
            }
            Action::HandOver(number) => {
                out.extend(state.coordinators[number].hand_over(self.number(number)));
            }
            Action::ToSwitch(number, message) => {
                let switch = &mut state.switches[number];
                out.extend(switch.step(&message));
                if self.mistake == Mistake::RoundForgotten && !switch.active {
                    switch.round = 0;
                }
            }
            Action::Request(number) => {
                let request = Message {
                    value: self.value(&state, number),
                    ..Message::new(Kind::Request)
                };
                out.push(state.switches[number].step(&request)?);
                state.proposed[number] += 1;
            }
            Action::Propose(number) => {
                let value = self.value(&state, number);
                let coordinator = &mut state.coordinators[number];
                let instance = coordinator.propose(value, &mut out)?;
                state.proposed[number] += 1;
                if self.mistake == Mistake::UsedBeforeDecided && value == CHANGES {
                    coordinator.learn(1, &self.changed(instance, 0), &mut out);
                    state.campaigns[number] = state.campaigns[number].checked_sub(1)?;
                }
            }
            Action::Lose(acceptor) => {
                state.losses[acceptor] -= 1;
                let lost = &mut state.acceptors[acceptor];
                *lost = Acceptor {
                    admitted: self.mistake == Mistake::AdmittedAtOnce,
                    ..Acceptor::restarted(lost.id, lost.boot + 1, self.window)
                };
                if let Some(stored) = state.stored.get_mut(acceptor) {
                    *stored = lost.clone();
                }
                if acceptor >= ACCEPTORS - self.auxiliaries {
                    out.push(Message {
                        sender: lost.id,
                        boot: lost.boot,
                        ..Message::new(Kind::Forgotten)
                    });
                }
            }
            Action::Trim(below) => {
                out.push(Message {
                    instance: below,
                    ..Message::new(Kind::Trim)
                });
                let members = Configuration::with(self.first);
                for known in &mut state.coordinators {
                    known.learn(below, &members, &mut out);
                    known.trim(below);
                }
            }
            Action::Delivered(number, below) => {
                out.push(Message {
                    instance: below,
                    ..Message::new(Kind::Trim)
                });
                let (_, mut members) = self.learned(&state);
                if self.mistake == Mistake::OldQuorum {
                    members = Configuration::with(self.first);
                }
                let coordinator = &mut state.coordinators[number];
                let round = coordinator.round();
                coordinator.learn(below, &members, &mut out);
                coordinator.trim(below);
                if coordinator.round() != round {
                    state.campaigns[number] = state.campaigns[number].checked_sub(1)?;
                }
            }
        }
        // A refusal only makes a coordinator give up sooner; one that goes on is the worse case. So it is with a switch, but for what it
        // does when it is told to go on.
        out.retain(|said| said.kind != Kind::Refused || self.switches > 0);
        for said in out.iter_mut().filter(|said| said.kind == Kind::Refused) {
            // Who refused is all the same.
            *said = Message {
                round: said.round,
                vote_round: said.vote_round,
                ..Message::new(Kind::Refused)
            };
        }
        if self.auxiliaries > 0 {
            // Nothing is trimmed; and what is for auxiliary acceptors as well reaches all that it reached before.
            out.retain(|said| said.kind != Kind::Trim);
            for said in out.iter().filter(|said| said.high == AUXILIARIES) {
                state.said.remove(&Message { high: 0, ..*said });
            }
            let again = |said: &Message<u8>| Message {
                high: AUXILIARIES,
                ..*said
            };
            out.retain(|said| !state.said.contains(&again(said)));
        }
        state.said.extend(out.into_iter().map(Arc::new));
        // What nobody would take is as good as lost.
        let State {
            said,
            coordinators,
            switches,
            ..
        } = &mut state;
        said.retain(|said| {
            let asks = |known: &Coordinator<u8>| {
                known.round() == said.round
                    && !known.is_following()
                    && (!known.is_leading() || known.has_called())
            };
            match said.kind {
                Kind::Phase1B => coordinators.iter().any(asks),
                Kind::Forgotten => {
                    said.round == 0 || coordinators.iter().any(|known| known.round() == said.round)
                }
                Kind::Refused => switches
                    .iter()
                    .any(|known| known.active && known.round == said.round),
                _ => true,
            }
        });
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one value an instance", |group: &Group, state: &State| {
                group.chosen(state).values().all(|values| values.len() <= 1)
            }),
            Property::always(
                "what is learned was chosen",
                |group: &Group, state: &State| {
                    let (learner, chosen) = (group.learner(state), group.chosen(state));
                    learner.conflicts == 0
                        && (1..=4).all(|instance| {
                            learner.decided(instance).is_none_or(|value| {
                                chosen
                                    .get(&instance)
                                    .is_some_and(|all| all.contains(&value))
                            })
                        })
                },
            ),
            Property::sometimes("something is chosen", |group: &Group, state: &State| {
                !group.chosen(state).is_empty()
            }),
            Property::sometimes(
                "who lost all is admitted",
                |group: &Group, state: &State| {
                    let again = |acceptor: &Acceptor<u8>| acceptor.boot > 1 && acceptor.admitted;
                    group.losses == [0; ACCEPTORS] || state.acceptors.iter().any(again)
                },
            ),
            Property::sometimes(
                "an auxiliary acceptor's vote decides",
                |group: &Group, state: &State| {
                    let votes = |vote: &&Arc<Message<u8>>| vote.kind == Kind::Phase2B;
                    let by = |sender| {
                        state
                            .said
                            .iter()
                            .filter(votes)
                            .any(|vote| vote.sender == sender)
                    };
                    group.calls == 0 || !group.chosen(state).is_empty() && !by(1) && by(2)
                },
            ),
            Property::sometimes(
                "a switch does without it again",
                |group: &Group, state: &State| {
                    let asked = |calls: bool| {
                        let asks = |said: &&Arc<Message<u8>>| {
                            said.kind == Kind::Phase2A
                                && said.boot != 0
                                && (said.high == AUXILIARIES) == calls
                        };
                        let round = state.said.iter().filter(asks).map(|said| said.round);
                        round.min()
                    };
                    let again = matches!((asked(true), asked(false)), (Some(called), Some(alone)) if called < alone);
                    group.switches == 0 || group.calls < 2 || again
                },
            ),
            Property::sometimes("the window moves", |group: &Group, state: &State| {
                !group.trims || group.chosen(state).contains_key(&(group.window as u64 + 1))
            }),
            Property::sometimes("the new members decide", |group: &Group, state: &State| {
                group.then == 0 || {
                    let (learner, members) = group.learned(state);
                    members.version > 0 && learner.next() > group.window as u64 + 1
                }
            }),
        ]
    }
}
