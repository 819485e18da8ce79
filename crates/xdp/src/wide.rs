//! Values in the frame: of any width, in cells of 64 bits, the least significant first.

use crate::expression::{is_wide, register};
use crate::instruction::{Alu, Compare, Label, R0, R1, R2, R5, R7, Size};
use crate::unit::{Fault, Unit};
use p4::ir::{Binary, Expr, SlotId, Ty, Unary};
use p4::value::Bits;
use pipeline::layout::limbs;

impl Unit<'_> {
    /// `count` bits, at most 64, of cells in the frame from bit `low` on; into the register of this depth.
    pub(crate) fn bits_from(&mut self, at: i32, low: u32, count: u32, depth: u8) {
        let to = register(depth);
        let (cell, by) = (at + 8 * (low / 64) as i32, low % 64);
        self.a.load(Size::B8, to, R7, cell);
        if by > 0 {
            self.a.alu(Alu::ShiftRight, to, by as i32);
        }
        if by + count > 64 {
            self.a.load(Size::B8, R5, R7, cell + 8);
            self.a.alu(Alu::ShiftLeft, R5, 64 - by as i32);
            self.a.alu(Alu::Or, to, R5);
        }
        self.cut(to, count);
    }

    /// `count` bits, at most 64, of values in the frame that stand one behind the other, the most significant first; into `R1`.
    pub(crate) fn bits_of(&mut self, pieces: &[(i32, u32)], low: u32, count: u32) {
        let mut first = true;
        let mut from = 0;
        for (at, width) in pieces.iter().rev() {
            let (begin, end) = (from.max(low), (from + width).min(low + count));
            if begin < end {
                let depth = u8::from(!first);
                self.bits_from(*at, begin - from, end - begin, depth);
                if begin > low {
                    self.a
                        .alu(Alu::ShiftLeft, register(depth), (begin - low) as i32);
                }
                if !first {
                    self.a.alu(Alu::Or, R1, R2);
                }
                first = false;
            }
            from += width;
        }
        if first {
            self.a.alu(Alu::Move, R1, 0);
        }
    }

    /// The values, the most significant first, as one value in the frame.
    pub(crate) fn joined(&mut self, pieces: &[(i32, u32)], width: u32) -> Result<i32, Fault> {
        let to = self.take(limbs(width))?;
        for cell in 0..limbs(width) as u32 {
            let count = (width - (64 * cell).min(width)).min(64);
            self.bits_of(pieces, 64 * cell, count);
            self.a.store(Size::B8, R7, to + 8 * cell as i32, R1);
        }
        Ok(to)
    }

    /// A value of any width in the frame; of a slot its own cells. All registers may change.
    pub(crate) fn place(&mut self, expression: &Expr) -> Result<i32, Fault> {
        let ty = self.type_of(expression);
        let count = limbs(ty.width());
        if let Expr::Slot(slot) = expression {
            return Ok(self.cell(*slot));
        }
        if matches!(ty, Ty::Varbit(_)) {
            return match expression {
                Expr::Constant(value, _) if value.width() == 0 => self.zeros(count + 1),
                _ => Err(self.fault(
                    "a varbit can be assigned and compared in the kernel, and nothing else",
                )),
            };
        }
        if !is_wide(ty) {
            self.scalar(expression, 0)?;
            let to = self.take(1)?;
            self.a.store(Size::B8, R7, to, R1);
            return Ok(to);
        }
        match expression {
            Expr::Constant(value, ty) => {
                let mut cells = vec![0; count];
                value.resize(ty.width()).to_limbs(&mut cells);
                let to = self.take(count)?;
                for (cell, value) in cells.into_iter().enumerate() {
                    self.a.number(R1, value);
                    self.a.store(Size::B8, R7, to + 8 * cell as i32, R1);
                }
                Ok(to)
            }
            Expr::Element { slots, index } => {
                let to = self.zeros(count)?;
                let end = self.a.label();
                self.scalar(index, 0)?;
                for (number, slot) in slots.iter().enumerate() {
                    let next = self.a.label();
                    self.a.jump_if(Compare::NotEqual, R1, number as i32, next);
                    let from = self.cell(*slot);
                    self.copy(from, to, count);
                    self.a.jump(end);
                    self.a.bind(next);
                }
                self.a.bind(end);
                Ok(to)
            }
            Expr::Slice { value, high, low } => {
                let from = self.place(value)?;
                let to = self.take(count)?;
                let width = high - low + 1;
                for cell in 0..count as u32 {
                    let here = (width - 64 * cell).min(64);
                    self.bits_from(from, low + 64 * cell, here, 0);
                    self.a.store(Size::B8, R7, to + 8 * cell as i32, R1);
                }
                Ok(to)
            }
            Expr::Cast { value, ty } => {
                let from = self.type_of(value);
                if matches!(from, Ty::Signed(_)) && from.width() < ty.width() {
                    return Err(
                        self.fault("a signed number cannot be extended to more than 64 bits here")
                    );
                }
                let at = self.place(value)?;
                let kept = from.width().min(ty.width());
                let zeros = self.zeros(1)?;
                let mut pieces = vec![(at, kept)];
                let mut rest = ty.width() - kept;
                while rest > 0 {
                    let here = rest.min(64);
                    pieces.insert(0, (zeros, here));
                    rest -= here;
                }
                self.joined(&pieces, ty.width())
            }
            Expr::Conditional { condition, yes, no } => {
                let to = self.take(count)?;
                let [yes_label, no_label, end] = [(); 3].map(|()| self.a.label());
                self.branch(condition, 0, yes_label, no_label)?;
                self.a.bind(yes_label);
                let from = self.place(yes)?;
                self.copy(from, to, count);
                self.a.jump(end);
                self.a.bind(no_label);
                let from = self.place(no)?;
                self.copy(from, to, count);
                self.a.bind(end);
                Ok(to)
            }
            Expr::Unary(Unary::Complement, value) => {
                let from = self.place(value)?;
                let to = self.take(count)?;
                for cell in 0..count as i32 {
                    self.a.load(Size::B8, R1, R7, from + 8 * cell);
                    self.a.alu(Alu::Xor, R1, -1);
                    self.store_cell(to, cell, ty.width());
                }
                Ok(to)
            }
            Expr::Binary(operator, left, right) => self.wide(*operator, left, right, ty.width()),
            _ => Err(self.fault("this operator is not supported on more than 64 bits")),
        }
    }

    fn wide(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        width: u32,
    ) -> Result<i32, Fault> {
        let count = limbs(width);
        if operator == Binary::Concat {
            let (high, low) = (self.type_of(left).width(), self.type_of(right).width());
            let pieces = [(self.place(left)?, high), (self.place(right)?, low)];
            return self.joined(&pieces, width);
        }
        if matches!(operator, Binary::ShiftLeft | Binary::ShiftRight) {
            let Expr::Constant(by, _) = right else {
                return Err(self.fault("more than 64 bits can only be shifted by a constant"));
            };
            if matches!(self.type_of(left), Ty::Signed(_)) && operator == Binary::ShiftRight {
                return Err(self.fault("signed numbers of more than 64 bits cannot be shifted"));
            }
            let by = by
                .to_u64()
                .map_or(width, |by| by.min(u64::from(width)) as u32);
            let from = self.place(left)?;
            let to = self.zeros(count)?;
            let (low, kept, above) = match operator {
                Binary::ShiftLeft => (0, width - by, by),
                _ => (by, width - by, 0),
            };
            for cell in 0..count as u32 {
                // The bits of the result's cell, as far as they come from the value.
                let (begin, end) = (64 * cell, (64 * cell + 64).min(width));
                let (begin, end) = (begin.max(above), end.min(above + kept));
                if begin < end {
                    self.bits_from(from, low + begin - above, end - begin, 0);
                    if begin > 64 * cell {
                        self.a.alu(Alu::ShiftLeft, R1, (begin - 64 * cell) as i32);
                    }
                    self.a.store(Size::B8, R7, to + 8 * cell as i32, R1);
                }
            }
            return Ok(to);
        }
        let (left, right) = (self.place(left)?, self.place(right)?);
        let to = self.take(count)?;
        let carry = self.zeros(1)?;
        for cell in 0..count as i32 {
            self.a.load(Size::B8, R1, R7, left + 8 * cell);
            self.a.load(Size::B8, R2, R7, right + 8 * cell);
            match operator {
                Binary::And => self.a.alu(Alu::And, R1, R2),
                Binary::Or => self.a.alu(Alu::Or, R1, R2),
                Binary::Xor => self.a.alu(Alu::Xor, R1, R2),
                Binary::Add | Binary::Subtract => self.with_carry(operator, carry),
                _ => {
                    return Err(self.fault("this operator is not supported on more than 64 bits"));
                }
            }
            self.store_cell(to, cell, width);
        }
        Ok(to)
    }

    /// `R1` and `R2` and what the cells below have left over.
    fn with_carry(&mut self, operator: Binary, carry: i32) {
        let add = operator == Binary::Add;
        let operation = if add { Alu::Add } else { Alu::Subtract };
        self.a.load(Size::B8, R5, R7, carry);
        self.a.store_number(Size::B8, R7, carry, 0);
        for other in [R2, R5] {
            let plain = self.a.label();
            self.a.alu(Alu::Move, R0, R1);
            self.a.alu(operation, R1, other);
            let fits = if add {
                Compare::GreaterEqual
            } else {
                Compare::LessEqual
            };
            self.a.jump_if(fits, R1, R0, plain);
            self.a.store_number(Size::B8, R7, carry, 1);
            self.a.bind(plain);
        }
    }

    /// Stores `R1` as a cell of a value of so many bits.
    fn store_cell(&mut self, to: i32, cell: i32, width: u32) {
        self.cut(R1, (width - 64 * cell as u32).min(64));
        self.a.store(Size::B8, R7, to + 8 * cell, R1);
    }

    fn zeros(&mut self, count: usize) -> Result<i32, Fault> {
        let to = self.take(count)?;
        for cell in 0..count as i32 {
            self.a.store_number(Size::B8, R7, to + 8 * cell, 0);
        }
        Ok(to)
    }

    /// Copies cells, by `R5`.
    pub(crate) fn copy(&mut self, from: i32, to: i32, count: usize) {
        for cell in 0..count as i32 {
            self.a.load(Size::B8, R5, R7, from + 8 * cell);
            self.a.store(Size::B8, R7, to + 8 * cell, R5);
        }
    }

    /// A number as a slot's value.
    pub(crate) fn set(&mut self, slot: SlotId, value: &Bits) {
        let ty = self.program.slots[slot.index()].ty;
        let mut cells = vec![0; limbs(ty.width())];
        value.resize(ty.width()).to_limbs(&mut cells);
        let at = self.cell(slot);
        for (cell, value) in cells.into_iter().enumerate() {
            match i32::try_from(value) {
                Ok(small) => self
                    .a
                    .store_number(Size::B8, R7, at + 8 * cell as i32, small),
                Err(_) => {
                    self.a.number(R1, value);
                    self.a.store(Size::B8, R7, at + 8 * cell as i32, R1);
                }
            }
        }
    }

    pub(crate) fn compare_wide(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        depth: u8,
        yes: Label,
        no: Label,
    ) -> Result<(), Fault> {
        let ty = self.type_of(left);
        if matches!(ty, Ty::Signed(_)) && !matches!(operator, Binary::Equal | Binary::NotEqual) {
            return Err(
                self.fault("a comparison of signed numbers of more than 64 bits is not supported")
            );
        }
        // Registers of lesser depths are kept in the frame; either way they are back.
        let places: Vec<i32> = (0..depth).map(|_| self.take(1)).collect::<Result<_, _>>()?;
        for (number, place) in places.iter().enumerate() {
            self.a.store(Size::B8, R7, *place, register(number as u8));
        }
        let (left, right) = (self.place(left)?, self.place(right)?);
        // What decides when a cell differs, from the most significant on, and when none does.
        let (less, greater, equal) = match operator {
            Binary::Equal => (no, no, yes),
            Binary::NotEqual => (yes, yes, no),
            Binary::Less => (yes, no, no),
            Binary::LessEqual => (yes, no, yes),
            Binary::Greater => (no, yes, no),
            _ => (no, yes, yes),
        };
        let [before_less, before_greater, before_equal] = [(); 3].map(|()| self.a.label());
        // Two varbits are equal if their bytes and lengths are.
        let cells = limbs(ty.width()) + usize::from(matches!(ty, Ty::Varbit(_)));
        for cell in (0..cells as i32).rev() {
            self.a.load(Size::B8, R1, R7, left + 8 * cell);
            self.a.load(Size::B8, R2, R7, right + 8 * cell);
            self.a.jump_if(Compare::Less, R1, R2, before_less);
            self.a.jump_if(Compare::Greater, R1, R2, before_greater);
        }
        self.a.jump(before_equal);
        for (label, to) in [
            (before_less, less),
            (before_greater, greater),
            (before_equal, equal),
        ] {
            self.a.bind(label);
            for (number, place) in places.iter().enumerate() {
                self.a.load(Size::B8, register(number as u8), R7, *place);
            }
            self.a.jump(to);
        }
        Ok(())
    }
}
