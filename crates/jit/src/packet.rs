//! From the packet's bytes to slots, and back.

use crate::arithmetic::{Wide, constant};
use crate::plan::native_header;
use crate::runtime::{Shim, State};
use crate::unit::Unit;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Switch};
use p4::ir::*;
use std::ops::Range;

impl Unit<'_, '_> {
    pub(crate) fn extract(&mut self, id: HeaderId) {
        let program = self.program;
        let header = &program.headers[id.index()];
        let width = native_header(id, program).unwrap_or(0);
        let bits = constant(&mut self.b, u64::from(width));
        let end = self.room(bits);
        let source = self.source(width);
        self.b.def_var(self.position, end);
        let mut at = 0;
        for slot in &header.fields {
            let ty = program.slots[slot.index()].ty;
            let value = self.load(source, at, width, ty);
            at += ty.width();
            self.write(*slot, &value);
        }
        let one = constant(&mut self.b, 1);
        let valid = Wide {
            limbs: vec![one],
            ty: Ty::Bool,
        };
        self.write(header.valid, &valid);
        if self.aligned
            && let Some(origins) = &self.origins
            && let Some(base) = self.bases.get(&id)
        {
            origins.read(id, &mut self.clean);
            self.b.def_var(*base, source);
        }
    }

    /// A slot's header and its first bit there, if it has what the packet has there.
    pub(crate) fn home_of(&self, slot: SlotId) -> Option<(HeaderId, u32)> {
        let origins = self.origins.as_ref()?;
        origins.home(slot).filter(|_| self.clean.has(slot))
    }

    pub(crate) fn extract_next(&mut self, id: StackId) {
        let program = self.program;
        let stack = &program.stacks[id.index()];
        let next = self.read(stack.next).limbs[0];
        let known = std::mem::take(&mut self.known);
        let blocks: Vec<_> = stack
            .headers
            .iter()
            .map(|_| self.b.create_block())
            .collect();
        let beyond = self.b.create_block();
        let on = self.b.create_block();
        let mut switch = Switch::new();
        for (index, block) in blocks.iter().enumerate() {
            switch.set_entry(index as u128, *block);
        }
        switch.emit(&mut self.b, next, beyond);
        self.b.switch_to_block(beyond);
        self.b.set_cold_block(beyond);
        self.fail_with(self.target.out_of_bounds);
        for (index, (block, header)) in blocks.iter().zip(&stack.headers).enumerate() {
            self.b.switch_to_block(*block);
            self.known = known.clone();
            self.extract(*header);
            let after = constant(&mut self.b, index as u64 + 1);
            let after = Wide {
                limbs: vec![after],
                ty: Ty::Bits(32),
            };
            self.write(stack.next, &after);
            self.b.ins().jump(on, &[]);
        }
        self.b.switch_to_block(on);
        self.known = known;
        self.known.remove(&stack.next);
        for header in &stack.headers {
            let header = &program.headers[header.index()];
            self.known.remove(&header.valid);
            for slot in &header.fields {
                self.known.remove(slot);
            }
        }
    }

    pub(crate) fn lookahead(&mut self, into: SlotId) {
        let ty = self.program.slots[into.index()].ty;
        let bits = constant(&mut self.b, u64::from(ty.width()));
        self.room(bits);
        let source = self.source(ty.width());
        let value = self.load(source, 0, ty.width(), ty);
        self.write(into, &value);
    }

    /// The address of the next `width` bits, which are there, beginning with a whole byte.
    fn source(&mut self, width: u32) -> Value {
        let position = self.b.use_var(self.position);
        let bytes = match self.bytes {
            Some((bytes, _)) => bytes,
            None => self.field(std::mem::offset_of!(State, bytes)),
        };
        let three = constant(&mut self.b, 3);
        let offset = self.b.ins().ushr(position, three);
        let direct = self.b.ins().iadd(bytes, offset);
        if self.aligned || width == 0 {
            return direct;
        }
        let seven = constant(&mut self.b, 7);
        let odd = self.b.ins().band(position, seven);
        let copy = self.b.create_block();
        let on = self.b.create_block();
        let source = self.b.append_block_param(on, types::I64);
        self.b.set_cold_block(copy);
        self.b.ins().brif(odd, copy, &[], on, &[direct.into()]);
        self.b.switch_to_block(copy);
        let buffer = self.buffer(width.div_ceil(8) + 8);
        let target = self.b.ins().stack_addr(types::I64, buffer, 0);
        let count = constant(&mut self.b, u64::from(width));
        self.call(Shim::Copy, &[position, count, target]);
        self.b.ins().jump(on, &[target.into()]);
        self.b.switch_to_block(on);
        source
    }

