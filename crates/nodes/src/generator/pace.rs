//! The time from one departure to the next.

use super::Config;
use crate::ConfigError;
use node::{Rate, Time, link};

/// How departures follow each other, and what is left of a picosecond.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    kind: Kind,
    carry: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    Gap(Time),
    /// Bits a second on the wire.
    Bits(Rate),
    /// Frames a second: a rate whose unit is the frame.
    Frames(Rate),
}

impl Pace {
    /// The one that is asked for, if any is.
    pub(super) fn new(config: &Config) -> Result<Option<Pace>, ConfigError> {
        let kind = match (config.gap, config.rate, config.packets_per_second) {
            (None, None, None) => return Ok(None),
            (Some(Time::ZERO), None, None) => {
                return Err(ConfigError::new(
                    "gap",
                    "departures are at least 1 ps apart",
                ));
            }
            (Some(gap), None, None) => Kind::Gap(gap),
            (None, Some(rate), None) => Kind::Bits(rate),
            (None, None, Some(frames)) => Kind::Frames(
                Rate::from_bits_per_second(frames)
                    .filter(|_| frames <= 1_000_000_000_000)
                    .ok_or_else(|| {
                        ConfigError::new(
                            "packets_per_second",
                            "1 to 10^12 packets a second can leave",
                        )
                    })?,
            ),
            _ => {
                let reason = "only one of gap, rate and packets_per_second can hold";
                return Err(ConfigError::new("gap", reason));
            }
        };
        Ok(Some(Pace { kind, carry: 0 }))
    }

    pub(super) fn gap(gap: Time) -> Pace {
        Pace {
            kind: Kind::Gap(gap),
            carry: 0,
        }
    }

    /// From the departure of a frame of `len` bytes, without FCS, to the next one.
    pub(super) fn until_next(&mut self, len: usize) -> Time {
        let (time, carry) = match self.kind {
            Kind::Gap(gap) => (gap, 0),
            Kind::Bits(rate) => {
                let bytes = link::PREAMBLE + len.max(link::SHORTEST) + link::FCS + link::GAP;
                rate.time_of(8 * bytes as u64, self.carry)
            }
            Kind::Frames(rate) => rate.time_of(1, self.carry),
        };
        self.carry = carry;
        time
    }
}
