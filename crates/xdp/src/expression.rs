//! Expressions: of at most 64 bits in registers, wider ones in the frame, in cells of 64 bits, the least significant first.

use crate::instruction::{Alu, Compare, Label, R0, R1, R5, R7, Register, Size};
use crate::unit::{Fault, Unit};
use p4::ir::{Binary, Expr, Ty, Unary};
use pipeline::layout::limbs;

/// So many values are in registers at once, from `R1` on; `R0` and `R5` are for what is between.
const DEPTH: u8 = 4;

pub(crate) fn register(depth: u8) -> Register {
    Register(depth + 1)
}

/// Whether bits above the width are to be cut after an operation.
pub(crate) fn is_wide(ty: Ty) -> bool {
    ty.width() > 64
}

impl Unit<'_> {
    pub(crate) fn type_of(&self, expression: &Expr) -> Ty {
        expression.ty(&self.program.slots)
    }

    /// Cuts a register to so many bits.
    pub(crate) fn cut(&mut self, register: Register, width: u32) {
        match width {
            0 => self.a.alu(Alu::Move, register, 0),
            1..=31 => {
                let mask = (1u32 << width) - 1;
                self.a.alu(Alu::And, register, mask as i32);
            }
            32 => self.a.low_half(register),
            33..=63 => {
                self.a.alu(Alu::ShiftLeft, register, 64 - width as i32);
                self.a.alu(Alu::ShiftRight, register, 64 - width as i32);
            }
            _ => {}
        }
    }

    /// Extends a number of so many bits by its sign.
    pub(crate) fn sign(&mut self, register: Register, width: u32) {
        if (1..64).contains(&width) {
            self.a.alu(Alu::ShiftLeft, register, 64 - width as i32);
            self.a
                .alu(Alu::ShiftRightSigned, register, 64 - width as i32);
        }
    }

    /// A value of at most 64 bits into the register of this depth; those of lesser depths stay.
    pub(crate) fn scalar(&mut self, expression: &Expr, depth: u8) -> Result<(), Fault> {
        let to = register(depth);
        let ty = self.type_of(expression);
        if matches!(ty, Ty::Varbit(_)) {
            return Err(self.fault("a varbit cannot be used here"));
        }
        if is_wide(ty) {
            return Err(self.fault("a value of more than 64 bits cannot be used here"));
        }
        match expression {
            Expr::Constant(value, ty) => {
                let value = value.resize(ty.width()).to_u64().unwrap_or(0);
                self.a.number(to, value);
            }
            Expr::Slot(slot) => {
                let at = self.cell(*slot);
                self.a.load(Size::B8, to, R7, at);
            }
            Expr::Element { slots, index } => {
                if is_wide(self.type_of(index)) {
                    return Err(self.fault("an index of more than 64 bits is not supported"));
                }
                self.scalar(index, depth)?;
                self.a.alu(Alu::Move, R5, to);
                self.a.alu(Alu::Move, to, 0);
                let end = self.a.label();
                for (number, slot) in slots.iter().enumerate() {
                    let next = self.a.label();
                    self.a.jump_if(Compare::NotEqual, R5, number as i32, next);
                    let at = self.cell(*slot);
                    self.a.load(Size::B8, to, R7, at);
                    self.a.jump(end);
                    self.a.bind(next);
                }
                self.a.bind(end);
            }
            Expr::Unary(operator, value) => {
                self.scalar(value, depth)?;
                match operator {
                    Unary::Negate => self.a.negate(to),
                    Unary::Complement => self.a.alu(Alu::Xor, to, -1),
                    Unary::Not => self.a.alu(Alu::Xor, to, 1),
                }
                self.cut(to, ty.width());
            }
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right, depth)?,
            Expr::Slice { value, high, low } => {
                if is_wide(self.type_of(value)) {
                    let (low, count) = (*low, high - low + 1);
                    self.saved(depth, |unit| {
                        let from = unit.place(value)?;
                        unit.bits_from(from, low, count, 0);
                        Ok(())
                    })?;
                } else {
                    self.scalar(value, depth)?;
                    if *low > 0 {
                        self.a.alu(Alu::ShiftRight, to, *low as i32);
                    }
                    self.cut(to, high - low + 1);
                }
            }
            Expr::Cast { value, ty } => {
                let from = self.type_of(value);
                if is_wide(from) {
                    self.saved(depth, |unit| {
                        let from = unit.place(value)?;
                        unit.bits_from(from, 0, ty.width(), 0);
                        Ok(())
                    })?;
                } else {
                    self.scalar(value, depth)?;
                    if matches!(from, Ty::Signed(_)) && ty.width() > from.width() {
                        self.sign(to, from.width());
                    }
                    if ty.width() != from.width() {
                        self.cut(to, ty.width());
                    }
                }
            }
            Expr::Conditional { condition, yes, no } => {
                let [yes_label, no_label, end] = [(); 3].map(|()| self.a.label());
                self.branch(condition, depth, yes_label, no_label)?;
                self.a.bind(yes_label);
                self.scalar(yes, depth)?;
                self.a.jump(end);
                self.a.bind(no_label);
                self.scalar(no, depth)?;
                self.a.bind(end);
            }
            Expr::VarbitLength(slot) => {
                let most = self.program.slots[slot.index()].ty.width();
                let at = self.cell(*slot) + 8 * limbs(most) as i32;
                self.a.load(Size::B8, to, R7, at);
            }
        }
        Ok(())
    }

    /// Does something that may use all registers, and leaves its result in `R1`; those of lesser depths stay.
    fn saved(
        &mut self,
        depth: u8,
        body: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let places: Vec<i32> = (0..depth).map(|_| self.take(1)).collect::<Result<_, _>>()?;
        for (number, place) in places.iter().enumerate() {
            self.a.store(Size::B8, R7, *place, register(number as u8));
        }
        body(self)?;
        if depth > 0 {
            self.a.alu(Alu::Move, register(depth), R1);
        }
        for (number, place) in places.iter().enumerate() {
            self.a.load(Size::B8, register(number as u8), R7, *place);
        }
        Ok(())
    }

    /// Two values: into the registers of this depth and the next, or where there is none, into this one and `R5`.
    fn both(&mut self, left: &Expr, right: &Expr, depth: u8) -> Result<Register, Fault> {
        self.scalar(left, depth)?;
        if depth + 1 < DEPTH {
            self.scalar(right, depth + 1)?;
            return Ok(register(depth + 1));
        }
        let place = self.take(1)?;
        let to = register(depth);
        self.a.store(Size::B8, R7, place, to);
        self.scalar(right, depth)?;
        self.a.alu(Alu::Move, R5, to);
        self.a.load(Size::B8, to, R7, place);
        Ok(R5)
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        depth: u8,
    ) -> Result<(), Fault> {
        let to = register(depth);
        let (ty, right_ty) = (self.type_of(left), self.type_of(right));
        let (width, signed) = (ty.width(), matches!(ty, Ty::Signed(_)));
        if comparison(operator, false).is_some() {
            // Into R0, since the branch may use all others from here on.
            let [yes, no, end] = [(); 3].map(|()| self.a.label());
            self.compare(operator, left, right, depth, yes, no)?;
            self.a.bind(yes);
            self.a.alu(Alu::Move, to, 1);
            self.a.jump(end);
            self.a.bind(no);
            self.a.alu(Alu::Move, to, 0);
            self.a.bind(end);
            return Ok(());
        }
        if matches!(operator, Binary::ShiftLeft | Binary::ShiftRight) {
            if is_wide(right_ty) {
                return Err(self.fault("a shift by a number of more than 64 bits is not supported"));
            }
            let by = self.both(left, right, depth)?;
            return self.shift(operator, to, by, width, signed);
        }
        let other = self.both(left, right, depth)?;
        let plain = match operator {
            Binary::Add => Alu::Add,
            Binary::Subtract => Alu::Subtract,
            Binary::Multiply => Alu::Multiply,
            Binary::And => Alu::And,
            Binary::Or => Alu::Or,
            Binary::Xor => Alu::Xor,
            // By zero the kernel gives zero, too.
            Binary::Divide => Alu::Divide,
            Binary::Modulo => {
                // The kernel leaves what is divided by zero.
                let zero = self.a.label();
                let end = self.a.label();
                self.a.jump_if(Compare::Equal, other, 0, zero);
                self.a.alu(Alu::Modulo, to, other);
                self.a.jump(end);
                self.a.bind(zero);
                self.a.alu(Alu::Move, to, 0);
                self.a.bind(end);
                return Ok(());
            }
            Binary::Concat => {
                self.a.alu(Alu::ShiftLeft, to, right_ty.width() as i32);
                self.a.alu(Alu::Or, to, other);
                return Ok(());
            }
            Binary::SaturatingAdd | Binary::SaturatingSubtract => {
                return self.saturating(operator, to, other, width, signed);
            }
            _ => return Err(self.fault("this operator is not supported")),
        };
        self.a.alu(plain, to, other);
        if matches!(plain, Alu::Add | Alu::Subtract | Alu::Multiply) {
            self.cut(to, width);
        }
        Ok(())
    }

    fn shift(
        &mut self,
        operator: Binary,
        to: Register,
        by: Register,
        width: u32,
        signed: bool,
    ) -> Result<(), Fault> {
        let [far, end] = [(); 2].map(|()| self.a.label());
        let arithmetic = operator == Binary::ShiftRight && signed;
        if arithmetic {
            self.sign(to, width);
        }
        self.a
            .jump_if(Compare::GreaterEqual, by, width.clamp(1, 64) as i32, far);
        let operation = match (operator, arithmetic) {
            (Binary::ShiftLeft, _) => Alu::ShiftLeft,
            (_, true) => Alu::ShiftRightSigned,
            _ => Alu::ShiftRight,
        };
        self.a.alu(operation, to, by);
        self.a.jump(end);
        self.a.bind(far);
        match arithmetic {
            true => self.a.alu(Alu::ShiftRightSigned, to, 63),
            false => self.a.alu(Alu::Move, to, 0),
        }
        self.a.bind(end);
        self.cut(to, width);
        Ok(())
    }

    fn saturating(
        &mut self,
        operator: Binary,
        to: Register,
        other: Register,
        width: u32,
        signed: bool,
    ) -> Result<(), Fault> {
        let add = operator == Binary::SaturatingAdd;
        let operation = if add { Alu::Add } else { Alu::Subtract };
        let end = self.a.label();
        match (signed, add) {
            (true, _) if width == 64 => {
                return Err(self.fault("saturating arithmetic of int<64> is not supported"));
            }
            (true, _) => {
                self.sign(to, width);
                self.sign(other, width);
                self.a.alu(operation, to, other);
                let half = 1i64 << width.saturating_sub(1);
                for (compare, limit) in [
                    (Compare::SignedLessEqual, half - 1),
                    (Compare::SignedGreaterEqual, -half),
                ] {
                    let fits = self.a.label();
                    self.a.number(R0, limit as u64);
                    self.a.jump_if(compare, to, R0, fits);
                    self.a.alu(Alu::Move, to, R0);
                    self.a.bind(fits);
                }
            }
            (false, true) => {
                self.a.alu(Alu::Add, to, other);
                self.a.number(R0, u64::MAX >> (64 - width.max(1)));
                // A sum that has wrapped is less than what was added.
                let over = self.a.label();
                self.a.jump_if(Compare::Less, to, other, over);
                self.a.jump_if(Compare::LessEqual, to, R0, end);
                self.a.bind(over);
                self.a.alu(Alu::Move, to, R0);
            }
            (false, false) => {
                let under = self.a.label();
                self.a.jump_if(Compare::Less, to, other, under);
                self.a.alu(Alu::Subtract, to, other);
                self.a.jump(end);
                self.a.bind(under);
                self.a.alu(Alu::Move, to, 0);
            }
        }
        self.a.bind(end);
        self.cut(to, width);
        Ok(())
    }

    /// Goes to one of two labels; registers of lesser depths stay.
    pub(crate) fn branch(
        &mut self,
        condition: &Expr,
        depth: u8,
        yes: Label,
        no: Label,
    ) -> Result<(), Fault> {
        match condition {
            Expr::Binary(operator, left, right) if comparison(*operator, false).is_some() => {
                self.compare(*operator, left, right, depth, yes, no)
            }
            Expr::Unary(Unary::Not, value) => self.branch(value, depth, no, yes),
            // Neither has effects, so that the second need not be looked at.
            Expr::Binary(Binary::And, left, right) if self.type_of(left) == Ty::Bool => {
                let on = self.a.label();
                self.branch(left, depth, on, no)?;
                self.a.bind(on);
                self.branch(right, depth, yes, no)
            }
            Expr::Binary(Binary::Or, left, right) if self.type_of(left) == Ty::Bool => {
                let on = self.a.label();
                self.branch(left, depth, yes, on)?;
                self.a.bind(on);
                self.branch(right, depth, yes, no)
            }
            _ => {
                self.scalar(condition, depth)?;
                self.a.jump_if(Compare::NotEqual, register(depth), 0, yes);
                self.a.jump(no);
                Ok(())
            }
        }
    }

    fn compare(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        depth: u8,
        yes: Label,
        no: Label,
    ) -> Result<(), Fault> {
        let ty = self.type_of(left);
        let signed = matches!(ty, Ty::Signed(_));
        let Some(compare) = comparison(operator, signed) else {
            return Err(self.fault("this operator is not supported"));
        };
        if is_wide(ty) || matches!(ty, Ty::Varbit(_)) {
            return self.compare_wide(operator, left, right, depth, yes, no);
        }
        let to = register(depth);
        let small = match right {
            Expr::Constant(value, ty) if !signed => value
                .resize(ty.width())
                .to_u64()
                .and_then(|value| i32::try_from(value).ok()),
            _ => None,
        };
        if let Some(small) = small {
            self.scalar(left, depth)?;
            self.a.jump_if(compare, to, small, yes);
        } else {
            let other = self.both(left, right, depth)?;
            if signed {
                self.sign(to, ty.width());
                self.sign(other, ty.width());
            }
            self.a.jump_if(compare, to, other, yes);
        }
        self.a.jump(no);
        Ok(())
    }
}

fn comparison(operator: Binary, signed: bool) -> Option<Compare> {
    Some(match (operator, signed) {
        (Binary::Equal, _) => Compare::Equal,
        (Binary::NotEqual, _) => Compare::NotEqual,
        (Binary::Less, false) => Compare::Less,
        (Binary::Less, true) => Compare::SignedLess,
        (Binary::LessEqual, false) => Compare::LessEqual,
        (Binary::LessEqual, true) => Compare::SignedLessEqual,
        (Binary::Greater, false) => Compare::Greater,
        (Binary::Greater, true) => Compare::SignedGreater,
        (Binary::GreaterEqual, false) => Compare::GreaterEqual,
        (Binary::GreaterEqual, true) => Compare::SignedGreaterEqual,
        _ => return None,
    })
}
