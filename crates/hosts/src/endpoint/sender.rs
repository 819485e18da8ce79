//! Sending side of a connection: what leaves when, what is sent again, and how much may be in flight.
//!
//! Losses are found by selective acknowledgements (RFC 2018, RFC 6675), by the time that segments were sent (RACK, RFC 8985), or, with a far end
//! without these, by duplicate acknowledgements (RFC 5681, RFC 6582). A tail loss probe (RFC 8985) and the retransmission time-out (RFC 6298) find
//! the rest. Until a loss is certain, new data leaves for what arrives out of order (RFC 3042). In recovery proportional rate reduction
//! (RFC 6937) paces what leaves by what arrives; after a time-out it is slow start.
//! A reduction that proves wrong is taken back (RFC 5682, RFC 3708). After a congestion mark the window is reduced in the same way, once a
//! round trip (RFC 3168 section 6.1.2). Segments may be paced.

mod marks;
mod recovery;
mod reduction;
mod transmit;
mod usage;

use super::bbr::Ack;
use super::behind;
use super::buffer::Buffer;
use super::congestion::Control;
use super::ecn::Mode;
use super::pacing::Pacing;
use super::rate::{Rate, Snapshot};
use super::reaction::{Marks, Reaction, Report};
use super::round_trip::RoundTrip;
use super::scoreboard::{Delivered, Scoreboard};
use super::segment::Segment;
use super::{Congestion, SocketOptions, earlier};
use crate::thinned::Thinned;
use alloc::boxed::Box;
use alloc::vec::Vec;
use marks::Reduced;
use node::{Flow, Time};
use recovery::{Recovery, Undo};
use transmit::Probe;
use usage::Usage;

pub(super) use transmit::Piece;

/// Changes of the window that are kept; of more, every other one.
const WINDOWS: usize = 1024;

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
    /// SND.UNA, SND.NXT, SND.WND, SND.WL1 and SND.WL2; the widest window so far, and bytes that were acknowledged.
    first: u32,
    next: u32,
    window: u64,
    updated: (u32, u32),
    widest: u64,
    acknowledged: u64,
    usage: Usage,
    board: Scoreboard,
    mss: u32,
    /// The end of the stream is behind the buffer, and has been sent.
    finishing: bool,
    fin_sent: bool,
    /// Whether the far end reports what came out of order.
    pub has_sack: bool,
    duplicates: u64,
    recovery: Option<Recovery>,
    reaction: Reaction,
    /// A reduction after a mark is under way, and no recovery.
    reduced: Option<Reduced>,
    /// End of what was sent at the last reduction, until more is acknowledged.
    answered: Option<u32>,
    undo: Option<Undo>,
    /// Since the reduction sent again, and not reported as duplicates by the receiver.
    doubtful: Vec<u32>,
    /// RACK.reo_wnd_mult, and recoveries until it falls back to 1; the end of the round in which it grew.
    reordering: (u64, u32),
    reordering_round: Option<u32>,
    trip: RoundTrip,
    pacing: Pacing,
    /// Rates of delivery, for BBR.
    rate: Option<Box<Rate>>,
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
    /// Round trips, if these are kept.
    trips: Option<Thinned>,
}

impl Sender {
    pub fn new(options: &SocketOptions, mss: usize) -> Sender {
        let congestion = options.congestion;
        Sender {
            congestion,
            control: Control::new(congestion, mss as u64, options.initial_window),
            buffer: Buffer::default(),
            capacity: options.buffer,
            first: 0,
            next: 0,
            window: 0,
            updated: (0, 0),
            widest: 0,
            acknowledged: 0,
            usage: Usage::default(),
            board: Scoreboard::default(),
            mss: mss as u32,
            finishing: false,
            fin_sent: false,
            has_sack: false,
            duplicates: 0,
            recovery: None,
            reaction: Reaction::new(),
            reduced: None,
            answered: None,
            undo: None,
            doubtful: Vec::new(),
            reordering: (1, 0),
            reordering_round: None,
            trip: RoundTrip::new(options.min_rto),
            pacing: Pacing::new(options.pacing || congestion == Congestion::Bbr),
            rate: (congestion == Congestion::Bbr).then(Box::default),
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
            trips: None,
        }
    }

