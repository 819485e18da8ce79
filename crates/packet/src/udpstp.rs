//! UDPSTP, the UDP Speed Test Protocol (RFC 9946): the messages by which RFC 9097 measures the capacity of a path one way.
//!
//! Version 20, that of the RFC. A client asks for a test at the server's control port ([`Setup`]), is told a port for it, says there what the test is
//! ([`Activation`]); then one side sends [`Load`], and the other tells every trial interval what came of it ([`Status`]).
//!
//! Checksums of the messages' own are looked at where there is one, and not made: UDP has its own.

use crate::BadHeader;
use crate::checksum;
use alloc::vec::Vec;
use core::fmt;

/// UDP port of servers, for [`Setup`].
pub const PORT: u16 = 24601;
/// The version of the protocol.
pub const VERSION: u16 = 20;
/// Bytes of UDP and IPv4 in front of each message; a rate at the IP layer counts them.
pub const IPV4_OVERHEAD: u32 = 28;
/// Bytes that IPv6 has more: payloads are made shorter by as much.
pub const IPV6_MORE: u32 = 20;
/// The shortest payload of a load message over IPv4: over IPv6 it is still a header.
pub const SHORTEST_LOAD: u32 = LOAD as u32 + IPV6_MORE;
/// In a field of a [`Status`]: not measured.
pub const NO_VALUE: u32 = u32::MAX;
/// In [`Activation::row`]: the server searches.
pub const SEARCH: u16 = u16::MAX;
/// In a size of a [`SendingRate`]: sizes are drawn up to what the other bits say.
pub const RANDOM_SIZE: u32 = 1 << 31;

const SETUP: usize = 56;
const NULL: usize = 48;
const ACTIVATION: usize = 104;
/// Bytes of the header of a load message; its payload goes on behind.
pub const LOAD: usize = 32;
const STATUS: usize = 204;

const SETUP_ID: u16 = 0xACE1;
const ACTIVATION_ID: u16 = 0xACE2;
const LOAD_ID: u16 = 0xBEEF;
const NULL_ID: u16 = 0xDEAD;
const STATUS_ID: u16 = 0xFEED;

/// What a message says of who made it: RFC 9946 section 4.1.1's authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Integrity {
    /// 0: none, 1: control messages are authenticated.
    pub mode: u8,
    /// When it was made, seconds since 1970.
    pub unix_time: u32,
    /// HMAC-SHA-256 over the message with zeros here.
    pub digest: [u8; 32],
    /// Which of the keys that both ends share.
    pub key: u8,
}

/// Asks for a test, or answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// [`VERSION`]; a server that refuses another one says its own.
    pub version: u16,
    /// Which of the connections of one measurement, from 0.
    pub connection: u8,
    /// How many connections the measurement has.
    pub connections: u8,
    /// The same in all connections of a measurement.
    pub identifier: u16,
    /// `None`: it is the request.
    pub answer: Option<SetupAnswer>,
    /// Mb/s that the client asks for, below 32768; 0: nothing said.
    pub bandwidth: u16,
    /// Whether they are upstream.
    pub upstream: bool,
    /// Of an answer: the server's port for the test.
    pub port: u16,
    /// Above 1 Gb/s datagrams may be longer than an Ethernet frame.
    pub jumbo: bool,
    /// Datagrams are those of an MTU of 1500, not 1250, bytes.
    pub traditional_mtu: bool,
    /// Its authentication.
    pub integrity: Integrity,
}

/// What a server says to a [`Setup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupAnswer(pub u8);

impl SetupAnswer {
    /// The test may begin.
    pub const OK: SetupAnswer = SetupAnswer(1);
    /// Another version is wanted.
    pub const BAD_VERSION: SetupAnswer = SetupAnswer(2);
    /// The server's setting of jumbo datagrams is another.
    pub const BAD_JUMBO: SetupAnswer = SetupAnswer(3);
    /// The server has no keys.
    pub const NO_KEYS: SetupAnswer = SetupAnswer(4);
    /// The client has to authenticate itself.
    pub const KEY_WANTED: SetupAnswer = SetupAnswer(5);
    /// The server's setting of the MTU is another.
    pub const BAD_MTU: SetupAnswer = SetupAnswer(11);
    /// The connections make no sense.
    pub const BAD_CONNECTIONS: SetupAnswer = SetupAnswer(12);
    /// The server has no room for a test more.
    pub const FULL: SetupAnswer = SetupAnswer(13);
}

