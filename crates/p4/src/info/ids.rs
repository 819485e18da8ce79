//! Numbers and short names of objects.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What kind of object a number means: its highest byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Action = 0x01,
    Table = 0x02,
    /// A parser value set.
    ValueSet = 0x03,
    ControllerHeader = 0x04,
    /// An action profile or selector.
    ActionProfile = 0x11,
    /// An array of counters.
    Counter = 0x12,
    /// Counters of a table's entries.
    DirectCounter = 0x13,
    /// An array of meters.
    Meter = 0x14,
    /// Meters of a table's entries.
    DirectMeter = 0x15,
    /// An array of registers.
    Register = 0x16,
    /// Messages to the controller.
    Digest = 0x17,
}

/// Numbers and short names of all objects, when all are known.
#[derive(Default)]
pub(super) struct Ids {
    numbers: BTreeMap<Kind, BTreeMap<Arc<str>, Option<u32>>>,
    taken: BTreeSet<u32>,
    /// How many names end so.
    suffixes: BTreeMap<Vec<Arc<str>>, u32>,
    names: BTreeSet<Arc<str>>,
}

impl Ids {
    /// Makes a name known, with the number of its `@id`.
    pub(super) fn add(&mut self, kind: Kind, name: &Arc<str>, requested: Option<u32>) {
        let prefix = (kind as u32) << 24;
        let requested = requested
            .filter(|id| id & 0xff00_0000 == 0 || id & 0xff00_0000 == prefix)
            .map(|id| id | prefix);
        let known = self.numbers.entry(kind).or_default();
        if known.contains_key(name) {
            return;
        }
        // A number that is wished twice goes to who came first.
        let id = requested.filter(|id| self.taken.insert(*id));
        known.insert(name.clone(), id);
        if self.names.insert(name.clone()) {
            let mut suffix: Vec<Arc<str>> = Vec::new();
            for part in name.split('.').rev() {
                suffix.push(part.into());
                *self.suffixes.entry(suffix.clone()).or_default() += 1;
            }
        }
    }

    /// Numbers what has no `@id`: by a hash of the name, and the next free number where two are the same.
    pub(super) fn finish(&mut self) {
        for (kind, names) in &mut self.numbers {
            for (name, number) in names.iter_mut().filter(|(_, number)| number.is_none()) {
                let mut value = hash(name);
                let id = loop {
                    let id = (*kind as u32) << 24 | value & 0x00ff_ffff;
                    if self.taken.insert(id) {
                        break id;
                    }
                    value = value.wrapping_add(1);
                };
                *number = Some(id);
            }
        }
    }

    /// The number of a name; 0, which no object has, when it is not known.
    pub(super) fn get(&self, kind: Kind, name: &str) -> u32 {
        let number = self.numbers.get(&kind).and_then(|names| names.get(name));
        number.copied().flatten().unwrap_or(0)
    }

    /// As many parts of the name's end as make it unique.
    pub(super) fn alias(&self, name: &str) -> Arc<str> {
        let mut suffix: Vec<Arc<str>> = Vec::new();
        for part in name.split('.').rev() {
            suffix.push(part.into());
            if self.suffixes.get(&suffix).is_none_or(|count| *count < 2) {
                break;
            }
        }
        suffix.reverse();
        let parts: Vec<&str> = suffix.iter().map(|part| &**part).collect();
        let alias: String = parts.join(".");
        alias.into()
    }
}

/// Jenkins' one-at-a-time hash, by which p4c numbers.
pub(super) fn hash(name: &str) -> u32 {
    let mut hash = 0u32;
    for byte in name.bytes() {
        hash = hash.wrapping_add(u32::from(byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Numbers of keys, parameters and fields: the `@id`, or the place from 1, past the numbers that are taken.
pub(super) fn local(requested: &[Option<u32>]) -> Vec<u32> {
    let mut taken: BTreeSet<u32> = requested.iter().flatten().copied().collect();
    let mut next = 1;
    requested
        .iter()
        .map(|requested| match requested {
            Some(id) => {
                next += 1;
                *id
            }
            None => {
                while !taken.insert(next) {
                    next += 1;
                }
                next
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn numbers_are_those_that_p4c_gives() {
        let mut ids = Ids::default();
        ids.add(Kind::Action, &"NoAction".into(), None);
        ids.finish();
        assert_eq!(ids.get(Kind::Action, "NoAction"), 21_257_015);
        assert_eq!(ids.get(Kind::Table, "NoAction"), 0);
    }

    #[test]
    fn a_wished_number_gets_its_kind_s_byte_and_a_wrong_one_is_no_wish() {
        let mut ids = Ids::default();
        ids.add(Kind::Table, &"a".into(), Some(7));
        ids.add(Kind::Table, &"b".into(), Some(0x0200_0008));
        ids.add(Kind::Table, &"c".into(), Some(0x0100_0009));
        ids.finish();
        assert_eq!(ids.get(Kind::Table, "a"), 0x0200_0007);
        assert_eq!(ids.get(Kind::Table, "b"), 0x0200_0008);
        assert_eq!(ids.get(Kind::Table, "c") >> 24, 2);
    }

    #[test]
    fn an_alias_is_the_shortest_end_that_nobody_else_has() {
        let mut ids = Ids::default();
        for name in ["a.x.t", "a.y.t", "a.u"] {
            ids.add(Kind::Table, &name.into(), None);
        }
        assert_eq!(&*ids.alias("a.x.t"), "x.t");
        assert_eq!(&*ids.alias("a.u"), "u");
    }

    #[test]
    fn local_numbers_leave_out_those_that_are_wished() {
        assert_eq!(local(&[None, Some(1), None]), vec![2, 1, 3]);
        assert_eq!(local(&[None, None]), vec![1, 2]);
    }
}
