//! Lines read in portable code: any case, any spaces, and every fault with its place.

use super::{Head, LineError, Reason};
use crate::{Date, MAX_FRAME_LEN, Stamp};
use alloc::vec::Vec;

/// The value of each hexadecimal digit; [`NONE`] for every other byte.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789ABCDEF"[value as usize];
        values[digit as usize] = value;
        values[digit.to_ascii_lowercase() as usize] = value;
        value += 1;
    }
    values
};
const NONE: u8 = 0xFF;

const DESTINATION: &str = "the destination address (12 digits)";

/// A walk over a line's fields.
struct Fields<'a> {
    line: &'a [u8],
    at: usize,
}

/// A run of bytes that are not spaces.
struct Field<'a> {
    start: usize,
    bytes: &'a [u8],
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

impl<'a> Fields<'a> {
    fn skip_blanks(&mut self) {
        while self.line.get(self.at).copied().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<Field<'a>> {
        self.skip_blanks();
        let (start, rest) = (self.at, &self.line[self.at..]);
        let width = rest.iter().position(|&b| is_blank(b)).unwrap_or(rest.len());
        self.at += width;
        (width > 0).then(|| Field {
            start,
            bytes: &rest[..width],
        })
    }

    /// The next field, which must be there.
    fn expect(&mut self, wanted: &'static str) -> Result<Field<'a>, LineError> {
        self.next().ok_or(LineError {
            column: self.line.len() + 1,
            reason: Reason::Missing(wanted),
        })
    }
}

impl Field<'_> {
    /// The value of a field of up to 16 digits.
    fn value(&self) -> Result<u64, LineError> {
        let mut value = 0;
        for (index, &byte) in self.bytes.iter().enumerate() {
            match VALUES[byte as usize] {
                NONE => {
                    return Err(LineError {
                        column: self.start + index + 1,
                        reason: Reason::NotHex(byte),
                    });
                }
                digit => value = value << 4 | u64::from(digit),
            }
        }
        Ok(value)
    }

    /// The date or the word that a field of 20 or 16 digits is.
    fn stamp(&self) -> Result<Stamp, LineError> {
        match date(self.bytes) {
            Some(date) => Ok(Stamp::Date(date)),
            // A date with a byte that is no digit ends here too, and has no value.
            None => self.value().map(Stamp::Word),
        }
    }

    /// The error that this field is: its first byte that is no digit, else its width.
    fn fault(&self, wanted: &'static str) -> LineError {
        self.value().err().unwrap_or(LineError {
            column: self.start + 1,
            reason: Reason::Width {
                found: self.bytes.len(),
                wanted,
            },
        })
    }

    /// The value, where the field has `digits` digits.
    fn exactly(&self, digits: usize, wanted: &'static str) -> Result<u64, LineError> {
        if self.bytes.len() == digits {
            self.value()
        } else {
            Err(self.fault(wanted))
        }
    }
}

/// The date in a field of 20 digits; `None` where it is not that.
#[inline]
pub(super) fn date(field: &[u8]) -> Option<Date> {
    let digits: &[u8; Date::DIGITS] = field.try_into().ok()?;
    let (mut ps, mut faults) = (0, 0);
    for &digit in digits {
        let value = VALUES[digit as usize];
        faults |= value;
        ps = ps << 4 | u128::from(value & 0x0F);
    }
    (faults & 0xF0 == 0).then_some(ps).and_then(Date::from_ps)
}

/// Reads a line without its end.
pub(super) fn line(line: &[u8], frame: &mut Vec<u8>) -> Result<Option<Head>, LineError> {
    frame.clear();
    let mut fields = Fields { line, at: 0 };
    let Some(mut field) = fields.next() else {
        return Ok(None);
    };
    if field.bytes[0] == b'#' {
        return Ok(None);
    }
    let mut head = Head::default();
    let mut wanted =
        "a date (20 digits), a timestamp (16), a hash (8) or the destination address (12)";
    if let 16 | Date::DIGITS = field.bytes.len() {
        head.stamp = Some(field.stamp()?);
        wanted = "a hash (8 digits) or the destination address (12)";
        field = fields.expect(wanted)?;
    }
    if field.bytes.len() == 8 {
        head.hash = Some(field.value()? as u32);
        wanted = DESTINATION;
        field = fields.expect(wanted)?;
    }
    let destination = field.exactly(12, wanted)?;
    frame.extend_from_slice(&destination.to_be_bytes()[2..]);
    let wanted = "the source address (12 digits)";
    let source = fields.expect(wanted)?.exactly(12, wanted)?;
    frame.extend_from_slice(&source.to_be_bytes()[2..]);
    let wanted = "the EtherType (4 digits)";
    let ethertype = fields.expect(wanted)?;
    // A script that has cut a tag out leaves the EtherType behind it as two payload bytes.
    let ethertype = match ethertype.bytes.len() {
        2 => ethertype.value()? << 8 | fields.expect(wanted)?.exactly(2, wanted)?,
        _ => ethertype.exactly(4, wanted)?,
    };
    frame.extend_from_slice(&ethertype.to_be_bytes()[6..]);
    payload(line, fields.at, frame)?;
    Ok(Some(head))
}

/// Reads payload bytes from `at`, where a space or the line's end is, and appends them to `frame`.
///
/// A field of four digits among them is two bytes: the EtherType behind a tag that a script has put
/// in (paper 001, command 7).
pub(super) fn payload(line: &[u8], at: usize, frame: &mut Vec<u8>) -> Result<(), LineError> {
    let at = at + written(&line[at..], frame);
    let mut fields = Fields { line, at };
    while let Some(field) = fields.next() {
        let value = match field.bytes.len() {
            4 => field.value()?,
            _ => field.exactly(2, "a payload byte (2 digits)")?,
        } as u16;
        let width = field.bytes.len() / 2;
        if frame.len() + width > MAX_FRAME_LEN {
            return Err(LineError {
                column: field.start + 1,
                reason: Reason::TooManyBytes,
            });
        }
        frame.extend_from_slice(&value.to_be_bytes()[2 - width..]);
        if width == 2 {
            fields.at += written(&line[fields.at..], frame);
        }
    }
    Ok(())
}

/// Reads payload bytes as far as they stand in the written form, each behind one space, and
/// returns how many characters they took. The next character is a space, or none is left.
fn written(text: &[u8], frame: &mut Vec<u8>) -> usize {
    /// Bytes read before their faults are looked at.
    const BLOCK: usize = 8;
    let mut at = 0;
    for block in text.chunks_exact(3 * BLOCK) {
        let (mut bytes, mut faults) = ([0; BLOCK], 0);
        for (byte, group) in bytes.iter_mut().zip(block.chunks_exact(3)) {
            let (upper, lower) = (VALUES[group[1] as usize], VALUES[group[2] as usize]);
            faults |= group[0] ^ b' ' | (upper | lower) & 0xF0;
            *byte = upper << 4 | lower & 0x0F;
        }
        if faults != 0 || frame.len() + BLOCK > MAX_FRAME_LEN {
            break;
        }
        frame.extend_from_slice(&bytes);
        at += block.len();
    }
    if at > 0 && text.get(at).is_some_and(|&next| !is_blank(next)) {
        at -= 3;
        frame.pop();
    }
    at
}
