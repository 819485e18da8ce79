//! Bytes that arrived by a port and wait at other ports of its node.

use super::{Config, PRIORITIES, Pause, min_quanta, time_of_quanta};
use alloc::vec::Vec;
use node::{Channel, ConfigError, Time};

/// The count of one priority, or of all.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    bytes: u64,
    /// Whether the sender is paused, or will be by the next pause frame.
    is_paused: bool,
    /// Whether a pause frame must be sent.
    is_pending: bool,
    /// Time of the next repetition.
    repeat: Option<Time>,
}

/// A waiting frame.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    priority: u8,
    len: u32,
    /// Copies that have not left.
    copies: u32,
}

/// The receiver's end of pauses.
#[derive(Debug)]
pub struct Ingress {
    config: Config,
    /// Maximum bytes of a count.
    limit: u64,
    /// Half of the pause time.
    half: Time,
    /// Counts by priority; for the whole link only the first.
    counts: [Count; PRIORITIES],
    /// Waiting frames by slot, and free slots.
    waiting: Vec<Waiting>,
    vacant: Vec<u32>,
}

/// Result of a frame's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Its priority is not lossless: it does not count.
    Uncounted,
    /// It is counted until all copies that the node forwards have left.
    Counted,
    /// It exceeds the buffer.
    Overflow,
}

impl Ingress {
    /// For a port that receives on `forth` and sends on `back`.
    ///
    /// # Errors
    /// For invalid parameters, and channels without a rate.
    pub fn new(config: &Config, forth: &Channel, back: &Channel) -> Result<Ingress, ConfigError> {
        config.check(forth)?;
        config.check(back)?;
        if min_quanta(forth, back, config.mtu, config.reaction)
            .is_none_or(|least| config.quanta < least)
        {
            let reason = "a pause ends before its repetition arrives, which may wait for a frame of `mtu`: give it more quanta";
            return Err(ConfigError::new("quanta", reason));
        }
        let (Some(limit), Some(rate)) = (config.room(forth, back), forth.rate) else {
            return Err(ConfigError::new(
                "headroom",
                "more bytes than can be counted",
            ));
        };
        let time = time_of_quanta(config.quanta, rate);
        Ok(Ingress {
            limit,
            half: Time::from_ps((time.as_ps() / 2).max(1)),
            config: config.clone(),
            counts: Default::default(),
            waiting: Vec::new(),
            vacant: Vec::new(),
        })
    }

    fn index(&self, priority: u8) -> usize {
        match self.config.priorities.is_empty() {
            true => 0,
            false => usize::from(priority),
        }
    }

    /// Decides about an arriving frame of this priority, 0..=7, and length.
    pub fn admit(&self, priority: u8, len: u32) -> Admission {
        if !self.config.covers(priority.into()) {
            return Admission::Uncounted;
        }
        let bytes = self.counts[self.index(priority)].bytes;
        match bytes.saturating_add(len.into()) <= self.limit {
            true => Admission::Counted,
            false => Admission::Overflow,
        }
    }

    /// Counts a copy that the node forwards, of a frame of this priority and length. `slot` is that of an earlier copy. Returns the
    /// slot. [`remove`](Ingress::remove) must be called for each copy, and once more at the end of the node's call.
    pub fn add(&mut self, priority: u8, len: u32, slot: Option<u32>) -> u32 {
        if let Some(slot) = slot {
            self.waiting[slot as usize].copies += 1;
            return slot;
        }
        let index = self.index(priority);
        let count = &mut self.counts[index];
        count.bytes += u64::from(len);
        if count.bytes > self.config.xoff.bytes() && !count.is_paused {
            (count.is_paused, count.is_pending) = (true, true);
        }
        let frame = Waiting {
            priority,
            len,
            // The first copy, and the frame until the end of the node's call.
            copies: 2,
        };
        match self.vacant.pop() {
            Some(slot) => {
                self.waiting[slot as usize] = frame;
                slot
            }
            None => {
                self.waiting.push(frame);
                self.waiting.len() as u32 - 1
            }
        }
    }

    /// Waiting bytes of a priority, or of all if they share one count.
    pub fn bytes(&self, priority: u8) -> u64 {
        self.counts[self.index(priority)].bytes
    }

    /// Releases a copy of the frame in `slot`, which has left or was dropped; also called once after the node has sent all copies.
    pub fn remove(&mut self, slot: u32) {
        let frame = &mut self.waiting[slot as usize];
        frame.copies -= 1;
        if frame.copies > 0 {
            return;
        }
        let Waiting { priority, len, .. } = *frame;
        self.vacant.push(slot);
        let index = self.index(priority);
        let count = &mut self.counts[index];
        count.bytes -= u64::from(len);
        if count.bytes <= self.config.xon().bytes() && count.is_paused {
            (count.is_paused, count.is_pending) = (false, true);
            count.repeat = None;
        }
    }

    /// Handles a link that went down: its other end forgets all pauses.
    pub fn restart(&mut self) {
        for count in &mut self.counts {
            (count.is_pending, count.repeat) = (count.is_paused, None);
        }
    }

    /// Time at which a pause frame must be sent; `None` if none is due.
    pub fn next(&self, now: Time) -> Option<Time> {
        let due = self
            .counts
            .iter()
            .filter_map(|count| match count.is_pending {
                true => Some(now),
                false => count.repeat,
            });
        due.min()
    }

    /// The pause frame to send at `now`: one for all changes and repetitions that are due.
    pub fn poll(&mut self, now: Time) -> Option<Pause> {
        if self.next(now).is_none_or(|due| due > now) {
            return None;
        }
        let (quanta, half) = (self.config.quanta, self.half);
        let mut times = [None; PRIORITIES];
        for (time, count) in times.iter_mut().zip(&mut self.counts) {
            if count.is_pending || count.repeat.is_some_and(|due| due <= now) {
                *time = Some(if count.is_paused { quanta } else { 0 });
                count.repeat = count.is_paused.then(|| now + half);
                count.is_pending = false;
            }
        }
        Some(match self.config.priorities.is_empty() {
            true => Pause::Link(times[0].unwrap_or(0)),
            false => Pause::Priorities(times),
        })
    }
}
