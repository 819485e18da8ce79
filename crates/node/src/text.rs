//! `Deserialize` for what is read from a text: quantities, and configurations' words.

use crate::{Rate, Size, Time};
use core::fmt::{self, Display};
use core::marker::PhantomData;
use core::str::FromStr;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Reads a `T` from its text.
pub struct Text<T> {
    wanted: &'static str,
    of: PhantomData<T>,
}

impl<T> Text<T> {
    /// One that says what is wanted where something else stands, as `a time, such as "10 ms"`.
    pub const fn new(wanted: &'static str) -> Text<T> {
        let of = PhantomData;
        Text { wanted, of }
    }
}

impl<T: FromStr<Err: Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Gives types their `Deserialize` by their `FromStr`: `deserialize_from_str!(Rate: "a rate")`. The crate that says so
/// depends on `serde`.
#[macro_export]
macro_rules! deserialize_from_str {
    ($($type:ty: $wanted:literal),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<$type, D::Error> {
                input.deserialize_str($crate::text::Text::new($wanted))
            }
        }
    )+};
}

deserialize_from_str!(
    Time: "a time with its unit, such as \"10 ms\"",
    Rate: "a rate with its unit, such as \"10 Gb/s\"",
);

/// From a text or a number of bytes.
impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Size, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or a size such as \"64 KiB\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size::from_bytes(bytes))
            }
            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
                let bytes = u64::try_from(bytes);
                bytes
                    .map(Size::from_bytes)
                    .map_err(|_| E::custom("a size is not negative"))
            }
        }
        input.deserialize_any(Either)
    }
}
