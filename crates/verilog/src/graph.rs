//! What a program computes of a packet, as a graph of operators on bit vectors, each of which is there once.
//!
//! Nodes name only older nodes. What is known when a node is made is worked out at once; a choice between constants stays
//! one through arithmetic, so that positions in a packet and indices of stacks remain choices between constants.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};
use p4::source::Span;
use p4::value::mask;

mod conditions;
mod parts;

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) u32);

impl Id {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What comes with a packet beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Input {
    /// By which port it came, 16 bits.
    Port,
    /// How many bytes of the window are there, 16 bits.
    Available,
    /// The packet's length in bytes, 32 bits.
    Length,
    /// The ones' complement sum of the packet, 16 bits.
    Sum,
    /// 64 bits.
    Nanoseconds,
    /// 64 bits.
    Microseconds,
    /// Behind the replication engine: whether it is a copy for a multicast group.
    IsCopy,
    /// Whether it is a clone.
    IsClone,
    /// The port that the copy is for, 16 bits.
    CopyPort,
    /// The copy's number in its group, 16 bits.
    CopyInstance,
    /// Its group has no ports.
    NoCopy,
    /// Another copy comes.
    Keep,
    /// It is not the first copy.
    Replay,
}

impl Input {
    /// How many there are.
    pub(crate) const COUNT: usize = Input::Replay as usize + 1;
}

/// An operator with two operands of one width; the result of a comparison is one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    And,
    Or,
    Xor,
    /// The right may have any width, as with the other shifts.
    ShiftLeft,
    ShiftRight,
    /// Fills with the sign.
    ShiftArithmetic,
    Equal,
    Less,
    LessSigned,
}

impl Two {
    /// Whether it is worth to have it only once.
    fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Two::Add | Two::Subtract | Two::Multiply | Two::Divide | Two::Modulo
        )
    }
}

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    Constant(BigUint),
    Input(Input),
    /// A value of the first half of the pipeline, as it comes out of the replication engine.
    Crossed(Id),
    /// Bits of what went along with a packet that begins anew, from this one on; zero with one that has just come in.
    Along(u32),
    /// A random number, of which the program has several.
    Random(u32),
    /// The packet's bits from this one on.
    Packet(u32),
    /// The same from a place that only the packet tells, of 16 bits.
    PacketAt(Id),
    /// What the lookup with this number says: hit, entry, action, arguments.
    Lookup(u32),
    /// What the access to an object with this number reads.
    Read(u32),
    Not(Id),
    Two(Two, Id, Id),
    /// Condition, value when it holds, value when it does not.
    Choose(Id, Id, Id),
    /// From this bit upwards.
    Slice(Id, u32),
    /// The most significant first.
    Concat(Vec<Id>),
    /// The exclusive or of the bits that the mask has.
    Parity(Id, BigUint),
}

pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) width: u32,
    /// A constant, or a choice between so many.
    leaves: u32,
    /// The statement that wanted it first.
    pub(crate) place: Option<Span>,
}

/// More constants than these are no longer moved through operators.
const LEAVES: u32 = 96;
/// Longer conjunctions are left as they are.
const LITERALS: usize = 48;

#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    known: BTreeMap<(Op, u32), Id>,
    /// What the programmer called it.
    pub(crate) names: BTreeMap<Id, String>,
    conjunctions: BTreeMap<Id, Rc<[Id]>>,
    /// Of conditions of several parts.
    opposites: BTreeMap<Id, Id>,
    /// The statement that is worked on.
    pub(crate) place: Option<Span>,
    /// Each use of arithmetic has an operator of its own.
    pub(crate) apart: bool,
}

impl Graph {
    pub(crate) fn width(&self, id: Id) -> u32 {
        self.nodes[id.index()].width
    }

    pub(crate) fn op(&self, id: Id) -> &Op {
        &self.nodes[id.index()].op
    }

    /// A name for a node that has none.
    pub(crate) fn name(&mut self, id: Id, name: impl FnOnce() -> String) {
        if !matches!(self.op(id), Op::Constant(_)) {
            self.names.entry(id).or_insert_with(name);
        }
    }

