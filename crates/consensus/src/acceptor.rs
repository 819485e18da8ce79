//! An acceptor: what figure 3.15 of paper 002 does, and what it leaves out.
//!
//! One message in, at most one out, and a fixed number of registers: what a switch can do. The P4 program in `examples/paxos` does the
//! same, message for message and register for register.
//!
//! **Instances** are held in a ring of cells. Cell `instance % window` holds the instance from `base` to `base + window - 1` that falls on
//! it; each cell says which instance it is for, so that one left over from before the window moved counts as empty, and moving the
//! window clears nothing. No index leaves the ring.
//!
//! **A promise** is for all instances at once: one register, where the paper has one for each instance. So phase 1 need not be run
//! for instances that nobody has voted for: an answer says the highest one (`high`), and what is above is free.
//!
//! **A vote** in the round that was promised is cast. The figure asks for a higher round in both phases, so that its acceptors would
//! drop the phase 2A that follows upon their own promise.
//!
//! **Lost registers.** An acceptor that has started again without its registers must not vote for what it may have voted against before. So it
//! takes no part: it answers everything with [`Forgotten`](Kind::Forgotten) until a coordinator admits it. Only two things
//! outlive a start: who it is, and how often it has started (`boot`). When it may be admitted is said at [`crate::coordinator`].

use crate::message::{ACCEPTORS, Boots, Instance, Kind, Message, Round};
use alloc::vec;
use alloc::vec::Vec;

/// A vote, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell<V> {
    /// For which instance it is; 0 for none yet.
    pub instance: Instance,
    /// In which round.
    pub round: Round,
    /// For what.
    pub value: V,
}

/// An acceptor, as the registers that it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acceptor<V> {
    /// Which one, below [`ACCEPTORS`].
    pub id: u16,
    /// How often it has started.
    pub boot: u16,
    /// Whether it takes part.
    pub admitted: bool,
    /// It votes in no round below.
    pub promised: Round,
    /// It remembers nothing below.
    pub base: Instance,
    /// The highest instance for which it has voted.
    pub high: Instance,
    /// How often each acceptor has started, as far as it was told.
    pub boots: Boots,
    /// Its votes.
    pub cells: Vec<Cell<V>>,
}

impl<V: Clone + Default> Acceptor<V> {
    /// One that begins with all others, when a group is formed. `window`, at least 1, is how many instances it remembers.
    pub fn formed(id: u16, window: usize) -> Acceptor<V> {
        Acceptor {
            admitted: true,
            ..Acceptor::restarted(id, 1, window)
        }
    }

    /// One that has started for the `boot`th time, and has lost its registers.
    pub fn restarted(id: u16, boot: u16, window: usize) -> Acceptor<V> {
        Acceptor {
            id,
            boot,
            admitted: false,
            promised: 0,
            base: 1,
            high: 0,
            boots: Boots::default(),
            cells: vec![Cell::default(); window.max(1)],
        }
    }

    /// The whole state as messages, from which [`restored`](Acceptor::restored) makes it: registers, and votes.
    pub fn state(&self) -> impl Iterator<Item = Message<V>> {
        let registers = Message {
            sender: self.id,
            boot: self.boot,
            round: self.promised,
            vote_round: self.admitted.into(),
            base: self.base,
            high: self.high,
            boots: self.boots,
            ..Message::new(Kind::Admit)
        };
        let voted = self.cells.iter().filter(|cell| cell.instance != 0);
        let votes = voted.map(|cell| Message {
            instance: cell.instance,
            round: cell.round,
            value: cell.value.clone(),
            ..Message::new(Kind::Phase2B)
        });
        core::iter::once(registers).chain(votes)
    }

    /// An acceptor restored from a [`state`](Acceptor::state) and the messages after it; `None` if these are
    /// no state.
    pub fn restored(
        id: u16,
        window: usize,
        messages: impl IntoIterator<Item = Message<V>>,
    ) -> Option<Acceptor<V>> {
        let mut messages = messages.into_iter();
        let registers = messages.next()?;
        let mut acceptor = Acceptor {
            admitted: registers.vote_round == 1,
            promised: registers.round,
            base: registers.base,
            high: registers.high,
            boots: registers.boots,
            ..Acceptor::restarted(id, registers.boot, window)
        };
        for message in messages {
            if message.kind == Kind::Phase2B {
                let slot = acceptor.slot(message.instance);
                acceptor.cells[slot] = Cell {
                    instance: message.instance,
                    round: message.round,
                    value: message.value,
                };
            } else {
                acceptor.step(&message);
            }
        }
        (registers.kind == Kind::Admit && registers.sender == id).then_some(acceptor)
    }

