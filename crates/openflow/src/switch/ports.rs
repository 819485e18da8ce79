//! Ports of the data plane, and their queues.

use super::queues::{Offered, Queues};
use crate::port::{Name, PortDescription, PortNo, config, features, state};
use crate::version::Version;
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
    pub queues: Queues,
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
        match self.queues.offer(now, frame, queue) {
            Offered::Leaves(frame) => self.transmit(frame, out),
            Offered::Waits => self.serve(now, out),
            Offered::Full(frame) => {
                self.counters.tx_dropped += 1;
                out.drop(frame, "a queue is full");
            }
        }
    }

    #[inline]
    fn transmit(&mut self, frame: Frame, out: &mut Out) {
        self.counters.tx_packets += 1;
        self.counters.tx_bytes += frame.len() as u64;
        out.send(self.node_port, frame);
    }

    /// The link has gone, and with it what waits.
    pub fn lose_link(&mut self, out: &mut Out) {
        self.link = false;
        for frame in self.queues.drain() {
            self.counters.tx_dropped += 1;
            out.drop(frame, "the port is down or does not forward");
        }
    }

    /// Sends what may leave by now.
    pub fn serve(&mut self, now: Time, out: &mut Out) {
        while let Some(frame) = self.queues.next(now) {
            self.transmit(frame, out);
        }
        while let Some(frame) = self.queues.lost() {
            self.counters.tx_dropped += 1;
            out.drop(frame, "dropped by the port's queue discipline");
        }
    }

    /// When a frame that waits may leave.
    pub fn next_wake(&self) -> Option<Time> {
        self.queues.next_wake()
    }
}
