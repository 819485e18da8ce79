//! Whether what clients saw of a store could have been seen of one that does one operation after the other (linearizability).
//!
//! Each operation takes effect at one instant between when it was asked for and when it was answered. Keys do not touch each
//! other, so each is checked alone (Herlihy and Wing: linearizability is local). For a key, operations are put in an order one by one,
//! each that none left has to come before, and taken back where no answer fits: Wing and Gong's search, with Lowe's memory of
//! what was tried. An operation that was never answered may take effect at any time after it was asked for, or never.

use crate::store::{Answer, Item, Key, Operation};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

/// An operation, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was asked for.
    pub operation: Operation,
    /// When.
    pub asked: u64,
    /// The answer, and when it came; `None` when none did.
    pub answered: Option<(u64, Answer)>,
}

/// A history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Its operations, in any order.
    pub entries: Vec<Entry>,
}

impl History {
    /// The first key whose operations cannot be put in an order; `None` when all can: the history is linearizable.
    pub fn wrong_key(&self) -> Option<Key> {
        let mut keys: BTreeMap<Key, Vec<Entry>> = BTreeMap::new();
        for entry in &self.entries {
            let operations = keys.entry(entry.operation.key()).or_default();
            operations.push(*entry);
        }
        let mut keys = keys.into_iter();
        keys.find(|(_, entries)| !can_be_ordered(entries))
            .map(|(key, _)| key)
    }
}

/// Which operations are in order, as bits.
type Done = Vec<u64>;

/// A step of the search: which operations are done, what is there then, and which operation to try next.
struct Step {
    item: Item,
    next: usize,
    /// The operation by which this step was taken.
    by: usize,
}

fn can_be_ordered(entries: &[Entry]) -> bool {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|entry| entry.asked);
    let mut done: Done = vec![0; entries.len().div_ceil(64)];
    let mut left = entries
        .iter()
        .filter(|entry| entry.answered.is_some())
        .count();
    let mut tried: BTreeSet<(Done, Item)> = BTreeSet::new();
    let mut path = vec![Step {
        item: 0,
        next: 0,
        by: usize::MAX,
    }];
    while left > 0 {
        let Some(step) = path.last_mut() else {
            return false;
        };
        match next_of(&entries, &done, step) {
            Some((index, item)) => {
                step.next = index + 1;
                flip(&mut done, index);
                if tried.insert((done.clone(), item)) {
                    left -= usize::from(entries[index].answered.is_some());
                    path.push(Step {
                        item,
                        next: 0,
                        by: index,
                    });
                } else {
                    flip(&mut done, index);
                }
            }
            None => {
                let by = step.by;
                path.pop();
                if by != usize::MAX {
                    flip(&mut done, by);
                    left += usize::from(entries[by].answered.is_some());
                }
            }
        }
    }
    true
}

/// The next operation that may come next, and what is there after it.
fn next_of(entries: &[Entry], done: &Done, step: &Step) -> Option<(usize, Item)> {
    let open = |index: usize| done[index / 64] >> (index % 64) & 1 == 0;
    // What is asked for after another was answered comes after that one.
    let open_entries = entries.iter().enumerate().filter(|(index, _)| open(*index));
    let first_answer = open_entries
        .filter_map(|(_, entry)| Some(entry.answered?.0))
        .min();
    let first_answer = first_answer.unwrap_or(u64::MAX);
    (step.next..entries.len())
        .take_while(|index| entries[*index].asked <= first_answer)
        .filter(|index| open(*index))
        .find_map(|index| {
            let mut item = step.item;
            let answer = entries[index].operation.apply(&mut item);
            let fits = entries[index]
                .answered
                .is_none_or(|(_, seen)| seen == answer);
            fits.then_some((index, item))
        })
}

fn flip(done: &mut Done, index: usize) {
    done[index / 64] ^= 1 << (index % 64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use Answer::{Differs, Found, Written};
    use Operation::{Get, Put, Swap};

    fn wrong(entries: &[(u64, u64, Operation, Answer)]) -> Option<Key> {
        let entries = entries
            .iter()
            .map(|&(asked, until, operation, answer)| Entry {
                operation,
                asked,
                answered: (until != 0).then_some((until, answer)),
            });
        History {
            entries: entries.collect(),
        }
        .wrong_key()
    }

    /// Histories of which the verdict is known: registers as in Herlihy and Wing's paper, and what replicated stores get wrong.
    #[test]
    fn known_histories_are_judged_right() {
        assert_eq!(wrong(&[]), None);
        assert_eq!(
            wrong(&[(1, 2, Put(1, 5), Written), (3, 4, Get(1), Found(5))]),
            None
        );
        let stale = [(1, 2, Put(1, 5), Written), (3, 4, Get(1), Found(0))];
        assert_eq!(wrong(&stale), Some(1), "a stale read");
        assert_eq!(
            wrong(&[(1, 4, Put(1, 5), Written), (2, 3, Get(1), Found(0))]),
            None,
            "at once"
        );
        let back = [
            (1, 10, Put(1, 5), Written),
            (2, 3, Get(1), Found(5)),
            (4, 5, Get(1), Found(0)),
        ];
        assert_eq!(wrong(&back), Some(1), "seen, and then not");
        let twice = [
            (1, 2, Swap(1, 0, 5), Written),
            (3, 4, Put(1, 0), Written),
            (5, 6, Get(1), Found(5)),
        ];
        assert_eq!(wrong(&twice), Some(1), "done twice");
        let both = [
            (1, 4, Swap(1, 0, 5), Written),
            (2, 3, Swap(1, 0, 6), Written),
        ];
        assert_eq!(wrong(&both), Some(1), "both swapped");
        let one = [
            (1, 4, Swap(1, 0, 5), Written),
            (2, 3, Swap(1, 0, 6), Differs(5)),
        ];
        assert_eq!(wrong(&one), None);
    }

    #[test]
    fn what_was_not_answered_may_have_been_done_late_or_never() {
        let late = [
            (1, 0, Put(1, 5), Written),
            (2, 3, Get(1), Found(0)),
            (4, 5, Get(1), Found(5)),
        ];
        assert_eq!(wrong(&late), None);
        assert_eq!(wrong(&late[..2]), None, "never");
        let before = [(1, 2, Get(1), Found(5)), (3, 0, Put(1, 5), Written)];
        assert_eq!(wrong(&before), Some(1), "before it was asked for");
    }

    #[test]
    fn keys_are_judged_alone() {
        let two = [
            (1, 2, Put(1, 5), Written),
            (1, 2, Put(2, 6), Written),
            (3, 4, Get(1), Found(5)),
            (3, 4, Get(2), Found(5)),
        ];
        assert_eq!(wrong(&two), Some(2));
    }

    #[test]
    fn many_at_once_are_judged_in_no_long_time() {
        // 300 writes by 10 clients at once, and reads between them of what the last one wrote.
        let mut entries = Vec::new();
        for lot in 0..30 {
            let at = lot * 100;
            for client in 0..10 {
                let operation = Put(1, lot * 10 + client + 1);
                entries.push((at + client + 1, at + 50 + client, operation, Written));
            }
            entries.push((at + 70, at + 80, Get(1), Found(lot * 10 + 4)));
        }
        assert_eq!(wrong(&entries), None);
        entries.push((10_000, 10_001, Get(1), Found(4)));
        assert_eq!(wrong(&entries), Some(1));
    }
}
