//! Operations on values of any width, as Cranelift instructions.
//!
//! A value is held as 64-bit limbs, the least significant first, the bits above its width zero: the same form that cells have.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::I64};
use cranelift_frontend::FunctionBuilder;
use p4::ir::Ty;
use p4::value::Bits;
use pipeline::layout::limbs;

/// A value of a type.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    pub(crate) limbs: Vec<Value>,
    pub(crate) ty: Ty,
}

/// Whether the value is signed.
pub(crate) fn signed(ty: Ty) -> bool {
    matches!(ty, Ty::Signed(_))
}

/// Ones in the low `width` bits of a limb; all of them from 64 on.
fn low(width: u32) -> u64 {
    match width {
        0 => 0,
        1..64 => (1 << width) - 1,
        _ => u64::MAX,
    }
}

pub(crate) fn constant(b: &mut FunctionBuilder<'_>, value: u64) -> Value {
    b.ins().iconst(I64, value as i64)
}

fn mask(b: &mut FunctionBuilder<'_>, value: Value, width: u32) -> Value {
    match width {
        0 => constant(b, 0),
        1..64 => {
            let ones = constant(b, low(width));
            b.ins().band(value, ones)
        }
        _ => value,
    }
}

fn shl(b: &mut FunctionBuilder<'_>, value: Value, by: u32) -> Value {
    if by == 0 {
        return value;
    }
    let by = constant(b, u64::from(by));
    b.ins().ishl(value, by)
}

fn shr(b: &mut FunctionBuilder<'_>, value: Value, by: u32) -> Value {
    if by == 0 {
        return value;
    }
    let by = constant(b, u64::from(by));
    b.ins().ushr(value, by)
}

/// A truth value as a limb.
pub(crate) fn truth(b: &mut FunctionBuilder<'_>, value: Value) -> Value {
    b.ins().uextend(I64, value)
}

impl Wide {
    pub(crate) fn constant(b: &mut FunctionBuilder<'_>, value: &Bits, ty: Ty) -> Self {
        let mut cells = vec![0; limbs(ty.width())];
        value.resize(ty.width()).to_limbs(&mut cells);
        let limbs = cells.iter().map(|cell| constant(b, *cell)).collect();
        Wide { limbs, ty }
    }

    pub(crate) fn bool(b: &mut FunctionBuilder<'_>, value: Value) -> Self {
        Wide {
            limbs: vec![truth(b, value)],
            ty: Ty::Bool,
        }
    }

    fn width(&self) -> u32 {
        self.ty.width()
    }

    /// The limb, zero beyond the last.
    fn limb(&self, b: &mut FunctionBuilder<'_>, index: usize) -> Value {
        match self.limbs.get(index) {
            Some(limb) => *limb,
            None => constant(b, 0),
        }
    }

    /// Clears what is above the width in the last limb.
    fn cut(mut self, b: &mut FunctionBuilder<'_>) -> Self {
        let width = self.width();
        let last = self.limbs.len() - 1;
        let top = if width == 0 {
            0
        } else {
            width - last as u32 * 64
        };
        self.limbs[last] = mask(b, self.limbs[last], top);
        self
    }

