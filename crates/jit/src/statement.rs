//! Statements.

use crate::arithmetic::{Wide, constant};
use crate::packet::{load_bits, pack};
use crate::plan::{native_header, native_statement, statement_slots};
use crate::runtime::{FAILED, Shim, State};
use crate::unit::{STOP, Unit};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::I64};
use p4::ir::*;
use p4::value::Bits;
use pipeline::externs::hash::Algorithm;
use pipeline::externs::{Call, Item, Operation};
use pipeline::layout::limbs;

/// Parts of what a checksum covers.
enum Summand {
    /// Inputs of the call.
    Packed(Vec<usize>),
    /// From this bit of a header so many bits, as they are in the packet.
    Clean(HeaderId, u32, u32),
}

impl Unit<'_, '_> {
    pub(crate) fn statement(&mut self, statement: &Statement) {
        if !native_statement(&statement.kind, self.program) {
            self.delegate(statement);
            return;
        }
        match &statement.kind {
            StatementKind::Assign { target, value } => self.assign(target, value),
            StatementKind::Extract { header, .. } => self.extract(*header),
            StatementKind::Lookahead { into } => self.lookahead(*into),
            StatementKind::Advance { bits } => {
                let bits = self.expression(bits).limbs[0];
                let position = self.room(bits);
                self.b.def_var(self.position, position);
            }
            StatementKind::Length { into } => {
                let bits = self.field(std::mem::offset_of!(State, bits));
                let three = constant(&mut self.b, 3);
                let bytes = self.b.ins().ushr(bits, three);
                let ty = Ty::Bits(32);
                self.write(
                    *into,
                    &Wide {
                        limbs: vec![bytes],
                        ty,
                    },
                );
            }
            StatementKind::Emit { header } => self.emit(*header),
            StatementKind::EmitValue { value } => {
                let value = self.expression(value);
                let width = value.ty.width();
                self.append(&[value], width);
            }
            StatementKind::ExtractNext { stack, .. } => self.extract_next(*stack),
            StatementKind::Call { results, .. } => self.call_extern(statement, results),
        }
    }

    /// Leaves a statement to the interpreter.
    fn delegate(&mut self, statement: &Statement) {
        self.name_section();
        self.save();
        let address = std::ptr::from_ref(statement) as usize;
        let which = constant(&mut self.b, address as u64);
        let call = self.shared.calls.get(&address);
        self.asks |= call.is_some_and(|call| call.operation.asks());
        let call = call.map_or(0, |call| std::ptr::from_ref(&**call) as u64);
        let call = constant(&mut self.b, call);
        let result = self.call(Shim::Statement, &[which, call]).unwrap_or(which);
        self.restore();
        statement_slots(&statement.kind, self.program, &mut |slot| {
            self.clean.remove(slot);
        });
        self.go_on(result);
    }

    /// Reads positions again after somebody else could move them.
    fn restore(&mut self) {
        self.forget();
        if self.bytes.is_some() {
            let position = self.field(std::mem::offset_of!(State, position));
            self.b.def_var(self.position, position);
        }
        let emitted = self.field(std::mem::offset_of!(State, out_bits));
        self.b.def_var(self.emitted, emitted);
    }

    /// Goes on if a shim says so; else fails or stops.
    fn go_on(&mut self, result: Value) {
        let on = self.b.create_block();
        let not = self.b.create_block();
        self.b.set_cold_block(not);
        self.b.ins().brif(result, not, &[], on, &[]);
        self.b.switch_to_block(not);
        if self.section.kind == SectionKind::Parser {
            let stop = self.b.create_block();
            let failed = self.b.create_block();
            let mark = constant(&mut self.b, FAILED);
            let is_failed = self.b.ins().icmp(IntCC::Equal, result, mark);
            self.b.ins().brif(is_failed, failed, &[], stop, &[]);
            self.b.switch_to_block(failed);
            // The error is in its slot.
            self.fail_with(None);
            self.b.switch_to_block(stop);
        }
        self.leave(STOP);
        self.b.switch_to_block(on);
    }