    fn make(&mut self, op: Op, width: u32) -> Id {
        let own = self.apart && matches!(&op, Op::Two(op, ..) if op.is_arithmetic());
        let key = (op, width);
        if let Some(id) = self.known.get(&key).filter(|_| !own) {
            return *id;
        }
        let leaves = match &key.0 {
            Op::Constant(_) => 1,
            Op::Choose(_, yes, no) => {
                let (yes, no) = (self.leaves(*yes), self.leaves(*no));
                if yes == 0 || no == 0 { 0 } else { yes + no }
            }
            _ => 0,
        };
        let leaves = if leaves > LEAVES { 0 } else { leaves };
        let id = Id(self.nodes.len() as u32);
        self.nodes.push(Node {
            op: key.0.clone(),
            width,
            leaves,
            place: self.place,
        });
        self.known.insert(key, id);
        id
    }

    fn leaves(&self, id: Id) -> u32 {
        self.nodes[id.index()].leaves
    }

    pub(crate) fn constant(&mut self, width: u32, value: impl Into<BigUint>) -> Id {
        let value = value.into() & mask(width);
        self.make(Op::Constant(value), width)
    }

    pub(crate) fn bit(&mut self, value: bool) -> Id {
        self.constant(1, u8::from(value))
    }

    pub(crate) fn known(&self, id: Id) -> Option<&BigUint> {
        match self.op(id) {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn number(&self, id: Id) -> Option<u64> {
        self.known(id).and_then(ToPrimitive::to_u64)
    }

    pub(crate) fn is_false(&self, id: Id) -> bool {
        self.width(id) == 1 && self.known(id).is_some_and(Zero::is_zero)
    }

    pub(crate) fn is_true(&self, id: Id) -> bool {
        self.width(id) == 1 && self.known(id).is_some_and(One::is_one)
    }

    pub(crate) fn input(&mut self, input: Input) -> Id {
        let width = match input {
            Input::IsCopy | Input::IsClone | Input::NoCopy | Input::Keep | Input::Replay => 1,
            Input::Port | Input::Available | Input::Sum | Input::CopyPort | Input::CopyInstance => {
                16
            }
            Input::Length => 32,
            Input::Nanoseconds | Input::Microseconds => 64,
        };
        self.make(Op::Input(input), width)
    }

    /// The same value behind the replication engine. A choice between constants stays one.
    pub(crate) fn crossed(&mut self, a: Id) -> Id {
        match *self.op(a) {
            Op::Constant(_) => a,
            Op::Choose(condition, yes, no) if self.leaves(a) > 0 => {
                let condition = self.crossed(condition);
                let (yes, no) = (self.crossed(yes), self.crossed(no));
                self.choose(condition, yes, no)
            }
            _ => {
                let width = self.width(a);
                self.make(Op::Crossed(a), width)
            }
        }
    }

    pub(crate) fn along(&mut self, from: u32, width: u32) -> Id {
        self.make(Op::Along(from), width)
    }

    pub(crate) fn random(&mut self, number: u32) -> Id {
        self.make(Op::Random(number), 64)
    }

    pub(crate) fn packet(&mut self, from: u32, width: u32) -> Id {
        self.make(Op::Packet(from), width)
    }

    pub(crate) fn packet_at(&mut self, from: Id, width: u32) -> Id {
        self.make(Op::PacketAt(from), width)
    }

    pub(crate) fn lookup(&mut self, number: u32, width: u32) -> Id {
        self.make(Op::Lookup(number), width)
    }

    pub(crate) fn read(&mut self, number: u32, width: u32) -> Id {
        self.make(Op::Read(number), width)
    }

    /// A choice between constants, with each constant put through `each`; nothing for anything else.
    pub(crate) fn leaf_by_leaf(
        &mut self,
        id: Id,
        each: &mut dyn FnMut(&mut Self, u64) -> Id,
    ) -> Option<Id> {
        if self.leaves(id) == 0 {
            return None;
        }
        let mut done = BTreeMap::new();
        Some(self.through(id, &mut done, &mut |graph, leaf| {
            let value = graph.number(leaf).unwrap_or(u64::MAX);
            each(graph, value)
        }))
    }

    fn through(
        &mut self,
        id: Id,
        done: &mut BTreeMap<Id, Id>,
        each: &mut dyn FnMut(&mut Self, Id) -> Id,
    ) -> Id {
        if let Some(known) = done.get(&id) {
            return *known;
        }
        let result = match *self.op(id) {
            Op::Choose(condition, yes, no) => {
                let yes = self.through(yes, done, each);
                let no = self.through(no, done, each);
                self.choose(condition, yes, no)
            }
            _ => each(self, id),
        };
        done.insert(id, result);
        result
    }

    pub(crate) fn not(&mut self, a: Id) -> Id {
        let width = self.width(a);
        let op = match self.op(a) {
            Op::Not(inner) => return *inner,
            Op::Constant(value) => return self.constant(width, mask(width) ^ value),
            Op::Two(op @ (Two::Or | Two::And), x, y) if width == 1 => (*op, *x, *y),
            _ => return self.make(Op::Not(a), width),
        };
        if let Some(known) = self.opposites.get(&a) {
            return *known;
        }
        let opposite = match op {
            (Two::Or, x, y) => {
                let (x, y) = (self.not(x), self.not(y));
                self.and(x, y)
            }
            _ if self.literals(a).len() <= 4 => {
                let literals = self.literals(a);
                let opposites: Vec<Id> = literals.iter().map(|one| self.not(*one)).collect();
                self.any(&opposites)
            }
            _ => self.make(Op::Not(a), 1),
        };
        self.opposites.insert(a, opposite);
        opposite
    }

    pub(crate) fn negate(&mut self, a: Id) -> Id {
        let zero = self.constant(self.width(a), 0u8);
        self.two(Two::Subtract, zero, a)
    }

    pub(crate) fn equal_to(&mut self, a: Id, value: impl Into<BigUint>) -> Id {
        let value = self.constant(self.width(a), value);
        self.two(Two::Equal, a, value)
    }

    pub(crate) fn two(&mut self, op: Two, a: Id, b: Id) -> Id {
        let width = self.width(a);
        let shift = matches!(op, Two::ShiftLeft | Two::ShiftRight | Two::ShiftArithmetic);
        debug_assert!(
            shift || width == self.width(b),
            "{op:?} of {width} and {}",
            self.width(b)
        );
        let result = match op {
            Two::Equal | Two::Less | Two::LessSigned => 1,
            _ => width,
        };
        if let (Some(x), Some(y)) = (self.known(a), self.known(b)) {
            let value = work_out(op, width, x, y);
            return self.constant(result, value);
        }
        if self.known(b).is_some() && self.leaves(a) > 0 {
            return self.through(a, &mut BTreeMap::new(), &mut |graph, leaf| {
                graph.two(op, leaf, b)
            });
        }
        if self.known(a).is_some() && self.leaves(b) > 0 {
            return self.through(b, &mut BTreeMap::new(), &mut |graph, leaf| {
                graph.two(op, a, leaf)
            });
        }
        if width == 1 {
            match op {
                Two::And => return self.and(a, b),
                Two::Or => return self.or(a, b),
                Two::Equal if self.is_true(b) => return a,
                Two::Equal if self.is_true(a) => return b,
                Two::Equal if self.is_false(b) => return self.not(a),
                Two::Equal if self.is_false(a) => return self.not(b),
                _ => {}
            }
        }
        let zero = |graph: &Self, id| graph.known(id).is_some_and(Zero::is_zero);
        let ones = |graph: &Self, id| graph.known(id).is_some_and(|value| *value == mask(width));
        match op {
            Two::Add | Two::Or | Two::Xor if zero(self, a) => return b,
            Two::Add | Two::Or | Two::Xor | Two::Subtract if zero(self, b) => return a,
            Two::ShiftLeft | Two::ShiftRight | Two::ShiftArithmetic
                if zero(self, a) || zero(self, b) =>
            {
                return a;
            }
            Two::And | Two::Multiply if zero(self, a) => return a,
            Two::And | Two::Multiply if zero(self, b) => return b,
            Two::And if ones(self, a) => return b,
            Two::And if ones(self, b) => return a,
            Two::Or if ones(self, a) => return a,
            Two::Or if ones(self, b) => return b,
            Two::And | Two::Or if a == b => return a,
            Two::Xor | Two::Subtract if a == b => return self.constant(width, 0u8),
            Two::Equal if a == b => return self.bit(true),
            Two::Less | Two::LessSigned if a == b => return self.bit(false),
            Two::Less if zero(self, b) || ones(self, a) => return self.bit(false),
            Two::ShiftLeft | Two::ShiftRight => {
                // By a constant it is only wires.
                if let Some(by) = self.known(b).map(ToPrimitive::to_u32) {
                    let by = by.unwrap_or(width).min(width);
                    let zeros = self.constant(by, 0u8);
                    return match by {
                        by if by == width => zeros,
                        by if op == Two::ShiftLeft => {
                            let rest = self.slice(a, width - by - 1, 0);
                            self.concat(&[rest, zeros])
                        }
                        by => {
                            let rest = self.slice(a, width - 1, by);
                            self.concat(&[zeros, rest])
                        }
                    };
                }
            }
            _ => {}
        }
        let commutes = matches!(
            op,
            Two::Add | Two::Multiply | Two::And | Two::Or | Two::Xor | Two::Equal
        );
        let constant_first = self.known(a).is_some();
        let (a, b) = if commutes && (constant_first || (a > b && self.known(b).is_none())) {
            (b, a)
        } else {
            (a, b)
        };
        self.make(Op::Two(op, a, b), result)
    }

    pub(crate) fn choose(&mut self, condition: Id, yes: Id, no: Id) -> Id {
        debug_assert_eq!(self.width(yes), self.width(no), "a choice of two widths");
        if yes == no || self.is_true(condition) {
            return yes;
        }
        if self.is_false(condition) {
            return no;
        }
        if let Op::Not(inner) = *self.op(condition) {
            return self.choose(inner, no, yes);
        }
        // What is decided already.
        let yes = match *self.op(yes) {
            Op::Choose(again, yes, _) if again == condition => yes,
            _ => yes,
        };
        let no = match *self.op(no) {
            Op::Choose(again, _, no) if again == condition => no,
            _ => no,
        };
        if yes == no {
            return yes;
        }
        let width = self.width(yes);
        if width == 1 {
            if self.is_true(yes) {
                return self.or(condition, no);
            }
            if self.is_false(no) {
                return self.and(condition, yes);
            }
            if self.is_false(yes) {
                let opposite = self.not(condition);
                return self.and(opposite, no);
            }
            if self.is_true(no) {
                let opposite = self.not(condition);
                return self.or(opposite, yes);
            }
        }
        if let Some(shared) = self.share(condition, yes, no) {
            return shared;
        }
        self.make(Op::Choose(condition, yes, no), width)
    }

    /// One operator for both ways of a choice, if they have an operand in common.
    fn share(&mut self, condition: Id, yes: Id, no: Id) -> Option<Id> {
        let (Op::Two(op, a, b), Op::Two(other, c, d)) = (self.op(yes), self.op(no)) else {
            return None;
        };
        if op != other || !op.is_arithmetic() || self.apart {
            return None;
        }
        let (op, a, b, c, d) = (*op, *a, *b, *c, *d);
        if self.width(a) != self.width(c) || self.width(b) != self.width(d) {
            return None;
        }
        let commutes = matches!(op, Two::Add | Two::Multiply);
        let (a, b, c, d) = match commutes && (a == d || b == c) {
            true => (a, b, d, c),
            false => (a, b, c, d),
        };
        if a != c && b != d {
            return None;
        }
        let (left, right) = (self.choose(condition, a, c), self.choose(condition, b, d));
        Some(self.two(op, left, right))
    }

    /// Which nodes a node is made of.
    pub(crate) fn operands(&self, id: Id, mut each: impl FnMut(Id)) {
        match self.op(id) {
            Op::Constant(_)
            | Op::Input(_)
            | Op::Along(_)
            | Op::Random(_)
            | Op::Packet(_)
            | Op::Lookup(_)
            | Op::Read(_)
            | Op::Crossed(_) => {}
            Op::PacketAt(a) | Op::Not(a) | Op::Slice(a, _) | Op::Parity(a, _) => each(*a),
            Op::Two(_, a, b) => {
                each(*a);
                each(*b);
            }
            Op::Choose(a, b, c) => {
                each(*a);
                each(*b);
                each(*c);
            }
            Op::Concat(parts) => parts.iter().for_each(|part| each(*part)),
        }
    }

    /// The largest value that a node can have, as far as its form tells.
    pub(crate) fn most(&self, id: Id) -> u64 {
        let full = match self.width(id) {
            width @ 0..64 => (1u64 << width) - 1,
            _ => u64::MAX,
        };
        let most = match self.op(id) {
            Op::Constant(value) => value.to_u64().unwrap_or(u64::MAX),
            Op::Choose(_, yes, no) if self.leaves(id) > 0 => self.most(*yes).max(self.most(*no)),
            Op::Two(Two::Add, a, b) => self.most(*a).saturating_add(self.most(*b)),
            Op::Two(Two::And, a, b) => self.most(*a).min(self.most(*b)),
            Op::Crossed(a) => self.most(*a),
            Op::Two(Two::Multiply, a, b) => self.most(*a).saturating_mul(self.most(*b)),
            Op::Concat(parts) => parts.iter().fold(0u64, |all, part| {
                let width = self.width(*part);
                all.checked_shl(width)
                    .filter(|_| width < 64)
                    .unwrap_or(if all == 0 { 0 } else { u64::MAX })
                    .saturating_add(self.most(*part))
            }),
            _ => full,
        };
        most.min(full)
    }

    /// Whether a number is surely a multiple of eight.
    pub(crate) fn whole_bytes(&self, id: Id) -> bool {
        match self.op(id) {
            Op::Constant(value) => (value % 8u8).is_zero(),
            Op::Choose(_, yes, no) => self.whole_bytes(*yes) && self.whole_bytes(*no),
            Op::Two(Two::Add | Two::Subtract, a, b) => self.whole_bytes(*a) && self.whole_bytes(*b),
            Op::Two(Two::Multiply, a, b) => self.whole_bytes(*a) || self.whole_bytes(*b),
            Op::Concat(parts) => parts
                .last()
                .is_some_and(|last| self.width(*last) >= 3 && self.whole_bytes(*last)),
            Op::Slice(a, 0) => self.width(id) >= 3 && self.whole_bytes(*a),
            Op::Crossed(a) => self.whole_bytes(*a),
            _ => false,
        }
    }
}

fn work_out(op: Two, width: u32, x: &BigUint, y: &BigUint) -> BigUint {
    let truth = |value: bool| BigUint::from(u8::from(value));
    let negative = |value: &BigUint| value.bit(u64::from(width) - 1);
    match op {
        Two::Add => x + y,
        Two::Subtract => x + (BigUint::one() << width) - y,
        Two::Multiply => x * y,
        Two::Divide | Two::Modulo if y.is_zero() => BigUint::zero(),
        Two::Divide => x / y,
        Two::Modulo => x % y,
        Two::And => x & y,
        Two::Or => x | y,
        Two::Xor => x ^ y,
        Two::ShiftLeft => match y.to_u32() {
            Some(by) if by < width => x << by,
            _ => BigUint::zero(),
        },
        Two::ShiftRight => match y.to_u32() {
            Some(by) if by < width => x >> by,
            _ => BigUint::zero(),
        },
        Two::ShiftArithmetic => {
            let by = y.to_u32().unwrap_or(width).min(width);
            let fill = if negative(x) {
                mask(by) << (width - by)
            } else {
                BigUint::zero()
            };
            (x >> by) | fill
        }
        Two::Equal => truth(x == y),
        Two::Less => truth(x < y),
        Two::LessSigned => match (negative(x), negative(y)) {
            (true, false) => truth(true),
            (false, true) => truth(false),
            _ => truth(x < y),
        },
    }
}
