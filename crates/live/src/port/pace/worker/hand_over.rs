//! Departures of a port that keeps the time itself: frames are handed over ahead of it, and the port tells when they left.

use super::{Chunk, Wanted, Worker};
use ::capture::clock::now_ns;
use ::capture::signal;
use packet::Departure;
use packet::word::Timer;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Interval at which the thread checks for the end while it waits for a departure.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A frame that the port has.
pub enum UnderWay {
    /// It leaves immediately.
    Now,
    /// It leaves immediately, and its departure belongs to a timer.
    Mark(Timer),
    /// It leaves at a time.
    At(Wanted),
}

impl Worker {
    /// Gives the port a packet, `ahead` of its time at most; returns what is next, or `None` when it is not to leave any more.
    pub fn hand_over(&mut self, chunk: &Chunk, index: usize, ahead: Duration) -> Option<usize> {
        let (entry, frame) = (&chunk.entries()[index], chunk.frame(index));
        // How long it has to wait is known when the timer that it is relative to is.
        while let Departure::After(timer, _) = entry.departure
            && self.is_set_soon(timer)
            && self.report.error.is_none()
        {
            self.settle(STOP_POLL_INTERVAL);
        }
        let wanted = self.shared.wanted(self.tick, entry.departure);
        let due = wanted.unwrap_or(0).saturating_sub(ahead.as_nanos() as u64);
        while let Some(wait) = due.checked_sub(now_ns()).filter(|&wait| wait > 0) {
            if signal::stop_requested() || !self.shared.queue.sleep(Duration::from_nanos(wait)) {
                return None;
            }
            self.settle(Duration::ZERO);
        }
        match self.tx.schedule(entry.departure, frame) {
            Ok(()) => {
                self.report.sent += 1;
                self.report.rate.add([frame.len()]);
                self.shared.sent.store(self.report.sent, Ordering::Relaxed);
                self.under_way.push_back(match (entry.departure, wanted) {
                    (Departure::Mark(timer), _) => UnderWay::Mark(timer),
                    (_, Some(at)) => UnderWay::At(Wanted {
                        at,
                        late: at < entry.asked,
                    }),
                    (_, None) => UnderWay::Now,
                });
            }
            Err(error) if error.is_end() => self.report.error = Some(error),
            Err(error) => {
                self.report.refused += 1;
                self.shared
                    .refused
                    .store(self.report.refused, Ordering::Relaxed);
                self.report.refusal.get_or_insert(error);
            }
        }
        self.settle(Duration::ZERO);
        Some(index + usize::from(self.report.error.is_none()))
    }

    fn is_set_soon(&self, timer: Timer) -> bool {
        self.under_way
            .iter()
            .any(|frame| matches!(frame, UnderWay::Mark(other) if *other == timer))
    }

    /// Takes what the port tells of departures, waiting for the first so long at most; whether more are to come.
    pub fn settle(&mut self, mut wait: Duration) -> bool {
        while !self.under_way.is_empty() {
            let at = match self.tx.departed(wait) {
                Ok(Some(at)) => at,
                Ok(None) => return true,
                Err(error) => {
                    self.report.error.get_or_insert(error);
                    self.under_way.clear();
                    break;
                }
            };
            wait = Duration::ZERO;
            self.report.rate.left(at, at);
            match self.under_way.pop_front() {
                Some(UnderWay::Mark(timer)) => {
                    let ticks = self.tick.count(u128::from(at) * 1000);
                    self.shared.timers[usize::from(timer.number())].store(ticks, Ordering::Release);
                    self.shared.stamped_marks.fetch_add(1, Ordering::Relaxed);
                    self.shared.marks.fetch_add(1, Ordering::Release);
                }
                Some(UnderWay::At(wanted)) => {
                    self.shared
                        .late
                        .fetch_add(wanted.late.into(), Ordering::Relaxed);
                    self.departures.record(wanted, at);
                }
                Some(UnderWay::Now) | None => {}
            }
        }
        false
    }

    /// Waits until the port has sent all that it has.
    pub fn settle_all(&mut self) {
        while self.settle(STOP_POLL_INTERVAL) {}
    }
}
