//! How long what leaves by a port waits, between one fact and the next.

use node::event::{Event, Queue, What};
use node::{Rate, Time};

/// Frames that are remembered until a fact is younger: a reading that takes longer than these misses the others.
const REMEMBERED: usize = 128;

/// What waits to leave by a port, as far as it is known: what the last [fact](node::event) told, less what has left
/// since at the queue's rate, and what the node itself has sent since.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    class: u32,
    rate: Option<Rate>,
    /// Bytes that each packet costs besides its own.
    overhead: u32,
    /// The rate, whatever facts tell.
    given: Option<Rate>,
    /// When what waits will have left.
    until: Time,
    /// What was sent last: when, when it was to leave, and how long it takes to. The oldest is at `next`.
    sent: [(Time, Time, Time); REMEMBERED],
    next: usize,
}

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog {
            class: 0,
            rate: None,
            overhead: 0,
            given: None,
            until: Time::ZERO,
            sent: [(Time::ZERO, Time::ZERO, Time::ZERO); REMEMBERED],
            next: 0,
        }
    }
}

impl Backlog {
    /// Of a class of the port's queueing discipline; 0: of the whole of it. See [`node::event::Queue::class`].
    pub fn of_class(class: u32) -> Backlog {
        Backlog {
            class,
            ..Backlog::default()
        }
    }

    /// With this rate, if it is some, in place of what facts tell: that of a bottleneck behind the port, or of a queue
    /// of which none is told.
    #[must_use]
    pub fn with_rate(self, given: Option<Rate>) -> Backlog {
        let rate = given.or(self.rate);
        Backlog {
            given,
            rate,
            ..self
        }
    }

    /// Hears a fact about this port; others than those of its queue change nothing.
    pub fn update(&mut self, event: &Event) {
        let What::Queue(queue) = &event.what else {
            return;
        };
        if queue.class != self.class {
            return;
        }
        self.rate = self.given.or(queue.rate);
        self.overhead = queue.overhead;
        let queue = Queue {
            rate: self.rate,
            ..*queue
        };
        self.until = event.at + queue.wait().unwrap_or_default();
        // The fact may be older than what was sent last, which then is not in it.
        let (newer, older) = self.sent.split_at(self.next);
        for &(_, leaves, takes) in older
            .iter()
            .chain(newer)
            .filter(|(sent, ..)| *sent > event.at)
        {
            self.until = self.until.max(leaves) + takes;
        }
    }

    /// How long a packet that is sent now waits before it begins to leave; `None` as long as no rate is known.
    pub fn wait(&self, now: Time) -> Option<Time> {
        self.rate.map(|_| self.until - now)
    }

    /// Counts a frame of so many bytes that is sent now.
    pub fn send(&mut self, now: Time, bytes: usize) {
        self.send_at(now, now, bytes);
    }

    /// Counts a frame of so many bytes that is sent now, to leave at a time that is not before that of the frame sent last.
    pub fn send_at(&mut self, now: Time, leaves: Time, bytes: usize) {
        if let Some(rate) = self.rate {
            let bytes = bytes as u64 + u64::from(self.overhead);
            let takes = rate.time_of(bytes * 8, 0).0;
            self.until = self.until.max(leaves) + takes;
            self.sent[self.next] = (now, leaves, takes);
            self.next = (self.next + 1) % REMEMBERED;
        }
    }

    /// The rate at which the queue empties, where it is known.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }
}

/// Reads the number of a class as `tc` writes it, `1:10`: two hexadecimal numbers of 16 bits; `0`: the whole queue.
///
/// # Errors
/// When it is none.
pub fn class_from_text(text: &str) -> Result<u32, &'static str> {
    const WANTED: &str = "a class is written as tc does, such as \"1:10\"";
    if text.trim() == "0" {
        return Ok(0);
    }
    let (major, minor) = text.trim().split_once(':').ok_or(WANTED)?;
    let part = |text: &str| match text.bytes().all(|c| c.is_ascii_hexdigit()) {
        true => u16::from_str_radix(text, 16).map_err(|_| WANTED),
        false => Err(WANTED),
    };
    let major = part(major)?;
    let minor = if minor.is_empty() { 0 } else { part(minor)? };
    Ok(u32::from(major) << 16 | u32::from(minor))
}

/// Reads a class from a file.
#[cfg(feature = "serde")]
pub(crate) fn read_class<'de, D: serde::Deserializer<'de>>(input: D) -> Result<u32, D::Error> {
    use serde::{Deserialize, de::Error};
    let text = alloc::string::String::deserialize(input)?;
    class_from_text(&text).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::Port;

    #[test]
    fn what_waits_leaves_at_its_rate_and_what_is_sent_joins_it() {
        let mut backlog = Backlog::default();
        assert_eq!(backlog.wait(Time::ZERO), None);
        let mut queue = Queue {
            bytes: 12_500,
            rate: Rate::from_bits_per_second(10_000_000),
            ..Queue::default()
        };
        let event = |queue| Event {
            at: Time::from_ms(5),
            port: Port(0),
            what: What::Queue(queue),
        };
        backlog.update(&event(queue));
        // 10 ms wait at 5 ms: 8 are left at 7, none at 20.
        assert_eq!(backlog.wait(Time::from_ms(7)), Some(Time::from_ms(8)));
        assert_eq!(backlog.wait(Time::from_ms(20)), Some(Time::ZERO));
        backlog.send(Time::from_ms(7), 1_250);
        assert_eq!(backlog.wait(Time::from_ms(7)), Some(Time::from_ms(9)));
        backlog.send(Time::from_ms(30), 1_250);
        assert_eq!(backlog.wait(Time::from_ms(30)), Some(Time::from_ms(1)));
        // Another class is none of its business.
        queue.class = 0x1_0010;
        backlog.update(&event(queue));
        assert_eq!(backlog.wait(Time::from_ms(30)), Some(Time::from_ms(1)));
    }

    #[test]
    fn what_was_sent_after_a_fact_was_taken_joins_it() {
        let rate = Rate::from_bits_per_second(10_000_000);
        let mut backlog = Backlog::default().with_rate(rate);
        for ms in 0..300 {
            backlog.send(Time::from_ms(ms), 1_250);
        }
        // Nothing waited at 297 ms; of the frames of 1 ms each, those of 298 and 299 ms are not in that.
        backlog.update(&Event {
            at: Time::from_ms(297),
            port: Port(0),
            what: What::Queue(Queue::default()),
        });
        assert_eq!(backlog.rate(), rate);
        assert_eq!(backlog.wait(Time::from_ms(299)), Some(Time::from_ms(1)));
    }

    #[test]
    fn classes_read_as_tc_writes_them() {
        assert_eq!(class_from_text("1:10"), Ok(0x0001_0010));
        assert_eq!(class_from_text("ffff:"), Ok(0xFFFF_0000));
        assert_eq!(class_from_text("0"), Ok(0));
        for wrong in ["", "1", ":10", "1:10000", "x:1", "+1:1"] {
            assert!(class_from_text(wrong).is_err(), "{wrong}");
        }
    }
}
