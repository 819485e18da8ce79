//! Statements.

use super::braces::Holds;
use super::{Parsed, Reader};
use crate::ast::{
    BinaryOperator, Block, Branch, Declaration, DeclarationKind, ExpressionKind, ForVariable,
    Statement, StatementKind, SwitchCase,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Symbol, TokenKind};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

impl Reader<'_, '_> {
    fn statement_node(&mut self, start: Span, kind: StatementKind) -> Statement {
        Statement {
            id: self.id(),
            span: start.to(self.before()),
            kind,
        }
    }

    /// `@annotation { statements }`
    pub(super) fn block(&mut self, of: &str) -> Parsed<Block> {
        self.block_of(of, Reader::statement)
    }

    fn block_of(
        &mut self,
        of: &str,
        mut read: impl FnMut(&mut Self) -> Parsed<Statement>,
    ) -> Parsed<Block> {
        self.deeper(|reader| {
            let start = reader.here();
            let annotations = reader.annotations()?;
            let open =
                reader.expect(Symbol::OpenBrace, &format!("before the statements of {of}"))?;
            reader.scopes.push();
            let statements = reader.braced(open, of, Holds::Other, &mut read)?;
            reader.scopes.pop();
            Ok(Block {
                annotations,
                statements,
                span: start.to(reader.before()),
            })
        })
    }