    /// Takes a message, as [`step`](Acceptor::step) does, and says whether it changed anything.
    pub fn step_changes(&mut self, message: &Message<V>) -> (Option<Message<V>>, bool)
    where
        V: PartialEq,
    {
        let registers = |acceptor: &Self| {
            let Acceptor {
                admitted,
                promised,
                base,
                boots,
                ..
            } = *acceptor;
            (admitted, promised, base, boots)
        };
        let before = registers(self);
        let cell = &self.cells[self.slot(message.instance)];
        let has_voted = (cell.instance, cell.round) == (message.instance, message.round)
            && cell.value == message.value;
        let answer = self.step(message);
        let votes = answer
            .as_ref()
            .is_some_and(|answer| answer.kind == Kind::Phase2B);
        let changes = registers(self) != before || votes && !has_voted;
        (answer, changes)
    }

    /// Takes a message, and answers it, if at all, by one.
    pub fn step(&mut self, message: &Message<V>) -> Option<Message<V>> {
        match message.kind {
            Kind::Phase1A | Kind::Phase2A if !self.admitted => {
                Some(self.answer(Kind::Forgotten, message))
            }
            Kind::Phase1A | Kind::Phase2A if message.round < self.promised => {
                let refused = self.answer(Kind::Refused, message);
                Some(Message {
                    vote_round: self.promised,
                    ..refused
                })
            }
            Kind::Phase1A => Some(self.promise(message)),
            Kind::Phase2A => self.vote(message),
            Kind::Admit => {
                if !self.admitted && message.sender == self.id && message.boot == self.boot {
                    self.admitted = true;
                    self.promised = message.round;
                    self.base = message.base.max(1);
                    self.boots = message.boots;
                }
                None
            }
            Kind::Trim => {
                if self.admitted {
                    self.base = self.base.max(message.instance);
                }
                None
            }
            _ => None,
        }
    }

    fn promise(&mut self, message: &Message<V>) -> Message<V> {
        self.promised = message.round;
        for (known, told) in self.boots.iter_mut().zip(message.boots) {
            *known = told.max(*known);
        }
        let mut promise = self.answer(Kind::Phase1B, message);
        let cell = &self.cells[self.slot(message.instance)];
        let remembered = message.instance >= self.base && cell.instance == message.instance;
        promise.vote_round = if remembered { cell.round } else { 0 };
        promise.value = match remembered {
            true => cell.value.clone(),
            false => V::default(),
        };
        promise
    }

    fn vote(&mut self, message: &Message<V>) -> Option<Message<V>> {
        self.promised = message.round;
        // Below the base the first is above the second.
        if message.instance.wrapping_sub(self.base) >= self.cells.len() as u64 {
            return None;
        }
        let slot = self.slot(message.instance);
        self.cells[slot] = Cell {
            instance: message.instance,
            round: message.round,
            value: message.value.clone(),
        };
        self.high = self.high.max(message.instance);
        let vote = self.answer(Kind::Phase2B, message);
        Some(Message {
            vote_round: message.round,
            ..vote
        })
    }

    /// The cell of an instance.
    fn slot(&self, instance: Instance) -> usize {
        (instance % self.cells.len() as u64) as usize
    }

    /// The message, turned into an answer.
    fn answer(&self, kind: Kind, message: &Message<V>) -> Message<V> {
        Message {
            kind,
            sender: self.id,
            boot: self.boot,
            base: self.base,
            high: self.high,
            boots: self.boots,
            ..message.clone()
        }
    }
}

/// Acceptors as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Set(u8);

impl Set {
    /// Those of these bits that can be.
    pub const fn of(bits: u8) -> Set {
        Set(bits & ((1 << ACCEPTORS) - 1))
    }

    pub fn bits(self) -> u8 {
        self.0
    }

    /// Those of both.
    pub fn and(self, other: Set) -> Set {
        Set(self.0 & other.0)
    }

    /// Adds an acceptor; one that cannot be is not added.
    pub fn add(&mut self, acceptor: u16) {
        if usize::from(acceptor) < ACCEPTORS {
            self.0 |= 1 << acceptor;
        }
    }

    pub fn has(self, acceptor: u16) -> bool {
        usize::from(acceptor) < ACCEPTORS && self.0 & (1 << acceptor) != 0
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }
}