    /// A call of an extern: arguments into memory, the shim, results out of memory.
    fn call_extern(&mut self, statement: &Statement, results: &[LValue]) {
        let shared = self.shared;
        let address = std::ptr::from_ref(statement) as usize;
        let Some(call) = shared.calls.get(&address) else {
            return;
        };
        if self.direct_call(call, results) {
            return;
        }
        let input = self.new_buffer(call.input_cells as u32 * 8);
        let output = self.new_buffer(call.output_cells as u32 * 8);
        for part in &call.inputs {
            let value = self.any_expression(&part.value, part.ty);
            for (index, limb) in value.limbs.iter().enumerate() {
                let at = (part.at + index) as i32 * 8;
                self.b.ins().stack_store(I64, *limb, input, at);
            }
        }
        self.reads_bytes |= matches!(
            call.operation,
            Operation::VerifyChecksum { payload: true, .. }
                | Operation::UpdateChecksum { payload: true, .. }
                | Operation::Checksum16 { payload: true }
        );
        self.asks |= call.operation.asks();
        let zero = constant(&mut self.b, 0);
        for index in 0..call.output_cells as i32 {
            self.b.ins().stack_store(I64, zero, output, index * 8);
        }
        self.save();
        let which = constant(&mut self.b, std::ptr::from_ref(&**call) as u64);
        let input = self.b.ins().stack_addr(I64, input, 0);
        let out = self.b.ins().stack_addr(I64, output, 0);
        let result = self
            .call(Shim::Invoke, &[which, input, out])
            .unwrap_or(which);
        if matches!(
            call.operation,
            Operation::Assert { .. } | Operation::Assume { .. }
        ) {
            self.go_on(result);
        }
        for (result, part) in results.iter().zip(&call.outputs) {
            let limbs = (0..limbs(part.ty.width()))
                .map(|index| {
                    self.b
                        .ins()
                        .stack_load(I64, I64, output, (part.at + index) as i32 * 8)
                })
                .collect();
            self.put(result, Wide { limbs, ty: part.ty });
        }
    }

    /// What is simple enough to be done here.
    fn direct_call(&mut self, call: &Call, results: &[LValue]) -> bool {
        match &call.operation {
            Operation::Nothing => true,
            Operation::MarkToDropSlots => {
                let environment = &self.shared.environment;
                let drop_port = u64::from(environment.options.drop_port);
                for (slot, value) in environment.marks().into_iter().zip([drop_port, 0]) {
                    let Some(slot) = slot else { continue };
                    let value = constant(&mut self.b, value);
                    let ty = self.program.slots[slot.index()].ty;
                    let limbs = vec![value];
                    self.write(slot, &Wide { limbs, ty });
                }
                true
            }
            Operation::MarkToDrop {
                egress_spec,
                mcast_grp,
            } => {
                let drop_port = self.shared.environment.options.drop_port;
                for (number, (item, (result, part))) in call
                    .items
                    .iter()
                    .zip(results.iter().zip(&call.outputs))
                    .enumerate()
                {
                    let value = if *egress_spec == Some(number) {
                        u64::from(drop_port)
                    } else if *mcast_grp == Some(number) {
                        0
                    } else {
                        let given = &call.inputs[item.input].value;
                        if let (LValue::Slot(to), Expr::Slot(from)) = (result, given)
                            && to == from
                        {
                            continue;
                        }
                        let value = self.any_expression(given, part.ty);
                        self.put(result, value);
                        continue;
                    };
                    let value = Bits::new(part.ty.width(), value);
                    let value = Wide::constant(&mut self.b, &value, part.ty);
                    self.put(result, value);
                }
                true
            }
            Operation::UpdateChecksum {
                algorithm: Algorithm::Checksum16,
                condition,
                checksum,
                payload: false,
            } => {
                let (Some(sum), [result]) = (self.internet_checksum(call), results) else {
                    return false;
                };
                let part = call.outputs[0];
                let condition = self.input(call, *condition).limbs[0];
                let old = self.input(call, *checksum).cast(Ty::Bits(64), &mut self.b);
                let new = self.b.ins().select(condition, sum, old.limbs[0]);
                let new = Wide {
                    limbs: vec![new],
                    ty: Ty::Bits(64),
                };
                let new = new.cast(part.ty, &mut self.b);
                self.put(result, new);
                true
            }
            Operation::VerifyChecksum {
                algorithm: Algorithm::Checksum16,
                condition,
                checksum,
                payload: false,
            } => {
                let Some(sum) = self.internet_checksum(call) else {
                    return false;
                };
                let condition = self.input(call, *condition).limbs[0];
                let wanted = self.input(call, *checksum);
                let sum = Wide {
                    limbs: vec![sum],
                    ty: Ty::Bits(64),
                };
                let sum = sum
                    .cast(wanted.ty, &mut self.b)
                    .cast(Ty::Bits(64), &mut self.b);
                let wanted = wanted.cast(Ty::Bits(64), &mut self.b);
                let differ = self.b.ins().bxor(sum.limbs[0], wanted.limbs[0]);
                let zero = constant(&mut self.b, 0);
                let wrong = self.b.ins().select(condition, differ, zero);
                let tell = self.b.create_block();
                let on = self.b.create_block();
                self.b.set_cold_block(tell);
                self.b.ins().brif(wrong, tell, &[], on, &[]);
                self.b.switch_to_block(tell);
                self.call(Shim::ChecksumError, &[]);
                self.b.ins().jump(on, &[]);
                self.b.switch_to_block(on);
                true
            }
            _ => false,
        }
    }

