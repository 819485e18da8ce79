//! `@name` and what stands behind it.

use super::{Parsed, Reader};
use crate::ast::{Annotation, AnnotationBody, NUMBERED, Name};
use crate::diagnostic::Diagnostic;
use crate::token::{Keyword, Symbol, TokenKind, unescape};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

impl Annotation {
    /// The text of `@name("text")`, unescaped; `None` when the body is anything but one string literal.
    #[must_use]
    pub fn string(&self) -> Option<String> {
        let AnnotationBody::Tokens(tokens) = &self.body else {
            return None;
        };
        let [token] = tokens.as_slice() else {
            return None;
        };
        let inside = token.strip_prefix('"')?.strip_suffix('"')?;
        Some(unescape(inside))
    }
}

impl Reader<'_, '_> {
    pub(super) fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut list = Vec::new();
        while self.is(Symbol::At) {
            list.push(self.annotation()?);
        }
        Ok(list)
    }

    fn annotation(&mut self) -> Parsed<Annotation> {
        let start = self.here();
        self.at += 1;
        let is_pragma = self
            .peek()
            .and_then(|t| t.name())
            .is_some_and(|n| &**n == "pragma");
        if is_pragma && self.look(1).is_some_and(|t| !t.line_start) {
            self.at += 1;
            let name = self.annotation_name()?;
            let mut tokens: Vec<Arc<str>> = Vec::new();
            while let Some(token) = self.peek().filter(|t| !t.line_start) {
                tokens.push(token.text().into());
                self.at += 1;
            }
            return Ok(Annotation {
                name,
                body: AnnotationBody::Tokens(tokens),
                span: start.to(self.before()),
            });
        }
        let name = self.annotation_name()?;
        let numbered = NUMBERED.contains(&&*name.text) && !self.look_is(1, Symbol::CloseParen);
        let body = if self.is(Symbol::OpenParen) && numbered {
            self.annotation_numbers()?
        } else if self.is(Symbol::OpenParen) {
            self.annotation_tokens()?
        } else if self.is(Symbol::OpenBracket) {
            self.structured_annotation()?
        } else {
            AnnotationBody::Empty
        };
        Ok(Annotation {
            name,
            body,
            span: start.to(self.before()),
        })
    }

    /// Keywords may name annotations.
    fn annotation_name(&mut self) -> Parsed<Name> {
        match self.peek() {
            Some(token) if token.keyword() != Some(Keyword::Underscore) => {
                let Some(text) = token.name() else {
                    return Err(self.expected("the name of an annotation"));
                };
                self.at += 1;
                Ok(Name {
                    text: text.clone(),
                    span: token.span,
                })
            }
            _ => Err(self.expected("the name of an annotation")),
        }
    }

    fn annotation_tokens(&mut self) -> Parsed<AnnotationBody> {
        let open = self.here();
        self.at += 1;
        let mut tokens: Vec<Arc<str>> = Vec::new();
        let mut depth = 0_u32;
        while let Some(token) = self.peek() {
            self.at += 1;
            match token.kind {
                TokenKind::Symbol(Symbol::OpenParen) => depth += 1,
                TokenKind::Symbol(Symbol::CloseParen) if depth == 0 => {
                    return Ok(AnnotationBody::Tokens(tokens));
                }
                TokenKind::Symbol(Symbol::CloseParen) => depth -= 1,
                TokenKind::Unknown(c) => {
                    self.diagnostics.push(Diagnostic::error(
                        "syntax",
                        token.span,
                        alloc::format!("the character `{c}` cannot stand in an annotation"),
                    ));
                }
                _ => {}
            }
            tokens.push(token.text().into());
        }
        let diagnostic = Diagnostic::error(
            "syntax",
            self.gap(),
            "the program ends inside an annotation: expected `)`",
        )
        .note(open, "opened here");
        Err(self.fail(diagnostic))
    }

    /// `(a, b)`
    fn annotation_numbers(&mut self) -> Parsed<AnnotationBody> {
        self.at += 1;
        let mut list = vec![self.bracketed_expression()?];
        while self.take(Symbol::Comma) {
            list.push(self.bracketed_expression()?);
        }
        self.expect(Symbol::CloseParen, "after the annotation's numbers")?;
        Ok(AnnotationBody::Numbers(list))
    }

    /// `[a, b]` or `[k = a, l = b]`
    fn structured_annotation(&mut self) -> Parsed<AnnotationBody> {
        self.at += 1;
        if self.is_name(0) && self.look_is(1, Symbol::Assign) {
            let mut pairs = Vec::new();
            while !self.is(Symbol::CloseBracket) {
                let name = self.name("a key of the annotation")?;
                self.expect(Symbol::Assign, "after the annotation's key")?;
                pairs.push((name, self.bracketed_expression()?));
                if !self.take(Symbol::Comma) {
                    break;
                }
            }
            self.expect(Symbol::CloseBracket, "after the annotation's pairs")?;
            return Ok(AnnotationBody::Pairs(pairs));
        }
        let mut list = Vec::new();
        while !self.is(Symbol::CloseBracket) {
            list.push(self.bracketed_expression()?);
            if self.is_name(0) || self.is(Symbol::Assign) {
                break;
            }
            if !self.take(Symbol::Comma) {
                break;
            }
        }
        self.expect(Symbol::CloseBracket, "after the annotation's expressions")?;
        Ok(AnnotationBody::Expressions(list))
    }
}