    /// A value of `ty` from bit `at` of `total` bits at `source`.
    fn load(&mut self, source: Value, at: u32, total: u32, ty: Ty) -> Wide {
        let width = ty.width();
        let mut limbs = Vec::new();
        let mut end = at + width;
        loop {
            let here = (end - at).min(64);
            limbs.push(load_bits(
                &mut self.b,
                source,
                end - here,
                here,
                total.div_ceil(8),
            ));
            end -= here;
            if end == at {
                break;
            }
        }
        Wide { limbs, ty }
    }

    pub(crate) fn emit(&mut self, id: HeaderId) {
        let program = self.program;
        let header = &program.headers[id.index()];
        let valid = self.read(header.valid).limbs[0];
        let known = self.known.clone();
        let emit = self.b.create_block();
        let on = self.b.create_block();
        self.b.ins().brif(valid, emit, &[], on, &[]);
        self.b.switch_to_block(emit);
        let width = native_header(id, program).unwrap_or(0);
        let runs = self.runs(header);
        if self.aligned && self.bounded && runs.iter().any(|run| run.clean) {
            self.append_runs(id, &runs, width);
        } else {
            let fields: Vec<Wide> = header.fields.iter().map(|slot| self.read(*slot)).collect();
            self.append(&fields, width);
        }
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
        self.known = known;
    }

    /// A header's fields in runs of whole bytes that are clean or not.
    fn runs<'a>(&self, header: &'a Header) -> Vec<Run<'a>> {
        let mut runs: Vec<Run<'a>> = Vec::new();
        let (mut first, mut at, mut begin) = (0, 0, 0);
        for (number, slot) in header.fields.iter().enumerate() {
            at += self.program.slots[slot.index()].ty.width();
            if at % 8 != 0 {
                continue;
            }
            let clean = header.fields[first..=number]
                .iter()
                .all(|slot| self.home_of(*slot).is_some());
            match runs.last_mut() {
                Some(run) if run.clean == clean => {
                    run.fields = &header.fields[first - run.fields.len()..=number];
                    run.bytes.end = at / 8;
                }
                _ => runs.push(Run {
                    clean,
                    fields: &header.fields[first..=number],
                    bytes: begin / 8..at / 8,
                }),
            }
            (first, begin) = (number + 1, at);
        }
        runs
    }

    /// Appends a header of whole bytes; there is room.
    fn append_runs(&mut self, id: HeaderId, runs: &[Run<'_>], width: u32) {
        let before = self.b.use_var(self.emitted);
        let target = self.target_at(before);
        for run in runs {
            if run.clean {
                let base = self.b.use_var(self.bases[&id]);
                copy_bytes(&mut self.b, base, target, run.bytes.clone());
            } else {
                let fields: Vec<Wide> = run.fields.iter().map(|slot| self.read(*slot)).collect();
                let words = pack(&mut self.b, &fields);
                store_words(&mut self.b, &words, target, run.bytes.start as i32);
            }
        }
        let after = self.b.ins().iadd_imm_u(before, i64::from(width));
        self.b.def_var(self.emitted, after);
    }

    /// Appends values, of `width` bits together, to what is emitted.
    pub(crate) fn append(&mut self, values: &[Wide], width: u32) {
        if width == 0 {
            return;
        }
        let words = pack(&mut self.b, values);
        let before = self.b.use_var(self.emitted);
        let count = constant(&mut self.b, u64::from(width));
        if self.aligned && self.bounded && width.is_multiple_of(8) {
            self.append_bytes(&words, width, before);
            let after = self.b.ins().iadd(before, count);
            self.b.def_var(self.emitted, after);
            return;
        }
        let on = self.b.create_block();
        let odd = self.b.create_block();
        if self.bounded && width.is_multiple_of(8) {
            let even = self.b.create_block();
            let seven = constant(&mut self.b, 7);
            let rest = self.b.ins().band(before, seven);
            self.b.ins().brif(rest, odd, &[], even, &[]);
            self.b.switch_to_block(even);
            self.append_bytes(&words, width, before);
            self.b.ins().jump(on, &[]);
        } else {
            self.b.ins().jump(odd, &[]);
        }
        self.b.switch_to_block(odd);
        let buffer = self.buffer(words.len() as u32 * 8);
        for (index, (word, _)) in words.iter().enumerate() {
            self.b
                .ins()
                .stack_store(types::I64, *word, buffer, index as i32 * 8);
        }
        let source = self.b.ins().stack_addr(types::I64, buffer, 0);
        self.call(Shim::Append, &[before, source, count]);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
        let after = self.b.ins().iadd(before, count);
        self.b.def_var(self.emitted, after);
    }

    /// There is room: the engine has made it.
    fn append_bytes(&mut self, words: &[(Value, u32)], width: u32, before: Value) {
        let target = self.target_at(before);
        let end = store_words(&mut self.b, words, target, 0);
        debug_assert_eq!(end as u32 * 8, width);
    }

    /// The address of what is emitted next.
    fn target_at(&mut self, before: Value) -> Value {
        let out = self.field(std::mem::offset_of!(State, out));
        let offset = self.b.ins().ushr_imm_u(before, 3);
        self.b.ins().iadd(out, offset)
    }
}