impl fmt::Display for SetupAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            1 => "it accepts",
            2 => "it speaks another version of the protocol",
            3 => "its setting of jumbo datagrams is another",
            4 => "it has no keys for authentication",
            5 => "it wants authentication",
            6 => "it does not know the mode of authentication",
            7 => "the key is wrong",
            8 => "the clocks are too far apart for authentication",
            9 => "it wants to know the bandwidth needed",
            10 => "it has less bandwidth left than is asked for",
            11 => "its setting of the MTU is another",
            12 => "it does not take these connections",
            13 => "it has no room for a test more",
            code => return write!(f, "code {code}"),
        })
    }
}

/// From the server's port of the test, so that firewalls on the way let answers through: nobody answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Null {
    /// [`VERSION`].
    pub version: u16,
    /// Its authentication.
    pub integrity: Integrity,
}

/// Which way load goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Upstream,
    /// From the server to the client.
    #[default]
    Downstream,
}

/// The rule by which rates follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 9097 section 8: by rows, fast until there was congestion.
    #[default]
    B,
    /// RFC 9946: by a factor, with another try after a while.
    C,
}

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

/// Says what the test is, or what it became.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activation {
    /// [`VERSION`].
    pub version: u16,
    /// Which way load goes.
    pub direction: Direction,
    /// `None`: it is the request; else whether the server accepts.
    pub accepted: Option<bool>,
    /// Below this delay variation rates grow, ms.
    pub low_threshold: u16,
    /// Above this they shrink, ms.
    pub upper_threshold: u16,
    /// Between status messages, ms.
    pub trial_interval: u16,
    /// How long load is sent, s.
    pub test_time: u16,
    /// The traffic class octet of load.
    pub traffic_class: u8,
    /// A row of the table of sending rates, or [`SEARCH`].
    pub row: u16,
    /// The row is where the search starts.
    pub row_is_start: bool,
    /// Delay variation is that of one way, not of the round trip.
    pub one_way: bool,
    /// Rows at a step until there was congestion.
    pub fast_step: u8,
    /// Trials with congestion until rates go back and steps are single ones.
    pub slow_threshold: u16,
    /// Sequence errors of a trial that are not yet congestion.
    pub error_threshold: u16,
    /// What comes out of order, or again, is no sequence error.
    pub ignore_reordered: bool,
    /// Payloads are random bytes, not zeros.
    pub random_payload: bool,
    /// How rates follow.
    pub algorithm: Algorithm,
    /// Of an answer to a client that sends: how it begins.
    pub rate: SendingRate,
    /// Between the sums that are told, ms.
    pub sub_interval: u16,
    /// Sub-intervals at the begin in which rates stay.
    pub suppressed: u16,
    /// Marks of congestion (ECN) count: 0 for no.
    pub ecn_threshold: u8,
    /// Its authentication.
    pub integrity: Integrity,
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

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what its type says")]
pub enum Message {
    Setup(Setup),
    Null(Null),
    Activation(Activation),
    Load(Load),
    Status(Status),
}

