//! How far ahead of all before a message may be.
//!
//! Rounds and instances are counts, and what is far above all that was heard is no member's. A round near the last one would leave a
//! group no round to go on in, for ever.

use crate::command::Command;
use crate::message::{Instance, Message, Round};

/// Rounds are counted by their upper bits: see [`round`](crate::message::round).
const IDENTITY: u32 = 16;
/// Campaigns that a member may have missed.
const ROUNDS: u64 = 1 << 24;
/// Instances that a member may have missed.
const INSTANCES: u64 = 1 << 32;

/// The highest round and instance of which a member knows; `None` where it takes the first that it hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Horizon(Option<(Round, Instance)>);

impl Horizon {
    /// That of a member that knows nothing of its group.
    pub const NEW: Horizon = Horizon(None);

    /// That of a member that knows of these.
    pub fn at(round: Round, instance: Instance) -> Horizon {
        Horizon(Some((round, instance)))
    }

    /// Whether a message may be a member's: then what it says is known.
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
        // One that joins takes what it hears first.
        let mut joins = Horizon::NEW;
        assert!(joins.admits(&of(round(1 << 40, 1), 1 << 50)));
        assert!(!joins.admits(&of(u64::MAX, 1)));
    }
}
