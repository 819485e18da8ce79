//! Who asks a server for a test, and has its answer in the end.

use super::receiver::longest_ms;
use super::sender::is_sendable;
use super::side::{Flow, Side};
use super::{Clock, Faults, Interval, RECEIVE_TIMEOUT, Settings, Traffic, Transmit};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use node::{Histogram, Time};
use packet::udpstp::{
    Action, Activation, Direction, Integrity, Load, Message, NO_VALUE, SendingRate, Setup,
    SetupAnswer, Status, VERSION,
};

/// Between requests that nobody answers.
const AGAIN: Time = Time::from_secs(1);
/// From a server's answer that it has no room to the next request.
const FULL_INTERVAL: Time = Time::from_ms(500);
/// Time for which a client asks a server that has no room. A server may still have the client's test before this one: it ends a
/// test 3 s after the last datagram, if that which confirmed the end was lost.
const FULL_TIMEOUT: Time = Time::from_secs(4);
/// A server that does not end the test so long after its time has gone wrong.
const OVERTIME: Time = Time::from_ms(3_500);

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// The server ended it, as it should be.
    #[error("complete")]
    Complete,
    /// The server does not want to.
    #[error("the server refuses: {0}{others}", others = other_version(*.1))]
    Refused(SetupAnswer, u16),
    /// The server does not accept what was asked for.
    #[error("the server rejects the parameters of the test")]
    Rejected,
    /// Nobody answers.
    #[error("the server does not answer")]
    NoAnswer,
    /// The server was heard, and then not any more.
    #[error("nothing came from the server for 3 s")]
    Silent,
    /// The server goes on beyond its time.
    #[error("the server did not end the test")]
    Endless,
    /// The server's machine says that nobody is there any more.
    #[error("the server has gone")]
    Gone,
    /// It was stopped from here.
    #[error("stopped")]
    Stopped,
}

