//! Measures a stream of frames: loss, order, the gaps between them, and their delay.
//!
//! - **Ports:** 1; with `tap` 2, and what comes in by one goes out by the other.
//! - **Parameters:** `tap`, false. `stream`: the only probe stream to be measured; left out, all
//!   frames are.
//! - **Counters:** `packets`; `bytes`, without FCS; `probes`; `lost`, `reordered`, `duplicates`,
//!   `stale`; `gap_mean_ps`, `gap_sd_ps`, `gap_min_ps`, `gap_max_ps`: from first bit to first bit, with
//!   two frames or more; `delay_mean_ps`, `delay_sd_ps`, `delay_min_ps`, `delay_max_ps`: arrival less
//!   the departure that the [`probe`](measure::probe) carries, with one probe or more; `early`: probes
//!   that arrived before their departure, as two clocks make it seem; they have no delay.
//! - **Paper:** 000 sections 6.3.1 and 6.3.2, whose figures are these means and deviations.
//!
//! [`measure::statistics`] does the work.

use crate::capture::Recorder;
use alloc::vec::Vec;
use measure::statistics::Statistics;
use node::{Frame, Node, Out, Port, Properties, Time};

/// What a meter is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Whether it is put in line, with two ports.
    pub tap: bool,
    /// The only probe stream to be measured; `None`: all frames.
    pub stream: Option<u16>,
}

impl Recorder for Statistics {
    fn record(&mut self, _now: Time, _port: Port, frame: &Frame) {
        self.observe(frame.arrived(), frame);
    }
}

#[derive(Debug)]
pub struct Meter {
    tap: bool,
    statistics: Statistics,
}

impl Meter {
    /// A meter that has seen nothing.
    pub fn new(config: Config) -> Meter {
        Meter {
            tap: config.tap,
            statistics: Statistics::new(config.stream),
        }
    }

    /// What it has measured so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

impl Node for Meter {
    fn properties(&self) -> Properties {
        Properties::of(if self.tap { 2 } else { 1 })
    }

    fn frames(&mut self, _now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.statistics.observe(frame.arrived(), &frame);
            if self.tap {
                out.send(Port(port.0 ^ 1), frame);
            } else {
                out.done(frame);
            }
        }
    }

    fn statistics(&self) -> node::Statistics {
        let mut counts = node::Statistics::default();
        let statistics = &self.statistics;
        let order = statistics.order();
        counts.counter("packets", statistics.packets());
        counts.counter("bytes", statistics.bytes());
        counts.counter("probes", statistics.probes());
        counts.counter("lost", order.lost);
        counts.counter("reordered", order.reordered);
        counts.counter("duplicates", order.duplicates);
        counts.counter("stale", order.stale);
        for (names, summary) in [
            (
                ["gap_mean_ps", "gap_sd_ps", "gap_min_ps", "gap_max_ps"],
                statistics.gaps(),
            ),
            (
                [
                    "delay_mean_ps",
                    "delay_sd_ps",
                    "delay_min_ps",
                    "delay_max_ps",
                ],
                statistics.delays(),
            ),
        ] {
            if summary.count > 0 {
                // Rounded to the nearest picosecond.
                counts.counter(names[0], (summary.mean + 0.5) as u64);
                counts.counter(names[1], (summary.sd + 0.5) as u64);
                counts.counter(names[2], summary.min);
                counts.counter(names[3], summary.max);
            }
        }
        counts.counter("early", statistics.early());
        counts
    }
}
