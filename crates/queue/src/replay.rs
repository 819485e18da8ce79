//! Replays of what a queue was offered: what other parameters would have done to the same arrivals.
//!
//! A replay is open-loop: arrivals stay as they were, where senders with congestion control would have answered other drops by
//! other arrivals. So it says what would have saved one packet, and not what a network does with other parameters; for that run it again.

use crate::Config;
use crate::decision::{Backlog, Decision, Decisions, Reason, Verdict};
use crate::discipline::Discipline;
use crate::packet::{Facts, Packet};
use crate::parameter::Quantity;
use crate::segment::Segment;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use node::{Channel, ConfigError, Probability, QueueLimit, Rate, Time, Transmitter, When};

/// An event at the entrance of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// A packet arrives.
    Packet {
        /// When.
        at: Time,
        /// Its length in bytes, as the queue counts it.
        len: u32,
        /// Its facts for classifiers.
        facts: Facts,
        /// When its first bit was to leave. It arrives a preamble earlier, or late.
        when: When,
    },
    /// The link went down: the queue is emptied, and replaced by a new one.
    Flush {
        /// When.
        at: Time,
    },
}

impl Offer {
    fn at(&self) -> Time {
        match self {
            Offer::Packet { at, .. } | Offer::Flush { at } => *at,
        }
    }
}

/// Fate of a packet in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It left at this time, without a mark by this queue.
    Sent(Time),
    /// Dropped, or marked for the first time, with this backlog in the queue that decided.
    Decided(Verdict, Reason, Time, Backlog),
    /// Flushed, or still in the queue when all that was asked for had happened.
    Waiting,
}

impl Fate {
    /// The fate by a decision.
    pub fn of(decision: &Decision) -> Fate {
        let Decision {
            verdict,
            reason,
            at,
            backlog,
            ..
        } = *decision;
        Fate::Decided(verdict, reason, at, backlog)
    }
}

/// A change of one parameter that would have saved a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the parameter, as [`Config::parameters`] has it, or [`LINK_RATE`].
    pub parameter: String,
    /// Its value in the run.
    pub was: String,
    /// The value that is nearest to it, of those that were tried, with which the packet is saved.
    pub to: String,
    /// Relation of the two values, at least 1; 0 for a switch or another choice.
    pub ratio: f64,
}

/// Name of the rate of the link among the parameters.
pub const LINK_RATE: &str = "rate of the link";

/// Changes that are tried, up and down, in percent.
const PERCENTS: [u64; 12] = [
    101, 102, 105, 110, 125, 150, 200, 300, 500, 1_000, 3_000, 10_000,
];
/// A bisection ends at two values that are this close, in thousandths.
const CLOSE: u64 = 1_004;
/// Maximum number of packets that one search replays: some seconds.
const MAX_PACKETS: u64 = 60_000_000;

/// Packets that one direction of a link was offered, and its line.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    /// The line, which loses nothing.
    line: Channel,
    seed: u64,
    offers: &'a [Offer],
    segments: &'a [Option<Segment>],
}

