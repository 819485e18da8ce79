//! The widths of actions' parameters, which P4_14 does not write down: they follow from what the parameters are used for.

use super::expressions::{is_comparison, is_logical, wider};
use super::scope::{Context, Parameter, Ty, constant};
use super::translate::Translator;
use super::tree::{Expr, ExprKind, Primitive};
use crate::ast::BinaryOperator;
use crate::diagnostic::Diagnostic;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use num_traits::ToPrimitive;

/// What is known of a primitive: how many operands, those it writes, and those of one type.
pub(super) struct Signature {
    pub least: usize,
    pub most: usize,
    pub written: u8,
    pub same: u8,
}

/// The primitive actions of specification 9.1, and those that switches added.
pub(super) fn signature(name: &str) -> Option<Signature> {
    let (least, most, written, same) = match name {
        "add" | "bit_and" | "bit_andca" | "bit_andcb" | "bit_nand" | "bit_nor" | "bit_or"
        | "bit_orca" | "bit_orcb" | "bit_xnor" | "bit_xor" | "max" | "min" | "subtract" => {
            (3, 3, 1, 7)
        }
        "add_to_field" | "bit_not" | "copy_header" | "set_metadata" | "subtract_from_field" => {
            (2, 2, 1, 3)
        }
        "add_header" | "remove_header" => (1, 1, 1, 0),
        "clone_egress_pkt_to_egress"
        | "clone_ingress_pkt_to_egress"
        | "clone_e2e"
        | "clone_i2e" => (1, 2, 0, 0),
        "count" => (2, 2, 0, 0),
        "drop" | "mark_for_drop" | "no_op" | "exit" => (0, 0, 0, 0),
        "execute_meter" => (3, 4, 4, 0),
        "funnel_shift_right" | "modify_field_with_shift" => (4, 4, 1, 0),
        "generate_digest" => (2, 2, 0, 0),
        "modify_field" => (2, 3, 1, 7),
        "modify_field_conditionally" => (3, 3, 1, 5),
        "modify_field_from_rng" => (2, 3, 1, 5),
        "modify_field_rng_uniform" => (3, 3, 1, 5),
        "modify_field_with_hash_based_offset" => (4, 4, 1, 0),
        "pop" | "push" => (1, 2, 1, 0),
        "recirculate" | "resubmit" => (0, 1, 0, 0),
        "register_read" => (3, 3, 1, 0),
        "register_write" => (3, 3, 0, 0),
        "shift_left" | "shift_right" => (3, 3, 1, 0),
        "truncate" => (1, 1, 0, 0),
        _ => return None,
    };
    Some(Signature {
        least,
        most,
        written,
        same,
    })
}

impl Translator<'_, '_> {
    /// Finds the types of all parameters of all actions: from each use again and again, until nothing changes.
    pub fn infer(&mut self) {
        let tree = self.scope.tree;
        self.parameters = tree
            .actions
            .iter()
            .map(|action| {
                let unknown = Parameter {
                    ty: Ty::Unknown,
                    written: false,
                    output: "".into(),
                };
                vec![unknown; action.parameters.len()]
            })
            .collect();
        // A type only becomes wider, and only along calls.
        for _ in 0..tree.actions.len() + 2 {
            let mut changed = false;
            for (n, action) in tree.actions.iter().enumerate() {
                for primitive in &action.body {
                    changed |= self.uses(n, primitive);
                }
            }
            if !changed {
                break;
            }
        }
        for (n, action) in tree.actions.iter().enumerate() {
            let mut seen = BTreeSet::new();
            for (p, name) in action.parameters.iter().enumerate() {
                if !seen.insert(name.text.clone()) {
                    let message = format!("there is another parameter `{}`", name.text);
                    self.diagnostics
                        .push(Diagnostic::error("duplicate", name.span, message));
                }
                let ty = &mut self.parameters[n][p].ty;
                if matches!(ty, Ty::Unknown | Ty::Int | Ty::Bool) {
                    let reported = *ty != Ty::Bool;
                    *ty = match ty {
                        Ty::Bool => Ty::Bits(1, false),
                        _ => Ty::Bits(8, false),
                    };
                    if reported {
                        let message = format!(
                            "the width of `{}` is not known, so it gets 8 bits",
                            name.text
                        );
                        self.diagnostics.push(Diagnostic::warning(
                            "unknown-width",
                            name.span,
                            message,
                        ));
                    }
                }
            }
        }
    }

    /// The parameters of an action as expressions see them.
    pub fn visible(&self, action: usize) -> Vec<(Arc<str>, Ty, Arc<str>)> {
        let names = &self.scope.tree.actions[action].parameters;
        names
            .iter()
            .zip(&self.parameters[action])
            .map(|(name, p)| (name.text.clone(), p.ty, p.output.clone()))
            .collect()
    }

