//! Declarations.

use super::{Parsed, Reader, Told};
use crate::ast::{
    Annotation, CompositeKind, Control, Declaration, DeclarationKind, Direction, Expression, Field,
    Member, Method, Name, NodeId, Parameter, Parser, Prototype, SelectCase, State, StateRef,
    Transition, TypeExpression, TypeExpressionKind, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Symbol, Token, TokenKind};
use alloc::boxed::Box;
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
            let list = self.braced(open, "the abstract methods", |reader| {
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

    /// `header H<T> { fields }`
    fn composite(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
        let id = self.id();
        let (kind, what) = match self.keyword() {
            Some(Keyword::Header) => (CompositeKind::Header, "the header"),
            Some(Keyword::Struct) => (CompositeKind::Struct, "the struct"),
            _ => (CompositeKind::Union, "the header union"),
        };
        self.at += 1;
        let name = self.name(what)?;
        self.scopes.declare_type(&name.text);
        self.scopes.push();
        let type_parameters = self.type_parameters()?;
        let open = self.expect(Symbol::OpenBrace, &format!("before the fields of {what}"))?;
        let fields = self.braced(open, what, |reader| {
            let id = reader.id();
            let annotations = reader.annotations()?;
            let start = reader.here();
            let ty = reader.value_type()?;
            let name = reader.name("the field")?;
            let ty = reader.stack_sizes(start, ty)?;
            reader.semicolon("the field's name")?;
            Ok(Field {
                id,
                annotations,
                ty,
                name,
            })
        })?;
        self.scopes.pop();
        let kind = DeclarationKind::Composite {
            kind,
            name,
            type_parameters,
            fields,
        };
        Ok(self.declared(id, start, annotations, kind))
    }

    fn enumeration(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
        let id = self.id();
        self.at += 1;
        let underlying = if self.is_name(0) && self.look_is(1, Symbol::OpenBrace) {
            None
        } else if self.is_name(0) && !self.is_name(1) && !self.is_type(0) {
            self.name("the enum")?;
            return Err(self.expected("`{` before the members of the enum"));
        } else {
            Some(self.value_type()?)
        };
        let name = self.name("the enum")?;
        self.scopes.declare_type(&name.text);
        self.expect(Symbol::OpenBrace, "before the members of the enum")?;
        let members = self.members(underlying.is_some())?;
        let kind = DeclarationKind::Enum {
            name,
            underlying,
            members,
        };
        Ok(self.declared(id, start, annotations, kind))
    }

    /// `error { ... }`, `match_kind { ... }`
    fn members_only(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
        let id = self.id();
        let is_error = self.is_keyword(Keyword::Error);
        self.at += 2;
        let members = self.members(false)?;
        let kind = if is_error {
            DeclarationKind::Error { members }
        } else {
            DeclarationKind::MatchKind { members }
        };
        Ok(self.declared(id, start, annotations, kind))
    }

    /// Members up to the `}`, at least one, perhaps with a comma behind the last.
    fn members(&mut self, with_values: bool) -> Parsed<Vec<Member>> {
        let mut list = Vec::new();
        loop {
            let id = self.id();
            let annotations = self.annotations()?;
            let name = self.name("a member")?;
            let value = if with_values {
                self.expect(
                    Symbol::Assign,
                    "and a value after the member of an enum with a type",
                )?;
                Some(self.expression()?)
            } else {
                if self.is(Symbol::Assign) {
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        self.here(),
                        "a member has a value only in an enum with a type",
                    )
                    .help("write `enum bit<8> E { A = 1 }`");
                    return Err(self.fail(diagnostic));
                }
                None
            };
            list.push(Member {
                id,
                annotations,
                name,
                value,
            });
            if !self.take(Symbol::Comma) || self.is(Symbol::CloseBrace) {
                self.expect(Symbol::CloseBrace, "or `,` after the member")?;
                return Ok(list);
            }
        }
    }

    fn typedef(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        out: &mut Vec<Declaration>,
    ) -> Parsed<Declaration> {
        let id = self.id();
        self.at += 1;
        let type_start = self.here();
        let in_place = match self.keyword() {
            Some(Keyword::Header | Keyword::HeaderUnion | Keyword::Struct) => {
                Some(self.composite(type_start, Vec::new())?)
            }
            Some(Keyword::Enum) => Some(self.enumeration(type_start, Vec::new())?),
            _ => None,
        };
        let ty = match in_place {
            Some(declaration) => {
                let (DeclarationKind::Composite { name, .. } | DeclarationKind::Enum { name, .. }) =
                    &declaration.kind
                else {
                    return Err(Told);
                };
                let id = self.id();
                let ty = TypeExpression {
                    id,
                    span: name.span,
                    kind: TypeExpressionKind::Named {
                        name: name.clone(),
                        absolute: false,
                    },
                };
                out.push(declaration);
                ty
            }
            None => self.value_type()?,
        };
        let name = self.name("the typedef")?;
        let ty = self.stack_sizes(type_start, ty)?;
        self.semicolon("the name of the typedef")?;
        self.scopes.declare_type(&name.text);
        let kind = DeclarationKind::Typedef { ty, name };
        Ok(self.declared(id, start, annotations, kind))
    }

    fn new_type(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
        let id = self.id();
        self.at += 1;
        if matches!(
            self.keyword(),
            Some(Keyword::Header | Keyword::HeaderUnion | Keyword::Struct | Keyword::Enum)
        ) {
            let found = self.found();
            let diagnostic = Diagnostic::error(
                "syntax",
                self.here(),
                format!("`type` gives a new name to a type that is declared before, found {found}"),
            )
            .help("declare the type first, then write `type T New_t;`");
            return Err(self.fail(diagnostic));
        }
        let type_start = self.here();
        let ty = self.value_type()?;
        let name = self.name("the new type")?;
        let ty = self.stack_sizes(type_start, ty)?;
        self.semicolon("the name of the new type")?;
        self.scopes.declare_type(&name.text);
        let kind = DeclarationKind::NewType { ty, name };
        Ok(self.declared(id, start, annotations, kind))
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
        let methods = self.braced(open, "the extern", |reader| reader.method(&name))?;
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

    fn package(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
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

    fn constructor_parameters(&mut self) -> Parsed<Vec<Parameter>> {
        if self.is(Symbol::OpenParen) {
            self.parameters()
        } else {
            Ok(Vec::new())
        }
    }

    fn parser(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
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
        self.braced(open, "the parser", |reader| {
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

    fn parser_local(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
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
    fn local(
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

    fn state(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<State> {
        let id = self.id();
        self.at += 1;
        let name = self.name("the state")?;
        let open = self.expect(Symbol::OpenBrace, "after the state's name")?;
        self.scopes.push();
        let (mut statements, mut transition) = (Vec::new(), None);
        self.braced(open, "the state", |reader| {
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

    fn state_name(&mut self) -> Parsed<StateRef> {
        let id = self.id();
        let name = self.name("the next state")?;
        Ok(StateRef { id, name })
    }

    fn transition(&mut self) -> Parsed<Transition> {
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
        let cases = self.braced(open, "the cases of `select`", |reader| {
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

    fn control(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
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
        self.braced(open, "the control", |reader| {
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

    fn control_local(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Declaration> {
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