impl<'a> Replay<'a> {
    /// Of the channel at whose entrance the queue was, the queue's seed, and what it was offered from the start of the run on. In order of time.
    pub fn new(channel: &Channel, seed: u64, offers: &'a [Offer]) -> Replay<'a> {
        let line = Channel {
            queue: QueueLimit::Packets(u32::MAX),
            loss: Probability::default(),
            duplicate: Probability::default(),
            reorder: Probability::default(),
            bit_error: 0.0,
            down: Vec::new(),
            ..channel.clone()
        };
        Replay {
            line,
            seed,
            offers,
            segments: &[],
        }
    }

    /// With the TCP segments of the offers, by index, for a discipline that
    /// [reads them](Discipline::reads_segments). Those that the list lacks are none.
    pub fn with_segments(self, segments: &'a [Option<Segment>]) -> Replay<'a> {
        Replay { segments, ..self }
    }

    /// The fate of the packet at `index` of the offers under a discipline.
    ///
    /// # Errors
    /// For parameters that make no sense.
    pub fn fate(&self, config: &Config, index: usize) -> Result<Fate, ConfigError> {
        self.fate_at(config, self.line.rate, index)
    }

    fn fate_at(
        &self,
        config: &Config,
        rate: Option<Rate>,
        index: usize,
    ) -> Result<Fate, ConfigError> {
        let channel = Channel {
            rate,
            ..self.line.clone()
        };
        let mut run = Run {
            queue: config.build(self.seed)?,
            line: Transmitter::new(channel, 0),
            decisions: Decisions::new(),
            offers: self.offers,
            wanted: index as u32,
            fate: None,
        };
        for (handle, offer) in self.offers.iter().enumerate() {
            run.advance(offer.at());
            match *offer {
                Offer::Packet { at, len, facts, .. } => {
                    let segment = self.segments.get(handle).and_then(Option::as_ref);
                    run.enqueue(at, Packet::new(handle as u32, len, facts), segment);
                }
                Offer::Flush { .. } => {
                    if handle > index && run.fate.is_none() {
                        return Ok(Fate::Waiting);
                    }
                    run.queue = config.build(self.seed)?;
                }
            }
            if let Some(fate) = run.fate {
                return Ok(fate);
            }
        }
        run.advance(Time::MAX);
        Ok(run.fate.unwrap_or(Fate::Waiting))
    }

    /// Changes of one parameter that would have saved the packet at `index`, which `config` dropped or marked: from the smallest relative
    /// change to the greatest, then switches and other choices. Values from a hundredth to a hundredfold are tried. Also returned is whether all parameters
    /// were: a search ends after some seconds.
    ///
    /// A packet that was dropped is saved if it is sent, be it with a mark; one that was marked, if it is sent without.
    pub fn changes(&self, config: &Config, index: usize, was: Verdict) -> (Vec<Change>, bool) {
        let each = self.offers.len().max(1) as u64;
        let left = Cell::new(MAX_PACKETS / each);
        let saves = |config: &Config, rate: Option<Rate>| {
            if left.get() == 0 {
                return false;
            }
            left.set(left.get() - 1);
            match self.fate_at(config, rate, index) {
                Ok(Fate::Sent(_)) => true,
                Ok(Fate::Decided(verdict, ..)) => was == Verdict::Dropped && verdict != was,
                _ => false,
            }
        };
        let mut found = Vec::new();
        if let Some(mut rate) = self.line.rate {
            let mut quantity = Quantity::Rate(&mut rate);
            let set = |value| Some((config.clone(), Some(Rate::from_bits_per_second(value)?)));
            found.extend(change(LINK_RATE, &mut quantity, |value| {
                set(value).is_some_and(|(config, rate)| saves(&config, rate))
            }));
        }
        let mut shown = config.clone();
        for (nth, (name, mut quantity)) in shown.parameters().into_iter().enumerate() {
            found.extend(change(&name, &mut quantity, |value| {
                let mut changed = config.clone();
                let is_set = changed.parameters()[nth].1.set(value);
                is_set && saves(&changed, self.line.rate)
            }));
        }
        let order = |change: &Change| match change.ratio {
            0.0 => f64::MAX,
            ratio => ratio,
        };
        found.sort_by(|a, b| order(a).total_cmp(&order(b)));
        (found, left.get() > 0)
    }
}

/// The value of a quantity nearest to its own that saves the packet.
fn change(
    name: &str,
    quantity: &mut Quantity<'_>,
    mut saves: impl FnMut(u64) -> bool,
) -> Option<Change> {
    let (own, was) = (quantity.get(), quantity.to_string());
    let (to, ratio) = match quantity.choices() {
        Some(count) => {
            let mut others = (0..count).filter(|value| *value != own);
            (others.find(|value| saves(*value))?, 0.0)
        }
        None => nearest(own, &mut saves)?,
    };
    quantity.set(to);
    Some(Change {
        parameter: name.into(),
        was,
        to: quantity.to_string(),
        ratio,
    })
}

fn nearest(own: u64, saves: &mut impl FnMut(u64) -> bool) -> Option<(u64, f64)> {
    if own == 0 {
        return None;
    }
    let mut best: Option<(u64, f64)> = None;
    for up in [true, false] {
        let mut last = own;
        for percent in PERCENTS {
            let value = match up {
                true => (u128::from(own) * u128::from(percent)).div_ceil(100),
                false => u128::from(own) * 100 / u128::from(percent),
            };
            let Ok(value) = u64::try_from(value) else {
                break;
            };
            // The other direction has found a smaller change.
            if best.is_some_and(|(_, ratio)| percent as f64 / 100.0 > ratio) {
                break;
            }
            if value == last {
                continue;
            }
            if saves(value) {
                let value = rounded(bisect(last, value, saves), up, saves);
                let (a, b) = (own as f64, value.max(1) as f64);
                let ratio = (a / b).max(b / a);
                if best.is_none_or(|(_, before)| ratio < before) {
                    best = Some((value, ratio));
                }
                break;
            }
            last = value;
        }
    }
    best
}

/// The value nearest to `not` that saves, between it and `yes`, which does.
fn bisect(mut not: u64, mut yes: u64, saves: &mut impl FnMut(u64) -> bool) -> u64 {
    loop {
        let (low, high) = (not.min(yes), not.max(yes));
        let is_close = u128::from(high) * 1_000 <= u128::from(low) * u128::from(CLOSE);
        if high - low <= 1 || is_close {
            return yes;
        }
        let middle = low + (high - low) / 2;
        match saves(middle) {
            true => yes = middle,
            false => not = middle,
        }
    }
}

/// The value with three digits, if that saves too.
fn rounded(value: u64, up: bool, saves: &mut impl FnMut(u64) -> bool) -> u64 {
    let unit = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(2));
    let short = match up {
        true => value.div_ceil(unit).saturating_mul(unit),
        false => value / unit * unit,
    };
    match short != value && saves(short) {
        true => short,
        false => value,
    }
}

/// A replay at work.
struct Run<'a> {
    queue: Box<dyn Discipline>,
    line: Transmitter,
    decisions: Decisions,
    offers: &'a [Offer],
    wanted: u32,
    fate: Option<Fate>,
}

