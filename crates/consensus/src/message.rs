//! What the participants say to each other: one header that has the fields of every message, as paper 002, figure 3.13 has it.
//!
//! A switch cannot make a message; it changes one that it has. So each message carries all fields, those of no meaning for it too.
//! Beyond the figure: who asks (`client`, `sequence`), so that what is asked twice is done once; `base` and `high`, by which a new
//! coordinator asks for what was voted for and for no more; and `boots`, by which the promise of an acceptor that has since lost its
//! registers is known for what it is.

use crate::command::{Command, VALUE, Value};
use alloc::vec::Vec;

/// An instance of consensus, from 1. 64 bits, so that it never wraps: at a million a second it would after 584,000 years.
pub type Instance = u64;
/// A round, from 1; 0 is none. See [`round`].
pub type Round = u64;
/// The most acceptors that there may be.
pub const ACCEPTORS: usize = 5;
/// How often each acceptor has started, as far as somebody knows: by acceptor, 0 for unknown.
pub type Boots = [u16; ACCEPTORS];
/// What a coordinator gives as `high` where auxiliary acceptors are meant as well as main ones: else they take no part.
pub const AUXILIARIES: Instance = 1;
/// UDP port of the group and of clients: one of those that are nobody's (RFC 6335).
pub const PORT: u16 = 57_021;
/// Bytes of a message; what is behind it is passed over.
pub const LENGTH: usize = 64 + VALUE;

/// The round with this count of the coordinator with this identity, so that no two coordinators ever use the same.
///
/// An identity is for one start of one coordinator: whoever has lost its memory comes back with another one.
pub const fn round(count: u64, identity: u16) -> Round {
    count << 16 | identity as Round
}

/// What a message is: `msgtype` of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A client wants its value decided.
    Request = 1,
    /// A coordinator asks for a promise, and for the vote in one instance.
    Phase1A = 2,
    /// An acceptor has promised, and says how it voted.
    Phase1B = 3,
    /// A coordinator asks for a vote.
    Phase2A = 4,
    /// An acceptor has voted.
    Phase2B = 5,
    /// An acceptor has promised a higher round, which is in `vote_round`.
    Refused = 6,
    /// An acceptor has lost its registers, and takes no part until it is admitted.
    Forgotten = 7,
    /// A coordinator lets the acceptor `sender` with `boot` take part again.
    Admit = 8,
    /// Instances below `instance` are decided and learned, so that acceptors may forget them.
    Trim = 9,
    /// A coordinator that has done phase 1 hands `round` and the instances from `instance` on to a switch with `boot`.
    Activate = 10,
    /// A coordinator leads, until a while from now, and would use `instance` next.
    Lease = 11,
    /// A learner has delivered what is below `instance`, and knows of instances up to `high`.
    Delivered = 12,
    /// A learner asks its peers for what was decided in an instance.
    Learn = 13,
    /// What was decided.
    Decided = 14,
    /// What came of a client's request.
    Response = 15,
    /// A replica asks for parts of a peer's checkpoint: that of `instance`, from part `base` on.
    Fetch = 16,
    /// Part `base` of the `high` parts of what a store is before `instance`.
    Checkpoint = 17,
}

