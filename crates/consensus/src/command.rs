//! What is decided on: a client's command, with a value of bounded size.

/// The most bytes that a value may have.
pub const VALUE: usize = 64;

/// Up to [`VALUE`] bytes. What is behind its length is zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    length: u8,
    bytes: [u8; VALUE],
}

impl Value {
    /// These bytes; `None` when there are too many.
    pub fn new(bytes: &[u8]) -> Option<Value> {
        let mut all = [0; VALUE];
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Value {
            length: bytes.len() as u8,
            bytes: all,
        })
    }

    /// The first `length` of these bytes; `None` when there are not so many.
    pub(crate) fn of(bytes: [u8; VALUE], length: u8) -> Option<Value> {
        Value::new(bytes.get(..usize::from(length))?)
    }

    /// All bytes, with zeros behind the value.
    pub(crate) fn padded(&self) -> [u8; VALUE] {
        self.bytes
    }
}

impl Default for Value {
    fn default() -> Value {
        Value {
            length: 0,
            bytes: [0; VALUE],
        }
    }
}

impl core::ops::Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl core::fmt::Debug for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

/// What a client wants done, once: the default, of client 0, does nothing (no-op).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command {
    /// Which client, from 1.
    pub client: u32,
    /// Which of its commands, from 1 and rising.
    pub sequence: u32,
    /// What is to be done, for the application to read.
    pub value: Value,
}

impl Command {
    /// Whether it only fills an instance.
    pub fn is_no_op(&self) -> bool {
        self.client == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_as_long_as_its_bytes_and_no_longer_than_there_is_room() {
        assert_eq!(&*Value::new(b"abc").unwrap(), b"abc");
        assert_eq!(Value::new(&[1; VALUE]).unwrap().len(), VALUE);
        assert_eq!(Value::new(&[1; VALUE + 1]), None);
        assert!(Command::default().is_no_op());
    }
}
