//! `deserialize_with` functions for quantities written as texts.

use alloc::string::String;
use core::fmt::Display;
use core::str::FromStr;
use serde::de::{Deserialize, Deserializer, Error};

/// Whatever reads itself from a text: a time, a rate.
pub fn parse<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(input)?;
    text.parse().map_err(D::Error::custom)
}

/// The same, for a value that may be left out.
pub fn parse_some<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    parse(input).map(Some)
}
