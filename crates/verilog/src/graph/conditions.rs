//! Conditions, as conjunctions of literals and disjunctions of those.

use super::{Graph, Id, LITERALS, Op, Two};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

impl Graph {
    /// Conditions without what all of them have in common.
    pub(crate) fn apart(&mut self, conditions: &[Id]) -> Vec<Id> {
        let sets: Vec<_> = conditions.iter().map(|one| self.literals(*one)).collect();
        let Some((first, others)) = sets.split_first() else {
            return Vec::new();
        };
        let common: BTreeSet<Id> = first
            .iter()
            .filter(|literal| others.iter().all(|set| set.contains(literal)))
            .copied()
            .collect();
        let rest = sets
            .iter()
            .map(|set| set.difference(&common).copied().collect());
        let rest: Vec<BTreeSet<Id>> = rest.collect();
        rest.into_iter().map(|set| self.conjunction(set)).collect()
    }

    /// The literals of a conjunction.
    pub(super) fn literals(&mut self, a: Id) -> BTreeSet<Id> {
        if let Some(literals) = self.conjunctions.get(&a) {
            return literals.clone();
        }
        let mut literals = BTreeSet::new();
        match *self.op(a) {
            Op::Two(Two::And, x, y) => {
                literals.extend(self.literals(x));
                literals.extend(self.literals(y));
            }
            _ if self.is_true(a) => {}
            _ => {
                literals.insert(a);
            }
        }
        self.conjunctions.insert(a, literals.clone());
        literals
    }

    fn conjunction(&mut self, literals: BTreeSet<Id>) -> Id {
        // From the oldest on, so that common beginnings are shared.
        let mut all: Option<Id> = None;
        for literal in &literals {
            all = Some(match all {
                None => *literal,
                Some(all) => self.make(Op::Two(Two::And, all, *literal), 1),
            });
        }
        let id = all.unwrap_or_else(|| self.bit(true));
        self.conjunctions.insert(id, literals);
        id
    }

    /// Whether both can never hold.
    pub(crate) fn exclude(&mut self, a: Id, b: Id) -> bool {
        let both = self.and(a, b);
        self.is_false(both)
    }

    pub(crate) fn and(&mut self, a: Id, b: Id) -> Id {
        if self.is_false(a) || self.is_true(b) || a == b {
            return a;
        }
        if self.is_false(b) || self.is_true(a) {
            return b;
        }
        let mut literals = self.literals(a);
        literals.extend(self.literals(b));
        if literals.len() > LITERALS {
            let (a, b) = (a.min(b), a.max(b));
            return self.make(Op::Two(Two::And, a, b), 1);
        }
        // One value cannot be two constants, and is not another when it is one.
        let mut is: BTreeMap<Id, Id> = BTreeMap::new();
        for literal in &literals {
            if let Op::Two(Two::Equal, value, constant) = *self.op(*literal)
                && self.known(constant).is_some()
                && is
                    .insert(value, constant)
                    .is_some_and(|other| other != constant)
            {
                return self.bit(false);
            }
        }
        let mut kept = BTreeSet::new();
        for literal in &literals {
            if let Op::Not(inner) = *self.op(*literal) {
                if literals.contains(&inner) {
                    return self.bit(false);
                }
                if let Op::Two(Two::Equal, value, constant) = *self.op(inner)
                    && is
                        .get(&value)
                        .is_some_and(|is| *is != constant && self.known(constant).is_some())
                {
                    continue;
                }
                // Not (x or y), where x holds.
                if let Op::Two(Two::Or, x, y) = *self.op(inner)
                    && (literals.contains(&x) || literals.contains(&y))
                {
                    return self.bit(false);
                }
            }
            if let Op::Two(Two::Or, x, y) = *self.op(*literal)
                && (literals.contains(&x) || literals.contains(&y))
            {
                continue;
            }
            kept.insert(*literal);
        }
        self.conjunction(kept)
    }

    pub(crate) fn or(&mut self, a: Id, b: Id) -> Id {
        self.any(&[a, b])
    }

    /// Whether one of them holds.
    pub(crate) fn any(&mut self, all: &[Id]) -> Id {
        let mut terms: Vec<BTreeSet<Id>> = Vec::new();
        for id in all {
            if !self.is_false(*id) {
                // What is a disjunction itself is taken apart.
                let mut parts = alloc::vec![*id];
                while let Some(part) = parts.pop() {
                    match *self.op(part) {
                        Op::Two(Two::Or, x, y) => parts.extend([x, y]),
                        _ => terms.push(self.literals(part)),
                    }
                }
            }
        }
        let mut changed = terms.len() <= 64;
        while changed {
            changed = false;
            'pairs: for i in 0..terms.len() {
                for j in 0..terms.len() {
                    if i == j {
                        continue;
                    }
                    if terms[i].is_subset(&terms[j]) {
                        terms.remove(j);
                        changed = true;
                        break 'pairs;
                    }
                    let mut apart = terms[i].difference(&terms[j]);
                    if let (Some(one), None) = (apart.next().copied(), apart.next()) {
                        let opposite = self.not(one);
                        if terms[j].remove(&opposite) {
                            changed = true;
                            break 'pairs;
                        }
                    }
                }
            }
        }
        if terms.iter().any(BTreeSet::is_empty) {
            return self.bit(true);
        }
        let mut all: Vec<Id> = terms
            .into_iter()
            .map(|term| self.conjunction(term))
            .collect();
        all.sort();
        all.dedup();
        let mut result: Option<Id> = None;
        for term in all {
            result = Some(match result {
                None => term,
                Some(result) => self.make(Op::Two(Two::Or, result, term), 1),
            });
        }
        result.unwrap_or_else(|| self.bit(false))
    }
}
