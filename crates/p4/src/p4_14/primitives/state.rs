//! Primitives on counters, meters and registers.

use super::super::scope::Context;
use super::super::scope::Ty;
use super::super::translate::{Translator, field_name};
use super::super::tree::{Expr, ExprKind, Primitive};
use crate::ast::{Expression, ExpressionKind, Statement, StatementKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

impl Translator<'_, '_> {
    pub(super) fn stateful_call(
        &mut self,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let text = &*primitive.name.text;
        let position = usize::from(text == "register_read");
        let object = &a[position];
        let ExprKind::Name(object_name) = &object.kind else {
            return self.error(
                "unknown-name",
                object.span,
                "the name of a counter, meter or register is needed here",
            );
        };
        let tree = self.scope.tree;
        let found = match text {
            "count" => self
                .scope
                .counters
                .get(object_name)
                .map(|n| (&tree.counters[*n], self.names.counters[*n].clone(), *n)),
            "execute_meter" => self
                .scope
                .meters
                .get(object_name)
                .map(|n| (&tree.meters[*n], self.names.meters[*n].clone(), *n)),
            _ => self
                .scope
                .registers
                .get(object_name)
                .map(|n| (&tree.registers[*n], self.names.registers[*n].clone(), *n)),
        };
        let Some((declaration, output, n)) = found else {
            let (kind, all) = match text {
                "count" => ("counter", &tree.counters),
                "execute_meter" => ("meter", &tree.meters),
                _ => ("register", &tree.registers),
            };
            let message = format!("there is no {kind} `{object_name}`");
            let error = Diagnostic::error("unknown-name", object.span, message);
            let names = all.iter().map(|object| format!("`{}`", object.name.text));
            let names: Vec<_> = names.collect();
            let error = match names.is_empty() {
                true => error,
                false => error.help(format!("the program has {kind}s {}", names.join(", "))),
            };
            return self.diagnostics.push(error);
        };
        if declaration.direct.is_some() {
            let message = format!(
                "`{object_name}` belongs to a table's entries: no action can name one of its cells"
            );
            return self.error("direct", object.span, message);
        }
        let index = match text {
            "register_read" => &a[2],
            _ => &a[1],
        };
        let index = self.value(index, Ty::Bits(32, false), context);
        let object = self.build.path(output, object.span);
        match text {
            "count" => {
                let call = self.build.method(object, "count", vec![index], span);
                let call = self.build.call_statement(call);
                out.push(call);
            }
            "execute_meter" => {
                let ty = self.ty(&a[2], context);
                let (target, _) = self.natural(&a[2], ty, context);
                let call = self
                    .build
                    .method(object, "execute_meter", vec![index, target], span);
                let call = self.build.call_statement(call);
                out.push(call);
            }
            "register_read" => self.register_read(object, n, index, &a[0], span, context, out),
            _ => {
                let ty = self.register_ty(n);
                match ty {
                    Ty::Metadata(shape) => {
                        self.register_write(object, shape, index, &a[2], span, context, out)
                    }
                    _ => {
                        let value = self.value(&a[2], ty, context);
                        let call = self.build.method(object, "write", vec![index, value], span);
                        let call = self.build.call_statement(call);
                        out.push(call);
                    }
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn register_read(
        &mut self,
        object: Expression,
        register: usize,
        index: Expression,
        target: &Expr,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let cell = self.register_ty(register);
        let ty = self.ty(target, context);
        if ty == cell && matches!(ty, Ty::Bits(..)) {
            let (target, _) = self.natural(target, ty, context);
            let call = self.build.method(object, "read", vec![target, index], span);
            let call = self.build.call_statement(call);
            out.push(call);
            return;
        }
        // Another width, or a structure: through a variable of the cell's type.
        let variable = self.given.unique("tmp");
        let variable_ty = match cell {
            Ty::Metadata(shape) => {
                let name = self
                    .layouts
                    .get(&shape)
                    .cloned()
                    .unwrap_or_else(|| "metadata".into());
                self.build.named(name, span)
            }
            cell => self.type_of(cell, span),
        };
        let mut statements = Vec::new();
        let declaration = self.build.variable(variable_ty, variable.clone(), span);
        let declaration = self
            .build
            .statement(span, StatementKind::Declaration(Box::new(declaration)));
        statements.push(declaration);
        let into = self.build.path(variable.clone(), span);
        let call = self.build.method(object, "read", vec![into, index], span);
        let call = self.build.call_statement(call);
        statements.push(call);
        match (cell, ty) {
            (Ty::Metadata(shape), Ty::Metadata(to) | Ty::Header(to)) if shape == to => {
                for n in 0..self.scope.shapes[shape].fields.len() {
                    let text = field_name(&self.scope.shapes[shape].fields[n].name.text);
                    let base = self.build.path(variable.clone(), span);
                    let value = self.build.member(base, text.clone(), span);
                    let (base, _) = self.reference(target, context);
                    let field = self.build.member(base, text, span);
                    let assign = self.build.assign(field, value, span);
                    statements.push(assign);
                }
            }
            (Ty::Bits(..), Ty::Bits(..)) => {
                let value = self.build.path(variable, span);
                let value = self.convert(value, cell, ty);
                self.assign(target, value, span, context, &mut statements);
            }
            _ => {
                let message = format!("the register's cells do not fit into {}", self.describe(ty));
                return self.error("type", target.span, message);
            }
        }
        let block = self.build.block_statement(statements, span);
        out.push(block);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn register_write(
        &mut self,
        object: Expression,
        shape: usize,
        index: Expression,
        value: &Expr,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(value, context);
        if ty != Ty::Metadata(shape) && ty != Ty::Header(shape) {
            let message = format!(
                "the register's cells are structures; {} does not fit",
                self.describe(ty)
            );
            return self.error("type", value.span, message);
        }
        let mut fields = Vec::new();
        for n in 0..self.scope.shapes[shape].fields.len() {
            let text = field_name(&self.scope.shapes[shape].fields[n].name.text);
            let (base, _) = self.reference(value, context);
            let field = self.build.member(base, text.clone(), span);
            fields.push((super::super::build::name(text, span), field));
        }
        let kind = ExpressionKind::Struct {
            fields,
            dots: false,
        };
        let value = self.build.expression(span, kind);
        let call = self.build.method(object, "write", vec![index, value], span);
        let call = self.build.call_statement(call);
        out.push(call);
    }
}
