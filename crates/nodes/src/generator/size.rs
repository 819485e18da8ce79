//! The sizes of made frames, taken in turn or drawn.

mod drawn;

pub use drawn::{LogNormal, V_SIZE};

use super::pattern::call;
use alloc::format;
use alloc::vec::Vec;
use core::str::FromStr;
use drawn::Table;
use node::ConfigError;

/// The simple Internet mix, 7 : 4 : 1, spread as evenly as twelve places allow.
pub const IMIX: [u16; 12] = [64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 594, 64];
/// Maximum frame length with FCS, bytes: almost the limit of the length field of an IP packet.
const MAX_FRAME_LEN: u16 = u16::MAX;

/// Bytes of a frame, with FCS: 64 to 65,535.
///
/// In a file: `64`, `[64, 128, 1518]`, `{ from = 64, to = 1518, step = 2 }`, `{ mean = 792, sd = 200 }`,
/// `{ mean = 792, d_size = 0.5 }`, or a text as on the command line: `64,128,1518`, `64-1518/2`, `imix`,
/// `lognormal(792, 200)`, `cbr2(792, 0.5)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sizes {
    /// 64, or as few as the headers need if that is more. The default.
    #[default]
    Least,
    /// All the same.
    One(u16),
    /// These in turn.
    List(Vec<u16>),
    /// From `from` up to `to`, by `step`, and then from `from` again.
    Range {
        from: u16,
        /// None is greater.
        to: u16,
        /// At least 1.
        step: u16,
    },
    /// 64, 594 and 1518 bytes as 7 : 4 : 1; see [`IMIX`]. Sizes that headers do not fit into are
    /// raised until they do.
    Imix,
    /// Drawn; the same seed draws the same sizes.
    LogNormal(LogNormal),
}

/// Sizes that a frame of these headers can have, in bytes without FCS.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    One(u16),
    List(Vec<u16>),
    Range { from: u16, to: u16, step: u16 },
    Drawn(Table),
}

impl Sizes {
    /// The sizes, without FCS, if a frame of `shortest` bytes without FCS fits into each.
    pub(super) fn checked(&self, shortest: usize, seed: u64) -> Result<Choice, ConfigError> {
        let shortest = shortest as u16 + FCS;
        let check = |size: u16| {
            if (shortest..=MAX_FRAME_LEN).contains(&size) {
                return Ok(size - FCS);
            }
            let reason = format!(
                "with these headers, and the FCS, a frame has {shortest} to {MAX_FRAME_LEN} bytes, not {size}"
            );
            Err(ConfigError::new("size", reason))
        };
        match *self {
            Sizes::Least => Ok(Choice::One(shortest.max(64) - FCS)),
            Sizes::One(size) => check(size).map(Choice::One),
            Sizes::List(ref sizes) if sizes.is_empty() => {
                Err(ConfigError::new("size", "a list has at least one size"))
            }
            Sizes::List(ref sizes) => sizes
                .iter()
                .map(|&size| check(size))
                .collect::<Result<_, _>>()
                .map(Choice::List),
            Sizes::Range { from, to, step } if step == 0 || from > to => {
                let reason = format!("from {from} to {to} by {step} leads nowhere");
                Err(ConfigError::new("size", reason))
            }
            Sizes::Range { from, to, step } => Ok(Choice::Range {
                from: check(from)?,
                to: check(to)?,
                step,
            }),
            Sizes::Imix => Ok(Choice::List(
                IMIX.map(|size| size.max(shortest) - FCS).into(),
            )),
            Sizes::LogNormal(of) => {
                let least = of.least.max(shortest);
                check(of.most)?;
                Table::new(&LogNormal { least, ..of }, FCS, seed).map(Choice::Drawn)
            }
        }
    }
}

impl Choice {
    /// The size of the frame with this index.
    pub(super) fn nth(&self, index: u64) -> usize {
        let size = match self {
            Choice::One(size) => *size,
            Choice::List(sizes) => sizes[(index % sizes.len() as u64) as usize],
            Choice::Range { from, to, step } => {
                let many = u64::from((to - from) / step) + 1;
                from + (index % many) as u16 * step
            }
            Choice::Drawn(table) => table.nth(index),
        };
        size.into()
    }

    /// The mean over very many frames.
    pub(super) fn mean(&self) -> f64 {
        let mean = |sizes: &[u16]| {
            sizes.iter().map(|&size| f64::from(size)).sum::<f64>() / sizes.len() as f64
        };
        match self {
            Choice::One(size) => f64::from(*size),
            Choice::List(sizes) => mean(sizes),
            Choice::Range { from, to, step } => {
                let last = from + (to - from) / step * step;
                (f64::from(*from) + f64::from(last)) / 2.0
            }
            Choice::Drawn(table) => table.mean(),
        }
    }
}