/// Neighbouring fields of a header, and the bytes that they have there.
struct Run<'a> {
    /// All of them have what the packet has.
    clean: bool,
    fields: &'a [SlotId],
    bytes: Range<u32>,
}

/// Stores words of whole bytes; gives the place behind them.
fn store_words(b: &mut FunctionBuilder<'_>, words: &[(Value, u32)], target: Value, at: i32) -> i32 {
    let flags = MemFlagsData::new().with_notrap();
    let mut at = at;
    for (word, bits) in words {
        let mut bytes = bits / 8;
        if bytes == 8 {
            let turned = b.ins().bswap(*word);
            b.ins().store(flags, turned, target, at);
            at += 8;
            continue;
        }
        while bytes > 0 {
            let (size, ty) = match bytes {
                4.. => (4, types::I32),
                2.. => (2, types::I16),
                _ => (1, types::I8),
            };
            let piece = b.ins().ushr_imm_u(*word, i64::from((bytes - size) * 8));
            let piece = b.ins().ireduce(ty, piece);
            let piece = if size > 1 {
                b.ins().bswap(piece)
            } else {
                piece
            };
            b.ins().store(flags, piece, target, at);
            at += size as i32;
            bytes -= size;
        }
    }
    at
}

/// Copies these bytes from one place to another, the last ones twice rather than one by one.
fn copy_bytes(b: &mut FunctionBuilder<'_>, from: Value, to: Value, bytes: Range<u32>) {
    let flags = MemFlagsData::new().with_notrap();
    let mut at = bytes.start;
    while at < bytes.end {
        let left = bytes.end - at;
        let (size, ty) = match left {
            16.. => (16, types::I8X16),
            8.. => (8, types::I64),
            4.. => (4, types::I32),
            2.. => (2, types::I16),
            _ => (1, types::I8),
        };
        let wider = match left {
            9..=15 => 16,
            5..=7 => 8,
            3 => 4,
            _ => size,
        };
        // What was copied before is there to be copied again.
        let (size, ty, start) = if wider > size && bytes.end - bytes.start >= wider {
            let ty = match wider {
                16 => types::I8X16,
                8 => types::I64,
                _ => types::I32,
            };
            (wider, ty, bytes.end - wider)
        } else {
            (size, ty, at)
        };
        let piece = b.ins().load(ty, flags, from, start as i32);
        b.ins().store(flags, piece, to, start as i32);
        at = start + size;
    }
}

