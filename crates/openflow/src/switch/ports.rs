//! Ports of the data plane, and their queues.

use crate::port::{Name, PortDescription, PortNo, config, features, state};
use crate::version::Version;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use node::{Frame, Out, Port, Rate, Time};
use packet::ethernet::Mac;

/// What a port has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub rx_dropped: u64,
    pub rx_errors: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    pub tx_dropped: u64,
}

/// A queue of a port.
#[derive(Debug)]
pub(super) struct Queue {
    pub number: u32,
    /// Guaranteed and highest rate, in tenths of a percent of the port's, as controllers are told; `None` if not set.
    pub min_rate: Option<u16>,
    pub max_rate: Option<u16>,
    /// What it may send.
    limit: Option<Rate>,
    waiting: VecDeque<Frame>,
    /// When the next may leave, and the part of a picosecond that is missing to it.
    free_at: Time,
    carry: u64,
    pub packets: u64,
    pub bytes: u64,
    pub errors: u64,
    pub created: Time,
}

/// Frames that wait in a queue at most.
const LONGEST: usize = 1024;

impl Queue {
    pub fn new(number: u32, min_rate: Option<u16>, max_rate: Option<u16>, port: Rate) -> Queue {
        let share = |tenths: u16| port.bits_per_second() / 1_000 * u64::from(tenths);
        Queue {
            number,
            min_rate,
            max_rate,
            limit: max_rate.and_then(|tenths| Rate::from_bits_per_second(share(tenths))),
            waiting: VecDeque::new(),
            free_at: Time::ZERO,
            carry: 0,
            packets: 0,
            bytes: 0,
            errors: 0,
            created: Time::ZERO,
        }
    }

    /// Takes the next frame's time; true if it may leave now.
    fn leaves(&mut self, now: Time, length: usize) -> bool {
        let Some(limit) = self.limit else {
            return true;
        };
        if self.free_at > now {
            return false;
        }
        // As on a wire: with preamble, check sequence and gap.
        let bits = (length.max(60) as u64 + 24) * 8;
        let (time, carry) = limit.time_of(bits, self.carry);
        (self.free_at, self.carry) = (self.free_at.max(now) + time, carry);
        true
    }

    fn count(&mut self, length: usize) {
        self.packets += 1;
        self.bytes += length as u64;
    }
}

/// A port.
#[derive(Debug)]
pub(super) struct DataPort {
    pub number: u32,
    pub node_port: Port,
    pub name: Name<16>,
    pub hardware: Mac,
    /// Bits of [`config`].
    pub config: u32,
    pub link: bool,
    pub advertised: u32,
    pub rate: Rate,
    pub counters: Counters,
    pub created: Time,
    pub queues: Vec<Queue>,
}

impl DataPort {
    /// Whether there is a link, and the controller has not taken the port down.
    pub fn lives(&self) -> bool {
        self.link && self.config & config::PORT_DOWN == 0
    }

    pub fn description(&self, version: Version) -> PortDescription {
        let speed = match self.rate.bits_per_second() {
            0..=10_000_000 => features::MB10_FD,
            10_000_001..=100_000_000 => features::MB100_FD,
            100_000_001..=1_000_000_000 => features::GB1_FD,
            _ => features::GB10_FD,
        };
        let mut bits = 0;
        if !self.link {
            bits |= state::LINK_DOWN;
        }
        if self.lives() && version == Version::V13 {
            bits |= state::LIVE;
        }
        let kilobits = (self.rate.bits_per_second() / 1_000).min(u64::from(u32::MAX)) as u32;
        PortDescription {
            number: PortNo(self.number),
            hardware: self.hardware,
            name: self.name,
            config: self.config,
            state: bits,
            current: speed | features::COPPER,
            advertised: self.advertised,
            supported: speed | features::COPPER,
            peer: 0,
            current_speed: kilobits,
            max_speed: kilobits,
        }
    }

    /// Whether frames may leave by it.
    #[inline]
    pub fn sends(&self) -> bool {
        self.config & (config::PORT_DOWN | config::NO_FWD) == 0 && self.link
    }

    /// Sends a frame by a queue; of one that there is not, by none.
    #[inline]
    pub fn send(&mut self, now: Time, frame: Frame, queue: u32, out: &mut Out) {
        if !self.sends() {
            self.counters.tx_dropped += 1;
            return out.drop(frame, "the port is down or does not forward");
        }
        let length = frame.len();
        if !self.queues.is_empty()
            && let Some(queue) = self.queues.iter_mut().find(|q| q.number == queue)
        {
            if !queue.waiting.is_empty() || !queue.leaves(now, length) {
                if queue.waiting.len() >= LONGEST {
                    queue.errors += 1;
                    self.counters.tx_dropped += 1;
                    return out.drop(frame, "a queue is full");
                }
                return queue.waiting.push_back(frame);
            }
            queue.count(length);
        }
        self.counters.tx_packets += 1;
        self.counters.tx_bytes += length as u64;
        out.send(self.node_port, frame);
    }

    /// The link has gone, and with it what waits.
    pub fn lose_link(&mut self, out: &mut Out) {
        self.link = false;
        for frame in self.queues.iter_mut().flat_map(|q| q.waiting.drain(..)) {
            self.counters.tx_dropped += 1;
            out.drop(frame, "the port is down or does not forward");
        }
    }

    /// Sends what may leave by now.
    pub fn serve(&mut self, now: Time, out: &mut Out) {
        for queue in &mut self.queues {
            while let Some(length) = queue.waiting.front().map(|frame| frame.len()) {
                if !queue.leaves(now, length) {
                    break;
                }
                let Some(frame) = queue.waiting.pop_front() else {
                    break;
                };
                queue.count(length);
                self.counters.tx_packets += 1;
                self.counters.tx_bytes += length as u64;
                out.send(self.node_port, frame);
            }
        }
    }

    /// When a frame that waits may leave.
    pub fn next_wake(&self) -> Option<Time> {
        let waiting = self.queues.iter().filter(|queue| !queue.waiting.is_empty());
        waiting.map(|queue| queue.free_at).min()
    }
}