impl Message {
    /// Reads a message: the payload of a UDP datagram. What is behind a load message's header is not looked at.
    ///
    /// # Errors
    /// When it is none, has another length, a wrong checksum, or a field without sense.
    pub fn parse(bytes: &[u8]) -> Result<Message, BadHeader> {
        let Some(id) = bytes.first_chunk() else {
            return Err(BadHeader("UDPSTP message cut off"));
        };
        let (length, checked) = match u16::from_be_bytes(*id) {
            SETUP_ID => (SETUP, SETUP),
            NULL_ID => (NULL, NULL),
            ACTIVATION_ID => (ACTIVATION, ACTIVATION),
            LOAD_ID if bytes.len() >= LOAD => (bytes.len(), LOAD),
            LOAD_ID => return Err(BadHeader("UDPSTP load message cut off")),
            STATUS_ID => (STATUS, STATUS),
            _ => return Err(BadHeader("no UDPSTP message")),
        };
        if bytes.len() != length {
            return Err(BadHeader("UDPSTP message of another length"));
        }
        let header = &bytes[..checked];
        // No checksum is zeros.
        let has_checksum = header[checked - 2..] != [0, 0];
        if has_checksum && checksum::checksum(header) != 0 {
            return Err(BadHeader("UDPSTP message with a wrong checksum"));
        }
        let mut fields = Fields(&header[2..]);
        Ok(match u16::from_be_bytes(*id) {
            SETUP_ID => Message::Setup(fields.setup()?),
            NULL_ID => Message::Null(fields.null()?),
            ACTIVATION_ID => Message::Activation(fields.activation()?),
            LOAD_ID => Message::Load(fields.load()?),
            _ => Message::Status(fields.status()?),
        })
    }

    /// Appends the message: of a load message the header.
    pub fn build(&self, out: &mut Vec<u8>) {
        match self {
            Message::Setup(setup) => setup.build(out),
            Message::Null(null) => null.build(out),
            Message::Activation(activation) => activation.build(out),
            Message::Load(load) => load.build(out),
            Message::Status(status) => status.build(out),
        }
    }
}

/// Where the digest of a control message lies: 32 bytes of it are at its end but for four.
pub const DIGEST_FROM_END: usize = 36;

