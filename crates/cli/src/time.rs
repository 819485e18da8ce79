//! Times of packets for people and for JSON: a date or a word as `--time` asks.

use anyhow::{Context, ensure};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use packet::{Date, Stamp, Tick};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// Reads a tick: a time from 1 ps to 4 ms.
pub fn tick(text: &str) -> Result<Tick, String> {
    let time: node::Time = text.parse().map_err(|error| format!("{error}"))?;
    let ps = u32::try_from(time.as_ps()).ok();
    ps.and_then(Tick::from_ps)
        .ok_or_else(|| "a tick is 1 ps to 4.29 ms".into())
}

/// How times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimeForm {
    /// Date and time of day, UTC
    Utc,
    /// Date and time of day here
    Local,
    /// Seconds since the first packet
    Relative,
    /// Seconds since the packet before
    Delta,
    /// Seconds since this machine started
    Boot,
}

/// Turns stamps into times of one form. This machine's epoch makes a word a date, and a date a time since boot.
#[derive(Debug)]
pub struct Times {
    form: Option<TimeForm>,
    zone: TimeZone,
    second: Second,
    /// The zero of words, ps since 1970.
    epoch: i128,
    /// Of the first packet and of the one before, ps since 1970.
    first: Option<i128>,
    last: Option<i128>,
}

/// A second of the calendar, as it is written. Packets follow each other within a second, and the calendar takes longer than all
/// else of a line.
#[derive(Debug, Default)]
struct Second {
    /// Since 1970; `None` before the first packet.
    at: Option<i128>,
    date: String,
    /// Of its zone from UTC.
    offset: String,
}

/// A time as it is written: nine digits behind the point, or twelve where picoseconds matter.
pub struct Time<'a> {
    /// Since 1970 where there is a second.
    ps: i128,
    second: Option<&'a Second>,
}

impl Times {
    /// In the form that was asked for; if none was, dates in UTC and words in seconds since boot.
    pub fn new(form: Option<TimeForm>) -> Times {
        Times {
            form,
            zone: match form {
                Some(TimeForm::Local) => TimeZone::system(),
                _ => TimeZone::UTC,
            },
            second: Second::default(),
            epoch: i128::from(::capture::clock::epoch_ns()) * 1_000,
            first: None,
            last: None,
        }
    }

    /// The time of the next packet; one without a stamp has the word 0. `tick` is the unit of its word.
    ///
    /// # Errors
    /// When it has none in that form: a date before this machine's start since boot, one behind the year 9999.
    pub fn next(&mut self, stamp: Option<Stamp>, tick: Tick) -> anyhow::Result<Time<'_>> {
        let (at, usual) = match stamp.unwrap_or(Stamp::Word(0)) {
            // Below 2^80.
            Stamp::Date(date) => (date.as_ps() as i128, TimeForm::Utc),
            Stamp::Word(word) => (tick.ps(word) as i128 + self.epoch, TimeForm::Boot),
        };
        let first = *self.first.get_or_insert(at);
        let last = self.last.replace(at).unwrap_or(at);
        let since = |zero| Time {
            ps: at - zero,
            second: None,
        };
        Ok(match self.form.unwrap_or(usual) {
            TimeForm::Relative => since(first),
            TimeForm::Delta => since(last),
            TimeForm::Boot => {
                ensure!(
                    at >= self.epoch,
                    "a packet came {} s before this machine started; --time utc shows its date",
                    Time {
                        ps: self.epoch - at,
                        second: None
                    }
                );
                since(self.epoch)
            }
            TimeForm::Utc | TimeForm::Local => {
                self.second.set(at, &self.zone)?;
                Time {
                    ps: at,
                    second: Some(&self.second),
                }
            }
        })
    }
}

impl Second {
    /// Makes it that of a time, in ps since 1970.
    fn set(&mut self, ps: i128, zone: &TimeZone) -> anyhow::Result<()> {
        let at = ps.div_euclid(PS_PER_SECOND as i128);
        if self.at == Some(at) {
            return Ok(());
        }
        let timestamp = i64::try_from(at)
            .ok()
            .and_then(|at| Timestamp::from_second(at).ok())
            .context(
                "a packet's date is behind the year 9999; --time relative shows it in seconds",
            )?;
        let zoned = timestamp.to_zoned(zone.clone());
        self.at = Some(at);
        self.date = zoned.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        self.offset = match *zone == TimeZone::UTC {
            true => "Z".into(),
            false => zoned.strftime("%:z").to_string(),
        };
        Ok(())
    }
}

