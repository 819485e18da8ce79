//! What a sender does about loss and congestion.
//!
//! The stack makes the segments; each is kept here until it is acknowledged, and what the stack sends again by itself goes
//! no further. Found lost are segments with three others behind them in the scoreboard of selective acknowledgements (RFC
//! 6675), those before one that was sent later and has arrived (RFC 8985), and, after a timeout (RFC 6298, at least 200 ms as Linux has
//! it), all. How much may be under way: slow start, left when delays grow (RFC 9406), then Cubic (RFC 9438) or Reno (RFC 5681).

use super::timestamps::{self, Timestamps};
use super::{Congestion, Egress, HEADER, behind};
use crate::ip::{self, ETHERNET};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;
use node::outcome::Times;
use node::{Flow, Frame, Out, Time, When};

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// RFC 6928.
const INITIAL_SEGMENTS: u64 = 10;
/// RFC 6298 with Linux's least.
const LEAST_TIMEOUT: Time = Time::from_ms(200);
const FIRST_TIMEOUT: Time = Time::from_secs(1);
const MOST_TIMEOUT: Time = Time::from_secs(60);
/// RFC 9438.
const BETA: f64 = 0.7;
const C: f64 = 0.4;
/// RFC 9406: samples of a round, and the bounds of how much delays may grow.
const SAMPLES: u32 = 8;
const GROWTH: (Time, Time) = (Time::from_ms(4), Time::from_ms(16));

/// A segment that is not acknowledged.
struct Segment {
    sequence: u32,
    end: u32,
    sent: Time,
    /// It has arrived, out of order.
    sacked: bool,
    lost: bool,
    /// Whether it counts as under way.
    counted: bool,
    resent: bool,
    frame: Frame,
}

impl Segment {
    fn length(&self) -> u64 {
        self.end.wrapping_sub(self.sequence).into()
    }

    /// Takes the data before a sequence number out of it; tells how many bytes.
    fn cut_before(&mut self, number: u32) -> u64 {
        let frame = &mut self.frame;
        let Some(packet) = ip::read(frame) else {
            return 0;
        };
        let data = packet.payload + usize::from(frame[packet.payload + 12] >> 4) * 4;
        let cut = number.wrapping_sub(self.sequence) as usize;
        let cut = cut.min(packet.end.saturating_sub(data));
        frame.remove(data, cut);
        ip::shorten(frame, cut);
        self.sequence = self.sequence.wrapping_add(cut as u32);
        frame[packet.payload + 4..packet.payload + 8].copy_from_slice(&self.sequence.to_be_bytes());
        cut as u64
    }

    /// The same in pieces with at most `most` bytes of data each, in order; itself, if it has no more.
    fn into_pieces(self, most: usize, out: &mut Out) -> impl Iterator<Item = Segment> {
        let data = ip::read(&self.frame).map_or(0, |packet| {
            let header = usize::from(self.frame[packet.payload + 12] >> 4) * 4;
            packet.end.saturating_sub(packet.payload + header)
        });
        let mut pieces = VecDeque::new();
        let mut from = 0;
        while data > most && from < data {
            let mut piece = Segment {
                frame: out.copy(&self.frame),
                ..self
            };
            piece.cut_before(self.sequence.wrapping_add(from as u32));
            piece.cut_behind(most);
            from += most;
            pieces.push_back(piece);
        }
        match pieces.is_empty() {
            true => pieces.push_back(self),
            false => out.done(self.frame),
        }
        pieces.into_iter()
    }

    /// Takes the data behind so many bytes out of it, and with it the end of the stream.
    fn cut_behind(&mut self, most: usize) {
        let frame = &mut self.frame;
        let Some(packet) = ip::read(frame) else {
            return;
        };
        let data = packet.payload + usize::from(frame[packet.payload + 12] >> 4) * 4;
        let cut = packet.end.saturating_sub(data + most);
        if cut > 0 {
            frame.remove(data + most, cut);
            ip::shorten(frame, cut);
            frame[packet.payload + 13] &= !FIN;
            self.end = self.sequence.wrapping_add(most as u32);
        }
    }
}