    fn map(
        &self,
        b: &mut FunctionBuilder<'_>,
        mut f: impl FnMut(&mut FunctionBuilder<'_>, Value) -> Value,
    ) -> Self {
        let limbs = self.limbs.iter().map(|limb| f(b, *limb)).collect();
        Wide { limbs, ty: self.ty }
    }

    fn zip(
        &self,
        other: &Wide,
        b: &mut FunctionBuilder<'_>,
        mut f: impl FnMut(&mut FunctionBuilder<'_>, Value, Value) -> Value,
    ) -> Self {
        let limbs = (0..self.limbs.len()).map(|index| {
            let other = other.limb(b, index);
            f(b, self.limbs[index], other)
        });
        Wide {
            limbs: limbs.collect(),
            ty: self.ty,
        }
    }

    pub(crate) fn and(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Self {
        self.zip(other, b, |b, x, y| b.ins().band(x, y))
    }

    pub(crate) fn or(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Self {
        self.zip(other, b, |b, x, y| b.ins().bor(x, y))
    }

    pub(crate) fn xor(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Self {
        self.zip(other, b, |b, x, y| b.ins().bxor(x, y))
    }

    pub(crate) fn complement(&self, b: &mut FunctionBuilder<'_>) -> Self {
        self.map(b, |b, x| b.ins().bnot(x)).cut(b)
    }

    pub(crate) fn negate(&self, b: &mut FunctionBuilder<'_>) -> Self {
        let zero = constant(b, 0);
        let zeros = self.map(b, |_, _| zero);
        zeros.subtract(self, b)
    }

    /// The sum, and what is carried out of the last whole limb.
    fn add_carry(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> (Self, Value) {
        let mut carry: Option<Value> = None;
        let sum = self.zip(other, b, |b, x, y| {
            let sum = b.ins().iadd(x, y);
            let over = b.ins().icmp(IntCC::UnsignedLessThan, sum, x);
            let over = truth(b, over);
            match carry {
                None => {
                    carry = Some(over);
                    sum
                }
                Some(before) => {
                    let all = b.ins().iadd(sum, before);
                    let again = b.ins().icmp(IntCC::UnsignedLessThan, all, sum);
                    let again = truth(b, again);
                    carry = Some(b.ins().bor(over, again));
                    all
                }
            }
        });
        // A value has a limb at least.
        let carry = carry.unwrap_or_else(|| constant(b, 0));
        (sum, carry)
    }

    /// The difference, and whether there was a borrow from beyond the last limb.
    fn subtract_borrow(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> (Self, Value) {
        let mut borrow: Option<Value> = None;
        let difference = self.zip(other, b, |b, x, y| {
            let difference = b.ins().isub(x, y);
            let under = b.ins().icmp(IntCC::UnsignedLessThan, x, y);
            let under = truth(b, under);
            match borrow {
                None => {
                    borrow = Some(under);
                    difference
                }
                Some(before) => {
                    let all = b.ins().isub(difference, before);
                    let again = b.ins().icmp(IntCC::UnsignedLessThan, difference, before);
                    let again = truth(b, again);
                    borrow = Some(b.ins().bor(under, again));
                    all
                }
            }
        });
        let borrow = borrow.unwrap_or_else(|| constant(b, 0));
        (difference, borrow)
    }

    pub(crate) fn add(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Self {
        self.add_carry(other, b).0.cut(b)
    }

    pub(crate) fn subtract(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Self {
        self.subtract_borrow(other, b).0.cut(b)
    }

    /// Of at most two limbs.
    pub(crate) fn multiply(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Self {
        let (x, y) = (self.limbs[0], other.limbs[0]);
        let mut limbs = vec![b.ins().imul(x, y)];
        if self.limbs.len() == 2 {
            let high = b.ins().umulhi(x, y);
            let other_high = other.limb(b, 1);
            let one = b.ins().imul(x, other_high);
            let two = b.ins().imul(self.limbs[1], y);
            let sum = b.ins().iadd(one, two);
            limbs.push(b.ins().iadd(high, sum));
        }
        Wide { limbs, ty: self.ty }.cut(b)
    }

    /// Of one limb; zero when the divisor is.
    pub(crate) fn divide(&self, other: &Wide, b: &mut FunctionBuilder<'_>, rest: bool) -> Self {
        let (x, y) = (self.limbs[0], other.limbs[0]);
        let zero = constant(b, 0);
        let one = constant(b, 1);
        let by_zero = b.ins().icmp(IntCC::Equal, y, zero);
        let divisor = b.ins().select(by_zero, one, y);
        let result = if rest {
            b.ins().urem(x, divisor)
        } else {
            b.ins().udiv(x, divisor)
        };
        Wide {
            limbs: vec![b.ins().select(by_zero, zero, result)],
            ty: self.ty,
        }
    }

    /// The sign as a limb of zeros or ones.
    fn sign(&self, b: &mut FunctionBuilder<'_>) -> Value {
        let width = self.width();
        if width == 0 {
            return constant(b, 0);
        }
        let top = self.limb(b, (width - 1) as usize / 64);
        let up = shl(b, top, 63 - (width - 1) % 64);
        let by = constant(b, 63);
        b.ins().sshr(up, by)
    }

    pub(crate) fn saturate(&self, other: &Wide, b: &mut FunctionBuilder<'_>, add: bool) -> Self {
        let width = self.width();
        if width == 0 {
            return self.clone();
        }
        let count = self.limbs.len();
        let top = width - (count as u32 - 1) * 64;
        if signed(self.ty) {
            // Beyond the range when both addends have one sign and the sum has the other.
            let sum = if add {
                self.add(other, b)
            } else {
                self.subtract(other, b)
            };
            let (x, y, z) = (self.sign(b), other.sign(b), sum.sign(b));
            let y = if add { y } else { b.ins().bnot(y) };
            let differ = b.ins().bxor(x, y);
            let same = b.ins().bnot(differ);
            let turned = b.ins().bxor(x, z);
            let over = b.ins().band(same, turned);
            // The largest: all ones but the sign bit; the smallest is its complement.
            let limit = (0..count).map(|index| {
                let largest = if index + 1 == count {
                    low(top - 1)
                } else {
                    u64::MAX
                };
                let largest = constant(b, largest);
                b.ins().bxor(largest, x)
            });
            let limit = Wide {
                limbs: limit.collect(),
                ty: self.ty,
            };
            let limit = limit.cut(b);
            return Wide::select(over, &limit, &sum, b);
        }
        if add {
            let (sum, carry) = self.add_carry(other, b);
            let over = if top == 64 {
                carry
            } else {
                shr(b, sum.limbs[count - 1], top)
            };
            let ones = self.map(b, |b, _| constant(b, u64::MAX)).cut(b);
            let sum = sum.cut(b);
            Wide::select(over, &ones, &sum, b)
        } else {
            let (difference, borrow) = self.subtract_borrow(other, b);
            let zeros = self.map(b, |b, _| constant(b, 0));
            Wide::select(borrow, &zeros, &difference, b)
        }
    }

    /// `yes` where the limb `condition` is not zero.
    pub(crate) fn select(
        condition: Value,
        yes: &Wide,
        no: &Wide,
        b: &mut FunctionBuilder<'_>,
    ) -> Self {
        yes.zip(no, b, |b, yes, no| b.ins().select(condition, yes, no))
    }

    /// Whether any bit is set, as a limb.
    pub(crate) fn any(&self, b: &mut FunctionBuilder<'_>) -> Value {
        let mut all = self.limbs[0];
        for limb in &self.limbs[1..] {
            all = b.ins().bor(all, *limb);
        }
        all
    }

    pub(crate) fn equal(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Value {
        if self.limbs.len() == 1 && other.limbs.len() == 1 {
            return b.ins().icmp(IntCC::Equal, self.limbs[0], other.limbs[0]);
        }
        let (long, short) = if self.limbs.len() >= other.limbs.len() {
            (self, other)
        } else {
            (other, self)
        };
        let difference = long.xor(short, b).any(b);
        let zero = constant(b, 0);
        b.ins().icmp(IntCC::Equal, difference, zero)
    }

    /// Whether `self` is less.
    pub(crate) fn less(&self, other: &Wide, b: &mut FunctionBuilder<'_>) -> Value {
        let (one, two) = if signed(self.ty) {
            // In two's complement with the sign turned round, order is that of unsigned numbers.
            (self.offset(b), other.offset(b))
        } else {
            (self.clone(), other.clone())
        };
        if one.limbs.len() == 1 {
            return b
                .ins()
                .icmp(IntCC::UnsignedLessThan, one.limbs[0], two.limbs[0]);
        }
        let (_, borrow) = one.subtract_borrow(&two, b);
        let zero = constant(b, 0);
        b.ins().icmp(IntCC::NotEqual, borrow, zero)
    }

    fn offset(&self, b: &mut FunctionBuilder<'_>) -> Self {
        let width = self.width();
        let mut turned = self.clone();
        if width > 0 {
            let sign = constant(b, 1 << ((width - 1) % 64));
            let last = turned.limbs.len() - 1;
            turned.limbs[last] = b.ins().bxor(turned.limbs[last], sign);
        }
        turned
    }

    /// To another type: cut, or extended by the sign if this one is signed.
    pub(crate) fn cast(&self, ty: Ty, b: &mut FunctionBuilder<'_>) -> Self {
        let (from, to) = (self.width(), ty.width());
        let count = limbs(to);
        if signed(self.ty) && to > from && from > 0 {
            let sign = self.sign(b);
            let last = (from - 1) as usize / 64;
            let used = from - last as u32 * 64;
            let values = (0..count).map(|index| {
                if index < last {
                    self.limbs[index]
                } else if index == last {
                    if used == 64 {
                        self.limbs[last]
                    } else {
                        let above = shl(b, sign, used);
                        b.ins().bor(self.limbs[last], above)
                    }
                } else {
                    sign
                }
            });
            let limbs = values.collect();
            return Wide { limbs, ty }.cut(b);
        }
        let values = (0..count).map(|index| self.limb(b, index)).collect();
        let out = Wide { limbs: values, ty };
        if to < from { out.cut(b) } else { out }
    }

    /// The same bits as of another type of this width.
    pub(crate) fn of_type(mut self, ty: Ty) -> Self {
        self.ty = ty;
        self
    }

    /// Bits `high` to `low`; beyond the width they are zero.
    pub(crate) fn slice(&self, high: u32, low: u32, b: &mut FunctionBuilder<'_>) -> Self {
        let width = high - low + 1;
        let (skip, by) = (low as usize / 64, low % 64);
        let values = (0..limbs(width)).map(|index| {
            let here = self.limb(b, skip + index);
            let here = shr(b, here, by);
            let more = by > 0 && (index as u32 * 64 + 64 - by) < width;
            if more && skip + index + 1 < self.limbs.len() {
                let above = shl(b, self.limbs[skip + index + 1], 64 - by);
                b.ins().bor(here, above)
            } else {
                here
            }
        });
        let limbs: Vec<_> = values.collect();
        let out = Wide {
            limbs,
            ty: Ty::Bits(width),
        };
        // Of a slice up to the top nothing stands above.
        if high + 1 >= self.width() {
            out
        } else {
            out.cut(b)
        }
    }

    /// Shifted up by a constant, in a width in which it fits.
    fn raise(&self, by: u32, ty: Ty, b: &mut FunctionBuilder<'_>) -> Self {
        let (skip, by) = (by as usize / 64, by % 64);
        let values = (0..limbs(ty.width())).map(|index| {
            let Some(index) = index.checked_sub(skip) else {
                return constant(b, 0);
            };
            let here = self.limb(b, index);
            let here = shl(b, here, by);
            if by > 0 && index > 0 {
                let below = self.limb(b, index - 1);
                let below = shr(b, below, 64 - by);
                b.ins().bor(here, below)
            } else {
                here
            }
        });
        Wide {
            limbs: values.collect(),
            ty,
        }
    }

    pub(crate) fn concat(&self, below: &Wide, b: &mut FunctionBuilder<'_>) -> Self {
        let width = self.width() + below.width();
        let ty = if signed(self.ty) {
            Ty::Signed(width)
        } else {
            Ty::Bits(width)
        };
        let above = self.raise(below.width(), ty, b);
        above.or(below, b)
    }

    /// With bits `high` to `low` replaced by `value`.
    pub(crate) fn insert(
        &self,
        high: u32,
        low: u32,
        value: &Wide,
        b: &mut FunctionBuilder<'_>,
    ) -> Self {
        let width = high - low + 1;
        let value = value.cast(Ty::Bits(width), b).raise(low, self.ty, b);
        let hole = (Bits::new(width, p4::value::mask(width)).unsigned().clone()) << low;
        let hole = Wide::constant(b, &Bits::new(self.width(), hole), self.ty);
        let kept = hole.map(b, |b, x| b.ins().bnot(x));
        let kept = self.and(&kept, b);
        kept.or(&value, b).cut(b)
    }

    /// Shifted by as many bits as the unsigned `by` says.
    pub(crate) fn shift(&self, by: &Wide, left: bool, b: &mut FunctionBuilder<'_>) -> Self {
        let width = self.width();
        let fill = if !left && signed(self.ty) {
            self.sign(b)
        } else {
            constant(b, 0)
        };
        // Whether all bits fall out.
        let limit = constant(b, u64::from(width));
        let mut beyond = b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, by.limbs[0], limit);
        if by.limbs.len() > 1 {
            let rest = Wide {
                limbs: by.limbs[1..].to_vec(),
                ty: by.ty,
            };
            let rest = rest.any(b);
            let zero = constant(b, 0);
            let rest = b.ins().icmp(IntCC::NotEqual, rest, zero);
            beyond = b.ins().bor(beyond, rest);
        }
        let count = self.limbs.len();
        // Signed values are extended to whole limbs first, so that the sign comes in from above.
        let source = if signed(self.ty) && !left && width > 0 {
            self.cast(Ty::Signed(count as u32 * 64), b)
        } else {
            self.clone()
        };
        let sixty_three = constant(b, 63);
        let small = b.ins().band(by.limbs[0], sixty_three);
        let six = constant(b, 6);
        let words = b.ins().ushr(by.limbs[0], six);
        let one = constant(b, 1);
        let complement = b.ins().bxor(small, sixty_three);
        let values: Vec<Value> = (0..count)
            .map(|index| {
                // The limb that comes here, and its neighbour, of which a part does.
                let pick = |b: &mut FunctionBuilder<'_>, extra: usize| {
                    let mut value = fill;
                    for by_words in 0..count {
                        let from = if left {
                            index.checked_sub(by_words + extra)
                        } else {
                            Some(index + by_words + extra).filter(|from| *from < count)
                        };
                        let Some(from) = from else { continue };
                        if count == 1 {
                            return source.limbs[from];
                        }
                        let wanted = constant(b, by_words as u64);
                        let this = b.ins().icmp(IntCC::Equal, words, wanted);
                        value = b.ins().select(this, source.limbs[from], value);
                    }
                    value
                };
                let near = pick(b, 0);
                let here = match (left, signed(self.ty)) {
                    (true, _) => b.ins().ishl(near, small),
                    (false, true) if count == 1 => b.ins().sshr(near, small),
                    (false, _) => b.ins().ushr(near, small),
                };
                if count == 1 {
                    return here;
                }
                let far = pick(b, 1);
                // By 64 less `small` in two steps, as a shift by 64 would be one by 0.
                let part = if left {
                    let half = b.ins().ushr(far, one);
                    b.ins().ushr(half, complement)
                } else {
                    let half = b.ins().ishl(far, one);
                    b.ins().ishl(half, complement)
                };
                b.ins().bor(here, part)
            })
            .collect();
        let shifted = Wide {
            limbs: values,
            ty: self.ty,
        };
        let beyond = truth(b, beyond);
        let fills = self.map(b, |_, _| fill);
        Wide::select(beyond, &fills, &shifted, b).cut(b)
    }
}
