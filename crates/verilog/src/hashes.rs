//! Checksums and hashes, as networks of adders and exclusive ors.

use crate::graph::{Id, Input, Two};
use crate::state::{State, Walk};
use alloc::vec::Vec;
use num_bigint::BigUint;
use num_traits::{One, Zero};
use p4::ir::{Algorithm, Callee, Function, Program, StatementKind};
use pipeline::environment::Unsupported;
use pipeline::externs::hash::{CRC16, CRC32, Crc};

/// A scalar of the data.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) bits: Id,
    /// Of a varbit: how many of the bits count, from the left.
    pub(crate) length: Option<Id>,
    /// Whether it counts at all.
    pub(crate) valid: Id,
}

/// Neighbours that count together.
struct Run {
    bits: Id,
    valid: Id,
    /// Of a sum: whether an odd number of bytes lies before it, so that its words are turned round.
    odd: Id,
}

impl Walk<'_> {
    /// The hash of some data.
    pub(crate) fn hash(
        &mut self,
        algorithm: Algorithm,
        pieces: &[Piece],
    ) -> Result<Id, Unsupported> {
        let runs = self.runs(algorithm, pieces)?;
        match algorithm {
            Algorithm::Checksum16 => {
                let sum = self.sum16(&runs)?;
                Ok(self.graph.not(sum))
            }
            Algorithm::Xor16 => {
                let mut all = self.graph.constant(16, 0u8);
                for word in self.words(&runs)? {
                    all = self.graph.two(Two::Xor, all, word);
                }
                Ok(all)
            }
            Algorithm::Crc16 => self.crc(CRC16, &runs),
            Algorithm::Crc32 => self.crc(CRC32, &runs),
            Algorithm::Identity => {
                let [Run { bits, valid, .. }] = runs.as_slice() else {
                    return self.cannot("the identity of data of which parts may be missing is not in this hardware; hash fields of headers that are there");
                };
                let width = self.graph.width(*bits);
                let first = match width > 64 {
                    true => self.graph.slice(*bits, width - 1, width - 64),
                    false => self.graph.resize(*bits, 64),
                };
                let zero = self.graph.constant(64, 0u8);
                Ok(self.graph.choose(*valid, first, zero))
            }
            Algorithm::Random => self.cannot("random numbers are not in this hardware; hash a timestamp instead"),
            Algorithm::Crc16Custom | Algorithm::Crc32Custom => {
                self.cannot("a CRC that the control plane chooses is not in this hardware; use `crc16` or `crc32`")
            }
        }
    }

    /// The hash of some data, and of the payload behind them.
    pub(crate) fn checksum(
        &mut self,
        algorithm: Algorithm,
        pieces: &[Piece],
        payload: bool,
        state: &State,
    ) -> Result<Id, Unsupported> {
        if !payload {
            return self.hash(algorithm, pieces);
        }
        if algorithm != Algorithm::Checksum16 {
            return self.cannot("of the payload this hardware has the Internet checksum (`csum16`) alone, no other hash");
        }
        let mut pieces = pieces.to_vec();
        pieces.push(Piece {
            bits: state.values[self.extra.payload],
            length: None,
            valid: self.graph.bit(true),
        });
        let runs = self.runs(algorithm, &pieces)?;
        let sum = self.sum16(&runs)?;
        Ok(self.graph.not(sum))
    }

    /// The ones' complement sum of what the parser has left: that of the packet without that of the bytes before.
    pub(crate) fn payload_sum(&mut self, state: &State) -> Result<Id, Unsupported> {
        let position = state.values[self.extra.position];
        self.window = self.window.max(state.most);
        // Of each byte whether the parser has taken it.
        let always = self.graph.bit(true);
        let mut before = Vec::new();
        for at in (0..state.most).step_by(8) {
            let end = self.graph.constant(16, at + 8);
            let left = self.graph.two(Two::Less, position, end);
            let taken = self.graph.not(left);
            let byte = self.graph.packet(at as u32, 8);
            let none = self.graph.constant(8, 0u8);
            before.push(Piece {
                bits: self.graph.choose(taken, byte, none),
                length: None,
                valid: always,
            });
        }
        let before = self.runs(Algorithm::Checksum16, &before)?;
        let before = self.sum16(&before)?;
        let whole = self.graph.input(Input::Sum);
        let minus = self.graph.not(before);
        let never = self.graph.bit(false);
        let rest = [whole, minus].map(|bits| Run {
            bits,
            valid: always,
            odd: never,
        });
        let rest = self.sum16(&rest)?;
        // What is left of nothing is nothing, and not minus nothing.
        let same = self.graph.two(Two::Equal, before, whole);
        let none = self.graph.constant(16, 0u8);
        let rest = self.graph.choose(same, none, rest);
        let odd = self.graph.slice(position, 3, 3);
        Ok(self.turned(odd, rest))
    }

    /// A word, with its bytes turned round under a condition.
    fn turned(&mut self, when: Id, word: Id) -> Id {
        let (high, low) = (self.graph.slice(word, 15, 8), self.graph.slice(word, 7, 0));
        let turned = self.graph.concat(&[low, high]);
        self.graph.choose(when, turned, word)
    }

    /// Pieces that count together as one number; whole bytes, of sums whole words, with zeros behind.
    fn runs(&mut self, algorithm: Algorithm, pieces: &[Piece]) -> Result<Vec<Run>, Unsupported> {
        let sums = matches!(algorithm, Algorithm::Checksum16 | Algorithm::Xor16);
        let mut runs: Vec<Run> = Vec::new();
        let mut odd = self.graph.bit(false);
        let mut pieces = pieces
            .iter()
            .filter(|piece| !self.graph.is_false(piece.valid) && self.graph.width(piece.bits) > 0)
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
            .peekable();
        while let Some(Piece {
            mut bits,
            mut length,
            valid,
        }) = pieces.next()
        {
            let mut fixed = 0;
            // Behind a varbit is another run, since nobody knows where it begins.
            while length.is_none()
                && let Some(next) = pieces.next_if(|next| next.valid == valid)
            {
                fixed = self.graph.width(bits);
                bits = self.graph.concat(&[bits, next.bits]);
                length = next.length;
            }
            if length.is_some() && !sums {
                return self.cannot(
                    "a hash of a varbit is not in this hardware; hash fields of fixed length",
                );
            }
            let width = self.graph.width(bits);
            let before = if length.is_some() { fixed } else { width };
            if !before.is_multiple_of(8) && pieces.peek().is_some() {
                return self.cannot("a part of the data that may be missing, or behind which something is, has no whole bytes: it would shift the rest; give headers lengths of whole bytes");
            }
            let unit = if sums { 16 } else { 8 };
            if !width.is_multiple_of(unit) {
                let zeros = self.graph.constant(unit - width % unit, 0u8);
                bits = self.graph.concat(&[bits, zeros]);
            }
            runs.push(Run { bits, valid, odd });
            // Behind a varbit's end there are zeros, which change no sum; its length is one of whole bytes.
            let bytes = self.graph.bit(before % 16 >= 8);
            let bytes = match length {
                Some(length) => {
                    let low = self.graph.slice(length, 3, 3);
                    self.graph.two(Two::Xor, bytes, low)
                }
                None => bytes,
            };
            let bytes = self.graph.and(valid, bytes);
            odd = self.graph.two(Two::Xor, odd, bytes);
        }
        Ok(runs)
    }

    fn words(&mut self, runs: &[Run]) -> Result<Vec<Id>, Unsupported> {
        let mut words = Vec::new();
        for run in runs {
            let zero = self.graph.constant(16, 0u8);
            let mut above = self.graph.width(run.bits);
            while above > 0 {
                let word = self.graph.slice(run.bits, above - 1, above - 16);
                let word = self.turned(run.odd, word);
                words.push(self.graph.choose(run.valid, word, zero));
                above -= 16;
            }
        }
        Ok(words)
    }

    /// The ones' complement sum of words: a tree of adders, and the carries added at the end.
    fn sum16(&mut self, runs: &[Run]) -> Result<Id, Unsupported> {
        let mut level: Vec<Id> = Vec::new();
        for word in self.words(runs)? {
            level.push(self.graph.resize(word, 32));
        }
        while level.len() > 1 {
            let pairs = level.chunks(2).map(|pair| match pair {
                [a, b] => self.graph.two(Two::Add, *a, *b),
                rest => rest[0],
            });
            level = pairs.collect();
        }
        let Some(sum) = level.pop() else {
            return Ok(self.graph.constant(16, 0u8));
        };
        let fold = |walk: &mut Self, sum: Id| {
            let (high, low) = (walk.graph.slice(sum, 31, 16), walk.graph.slice(sum, 15, 0));
            let (high, low) = (walk.graph.resize(high, 32), walk.graph.resize(low, 32));
            walk.graph.two(Two::Add, high, low)
        };
        let once = fold(self, sum);
        let twice = fold(self, once);
        Ok(self.graph.slice(twice, 15, 0))
    }

    /// A ones' complement sum with some data added, or taken off.
    pub(crate) fn internet_add(
        &mut self,
        sum: Id,
        pieces: &[Piece],
        subtract: bool,
    ) -> Result<Id, Unsupported> {
        let mut runs = self.runs(Algorithm::Checksum16, pieces)?;
        for run in runs.iter_mut().filter(|_| subtract) {
            run.bits = self.graph.not(run.bits);
        }
        runs.push(Run {
            bits: sum,
            valid: self.graph.bit(true),
            odd: self.graph.bit(false),
        });
        self.sum16(&runs)
    }

    /// A CRC: each bit of the next state is the parity of some bits of the data and of the last state.
    fn crc(&mut self, crc: Crc, runs: &[Run]) -> Result<Id, Unsupported> {
        let width = crc.width;
        let initial = reversed(crc.initial, if crc.reflect_in { width } else { 0 });
        let mut register = self.graph.constant(width, initial);
        for run in runs {
            let count = self.graph.width(run.bits);
            let both = self.graph.concat(&[register, run.bits]);
            let matrix = matrix(crc, count);
            let bits: Vec<Id> = matrix
                .into_iter()
                .rev()
                .map(|mask| self.graph.parity(both, mask))
                .collect();
            let next = self.graph.concat(&bits);
            register = self.graph.choose(run.valid, next, register);
        }
        let last = self.graph.constant(width, crc.last);
        if crc.reflect_in != crc.reflect_out {
            return self.cannot("a CRC that turns only one side round is not in this hardware");
        }
        Ok(self.graph.two(Two::Xor, register, last))
    }

    /// `base + hash % max`, and `base` where `max` is zero.
    pub(crate) fn in_range(&mut self, hash: Id, base: Id, max: Id) -> Id {
        let (hash, base) = (self.graph.resize(hash, 64), self.graph.resize(base, 64));
        let max = self.graph.resize(max, 64);
        let rest = match self.graph.number(max) {
            Some(0) => self.graph.constant(64, 0u8),
            Some(max) if max.is_power_of_two() => {
                let low = max.trailing_zeros();
                match low {
                    0 => self.graph.constant(64, 0u8),
                    low => {
                        let low = self.graph.slice(hash, low - 1, 0);
                        self.graph.resize(low, 64)
                    }
                }
            }
            _ => {
                let none = self.graph.equal_to(max, 0u8);
                let one = self.graph.constant(64, 1u8);
                let safe = self.graph.choose(none, one, max);
                let rest = self.graph.two(Two::Modulo, hash, safe);
                let zero = self.graph.constant(64, 0u8);
                self.graph.choose(none, zero, rest)
            }
        };
        self.graph.two(Two::Add, base, rest)
    }
}

