//! Declarations.

mod blocks;
mod types;

use super::braces::Holds;
use super::{Parsed, Reader};
use crate::ast::{
    Annotation, Declaration, DeclarationKind, Direction, Method, Name, NodeId, Parameter,
    Prototype, TypeExpression, TypeExpressionKind, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Symbol, Token, TokenKind};
use alloc::format;
use alloc::vec::Vec;

/// A parser's or control's head.
struct Head {
    id: NodeId,
    name: Name,
    type_parameters: Vec<TypeParameter>,
    parameters: Vec<Parameter>,
}

impl Reader<'_, '_> {
    pub(super) fn program(&mut self) -> Vec<Declaration> {
        let mut list = Vec::new();
        while let Some(token) = self.peek() {
            if self.take(Symbol::Semicolon) {
                continue;
            }
            if token.is(Symbol::CloseBrace) {
                let diagnostic = Diagnostic::error("syntax", token.span, "this `}` closes nothing");
                self.fail(diagnostic);
                self.at += 1;
                continue;
            }
            let at = self.at;
            let mut found = Vec::new();
            self.recovering(|reader| reader.top_level(&mut found));
            list.append(&mut found);
            if self.at == at {
                self.at += 1;
            }
        }
        list
    }

    fn declared(
        &mut self,
        id: NodeId,
        start: Span,
        annotations: Vec<Annotation>,
        kind: DeclarationKind,
    ) -> Declaration {
        Declaration {
            id,
            span: start.to(self.before()),
            annotations,
            kind,
        }
    }

    /// One declaration; a `typedef` of a type declared in place gives two.
    fn top_level(&mut self, out: &mut Vec<Declaration>) -> Parsed<()> {
        let start = self.here();
        let annotations = self.annotations()?;
        let braces_follow = self.look_is(1, Symbol::OpenBrace);
        let one = match self.keyword() {
            Some(Keyword::Const) => self.constant(start, annotations)?,
            Some(Keyword::Extern) => match self.extern_declaration(start, annotations)? {
                Some(one) => one,
                None => return Ok(()),
            },
            Some(Keyword::Action) => self.action(start, annotations)?,
            Some(Keyword::Parser) => self.parser(start, annotations)?,
            Some(Keyword::Control) => self.control(start, annotations)?,
            Some(Keyword::Package) => self.package(start, annotations)?,
            Some(Keyword::Header | Keyword::HeaderUnion | Keyword::Struct) => {
                self.composite(start, annotations)?
            }
            Some(Keyword::Enum) => self.enumeration(start, annotations)?,
            Some(Keyword::Error | Keyword::MatchKind) if braces_follow => {
                self.members_only(start, annotations)?
            }
            Some(Keyword::Typedef) => self.typedef(start, annotations, out)?,
            Some(Keyword::Type) => self.new_type(start, annotations)?,
            Some(Keyword::Table | Keyword::State | Keyword::ValueSet | Keyword::Apply)
                if self.is_name(1) || braces_follow || self.is_keyword(Keyword::ValueSet) =>
            {
                let (what, inside) = match self.keyword() {
                    Some(Keyword::State | Keyword::ValueSet) => ("declared", "a parser"),
                    _ => ("declared", "a control"),
                };
                let found = self.found();
                let diagnostic = Diagnostic::error(
                    "syntax",
                    self.here(),
                    format!(
                        "{found} stands at the top of the program, and can be {what} only inside {inside}"
                    ),
                );
                return Err(self.fail(diagnostic));
            }
            _ if self.type_length(0).is_some() => self.typed(start, annotations)?,
            _ => return Err(self.expected("a declaration")),
        };
        out.push(one);
        Ok(())
    }

    /// What begins with a type at the top: an instance or a function.
    fn typed(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
        let length = self.type_length(0).unwrap_or(0);
        let named = self.is_name(length);
        let function = named
            && (self.look_is(length + 1, Symbol::OpenParen)
                || self.look_is(length + 1, Symbol::Less));
        if function {
            return self.function(start, annotations);
        }
        if self.look_is(length, Symbol::OpenParen) {
            return self.instance(start, annotations);
        }
        if named {
            let diagnostic = Diagnostic::error(
                "syntax",
                self.here(),
                "a variable cannot be declared at the top of the program",
            )
            .help("declare it inside a parser, control, action or function, or make it a `const`");
            self.fail(diagnostic);
            return self.variable(start, annotations, true);
        }
        self.at += length;
        Err(self.expected("a name or `(` after the type"))
    }

