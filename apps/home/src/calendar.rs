//! Local time of a home: the time zone of the machine and Unix time, or in a lab a zone and a date of its own.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use node::Time;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Local time and Unix time of a home.
#[derive(Clone)]
pub struct Calendar {
    zone: TimeZone,
    unix: Arc<dyn Fn(Time) -> u64 + Send + Sync>,
}

impl Default for Calendar {
    /// Universal time, with router time as Unix time.
    fn default() -> Calendar {
        Calendar::simulated(TimeZone::UTC, 0)
    }
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendar")
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}

impl Calendar {
    /// A calendar of a zone and a function from router time to Unix time, in seconds.
    pub fn new(zone: TimeZone, unix: impl Fn(Time) -> u64 + Send + Sync + 'static) -> Calendar {
        Calendar {
            zone,
            unix: Arc::new(unix),
        }
    }

    /// A calendar whose router time starts at a Unix time, in seconds.
    pub fn simulated(zone: TimeZone, start: u64) -> Calendar {
        Calendar::new(zone, move |now| start + now.as_ns() / 1_000_000_000)
    }

    /// Unix time at a router time, seconds.
    pub fn unix(&self, now: Time) -> u64 {
        (self.unix)(now)
    }

    /// Local date and time at a Unix time.
    pub fn local(&self, unix: u64) -> DateTime {
        self.zone.to_datetime(timestamp(unix))
    }

    /// Unix time at which a local clock shows a time for the first or the last time. A time that the clock skips is the moment
    /// of the skip.
    pub fn instant(&self, local: DateTime, which: Which) -> u64 {
        let ambiguous = self.zone.to_ambiguous_timestamp(local);
        let found = match (ambiguous.offset(), which) {
            (AmbiguousOffset::Gap { .. }, _) => ambiguous.earlier().map(|before| {
                let next = self.zone.following(before).next();
                next.map_or(before, |transition| transition.timestamp())
            }),
            (_, Which::First) => ambiguous.earlier(),
            (_, Which::Last) => ambiguous.later(),
        };
        // Only dates near the ends of the calendar, in years -9999 and 9999, have no instant.
        found.map_or(0, |found| u64::try_from(found.as_second()).unwrap_or(0))
    }

    /// The last time, at or before a Unix time, at which the local clock showed a time of the day.
    pub fn last(&self, at: TimeOfDay, unix: u64) -> u64 {
        let today = self.local(unix).date();
        (-1..=3)
            .map(|back| self.instant(at.on(shifted(today, -back)), Which::First))
            .find(|instant| *instant <= unix)
            .unwrap_or(unix)
    }

    /// The first time, after a Unix time, at which the local clock shows a time of the day.
    pub fn next(&self, at: TimeOfDay, unix: u64) -> u64 {
        let today = self.local(unix).date();
        (-1..=3)
            .map(|days| self.instant(at.on(shifted(today, days)), Which::First))
            .find(|instant| *instant > unix)
            .unwrap_or(unix + 86_400)
    }
}

/// One of several times at which a clock that is set back shows the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    First,
    /// The last.
    Last,
}

fn timestamp(unix: u64) -> Timestamp {
    let seconds = i64::try_from(unix).ok();
    seconds
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(Timestamp::MAX)
}

/// A date some days later.
pub fn shifted(date: Date, days: i32) -> Date {
    date.saturating_add(jiff::Span::new().days(days))
}

/// A time of the day, in minutes from 00:00 to 24:00.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay(u16);

/// A text that is not a time of the day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time of the day; write it like 21:30, from 00:00 to 24:00")]
pub struct BadTime(pub String);

impl TimeOfDay {
    /// End of a day, 24:00.
    pub const END: TimeOfDay = TimeOfDay(24 * 60);

    /// Minutes since 00:00.
    pub fn minutes(self) -> u16 {
        self.0
    }

    /// Local date and time; 24:00 is 00:00 of the next day.
    pub fn on(self, date: Date) -> DateTime {
        let date = match self == TimeOfDay::END {
            true => shifted(date, 1),
            false => date,
        };
        let part = |value: u16| i8::try_from(value).unwrap_or(0);
        date.at(part(self.0 / 60 % 24), part(self.0 % 60), 0, 0)
    }
}

impl FromStr for TimeOfDay {
    type Err = BadTime;

    fn from_str(text: &str) -> Result<TimeOfDay, BadTime> {
        let digits = |part: &str| {
            let is_number = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<u16>().ok().filter(|_| is_number)
        };
        let parts = text.split_once(':');
        let parts = parts.and_then(|(hour, minute)| digits(hour).zip(digits(minute)));
        parts
            .filter(|(hour, minute)| *hour < 24 && *minute < 60 || (*hour, *minute) == (24, 0))
            .map(|(hour, minute)| TimeOfDay(hour * 60 + minute))
            .ok_or_else(|| BadTime(text.chars().take(32).collect()))
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = BadTime;

    fn try_from(text: String) -> Result<TimeOfDay, BadTime> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> String {
        time.to_string()
    }
}