/// Whether a program asks for the sum of the payload.
pub(crate) fn sums_payload(program: &Program) -> bool {
    let sections = program.sections.iter().map(|section| &section.body);
    let actions = program.actions.iter().map(|action| &action.body);
    let mut statements = sections
        .chain(actions)
        .flat_map(|body| &body.blocks)
        .flat_map(|block| &block.statements);
    statements.any(|statement| {
        matches!(
            &statement.kind,
            StatementKind::Call {
                callee: Callee::Function(
                    Function::VerifyChecksumWithPayload
                        | Function::UpdateChecksumWithPayload
                        | Function::ChecksumWithPayload
                ),
                ..
            }
        )
    })
}

fn reversed(value: u64, width: u32) -> u64 {
    match width {
        0 => value,
        width => value.reverse_bits() >> (64 - width),
    }
}

/// For each bit of the next state, from the least significant on, which bits of last state and data it is the parity of; the data are at
/// the right, the state is above them.
fn matrix(crc: Crc, count: u32) -> Vec<BigUint> {
    let width = crc.width as usize;
    let mut state: Vec<BigUint> = (0..width)
        .map(|bit| BigUint::one() << (count as usize + bit))
        .collect();
    // Bits come from the left; with `reflect_in` each byte's least significant first.
    for byte in 0..count / 8 {
        for bit in 0..8 {
            let from = count - 8 * (byte + 1) + if crc.reflect_in { bit } else { 7 - bit };
            let data = BigUint::one() << from;
            let mut next: Vec<BigUint> = alloc::vec![BigUint::zero(); width];
            if crc.reflect_in {
                let polynomial = reversed(crc.polynomial, crc.width);
                let feed = &state[0] ^ data;
                for (to, place) in next.iter_mut().enumerate() {
                    if to + 1 < width {
                        *place = state[to + 1].clone();
                    }
                    if polynomial >> to & 1 == 1 {
                        *place ^= &feed;
                    }
                }
            } else {
                let feed = &state[width - 1] ^ data;
                for (to, place) in next.iter_mut().enumerate() {
                    if to > 0 {
                        *place = state[to - 1].clone();
                    }
                    if crc.polynomial >> to & 1 == 1 {
                        *place ^= &feed;
                    }
                }
            }
            state = next;
        }
    }
    state
}
