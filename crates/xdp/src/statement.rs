//! Statements.

use crate::frame::{CHECKSUM_ERROR, COLOUR, HIT, INDEX, KEY, KEY_BYTES, LENGTH, LOST, NANOSECONDS};
use crate::instruction::{Alu, Compare, R0, R1, R2, R3, R4, R7, R8, Size};
use crate::maps::Purpose;
use crate::unit::{Code, Fault, LOOKUP, Unit};
use p4::ir::{LValue, ObjectId, Statement, StatementKind, Ty};
use p4::value::Bits;
use pipeline::environment::Object;
use pipeline::externs::hash::Algorithm;
use pipeline::externs::{Call, ColourCode, Operation, PSA_PORT_RECIRCULATE, Question};
use pipeline::layout::limbs;
use pipeline::state::meter::Colour;

impl Unit<'_> {
    pub(crate) fn statement(&mut self, statement: &Statement) -> Result<(), Fault> {
        match &statement.kind {
            StatementKind::Assign { target, value } => {
                let width = self.type_of(value).width();
                if let Ty::Varbit(most) = self.type_of(value) {
                    let LValue::Slot(slot) = target else {
                        return Err(self.fault("a varbit can only be assigned as a whole"));
                    };
                    let from = self.place(value)?;
                    self.copy(from, self.cell(*slot), limbs(most) + 1);
                    return Ok(());
                }
                if let (LValue::Slot(slot), true) = (target, width <= 64) {
                    self.scalar(value, 0)?;
                    let at = self.cell(*slot);
                    self.a.store(Size::B8, R7, at, R1);
                    return Ok(());
                }
                let from = self.place(value)?;
                self.put(target, from, width)
            }
            StatementKind::Extract { header, size } => self.extract(*header, size.as_ref()),
            StatementKind::ExtractNext { stack, size } => self.extract_next(*stack, size.as_ref()),
            StatementKind::Lookahead { into } => self.lookahead(*into),
            StatementKind::Advance { bits } => self.advance(bits),
            StatementKind::Length { into } => {
                self.length(*into);
                Ok(())
            }
            StatementKind::Emit { header } => self.emit(*header),
            StatementKind::EmitValue { value } => self.emit_value(value),
            StatementKind::Call {
                callee,
                arguments,
                results,
            } => {
                let call = Call::resolve(self.environment, callee, arguments, results)?;
                self.call(&call, results)
            }
        }
    }

    /// Puts a value of so many bits, which is in the frame, in its place.
    fn put(&mut self, target: &LValue, from: i32, width: u32) -> Result<(), Fault> {
        match target {
            LValue::Slot(slot) => {
                let at = self.cell(*slot);
                self.copy(from, at, limbs(width));
                Ok(())
            }
            LValue::Slice { slot, high, low } => {
                let at = self.cell(*slot);
                self.put_bits(at, self.program.slots[slot.index()].ty, from, *high, *low)
            }
            LValue::Element {
                slots,
                index,
                slice,
            } => {
                if self.type_of(index).width() > 64 {
                    return Err(self.fault("an index of more than 64 bits is not supported"));
                }
                let end = self.a.label();
                let place = self.place(index)?;
                for (number, slot) in slots.iter().enumerate() {
                    let next = self.a.label();
                    self.a.load(Size::B8, R1, R7, place);
                    self.a.jump_if(Compare::NotEqual, R1, number as i32, next);
                    let at = self.cell(*slot);
                    let ty = self.program.slots[slot.index()].ty;
                    match slice {
                        Some((high, low)) => self.put_bits(at, ty, from, *high, *low)?,
                        None => self.copy(from, at, limbs(width)),
                    }
                    self.a.jump(end);
                    self.a.bind(next);
                }
                self.a.bind(end);
                Ok(())
            }
        }
    }

    /// Bits `high` to `low` of a slot.
    fn put_bits(&mut self, at: i32, ty: Ty, from: i32, high: u32, low: u32) -> Result<(), Fault> {
        let width = ty.width();
        let (above, count) = (width - high - 1, high - low + 1);
        // What stays is taken first: a piece begins at a cell.
        let kept = self.take(limbs(above))?;
        let mut done = 0;
        while done < above {
            let here = (above - done).min(64);
            self.bits_from(at, high + 1 + done, here, 0);
            self.a.store(Size::B8, R7, kept + (done / 8) as i32, R1);
            done += here;
        }
        let pieces = [(kept, above), (from, count), (at, low)];
        let joined = self.joined(&pieces, width)?;
        self.copy(joined, at, limbs(width));
        Ok(())
    }

    /// The input of a call with this number, in the frame.
    pub(crate) fn input(&mut self, call: &Call, index: usize) -> Result<i32, Fault> {
        self.place(&call.inputs[index].value)
    }

    /// Stores `R1` as a call's first result, cut to its width.
    pub(crate) fn give(&mut self, call: &Call, results: &[LValue]) -> Result<(), Fault> {
        let (Some(result), Some(output)) = (results.first(), call.outputs.first()) else {
            return Ok(());
        };
        let width = output.ty.width();
        let to = self.take(limbs(width))?;
        self.cut(R1, width.min(64));
        self.a.store(Size::B8, R7, to, R1);
        for cell in 1..limbs(width) as i32 {
            self.a.store_number(Size::B8, R7, to + 8 * cell, 0);
        }
        self.put(result, to, width)
    }

    fn call(&mut self, call: &Call, results: &[LValue]) -> Result<(), Fault> {
        match &call.operation {
            Operation::Nothing => Ok(()),
            Operation::Count {
                object,
                index,
                bytes,
            } => {
                let bytes = self.bytes(call, *bytes)?;
                self.scalar(&call.inputs[*index].value, 0)?;
                self.count(*object, bytes);
                Ok(())
            }
            Operation::CountDirect { object, bytes } => {
                let bytes = self.bytes(call, *bytes)?;
                self.count_direct(*object, bytes);
                Ok(())
            }
            Operation::RegisterRead { object, index } => {
                let width = self.environment.register(*object).map_or(0, |r| r.width());
                let to = self.take(call.output_cells.max(width).max(1))?;
                for cell in 0..call.output_cells as i32 {
                    self.a.store_number(Size::B8, R7, to + 8 * cell, 0);
                }
                self.scalar(&call.inputs[*index].value, 0)?;
                let end = self.a.label();
                self.element(Purpose::Register(*object), end);
                for cell in 0..width as i32 {
                    self.a.load(Size::B8, R1, R8, 8 * cell);
                    self.a.store(Size::B8, R7, to + 8 * cell, R1);
                }
                self.a.bind(end);
                for (result, output) in results.iter().zip(&call.outputs) {
                    self.put(result, to + 8 * output.at as i32, output.ty.width())?;
                }
                Ok(())
            }
            Operation::RegisterWrite {
                object,
                index,
                value,
            } => {
                let mut values = Vec::new();
                for input in &call.inputs[*value..] {
                    values.push((self.place(&input.value)?, limbs(input.ty.width())));
                }
                self.scalar(&call.inputs[*index].value, 0)?;
                let end = self.a.label();
                self.element(Purpose::Register(*object), end);
                let mut at = 0;
                for (from, count) in values {
                    for cell in 0..count as i32 {
                        self.a.load(Size::B8, R1, R7, from + 8 * cell);
                        self.a.store(Size::B8, R8, at, R1);
                        at += 8;
                    }
                }
                self.a.bind(end);
                Ok(())
            }
            Operation::MarkToDropSlots => {
                let drop_port = self.environment.options.drop_port;
                for (slot, value) in self.environment.marks().into_iter().zip([drop_port, 0]) {
                    if let Some(slot) = slot {
                        self.set(slot, &Bits::new(32, value));
                    }
                }
                Ok(())
            }
            Operation::MarkToDrop {
                egress_spec,
                mcast_grp,
            } => {
                let drop_port = self.environment.options.drop_port;
                for (number, (item, result)) in call.items.iter().zip(results).enumerate() {
                    let width = call.outputs[number].ty.width();
                    let from = if *egress_spec == Some(number) || *mcast_grp == Some(number) {
                        let value = if *egress_spec == Some(number) {
                            drop_port
                        } else {
                            0
                        };
                        let to = self.take(limbs(width))?;
                        self.a.store_number(Size::B8, R7, to, value as i32);
                        to
                    } else {
                        self.input(call, item.input)?
                    };
                    self.put(result, from, width)?;
                }
                Ok(())
            }
            Operation::Hash { algorithm, range } => {
                // What is hashed is read before the result is written.
                let bounds = match range {
                    Some((base, max)) => Some((self.input(call, *base)?, self.input(call, *max)?)),
                    None => None,
                };
                self.hash(call, *algorithm)?;
                if let Some((base, max)) = bounds {
                    self.a.load(Size::B8, R2, R7, max);
                    let (zero, end) = (self.a.label(), self.a.label());
                    self.a.jump_if(Compare::Equal, R2, 0, zero);
                    self.a.alu(Alu::Modulo, R1, R2);
                    self.a.jump(end);
                    self.a.bind(zero);
                    self.a.alu(Alu::Move, R1, 0);
                    self.a.bind(end);
                    self.a.load(Size::B8, R2, R7, base);
                    self.a.alu(Alu::Add, R1, R2);
                }
                self.give(call, results)
            }
            Operation::UpdateChecksum {
                algorithm,
                condition,
                checksum,
                payload: false,
            } => {
                let old = self.input(call, *checksum)?;
                let condition = self.input(call, *condition)?;
                let (keep, end) = (self.a.label(), self.a.label());
                self.a.load(Size::B8, R1, R7, condition);
                self.a.jump_if(Compare::Equal, R1, 0, keep);
                self.hash(call, *algorithm)?;
                self.a.jump(end);
                self.a.bind(keep);
                self.a.load(Size::B8, R1, R7, old);
                self.a.bind(end);
                self.give(call, results)
            }
            Operation::VerifyChecksum {
                algorithm,
                condition,
                checksum,
                payload: false,
            } => {
                let wanted = self.input(call, *checksum)?;
                let width = call.inputs[*checksum].ty.width();
                let condition = self.input(call, *condition)?;
                let end = self.a.label();
                self.a.load(Size::B8, R1, R7, condition);
                self.a.jump_if(Compare::Equal, R1, 0, end);
                self.hash(call, *algorithm)?;
                self.cut(R1, width.min(64));
                self.a.load(Size::B8, R2, R7, wanted);
                self.a.jump_if(Compare::Equal, R1, R2, end);
                self.a.store_number(Size::B8, R7, CHECKSUM_ERROR, 1);
                self.a.bind(end);
                Ok(())
            }
            Operation::Checksum16 { payload: false } => {
                self.hash(call, Algorithm::Checksum16)?;
                self.give(call, results)
            }
            Operation::Random { low, high } => {
                let (low, high) = (self.input(call, *low)?, self.input(call, *high)?);
                self.random(low, high);
                self.give(call, results)
            }
            Operation::Assert { check } | Operation::Assume { check } => {
                let on = self.a.label();
                self.scalar(&call.inputs[*check].value, 0)?;
                self.a.jump_if(Compare::NotEqual, R1, 0, on);
                let asserts = matches!(call.operation, Operation::Assert { .. });
                self.leave(if asserts { Code::Assert } else { Code::Assume });
                self.a.bind(on);
                Ok(())
            }
            Operation::Digest { .. } | Operation::Log { .. } => self.defer(call),
            Operation::ExecuteMeter {
                object,
                index,
                before,
                bytes,
                code,
            } => {
                let bytes = self.bytes(call, *bytes)?;
                self.execute_meter(call, results, (*object, *index), (*before, *code), bytes)
            }
            Operation::ExecuteDirectMeter {
                object,
                before,
                bytes,
                code,
            } => {
                let bytes = self.bytes(call, *bytes)?;
                self.execute_direct_meter(call, results, *object, (*before, *code), bytes)
            }
            Operation::ReadDirectMeter => {
                let hit = self.a.label();
                self.a.load(Size::B8, R1, R7, COLOUR);
                self.a.load(Size::B8, R2, R7, HIT);
                self.a.jump_if(Compare::NotEqual, R2, 0, hit);
                self.a.number(R1, ColourCode::V1Model.encode(Colour::Green));
                self.a.bind(hit);
                self.give(call, results)
            }
            Operation::Resubmit { preserved } => self.ask_to_resubmit(call, preserved),
            Operation::Recirculate { preserved } => self.ask_to_recirculate(call, preserved),
            Operation::Truncate { length } => {
                self.scalar(&call.inputs[*length].value, 0)?;
                self.ask_to_truncate();
                Ok(())
            }
            Operation::RandomRead { object } => {
                let Object::Random(low, high) = &self.environment.objects[object.index()] else {
                    return Ok(());
                };
                let (Some(from), Some(to)) = (low.to_u64(), high.to_u64()) else {
                    return Err(self.fault(
                        "a random number of more than 64 bits is not supported in the kernel",
                    ));
                };
                let bounds = [self.take(1)?, self.take(1)?];
                for (place, bound) in bounds.into_iter().zip([from, to]) {
                    self.a.number(R1, bound);
                    self.a.store(Size::B8, R7, place, R1);
                }
                self.random(bounds[0], bounds[1]);
                self.give(call, results)
            }
            Operation::InternetAdd { state, subtract } => self.add_to_sum(call, *state, *subtract),
            Operation::InternetSet { state, value } => {
                self.scalar(&call.inputs[*value].value, 0)?;
                self.cut(R1, 16);
                let sum = self.sum(*state);
                self.a.store(Size::B8, R7, sum, R1);
                Ok(())
            }
            Operation::InternetGet { state, complement } => {
                let sum = self.sum(*state);
                self.a.load(Size::B8, R1, R7, sum);
                if *complement {
                    self.a.alu(Alu::Xor, R1, 0xFFFF);
                }
                self.give(call, results)
            }
            // Of the sums; what is hashed at once at the end is refused.
            Operation::ChecksumClear { state } => {
                let sum = self.sum(*state);
                self.a.store_number(Size::B8, R7, sum, 0);
                Ok(())
            }
            Operation::AddEntry {
                action,
                arguments,
                profile,
            } => self.add_entry(call, results, action, arguments, *profile),
            Operation::AllocateFlowId => {
                self.allocate_flow();
                self.give(call, results)
            }
            Operation::RestartEntry { profile } => self.restart_entry(call, *profile),
            Operation::PsaQuestion(question) => self.question(call, results, question),
            operation => {
                let mend = match operation {
                    Operation::Clone { .. } => "a program of the kernel cannot copy a packet",
                    Operation::UpdateChecksum { .. } | Operation::VerifyChecksum { .. } => {
                        "a checksum over the payload is not supported in the kernel"
                    }
                    _ => "this extern is not supported in the kernel",
                };
                Err(self.fault(&format!(
                    "`{}`: {mend}; run the program with `--engine fast`",
                    call.name
                )))
            }
        }
    }

    /// What a deparser of PSA's asks: whether inputs are set and others are not, or the port is this one.
    fn question(
        &mut self,
        call: &Call,
        results: &[LValue],
        question: &Question,
    ) -> Result<(), Fault> {
        let (no, end) = (self.a.label(), self.a.label());
        let (set, clear) = match question {
            Question::Flags(set, clear) => (&set[..], &clear[..]),
            Question::Recirculate { port, drop } => {
                self.scalar(&call.inputs[*port].value, 0)?;
                self.a.number(R2, u64::from(PSA_PORT_RECIRCULATE));
                self.a.jump_if(Compare::NotEqual, R1, R2, no);
                (&[][..], drop.as_slice())
            }
        };
        for (inputs, otherwise) in [(set, Compare::Equal), (clear, Compare::NotEqual)] {
            for input in inputs {
                self.scalar(&call.inputs[*input].value, 0)?;
                self.a.jump_if(otherwise, R1, 0, no);
            }
        }
        self.a.alu(Alu::Move, R1, 1);
        self.a.jump(end);
        self.a.bind(no);
        self.a.alu(Alu::Move, R1, 0);
        self.a.bind(end);
        self.give(call, results)
    }

    /// Has the process carry out a call that concerns the control plane alone: sends it the time and what the call is given.
    fn defer(&mut self, call: &Call) -> Result<(), Fault> {
        const RINGBUF_OUTPUT: i32 = 130;
        let bytes = 16 + 8 * call.input_cells;
        if bytes > KEY_BYTES {
            return Err(self.fault(&format!(
                "`{}` has {bytes} bytes of data, more than {KEY_BYTES}",
                call.name
            )));
        }
        let varbit = |ty| matches!(ty, Ty::Varbit(_));
        if call.inputs.iter().any(|input| varbit(input.ty)) {
            return Err(self.fault(&format!(
                "`{}` is given a varbit, which is not supported in the kernel",
                call.name
            )));
        }
        for input in &call.inputs {
            let from = self.place(&input.value)?;
            self.copy(
                from,
                KEY + 16 + 8 * input.at as i32,
                limbs(input.ty.width()),
            );
        }
        let number = self.calls.len() as i32;
        self.calls.push(call.clone());
        self.a.store_number(Size::B8, R7, KEY, number);
        self.tell_time();
        self.copy(NANOSECONDS, KEY + 8, 1);
        let (map, sent) = (self.map(Purpose::Messages), self.a.label());
        self.a.map(R1, map);
        self.a.alu(Alu::Move, R2, R7);
        self.a.alu(Alu::Add, R2, KEY);
        self.a.alu(Alu::Move, R3, bytes as i32);
        self.a.alu(Alu::Move, R4, 0);
        self.a.call(RINGBUF_OUTPUT);
        self.a.jump_if(Compare::Equal, R0, 0, sent);
        // Only this processor counts here.
        self.a.load(Size::B8, R1, R7, LOST);
        self.a.alu(Alu::Add, R1, 1);
        self.a.store(Size::B8, R7, LOST, R1);
        self.a.bind(sent);
        Ok(())
    }

    /// The element of an array with the index in `R1`: its address in `R8`; to `end` where there is none.
    pub(crate) fn element(&mut self, purpose: Purpose, end: crate::instruction::Label) {
        let map = self.map(purpose);
        self.a.number(R2, u64::from(u32::MAX));
        self.a.jump_if(Compare::Greater, R1, R2, end);
        self.a.store(Size::B4, R7, INDEX, R1);
        self.lookup(map, INDEX);
        self.a.jump_if(Compare::Equal, R0, 0, end);
        self.a.alu(Alu::Move, R8, R0);
    }

    /// Looks a key in the frame up in a map; `R0` has the address of the value, or zero.
    pub(crate) fn lookup(&mut self, map: usize, key: i32) {
        self.a.map(R1, map);
        self.a.alu(Alu::Move, R2, R7);
        self.a.alu(Alu::Add, R2, key);
        self.a.call(LOOKUP);
    }

    /// Place of the length that a packet is counted with: its own, or an argument.
    fn bytes(&mut self, call: &Call, given: Option<usize>) -> Result<i32, Fault> {
        given.map_or(Ok(LENGTH), |index| self.input(call, index))
    }

    /// Counts the packet at the index in `R1`, with the length at `bytes` in the frame.
    fn count(&mut self, object: ObjectId, bytes: i32) {
        let end = self.a.label();
        self.element(Purpose::Counter(object), end);
        self.count_at(0, bytes);
        self.a.bind(end);
    }

    /// Counts the packet in two cells, so many bytes behind `R8`.
    fn count_at(&mut self, at: i32, bytes: i32) {
        self.a.alu(Alu::Move, R1, 1);
        self.a.add_atomic(R8, at, R1);
        self.a.load(Size::B8, R1, R7, bytes);
        self.a.add_atomic(R8, at + 8, R1);
    }

    /// Counts the packet for the entry that was hit, if one was.
    pub(crate) fn count_direct(&mut self, object: ObjectId, bytes: i32) {
        let end = self.a.label();
        self.a.load(Size::B8, R1, R7, HIT);
        self.a.jump_if(Compare::Equal, R1, 0, end);
        match self.timed_counter(object) {
            // Those of entries that have a time are in their rows.
            Some(at) => {
                self.timed_row(end);
                self.count_at(at, bytes);
            }
            None => {
                self.a.alu(Alu::Subtract, R1, 1);
                self.count(object, bytes);
            }
        }
        self.a.bind(end);
    }

    /// A random number from `low` to `high` in `R1`.
    fn random(&mut self, low: i32, high: i32) {
        const GET_RANDOM: i32 = 7;
        let end = self.a.label();
        self.a.call(GET_RANDOM);
        self.a.alu(Alu::Move, R8, R0);
        self.a.alu(Alu::ShiftLeft, R8, 32);
        self.a.call(GET_RANDOM);
        self.a.low_half(R0);
        self.a.alu(Alu::Or, R8, R0);
        self.a.load(Size::B8, R1, R7, low);
        self.a.load(Size::B8, R2, R7, high);
        self.a.jump_if(Compare::LessEqual, R2, R1, end);
        self.a.alu(Alu::Subtract, R2, R1);
        self.a.alu(Alu::Add, R2, 1);
        let all = self.a.label();
        // All 64 bits, where the sum has wrapped.
        self.a.jump_if(Compare::Equal, R2, 0, all);
        self.a.alu(Alu::Modulo, R8, R2);
        self.a.bind(all);
        self.a.alu(Alu::Add, R1, R8);
        self.a.bind(end);
    }
}
