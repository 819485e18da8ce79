//! What came of a run: the same report from every world.

use crate::extension::Extensions;
use crate::link::LinkCounters;
use crate::{Frame, Time};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

/// Which way along a link: from its end 0 to its end 1, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From `ends[0]` to `ends[1]`, over `channels[0]`.
    Forth,
    /// From `ends[1]` to `ends[0]`, over `channels[1]`.
    Back,
}

impl Direction {
    /// Both, in the order of a link's channels.
    pub const BOTH: [Direction; 2] = [Direction::Forth, Direction::Back];

    /// The index of the sending end and of its channel.
    pub const fn index(self) -> usize {
        match self {
            Direction::Forth => 0,
            Direction::Back => 1,
        }
    }
}

/// Looks at a frame, at the time when the node that it arrives at is told of it.
pub type See = dyn FnMut(Time, &Frame) + Send;

/// Somebody who looks at every frame that one direction of a link delivers.
pub struct Tap {
    /// The link's index in its graph.
    pub link: usize,
    /// Which way.
    pub direction: Direction,
    /// Called when the node at the far end is told of the frame, which is when its last bit is in unless
    /// the node [needs](crate::Properties::needs) less; [`Frame::arrived`] is when its first bit was.
    pub see: Box<See>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// Nothing was left to happen.
    #[default]
    Idle,
    /// The time that was asked for was up.
    Duration,
    /// Somebody asked for the end, by Ctrl-C for example.
    Stopped,
}

/// Times that were measured, in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// The least; zero when there is none.
    pub min: Time,
    /// The greatest; zero when there is none.
    pub max: Time,
    /// All together, picoseconds.
    pub sum_ps: u128,
}

impl Times {
    /// Takes one more in.
    pub fn add(&mut self, time: Time) {
        self.min = match self.count {
            0 => time,
            _ => self.min.min(time),
        };
        self.max = self.max.max(time);
        self.count += 1;
        self.sum_ps += u128::from(time.as_ps());
    }

    /// The mean, rounded down; zero when there is none.
    pub fn mean(&self) -> Time {
        let mean = self.sum_ps.checked_div(self.count.into());
        Time::from_ps(mean.unwrap_or(0) as u64)
    }
}

/// What became of one conversation of a node: a TCP connection, a stream of datagrams, a series of pings.
///
/// What a kind of conversation does not have is zero, or `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// What the node was running: `bulk`, `sink`, `ping`.
    pub program: &'static str,
    /// Its own end, as an address and a port.
    pub from: String,
    /// The far end, as an address and a port, or what was asked there.
    pub to: String,
    /// When it began.
    pub begun: Time,
    /// When it ended, or when something last happened.
    pub ended: Time,
    /// Whether it came to its proper end.
    pub done: bool,
    /// Why it came to none, where that is known: `connection refused`.
    pub error: Option<&'static str>,
    /// Bytes of the user's data that have arrived: of a sender those that were acknowledged.
    pub bytes: u64,
    /// Segments with data, datagrams, or questions that were sent; those that came, at who only receives.
    pub packets: u64,
    /// Of datagrams and questions: lost, or without an answer.
    pub lost: u64,
    /// Of segments: sent once more.
    pub resent: u64,
    /// Round trips.
    pub round_trip: Times,
    /// One way, from when a datagram was meant to leave to when its first bit arrived.
    pub delay: Times,
    /// The smoothed difference of neighbours' delays (RFC 3550 section 6.4.1).
    pub jitter: Option<Time>,
    /// The congestion window in bytes and when it became that, where the node was asked to keep it.
    pub windows: Vec<(Time, u64)>,
    /// When round trips were measured, and how long each took: some of them, evenly spread. Of connections where the node was asked to keep them,
    /// and of pings.
    pub round_trips: Vec<(Time, Time)>,
}

impl Flow {
    /// Bits of the user's data a second, from its begin to its end.
    pub fn goodput(&self) -> f64 {
        let seconds = (self.ended - self.begun).as_secs_f64();
        match seconds > 0.0 {
            true => 8.0 * self.bytes as f64 / seconds,
            false => 0.0,
        }
    }
}

/// What a node tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Its counters, in the order in which its documentation has them.
    pub counters: Vec<(String, u64)>,
    /// Its conversations, in the order in which they began. Most nodes have none.
    pub flows: Vec<Flow>,
    /// What it says of the run, if it judges that.
    pub verdict: Option<Verdict>,
    /// Reports of its own type, such as that of a clock.
    pub extensions: Extensions,
}

/// What a node that watches over something says of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// In a line, the judgement first.
    pub told: String,
    /// Whether what it watches over was kept.
    pub holds: bool,
}

impl Statistics {
    /// Adds a counter.
    pub fn counter(&mut self, name: &str, value: u64) {
        self.counters.push((name.into(), value));
    }

