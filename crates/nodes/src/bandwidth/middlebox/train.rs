//! Packets that are held, made into trains, and known again when the far end tells of them.

use super::{Config, frames};
use crate::bandwidth::estimate::{Observed, Packet};
use crate::bandwidth::message::Message;
use crate::train::{Begins, Trains, Walk, wire_bits};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use node::random::Random;
use node::{Frame, Histogram, Out, Rate, Time, link};

/// A train that has begun to leave.
pub struct Train {
    rate: Rate,
    /// The number of its first packet.
    pub first: u64,
    packets: Vec<Packet>,
    prints: Vec<u32>,
    /// Bits on the wire of those that are no application's.
    pub dummy_bits: u64,
    missing: usize,
    /// From when on what was not told of is lost; `None` while it leaves.
    deadline: Option<Time>,
    /// Whether it is the last of its sample.
    pub is_last: bool,
}

impl Train {
    pub fn observed(&self) -> Observed<'_> {
        Observed {
            rate: self.rate,
            packets: &self.packets,
        }
    }
}

/// A packet that is held.
struct Held {
    frame: Frame,
    came: Time,
    is_dummy: bool,
}

/// What makes trains.
pub struct Maker {
    trains: Trains,
    gaps: Vec<u32>,
    rate: Rate,
    timeout: Time,
    latency: Time,
    listen: Time,
    room: usize,
    dummy: (u16, u16, u16),
    walk: Walk,
    random: Random,
    held: VecDeque<Held>,
    /// Packets of the train that are still to leave, and when the next one is to.
    leaving: usize,
    planned: Time,
    /// Before this no train begins, and whether it begins a sample.
    earliest: Time,
    begins_sample: bool,
    /// Whether packets that no train took leave one behind the other, until the next sample.
    releasing: bool,
    /// The number of the next packet.
    number: u64,
    /// Trains of which not all was told, the oldest first.
    sent: VecDeque<Train>,
    probes: u64,
    dummies: u64,
    made: u64,
    short: u64,
    displaced: u64,
    released: u64,
    added: Histogram,
    added_sum: u64,
}

impl Maker {
    pub fn new(config: &Config) -> Option<Maker> {
        Some(Maker {
            trains: config.trains,
            gaps: config.gaps.clone(),
            rate: config.rate,
            timeout: config.timeout,
            latency: config.latency,
            listen: config.listen,
            room: config.room,
            dummy: (config.session, config.port, config.dummy_size),
            walk: Walk::new(config.trains, config.seed)?,
            random: Random::new(config.seed),
            held: VecDeque::new(),
            leaving: 0,
            planned: Time::ZERO,
            earliest: Time::ZERO,
            begins_sample: true,
            releasing: false,
            number: 0,
            sent: VecDeque::new(),
            probes: 0,
            dummies: 0,
            made: 0,
            short: 0,
            displaced: 0,
            released: 0,
            added: Histogram::with_precision(5),
            added_sum: 0,
        })
    }

    /// From the next train on.
    pub fn set_gaps(&mut self, gaps: Vec<u32>) {
        self.gaps = gaps;
    }

    fn packets(&self) -> usize {
        match self.gaps.len() {
            0 => self.trains.packets as usize,
            gaps => gaps + 1,
        }
    }

    /// Whether a packet of its flows is for a train. Between two samples none is, and those that are held come first.
    pub fn wants(&self, now: Time) -> bool {
        !self.held.is_empty() || self.leaving > 0 || !self.begins_sample || now >= self.earliest
    }

    /// Holds a packet; gives it back when there is no room.
    pub fn hold(&mut self, now: Time, frame: Frame) -> Result<(), Frame> {
        if self.held.len() >= self.room {
            return Err(frame);
        }
        let came = frame.arrived().min(now);
        self.held.push_back(Held {
            frame,
            came,
            is_dummy: false,
        });
        Ok(())
    }

    /// When the next packet is to leave, as far as that is decided, and its length.
    pub fn planned(&self) -> Option<(Time, usize)> {
        let leaves = self.leaving > 0 || self.releasing;
        let held = self.held.front().filter(|_| leaves)?;
        Some((self.planned, held.frame.len()))
    }

    /// The same; a train begins if one may.
    pub fn next(&mut self, now: Time, out: &mut Out) -> Option<(Time, usize)> {
        // Who held them for the next sample would stop the application for D.
        let between = self.leaving == 0 && self.begins_sample && now < self.earliest;
        self.releasing = between && !self.held.is_empty();
        if self.leaving == 0 && now >= self.earliest {
            let wanted = self.packets();
            let oldest = self.held.front()?.came;
            if self.held.len() >= wanted {
                self.leaving = wanted;
            } else if now >= oldest + self.timeout {
                self.make_up(wanted, now, out);
                self.leaving = wanted.min(self.held.len());
                self.short += u64::from(self.leaving < wanted);
            }
            self.planned = now;
        }
        self.planned()
    }

    /// Makes dummies that go where the oldest packet does.
    fn make_up(&mut self, wanted: usize, now: Time, out: &mut Out) {
        let (session, port, size) = self.dummy;
        for at in self.held.len()..wanted {
            let Some(like) = self.held.front() else {
                return;
            };
            let message = Message {
                session,
                sequence: (self.number + at as u64) as u32,
                came: None,
            };
            let mut bytes = Vec::new();
            if frames::dummy(&like.frame, message, port, size, &mut bytes).is_none() {
                return;
            }
            let mut frame = out.frame();
            frame.extend(&bytes);
            self.dummies += 1;
            self.held.push_back(Held {
                frame,
                came: now,
                is_dummy: true,
            });
        }
    }

