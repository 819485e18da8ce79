//! Members of a `parser_value_set`.

use super::published::Published;
use alloc::vec::Vec;
use p4::ir::KeyMatch;
use p4::value::Bits;

/// The members, each with a match for each field.
pub type ValueSet = Published<Vec<Vec<KeyMatch>>>;

/// Whether a value is what a key must be.
#[must_use]
pub fn matches(key: &KeyMatch, value: &Bits) -> bool {
    match key {
        KeyMatch::Any => true,
        KeyMatch::Exact(wanted) => wanted.unsigned() == value.unsigned(),
        KeyMatch::Prefix(wanted, length) => {
            let behind = value.width().saturating_sub(*length);
            wanted.unsigned() >> behind == value.unsigned() >> behind
        }
        KeyMatch::Mask(wanted, mask) => {
            wanted.unsigned() & mask.unsigned() == value.unsigned() & mask.unsigned()
        }
        KeyMatch::Range(from, to) => {
            from.unsigned() <= value.unsigned() && value.unsigned() <= to.unsigned()
        }
    }
}

/// Whether one of the members matches the values.
#[must_use]
pub fn contains(members: &[Vec<KeyMatch>], values: &[Bits]) -> bool {
    members.iter().any(|member| {
        member.len() == values.len()
            && member
                .iter()
                .zip(values)
                .all(|(key, value)| matches(key, value))
    })
}
