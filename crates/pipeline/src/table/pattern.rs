//! What an entry matches, in cells.

use super::entry::TableError;
use super::form::{Form, KeyForm, MatchKind};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigUint;
use p4::ir::KeyMatch;
use p4::value::{Bits, mask};

/// A key matches when `key & masks == values`, and each range holds. There is one such form for each set of keys, so
/// that two entries match the same just when their patterns are equal: ranges that a mask can express are masks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    pub(super) values: Box<[u64]>,
    pub(super) masks: Box<[u64]>,
    pub(super) ranges: Box<[Interval]>,
}

/// From `low` to `high` in the cells from `at`. What the two have in common before the first bit that differs stands in
/// the pattern's values and masks too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Interval {
    pub(super) at: usize,
    pub(super) low: Box<[u64]>,
    pub(super) high: Box<[u64]>,
}

impl Interval {
    #[inline]
    pub(super) fn holds(&self, key: &[u64]) -> bool {
        if let ([low], [high]) = (&*self.low, &*self.high) {
            let value = key[self.at];
            return *low <= value && value <= *high;
        }
        let value = key[self.at..self.at + self.low.len()].iter().rev();
        value.clone().ge(self.low.iter().rev()) && value.le(self.high.iter().rev())
    }
}

impl Pattern {
    /// Reads an entry's keys, and gives them back with their values cut by their masks.
    pub(super) fn read(
        form: &Form,
        keys: &[KeyMatch],
    ) -> Result<(Pattern, Vec<KeyMatch>), TableError> {
        if keys.len() != form.keys.len() {
            let names: Vec<_> = form.keys.iter().map(|k| &*k.name).collect();
            return Err(TableError::KeyCount {
                table: form.name.clone(),
                expected: form.keys.len(),
                names: names.join(", "),
                got: keys.len(),
            });
        }
        let cells = form.key_cells();
        let mut pattern = Pattern {
            values: vec![0; cells].into(),
            masks: vec![0; cells].into(),
            ranges: Box::new([]),
        };
        let mut ranges = Vec::new();
        let mut kept = Vec::with_capacity(keys.len());
        for (key, given) in form.keys.iter().zip(keys) {
            let given = cut(form, key, given)?;
            let cells = key.at..key.at + key.cells();
            let (values, masks) = (
                &mut pattern.values[cells.clone()],
                &mut pattern.masks[cells],
            );
            let width = key.ty.width();
            match &given {
                KeyMatch::Any => {}
                KeyMatch::Exact(value) => put(values, masks, value.unsigned(), &mask(width)),
                KeyMatch::Prefix(value, length) => {
                    put(values, masks, value.unsigned(), &leading(width, *length));
                }
                KeyMatch::Mask(value, mask) => {
                    put(values, masks, value.unsigned(), mask.unsigned());
                }
                KeyMatch::Range(low, high) => {
                    let differ = low.unsigned() ^ high.unsigned();
                    let free = mask(differ.bits() as u32);
                    let fixed = mask(width) ^ &free;
                    put(values, masks, &(low.unsigned() & &fixed), &fixed);
                    let aligned = (low.unsigned() & &free) == BigUint::ZERO
                        && (high.unsigned() & &free) == free;
                    if !aligned {
                        let mut interval = Interval {
                            at: key.at,
                            low: vec![0; key.cells()].into(),
                            high: vec![0; key.cells()].into(),
                        };
                        low.to_limbs(&mut interval.low);
                        high.to_limbs(&mut interval.high);
                        ranges.push(interval);
                    }
                }
            }
            kept.push(given);
        }
        pattern.ranges = ranges.into();
        Ok((pattern, kept))
    }

    /// Whether a key matches.
    #[inline]
    pub(super) fn matches(&self, key: &[u64]) -> bool {
        let masked = key.iter().zip(&*self.masks).map(|(key, mask)| key & mask);
        masked.eq(self.values.iter().copied()) && self.ranges.iter().all(|r| r.holds(key))
    }

    /// How many leading bits of a key count, where it is lpm.
    pub(super) fn prefix_length(&self, key: &KeyForm) -> u32 {
        let masks = &self.masks[key.at..key.at + key.cells()];
        masks.iter().map(|mask| mask.count_ones()).sum()
    }
}

fn put(values: &mut [u64], masks: &mut [u64], value: &BigUint, mask: &BigUint) {
    for (cell, digit) in values.iter_mut().zip(value.iter_u64_digits()) {
        *cell = digit;
    }
    for (cell, digit) in masks.iter_mut().zip(mask.iter_u64_digits()) {
        *cell = digit;
    }
}