    /// Keeps how the window changes, and round trips.
    pub fn keep_windows(&mut self) {
        self.trips = Some(Thinned::default());
        self.windows = Some(Vec::with_capacity(WINDOWS));
    }

    /// Begins with the number of the first byte, segments of `mss` bytes at most, and marks that are reported in this mode.
    pub(super) fn begin(&mut self, now: Time, first: u32, mss: u32, mode: Mode) {
        self.reaction.begin(mode);
        (self.first, self.next) = (first, first);
        self.usage.until = first;
        // The SYN is acknowledged before any data.
        self.acknowledged = 1;
        self.mss = mss;
        self.control.begin(mss.into());
        self.note_window(now);
    }

    /// A segment without data has left for the first time, or again: a SYN.
    pub fn count_syn(&mut self, again: bool) {
        self.count.sent += 1;
        self.count.resent += u64::from(again);
    }

    /// A round trip was measured: that of the handshake, or of data.
    pub fn sample(&mut self, now: Time, time: Time) {
        self.trip.sample(time);
        if let Some(trips) = &mut self.trips {
            trips.push(now, time);
        }
    }

    /// The first window of the far end, of a segment with that sequence number.
    pub fn open(&mut self, sequence: u32, window: u64) {
        (self.window, self.updated) = (window, (sequence, self.first));
        self.widest = self.widest.max(window);
    }

    /// The peer reports that the SYN-ACK was marked.
    pub(super) fn count_answer(&mut self) {
        self.reaction.count_answer();
    }

