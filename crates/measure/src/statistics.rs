//! A stream of frames in figures: how many, loss, order, the gaps between them, and their delay.
//!
//! Sums are exact integers, so that a train of exactly equal gaps has a deviation of exactly zero.

mod moments;
mod sequence;
mod wide;

pub use moments::{Moments, Summary};
pub use sequence::{Order, WINDOW};

use crate::probe::{self, Probe};
use alloc::vec::Vec;
use node::{Histogram, Time};
use sequence::Sequence;

/// Maximum number of streams whose order is followed; probes of further ones are only counted.
pub const MAX_STREAMS: usize = 256;

/// Statistics of the frames observed so far.
#[derive(Clone, Debug)]
pub struct Statistics {
    stream: Option<u16>,
    packets: u64,
    bytes: u64,
    probes: u64,
    early: u64,
    last: Option<Time>,
    gaps: Moments,
    delays: Moments,
    gap_histogram: Histogram,
    delay_histogram: Histogram,
    /// By stream number, in order.
    streams: Vec<(u16, Sequence)>,
}

/// How finely gaps and delays are counted if nobody says: to 1/32 of themselves, in 30 KiB.
const FINE: u32 = 5;

impl Default for Statistics {
    fn default() -> Statistics {
        let histogram = || Histogram::with_precision(FINE).reserved();
        Statistics {
            stream: None,
            packets: 0,
            bytes: 0,
            probes: 0,
            early: 0,
            last: None,
            gaps: Moments::default(),
            delays: Moments::default(),
            gap_histogram: histogram(),
            delay_histogram: histogram(),
            streams: Vec::new(),
        }
    }
}

impl Statistics {
    /// Nothing observed yet. With `stream`, only frames with probes of that stream count.
    pub fn new(stream: Option<u16>) -> Statistics {
        Statistics {
            stream,
            ..Statistics::default()
        }
    }

    /// Counts gaps and delays with a precision of `1/2^fine` from now on; see
    /// [`Histogram::with_precision`]. By default it is 1/32, and room for all values is reserved.
    pub fn with_precision(mut self, fine: u32) -> Statistics {
        self.gap_histogram = Histogram::with_precision(fine);
        self.delay_histogram = Histogram::with_precision(fine);
        self
    }

    /// Takes a frame into account whose first bit arrived at `arrived`.
    pub fn observe(&mut self, arrived: Time, frame: &[u8]) {
        let Some(probe) = self.count(frame, frame.len() as u32) else {
            return;
        };
        if let Some(last) = self.last.replace(arrived) {
            let gap = (arrived - last).as_ps();
            self.gaps.add(gap);
            self.gap_histogram.record(gap);
        }
        if let Some(probe) = probe {
            self.delay(arrived, probe);
        }
    }

    /// Takes a frame of `length` bytes, which may have been cut short, into account without a gap;
    /// with a time, if that counts from the zero of departures, its probe has a delay.
    pub(crate) fn observe_probe(&mut self, arrived: Option<Time>, frame: &[u8], length: u32) {
        let probe = self.count(frame, length).flatten();
        if let (Some(probe), Some(arrived)) = (probe, arrived) {
            self.delay(arrived, probe);
        }
    }

    fn delay(&mut self, arrived: Time, probe: Probe) {
        if arrived >= probe.departure {
            let delay = (arrived - probe.departure).as_ps();
            self.delays.add(delay);
            self.delay_histogram.record(delay);
        } else {
            self.early += 1;
        }
    }

    /// Counts a frame, and its probe in the order of its stream. `None` for a frame that is not to be
    /// measured.
    fn count(&mut self, frame: &[u8], length: u32) -> Option<Option<Probe>> {
        let probe = probe::parse(frame);
        if self.stream.is_some() && probe.map(|probe| probe.stream) != self.stream {
            return None;
        }
        self.packets += 1;
        self.bytes += u64::from(length);
        let Some(Probe {
            stream, sequence, ..
        }) = probe
        else {
            return Some(None);
        };
        self.probes += 1;
        match self
            .streams
            .binary_search_by_key(&stream, |(stream, _)| *stream)
        {
            Ok(index) => self.streams[index].1.see(sequence),
            Err(index) if self.streams.len() < MAX_STREAMS => {
                let mut order = Sequence::default();
                order.see(sequence);
                self.streams.insert(index, (stream, order));
            }
            Err(_) => {}
        }
        Some(probe)
    }

    /// Frames.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their bytes, without FCS.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Frames that carry a probe.
    pub fn probes(&self) -> u64 {
        self.probes
    }

    /// Probes that arrived before their departure.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Loss and order, over all streams.
    pub fn order(&self) -> Order {
        let mut total = Order::default();
        for (_, sequence) in &self.streams {
            total += sequence.order();
        }
        total
    }

    /// The gaps from first bit to first bit.
    pub fn gaps(&self) -> Summary {
        self.gaps.summary()
    }

    /// The delays from scheduled departure to arrival.
    pub fn delays(&self) -> Summary {
        self.delays.summary()
    }

    /// The distribution of the gaps, in ps.
    pub fn gap_histogram(&self) -> &Histogram {
        &self.gap_histogram
    }

    /// The distribution of the delays, in ps.
    pub fn delay_histogram(&self) -> &Histogram {
        &self.delay_histogram
    }
}