/// One direction of a connection, as its sender sees it.
pub(crate) struct Sender {
    congestion: Congestion,
    segments: VecDeque<Segment>,
    /// The end of what was sent; `None` before the first.
    next: Option<u32>,
    /// Bytes under way.
    pipe: u64,
    sacked: usize,
    duplicates: u32,
    mss: u64,
    /// Data of a segment at most, where the way has turned out to carry less than the stack makes.
    most: Option<usize>,
    window: f64,
    threshold: f64,
    /// In recovery until this is acknowledged.
    recover: Option<u32>,
    /// When the last-sent of those that have arrived was sent.
    newest: Time,
    timeout: Time,
    smoothed: Option<(Time, Time)>,
    least: Time,
    expires: Option<Time>,
    cubic: Cubic,
    round: Round,
    /// Acknowledgement number and window as last told.
    told: [u8; 4],
    told_window: [u8; 2],
    timed_syn: Option<Time>,
    /// As long as the far end does not refuse them.
    timestamps: Option<Timestamps>,
    sent: u64,
    resent: u64,
    round_trip: Times,
    /// The window and when it became that, if that is to be kept.
    windows: Option<Vec<(Time, u64)>>,
}

/// Changes of the window that are kept; of more, every other one.
const WINDOWS: usize = 1024;

#[derive(Default)]
struct Cubic {
    most: f64,
    since: Option<Time>,
    k: f64,
    friendly: f64,
}

/// A round of slow start.
struct Round {
    end: u32,
    samples: u32,
    least: Time,
    before: Time,
}

impl Sender {
    pub fn new(congestion: Congestion, mss: usize) -> Sender {
        Sender {
            congestion,
            segments: VecDeque::new(),
            next: None,
            pipe: 0,
            sacked: 0,
            duplicates: 0,
            mss: mss as u64,
            most: None,
            window: (INITIAL_SEGMENTS * mss as u64) as f64,
            threshold: f64::MAX,
            recover: None,
            newest: Time::ZERO,
            timeout: FIRST_TIMEOUT,
            smoothed: None,
            least: Time::MAX,
            expires: None,
            cubic: Cubic::default(),
            round: Round {
                end: 0,
                samples: 0,
                least: Time::MAX,
                before: Time::MAX,
            },
            told: [0; 4],
            told_window: [0; 2],
            timed_syn: None,
            timestamps: None,
            sent: 0,
            resent: 0,
            round_trip: Times::default(),
            windows: None,
        }
    }

    /// Has it keep how the window changes.
    pub fn keep_windows(&mut self) {
        self.windows = Some(Vec::with_capacity(WINDOWS));
    }

