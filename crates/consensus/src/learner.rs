//! A learner: counts votes, and delivers what was decided in the order of instances.

use crate::acceptor::Set;
use crate::configuration::Configuration;
use crate::message::{ACCEPTORS, Instance, Kind, Message, Round};
use alloc::vec::Vec;

/// What is known of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot<V> {
    instance: Instance,
    /// The highest round in which each acceptor is known to have voted.
    votes: [Round; ACCEPTORS],
    /// The highest of these, and what the votes in it are for.
    round: Round,
    value: V,
    decided: bool,
}

/// A learner. It keeps the last decisions for its peers, as many as its window has instances.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Learner<V> {
    /// How many acceptors must agree; `None` for a majority.
    pub quorum: Option<usize>,
    /// Decisions that differ from an earlier one for the same instance. Never more than 0, or the protocol is broken.
    pub conflicts: u64,
    configuration: Configuration,
    next: Instance,
    high: Instance,
    slots: Vec<Slot<V>>,
}

impl<V: Clone + Default + PartialEq> Learner<V> {
    /// One of so many acceptors, that looks so many instances ahead of what it has delivered, and remembers as many behind.
    pub fn new(acceptors: usize, window: usize) -> Learner<V> {
        let empty = Slot {
            instance: 0,
            votes: [0; ACCEPTORS],
            round: 0,
            value: V::default(),
            decided: false,
        };
        Learner {
            quorum: None,
            conflicts: 0,
            configuration: Configuration::of(acceptors),
            next: 1,
            high: 0,
            slots: alloc::vec![empty; 2 * window.max(1)],
        }
    }

    /// Counts votes by this configuration. The caller gives a new one when it is decided, before
    /// the next instance is [delivered](Learner::deliver): votes that it applies to have not been
    /// counted then.
    pub fn configure(&mut self, configuration: Configuration) {
        self.configuration = configuration;
    }

    /// The configuration by which it counts votes.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The next instance to be delivered.
    pub fn next(&self) -> Instance {
        self.next
    }

    /// The highest instance that it has heard of a vote in.
    pub fn high(&self) -> Instance {
        self.high
    }

    /// Somebody knows of instances below this one.
    pub fn heard(&mut self, below: Instance) {
        self.high = self.high.max(below.saturating_sub(1));
    }

    /// Takes an acceptor's vote, or what a peer says was decided.
    pub fn step(&mut self, message: &Message<V>) {
        match message.kind {
            Kind::Phase2B => self.voted(message),
            Kind::Decided => {
                if let Some(slot) = self.slot(message.instance) {
                    decide(slot, message.value.clone()).then(|| self.conflicts += 1);
                }
            }
            _ => {}
        }
    }

    /// The next decision, once it and all before it are known.
    pub fn deliver(&mut self) -> Option<(Instance, V)> {
        let (instance, value) = (self.next, self.decided(self.next)?);
        self.next = self.next.saturating_add(1);
        Some((instance, value))
    }

    /// What was decided in an instance, if it is known and not too long ago.
    pub fn decided(&self, instance: Instance) -> Option<V> {
        let slot = &self.slots[(instance % self.slots.len() as u64) as usize];
        (slot.instance == instance && slot.decided).then(|| slot.value.clone())
    }

    /// Begins at this instance, where a checkpoint ends.
    pub fn resume(&mut self, next: Instance) {
        self.next = self.next.max(next);
    }

    /// The slot of an instance that is not too far ahead, and not too long ago.
    fn slot(&mut self, instance: Instance) -> Option<&mut Slot<V>> {
        self.high = self.high.max(instance);
        let half = self.slots.len() as u64 / 2;
        if instance < self.next.saturating_sub(half).max(1)
            || instance - self.next.min(instance) >= half
        {
            return None;
        }
        let index = (instance % self.slots.len() as u64) as usize;
        let slot = &mut self.slots[index];
        if slot.instance < instance {
            *slot = Slot {
                instance,
                votes: [0; ACCEPTORS],
                round: 0,
                value: V::default(),
                decided: false,
            };
        }
        (slot.instance == instance).then_some(slot)
    }

    fn voted(&mut self, message: &Message<V>) {
        let (quorum, configuration) = (self.quorum, self.configuration);
        let Some(slot) = self.slot(message.instance) else {
            return;
        };
        let Some(vote) = slot.votes.get_mut(usize::from(message.sender)) else {
            return;
        };
        if message.round <= *vote {
            return;
        }
        *vote = message.round;
        let mut same = Set::default();
        let votes = (0..).zip(&slot.votes);
        votes
            .filter(|(_, vote)| **vote == message.round)
            .for_each(|(acceptor, _)| same.add(acceptor));
        if configuration.is_quorum(message.instance, same, quorum) {
            decide(slot, message.value.clone()).then(|| self.conflicts += 1);
        }
    }
}

/// Notes a decision; whether another was noted before.
fn decide<V: PartialEq>(slot: &mut Slot<V>, value: V) -> bool {
    if slot.decided {
        return slot.value != value;
    }
    slot.decided = true;
    slot.value = value;
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(sender: u16, instance: Instance, round: Round, value: u8) -> Message<u8> {
        Message {
            sender,
            instance,
            round,
            vote_round: round,
            value,
            ..Message::new(Kind::Phase2B)
        }
    }

    #[test]
    fn it_delivers_in_order_what_a_quorum_voted_for_in_one_round() {
        let mut learner = Learner::new(3, 4);
        learner.step(&vote(0, 2, 1, 2));
        learner.step(&vote(1, 2, 1, 2));
        assert_eq!(learner.deliver(), None, "the first is missing");
        learner.step(&vote(0, 1, 1, 7));
        learner.step(&vote(0, 1, 1, 7));
        assert_eq!(learner.deliver(), None, "one acceptor twice is one");
        learner.step(&vote(1, 1, 2, 8));
        assert_eq!(learner.deliver(), None, "two rounds are not one");
        learner.step(&vote(0, 1, 2, 8));
        assert_eq!(learner.deliver(), Some((1, 8)));
        assert_eq!(learner.deliver(), Some((2, 2)));
        assert_eq!(
            (learner.deliver(), learner.next(), learner.high()),
            (None, 3, 2)
        );
        assert_eq!((learner.decided(1), learner.conflicts), (Some(8), 0));
    }

    #[test]
    fn what_cannot_be_is_counted_and_what_is_out_of_reach_is_passed_over() {
        let mut learner = Learner::new(3, 4);
        let decided = |instance, value| Message {
            instance,
            value,
            ..Message::new(Kind::Decided)
        };
        learner.step(&decided(1, 5));
        learner.step(&decided(1, 5));
        assert_eq!(learner.conflicts, 0);
        learner.step(&decided(1, 6));
        assert_eq!((learner.conflicts, learner.decided(1)), (1, Some(5)));
        for instance in [0, 5, u64::MAX] {
            learner.step(&decided(instance, 1));
            assert_eq!(learner.decided(instance), None);
        }
        learner.step(&vote(9, 2, 1, 1));
        for instance in 2..=9 {
            learner.deliver();
            learner.step(&decided(instance, instance as u8));
        }
        learner.deliver();
        assert_eq!(learner.next(), 10);
        assert_eq!(learner.decided(1), None, "too long ago");
        assert_eq!(learner.decided(9), Some(9));
    }
}
