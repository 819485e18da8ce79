//! Messages of a test: load one way, and what came of it the other way.

use super::fields::{Fields, halves, words};
use crate::BadHeader;
use alloc::vec::Vec;

/// Bytes of the header of a load message; its payload goes on behind.
pub const LOAD: usize = 32;
pub(super) const STATUS: usize = 204;
/// Of them behind the mode of authentication: no digest.
const NO_DIGEST: [u8; 40] = [0; 40];

pub(super) const LOAD_ID: u16 = 0xBEEF;
pub(super) const STATUS_ID: u16 = 0xFEED;

/// Two transmitters: bursts of datagrams at one interval each. The second may add a shorter one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendingRate {
    /// Microseconds between bursts of the first; 0: none.
    pub interval1: u32,
    /// Bytes of UDP payload of each datagram.
    pub payload1: u32,
    /// Datagrams in a burst.
    pub burst1: u32,
    /// Microseconds between bursts of the second; 0: none.
    pub interval2: u32,
    /// Bytes of UDP payload of each datagram.
    pub payload2: u32,
    /// Datagrams in a burst.
    pub burst2: u32,
    /// Bytes of UDP payload of one datagram behind each burst; 0: none.
    pub addon2: u32,
}

/// A time that a message carries: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Whole seconds, the low 32 bits.
    pub seconds: u32,
    /// Below 1,000,000,000 where the sender is right.
    pub nanoseconds: u32,
}

/// Whether the test goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// It does.
    #[default]
    Test,
    /// It is over: from the server it asks, from the client it confirms.
    Stop,
}

/// The header of a load message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Whether the test goes on.
    pub action: Action,
    /// The sender has not heard anything for a second.
    pub deaf: bool,
    /// From 1.
    pub sequence: u32,
    /// Bytes of UDP payload, with this header.
    pub payload: u16,
    /// Status messages that were missed before the last one; 65535: it was out of order.
    pub status_errors: u16,
    /// When the last status message left, as it says.
    pub status_left: Stamp,
    /// When this leaves.
    pub left: Stamp,
    /// From the arrival of that status message to this, ms.
    pub held: u16,
}

/// Sums over a sub-interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubInterval {
    /// Datagrams that came.
    pub datagrams: u32,
    /// Their bytes of UDP payload.
    pub bytes: u64,
    /// How long it was, us.
    pub time: u32,
    /// Datagrams lost, out of order, come again.
    pub errors: [u32; 3],
    /// Of one-way delay, ms: least, most, sum, and of how many.
    pub variation: [u32; 4],
    /// Of the round trip, ms: least and most.
    pub round_trip: [u32; 2],
    /// Of all sub-intervals so far, ms.
    pub total_time: u32,
}

/// What came of the load, for who sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether the test goes on.
    pub action: Action,
    /// The sender has not heard anything for a second.
    pub deaf: bool,
    /// From 1.
    pub sequence: u32,
    /// From a server: how load is to be sent from now on.
    pub rate: SendingRate,
    /// Which sub-interval `last` is; 0: none is over.
    pub sub_interval: u32,
    /// The last sub-interval that is over.
    pub last: SubInterval,
    /// Of this trial: datagrams lost, out of order, come again.
    pub errors: [u32; 3],
    /// The least that the receiver's clock was ahead of a load message's stamp, ms.
    pub clock_difference: i32,
    /// Of one-way delay in this trial, ms: least, most, sum, and of how many.
    pub variation: [u32; 4],
    /// The least round trip so far, ms.
    pub least_round_trip: u32,
    /// The last round trip less the least, ms.
    pub round_trip: u32,
    /// One of the least values is new.
    pub new_least: bool,
    /// How long this trial was, us.
    pub time: u32,
    /// Datagrams that came in it.
    pub datagrams: u32,
    /// Their bytes of UDP payload.
    pub bytes: u32,
    /// When this leaves.
    pub left: Stamp,
    /// The mode of authentication of the test; the rest of the field has counts of ECN, which are passed over.
    pub mode: u8,
}

