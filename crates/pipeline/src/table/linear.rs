//! Entry after entry: obviously right, and what the other ways are measured and tested against.

use super::form::{Form, KeyForm, MatchKind};
use super::rule::Rule;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

#[derive(Debug)]
pub(super) struct Linear {
    /// The winners first.
    rules: Vec<(Order, u32, Arc<Rule>)>,
    /// The only lpm key of a table without priorities.
    prefix: Option<KeyForm>,
}

/// Long prefixes before short ones, large priorities before small ones, old entries before new ones.
type Order = (Reverse<u32>, Reverse<u32>, u64);

impl Linear {
    pub(super) fn new(form: &Form) -> Self {
        let mut keys = form.keys.iter();
        let prefix = keys.find(|k| k.kind == MatchKind::Lpm && !form.has_priorities());
        Linear {
            rules: Vec::new(),
            prefix: prefix.cloned(),
        }
    }

    fn order(&self, rule: &Rule) -> Order {
        let length = self.prefix.as_ref();
        let length = length.map_or(0, |key| rule.pattern.prefix_length(key));
        let (priority, handle) = rule.rank();
        (Reverse(length), priority, handle)
    }

    pub(super) fn insert(&mut self, row: u32, rule: &Arc<Rule>) {
        let order = self.order(rule);
        let at = self.rules.partition_point(|(other, ..)| *other < order);
        self.rules.insert(at, (order, row, rule.clone()));
    }

    pub(super) fn remove(&mut self, _row: u32, rule: &Rule) {
        let order = self.order(rule);
        if let Ok(at) = self.rules.binary_search_by(|(other, ..)| other.cmp(&order)) {
            self.rules.remove(at);
        }
    }

    pub(super) fn find(&self, key: &[u64]) -> u32 {
        let mut rules = self.rules.iter();
        let found = rules.find(|(_, _, rule)| rule.pattern.matches(key));
        found.map_or(0, |(_, row, _)| *row)
    }
}
