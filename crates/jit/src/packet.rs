//! From the packet's bytes to slots, and back.

use crate::arithmetic::{Wide, constant};
use crate::plan::native_header;
use crate::runtime::{Shim, State};
use crate::unit::Unit;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Switch};
use p4::ir::*;

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
        let place = self.buffer(width.div_ceil(8) + 8);
        let target = self.b.ins().stack_addr(types::I64, place, 0);
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
        let fields: Vec<Wide> = header.fields.iter().map(|slot| self.read(*slot)).collect();
        let width = fields.iter().map(|field| field.ty.width()).sum();
        self.append(&fields, width);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
        self.known = known;
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
        let place = self.buffer(words.len() as u32 * 8);
        for (index, (word, _)) in words.iter().enumerate() {
            self.b
                .ins()
                .stack_store(types::I64, *word, place, index as i32 * 8);
        }
        let source = self.b.ins().stack_addr(types::I64, place, 0);
        self.call(Shim::Append, &[before, source, count]);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
        let after = self.b.ins().iadd(before, count);
        self.b.def_var(self.emitted, after);
    }

    /// There is room: the engine has made it.
    fn append_bytes(&mut self, words: &[(Value, u32)], width: u32, before: Value) {
        let out = self.field(std::mem::offset_of!(State, out));
        let three = constant(&mut self.b, 3);
        let offset = self.b.ins().ushr(before, three);
        let target = self.b.ins().iadd(out, offset);
        let flags = MemFlagsData::new().with_notrap();
        let b = &mut self.b;
        let mut at = 0i32;
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
                let by = constant(b, u64::from((bytes - size) * 8));
                let piece = b.ins().ushr(*word, by);
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
        debug_assert_eq!(at as u32 * 8, width);
    }
}

/// `width` (at most 64) bits from bit `at` of `total` bytes at `source`.
fn load_bits(b: &mut FunctionBuilder<'_>, source: Value, at: u32, width: u32, total: u32) -> Value {
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
