//! A sample while it goes on: its method is shown each train, and its cost is counted.

use super::estimate::{Answer, Estimator, Method, Observed};
use crate::train::wire_bits;
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{Rate, Time, link};

/// What came of a sample, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub method: Method,
    pub answer: Answer,
    /// Whose probes they were.
    pub session: u16,
    /// The number of the first probe; [`packets`](Estimate::packets) follow each other.
    pub first: u64,
    /// Probes sent, and bits on the wire that they took where they carry nothing else: a middlebox's are applications' but for dummies.
    pub packets: u64,
    pub bits: u64,
    /// Of those, how many did not come.
    pub lost: u64,
    /// Trains sent.
    pub trains: u64,
    /// When the first and the last probe left.
    pub begun: Time,
    pub ended: Time,
    /// When the answer was there.
    pub known: Time,
}

impl Estimate {
    /// Of a sample that begins now.
    pub(super) fn nothing(method: Method, session: u16, now: Time) -> Estimate {
        Estimate {
            method,
            answer: Answer {
                estimate: None,
                how: "the next hop does not say its address".into(),
                points: Vec::new(),
            },
            session,
            first: 0,
            packets: 0,
            bits: 0,
            lost: 0,
            trains: 0,
            begun: now,
            ended: now,
            known: now,
        }
    }

    /// Bits on the wire of replies, frames of the least size: what it cost on the way back.
    pub fn reply_bits(&self) -> u64 {
        (self.packets - self.lost) * wire_bits(link::MIN_WIRE_FRAME_LEN)
    }
}

/// Is told each estimate.
pub type Tell = dyn FnMut(Estimate) + Send;

/// A sample of a method, over and over.
pub(super) struct Sample {
    pub method: Method,
    session: u16,
    estimator: Box<dyn Estimator>,
    /// What it has cost so far, of trains that were judged.
    cost: Option<Estimate>,
}

impl Sample {
    pub fn new(method: Method, session: u16, capacity: Rate, bits: u64) -> Sample {
        Sample {
            method,
            session,
            estimator: method.estimator(capacity, bits),
            cost: None,
        }
    }

    /// The rate of the next train, where that follows from what came back.
    pub fn next(&mut self) -> Option<Rate> {
        self.estimator.next()
    }

    /// A train, whose first probe has this number, and whose own bits are so many.
    pub fn see(&mut self, now: Time, train: &Observed<'_>, first: u64, bits: u64) {
        self.estimator.see(train);
        let begun = train.packets.first().map_or(now, |packet| packet.left);
        let nothing = || Estimate {
            first,
            ..Estimate::nothing(self.method, self.session, begun)
        };
        let cost = self.cost.get_or_insert_with(nothing);
        cost.packets += train.packets.len() as u64;
        cost.bits += bits;
        cost.lost += train.lost() as u64;
        cost.trains += 1;
        cost.ended = train.packets.last().map_or(begun, |packet| packet.left);
    }

    /// It is over; `None` where no train was seen.
    pub fn end(&mut self, now: Time) -> Option<Estimate> {
        let answer = self.estimator.answer();
        let cost = self.cost.take()?;
        Some(Estimate {
            answer,
            known: now,
            ..cost
        })
    }
}
