//! A port that keeps others' gaps: frames that pass leave a constant time behind their arrival, and what is the middlebox's own goes
//! where there is room between them.

use crate::train::wire_bits;
use alloc::collections::VecDeque;
use node::{Frame, Out, Port, Rate, Time};

/// Bits of a column: on 10GBASE-R frames start on multiples of four bytes (IEEE 802.3 clause 46).
const COLUMN: u64 = 32;

/// What leaves by a port.
#[derive(Debug)]
pub struct Pace {
    port: Port,
    rate: Rate,
    latency: Time,
    /// So far ahead all frames that pass are known: the latency less the longest frame, which may be coming in.
    sight: Time,
    passing: VecDeque<(Time, Frame)>,
    /// When what was given to the world so far is over.
    free: Time,
}

impl Pace {
    /// `None` if the longest frame takes longer than half of the latency: one of the middlebox's own, which may be as long, would never be within sight.
    pub fn new(port: Port, rate: Rate, latency: Time, longest: usize) -> Option<Pace> {
        let longest = duration(rate, longest);
        let sight = latency - longest;
        (sight >= longest).then_some(Pace {
            port,
            rate,
            latency,
            sight,
            passing: VecDeque::new(),
            free: Time::ZERO,
        })
    }

    /// A frame that passes.
    pub fn pass(&mut self, frame: Frame) {
        self.passing
            .push_back((frame.arrived() + self.latency, frame));
    }

    /// Gives the world all that passes and is certain, up to the place of a frame of the middlebox's own of `len` bytes that is to leave at
    /// `planned` at the earliest. Says when it leaves; `None`: that is not certain yet, or there is none.
    pub fn place(&mut self, now: Time, own: Option<(Time, usize)>, out: &mut Out) -> Option<Time> {
        loop {
            let passing = self.passing.front().map(|(at, _)| *at);
            let place = own.map(|(planned, len)| self.at(now, planned, len));
            match (place, passing) {
                (Some((start, end)), passing) if passing.is_none_or(|at| end <= at) => {
                    if end > now + self.sight {
                        return None;
                    }
                    self.free = end;
                    return Some(start);
                }
                (_, None) => return None,
                (_, Some(_)) => {
                    let (at, frame) = self.passing.pop_front()?;
                    self.free = at + duration(self.rate, frame.len());
                    out.send_at(self.port, at, frame);
                }
            }
        }
    }

    /// When a place for a frame of its own may be certain.
    pub fn wake_for(&self, now: Time, (planned, len): (Time, usize)) -> Time {
        let (_, end) = self.at(now, planned, len);
        end - self.sight
    }

    /// From when to when it would take the port, if nothing passed.
    fn at(&self, now: Time, planned: Time, len: usize) -> (Time, Time) {
        let (column, _) = self.rate.time_of(COLUMN, 0);
        let start = planned.max(self.free).max(now);
        let columns = start.as_ps().div_ceil(column.as_ps().max(1));
        let start = Time::from_ps(columns.saturating_mul(column.as_ps().max(1)));
        (start, start + duration(self.rate, len))
    }
}

/// Of a frame without FCS on the wire, in whole columns.
fn duration(rate: Rate, len: usize) -> Time {
    rate.time_of(wire_bits(len).next_multiple_of(COLUMN), 0).0
}