    /// Notes the window, if it has changed by a segment or more.
    fn note_window(&mut self, now: Time) {
        let (window, mss) = (self.window as u64, self.mss);
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

    /// Has segments carry timestamps, of a clock that shows this now.
    pub fn offer_timestamps(&mut self, now: Time, shows: u32) {
        self.timestamps = Some(Timestamps::new(now, shows));
        self.set_mss(self.mss - timestamps::LENGTH as u64);
    }

    /// Before anything has been sent.
    fn set_mss(&mut self, mss: u64) {
        (self.mss, self.window) = (mss, (INITIAL_SEGMENTS * mss) as f64);
    }

    /// Bytes of options in each segment.
    pub fn options(&self) -> usize {
        self.timestamps.as_ref().map_or(0, |_| timestamps::LENGTH)
    }

    /// Fills in the timestamps of a segment that leaves.
    pub fn stamp(&mut self, now: Time, segment: &mut [u8]) {
        if let Some(timestamps) = &mut self.timestamps {
            timestamps.stamp(now, segment);
        }
    }

    /// Whether a segment that comes, and begins at `at` of its frame, is not older than what came before it; if it is, and takes up numbers, its sender is told what has
    /// come (RFC 7323 section 5.3).
    pub fn is_new(
        &mut self,
        now: Time,
        frame: &[u8],
        at: usize,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) -> bool {
        let segment = &frame[at..];
        let Some(timestamps) = &mut self.timestamps else {
            return true;
        };
        if timestamps.are_refused(segment) {
            self.timestamps = None;
            self.set_mss(self.mss + timestamps::LENGTH as u64);
            return true;
        }
        if timestamps.comes(now, segment) {
            return true;
        }
        let header = usize::from(segment[12] >> 4) * 4;
        if segment.len() > header || segment[13] & (SYN | FIN) != 0 {
            self.acknowledge(now, frame, at, egress, out);
        }
        false
    }

    /// Answers a segment with what has come so far.
    fn acknowledge(
        &mut self,
        now: Time,
        frame: &[u8],
        at: usize,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) {
        let (Some(packet), Some(next)) = (ip::read(frame), self.next) else {
            return;
        };
        let mut answer = out.frame();
        let header = HEADER + timestamps::LENGTH;
        let begins = ETHERNET + ip::header(packet.source);
        answer.resize(begins + header);
        let (own, remote) = (packet.destination, packet.source);
        ip::write_header(&mut answer, own, remote, ip::TCP);
        let segment = &mut answer[begins..];
        segment[..2].copy_from_slice(&frame[at + 2..at + 4]);
        segment[2..4].copy_from_slice(&frame[at..at + 2]);
        segment[4..8].copy_from_slice(&next.to_be_bytes());
        segment[8..12].copy_from_slice(&self.told);
        (segment[12], segment[13]) = ((header as u8 / 4) << 4, ACK);
        segment[14..16].copy_from_slice(&self.told_window);
        if let Some(options) = segment[HEADER..].first_chunk_mut() {
            timestamps::write(options);
        }
        self.stamp(now, segment);
        fill_checksum(segment, own, remote);
        egress.send(now, remote, When::Now, answer, out);
    }

    /// Puts what was measured into a conversation's record.
    pub fn report(&self, flow: &mut Flow) {
        if let Some(windows) = &self.windows {
            flow.windows.clone_from(windows);
        }
        flow.packets = self.sent + self.resent;
        flow.resent = self.resent;
        flow.round_trip = self.round_trip;
    }

    /// How many more bytes may be given to the stack, of which `queued` it has are not acknowledged: whole
    /// segments only, but for the last of all.
    pub fn room(&self, queued: usize, left: u64) -> usize {
        if self.congestion == Congestion::None {
            return usize::MAX;
        }
        let under_way = self.segments.iter().map(Segment::length);
        let kept = match (self.segments.front(), self.next) {
            (Some(front), Some(next)) => u64::from(next.wrapping_sub(front.sequence)),
            _ => under_way.sum(),
        };
        let unsent = (queued as u64).saturating_sub(kept);
        let room = (self.window as u64).saturating_sub(self.pipe + unsent);
        match room >= left {
            true => left as usize,
            false => (room / self.mss * self.mss) as usize,
        }
    }

    /// A segment leaves the stack; `false`: it has been here before, and is to go no further.
    pub fn leaves(
        &mut self,
        now: Time,
        frame: &Frame,
        at: usize,
        data: usize,
        out: &mut Out,
    ) -> bool {
        let segment = &frame[at..];
        let flags = segment[13];
        self.told.copy_from_slice(&segment[8..12]);
        self.told_window.copy_from_slice(&segment[14..16]);
        let sequence = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
        if flags & SYN != 0 {
            // The stack itself sees to these.
            self.sent += 1;
            self.resent += u64::from(self.next.is_some());
            self.timed_syn = self.next.is_none().then_some(now);
            self.next = Some(sequence.wrapping_add(1));
            return true;
        }
        let length = data as u32 + u32::from(flags & FIN);
        if length == 0 {
            return true;
        }
        let end = sequence.wrapping_add(length);
        if self.next.is_some_and(|next| !behind(end, next)) {
            return false;
        }
        if self.segments.is_empty() {
            self.expires = Some(now + self.timeout);
        }
        self.next = Some(end);
        self.sent += 1;
        self.pipe += u64::from(length);
        self.segments.push_back(Segment {
            sequence,
            end,
            sent: now,
            sacked: false,
            lost: false,
            counted: true,
            resent: false,
            frame: out.copy(frame),
        });
        true
    }

    /// The segment that has just left in pieces, if it is longer than the way carries: to be sent in its place.
    pub fn last_in_pieces(&mut self, out: &mut Out) -> Vec<Frame> {
        let Some(most) = self.most else {
            return Vec::new();
        };
        let Some(last) = self.segments.pop_back() else {
            return Vec::new();
        };
        let before = self.segments.len();
        self.segments.extend(last.into_pieces(most, out));
        let count = self.segments.len() - before;
        self.sent += count as u64 - 1;
        let (told, window) = (self.told, self.told_window);
        let pieces = self.segments.range(before..).filter(|_| count > 1);
        let frames = pieces.map(|piece| {
            let mut frame = out.copy(&piece.frame);
            refresh(&mut frame, told, window, |_| {});
            frame
        });
        frames.collect()
    }

    /// A router says that a packet with this sequence number was too long (RFC 1191, RFC 8201): from now on segments have so much data
    /// at most, and those under way that have more are sent again in pieces. `false` for what cannot be about a segment that is under way.
    pub fn too_big(&mut self, sequence: u32, most: usize, out: &mut Out) -> bool {
        let front = self.segments.front().map(|front| front.sequence);
        let is_ours = front
            .zip(self.next)
            .is_some_and(|(front, next)| !behind(front, sequence) && behind(next, sequence));
        if !is_ours || most as u64 >= self.mss {
            return false;
        }
        (self.most, self.mss) = (Some(most), most as u64);
        for segment in core::mem::take(&mut self.segments) {
            let long = segment.length() > most as u64 && !segment.sacked;
            if !long {
                self.segments.push_back(segment);
                continue;
            }
            self.pipe -= if segment.counted { segment.length() } else { 0 };
            for piece in segment.into_pieces(most, out) {
                self.segments.push_back(Segment {
                    lost: true,
                    counted: false,
                    ..piece
                });
            }
        }
        // No sign of congestion, but they are sent again as what is lost is.
        self.recover = self.next;
        true
    }

    /// A segment comes from the far end; afterwards what is lost is to be [sent again](Sender::resend).
    pub fn comes(&mut self, now: Time, segment: &[u8], out: &mut Out) {
        let flags = segment[13];
        if flags & ACK == 0 {
            return;
        }
        let number = u32::from_be_bytes([segment[8], segment[9], segment[10], segment[11]]);
        if let Some(sent) = self.timed_syn.take() {
            self.sample(now - sent);
        }
        let limited = self.pipe + 2 * self.mss >= self.window as u64;
        let (mut bytes, mut sample) = (0, None);
        while let Some(front) = self.segments.front()
            && !behind(front.end, number)
        {
            let segment = self.segments.pop_front().expect("there is one");
            bytes += segment.length();
            self.pipe -= if segment.counted { segment.length() } else { 0 };
            self.sacked -= usize::from(segment.sacked);
            if !segment.resent {
                sample = Some(now - segment.sent);
            }
            if !segment.sacked {
                self.newest = self.newest.max(segment.sent);
            }
            out.done(segment.frame);
        }
        if let Some(front) = self.segments.front_mut()
            && behind(number, front.sequence)
        {
            // The rest is sent without what has arrived, should it be lost: not every receiver finds the end of a stream behind
            // bytes that it has.
            let cut = front.cut_before(number);
            bytes += cut;
            self.pipe -= if front.counted { cut } else { 0 };
        }
        let before = self.sacked;
        self.score(segment);
        if bytes > 0 {
            self.duplicates = 0;
            self.expires = (!self.segments.is_empty()).then(|| now + self.timeout);
        } else if !self.segments.is_empty() && usize::from(segment[12] >> 4) * 4 == segment.len() {
            self.duplicates += 1;
        }
        if let Some(sample) = sample {
            self.sample(sample);
        }
        if self.recover.is_some_and(|recover| !behind(recover, number)) {
            self.recover = None;
        }
        let lost = match bytes > 0 || self.sacked > before || self.duplicates >= 3 {
            true => self.find_lost(bytes > 0),
            false => false,
        };
        if lost && self.recover.is_none() {
            self.reduce(limited);
        }
        if bytes > 0 && self.recover.is_none() && limited {
            self.grow(now, bytes);
        }
        if bytes > 0 {
            self.leave_slow_start(number, sample);
        }
        self.note_window(now);
    }

    /// Notes what has arrived out of order.
    fn score(&mut self, segment: &[u8]) {
        let mut options = segment
            .get(20..usize::from(segment[12] >> 4) * 4)
            .unwrap_or(&[]);
        while let [kind, rest @ ..] = options {
            let length = match kind {
                0 => return,
                1 => 1,
                _ => rest.first().copied().unwrap_or(0).into(),
            };
            if length == 0 || length > options.len() {
                return;
            }
            if *kind == 5 {
                for block in options[2.min(length)..length].chunks_exact(8) {
                    let word = |at: usize| {
                        u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
                    };
                    self.arrived(word(0), word(4));
                }
            }
            options = &options[length..];
        }
    }

    fn arrived(&mut self, from: u32, to: u32) {
        // They are in the order of their numbers.
        let start = self
            .segments
            .partition_point(|segment| behind(from, segment.sequence));
        for segment in self.segments.range_mut(start..) {
            if behind(segment.end, to) {
                break;
            }
            if !segment.sacked {
                segment.sacked = true;
                self.sacked += 1;
                self.newest = self.newest.max(segment.sent);
                if segment.counted {
                    segment.counted = false;
                    self.pipe -= segment.length();
                }
            }
        }
    }

    /// Marks what must be lost by now; tells whether there is something new.
    fn find_lost(&mut self, advanced: bool) -> bool {
        if self.sacked == 0 && self.recover.is_none() && self.duplicates < 3 {
            return false;
        }
        let reordering = Time::from_ps(self.least.as_ps().min(Time::from_secs(4).as_ps()) / 4);
        let (newest, recover) = (self.newest, self.recover);
        let mut above = self.sacked;
        let mut found = false;
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if segment.sacked {
                above -= 1;
                continue;
            }
            let first = index == 0
                && !segment.resent
                && (self.duplicates >= 3
                    || (advanced && recover.is_some_and(|recover| !behind(segment.end, recover))));
            let by_count = above >= 3 && !segment.resent;
            let by_time = segment.sent + reordering < newest;
            if (first || by_count || by_time) && segment.counted {
                segment.lost = true;
                segment.counted = false;
                self.pipe -= segment.length();
                found = true;
            }
            if above == 0 && recover.is_none() && index > 0 {
                break;
            }
        }
        found
    }