    /// `const T name = value;`
    pub(super) fn constant(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        let id = self.id();
        self.at += 1;
        let type_start = self.here();
        let ty = self.value_type()?;
        let name = self.name("the constant")?;
        let ty = self.stack_sizes(type_start, ty)?;
        self.expect(Symbol::Assign, "and a value after the constant's name")?;
        let value = self.expression()?;
        self.semicolon("the constant's value")?;
        self.scopes.declare_object(&name.text);
        let kind = DeclarationKind::Constant { ty, name, value };
        Ok(self.declared(id, start, annotations, kind))
    }

    /// `T name = value;`, and its `;` when it `ends`.
    pub(super) fn variable(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        ends: bool,
    ) -> Parsed<Declaration> {
        let id = self.id();
        let type_start = self.here();
        let ty = self.value_type()?;
        let name = self.name("the variable")?;
        let ty = self.stack_sizes(type_start, ty)?;
        let value = if self.take(Symbol::Assign) {
            Some(self.expression()?)
        } else {
            None
        };
        if ends {
            self.semicolon("the declaration of the variable")?;
        }
        self.scopes.declare_object(&name.text);
        let kind = DeclarationKind::Variable { ty, name, value };
        Ok(self.declared(id, start, annotations, kind))
    }

    /// `T(arguments) name;`
    pub(super) fn instance(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        let id = self.id();
        let type_start = self.here();
        let ty = self.value_type()?;
        let arguments = self.arguments()?;
        let name = self.name("the instance")?;
        let ty = self.stack_sizes(type_start, ty)?;
        let initializer = if self.take(Symbol::Assign) {
            let open = self.expect(
                Symbol::OpenBrace,
                "and abstract methods after the instance's name",
            )?;
            self.scopes.push();
            let list = self.braced(open, "the abstract methods", Holds::Other, |reader| {
                let start = reader.here();
                let annotations = reader.annotations()?;
                match reader.type_length(0) {
                    Some(length) if reader.look_is(length, Symbol::OpenParen) => {
                        reader.instance(start, annotations)
                    }
                    _ => reader.function(start, annotations),
                }
            })?;
            self.scopes.pop();
            Some(list)
        } else {
            None
        };
        self.semicolon("the instance's name")?;
        self.scopes.declare_object(&name.text);
        let kind = DeclarationKind::Instance {
            ty,
            arguments,
            name,
            initializer,
        };
        Ok(self.declared(id, start, annotations, kind))
    }

    /// `T f<X>(parameters)`; its scope is opened.
    fn prototype(&mut self) -> Parsed<Prototype> {
        let result = self.type_expression()?;
        let name = self.name("the function")?;
        self.scopes.declare_object(&name.text);
        self.scopes.push();
        let type_parameters = self.type_parameters()?;
        let parameters = self.parameters()?;
        Ok(Prototype {
            result,
            name,
            type_parameters,
            parameters,
        })
    }

    fn function(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
        let id = self.id();
        let prototype = self.prototype()?;
        if !self.is(Symbol::OpenBrace) && !self.is(Symbol::At) {
            return Err(self.expected("the function's body `{ ... }`"));
        }
        let body = self.block("the function")?;
        self.scopes.pop();
        let kind = DeclarationKind::Function { prototype, body };
        Ok(self.declared(id, start, annotations, kind))
    }

    pub(super) fn action(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
        let id = self.id();
        self.at += 1;
        let name = self.name("the action")?;
        self.scopes.declare_object(&name.text);
        self.scopes.push();
        let parameters = self.parameters()?;
        let body = self.block("the action")?;
        self.scopes.pop();
        let kind = DeclarationKind::Action {
            name,
            parameters,
            body,
        };
        Ok(self.declared(id, start, annotations, kind))
    }