    /// The counter of this name.
    pub fn get(&self, name: &str) -> Option<u64> {
        let mut counters = self.counters.iter();
        counters
            .find(|(known, _)| known == name)
            .map(|&(_, value)| value)
    }
}

impl<const N: usize> From<[(&str, u64); N]> for Statistics {
    fn from(counters: [(&str, u64); N]) -> Statistics {
        Statistics {
            counters: counters.map(|(name, value)| (name.into(), value)).into(),
            ..Statistics::default()
        }
    }
}

/// A table by which a node treats packets, as it stands at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it is called.
    pub name: String,
    /// Its entries as texts, in an order that depends on nothing but them and the node.
    pub entries: Vec<String>,
}

/// A node after the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Its name in the graph.
    pub name: String,
    /// Its conversations, in the order in which they began.
    pub flows: Vec<Flow>,
    /// What it says of the run, if it judges that.
    pub verdict: Option<Verdict>,
    /// Reports of its own type, such as that of a clock.
    pub extensions: Extensions,
    /// Its own counters, by the names its documentation gives them, in its order.
    pub counters: Vec<(String, u64)>,
    /// Frames it gave up, by reason, in the order in which the reasons came up.
    pub drops: Vec<(String, u64)>,
}

/// How far off a set of events was from when it should have been: percentiles of the absolute error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Half of the errors are at most this.
    pub p50: Time,
    /// 99 of 100 are at most this.
    pub p99: Time,
    /// 999 of 1000 are at most this.
    pub p999: Time,
    /// The largest.
    pub max: Time,
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread {
            p50,
            p99,
            p999,
            max,
        } = self;
        write!(f, "p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}")
    }
}

/// The measured error of departures that were asked for at a time. A world that is exact has none
/// to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimingError {
    /// Departures measured.
    pub frames: u64,
    /// Of those, asked for at a time already past.
    pub late: u64,
    /// Over all of them.
    pub raw: Spread,
    /// Without those that fell into a pause of the machine.
    pub trimmed: Spread,
    /// How many fell into a pause.
    pub in_pauses: u64,
    /// What a loop that only looks at the clock would have been off by in the same thread at the same
    /// time: the machine's own share, below which nothing gets.
    pub floor: Spread,
    /// Departures of which the kernel has told when it gave the frame to the driver.
    pub stamped: u64,
    /// By how much those were off, early or late.
    pub at_driver: Spread,
    /// The most that one of those was early.
    pub earliest: Time,
    /// How long before its time a frame was given to the system at the end, because that takes so long
    /// to pass it on; zero where it does not tell.
    pub lead: Time,
    /// Whether departures had real-time priority.
    pub real_time: bool,
    /// How frames were sent, in a word or two.
    pub method: &'static str,
}

impl TimingError {
    /// What it was worth, for people; nothing where no departure was asked for at a time.
    pub fn lines(&self) -> Vec<String> {
        if self.frames == 0 {
            return Vec::new();
        }
        let mut lines = vec![format!("departures off by {}", self.raw)];
        if self.in_pauses > 0 {
            let (count, rest) = (self.in_pauses, self.trimmed);
            lines.push(format!(
                "  without {count} in pauses of the machine: {rest}"
            ));
        }
        // Without a thread that waits for the time of each there is nothing to say of it.
        if self.floor == Spread::default() {
            lines.push(format!("  by {}", self.method));
            return lines;
        }
        lines.push(format!("  a bare loop on the clock: {}", self.floor));
        if self.stamped > 0 {
            let (count, spread, earliest) = (self.stamped, self.at_driver, self.earliest);
            lines.push(format!(
                "  at the driver, {count} of them: {spread}; the earliest by {earliest}"
            ));
        }
        let mut how = String::from("  ");
        if !self.method.is_empty() {
            how += &format!("by {}, ", self.method);
        }
        if self.lead > Time::ZERO {
            how += &format!("called {} ahead, ", self.lead);
        }
        how += match self.real_time {
            true => "with real-time priority",
            false => "without real-time priority (CAP_SYS_NICE), which makes them better",
        };
        lines.push(how);
        lines
    }
}

/// What came of a run of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Each node, in the order of the graph.
    pub nodes: Vec<NodeOutcome>,
    /// Each link, in the order of the graph, by [`Direction::index`].
    pub links: Vec<[LinkCounters; 2]>,
    /// When the run ended.
    pub ended: Time,
    /// Why it ended.
    pub finish: Finish,
    /// Frames delivered to nodes.
    pub frames: u64,
    /// Calls of nodes: frames delivered, and wakes.
    pub events: u64,
    /// What the times of arrival are: `exact`, or where the stamps of the ports come from.
    pub stamps: &'static str,
    /// What the departures were worth; `None` where they are exact.
    pub timing: Option<TimingError>,
}
