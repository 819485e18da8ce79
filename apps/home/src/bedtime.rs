//! Bedtime: times of the week in which a device is paused.
//!
//! ```text
//! mon-thu 21:00-07:00     # four nights, each until the next morning
//! fri,sat 23:30-08:00
//! daily 12:00-13:00
//! ```
//!
//! A time begins when the local clock shows its beginning for the first time, and ends when it shows its end for the last time.
//! So a night has no hole when the clock is set back. A time that the clock skips is the moment of the skip.

use crate::calendar::{BadTime, Calendar, TimeOfDay, Which, shifted};
use jiff::civil::Date;
use std::fmt;
use std::str::FromStr;

/// Maximum number of times of a bedtime.
pub const MAX_WINDOWS: usize = 14;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const ALL_DAYS: u8 = 0x7F;
/// Days that are looked at after the present one.
const HORIZON: i32 = 8;

/// A text that is not a bedtime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBedtime {
    /// Not days and two times.
    #[error(
        "`{0}`: write days and times like `mon-fri 21:00-07:00`, `sat,sun 23:00-08:00` or `daily 12:00-13:00`"
    )]
    Form(String),
    /// Not a time of the day.
    #[error(transparent)]
    Time(#[from] BadTime),
    /// Beginning and end are the same.
    #[error("`{0}`: the end is the beginning; write 00:00-24:00 for a whole day")]
    Empty(String),
    /// Too many times.
    #[error("a bedtime has at most {MAX_WINDOWS} times")]
    Many,
}

/// A time on some days of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    /// Days on which it begins: bit 0 is Monday.
    days: u8,
    from: TimeOfDay,
    /// On the next day unless it is after `from`.
    until: TimeOfDay,
}

/// Times of the week in which a device is paused.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Bedtime(Vec<Window>);

/// State of a bedtime at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Whether it is in force.
    pub is_on: bool,
    /// Unix time, seconds, until which this is so; a bedtime must be looked at again then.
    pub until: u64,
}

impl Bedtime {
    /// Whether it has no times.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its state at a Unix time, in seconds.
    pub fn at(&self, calendar: &Calendar, unix: u64) -> Phase {
        let today = calendar.local(unix).date();
        let mut spans: Vec<(u64, u64)> = (-2..=HORIZON)
            .flat_map(|days| self.of(shifted(today, days)))
            .map(|(window, date)| window.span(calendar, date))
            .filter(|(from, until)| from < until && *until > unix)
            .collect();
        spans.sort_unstable();
        let horizon = calendar.instant(shifted(today, HORIZON).at(0, 0, 0, 0), Which::First);
        let mut end = unix;
        for (from, until) in &spans {
            if *from <= end {
                end = end.max(*until);
            }
        }
        let next = spans
            .iter()
            .map(|(from, _)| *from)
            .find(|from| *from > unix);
        match end > unix {
            true => Phase {
                is_on: true,
                until: end,
            },
            false => Phase {
                is_on: false,
                until: next.unwrap_or(horizon).max(unix + 1),
            },
        }
    }

    fn of(&self, date: Date) -> impl Iterator<Item = (Window, Date)> {
        let day = 1 << date.weekday().to_monday_zero_offset();
        let windows = self.0.iter().filter(move |window| window.days & day != 0);
        windows.map(move |window| (*window, date))
    }
}

impl Window {
    fn span(self, calendar: &Calendar, date: Date) -> (u64, u64) {
        let last = shifted(date, i32::from(self.until <= self.from));
        (
            calendar.instant(self.from.on(date), Which::First),
            calendar.instant(self.until.on(last), Which::Last),
        )
    }
}

impl FromStr for Window {
    type Err = BadBedtime;

    fn from_str(text: &str) -> Result<Window, BadBedtime> {
        let shown = || text.chars().take(40).collect::<String>();
        let form = || BadBedtime::Form(shown());
        let (days, times) = text.trim().split_once(' ').ok_or_else(form)?;
        let (from, until) = times.trim().split_once('-').ok_or_else(form)?;
        let (from, until): (TimeOfDay, TimeOfDay) = (from.parse()?, until.parse()?);
        if from == until || from == TimeOfDay::END {
            return Err(BadBedtime::Empty(shown()));
        }
        let days = read_days(days).ok_or_else(form)?;
        Ok(Window { days, from, until })
    }
}

/// Days such as `mon`, `fri-mon`, `sat,sun` or `daily`.
fn read_days(text: &str) -> Option<u8> {
    let text = text.to_ascii_lowercase();
    if text == "daily" {
        return Some(ALL_DAYS);
    }
    let day = |name: &str| DAYS.iter().position(|day| *day == name);
    let mut days = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        let count = (last + 7 - first) % 7;
        (first..=first + count).for_each(|day| days |= 1 << (day % 7));
    }
    Some(days)
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.days == ALL_DAYS {
            f.write_str("daily")?;
        }
        let has = |day: usize| self.days & 1 << (day % 7) != 0;
        let mut is_first = true;
        let starts = (0..7).filter(|day| self.days != ALL_DAYS && has(*day) && !has(day + 6));
        for start in starts {
            let last = (start..)
                .take_while(|day| has(*day))
                .last()
                .unwrap_or(start);
            f.write_str(if is_first { "" } else { "," })?;
            f.write_str(DAYS[start])?;
            match last - start {
                0 => {}
                1 => write!(f, ",{}", DAYS[last % 7])?,
                _ => write!(f, "-{}", DAYS[last % 7])?,
            }
            is_first = false;
        }
        write!(f, " {}-{}", self.from, self.until)
    }
}

impl TryFrom<Vec<String>> for Bedtime {
    type Error = BadBedtime;

    fn try_from(texts: Vec<String>) -> Result<Bedtime, BadBedtime> {
        if texts.len() > MAX_WINDOWS {
            return Err(BadBedtime::Many);
        }
        let windows: Result<_, _> = texts.iter().map(|text| text.parse()).collect();
        windows.map(Bedtime)
    }
}

impl From<Bedtime> for Vec<String> {
    fn from(bedtime: Bedtime) -> Vec<String> {
        bedtime.0.iter().map(Window::to_string).collect()
    }
}
