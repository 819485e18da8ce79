//! Members of a group, instance by instance, and changes of them that the log decides.
//!
//! A change is a command. Decided in instance `i`, it applies to the instances from `i + alpha` on,
//! where `alpha` is the window of the group (Lamport, Malkhi, Zhou, "Reconfiguring a State
//! Machine", 2010, section 3). No member asks for votes or counts them in an instance `j` before it
//! knows the decisions up to `j - alpha`, since the window begins after the last decision. So
//! all members count the votes of an instance by the same acceptors.
//!
//! One change is under way at a time: the next one may be decided once the one before applies. So
//! two sets of acceptors describe the whole window.

use crate::acceptor::{Set, majority};
use crate::command::Value;
use crate::message::{ACCEPTORS, Instance};
use alloc::vec::Vec;

/// Replicas that a change may name are those below.
pub const MAX_REPLICAS: u16 = 16;

/// First byte of a change, and of a configuration, as a value.
const CHANGE: u8 = 6;
const CONFIGURATION: u8 = 7;

/// The members at one point of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Configuration {
    /// Number of changes so far.
    pub version: u32,
    /// The acceptors before the last change are those of the instances from here on.
    pub since: Instance,
    /// The acceptors after it are those of the instances from here on.
    pub from: Instance,
    pub(crate) before: Set,
    pub(crate) acceptors: Set,
    /// Replicas added to those that coordinators were made with, as bits, and replicas removed from
    /// these.
    pub(crate) added: u16,
    pub(crate) removed: u16,
}

/// A change of the members, as bits: acceptor or replica `n` is bit `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// Whether a coordinator has checked that the group can carry it out. Replicas do nothing
    /// without that.
    pub granted: bool,
    /// Acceptors to add, as a set of bits.
    pub add: u8,
    /// Acceptors to remove, as a set of bits.
    pub remove: u8,
    /// Replicas to add, as a set of bits.
    pub add_replicas: u16,
    /// Replicas to remove, as a set of bits.
    pub remove_replicas: u16,
}

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// The change before it does not apply yet.
    Pending,
    /// The group has a switch that orders requests, or auxiliary acceptors.
    Fixed,
    /// No acceptor would be left.
    Empty,
}

/// The members, in the answer to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Members {
    /// Acceptors as bits: after the last change.
    pub acceptors: u8,
    /// Before it.
    pub before: u8,
    /// Replicas added, as bits.
    pub added: u16,
    /// Replicas removed, as bits.
    pub removed: u16,
    /// Whether the last change does not apply yet to the instance of the answer.
    pub pending: bool,
    /// Why nothing was changed, if that was asked for.
    pub refused: Option<Refusal>,
}

impl Configuration {
    /// The first one, of acceptors 0 to `acceptors - 1`.
    pub fn of(acceptors: usize) -> Configuration {
        Configuration::with((1 << acceptors.clamp(1, ACCEPTORS)) - 1)
    }

    /// The first one, of acceptors as bits.
    pub fn with(acceptors: u8) -> Configuration {
        let acceptors = Set::of(acceptors);
        Configuration {
            version: 0,
            since: 0,
            from: 0,
            before: acceptors,
            acceptors,
            added: 0,
            removed: 0,
        }
    }

    /// The acceptors of an instance.
    pub(crate) fn at(&self, instance: Instance) -> Set {
        match instance < self.from {
            true => self.before,
            false => self.acceptors,
        }
    }

    /// Whether an acceptor is one of some instance.
    pub(crate) fn has(&self, acceptor: u16) -> bool {
        self.before.has(acceptor) || self.acceptors.has(acceptor)
    }

    /// Whether these acceptors are a quorum of an instance: `quorum` of its acceptors, else a
    /// majority.
    pub(crate) fn is_quorum(&self, instance: Instance, these: Set, quorum: Option<usize>) -> bool {
        let all = self.at(instance);
        these.and(all).len() >= quorum.unwrap_or(majority(all.len()))
    }

    /// Whether these acceptors are a quorum of every instance from `low` on.
    pub(crate) fn is_quorum_from(&self, low: Instance, these: Set, quorum: Option<usize>) -> bool {
        self.is_quorum(low, these, quorum) && self.is_quorum(Instance::MAX, these, quorum)
    }

