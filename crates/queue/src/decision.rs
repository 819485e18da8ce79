//! Drops and marks, each with its reason and the state by which it was decided.

use crate::packet::Packet;
use alloc::vec::Vec;
use core::fmt;
use node::Time;

/// Reason of a drop or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The queue was full when the packet arrived: tail drop.
    Full,
    /// The queue was full, and made space for a packet that arrived later: head drop.
    Overlimit,
    /// The packet waited longer than the queue's limit in time.
    Expired,
    /// The packet is longer than a token bucket can ever hold.
    TooLong,
    /// The tokens of a policer did not cover the packet.
    Policed,
    /// The queue was longer than a fixed threshold: DCTCP's step.
    Step,
    /// CoDel's control law.
    Codel,
    /// RED, at random, by the average queue length.
    RedEarly,
    /// RED, certainly: the average queue length was above the upper threshold.
    RedForced,
    /// PIE or DOCSIS-PIE, at random, by its drop probability.
    Pie,
    /// The dual queue's coupled probability.
    Coupled,
    /// BLUE, at random, by its drop probability.
    Blue,
    /// A pure ACK that a later ACK in the queue made unnecessary.
    AckFilter,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 13] = [
        Reason::Full,
        Reason::Overlimit,
        Reason::Expired,
        Reason::TooLong,
        Reason::Policed,
        Reason::Step,
        Reason::Codel,
        Reason::RedEarly,
        Reason::RedForced,
        Reason::Pie,
        Reason::Coupled,
        Reason::Blue,
        Reason::AckFilter,
    ];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Full => "full",
            Reason::Overlimit => "overlimit",
            Reason::Expired => "expired",
            Reason::TooLong => "too long",
            Reason::Policed => "policed",
            Reason::Step => "step",
            Reason::Codel => "codel",
            Reason::RedEarly => "red early",
            Reason::RedForced => "red forced",
            Reason::Pie => "pie",
            Reason::Coupled => "coupled",
            Reason::Blue => "blue",
            Reason::AckFilter => "ack filter",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Fate of a packet that does not leave as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The packet is gone; the owner frees its frame.
    Dropped,
    /// The packet carries CE now, and is still in the queue or leaves it in this call. The owner
    /// writes the mark into the frame.
    Marked,
}

/// State of an algorithm at a decision. Probabilities and random numbers have the unit that each
/// field states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The backlog of the decision says it all.
    #[default]
    None,
    /// Time in the queue, and the threshold that it exceeded.
    Threshold {
        /// Time of the packet in the queue.
        sojourn: Time,
        /// The threshold.
        threshold: Time,
    },
    /// CoDel, before its variables change by the decision.
    Codel {
        /// Time of the packet in the queue.
        sojourn: Time,
        /// Whether CoDel was in its dropping state.
        dropping: bool,
        /// Drops since it entered that state.
        count: u32,
        /// When the next drop was due.
        drop_next: Time,
    },
    /// RED. Probabilities are in 2^-32.
    Red {
        /// Average queue length, bytes.
        average: u64,
        /// Probability by the average alone.
        probability: u64,
        /// Packets since the last drop or mark.
        count: u32,
        /// Random number that was compared, in 2^-32; `None` when the decision needed none.
        random: Option<u32>,
    },
    /// PIE and BLUE. Probabilities are in 2^-40.
    Probability {
        /// Drop probability.
        probability: u64,
        /// Delay of the queue, as the algorithm last saw it.
        delay: Time,
        /// Random number that was compared, in 2^-40; `None` when the decision needed none.
        random: Option<u64>,
    },
    /// The dual queue. Probabilities are in 2^-40.
    Coupled {
        /// The controller's base probability p'.
        base: u64,
        /// The probability that was applied.
        probability: u64,
        /// Time of the packet in the queue.
        sojourn: Time,
        /// Whether the packet was in the low-latency queue.
        low_latency: bool,
    },
    /// The flow that lost a packet because it had the greatest backlog.
    Fattest {
        /// Bytes that this flow had in the queue.
        bytes: u64,
    },
    /// A pure ACK that a later one made unnecessary. Acknowledgement numbers as segments have them.
    Superseded {
        /// Acknowledgement number of the packet.
        own: u32,
        /// That of the packet that arrived.
        later: u32,
    },
    /// A token bucket. Tokens are in 10^-12 bits.
    Tokens {
        /// Tokens that were there.
        tokens: u128,
        /// Tokens that the packet needed.
        needed: u128,
    },
}

