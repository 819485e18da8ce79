//! The options at the end of pcapng blocks: code, length, value, padded to four bytes.

use super::Order;
use alloc::vec::Vec;
use core::ops::Range;

/// The code that ends a list of options.
const END: u16 = 0;
/// The code of a packet's flags.
const FLAGS: u16 = 2;

/// Walks a list of options; ends at its end mark, or where an option runs out of the list.
pub struct List<'a> {
    rest: &'a [u8],
    order: Order,
    /// Whether the walk ended where an option runs out of the list.
    pub broken: bool,
}

impl<'a> List<'a> {
    pub fn new(rest: &'a [u8], order: Order) -> List<'a> {
        List {
            rest,
            order,
            broken: false,
        }
    }
}

impl<'a> Iterator for List<'a> {
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

/// Which way a packet went, seen from the machine that captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Received.
    In,
    /// Sent.
    Out,
}

impl Direction {
    /// The name in text and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
        }
    }
}

/// The option of a word of flags, with its end mark, as [`Options`] of packets that were not read from a file.
#[derive(Clone, Copy, Debug)]
pub struct Flags([u8; 12]);

impl Flags {
    /// Bits as the pcapng specification has them.
    pub fn new(flags: u32) -> Flags {
        let mut bytes = [0; 12];
        bytes[..2].copy_from_slice(&FLAGS.to_le_bytes());
        bytes[2..4].copy_from_slice(&4u16.to_le_bytes());
        bytes[4..8].copy_from_slice(&flags.to_le_bytes());
        Flags(bytes)
    }

    /// The options that they are.
    pub fn options(&self) -> Options<'_> {
        Options::of(&self.0, Order::Little)
    }
}

/// The options of a packet, as they stand in its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    bytes: &'a [u8],
    order: Order,
}

impl<'a> Options<'a> {
    pub(super) fn of(bytes: &'a [u8], order: Order) -> Options<'a> {
        Options { bytes, order }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// As they stand in the file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Those of other bytes, in the same byte order.
    #[must_use]
    pub fn over(self, bytes: &[u8]) -> Options<'_> {
        Options {
            bytes,
            order: self.order,
        }
    }

    /// The word of flags among them, if there is one.
    pub fn flags(self) -> Option<u32> {
        let mut list = self.list();
        let (_, value) = list.find(|(code, value)| *code == FLAGS && value.len() == 4)?;
        Some(self.order.u32(value, 0))
    }

    /// The direction that the flags tell.
    pub fn direction(self) -> Option<Direction> {
        match self.flags()? & 3 {
            1 => Some(Direction::In),
            2 => Some(Direction::Out),
            _ => None,
        }
    }

    /// Each with its code and its value, numbers in the section's byte order.
    pub(super) fn list(self) -> List<'a> {
        List::new(self.bytes, self.order)
    }

    /// Appends them, numbers little-endian; and the mark at which they end, if there are any.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        let before = out.len();
        for (code, value) in self.list() {
            match self.order {
                Order::Little => put(code, value, out),
                Order::Big => put(code, &packet_option(code, value), out),
            }
        }
        if out.len() > before {
            put_end(out);
        }
    }
}

/// An option that is written as it was read: its code, and its value with numbers little-endian.
pub type Other = (u16, Vec<u8>);

/// A packet's option with its numbers little-endian: flags, drops, identity, queue, verdict,
/// process and thread, and a custom option's enterprise.
#[expect(
    clippy::single_range_in_vec_init,
    reason = "places of numbers, not numbers"
)]
fn packet_option(code: u16, value: &[u8]) -> Vec<u8> {
    let places: &[Range<usize>] = match (code, value) {
        (4 | 5, _) => &[0..8],
        (2 | 6, _) => &[0..4],
        // Of hooks in the kernel: a byte for the kind of hook, and what it returned.
        (7, [1 | 2, ..]) => &[1..9],
        (8, _) => &[0..4, 4..8],
        _ if interface_number(code) == 4 && code > 10 => &[0..4],
        _ => &[],
    };
    let mut value = value.to_vec();
    for place in places {
        if let Some(number) = value.get_mut(place.clone()) {
            number.reverse();
        }
    }
    value
}

/// The same for an interface's option: time zone, speeds.
pub fn interface_number(code: u16) -> usize {
    match code {
        16 | 17 => 8,
        10 | 2_988 | 2_989 | 19_372 | 19_373 => 4,
        _ => 0,
    }
}

/// An option's value with the number at its beginning, if it has one, little-endian.
pub fn little_endian(value: &[u8], number: usize, order: Order) -> Vec<u8> {
    let mut value = value.to_vec();
    if order == Order::Big
        && let Some(number) = value.get_mut(..number)
    {
        number.reverse();
    }
    value
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
