//! Delays from a list.
//!
//! A text, a line for each entry; what stands behind # is left out. Either a delay on each line, for one
//! frame after the other and then from the start again, `lost` for a frame that does not arrive:
//!
//! ```text
//! 10 ms
//! 12.5ms
//! lost
//! ```
//!
//! or a time and a delay, which holds from that time of the run on:
//!
//! ```text
//! 0    20ms
//! 1.5s 35ms
//! ```

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use node::Time;

/// Maximum number of lines of a list of delays.
const MAX_LINES: usize = 1 << 22;

/// Error of a list of delays, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line that says nothing known.
    #[error(
        "line {0}: \"{1}\" is neither a delay such as 10ms, nor `lost`, nor a time and a delay such as 1.5s 10ms"
    )]
    Unknown(usize, String),
    /// A time below the one before it.
    #[error("line {0}: the times are to be in order")]
    Order(usize),
    /// Lines of both kinds.
    #[error("line {0}: either every line has a delay alone, or every line a time and a delay")]
    Mixed(usize),
    /// More lines than a list has.
    #[error("line {0}: more than {MAX_LINES} lines")]
    TooMany(usize),
    /// No delay at all.
    #[error("there is no delay in it")]
    Empty,
}

/// Delays in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// To be read from this file.
    File(String),
    /// One for each frame in turn; `None`: lost. Never empty.
    Frames(Vec<Option<Time>>),
    /// From each time on, in order; before the first it is that one too. Never empty.
    Steps(Vec<(Time, Time)>),
}

impl Trace {
    /// Reads the list.
    ///
    /// # Errors
    /// The line that is wrong, and why.
    pub fn from_text(text: &str) -> Result<Trace, TraceError> {
        let (mut frames, mut steps) = (Vec::new(), Vec::new());
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            if line == "lost" {
                frames.push(None);
            } else if let Ok(time) = line.parse::<Time>() {
                frames.push(Some(time));
            } else {
                let text = || line.to_string();
                let (at, delay) = two(line).ok_or_else(|| TraceError::Unknown(number, text()))?;
                if steps.last().is_some_and(|&(last, _)| at < last) {
                    return Err(TraceError::Order(number));
                }
                steps.push((at, delay));
            }
            if !frames.is_empty() && !steps.is_empty() {
                return Err(TraceError::Mixed(number));
            }
            if frames.len() + steps.len() > MAX_LINES {
                return Err(TraceError::TooMany(number));
            }
        }
        match (frames.is_empty(), steps.is_empty()) {
            (false, _) => Ok(Trace::Frames(frames)),
            (_, false) => Ok(Trace::Steps(steps)),
            _ => Err(TraceError::Empty),
        }
    }

    /// No frame takes less.
    pub fn least(&self) -> Time {
        let least = match self {
            Trace::File(_) => None,
            Trace::Frames(list) => list.iter().flatten().min().copied(),
            Trace::Steps(list) => list.iter().map(|&(_, delay)| delay).min(),
        };
        least.unwrap_or(Time::ZERO)
    }
}

/// A time and a delay, each of which may have a space before its unit.
fn two(line: &str) -> Option<(Time, Time)> {
    let both = |(at, _): (usize, char)| {
        let (first, second) = line.split_at(at);
        Some((first.parse().ok()?, second.parse().ok()?))
    };
    let blanks = line.char_indices().filter(|(_, c)| c.is_whitespace());
    blanks.into_iter().find_map(both)
}

/// A place in a list.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor(usize);

impl Cursor {
    /// The delay of a frame that arrived at `at`; `None`: it is lost.
    pub fn next(&mut self, trace: &Trace, at: Time) -> Option<Time> {
        match trace {
            Trace::File(_) => Some(Time::ZERO),
            Trace::Frames(list) => {
                let entry = list.get(self.0).copied().flatten();
                self.0 = if self.0 + 1 >= list.len() {
                    0
                } else {
                    self.0 + 1
                };
                entry
            }
            Trace::Steps(list) => {
                while list.get(self.0 + 1).is_some_and(|&(from, _)| from <= at) {
                    self.0 += 1;
                }
                list.get(self.0).map(|&(_, delay)| delay)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_delays_is_taken_in_turn() {
        let trace = Trace::from_text("# three\n10 ms\n\n12.5ms # more\nlost\n").unwrap();
        let mut cursor = Cursor::default();
        let got: Vec<_> = (0..4).map(|_| cursor.next(&trace, Time::ZERO)).collect();
        let (a, b) = (Time::from_ms(10), Time::from_us(12_500));
        assert_eq!(got, [Some(a), Some(b), None, Some(a)]);
        assert_eq!(trace.least(), a);
    }

    #[test]
    fn a_list_of_times_and_delays_holds_from_each_time_on() {
        let trace = Trace::from_text("0 20ms\n1.5 s 35 ms\n2s 5ms\n").unwrap();
        let mut cursor = Cursor::default();
        let mut at = |ms| cursor.next(&trace, Time::from_ms(ms)).unwrap().as_ns() / 1_000_000;
        assert_eq!([at(0), at(1_499), at(1_500), at(9_000)], [20, 20, 35, 5]);
    }

    #[test]
    fn a_list_that_is_wrong_says_where() {
        for (text, what) in [
            ("10 ms\nsoon\n", "line 2"),
            ("10 ms\n1s 10ms\n", "line 2"),
            ("2s 10ms\n1s 10ms\n", "in order"),
            ("# nothing\n", "no delay"),
        ] {
            let error = Trace::from_text(text).unwrap_err();
            assert!(error.to_string().contains(what), "{text:?}: {error}");
        }
    }
}