impl Time<'_> {
    /// Whether it is a number of seconds, not a date.
    pub fn is_number(&self) -> bool {
        self.second.is_none()
    }
}

impl Display for Time<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let part = |f: &mut Formatter<'_>, ps: u128| match ps % 1_000 {
            0 => write!(f, ".{:09}", ps / 1_000),
            _ => write!(f, ".{ps:012}"),
        };
        let Some(second) = self.second else {
            let (sign, ps) = (if self.ps < 0 { "-" } else { "" }, self.ps.unsigned_abs());
            write!(f, "{sign}{}", ps / PS_PER_SECOND)?;
            return part(f, ps % PS_PER_SECOND);
        };
        f.write_str(&second.date)?;
        part(f, self.ps.rem_euclid(PS_PER_SECOND as i128) as u128)?;
        f.write_str(&second.offset)
    }
}

/// A moment as a user gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Since 1970, ps.
    At(u128),
    /// Behind the first packet, ps.
    After(u128),
}

impl Moment {
    /// In ps since 1970, where the first packet came at `first`.
    pub fn ps(self, first: u128) -> u128 {
        match self {
            Moment::At(ps) => ps,
            Moment::After(ps) => first.saturating_add(ps),
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    /// Reads `+10s`, `1795298330.059649091`, `2026-11-22T10:00:00.5Z`, `2026-11-22 11:00+01:00`, and without a zone the time here.
    fn from_str(text: &str) -> Result<Moment, String> {
        if let Some(time) = text.strip_prefix('+') {
            if let Some(ps) = seconds(time) {
                return Ok(Moment::After(ps));
            }
            let time: node::Time = time.parse().map_err(|error| format!("{error}"))?;
            return Ok(Moment::After(time.as_ps().into()));
        }
        if let Some(ps) = seconds(text) {
            return Ok(Moment::At(ps));
        }
        // The calendar's nanoseconds do not hold picoseconds.
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (digits, zone) = rest.split_at(end);
        let part = match digits {
            "" => 0,
            _ => seconds(&format!("0.{digits}"))
                .ok_or("a second has up to 12 digits behind its point")?,
        };
        let whole = u128::try_from(calendar(&format!("{whole}{zone}"))?);
        let whole = whole.map_err(|_| "it is before 1970")?;
        Ok(Moment::At(whole * PS_PER_SECOND + part))
    }
}

/// Seconds since 1970 of a date and time of day.
fn calendar(text: &str) -> Result<i64, String> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_second());
    }
    let here = text.parse::<DateTime>().map_err(|_| {
        "a moment is a date such as 2026-11-22T10:00:00Z (without Z the time here), seconds since 1970, or a time \
         behind the first packet such as +1.5s"
    })?;
    let zoned = here.to_zoned(TimeZone::system());
    Ok(zoned
        .map_err(|error| error.to_string())?
        .timestamp()
        .as_second())
}

/// A plain number of seconds, up to ten digits and twelve behind the point, in ps.
fn seconds(text: &str) -> Option<u128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, most| {
        (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
    };
    if !digits(whole, 10) || !digits(part, 12) {
        return None;
    }
    let whole: u128 = whole.parse().ok()?;
    let part: u128 = format!("{part:0<12}").parse().ok()?;
    Some(whole * PS_PER_SECOND + part)
}

/// A time by which packets are moved, as a user gives it: `1.5s`, `-3600s`, or seconds as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift(i128);

impl Shift {
    /// The moment so much later or earlier, in ps since 1970.
    ///
    /// # Errors
    /// When that is before 1970, or later than a date can be.
    pub fn apply(self, at_ps: u128) -> anyhow::Result<u128> {
        let moved = (at_ps as i128).checked_add(self.0);
        let moved = moved.and_then(|at| u128::try_from(at).ok());
        let moved = moved.filter(|&at| Date::from_ps(at).is_some());
        moved.context("--shift moves a packet out of the dates there are, 1970 to the year 40,000")
    }
}

