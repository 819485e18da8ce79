//! Loss detection, window reduction, and its undo.

use super::super::behind;
use super::super::congestion::{Before, Sign};
use super::super::scoreboard::Delivered;
use super::Sender;
use super::marks::Reduced;
use super::reduction::Reduction;
use node::Time;

/// Duplicate acknowledgements that are a sign of loss (RFC 5681, RFC 8985).
const DUPLICATES: u64 = 3;
/// Recoveries for which a wider reordering window is kept (RFC 8985 section 6.2, step 4).
const REORDERING_PERSISTS: u32 = 16;

/// Recovery until `point` is acknowledged.
pub(super) struct Recovery {
    pub(super) point: u32,
    pub(super) cause: Cause,
}

pub(super) enum Cause {
    Loss(Reduction),
    TimeOut,
}

/// A reduction that may prove wrong.
pub(super) struct Undo {
    pub(super) before: Before,
    /// When it was made, after a time-out.
    pub(super) timed_out: Option<Time>,
}

impl Sender {
    /// Looks for the report of a duplicate in the first block (RFC 2883); `true` if there is one.
    pub(super) fn note_duplicate(&mut self, now: Time, number: u32, blocks: &[(u32, u32)]) -> bool {
        let Some(&(from, to)) = blocks.first() else {
            return false;
        };
        let inside = |&(a, b): &(u32, u32)| !behind(a, from) && !behind(to, b);
        let is_duplicate = !behind(to, number) || blocks.get(1).is_some_and(inside);
        if !is_duplicate {
            return false;
        }
        // RFC 8985 section 6.2, step 4: segments overtake each other by more than was thought. A probe was no judgement.
        let is_new_round = self.reordering_round.is_none_or(|end| !behind(end, number));
        if is_new_round && self.probe.is_none() {
            self.reordering = (self.reordering.0 + 1, REORDERING_PERSISTS);
            self.reordering_round = Some(self.next);
        }
        if let Some(index) = self.doubtful.iter().position(|&number| number == from) {
            self.doubtful.swap_remove(index);
            let is_loss = self
                .undo
                .as_ref()
                .is_some_and(|undo| undo.timed_out.is_none());
            if self.doubtful.is_empty() && is_loss {
                self.take_back(now);
            }
        }
        true
    }

    /// Without selective acknowledgements (RFC 6582).
    pub(super) fn count_duplicate(&mut self, is_duplicate: bool, delivered: &mut Delivered) {
        let mss = u64::from(self.mss);
        if is_duplicate {
            self.duplicates += 1;
            delivered.bytes += mss;
        } else if delivered.advanced > 0 {
            // The data that they reported has been counted.
            let counted = (delivered.advanced / mss)
                .saturating_sub(1)
                .min(self.duplicates);
            delivered.bytes = delivered.bytes.saturating_sub(counted * mss);
            self.duplicates = match self.recovery {
                Some(_) => self.duplicates - counted,
                None => 0,
            };
        }
    }

    /// RFC 8985 section 7.4.
    pub(super) fn end_probe(
        &mut self,
        number: u32,
        is_plain_duplicate: bool,
        is_duplicate_report: bool,
    ) {
        let Some(probe) = &self.probe else { return };
        if behind(probe.end, number) {
            return;
        }
        let (is_past, resent) = (behind(number, probe.end), probe.resent);
        let is_reduced = self.recovery.is_some() || self.reduced.is_some();
        if resent && is_past && !is_duplicate_report && !is_reduced {
            // The probe has repaired a loss.
            let flight = u64::from(self.next.wrapping_sub(self.first));
            let flight = flight.max(self.control.window());
            self.control.reduce(flight, Sign::Loss);
            self.note_reduction();
            self.control.moderate(self.pipe());
        }
        if !resent || is_past || is_duplicate_report || is_plain_duplicate {
            self.probe = None;
        }
    }

    /// A time-out was wrong if what was sent before it, once, arrives now (RFC 5682).
    pub(super) fn judge_time_out(&mut self, now: Time, delivered: &Delivered) {
        let Some(Undo {
            timed_out: Some(at),
            ..
        }) = self.undo
        else {
            return;
        };
        if delivered.original.is_some_and(|sent| sent < at) {
            self.board.forgive();
            self.take_back(now);
        }
    }

    pub(super) fn take_back(&mut self, now: Time) {
        if let Some(undo) = self.undo.take() {
            let pipe = self.pipe();
            self.control.undo(undo.before, pipe);
            self.reaction.withdraw();
            self.answered = None;
            self.recovery = None;
            self.note_window(now);
        }
    }

    pub(super) fn leave_recovery(&mut self, number: u32) {
        let Some(recovery) = &self.recovery else {
            return;
        };
        // Without reports it ends behind the point: duplicates of before must not begin another (RFC 6582 section 4.1).
        let is_left = behind(number, recovery.point) || self.has_sack && number == recovery.point;
        if !is_left {
            return;
        }
        if let Cause::Loss(_) = recovery.cause {
            self.control.set_window(self.control.threshold());
        }
        self.recovery = None;
        self.duplicates = 0;
        self.control.moderate(self.pipe());
        if self
            .undo
            .as_ref()
            .is_some_and(|undo| undo.timed_out.is_some())
        {
            self.undo = None;
        }
        if self.reordering.1 > 0 {
            self.reordering.1 -= 1;
            if self.reordering.1 == 0 {
                self.reordering.0 = 1;
            }
        }
    }

