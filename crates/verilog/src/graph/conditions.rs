//! Conditions, as conjunctions of literals and disjunctions of those.

use super::{Graph, Id, LITERALS, Op, Two};
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// Disjunctions of more terms than these are left as they are.
const TERMS: usize = 64;

impl Graph {
    /// Conditions without what all of them have in common.
    pub(crate) fn apart(&mut self, conditions: &[Id]) -> Vec<Id> {
        let sets: Vec<_> = conditions.iter().map(|one| self.literals(*one)).collect();
        let Some((first, others)) = sets.split_first() else {
            return Vec::new();
        };
        let common: Vec<Id> = first
            .iter()
            .filter(|literal| others.iter().all(|set| has(set, **literal)))
            .copied()
            .collect();
        let apart = sets.iter().map(|set| {
            let rest = set.iter().filter(|literal| !has(&common, **literal));
            self.conjunction(rest.copied().collect())
        });
        apart.collect()
    }

    /// The literals of a conjunction, sorted.
    pub(super) fn literals(&mut self, a: Id) -> Rc<[Id]> {
        if let Some(literals) = self.conjunctions.get(&a) {
            return Rc::clone(literals);
        }
        let literals: Rc<[Id]> = match *self.op(a) {
            Op::Two(Two::And, x, y) => {
                let (x, y) = (self.literals(x), self.literals(y));
                union([&x, &y]).into()
            }
            _ if self.is_true(a) => [].into(),
            _ => [a].into(),
        };
        self.conjunctions.insert(a, Rc::clone(&literals));
        literals
    }

