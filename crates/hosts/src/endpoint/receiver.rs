//! Receiving side of a connection: reassembly, selective acknowledgements, the window, delayed acknowledgements.

use super::behind;
use super::buffer::Buffer;
use super::segment::MAX_BLOCKS;
use alloc::vec::Vec;
use node::Time;

/// Delay of an acknowledgement at most: Linux's lower limit, within the 500 ms of RFC 9293 section 3.8.6.3.
const DELAY: Time = Time::from_ms(40);
/// An acknowledgement that leaves at once.
const NOW: Time = Time::ZERO;
/// Segments at the begin of a connection that are acknowledged one by one, as Linux does, while the sender is in slow start.
const QUICK: u32 = 16;
/// The same after a congestion mark.
const MARKED_QUICK: u32 = 2;

/// See the [module](self).
pub(super) struct Receiver {
    /// Bytes to be read, and behind them those that came out of order, at their place.
    buffer: Buffer,
    readable: usize,
    capacity: usize,
    /// RCV.NXT.
    next: u32,
    /// Data received out of order, sorted by sequence number; no two touch.
    blocks: Vec<(u32, u32)>,
    /// A number in each of the blocks that changed last, the last one first.
    recent: Vec<u32>,
    /// A duplicate to be reported (RFC 2883).
    duplicate: Option<(u32, u32)>,
    /// The number of the end of the stream.
    end: Option<u32>,
    ended: bool,
    /// By how many bits the window is shifted.
    scale: u8,
    /// The right edge of the window that was announced.
    edge: u32,
    /// RCV.NXT of the last acknowledgement.
    acknowledged: u32,
    /// Delay of an acknowledgement at most.
    delay: Time,
    due: Option<Time>,
    largest: u32,
    quick: u32,
}

impl Receiver {
    /// With a buffer of `capacity` bytes, for a far end whose time-out is at least `min_rto`.
    pub fn new(capacity: usize, min_rto: Time) -> Receiver {
        let scale = (0..14).find(|scale| 65_535 << scale >= capacity);
        Receiver {
            buffer: Buffer::default(),
            readable: 0,
            capacity,
            next: 0,
            blocks: Vec::new(),
            recent: Vec::new(),
            duplicate: None,
            end: None,
            ended: false,
            scale: scale.unwrap_or(14),
            edge: 0,
            acknowledged: 0,
            // As in Linux less than the least time-out, which would be a false alarm otherwise.
            delay: DELAY.min(Time::from_ps(min_rto.as_ps() / 2)),
            due: None,
            largest: 1,
            quick: QUICK,
        }
    }

    /// Begins with the number behind the far end's SYN.
    pub fn begin(&mut self, next: u32) {
        (self.next, self.edge, self.acknowledged) = (next, next, next);
    }

    /// The scale that is offered.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// The far end knows no scale.
    pub fn forgo_scale(&mut self) {
        self.scale = 0;
        self.capacity = self.capacity.min(65_535);
    }

