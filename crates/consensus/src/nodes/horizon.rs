//! Limits of rounds and instances in received messages.
//!
//! Rounds and instances are counters, so a value far above the highest received one is not a member's. A
//! round close to the maximum would leave a group without a higher round forever.

use crate::command::Command;
use crate::message::{Instance, Message, Round};

/// Rounds are counted by their upper bits: see [`round`](crate::message::round).
const IDENTITY: u32 = 16;
/// Campaigns that a member may have missed.
const ROUNDS: u64 = 1 << 24;
/// Instances that a member may have missed.
const INSTANCES: u64 = 1 << 32;

/// Highest round and instance received by a member; `None` before the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Horizon(Option<(Round, Instance)>);

impl Horizon {
    /// Initial state: the first message is accepted.
    pub const NEW: Horizon = Horizon(None);

    /// State after `round` and `instance` were received.
    pub fn at(round: Round, instance: Instance) -> Horizon {
        Horizon(Some((round, instance)))
    }

    /// Whether a message is within the limits; if so, raises them.
    pub fn admits(&mut self, message: &Message<Command>) -> bool {
        let round = message.round.max(message.vote_round);
        let far = message.instance.max(message.base).max(message.high);
        let (known, instance) = self.0.unwrap_or((round, message.instance));
        let admits = round >> IDENTITY <= (known >> IDENTITY).saturating_add(ROUNDS)
            && far <= instance.saturating_add(INSTANCES);
        if admits {
            self.0 = Some((known.max(round), instance.max(message.instance)));
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Kind, round};

    #[test]
    fn what_jumps_beyond_the_window_is_refused_and_moves_nothing() {
        let of = |round, instance| Message {
            round,
            instance,
            ..Message::new(Kind::Phase2A)
        };
        let mut horizon = Horizon::at(round(5, 1), 100);
        let last = round(5 + ROUNDS, u16::MAX);
        for (message, admits) in [
            (of(u64::MAX, 1), false),
            (of(last + 1, 1), false),
            (of(1, u64::MAX), false),
            (of(1, 101 + INSTANCES), false),
            (of(last, 100 + INSTANCES), true),
            (of(last + 1, 101 + INSTANCES), true),
            (of(0, 0), true),
        ] {
            assert_eq!(horizon.admits(&message), admits, "{message:?}");
        }
        let mut refused = of(1, 1);
        refused.vote_round = u64::MAX;
        assert!(!horizon.admits(&refused));
        refused.vote_round = 0;
        refused.base = u64::MAX;
        assert!(!horizon.admits(&refused));
        // A new member accepts the first message.
        let mut joins = Horizon::NEW;
        assert!(joins.admits(&of(round(1 << 40, 1), 1 << 50)));
        assert!(!joins.admits(&of(u64::MAX, 1)));
    }
}
