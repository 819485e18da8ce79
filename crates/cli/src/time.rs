//! Times of packets for people and for JSON: a date or a word as `--time` asks.

use anyhow::{Context, ensure};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use packet::{Stamp, Tick};
use std::fmt::{self, Display, Formatter};

const PS_PER_SECOND: u128 = 1_000_000_000_000;

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
    /// The zero of words, ps since 1970.
    epoch: i128,
    /// Of the first packet and of the one before, ps since 1970.
    first: Option<i128>,
    last: Option<i128>,
}

/// A time as it is written: nine digits behind the point, or twelve where picoseconds matter.
pub struct Time<'a> {
    /// Since 1970 where there is a zone.
    ps: i128,
    zone: Option<&'a TimeZone>,
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
            epoch: i128::from(live::clock::epoch_ns()) * 1_000,
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
            zone: None,
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
                        zone: None
                    }
                );
                since(self.epoch)
            }
            TimeForm::Utc | TimeForm::Local => {
                timestamp(at)?;
                Time {
                    ps: at,
                    zone: Some(&self.zone),
                }
            }
        })
    }
}

/// The whole seconds of a time since 1970.
fn timestamp(ps: i128) -> anyhow::Result<Timestamp> {
    let seconds = i64::try_from(ps.div_euclid(PS_PER_SECOND as i128)).ok();
    seconds
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .context("a packet's date is behind the year 9999; --time relative shows it in seconds")
}

impl Time<'_> {
    /// Whether it is a number of seconds, not a date.
    pub fn is_number(&self) -> bool {
        self.zone.is_none()
    }
}

impl Display for Time<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let part = |f: &mut Formatter<'_>, ps: u128| match ps % 1_000 {
            0 => write!(f, ".{:09}", ps / 1_000),
            _ => write!(f, ".{ps:012}"),
        };
        let Some(zone) = self.zone else {
            let (sign, ps) = (if self.ps < 0 { "-" } else { "" }, self.ps.unsigned_abs());
            write!(f, "{sign}{}", ps / PS_PER_SECOND)?;
            return part(f, ps % PS_PER_SECOND);
        };
        // `next` has seen that there is such a time.
        let at = timestamp(self.ps)
            .map_err(|_| fmt::Error)?
            .to_zoned(zone.clone());
        write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M:%S"))?;
        part(f, self.ps.rem_euclid(PS_PER_SECOND as i128) as u128)?;
        match *zone == TimeZone::UTC {
            true => f.write_str("Z"),
            false => write!(f, "{}", at.strftime("%:z")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Date;

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
    fn a_time_that_a_form_does_not_have_is_an_error() {
        assert!(told(Some(TimeForm::Boot), &[date(0)])[0].contains("before this machine started"));
        assert!(told(Some(TimeForm::Utc), &[date((1 << 80) - 1)])[0].contains("year 9999"));
        assert_eq!(
            told(Some(TimeForm::Relative), &[date((1 << 80) - 1)]),
            ["0.000000000"]
        );
    }
}
