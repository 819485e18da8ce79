//! Sends trains of probes to a [reflector](super::reflector), and estimates what the tight link of the path has to spare.
//!
//! - **Ports:** 1.
//! - **Parameters:** `method`, `minprobe`: one of [`Method`]'s, several, which take turns sample by sample, or `all`. `trains` and `size`, the
//!   method's [usual](Method::usual): what it sends, and bytes of a probe with FCS; with several methods each has its own. `samples`, 10: estimates of each method.
//!   `capacity`, 10 Gb/s: of the tight link, for methods that reckon with it. `target`, 198.18.0.2: the reflector's address,
//!   `gateway`, none: whose MAC address leads there; `address`, 198.18.0.1, and `mac`, 02:00:00:00:00:01: its own; `port`, 49153: the
//!   UDP port at both ends; `session`, 0: by which several probers' probes are told apart; `start`, 1 us: when it asks for the next hop's address, behind which the first
//!   sample follows; `timeout`, 100 ms: a probe whose reply takes longer, counted from the end of its
//!   train, is lost; `check`, whether there are pairs or chirps: whether it looks first what the path [lets through at once](super::estimate::burst), beside which trains may be too short; `seed`, 0: for gaps that are drawn.
//! - **Counters:** `sent`, `replies`, `lost`, `duplicates`, `stray`: replies to no probe that is waited for; `others`: frames that are no replies; `answers`, and `no_answers`; `available_bps`, the mean
//!   of the answers; `burst`: bits that the path lets through at once, as the check found; `resolved`, 1 when the next hop's MAC address is known.
//! - **Paper:** 002 section 4.4.
//!
//! Probes are at their departures to the picosecond where the world is exact. Each train is judged when all its replies are there, or the timeout is over. A method whose
//! rates are [adaptive](crate::train::Rates::Adaptive) sends its next train then, G behind the last packet at the earliest; others send on meanwhile.

mod sending;

use super::estimate::burst::Check;
use super::estimate::{Estimator, Method, Observed, Packet};
use super::message::Message;
use super::sample::Sample;
pub use super::sample::{Estimate, Tell};
use crate::endpoint::{Came, Endpoint};
use crate::train::{Rates, Trains, wire_bits};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Rate, Statistics, Time, link};
use packet::ethernet::Mac;
use sending::Sending;

/// Bytes of a probe's headers: Ethernet, IPv4, UDP.
const HEADERS: usize = 14 + 20 + 8;
/// Bytes with FCS that a probe may have: from Ethernet's least to a usual jumbo frame.
const SIZES: core::ops::RangeInclusive<u16> = 64..=9018;

/// What a prober is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// By which methods, in turns.
    pub method: Methods,
    /// What is sent; `None`: what is usual for the method.
    pub trains: Option<Trains>,
    /// Bytes of a probe with FCS; `None`: what is usual for the method.
    pub size: Option<u16>,
    /// Estimates of each method.
    pub samples: u64,
    /// Of the tight link.
    pub capacity: Rate,
    /// The reflector.
    pub target: Ipv4Addr,
    /// Whose MAC address leads there; `None`: its own.
    pub gateway: Option<Ipv4Addr>,
    /// The prober's own IPv4 address.
    pub address: Ipv4Addr,
    /// Its own MAC address.
    pub mac: Mac,
    /// The UDP port at both ends.
    pub port: u16,
    /// By which several probers' probes are told apart.
    pub session: u16,
    /// When it asks for the next hop's address; the first sample follows.
    pub start: Time,
    /// From the last departure of a train to when what has not come is lost.
    pub timeout: Time,
    /// Whether it looks first what the path [lets through at once](super::estimate::burst); `None`: if it sends pairs or chirps.
    pub check: Option<bool>,
    /// For what is drawn.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            method: Methods(alloc::vec![Method::MinProbe]),
            trains: None,
            size: None,
            samples: 10,
            capacity: Rate::TEN_GIGABIT,
            target: Ipv4Addr::new(198, 18, 0, 2),
            gateway: None,
            address: Ipv4Addr::new(198, 18, 0, 1),
            mac: Mac([2, 0, 0, 0, 0, 1]),
            port: super::PORT,
            session: 0,
            start: Time::from_us(1),
            timeout: Time::from_ms(100),
            check: None,
            seed: 0,
        }
    }
}

