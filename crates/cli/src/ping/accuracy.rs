//! Accuracy of a round trip's stamps.

use live::port::Stamps;
use live::port::pace::Watch;
use node::Time;
use packet::word::Tick;

/// Accuracy of the stamps at both ends of a round trip.
pub struct Accuracy {
    tick: Tick,
    pub arrival: Stamps,
    pub marks: u64,
    pub stamped: u64,
    longest_call: Time,
}

impl Accuracy {
    pub fn new(tick: Tick, arrival: Stamps, watch: &Watch) -> Accuracy {
        Accuracy {
            tick,
            arrival,
            marks: watch.marks(),
            stamped: watch.stamped_marks(),
            longest_call: Time::from_ns(watch.longest_mark_ns()),
        }
    }

    /// Source of the departures' stamps: the worst that there was.
    pub fn departure(&self) -> &'static str {
        match self.stamped == self.marks {
            true => Stamps::Kernel.name(),
            false => Stamps::Software.name(),
        }
    }

    /// How far a round trip may be from that between the stamps' places, ns; `None` where nothing
    /// bounds it. Both stamps are cut to ticks, which leaves less than one; a departure without the
    /// kernel's stamp was somewhere within the call.
    pub fn bound_ns(&self) -> Option<f64> {
        let tick = f64::from(self.tick.as_ps()) / 1e3;
        let call = self.longest_call.as_ps() as f64 / 1e3;
        match (self.departure() == Stamps::Kernel.name(), self.arrival) {
            (_, Stamps::Software) => None,
            (true, _) => Some(tick),
            (false, _) => Some(tick + call),
        }
    }

    pub fn text(&self) -> String {
        let departure = match self.stamped {
            0 => format!(
                "the call's time, good to the call's length, at most {}",
                self.longest_call
            ),
            stamped if stamped == self.marks => {
                "the kernel's stamp of handing the probe to the driver".into()
            }
            stamped => format!(
                "the kernel's stamp for {stamped} of {}, else the call's time, good to {}",
                self.marks, self.longest_call
            ),
        };
        let arrival = self.arrival;
        format!(
            "departure: {departure}\narrival: {arrival} stamps\n{}",
            self.bound()
        )
    }

    /// How far a round trip may be off, in a line.
    pub fn bound(&self) -> String {
        let mut text = match self.bound_ns() {
            Some(bound) => format!(
                "error: at most {} between the stamps",
                Time::from_ps((bound * 1e3) as u64)
            ),
            None => {
                "error: not bounded, since the arrival was stamped only when the program was woken"
                    .into()
            }
        };
        if matches!(self.arrival, Stamps::Kernel) {
            text += "; driver, card and interrupt lie within the round trip";
        }
        text
    }
}
