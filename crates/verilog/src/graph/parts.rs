//! Parts of values, and values of parts.

use super::{Graph, Id, Op};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use num_bigint::BigUint;
use num_traits::Zero;
use p4::value::mask;

impl Graph {
    /// Bits `high` to `low`.
    pub(crate) fn slice(&mut self, a: Id, high: u32, low: u32) -> Id {
        let of = self.width(a);
        let width = high - low + 1;
        debug_assert!(high < of, "bit {high} of {of}");
        if width == of {
            return a;
        }
        match self.op(a).clone() {
            Op::Constant(value) => self.constant(width, value >> low),
            Op::Slice(inner, base) => self.make(Op::Slice(inner, base + low), width),
            Op::Packet(from) => self.packet(from + of - 1 - high, width),
            Op::Along(from) => self.along(from + low, width),
            Op::Concat(parts) => {
                let mut kept = Vec::new();
                let mut above = of;
                for part in parts {
                    let base = above - self.width(part);
                    if base <= high && above > low {
                        let top = high.min(above - 1) - base;
                        let bottom = low.max(base) - base;
                        kept.push(self.slice(part, top, bottom));
                    }
                    above = base;
                }
                self.concat(&kept)
            }
            Op::Choose(..) if self.leaves(a) > 0 => {
                self.through(a, &mut BTreeMap::new(), &mut |graph, leaf| {
                    graph.slice(leaf, high, low)
                })
            }
            _ => self.make(Op::Slice(a, low), width),
        }
    }

    /// One behind the other, the most significant first.
    pub(crate) fn concat(&mut self, parts: &[Id]) -> Id {
        let mut flat: Vec<Id> = Vec::new();
        for part in parts {
            if self.width(*part) == 0 {
                continue;
            }
            let pieces = match self.op(*part) {
                Op::Concat(pieces) => pieces.clone(),
                _ => alloc::vec![*part],
            };
            for piece in pieces {
                let joined = flat.last().and_then(|last| self.joined(*last, piece));
                match joined {
                    Some(joined) => {
                        flat.pop();
                        flat.push(joined);
                    }
                    None => flat.push(piece),
                }
            }
        }
        match flat.as_slice() {
            [] => self.make(Op::Constant(BigUint::zero()), 0),
            [one] => *one,
            _ => {
                let width = flat.iter().map(|part| self.width(*part)).sum();
                self.make(Op::Concat(flat), width)
            }
        }
    }

    /// Two neighbours as one node.
    fn joined(&mut self, left: Id, right: Id) -> Option<Id> {
        let (wide, narrow) = (self.width(left), self.width(right));
        match (self.op(left).clone(), self.op(right).clone()) {
            (Op::Constant(x), Op::Constant(y)) => {
                Some(self.constant(wide + narrow, (x << narrow) | y))
            }
            (Op::Slice(a, high), Op::Slice(b, low)) if a == b && high == low + narrow => {
                Some(self.slice(a, low + wide + narrow - 1, low))
            }
            (Op::Packet(a), Op::Packet(b)) if a + wide == b => Some(self.packet(a, wide + narrow)),
            _ => None,
        }
    }

    /// To another width: cut, or with zeros before it.
    pub(crate) fn resize(&mut self, a: Id, width: u32) -> Id {
        let of = self.width(a);
        if width <= of {
            return self.slice(a, width - 1, 0);
        }
        let zeros = self.constant(width - of, 0u8);
        if self.leaves(a) > 0 {
            return self.through(a, &mut BTreeMap::new(), &mut |graph, leaf| {
                graph.concat(&[zeros, leaf])
            });
        }
        self.concat(&[zeros, a])
    }

    /// To another width: cut, or with the sign before it.
    pub(crate) fn resize_signed(&mut self, a: Id, width: u32) -> Id {
        let of = self.width(a);
        if width <= of {
            return self.slice(a, width - 1, 0);
        }
        let sign = self.slice(a, of - 1, of - 1);
        let (ones, zeros) = (
            self.constant(width - of, mask(width - of)),
            self.constant(width - of, 0u8),
        );
        let fill = self.choose(sign, ones, zeros);
        self.concat(&[fill, a])
    }

    pub(crate) fn parity(&mut self, a: Id, bits: BigUint) -> Id {
        if bits.is_zero() {
            return self.bit(false);
        }
        match self.known(a) {
            Some(value) => {
                let odd = (value & &bits).count_ones() % 2 == 1;
                self.bit(odd)
            }
            None => self.make(Op::Parity(a, bits), 1),
        }
    }
}
