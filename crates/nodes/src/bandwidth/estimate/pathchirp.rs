//! pathChirp: excursions (see `excursion.rs`) of the queuing delay within a chirp, whose rates grow from packet to packet by a factor.
//!
//! Ribeiro, Riedi, Baraniuk, Navratil, Cottrell, PAM 2003. With the paper's spread of 1.2 an available bandwidth above 4 Gb/s leaves fewer than L packets below a line rate of
//! 10 Gb/s, and no excursion that counts. So the spread is 1.02 here unless the trains say otherwise, from a tenth of the capacity up to it.

use super::{Answer, Estimator, Observed, Packet, excursion};
use alloc::vec::Vec;
use node::Rate;

/// The spread factor: of the rates of neighbouring packets. The paper's is 1.2.
pub const SPREAD: f64 = 1.02;

#[derive(Clone, Debug)]
pub struct PathChirp {
    capacity: Rate,
    packets: Vec<Packet>,
}

impl PathChirp {
    /// Of a path on which no link is faster than this.
    pub fn new(capacity: Rate) -> PathChirp {
        PathChirp {
            capacity,
            packets: Vec::new(),
        }
    }
}

impl Estimator for PathChirp {
    fn figure(&self) -> &'static str {
        "queuing delay [ns]"
    }

    fn see(&mut self, train: &Observed<'_>) {
        self.packets.extend(train.packets);
    }

    fn answer(&mut self) -> Answer {
        let packets = core::mem::take(&mut self.packets);
        excursion::read(&packets, self.capacity)
    }
}