/// `width` (at most 64) bits from bit `at` of `total` bytes at `source`.
pub(crate) fn load_bits(
    b: &mut FunctionBuilder<'_>,
    source: Value,
    at: u32,
    width: u32,
    total: u32,
) -> Value {
    if width == 0 {
        return constant(b, 0);
    }
    let (first, last) = (at / 8, (at + width).div_ceil(8));
    let length = last - first;
    if length == 9 {
        let above = load_word(b, source, first, 8);
        let below = load_word(b, source, first + 8, 1);
        let behind = last * 8 - at - width;
        let up = constant(b, u64::from(8 - behind));
        let above = b.ins().ishl(above, up);
        let by = constant(b, u64::from(behind));
        let below = b.ins().ushr(below, by);
        let both = b.ins().bor(above, below);
        return cut(b, both, width);
    }
    let size = length.next_power_of_two();
    // A load may reach further than the value, but not beyond the header.
    let start = if first + size <= total {
        Some(first)
    } else {
        last.checked_sub(size)
    };
    let Some(start) = start else {
        // Odd sizes in tiny headers.
        let mut value = constant(b, 0);
        for byte in first..last {
            let next = load_word(b, source, byte, 1);
            let eight = constant(b, 8);
            value = b.ins().ishl(value, eight);
            value = b.ins().bor(value, next);
        }
        let behind = last * 8 - at - width;
        let by = constant(b, u64::from(behind));
        let value = b.ins().ushr(value, by);
        return cut(b, value, width);
    };
    let word = load_word(b, source, start, size);
    let behind = (start + size) * 8 - at - width;
    let value = if behind > 0 {
        let by = constant(b, u64::from(behind));
        b.ins().ushr(word, by)
    } else {
        word
    };
    if size * 8 - behind == width {
        value
    } else {
        cut(b, value, width)
    }
}

fn cut(b: &mut FunctionBuilder<'_>, value: Value, width: u32) -> Value {
    if width >= 64 {
        return value;
    }
    let ones = constant(b, (1u64 << width) - 1);
    b.ins().band(value, ones)
}

/// `size` bytes, the most significant first.
fn load_word(b: &mut FunctionBuilder<'_>, source: Value, at: u32, size: u32) -> Value {
    let flags = MemFlagsData::new().with_notrap();
    let ty: Type = match size {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    };
    let value = b.ins().load(ty, flags, source, at as i32);
    let value = if size > 1 {
        b.ins().bswap(value)
    } else {
        value
    };
    if size < 8 {
        b.ins().uextend(types::I64, value)
    } else {
        value
    }
}

/// Values one behind the other, in words of 64 bits of which the first is the uppermost; the last may have fewer.
pub(crate) fn pack(b: &mut FunctionBuilder<'_>, values: &[Wide]) -> Vec<(Value, u32)> {
    let mut words: Vec<(Value, u32)> = Vec::new();
    let mut word: Option<Value> = None;
    let mut used = 0;
    for value in values {
        let mut left = value.ty.width();
        while left > 0 {
            let index = (left - 1) / 64;
            let here = left - index * 64;
            let limb = value.limbs[index as usize];
            left -= here;
            // `here` bits of the limb, in one or two words.
            let mut rest = here;
            while rest > 0 {
                let take = rest.min(64 - used);
                let piece = if rest > take {
                    let by = constant(b, u64::from(rest - take));
                    b.ins().ushr(limb, by)
                } else {
                    limb
                };
                // Bits above those taken are shifted out of the word, or are zero, or stand where the word has been filled before.
                let piece = if rest < here {
                    cut(b, piece, take)
                } else {
                    piece
                };
                word = Some(match word {
                    None => piece,
                    Some(before) => {
                        let up = constant(b, u64::from(take % 64));
                        let before = b.ins().ishl(before, up);
                        b.ins().bor(before, piece)
                    }
                });
                used += take;
                rest -= take;
                if used == 64 {
                    words.extend(word.take().map(|word| (word, 64)));
                    used = 0;
                }
            }
        }
    }
    words.extend(word.map(|word| (word, used)));
    words
}
