//! Is there something in the gaps?
//!
//! Traffic is judged in windows of gaps, each gap in idle characters. [`Comparison`] holds a stream against a clean
//! sample of the same source by four statistics ([`Statistic`]): each gives a number for every window, and the
//! numbers of both streams are compared by ranks (Mann and Whitney's test), so that nothing needs to be known about how they are
//! spread. A stream is called covert if any of the four differs at a quarter of `level`: of clean streams, at most
//! `level` are. This holds where the windows of clean traffic are independent draws of one process, which [`Comparison`] checks
//! by holding the first half of the clean sample against the second.
//!
//! [`Watch`] needs no clean sample. It looks in each window for what a covert channel cannot hide on a line where
//! characters are counted: two narrow modes, about equally often, in an order without any pattern.
//!
//! What detects what: Cabuk, Brodley and Shields' regularity and Gianvecchio and Wang's corrected conditional entropy look for the
//! order that a channel brings into irregular traffic, or takes out of a regular one; Kolmogorov and Smirnov's distance and
//! Otsu's criterion for the shape of its gaps.

mod compare;
mod statistics;
mod watch;

pub use compare::{Comparison, Finding, TooShort, compare};
pub use watch::Watch;

use super::Line;
use alloc::vec::Vec;
use node::{Rate, Time};

/// The statistics, in the order in which reports have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// How much the deviations of the window's parts differ: the deviation of |s - t| / max(s, t) over all pairs.
    Regularity,
    /// Kolmogorov and Smirnov's distance of the window to the clean sample, 0 to 1.
    Distance,
    /// Corrected conditional entropy, bits a gap, of gaps sorted into five classes that are equally frequent in
    /// the clean sample.
    Entropy,
    /// Otsu's criterion: the share of the variance that is between two classes, at the best place to part
    /// them. 0 where all gaps are equal, 0.64 for normal, 0.75 for uniform, 1 for two values.
    Modes,
}

impl Statistic {
    pub const ALL: [Statistic; 4] = [
        Statistic::Regularity,
        Statistic::Distance,
        Statistic::Entropy,
        Statistic::Modes,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Regularity => "regularity",
            Statistic::Distance => "distance",
            Statistic::Entropy => "entropy",
            Statistic::Modes => "modes",
        }
    }
}

/// Turns a stream of frames into gaps.
#[derive(Clone, Debug)]
pub struct Gaps {
    line: Line,
    last: Option<(Time, usize)>,
    gaps: Vec<i64>,
}

impl Gaps {
    /// None yet, on a line of this rate.
    pub fn new(line: Rate) -> Gaps {
        Gaps {
            line: Line(line),
            last: None,
            gaps: Vec::new(),
        }
    }

    /// Takes a frame of `len` bytes without FCS that arrived at `arrived`.
    pub fn frame(&mut self, arrived: Time, len: usize) {
        if let Some((last, before)) = self.last.replace((arrived, len)) {
            self.gaps.push(self.line.gap(last, arrived, before));
        }
    }

    /// The gaps so far, in idle characters; negative where stamps say that frames overlap.
    pub fn all(&self) -> &[i64] {
        &self.gaps
    }
}

impl Line {
    /// The gap between frames that arrived at these times, the first of `len` bytes; of stamps that go back too.
    fn gap(self, last: Time, arrived: Time, len: usize) -> i64 {
        match arrived >= last {
            true => self.idles(arrived - last, len),
            false => self.idles(Time::ZERO, len).saturating_sub(
                self.idles(last - arrived, len)
                    .saturating_sub(self.idles(Time::ZERO, len)),
            ),
        }
    }
}
