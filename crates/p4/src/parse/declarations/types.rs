//! Headers, structs, enumerations and names of types.

use super::super::braces::Holds;
use super::super::{Parsed, Reader, Reported};
use crate::ast::{
    Annotation, CompositeKind, Declaration, DeclarationKind, Field, Member, TypeExpression,
    TypeExpressionKind,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Symbol};
use alloc::format;
use alloc::vec::Vec;

impl Reader<'_, '_> {
    /// `header H<T> { fields }`
    pub(super) fn composite(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
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
        let fields = self.braced(open, what, Holds::Other, |reader| {
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

    pub(super) fn enumeration(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
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
    pub(super) fn members_only(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
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
    pub(super) fn members(&mut self, with_values: bool) -> Parsed<Vec<Member>> {
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

    pub(super) fn typedef(
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
                    return Err(Reported);
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

    pub(super) fn new_type(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parsed<Declaration> {
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
}
