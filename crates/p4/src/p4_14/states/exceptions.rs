//! Exceptions of parsers: what becomes of a packet behind one.

use super::super::build::{block, name};
use super::super::scope::Context;
use super::super::translate::Translator;
use super::super::tree::{Next, State, Step};
use super::Shared;
use crate::ast::{
    self, BinaryOperator, DeclarationKind, Expression, ExpressionKind, Member, Statement,
    StatementKind, Transition, TypeExpressionKind,
};
use crate::source::Span;
use alloc::vec;
use alloc::vec::Vec;

impl Translator<'_, '_> {
    /// For each parser exception an error, and a state that gives it.
    pub(super) fn exceptions(&mut self, shared: &mut Shared) {
        let tree = self.scope.tree;
        let mut members = Vec::new();
        for (n, exception) in tree.exceptions.iter().enumerate() {
            let text = &exception.name.text;
            if text.starts_with("p4_pe_") {
                continue;
            }
            let span = exception.name.span;
            members.push(Member {
                id: self.build.id(),
                annotations: Vec::new(),
                name: name(text.clone(), span),
                value: None,
            });
            let no = self.build.boolean(false, span);
            let error = self.error_value(text, span);
            let call = self.build.function("verify", vec![no, error], span);
            let call = self.build.call_statement(call);
            let state = ast::State {
                id: self.build.id(),
                annotations: Vec::new(),
                name: name(self.names.exceptions[n].clone(), span),
                statements: vec![call],
                transition: Some(Transition::Direct(
                    self.state_ref(&exception.name, "accept".into()),
                )),
                span: exception.span,
            };
            shared.states.push(state);
        }
        if !members.is_empty() {
            let span = tree.exceptions[0].span;
            let declaration =
                self.build
                    .declaration(span, Vec::new(), DeclarationKind::Error { members });
            self.out.push(declaration);
        }
    }

    /// `error.NAME`
    pub(super) fn error_value(&mut self, text: &str, span: Span) -> Expression {
        let errors = self.build.ty(span, TypeExpressionKind::Error);
        let errors = self.build.expression(span, ExpressionKind::Type(errors));
        self.build.member(errors, text, span)
    }

    /// What exceptions do, which v1model leaves to the beginning of ingress: it goes there after every error.
    pub fn handlers(&mut self) -> Vec<Statement> {
        let tree = self.scope.tree;
        let mut named: Vec<&'static str> = Vec::new();
        let mut handlers: Vec<Statement> = Vec::new();
        let mut default = None;
        for exception in &tree.exceptions {
            let span = exception.name.span;
            let text = &*exception.name.text;
            let error = match text {
                "p4_pe_default" => {
                    default = Some(exception);
                    continue;
                }
                "p4_pe_checksum" => {
                    let condition = self.checksum_error(span);
                    let handler = self.handler(exception, condition);
                    handlers.push(handler);
                    continue;
                }
                "p4_pe_out_of_packet" => "PacketTooShort",
                "p4_pe_index_out_of_bounds" => "StackOutOfBounds",
                "p4_pe_header_too_long" | "p4_pe_header_too_short" => "HeaderTooShort",
                "p4_pe_unhandled_select" => "NoMatch",
                _ => "",
            };
            if !error.is_empty() {
                named.push(error);
            }
            let is = self.parser_error(span);
            let error = self.error_value(if error.is_empty() { text } else { error }, span);
            let condition = self.build.binary(BinaryOperator::Equal, is, error);
            let handler = self.handler(exception, condition);
            handlers.push(handler);
        }
        if let Some(exception) = default {
            let span = exception.name.span;
            let none = ["NoError"];
            let mut condition = None;
            for error in none.iter().chain(&named) {
                let is = self.parser_error(span);
                let error = self.error_value(error, span);
                let part = self.build.binary(BinaryOperator::NotEqual, is, error);
                condition = Some(match condition {
                    Some(before) => self.build.binary(BinaryOperator::And, before, part),
                    None => part,
                });
            }
            if let Some(condition) = condition {
                let handler = self.handler(exception, condition);
                handlers.push(handler);
            }
        }
        handlers
    }

    pub(super) fn parser_error(&mut self, span: Span) -> Expression {
        let standard = self.build.path("standard_metadata", span);
        self.build.member(standard, "parser_error", span)
    }

    pub(super) fn checksum_error(&mut self, span: Span) -> Expression {
        let standard = self.build.path("standard_metadata", span);
        let error = self.build.member(standard, "checksum_error", span);
        let one = self.build.sized(&1.into(), 1, false, span);
        self.build.binary(BinaryOperator::Equal, error, one)
    }

    pub(super) fn handler(&mut self, exception: &State, condition: Expression) -> Statement {
        let span = exception.name.span;
        let mut statements = Vec::new();
        for step in &exception.steps {
            match step {
                Step::Set {
                    target,
                    value,
                    span,
                } => {
                    let context = Context::default();
                    let ty = self.ty(target, context);
                    let value = self.value(value, ty, context);
                    let (target, _) = self.natural(target, ty, context);
                    let assign = self.build.assign(target, value, *span);
                    statements.push(assign);
                }
                Step::Extract { span, .. } => {
                    self.error("extract", *span, "a parser exception extracts nothing");
                }
            }
        }
        match &exception.next {
            Some(Next::Goto(at)) if self.scope.controls.contains_key(&at.text) => {}
            None | Some(Next::Drop(_)) => {
                let standard = self.build.path("standard_metadata", span);
                let call = self.build.function("mark_to_drop", vec![standard], span);
                let call = self.build.call_statement(call);
                statements.push(call);
                let exit = self.build.statement(span, StatementKind::Exit);
                statements.push(exit);
            }
            Some(_) => self.error(
                "exception",
                exception.span,
                "a parser exception ends with `parser_drop` or returns to a control function",
            ),
        }
        let yes = self
            .build
            .statement(span, StatementKind::Block(block(statements, span)));
        self.build.if_else(condition, yes, None, exception.span)
    }
}
