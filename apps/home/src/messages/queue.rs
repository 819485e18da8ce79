//! Queues of messages, with limits on their length and rate.

use super::{Counts, Message};
use packet::ethernet::Mac;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// Maximum number of messages that wait for a destination. The oldest makes room for a new one.
const MAX_WAITING: usize = 64;
/// Time in which a device has one message of a kind, seconds.
const REPEAT: u64 = 60;
/// Messages at once, and seconds for each further one: a flood of new devices does not flood people.
const BURST: u64 = 30;
const INTERVAL: u64 = 10;

/// Limits the rate of messages.
#[derive(Default)]
pub struct Limiter {
    last: BTreeMap<(&'static str, Mac), u64>,
    /// Unix time at which the bucket is empty, seconds.
    empty: u64,
    /// Messages that were not sent.
    pub suppressed: u64,
}

impl Limiter {
    /// Whether a message may be sent at a Unix time, in seconds.
    pub fn may(&mut self, at: u64, key: (&'static str, Mac)) -> bool {
        // At most as many as the bucket lets through in this time.
        self.last.retain(|_, last| at.abs_diff(*last) < REPEAT);
        // A clock that was set back does not stop messages.
        let is_ahead = self.empty > at + INTERVAL * BURST;
        let empty = if is_ahead { at } else { self.empty.max(at) };
        let is_full = empty + INTERVAL > at + INTERVAL * BURST;
        if is_full || self.last.contains_key(&key) {
            self.suppressed += 1;
            return false;
        }
        self.empty = empty + INTERVAL;
        self.last.insert(key, at);
        true
    }
}

/// Messages for a destination, and what became of them.
#[derive(Default)]
pub struct Channel {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Message>>,
    counts: Counts,
    error: Option<String>,
}

impl Channel {
    /// Adds a message.
    pub fn push(&self, message: Arc<Message>) {
        let mut state = self.state.lock();
        if state.waiting.len() >= MAX_WAITING {
            state.waiting.pop_front();
            *state.counts.entry("dropped").or_default() += 1;
        }
        state.waiting.push_back(message);
        drop(state);
        self.arrived.notify_one();
    }

    /// Waits for a message. It stays in the queue until [`done`](Channel::done).
    pub async fn next(&self) -> Arc<Message> {
        loop {
            if let Some(message) = self.state.lock().waiting.front().cloned() {
                return message;
            }
            self.arrived.notified().await;
        }
    }

    /// Removes a message from the queue and counts its outcome.
    pub fn done(&self, message: &Arc<Message>, outcome: &'static str) {
        let mut state = self.state.lock();
        // A new one may have made it leave.
        if state
            .waiting
            .front()
            .is_some_and(|first| Arc::ptr_eq(first, message))
        {
            state.waiting.pop_front();
        }
        *state.counts.entry(outcome).or_default() += 1;
        if outcome == "sent" {
            state.error = None;
        }
    }

    /// Counts a failed attempt.
    pub fn failed(&self, error: String) {
        let mut state = self.state.lock();
        *state.counts.entry("failed_attempts").or_default() += 1;
        state.error = Some(error);
    }

    /// Forgets the messages that wait, and the last error: the destination is another.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        let count = state.waiting.len() as u64;
        state.waiting.clear();
        if count > 0 {
            *state.counts.entry("dropped").or_default() += count;
        }
        state.error = None;
    }

    /// For the API.
    pub fn view(&self) -> serde_json::Value {
        let state = self.state.lock();
        serde_json::json!({ "waiting": state.waiting.len(), "counts": state.counts, "error": state.error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(index: u16) -> Mac {
        let [a, b] = index.to_be_bytes();
        Mac([2, 0, 0, 0, a, b])
    }

    #[test]
    fn a_flood_is_limited_and_a_device_does_not_repeat_itself() {
        let mut limiter = Limiter::default();
        let at = 1_000_000;
        let sent = (0..2000)
            .filter(|index| limiter.may(at, ("asks", mac(*index))))
            .count();
        assert_eq!(sent as u64, BURST);
        assert_eq!(limiter.suppressed, 2000 - BURST);
        let later = at + 100;
        let sent = (0..50)
            .filter(|index| limiter.may(later, ("asks", mac(3000 + index))))
            .count();
        assert_eq!(sent as u64, 100 / INTERVAL);
        assert!(limiter.last.len() as u64 <= BURST + REPEAT / INTERVAL);
        let much_later = at + 10_000;
        assert!(limiter.may(much_later, ("asks", mac(1))));
        assert!(!limiter.may(much_later + 59, ("asks", mac(1))));
        assert!(limiter.may(much_later + 59, ("spoofed", mac(1))));
        assert!(limiter.may(much_later + 61, ("asks", mac(1))));
        // A clock that is set back.
        assert!(limiter.may(at, ("asks", mac(5))));
    }

    #[test]
    fn a_queue_keeps_the_newest_messages() {
        let channel = Channel::default();
        let message = |at| Message {
            kind: "test",
            at,
            device: None,
            text: String::new(),
        };
        for at in 0..100 {
            channel.push(Arc::new(message(at)));
        }
        let state = channel.state.lock();
        assert_eq!(state.waiting.len(), MAX_WAITING);
        assert_eq!(state.waiting.back().map(|message| message.at), Some(99));
        assert_eq!(state.counts["dropped"], 100 - MAX_WAITING as u64);
    }
}