    /// All of these, which are sorted.
    fn conjunction(&mut self, literals: Vec<Id>) -> Id {
        // From the oldest on, so that common beginnings are shared.
        let mut all: Option<Id> = None;
        for literal in &literals {
            all = Some(match all {
                None => *literal,
                Some(all) => self.make(Op::Two(Two::And, all, *literal), 1),
            });
        }
        let id = all.unwrap_or_else(|| self.bit(true));
        self.conjunctions.insert(id, literals.into());
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
        let (x, y) = (self.literals(a), self.literals(b));
        let literals = union([&x, &y]);
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
        let mut kept = Vec::new();
        for literal in &literals {
            if let Op::Not(inner) = *self.op(*literal) {
                if has(&literals, inner) {
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
                    && (has(&literals, x) || has(&literals, y))
                {
                    return self.bit(false);
                }
            }
            if let Op::Two(Two::Or, x, y) = *self.op(*literal)
                && (has(&literals, x) || has(&literals, y))
            {
                continue;
            }
            kept.push(*literal);
        }
        self.conjunction(kept)
    }

    pub(crate) fn or(&mut self, a: Id, b: Id) -> Id {
        self.any(&[a, b])
    }

    /// Whether one of them holds.
    pub(crate) fn any(&mut self, all: &[Id]) -> Id {
        let mut terms: Vec<Rc<[Id]>> = Vec::new();
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
        let terms = match terms.len() {
            ..=TERMS => self.fewer(&terms),
            _ => terms.iter().map(|term| term.to_vec()).collect(),
        };
        if terms.iter().any(Vec::is_empty) {
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

    /// The same disjunction, at most [`TERMS`] terms, without those that others contain, and without literals whose opposite need not be told.
    fn fewer(&mut self, terms: &[Rc<[Id]>]) -> Vec<Vec<Id>> {
        // Sets of bits, since some programs have thousands of disjunctions with dozens of long terms.
        let literals = union(terms);
        let words = literals.len().div_ceil(64);
        let mut sets: Vec<Vec<u64>> = Vec::new();
        for term in terms {
            let mut set = alloc::vec![0; words];
            for literal in term.iter() {
                if let Ok(at) = literals.binary_search(literal) {
                    set[at / 64] |= 1 << (at % 64);
                }
            }
            sets.push(set);
        }
        // For each term the others that it is still to be compared with.
        let mut left = u64::MAX >> (64 - sets.len().max(1));
        let mut open = alloc::vec![left; sets.len()];
        'changed: loop {
            for i in 0..sets.len() {
                while left & 1 << i != 0 && open[i] & left & !(1 << i) != 0 {
                    let j = (open[i] & left & !(1 << i)).trailing_zeros() as usize;
                    open[i] &= !(1 << j);
                    let apart = || {
                        sets[i]
                            .iter()
                            .zip(&sets[j])
                            .map(|(one, other)| one & !other)
                    };
                    match apart().map(u64::count_ones).sum() {
                        0 => left &= !(1 << j),
                        1u32 => {
                            let bits = apart().enumerate().find(|(_, bits)| *bits != 0);
                            let Some((word, bits)) = bits else { continue };
                            let literal = literals[word * 64 + bits.trailing_zeros() as usize];
                            let opposite = self.not(literal);
                            let Ok(at) = literals.binary_search(&opposite) else {
                                continue;
                            };
                            if sets[j][at / 64] & 1 << (at % 64) != 0 {
                                sets[j][at / 64] &= !(1 << (at % 64));
                                open[j] = u64::MAX;
                                open.iter_mut().for_each(|open| *open |= 1 << j);
                                continue 'changed;
                            }
                        }
                        _ => {}
                    }
                }
            }
            break;
        }
        let kept = (0..sets.len()).filter(|term| left & 1 << term != 0);
        kept.map(|term| {
            let held = |at: &usize| sets[term][at / 64] & 1 << (at % 64) != 0;
            (0..literals.len())
                .filter(held)
                .map(|at| literals[at])
                .collect()
        })
        .collect()
    }
}

/// Whether a sorted list has it.
fn has(sorted: &[Id], literal: Id) -> bool {
    sorted.binary_search(&literal).is_ok()
}

/// What the lists have, sorted, each once.
fn union<'a>(lists: impl IntoIterator<Item = &'a (impl AsRef<[Id]> + ?Sized + 'a)>) -> Vec<Id> {
    let mut all: Vec<Id> = Vec::new();
    for list in lists {
        all.extend(list.as_ref());
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Input;
    use node::random::Random;

    /// What a condition is when the port is `port` and the length `length`.
    fn holds(graph: &Graph, id: Id, port: u64, length: u64) -> bool {
        match *graph.op(id) {
            Op::Constant(_) => graph.is_true(id),
            Op::Input(Input::IsCopy) => port & 1 != 0,
            Op::Input(Input::IsClone) => port & 2 != 0,
            Op::Input(Input::Keep) => length & 1 != 0,
            Op::Not(a) => !holds(graph, a, port, length),
            Op::Two(Two::And, a, b) => {
                holds(graph, a, port, length) && holds(graph, b, port, length)
            }
            Op::Two(Two::Or, a, b) => {
                holds(graph, a, port, length) || holds(graph, b, port, length)
            }
            Op::Two(Two::Equal, value, constant) => {
                let value = match graph.op(value) {
                    Op::Input(Input::Port) => port,
                    _ => length,
                };
                graph.number(constant) == Some(value)
            }
            Op::Choose(a, b, c) => match holds(graph, a, port, length) {
                true => holds(graph, b, port, length),
                false => holds(graph, c, port, length),
            },
            ref other => panic!("no condition: {other:?}"),
        }
    }

    #[test]
    fn a_condition_that_is_made_simpler_holds_for_the_same_packets() {
        const VALUES: u64 = 4;
        let mut random = Random::new(1);
        for _ in 0..200 {
            let mut graph = Graph::default();
            // Each with the pairs of port and length for which it holds.
            let mut made: Vec<(Id, u64)> = Vec::new();
            let every = (0..VALUES * VALUES).map(|pair| (pair / VALUES, pair % VALUES));
            for input in [Input::IsCopy, Input::IsClone, Input::Keep] {
                made.push((graph.input(input), 0));
            }
            for input in [Input::Port, Input::Length] {
                let value = graph.input(input);
                made.extend((0..VALUES).map(|wanted| (graph.equal_to(value, wanted), 0)));
            }
            let meaning = |graph: &Graph, id| {
                let pairs = every.clone().enumerate();
                pairs.fold(0u64, |all, (at, (port, length))| {
                    all | u64::from(holds(graph, id, port, length)) << at
                })
            };
            for (id, when) in &mut made {
                *when = meaning(&graph, *id);
            }
            for _ in 0..40 {
                let mut pick = || made[random.below(made.len() as u64) as usize];
                let ((a, x), (b, y), (c, z), (d, w)) = (pick(), pick(), pick(), pick());
                let all = u64::MAX >> (64 - VALUES * VALUES);
                let (id, when) = match random.below(6) {
                    0 => (graph.and(a, b), x & y),
                    1 => (graph.or(a, b), x | y),
                    2 => (graph.not(a), all & !x),
                    3 => (graph.any(&[a, b, c, d]), x | y | z | w),
                    4 => (graph.choose(a, b, c), x & y | all & !x & z),
                    _ => {
                        let apart = graph.apart(&[a, b]);
                        // Without what both have in common: with that they are what they were.
                        let (one, other) = (meaning(&graph, apart[0]), meaning(&graph, apart[1]));
                        assert_eq!((x & one, y & other), (x, y));
                        assert_eq!(x & y, one & other & (x | y));
                        continue;
                    }
                };
                assert_eq!(meaning(&graph, id), when);
                made.push((id, when));
            }
        }
    }

    #[test]
    fn one_of_as_many_rounds_as_may_be_is_whether_the_first_was_left() {
        // Round n is left at n when it was not left before, as those of a parser's loop: any of them is that one of the literals holds.
        let mut graph = Graph::default();
        let length = graph.input(Input::Length);
        let left: Vec<Id> = (0..TERMS as u64)
            .map(|at| {
                let bytes = graph.constant(32, at + 7);
                graph.two(Two::Less, length, bytes)
            })
            .collect();
        let mut before = graph.bit(true);
        let mut rounds = Vec::new();
        for one in &left {
            rounds.push(graph.and(before, *one));
            let not = graph.not(*one);
            before = graph.and(before, not);
        }
        let (all, simple) = (graph.any(&rounds), graph.any(&left));
        assert!(all == simple);
    }
}
