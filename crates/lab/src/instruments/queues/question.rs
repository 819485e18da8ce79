//! The drop or mark to be explained: `[queues] why`, or `wire lab --why`.

use node::Time;
use queue::Reason;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// A drop or mark, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Raw")]
pub(super) struct Question {
    /// Port whose queue it is; `None` for all.
    pub port: Option<String>,
    pub which: Which,
}

/// Selection among the drops and marks there, in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// By its number, from 1.
    Number(u64),
    /// The first with this reason.
    Reason(Reason),
    /// The first at this time or after it.
    From(Time),
}

/// A number needs no quotes in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Raw {
    Number(u64),
    Text(String),
}

impl TryFrom<Raw> for Question {
    type Error = String;
    fn try_from(raw: Raw) -> Result<Question, String> {
        match raw {
            Raw::Number(number) => number.to_string().parse(),
            Raw::Text(text) => text.parse(),
        }
    }
}

impl FromStr for Question {
    type Err = String;
    fn from_str(text: &str) -> Result<Question, String> {
        let (port, which) = match text.trim().rsplit_once('/') {
            Some((port, which)) => (Some(port.to_owned()), which),
            None => (None, text.trim()),
        };
        let reason = Reason::ALL.into_iter().find(|it| it.name() == which);
        let number = which.parse::<u64>().ok().filter(|number| *number > 0);
        let which = match (number, reason, which.parse::<Time>()) {
            (Some(number), ..) => Which::Number(number),
            (_, Some(reason), _) => Which::Reason(reason),
            (.., Ok(time)) => Which::From(time),
            _ => {
                let reasons: Vec<&str> = Reason::ALL.iter().map(|it| it.name()).collect();
                return Err(format!(
                    "`{which}` names no drop or mark: write its number (`3`), a reason (`codel`) for the first of that reason, or a time (`3.2 s`) \
                     for the first from then on, behind the port if there are several queues (`modem.0/codel`); reasons are {}",
                    reasons.join(", ")
                ));
            }
        };
        Ok(Question { port, which })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = &self.port {
            write!(f, "{port}/")?;
        }
        match &self.which {
            Which::Number(number) => write!(f, "{number}"),
            Which::Reason(reason) => write!(f, "{reason}"),
            Which::From(time) => write!(f, "{time}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_is_named_by_number_reason_or_time_and_by_its_port() {
        for (text, port, which) in [
            ("3", None, Which::Number(3)),
            ("modem.0/17", Some("modem.0"), Which::Number(17)),
            ("codel", None, Which::Reason(Reason::Codel)),
            (
                "a.1/red early",
                Some("a.1"),
                Which::Reason(Reason::RedEarly),
            ),
            ("3.2 s", None, Which::From(Time::from_ms(3200))),
            ("b.0/150ms", Some("b.0"), Which::From(Time::from_ms(150))),
        ] {
            let port = port.map(str::to_owned);
            let question: Question = text.parse().unwrap();
            assert_eq!(question, Question { port, which }, "{text}");
            assert_eq!(question.to_string().parse(), Ok(question), "{text}");
        }
        for text in ["", "-1", "modem.0", "modem.0/", "cdel", "3 flows"] {
            let error = text.parse::<Question>().unwrap_err();
            assert!(
                error.contains("reasons are full, overlimit"),
                "{text}: {error}"
            );
        }
    }
}
