//! Segments that were sent and not yet acknowledged: what has arrived, what is lost, what is in flight.
//!
//! Selective acknowledgements mark what has arrived (RFC 2018, RFC 6675). A segment is lost when one that was sent sufficiently later has
//! arrived (RACK, RFC 8985), which finds lost retransmissions too. The cost of an acknowledgement does not grow with the window: what a
//! block had reported before is skipped, and the search for losses goes on where it ended.

use super::behind;
use super::rate::{Newest, Snapshot};
use alloc::collections::VecDeque;
use node::Time;

/// Fate of a segment, as far as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Lost,
    /// Arrived, out of order.
    Sacked,
}

/// A segment that is not acknowledged. Its sequence numbers are from `sequence` to before `end`.
#[derive(Clone, Copy)]
struct Sent {
    sequence: u32,
    end: u32,
    /// When it was sent last.
    sent: Time,
    fate: Fate,
    /// Whether it was sent more than once.
    resent: bool,
}

impl Sent {
    fn length(&self) -> u64 {
        self.end.wrapping_sub(self.sequence).into()
    }
}

/// Data that an acknowledgement reports as delivered.
#[derive(Default)]
pub(super) struct Delivered {
    /// Bytes that are known to have arrived only now.
    pub bytes: u64,
    /// Segments that are known to have arrived only now.
    pub packets: u64,
    /// Bytes by which the acknowledgement number advanced.
    pub advanced: u64,
    /// Round trip of the newest of them that was sent once.
    pub sample: Option<Time>,
    /// When the newest of them that was sent once was sent.
    pub original: Option<Time>,
    /// The one sent last of them, if rates are measured.
    pub newest: Option<Newest>,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Scoreboard {
    /// In the order of their numbers.
    segments: VecDeque<Sent>,
    /// States at their departures, one for each segment; none where no rate is measured.
    snapshots: VecDeque<Snapshot>,
    /// Bytes in flight.
    pipe: u64,
    sacked: u64,
    lost: u64,
    /// Originals before this number were judged.
    judged: u32,
    /// Retransmissions in the order of their departure, to be judged: a number, and when it was sent.
    resends: VecDeque<(u32, Time)>,
    /// No segment before this number is lost and not sent again.
    hint: u32,
    /// Blocks of the last acknowledgement.
    known: [(u32, u32); super::segment::MAX_BLOCKS],
    /// RACK.xmit_ts, RACK.end_seq, RACK.rtt: of the segment sent last of those that arrived.
    newest: Option<(Time, u32, Time)>,
    /// The highest number that has arrived; `None` before the first.
    highest: Option<u32>,
    /// Whether segments were seen to overtake each other.
    reordered: bool,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Bytes in flight: neither known to have arrived, nor lost and not sent again.
    pub fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Bytes that arrived out of order.
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Bytes that are lost and not sent again.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    pub fn is_reordered(&self) -> bool {
        self.reordered
    }

    pub fn is_one(&self) -> bool {
        self.segments.len() == 1
    }

    /// Notes a new segment, which is in flight.
    pub fn push(&mut self, sequence: u32, end: u32, now: Time, snapshot: Option<Snapshot>) {
        if self.segments.is_empty() {
            (self.judged, self.hint) = (sequence, sequence);
        }
        let sent = Sent {
            sequence,
            end,
            sent: now,
            fate: Fate::InFlight,
            resent: false,
        };
        self.pipe += sent.length();
        self.segments.push_back(sent);
        self.snapshots.extend(snapshot);
    }

    /// Takes everything before `number` off: it is acknowledged.
    pub fn acknowledge(&mut self, now: Time, number: u32, least: Time, delivered: &mut Delivered) {
        let highest = self.highest;
        while let Some(front) = self.segments.front()
            && !behind(front.end, number)
        {
            delivered.advanced += front.length();
            self.deliver(now, 0, highest, least, delivered);
            let front = self.segments.pop_front().expect("just looked at");
            self.snapshots.pop_front();
            self.sacked -= front.length();
        }
        if let Some(front) = self.segments.front_mut()
            && behind(number, front.sequence)
        {
            // A part of a segment.
            let cut = u64::from(number.wrapping_sub(front.sequence));
            front.sequence = number;
            delivered.advanced += cut;
            match front.fate {
                Fate::Sacked => self.sacked -= cut,
                Fate::InFlight => self.pipe -= cut,
                Fate::Lost => self.lost -= cut,
            }
            if front.fate != Fate::Sacked {
                delivered.bytes += cut;
            }
        }
        for number_before in [&mut self.judged, &mut self.hint] {
            if behind(number, *number_before) {
                *number_before = number;
            }
        }
        self.raise(number);
    }

    /// Marks what the blocks of a selective acknowledgement report.
    pub fn sack(
        &mut self,
        now: Time,
        blocks: &[(u32, u32)],
        least: Time,
        delivered: &mut Delivered,
    ) {
        let highest = self.highest;
        let known = core::mem::take(&mut self.known);
        let (first, last) = match (self.segments.front(), self.segments.back()) {
            (Some(first), Some(last)) => (first.sequence, last.end),
            _ => return,
        };
        let mut count = 0;
        for &(from, to) in blocks {
            let is_sane = behind(to, from) && behind(to, first) && !behind(to, last);
            if !is_sane {
                continue;
            }
            let from = if behind(first, from) { first } else { from };
            self.known[count] = (from, to);
            count += 1;
            self.sack_new((from, to), (from, to), &known, &mut |board, index| {
                board.deliver(now, index, highest, least, delivered);
            });
            self.raise(to);
        }
    }

    /// Calls `deliver` for each segment of `block` that is in `part`, and in none of the `known` blocks.
    fn sack_new(
        &mut self,
        block: (u32, u32),
        part: (u32, u32),
        known: &[(u32, u32)],
        deliver: &mut dyn FnMut(&mut Scoreboard, usize),
    ) {
        let (from, to) = part;
        if !behind(to, from) {
            return;
        }
        if let Some((&(a, b), others)) = known.split_first() {
            let is_apart = !behind(b, from) || !behind(to, a);
            if is_apart {
                return self.sack_new(block, part, others, deliver);
            }
            self.sack_new(block, (from, a), others, deliver);
            return self.sack_new(block, (b, to), others, deliver);
        }
        let mut index = self.first_ending_behind(from);
        while let Some(segment) = self.segments.get(index)
            && !behind(segment.end, block.1)
            && behind(to, segment.sequence)
        {
            if !behind(block.0, segment.sequence) {
                deliver(self, index);
            }
            index += 1;
        }
    }

    fn raise(&mut self, number: u32) {
        if self.highest.is_none_or(|highest| behind(number, highest)) {
            self.highest = Some(number);
        }
    }

    fn first_ending_behind(&self, number: u32) -> usize {
        self.segments
            .partition_point(|segment| !behind(segment.end, number))
    }

    /// A segment has arrived.
    fn deliver(
        &mut self,
        now: Time,
        index: usize,
        highest: Option<u32>,
        least: Time,
        delivered: &mut Delivered,
    ) {
        let segment = &mut self.segments[index];
        let length = segment.length();
        match core::mem::replace(&mut segment.fate, Fate::Sacked) {
            Fate::Sacked => return,
            Fate::InFlight => self.pipe -= length,
            Fate::Lost => self.lost -= length,
        }
        self.sacked += length;
        delivered.bytes += length;
        delivered.packets += 1;
        if let Some(&snapshot) = self.snapshots.get(index) {
            let (sent, end) = (segment.sent, segment.end);
            let is_newer = |newest: &Newest| {
                sent > newest.sent || sent == newest.sent && behind(end, newest.end)
            };
            if delivered.newest.as_ref().is_none_or(is_newer) {
                delivered.newest = Some(Newest {
                    sent,
                    end,
                    snapshot,
                });
            }
        }
        let trip = now - segment.sent;
        if segment.resent {
            // RFC 8985 section 6.2, step 2: it may be the first one that arrived.
            if trip < least {
                return;
            }
        } else {
            delivered.sample = Some(delivered.sample.map_or(trip, |sample| sample.min(trip)));
            delivered.original = delivered.original.max(Some(segment.sent));
            self.reordered |= highest.is_some_and(|highest| behind(highest, segment.end));
        }
        let is_newer = self.newest.is_none_or(|(sent, end, _)| {
            segment.sent > sent || segment.sent == sent && behind(segment.end, end)
        });
        if is_newer {
            self.newest = Some((segment.sent, segment.end, trip));
        }
    }

    /// Whether the segment was sent before the newest that arrived, and when it counts as lost then.
    fn lost_at(&self, segment: &Sent, reordering: Time) -> Option<Time> {
        let (sent, end, trip) = self.newest?;
        let is_before = segment.sent < sent || segment.sent == sent && behind(end, segment.end);
        is_before.then_some(segment.sent + trip + reordering)
    }

    /// Marks what must be lost by now (RFC 8985 section 6.2, step 5); returns when the next may be.
    pub fn detect(&mut self, now: Time, reordering: Time) -> Option<Time> {
        let mut next = None;
        let mut index = self.first_ending_behind(self.judged);
        while let Some(segment) = self.segments.get(index) {
            if segment.fate == Fate::InFlight && !segment.resent {
                match self.lost_at(segment, reordering) {
                    Some(at) if at <= now => self.lose(index),
                    later => {
                        next = later;
                        break;
                    }
                }
            }
            self.judged = self.segments[index].end;
            index += 1;
        }
        while let Some(&(number, sent)) = self.resends.front() {
            let index = self.first_ending_behind(number);
            let same = |segment: &&Sent| {
                segment.fate == Fate::InFlight
                    && segment.sent == sent
                    && !behind(segment.sequence, number)
            };
            if let Some(segment) = self.segments.get(index).filter(same) {
                match self.lost_at(segment, reordering) {
                    Some(at) if at <= now => self.lose(index),
                    Some(at) => {
                        next = Some(next.map_or(at, |next: Time| next.min(at)));
                        break;
                    }
                    None => break,
                }
            }
            self.resends.pop_front();
        }
        next
    }

    fn lose(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        let length = segment.length();
        if segment.fate == Fate::InFlight {
            segment.fate = Fate::Lost;
            self.pipe -= length;
            self.lost += length;
            if behind(self.hint, segment.sequence) {
                self.hint = segment.sequence;
            }
        }
    }

    /// Marks the first segment as lost; `false` if it was before, or was sent again.
    pub fn lose_first(&mut self) -> bool {
        let found = self
            .segments
            .front()
            .is_some_and(|first| first.fate == Fate::InFlight && !first.resent);
        if found {
            self.lose(0);
        }
        found
    }

    /// After a time-out: the first segment is lost, and all that were sent more than a round trip ago (RFC 8985 section 6.3).
    pub fn time_out(&mut self, now: Time, reordering: Time) {
        let is_reneged = self
            .segments
            .front()
            .is_some_and(|first| first.fate == Fate::Sacked);
        if is_reneged {
            // The receiver has thrown away what it had reported (RFC 2018 section 8).
            for segment in &mut self.segments {
                if segment.fate == Fate::Sacked {
                    segment.fate = Fate::InFlight;
                    self.pipe += segment.length();
                }
            }
            self.sacked = 0;
            self.known = Default::default();
        }
        let trip = self.newest.map_or(Time::ZERO, |(_, _, trip)| trip);
        for index in 0..self.segments.len() {
            if index == 0 || self.segments[index].sent + trip + reordering <= now {
                self.lose(index);
            }
        }
    }

    /// Takes back what was marked as lost and was not sent again.
    pub fn forgive(&mut self) {
        for segment in &mut self.segments {
            if segment.fate == Fate::Lost && !segment.resent {
                segment.fate = Fate::InFlight;
                self.pipe += segment.length();
                self.lost -= segment.length();
            }
        }
        if let Some(first) = self.segments.front() {
            self.judged = first.sequence;
        }
    }

    /// The first segment that is lost and not sent again: its number and its length.
    pub fn next_lost(&mut self) -> Option<(u32, u32)> {
        if self.lost == 0 {
            return None;
        }
        let from = self.first_ending_behind(self.hint);
        let lost = |segment: &&Sent| segment.fate == Fate::Lost;
        let found = self.segments.range(from..).find(lost)?;
        self.hint = found.sequence;
        Some((found.sequence, found.length() as u32))
    }

    /// The last segment: its number and its length.
    pub fn last(&self) -> Option<(u32, u32)> {
        let last = self.segments.back()?;
        Some((last.sequence, last.length() as u32))
    }

    /// Notes that the segment with this number is sent again.
    pub fn resend(&mut self, number: u32, now: Time, snapshot: Option<Snapshot>) {
        let index = self.first_ending_behind(number);
        if let (Some(place), Some(snapshot)) = (self.snapshots.get_mut(index), snapshot) {
            *place = snapshot;
        }
        let Some(segment) = self.segments.get_mut(index) else {
            return;
        };
        let length = segment.length();
        match core::mem::replace(&mut segment.fate, Fate::InFlight) {
            Fate::InFlight => {}
            Fate::Lost => {
                self.lost -= length;
                self.pipe += length;
            }
            Fate::Sacked => {
                self.sacked -= length;
                self.pipe += length;
            }
        }
        (segment.sent, segment.resent) = (now, true);
        self.resends.push_back((segment.sequence, now));
    }

    /// Splits the segments in flight that are longer than `most`: they did not pass and are lost.
    pub fn split(&mut self, most: u32) {
        let count = self.segments.len();
        for _ in 0..count {
            let segment = self.segments.pop_front().expect("counted");
            let snapshot = self.snapshots.pop_front();
            if segment.length() <= most.into() || segment.fate == Fate::Sacked {
                self.segments.push_back(segment);
                self.snapshots.extend(snapshot);
                continue;
            }
            if segment.fate == Fate::InFlight {
                self.pipe -= segment.length();
                self.lost += segment.length();
            }
            let mut sequence = segment.sequence;
            while sequence != segment.end {
                let left = segment.end.wrapping_sub(sequence);
                let end = sequence.wrapping_add(left.min(most));
                self.segments.push_back(Sent {
                    sequence,
                    end,
                    fate: Fate::Lost,
                    ..segment
                });
                self.snapshots.extend(snapshot);
                sequence = end;
            }
        }
        if let Some(first) = self.segments.front() {
            self.hint = first.sequence;
        }
    }
}

/// Numbers of segments, for tests.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segments {
    pub outstanding: u64,
    pub sacked: u64,
    /// Those that were sent again too.
    pub lost: u64,
    /// In flight once more.
    pub resent: u64,
}

#[cfg(test)]
impl Scoreboard {
    pub fn segments(&self) -> Segments {
        let mut count = Segments::default();
        for segment in &self.segments {
            let is_resent = segment.resent && segment.fate == Fate::InFlight;
            count.outstanding += 1;
            count.sacked += u64::from(segment.fate == Fate::Sacked);
            count.lost += u64::from(segment.fate == Fate::Lost || is_resent);
            count.resent += u64::from(is_resent);
        }
        count
    }
}
