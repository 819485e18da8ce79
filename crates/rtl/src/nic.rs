//! A port in Verilog with its cable.

use crate::rings::{Down, Rings};
use cosim::port::{Leaving, Port as Hardware, TICK};
use live::clock;
use live::port::Transmit;
use node::{Histogram, Time};
use packet::{Packet, Stamp, record};
use std::collections::VecDeque;
use std::sync::Arc;

/// A tick in nanoseconds.
pub const TICK_NS: u64 = TICK / 1_000;
/// The shortest frame on a cable, bytes without FCS.
const SHORTEST: usize = 60;

/// Where a cable leads.
pub enum Cable {
    /// To a port of the machine.
    Outside(Box<dyn Transmit>),
    /// To another port of the card: which cable, and which of its ends.
    Inside(String, u8),
}

/// What happened at the ends of cables.
#[derive(Debug, Default)]
pub struct Traffic {
    /// From when a frame was there to when its first bit was at the port, ns.
    pub entering: Histogram,
    /// From when a frame's first bit was on the cable to when the machine's port had it, ns.
    pub leaving: Histogram,
    /// Frames that the machine's port did not take, that were too long, or for which nobody was at the other end.
    pub lost: u64,
    /// Cycles that were simulated.
    pub cycles: u64,
    /// Characters that left otherwise than they were seen ahead.
    pub diverged: u64,
}

impl Traffic {
    /// Adds those of another port.
    pub fn add(&mut self, other: &Traffic) {
        self.entering.merge(&other.entering);
        self.leaving.merge(&other.leaving);
        self.lost += other.lost;
        self.cycles += other.cycles;
        self.diverged += other.diverged;
    }
}

/// A port of the card.
pub struct Nic {
    hardware: Hardware,
    pub cable: Cable,
    rings: Arc<Rings>,
    traffic: Traffic,
    /// Of the frames that the hardware has, in order, whether their departures are told.
    told: VecDeque<bool>,
    /// What has left and is not on its cable yet.
    left: Vec<Leaving>,
    down: VecDeque<Down>,
    coming: VecDeque<(u64, Vec<u8>)>,
    record: Vec<u8>,
}

impl Nic {
    pub fn new(hardware: Hardware, cable: Cable, rings: Arc<Rings>) -> Nic {
        Nic {
            hardware,
            cable,
            rings,
            traffic: Traffic::default(),
            told: VecDeque::new(),
            left: Vec::new(),
            down: VecDeque::new(),
            coming: VecDeque::new(),
            record: Vec::new(),
        }
    }

    /// The next edge at which anything can happen.
    pub fn next(&self) -> Option<u64> {
        self.hardware.next()
    }

    /// Whether nobody has it and nothing is under way in it.
    pub fn is_over(&self) -> bool {
        self.rings.is_closed() && self.told.is_empty() && self.left.is_empty()
    }

    /// What happened so far.
    pub fn traffic(&mut self) -> &Traffic {
        self.traffic.cycles = self.hardware.cycles();
        self.traffic.diverged = self.hardware.diverged();
        &self.traffic
    }

    /// Lets edges come until so many have been.
    pub fn advance(&mut self, edges: u64) {
        let (rings, left) = (&self.rings, &mut self.left);
        self.hardware.advance(
            edges,
            |leaving| left.push(leaving),
            |bytes| {
                let record::Step::Packet { packet, .. } = record::next(bytes, true) else {
                    unreachable!("the port gives whole records");
                };
                if let Some(Stamp::Word(ticks)) = packet.stamp {
                    rings.up(ticks * TICK_NS, packet.bytes);
                }
            },
        );
    }

    /// Takes what has left: each with its first bit's tick, and with FCS.
    pub fn take_left(&mut self) -> Vec<Leaving> {
        for leaving in &self.left {
            // The hardware keeps the order of its records.
            let told = self.told.pop_front().unwrap_or(false);
            self.rings.left(leaving.tick * TICK_NS, told);
        }
        std::mem::take(&mut self.left)
    }

    /// A frame of the other end of a cable inside the card.
    pub fn comes(&mut self, leaving: &Leaving) {
        if !self.hardware.comes(leaving.tick, &leaving.bytes) {
            self.traffic.lost += 1;
        }
    }

    /// A frame that has left goes to the machine's port, or to nobody.
    pub fn out(&mut self, leaving: Leaving) {
        let bytes = leaving.bytes.split_last_chunk::<4>();
        let sound = bytes.filter(|_| phy::crc::is_valid(&leaving.bytes));
        let taken = match (sound, &mut self.cable) {
            (Some((bytes, _)), Cable::Outside(tx)) => matches!(tx.send(&[bytes]), Ok(1..)),
            _ => false,
        };
        match taken {
            true => {
                let at = leaving.tick * TICK_NS;
                self.traffic
                    .leaving
                    .record(clock::now_ns().saturating_sub(at));
            }
            false => self.traffic.lost += 1,
        }
    }

    /// Gives the hardware what the program and the cable have for it.
    pub fn take_in(&mut self) {
        self.rings.take(&mut self.down, &mut self.coming);
        for Down {
            departure,
            bytes,
            told,
        } in self.down.drain(..)
        {
            let packet = Packet {
                stamp: Some(Stamp::Word(departure.to_word())),
                hash: None,
                bytes: &bytes,
            };
            self.record.clear();
            record::encode(&packet, &mut self.record).expect("a length that was checked");
            self.hardware.send(&self.record);
            self.told.push_back(told);
        }
        for (at_ns, mut bytes) in self.coming.drain(..) {
            if bytes.len() > record::LONGEST_SHORT {
                self.traffic.lost += 1;
                continue;
            }
            // What the other side's card would have done.
            bytes.resize(bytes.len().max(SHORTEST), 0);
            bytes.extend(phy::crc::fcs(&bytes).to_le_bytes());
            let tick = self.hardware.free_at().max(at_ns.div_ceil(TICK_NS));
            let late = tick.saturating_mul(TICK_NS).saturating_sub(at_ns);
            self.traffic.entering.record(late);
            if !self.hardware.comes(tick, &bytes) {
                self.traffic.lost += 1;
            }
        }
    }

    /// What lateness means for people.
    pub fn spread(histogram: &Histogram) -> node::outcome::Spread {
        histogram.spread(Time::from_ns(1))
    }
}