/// Methods that take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Methods(pub Vec<Method>);

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Methods {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Methods, D::Error> {
        /// One, several, or all.
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "a method is wanted, a list of them, or \"all\"")]
        enum Said {
            One(alloc::string::String),
            Several(Vec<alloc::string::String>),
        }
        let said = match Said::deserialize(input)? {
            Said::One(name) if name == "all" => return Ok(Methods(Method::ALL.into())),
            Said::One(name) => alloc::vec![name],
            Said::Several(names) => names,
        };
        let methods = said.iter().map(|name| {
            let mut all = Method::ALL.into_iter();
            let found = all.find(|method| method.name() == name);
            found.ok_or_else(|| {
                let known = Method::ALL.map(Method::name).join(", ");
                serde::de::Error::custom(alloc::format!(
                    "`{name}` is no method; there are {known}, and all"
                ))
            })
        });
        methods.collect::<Result<_, _>>().map(Methods)
    }
}

/// A method, and what it sends.
struct Plan {
    sample: Sample,
    trains: Trains,
    /// Bytes of a probe's payload, and its bits on the wire.
    payload: usize,
    bits: u64,
}

impl Plan {
    fn new(method: Method, config: &Config) -> Result<Plan, ConfigError> {
        let (usual, usual_size) = method.usual();
        let trains = config.trains.unwrap_or(usual).checked()?;
        let is_adaptive = |trains: Trains| trains.rates == Rates::Adaptive;
        if is_adaptive(trains) != is_adaptive(usual) {
            let name = method.name();
            let reason = match is_adaptive(usual) {
                true => alloc::format!(
                    "{name} chooses its rates itself: write adaptive in place of them"
                ),
                false => alloc::format!("{name} does not choose its rates itself: name them"),
            };
            return Err(ConfigError::new("trains", reason));
        }
        let size = config.size.unwrap_or(usual_size);
        if !SIZES.contains(&size) {
            return Err(ConfigError::new("size", "a probe has 64 to 9018 bytes"));
        }
        let len = usize::from(size) - link::FCS;
        let bits = wire_bits(len);
        Ok(Plan {
            sample: Sample::new(method, config.session, config.capacity, bits),
            trains,
            payload: len - HEADERS,
            bits,
        })
    }
}

/// A train that has begun to leave.
struct Train {
    plan: usize,
    /// Of the check before the first sample.
    is_check: bool,
    rate: Rate,
    /// The number of its first probe.
    first: u64,
    packets: Vec<Packet>,
    /// How many have not come.
    missing: usize,
    /// From when on what has not come is lost; `None` while it is being sent.
    deadline: Option<Time>,
    /// Whether it is the last of its sample.
    is_last: bool,
}

pub struct Prober {
    config: Config,
    endpoint: Endpoint,
    plans: Vec<Plan>,
    sending: Sending,
    check: Check,
    /// Trains that are not judged yet, the oldest first.
    trains: VecDeque<Train>,
    /// Buffers of trains that were.
    spare: Vec<Vec<Packet>>,
    tell: Box<Tell>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    sent: u64,
    replies: u64,
    lost: u64,
    duplicates: u64,
    stray: u64,
    others: u64,
    answers: u64,
    no_answers: u64,
    sum: f64,
}

impl Prober {
    /// A prober, and who is told of its estimates.
    ///
    /// # Errors
    /// When it has no method or no sample, sizes or trains cannot be sent, or trains are given that do not suit the method.
    pub fn new(config: Config, tell: Box<Tell>) -> Result<Prober, ConfigError> {
        let methods = &config.method.0;
        if methods.is_empty() {
            return Err(ConfigError::new("method", "there is at least one"));
        }
        for (key, given) in [
            ("trains", config.trains.is_some()),
            ("size", config.size.is_some()),
        ] {
            if given && methods.len() > 1 {
                let reason = "with several methods each sends what is usual for it";
                return Err(ConfigError::new(key, reason));
            }
        }
        if config.samples == 0 {
            return Err(ConfigError::new("samples", "there is at least one"));
        }
        let plans = methods.iter().map(|method| Plan::new(*method, &config));
        let plans = plans.collect::<Result<Vec<_>, _>>()?;
        let is_short = plans.iter().any(|plan| plan.trains.packets <= 2);
        let is_checked = config.check.unwrap_or(is_short);
        Ok(Prober {
            endpoint: Endpoint::new(config.mac, config.address, config.port),
            plans,
            sending: Sending::new(config.start, config.seed, is_checked),
            check: Check::default(),
            trains: VecDeque::new(),
            spare: Vec::new(),
            tell,
            counters: Counters::default(),
            config,
        })
    }