    /// The print of a packet of its flows that is in no train, and the number of the last one that was: the application's own packets are no traffic of others.
    pub fn beside(&self, frame: &Frame) -> Option<(u32, u64)> {
        frames::print(frame).zip(self.number.checked_sub(1))
    }

    /// The next packet leaves: it, and its print and its number: that of the last one in a train, if no train took it.
    pub fn leave(&mut self, at: Time) -> Option<(Frame, Option<(u32, u64)>)> {
        let held = self.held.pop_front()?;
        if self.releasing {
            self.released += 1;
            self.releasing = !self.held.is_empty();
            let beside = self.beside(&held.frame);
            return Some((held.frame, beside));
        }
        let bits = wire_bits(held.frame.len());
        // What is not to be known again is lost.
        let print = frames::print(&held.frame).unwrap_or(0);
        self.displaced += u64::from(at > self.planned + self.rate.time_of(32, 0).0);
        if !held.is_dummy {
            self.probes += 1;
            let added = (at - (held.came + self.latency)).as_ns();
            self.added.record(added);
            self.added_sum += added;
        }
        if self
            .sent
            .back()
            .is_none_or(|train| train.deadline.is_some())
        {
            self.made += 1;
            self.sent.push_back(Train {
                rate: self.walk.rate(),
                first: self.number,
                packets: Vec::with_capacity(self.leaving),
                prints: Vec::with_capacity(self.leaving),
                dummy_bits: 0,
                missing: 0,
                deadline: None,
                is_last: false,
            });
        }
        self.leaving -= 1;
        let (next, begins) = self.step(bits, held.frame.len());
        let number = self.number;
        self.number += 1;
        if let Some(train) = self.sent.back_mut() {
            let came = None;
            train.packets.push(Packet {
                left: at,
                came,
                bits,
            });
            train.prints.push(print);
            train.dummy_bits += if held.is_dummy { bits } else { 0 };
            train.missing += 1;
            if self.leaving == 0 {
                train.deadline = Some(at + self.listen);
                train.is_last = begins == Begins::Sample;
            }
        }
        match self.leaving {
            0 => {
                // Of what was displaced, the gap behind it is no less.
                self.earliest = next + (at - self.planned);
                self.begins_sample = begins == Begins::Sample;
            }
            _ => self.planned = next,
        }
        Some((held.frame, Some((print, number))))
    }

    /// When the packet behind the one that leaves is planned, and what it begins.
    fn step(&mut self, bits: u64, len: usize) -> (Time, Begins) {
        if self.gaps.is_empty() {
            let mut step = self.walk.next(self.planned, bits);
            // A train that is short is over, and its sweep goes on.
            while self.leaving == 0 && step.1 == Begins::Packet {
                step = self.walk.next(self.planned, bits);
            }
            return step;
        }
        if self.leaving == 0 {
            // Each train is a sample.
            let distance = self.trains.distance;
            let time = distance.time(self.rate, bits, &mut self.random);
            return (self.planned + time, Begins::Sample);
        }
        let at = self.gaps.len().saturating_sub(self.leaving);
        let idles = self.gaps.get(at).copied().unwrap_or(link::GAP as u32);
        let bytes = wire_bits(len) / 8 - link::GAP as u64 + u64::from(idles);
        (
            self.planned + self.rate.time_of(8 * bytes, 0).0,
            Begins::Packet,
        )
    }

    /// The far end tells that a packet came; false if none is waited for that is known by this.
    pub fn came(&mut self, message: Message) -> bool {
        for train in &mut self.sent {
            let waiting = train.prints.iter().zip(&mut train.packets);
            let found = waiting
                .filter(|(print, packet)| **print == message.sequence && packet.came.is_none())
                .map(|(_, packet)| packet)
                .next();
            if let Some(packet) = found {
                packet.came = message.came;
                train.missing -= 1;
                return true;
            }
        }
        false
    }

    /// The oldest train, if nothing more is waited for.
    pub fn judge(&mut self, now: Time) -> Option<Train> {
        self.sent.pop_front_if(|train| {
            train
                .deadline
                .is_some_and(|deadline| train.missing == 0 || now >= deadline)
        })
    }

    /// When it wants to be woken beside what is planned.
    pub fn next_wake(&self) -> Option<Time> {
        let judged = self.sent.front().and_then(|train| train.deadline);
        let begins = self.held.front();
        let begins = begins.filter(|_| self.leaving == 0 && !self.releasing);
        let begins = begins.map(|held| match self.held.len() >= self.packets() {
            true => self.earliest,
            false => self.earliest.max(held.came + self.timeout),
        });
        [judged, begins].into_iter().flatten().min()
    }

    /// Its counters.
    pub fn count(&self, count: &mut impl FnMut(&'static str, u64)) {
        let mean = self.added_sum / self.probes.max(1);
        for (name, value) in [
            ("probes", self.probes),
            ("dummies", self.dummies),
            ("trains", self.made),
            ("short", self.short),
            ("displaced", self.displaced),
            ("released", self.released),
            ("held", self.held.len() as u64),
            ("added_mean_ns", mean),
            ("added_most_ns", self.added.max()),
        ] {
            count(name, value);
        }
    }
}
