//! Reading and writing big-endian fields.

use crate::fault::Fault;
use alloc::vec::Vec;

/// Takes fields off the front of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    short: Fault,
}

impl<'a> Reader<'a> {
    /// Reads these bytes; `short` is the fault of a field that they end before.
    pub fn new(bytes: &'a [u8], short: Fault) -> Reader<'a> {
        Reader { rest: bytes, short }
    }

    /// The bytes not taken yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all is taken.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The same bytes, with another fault for their end.
    pub fn with(self, short: Fault) -> Reader<'a> {
        Reader { short, ..self }
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(self.short)?;
        self.rest = tail;
        Ok(head)
    }

    /// All that is left.
    pub fn take_rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(self.short)?;
        self.rest = tail;
        Ok(*head)
    }

    /// Skips padding.
    pub fn skip(&mut self, count: usize) -> Result<(), Fault> {
        self.take(count).map(drop)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// An element that begins with a type and a length of itself, both u16: the type, and the bytes behind the two.
    /// A length that is below four, no multiple of `align`, or beyond the end is the fault given; so is what the body lacks.
    pub fn element(&mut self, align: usize, short: Fault) -> Result<(u16, Reader<'a>), Fault> {
        let mut ahead = self.with(short);
        let (kind, length) = (ahead.u16()?, usize::from(ahead.u16()?));
        if length < 4 || !length.is_multiple_of(align) {
            return Err(short);
        }
        let body = ahead.take(length - 4)?;
        self.rest = ahead.rest;
        Ok((kind, Reader::new(body, short)))
    }

    /// As [`Reader::element`], for one that is padded to `align` behind its length.
    pub fn padded(&mut self, align: usize, short: Fault) -> Result<(u16, Reader<'a>), Fault> {
        let before = self.rest.len();
        let element = self.element(1, short)?;
        let length = before - self.rest.len();
        self.with(short)
            .take(length.next_multiple_of(align) - length)?;
        self.rest = &self.rest[length.next_multiple_of(align) - length..];
        Ok(element)
    }

    /// The end, or else its fault.
    pub fn end(&self) -> Result<(), Fault> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.short)
        }
    }
}

/// Appends fields.
pub trait Put {
    /// One byte.
    fn u8(&mut self, value: u8);
    /// Two bytes.
    fn u16(&mut self, value: u16);
    /// Four bytes.
    fn u32(&mut self, value: u32);
    /// Eight bytes.
    fn u64(&mut self, value: u64);
    /// So many zeros.
    fn zeros(&mut self, count: usize);
    /// Zeros, until the length since `start` is a multiple of `align`.
    fn pad(&mut self, start: usize, align: usize);
    /// Writes the length since `start` into the two bytes at `at`. A message too long for its length is refused as a whole.
    fn patch(&mut self, at: usize, start: usize);
}

impl Put for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }
    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }
    fn zeros(&mut self, count: usize) {
        self.resize(self.len() + count, 0);
    }
    fn pad(&mut self, start: usize, align: usize) {
        let length = self.len() - start;
        self.zeros(length.next_multiple_of(align) - length);
    }
    fn patch(&mut self, at: usize, start: usize) {
        let length = (self.len() - start) as u16;
        self[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}
