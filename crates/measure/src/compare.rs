//! Two captures of the same traffic, before and behind a device: per-packet delay, loss, order.
//!
//! Packets are known again by their probe, or by what devices leave as it is ([`identity`]). They are
//! given one by one, from whichever side is behind in time ([`Comparison::turn`]); those that have not
//! been found on the other side wait in a window of fixed size. Nothing else grows with the number of
//! packets.
//!
//! - **Lost:** sent between the first and the last packet that were found, and not found behind. What
//!   was sent before or later may just not have been captured behind, and is counted apart.
//! - **Only behind:** captured behind and not before.
//! - **Duplicates:** captured behind once more.
//! - **Reordered:** as RFC 4737 has it, with its extent.
//! - **Delay:** stamp behind less stamp before. Where the least of the first delays is below zero or
//!   above ten seconds, the clocks must differ: then delays count from the [least of them](Comparison::zero_ps).
//!
//! Equal packets (the same content once more, without a probe or an IP identification that tells them
//! apart) are taken in their order: if one of them is lost, the delays of those behind it are wrong by
//! one packet.

mod delays;
mod identity;
mod order;
mod pending;

pub use delays::Delays;
pub use identity::{Basis, Identity, identity};
pub use order::{MAX_EXTENT, Reordering};

use crate::profile::Trace;
use alloc::vec;
use alloc::vec::Vec;
use pending::{Entry, Pending};

/// The most packets that are listed as lost.
pub const LISTED: usize = 10_000;
/// Packets found before the offset between the clocks is taken as known.
const SETTLED: usize = 256;
/// Maximum delay measured with one clock, ps: 10 s. A longer delay is one between two clocks.
const MAX_SAME_CLOCK_DELAY_PS: i128 = 10_000_000_000_000;
/// Delays further from the offset than this, in ps, do not change it: 1 s.
const ASTRAY: i128 = 1_000_000_000_000;

/// Where a packet was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// On its way to the device.
    Before,
    /// Coming from it.
    Behind,
}

/// How packets are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets of each side that wait to be found on the other, rounded up to a power of two; held
    /// between 16 and 2^24. Each takes 100 bytes. Default 262,144.
    pub window: usize,
    /// The bytes of payload by which a packet is known again. Default 128.
    pub bytes: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            window: 1 << 18,
            bytes: 128,
        }
    }
}

/// A packet that was not found behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which packet it was before, from 0.
    pub number: u64,
    /// Since the first packet before, in ps.
    pub at_ps: i128,
}

/// A packet's delay, for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was captured before, in ps since the first packet there.
    pub at_ps: i128,
    /// In ps, above [`Comparison::zero_ps`].
    pub delay_ps: i128,
}

/// One side, as far as it has been read.
#[derive(Clone, Debug)]
struct Half {
    pending: Pending,
    first: Option<u128>,
    last: i128,
    packets: u64,
    ended: bool,
}

/// A comparison, as far as packets have been given.
#[derive(Clone, Debug)]
pub struct Comparison {
    bytes: usize,
    before: Half,
    behind: Half,
    /// Keys found of late, to tell duplicates.
    found: Vec<u64>,
    by_probe: u64,
    by_content: u64,
    /// The least delay that is expected, for reading both sides abreast.
    offset: Option<i128>,
    /// Packets found until the offset is known: when, and the delay.
    early: Vec<(i128, i128)>,
    zero: i128,
    delays: Delays,
    trace: Trace<Sample>,
    order: Reordering,
    /// The least and the greatest number before of those found.
    span: Option<(u64, u64)>,
    losses: Losses,
    duplicates: u64,
    only_behind: u64,
}

#[derive(Clone, Debug, Default)]
struct Losses {
    lost: u64,
    runs: u64,
    longest: u64,
    run: u64,
    last: Option<u64>,
    list: Vec<Lost>,
    ahead: u64,
    /// Not found, and no later one has been found yet.
    tail: u64,
}

impl Comparison {
    /// Nothing given yet.
    pub fn new(config: Config) -> Comparison {
        let window = config.window.clamp(16, 1 << 24).next_power_of_two();
        let half = || Half {
            pending: Pending::new(window),
            first: None,
            last: 0,
            packets: 0,
            ended: false,
        };
        Comparison {
            bytes: config.bytes,
            before: half(),
            behind: half(),
            found: vec![0; 2 * window],
            by_probe: 0,
            by_content: 0,
            offset: None,
            early: Vec::with_capacity(SETTLED),
            zero: 0,
            delays: Delays::default(),
            trace: Trace::default(),
            order: Reordering::default(),
            span: None,
            losses: Losses::default(),
            duplicates: 0,
            only_behind: 0,
        }
    }