    /// Less may be under way from now on.
    fn reduce(&mut self, limited: bool) {
        self.recover = self.next;
        let window = match limited {
            true => self.window,
            // It never was filled.
            false => self
                .window
                .min((self.pipe + self.mss) as f64 + self.sacked as f64 * self.mss as f64),
        };
        let least = (2 * self.mss) as f64;
        let beta = match self.congestion {
            Congestion::Cubic => BETA,
            _ => 0.5,
        };
        // Fast convergence: who has less than before makes room.
        self.cubic.most = match window < self.cubic.most {
            true => window * (1.0 + BETA) / 2.0,
            false => window,
        };
        self.cubic.since = None;
        self.threshold = (window * beta).max(least);
        self.window = self.threshold;
    }

    fn grow(&mut self, now: Time, bytes: u64) {
        let mss = self.mss as f64;
        if self.window < self.threshold {
            // RFC 3465: two segments at most for each acknowledgement.
            self.window += (bytes as f64).min(2.0 * mss);
            return;
        }
        let reno = mss * bytes as f64 / self.window;
        if self.congestion != Congestion::Cubic {
            self.window += reno;
            return;
        }
        let cubic = &mut self.cubic;
        if cubic.since.is_none() {
            cubic.since = Some(now);
            cubic.friendly = self.window;
            cubic.most = cubic.most.max(self.window);
            cubic.k = libm::cbrt((cubic.most - self.window) / (C * mss));
        }
        let rtt = self.smoothed.map_or(Time::ZERO, |(mean, _)| mean);
        let t = (now - cubic.since.unwrap_or(now) + rtt).as_secs_f64() - cubic.k;
        let target = (C * mss * t * t * t + cubic.most).clamp(self.window, 1.5 * self.window);
        let alpha = match cubic.friendly < cubic.most {
            true => 3.0 * (1.0 - BETA) / (1.0 + BETA),
            false => 1.0,
        };
        cubic.friendly += alpha * reno;
        self.window += (target - self.window) * bytes as f64 / self.window;
        self.window = self.window.max(cubic.friendly);
    }

