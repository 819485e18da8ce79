//! Groups of a standing window: keys, and the state of their aggregates.

use crate::exact::Exact;
use crate::schema::Kind;
use crate::select::{Aggregate, Function};
use crate::value::Value;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hash::Hasher;
use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

/// No slot: the end of a list.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Neighbours of a slot in a list of candidates.
#[derive(Clone, Copy, Default)]
pub(super) struct Link {
    pub before: u32,
    pub after: u32,
}

/// State of an aggregate in a group.
pub(super) enum State {
    /// Number of values that are not null.
    Count(u64),
    Integer {
        count: u64,
        sum: i128,
    },
    Real {
        count: u64,
        sum: Box<Exact>,
    },
    /// The first and last slot of the rows that may become the minimum or maximum.
    Extreme {
        head: u32,
        tail: u32,
    },
}

impl State {
    fn new(aggregate: &Aggregate) -> State {
        match (aggregate.function, aggregate.kind) {
            (Function::Count, _) => State::Count(0),
            (Function::Min | Function::Max, _) => State::Extreme {
                head: NO_SLOT,
                tail: NO_SLOT,
            },
            (_, Kind::Real) => State::Real {
                count: 0,
                sum: Box::new(Exact::new()),
            },
            _ => State::Integer { count: 0, sum: 0 },
        }
    }

    fn clear(&mut self) {
        match self {
            State::Count(count) => *count = 0,
            State::Integer { count, sum } => (*count, *sum) = (0, 0),
            State::Real { count, sum } => {
                *count = 0;
                sum.clear();
            }
            State::Extreme { head, tail } => (*head, *tail) = (NO_SLOT, NO_SLOT),
        }
    }

    pub fn add(&mut self, value: Value<'_>) {
        match (self, value) {
            (_, Value::Null) | (State::Extreme { .. }, _) => {}
            (State::Count(count), _) => *count += 1,
            (State::Integer { count, sum }, Value::Integer(value)) => {
                *count += 1;
                *sum += i128::from(value);
            }
            (State::Real { count, sum }, Value::Real(value)) => {
                *count += 1;
                sum.add(value);
            }
            // The types of columns have been checked.
            _ => {}
        }
    }

    pub fn remove(&mut self, value: Value<'_>) {
        match (self, value) {
            (_, Value::Null) | (State::Extreme { .. }, _) => {}
            (State::Count(count), _) => *count -= 1,
            (State::Integer { count, sum }, Value::Integer(value)) => {
                *count -= 1;
                *sum -= i128::from(value);
            }
            (State::Real { count, sum }, Value::Real(value)) => {
                *count -= 1;
                sum.subtract(value);
            }
            _ => {}
        }
    }

    /// The value of a count, sum or average. An integer sum beyond 64 bits is a real number.
    pub fn value(&self, function: Function) -> Value<'static> {
        let real = |value: f64| match value.is_nan() {
            true => Value::Null,
            false => Value::Real(value),
        };
        match (self, function) {
            (State::Count(count), _) => Value::Integer(count.cast_signed()),
            (State::Integer { count: 0, .. } | State::Real { count: 0, .. }, _) => Value::Null,
            (State::Integer { sum, .. }, Function::Sum) => match i64::try_from(*sum) {
                Ok(sum) => Value::Integer(sum),
                Err(_) => Value::Real(*sum as f64),
            },
            (State::Integer { count, sum }, _) => real(*sum as f64 / *count as f64),
            (State::Real { sum, .. }, Function::Sum) => real(sum.value()),
            (State::Real { count, sum }, _) => real(sum.value() / *count as f64),
            (State::Extreme { .. }, _) => Value::Null,
        }
    }
}

struct Group {
    key: Vec<u8>,
    rows: u64,
    /// Whether HAVING was true at the last comparison.
    is_over: bool,
    is_touched: bool,
    /// Whether it has a key, and is among [`Groups::listed`] with it.
    is_live: bool,
    is_listed: bool,
}

/// Groups by key, up to a limit. Memory of removed groups is reused.
pub(super) struct Groups {
    aggregates: Vec<Aggregate>,
    hasher: SipHasher13,
    index: HashTable<u32>,
    groups: Vec<Group>,
    /// States of all groups, a fixed number for each.
    states: Vec<State>,
    free: Vec<u32>,
    /// Groups in the order of their keys, as of the last answer.
    listed: Vec<u32>,
    max: usize,
}

impl Groups {
    pub fn new(aggregates: &[Aggregate], max: usize, [one, two]: [u64; 2]) -> Groups {
        Groups {
            aggregates: aggregates.to_vec(),
            hasher: SipHasher13::new_with_keys(one, two),
            index: HashTable::new(),
            groups: Vec::new(),
            states: Vec::new(),
            free: Vec::new(),
            listed: Vec::new(),
            max,
        }
    }

