//! What a middlebox is told while it works: the functions of paper 002's table 4.3, as words.

use super::flow::Flow;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

/// What a middlebox does with packets of its flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Mode {
    /// They pass as all others.
    Forward,
    /// Those from port 0 are made into trains.
    #[default]
    Modulate,
    /// Those from port 1 are stamped, and dummies taken out.
    Extract,
}

impl Mode {
    /// Its name, as it is read.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Forward => "forward",
            Mode::Modulate => "modulate",
            Mode::Extract => "extract",
        }
    }
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `set_mode modulate`
    SetMode(Mode),
    /// `set_gap 120,120,120`: idle characters between the packets of a train, one packet more than gaps; `set_gap` alone: by rates again.
    SetGap(Vec<u32>),
    /// `flow_add 10.0.0.1 10.0.0.2 udp`
    FlowAdd(Flow),
    /// `flow_remove 10.0.0.1 10.0.0.2 udp`
    FlowRemove(Flow),
    /// `flows`: lists them.
    Flows,
    /// `gaps`: lists idle characters between the last probes that were stamped.
    Gaps,
    /// `counters`
    Counters,
}

/// What is wrong with a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No such word.
    #[error(
        "`{0}` is no command: set_mode, set_gap, flow_add, flow_remove, flows, gaps or counters"
    )]
    Unknown(String),
    /// No such mode.
    #[error("`{0}` is no mode: forward, modulate or extract")]
    Mode(String),
    /// No gaps.
    #[error(
        "`{0}`: gaps are 1 to 9999 numbers of idle characters from 12 to 10000000, such as 120,120,120"
    )]
    Gaps(String),
    /// No flow.
    #[error(transparent)]
    Flow(#[from] super::flow::FlowError),
    /// Too many flows.
    #[error("there is no room for another flow")]
    Full,
    /// A flow that is not there.
    #[error("there is no such flow")]
    NoFlow,
}

/// Idle characters between two packets.
const IDLES: core::ops::RangeInclusive<u32> = 12..=10_000_000;

impl FromStr for Command {
    type Err = CommandError;

    fn from_str(text: &str) -> Result<Command, CommandError> {
        let text = text.trim();
        // As in the paper: set_gap(120,120,120).
        let split = text.split_once(['(', ' ']).unwrap_or((text, ""));
        let (word, rest) = (split.0, split.1.trim().trim_end_matches(')').trim());
        Ok(match word {
            "set_mode" => {
                let modes = [Mode::Forward, Mode::Modulate, Mode::Extract];
                let mode = modes.into_iter().find(|mode| mode.name() == rest);
                Command::SetMode(mode.ok_or_else(|| CommandError::Mode(rest.into()))?)
            }
            "set_gap" => Command::SetGap(gaps(rest)?),
            "flow_add" => Command::FlowAdd(rest.parse()?),
            "flow_remove" => Command::FlowRemove(rest.parse()?),
            "flows" => Command::Flows,
            "gaps" => Command::Gaps,
            "counters" => Command::Counters,
            _ => return Err(CommandError::Unknown(word.into())),
        })
    }
}

fn gaps(text: &str) -> Result<Vec<u32>, CommandError> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace());
    let words = words.filter(|word| !word.is_empty());
    let gaps: Option<Vec<u32>> = words
        .map(|word| word.parse().ok().filter(|gap| IDLES.contains(gap)))
        .collect();
    gaps.filter(|gaps| gaps.len() < 10_000)
        .ok_or_else(|| CommandError::Gaps(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_as_words_and_as_the_papers_calls() {
        let gaps = Command::SetGap([120; 3].into());
        assert_eq!("set_gap(120,120,120)".parse(), Ok(gaps.clone()));
        assert_eq!("set_gap 120 120,120".parse(), Ok(gaps));
        assert_eq!("set_gap".parse(), Ok(Command::SetGap(Vec::new())));
        assert_eq!(
            "set_mode extract".parse(),
            Ok(Command::SetMode(Mode::Extract))
        );
        let flow = "10.0.0.1 10.0.0.2".parse().unwrap();
        assert_eq!(
            "flow_add(10.0.0.1,10.0.0.2)".parse(),
            Ok(Command::FlowAdd(flow))
        );
        for (text, wanted) in [
            ("set_mode fast", "`fast` is no mode"),
            ("set_gap 5", "from 12"),
            ("set_gap x", "from 12"),
            ("flow_add 1", "is no flow"),
            ("go", "is no command"),
            ("", "is no command"),
        ] {
            let error = text.parse::<Command>().unwrap_err();
            assert!(alloc::format!("{error}").contains(wanted), "{error}");
        }
    }
}
