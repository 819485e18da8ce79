//! Grouping or sorting rows by columns, with a hash table of the groups.

use crate::value::Value;
use hashbrown::HashTable;
use rusqlite::types::ValueRef;
use siphasher::sip::SipHasher13;
use std::cmp::Ordering;
use std::ffi::c_int;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Columns of groups, and whether the groups are in the order of these.
pub(super) struct Order {
    terms: Vec<(usize, bool)>,
    in_order: bool,
}

impl Order {
    /// As a text that SQLite keeps with a plan: columns with `-` for descending ones.
    pub fn encode(terms: &[(c_int, bool)], in_order: bool) -> String {
        let mut text = String::from(if in_order { "o" } else { "g" });
        for (column, descending) in terms {
            let sign = if *descending { "-" } else { "+" };
            text.push_str(&format!(" {sign}{column}"));
        }
        text
    }

    /// Reads [`encode`](Order::encode)'s text.
    pub fn decode(text: &str) -> Option<Order> {
        let mut words = text.split(' ');
        let in_order = words.next()? == "o";
        let terms = words.map(|word| {
            let column = word.get(1..)?.parse().ok()?;
            Some((column, word.starts_with('-')))
        });
        Some(Order {
            terms: terms.collect::<Option<_>>()?,
            in_order,
        })
    }

    /// The order of `count` rows: rows of a group are adjacent, in their original order.
    pub fn rows<'c>(&self, count: usize, cell: impl Fn(usize, usize) -> ValueRef<'c>) -> Vec<u32> {
        let random = RandomState::new();
        let hasher = SipHasher13::new_with_keys(random.hash_one(0), random.hash_one(1));
        let mut index: HashTable<(u64, u32)> = HashTable::new();
        // For each row its group, and for each group its first row and its number of rows.
        let mut group_of: Vec<u32> = Vec::with_capacity(count);
        let (mut firsts, mut sizes): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut key = Vec::new();
        for row in 0..count {
            key.clear();
            for (column, _) in &self.terms {
                value(cell(row, *column)).encode(&mut key);
            }
            let mut hasher = hasher;
            hasher.write(&key);
            let hash = hasher.finish();
            let same = |(other, group): &(u64, u32)| {
                let first = firsts[*group as usize] as usize;
                *other == hash && self.compare(&cell, row, first).is_eq()
            };
            let group = match index.find(hash, same) {
                Some((_, group)) => *group,
                None => {
                    let group = firsts.len() as u32;
                    firsts.push(row as u32);
                    sizes.push(0);
                    index.insert_unique(hash, (hash, group), |(hash, _)| *hash);
                    group
                }
            };
            sizes[group as usize] += 1;
            group_of.push(group);
        }
        let mut groups: Vec<u32> = (0..firsts.len() as u32).collect();
        if self.in_order {
            groups.sort_by(|one, other| {
                let [one, other] = [one, other].map(|group| firsts[*group as usize] as usize);
                self.compare(&cell, one, other)
            });
        }
        // Position of each group's next row.
        let (mut places, mut place) = (vec![0; firsts.len()], 0);
        for group in groups {
            places[group as usize] = place;
            place += sizes[group as usize];
        }
        let mut order = vec![0; count];
        for (row, group) in group_of.into_iter().enumerate() {
            let place = &mut places[group as usize];
            order[*place as usize] = row as u32;
            *place += 1;
        }
        order
    }

    fn compare<'c>(
        &self,
        cell: &impl Fn(usize, usize) -> ValueRef<'c>,
        one: usize,
        other: usize,
    ) -> Ordering {
        let orders = self.terms.iter().map(|(column, descending)| {
            let order = value(cell(one, *column)).order(value(cell(other, *column)));
            if *descending { order.reverse() } else { order }
        });
        orders
            .into_iter()
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

fn value(cell: ValueRef<'_>) -> Value<'_> {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        // The texts of a ring are UTF-8; the order of blobs is that of texts.
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::Blob(bytes),
    }
}