    fn input(&mut self, call: &Call, index: usize) -> Wide {
        let part = &call.inputs[index];
        self.any_expression(&part.value, part.ty)
    }

    /// The Internet checksum of a call's items as a limb, if their number of bits is known here: their sum in ones'
    /// complement, of which carries are folded at the end, and then its complement.
    fn internet_checksum(&mut self, call: &Call) -> Option<Value> {
        let first = call.items.first()?.valid;
        let whole = |item: &Item| {
            let ty = call.inputs[item.input].ty;
            item.valid == first && !matches!(ty, Ty::Varbit(_)) && ty.width() > 0
        };
        if call.items.len() > 64 || !call.items.iter().all(whole) {
            return None;
        }
        let mut sum = constant(&mut self.b, 0);
        for part in self.summands(call) {
            let words = match part {
                Summand::Packed(items) => {
                    let items: Vec<Wide> =
                        items.iter().map(|item| self.input(call, *item)).collect();
                    pack(&mut self.b, &items)
                }
                Summand::Clean(header, at, width) => self.words_of(header, at, width),
            };
            for (word, bits) in words {
                sum = self.add_word(sum, word, bits);
            }
        }
        let b = &mut self.b;
        let low = constant(b, 0xFFFF_FFFF);
        let (thirty_two, sixteen) = (constant(b, 32), constant(b, 16));
        // From at most 45 bits to 32 and a carry, and from there to 16.
        let sixteen_ones = constant(b, 0xFFFF);
        for (by, mask) in [
            (thirty_two, low),
            (sixteen, sixteen_ones),
            (sixteen, sixteen_ones),
            (sixteen, sixteen_ones),
        ] {
            let above = b.ins().ushr(sum, by);
            let below = b.ins().band(sum, mask);
            sum = b.ins().iadd(above, below);
        }
        if let Some(valid) = first {
            let valid = self.input(call, valid).limbs[0];
            let zero = constant(&mut self.b, 0);
            sum = self.b.ins().select(valid, sum, zero);
        }
        Some(self.b.ins().bxor(sum, sixteen_ones))
    }

