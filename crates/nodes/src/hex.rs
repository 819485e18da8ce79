//! Bytes written as hexadecimal digits in a node's configuration.

#[cfg(feature = "serde")]
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes of pairs of hexadecimal digits; spaces between digits are skipped. `None` for anything else.
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

/// Bytes of a key whose value is hexadecimal digits with spaces between them.
#[cfg(feature = "serde")]
pub(crate) fn read<'de, D: serde::Deserializer<'de>>(
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
