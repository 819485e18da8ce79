//! Who is asked for tests.
//!
//! At the control port [`setup`] answers; an [`activation`] that repeats what the answer said has a [`Test`] made. Until then the
//! server keeps nothing of a client, and says no more than the client did: the client's address may be forged.

use super::rates::Table;
use super::search::Search;
use super::side::{Flow, Side};
use super::{Clock, Faults, Interval, RECEIVE_TIMEOUT, Settings, Traffic, Transmit};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use node::{Histogram, Time};
use packet::BadHeader;
use packet::udpstp::{
    Action, Activation, Direction, Integrity, Message, NO_VALUE, Setup, SetupAnswer, Status,
    VERSION,
};

/// Maximum number of connections that a request may announce.
const MAX_CONNECTIONS: u8 = 24;
/// Time by which the test ends late, so that the last sub-interval is whole.
const GRACE: Time = Time::from_ms(500);

/// Limits of a server for its clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Seconds of load.
    pub test_time: u16,
    /// Bits a second at the IP layer, over IPv4.
    pub rate: f64,
}

impl Default for Limits {
    /// A minute, and as fast as the table has it.
    fn default() -> Limits {
        Limits {
            test_time: 60,
            rate: f64::INFINITY,
        }
    }
}

/// A server's grant of a test. The server keeps no state of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The port where the client activates the test.
    pub port: u16,
    /// Data that the activation must repeat, which only a receiver of the answer can.
    pub integrity: Integrity,
}

/// Answers a datagram at the control port; the answer is as long as the request. `grant` says whether the client may have a
/// test. Returns the input of a [`Test`].
///
/// # Errors
/// When it is no setup request; nothing is answered then.
pub fn setup(
    bytes: &[u8],
    grant: impl FnOnce(&Setup) -> Result<Grant, SetupAnswer>,
    out: &mut Vec<u8>,
) -> Result<Option<Setup>, BadHeader> {
    let request = match Message::parse(bytes)? {
        Message::Setup(setup) if setup.answer.is_none() => setup,
        _ => return Err(BadHeader("UDPSTP message that is no setup request")),
    };
    let connections = 1..=MAX_CONNECTIONS;
    let granted = if request.version != VERSION {
        Err(SetupAnswer::BAD_VERSION)
    } else if !connections.contains(&request.connections)
        || request.connection >= request.connections
    {
        Err(SetupAnswer::BAD_CONNECTIONS)
    } else {
        grant(&request)
    };
    let response = Setup {
        version: VERSION,
        answer: Some(granted.err().unwrap_or(SetupAnswer::OK)),
        port: granted.map_or(0, |grant| grant.port),
        integrity: granted.map_or(Integrity::default(), |grant| grant.integrity),
        ..request
    };
    Message::Setup(response).build(out);
    Ok(granted.is_ok().then_some(response))
}

/// The request in a datagram that activates a test, if it is one.
#[must_use]
pub fn activation(bytes: &[u8]) -> Option<Activation> {
    match Message::parse(bytes) {
        Ok(Message::Activation(request)) if request.accepted.is_none() => Some(request),
        _ => None,
    }
}

/// Appends the answer to an activation that is not accepted; it is as long as the request.
pub fn reject(request: &Activation, out: &mut Vec<u8>) {
    let answer = Activation {
        accepted: Some(false),
        integrity: Integrity::default(),
        ..*request
    };
    Message::Activation(answer).build(out);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// For the client to say what the test is.
    Waiting,
    Testing,
    Over,
}

/// A test at its port.
#[derive(Clone, Debug)]
pub struct Test {
    setup: Setup,
    side: Side,
    limits: Limits,
    settings: Settings,
    state: State,
    table: Table,
    search: Search,
    ready: VecDeque<Message>,
    /// When it gives up, and when the test is to end.
    until: Time,
    end: Time,
    action: Action,
    complete: bool,
}

impl Test {
    /// For the client whose setup was answered.
    pub fn new(setup: Setup, ipv6: bool, limits: Limits, clock: Clock, now: Time) -> Test {
        let settings = Settings::default();
        Test {
            table: Table::new(setup.jumbo, setup.traditional_mtu),
            setup,
            side: Side::new(clock, ipv6),
            limits,
            search: Search::new(&settings, 0),
            settings,
            state: State::Waiting,
            ready: VecDeque::new(),
            until: now + RECEIVE_TIMEOUT,
            end: Time::MAX,
            action: Action::Test,
            complete: false,
        }
    }

    /// The network says that the client is not there any more.
    pub fn unreachable(&mut self) {
        // Before it speaks here, that may be about an earlier message. Told to stop, it may go before its answer is here.
        if self.is_testing() {
            self.complete = self.action == Action::Stop;
            self.over();
        }
    }

    /// Whether load goes.
    pub fn is_testing(&self) -> bool {
        self.side.is_testing()
    }

    /// By how many ns each burst of load was late when it left.
    pub fn lateness(&self) -> &Histogram {
        &self.side.late
    }

