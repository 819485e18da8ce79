//! Sets and maps: intervals of values, each with data in a map.

use super::values::Type;
use alloc::vec::Vec;

/// Result of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    Drop,
    Continue,
    Return,
    Jump(u32),
    Goto(u32),
}

/// Data of a map's element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// A set has none.
    None,
    Value(u128),
    Verdict(Verdict),
}

/// Kind of the data of all elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Nothing,
    Values(Type),
    Verdicts,
}

/// A set or map.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub kind: Type,
    pub holds: Holds,
    /// First and last value of each interval, in order, none over another.
    elements: Vec<(u128, u128, Data)>,
}

impl Set {
    /// A set of these intervals; an interval that overlaps another is the error, unless it is `merged` with it.
    pub fn new(
        kind: Type,
        holds: Holds,
        mut elements: Vec<(u128, u128, Data)>,
        merged: bool,
    ) -> Result<Set, (u128, u128)> {
        elements.sort_unstable_by_key(|element| (element.0, element.1));
        let mut own: Vec<(u128, u128, Data)> = Vec::with_capacity(elements.len());
        for element in elements {
            match own.last_mut() {
                Some(last) if element.0 <= last.1 => {
                    let is_same = element.0 == last.0 && element.1 == last.1;
                    if !merged && !is_same || element.2 != last.2 {
                        return Err((element.0, element.1));
                    }
                    last.1 = last.1.max(element.1);
                }
                _ => own.push(element),
            }
        }
        Ok(Set {
            kind,
            holds,
            elements: own,
        })
    }

    /// The data of the interval that a value is in.
    #[inline]
    pub fn find(&self, value: u128) -> Option<Data> {
        let after = self.elements.partition_point(|element| element.0 <= value);
        let (_, last, data) = *self.elements.get(after.checked_sub(1)?)?;
        (value <= last).then_some(data)
    }
}

impl Set {
    /// Data of all elements.
    pub fn data(&self) -> impl Iterator<Item = Data> {
        self.elements.iter().map(|element| element.2)
    }
}