    /// Slow start ends when round trips grow, before a queue overflows.
    fn leave_slow_start(&mut self, number: u32, sample: Option<Time>) {
        if self.window >= self.threshold {
            return;
        }
        let round = &mut self.round;
        if !behind(round.end, number) {
            round.end = self.next.unwrap_or(number);
            round.before = round.least;
            round.least = Time::MAX;
            round.samples = 0;
        }
        let Some(sample) = sample else { return };
        round.least = round.least.min(sample);
        round.samples += 1;
        if round.samples >= SAMPLES && round.before < Time::MAX {
            let growth = Time::from_ps(round.before.as_ps() / 8).clamp(GROWTH.0, GROWTH.1);
            if round.least >= round.before + growth {
                self.threshold = self.window;
            }
        }
    }

    /// A round trip (RFC 6298).
    fn sample(&mut self, time: Time) {
        self.round_trip.add(time);
        self.least = self.least.min(time);
        let (mean, deviation) = match self.smoothed {
            None => (time, Time::from_ps(time.as_ps() / 2)),
            Some((mean, deviation)) => {
                let off = mean.as_ps().abs_diff(time.as_ps());
                let deviation = (3 * u128::from(deviation.as_ps()) + u128::from(off)) / 4;
                let mean = (7 * u128::from(mean.as_ps()) + u128::from(time.as_ps())) / 8;
                (Time::from_ps(mean as u64), Time::from_ps(deviation as u64))
            }
        };
        self.smoothed = Some((mean, deviation));
        let timeout =
            mean + Time::from_ps(deviation.as_ps().saturating_mul(4)).max(Time::from_ms(1));
        self.timeout = timeout.clamp(LEAST_TIMEOUT, MOST_TIMEOUT);
    }