/// How many acceptors of so many are a quorum, so that any two quorums share one.
pub const fn majority(acceptors: usize) -> usize {
    acceptors / 2 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: Kind, instance: Instance, round: Round, value: u8) -> Message<u8> {
        Message {
            instance,
            round,
            value,
            ..Message::new(kind)
        }
    }

    #[test]
    fn it_votes_in_the_round_that_it_promised_and_refuses_lower_ones() {
        let mut acceptor = Acceptor::formed(1, 4);
        let promise = acceptor.step(&ask(Kind::Phase1A, 1, 5, 0)).unwrap();
        assert_eq!((promise.kind, promise.vote_round), (Kind::Phase1B, 0));
        let vote = acceptor.step(&ask(Kind::Phase2A, 1, 5, 7)).unwrap();
        assert_eq!((vote.kind, vote.sender, vote.value), (Kind::Phase2B, 1, 7));
        let refused = acceptor.step(&ask(Kind::Phase2A, 1, 4, 8)).unwrap();
        assert_eq!((refused.kind, refused.vote_round), (Kind::Refused, 5));
        let refused = acceptor.step(&ask(Kind::Phase1A, 2, 4, 0)).unwrap();
        assert_eq!(refused.kind, Kind::Refused);
        let promise = acceptor.step(&ask(Kind::Phase1A, 1, 6, 0)).unwrap();
        let told = (promise.vote_round, promise.value, promise.high);
        assert_eq!(told, (5, 7, 1));
    }

    #[test]
    fn the_window_moves_and_what_it_leaves_is_forgotten() {
        let mut acceptor = Acceptor::formed(0, 4);
        for instance in 1..=4 {
            let asked = ask(Kind::Phase2A, instance, 1, instance as u8);
            assert!(acceptor.step(&asked).is_some());
        }
        assert_eq!(acceptor.step(&ask(Kind::Phase2A, 5, 1, 5)), None, "too far");
        assert_eq!(acceptor.step(&ask(Kind::Trim, 3, 0, 0)), None);
        assert_eq!(acceptor.step(&ask(Kind::Phase2A, 2, 1, 9)), None, "below");
        assert!(acceptor.step(&ask(Kind::Phase2A, 5, 1, 5)).is_some());
        let vote_of = |acceptor: &mut Acceptor<u8>, instance| {
            let promise = acceptor.step(&ask(Kind::Phase1A, instance, 2, 0));
            promise.map(|promise| (promise.vote_round, promise.value))
        };
        assert_eq!(vote_of(&mut acceptor, 5), Some((1, 5)));
        assert_eq!(vote_of(&mut acceptor, 1), Some((0, 0)), "its cell is 5's");
        assert_eq!(vote_of(&mut acceptor, 2), Some((0, 0)), "below the base");
        assert_eq!(vote_of(&mut acceptor, 6), Some((0, 0)), "its cell is 2's");
        // A trim that comes late moves nothing back, and instances at the end of all numbers leave no cell.
        acceptor.step(&ask(Kind::Trim, 1, 0, 0));
        assert_eq!(acceptor.base, 3);
        for instance in [0, u64::MAX, u64::MAX - 3] {
            assert_eq!(acceptor.step(&ask(Kind::Phase2A, instance, 2, 1)), None);
        }
    }

    #[test]
    fn without_its_registers_it_takes_no_part_until_it_is_admitted() {
        let mut acceptor = Acceptor::restarted(2, 3, 4);
        for kind in [Kind::Phase1A, Kind::Phase2A] {
            let answer = acceptor.step(&ask(kind, 1, 9, 1)).unwrap();
            let told = (answer.kind, answer.sender, answer.boot);
            assert_eq!(told, (Kind::Forgotten, 2, 3));
        }
        let admit = Message {
            sender: 2,
            boot: 2,
            round: 9,
            base: 2,
            ..Message::new(Kind::Admit)
        };
        acceptor.step(&admit);
        assert!(!acceptor.admitted, "that was for an earlier start");
        acceptor.step(&Message {
            sender: 1,
            boot: 3,
            ..admit
        });
        assert!(!acceptor.admitted, "that was for another acceptor");
        acceptor.step(&Message { boot: 3, ..admit });
        assert!(acceptor.admitted);
        let refused = acceptor.step(&ask(Kind::Phase2A, 2, 8, 1)).unwrap();
        assert_eq!(refused.kind, Kind::Refused);
        let vote = acceptor.step(&ask(Kind::Phase2A, 2, 9, 1)).unwrap();
        assert_eq!(vote.kind, Kind::Phase2B);
        // Admitted once, it is not set back.
        acceptor.step(&Message {
            boot: 3,
            round: 1,
            ..admit
        });
        assert_eq!(acceptor.promised, 9);
    }
}
