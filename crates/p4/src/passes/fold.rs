//! Works out what is known of expressions.

use super::uses::expressions_mut;
use crate::ir::*;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Runs the pass; says whether anything changed.
pub fn run(program: &mut Program) -> bool {
    let slots = core::mem::take(&mut program.slots);
    let mut changed = false;
    for body in super::bodies(program) {
        for block in &mut body.blocks {
            for statement in &mut block.statements {
                changed |=
                    statement_values(&mut statement.kind, &mut |value| simplify(value, &slots));
            }
            for value in expressions_mut(&mut block.terminator) {
                changed |= simplify(value, &slots);
            }
        }
    }
    for key in program.tables.iter_mut().flat_map(|table| &mut table.keys) {
        changed |= simplify(&mut key.value, &slots);
    }
    program.slots = slots;
    changed
}

/// Those expressions of a statement that can be replaced by others of the same value. Arguments of externs stay as they are: some name slots.
pub(super) fn statement_values(
    kind: &mut StatementKind,
    change: &mut impl FnMut(&mut Expr) -> bool,
) -> bool {
    match kind {
        StatementKind::Assign { target, value } => {
            let mut changed = change(value);
            if let LValue::Element { index, .. } = target {
                changed |= change(index);
            }
            changed
        }
        StatementKind::Extract {
            size: Some(value), ..
        }
        | StatementKind::ExtractNext {
            size: Some(value), ..
        }
        | StatementKind::Advance { bits: value }
        | StatementKind::EmitValue { value } => change(value),
        _ => false,
    }
}

/// Simplifies an expression from its leaves up; says whether it changed.
pub(super) fn simplify(value: &mut Expr, slots: &[Slot]) -> bool {
    let mut changed = match value {
        Expr::Constant(..) | Expr::Slot(_) | Expr::VarbitLength(_) => return false,
        Expr::Element { index, .. } => simplify(index, slots),
        Expr::Unary(_, inner) => simplify(inner, slots),
        Expr::Slice { value: inner, .. } | Expr::Cast { value: inner, .. } => {
            simplify(inner, slots)
        }
        Expr::Binary(_, left, right) => simplify(left, slots) | simplify(right, slots),
        Expr::Conditional { condition, yes, no } => {
            simplify(condition, slots) | simplify(yes, slots) | simplify(no, slots)
        }
    };
    if let Some(simpler) = simpler(value, slots) {
        *value = simpler;
        changed = true;
    }
    changed
}

fn constant(value: &Expr) -> Option<&crate::value::Bits> {
    match value {
        // A varbit's constant has a width of its own.
        Expr::Constant(bits, ty) if bits.width() == ty.width() => Some(bits),
        _ => None,
    }
}

fn take(value: &mut Box<Expr>) -> Expr {
    let nothing = Expr::Constant(crate::value::Bits::zero(0), Ty::Bits(0));
    core::mem::replace(&mut **value, nothing)
}

fn simpler(value: &mut Expr, slots: &[Slot]) -> Option<Expr> {
    match value {
        Expr::Element { slots: list, index } => {
            constant(index)?;
            let ty = slots.get(list.first()?.index())?.ty;
            if matches!(ty, Ty::Varbit(_)) {
                return None;
            }
            let list: Vec<SlotId> = core::mem::take(list);
            Some(fold::element(list, take(index), ty))
        }
        Expr::Unary(operator, inner) => {
            if let (Unary::Not, Expr::Unary(Unary::Not, twice)) = (*operator, &mut **inner) {
                return Some(take(twice));
            }
            constant(inner)?;
            let ty = inner.ty(slots);
            Some(fold::unary(*operator, take(inner), ty))
        }
        Expr::Binary(operator, left, right) => {
            let (ty, right_ty) = (left.ty(slots), right.ty(slots));
            let known = (constant(left).is_some(), constant(right).is_some());
            if known == (true, true) {
                return Some(fold::binary(
                    *operator,
                    take(left),
                    take(right),
                    ty,
                    right_ty,
                ));
            }
            neutral(*operator, left, right, ty)
        }
        Expr::Slice {
            value: inner,
            high,
            low,
        } => {
            let ty = inner.ty(slots);
            let whole = *low == 0 && *high + 1 == ty.width() && matches!(ty, Ty::Bits(_));
            if whole {
                return Some(take(inner));
            }
            (constant(inner).is_some() || matches!(**inner, Expr::Slice { .. }))
                .then(|| fold::slice(take(inner), ty.width(), *high, *low))
        }
        Expr::Cast { value: inner, ty } => {
            let from = inner.ty(slots);
            if from == *ty {
                return Some(take(inner));
            }
            (constant(inner).is_some() && !matches!(ty, Ty::Varbit(_)))
                .then(|| fold::cast(take(inner), from, *ty))
        }
        Expr::Conditional { condition, yes, no } => {
            if let Some(known) = constant(condition) {
                return Some(if known.is_true() { take(yes) } else { take(no) });
            }
            (yes == no).then(|| take(yes))
        }
        _ => None,
    }
}

/// With zero, ones or itself on one side.
fn neutral(operator: Binary, left: &mut Box<Expr>, right: &mut Box<Expr>, ty: Ty) -> Option<Expr> {
    if matches!(ty, Ty::Varbit(_)) {
        return None;
    }
    let zero = |value: &Expr| constant(value).is_some_and(|bits| !bits.is_true());
    let ones = |value: &Expr| {
        constant(value).is_some_and(|bits| *bits.unsigned() == crate::value::mask(ty.width()))
    };
    match operator {
        Binary::Add | Binary::Or | Binary::Xor if zero(left) => Some(take(right)),
        Binary::Add | Binary::Subtract | Binary::Or | Binary::Xor if zero(right) => {
            Some(take(left))
        }
        Binary::ShiftLeft | Binary::ShiftRight if zero(right) => Some(take(left)),
        Binary::And if ones(left) => Some(take(right)),
        Binary::And if ones(right) => Some(take(left)),
        Binary::And | Binary::Multiply if zero(left) => Some(take(left)),
        Binary::And | Binary::Multiply if zero(right) => Some(take(right)),
        Binary::And | Binary::Or if left == right => Some(take(left)),
        Binary::Equal if left == right => Some(fold::boolean(true)),
        Binary::NotEqual if left == right => Some(fold::boolean(false)),
        _ => None,
    }
}