const FCS: u16 = node::link::FCS as u16;

/// A text that says no sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a size such as 64, sizes such as 64,1518, a range 64-1518 or 64-1518/2, imix, \
     lognormal(MEAN, SD) or cbr2(MEAN, D_SIZE)"
)]
pub struct BadSizes;

impl FromStr for Sizes {
    type Err = BadSizes;

    fn from_str(text: &str) -> Result<Sizes, BadSizes> {
        let number = |text: &str| text.trim().parse::<u16>().map_err(|_| BadSizes);
        let text = text.trim();
        if text == "imix" {
            return Ok(Sizes::Imix);
        }
        if let Some((name, inner)) = call(text) {
            let (mean, spread) = inner.split_once(',').ok_or(BadSizes)?;
            let real = |text: &str| text.trim().parse::<f64>().map_err(|_| BadSizes);
            let (mean, spread) = (real(mean)?, real(spread)?);
            return match name {
                "lognormal" => Ok(Sizes::LogNormal(LogNormal::new(mean, spread))),
                "cbr2" => Ok(Sizes::LogNormal(LogNormal::cbr2(mean, spread))),
                _ => Err(BadSizes),
            };
        }
        if let Some((from, rest)) = text.split_once('-') {
            let (to, step) = rest.split_once('/').unwrap_or((rest, "1"));
            return Ok(Sizes::Range {
                from: number(from)?,
                to: number(to)?,
                step: number(step)?,
            });
        }
        let sizes: Vec<u16> = text.split(',').map(number).collect::<Result<_, _>>()?;
        Ok(match sizes[..] {
            [one] => Sizes::One(one),
            _ => Sizes::List(sizes),
        })
    }
}

#[cfg(feature = "serde")]
mod read {
    use super::{LogNormal, Sizes};
    use alloc::vec::Vec;
    use core::fmt;
    use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor, value};

    impl<'de> Deserialize<'de> for Sizes {
        fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Sizes, D::Error> {
            input.deserialize_any(SizesVisitor)
        }
    }

    /// A range, or a distribution.
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Keys {
        from: Option<u16>,
        to: Option<u16>,
        step: Option<u16>,
        mean: Option<f64>,
        sd: Option<f64>,
        d_size: Option<f64>,
    }

    struct SizesVisitor;

    impl<'de> Visitor<'de> for SizesVisitor {
        type Value = Sizes;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a size such as 64, a list [64, 1518], { from = 64, to = 1518 }, { mean = 792, sd = 200 }, \
                 \"imix\", \"lognormal(792, 200)\" or \"cbr2(792, 0.5)\"",
            )
        }

        fn visit_i64<E: Error>(self, size: i64) -> Result<Sizes, E> {
            let wrong = || E::invalid_value(serde::de::Unexpected::Signed(size), &self);
            u16::try_from(size).map(Sizes::One).map_err(|_| wrong())
        }

        fn visit_u64<E: Error>(self, size: u64) -> Result<Sizes, E> {
            let wrong = || E::invalid_value(serde::de::Unexpected::Unsigned(size), &self);
            u16::try_from(size).map(Sizes::One).map_err(|_| wrong())
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Sizes, E> {
            let wrong = || E::invalid_value(serde::de::Unexpected::Str(name), &self);
            name.parse().map_err(|_| wrong())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Sizes, A::Error> {
            Vec::deserialize(value::SeqAccessDeserializer::new(list)).map(Sizes::List)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
            let keys = Keys::deserialize(value::MapAccessDeserializer::new(map))?;
            let Keys { from, to, step, .. } = keys;
            if let Some(mean) = keys.mean {
                let of = match (keys.sd, keys.d_size, step) {
                    (Some(sd), None, None) => LogNormal::new(mean, sd),
                    (None, Some(d_size), None) => LogNormal::cbr2(mean, d_size),
                    _ => {
                        return Err(A::Error::custom(
                            "with `mean` go `sd` or `d_size`, and no `step`",
                        ));
                    }
                };
                return Ok(Sizes::LogNormal(LogNormal {
                    least: from.unwrap_or(of.least),
                    most: to.unwrap_or(of.most),
                    ..of
                }));
            }
            let (Some(from), Some(to), None, None) = (from, to, keys.sd, keys.d_size) else {
                let wanted =
                    "a range has `from` and `to`, a distribution `mean` and `sd` or `d_size`";
                return Err(A::Error::custom(wanted));
            };
            let step = step.unwrap_or(1);
            Ok(Sizes::Range { from, to, step })
        }
    }
}
