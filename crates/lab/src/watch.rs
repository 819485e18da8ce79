//! What is seen at one place: statistics, times for a plot, and what goes into a capture file.

use crate::capture_file::CaptureFile;
use crate::timeline::{Queue, Timeline};
use measure::probe;
use measure::statistics::Statistics;
use node::{Frame, Port, Time};
use nodes::capture::Recorder;
use parking_lot::Mutex;
use std::sync::Arc;

/// Maximum number of arrivals kept for a plot. Of more, every second, fourth, ... is kept.
const MAX_ARRIVALS: usize = 1 << 17;

/// One frame in a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Number of the frame at this place, from 0.
    pub number: u64,
    /// First bit, in picoseconds of the run.
    pub at_ps: u64,
    /// Since the frame before it.
    pub gap_ps: Option<u64>,
    /// Since the departure that its probe tells.
    pub delay_ps: Option<u64>,
}

/// Arrivals of evenly spread frames, in a bounded space.
#[derive(Default)]
pub(crate) struct Arrivals {
    pub list: Vec<Arrival>,
    every: u64,
    count: u64,
    last_ps: Option<u64>,
}

impl Arrivals {
    fn add(&mut self, at_ps: u64, frame: &[u8]) {
        let gap_ps = self
            .last_ps
            .replace(at_ps)
            .map(|last| at_ps.saturating_sub(last));
        let number = self.count;
        self.count += 1;
        self.every = self.every.max(1);
        if !number.is_multiple_of(self.every) {
            return;
        }
        let departure = probe::parse(frame).map(|probe| probe.departure.as_ps());
        self.list.push(Arrival {
            number,
            at_ps,
            gap_ps,
            delay_ps: departure.and_then(|departure| at_ps.checked_sub(departure)),
        });
        if self.list.len() >= MAX_ARRIVALS {
            self.every *= 2;
            let every = self.every;
            self.list
                .retain(|arrival| arrival.number.is_multiple_of(every));
        }
    }
}

/// What is seen at one place.
#[derive(Default)]
pub(crate) struct Watch {
    pub statistics: Statistics,
    /// If the place is in a plot.
    pub arrivals: Option<Arrivals>,
    /// Bytes on the wire over time, if the place is in a plot.
    pub bytes: Option<Timeline>,
    /// What waits for the link, likewise.
    pub queue: Option<Queue>,
    /// The capture files that the place is in, and as which of their interfaces.
    pub keeps: Vec<(Arc<Mutex<CaptureFile>>, usize)>,
}

impl Watch {
    /// Takes down a frame of which a node is told at `now`.
    pub fn see(&mut self, now: Time, frame: &Frame) {
        self.statistics.observe(frame.arrived(), frame);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.add(frame.arrived().as_ps(), frame);
        }
        if let Some(bytes) = &mut self.bytes {
            bytes.add(frame.arrived(), (frame.len() + node::link::FCS) as u64);
        }
        for (keep, interface) in &self.keeps {
            keep.lock().frame(now, *interface, frame);
        }
    }
}

/// A watch that the graph's side and the report's side share.
#[derive(Clone, Default)]
pub(crate) struct Shared(pub Arc<Mutex<Watch>>);

impl Shared {
    pub fn see(&self, now: Time, frame: &Frame) {
        self.0.lock().see(now, frame);
    }
}

impl Recorder for Shared {
    fn record(&mut self, now: Time, _port: Port, frame: &Frame) {
        self.see(now, frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_thinned_evenly_and_keep_their_own_gaps() {
        let mut arrivals = Arrivals::default();
        for n in 0..1_000_000 {
            arrivals.add(n * 100, &[]);
        }
        assert!(arrivals.list.len() < MAX_ARRIVALS && arrivals.list.len() > MAX_ARRIVALS / 4);
        assert!(
            arrivals.list[1..]
                .iter()
                .all(|arrival| arrival.gap_ps == Some(100))
        );
        let step = arrivals.list[1].number - arrivals.list[0].number;
        assert!(
            arrivals
                .list
                .windows(2)
                .all(|pair| pair[1].number - pair[0].number == step)
        );
    }
}
