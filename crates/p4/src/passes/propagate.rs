//! Constants and copies go to where they are read, and jumps past decisions that they decide.
//!
//! What is known of slots goes from a block to those that only it leads to, with what the way there tells: behind `case 5` of a select over
//! `hdr.ipv4.protocol` that field is 5, behind its default it is none of the cases. A jump to a block that only decides, where the decision
//! is known, goes where that leads: so selects over the same key become one.

use super::branches::{decided, each_target};
use super::fold::statement_values;
use super::uses::{Shape, TableUses, expressions_mut, hidden, statement, successors};
use crate::ir::*;
use crate::value::Bits;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

/// Facts about slots at one place.
#[derive(Clone, Default)]
struct Known {
    /// A constant, or what another slot holds.
    values: BTreeMap<SlotId, Expr>,
    /// By a slot: those that hold what it holds.
    holders: BTreeMap<SlotId, BTreeSet<SlotId>>,
    /// Values that a slot does not have.
    others: BTreeMap<SlotId, BTreeSet<Bits>>,
}

/// Maximum number of facts that are kept for the ends of a body's blocks. Further ones are dropped:
/// the program stays correct, but is optimised less.
const MAX_FACTS: usize = 1_000_000;

/// Runs the pass; says whether anything changed.
pub fn run(program: &mut Program) -> bool {
    let shape = Shape::new(program);
    let slots = core::mem::take(&mut program.slots);
    let mut changed = false;
    for body in super::bodies(program) {
        changed |= run_body(body, &shape, &slots);
    }
    program.slots = slots;
    changed
}

fn run_body(body: &mut Body, shape: &Shape, slots: &[Slot]) -> bool {
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); body.blocks.len()];
    for (from, block) in body.blocks.iter().enumerate() {
        for to in successors(&block.terminator) {
            preds[to.index()].push(from);
        }
    }
    if let Some(fail) = body.fail {
        // Errors come from anywhere.
        preds[fail.index()].extend([usize::MAX; 2]);
    }
    let mut changed = false;
    let mut ends: Vec<Option<Known>> = vec![None; body.blocks.len()];
    let mut room = MAX_FACTS;
    for index in 0..body.blocks.len() {
        let mut known = match preds[index].as_slice() {
            [one] if index > 0 && *one < index => {
                let mut known = ends[*one].clone().unwrap_or_default();
                let before = &body.blocks[*one].terminator;
                let mut edges = edges(before).into_iter();
                if let Some(edge) = edges.find(|edge| edge.to.index() == index) {
                    edge.implies(before, &mut known, shape);
                }
                known
            }
            [one, rest @ ..] if index > 0 && rest.iter().all(|other| other == one) => {
                ends.get(*one).cloned().flatten().unwrap_or_default()
            }
            _ => Known::default(),
        };
        let block = &mut body.blocks[index];
        for Statement { kind, .. } in &mut block.statements {
            changed |= statement_values(kind, &mut |value| replace(value, &known));
            let uses = statement(kind, shape);
            if hidden(kind) {
                known.retain(|slot| !shape.observed.has(slot));
            }
            for slot in uses.writes() {
                known.forget(slot);
            }
            if let StatementKind::Assign {
                target: LValue::Slot(slot),
                value,
            } = kind
            {
                known.learn(*slot, value, shape);
            }
        }
        for value in expressions_mut(&mut block.terminator) {
            changed |= replace(value, &known);
        }
        if let Terminator::Apply { table, .. } = block.terminator {
            let TableUses { writes, calls, .. } = &shape.tables[table.index()];
            known.retain(|slot| !(writes.has(slot) || *calls && shape.observed.has(slot)));
        }
        // A block that knows nothing takes room too, and there may be as many of those as the program has.
        ends[index] = match room.checked_sub(known.size()) {
            Some(left) => {
                room = left;
                Some(known)
            }
            None => Some(Known::default()),
        };
    }
    changed | pass_by(body, &ends, shape, slots)
}