    /// The number that is expected next.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Bytes that may come.
    fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.readable) as u32
    }

    /// Whether numbers of a segment are in the window (RFC 9293 section 3.4).
    pub fn accepts(&self, sequence: u32, length: u32) -> bool {
        let offset = |number: u32| number.wrapping_sub(self.next);
        let is_in = |number: u32| offset(number) < self.room().max(1);
        match length {
            0 => is_in(sequence),
            _ => is_in(sequence) || is_in(sequence.wrapping_add(length - 1)),
        }
    }

    /// Takes data, of a segment that is in the window, and the end of the stream behind it.
    pub fn take(&mut self, now: Time, sequence: u32, payload: &[u8], fin: bool) {
        let end = sequence.wrapping_add(payload.len() as u32);
        if fin {
            self.end = Some(end);
        }
        self.largest = self.largest.max(payload.len() as u32);
        self.take_data(now, sequence, payload);
        if self.end == Some(self.next) && !self.ended {
            self.ended = true;
            self.next = self.next.wrapping_add(1);
            self.due = Some(NOW);
        } else if fin && !self.ended {
            self.due = Some(NOW);
        }
    }

    fn take_data(&mut self, now: Time, sequence: u32, payload: &[u8]) {
        let end = sequence.wrapping_add(payload.len() as u32);
        if payload.is_empty() {
            return;
        }
        // Data received before, and data beyond the window, is cut off.
        let old = match behind(self.next, sequence) {
            true => (self.next.wrapping_sub(sequence) as usize).min(payload.len()),
            false => 0,
        };
        let from = sequence.wrapping_add(old as u32);
        let room = self.room().saturating_sub(from.wrapping_sub(self.next)) as usize;
        let payload = &payload[old..];
        let payload = &payload[..payload.len().min(room)];
        if payload.is_empty() || self.ended {
            if old > 0 {
                self.duplicate = Some((sequence, end));
            }
            self.due = Some(NOW);
            return;
        }
        let to = from.wrapping_add(payload.len() as u32);
        let ahead = from.wrapping_sub(self.next) as usize;
        self.buffer.write(self.readable + ahead, payload);
        let had_gap = !self.blocks.is_empty();
        // The first part of it that has come before (RFC 2883 section 4.2).
        let duplicate = self.insert(from, to);
        match old {
            0 => self.duplicate = duplicate.or(self.duplicate),
            _ => self.duplicate = Some((sequence, from)),
        }
        if ahead == 0 {
            let (_, to) = self.blocks.remove(0);
            self.readable += to.wrapping_sub(self.next) as usize;
            self.next = to;
        } else {
            self.recent.insert(0, from);
            self.recent.truncate(MAX_BLOCKS * 2);
        }
        // RFC 5681 section 4.2: at once for what is out of order or fills a gap, and for every second segment.
        let waiting = self.next.wrapping_sub(self.acknowledged);
        let is_urgent = had_gap || ahead > 0 || waiting > self.largest || self.quick > 0;
        self.due = match is_urgent {
            true => Some(NOW),
            false => self.due.or(Some(now + self.delay)),
        };
        self.quick = self.quick.saturating_sub(1);
    }

    /// Notes a segment outside the window: it is reported if its data came before.
    pub fn note_old(&mut self, sequence: u32, payload: &[u8]) {
        let end = sequence.wrapping_add(payload.len() as u32);
        if !payload.is_empty() && !behind(end, self.next) {
            self.duplicate = Some((sequence, end));
        }
    }

    /// Notes that numbers have come; returns the first of them that had come before.
    fn insert(&mut self, from: u32, to: u32) -> Option<(u32, u32)> {
        // The first block that it touches, and the first that it does not.
        let first = self.blocks.partition_point(|&(_, end)| behind(from, end));
        let last = self
            .blocks
            .partition_point(|&(start, _)| !behind(start, to));
        if first == last {
            self.blocks.insert(first, (from, to));
            return None;
        }
        let earlier = |a: u32, b: u32| if behind(a, b) { b } else { a };
        let later = |a: u32, b: u32| if behind(a, b) { a } else { b };
        let common = self.blocks[first..last].iter();
        let mut common = common.map(|&(start, end)| (later(start, from), earlier(end, to)));
        let known = common.find(|&(start, end)| behind(end, start));
        let (start, end) = (self.blocks[first].0, self.blocks[last - 1].1);
        self.blocks[first] = (earlier(start, from), later(end, to));
        self.blocks.drain(first + 1..last);
        known
    }

    /// Asks for an acknowledgement at once.
    pub fn acknowledge_now(&mut self) {
        self.due = Some(NOW);
    }

    /// Acknowledges the next segments one by one.
    pub fn acknowledge_quickly(&mut self) {
        self.quick = self.quick.max(MARKED_QUICK);
    }

    /// The window field of an acknowledgement of no more than what came before `number`.
    pub fn window_at(&self, number: u32) -> u16 {
        (self.edge.wrapping_sub(number) >> self.scale).min(65_535) as u16
    }

    /// When an acknowledgement is due.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// The window field of a segment that leaves now and acknowledges everything so far.
    pub fn announce(&mut self) -> u16 {
        self.due = None;
        self.acknowledged = self.next;
        let open = self.edge.wrapping_sub(self.next);
        let open = if behind(self.edge, self.next) {
            open
        } else {
            0
        };
        let field = (open.max(self.room()) >> self.scale).min(65_535);
        self.edge = self.next.wrapping_add(field << self.scale);
        field as u16
    }

    /// The window field of a SYN, which is not scaled.
    pub fn first_window(&self) -> u16 {
        self.capacity.min(65_535) as u16
    }

    /// Number of blocks to report.
    pub fn blocks(&self) -> usize {
        self.blocks.len() + usize::from(self.duplicate.is_some())
    }

    /// Blocks to be reported (RFC 2018 section 4, RFC 2883): a duplicate, then those that changed last, at most `most`.
    pub fn report(&mut self, most: usize, blocks: &mut [(u32, u32); MAX_BLOCKS]) -> usize {
        let mut count = 0;
        if let Some(duplicate) = self.duplicate.take() {
            blocks[0] = duplicate;
            count = 1;
        }
        let reported = count;
        for &number in &self.recent {
            let index = self
                .blocks
                .partition_point(|&(_, end)| !behind(end, number));
            let Some(&block) = self.blocks.get(index) else {
                continue;
            };
            let is_new = !behind(block.0, number) && !blocks[reported..count].contains(&block);
            if is_new && count < most {
                blocks[count] = block;
                count += 1;
            }
        }
        if self.blocks.is_empty() {
            self.recent.clear();
        }
        count
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> usize {
        self.readable
    }

    /// The bytes to be read that are adjacent in memory.
    pub fn front(&self) -> &[u8] {
        let front = self.buffer.front();
        &front[..front.len().min(self.readable)]
    }

    /// Takes bytes off that were read.
    pub fn consume(&mut self, count: usize) {
        self.buffer.consume(count);
        self.readable -= count;
        // RFC 9293 section 3.8.6.2.2: a window that has become much larger is announced.
        let open = self.edge.wrapping_sub(self.next);
        let open = if behind(self.edge, self.next) {
            open
        } else {
            0
        };
        let gain = self.room().saturating_sub(open);
        let is_much = gain >= 2 * self.largest || gain >= self.capacity as u32 / 2;
        if is_much && self.room() / 2 >= open && !self.ended {
            self.due = Some(NOW);
        }
    }

    /// Whether the far end has sent everything, and all of it has come.
    pub fn has_ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    #[test]
    fn random_segments_are_put_together_and_reported() {
        const LENGTH: u64 = 3000;
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let start = random.bits() as u32;
            let mut receiver = Receiver::new(4000, Time::from_ms(200));
            receiver.begin(start);
            let number = |at: u64| start.wrapping_add(at as u32);
            let mut came = [false; LENGTH as usize];
            let mut read = 0;
            while read < LENGTH {
                let from = random.below(LENGTH);
                let to = (from + 1 + random.below(200)).min(LENGTH);
                let bytes: Vec<u8> = (from..to).map(|at| at as u8).collect();
                let mut new = from..to;
                let copy = new.find(|at| came[*at as usize]);
                let copy = copy.map(|begins| {
                    let mut copy = begins..to;
                    let ends = copy.find(|at| !came[*at as usize]).unwrap_or(to);
                    (number(begins), number(ends))
                });
                if receiver.accepts(number(from), bytes.len() as u32) {
                    receiver.take(Time::ZERO, number(from), &bytes, to == LENGTH);
                } else {
                    receiver.note_old(number(from), &bytes);
                }
                came[from as usize..to as usize].fill(true);
                // Data without a gap has been taken.
                let whole = came.iter().take_while(|came| **came).count() as u64;
                let end = u64::from(whole == LENGTH);
                assert_eq!(receiver.next(), number(whole + end), "seed {seed}");
                let mut blocks = [(0, 0); MAX_BLOCKS];
                let count = receiver.report(MAX_BLOCKS, &mut blocks);
                let mut blocks = &blocks[..count];
                if let Some(copy) = copy {
                    // A duplicate is reported in the first block (RFC 2883).
                    assert_eq!(blocks[0], copy, "seed {seed}");
                    blocks = &blocks[1..];
                }
                if from > whole && !blocks.is_empty() {
                    // Then the block that the segment is in (RFC 2018).
                    let (a, b) = blocks[0];
                    assert!(!behind(a, number(from)) && !behind(number(to), b));
                }
                for &(a, b) in blocks {
                    let [a, b] = [a, b].map(|edge| edge.wrapping_sub(start) as usize);
                    assert!(a > whole as usize && came[a..b].iter().all(|came| *came));
                    assert!(!came[a - 1] && (b == LENGTH as usize || !came[b]));
                }
                let front = receiver.front();
                let wanted = (read..read + front.len() as u64).map(|at| at as u8);
                assert!(wanted.eq(front.iter().copied()), "seed {seed}");
                let count = front.len().min(random.below(500) as usize);
                receiver.consume(count);
                read += count as u64;
            }
            assert!(receiver.has_ended());
        }
    }
}
