//! Reduction of the window after a congestion mark (RFC 3168 section 6.1.2), in Linux's way: by proportional rate reduction, until
//! something is acknowledged that was sent after it.

use super::super::behind;
use super::super::congestion::Sign;
use super::reduction::Reduction;
use super::{Congestion, Sender};

/// A reduction under way, until more than `point` is acknowledged. Marks before that are of the window that was reduced.
pub(super) struct Reduced {
    pub(super) point: u32,
    pub(super) reduction: Reduction,
}

impl Sender {
    /// Notes a reduction: marks of what was sent before it ask for no other.
    pub(super) fn note_reduction(&mut self) {
        self.reaction.reduced();
        self.answered = Some(self.next);
    }

    /// Reduces the window, if it has not been since the marked packet left.
    pub(super) fn reduce_after_mark(&mut self, flight: u64) {
        if self.answered.is_some() {
            return;
        }
        self.control.reduce(flight, Sign::Mark);
        self.note_reduction();
        // Congestion is certain: an earlier reduction stays as well.
        self.undo = None;
        self.probe = None;
        self.reduced = Some(Reduced {
            point: self.next,
            reduction: Reduction::new(flight),
        });
    }

    /// Ends a reduction whose window is acknowledged.
    pub(super) fn leave_reduction(&mut self, number: u32) {
        // Strictly after the point, so that CWR has reached the receiver. Linux leaves a recovery at the point, and may reduce
        // a window twice.
        self.answered = self.answered.filter(|&point| !behind(number, point));
        let is_over = |reduced: &Reduced| behind(number, reduced.point);
        if self.reduced.as_ref().is_some_and(is_over) {
            self.reduced = None;
            self.control.set_window(self.control.threshold());
        }
    }

    /// Whether new data that leaves has CWR.
    pub(in super::super) fn answer(&mut self) -> bool {
        self.reaction.answer()
    }

    /// Ends a reduction for a recovery: `None` when there is none, or the loss asks for one of its own.
    pub(super) fn take_reduction(&mut self) -> Option<Reduced> {
        let reduced = self.reduced.take()?;
        // The loss is of a later window than the mark; and DCTCP, which may have reduced by little, answers a loss as Reno
        // does (RFC 8257 section 3.5).
        let is_other = !behind(reduced.point, self.first) || self.congestion == Congestion::Dctcp;
        (!is_other).then_some(reduced)
    }
}