impl Fields<'_> {
    fn stamp(&mut self) -> Stamp {
        Stamp {
            seconds: self.u32(),
            nanoseconds: self.u32(),
        }
    }

    pub fn rate(&mut self) -> SendingRate {
        let [
            interval1,
            payload1,
            burst1,
            interval2,
            payload2,
            burst2,
            addon2,
        ] = self.all();
        SendingRate {
            interval1,
            payload1,
            burst1,
            interval2,
            payload2,
            burst2,
            addon2,
        }
    }

    fn action(&mut self) -> Result<Action, BadHeader> {
        match self.u8() {
            0 => Ok(Action::Test),
            // 1 is the server's own state, which should not be on the wire, and means the same.
            1 | 2 => Ok(Action::Stop),
            _ => Err(BadHeader(
                "UDPSTP test action that is neither test nor stop",
            )),
        }
    }

    pub fn load(&mut self) -> Result<Load, BadHeader> {
        Ok(Load {
            action: self.action()?,
            deaf: self.flag()?,
            sequence: self.u32(),
            payload: self.u16(),
            status_errors: self.u16(),
            status_left: self.stamp(),
            left: self.stamp(),
            held: self.u16(),
        })
    }

    pub fn status(&mut self) -> Result<Status, BadHeader> {
        let (action, deaf, sequence) = (self.action()?, self.flag()?, self.u32());
        let (rate, sub_interval) = (self.rate(), self.u32());
        let last = SubInterval {
            datagrams: self.u32(),
            bytes: u64::from_be_bytes(self.take()),
            time: self.u32(),
            errors: self.all(),
            variation: self.all(),
            round_trip: self.all(),
            total_time: self.u32(),
        };
        let (errors, clock_difference, variation) = (self.all(), self.u32() as i32, self.all());
        let (least_round_trip, round_trip, new_least) = (self.u32(), self.u32(), self.flag()?);
        self.take::<3>();
        let (time, datagrams, bytes, left) = (self.u32(), self.u32(), self.u32(), self.stamp());
        self.take::<3>();
        Ok(Status {
            action,
            deaf,
            sequence,
            rate,
            sub_interval,
            last,
            errors,
            clock_difference,
            variation,
            least_round_trip,
            round_trip,
            new_least,
            time,
            datagrams,
            bytes,
            left,
            mode: self.u8(),
        })
    }
}

impl Stamp {
    fn words(self) -> [u32; 2] {
        [self.seconds, self.nanoseconds]
    }
}

impl Action {
    fn code(self) -> u8 {
        match self {
            Action::Test => 0,
            Action::Stop => 2,
        }
    }
}

impl SendingRate {
    pub(super) fn build(&self, out: &mut Vec<u8>) {
        let first = [self.interval1, self.payload1, self.burst1];
        words(out, &first);
        let second = [self.interval2, self.payload2, self.burst2, self.addon2];
        words(out, &second);
    }
}

impl Load {
    /// Appends the header.
    pub fn build(&self, out: &mut Vec<u8>) {
        halves(out, &[LOAD_ID]);
        out.extend([self.action.code(), u8::from(self.deaf)]);
        words(out, &[self.sequence]);
        halves(out, &[self.payload, self.status_errors]);
        words(out, &self.status_left.words());
        words(out, &self.left.words());
        halves(out, &[self.held, 0]);
    }
}

impl Status {
    pub(super) fn build(&self, out: &mut Vec<u8>) {
        halves(out, &[STATUS_ID]);
        out.extend([self.action.code(), u8::from(self.deaf)]);
        words(out, &[self.sequence]);
        self.rate.build(out);
        words(out, &[self.sub_interval, self.last.datagrams]);
        out.extend(self.last.bytes.to_be_bytes());
        words(out, &[self.last.time]);
        words(out, &self.last.errors);
        words(out, &self.last.variation);
        words(out, &self.last.round_trip);
        words(out, &[self.last.total_time]);
        words(out, &self.errors);
        words(out, &[self.clock_difference as u32]);
        words(out, &self.variation);
        words(out, &[self.least_round_trip, self.round_trip]);
        out.extend([u8::from(self.new_least), 0, 0, 0]);
        words(out, &[self.time, self.datagrams, self.bytes]);
        words(out, &self.left.words());
        out.extend([0; 3]);
        out.push(self.mode);
        out.extend(NO_DIGEST);
    }
}
