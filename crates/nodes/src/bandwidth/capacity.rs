//! The capacity of a path at the IP layer, one way, by the method of RFC 9097 and the protocol of RFC 9946 (UDPSTP).
//!
//! Load is sent at a rate out of a [table](rates::Table). The receiver tells every trial interval what was lost and how delay varied, and the
//! server's [search](search::Search) chooses the next rate from that. The capacity is the most that came in a sub-interval: of what crosses the
//! same link it leaves nothing, so that it is an upper bound of what is available, as good as cross traffic gives way.
//!
//! | module | what is in it |
//! |---|---|
//! | [`rates`] | the table of sending rates |
//! | [`search`] | algorithms B and C |
//! | [`sender`] | who sends load and hears of it |
//! | [`receiver`] | who receives load and tells of it |
//! | [`client`] | who asks for a test |
//! | [`server`] | who is asked |
//!
//! All are pure: datagrams and the time go in, datagrams come out. A client and a server are driven alike: `handle` what came, `wake` when
//! [`next_wake`](client::Client::next_wake) says so, and take what `poll_transmit` gives until it gives nothing. Time counts from where the world
//! likes; [`Clock`] turns it into the stamps of messages.
//!
//! The answer to a setup request carries a cookie in its authentication fields, and the activation repeats it, signed where both
//! ends have a key. Not there: authentication by RFC 9946 section 4.2, more than one connection, marks of congestion (ECN), random payloads.

pub mod client;
pub mod rates;
pub mod receiver;
pub mod search;
pub mod sender;
pub mod server;
mod side;

use node::Time;
use packet::udpstp::{
    self, Activation, Algorithm, Direction, IPV4_OVERHEAD, IPV6_MORE, Stamp, SubInterval,
};

/// Timeout after which an endpoint that receives nothing gives up.
pub const RECEIVE_TIMEOUT: Time = Time::from_secs(3);
/// Time after which an endpoint that receives nothing reports it.
const DEAF: Time = Time::from_secs(1);

/// Parameters of a test. The defaults are those of RFC 9097 section 8 and RFC 9946.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Direction of the load.
    pub direction: Direction,
    /// Seconds of load, 5 to 3600.
    pub test_time: u16,
    /// Milliseconds of a sub-interval, 100 to 10000.
    pub sub_interval: u16,
    /// Milliseconds between status messages, 5 to 250.
    pub trial_interval: u16,
    /// Milliseconds of delay variation below which rates grow.
    pub low_threshold: u16,
    /// Milliseconds of delay variation above which they shrink.
    pub upper_threshold: u16,
    /// Trials with congestion until steps are single rows.
    pub slow_threshold: u16,
    /// Rows at a step before that.
    pub fast_step: u8,
    /// Sequence errors of a trial that are no congestion yet.
    pub error_threshold: u16,
    /// What comes out of order, or again, is no error.
    pub ignore_reordered: bool,
    /// Delay variation is that of one way, not of the round trip.
    pub one_way: bool,
    /// How rates follow.
    pub algorithm: Algorithm,
    /// One row of the table all the time, instead of a search.
    pub row: Option<u16>,
    /// The row that the search begins with.
    pub start: u16,
    /// Above 1 Gb/s datagrams may be longer than an Ethernet frame.
    pub jumbo: bool,
    /// Datagrams are those of an MTU of 1500, not 1250, bytes.
    pub traditional_mtu: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            direction: Direction::Downstream,
            test_time: 10,
            sub_interval: 1000,
            trial_interval: 50,
            low_threshold: 30,
            upper_threshold: 90,
            slow_threshold: 3,
            fast_step: 10,
            error_threshold: 10,
            ignore_reordered: true,
            one_way: false,
            algorithm: Algorithm::B,
            row: None,
            start: 0,
            jumbo: true,
            traditional_mtu: false,
        }
    }
}

impl Settings {
    /// As a message has them.
    fn activation(&self) -> Activation {
        Activation {
            version: udpstp::VERSION,
            direction: self.direction,
            low_threshold: self.low_threshold,
            upper_threshold: self.upper_threshold,
            trial_interval: self.trial_interval,
            test_time: self.test_time,
            row: match (self.row, self.start) {
                (Some(row), _) => row,
                (None, 0) => udpstp::SEARCH,
                (None, start) => start,
            },
            row_is_start: self.row.is_none() && self.start > 0,
            one_way: self.one_way,
            fast_step: self.fast_step,
            slow_threshold: self.slow_threshold,
            error_threshold: self.error_threshold,
            ignore_reordered: self.ignore_reordered,
            algorithm: self.algorithm,
            sub_interval: self.sub_interval,
            ..Activation::default()
        }
    }