    /// Maximum memory of a group, bytes. Vectors and tables may have twice the places they need.
    pub fn cost(aggregates: &[Aggregate], key_len: usize) -> usize {
        let states = aggregates
            .iter()
            .map(|aggregate| match State::new(aggregate) {
                State::Real { .. } => size_of::<State>() + Exact::BYTES,
                _ => size_of::<State>(),
            });
        let entries = size_of::<Group>() + 5 * size_of::<u32>() + key_len;
        2 * (entries + states.sum::<usize>())
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher;
        hasher.write(key);
        hasher.finish()
    }

    /// The group of a key; `None` if it is new and there are too many.
    pub fn find_or_add(&mut self, key: &[u8]) -> Option<u32> {
        let hash = self.hash(key);
        let groups = &self.groups;
        let is = |group: &u32| groups[*group as usize].key == key;
        if let Some(group) = self.index.find(hash, is) {
            return Some(*group);
        }
        if self.index.len() == self.max {
            return None;
        }
        let group = self.free.pop().unwrap_or_else(|| {
            self.groups.push(Group {
                key: Vec::new(),
                rows: 0,
                is_over: false,
                is_touched: false,
                is_live: true,
                is_listed: false,
            });
            self.states.extend(self.aggregates.iter().map(State::new));
            self.groups.len() as u32 - 1
        });
        let entry = &mut self.groups[group as usize];
        entry.key.clear();
        entry.key.extend_from_slice(key);
        (entry.is_over, entry.is_touched) = (false, false);
        (entry.is_live, entry.is_listed) = (true, false);
        let (groups, hasher) = (&self.groups, self.hasher);
        self.index.insert_unique(hash, group, |group| {
            let mut hasher = hasher;
            hasher.write(&groups[*group as usize].key);
            hasher.finish()
        });
        Some(group)
    }

    pub fn remove(&mut self, group: u32) {
        let hash = self.hash(&self.groups[group as usize].key);
        if let Ok(entry) = self.index.find_entry(hash, |other| *other == group) {
            entry.remove();
            self.free.push(group);
            let gone = &mut self.groups[group as usize];
            (gone.is_live, gone.is_listed) = (false, false);
            let width = self.aggregates.len();
            let states = &mut self.states[group as usize * width..][..width];
            states.iter_mut().for_each(State::clear);
        }
    }

    /// Changes the number of a group's rows.
    pub fn rows(&mut self, group: u32, by: i64) {
        let rows = &mut self.groups[group as usize].rows;
        *rows = rows.wrapping_add_signed(by);
    }

    pub fn is_empty(&self, group: u32) -> bool {
        self.groups[group as usize].rows == 0
    }

    pub fn state(&mut self, group: u32, aggregate: usize) -> &mut State {
        &mut self.states[group as usize * self.aggregates.len() + aggregate]
    }

    pub fn read(&self, group: u32, aggregate: usize) -> &State {
        &self.states[group as usize * self.aggregates.len() + aggregate]
    }

    /// Marks a group as changed; returns whether it was unmarked before.
    pub fn mark_touched(&mut self, group: u32) -> bool {
        !core::mem::replace(&mut self.groups[group as usize].is_touched, true)
    }

    /// Sets whether HAVING is true after a comparison; returns whether it has become true.
    pub fn set_over(&mut self, group: u32, is_over: bool) -> bool {
        let group = &mut self.groups[group as usize];
        group.is_touched = false;
        let rises = is_over && !group.is_over;
        group.is_over = is_over;
        rises
    }

    /// A value of a group's key.
    pub fn key(&self, group: u32, index: usize) -> Value<'_> {
        values(&self.groups[group as usize].key)
            .nth(index)
            .unwrap_or(Value::Null)
    }

    /// All groups in the order of their keys.
    ///
    /// Groups of the last call are in order already. The sort detects runs, so it compares each of
    /// them about once.
    pub fn sort(&mut self) {
        let groups = &mut self.groups;
        self.listed
            .retain(|group| groups[*group as usize].is_listed);
        if self.listed.len() < self.index.len() {
            for (number, group) in groups.iter_mut().enumerate() {
                if group.is_live && !group.is_listed {
                    group.is_listed = true;
                    self.listed.push(number as u32);
                }
            }
            self.listed.sort_by(|one, other| {
                let key = |group: &u32| values(&groups[*group as usize].key);
                let orders = key(one)
                    .zip(key(other))
                    .map(|(one, other)| one.order(other));
                orders
                    .into_iter()
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            });
        }
    }

    /// All groups in the order of their keys, after [`sort`](Groups::sort).
    pub fn listed(&self) -> &[u32] {
        &self.listed
    }
}

/// The values of an encoded key.
fn values(mut key: &[u8]) -> impl Iterator<Item = Value<'_>> {
    core::iter::from_fn(move || {
        let (value, rest) = Value::decode(key)?;
        key = rest;
        Some(value)
    })
}
