//! Sending side of a connection: what leaves when, what is sent again, and how much may be in flight.
//!
//! Losses are found by selective acknowledgements (RFC 2018, RFC 6675), by the time that segments were sent (RACK, RFC 8985), or, with a far end
//! without these, by duplicate acknowledgements (RFC 5681, RFC 6582). A tail loss probe (RFC 8985) and the retransmission time-out (RFC 6298) find
//! the rest. In recovery proportional rate reduction (RFC 6937) paces what leaves by what arrives; after a time-out it is slow start.
//! A reduction that proves wrong is taken back (RFC 5682, RFC 3708).

use super::Congestion;
use super::behind;
use super::buffer::Buffer;
use super::congestion::{Before, Control};
use super::round_trip::RoundTrip;
use super::scoreboard::{Delivered, Scoreboard};
use super::segment::Segment;
use alloc::vec::Vec;
use node::{Flow, Time};

/// Duplicate acknowledgements that are a sign of loss (RFC 5681, RFC 8985).
const DUPLICATES: u64 = 3;
/// How long a far end may delay an acknowledgement (RFC 8985 section 7.2, as Linux has it).
const MAX_ACK_DELAY: Time = Time::from_ms(200);
/// Recoveries for which a wider reordering window is kept (RFC 8985 section 6.2, step 4).
const REORDERING_PERSISTS: u32 = 16;
/// Retransmissions of a recovery that may be taken back; with more it was a loss.
const MAX_DOUBTFUL: usize = 64;
/// Changes of the window that are kept; of more, every other one.
const WINDOWS: usize = 1024;

/// A segment that leaves: data of the stream, or none.
pub(super) struct Piece {
    pub sequence: u32,
    pub length: usize,
    /// Whether the end of the stream is behind the data.
    pub fin: bool,
    /// Whether no data is behind it.
    pub ends: bool,
    /// Offset of the data in the send buffer.
    pub at: usize,
}

/// Recovery until `point` is acknowledged.
struct Recovery {
    point: u32,
    cause: Cause,
}

enum Cause {
    Loss(Reduction),
    TimeOut,
}

/// Proportional rate reduction (RFC 6937). All in bytes.
struct Reduction {
    /// RecoverFS, prr_delivered and prr_out.
    flight: u64,
    delivered: u64,
    sent: u64,
}

/// A reduction that may prove wrong.
struct Undo {
    before: Before,
    /// When it was made, after a time-out.
    timed_out: Option<Time>,
}

/// A tail loss probe under way: its end, and whether it was a retransmission.
struct Probe {
    end: u32,
    resent: bool,
}

/// Statistics of a sender.
#[derive(Default)]
struct Count {
    sent: u64,
    resent: u64,
}

/// See the [module](self).
pub(crate) struct Sender {
    congestion: Congestion,
    control: Control,
    buffer: Buffer,
    capacity: usize,
    /// SND.UNA, SND.NXT, SND.WND, SND.WL1 and SND.WL2.
    first: u32,
    next: u32,
    window: u64,
    updated: (u32, u32),
    board: Scoreboard,
    mss: u32,
    /// The end of the stream is behind the buffer, and has been sent.
    finishing: bool,
    fin_sent: bool,
    /// Whether the far end reports what came out of order.
    pub has_sack: bool,
    duplicates: u64,
    recovery: Option<Recovery>,
    undo: Option<Undo>,
    /// Since the reduction sent again, and not reported as duplicates by the receiver.
    doubtful: Vec<u32>,
    /// RACK.reo_wnd_mult, and recoveries until it falls back to 1; the end of the round in which it grew.
    reordering: (u64, u32),
    reordering_round: Option<u32>,
    trip: RoundTrip,
    probe: Option<Probe>,
    /// A segment leaves whatever the congestion window says: for a tail loss probe.
    forced: bool,
    /// A window probe leaves.
    asks: bool,
    /// Deadlines.
    expires: Option<Time>,
    probes: Option<Time>,
    reorders: Option<Time>,
    persists: Option<Time>,
    sent_last: Time,
    count: Count,
    /// The window and when it became that, if that is kept.
    windows: Option<Vec<(Time, u64)>>,
}

impl Sender {
    pub fn new(congestion: Congestion, mss: usize, capacity: usize) -> Sender {
        Sender {
            congestion,
            control: Control::new(congestion, mss as u64),
            buffer: Buffer::default(),
            capacity,
            first: 0,
            next: 0,
            window: 0,
            updated: (0, 0),
            board: Scoreboard::default(),
            mss: mss as u32,
            finishing: false,
            fin_sent: false,
            has_sack: false,
            duplicates: 0,
            recovery: None,
            undo: None,
            doubtful: Vec::new(),
            reordering: (1, 0),
            reordering_round: None,
            trip: RoundTrip::new(),
            probe: None,
            forced: false,
            asks: false,
            expires: None,
            probes: None,
            reorders: None,
            persists: None,
            sent_last: Time::ZERO,
            count: Count::default(),
            windows: None,
        }
    }