    /// Out of a message. What is outside the ranges of RFC 9946 section 5.2 is the default, so that the answer says what holds.
    fn of(activation: &Activation, setup: &udpstp::Setup) -> Settings {
        let usual = Settings::default();
        let within = |value: u16, least: u16, most: u16, usual: u16| match value {
            value if (least..=most).contains(&value) => value,
            _ => usual,
        };
        let row = activation.row.min(rates::ROWS as u16 - 1);
        let (row, start) = match (activation.row, activation.row_is_start) {
            (udpstp::SEARCH, _) => (None, 0),
            (_, true) => (None, row),
            (_, false) => (Some(row), 0),
        };
        let mut settings = Settings {
            direction: activation.direction,
            test_time: within(activation.test_time, 5, 3600, usual.test_time),
            sub_interval: within(activation.sub_interval, 100, 10_000, usual.sub_interval),
            trial_interval: within(activation.trial_interval, 5, 250, usual.trial_interval),
            low_threshold: within(activation.low_threshold, 1, 10_000, usual.low_threshold),
            upper_threshold: within(activation.upper_threshold, 1, 10_000, usual.upper_threshold),
            slow_threshold: within(activation.slow_threshold, 1, u16::MAX, usual.slow_threshold),
            fast_step: match activation.fast_step {
                0 => usual.fast_step,
                step => step,
            },
            error_threshold: activation.error_threshold,
            ignore_reordered: activation.ignore_reordered,
            one_way: activation.one_way,
            algorithm: activation.algorithm,
            row,
            start,
            jumbo: setup.jumbo,
            traditional_mtu: setup.traditional_mtu,
        };
        if settings.low_threshold > settings.upper_threshold {
            settings.low_threshold = usual.low_threshold;
            settings.upper_threshold = usual.upper_threshold;
        }
        if u32::from(settings.sub_interval) > 1000 * u32::from(settings.test_time) {
            settings.sub_interval = usual.sub_interval;
            settings.test_time = usual.test_time;
        }
        settings
    }
}

/// The world's time, as messages say it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Nanoseconds since 1970 at time zero.
    pub epoch_ns: u64,
}

impl Clock {
    fn stamp(self, now: Time) -> Stamp {
        let ns = self.epoch_ns.wrapping_add(now.as_ns());
        Stamp {
            seconds: (ns / 1_000_000_000) as u32,
            nanoseconds: (ns % 1_000_000_000) as u32,
        }
    }

    /// How much later than a stamp it is now, in milliseconds, rounded. Seconds wrap every 136 years.
    fn since(self, stamp: Stamp, now: Time) -> i64 {
        let here = self.stamp(now);
        let seconds = i64::from(here.seconds.wrapping_sub(stamp.seconds) as i32);
        let ns = i64::from(here.nanoseconds) - i64::from(stamp.nanoseconds);
        (seconds * 1_000_000_000 + ns + 500_000).div_euclid(1_000_000)
    }
}

/// Datagrams to send: as many as fit into what was appended, each of `segment` bytes and the last of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The bytes of each but the last.
    pub segment: usize,
    /// The port of the other end; `None`: where the last datagram came from.
    pub port: Option<u16>,
}

/// What came in a sub-interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// From the begin to its end, s.
    pub end: f64,
    /// Bits a second that came, with UDP and IP headers.
    pub rate: f64,
    /// The sums, as messages have them.
    pub sums: SubInterval,
}

impl Interval {
    fn new(sums: &SubInterval, ipv6: bool) -> Interval {
        let overhead = IPV4_OVERHEAD + if ipv6 { IPV6_MORE } else { 0 };
        let bytes = sums.bytes + u64::from(sums.datagrams) * u64::from(overhead);
        Interval {
            end: f64::from(sums.total_time) / 1e3,
            rate: 8e6 * bytes as f64 / f64::from(sums.time.max(1)),
            sums: *sums,
        }
    }
}

/// What load was held back by when the test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The path: it showed congestion, so that the most that came is its capacity.
    Path,
    /// The search: the rate still rose.
    Search,
    /// The one rate that was asked for, the limit of the server, or the end of the table.
    Rate,
}

/// What held the load back. But for the path, the most that came is no more than a lower bound of the capacity.
///
/// A sub-interval shows congestion when more was lost in it than a trial may lose, or when delay varied by the lower threshold: the search went no
/// faster then. The best one, and what came behind it, decide: what the search was held by earlier, and slower, it has left behind.
pub fn held_by(settings: &Settings, intervals: &[Interval]) -> Held {
    let rate = |it: &Interval| it.rate;
    let best = intervals.iter().map(rate).fold(0.0, f64::max);
    // Within a hundredth it is the same rate: datagrams are whole ones.
    let first = intervals.iter().position(|it| it.rate >= 0.99 * best);
    let Some(first) = first else {
        return Held::Path;
    };
    let congested = |it: &Interval| {
        let [least, most, ..] = match settings.one_way {
            true => it.sums.variation,
            false => [it.sums.round_trip[0], it.sums.round_trip[1], 0, 0],
        };
        let varied = least != udpstp::NO_VALUE && most >= u32::from(settings.low_threshold);
        it.sums.errors[0] > u32::from(settings.error_threshold) || varied
    };
    if intervals[first..].iter().any(congested) {
        return Held::Path;
    }
    match settings.row {
        None if first + 1 == intervals.len() => Held::Search,
        _ => Held::Rate,
    }
}

/// Datagrams and their bytes of UDP payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams.
    pub datagrams: u64,
    /// Their payload.
    pub bytes: u64,
}

impl Traffic {
    fn add(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
    }
}

/// What was not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Datagrams that are no message, and why the last one is not.
    pub unreadable: (u64, &'static str),
    /// Messages that nobody waits for.
    pub unexpected: u64,
    /// Sending rates of a server that cannot be sent, which are passed over.
    pub bad_rates: u64,
    /// Status messages missed, on this side and on the other.
    pub missed: [u64; 2],
    /// Bursts that left so late that those between were left out.
    pub late_bursts: u64,
    /// Load messages whose length is not the one that they say.
    pub wrong_lengths: u64,
    /// Load messages whose times or sequence number cannot be true, given the age of the test. They
    /// count as received; loss and delay leave them out.
    pub implausible: u64,
    /// Sums of sub-intervals from the other end that cannot be true: more than was sent, or delays
    /// longer than the test. They are left out.
    pub bad_sums: u64,
}

#[cfg(test)]
mod tests;