    /// Whether coordinators wait for a replica, given the number of replicas they were configured with.
    pub(crate) fn has_replica(&self, replica: usize, replicas: usize) -> bool {
        let is = |bits: u16| replica < usize::from(MAX_REPLICAS) && bits >> replica & 1 == 1;
        (replica < replicas || is(self.added)) && !is(self.removed)
    }

    /// The configuration after a change that is decided in an instance.
    ///
    /// # Errors
    /// The reason for which the change is refused.
    pub fn changed(
        &self,
        change: Change,
        instance: Instance,
        alpha: u64,
    ) -> Result<Configuration, Refusal> {
        let acceptors = Set::of((self.acceptors.bits() | change.add) & !change.remove);
        let added = (self.added | change.add_replicas) & !change.remove_replicas;
        let removed = (self.removed | change.remove_replicas) & !change.add_replicas;
        let is_same = (acceptors, added, removed) == (self.acceptors, self.added, self.removed);
        if is_same {
            return Ok(*self);
        }
        if !change.granted {
            return Err(Refusal::Fixed);
        }
        if acceptors.len() == 0 {
            return Err(Refusal::Empty);
        }
        if instance < self.from {
            return Err(Refusal::Pending);
        }
        Ok(Configuration {
            version: self.version.saturating_add(1),
            since: self.from,
            from: instance.saturating_add(alpha),
            before: self.acceptors,
            acceptors,
            added,
            removed,
        })
    }

    /// The members, for the answer in an instance.
    pub fn members(&self, instance: Instance, refused: Option<Refusal>) -> Members {
        Members {
            acceptors: self.acceptors.bits(),
            before: self.before.bits(),
            added: self.added,
            removed: self.removed,
            pending: instance < self.from,
            refused,
        }
    }

    /// As a message's value.
    pub fn encode(&self) -> Value {
        let mut bytes = Vec::from([CONFIGURATION]);
        bytes.extend(self.version.to_be_bytes());
        bytes.extend(self.since.to_be_bytes());
        bytes.extend(self.from.to_be_bytes());
        bytes.extend([self.before.bits(), self.acceptors.bits()]);
        bytes.extend(self.added.to_be_bytes());
        bytes.extend(self.removed.to_be_bytes());
        // 27 bytes fit.
        Value::new(&bytes).unwrap_or_default()
    }

    /// From a message's value; `None` when that is none.
    pub fn decode(value: &Value) -> Option<Configuration> {
        let rest = value.strip_prefix(&[CONFIGURATION])?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (since, rest) = rest.split_first_chunk::<8>()?;
        let (from, rest) = rest.split_first_chunk::<8>()?;
        let [before, acceptors, a, b, c, d] = *rest else {
            return None;
        };
        let (before, acceptors) = (Set::of(before), Set::of(acceptors));
        let made = Configuration {
            version: u32::from_be_bytes(*version),
            since: u64::from_be_bytes(*since),
            from: u64::from_be_bytes(*from),
            before,
            acceptors,
            added: u16::from_be_bytes([a, b]),
            removed: u16::from_be_bytes([c, d]),
        };
        (before.len() > 0 && acceptors.len() > 0).then_some(made)
    }
}

impl Change {
    /// As a command's value.
    pub fn encode(self) -> Value {
        let Change {
            granted,
            add,
            remove,
            ..
        } = self;
        let [a, b] = self.add_replicas.to_be_bytes();
        let [c, d] = self.remove_replicas.to_be_bytes();
        // 8 bytes fit.
        Value::new(&[CHANGE, granted.into(), add, remove, a, b, c, d]).unwrap_or_default()
    }

    /// From a command's value; `None` when that is none.
    pub fn decode(value: &Value) -> Option<Change> {
        let [CHANGE, granted @ 0..=1, add, remove, a, b, c, d] = **value else {
            return None;
        };
        Some(Change {
            granted: granted == 1,
            add,
            remove,
            add_replicas: u16::from_be_bytes([a, b]),
            remove_replicas: u16::from_be_bytes([c, d]),
        })
    }
}

impl Members {
    /// As a number.
    pub(crate) fn pack(self) -> u64 {
        let refused = match self.refused {
            None => 0,
            Some(Refusal::Pending) => 1,
            Some(Refusal::Fixed) => 2,
            Some(Refusal::Empty) => 3,
        };
        let low = u64::from(self.acceptors) | u64::from(self.before) << 8;
        let flags = u64::from(self.pending) << 16 | refused << 17;
        low | flags | u64::from(self.added) << 32 | u64::from(self.removed) << 48
    }

