//! A request or reply on its way, one fragment at a time.

use super::packet::{Kind, MAX_FRAGMENT_LEN, Packet};
use super::{MAX_RETRY_INTERVAL, MAX_TRIES, RETRY_INTERVAL};
use alloc::vec::Vec;
use node::Time;

/// Attempts to send a packet until it is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    tries: u32,
    pub due: Time,
}

impl Retry {
    /// The first attempt is now.
    pub fn new(now: Time) -> Retry {
        Retry { tries: 0, due: now }
    }

    /// Counts an attempt; `None` when there have been too many.
    pub fn again(&mut self, now: Time) -> Option<()> {
        if self.tries == MAX_TRIES {
            return None;
        }
        let interval = RETRY_INTERVAL * (1 << self.tries);
        self.due = now + interval.min(MAX_RETRY_INTERVAL);
        self.tries += 1;
        Some(())
    }
}

/// A message that is being sent.
#[derive(Debug)]
pub(super) struct Sending {
    pub message: Vec<u8>,
    fragment: u16,
    pub retry: Retry,
}

impl Sending {
    pub fn new(message: Vec<u8>, now: Time) -> Sending {
        Sending {
            message,
            fragment: 0,
            retry: Retry::new(now),
        }
    }

    /// The fragment that is outstanding.
    pub fn packet(&self, connection: u64, exchange: u32) -> Packet<'_> {
        let start = usize::from(self.fragment) * MAX_FRAGMENT_LEN;
        let end = self.message.len().min(start + MAX_FRAGMENT_LEN);
        let kind = match end == self.message.len() {
            true => Kind::Last,
            false => Kind::Fragment,
        };
        Packet {
            kind,
            fragment: self.fragment,
            exchange,
            connection,
            payload: &self.message[start..end],
        }
    }

    /// Handles an acknowledgement; returns whether it was for the last fragment.
    pub fn acknowledge(&mut self, fragment: u16, now: Time) -> bool {
        if fragment != self.fragment {
            return false;
        }
        let end = (usize::from(self.fragment) + 1) * MAX_FRAGMENT_LEN;
        if end >= self.message.len() {
            return true;
        }
        self.fragment += 1;
        self.retry = Retry::new(now);
        false
    }
}

/// A message that is being received.
#[derive(Debug, Default)]
pub(super) struct Receiving {
    pub message: Vec<u8>,
    /// Number of the next fragment.
    next: u16,
}

/// Result of a fragment's arrival.
pub(super) enum Arrival {
    /// It, or an earlier one, must be acknowledged.
    Acknowledge,
    /// The message is complete.
    Complete,
    /// It is out of order.
    Ignore,
    /// The message is longer than the limit.
    TooLong,
}

impl Receiving {
    /// Handles a fragment of a message of at most `most` bytes.
    pub fn fragment(&mut self, packet: &Packet<'_>, most: usize) -> Arrival {
        if packet.fragment < self.next {
            return Arrival::Acknowledge;
        }
        let is_full = packet.payload.len() == MAX_FRAGMENT_LEN;
        if packet.fragment > self.next || packet.kind == Kind::Fragment && !is_full {
            return Arrival::Ignore;
        }
        if self.message.len() + packet.payload.len() > most {
            return Arrival::TooLong;
        }
        self.message.extend_from_slice(packet.payload);
        self.next += 1;
        match packet.kind {
            Kind::Last => Arrival::Complete,
            _ => Arrival::Acknowledge,
        }
    }
}