/// The `length` first of `width` bits.
pub(super) fn leading(width: u32, length: u32) -> BigUint {
    mask(width) ^ mask(width - length.min(width))
}

/// Checks one key of an entry, and cuts its value by its mask.
fn cut(form: &Form, key: &KeyForm, given: &KeyMatch) -> Result<KeyMatch, TableError> {
    let width = key.ty.width();
    let fits = |value: &Bits| {
        if value.unsigned().bits() <= u64::from(width) {
            return Ok(value.resize(width));
        }
        Err(TableError::KeyWidth {
            table: form.name.clone(),
            key: key.name.clone(),
            width,
            value: format!("{:#x}", value.unsigned()),
        })
    };
    let wrong = |given| TableError::KeyKind {
        table: form.name.clone(),
        key: key.name.clone(),
        kind: key.kind,
        given,
    };
    let whole = |value: &Bits| value.unsigned() == &mask(width);
    Ok(match (key.kind, given) {
        (MatchKind::Exact, KeyMatch::Any) => return Err(wrong("wildcard")),
        (_, KeyMatch::Any) => KeyMatch::Any,
        (_, KeyMatch::Exact(value)) => {
            let value = fits(value)?;
            match key.kind {
                MatchKind::Exact | MatchKind::Optional => KeyMatch::Exact(value),
                MatchKind::Lpm => KeyMatch::Prefix(value, width),
                MatchKind::Ternary => KeyMatch::Mask(value, Bits::new(width, mask(width))),
                MatchKind::Range => KeyMatch::Range(value.clone(), value),
            }
        }
        (MatchKind::Lpm | MatchKind::Ternary, KeyMatch::Prefix(value, length)) => {
            let value = fits(value)?;
            if *length > width {
                return Err(TableError::KeyWidth {
                    table: form.name.clone(),
                    key: key.name.clone(),
                    width,
                    value: format!("a prefix of {length} bits"),
                });
            }
            let bits = leading(width, *length);
            let value = Bits::new(width, value.unsigned() & &bits);
            match (key.kind, length) {
                (_, 0) => KeyMatch::Any,
                (MatchKind::Lpm, _) => KeyMatch::Prefix(value, *length),
                _ => KeyMatch::Mask(value, Bits::new(width, bits)),
            }
        }
        (MatchKind::Ternary | MatchKind::Lpm, KeyMatch::Mask(value, bits)) => {
            let (value, bits) = (fits(value)?, fits(bits)?);
            let value = Bits::new(width, value.unsigned() & bits.unsigned());
            if !bits.is_true() {
                KeyMatch::Any
            } else if key.kind == MatchKind::Lpm {
                let length = bits.unsigned().count_ones() as u32;
                if *bits.unsigned() != leading(width, length) {
                    return Err(wrong("mask with gaps"));
                }
                KeyMatch::Prefix(value, length)
            } else {
                KeyMatch::Mask(value, bits)
            }
        }
        (MatchKind::Optional | MatchKind::Exact, KeyMatch::Mask(value, bits)) if whole(bits) => {
            KeyMatch::Exact(fits(value)?)
        }
        (MatchKind::Optional, KeyMatch::Mask(_, bits)) if !bits.is_true() => KeyMatch::Any,
        (MatchKind::Exact, KeyMatch::Prefix(value, length)) if *length == width => {
            KeyMatch::Exact(fits(value)?)
        }
        (MatchKind::Range, KeyMatch::Range(low, high)) => {
            let (low, high) = (fits(low)?, fits(high)?);
            if low.unsigned() > high.unsigned() {
                return Err(TableError::EmptyRange {
                    table: form.name.clone(),
                    key: key.name.clone(),
                    low: low.unsigned().to_string(),
                    high: high.unsigned().to_string(),
                });
            }
            if low.unsigned() == &BigUint::ZERO && whole(&high) {
                KeyMatch::Any
            } else {
                KeyMatch::Range(low, high)
            }
        }
        (MatchKind::Ternary, KeyMatch::Range(low, high)) if low == high => {
            KeyMatch::Mask(fits(low)?, Bits::new(width, mask(width)))
        }
        (_, KeyMatch::Prefix(..)) => return Err(wrong("prefix")),
        (_, KeyMatch::Mask(..)) => return Err(wrong("mask")),
        (_, KeyMatch::Range(..)) => return Err(wrong("range")),
    })
}