impl FromStr for Shift {
    type Err = String;

    fn from_str(text: &str) -> Result<Shift, String> {
        let (sign, time) = match text.strip_prefix(['-', '+']) {
            Some(time) if text.starts_with('-') => (-1, time),
            Some(time) => (1, time),
            None => (1, text),
        };
        let ps = match seconds(time) {
            Some(ps) => ps as i128,
            None => {
                let time: node::Time = time.parse().map_err(|error| format!("{error}"))?;
                time.as_ps().into()
            }
        };
        Ok(Shift(sign * ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(ps: u128) -> Option<Stamp> {
        Date::from_ps(ps).map(Stamp::Date)
    }

    fn told(form: Option<TimeForm>, stamps: &[Option<Stamp>]) -> Vec<String> {
        let mut times = Times::new(form);
        let mut told = |stamp| {
            times
                .next(stamp, Tick::EIGHT_NS)
                .map(|time| time.to_string())
        };
        stamps
            .iter()
            .map(|stamp| told(*stamp).unwrap_or_else(|error| error.to_string()))
            .collect()
    }

    #[test]
    fn dates_are_utc_and_words_are_seconds_unless_something_else_is_asked_for() {
        let stamps = [
            date(1_262_728_730_059_649_091_000),
            date(1_262_728_730_059_649_091_007),
            Some(Stamp::Word(125_000_001)),
            None,
        ];
        assert_eq!(
            told(None, &stamps),
            [
                "2010-01-05T21:58:50.059649091Z",
                "2010-01-05T21:58:50.059649091007Z",
                "1.000000008",
                "0.000000000",
            ]
        );
    }

    #[test]
    fn times_since_a_packet_may_be_negative() {
        let stamps = [5_000_000, 7_000_005_001_000, 2_000_000].map(date);
        assert_eq!(
            told(Some(TimeForm::Relative), &stamps),
            ["0.000000000", "7.000000001", "-0.000003000"].map(String::from)
        );
        assert_eq!(
            told(Some(TimeForm::Delta), &stamps),
            ["0.000000000", "7.000000001", "-7.000003001"].map(String::from)
        );
    }

    #[test]
    fn moments_are_exact_to_the_picosecond_and_have_many_spellings() {
        let at = 1_795_298_330_059_649_091_007;
        for text in [
            "1795298330.059649091007",
            "2026-11-21T21:58:50.059649091007Z",
            "2026-11-21 22:58:50.059649091007+01:00",
        ] {
            assert_eq!(text.parse(), Ok(Moment::At(at)), "{text}");
        }
        assert_eq!("+1.5s".parse(), Ok(Moment::After(1_500_000_000_000)));
        // A bare number is seconds.
        assert_eq!("+10".parse(), Ok(Moment::After(10_000_000_000_000)));
        assert_eq!("0".parse(), Ok(Moment::At(0)));
        for text in [
            "",
            "yesterday",
            "1.",
            "1.0000000000001",
            "1969-12-31T23:59:59Z",
            "1795298330059649091",
            "+ten",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_shift_is_exact_and_stays_within_the_dates() {
        let shift = |text: &str, at| text.parse::<Shift>().unwrap().apply(at).ok();
        assert_eq!(shift("-1 s", PS_PER_SECOND + 7), Some(7));
        assert_eq!(shift("+67.2ns", 1), Some(67_201));
        assert_eq!(
            shift("-31536000.5", 31_536_001 * PS_PER_SECOND),
            Some(PS_PER_SECOND / 2)
        );
        assert_eq!(shift("-1ps", 0), None);
        assert_eq!(shift("1ps", (1 << 80) - 1), None);
    }

    #[test]
    fn a_time_that_a_form_does_not_have_is_an_error() {
        assert!(told(Some(TimeForm::Boot), &[date(0)])[0].contains("before this machine started"));
        assert!(told(Some(TimeForm::Utc), &[date((1 << 80) - 1)])[0].contains("year 9999"));
        assert_eq!(
            told(Some(TimeForm::Relative), &[date((1 << 80) - 1)]),
            ["0.000000000"]
        );
    }
}
