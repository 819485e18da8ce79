//! IGI and PTR: trains whose gap grows until it comes out as it went in.
//!
//! Hu and Steenkiste, "Evaluation and characterization of available bandwidth probing techniques", IEEE JSAC 21(6), 2003. Trains of 60 packets
//! begin with the least gap, which grows by 1/8 of a packet's time on the tight link from train to train, until the mean gap that comes differs from that
//! which was sent by less than 10 %: the turning point. Packet transmission rate (PTR): the rate at which this train came. Initial gap increasing (IGI):
//! `C - C * sum(out - g_b over gaps that increased) / sum(out)`, with `g_b` a packet's time on the tight link.
//!
//! Their tool begins at half a packet's time; a line of the tight link's rate has none less than the whole.
//!
//! *PTR* turns at 2 % here: a train at `A + x` comes at gaps that are longer by `x / C`, so that 10 % of C = 10 Gb/s let pass what is up to 1 Gb/s too fast. The
//! paper's timers were not good for less.
//!
//! *IGI* counts no traffic in gaps that did not increase, which holds while the train keeps the queue busy. Near the turning point of a busy link gaps are as often
//! shortened as stretched, and what was between those packets is left out: 3.5 of 8.1 Gb/s. What it is silent about is known, since each gap
//! has room for `out - g_b` of others' packets: what is free is less by no more than that. Where that is more than a twentieth of the answer there is none; else it is the answer's spread.
//!
//! A train up to 10 % of C too fast counts as the turning point, and the link is full while it
//! passes: others leave slower than they arrive, by the factor `sum(out) / sum(in)`. The sum over
//! gaps that increased is divided by the lesser of the two here, the paper's by `sum(out)`, which
//! found up to 1 Gb/s too much of 10.
//!
//! It also takes every stretched gap for others' packets. Receivers that hand packets up in batches (interrupt coalescing, receive offload) stretch the gap before a batch by what the gaps in it
//! lack of `g_b`, which no link of this capacity makes: what is free is more by no more than that, with the same bound.

use super::{Answer, Estimator, Observed, Spread};
use alloc::format;
use alloc::vec::Vec;
use node::Rate;

/// By how much of itself the mean gap may differ at the turning point of IGI, and of PTR.
pub const TURNED: f64 = 0.1;
pub const TURNED_PTR: f64 = 0.02;
/// The part of the answer that others may have sent in gaps which did not increase, and that gaps between batches may have been taken for.
pub const SILENT: f64 = 0.05;
/// The part of a packet's time by which the gap grows.
pub const STEP: f64 = 1.0 / 8.0;
/// A gap increased if it is by so much greater, against what stamps are off by.
const INCREASED: f64 = 1.001;
/// Maximum gap in transmission times of a packet, 1/50 of the capacity. The search ends beyond it.
const MAX_GAP: f64 = 50.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    Igi,
    Ptr,
}

#[derive(Clone, Debug)]
pub struct Igi {
    formula: Formula,
    capacity: f64,
    /// A packet's time on the tight link, and the gap of the next train, picoseconds.
    packet: f64,
    gap: f64,
    points: Vec<(f64, f64)>,
    before: Option<f64>,
    found: Option<Found>,
}

/// What the train at the turning point says, and by which parts of that it may have counted too little of others, and too much.
#[derive(Clone, Copy, Debug)]
struct Found {
    interval: Spread,
    silent: f64,
    joined: f64,
}

impl Igi {
    /// Of a tight link of this capacity, with packets of so many bits on the wire.
    pub fn new(formula: Formula, capacity: Rate, bits: u64) -> Igi {
        let capacity = capacity.bits_per_second() as f64;
        let packet = bits as f64 / capacity * 1e12;
        Igi {
            formula,
            capacity,
            packet,
            gap: packet,
            points: Vec::new(),
            before: None,
            found: None,
        }
    }
}

impl Estimator for Igi {
    fn figure(&self) -> &'static str {
        "mean gap that came over mean gap sent"
    }

    fn next(&mut self) -> Option<Rate> {
        if self.found.is_some() || self.gap > MAX_GAP * self.packet {
            return None;
        }
        let rate = self.capacity * self.packet / self.gap;
        self.gap += STEP * self.packet;
        Rate::from_bits_per_second(libm::round(rate) as u64)
    }

    fn see(&mut self, train: &Observed<'_>) {
        let (mut sent, mut came, mut bits) = (0.0, 0.0, 0.0);
        // Room for others, in gaps that increased and in the others.
        let (mut stretched, mut silent) = (0.0, 0.0);
        // By how much gaps were shorter than the tight link makes them.
        let mut joined = 0.0;
        for (one, other, size) in train.gaps() {
            (sent, came, bits) = (sent + one, came + other, bits + size);
            let room = other - size / self.capacity * 1e12;
            joined += (-room).max(0.0);
            match other > one * INCREASED {
                true => stretched += room.max(0.0),
                false => silent += room.max(0.0),
            }
        }
        if sent <= 0.0 || came <= 0.0 {
            return;
        }
        let rate = train.rate.bits_per_second() as f64;
        self.points.push((rate, came / sent));
        let (estimate, turned, silent, joined) = match self.formula {
            Formula::Ptr => (bits / came * 1e12, TURNED_PTR, 0.0, 0.0),
            Formula::Igi => {
                let span = came.min(sent);
                let estimate = (self.capacity * (1.0 - stretched / span)).max(0.0);
                (estimate, TURNED, silent / span, joined / came)
            }
        };
        if (came / sent - 1.0).abs() < turned {
            // The turning point is behind the train before.
            let other = self.before.unwrap_or(estimate);
            let (uncounted, twice) = (self.capacity * silent, self.capacity * joined);
            let interval = Spread {
                value: estimate,
                low: (estimate - uncounted).min(other).max(0.0),
                high: (estimate + twice).max(other),
            };
            let part = |of: f64| of / estimate.max(f64::MIN_POSITIVE);
            self.found = Some(Found {
                interval,
                silent: part(uncounted),
                joined: part(twice),
            });
        }
        self.before = Some(estimate);
    }

    fn answer(&mut self) -> Answer {
        let points = core::mem::take(&mut self.points);
        let found = self.found.take();
        (self.gap, self.before) = (self.packet, None);
        match found {
            None => Answer::none(
                format!("gaps were stretched in all of {} trains", points.len()),
                points,
            ),
            Some(Found { silent, .. }) if silent > SILENT => Answer::none(
                format!(
                    "the formula counts no others in gaps that did not increase, which had room for {:.0} % of what it finds",
                    100.0 * silent
                ),
                points,
            ),
            Some(Found { joined, .. }) if joined > SILENT => Answer::none(
                format!(
                    "packets came in lots, closer together than the capacity lets them, and the formula takes the gaps between lots for others: {:.0} % of what it finds",
                    100.0 * joined
                ),
                points,
            ),
            Some(Found { interval, .. }) => Answer {
                estimate: Some(interval),
                how: format!(
                    "gaps came as they were sent in the {}th train",
                    points.len()
                ),
                points,
            },
        }
    }
}
