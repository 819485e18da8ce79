//! The sizes of made frames, taken in turn.

use crate::ConfigError;
use alloc::format;
use alloc::vec::Vec;

/// The simple Internet mix, 7 : 4 : 1, spread as evenly as twelve places allow.
pub const IMIX: [u16; 12] = [64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 594, 64];
/// The longest frame, with FCS.
const LONGEST: u16 = (packet::LONGEST + node::link::FCS) as u16;

/// Bytes of a frame, with FCS: 64 to 16,004.
///
/// In a file: `64`, `[64, 128, 1518]`, `{ from = 64, to = 1518, step = 2 }` or `"imix"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All the same.
    One(u16),
    /// These in turn.
    List(Vec<u16>),
    /// From `from` up to `to`, by `step`, and then from `from` again.
    Range {
        /// The first.
        from: u16,
        /// None is greater.
        to: u16,
        /// At least 1.
        step: u16,
    },
    /// 64, 594 and 1518 bytes as 7 : 4 : 1; see [`IMIX`]. Sizes that headers do not fit into are
    /// raised until they do.
    Imix,
}

impl Sizes {
    /// The sizes, without FCS, if a frame of `shortest` bytes without FCS fits into each.
    pub(super) fn checked(&self, shortest: usize) -> Result<Sizes, ConfigError> {
        let shortest = shortest as u16 + FCS;
        let check = |size: u16| {
            if (shortest..=LONGEST).contains(&size) {
                return Ok(size - FCS);
            }
            let reason = format!(
                "with these headers, and the FCS, a frame has {shortest} to {LONGEST} bytes, not {size}"
            );
            Err(ConfigError::new("size", reason))
        };
        match *self {
            Sizes::One(size) => check(size).map(Sizes::One),
            Sizes::List(ref sizes) if sizes.is_empty() => {
                Err(ConfigError::new("size", "a list has at least one size"))
            }
            Sizes::List(ref sizes) => sizes
                .iter()
                .map(|&size| check(size))
                .collect::<Result<_, _>>()
                .map(Sizes::List),
            Sizes::Range { from, to, step } if step == 0 || from > to => {
                let reason = format!("from {from} to {to} by {step} leads nowhere");
                Err(ConfigError::new("size", reason))
            }
            Sizes::Range { from, to, step } => Ok(Sizes::Range {
                from: check(from)?,
                to: check(to)?,
                step,
            }),
            Sizes::Imix => Ok(Sizes::List(
                IMIX.map(|size| size.max(shortest) - FCS).into(),
            )),
        }
    }

    /// The size of the frame with this index; of sizes that were [`checked`](Sizes::checked).
    pub(super) fn nth(&self, index: u64) -> usize {
        let size = match self {
            Sizes::One(size) => *size,
            Sizes::List(sizes) => sizes[(index % sizes.len() as u64) as usize],
            Sizes::Range { from, to, step } => {
                let many = u64::from((to - from) / step) + 1;
                from + (index % many) as u16 * step
            }
            Sizes::Imix => IMIX[(index % 12) as usize] - FCS,
        };
        size.into()
    }
}

const FCS: u16 = node::link::FCS as u16;

#[cfg(feature = "serde")]
mod read {
    use super::Sizes;
    use alloc::vec::Vec;
    use core::fmt;
    use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor, value};

    impl<'de> Deserialize<'de> for Sizes {
        fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Sizes, D::Error> {
            input.deserialize_any(SizesVisitor)
        }
    }

    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Range {
        from: u16,
        to: u16,
        #[serde(default = "one")]
        step: u16,
    }

    fn one() -> u16 {
        1
    }

    struct SizesVisitor;

    impl<'de> Visitor<'de> for SizesVisitor {
        type Value = Sizes;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a size such as 64, a list [64, 1518], { from = 64, to = 1518 } or \"imix\"",
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
            match name {
                "imix" => Ok(Sizes::Imix),
                _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
            }
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Sizes, A::Error> {
            Vec::deserialize(value::SeqAccessDeserializer::new(list)).map(Sizes::List)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
            let Range { from, to, step } =
                Range::deserialize(value::MapAccessDeserializer::new(map))?;
            Ok(Sizes::Range { from, to, step })
        }
    }
}
