//! A column: its type, and its pages.

use super::thrift::{self, Struct, varint};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Encodings of pages.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    /// All values fit in 63 bits and a sign.
    Signed,
    /// No value is below 0, and one takes 64 bits.
    Unsigned,
    Double,
    Text,
}

impl Kind {
    /// The type of the format that stores it.
    pub(super) fn physical(self) -> i64 {
        match self {
            Kind::Boolean => 0,
            Kind::Signed | Kind::Unsigned => 2,
            Kind::Double => 5,
            Kind::Text => 6,
        }
    }

    pub(super) fn encodings(self) -> &'static [i64] {
        match self {
            Kind::Text => &[PLAIN, RLE, RLE_DICTIONARY],
            _ => &[PLAIN, RLE],
        }
    }

    /// The type that holds all of the values; text where they have nothing in common.
    fn of<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> Kind {
        let all = |holds: fn(&Value) -> bool| values.clone().all(holds);
        if values.clone().next().is_none() {
            Kind::Text
        } else if all(Value::is_boolean) {
            Kind::Boolean
        } else if all(Value::is_i64) {
            Kind::Signed
        } else if all(Value::is_u64) {
            Kind::Unsigned
        } else if all(Value::is_number) {
            Kind::Double
        } else {
            Kind::Text
        }
    }
}

pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Kind,
}

/// Pages of a row group; a dictionary only for text.
pub(super) struct Pages {
    pub(super) dictionary: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl<'a> Column<'a> {
    /// The column of a name, with the type of its values in all rows.
    pub(super) fn new(name: &'a str, rows: &[Map<String, Value>]) -> Column<'a> {
        let values = rows.iter().filter_map(|row| present(row, name));
        Column {
            name,
            kind: Kind::of(values),
        }
    }

    pub(super) fn schema(&self) -> Struct {
        // Any value may be missing: OPTIONAL.
        let element = Struct::new()
            .number(1, self.kind.physical(), thrift::I32)
            .number(3, 1, thrift::I32)
            .text(4, self.name);
        match self.kind {
            Kind::Text => element.number(6, 0, thrift::I32),
            Kind::Unsigned => element.number(6, 14, thrift::I32),
            _ => element,
        }
    }

    /// The pages of these rows. `None` when a page is too long.
    pub(super) fn pages(&self, rows: &[Map<String, Value>]) -> Option<Pages> {
        let values = rows.iter().map(|row| present(row, self.name));
        let present: Vec<&Value> = values.clone().flatten().collect();
        let levels = hybrid(values.map(|value| value.is_some().into()), 1);
        let mut body = u32::try_from(levels.len()).ok()?.to_le_bytes().to_vec();
        body.extend(levels);
        let mut dictionary = Vec::new();
        if self.kind == Kind::Text {
            let (words, count, width, indices) = words(&present)?;
            let header = Struct::new()
                .number(1, count, thrift::I32)
                .number(2, PLAIN, thrift::I32);
            dictionary = page(2, 7, header, words)?;
            body.push(width);
            body.extend(hybrid(indices.into_iter(), width));
        } else {
            plain(&mut body, self.kind, &present);
        }
        let encoding = match self.kind {
            Kind::Text => RLE_DICTIONARY,
            _ => PLAIN,
        };
        let header = Struct::new()
            .number(1, rows.len() as i64, thrift::I32)
            .number(2, encoding, thrift::I32)
            .number(3, RLE, thrift::I32)
            .number(4, RLE, thrift::I32);
        let data = page(0, 5, header, body)?;
        Some(Pages { dictionary, data })
    }
}

/// The value of a row, if it has one.
fn present<'r>(row: &'r Map<String, Value>, name: &str) -> Option<&'r Value> {
    row.get(name).filter(|value| !value.is_null())
}

/// A page of a type, whose own header is the field `number` of the general one.
fn page(kind: i64, number: u8, header: Struct, body: Vec<u8>) -> Option<Vec<u8>> {
    let len = i32::try_from(body.len()).ok()?.into();
    let general = Struct::new()
        .number(1, kind, thrift::I32)
        .number(2, len, thrift::I32)
        .number(3, len, thrift::I32)
        .nested(number, header);
    let mut page = general.end();
    page.extend(body);
    Some(page)
}

/// The dictionary of texts in order of appearance, their number, the bits of an index, and each
/// text's index.
fn words(values: &[&Value]) -> Option<(Vec<u8>, i64, u8, Vec<u32>)> {
    let mut known = HashMap::new();
    let (mut words, mut indices) = (Vec::new(), Vec::new());
    for value in values {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let next = known.len() as u32;
        let index = match known.get(&text) {
            Some(index) => *index,
            None => {
                words.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
                words.extend_from_slice(text.as_bytes());
                known.insert(text, next);
                next
            }
        };
        indices.push(index);
    }
    let last = known.len().saturating_sub(1);
    let width = (usize::BITS - last.leading_zeros()).max(1) as u8;
    Some((words, known.len() as i64, width, indices))
}

/// Values one after another, in the least number of bytes of their type.
fn plain(body: &mut Vec<u8>, kind: Kind, values: &[&Value]) {
    if kind == Kind::Boolean {
        let bits = values.iter().map(|value| value.as_bool() == Some(true));
        return pack(body, bits.map(u32::from), 1);
    }
    for value in values {
        let bytes = match kind {
            Kind::Signed => value.as_i64().unwrap_or_default().to_le_bytes(),
            Kind::Unsigned => value.as_u64().unwrap_or_default().to_le_bytes(),
            _ => value.as_f64().unwrap_or_default().to_le_bytes(),
        };
        body.extend(bytes);
    }
}

/// The hybrid of runs and packed bits: one run where all values are equal, else all packed.
fn hybrid(values: impl Iterator<Item = u32> + Clone, width: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = values.clone().count() as u64;
    let first = values.clone().next().unwrap_or(0);
    if values.clone().all(|value| value == first) {
        varint(&mut bytes, count << 1);
        let len = usize::from(width.div_ceil(8));
        bytes.extend_from_slice(&first.to_le_bytes()[..len]);
    } else {
        let groups = count.div_ceil(8);
        varint(&mut bytes, groups << 1 | 1);
        let padding = groups * 8 - count;
        let zeros = std::iter::repeat_n(0, padding as usize);
        pack(&mut bytes, values.chain(zeros), width);
    }
    bytes
}

/// Values of some bits each, the lowest bit first; the last byte is filled up with zeros.
fn pack(bytes: &mut Vec<u8>, values: impl Iterator<Item = u32>, width: u8) {
    let (mut held, mut bits) = (0u64, 0);
    for value in values {
        held |= u64::from(value) << bits;
        bits += width;
        while bits >= 8 {
            bytes.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        bytes.push(held as u8);
    }
}
