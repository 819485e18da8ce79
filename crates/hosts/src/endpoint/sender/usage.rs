//! How much of the congestion window is used: it grows by that only (RFC 7661 section 4.3, in Linux's way).

use super::super::behind;
use super::Sender;

/// How much of the congestion window was used, since data before `until` was sent.
#[derive(Default)]
pub(super) struct Usage {
    pub(super) until: u32,
    /// Bytes that were outstanding at most.
    most: u64,
    /// The window left no room for one more segment.
    is_full: bool,
}

impl Sender {
    /// Whether the congestion window is what holds the sender back (RFC 7661, as Linux judges it in `tcp_is_cwnd_limited`): in slow start
    /// it is twice what was used at most.
    pub(super) fn is_limited(&self) -> bool {
        let is_short = self.control.window() < 2 * self.usage.most;
        self.usage.is_full || self.control.is_slow_start() && is_short
    }

    /// Notes how much of the congestion window is used, after new data has left: the most in a round trip.
    pub(super) fn note_usage(&mut self) {
        let outstanding = u64::from(self.next.wrapping_sub(self.first));
        let is_full = self.pipe() + u64::from(self.mss) > self.control.window();
        let is_over = !behind(self.usage.until, self.first);
        let is_more = !self.usage.is_full && outstanding > self.usage.most;
        if is_over || is_full || is_more {
            self.usage = Usage {
                until: self.next,
                most: outstanding,
                is_full,
            };
        }
    }
}
