//! What every node's configuration shares: the error, and quantities written as texts.

use alloc::string::String;
#[cfg(any(feature = "serde", test))]
use alloc::vec::Vec;

/// Why a node cannot be made: which key is wrong, and what it may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {reason}")]
pub struct ConfigError {
    /// The field of the node's `Config`.
    pub key: &'static str,
    /// What is wrong with it, and what is allowed.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn new(key: &'static str, reason: impl Into<String>) -> ConfigError {
        ConfigError {
            key,
            reason: reason.into(),
        }
    }
}

/// Reads a MAC address: `02:00:00:00:00:01`, `02-00-00-00-00-01` or, as in a packet line,
/// `020000000001`; any case. `None` for anything else.
pub fn mac_from_text(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0u8; 6];
    let mut digits = 0;
    let separated = text.len() == 17;
    if !separated && text.len() != 12 {
        return None;
    }
    for (index, c) in text.bytes().enumerate() {
        if separated && index % 3 == 2 {
            if !matches!(c, b':' | b'-') {
                return None;
            }
            continue;
        }
        let digit = (c as char).to_digit(16)?;
        mac[digits / 2] = mac[digits / 2] << 4 | digit as u8;
        digits += 1;
    }
    (digits == 12).then_some(mac)
}

/// Reads pairs of hexadecimal digits, with blanks between digits as one likes. `None` for anything
/// else.
#[cfg(any(feature = "serde", test))]
fn bytes_from_hex(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut high = None;
    for c in text.chars().filter(|c| !c.is_ascii_whitespace()) {
        let digit = c.to_digit(16)? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    high.is_none().then_some(bytes)
}

/// `deserialize_with` functions for quantities and addresses written as texts.
#[cfg(feature = "serde")]
pub(crate) mod text {
    use alloc::borrow::Cow;
    use alloc::vec::Vec;
    use core::fmt::Display;
    use core::str::FromStr;
    use serde::de::{Deserialize, Deserializer, Error};

    fn read<'de, D: Deserializer<'de>>(input: D) -> Result<Cow<'de, str>, D::Error> {
        Cow::<str>::deserialize(input)
    }

    /// Whatever reads itself from a text: a time, a rate, an IP address.
    pub fn parse<'de, D, T>(input: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr<Err: Display>,
    {
        read(input)?.parse().map_err(D::Error::custom)
    }

    /// The same, for a value that may be left out.
    pub fn parse_some<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr<Err: Display>,
    {
        parse(input).map(Some)
    }

    /// Bytes as hexadecimal digits, blanks between them as one likes.
    pub fn hex_some<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = read(input)?;
        super::bytes_from_hex(&text).map(Some).ok_or_else(|| {
            D::Error::custom("pairs of hexadecimal digits are wanted, such as \"0200 0000 0001\"")
        })
    }

    /// A MAC address.
    pub fn mac<'de, D: Deserializer<'de>>(input: D) -> Result<[u8; 6], D::Error> {
        let text = read(input)?;
        super::mac_from_text(&text).ok_or_else(|| {
            D::Error::custom("a MAC address is wanted, such as \"02:00:00:00:00:01\"")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_read_in_pairs() {
        assert_eq!(bytes_from_hex("02 0a\nFF"), Some([0x02, 0x0A, 0xFF].into()));
        assert_eq!(bytes_from_hex("020"), None);
        assert_eq!(bytes_from_hex("0x20"), None);
    }

    #[test]
    fn a_mac_address_reads_in_its_three_spellings_and_no_other() {
        let mac = Some([0x02, 0, 0, 0xab, 0, 1]);
        assert_eq!(mac_from_text("02:00:00:ab:00:01"), mac);
        assert_eq!(mac_from_text("02-00-00-AB-00-01"), mac);
        assert_eq!(mac_from_text("020000AB0001"), mac);
        for wrong in [
            "",
            "02:00:00:ab:00",
            "02:00:00:ab:00:0g",
            "02.00.00.ab.00.01",
            "+20000AB0001",
        ] {
            assert_eq!(mac_from_text(wrong), None, "{wrong}");
        }
    }
}