fn other_version(version: u16) -> String {
    match version {
        VERSION => String::new(),
        _ => format!(", {version} and not {VERSION}"),
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Asking at the control port.
    Setup,
    /// Asking at the port of the test.
    Activation,
    /// Load goes.
    Testing,
    Over(End),
}

/// Signs with a key that client and server share: an activation, with what the answer to the setup has shown.
#[derive(Clone)]
pub struct Signer(Arc<Sign>);

/// HMAC-SHA-256, or another keyed hash.
type Sign = dyn Fn(&[u8]) -> [u8; 32] + Send + Sync;

impl Signer {
    /// By this function.
    pub fn new(sign: impl Fn(&[u8]) -> [u8; 32] + Send + Sync + 'static) -> Signer {
        Signer(Arc::new(sign))
    }

    /// The digest of an activation that repeats the integrity of the setup's answer.
    #[must_use]
    pub fn digest(&self, request: &Activation, shown: &Integrity) -> [u8; 32] {
        let unsigned = Activation {
            integrity: *shown,
            ..*request
        };
        let mut bytes = Vec::new();
        Message::Activation(unsigned).build(&mut bytes);
        (self.0)(&bytes)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    settings: Settings,
    side: Side,
    identifier: u16,
    /// The server's port: for control, and then of the test.
    port: u16,
    state: State,
    /// When a request is sent again, and when no more.
    ask: Option<Time>,
    until: Time,
    /// Deadline after which an answer that the server has no room ends the test.
    full_until: Time,
    /// When the server will have ended the test at the latest.
    latest: Time,
    /// A request, or what confirms the end.
    ready: Option<Message>,
    least_round_trip: Option<u32>,
    /// The settings of jumbo datagrams, and of the MTU, have been the other ones already.
    changed: [bool; 2],
    stopped: bool,
    /// Integrity data of the setup answer, repeated in the activation.
    shown: Integrity,
    signer: Option<Signer>,
}

impl Client {
    /// Asks the server at this control port. The identifier is another for each test, not 0.
    pub fn new(
        settings: Settings,
        identifier: u16,
        control: u16,
        ipv6: bool,
        clock: Clock,
        now: Time,
    ) -> Client {
        Client {
            settings,
            side: Side::new(clock, ipv6),
            identifier,
            port: control,
            state: State::Setup,
            ask: Some(now),
            until: now + RECEIVE_TIMEOUT,
            full_until: now + FULL_TIMEOUT,
            latest: Time::MAX,
            ready: None,
            least_round_trip: None,
            changed: [false; 2],
            stopped: false,
            shown: Integrity::default(),
            signer: None,
        }
    }

    /// Has a key that the server may want.
    #[must_use]
    pub fn with_key(self, signer: Option<Signer>) -> Client {
        Client { signer, ..self }
    }

    /// Ends the test before its time, and tells the server.
    pub fn stop(&mut self, now: Time) {
        self.stopped = true;
        match (self.state, &mut self.side.flow) {
            (State::Over(_), _) => {}
            (_, Flow::None) => self.over(End::Stopped),
            (_, Flow::Sending(sender)) => {
                sender.stop();
                sender.set_rate(PROMPT, now);
            }
            (_, Flow::Receiving(_)) => self.confirm(now, End::Stopped),
        }
    }

    /// The network says that nobody is there.
    pub fn unreachable(&mut self) {
        match self.state {
            State::Setup => self.over(End::NoAnswer),
            State::Activation | State::Testing => self.over(End::Gone),
            State::Over(_) => {}
        }
    }

    /// How it ended; `None`: it goes on.
    pub fn end(&self) -> Option<End> {
        match self.state {
            State::Over(end) if self.ready.is_none() => Some(end),
            _ => None,
        }
    }

    /// What the server made of the settings, once the test goes on.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether load goes.
    pub fn is_testing(&self) -> bool {
        self.side.is_testing()
    }

    /// The sub-intervals that are over, as the receiver of load saw them.
    pub fn intervals(&self) -> &[Interval] {
        self.side.intervals()
    }

    /// The least round trip, in whole milliseconds.
    pub fn least_round_trip(&self) -> Option<u32> {
        self.least_round_trip
    }

    /// Load sent, and received.
    pub fn traffic(&self) -> [Traffic; 2] {
        self.side.traffic()
    }

    /// What was not as it should be.
    pub fn faults(&self) -> &Faults {
        &self.side.faults
    }

    /// By how many ns each burst of load was late when it left.
    pub fn lateness(&self) -> &Histogram {
        &self.side.late
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> Option<Time> {
        if self.ready.is_some() {
            return Some(Time::ZERO);
        }
        let due = match self.state {
            State::Over(_) => return None,
            State::Setup | State::Activation => self.ask.unwrap_or(Time::MAX),
            State::Testing => self.side.next_wake(),
        };
        Some(due.min(self.until).min(self.latest))
    }

    /// It is this late.
    pub fn wake(&mut self, now: Time) {
        if now >= self.until {
            let end = match self.state {
                State::Setup | State::Activation => End::NoAnswer,
                _ => End::Silent,
            };
            return self.over(end);
        }
        if now >= self.latest {
            return self.over(End::Endless);
        }
        match self.state {
            State::Setup | State::Activation => {
                if self.ask.is_some_and(|at| at <= now) {
                    self.ask = Some(now + AGAIN);
                    self.ready = Some(self.request());
                }
            }
            State::Testing => {
                let status = self
                    .side
                    .wake(now)
                    .map(|receiver| receiver.status(now, Action::Test, SendingRate::default()));
                if let Some(status) = status {
                    self.note_round_trip(status.least_round_trip);
                    self.ready = Some(Message::Status(status));
                }
            }
            State::Over(_) => {}
        }
    }

    fn request(&self) -> Message {
        match self.state {
            State::Setup => Message::Setup(Setup {
                version: VERSION,
                connections: 1,
                identifier: self.identifier,
                jumbo: self.settings.jumbo,
                traditional_mtu: self.settings.traditional_mtu,
                integrity: Integrity {
                    mode: self.signer.is_some().into(),
                    ..Integrity::default()
                },
                ..Setup::default()
            }),
            _ => {
                let mut request = Activation {
                    integrity: self.shown,
                    ..self.settings.activation()
                };
                if let Some(signer) = &self.signer {
                    request.integrity.digest = signer.digest(&request, &self.shown);
                }
                Message::Activation(request)
            }
        }
    }

    fn over(&mut self, end: End) {
        self.side.end();
        self.state = State::Over(end);
    }

    fn note_round_trip(&mut self, ms: u32) {
        if ms != NO_VALUE {
            self.least_round_trip = Some(ms);
        }
    }

    /// A datagram has come from the server, from this port of it.
    pub fn handle(&mut self, now: Time, port: u16, bytes: &[u8]) {
        let Some(message) = self.side.parse(bytes) else {
            return;
        };
        match (self.state, message) {
            // For firewalls on the way; and a server that is asked twice answers twice.
            (_, Message::Null(_)) | (State::Over(_), _) => {}
            (State::Activation, Message::Setup(_)) => {}
            _ if port != self.port => self.side.faults.unexpected += 1,
            (State::Setup, Message::Setup(setup)) => self.setup(now, &setup),
            (State::Activation, Message::Activation(answer)) => self.activation(now, &answer),
            (State::Testing, Message::Status(status)) => self.status(now, &status),
            (State::Testing, Message::Load(load)) => self.load(now, &load, bytes.len()),
            _ => self.side.faults.unexpected += 1,
        }
    }

    fn status(&mut self, now: Time, status: &Status) {
        let Some(sender) = self.side.status(now, status) else {
            return self.side.faults.unexpected += 1;
        };
        let age = longest_ms(now - sender.start);
        if status.action == Action::Stop {
            sender.stop();
            sender.set_rate(PROMPT, now);
        } else if is_sendable(&status.rate) {
            sender.set_rate(status.rate, now);
        } else {
            self.side.faults.bad_rates += 1;
        }
        self.until = now + RECEIVE_TIMEOUT;
        let trip = status.least_round_trip;
        match trip == NO_VALUE || u64::from(trip) <= age {
            true => self.note_round_trip(trip),
            false => self.side.faults.bad_sums += 1,
        }
    }

    fn load(&mut self, now: Time, load: &Load, len: usize) {
        let Flow::Receiving(receiver) = &mut self.side.flow else {
            return self.side.faults.unexpected += 1;
        };
        self.until = now + RECEIVE_TIMEOUT;
        match load.action {
            Action::Test => receiver.load(now, load, len, &mut self.side.faults),
            Action::Stop => self.confirm(now, End::Complete),
        }
    }

    /// The end, to be told to who sends load.
    fn confirm(&mut self, now: Time, end: End) {
        let Flow::Receiving(receiver) = &mut self.side.flow else {
            return;
        };
        let status = receiver.status(now, Action::Stop, SendingRate::default());
        self.over(end);
        self.ready = Some(Message::Status(status));
    }

    fn setup(&mut self, now: Time, setup: &Setup) {
        match setup.answer {
            Some(SetupAnswer::OK) if setup.port != 0 => {
                (self.state, self.port) = (State::Activation, setup.port);
                self.shown = setup.integrity;
                (self.ask, self.until) = (Some(now), now + RECEIVE_TIMEOUT);
            }
            None | Some(SetupAnswer::OK) => self.side.faults.unexpected += 1,
            // Each server has one setting, and the client takes it.
            Some(SetupAnswer::BAD_JUMBO) if !self.changed[0] => {
                self.settings.jumbo = !self.settings.jumbo;
                (self.changed[0], self.ask) = (true, Some(now));
            }
            Some(SetupAnswer::BAD_MTU) if !self.changed[1] => {
                self.settings.traditional_mtu = !self.settings.traditional_mtu;
                (self.changed[1], self.ask) = (true, Some(now));
            }
            Some(SetupAnswer::FULL) if now < self.full_until => {
                self.ask = Some(now + FULL_INTERVAL);
                self.until = now + RECEIVE_TIMEOUT;
            }
            Some(answer) => self.over(End::Refused(answer, setup.version)),
        }
    }

    fn activation(&mut self, now: Time, answer: &Activation) {
        match answer.accepted {
            Some(true) => {}
            Some(false) => return self.over(End::Rejected),
            None => return self.side.faults.unexpected += 1,
        }
        let asked = Setup {
            jumbo: self.settings.jumbo,
            traditional_mtu: self.settings.traditional_mtu,
            ..Setup::default()
        };
        // The direction stays what was asked for, whatever the answer says.
        let direction = self.settings.direction;
        self.settings = Settings {
            direction,
            ..Settings::of(answer, &asked)
        };
        self.until = now + RECEIVE_TIMEOUT;
        self.latest = now + Time::from_secs(u64::from(self.settings.test_time)) + OVERTIME;
        self.state = State::Testing;
        match direction {
            Direction::Upstream => {
                let mut rate = answer.rate;
                if !is_sendable(&rate) {
                    self.side.faults.bad_rates += 1;
                    rate = super::rates::Table::new(false, false).row(0);
                }
                self.side.send(rate, now);
            }
            Direction::Downstream => self.side.receive(self.settings, now),
        }
    }

    /// Appends what is to be sent now.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let port = Some(self.port);
        if let Some(message) = self.ready.take() {
            return Some(Side::message(message, port, out));
        }
        let Flow::Sending(sender) = &mut self.side.flow else {
            return None;
        };
        let transmit = sender.poll_transmit(now, out)?;
        if sender.stops() > 0 {
            self.over(match self.stopped {
                true => End::Stopped,
                false => End::Complete,
            });
        }
        Some(Transmit { port, ..transmit })
    }
}

/// How the end is confirmed: at once.
const PROMPT: SendingRate = SendingRate {
    interval1: super::rates::MIN_INTERVAL_US,
    payload1: packet::udpstp::MIN_LOAD_LEN,
    burst1: 1,
    interval2: 0,
    payload2: 0,
    burst2: 0,
    addon2: 0,
};
