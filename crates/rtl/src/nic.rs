//! A port in Verilog with its cable.

use crate::rings::{Down, Rings};
use ::capture::clock;
use cosim::Speed;
use cosim::port::{Leaving, PHY, Port as Hardware};
use live::port::Transmit;
use node::{Histogram, Time};
use packet::{Packet, Stamp, record};
use std::collections::VecDeque;
use std::sync::Arc;

/// The card's time has steps that ticks and halves of ticks of both speeds are whole numbers of, picoseconds.
pub const STEP: u64 = 1_600;
/// Minimum frame length on a cable without FCS, bytes.
const MIN_FRAME_LEN: usize = 60;

/// Where a cable leads.
pub enum Cable {
    /// To a port of the machine.
    Outside(Box<dyn Transmit>),
    /// To another port of the card: which cable, and which of its ends.
    Inside(String, u8),
}

/// Events at the ends of cables.
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

/// Card's time in nanoseconds, rounded up: so a tick's first nanosecond is found in that tick.
pub fn ns_of(steps: u64) -> u64 {
    (u128::from(steps) * u128::from(STEP)).div_ceil(1_000) as u64
}

/// The card's time at so many nanoseconds.
pub fn steps_of(ns: u64) -> u64 {
    (u128::from(ns) * 1_000 / u128::from(STEP)) as u64
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

    /// How fast it is.
    pub fn speed(&self) -> Speed {
        self.hardware.speed()
    }

    /// Steps in a tick.
    fn tick(&self) -> u64 {
        self.speed().tick() / STEP
    }

    /// Steps from one place where a frame may begin to the next.
    fn slot(&self) -> u64 {
        self.speed().slot() / STEP
    }

    /// When the next edge comes at which anything can happen, in the card's time.
    pub fn next(&self) -> Option<u64> {
        Some(self.hardware.next()?.saturating_mul(self.tick()))
    }

    /// How long a frame on its way to this port may be told behind the edge that shows that it leaves the other one.
    pub fn slack(&self) -> u64 {
        (PHY - 1) * self.tick()
    }

    /// Whether nobody has it and nothing is under way in it.
    pub fn is_over(&self) -> bool {
        self.rings.is_over() && self.told.is_empty() && self.left.is_empty()
    }

    /// What happened so far.
    pub fn traffic(&mut self) -> &Traffic {
        self.traffic.cycles = self.hardware.cycles();
        self.traffic.diverged = self.hardware.diverged();
        &self.traffic
    }

    /// Lets edges come until this time.
    pub fn advance(&mut self, now: u64) {
        let tick = self.tick();
        let (rings, left) = (&self.rings, &mut self.left);
        self.hardware.advance(
            now / tick,
            |leaving| left.push(leaving),
            |bytes| {
                let record::Step::Packet { packet, .. } = record::next(bytes, true) else {
                    unreachable!("the port gives whole records");
                };
                if let Some(Stamp::Word(ticks)) = packet.stamp {
                    rings.up(ns_of(ticks * tick), packet.bytes);
                }
            },
        );
    }

    /// Takes what has left: each with the place of its first bit, and with FCS.
    pub fn take_left(&mut self) -> Vec<Leaving> {
        std::mem::take(&mut self.left)
    }

    /// Tells the program that a frame has left which was asked for in that tick. It is on its cable then: who waits for the last one may end.
    pub fn tell(&mut self, slot: u64) {
        // The hardware keeps the order of its records.
        let told = self.told.pop_front().unwrap_or(false);
        // What was asked for is a tick; within it a frame may begin later.
        let tick = slot / self.speed().slots();
        self.rings.left(ns_of(tick * self.tick()), told);
    }

    /// Whether frames of its cable are on their way to the program.
    pub fn is_receiving(&self) -> bool {
        self.hardware.is_receiving()
    }

    /// Ends the cable for who sends nothing more, when all has left, and `arrived` says that it is at the other end.
    pub fn finish(&mut self, arrived: bool) {
        if arrived && self.told.is_empty() && self.left.is_empty() && self.rings.is_finishing() {
            self.rings.tell_finished(match &mut self.cable {
                Cable::Outside(tx) => tx.finish(),
                Cable::Inside(..) => Ok(()),
            });
        }
    }

    /// A frame of the other end of a cable inside the card.
    pub fn comes(&mut self, leaving: &Leaving) {
        if !self.hardware.comes(leaving.slot, &leaving.bytes) {
            self.traffic.lost += 1;
        }
    }

    /// A frame that has left goes to the machine's port, or to nobody.
    pub fn out(&mut self, leaving: &Leaving) {
        let bytes = leaving.bytes.split_last_chunk::<4>();
        let sound = bytes.filter(|_| phy::crc::is_valid(&leaving.bytes));
        let taken = match (sound, &mut self.cable) {
            (Some((bytes, _)), Cable::Outside(tx)) => matches!(tx.send(&[bytes]), Ok(1..)),
            _ => false,
        };
        match taken {
            true => {
                let at = ns_of(leaving.slot * self.slot());
                self.traffic
                    .leaving
                    .record(clock::now_ns().saturating_sub(at));
            }
            false => self.traffic.lost += 1,
        }
    }

    /// Gives the hardware what the program and the cable have for it.
    pub fn take_in(&mut self) {
        let ended = self.rings.take(&mut self.down, &mut self.coming);
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
        let place = self.slot();
        for (at_ns, mut bytes) in self.coming.drain(..) {
            if bytes.len() > record::MAX_SHORT_FRAME_LEN {
                self.traffic.lost += 1;
                continue;
            }
            // What the other side's card would have done.
            bytes.resize(bytes.len().max(MIN_FRAME_LEN), 0);
            bytes.extend(phy::crc::fcs(&bytes).to_le_bytes());
            let came = steps_of(at_ns).div_ceil(place);
            let slot = self.hardware.free_at().max(came);
            let late = ns_of(slot * place).saturating_sub(at_ns);
            self.traffic.entering.record(late);
            if !self.hardware.comes(slot, &bytes) {
                self.traffic.lost += 1;
            }
        }
        if ended && !self.hardware.is_receiving() {
            self.rings.settle();
        }
    }

    /// What lateness means for people.
    pub fn spread(histogram: &Histogram) -> node::outcome::Spread {
        histogram.spread(Time::from_ns(1))
    }
}