    /// Whether there is nothing more to do.
    pub fn is_over(&self) -> bool {
        self.state == State::Over && self.ready.is_empty()
    }

    /// Whether the client confirmed the end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// What the test is.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The row of the table that is sent with.
    pub fn row(&self) -> usize {
        self.search.row()
    }

    /// The sub-intervals that are over, as the receiver of load saw them.
    pub fn intervals(&self) -> &[Interval] {
        self.side.intervals()
    }

    /// Load sent, and received.
    pub fn traffic(&self) -> [Traffic; 2] {
        self.side.traffic()
    }

    /// What was not as it should be.
    pub fn faults(&self) -> &Faults {
        &self.side.faults
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> Option<Time> {
        if !self.ready.is_empty() {
            return Some(Time::ZERO);
        }
        let over = self.state == State::Over;
        (!over).then(|| self.side.next_wake().min(self.until).min(self.end))
    }

    /// It is this late.
    pub fn wake(&mut self, now: Time) {
        if now >= self.until {
            return self.over();
        }
        if now >= self.end {
            self.end = Time::MAX;
            self.action = Action::Stop;
            if let Flow::Sending(sender) = &mut self.side.flow {
                sender.stop();
            }
        }
        if let Some(receiver) = self.side.wake(now) {
            let (errors, variation) = receiver.trial();
            self.search.trial(errors, variation);
            let rate = self.table.row(self.search.row());
            let status = receiver.status(now, self.action, rate);
            self.ready.push_back(Message::Status(status));
        }
    }

    fn over(&mut self) {
        self.side.end();
        self.state = State::Over;
    }

    /// The client has confirmed the end.
    fn confirmed(&mut self) {
        self.complete = true;
        self.over();
    }

    /// A datagram has come from the client.
    pub fn handle(&mut self, now: Time, bytes: &[u8]) {
        let Some(message) = self.side.parse(bytes) else {
            return;
        };
        match (self.state, message, &mut self.side.flow) {
            (State::Waiting, Message::Activation(request), _) if request.accepted.is_none() => {
                self.activation(now, &request);
            }
            // The answer was lost.
            (State::Testing, Message::Activation(request), _) if request.accepted.is_none() => {
                self.answer();
            }
            (_, Message::Load(load), Flow::Receiving(receiver)) => {
                if load.action == Action::Stop {
                    return self.confirmed();
                }
                receiver.load(now, &load, bytes.len(), &mut self.side.faults);
                if self.action == Action::Test {
                    self.until = now + RECEIVE_TIMEOUT;
                }
            }
            (_, Message::Status(status), Flow::Sending(_)) => self.status(now, &status),
            (State::Over, ..) => {}
            _ => self.side.faults.unexpected += 1,
        }
    }

    fn activation(&mut self, now: Time, request: &Activation) {
        self.settings = Settings::of(request, &self.setup);
        self.settings.test_time = self.settings.test_time.min(self.limits.test_time);
        let most = self.table.within(self.limits.rate);
        let row = |row: u16| row.min(most as u16);
        self.settings.row = self.settings.row.map(row);
        self.settings.start = row(self.settings.start);
        self.search = Search::new(&self.settings, most);
        self.until = now + RECEIVE_TIMEOUT;
        self.end = now + Time::from_secs(u64::from(self.settings.test_time)) + GRACE;
        self.state = State::Testing;
        match self.settings.direction {
            Direction::Upstream => self.side.receive(self.settings, now),
            // Whoever is at that address gets no more until a status message has come from there: requests may be forged.
            Direction::Downstream => self.side.send(self.table.row(0), now),
        }
        self.answer();
    }

    fn answer(&mut self) {
        let mut answer = Activation {
            accepted: Some(true),
            ..self.settings.activation()
        };
        if self.settings.direction == Direction::Upstream {
            answer.rate = self.table.row(self.search.row());
        }
        self.ready.push_back(Message::Activation(answer));
    }

    fn status(&mut self, now: Time, status: &Status) {
        if self.side.status(now, status).is_none() {
            return;
        }
        if status.action == Action::Stop {
            return self.confirmed();
        }
        if self.action == Action::Stop {
            return;
        }
        self.until = now + RECEIVE_TIMEOUT;
        let [_, _, sum, count] = status.variation;
        let variation = match (self.settings.one_way, status.round_trip) {
            (true, _) => (count > 0).then(|| sum / count.max(1)),
            (false, NO_VALUE) => None,
            (false, ms) => Some(ms),
        };
        self.search.trial(status.errors, variation);
        if let Flow::Sending(sender) = &mut self.side.flow {
            sender.set_rate(self.table.row(self.search.row()), now);
        }
    }

    /// Appends what is to be sent to the client now.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(message) = self.ready.pop_front() {
            return Some(Side::message(message, None, out));
        }
        match &mut self.side.flow {
            Flow::Sending(sender) => sender.poll_transmit(now, out),
            _ => None,
        }
    }
}