impl Run<'_> {
    /// When the line can take the preamble of another frame.
    fn free(&self) -> Time {
        let bytes = node::link::PREAMBLE;
        self.line.free_at() - self.line.time_of(bytes)
    }

    /// Sends what leaves until `until`, a departure of that time included.
    fn advance(&mut self, until: Time) {
        let mut now = Time::ZERO;
        while self.fate.is_none() {
            let from = self.free().max(now);
            let Some(due) = self.queue.next_time(from).map(|due| due.max(from)) else {
                break;
            };
            if due > until || due == Time::MAX {
                break;
            }
            now = due;
            self.take(now);
        }
    }

    fn enqueue(&mut self, at: Time, packet: Packet, segment: Option<&Segment>) {
        // As in a simulation: what leaves makes room for what arrives at the same time.
        let left = self.free() <= at && self.take(at);
        let decisions = &mut self.decisions;
        self.queue.enqueue_segment(at, packet, segment, decisions);
        self.look();
        if !left && self.free() <= at {
            self.take(at);
        }
    }

    /// Sends the next packet, if one may leave.
    fn take(&mut self, now: Time) -> bool {
        let packet = self.queue.dequeue(now, &mut self.decisions);
        self.look();
        let Some(packet) = packet else {
            return false;
        };
        if packet.handle == self.wanted && self.fate.is_none() {
            self.fate = Some(Fate::Sent(now));
        }
        if let Some(Offer::Packet { len, when, .. }) = self.offers.get(packet.handle as usize) {
            let when = match when {
                When::At(at) if *at > now => *when,
                _ => When::Now,
            };
            self.line.offer(now, when, *len as usize);
        }
        true
    }

    /// Looks for the packet among the decisions.
    fn look(&mut self) {
        let wanted = self.wanted;
        let mut decisions = self.decisions.iter();
        let own = decisions.find(|decision| decision.packet.handle == wanted);
        self.fate = self.fate.or(own.map(Fate::of));
        self.decisions.clear();
    }
}