    /// By how much segments may overtake each other (RACK.reo_wnd).
    pub(super) fn reordering(&self) -> Time {
        let is_certain =
            self.recovery.is_some() || self.board.sacked() >= DUPLICATES * u64::from(self.mss);
        if !self.board.is_reordered() && self.reordering.0 == 1 && is_certain {
            return Time::ZERO;
        }
        let Some(mean) = self.trip.mean() else {
            return Time::ZERO;
        };
        let quarter = Time::from_ps(self.trip.least.as_ps() / 4);
        (quarter * self.reordering.0).min(mean)
    }

    pub(super) fn detect(&mut self, now: Time, advanced: bool) {
        if self.has_sack {
            self.reorders = self.board.detect(now, self.reordering());
            return;
        }
        let is_before = |recovery: &Recovery| behind(recovery.point, self.first);
        let is_partial = advanced && self.recovery.as_ref().is_some_and(is_before);
        if is_partial || self.duplicates >= DUPLICATES && self.recovery.is_none() {
            self.board.lose_first();
        }
    }

    /// Adapts the window to what an acknowledgement has shown.
    pub(super) fn respond(
        &mut self,
        now: Time,
        delivered: &Delivered,
        flight: u64,
        limited: bool,
        is_new_loss: bool,
        is_marked: bool,
    ) {
        if self.recovery.is_none() && self.board.lost() > 0 {
            self.enter_recovery(flight, is_marked);
        } else if self.recovery.is_none() && is_marked {
            self.reduce_after_mark(flight);
        }
        let is_slowing = self.reduction().is_some();
        if is_slowing && delivered.bytes > 0 {
            self.follow_reduction(delivered, is_new_loss);
        } else if !is_slowing && limited && self.may_grow(delivered) {
            self.control.grow(now, delivered.bytes, self.trip.mean());
        }
    }

    /// Whether an acknowledgement increases the window. Data reported out of order does not (RFC 3042 section 2), unless the path is known
    /// to reorder segments (`tcp_may_raise_cwnd` of Linux).
    fn may_grow(&self, delivered: &Delivered) -> bool {
        delivered.advanced > 0 || delivered.bytes > 0 && self.board.is_reordered()
    }

    /// The reduction that is under way.
    pub(super) fn reduction(&mut self) -> Option<&mut Reduction> {
        match (&mut self.recovery, &mut self.reduced) {
            (
                Some(Recovery {
                    cause: Cause::Loss(reduction),
                    ..
                }),
                _,
            ) => Some(reduction),
            (None, Some(reduced)) => Some(&mut reduced.reduction),
            _ => None,
        }
    }

    fn follow_reduction(&mut self, delivered: &Delivered, is_new_loss: bool) {
        let (pipe, mss) = (self.pipe(), u64::from(self.mss));
        let threshold = self.control.threshold();
        let is_recovery = self.recovery.is_some();
        let Some(reduction) = self.reduction() else {
            return;
        };
        let is_safe = delivered.advanced > 0 && !is_new_loss;
        let extra = if is_safe { mss } else { 0 };
        let count = reduction.allows(delivered.bytes, pipe, threshold, extra);
        // The first retransmission leaves at once.
        let is_first = is_recovery && reduction.sent == 0;
        let least = if is_first { mss } else { 0 };
        self.control.set_window(pipe + count.max(least));
    }

    /// Begins a recovery. `is_marked`: congestion is certain, so that the reduction is not taken back.
    pub(super) fn enter_recovery(&mut self, flight: u64, is_marked: bool) {
        self.doubtful.clear();
        self.probe = None;
        if let Some(reduced) = self.take_reduction() {
            // A mark of the same window has reduced it.
            let Reduced { point, reduction } = reduced;
            self.undo = None;
            let cause = Cause::Loss(reduction);
            self.recovery = Some(Recovery { point, cause });
            return;
        }
        let before = self.control.reduce(flight, Sign::Loss);
        self.note_reduction();
        self.undo = (!is_marked).then_some(Undo {
            before,
            timed_out: None,
        });
        self.recovery = Some(Recovery {
            point: self.next,
            cause: Cause::Loss(Reduction::new(flight)),
        });
    }

    /// The retransmission time-out has passed (RFC 6298 section 5).
    pub(super) fn time_out(&mut self, now: Time) {
        self.expires = None;
        (self.probes, self.reorders, self.probe, self.forced) = (None, None, None, false);
        if self.board.is_empty() {
            return;
        }
        // RFC 3168 section 6.1.2: no second reduction in a window.
        let is_reduced = self.take_reduction().is_some();
        let is_first = match &self.recovery {
            None => !is_reduced,
            // RFC 5681 section 3.1: a segment that is sent again once more reduces nothing.
            Some(Recovery {
                cause: Cause::TimeOut,
                ..
            }) => self.trip.backoff() == 0,
            Some(_) => false,
        };
        if is_first {
            let flight = u64::from(self.next.wrapping_sub(self.first));
            let before = self.control.reduce(flight, Sign::Loss);
            self.note_reduction();
            let fresh = self.recovery.is_none();
            self.undo = fresh.then_some(Undo {
                before,
                timed_out: Some(now),
            });
        } else {
            self.undo = None;
        }
        self.duplicates = 0;
        self.board.time_out(now, self.reordering());
        self.control.time_out(self.board.pipe());
        self.recovery = Some(Recovery {
            point: self.next,
            cause: Cause::TimeOut,
        });
        self.trip.back_off();
        self.expires = Some(now + self.trip.timeout());
        self.note_window(now);
    }
}
