//! Packages, parsers and controls.

use super::super::braces::Holds;
use super::super::{Parsed, Reader};
use crate::ast::{
    Annotation, Control, Declaration, DeclarationKind, Expression, Parameter, Parser, SelectCase,
    State, StateRef, Transition,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Symbol, Token};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

impl Reader<'_, '_> {
    pub(super) fn package(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        let head = self.head("the package")?;
        self.semicolon("the package")?;
        self.scopes.pop();
        let kind = DeclarationKind::PackageType {
            name: head.name,
            type_parameters: head.type_parameters,
            parameters: head.parameters,
        };
        Ok(self.declared(head.id, start, annotations, kind))
    }

    pub(super) fn constructor_parameters(&mut self) -> Parsed<Vec<Parameter>> {
        if self.is(Symbol::OpenParen) {
            self.parameters()
        } else {
            Ok(Vec::new())
        }
    }

    pub(super) fn parser(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        let head = self.head("the parser")?;
        if self.take(Symbol::Semicolon) {
            self.scopes.pop();
            let kind = DeclarationKind::ParserType {
                name: head.name,
                type_parameters: head.type_parameters,
                parameters: head.parameters,
            };
            return Ok(self.declared(head.id, start, annotations, kind));
        }
        let constructor_parameters = self.constructor_parameters()?;
        let open = self.expect(Symbol::OpenBrace, "or `;` after the parser's parameters")?;
        let (mut locals, mut states) = (Vec::new(), Vec::new());
        self.braced(open, "the parser", Holds::Parser, |reader| {
            let start = reader.here();
            let annotations = reader.annotations()?;
            if reader.is_keyword(Keyword::State) && reader.is_name(1) {
                states.push(reader.state(start, annotations)?);
                return Ok(());
            }
            let place = reader.here();
            locals.push(reader.parser_local(start, annotations)?);
            if !states.is_empty() {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    place,
                    "the declarations of a parser stand before its first state",
                );
                reader.fail(diagnostic);
            }
            Ok(())
        })?;
        self.scopes.pop();
        let kind = DeclarationKind::Parser(Box::new(Parser {
            name: head.name,
            type_parameters: head.type_parameters,
            parameters: head.parameters,
            constructor_parameters,
            locals,
            states,
        }));
        Ok(self.declared(head.id, start, annotations, kind))
    }

    pub(super) fn parser_local(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        match self.keyword() {
            Some(Keyword::Const) => self.constant(start, annotations),
            Some(Keyword::ValueSet) => {
                let id = self.id();
                self.at += 1;
                self.expect(Symbol::Less, "and the type of the value set")?;
                let element = self.value_type()?;
                self.expect(Symbol::Greater, "after the type of the value set")?;
                self.expect(Symbol::OpenParen, "and the size of the value set")?;
                let size = self.bracketed_expression()?;
                self.expect(Symbol::CloseParen, "after the size of the value set")?;
                let name = self.name("the value set")?;
                self.semicolon("the name of the value set")?;
                self.scopes.declare_object(&name.text);
                let kind = DeclarationKind::ValueSet {
                    element,
                    size,
                    name,
                };
                Ok(self.declared(id, start, annotations, kind))
            }
            _ => self.local(
                start,
                annotations,
                "a state, or a constant, variable, value set or instance of the parser",
            ),
        }
    }

    /// A variable or an instance.
    pub(super) fn local(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        what: &str,
    ) -> Parsed<Declaration> {
        let Some(length) = self.type_length(0) else {
            return Err(self.expected(what));
        };
        if self.look_is(length, Symbol::OpenParen) {
            return self.instance(start, annotations);
        }
        if self.is_name(length) && self.look_is(length + 1, Symbol::OpenParen) {
            let diagnostic = Diagnostic::error(
                "syntax",
                self.here(),
                "a function cannot be declared inside a parser or control",
            )
            .help("declare it at the top of the program, or make it an action");
            return Err(self.fail(diagnostic));
        }
        if !self.is_name(length) && !self.is_type(0) {
            return Err(self.expected(what));
        }
        self.variable(start, annotations, true)
    }

    pub(super) fn state(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<State> {
        let id = self.id();
        self.at += 1;
        let name = self.name("the state")?;
        let open = self.expect(Symbol::OpenBrace, "after the state's name")?;
        self.scopes.push();
        let (mut statements, mut transition) = (Vec::new(), None);
        self.braced(open, "the state", Holds::Other, |reader| {
            if transition.is_some() {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    reader.here(),
                    format!(
                        "nothing can follow the transition of a state, found {}",
                        reader.found()
                    ),
                );
                return Err(reader.fail(diagnostic));
            }
            if reader.take_keyword(Keyword::Transition) {
                transition = Some(reader.transition()?);
            } else {
                statements.push(reader.parser_statement()?);
            }
            Ok(())
        })?;
        self.scopes.pop();
        Ok(State {
            id,
            annotations,
            name,
            statements,
            transition,
            span: start.to(self.before()),
        })
    }

    pub(super) fn state_name(&mut self) -> Parsed<StateRef> {
        let id = self.id();
        let name = self.name("the next state")?;
        Ok(StateRef { id, name })
    }

    pub(super) fn transition(&mut self) -> Parsed<Transition> {
        let start = self.here();
        if !self.take_keyword(Keyword::Select) {
            let next = self.state_name()?;
            self.semicolon("the next state")?;
            return Ok(Transition::Direct(next));
        }
        let id = self.id();
        self.expect(Symbol::OpenParen, "and what is selected by")?;
        let mut selectors: Vec<Expression> = Vec::new();
        while !self.is(Symbol::CloseParen) {
            selectors.push(self.bracketed_expression()?);
            if !self.take(Symbol::Comma) {
                break;
            }
        }
        self.expect(Symbol::CloseParen, "or `,` after what is selected by")?;
        let open = self.expect(Symbol::OpenBrace, "before the cases")?;
        let cases = self.braced(open, "the cases of `select`", Holds::Other, |reader| {
            let start = reader.here();
            let keyset = reader.keyset()?;
            reader.expect(Symbol::Colon, "and a state after the case's values")?;
            let next = reader.state_name()?;
            reader.semicolon("the case's state")?;
            Ok(SelectCase {
                keyset,
                next,
                span: start.to(reader.before()),
            })
        })?;
        Ok(Transition::Select {
            id,
            selectors,
            cases,
            span: start.to(self.before()),
        })
    }

    pub(super) fn control(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        let head = self.head("the control")?;
        if self.take(Symbol::Semicolon) {
            self.scopes.pop();
            let kind = DeclarationKind::ControlType {
                name: head.name,
                type_parameters: head.type_parameters,
                parameters: head.parameters,
            };
            return Ok(self.declared(head.id, start, annotations, kind));
        }
        let constructor_parameters = self.constructor_parameters()?;
        let open = self.expect(Symbol::OpenBrace, "or `;` after the control's parameters")?;
        let (mut locals, mut apply) = (Vec::new(), None);
        self.braced(open, "the control", Holds::Control, |reader| {
            let start = reader.here();
            if apply.is_some() {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    start,
                    format!(
                        "nothing can follow the `apply` block of a control, found {}",
                        reader.found()
                    ),
                );
                return Err(reader.fail(diagnostic));
            }
            let is_apply =
                |t: Option<&Token>| t.is_some_and(|t| t.is(Symbol::OpenBrace) || t.is(Symbol::At));
            if reader.is_keyword(Keyword::Apply) && is_apply(reader.look(1)) {
                reader.at += 1;
                apply = Some(reader.block("the `apply` block")?);
                return Ok(());
            }
            let annotations = reader.annotations()?;
            locals.push(reader.control_local(start, annotations)?);
            Ok(())
        })?;
        self.scopes.pop();
        let Some(apply) = apply else {
            let close = self.before();
            let diagnostic = Diagnostic::error(
                "syntax",
                close,
                format!("the control `{}` has no `apply` block", head.name.text),
            )
            .help("write `apply { }` as its last part");
            return Err(self.fail(diagnostic));
        };
        let kind = DeclarationKind::Control(Box::new(Control {
            name: head.name,
            type_parameters: head.type_parameters,
            parameters: head.parameters,
            constructor_parameters,
            locals,
            apply,
        }));
        Ok(self.declared(head.id, start, annotations, kind))
    }

    pub(super) fn control_local(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        match self.keyword() {
            Some(Keyword::Const) => self.constant(start, annotations),
            Some(Keyword::Action) => self.action(start, annotations),
            Some(Keyword::Table) => {
                let id = self.id();
                let table = self.table()?;
                let kind = DeclarationKind::Table(Box::new(table));
                Ok(self.declared(id, start, annotations, kind))
            }
            _ => self.local(
                start,
                annotations,
                "an action, table, constant, variable or instance, or the `apply` block",
            ),
        }
    }
}
