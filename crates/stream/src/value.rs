//! Values of cells, borrowed and owned.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

/// A value of a cell, which borrows its text or bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A signed integer.
    Integer(i64),
    /// A floating-point number. NaN is stored as [`Null`](Value::Null), as SQLite does.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

/// A value of a cell, which owns its text or bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    /// No value.
    Null,
    /// A signed integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value<'_> {
    /// An owned copy.
    #[must_use]
    pub fn to_owned(self) -> Owned {
        match self {
            Value::Null => Owned::Null,
            Value::Integer(value) => Owned::Integer(value),
            Value::Real(value) => Owned::Real(value),
            Value::Text(text) => Owned::Text(text.into()),
            Value::Blob(bytes) => Owned::Blob(bytes.into()),
        }
    }

    /// The order of SQLite: null, numbers by value, texts by bytes, blobs by bytes.
    #[must_use]
    pub fn order(self, other: Value<'_>) -> Ordering {
        match (self, other) {
            (Value::Integer(a), Value::Integer(b)) => a.cmp(&b),
            (Value::Real(a), Value::Real(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Value::Integer(a), Value::Real(b)) => integer_to_real(a, b),
            (Value::Real(a), Value::Integer(b)) => integer_to_real(b, a).reverse(),
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
            _ => self.class().cmp(&other.class()),
        }
    }

    fn class(self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Integer(_) | Value::Real(_) => 1,
            Value::Text(_) => 2,
            Value::Blob(_) => 3,
        }
    }

    /// Appends an encoding in which values are equal if and only if their bytes are.
    pub(crate) fn encode(self, into: &mut Vec<u8>) {
        let (tag, bytes) = match self {
            Value::Null => (0, &[][..]),
            Value::Integer(value) => (1, &value.to_le_bytes()[..]),
            // Minus zero is in the group of zero.
            Value::Real(value) => (2, &(value + 0.0).to_bits().to_le_bytes()[..]),
            Value::Text(text) => (3, text.as_bytes()),
            Value::Blob(bytes) => (4, bytes),
        };
        into.push(tag);
        if tag > 2 {
            into.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        into.extend_from_slice(bytes);
    }

    /// Reads an encoding of [`encode`](Value::encode), and the bytes after it.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
        let (&tag, rest) = bytes.split_first()?;
        Some(match tag {
            0 => (Value::Null, rest),
            1 | 2 => {
                let (number, rest) = rest.split_first_chunk::<8>()?;
                match tag {
                    1 => (Value::Integer(i64::from_le_bytes(*number)), rest),
                    _ => (Value::Real(f64::from_le_bytes(*number)), rest),
                }
            }
            _ => {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                match tag {
                    3 => (Value::Text(core::str::from_utf8(bytes).ok()?), rest),
                    _ => (Value::Blob(bytes), rest),
                }
            }
        })
    }
}

/// The order of an integer and a real number, exactly: an integer above 2^53 has no equal `f64`.
fn integer_to_real(a: i64, b: f64) -> Ordering {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if b >= BEYOND {
        return Ordering::Less;
    }
    if b < -BEYOND {
        return Ordering::Greater;
    }
    // The cast rounds towards zero, without loss at this size.
    let whole = b as i64;
    a.cmp(&whole)
        .then_with(|| (whole as f64).partial_cmp(&b).unwrap_or(Ordering::Equal))
}

impl Owned {
    /// The value, borrowed.
    #[must_use]
    pub fn as_value(&self) -> Value<'_> {
        match self {
            Owned::Null => Value::Null,
            Owned::Integer(value) => Value::Integer(*value),
            Owned::Real(value) => Value::Real(*value),
            Owned::Text(text) => Value::Text(text),
            Owned::Blob(bytes) => Value::Blob(bytes),
        }
    }

    /// Memory, bytes: a lower bound.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Owned>()
            + match self {
                Owned::Text(text) => text.len(),
                Owned::Blob(bytes) => bytes.len(),
                _ => 0,
            }
    }
}

impl fmt::Display for Owned {
    /// As an SQL literal without quotes: blobs in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owned::Null => f.write_str("NULL"),
            Owned::Integer(value) => value.fmt(f),
            Owned::Real(value) => write!(f, "{value:?}"),
            Owned::Text(text) => f.write_str(text),
            Owned::Blob(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}
impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}
impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}
impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Blob(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_reals_compare_exactly() {
        let big = (1 << 53) + 1;
        let order = Value::Integer(big).order(Value::Real((1_i64 << 53) as f64));
        assert_eq!(order, Ordering::Greater);
        let order = Value::Real(-0.5).order(Value::Integer(0));
        assert_eq!(order, Ordering::Less);
        let order = Value::Integer(i64::MAX).order(Value::Real(9.3e18));
        assert_eq!(order, Ordering::Less);
    }

    #[test]
    fn a_key_decodes_to_the_values_that_made_it() {
        let values = [
            Value::Null,
            Value::Integer(-3),
            Value::Real(-0.25),
            Value::Text("a\0b"),
            Value::Blob(&[0, 255]),
        ];
        let mut key = Vec::new();
        values.iter().for_each(|value| value.encode(&mut key));
        let mut rest = &key[..];
        for value in values {
            let (read, after) = Value::decode(rest).expect("encoded");
            assert_eq!(read, value);
            rest = after;
        }
        assert!(rest.is_empty());
    }
}
