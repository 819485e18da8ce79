//! The options at the end of pcapng blocks: code, length, value, padded to four bytes.

use super::Order;
use alloc::vec::Vec;

/// The code that ends a list of options.
const END: u16 = 0;

/// Walks a list of options; ends at its end mark, or where an option runs out of the list.
pub struct Options<'a> {
    rest: &'a [u8],
    order: Order,
    /// Whether the walk ended where an option runs out of the list.
    pub broken: bool,
}

impl<'a> Options<'a> {
    pub fn new(rest: &'a [u8], order: Order) -> Options<'a> {
        Options {
            rest,
            order,
            broken: false,
        }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        if self.rest.is_empty() {
            return None;
        }
        let head = self.rest.get(..4);
        let (code, length) = match head {
            Some(head) => (self.order.u16(head, 0), self.order.u16(head, 2).into()),
            None => (END, 0),
        };
        let value = self.rest.get(4..).and_then(|rest| rest.get(..length));
        self.broken = head.is_none() || value.is_none();
        if code == END || self.broken {
            self.rest = &[];
            return None;
        }
        self.rest = self.rest.get(4 + padded(length)..).unwrap_or_default();
        value.map(|value| (code, value))
    }
}

/// `length` rounded up to four.
pub fn padded(length: usize) -> usize {
    length.div_ceil(4) * 4
}

/// Appends an option, little-endian; a longer value than an option may have is cut off.
pub fn put(code: u16, value: &[u8], out: &mut Vec<u8>) {
    let length = value.len().min(u16::MAX.into());
    out.extend(code.to_le_bytes());
    out.extend((length as u16).to_le_bytes());
    out.extend_from_slice(&value[..length]);
    out.resize(out.len() + padded(length) - length, 0);
}

/// Appends the mark at which a list ends.
pub fn put_end(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}
