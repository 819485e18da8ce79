//! From the packet's bytes to slots, and back.

use crate::frame::{CELLS, EMIT_BYTES, EMITTED, INDEX, LENGTH, POSITION};
use crate::instruction::{Alu, Compare, R0, R1, R2, R3, R4, R5, R6, R7, R8, Size};
use crate::unit::{Code, DATA, DATA_END, Entrance, Fault, Unit};
use p4::ir::{Expr, HeaderId, ParserError, SlotId, StackId, Ty};
use p4::value::Bits;
use pipeline::layout::limbs;

/// Maximum offset in a packet that the program reads, bytes. The verifier follows offsets up to
/// 64 KiB.
const MAX_OFFSET: i32 = 4096;

impl Unit<'_> {
    /// The width of a header in bits, without its varbit, and that, if the program can read and
    /// write them.
    fn header_width(&mut self, id: HeaderId) -> Result<(u32, Option<SlotId>), Fault> {
        let header = &self.program.headers[id.index()];
        let types = || {
            header
                .fields
                .iter()
                .map(|s| self.program.slots[s.index()].ty)
        };
        let is_varbit = |ty: Ty| matches!(ty, Ty::Varbit(_));
        let varbit = types().position(is_varbit);
        if varbit.is_some_and(|place| place + 1 < header.fields.len()) {
            return Err(self.fault(&format!(
                "fields behind the varbit of `{}` are not supported in the kernel; make a header of their own of them",
                header.name
            )));
        }
        let width: u32 = types().filter(|ty| !is_varbit(*ty)).map(Ty::width).sum();
        let whole: u32 = types().map(Ty::width).sum();
        if !width.is_multiple_of(8) {
            return Err(self.fault(&format!(
                "`{}` has {width} bits, which are no whole bytes",
                header.name
            )));
        }
        if whole as usize > 8 * EMIT_BYTES / 2 {
            return Err(self.fault(&format!(
                "`{}` has {} bytes, more than {}",
                header.name,
                whole / 8,
                EMIT_BYTES / 2
            )));
        }
        Ok((width, varbit.map(|place| header.fields[place])))
    }

    pub(crate) fn extract(&mut self, id: HeaderId, size: Option<&Expr>) -> Result<(), Fault> {
        let (width, varbit) = self.header_width(id)?;
        let most = varbit.map(|slot| self.program.slots[slot.index()].ty.width());
        if let Some(size) = size {
            self.check_size(size, width, most.unwrap_or(0))?;
        }
        self.available(width)?;
        // The position behind it, still in R1 as bits.
        self.a.alu(Alu::Add, R1, width as i32);
        self.a.store(Size::B8, R7, POSITION, R1);
        let header = &self.program.headers[id.index()];
        let mut at = 0;
        for slot in header.fields.iter().filter(|slot| Some(**slot) != varbit) {
            let field = self.program.slots[slot.index()].ty.width();
            self.read_bits(at, field, width / 8, self.cell(*slot));
            at += field;
        }
        self.set(header.valid, &Bits::new(1, 1u8));
        if let Some(slot) = varbit {
            self.extract_varbit(slot, size.is_some());
        }
        Ok(())
    }

    /// Fails unless a varbit of so many bits fits and is there, behind `width` other bits. Leaves its length in the frame.
    fn check_size(&mut self, size: &Expr, width: u32, most: u32) -> Result<(), Fault> {
        let (whole, there, fits) = (self.a.label(), self.a.label(), self.a.label());
        self.scalar(size, 0)?;
        self.a.store(Size::B8, R7, INDEX, R1);
        self.a.alu(Alu::Move, R2, R1);
        self.a.alu(Alu::And, R2, 7);
        self.a.jump_if(Compare::Equal, R2, 0, whole);
        self.fail_with(ParserError::ParserInvalidArgument);
        self.a.bind(whole);
        self.a.load(Size::B8, R2, R7, POSITION);
        self.a.alu(Alu::Add, R2, R1);
        self.a.alu(Alu::Add, R2, width as i32);
        self.a.load(Size::B8, R3, R7, LENGTH);
        self.a.alu(Alu::ShiftLeft, R3, 3);
        self.a.jump_if(Compare::LessEqual, R2, R3, there);
        self.fail_with(ParserError::PacketTooShort);
        self.a.bind(there);
        self.a.jump_if(Compare::LessEqual, R1, most as i32, fits);
        self.fail_with(ParserError::HeaderTooShort);
        self.a.bind(fits);
        Ok(())
    }

    /// Reads a varbit of the length in the frame, or of none. In a program of the kernel its cells have its bytes as they are in the packet,
    /// and zeros behind them.
    fn extract_varbit(&mut self, slot: SlotId, has_size: bool) {
        const LOAD_BYTES: i32 = 189;
        let (at, most) = (self.cell(slot), self.program.slots[slot.index()].ty.width());
        let length = at + 8 * limbs(most) as i32;
        for cell in 0..=limbs(most) as i32 {
            self.a.store_number(Size::B8, R7, at + 8 * cell, 0);
        }
        if !has_size || most == 0 {
            return;
        }
        let (fits, read, end) = (self.a.label(), self.a.label(), self.a.label());
        self.a.load(Size::B8, R4, R7, INDEX);
        self.a.store(Size::B8, R7, length, R4);
        self.a.load(Size::B8, R2, R7, POSITION);
        self.a.alu(Alu::Move, R1, R2);
        self.a.alu(Alu::Add, R1, R4);
        self.a.store(Size::B8, R7, POSITION, R1);
        self.a.alu(Alu::ShiftRight, R2, 3);
        self.a.alu(Alu::ShiftRight, R4, 3);
        self.a.jump_if(Compare::Equal, R4, 0, end);
        // To the verifier the length is any again.
        self.a
            .jump_if(Compare::LessEqual, R4, (most / 8) as i32, fits);
        self.leave_odd();
        self.a.bind(fits);
        self.a.alu(Alu::Move, R1, R6);
        self.a.alu(Alu::Move, R3, R7);
        self.a.alu(Alu::Add, R3, at);
        self.a.call(LOAD_BYTES);
        self.a.jump_if(Compare::Equal, R0, 0, read);
        self.leave_odd();
        self.a.bind(read);
        self.a.bind(end);
    }

    pub(crate) fn extract_next(&mut self, id: StackId, size: Option<&Expr>) -> Result<(), Fault> {
        let stack = &self.program.stacks[id.index()];
        let next = self.cell(stack.next);
        let end = self.a.label();
        for (number, header) in stack.headers.iter().enumerate() {
            let other = self.a.label();
            self.a.load(Size::B8, R1, R7, next);
            self.a.jump_if(Compare::NotEqual, R1, number as i32, other);
            self.extract(*header, size)?;
            self.a.store_number(Size::B8, R7, next, number as i32 + 1);
            self.a.jump(end);
            self.a.bind(other);
        }
        self.fail_with(ParserError::StackOutOfBounds);
        self.a.bind(end);
        Ok(())
    }

    pub(crate) fn lookahead(&mut self, into: SlotId) -> Result<(), Fault> {
        let ty = self.program.slots[into.index()].ty;
        if matches!(ty, Ty::Varbit(_)) {
            return Err(self.fault("a varbit cannot be looked ahead at in the kernel"));
        }
        let width = ty.width();
        self.available(width)?;
        self.read_bits(0, width, width.div_ceil(8), self.cell(into));
        Ok(())
    }

    pub(crate) fn advance(&mut self, bits: &Expr) -> Result<(), Fault> {
        self.scalar(bits, 0)?;
        let (whole, fits) = (self.a.label(), self.a.label());
        self.a.alu(Alu::Move, R2, R1);
        self.a.alu(Alu::And, R2, 7);
        self.a.jump_if(Compare::Equal, R2, 0, whole);
        self.leave_odd();
        self.a.bind(whole);
        self.a.load(Size::B8, R2, R7, POSITION);
        self.a.alu(Alu::Add, R2, R1);
        self.a.load(Size::B8, R3, R7, LENGTH);
        self.a.alu(Alu::ShiftLeft, R3, 3);
        self.a.jump_if(Compare::LessEqual, R2, R3, fits);
        self.fail_with(ParserError::PacketTooShort);
        self.a.bind(fits);
        self.a.store(Size::B8, R7, POSITION, R2);
        Ok(())
    }

    pub(crate) fn length(&mut self, into: SlotId) {
        let at = self.cell(into);
        self.a.load(Size::B8, R1, R7, LENGTH);
        self.a.store(Size::B8, R7, at, R1);
    }

    /// Fails if there are not so many bits. Leaves the address of the next in `R8`, and the position in `R1`.
    fn available(&mut self, width: u32) -> Result<(), Fault> {
        let bytes = width.div_ceil(8) as i32;
        if bytes > MAX_OFFSET {
            return Err(self.fault("so many bytes at once are not supported"));
        }
        let (near, enough, short) = (self.a.label(), self.a.label(), self.a.label());
        self.a.load(Size::B8, R1, R7, POSITION);
        self.a.alu(Alu::Move, R2, R1);
        self.a.alu(Alu::ShiftRight, R2, 3);
        self.a.jump_if(Compare::LessEqual, R2, MAX_OFFSET, near);
        self.a.jump(short);
        self.a.bind(near);
        if self.entrance == Entrance::Trial {
            // What stands behind the packet is not of it.
            self.a.alu(Alu::Move, R3, R2);
            self.a.alu(Alu::Add, R3, bytes);
            self.a.load(Size::B8, R4, R7, LENGTH);
            self.a.jump_if(Compare::Greater, R3, R4, short);
        }
        self.a.load(Size::B4, R8, R6, DATA);
        self.a.load(Size::B4, R5, R6, DATA_END);
        self.a.alu(Alu::Add, R8, R2);
        self.a.alu(Alu::Move, R4, R8);
        self.a.alu(Alu::Add, R4, bytes);
        self.a.jump_if(Compare::LessEqual, R4, R5, enough);
        self.a.bind(short);
        self.fail_with(ParserError::PacketTooShort);
        self.a.bind(enough);
        Ok(())
    }

    /// A field from bit `at` of what `R8` points to, where `total` bytes are, into cells.
    fn read_bits(&mut self, at: u32, width: u32, total: u32, to: i32) {
        let mut end = at + width;
        for cell in 0..limbs(width) as i32 {
            let here = (end - at).min(64);
            self.word(end - here, here, total);
            self.a.store(Size::B8, R7, to + 8 * cell, R2);
            end -= here;
        }
    }

    /// At most 64 bits from bit `at` of what `R8` points to, into `R2`.
    fn word(&mut self, at: u32, width: u32, total: u32) {
        let (first, odd) = (at / 8, at % 8);
        let bytes = (odd + width).div_ceil(8);
        if width == 0 {
            return self.a.alu(Alu::Move, R2, 0);
        }
        // What one load takes: from where, and how many bytes.
        let one = [1, 2, 4, 8]
            .into_iter()
            .filter(|size| *size >= bytes && *size <= total);
        let one = one.map(|size| (first.min(total - size), size)).next();
        if let Some((from, size)) = one {
            self.a.load(Size::of(size), R2, R8, from as i32);
            if size > 1 {
                self.a.big_endian(R2, 8 * size as i32);
            }
            let behind = 8 * size - (at - 8 * from) - width;
            if behind > 0 {
                self.a.alu(Alu::ShiftRight, R2, behind as i32);
            }
            return self.cut(R2, width);
        }
        if bytes > 8 {
            self.a.load(Size::B8, R2, R8, first as i32);
            self.a.big_endian(R2, 64);
            self.a.alu(Alu::ShiftLeft, R2, odd as i32);
            self.a.load(Size::B1, R5, R8, first as i32 + 8);
            self.a.alu(Alu::ShiftRight, R5, 8 - odd as i32);
            self.a.alu(Alu::Or, R2, R5);
            if width < 64 {
                self.a.alu(Alu::ShiftRight, R2, 64 - width as i32);
            }
            return;
        }
        self.a.alu(Alu::Move, R2, 0);
        let mut done = 0;
        while done < bytes {
            let size = [4, 2, 1]
                .into_iter()
                .find(|size| done + size <= bytes)
                .unwrap_or(1);
            self.a.load(Size::of(size), R5, R8, (first + done) as i32);
            if size > 1 {
                self.a.big_endian(R5, 8 * size as i32);
            }
            self.a.alu(Alu::ShiftLeft, R2, 8 * size as i32);
            self.a.alu(Alu::Or, R2, R5);
            done += size;
        }
        let behind = 8 * bytes - odd - width;
        if behind > 0 {
            self.a.alu(Alu::ShiftRight, R2, behind as i32);
        }
        self.cut(R2, width);
    }

    pub(crate) fn emit(&mut self, id: HeaderId) -> Result<(), Fault> {
        let (width, varbit) = self.header_width(id)?;
        let header = &self.program.headers[id.index()];
        let valid = self.cell(header.valid);
        let end = self.a.label();
        self.a.load(Size::B8, R1, R7, valid);
        self.a.jump_if(Compare::Equal, R1, 0, end);
        let fields = header.fields.iter().filter(|slot| Some(**slot) != varbit);
        let pieces = fields.map(|slot| {
            let width = self.program.slots[slot.index()].ty.width();
            (self.cell(*slot), width)
        });
        let pieces: Vec<(i32, u32)> = pieces.collect();
        self.append(&pieces, width);
        if let Some(slot) = varbit {
            self.append_varbit(slot);
        }
        self.a.bind(end);
        Ok(())
    }

    /// Appends the bytes of a varbit: all that it may have, of which what follows replaces those that it has not.
    fn append_varbit(&mut self, slot: SlotId) {
        let (from, most) = (self.cell(slot), self.program.slots[slot.index()].ty.width());
        let cells = limbs(most) as i32;
        let (room, whole) = (self.a.label(), self.a.label());
        self.a.load(Size::B8, R1, R7, EMITTED);
        self.a
            .jump_if(Compare::LessEqual, R1, EMIT_BYTES as i32 - 8 * cells, room);
        self.leave_odd();
        self.a.bind(room);
        self.a.alu(Alu::Move, R8, R7);
        self.a.alu(Alu::Add, R8, R1);
        self.a.alu(Alu::Add, R8, self.frame.emit);
        for cell in 0..cells {
            self.a.load(Size::B8, R2, R7, from + 8 * cell);
            self.a.store(Size::B8, R8, 8 * cell, R2);
        }
        self.a.load(Size::B8, R2, R7, from + 8 * cells);
        self.a.alu(Alu::Move, R3, R2);
        self.a.alu(Alu::And, R3, 7);
        self.a.jump_if(Compare::Equal, R3, 0, whole);
        self.leave_odd();
        self.a.bind(whole);
        self.a.alu(Alu::ShiftRight, R2, 3);
        self.a.alu(Alu::Add, R1, R2);
        self.a.store(Size::B8, R7, EMITTED, R1);
    }

    pub(crate) fn emit_value(&mut self, value: &Expr) -> Result<(), Fault> {
        let width = self.type_of(value).width();
        if matches!(self.type_of(value), Ty::Varbit(_)) {
            return Err(self.fault("a varbit can only be emitted as a part of its header"));
        }
        if !width.is_multiple_of(8) {
            return Err(self.fault("a value that is no whole bytes cannot be emitted"));
        }
        let at = self.place(value)?;
        self.append(&[(at, width)], width);
        Ok(())
    }

    /// Appends whole bytes to what is emitted.
    fn append(&mut self, pieces: &[(i32, u32)], width: u32) {
        let bytes = (width / 8) as i32;
        let room = self.a.label();
        self.a.load(Size::B8, R1, R7, EMITTED);
        self.a
            .jump_if(Compare::LessEqual, R1, EMIT_BYTES as i32 - bytes, room);
        self.leave_odd();
        self.a.bind(room);
        self.a.alu(Alu::Move, R8, R7);
        self.a.alu(Alu::Add, R8, R1);
        self.a.alu(Alu::Add, R8, self.frame.emit);
        self.a.alu(Alu::Add, R1, bytes);
        self.a.store(Size::B8, R7, EMITTED, R1);
        self.write_bytes(pieces, width);
    }

    /// Writes values, the most significant first, as bytes to where `R8` points; the last byte is filled up with zeros.
    pub(crate) fn write_bytes(&mut self, pieces: &[(i32, u32)], width: u32) {
        let mut done = 0;
        while done < width {
            let here = (width - done).min(64);
            self.bits_of(pieces, width - done - here, here);
            if here < 64 {
                self.a.alu(Alu::ShiftLeft, R1, 64 - here as i32);
            }
            self.a.big_endian(R1, 64);
            let mut at = (done / 8) as i32;
            let mut left = here.div_ceil(8);
            while left > 0 {
                let size = [8, 4, 2, 1]
                    .into_iter()
                    .find(|size| *size <= left)
                    .unwrap_or(1);
                self.a.store(Size::of(size), R8, at, R1);
                left -= size;
                at += size as i32;
                if left > 0 {
                    self.a.alu(Alu::ShiftRight, R1, 8 * size as i32);
                }
            }
            done += here;
        }
    }

    /// Puts what is emitted in place of what the parser has read; `at_end` nothing comes behind it.
    pub(crate) fn send(&mut self, at_end: bool) {
        const ADJUST_HEAD: i32 = 44;
        const STORE_BYTES: i32 = 190;
        let (fits, same, done) = (self.a.label(), self.a.label(), self.a.label());
        self.a.load(Size::B8, R2, R7, POSITION);
        self.a.alu(Alu::ShiftRight, R2, 3);
        self.a.load(Size::B8, R3, R7, EMITTED);
        self.a.alu(Alu::Subtract, R2, R3);
        self.a.jump_if(Compare::Equal, R2, 0, same);
        self.a.alu(Alu::Move, R1, R6);
        self.a.call(ADJUST_HEAD);
        self.a.jump_if(Compare::Equal, R0, 0, same);
        self.leave(if at_end { Code::NoRoom } else { Code::Beyond });
        self.a.bind(same);
        self.a.load(Size::B8, R4, R7, EMITTED);
        self.a.jump_if(Compare::Equal, R4, 0, done);
        self.a
            .jump_if(Compare::LessEqual, R4, EMIT_BYTES as i32, fits);
        self.leave_odd();
        self.a.bind(fits);
        self.a.alu(Alu::Move, R1, R6);
        self.a.alu(Alu::Move, R2, 0);
        self.a.alu(Alu::Move, R3, R7);
        self.a.alu(Alu::Add, R3, self.frame.emit);
        self.a.call(STORE_BYTES);
        self.a.bind(done);
    }

    /// Leaves in `R1` how many bytes leave: what is emitted, and what the parser has not read.
    pub(crate) fn length_out(&mut self) {
        self.a.load(Size::B8, R1, R7, LENGTH);
        self.a.load(Size::B8, R2, R7, POSITION);
        self.a.alu(Alu::ShiftRight, R2, 3);
        self.a.alu(Alu::Subtract, R1, R2);
        self.a.load(Size::B8, R2, R7, EMITTED);
        self.a.alu(Alu::Add, R1, R2);
    }

    /// Makes what is emitted, and what the parser has not read, the packet that the next parser reads.
    pub(crate) fn turn(&mut self) {
        self.send(false);
        self.length_out();
        self.a.store(Size::B8, R7, LENGTH, R1);
        self.a.store_number(Size::B8, R7, POSITION, 0);
        self.a.store_number(Size::B8, R7, EMITTED, 0);
    }

    /// Where a slot's first cell is.
    pub(crate) fn cell(&self, slot: SlotId) -> i32 {
        CELLS + 8 * self.environment.layout.cell(slot).0 as i32
    }
}
