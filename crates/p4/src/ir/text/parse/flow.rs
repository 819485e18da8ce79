//! Sections: blocks, statements and what ends a block.

use super::super::lex::Token;
use super::{Kind, Parser, Result};
use crate::ast::Direction;
use crate::ir::*;
use crate::source::Span;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

impl<'a> Parser<'a> {
    pub(super) fn section(&mut self, kind: SectionKind) -> Result<Section> {
        let name = self.word()?;
        self.keyword("role")?;
        let role = self.word()?;
        let error = if self.take_keyword("error_in") {
            Some(self.slot_id()?)
        } else {
            None
        };
        self.symbol("{")?;
        let mut parameters = Vec::new();
        while self.take_keyword("parameter") {
            let name = self.word()?;
            self.symbol(":")?;
            let ty = self.word()?;
            let direction = match &*self.name()? {
                "none" => Direction::None,
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                _ => {
                    self.at -= 1;
                    return Err(self.expected("none, in, out or inout"));
                }
            };
            let fields = self.braces(|p| {
                let path = p.word()?;
                p.symbol("=")?;
                Ok((path, p.slot_id()?))
            })?;
            parameters.push(SectionParameter {
                name,
                ty,
                direction,
                fields,
            });
        }
        let body = self.body()?;
        self.symbol("}")?;
        Ok(Section {
            name,
            role,
            kind,
            parameters,
            body,
            error,
        })
    }

    /// Up to the closing brace, which stays.
    pub(super) fn body(&mut self) -> Result<Body> {
        self.find_labels()?;
        let mut body = Body::default();
        if self.take_keyword("fail") {
            body.fail = Some(self.block_id()?);
        }
        while *self.peek() != Token::Symbol("}") {
            self.name()?;
            let name = if self.take_symbol("(") {
                let name = self.word()?;
                self.symbol(")")?;
                Some(name)
            } else {
                None
            };
            self.symbol(":")?;
            let mut statements = Vec::new();
            let terminator = loop {
                if let Some(terminator) = self.terminator()? {
                    break terminator;
                }
                let kind = self.statement()?;
                let mut span = Span::default();
                if self.take_symbol("!") {
                    span.start = self.number()?;
                    self.symbol("..")?;
                    span.end = self.number()?;
                }
                statements.push(Statement { kind, span });
            };
            body.blocks.push(Block {
                name,
                statements,
                terminator,
            });
        }
        Ok(body)
    }

