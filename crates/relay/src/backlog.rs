//! How long what leaves by a port waits, between one fact and the next.

use node::fact::{Fact, What};
use node::{Rate, Time};

/// What waits to leave by a port, as far as it is known: what the last [fact](node::fact) told, less what has left
/// since at the queue's rate, and what the node itself has sent since.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backlog {
    class: u32,
    rate: Option<Rate>,
    /// When what waits will have left.
    until: Time,
}

impl Backlog {
    /// Of a class of the port's queueing discipline; 0: of the whole of it. See [`node::fact::Queue::class`].
    pub fn of_class(class: u32) -> Backlog {
        Backlog {
            class,
            ..Backlog::default()
        }
    }

    /// Hears a fact about this port; others than those of its queue change nothing.
    pub fn hear(&mut self, fact: &Fact) {
        let What::Queue(queue) = &fact.what else {
            return;
        };
        if queue.class == self.class {
            self.rate = queue.rate;
            self.until = fact.taken + queue.wait().unwrap_or_default();
        }
    }

    /// How long a packet that is sent now waits before it begins to leave; `None` as long as no rate is known.
    pub fn wait(&self, now: Time) -> Option<Time> {
        self.rate.map(|_| self.until - now)
    }

    /// Counts a frame of so many bytes that is sent now.
    pub fn send(&mut self, now: Time, bytes: usize) {
        if let Some(rate) = self.rate {
            self.until = self.until.max(now) + rate.time_of(bytes as u64 * 8, 0).0;
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
    use node::fact::Queue;

    #[test]
    fn what_waits_leaves_at_its_rate_and_what_is_sent_joins_it() {
        let mut backlog = Backlog::default();
        assert_eq!(backlog.wait(Time::ZERO), None);
        let mut queue = Queue {
            bytes: 12_500,
            rate: Rate::from_bits_per_second(10_000_000),
            ..Queue::default()
        };
        let fact = |queue| Fact {
            taken: Time::from_ms(5),
            port: Port(0),
            what: What::Queue(queue),
        };
        backlog.hear(&fact(queue));
        // 10 ms wait at 5 ms: 8 are left at 7, none at 20.
        assert_eq!(backlog.wait(Time::from_ms(7)), Some(Time::from_ms(8)));
        assert_eq!(backlog.wait(Time::from_ms(20)), Some(Time::ZERO));
        backlog.send(Time::from_ms(7), 1_250);
        assert_eq!(backlog.wait(Time::from_ms(7)), Some(Time::from_ms(9)));
        backlog.send(Time::from_ms(30), 1_250);
        assert_eq!(backlog.wait(Time::from_ms(30)), Some(Time::from_ms(1)));
        // Another class is none of its business.
        queue.class = 0x1_0010;
        backlog.hear(&fact(queue));
        assert_eq!(backlog.wait(Time::from_ms(30)), Some(Time::from_ms(1)));
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
