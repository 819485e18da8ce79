//! Expressions of the intermediate representation as a P4 programmer would write them.

use super::text::number;
use alloc::format;
use alloc::string::String;
use p4::ir::{Binary, Expr, Program, Ty, Unary};

/// How deep expressions are shown.
const DEPTH: u32 = 16;

/// An expression as a P4 programmer would write it; what lies too deep is `...`.
pub(crate) fn expression(program: &Program, value: &Expr) -> String {
    show(program, value, DEPTH, false)
}

fn show(program: &Program, value: &Expr, depth: u32, nested: bool) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return String::from("...");
    };
    let inner = |value: &Expr| show(program, value, depth, true);
    match value {
        Expr::Constant(value, Ty::Bool) => format!("{}", value.is_true()),
        Expr::Constant(value, Ty::Signed(_)) => format!("{}", value.signed()),
        Expr::Constant(value, _) => number(value),
        Expr::Slot(slot) => {
            let name = &program.slots[slot.index()].name;
            match name.strip_suffix(".$valid") {
                Some(header) => format!("{header}.isValid()"),
                None => String::from(&**name),
            }
        }
        Expr::Element { slots, index } => {
            // `hdr.mpls[0].label` with another index is `hdr.mpls[i].label`.
            let name = slots
                .first()
                .map_or("", |slot| &program.slots[slot.index()].name);
            let index = inner(index);
            match name.split_once("[0]") {
                Some((before, behind)) => format!("{before}[{index}]{behind}"),
                None => format!("{name}[{index}]"),
            }
        }
        // What `!=` may become.
        Expr::Unary(Unary::Not, operand)
            if let Expr::Binary(Binary::Equal, left, right) = &**operand =>
        {
            let unequal = Expr::Binary(Binary::NotEqual, left.clone(), right.clone());
            show(program, &unequal, depth, nested)
        }
        Expr::Unary(operator, operand) => format!("{}{}", operator.symbol(), inner(operand)),
        Expr::Binary(operator, left, right) => {
            let logical = left.ty(&program.slots) == Ty::Bool;
            // A value with names is compared with a name.
            let (left_text, right_text) = match (&**left, &**right) {
                (Expr::Slot(slot), Expr::Constant(value, _)) => {
                    let enumeration = program.slots[slot.index()].enumeration;
                    let name = super::text::name_of(program, enumeration, value);
                    (inner(left), name.map_or_else(|| inner(right), String::from))
                }
                _ => (inner(left), inner(right)),
            };
            let text = format!("{left_text} {} {right_text}", sign(*operator, logical));
            if nested { format!("({text})") } else { text }
        }
        Expr::Slice { value, high, low } => format!("{}[{high}:{low}]", inner(value)),
        Expr::Cast { value, .. } => show(program, value, depth, nested),
        Expr::Conditional { condition, yes, no } => match (&**yes, &**no) {
            // What short-circuit operators become.
            (right, Expr::Constant(value, Ty::Bool)) if !value.is_true() => {
                let text = format!("{} && {}", inner(condition), inner(right));
                if nested { format!("({text})") } else { text }
            }
            (Expr::Constant(value, Ty::Bool), right) if value.is_true() => {
                let text = format!("{} || {}", inner(condition), inner(right));
                if nested { format!("({text})") } else { text }
            }
            _ => format!("({} ? {} : {})", inner(condition), inner(yes), inner(no)),
        },
        Expr::VarbitLength(slot) => {
            format!("{}.length", program.slots[slot.index()].name)
        }
    }
}

fn sign(operator: Binary, logical: bool) -> &'static str {
    match operator {
        Binary::And if logical => "&&",
        Binary::Or if logical => "||",
        other => other.symbol(),
    }
}
