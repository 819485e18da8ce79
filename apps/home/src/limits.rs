//! Limits of a device or of a person: bedtime, and bytes a day.

use crate::bedtime::{Bedtime, Phase};
use crate::calendar::{Calendar, TimeOfDay};

/// Bytes a day to and from the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Bytes from one reset to the next, in both directions.
    pub bytes: u64,
    /// Local time of the reset. Default: 00:00.
    #[serde(default)]
    pub reset: TimeOfDay,
}

/// Traffic since a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Bytes to and from the Internet.
    pub bytes: u64,
    /// Unix time of the reset, seconds.
    pub since: u64,
}

/// A reason why a permitted device reaches nothing for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// All devices of its owner are paused.
    Owner,
    /// Bedtime of the device or of its owner.
    Bedtime,
    /// The quota of the device or of its owner is used up.
    Quota,
}

/// The state of a permitted device that reaches nothing for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Held {
    /// The reason.
    pub why: Why,
    /// Unix time of the end, seconds, if it is known.
    pub until: Option<u64>,
}

/// Limits, and the traffic that counts against them.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Times of the week in which the device is paused.
    pub bedtime: Bedtime,
    /// Bytes a day.
    pub quota: Option<Quota>,
    /// Traffic since the reset.
    pub used: Used,
    /// Whether `used` has changed since it was stored.
    pub is_unsaved: bool,
    /// State of the bedtime, from this Unix time on.
    phase: Option<(u64, Phase)>,
}

impl Limits {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bedtime.is_empty() && self.quota.is_none()
    }

    /// Sets the bedtime.
    pub fn set_bedtime(&mut self, bedtime: Bedtime) {
        self.bedtime = bedtime;
        self.phase = None;
    }

    /// Sets the quota. Traffic before a first quota does not count.
    pub fn set_quota(&mut self, quota: Option<Quota>) {
        if quota.is_none() {
            self.used = Used::default();
            self.is_unsaved = false;
        }
        self.quota = quota;
    }

    /// Counts bytes. Returns whether they reach the quota.
    pub fn count(&mut self, bytes: u64) -> bool {
        let Some(quota) = self.quota else {
            return false;
        };
        let before = self.used.bytes;
        self.used.bytes = before.saturating_add(bytes);
        self.is_unsaved = true;
        before < quota.bytes && self.used.bytes >= quota.bytes
    }

    /// Whether a limit is in force at a Unix time. Starts a new day of the quota when the last one is over.
    pub fn held(&mut self, calendar: &Calendar, unix: u64) -> Option<Held> {
        let by_quota = self.quota.and_then(|quota| {
            let reset = calendar.last(quota.reset, unix);
            // A clock that was wrong and is set back begins a day again only if the stored one is in the future.
            if self.used.since < reset || self.used.since > unix {
                let is_over = self.used.bytes > 0;
                self.used = Used {
                    bytes: 0,
                    since: reset,
                };
                self.is_unsaved |= is_over;
            }
            let is_used_up = self.used.bytes >= quota.bytes;
            is_used_up.then(|| Held {
                why: Why::Quota,
                until: Some(calendar.next(quota.reset, unix)),
            })
        });
        let phase = match self.phase {
            Some((from, phase)) if (from..phase.until).contains(&unix) => phase,
            _ => self.bedtime.at(calendar, unix),
        };
        self.phase = Some((unix, phase));
        let by_bedtime = phase.is_on.then_some(Held {
            why: Why::Bedtime,
            until: Some(phase.until),
        });
        // The one that ends last.
        by_quota.max_by_end(by_bedtime)
    }

    /// Unix time of the next change of the bedtime, seconds.
    pub fn next(&self) -> Option<u64> {
        let (_, phase) = self.phase?;
        (!self.bedtime.is_empty()).then_some(phase.until)
    }
}

/// Choice between two reasons.
pub trait Later: Sized {
    /// The one that ends last; one without an end lasts longest.
    fn max_by_end(self, other: Self) -> Self;
}

impl Later for Option<Held> {
    fn max_by_end(self, other: Self) -> Self {
        let end = |held: &Held| held.until.unwrap_or(u64::MAX);
        self.into_iter().chain(other).max_by_key(end)
    }
}
