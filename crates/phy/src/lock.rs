//! Block lock and the monitor of bad headers (figures 49-14 and 49-15).

/// The lock state machine of 49.2.9 (figure 49-14): 64 good headers in a row lock; 16 bad ones among
/// 64 lose the lock. It looks at headers only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    locked: bool,
    seen: u8,
    bad: u8,
}

impl Lock {
    /// Headers to a round.
    pub const HEADERS: u8 = 64;
    /// Bad ones among them that lose the lock.
    pub const BAD: u8 = 16;

    /// Not locked.
    pub const fn new() -> Lock {
        Lock {
            locked: false,
            seen: 0,
            bad: 0,
        }
    }

    /// Whether blocks are found.
    pub const fn is_locked(&self) -> bool {
        self.locked
    }

    /// A header came, good or bad. `true`: slip, the next block is to be looked for one bit later
    /// than it would be.
    #[inline]
    pub fn header(&mut self, good: bool) -> bool {
        self.seen += 1;
        if !good {
            self.bad += 1;
            if !self.locked || self.bad == Lock::BAD {
                *self = Lock::new();
                return true;
            }
        }
        if self.seen == Lock::HEADERS {
            self.locked |= self.bad == 0;
            (self.seen, self.bad) = (0, 0);
        }
        false
    }

    /// As many good headers came.
    pub(crate) fn good(&mut self, headers: u64) {
        let seen = u64::from(self.seen).saturating_add(headers);
        if seen >= u64::from(Lock::HEADERS) {
            // Without lock there has been no bad one: that would have been a slip.
            (self.locked, self.bad) = (true, 0);
        }
        self.seen = (seen % u64::from(Lock::HEADERS)) as u8;
    }
}

/// The bit error rate monitor of 49.2.13 (figure 49-15): 16 bad headers within 125 us are a high bit
/// error rate, which lasts until 125 us have fewer. It runs while there is block lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitor {
    high: bool,
    seen: u32,
    bad: u32,
}

impl Monitor {
    /// Blocks in 125 us.
    pub const BLOCKS: u32 = 19_531;
    /// Bad headers among them.
    pub const BAD: u32 = 16;

    /// At the start of 125 us.
    pub const fn new() -> Monitor {
        Monitor {
            high: false,
            seen: 0,
            bad: 0,
        }
    }

    /// Whether the bit error rate is high: hi_ber.
    pub const fn is_high(&self) -> bool {
        self.high
    }

    /// A header came.
    #[inline]
    pub fn header(&mut self, good: bool) {
        self.seen += 1;
        if !good {
            self.bad += 1;
            self.high |= self.bad >= Monitor::BAD;
        }
        if self.seen == Monitor::BLOCKS {
            self.high = self.bad >= Monitor::BAD;
            (self.seen, self.bad) = (0, 0);
        }
    }

    /// As many good headers came.
    pub(crate) fn good(&mut self, headers: u64) {
        let seen = u64::from(self.seen).saturating_add(headers);
        let windows = seen / u64::from(Monitor::BLOCKS);
        if windows > 0 {
            // A second window has no bad one.
            self.high = windows == 1 && self.bad >= Monitor::BAD;
            self.bad = 0;
        }
        self.seen = (seen % u64::from(Monitor::BLOCKS)) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_good_headers_at_once_are_as_one_by_one() {
        for bad in 0..20u32 {
            for lead in [0, 1, 40, 63, 64, 19_500] {
                for count in [0, 1, 23, 24, 25, 63, 64, 65, 128, 40_000] {
                    let (mut lock, mut monitor) = (Lock::new(), Monitor::new());
                    for n in 0..64 + lead {
                        lock.header(n < 64);
                        monitor.header(n >= bad);
                    }
                    let (mut at_once, mut all) = (lock.clone(), monitor.clone());
                    at_once.good(count);
                    all.good(count);
                    for _ in 0..count {
                        lock.header(true);
                        monitor.header(true);
                    }
                    assert_eq!((at_once, all), (lock, monitor), "{bad} {lead} {count}");
                }
            }
        }
    }
}