/// One of the ways out of a block.
struct Edge {
    to: BlockId,
    /// The case of a select or the side of a branch: 0 is yes. The default comes after the cases.
    number: usize,
}

/// Maximum number of edges out of a block that are analysed.
const MAX_EDGES: usize = 256;

fn edges(terminator: &Terminator) -> Vec<Edge> {
    let all = successors(terminator).into_iter().enumerate();
    let all: Vec<Edge> = all.map(|(number, to)| Edge { to, number }).collect();
    if all.len() > MAX_EDGES {
        return Vec::new();
    }
    all
}

impl Edge {
    /// Adds the facts that hold when this is the only edge taken to its block.
    fn implies(&self, terminator: &Terminator, known: &mut Known, shape: &Shape) {
        match terminator {
            Terminator::Branch { condition, .. } => {
                known.condition(condition, self.number == 0, shape);
            }
            Terminator::Select { keys, cases, .. } => {
                // With one key the cases before did not match.
                if let [Expr::Slot(slot)] = keys[..] {
                    for case in &cases[..self.number] {
                        if let [Pattern::Equal(value)] = &case.patterns[..] {
                            known.differs(slot, value, shape);
                        }
                    }
                }
                let patterns = cases.get(self.number).map(|case| &case.patterns);
                for (pattern, key) in patterns.into_iter().flatten().zip(keys) {
                    if let (Pattern::Equal(value), Expr::Slot(slot)) = (pattern, key) {
                        known.equals(*slot, value, shape);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Leads jumps forward past blocks that only decide what is already known.
fn pass_by(body: &mut Body, ends: &[Option<Known>], shape: &Shape, slots: &[Slot]) -> bool {
    let mut changed = false;
    for (index, end) in ends.iter().enumerate() {
        let Some(end) = end else { continue };
        let mut new: Vec<BlockId> = Vec::new();
        for edge in edges(&body.blocks[index].terminator) {
            let mut to = edge.to;
            let mut known = None;
            // A jump backwards is counted, and stays one.
            while to.index() > index {
                let block = &body.blocks[to.index()];
                let only = block.statements.is_empty() && block.name.is_none();
                if !only || expressions_of(&block.terminator) == 0 {
                    break;
                }
                let known = known.get_or_insert_with(|| {
                    let mut known = end.clone();
                    edge.implies(&body.blocks[index].terminator, &mut known, shape);
                    known
                });
                match known.decides(&block.terminator, slots) {
                    Some(next) if next.index() > to.index() => to = next,
                    _ => break,
                }
            }
            changed |= to != edge.to;
            new.push(to);
        }
        let mut new = new.into_iter();
        each_target(&mut body.blocks[index].terminator, |to| {
            *to = new.next().unwrap_or(*to);
        });
    }
    changed
}

fn expressions_of(terminator: &Terminator) -> usize {
    super::uses::expressions(terminator).len()
}

impl Known {
    fn size(&self) -> usize {
        let others = self.others.values().map(BTreeSet::len);
        self.values.len() + self.holders.len() + others.sum::<usize>()
    }

    fn retain(&mut self, keep: impl Fn(SlotId) -> bool) {
        self.values.retain(|slot, value| {
            keep(*slot) && !matches!(value, Expr::Slot(from) if !keep(*from))
        });
        self.holders.retain(|from, holders| {
            holders.retain(|slot| keep(*slot));
            keep(*from) && !holders.is_empty()
        });
        self.others.retain(|slot, _| keep(*slot));
    }

    fn forget(&mut self, slot: SlotId) {
        self.unlearn(slot);
        for holder in self.holders.remove(&slot).unwrap_or_default() {
            self.values.remove(&holder);
        }
        self.others.remove(&slot);
    }

    /// Forgets what a slot holds, not who holds the same.
    fn unlearn(&mut self, slot: SlotId) {
        if let Some(Expr::Slot(from)) = self.values.remove(&slot)
            && let Some(holders) = self.holders.get_mut(&from)
        {
            holders.remove(&slot);
        }
    }

    fn learn(&mut self, slot: SlotId, value: &Expr, shape: &Shape) {
        let ty = shape.slots[slot.index()];
        if matches!(ty, Ty::Varbit(_)) {
            return;
        }
        match value {
            Expr::Constant(bits, of) if *of == ty && bits.width() == ty.width() => {
                self.unlearn(slot);
                self.values.insert(slot, value.clone());
            }
            Expr::Slot(from) if *from != slot && shape.slots[from.index()] == ty => {
                self.unlearn(slot);
                self.values.insert(slot, value.clone());
                self.holders.entry(*from).or_default().insert(slot);
            }
            _ => {}
        }
    }

    /// A slot holds a value now, if that is a constant.
    fn equals(&mut self, slot: SlotId, value: &Expr, shape: &Shape) {
        if matches!(value, Expr::Constant(..)) {
            self.learn(slot, value, shape);
        }
    }

    /// A slot does not hold a constant.
    fn differs(&mut self, slot: SlotId, value: &Expr, shape: &Shape) {
        match (value, shape.slots[slot.index()]) {
            (_, Ty::Varbit(_)) => {}
            (Expr::Constant(bits, of), Ty::Bool) if *of == Ty::Bool => {
                let other = Expr::Constant(Bits::from(!bits.is_true()), Ty::Bool);
                self.equals(slot, &other, shape);
            }
            (Expr::Constant(bits, of), ty) if *of == ty && bits.width() == ty.width() => {
                self.others.entry(slot).or_default().insert(bits.clone());
            }
            _ => {}
        }
    }

    fn condition(&mut self, condition: &Expr, holds: bool, shape: &Shape) {
        match condition {
            Expr::Slot(slot) => {
                let value = Expr::Constant(Bits::from(holds), Ty::Bool);
                self.equals(*slot, &value, shape);
            }
            Expr::Unary(Unary::Not, inner) => self.condition(inner, !holds, shape),
            Expr::Binary(Binary::And, left, right) if holds => {
                self.condition(left, true, shape);
                self.condition(right, true, shape);
            }
            Expr::Binary(Binary::Or, left, right) if !holds => {
                self.condition(left, false, shape);
                self.condition(right, false, shape);
            }
            Expr::Binary(operator @ (Binary::Equal | Binary::NotEqual), left, right) => {
                let (slot, value) = match (&**left, &**right) {
                    (Expr::Slot(slot), value) | (value, Expr::Slot(slot)) => (*slot, value),
                    _ => return,
                };
                match (*operator == Binary::Equal) == holds {
                    true => self.equals(slot, value, shape),
                    false => self.differs(slot, value, shape),
                }
            }
            _ => {}
        }
    }

    /// Where a decision leads.
    fn decides(&self, terminator: &Terminator, slots: &[Slot]) -> Option<BlockId> {
        let mut terminator = terminator.clone();
        if let Terminator::Select { keys, cases, .. } = &mut terminator
            && let [Expr::Slot(slot)] = keys[..]
        {
            let others = self.others.get(&slot);
            cases.retain(|case| match (&case.patterns[..], others) {
                ([Pattern::Equal(Expr::Constant(bits, _))], Some(others)) => !others.contains(bits),
                _ => true,
            });
        }
        for value in expressions_mut(&mut terminator) {
            replace(value, self);
            super::fold::simplify(value, slots);
        }
        decided(&terminator)
    }
}

fn replace(value: &mut Expr, known: &Known) -> bool {
    match value {
        Expr::Slot(slot) => match known.values.get(slot) {
            Some(other) => {
                *value = other.clone();
                true
            }
            None => false,
        },
        Expr::Constant(..) | Expr::VarbitLength(_) => false,
        Expr::Element { index, .. } => replace(index, known),
        Expr::Unary(_, inner)
        | Expr::Slice { value: inner, .. }
        | Expr::Cast { value: inner, .. } => replace(inner, known),
        Expr::Binary(_, left, right) => replace(left, known) | replace(right, known),
        Expr::Conditional { condition, yes, no } => {
            replace(condition, known) | replace(yes, known) | replace(no, known)
        }
    }
}