    /// Keeps how the window changes.
    pub fn keep_windows(&mut self) {
        self.windows = Some(Vec::with_capacity(WINDOWS));
    }

    /// Begins with the number of the first byte, and segments of `mss` bytes at most.
    pub fn begin(&mut self, first: u32, mss: u32) {
        (self.first, self.next) = (first, first);
        self.mss = mss;
        self.control.begin(mss.into());
    }

    /// A segment without data has left for the first time, or again: a SYN.
    pub fn count_syn(&mut self, again: bool) {
        self.count.sent += 1;
        self.count.resent += u64::from(again);
    }

    /// A round trip that the handshake took.
    pub fn sample(&mut self, time: Time) {
        self.trip.sample(time);
    }

    /// The first window of the far end, of a segment with that sequence number.
    pub fn open(&mut self, sequence: u32, window: u64) {
        (self.window, self.updated) = (window, (sequence, self.first));
    }

    /// SND.NXT.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Bytes that are not acknowledged, or not sent.
    pub fn queued(&self) -> usize {
        self.buffer.len()
    }

    /// Bytes that the buffer has room for.
    pub fn free(&self) -> usize {
        self.capacity.saturating_sub(self.buffer.len())
    }

    /// Appends as much of `bytes` as there is room for; returns how much.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.free());
        self.buffer.push(&bytes[..count]);
        count
    }

    /// Appends as many of `count` zeros as there is room for; returns how many.
    pub fn push_zeros(&mut self, count: usize) -> usize {
        let count = count.min(self.free());
        self.buffer.push_zeros(count);
        count
    }

    /// Copies data of a piece that leaves.
    pub fn read(&self, at: usize, bytes: &mut [u8]) {
        self.buffer.read(at, bytes);
    }

    /// The stream ends behind what is in the buffer.
    pub fn finish(&mut self) {
        self.finishing = true;
    }

    /// Whether the stream ends behind what was given to it.
    pub fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// Whether everything is acknowledged, the end of the stream too.
    pub fn is_finished(&self) -> bool {
        self.fin_sent && self.board.is_empty()
    }

    /// Whether something is not acknowledged, or not sent.
    pub fn is_busy(&self) -> bool {
        !self.board.is_empty() || self.unsent() > 0 || self.finishing && !self.fin_sent
    }

    fn unsent(&self) -> usize {
        let sent = self.next.wrapping_sub(self.first) as usize;
        let fin = usize::from(self.fin_sent && !self.board.is_empty());
        self.buffer.len().saturating_sub(sent - fin)
    }

    /// Bytes in flight (RFC 6675's pipe). Without selective acknowledgements each duplicate stands for a segment.
    fn pipe(&self) -> u64 {
        let arrived = self.duplicates * u64::from(self.mss);
        let unknown = if self.has_sack { 0 } else { arrived };
        self.board.pipe().saturating_sub(unknown)
    }

    /// How many of `left` bytes may be given to it now, so that none has to wait for the congestion window: whole segments only,
    /// except for the last.
    pub fn room(&self, left: u64) -> usize {
        let free = self.free() as u64;
        if self.congestion == Congestion::None {
            return left.min(free) as usize;
        }
        let used = self.pipe() + self.unsent() as u64;
        let room = self.control.window().saturating_sub(used).min(free);
        match room >= left {
            true => left as usize,
            false => (room / u64::from(self.mss) * u64::from(self.mss)) as usize,
        }
    }

    /// Writes what was measured into a conversation's record.
    pub fn report(&self, flow: &mut Flow) {
        if let Some(windows) = &self.windows {
            flow.windows.clone_from(windows);
        }
        flow.packets = self.count.sent;
        flow.resent = self.count.resent;
        flow.round_trip = self.trip.all;
    }

    /// Notes the window, if it has changed by a segment or more.
    fn note_window(&mut self, now: Time) {
        let (window, mss) = (self.control.window(), u64::from(self.mss));
        let Some(windows) = &mut self.windows else {
            return;
        };
        if windows
            .last()
            .is_some_and(|(_, last)| last.abs_diff(window) < mss)
        {
            return;
        }
        if windows.len() == WINDOWS {
            let mut index = 0;
            windows.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        windows.push((now, window));
    }

    /// A router says that `sequence` was too long: segments have at most `most` bytes of data from now on, and those in
    /// flight that have more are sent again in pieces (RFC 1191, RFC 8201). `false` for what cannot be about a segment in flight.
    pub fn too_big(&mut self, sequence: u32, most: usize) -> bool {
        let offset = sequence.wrapping_sub(self.first);
        let is_ours = !self.board.is_empty() && offset < self.next.wrapping_sub(self.first);
        if !is_ours || most as u64 >= self.mss.into() {
            return false;
        }
        self.mss = most as u32;
        self.control.set_mss(most as u64);
        self.board.split(most as u32);
        true
    }

    /// Takes the acknowledgement of a segment; `window` is the far end's. `false` if it acknowledges what was not sent.
    pub(super) fn acknowledge(&mut self, now: Time, segment: &Segment<'_>, window: u64) -> bool {
        let number = segment.acknowledgement;
        if behind(number, self.next) {
            return false;
        }
        if behind(self.first, number) {
            return true;
        }
        let mut delivered = Delivered::default();
        let flight = u64::from(self.next.wrapping_sub(self.first));
        let limited = self.is_limited();
        let lost = self.board.lost();
        let is_update = self.update_window(segment, window);
        let (first, blocks) = (self.first, segment.blocks());
        self.board
            .acknowledge(now, number, self.trip.least, &mut delivered);
        self.first = number;
        let data = number.wrapping_sub(first) as usize;
        self.buffer.consume(data.min(self.buffer.len()));
        let is_duplicate_report = self.note_duplicate(now, number, blocks);
        if self.has_sack {
            let blocks = &blocks[usize::from(is_duplicate_report)..];
            self.board
                .sack(now, blocks, self.trip.least, &mut delivered);
        }
        let is_pure = segment.length() == 0 && !is_update;
        let is_duplicate = data == 0 && is_pure && !self.board.is_empty();
        if !self.has_sack {
            self.count_duplicate(is_duplicate, &mut delivered);
        }
        if let Some(sample) = delivered.sample {
            self.trip.sample(sample);
        }
        if delivered.advanced > 0 {
            self.trip.progress();
            self.expires = (!self.board.is_empty()).then(|| now + self.trip.timeout());
        }
        self.end_probe(
            number,
            is_duplicate && blocks.is_empty(),
            is_duplicate_report,
        );
        self.judge_time_out(now, &delivered);
        self.leave_recovery(number);
        self.detect(now, delivered.advanced > 0);
        let is_new_loss = self.board.lost() > lost;
        self.respond(now, &delivered, flight, limited, is_new_loss);
        self.control.watch(number, self.next, delivered.sample);
        self.schedule_probe(now);
        self.note_window(now);
        true
    }

    /// Whether the congestion window is what holds the sender back (RFC 7661, as Linux judges it).
    fn is_limited(&self) -> bool {
        let (pipe, window) = (self.pipe(), self.control.window());
        match self.control.is_slow_start() {
            true => 2 * pipe >= window,
            false => pipe + 2 * u64::from(self.mss) >= window,
        }
    }

    fn update_window(&mut self, segment: &Segment<'_>, window: u64) -> bool {
        let (sequence, number) = (segment.sequence, segment.acknowledgement);
        let is_newer = behind(sequence, self.updated.0)
            || sequence == self.updated.0 && !behind(self.updated.1, number);
        if !is_newer {
            return false;
        }
        self.updated = (sequence, number);
        let changed = self.window != window;
        self.window = window;
        if window > 0 && self.persists.take().is_some() {
            self.trip.progress();
        }
        changed
    }

    /// Looks for the report of a duplicate in the first block (RFC 2883); `true` if there is one.
    fn note_duplicate(&mut self, now: Time, number: u32, blocks: &[(u32, u32)]) -> bool {
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
    fn count_duplicate(&mut self, is_duplicate: bool, delivered: &mut Delivered) {
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
    fn end_probe(&mut self, number: u32, is_plain_duplicate: bool, is_duplicate_report: bool) {
        let Some(probe) = &self.probe else { return };
        if behind(probe.end, number) {
            return;
        }
        let is_past = behind(number, probe.end);
        if probe.resent && is_past && !is_duplicate_report && self.recovery.is_none() {
            // The probe has repaired a loss.
            let flight = u64::from(self.next.wrapping_sub(self.first));
            self.control.reduce(flight.max(self.control.window()));
            self.control.moderate(self.pipe());
        }
        if !probe.resent || is_past || is_duplicate_report || is_plain_duplicate {
            self.probe = None;
        }
    }

    /// A time-out was wrong if what was sent before it, once, arrives now (RFC 5682).
    fn judge_time_out(&mut self, now: Time, delivered: &Delivered) {
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

    fn take_back(&mut self, now: Time) {
        if let Some(undo) = self.undo.take() {
            let pipe = self.pipe();
            self.control.undo(undo.before, pipe);
            self.recovery = None;
            self.note_window(now);
        }
    }

    fn leave_recovery(&mut self, number: u32) {
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
    fn reordering(&self) -> Time {
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

    fn detect(&mut self, now: Time, advanced: bool) {
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
    fn respond(
        &mut self,
        now: Time,
        delivered: &Delivered,
        flight: u64,
        limited: bool,
        is_new_loss: bool,
    ) {
        if self.recovery.is_none() && self.board.lost() > 0 {
            self.enter_recovery(flight);
        }
        let (pipe, mss) = (self.pipe(), u64::from(self.mss));
        match &mut self.recovery {
            Some(Recovery {
                cause: Cause::Loss(reduction),
                ..
            }) => {
                if delivered.bytes == 0 {
                    return;
                }
                let threshold = self.control.threshold();
                reduction.delivered += delivered.bytes;
                let count = match pipe > threshold {
                    true => {
                        let share = u128::from(reduction.delivered) * u128::from(threshold);
                        (share.div_ceil(reduction.flight.max(1).into()) as u64)
                            .saturating_sub(reduction.sent)
                    }
                    false => {
                        let limit = reduction.delivered.saturating_sub(reduction.sent);
                        let is_safe = delivered.advanced > 0 && !is_new_loss;
                        let limit = limit.max(delivered.bytes) + if is_safe { mss } else { 0 };
                        limit.min(threshold - pipe)
                    }
                };
                // The first retransmission leaves at once.
                let least = if reduction.sent == 0 { mss } else { 0 };
                self.control.set_window(pipe + count.max(least));
            }
            _ => {
                if limited && delivered.bytes > 0 {
                    self.control.grow(now, delivered.bytes, self.trip.mean());
                }
            }
        }
    }

    fn enter_recovery(&mut self, flight: u64) {
        let before = self.control.reduce(flight);
        self.doubtful.clear();
        self.undo = Some(Undo {
            before,
            timed_out: None,
        });
        self.recovery = Some(Recovery {
            point: self.next,
            cause: Cause::Loss(Reduction {
                flight,
                delivered: 0,
                sent: 0,
            }),
        });
        self.probe = None;
    }

    /// When something is due.
    pub fn due(&self) -> Option<Time> {
        let deadlines = [self.expires, self.probes, self.reorders, self.persists];
        deadlines.into_iter().flatten().min()
    }

    /// Acts on the deadlines that have passed.
    pub fn wake(&mut self, now: Time) {
        let is_over = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        if is_over(self.reorders) {
            self.reorders = self.board.detect(now, self.reordering());
            if self.board.lost() > 0 && self.recovery.is_none() {
                self.enter_recovery(u64::from(self.next.wrapping_sub(self.first)));
                self.control.set_window(self.pipe() + u64::from(self.mss));
            }
        }
        if is_over(self.persists) {
            self.persists = None;
            self.asks = true;
            self.trip.back_off();
        }
        if is_over(self.expires) {
            self.time_out(now);
        } else if is_over(self.probes) {
            self.probes = None;
            self.forced = true;
        }
    }

    /// The retransmission time-out has passed (RFC 6298 section 5).
    fn time_out(&mut self, now: Time) {
        self.expires = None;
        (self.probes, self.reorders, self.probe, self.forced) = (None, None, None, false);
        if self.board.is_empty() {
            return;
        }
        let is_first = match &self.recovery {
            None => true,
            // RFC 5681 section 3.1: a segment that is sent again once more reduces nothing.
            Some(Recovery {
                cause: Cause::TimeOut,
                ..
            }) => self.trip.backoff() == 0,
            Some(_) => false,
        };
        if is_first {
            let flight = u64::from(self.next.wrapping_sub(self.first));
            let before = self.control.reduce(flight);
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
        self.control
            .set_window(self.board.pipe() + u64::from(self.mss));
        self.recovery = Some(Recovery {
            point: self.next,
            cause: Cause::TimeOut,
        });
        self.trip.back_off();
        self.expires = Some(now + self.trip.timeout());
        self.note_window(now);
    }

    /// Sets the deadline of a tail loss probe (RFC 8985 section 7.2).
    fn schedule_probe(&mut self, now: Time) {
        self.probes = None;
        let is_quiet = self.recovery.is_none() && self.board.sacked() == 0 && self.probe.is_none();
        let (Some(mean), true) = (self.trip.mean(), is_quiet && self.has_sack) else {
            return;
        };
        if self.board.is_empty() {
            return;
        }
        let delay = if self.board.is_one() {
            MAX_ACK_DELAY
        } else {
            Time::ZERO
        };
        let at = now + mean * 2 + delay + Time::from_ms(2);
        self.probes = Some(self.expires.map_or(at, |expires| expires.min(at)));
        if self.expires == self.probes {
            self.probes = None;
        }
    }

    /// The next segment that may leave now; `None` if there is none.
    pub(super) fn transmit(&mut self, now: Time) -> Option<Piece> {
        if core::mem::take(&mut self.asks) {
            // A number that the far end has acknowledged before: it answers with its window.
            self.await_window(now);
            return Some(self.piece(self.first.wrapping_sub(1), 0));
        }
        if core::mem::take(&mut self.forced) {
            return self.transmit_probe(now);
        }
        if let Some((number, length)) = self.board.next_lost() {
            return self
                .fits(length.into())
                .then(|| self.resend(now, number, length));
        }
        let (length, fin) = self.next_new(now)?;
        if self.board.is_empty() && now > self.sent_last + self.trip.timeout() {
            self.control.restart();
        }
        self.fits(length as u64)
            .then(|| self.send_new(now, length, fin))
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
        let flight = u64::from(self.next.wrapping_sub(self.first));
        let open = self.window.saturating_sub(flight);
        let length = unsent.min(mss).min(open as usize);
        // RFC 9293 section 3.8.6.2.1: no small segment because of a small window.
        let is_held = length < mss && length < unsent;
        if open == 0 || is_held && !self.board.is_empty() {
            if self.board.is_empty() {
                self.await_window(now);
            }
            return None;
        }
        Some((length, ends && length == unsent))
    }

    fn await_window(&mut self, now: Time) {
        if self.persists.is_none() {
            self.persists = Some(now + self.trip.timeout());
        }
    }

    fn piece(&self, sequence: u32, length: u32) -> Piece {
        let at = sequence.wrapping_sub(self.first) as usize;
        let at = at.min(self.buffer.len());
        let data = (length as usize).min(self.buffer.len() - at);
        Piece {
            sequence,
            length: data,
            fin: length as usize > data,
            ends: at + data == self.buffer.len(),
            at,
        }
    }

    fn send_new(&mut self, now: Time, length: usize, fin: bool) -> Piece {
        let length = length as u32 + u32::from(fin);
        let sequence = self.next;
        if self.board.is_empty() {
            self.expires = Some(now + self.trip.timeout());
        }
        self.next = sequence.wrapping_add(length);
        self.fin_sent |= fin;
        self.board.push(sequence, self.next, now);
        self.note_sent(now, length);
        self.count.sent += 1;
        self.schedule_probe(now);
        self.piece(sequence, length)
    }

    fn resend(&mut self, now: Time, number: u32, length: u32) -> Piece {
        self.board.resend(number, now);
        if number == self.first {
            self.expires = Some(now + self.trip.timeout());
        }
        self.note_sent(now, length);
        (self.count.sent, self.count.resent) = (self.count.sent + 1, self.count.resent + 1);
        match self.doubtful.len() < MAX_DOUBTFUL {
            true => self.doubtful.push(number),
            false => self.undo = None,
        }
        self.piece(number, length)
    }

    fn note_sent(&mut self, now: Time, length: u32) {
        self.sent_last = now;
        if let Some(Recovery {
            cause: Cause::Loss(reduction),
            ..
        }) = &mut self.recovery
        {
            reduction.sent += u64::from(length);
        }
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

/// State of a sender, for tests.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct View {
    pub in_flight: u64,
    /// The same without what duplicate acknowledgements stand for.
    pub pipe: u64,
    pub sacked: u64,
    pub lost: u64,
    pub outstanding: u64,
    pub window: u64,
    pub first: u32,
    /// Time-outs since the last progress, in the recovery from one.
    pub time_out: Option<u32>,
}

#[cfg(test)]
impl Sender {
    pub(super) fn view(&self) -> View {
        let board = &self.board;
        let time_out = matches!(
            self.recovery,
            Some(Recovery {
                cause: Cause::TimeOut,
                ..
            })
        );
        View {
            in_flight: board.pipe(),
            pipe: self.pipe(),
            sacked: board.sacked(),
            lost: board.lost(),
            outstanding: self.next.wrapping_sub(self.first).into(),
            window: self.control.window(),
            first: self.first,
            time_out: time_out.then(|| self.trip.backoff()),
        }
    }
}
