//! When a frame may leave: the way through the switch, which is not what decides where to.
//!
//! A switch's fabric - crossbar or shared memory - has a clock of its own and moves frames in slots of it:
//! a frame waits for the next one, and for a later one when others have taken that. This is where the
//! variance of inter-packet delays comes from that paper 002 figure 4.9 shows for two switches under a
//! stream of exactly equal gaps. The mean stays: frames wait, but none of the waits adds up.

use super::config::{Arbitration, Config, Mode};
use alloc::vec;
use alloc::vec::Vec;
use node::ConfigError;
use node::random::Random;
use node::{Port, Time, When};

/// Maximum frequency error of the clock, parts per million.
const MAX_PPM: f64 = 1_000.0;
/// Maximum number of consecutive slots taken by others; chance alone does not reach it.
const MAX_TAKEN_SLOTS: u32 = 10_000;
const BILLION: i64 = 1_000_000_000;

/// The fabric at work.
#[derive(Debug)]
pub(super) struct Fabric {
    mode: Mode,
    latency: Time,
    /// A slot in the fabric's own time; zero: it has none.
    slot: Time,
    /// How much more than a billion the fabric's clock counts in a billion.
    ppb: i64,
    arbitration: Arbitration,
    ports: u64,
    /// By port of departure, the slot last given: frames to one port keep their order.
    last: Vec<u64>,
    random: Random,
}

impl Fabric {
    pub(super) fn new(config: &Config) -> Result<Fabric, ConfigError> {
        if !(-MAX_PPM..=MAX_PPM).contains(&config.clock_ppm) {
            return Err(ConfigError::new(
                "clock_ppm",
                "a clock is at most 1000 ppm off, either way",
            ));
        }
        if config.slot == Time::ZERO && config.arbitration != Arbitration::Free {
            let reason = "what is arbitrated are slots; give a `slot`, such as \"51.2 ns\"";
            return Err(ConfigError::new("arbitration", reason));
        }
        if let Arbitration::Random(taken) = config.arbitration
            && !(0.0..1.0).contains(&taken)
        {
            let reason = "slots are taken with a probability from 0 to below 1";
            return Err(ConfigError::new("arbitration", reason));
        }
        Ok(Fabric {
            mode: config.mode,
            latency: config.latency,
            slot: config.slot,
            ppb: libm::round(1_000.0 * config.clock_ppm) as i64,
            arbitration: config.arbitration,
            ports: config.ports.into(),
            last: vec![0; config.ports.into()],
            random: Random::new(config.seed),
        })
    }

    /// When a frame leaves that arrived by one port and goes by another; it is handed over at `now`.
    pub(super) fn departure(&mut self, now: Time, arrived: Time, from: Port, to: Port) -> When {
        let ready = match self.mode {
            Mode::StoreAndForward => now + self.latency,
            Mode::CutThrough => now.max(arrived + self.latency),
        };
        if self.slot == Time::ZERO {
            // The port adds the preamble's time of its own.
            return if ready == now {
                When::Now
            } else {
                When::At(ready)
            };
        }
        let mut slot = self.slot_at(ready).max(self.last[to.index()]);
        match self.arbitration {
            Arbitration::Free => {}
            Arbitration::RoundRobin => {
                let own = u64::from(from.0);
                slot += (own + self.ports - slot % self.ports) % self.ports;
            }
            Arbitration::Random(taken) => {
                let mut left = MAX_TAKEN_SLOTS;
                while left > 0 && self.random.chance(taken) {
                    slot += 1;
                    left -= 1;
                }
            }
        }
        self.last[to.index()] = slot;
        When::At(self.begin(slot))
    }

    /// The first slot that begins at `time` or later.
    fn slot_at(&self, time: Time) -> u64 {
        let counted = u128::from(time.as_ps()) * (BILLION + self.ppb) as u128;
        let slot = counted.div_ceil(u128::from(self.slot.as_ps()) * BILLION as u128) as u64;
        // Its beginning is cut to whole picoseconds.
        if self.begin(slot) < time {
            slot + 1
        } else {
            slot
        }
    }

    /// When a slot begins, in the world's time.
    fn begin(&self, slot: u64) -> Time {
        let counted = u128::from(slot) * u128::from(self.slot.as_ps()) * BILLION as u128;
        let ps = counted / (BILLION + self.ppb) as u128;
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}
