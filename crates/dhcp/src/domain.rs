//! Domain names in the wire format of RFC 1035 section 3.1, without compression, as options carry them.

use alloc::string::String;
use alloc::vec::Vec;

/// Maximum length of a name on the wire, bytes.
const MAX_NAME: usize = 255;
/// Maximum length of a label, bytes.
const MAX_LABEL: usize = 63;

/// Fault of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a domain name has labels of 1 to 63 bytes and 253 bytes in all, such as lab.example")]
pub struct BadName;

/// Appends a name.
///
/// # Errors
/// When a label or the name has a wrong length; then nothing is appended.
pub fn write(name: &str, out: &mut Vec<u8>) -> Result<(), BadName> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let bad = |label: &str| label.is_empty() || label.len() > MAX_LABEL;
    if name.len() + 2 > MAX_NAME || name.split('.').any(bad) {
        return Err(BadName);
    }
    for label in name.split('.') {
        out.push(label.len() as u8);
        out.extend(label.as_bytes());
    }
    out.push(0);
    Ok(())
}

/// Reads names one after the other, up to the first byte that begins none (padding) or one that is cut off. Bytes other
/// than letters, digits, `-` and `_` are shown as `?`.
pub fn read(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    while let [length, rest @ ..] = bytes {
        if *length == 0 {
            if name.is_empty() {
                break;
            }
            names.push(core::mem::take(&mut name));
            bytes = rest;
            continue;
        }
        let length = usize::from(*length);
        let Some((label, rest)) = rest.split_at_checked(length) else {
            break;
        };
        if length > MAX_LABEL || name.len() + length + 2 > MAX_NAME {
            break;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.iter().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(*byte),
            _ => '?',
        }));
        bytes = rest;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        let mut bytes = Vec::new();
        write("lab.example", &mut bytes).unwrap();
        write("a.", &mut bytes).unwrap();
        assert_eq!(bytes, b"\x03lab\x07example\x00\x01a\x00");
        bytes.extend([0, 0, 0]);
        assert_eq!(read(&bytes), ["lab.example", "a"]);
        assert_eq!(read(b"\x03lab\x00\x05cut"), ["lab"]);
        let long = "a".repeat(64);
        for bad in ["", ".", "a..b", &long, &"a.".repeat(128)] {
            assert_eq!(write(bad, &mut bytes), Err(BadName), "{bad}");
        }
    }
}
