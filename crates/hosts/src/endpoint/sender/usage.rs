//! Use of the congestion window, which grows only while it is used (RFC 7661 section 4.3, as in Linux).

use super::super::behind;
use super::Sender;

/// Use of the congestion window since the data before `until` was sent.
#[derive(Default)]
pub(super) struct Usage {
    pub(super) until: u32,
    /// Maximum number of outstanding bytes.
    most: u64,
    /// The window left no room for one more segment.
    is_full: bool,
}

impl Sender {
    /// Whether the congestion window limits the sender (RFC 7661, as Linux judges it in `tcp_is_cwnd_limited`): in slow start
    /// it is twice what was used at most.
    pub(super) fn is_limited(&self) -> bool {
        let is_short = self.control.window() < 2 * self.usage.most;
        self.usage.is_full || self.control.is_slow_start() && is_short
    }

    /// Records the use of the congestion window after new data was sent: the maximum of a round trip.
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
