//! Choice of the next segment: a retransmission, a probe, or new data.

use super::Sender;
use node::Time;

/// Retransmissions of a recovery that may be taken back; with more it was a loss.
const MAX_DOUBTFUL: usize = 64;

/// A segment that leaves: data of the stream, or none.
pub(in super::super) struct Piece {
    pub sequence: u32,
    pub length: usize,
    /// Whether the end of the stream is behind the data.
    pub fin: bool,
    /// Whether no data is behind it.
    pub ends: bool,
    /// Offset of the data in the send buffer.
    pub at: usize,
    /// Whether none of it has been sent before.
    pub is_new: bool,
}

/// A tail loss probe under way: its end, and whether it was a retransmission.
pub(super) struct Probe {
    pub(super) end: u32,
    pub(super) resent: bool,
}

impl Sender {
    /// Sets the deadline of a tail loss probe (RFC 8985 section 7.2).
    pub(super) fn schedule_probe(&mut self, now: Time) {
        self.probes = None;
        let is_quiet = self.recovery.is_none() && self.board.sacked() == 0 && self.probe.is_none();
        let (Some(mean), true) = (self.trip.mean(), is_quiet && self.has_sack) else {
            return;
        };
        if self.board.is_empty() {
            return;
        }
        // Maximum delay of the peer's acknowledgements (RFC 8985 section 7.2); Linux takes its least time-out.
        let delay = if self.board.is_one() {
            self.trip.min_variation
        } else {
            Time::ZERO
        };
        let at = now + mean * 2 + delay + Time::from_ms(2);
        self.probes = Some(self.expires.map_or(at, |expires| expires.min(at)));
    }

    /// The next segment that may leave now; `None` if there is none.
    pub(in super::super) fn transmit(&mut self, now: Time) -> Option<Piece> {
        self.pacing.release();
        if core::mem::take(&mut self.asks) {
            if let Some((length, fin)) = self.next_small() {
                return Some(self.send_new(now, length, fin));
            }
            // A number that the far end has acknowledged before: it answers with its window.
            self.await_window(now);
            return Some(self.piece(self.first.wrapping_sub(1), 0, false));
        }
        if core::mem::take(&mut self.forced) {
            return self.transmit_probe(now);
        }
        if let Some((number, length)) = self.board.next_lost() {
            let leaves = self.fits(length.into()) && !self.pacing.holds(now);
            return leaves.then(|| self.resend(now, number, length));
        }
        let (length, fin) = self.next_new(now)?;
        if self.board.is_empty() && now > self.sent_last + self.trip.timeout() {
            self.control.restart();
        }
        let leaves = self.fits(length as u64) && !self.pacing.holds(now);
        leaves.then(|| self.send_new(now, length, fin))
    }

    /// Whether the congestion window has room for `length` bytes.
    fn fits(&self, length: u64) -> bool {
        let pipe = self.pipe();
        pipe == 0 || pipe + length <= self.control.window()
    }

    /// New data that the far end has room for: its length, and whether the stream ends behind it.
    fn next_new(&mut self, now: Time) -> Option<(usize, bool)> {
        let (unsent, mss) = (self.unsent(), self.mss as usize);
        let ends = self.finishing && !self.fin_sent;
        if unsent == 0 && !ends {
            return None;
        }
        let open = self.open_window();
        let length = unsent.min(mss).min(open as usize);
        // RFC 9293 section 3.8.6.2.1: no small segment because of a small window, unless that never was twice as wide.
        let is_small = length < mss && length < unsent && (length as u64) < self.widest / 2;
        if open == 0 || is_small {
            if self.board.is_empty() {
                self.await_window(now);
            }
            return None;
        }
        Some((length, ends && length == unsent))
    }

    /// Bytes that the far end has room for.
    fn open_window(&self) -> u64 {
        let flight = u64::from(self.next.wrapping_sub(self.first));
        self.window.saturating_sub(flight)
    }

    /// Bytes to send into a small window after the persist timeout.
    fn next_small(&self) -> Option<(usize, bool)> {
        let (unsent, open) = (self.unsent(), self.open_window());
        let length = unsent.min(self.mss as usize).min(open as usize);
        let ends = self.finishing && !self.fin_sent;
        let is_next = self.board.is_empty() && length > 0;
        is_next.then_some((length, ends && length == unsent))
    }

    fn await_window(&mut self, now: Time) {
        if self.persists.is_none() {
            self.persists = Some(now + self.trip.timeout());
        }
    }

    fn piece(&self, sequence: u32, length: u32, is_new: bool) -> Piece {
        let at = sequence.wrapping_sub(self.first) as usize;
        let at = at.min(self.buffer.len());
        let data = (length as usize).min(self.buffer.len() - at);
        Piece {
            sequence,
            length: data,
            fin: length as usize > data,
            ends: at + data == self.buffer.len(),
            at,
            is_new,
        }
    }

    fn send_new(&mut self, now: Time, length: usize, fin: bool) -> Piece {
        let length = length as u32 + u32::from(fin);
        let sequence = self.next;
        if self.board.is_empty() {
            self.expires = Some(now + self.trip.timeout());
        }
        let snapshot = self.snapshot(now);
        if let Some(bbr) = self.control.bbr().filter(|_| self.board.is_empty()) {
            bbr.restart(now);
        }
        self.next = sequence.wrapping_add(length);
        self.fin_sent |= fin;
        self.board.push(sequence, self.next, now, snapshot);
        self.note_usage();
        self.note_sent(now, length);
        self.count.sent += 1;
        self.schedule_probe(now);
        self.piece(sequence, length, true)
    }

    fn resend(&mut self, now: Time, number: u32, length: u32) -> Piece {
        let snapshot = self.snapshot(now);
        self.board.resend(number, now, snapshot);
        if number == self.first {
            self.expires = Some(now + self.trip.timeout());
        }
        self.note_sent(now, length);
        (self.count.sent, self.count.resent) = (self.count.sent + 1, self.count.resent + 1);
        match self.doubtful.len() < MAX_DOUBTFUL {
            true => self.doubtful.push(number),
            false => self.undo = None,
        }
        self.piece(number, length, false)
    }

    fn note_sent(&mut self, now: Time, length: u32) {
        self.sent_last = now;
        if self.pacing.is_on() {
            self.pace(now, length.into());
        }
        if let Some(reduction) = self.reduction() {
            reduction.sent += u64::from(length);
        }
    }

    /// Sets the departure of the segment after one of `length` bytes.
    fn pace(&mut self, now: Time, length: u64) {
        if let Some(rate) = self.control.pace() {
            return self.pacing.sent_at(now, length, rate);
        }
        let window = self.control.window().max(self.board.pipe());
        let (threshold, round_trip) = (self.control.threshold(), self.trip.mean());
        self.pacing.sent(now, length, window, threshold, round_trip);
    }

    /// A tail loss probe (RFC 8985 section 7.3): new data, or the last segment once more.
    fn transmit_probe(&mut self, now: Time) -> Option<Piece> {
        let new = self.next_new(now);
        let (piece, resent) = match new {
            Some((length, fin)) => (self.send_new(now, length, fin), false),
            None => {
                let (number, length) = self.board.last()?;
                (self.resend(now, number, length), true)
            }
        };
        self.probe = Some(Probe {
            end: self.next,
            resent,
        });
        self.probes = None;
        self.expires = Some(now + self.trip.timeout());
        Some(piece)
    }
}