    /// When what is under way is given up.
    pub fn expires(&self) -> Option<Time> {
        self.expires
    }

    /// Gives up what is under way if it is time; it is then to be [sent again](Sender::resend).
    pub fn expire(&mut self, now: Time) {
        if self.expires.is_none_or(|expires| expires > now) {
            return;
        }
        let repeated = self.window <= self.mss as f64 && self.recover.is_some();
        if !repeated {
            self.reduce(true);
        }
        self.recover = self.next;
        self.window = self.mss as f64;
        self.note_window(now);
        for segment in &mut self.segments {
            if !segment.sacked {
                segment.lost = true;
                segment.counted = false;
            }
        }
        self.pipe = 0;
        self.duplicates = 0;
        self.timeout = Time::from_ps(self.timeout.as_ps() * 2).min(MOST_TIMEOUT);
        self.expires = (!self.segments.is_empty()).then(|| now + self.timeout);
    }

    /// Sends again what is lost, as far as the window goes.
    pub fn resend(&mut self, now: Time, egress: &mut dyn Egress, out: &mut Out) {
        if self.recover.is_none() {
            return;
        }
        for segment in &mut self.segments {
            if !segment.lost || segment.counted || segment.sacked {
                continue;
            }
            let length = segment.length();
            if self.pipe > 0 && self.pipe + length > self.window as u64 {
                break;
            }
            segment.lost = false;
            segment.counted = true;
            segment.resent = true;
            segment.sent = now;
            self.pipe += length;
            self.resent += 1;
            self.expires = Some(now + self.timeout);
            let mut frame = out.copy(&segment.frame);
            let stamp = |segment: &mut [u8]| {
                if let Some(timestamps) = &mut self.timestamps {
                    timestamps.stamp(now, segment);
                }
            };
            let to = refresh(&mut frame, self.told, self.told_window, stamp);
            if let Some(to) = to {
                egress.send(now, to, When::Now, frame, out);
            } else {
                out.done(frame);
            }
        }
    }

    /// Gives back what is kept.
    pub fn clear(&mut self, out: &mut Out) {
        for segment in self.segments.drain(..) {
            out.done(segment.frame);
        }
    }
}

/// Puts the newest acknowledgement, and what else is new, into a kept segment; tells whom it is for.
fn refresh(
    frame: &mut Frame,
    told: [u8; 4],
    window: [u8; 2],
    stamp: impl FnOnce(&mut [u8]),
) -> Option<IpAddr> {
    let packet = ip::read(frame)?;
    let segment = &mut frame[packet.payload..packet.end];
    segment[8..12].copy_from_slice(&told);
    segment[14..16].copy_from_slice(&window);
    stamp(segment);
    fill_checksum(segment, packet.source, packet.destination);
    Some(packet.destination)
}

/// Computes a segment's checksum.
pub(super) fn fill_checksum(segment: &mut [u8], source: IpAddr, destination: IpAddr) {
    segment[16..18].fill(0);
    let sum = ip::pseudo(source, destination, ip::TCP).sum(segment.len());
    let checksum = sum.plus(segment).checksum();
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
}