    /// A reply to a probe.
    fn reply(&mut self, now: Time, message: Message) {
        let Some(front) = self.trains.front() else {
            self.counters.stray += 1;
            return;
        };
        // Sequences have 32 bits; what is waited for is far less.
        let ahead = message.sequence.wrapping_sub(front.first as u32);
        let number = front.first + u64::from(ahead);
        let place = self.trains.partition_point(|train| train.first <= number);
        let train = self.trains.get_mut(place - 1);
        let found = train.and_then(|train| {
            let packet = train.packets.get_mut((number - train.first) as usize)?;
            Some((packet, &mut train.missing))
        });
        let Some((packet, missing)) = found else {
            self.counters.stray += 1;
            return;
        };
        if packet.came.is_some() {
            self.counters.duplicates += 1;
            return;
        }
        packet.came = message.came;
        *missing -= 1;
        self.counters.replies += 1;
        self.judge(now);
    }

    /// Judges trains that are whole, or not waited for any more, in the order in which they left.
    fn judge(&mut self, now: Time) {
        while let Some(train) = self.trains.front() {
            let Some(deadline) = train.deadline else {
                return;
            };
            if train.missing > 0 && now < deadline {
                return;
            }
            let Some(train) = self.trains.pop_front() else {
                return;
            };
            self.see(now, &train);
            let mut packets = train.packets;
            packets.clear();
            self.spare.push(packets);
        }
    }

    fn see(&mut self, now: Time, train: &Train) {
        let plan = &mut self.plans[train.plan];
        let observed = Observed {
            rate: train.rate,
            packets: &train.packets,
        };
        if train.is_check {
            self.check.see(&observed);
            self.counters.lost += train.missing as u64;
            return;
        }
        let bits = plan.bits * train.packets.len() as u64;
        plan.sample.see(now, &observed, train.first, bits);
        self.counters.lost += train.missing as u64;
        let next = match plan.trains.rates {
            Rates::Adaptive => plan.sample.next(),
            _ if train.is_last => None,
            _ => return,
        };
        match next {
            Some(rate) => self.sending.again(now, plan.trains, rate),
            None => self.answer(now, train.plan),
        }
    }

    /// The sample of a method is over.
    fn answer(&mut self, now: Time, of: usize) {
        let plan = &mut self.plans[of];
        let Some(mut estimate) = plan.sample.end(now) else {
            return;
        };
        if let Some(why) = self.check.why(&plan.trains, plan.bits) {
            (estimate.answer.estimate, estimate.answer.how) = (None, why);
        }
        match estimate.answer.estimate {
            Some(interval) => {
                self.counters.answers += 1;
                self.counters.sum += interval.value;
            }
            None => self.counters.no_answers += 1,
        }
        (self.tell)(estimate);
        if plan.trains.rates == Rates::Adaptive {
            self.sending.next_sample(now, &self.plans);
        }
    }
}

impl Node for Prober {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let message = match self.endpoint.look(port, &frame, out) {
                Came::Datagram(from, place) if from.address == self.config.target => {
                    Message::parse(&frame[place])
                }
                Came::Resolved => {
                    self.sending.resolved(now);
                    None
                }
                Came::Datagram(..) | Came::Other => None,
            };
            let own = |message: &Message| {
                message.session == self.config.session && message.came.is_some()
            };
            match message.filter(own) {
                Some(message) => {
                    out.done(frame);
                    self.reply(now, message);
                }
                None => {
                    self.counters.others += 1;
                    out.done(frame);
                }
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.judge(now);
        self.send(now, out);
        if self.sending.is_over() && !self.sending.is_resolved() {
            // Nothing can be sent: each sample is without an answer, once.
            for _ in 0..core::mem::take(&mut self.config.samples) {
                for plan in &self.plans {
                    self.counters.no_answers += 1;
                    (self.tell)(Estimate::nothing(
                        plan.sample.method,
                        self.config.session,
                        now,
                    ));
                }
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let deadline = self.trains.front().and_then(|train| train.deadline);
        let sending = self.sending.next_wake();
        deadline.into_iter().chain(sending).min()
    }

    fn statistics(&self) -> Statistics {
        let counters = &self.counters;
        let mut statistics = Statistics::default();
        statistics.counter("sent", counters.sent);
        statistics.counter("replies", counters.replies);
        statistics.counter("lost", counters.lost);
        statistics.counter("duplicates", counters.duplicates);
        statistics.counter("stray", counters.stray);
        statistics.counter("others", counters.others);
        statistics.counter("answers", counters.answers);
        statistics.counter("no_answers", counters.no_answers);
        let mean = counters.sum / counters.answers.max(1) as f64;
        statistics.counter("available_bps", mean as u64);
        statistics.counter("burst", self.check.burst().unwrap_or(0.0) as u64);
        statistics.counter("resolved", u64::from(self.sending.is_resolved()));
        statistics
    }
}

#[cfg(test)]
mod tests;
