//! Tables.

use super::braces::Holds;
use super::{Parsed, Reader};
use crate::ast::{
    ActionReference, Entry, Expression, ExpressionKind, KeyElement, Table, TableProperty,
    TablePropertyKind,
};
use crate::diagnostic::Diagnostic;
use crate::token::{Keyword, Symbol, TokenKind};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

impl Reader<'_, '_> {
    /// `table t { properties }`
    pub(super) fn table(&mut self) -> Parsed<Table> {
        self.at += 1;
        let name = self.name("the table")?;
        self.scopes.declare_object(&name.text);
        let open = self.expect(Symbol::OpenBrace, "before the properties of the table")?;
        let properties = self.braced(open, "the table", Holds::Other, Self::table_property)?;
        Ok(Table { name, properties })
    }

    fn table_property(&mut self) -> Parsed<TableProperty> {
        let start = self.here();
        let annotations = self.annotations()?;
        let is_const = self.take_keyword(Keyword::Const);
        let keyword = self.keyword();
        let name = self.name("a property of the table")?;
        self.expect(Symbol::Assign, "after the property's name")?;
        let listed = matches!(
            keyword,
            Some(Keyword::Key | Keyword::Actions | Keyword::Entries)
        );
        let kind = if listed {
            if is_const && keyword != Some(Keyword::Entries) {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    name.span,
                    format!("the property `{}` cannot be `const`", name.text),
                );
                self.fail(diagnostic);
            }
            let open = self.expect(Symbol::OpenBrace, "before the property's elements")?;
            match keyword {
                Some(Keyword::Key) => TablePropertyKind::Key(self.braced(
                    open,
                    "the key",
                    Holds::PartOfTable,
                    Self::key_element,
                )?),
                Some(Keyword::Actions) => TablePropertyKind::Actions(self.braced(
                    open,
                    "the list of actions",
                    Holds::PartOfTable,
                    Self::action_reference,
                )?),
                _ => TablePropertyKind::Entries(self.braced(
                    open,
                    "the entries",
                    Holds::PartOfTable,
                    Self::entry,
                )?),
            }
        } else {
            let value = self.expression()?;
            self.semicolon("the property's value")?;
            TablePropertyKind::Other { name, value }
        };
        let span = start.to(self.before());
        if listed && self.is(Symbol::Semicolon) {
            let diagnostic = Diagnostic::error(
                "syntax",
                self.here(),
                "this `;` stands behind a list in braces",
            )
            .help("leave it out");
            self.fail(diagnostic);
            self.at += 1;
        }
        Ok(TableProperty {
            annotations,
            span,
            is_const,
            kind,
        })
    }

    fn key_element(&mut self) -> Parsed<KeyElement> {
        let id = self.id();
        let start = self.here();
        let expression = self.bracketed_expression()?;
        self.expect(Symbol::Colon, "and a match kind after the key's expression")?;
        let match_kind = self.name("a match kind")?;
        let annotations = self.annotations()?;
        self.semicolon("the match kind")?;
        Ok(KeyElement {
            id,
            annotations,
            expression,
            match_kind,
            span: start.to(self.before()),
        })
    }

    /// `a` or `a(arguments)`
    fn action_call(&mut self) -> Parsed<Expression> {
        let start = self.here();
        let absolute = self.is(Symbol::Dot);
        if !self.is_name(usize::from(absolute)) {
            return Err(self.expected("an action"));
        }
        self.take(Symbol::Dot);
        let name = self.name("an action")?;
        let path = self.node(start, ExpressionKind::Path { name, absolute })?;
        if !self.is(Symbol::OpenParen) {
            return Ok(path);
        }
        let arguments = self.arguments()?;
        let kind = ExpressionKind::Call {
            callee: Box::new(path),
            type_arguments: Vec::new(),
            arguments,
        };
        self.node(start, kind)
    }

    fn action_reference(&mut self) -> Parsed<ActionReference> {
        let id = self.id();
        let start = self.here();
        let annotations = self.annotations()?;
        let action = self.action_call()?;
        self.semicolon("the action")?;
        Ok(ActionReference {
            id,
            annotations,
            action,
            span: start.to(self.before()),
        })
    }

    fn entry(&mut self) -> Parsed<Entry> {
        let id = self.id();
        let start = self.here();
        let is_const = self.take_keyword(Keyword::Const);
        let priority = if self.is_keyword(Keyword::Priority) && self.look_is(1, Symbol::Assign) {
            self.at += 2;
            if !matches!(
                self.peek().map(|t| &t.kind),
                Some(TokenKind::Integer(_) | TokenKind::Symbol(Symbol::OpenParen))
            ) {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    self.here(),
                    format!("expected a number as priority, found {}", self.found()),
                )
                .help("an expression stands in brackets: `priority = (BASE + 1) : ...`");
                return Err(self.fail(diagnostic));
            }
            let priority = self.bracketed_expression()?;
            self.expect(Symbol::Colon, "after the priority")?;
            Some(priority)
        } else {
            None
        };
        let keyset = self.keyset()?;
        self.expect(Symbol::Colon, "and an action after the entry's values")?;
        let action = self.action_call()?;
        let annotations = self.annotations()?;
        self.semicolon("the entry's action")?;
        Ok(Entry {
            id,
            annotations,
            is_const,
            priority,
            keyset,
            action,
            span: start.to(self.before()),
        })
    }
}
