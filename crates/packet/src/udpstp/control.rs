//! Messages by which two ends agree on a test.

use super::fields::{Fields, halves, words};
use super::load::SendingRate;
use crate::BadHeader;
use alloc::vec::Vec;
use core::fmt;

pub(super) const SETUP: usize = 56;
pub(super) const NULL: usize = 48;
pub(super) const ACTIVATION: usize = 104;

pub(super) const SETUP_ID: u16 = 0xACE1;
pub(super) const ACTIVATION_ID: u16 = 0xACE2;
pub(super) const NULL_ID: u16 = 0xDEAD;

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
    /// [`VERSION`](super::VERSION); a server that refuses another one says its own.
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
    /// [`VERSION`](super::VERSION).
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

/// Says what the test is, or what it became.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activation {
    /// [`VERSION`](super::VERSION).
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
    /// A row of the table of sending rates, or [`SEARCH`](super::SEARCH).
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

impl Fields<'_> {
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

    pub fn setup(&mut self) -> Result<Setup, BadHeader> {
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

    pub fn null(&mut self) -> Result<Null, BadHeader> {
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

    pub fn activation(&mut self) -> Result<Activation, BadHeader> {
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
}

impl Integrity {
    fn build(&self, out: &mut Vec<u8>) {
        out.push(self.mode);
        words(out, &[self.unix_time]);
        out.extend(self.digest);
        out.extend([self.key, 0, 0, 0]);
    }
}

impl Setup {
    pub(super) fn build(&self, out: &mut Vec<u8>) {
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
    pub(super) fn build(&self, out: &mut Vec<u8>) {
        halves(out, &[NULL_ID, self.version]);
        out.extend([1, 0, 0]);
        self.integrity.build(out);
    }
}

impl Activation {
    pub(super) fn build(&self, out: &mut Vec<u8>) {
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