    /// The side whose next packet is to be given; `None` when both have ended.
    pub fn turn(&self) -> Option<Side> {
        match (self.before.ended, self.behind.ended) {
            (true, true) => None,
            (false, true) => Some(Side::Before),
            (true, false) => Some(Side::Behind),
            (false, false) => Some(match self.offset {
                // A packet each, until it is known how far they are apart.
                None if self.before.packets <= self.behind.packets => Side::Before,
                None => Side::Behind,
                Some(offset) => {
                    let before = self.before.last + offset - self.shift();
                    match before <= self.behind.last {
                        true => Side::Before,
                        false => Side::Behind,
                    }
                }
            }),
        }
    }

    /// Takes the next packet of a side; `at_ps` is its stamp.
    pub fn give(&mut self, side: Side, at_ps: u128, frame: &[u8]) {
        let identity = identity(frame, self.bytes);
        let half = match side {
            Side::Before => &mut self.before,
            Side::Behind => &mut self.behind,
        };
        let first = *half.first.get_or_insert(at_ps);
        let at = difference(at_ps, first);
        let number = half.packets;
        half.packets += 1;
        half.last = half.last.max(at);
        match side {
            Side::Before => match self.behind.pending.take(identity.key) {
                Some(other) => self.pair(identity, at, number, other.at),
                None => {
                    if let Some(left) = self.before.pending.add(identity.key, at, number) {
                        self.missed(left);
                    }
                }
            },
            Side::Behind => match self.before.pending.take(identity.key) {
                Some(other) => self.pair(identity, other.at, other.number, at),
                None if self.was_found(identity.key) => self.duplicates += 1,
                None => {
                    if let Some(left) = self.behind.pending.add(identity.key, at, number) {
                        self.strange(left);
                    }
                }
            },
        }
        if self.offset.is_none() && self.before.pending.waiting() == self.window() {
            self.settle();
        }
    }

    /// A side has no more packets.
    pub fn end(&mut self, side: Side) {
        match side {
            Side::Before => self.before.ended = true,
            Side::Behind => self.behind.ended = true,
        }
        if self.turn().is_some() {
            return;
        }
        self.settle();
        while !self.before.pending.is_empty() {
            if let Some(left) = self.before.pending.leave() {
                self.missed(left);
            }
        }
        while !self.behind.pending.is_empty() {
            if let Some(left) = self.behind.pending.leave() {
                self.strange(left);
            }
        }
    }

    /// A packet behind was not found before: it is one more of one that was, or a stranger.
    fn strange(&mut self, entry: Entry) {
        match entry.twin || self.was_found(entry.key) {
            true => self.duplicates += 1,
            false => self.only_behind += 1,
        }
    }

    fn window(&self) -> usize {
        self.found.len() / 2
    }

    /// How much later the first packet behind came than the first before.
    fn shift(&self) -> i128 {
        match (self.before.first, self.behind.first) {
            (Some(before), Some(behind)) => difference(behind, before),
            _ => 0,
        }
    }

    /// A packet has been found on both sides. Order is that in which they were found: arrival, but for
    /// those that the other clock made come first.
    fn pair(&mut self, identity: Identity, before: i128, number: u64, behind: i128) {
        match identity.basis {
            Basis::Probe => self.by_probe += 1,
            Basis::Content => self.by_content += 1,
        }
        let slot = identity.key as usize & (self.found.len() - 1);
        self.found[slot] = identity.key;
        let (least, most) = self.span.unwrap_or((number, number));
        self.span = Some((least.min(number), most.max(number)));
        if number >= most {
            self.losses.caught_up();
        }
        self.order.arrive(number);
        let delay = behind - before + self.shift();
        match &mut self.offset {
            None => {
                self.early.push((before, delay));
                if self.early.len() == SETTLED {
                    self.settle();
                }
            }
            Some(offset) => {
                // Near the least delay, so that the side before is read first; the clocks may drift.
                match delay - *offset {
                    less @ ..0 if less > -ASTRAY => *offset += less,
                    more @ 0.. if more < ASTRAY => *offset += more / 1024,
                    _ => {}
                }
                self.delayed(before, delay);
            }
        }
    }

