//! Thrift's compact protocol, as far as Parquet's metadata needs it (Thrift's
//! `doc/specs/thrift-compact-protocol.md`).

/// Types of fields.
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct that grows field by field, in the order of their numbers.
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    pub(super) fn new() -> Struct {
        Struct {
            bytes: Vec::new(),
            last: 0,
        }
    }

    /// Header of a field: the distance from the field before, which Parquet keeps below 16, and the type.
    fn field(&mut self, number: u8, kind: u8) {
        debug_assert!((1..16).contains(&(number - self.last)), "fields in order");
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    /// A number of type [`I32`] or [`I64`].
    pub(super) fn number(mut self, number: u8, value: i64, kind: u8) -> Struct {
        self.field(number, kind);
        varint(&mut self.bytes, zigzag(value));
        self
    }

    pub(super) fn text(mut self, number: u8, text: &str) -> Struct {
        self.field(number, BINARY);
        binary(&mut self.bytes, text);
        self
    }

    pub(super) fn nested(mut self, number: u8, inner: Struct) -> Struct {
        self.field(number, STRUCT);
        self.bytes.extend(inner.end());
        self
    }

    pub(super) fn structs(mut self, number: u8, items: Vec<Struct>) -> Struct {
        self.list(number, items.len(), STRUCT);
        for item in items {
            self.bytes.extend(item.end());
        }
        self
    }

    /// A list of [`I32`].
    pub(super) fn numbers(mut self, number: u8, items: &[i64]) -> Struct {
        self.list(number, items.len(), I32);
        for item in items {
            varint(&mut self.bytes, zigzag(*item));
        }
        self
    }

    pub(super) fn texts(mut self, number: u8, items: &[&str]) -> Struct {
        self.list(number, items.len(), BINARY);
        for item in items {
            binary(&mut self.bytes, item);
        }
        self
    }

    fn list(&mut self, number: u8, len: usize, kind: u8) {
        self.field(number, LIST);
        match u8::try_from(len) {
            Ok(short @ 0..15) => self.bytes.push(short << 4 | kind),
            _ => {
                self.bytes.push(0xF0 | kind);
                varint(&mut self.bytes, len as u64);
            }
        }
    }

    /// The bytes of the struct.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn binary(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// Seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