    /// A statement of a parser's state (specification 13.4): some of the statements cannot stand there.
    pub(super) fn parser_statement(&mut self) -> Parsed<Statement> {
        let start = self.here();
        if self.is(Symbol::OpenBrace) {
            let block = self.block_of("the block", Reader::parser_statement)?;
            return Ok(self.statement_node(start, StatementKind::Block(block)));
        }
        if let Some(
            keyword @ (Keyword::Return
            | Keyword::Exit
            | Keyword::Switch
            | Keyword::For
            | Keyword::Break
            | Keyword::Continue),
        ) = self.keyword()
        {
            let diagnostic = Diagnostic::error(
                "syntax",
                start,
                format!("`{}` cannot stand in a parser's state", keyword.text()),
            )
            .help("a state ends with a transition, and repeats by a transition to itself");
            return Err(self.fail(diagnostic));
        }
        self.statement()
    }

    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        self.deeper(Self::any_statement)
    }

    fn any_statement(&mut self) -> Parsed<Statement> {
        let start = self.here();
        if self.is(Symbol::At) {
            return self.annotated_statement();
        }
        let kind = match self.peek().map(|t| &t.kind) {
            Some(TokenKind::Symbol(Symbol::Semicolon)) => {
                self.at += 1;
                StatementKind::Empty
            }
            Some(TokenKind::Symbol(Symbol::OpenBrace)) => {
                StatementKind::Block(self.block("the block")?)
            }
            Some(TokenKind::Name(_, Some(keyword))) => match keyword {
                Keyword::Const => {
                    let declaration = self.constant(start, Vec::new())?;
                    StatementKind::Declaration(Box::new(declaration))
                }
                Keyword::If => self.if_statement()?,
                Keyword::Else => {
                    let diagnostic =
                        Diagnostic::error("syntax", start, "`else` without an `if` before it");
                    return Err(self.fail(diagnostic));
                }
                Keyword::Switch => self.switch()?,
                Keyword::For => self.for_statement(Vec::new())?,
                Keyword::Return => {
                    self.at += 1;
                    let value = if self.is(Symbol::Semicolon) {
                        None
                    } else {
                        Some(self.expression()?)
                    };
                    self.semicolon("`return`")?;
                    StatementKind::Return(value)
                }
                Keyword::Exit => self.word("`exit`", StatementKind::Exit)?,
                Keyword::Break => self.word("`break`", StatementKind::Break)?,
                Keyword::Continue => self.word("`continue`", StatementKind::Continue)?,
                Keyword::Transition => {
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        start,
                        "`transition` stands only at the end of a parser's state",
                    );
                    return Err(self.fail(diagnostic));
                }
                _ => return self.plain(true),
            },
            _ => return self.plain(true),
        };
        Ok(self.statement_node(start, kind))
    }

    fn word(&mut self, what: &str, kind: StatementKind) -> Parsed<StatementKind> {
        self.at += 1;
        self.semicolon(what)?;
        Ok(kind)
    }

    fn annotated_statement(&mut self) -> Parsed<Statement> {
        let start = self.here();
        let annotations = self.annotations()?;
        let kind = if self.is(Symbol::OpenBrace) {
            let mut block = self.block("the block")?;
            block.annotations = annotations;
            block.span = start.to(self.before());
            StatementKind::Block(block)
        } else if self.is_keyword(Keyword::For) {
            self.for_statement(annotations)?
        } else if self.is_keyword(Keyword::Const) {
            let declaration = self.constant(start, annotations)?;
            StatementKind::Declaration(Box::new(declaration))
        } else if self.is_declaration() {
            StatementKind::Declaration(Box::new(self.local_declaration(
                start,
                annotations,
                true,
            )?))
        } else {
            return Err(self.expected("a declaration, block or `for` after the annotation"));
        };
        Ok(self.statement_node(start, kind))
    }

    fn local_declaration(
        &mut self,
        start: Span,
        annotations: Vec<crate::ast::Annotation>,
        ends: bool,
    ) -> Parsed<Declaration> {
        let length = self.type_length(0).unwrap_or(0);
        if ends && self.look_is(length, Symbol::OpenParen) {
            self.instance(start, annotations)
        } else {
            self.variable(start, annotations, ends)
        }
    }

    /// A declaration, assignment or call; its `;` too when it `ends`.
    fn plain(&mut self, ends: bool) -> Parsed<Statement> {
        let start = self.here();
        let keyword_type = self.keyword().is_some_and(|k| !k.is_name()) && self.is_type(0);
        let member_of_error = self.is_keyword(Keyword::Error) && self.look_is(1, Symbol::Dot);
        if (keyword_type && !member_of_error) || self.is_declaration() {
            let declaration = self.local_declaration(start, Vec::new(), ends)?;
            let kind = StatementKind::Declaration(Box::new(declaration));
            return Ok(self.statement_node(start, kind));
        }
        let begins = self.is_name(0)
            || self.is_keyword(Keyword::This)
            || self.is(Symbol::Dot)
            || self.is(Symbol::OpenParen)
            || member_of_error;
        if !begins {
            return Err(self.expected("a statement"));
        }
        let target = self.statement_target()?;
        let assignment = match self.peek().map(|t| &t.kind) {
            Some(TokenKind::Symbol(symbol)) => assignment(*symbol),
            _ => None,
        };
        let Some(operator) = assignment else {
            if !matches!(target.kind, ExpressionKind::Call { .. }) {
                if self.is(Symbol::Semicolon) {
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        target.span,
                        "an expression alone is not a statement",
                    )
                    .help("assign it, or call it with `()`");
                    return Err(self.fail(diagnostic));
                }
                let sign = match () {
                    () if self.is(Symbol::Concat) => Some('+'),
                    () if self.is(Symbol::Minus) && self.look_is(1, Symbol::Minus) => Some('-'),
                    () => None,
                };
                if let Some(sign) = sign {
                    let message = format!("`{sign}{sign}` does not count in P4");
                    let diagnostic = Diagnostic::error("syntax", self.here(), message);
                    let help = format!("write `... {sign}= 1;`");
                    return Err(self.fail(diagnostic.help(help)));
                }
                return Err(self.expected("`=` or `(` in a statement"));
            }
            if ends {
                self.semicolon("the call")?;
            }
            return Ok(self.statement_node(start, StatementKind::Call(target)));
        };
        if matches!(target.kind, ExpressionKind::Call { .. }) {
            let diagnostic =
                Diagnostic::error("syntax", target.span, "a call cannot be assigned to");
            return Err(self.fail(diagnostic));
        }
        self.at += 1;
        let value = self.expression()?;
        if ends {
            self.semicolon("the assignment")?;
        }
        let kind = StatementKind::Assign {
            target,
            operator,
            value,
        };
        Ok(self.statement_node(start, kind))
    }

    /// What is assigned to or called; behind it a `<` always begins type arguments.
    fn statement_target(&mut self) -> Parsed<crate::ast::Expression> {
        let start = self.here();
        let target = self.postfix()?;
        if !self.is(Symbol::Less) || matches!(target.kind, ExpressionKind::Call { .. }) {
            return Ok(target);
        }
        let type_arguments = self.type_arguments("the function")?;
        let arguments = self.arguments()?;
        let callee = Box::new(target);
        let kind = ExpressionKind::Call {
            callee,
            type_arguments,
            arguments,
        };
        self.node(start, kind)
    }

    fn if_statement(&mut self) -> Parsed<StatementKind> {
        let mut branches = Vec::from([self.branch()?]);
        while self.take_keyword(Keyword::Else) {
            if self.is_keyword(Keyword::If) {
                branches.push(self.branch()?);
                continue;
            }
            let otherwise = Some(Box::new(self.statement()?));
            return Ok(StatementKind::If {
                branches,
                otherwise,
            });
        }
        Ok(StatementKind::If {
            branches,
            otherwise: None,
        })
    }

    fn branch(&mut self) -> Parsed<Branch> {
        let start = self.here();
        self.at += 1;
        self.expect(Symbol::OpenParen, "and a condition after `if`")?;
        let condition = self.bracketed_expression()?;
        if self.is(Symbol::Assign) {
            let message = "an assignment is not a condition";
            let diagnostic = Diagnostic::error("syntax", self.here(), message);
            return Err(self.fail(diagnostic.help("to compare write `==`")));
        }
        self.expect(Symbol::CloseParen, "after the condition")?;
        let body = self.statement()?;
        Ok(Branch {
            condition,
            body,
            span: start.to(self.before()),
        })
    }

    fn switch(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        self.expect(Symbol::OpenParen, "and a value after `switch`")?;
        let value = self.bracketed_expression()?;
        self.expect(Symbol::CloseParen, "after the value of `switch`")?;
        let open = self.expect(Symbol::OpenBrace, "before the cases of `switch`")?;
        let cases = self.braced(open, "`switch`", Holds::Other, |reader| {
            let start = reader.here();
            let label = if reader.is_keyword(Keyword::Default) {
                reader.at += 1;
                reader.node(start, ExpressionKind::Default)?
            } else {
                reader.bracketed_expression()?
            };
            reader.expect(Symbol::Colon, "after the label")?;
            let body = if reader.is(Symbol::OpenBrace) || reader.is(Symbol::At) {
                Some(reader.block("the case")?)
            } else {
                None
            };
            Ok(SwitchCase {
                label,
                body,
                span: start.to(reader.before()),
            })
        })?;
        Ok(StatementKind::Switch { value, cases })
    }

    fn for_statement(&mut self, annotations: Vec<crate::ast::Annotation>) -> Parsed<StatementKind> {
        self.at += 1;
        self.expect(Symbol::OpenParen, "after `for`")?;
        self.scopes.push();
        let start = self.here();
        let of_variable = self.annotations()?;
        let after_type = self.type_length(0).filter(|length| {
            self.is_name(*length)
                && self.look(length + 1).and_then(|t| t.keyword()) == Some(Keyword::In)
        });
        let kind = if after_type.is_some() {
            let id = self.id();
            let ty = self.value_type()?;
            let name = self.name("the loop's variable")?;
            self.scopes.declare_object(&name.text);
            let declaration = Declaration {
                id,
                span: start.to(self.before()),
                annotations: of_variable,
                kind: DeclarationKind::Variable {
                    ty,
                    name,
                    value: None,
                },
            };
            let variable = ForVariable::Declared(Box::new(declaration));
            self.for_in(annotations, variable)?
        } else {
            let mut initial = Vec::new();
            if !self.is(Symbol::Semicolon) {
                initial.push(self.first_of_for(start, of_variable)?);
                if self.is_keyword(Keyword::In) {
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        self.here(),
                        "the variable of `for ... in` must be declared there",
                    )
                    .help("write its type before its name: `for (bit<8> x in ...)`");
                    return Err(self.fail(diagnostic));
                }
                while self.take(Symbol::Comma) {
                    initial.push(self.plain(false)?);
                }
            }
            self.expect(Symbol::Semicolon, "after the first part of `for`")?;
            let condition = self.bracketed_expression()?;
            self.expect(Symbol::Semicolon, "after the condition of `for`")?;
            let mut update = Vec::new();
            if !self.is(Symbol::CloseParen) {
                loop {
                    update.push(self.plain(false)?);
                    if !self.take(Symbol::Comma) {
                        break;
                    }
                }
            }
            self.expect(Symbol::CloseParen, "after the last part of `for`")?;
            StatementKind::For {
                annotations,
                initial,
                condition,
                update,
                body: Box::new(self.statement()?),
            }
        };
        self.scopes.pop();
        Ok(kind)
    }

    /// The first statement in the brackets of `for`. A plain name before `in` is left for the message about it.
    fn first_of_for(
        &mut self,
        start: Span,
        annotations: Vec<crate::ast::Annotation>,
    ) -> Parsed<Statement> {
        let before_in =
            self.is_name(0) && self.look(1).and_then(|t| t.keyword()) == Some(Keyword::In);
        if before_in {
            self.at += 1;
            return Ok(self.statement_node(start, StatementKind::Empty));
        }
        if annotations.is_empty() {
            return self.plain(false);
        }
        let declaration = self.variable(start, annotations, false)?;
        let kind = StatementKind::Declaration(Box::new(declaration));
        Ok(self.statement_node(start, kind))
    }

    fn for_in(
        &mut self,
        annotations: Vec<crate::ast::Annotation>,
        variable: ForVariable,
    ) -> Parsed<StatementKind> {
        self.at += 1;
        let start = self.here();
        let first = self.bracketed_expression()?;
        let collection = self.range_from(start, first)?;
        self.expect(Symbol::CloseParen, "after what the loop runs over")?;
        Ok(StatementKind::ForIn {
            annotations,
            variable,
            collection,
            body: Box::new(self.statement()?),
        })
    }
}

/// `=`, or the operator of `+=` and its kin.
#[allow(clippy::option_option)]
fn assignment(symbol: Symbol) -> Option<Option<BinaryOperator>> {
    use BinaryOperator as B;
    Some(Some(match symbol {
        Symbol::Assign => return Some(None),
        Symbol::AssignPlus => B::Add,
        Symbol::AssignMinus => B::Subtract,
        Symbol::AssignStar => B::Multiply,
        Symbol::AssignSlash => B::Divide,
        Symbol::AssignPercent => B::Modulo,
        Symbol::AssignPlusSat => B::SaturatingAdd,
        Symbol::AssignMinusSat => B::SaturatingSubtract,
        Symbol::AssignShiftLeft => B::ShiftLeft,
        Symbol::AssignShiftRight => B::ShiftRight,
        Symbol::AssignAnd => B::BitAnd,
        Symbol::AssignOr => B::BitOr,
        Symbol::AssignXor => B::BitXor,
        _ => return None,
    }))
}