    fn delayed(&mut self, at_ps: i128, delay: i128) {
        let delay_ps = delay - self.zero;
        self.delays.add(delay_ps);
        self.trace.add(Sample { at_ps, delay_ps });
    }

    /// The first delays tell how far the sides are apart, and whether one clock made their stamps.
    fn settle(&mut self) {
        if self.offset.is_some() {
            return;
        }
        let mut sorted: Vec<i128> = self.early.iter().map(|(_, delay)| *delay).collect();
        sorted.sort_unstable();
        self.offset = Some(sorted.first().copied().unwrap_or(0));
        self.zero = match sorted.first() {
            Some(&least) if !(0..=MAX_SAME_CLOCK_DELAY_PS).contains(&least) => least,
            _ => 0,
        };
        for (at, delay) in core::mem::take(&mut self.early) {
            self.delayed(at, delay);
        }
    }

    fn was_found(&self, key: u64) -> bool {
        self.found[key as usize & (self.found.len() - 1)] == key
    }

    /// A packet before was not found behind.
    fn missed(&mut self, entry: Entry) {
        match self.span {
            None => self.losses.ahead += 1,
            Some((least, _)) if entry.number < least => self.losses.ahead += 1,
            Some((_, most)) => self.losses.add(entry, entry.number > most),
        }
    }

    /// Packets of a side.
    pub fn packets(&self, side: Side) -> u64 {
        match side {
            Side::Before => self.before.packets,
            Side::Behind => self.behind.packets,
        }
    }

    /// Packets found on both sides: by their probe, and by their content.
    pub fn found(&self) -> (u64, u64) {
        (self.by_probe, self.by_content)
    }

    /// Packets lost.
    pub fn lost(&self) -> u64 {
        self.losses.lost - self.losses.tail
    }

    /// Runs of packets lost one behind the other, and the longest of them.
    pub fn loss_runs(&self) -> (u64, u64) {
        (self.losses.runs, self.losses.longest)
    }

    /// The first packets lost, at most [`LISTED`].
    pub fn lost_list(&self) -> &[Lost] {
        let most = self.lost().min(self.losses.list.len() as u64);
        &self.losses.list[..most as usize]
    }

    /// Packets sent before the first that was found, and behind the last: perhaps lost, perhaps
    /// captured before only.
    pub fn outside(&self) -> (u64, u64) {
        (self.losses.ahead, self.losses.tail)
    }

    /// Packets captured behind once more.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Packets captured behind only.
    pub fn only_behind(&self) -> u64 {
        self.only_behind
    }

    /// Reordering of those found.
    pub fn order(&self) -> &Reordering {
        &self.order
    }

    /// Delays of those found, above [`zero_ps`](Comparison::zero_ps).
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Zero if one clock can have made all stamps; else the least of the first delays, from which the
    /// others count, in ps.
    pub fn zero_ps(&self) -> i128 {
        self.zero
    }

    /// Delays of evenly spread packets, for a picture.
    pub fn samples(&self) -> &[Sample] {
        self.trace.samples()
    }
}

impl Losses {
    fn add(&mut self, entry: Entry, beyond: bool) {
        self.lost += 1;
        if beyond {
            self.tail += 1;
        }
        let (number, at_ps) = (entry.number, entry.at);
        if self.list.len() < LISTED {
            self.list.push(Lost { number, at_ps });
        }
        let goes_on = self.last == number.checked_sub(1) && self.last.is_some();
        self.run = if goes_on { self.run + 1 } else { 1 };
        self.last = Some(number);
        if !beyond {
            self.runs += u64::from(!goes_on);
            self.longest = self.longest.max(self.run);
        }
    }

    /// A later packet has been found: what had seemed to be the end was none.
    fn caught_up(&mut self) {
        if self.tail > 0 {
            self.tail = 0;
            self.runs += 1;
            self.longest = self.longest.max(self.run);
        }
    }
}

/// `a - b`; dates are less than 2^104 apart, and what is further counts as 2^120.
fn difference(a: u128, b: u128) -> i128 {
    const FAR: u128 = 1 << 120;
    let size = a.abs_diff(b).min(FAR).cast_signed();
    if a >= b { size } else { -size }
}

#[cfg(test)]
mod tests;