    /// `(a, b)`
    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        self.expect(Symbol::OpenParen, "before the parameters")?;
        let mut list = Vec::new();
        if self.take(Symbol::CloseParen) {
            return Ok(list);
        }
        loop {
            let id = self.id();
            let annotations = self.annotations()?;
            let direction = match self.keyword() {
                Some(Keyword::In) => Direction::In,
                Some(Keyword::Out) => Direction::Out,
                Some(Keyword::InOut) => Direction::InOut,
                _ => Direction::None,
            };
            self.at += usize::from(direction != Direction::None);
            let start = self.here();
            let ty = self.value_type()?;
            let name = self.name("the parameter")?;
            let ty = self.stack_sizes(start, ty)?;
            let default = if self.take(Symbol::Assign) {
                Some(self.bracketed_expression()?)
            } else {
                None
            };
            self.scopes.declare_object(&name.text);
            list.push(Parameter {
                id,
                annotations,
                direction,
                ty,
                name,
                default,
            });
            if !self.take(Symbol::Comma) {
                self.expect(Symbol::CloseParen, "or `,` after the parameter")?;
                return Ok(list);
            }
        }
    }

    /// An extern function or object; `None` for `extern E;`, which only says that `E` is a type.
    fn extern_declaration(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Option<Declaration>> {
        self.at += 1;
        let is_object = self.is_name(0)
            && (self.look_is(1, Symbol::OpenBrace)
                || self.look_is(1, Symbol::Semicolon)
                || self
                    .type_arguments_length(1)
                    .is_some_and(|length| self.look_is(length + 1, Symbol::OpenBrace)));
        let id = self.id();
        if !is_object {
            let prototype = self.prototype()?;
            self.semicolon("the declaration of the function")?;
            self.scopes.pop();
            let kind = DeclarationKind::ExternFunction(prototype);
            return Ok(Some(self.declared(id, start, annotations, kind)));
        }
        let name = self.name("the extern")?;
        self.scopes.declare_type(&name.text);
        if self.take(Symbol::Semicolon) {
            return Ok(None);
        }
        self.scopes.push();
        let type_parameters = self.type_parameters()?;
        let open = self.expect(Symbol::OpenBrace, "before the methods of the extern")?;
        let methods = self.braced(open, "the extern", Holds::Other, |reader| {
            reader.method(&name)
        })?;
        self.scopes.pop();
        let kind = DeclarationKind::Extern {
            name,
            type_parameters,
            methods,
        };
        Ok(Some(self.declared(id, start, annotations, kind)))
    }

    fn method(&mut self, of: &Name) -> Parsed<Method> {
        let id = self.id();
        let start = self.here();
        let annotations = self.annotations()?;
        let is_abstract = self.take_keyword(Keyword::Abstract);
        let is_constructor = self.is_name(0) && self.look_is(1, Symbol::OpenParen);
        if self.is_name(0)
            && self.look_is(1, Symbol::Less)
            && self.peek().and_then(Token::name) == Some(&of.text)
            && self
                .type_arguments_length(1)
                .is_some_and(|length| self.look_is(length + 1, Symbol::OpenParen))
        {
            self.at += 1;
            let diagnostic = Diagnostic::error(
                "syntax",
                self.here(),
                "a constructor has no type parameters",
            )
            .help("it uses those of the extern");
            return Err(self.fail(diagnostic));
        }
        let prototype = if is_constructor {
            let name = self.name("the constructor")?;
            if name.text != of.text {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    name.span,
                    format!(
                        "`{}` has no result type, and a constructor of this extern is named `{}`",
                        name.text, of.text
                    ),
                )
                .help(
                    "write the result's type before the method's name, `void` when there is none",
                );
                return Err(self.fail(diagnostic));
            }
            let id = self.id();
            let result = TypeExpression {
                id,
                span: name.span,
                kind: TypeExpressionKind::Void,
            };
            self.scopes.push();
            let parameters = self.parameters()?;
            Prototype {
                result,
                name,
                type_parameters: Vec::new(),
                parameters,
            }
        } else {
            self.prototype()?
        };
        self.semicolon("the method")?;
        self.scopes.pop();
        Ok(Method {
            id,
            annotations,
            is_abstract,
            is_constructor,
            prototype,
            span: start.to(self.before()),
        })
    }

    /// `parser P<T>(parameters)`, whatever the keyword; the scope is opened.
    fn head(&mut self, what: &str) -> Parsed<Head> {
        let id = self.id();
        self.at += 1;
        let name = self.name(what)?;
        self.scopes.declare_type(&name.text);
        self.scopes.push();
        let type_parameters = self.type_parameters()?;
        let parameters = self.parameters()?;
        Ok(Head {
            id,
            name,
            type_parameters,
            parameters,
        })
    }

    /// Whether what begins here is a type with a name behind it.
    pub(super) fn is_declaration(&self) -> bool {
        let Some(length) = self.type_length(0) else {
            return false;
        };
        if self.is_name(length) {
            return true;
        }
        // `T(arguments) name`: an instance.
        self.look_is(length, Symbol::OpenParen)
            && self
                .closing(self.at + length, usize::MAX)
                .is_some_and(|close| {
                    matches!(
                        self.tokens.get(close + 1).map(|t| &t.kind),
                        Some(TokenKind::Name(_, keyword))
                            if keyword.is_none_or(Keyword::is_name)
                                && !self.tokens[close + 1].line_start
                    )
                })
    }
}
