//! What every node's configuration shares: the error, and bytes written as texts.

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

/// Bytes as hexadecimal digits in a file, blanks between them as one likes.
#[cfg(feature = "serde")]
pub(crate) fn read_hex<'de, D: serde::Deserializer<'de>>(
    input: D,
) -> Result<Option<Vec<u8>>, D::Error> {
    let text = <String as serde::Deserialize>::deserialize(input)?;
    bytes_from_hex(&text).map(Some).ok_or_else(|| {
        serde::de::Error::custom(
            "pairs of hexadecimal digits are wanted, such as \"0200 0000 0001\"",
        )
    })
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
}
