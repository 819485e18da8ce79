//! A port's link: there or not, how often it was lost, and for how long.

use ::capture::clock::now_ns;
use std::time::Duration;

/// Interval at which a link that is down is polled for its return.
pub(crate) const LINK_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// State of a port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether it is there: the interface exists, is set up, and has a carrier.
    pub up: bool,
    /// Times that it went down since the port was opened.
    pub downs: u64,
    /// Total time that it was down, up to now, ns.
    pub down_ns: u64,
}

/// Takes down what becomes of a link.
#[derive(Debug, Default)]
pub(crate) struct LinkWatch {
    /// Since when it is down, ns.
    since: Option<u64>,
    downs: u64,
    down_ns: u64,
    /// When it is looked at next while it is down, ns.
    look: u64,
}

impl LinkWatch {
    /// The link was seen like this.
    pub fn see(&mut self, up: bool) {
        match (up, self.since) {
            (false, None) => {
                self.since = Some(now_ns());
                self.downs += 1;
            }
            (true, Some(since)) => {
                self.since = None;
                self.down_ns += now_ns().saturating_sub(since);
            }
            _ => {}
        }
    }

    /// The link was lost at some time since it was seen last, though it may be back already.
    pub fn lost(&mut self) {
        self.see(false);
        self.look = 0;
    }

    /// Whether it is down and to be looked at again.
    pub fn is_due(&mut self) -> bool {
        if self.since.is_none() {
            return false;
        }
        let now = now_ns();
        let due = now >= self.look;
        if due {
            self.look = now + LINK_POLL_INTERVAL.as_nanos() as u64;
        }
        due
    }

    /// How long to wait for a frame at most, so that a return is seen.
    pub fn patience(&self, wait: Duration) -> Duration {
        match self.since {
            Some(_) => wait.min(LINK_POLL_INTERVAL),
            None => wait,
        }
    }

    /// What is known.
    pub fn link(&self) -> Link {
        let now = self.since.map_or(0, |since| now_ns().saturating_sub(since));
        Link {
            up: self.since.is_none(),
            downs: self.downs,
            down_ns: self.down_ns + now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_lost_once_until_it_returns() {
        let mut watch = LinkWatch::default();
        assert!(watch.link().up && !watch.is_due());
        watch.lost();
        watch.see(false);
        assert!(watch.is_due(), "at once");
        assert!(!watch.link().up);
        assert_eq!(watch.patience(Duration::from_secs(1)), LINK_POLL_INTERVAL);
        watch.see(true);
        watch.lost();
        watch.see(true);
        let link = watch.link();
        assert!(link.up);
        assert_eq!(link.downs, 2);
        assert_eq!(watch.link().down_ns, link.down_ns, "it counts no further");
    }
}