impl Kind {
    /// The kind with this number.
    fn of(number: u8) -> Option<Kind> {
        use Kind::*;
        const ALL: [Kind; 17] = [
            Request, Phase1A, Phase1B, Phase2A, Phase2B, Refused, Forgotten, Admit, Trim, Activate,
            Lease, Delivered, Learn, Decided, Response, Fetch, Checkpoint,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// A message about values of type `V`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message<V> {
    /// `msgtype` of the figure.
    pub kind: Kind,
    /// `swid` of the figure: which acceptor, learner or replica says so, or which one is meant.
    pub sender: u16,
    /// How often that acceptor had started.
    pub boot: u16,
    /// `inst` of the figure.
    pub instance: Instance,
    /// `rnd` of the figure.
    pub round: Round,
    /// `vrnd` of the figure.
    pub vote_round: Round,
    /// Below this instance the acceptor remembers nothing.
    pub base: Instance,
    /// The highest instance for which the acceptor has voted; what a coordinator says to acceptors and its switch has [`AUXILIARIES`] or 0.
    pub high: Instance,
    /// How often each acceptor has started, as far as the sender knows.
    pub boots: Boots,
    /// `value` of the figure.
    pub value: V,
}

impl<V: Default> Message<V> {
    /// A message of this kind in which nothing else is said.
    pub fn new(kind: Kind) -> Message<V> {
        Message {
            kind,
            sender: 0,
            boot: 0,
            instance: 0,
            round: 0,
            vote_round: 0,
            base: 0,
            high: 0,
            boots: Boots::default(),
            value: V::default(),
        }
    }
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// Fewer than [`LENGTH`] bytes.
    #[error("Paxos message cut off")]
    CutOff,
    /// A `msgtype` that is none of [`Kind`].
    #[error("Paxos message of an unknown type")]
    Kind,
    /// More bytes of value than there is room for.
    #[error("Paxos value too long")]
    Value,
}

impl Message<Command> {
    /// Reads a message.
    ///
    /// # Errors
    /// When it is cut off, of no known kind, or says that its value is longer than it can be.
    pub fn parse(bytes: &[u8]) -> Result<Message<Command>, BadMessage> {
        let bytes: &[u8; LENGTH] = bytes.first_chunk().ok_or(BadMessage::CutOff)?;
        let mut rest = &bytes[..];
        let [kind, length] = take(&mut rest);
        Ok(Message {
            kind: Kind::of(kind).ok_or(BadMessage::Kind)?,
            sender: u16::from_be_bytes(take(&mut rest)),
            boot: u16::from_be_bytes(take(&mut rest)),
            instance: u64::from_be_bytes(take(&mut rest)),
            round: u64::from_be_bytes(take(&mut rest)),
            vote_round: u64::from_be_bytes(take(&mut rest)),
            base: u64::from_be_bytes(take(&mut rest)),
            high: u64::from_be_bytes(take(&mut rest)),
            boots: core::array::from_fn(|_| u16::from_be_bytes(take(&mut rest))),
            value: Command {
                client: u32::from_be_bytes(take(&mut rest)),
                sequence: u32::from_be_bytes(take(&mut rest)),
                value: Value::of(take::<VALUE>(&mut rest), length).ok_or(BadMessage::Value)?,
            },
        })
    }

    /// Appends the message.
    pub fn build(&self, out: &mut Vec<u8>) {
        out.extend([self.kind as u8, self.value.value.len() as u8]);
        out.extend(self.sender.to_be_bytes());
        out.extend(self.boot.to_be_bytes());
        for number in [
            self.instance,
            self.round,
            self.vote_round,
            self.base,
            self.high,
        ] {
            out.extend(number.to_be_bytes());
        }
        self.boots
            .iter()
            .for_each(|boot| out.extend(boot.to_be_bytes()));
        out.extend(self.value.client.to_be_bytes());
        out.extend(self.value.sequence.to_be_bytes());
        out.extend(self.value.value.padded());
    }
}

/// The first bytes, which are there: the whole has [`LENGTH`], of which no more are taken.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    match rest.split_first_chunk() {
        Some((first, behind)) => {
            *rest = behind;
            *first
        }
        None => [0; N],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Message<Command> {
        Message {
            sender: 2,
            boot: 3,
            instance: 4,
            round: round(5, 6),
            vote_round: 7,
            base: 8,
            high: 9,
            boots: [1, 2, 3, 4, 5],
            value: Command {
                client: 10,
                sequence: 11,
                value: Value::new(b"value").unwrap(),
            },
            ..Message::new(Kind::Phase1B)
        }
    }

    #[test]
    fn a_message_comes_back_as_it_was_written() {
        let mut bytes = Vec::new();
        example().build(&mut bytes);
        assert_eq!(bytes.len(), LENGTH);
        assert_eq!(Message::parse(&bytes), Ok(example()));
        bytes.push(0xFF);
        assert_eq!(Message::parse(&bytes), Ok(example()), "what is behind it");
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        let mut bytes = Vec::new();
        example().build(&mut bytes);
        let with = |at: usize, byte: u8| {
            let mut changed = bytes.clone();
            changed[at] = byte;
            Message::parse(&changed)
        };
        assert_eq!(Message::parse(&bytes[1..]), Err(BadMessage::CutOff));
        assert_eq!(with(0, 0), Err(BadMessage::Kind));
        assert_eq!(with(0, 18), Err(BadMessage::Kind));
        assert_eq!(with(1, VALUE as u8 + 1), Err(BadMessage::Value));
        assert!(with(1, VALUE as u8).is_ok());
    }
}