    /// SND.UNA.
    pub fn first(&self) -> u32 {
        self.first
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
        if let Some(trips) = &self.trips {
            flow.round_trips = trips.points().to_vec();
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

    /// Whether an acknowledgement is of something that was sent, and not older than any that may still be under way (RFC 5961 section 5.2).
    pub fn accepts(&self, number: u32) -> bool {
        let age = u64::from(self.first.wrapping_sub(number));
        let is_old = behind(self.first, number);
        match is_old {
            true => age <= self.widest.min(self.acknowledged),
            false => !behind(number, self.next),
        }
    }

    /// Takes the acknowledgement of a segment, which is [acceptable](Sender::accepts). `window` is the far end's; `is_newer` says that by its
    /// timestamp the segment left after all before it.
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        window: u64,
        is_newer: bool,
    ) {
        let is_old = behind(self.first, segment.acknowledgement);
        // An old acknowledgement may still have new SACK blocks.
        if is_old && (!self.has_sack || segment.blocks().is_empty()) {
            return;
        }
        let number = if is_old {
            self.first
        } else {
            segment.acknowledgement
        };
        let mut delivered = Delivered::default();
        let flight = u64::from(self.next.wrapping_sub(self.first));
        let limited = self.is_limited();
        let lost = self.board.lost();
        let before = self.pipe();
        let is_update = !is_old && self.update_window(segment, window);
        let (first, blocks) = (self.first, segment.blocks());
        self.board
            .acknowledge(now, number, self.trip.least, &mut delivered);
        self.first = number;
        let data = number.wrapping_sub(first) as usize;
        self.acknowledged += data as u64;
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
            self.sample(now, sample);
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
        let report = Report {
            ace: segment.ace(),
            marked: segment.marked,
            bytes: delivered.bytes,
            packets: delivered.packets,
            is_newer,
        };
        let marks = match is_old {
            true => Marks::default(),
            false => self.reaction.take(&report, self.mss.into()),
        };
        self.control
            .estimate(number, self.next, delivered.bytes, marks.bytes);
        self.leave_recovery(number);
        self.leave_reduction(number);
        self.detect(now, delivered.advanced > 0);
        let is_new_loss = self.board.lost() > lost;
        let is_marked = marks.packets > 0 && flight > 0;
        self.respond(now, &delivered, flight, limited, is_new_loss, is_marked);
        self.model(now, &delivered, before, lost);
        self.control.watch(number, self.next, delivered.sample);
        self.schedule_probe(now);
        self.note_window(now);
    }

    /// Lets BBR take an acknowledgement; `before` bytes were in flight and `lost` were lost before it.
    fn model(&mut self, now: Time, delivered: &Delivered, before: u64, lost: u64) {
        let flight = self.pipe();
        let Some(rate) = &mut self.rate else {
            return;
        };
        let sample = rate.take(now, delivered.bytes, delivered.newest, self.trip.least);
        let ack = Ack {
            now,
            bytes: delivered.bytes,
            lost: self.board.lost().saturating_sub(lost),
            before,
            flight,
            delivered: rate.delivered(),
            round_trip: delivered.sample,
            smoothed: self.trip.mean(),
            sample,
            recovers: self.recovery.is_some(),
        };
        // Sequence numbers begin at random.
        self.control.model(&ack, u64::from(self.first >> 4));
        if self.control.bbr().is_some_and(|bbr| bbr.holds_back()) {
            rate.limit(flight);
        }
    }

    /// State for a segment that leaves, if rates are measured.
    fn snapshot(&mut self, now: Time) -> Option<Snapshot> {
        let is_idle = self.board.is_empty();
        Some(self.rate.as_mut()?.depart(now, is_idle))
    }

    /// The program has written what it has for now: rates that are measured next may be its own.
    pub fn note_program(&mut self) {
        if self.rate.is_none() {
            return;
        }
        let mss = u64::from(self.mss);
        let is_short = (self.unsent() as u64) < mss && self.board.lost() == 0;
        let pipe = self.pipe();
        let has_room = pipe + mss <= self.control.window() && self.pacing.due().is_none();
        if let Some(rate) = self.rate.as_mut().filter(|_| is_short && has_room) {
            rate.limit(pipe);
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
        self.widest = self.widest.max(window);
        if window > 0 && self.persists.take().is_some() {
            self.trip.progress();
        }
        changed
    }

    /// When something is due.
    pub fn due(&self) -> Option<Time> {
        let losses = earlier(earlier(self.expires, self.probes), self.reorders);
        earlier(losses, earlier(self.persists, self.pacing.due()))
    }

    /// Acts on the deadlines that have passed.
    pub fn wake(&mut self, now: Time) {
        let is_over = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        if is_over(self.reorders) {
            self.reorders = self.board.detect(now, self.reordering());
            if self.board.lost() > 0 && self.recovery.is_none() {
                self.enter_recovery(u64::from(self.next.wrapping_sub(self.first)), false);
                self.control.set_window(self.pipe() + u64::from(self.mss));
            }
        }
        if is_over(self.persists) {
            self.persists = None;
            self.asks = true;
            self.trip.back_off();
        }
        // A probe that is due with the time-out takes its place (RFC 8985 section 7.2).
        let probes_first = self
            .expires
            .is_none_or(|expires| Some(expires) >= self.probes);
        if is_over(self.probes) && probes_first {
            self.probes = None;
            self.forced = true;
        } else if is_over(self.expires) {
            self.time_out(now);
        }
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
    pub threshold: u64,
    /// End of the window that a mark has reduced.
    pub reduced: Option<u32>,
    pub first: u32,
    /// Time-outs since the last progress, in the recovery from one.
    pub time_out: Option<u32>,
    pub mss: u64,
    /// Linux's number of the state of congestion control: open, disorder, reduced after a mark, recovery, after a time-out.
    pub phase: u32,
    pub segments: super::scoreboard::Segments,
    pub smoothed: Time,
    pub timeout: Time,
    pub backoff: u32,
}

#[cfg(test)]
impl Sender {
    pub(super) fn reaction(&self) -> &Reaction {
        &self.reaction
    }

    pub(super) fn view(&self) -> View {
        let board = &self.board;
        let time_out = matches!(
            self.recovery,
            Some(Recovery {
                cause: recovery::Cause::TimeOut,
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
            threshold: self.control.threshold(),
            reduced: self.reduced.as_ref().map(|reduced| reduced.point),
            first: self.first,
            time_out: time_out.then(|| self.trip.backoff()),
            mss: self.mss.into(),
            phase: match (&self.recovery, &self.reduced) {
                (Some(_), _) if time_out => 4,
                (Some(_), _) => 3,
                (None, Some(_)) => 2,
                (None, None) => u32::from(board.sacked() > 0 || self.duplicates > 0),
            },
            segments: board.segments(),
            smoothed: self.trip.mean().unwrap_or(Time::ZERO),
            timeout: self.trip.timeout(),
            backoff: self.trip.backoff(),
        }
    }
}
