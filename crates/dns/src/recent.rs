//! Limits of relays: a rate for each link, and the messages of the last second, which end loops.

use crate::lru::Lru;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use node::Time;

/// Maximum number of messages that are remembered.
const MAX_MESSAGES: usize = 256;
/// How long a message is remembered: hosts repeat theirs after at least as long (RFC 6762 section 6).
const MEMORY: Time = Time::from_secs(1);

/// Why a message is not relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is a message of another link that another relay has sent, or that a host has sent on both.
    Loop,
    /// More messages than the link's rate.
    Rate,
}

/// Memory of a relay.
#[derive(Debug)]
pub struct Recent {
    messages: Lru<Arc<[u8]>, (u16, Time)>,
    /// Each link's bucket, as the time at which it was or will be empty.
    buckets: BTreeMap<u16, Time>,
    rate: u32,
}

impl Recent {
    /// With a rate of messages a second for each link; 0 counts as 1.
    pub fn new(rate: u32) -> Recent {
        Recent {
            messages: Lru::default(),
            buckets: BTreeMap::new(),
            rate: rate.max(1),
        }
    }

    /// Takes a message that has arrived on a link.
    ///
    /// # Errors
    /// When it must not be relayed.
    pub fn admit(&mut self, now: Time, link: u16, message: &[u8]) -> Result<(), Refusal> {
        let second = Time::from_secs(1);
        let interval = Time::from_ps(second.as_ps() / u64::from(self.rate));
        // A clock that begins at zero finds a full bucket.
        let clock = now + second;
        let empty = self.buckets.entry(link).or_insert(now);
        *empty = (*empty).max(now);
        if *empty + interval > clock {
            return Err(Refusal::Rate);
        }
        *empty += interval;
        if let Some((from, at)) = self.messages.get(message)
            && *from != link
            && now < *at + MEMORY
        {
            return Err(Refusal::Loop);
        }
        self.messages.insert(message.into(), (link, now));
        if self.messages.len() > MAX_MESSAGES {
            self.messages.pop_oldest();
        }
        Ok(())
    }
}