    fn uses(&mut self, action: usize, primitive: &Primitive) -> bool {
        let visible = self.visible(action);
        let context = Context {
            parameters: &visible,
            ..Context::default()
        };
        let mut changed = false;
        let callee = self.scope.actions.get(&primitive.name.text).copied();
        let signature = signature(&primitive.name.text);
        for (n, operand) in primitive.arguments.iter().enumerate() {
            let mut written = false;
            let ty = match (&signature, callee) {
                _ if primitive.object.is_some() => Ty::Unknown,
                (Some(signature), _) => {
                    written = n < 8 && signature.written >> n & 1 == 1;
                    self.expected(signature, primitive, n, context)
                }
                (None, Some(callee)) => {
                    let given = self.ty(operand, context);
                    match self.parameters[callee].get_mut(n) {
                        Some(parameter) => {
                            let wide = wider(parameter.ty, given);
                            changed |= wide != parameter.ty;
                            parameter.ty = wide;
                            written = parameter.written;
                            wide
                        }
                        None => Ty::Unknown,
                    }
                }
                _ => Ty::Unknown,
            };
            changed |= self.used_as(action, operand, ty, written, context);
        }
        changed
    }

    /// The type that a primitive gives to an operand.
    pub fn expected(
        &self,
        signature: &Signature,
        primitive: &Primitive,
        n: usize,
        context: Context<'_>,
    ) -> Ty {
        if n < 8 && signature.same >> n & 1 == 1 {
            return primitive
                .arguments
                .iter()
                .enumerate()
                .filter(|(i, _)| signature.same >> i & 1 == 1)
                .map(|(_, operand)| self.ty(operand, context))
                .find(|ty| !matches!(ty, Ty::Unknown | Ty::Int))
                .unwrap_or(Ty::Unknown);
        }
        let index_of = |n: usize| match primitive.arguments.get(n) {
            Some(object) => Ty::Bits(self.index_width(object), false),
            None => Ty::Unknown,
        };
        match (&*primitive.name.text, n) {
            (
                "truncate"
                | "clone_ingress_pkt_to_egress"
                | "clone_i2e"
                | "clone_egress_pkt_to_egress"
                | "clone_e2e",
                0,
            ) => Ty::Bits(32, false),
            ("count" | "execute_meter", 1) => index_of(0),
            ("register_read", 2) => index_of(1),
            ("register_write", 1) => index_of(0),
            ("register_read", 0) => self.cell(primitive.arguments.get(1)),
            ("register_write", 2) => self.cell(primitive.arguments.first()),
            ("modify_field_conditionally", 1) => Ty::Bits(1, false),
            ("shift_left" | "shift_right", 1) => match primitive.arguments.first() {
                Some(target) => self.ty(target, context),
                None => Ty::Unknown,
            },
            _ => Ty::Unknown,
        }
    }

    /// The type of a register's cells.
    fn cell(&self, register: Option<&Expr>) -> Ty {
        let Some(ExprKind::Name(name)) = register.map(|r| &r.kind) else {
            return Ty::Unknown;
        };
        match self.scope.registers.get(name) {
            Some(n) => self.register_ty(*n),
            None => Ty::Unknown,
        }
    }

    /// How many bits the index of a counter, meter or register needs.
    fn index_width(&self, object: &Expr) -> u32 {
        let ExprKind::Name(name) = &object.kind else {
            return 32;
        };
        let (scope, tree) = (&self.scope, self.scope.tree);
        let found = scope.counters.get(name).map(|n| &tree.counters[*n]);
        let found = found.or_else(|| scope.meters.get(name).map(|n| &tree.meters[*n]));
        let found = found.or_else(|| scope.registers.get(name).map(|n| &tree.registers[*n]));
        let count = found.and_then(|f| f.count.as_ref()).and_then(constant);
        match count.and_then(|c| c.to_u32()) {
            Some(count @ 2..) => 32 - (count - 1).leading_zeros(),
            _ => 32,
        }
    }

    /// Takes down for each parameter in an expression that the expression is used as this type.
    fn used_as(
        &mut self,
        action: usize,
        expr: &Expr,
        ty: Ty,
        written: bool,
        context: Context<'_>,
    ) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => {
                let names = &self.scope.tree.actions[action].parameters;
                let Some(n) = names.iter().position(|p| p.text == *name) else {
                    return false;
                };
                let parameter = &mut self.parameters[action][n];
                let wide = match ty {
                    Ty::Int => parameter.ty,
                    _ => wider(parameter.ty, ty),
                };
                let changed = wide != parameter.ty || (written && !parameter.written);
                parameter.ty = wide;
                parameter.written |= written;
                changed
            }
            ExprKind::Unary(_, operand) => self.used_as(action, operand, ty, false, context),
            ExprKind::Binary(operator, left, right) => {
                if is_logical(*operator) {
                    let a = self.used_as(action, left, Ty::Bool, false, context);
                    return self.used_as(action, right, Ty::Bool, false, context) || a;
                }
                let common = wider(self.ty(left, context), self.ty(right, context));
                let common = match is_comparison(*operator) {
                    true => common,
                    false => wider(common, ty),
                };
                let shift = matches!(
                    operator,
                    BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight
                );
                let a = self.used_as(
                    action,
                    left,
                    if shift { ty } else { common },
                    false,
                    context,
                );
                let amount = if shift { Ty::Unknown } else { common };
                self.used_as(action, right, amount, false, context) || a
            }
            _ => false,
        }
    }
}