/// Probabilities of [`State::Red`] in 1.
const RED_ONE: f64 = (1u64 << 32) as f64;
/// Other probabilities in 1.
const ONE: f64 = (1u64 << 40) as f64;
/// Units of tokens in a byte.
const TOKENS_OF_BYTE: u128 = 8_000_000_000_000;

impl fmt::Display for State {
    /// As a clause for people; empty for [`State::None`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |f: &mut fmt::Formatter<'_>, what: &str, share: f64| {
            write!(f, "{what} {:.3} %", 100.0 * share)
        };
        match *self {
            State::None => Ok(()),
            State::Threshold { sojourn, threshold } => {
                write!(f, "{sojourn} in the queue, above the threshold of {threshold}")
            }
            State::Codel {
                dropping: true,
                count,
                drop_next,
                ..
            } => write!(
                f,
                "CoDel was in its dropping state, at count {count}, and the next drop was due at {drop_next}"
            ),
            State::Codel { .. } => f.write_str(
                "the time in the queue had been above the target for an interval, so CoDel entered its dropping state",
            ),
            State::Red {
                average,
                probability,
                count,
                random,
            } => {
                write!(f, "average queue {average} bytes, ")?;
                percent(f, "probability", probability as f64 / RED_ONE)?;
                write!(f, ", {count} packets since the last")?;
                match random {
                    Some(random) => percent(f, ", random number", f64::from(random) / RED_ONE),
                    None => Ok(()),
                }
            }
            State::Probability {
                probability,
                delay,
                random,
            } => {
                percent(f, "probability", probability as f64 / ONE)?;
                write!(f, ", at a delay of {delay}")?;
                match random {
                    Some(random) => percent(f, ", random number", random as f64 / ONE),
                    None => Ok(()),
                }
            }
            State::Coupled {
                base,
                probability,
                sojourn,
                low_latency,
            } => {
                let queue = if low_latency { "low-latency" } else { "classic" };
                write!(f, "{sojourn} in the {queue} queue")?;
                percent(f, ", probability", probability as f64 / ONE)?;
                percent(f, ", base probability", base as f64 / ONE)
            }
            State::Fattest { bytes } => {
                write!(f, "its flow had the most in the queue, {bytes} bytes")
            }
            State::Superseded { own, later } => write!(
                f,
                "it acknowledged {own}, and the ACK that arrived {later}"
            ),
            State::Tokens { tokens, needed } => write!(
                f,
                "the bucket held {} bytes of tokens, and the packet needed {}",
                tokens / TOKENS_OF_BYTE,
                needed / TOKENS_OF_BYTE
            ),
        }
    }
}

/// A drop or a mark, explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Time of the decision.
    pub at: Time,
    /// The packet; its `ecn` is that after a mark.
    pub packet: Packet,
    /// Drop or mark.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Reason,
    /// Packets and bytes in the queue that decided, this packet included, and also the next packet
    /// of a class that its parent has taken out of the class's own queue.
    pub backlog: Backlog,
    /// Index of the packet's flow queue, tin or class in the discipline that decided, where it has
    /// several.
    pub flow: Option<u32>,
    /// Index of the class in the outermost classful discipline, where there is one, or of CAKE's
    /// tin.
    pub class: Option<u32>,
    /// Classful disciplines around the queue that decided: the length of its path of
    /// [classes](crate::Discipline::classes_of).
    pub depth: u32,
    /// State of the algorithm.
    pub state: State,
}

/// Drops and marks of a call, in order. The caller owns the list, empties it and reuses it.
pub type Decisions = Vec<Decision>;

/// Packets and bytes in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes of those.
    pub bytes: u64,
}

impl Backlog {
    /// Adds a packet of `len` bytes.
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// Takes a packet of `len` bytes out.
    pub fn remove(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }
}