/// What is still to be read of a header, whose length was checked: so nothing is ever missing.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((first, rest)) = self.0.split_first_chunk() else {
            return [0; N];
        };
        self.0 = rest;
        *first
    }

    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    fn all<const N: usize>(&mut self) -> [u32; N] {
        core::array::from_fn(|_| self.u32())
    }

    fn flag(&mut self) -> Result<bool, BadHeader> {
        match self.u8() {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadHeader("UDPSTP flag that is neither 0 nor 1")),
        }
    }

    fn stamp(&mut self) -> Stamp {
        Stamp {
            seconds: self.u32(),
            nanoseconds: self.u32(),
        }
    }

    fn integrity(&mut self) -> Integrity {
        let integrity = Integrity {
            mode: self.u8(),
            unix_time: self.u32(),
            digest: self.take(),
            key: self.u8(),
        };
        self.take::<3>();
        integrity
    }

    fn rate(&mut self) -> SendingRate {
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

    fn setup(&mut self) -> Result<Setup, BadHeader> {
        let (version, connection, connections) = (self.u16(), self.u8(), self.u8());
        let identifier = self.u16();
        let answer = match (self.u8(), self.u8()) {
            (1, 0) => None,
            (2, code @ 1..) => Some(SetupAnswer(code)),
            _ => {
                return Err(BadHeader(
                    "UDPSTP setup that is neither request nor response",
                ));
            }
        };
        let (bandwidth, port, flags) = (self.u16(), self.u16(), self.u8());
        Ok(Setup {
            version,
            connection,
            connections,
            identifier,
            answer,
            bandwidth: bandwidth & 0x7FFF,
            upstream: bandwidth & 0x8000 != 0,
            port,
            jumbo: flags & 1 != 0,
            traditional_mtu: flags & 2 != 0,
            integrity: self.integrity(),
        })
    }

    fn null(&mut self) -> Result<Null, BadHeader> {
        let version = self.u16();
        if (self.u8(), self.u8()) != (1, 0) {
            return Err(BadHeader("UDPSTP null that is no request"));
        }
        self.u8();
        Ok(Null {
            version,
            integrity: self.integrity(),
        })
    }

    fn activation(&mut self) -> Result<Activation, BadHeader> {
        let version = self.u16();
        let direction = match self.u8() {
            1 => Direction::Upstream,
            2 => Direction::Downstream,
            _ => return Err(BadHeader("UDPSTP activation of no direction")),
        };
        let accepted = match self.u8() {
            0 => None,
            code => Some(code == 1),
        };
        let (low_threshold, upper_threshold) = (self.u16(), self.u16());
        let (trial_interval, test_time) = (self.u16(), self.u16());
        self.u8();
        let (traffic_class, row) = (self.u8(), self.u16());
        let (one_way, fast_step) = (self.flag()?, self.u8());
        let (slow_threshold, error_threshold) = (self.u16(), self.u16());
        let (ignore_reordered, flags) = (self.flag()?, self.u8());
        let algorithm = match self.u8() {
            0 => Algorithm::B,
            1 => Algorithm::C,
            _ => return Err(BadHeader("UDPSTP activation of an unknown algorithm")),
        };
        let ecn_threshold = self.u8();
        let (rate, sub_interval) = (self.rate(), self.u16());
        self.u16();
        let suppressed = self.u16();
        self.u8();
        Ok(Activation {
            version,
            direction,
            accepted,
            low_threshold,
            upper_threshold,
            trial_interval,
            test_time,
            traffic_class,
            row,
            row_is_start: flags & 1 != 0,
            one_way,
            fast_step,
            slow_threshold,
            error_threshold,
            ignore_reordered,
            random_payload: flags & 2 != 0,
            algorithm,
            rate,
            sub_interval,
            suppressed,
            ecn_threshold,
            integrity: self.integrity(),
        })
    }

    fn load(&mut self) -> Result<Load, BadHeader> {
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

    fn status(&mut self) -> Result<Status, BadHeader> {
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

fn words(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend(word.to_be_bytes()));
}

fn halves(out: &mut Vec<u8>, halves: &[u16]) {
    halves
        .iter()
        .for_each(|half| out.extend(half.to_be_bytes()));
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

impl Integrity {
    fn build(&self, out: &mut Vec<u8>) {
        out.push(self.mode);
        words(out, &[self.unix_time]);
        out.extend(self.digest);
        out.extend([self.key, 0, 0, 0]);
    }
}

impl SendingRate {
    fn build(&self, out: &mut Vec<u8>) {
        let first = [self.interval1, self.payload1, self.burst1];
        words(out, &first);
        let second = [self.interval2, self.payload2, self.burst2, self.addon2];
        words(out, &second);
    }
}

impl Setup {
    fn build(&self, out: &mut Vec<u8>) {
        halves(out, &[SETUP_ID, self.version]);
        out.extend([self.connection, self.connections]);
        halves(out, &[self.identifier]);
        match self.answer {
            None => out.extend([1, 0]),
            Some(SetupAnswer(code)) => out.extend([2, code]),
        }
        let upstream = u16::from(self.upstream) << 15;
        halves(out, &[self.bandwidth & 0x7FFF | upstream, self.port]);
        out.push(u8::from(self.jumbo) | u8::from(self.traditional_mtu) << 1);
        self.integrity.build(out);
    }
}

impl Null {
    fn build(&self, out: &mut Vec<u8>) {
        halves(out, &[NULL_ID, self.version]);
        out.extend([1, 0, 0]);
        self.integrity.build(out);
    }
}

impl Activation {
    fn build(&self, out: &mut Vec<u8>) {
        halves(out, &[ACTIVATION_ID, self.version]);
        out.push(match self.direction {
            Direction::Upstream => 1,
            Direction::Downstream => 2,
        });
        out.push(match self.accepted {
            None => 0,
            Some(true) => 1,
            Some(false) => 2,
        });
        halves(out, &[self.low_threshold, self.upper_threshold]);
        halves(out, &[self.trial_interval, self.test_time]);
        out.extend([0, self.traffic_class]);
        halves(out, &[self.row]);
        out.extend([u8::from(self.one_way), self.fast_step]);
        halves(out, &[self.slow_threshold, self.error_threshold]);
        out.push(u8::from(self.ignore_reordered));
        out.push(u8::from(self.row_is_start) | u8::from(self.random_payload) << 1);
        out.push(match self.algorithm {
            Algorithm::B => 0,
            Algorithm::C => 1,
        });
        out.push(self.ecn_threshold);
        self.rate.build(out);
        halves(out, &[self.sub_interval, 0, self.suppressed]);
        out.push(0);
        self.integrity.build(out);
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
    fn build(&self, out: &mut Vec<u8>) {
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
        let integrity = Integrity {
            mode: self.mode,
            ..Integrity::default()
        };
        integrity.build(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(message: Message) -> Vec<u8> {
        let mut out = Vec::new();
        message.build(&mut out);
        out
    }

    fn samples() -> [Message; 5] {
        let rate = SendingRate {
            interval1: 100,
            payload1: 1222,
            burst1: 3,
            interval2: 1000,
            addon2: 97,
            ..SendingRate::default()
        };
        [
            Message::Setup(Setup {
                version: VERSION,
                connections: 1,
                identifier: 0x1234,
                bandwidth: 100,
                upstream: true,
                jumbo: true,
                ..Setup::default()
            }),
            Message::Null(Null {
                version: VERSION,
                ..Null::default()
            }),
            Message::Activation(Activation {
                version: VERSION,
                direction: Direction::Upstream,
                accepted: Some(true),
                row: SEARCH,
                row_is_start: true,
                algorithm: Algorithm::C,
                rate,
                sub_interval: 1000,
                ..Activation::default()
            }),
            Message::Load(Load {
                sequence: 7,
                payload: 1222,
                status_errors: 1,
                ..Load::default()
            }),
            Message::Status(Status {
                action: Action::Stop,
                deaf: true,
                rate,
                clock_difference: -5,
                variation: [NO_VALUE, 0, 0, 0],
                mode: 1,
                ..Status::default()
            }),
        ]
    }

    #[test]
    fn messages_have_the_lengths_of_the_rfc_and_read_back() {
        let lengths = [SETUP, NULL, ACTIVATION, LOAD, STATUS];
        for (message, length) in samples().into_iter().zip(lengths) {
            let mut bytes = built(message);
            assert_eq!(bytes.len(), length);
            assert_eq!(Message::parse(&bytes), Ok(message));
            bytes.truncate(length - 1);
            assert!(Message::parse(&bytes).is_err());
        }
    }

    /// RFC 9946 figure 3, by hand.
    #[test]
    fn fields_of_a_setup_request_lie_where_the_rfc_has_them() {
        let bytes = built(samples()[0]);
        let begin = [
            0xAC, 0xE1, 0, 20, 0, 1, 0x12, 0x34, 1, 0, 0x80, 100, 0, 0, 1, 0,
        ];
        assert_eq!(bytes[..16], begin);
    }

    #[test]
    fn a_checksum_that_is_there_has_to_be_right() {
        for message in samples() {
            let mut bytes = built(message);
            let sum = checksum::checksum(&bytes).to_be_bytes();
            let end = bytes.len();
            bytes[end - 2..].copy_from_slice(&sum);
            assert_eq!(Message::parse(&bytes), Ok(message));
            bytes[end - 1] ^= 1;
            let wrong = BadHeader("UDPSTP message with a wrong checksum");
            assert_eq!(Message::parse(&bytes), Err(wrong));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let refused = |sample: usize, at: usize, byte: u8| {
            let mut bytes = built(samples()[sample]);
            bytes[at] = byte;
            Message::parse(&bytes).unwrap_err().0
        };
        assert_eq!(
            Message::parse(&[1]).unwrap_err().0,
            "UDPSTP message cut off"
        );
        assert_eq!(refused(0, 0, 1), "no UDPSTP message");
        let neither = "UDPSTP setup that is neither request nor response";
        assert_eq!(refused(0, 8, 3), neither);
        assert_eq!(refused(1, 4, 0), "UDPSTP null that is no request");
        assert_eq!(refused(2, 4, 3), "UDPSTP activation of no direction");
        let unknown = "UDPSTP activation of an unknown algorithm";
        assert_eq!(refused(2, 26, 9), unknown);
        let action = "UDPSTP test action that is neither test nor stop";
        assert_eq!(refused(3, 2, 9), action);
        assert_eq!(refused(4, 3, 2), "UDPSTP flag that is neither 0 nor 1");
    }
}