    /// A call's items in parts of whole 16 bits (but for the last): those that are clean, as far as they are neighbours in the
    /// packet, and the others.
    fn summands(&self, call: &Call) -> Vec<Summand> {
        let mut parts: Vec<Summand> = Vec::new();
        let mut group = Vec::new();
        let mut total = 0;
        for (number, item) in call.items.iter().enumerate() {
            let input = &call.inputs[item.input];
            let width = input.ty.width();
            group.push(item.input);
            total += width;
            if total % 16 != 0 && number + 1 < call.items.len() {
                continue;
            }
            let whole = total.is_multiple_of(16);
            let group = std::mem::take(&mut group);
            match (
                self.clean_run(call, &group).filter(|_| whole),
                parts.last_mut(),
            ) {
                (Some((header, at, width)), Some(Summand::Clean(of, from, so_far)))
                    if header == *of && at == *from + *so_far =>
                {
                    *so_far += width;
                }
                (Some((header, at, width)), _) => parts.push(Summand::Clean(header, at, width)),
                (None, Some(Summand::Packed(before))) => before.extend(group),
                (None, _) => parts.push(Summand::Packed(group)),
            }
        }
        parts
    }

    /// Where inputs are in the packet, if they are clean and stand there one behind the other.
    fn clean_run(&self, call: &Call, inputs: &[usize]) -> Option<(HeaderId, u32, u32)> {
        let mut run: Option<(HeaderId, u32, u32)> = None;
        for input in inputs {
            let part = &call.inputs[*input];
            let Expr::Slot(slot) = &part.value else {
                return None;
            };
            let width = self.program.slots[slot.index()].ty.width();
            let (header, at) = self.home_of(*slot).filter(|_| width == part.ty.width())?;
            run = Some(match run {
                None => (header, at, width),
                Some((of, from, so_far)) if of == header && from + so_far == at => {
                    (of, from, so_far + width)
                }
                Some(_) => return None,
            });
        }
        run
    }

    /// Bits of the packet in words of 64 bits; the last may have fewer.
    pub(crate) fn words_of(&mut self, header: HeaderId, at: u32, width: u32) -> Vec<(Value, u32)> {
        let base = self.b.use_var(self.bases[&header]);
        let total = native_header(header, self.program).unwrap_or(0).div_ceil(8);
        let mut words = Vec::new();
        let mut done = 0;
        while done < width {
            let take = (width - done).min(64);
            words.push((load_bits(&mut self.b, base, at + done, take, total), take));
            done += take;
        }
        words
    }

    /// Adds the 16-bit numbers of a word of so many bits; what is missing in the last is zero.
    fn add_word(&mut self, sum: Value, word: Value, bits: u32) -> Value {
        let b = &mut self.b;
        let missing = bits.next_multiple_of(16) - bits;
        let word = b.ins().ishl_imm_u(word, i64::from(missing));
        if bits <= 32 {
            return b.ins().iadd(sum, word);
        }
        let above = b.ins().ushr_imm_u(word, 32);
        let below = b.ins().band_imm_u(word, 0xFFFF_FFFF);
        let both = b.ins().iadd(above, below);
        b.ins().iadd(sum, both)
    }

    /// Ends the current block with an error of the parser.
    pub(crate) fn fail_with(&mut self, error: Option<u64>) {
        let known = self.known.clone();
        if let (Some(slot), Some(error)) = (self.section.error, error) {
            let error = constant(&mut self.b, error);
            let ty = self.program.slots[slot.index()].ty;
            let error = Wide {
                limbs: vec![error],
                ty,
            };
            self.write(slot, &error);
        }
        match self.fail {
            Some(block) => {
                self.b.ins().jump(block, &[]);
            }
            None => self.leave(crate::unit::REJECT),
        }
        self.known = known;
    }

    /// Fails if there are not so many bits; gives the position behind them.
    pub(crate) fn room(&mut self, bits: Value) -> Value {
        let position = self.b.use_var(self.position);
        let end = self.b.ins().iadd(position, bits);
        let all = match self.bytes {
            Some((_, all)) => all,
            None => self.field(std::mem::offset_of!(State, bits)),
        };
        let enough = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, all);
        let on = self.b.create_block();
        let short = self.b.create_block();
        self.b.set_cold_block(short);
        self.b.ins().brif(enough, on, &[], short, &[]);
        self.b.switch_to_block(short);
        self.fail_with(self.target.too_short);
        self.b.switch_to_block(on);
        end
    }
}
