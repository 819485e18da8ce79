//! How departures are spread around their pace.

use crate::train::{Rates, TrainError, Trains};
use alloc::string::String;
use core::str::FromStr;
use node::ConfigError;
use node::Time;

/// How departures follow each other; the pace (gap, rate, idles, packets a second) says how many there
/// are in the mean.
///
/// As a text: `even`, `poisson`, `train(20, 10 us)`, `train(20, every 1 ms)`, `chains(0.5)`,
/// `trains(20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pattern {
    /// Each at the pace's distance from the one before.
    #[default]
    Even,
    /// Intervals drawn from the exponential distribution whose mean is the pace's interval. A frame that
    /// would overlap the one before leaves right behind it, and later ones keep to their own times.
    Poisson,
    /// So many frames at the pace, then a pause, and again (the probe trains of paper 002 figure 4.12,
    /// with N and G).
    Train {
        /// Frames in a train, at least 1.
        frames: u32,
        /// What the next train's start is counted from, and how far off it is.
        pause: Pause,
    },
    /// Chains of frames with the least gap in between, whose length is drawn from the geometric
    /// distribution with the parameter 1 - `d_len`: the mean is 1 / (1 - `d_len`). Each chain begins when
    /// its first frame would have left with `Even`, so that the rate is the pace's over any time much
    /// longer than a chain (CBR2 of paper 002 section 4.4.4). 0 to below 1; 0 is `Even`.
    Chains { d_len: f64 },
    /// Probe trains by the whole model, (N, R, G, D): rates are its own, and there is no other pace.
    Trains(Trains),
}

/// When the next train begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// So long after the first bit of the last frame.
    After(Time),
    /// So long after the first bit of the train's first frame.
    Every(Time),
}

/// What is wrong with the text of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// None is called so, or its numbers are none.
    #[error(
        "a pattern is even, poisson, train(N, TIME) or train(N, every TIME), such as train(20, 10 us), \
         chains(D_LEN), such as chains(0.5), or trains(N, R, G, D), such as trains(20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms)"
    )]
    Unknown,
    /// Its time is none.
    #[error(transparent)]
    Time(#[from] node::QuantityError),
    /// Its trains are none.
    #[error(transparent)]
    Trains(#[from] TrainError),
    /// It cannot work.
    #[error("{text}: {reason}")]
    Unfit { text: String, reason: String },
}

impl Pattern {
    /// Refuses what cannot work.
    pub(super) fn checked(self) -> Result<Pattern, ConfigError> {
        let wrong = |reason: &str| Err(ConfigError::new("pattern", reason));
        match self {
            Pattern::Train { frames: 0, .. } => wrong("a train has at least 1 frame"),
            Pattern::Train {
                pause: Pause::After(Time::ZERO) | Pause::Every(Time::ZERO),
                ..
            } => wrong("trains are at least 1 ps apart"),
            Pattern::Chains { d_len } if !(0.0..1.0).contains(&d_len) => {
                wrong("D_len is from 0 to below 1; at 1 a chain would have no end")
            }
            Pattern::Trains(trains) if trains.rates == Rates::Adaptive => {
                wrong("a generator hears nothing of its trains: give their rates")
            }
            Pattern::Trains(trains) => trains.checked().map(Pattern::Trains),
            good => Ok(good),
        }
    }
}

/// The name before the brackets, and what is in them.
pub(super) fn call(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.trim().split_once('(')?;
    Some((name.trim(), rest.strip_suffix(')')?.trim()))
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Pattern: "a pattern, such as \"poisson\"");

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        match text.trim() {
            "even" => return Ok(Pattern::Even),
            "poisson" => return Ok(Pattern::Poisson),
            _ => {}
        }
        let pattern = match call(text).ok_or(PatternError::Unknown)? {
            ("train", inner) => {
                let (frames, pause) = inner.split_once(',').ok_or(PatternError::Unknown)?;
                let time = |text: &str| text.parse::<Time>();
                Pattern::Train {
                    frames: frames.trim().parse().map_err(|_| PatternError::Unknown)?,
                    pause: match pause.trim().strip_prefix("every ") {
                        Some(period) => Pause::Every(time(period)?),
                        None => Pause::After(time(pause)?),
                    },
                }
            }
            ("trains", inner) => Pattern::Trains(inner.parse()?),
            ("chains", inner) => Pattern::Chains {
                d_len: inner.parse().map_err(|_| PatternError::Unknown)?,
            },
            _ => return Err(PatternError::Unknown),
        };
        pattern.checked().map_err(|error| PatternError::Unfit {
            text: text.into(),
            reason: error.reason,
        })
    }
}