    /// Within a body a colon behind a name, or behind a name and one in parentheses, stands in labels only.
    pub(super) fn find_labels(&mut self) -> Result<()> {
        self.labels.clear();
        let mut depth = 0u32;
        let mut at = self.at;
        let mut count = 0;
        while let Some(placed) = self.tokens.get(at) {
            let ahead = |n: usize| self.tokens.get(at + n).map(|p| &p.token);
            match &placed.token {
                Token::Symbol("{") => depth += 1,
                Token::Symbol("}") if depth == 0 => break,
                Token::Symbol("}") => depth -= 1,
                Token::Name(name) => {
                    let plain = ahead(1) == Some(&Token::Symbol(":"));
                    let named = ahead(1) == Some(&Token::Symbol("("))
                        && matches!(ahead(2), Some(Token::Name(_) | Token::Keyword(_)))
                        && ahead(3) == Some(&Token::Symbol(")"))
                        && ahead(4) == Some(&Token::Symbol(":"));
                    if plain || named {
                        if self.labels.insert(name.to_string(), count).is_some() {
                            self.at = at;
                            return Err(self.here("there is a block with this label above"));
                        }
                        count += 1;
                        at += if named { 3 } else { 0 };
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Ok(())
    }

    pub(super) fn statement(&mut self) -> Result<StatementKind> {
        let word = match self.peek() {
            Token::Keyword("at") | Token::Name(_) | Token::Symbol("#") => {
                let target = self.place()?;
                self.symbol("=")?;
                let value = self.expression()?;
                return Ok(StatementKind::Assign { target, value });
            }
            Token::Keyword(word) => *word,
            _ => return Err(self.expected("a statement")),
        };
        self.at += 1;
        Ok(match word {
            "extract" => StatementKind::Extract {
                header: HeaderId(self.reference(Kind::Header)?),
                size: self.size()?,
            },
            "extract_next" => StatementKind::ExtractNext {
                stack: StackId(self.reference(Kind::Stack)?),
                size: self.size()?,
            },
            "lookahead" => StatementKind::Lookahead {
                into: self.slot_id()?,
            },
            "advance" => StatementKind::Advance {
                bits: self.expression()?,
            },
            "length" => StatementKind::Length {
                into: self.slot_id()?,
            },
            "emit" => StatementKind::Emit {
                header: HeaderId(self.reference(Kind::Header)?),
            },
            "emit_value" => StatementKind::EmitValue {
                value: self.expression()?,
            },
            "call" => {
                let name = self.word()?;
                let object = if self.take_keyword("of") {
                    Some(ObjectId(self.reference(Kind::Object)?))
                } else {
                    None
                };
                let arguments = self.parentheses(Self::argument)?;
                let results = if self.take_symbol("->") {
                    self.parentheses(Self::place)?
                } else {
                    Vec::new()
                };
                StatementKind::Call {
                    object,
                    name,
                    arguments,
                    results,
                }
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("a statement"));
            }
        })
    }

    pub(super) fn size(&mut self) -> Result<Option<Expr>> {
        if self.take_keyword("size") {
            self.expression().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `None` when no terminator stands here.
    pub(super) fn terminator(&mut self) -> Result<Option<Terminator>> {
        let Token::Keyword(word) = *self.peek() else {
            return Ok(None);
        };
        self.at += 1;
        Ok(Some(match word {
            "jump" => Terminator::Jump(self.block_id()?),
            "branch" => Terminator::Branch {
                condition: self.expression()?,
                yes: self.block_id()?,
                no: self.block_id()?,
            },
            "select" => {
                let keys = self.parentheses(Self::expression)?;
                let count = keys.len();
                let cases = self.braces(|p| {
                    let start = p.at;
                    let patterns = p.parentheses(Self::pattern)?;
                    if patterns.len() != count {
                        p.at = start;
                        return Err(p.here(format!("{count} patterns are needed")));
                    }
                    p.symbol("->")?;
                    Ok(Case {
                        patterns,
                        next: p.block_id()?,
                    })
                })?;
                Terminator::Select {
                    keys,
                    cases,
                    default: self.block_id()?,
                }
            }
            "apply" => {
                let table = TableId(self.reference(Kind::Table)?);
                let next = self.block_id()?;
                self.keyword("exit")?;
                Terminator::Apply {
                    table,
                    next,
                    exit: self.block_id()?,
                }
            }
            "return" => Terminator::Return,
            "exit" => Terminator::Exit,
            "reject" => Terminator::Reject,
            _ => {
                self.at -= 1;
                return Ok(None);
            }
        }))
    }

    pub(super) fn pattern(&mut self) -> Result<Pattern> {
        if self.take_keyword("any") {
            return Ok(Pattern::Any);
        }
        if self.take_keyword("value_set") {
            return Ok(Pattern::ValueSet(ValueSetId(
                self.reference(Kind::ValueSet)?,
            )));
        }
        let value = self.expression()?;
        Ok(if self.take_symbol("&&&") {
            Pattern::Mask(value, self.expression()?)
        } else if self.take_symbol("..") {
            Pattern::Range(value, self.expression()?)
        } else {
            Pattern::Equal(value)
        })
    }

    pub(super) fn argument(&mut self) -> Result<Argument> {
        Ok(match self.peek() {
            Token::Symbol("{") => Argument::List(self.braces(|p| {
                let name = p.word()?;
                p.symbol("=")?;
                Ok(ListItem {
                    name,
                    value: p.expression()?,
                    valid: if p.take_keyword("valid") {
                        Some(p.slot_id()?)
                    } else {
                        None
                    },
                })
            })?),
            Token::Keyword("text") => {
                self.at += 1;
                Argument::Text(self.name()?)
            }
            Token::Keyword("object") => {
                self.at += 1;
                Argument::Object(ObjectId(self.reference(Kind::Object)?))
            }
            Token::Keyword("member") => {
                self.at += 1;
                let e = EnumId(self.reference(Kind::Enumeration)?);
                Argument::Member(e, self.number()?)
            }
            _ => Argument::Value(self.expression()?),
        })
    }
}