    /// From a number; `None` when that is none.
    pub(crate) fn unpack(number: u64) -> Option<Members> {
        let members = Members {
            acceptors: number as u8,
            before: (number >> 8) as u8,
            added: (number >> 32) as u16,
            removed: (number >> 48) as u16,
            pending: number >> 16 & 1 == 1,
            refused: match number >> 17 & 3 {
                0 => None,
                1 => Some(Refusal::Pending),
                2 => Some(Refusal::Fixed),
                _ => Some(Refusal::Empty),
            },
        };
        (members.pack() == number).then_some(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(add: u8, remove: u8) -> Change {
        Change {
            granted: true,
            add,
            remove,
            ..Change::default()
        }
    }

    #[test]
    fn a_change_applies_a_window_after_its_instance_and_one_at_a_time() {
        let first = Configuration::of(3);
        let replaced = first.changed(change(0b1000, 0b0100), 10, 16).unwrap();
        assert_eq!(
            (replaced.since, replaced.from, replaced.version),
            (0, 26, 1)
        );
        assert_eq!(replaced.at(25).bits(), 0b0111);
        assert_eq!(replaced.at(26).bits(), 0b1011);
        let again = change(0b1_0000, 0);
        assert_eq!(replaced.changed(again, 25, 16), Err(Refusal::Pending));
        let next = replaced.changed(again, 26, 16).unwrap();
        assert_eq!((next.since, next.from), (26, 42));
        assert_eq!(next.before.bits(), 0b1011);
        assert_eq!(next.acceptors.bits(), 0b1_1011);
        // Adding a member that is there, or removing one that is not, changes nothing.
        assert_eq!(next.changed(change(0b1000, 0b0100), 27, 16), Ok(next));
        let all = change(0, 0b1_1111);
        assert_eq!(next.changed(all, 50, 16), Err(Refusal::Empty));
        let asked = Change {
            granted: false,
            ..change(0, 1)
        };
        assert_eq!(next.changed(asked, 50, 16), Err(Refusal::Fixed));
    }

    #[test]
    fn a_quorum_is_one_of_the_acceptors_of_its_instance() {
        let made = Configuration::of(3).changed(change(0b1_1000, 0b0110), 1, 4);
        let made = made.unwrap();
        let is_quorum = |instance, bits| made.is_quorum(instance, Set::of(bits), None);
        assert!(is_quorum(4, 0b0011) && !is_quorum(5, 0b0011));
        assert!(is_quorum(5, 0b1_1000) && !is_quorum(4, 0b1_1000));
        assert!(!made.is_quorum_from(4, Set::of(0b1_1000), None));
        assert!(made.is_quorum_from(4, Set::of(0b1_1010 | 1), None));
        assert!(made.is_quorum_from(5, Set::of(0b1_1000), None));
    }

    #[test]
    fn values_come_back_as_they_were_written() {
        let made = Configuration::of(3)
            .changed(change(0b1000, 1), 7, 16)
            .unwrap();
        assert_eq!(Configuration::decode(&made.encode()), Some(made));
        let change = Change {
            add_replicas: 0b100,
            remove_replicas: 0b1,
            ..change(2, 5)
        };
        assert_eq!(Change::decode(&change.encode()), Some(change));
        for refused in [
            None,
            Some(Refusal::Pending),
            Some(Refusal::Fixed),
            Some(Refusal::Empty),
        ] {
            let members = made.members(9, refused);
            assert_eq!(Members::unpack(members.pack()), Some(members));
        }
        assert_eq!(Members::unpack(1 << 30), None);
        assert_eq!(Change::decode(&made.encode()), None);
        assert_eq!(Configuration::decode(&change.encode()), None);
    }

    #[test]
    fn replicas_are_those_of_the_start_and_those_added_less_those_removed() {
        let change = Change {
            add_replicas: 0b1000,
            remove_replicas: 0b1,
            ..change(0, 0)
        };
        let made = Configuration::of(3).changed(change, 1, 4).unwrap();
        let all: Vec<_> = (0..40).filter(|id| made.has_replica(*id, 2)).collect();
        assert_eq!(all, [1, 3]);
        let all: Vec<_> = (0..40).filter(|id| made.has_replica(*id, 20)).collect();
        assert_eq!(
            all.len(),
            19,
            "those above 15 are as coordinators were made"
        );
    }
}
