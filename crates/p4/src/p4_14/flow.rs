//! Reads what packets go through: parser states, actions, tables and controls.

use super::cursor::{Cursor, Read};
use super::tree::{
    Action, ApplyCase, Case, Control, DefaultAction, Label, Next, Pragma, Primitive, Profile,
    Read as TableRead, Selector, State, Statement, Step, Table,
};
use crate::ast::Name;
use crate::source::Span;
use crate::token::Symbol;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

pub(super) fn state(c: &mut Cursor<'_>, start: Span, pragmas: Vec<Pragma>) -> Read<State> {
    let name = c.name("a name")?;
    let mut steps = Vec::new();
    let mut next = None;
    let end = c.block(|c| {
        let span = c.span();
        if c.is_word("extract") && c.word_then(Symbol::OpenParen) {
            c.advance();
            c.advance();
            let target = c.reference()?;
            c.expect(Symbol::CloseParen)?;
            let end = c.expect(Symbol::Semicolon)?;
            steps.push(Step::Extract {
                target,
                span: span.to(end),
            });
        } else if c.is_word("set_metadata") && c.word_then(Symbol::OpenParen) {
            c.advance();
            c.advance();
            let target = c.reference()?;
            c.expect(Symbol::Comma)?;
            let value = c.expression()?;
            c.expect(Symbol::CloseParen)?;
            let end = c.expect(Symbol::Semicolon)?;
            steps.push(Step::Set {
                target,
                value,
                span: span.to(end),
            });
        } else if c.accept_word("return") {
            next = Some(
                match c.is_word("select") && c.word_then(Symbol::OpenParen) {
                    true => select(c, span)?,
                    false => Next::Goto(end_of(c)?),
                },
            );
        } else if c.accept_word("parse_error") {
            next = Some(Next::Error(end_of(c)?));
        } else if c.accept_word("parser_drop")
            || (c.is_word("drop") && c.word_then(Symbol::Semicolon))
        {
            c.accept_word("drop");
            let end = c.expect(Symbol::Semicolon)?;
            next = Some(Next::Drop(span.to(end)));
        } else if c.word().is_some() {
            let target = c.reference()?;
            c.expect(Symbol::Assign)?;
            let value = c.expression()?;
            let end = c.expect(Symbol::Semicolon)?;
            steps.push(Step::Set {
                target,
                value,
                span: span.to(end),
            });
        } else {
            return Err(c.expected("a statement of a parser"));
        }
        Ok(())
    })?;
    Ok(State {
        name,
        span: start.to(end),
        pragmas,
        steps,
        next,
    })
}

/// `name;`
fn end_of(c: &mut Cursor<'_>) -> Read<Name> {
    let name = c.name("a name")?;
    c.expect(Symbol::Semicolon)?;
    Ok(name)
}

fn select(c: &mut Cursor<'_>, start: Span) -> Read<Next> {
    c.advance();
    c.expect(Symbol::OpenParen)?;
    let keys = c.list(Cursor::expression)?;
    c.expect(Symbol::CloseParen)?;
    let mut cases = Vec::new();
    let end = c.block(|c| {
        let span = c.span();
        let labels = c.list(|c| {
            if c.accept_word("default") {
                return Ok(Label::Default);
            }
            let value = c.expression()?;
            let mask = match c.accept_word("mask") {
                true => Some(c.expression()?),
                false => None,
            };
            Ok(Label::Value { value, mask })
        })?;
        c.expect(Symbol::Colon)?;
        let error = c.accept_word("parse_error");
        let next = end_of(c)?;
        cases.push(Case {
            labels,
            span: span.to(next.span),
            next,
            error,
        });
        Ok(())
    })?;
    Ok(Next::Select {
        keys,
        cases,
        span: start.to(end),
    })
}

pub(super) fn action(c: &mut Cursor<'_>, start: Span) -> Read<Action> {
    let name = c.name("a name")?;
    c.expect(Symbol::OpenParen)?;
    let parameters = match c.is(Symbol::CloseParen) {
        true => Vec::new(),
        false => c.list(|c| c.name("a parameter"))?,
    };
    c.expect(Symbol::CloseParen)?;
    let mut body = Vec::new();
    let end = c.block(|c| {
        let span = c.span();
        let (object, name, arguments);
        if c.word_then(Symbol::OpenParen) {
            object = None;
            name = c.name("a primitive action")?;
            arguments = call_arguments(c)?;
        } else if c.word().is_some() {
            let target = c.reference()?;
            if c.is(Symbol::OpenParen) {
                // `object.method(...)`
                let super::tree::ExprKind::Member(base, member) = target.kind else {
                    return Err(c.expected("`=`"));
                };
                let super::tree::ExprKind::Name(text) = base.kind else {
                    return Err(c.error("syntax", base.span, "expected the name of an extern"));
                };
                object = Some(Name {
                    text,
                    span: base.span,
                });
                name = member;
                arguments = call_arguments(c)?;
            } else {
                let at = c.expect(Symbol::Assign)?;
                let value = c.expression()?;
                object = None;
                name = Name {
                    text: "modify_field".into(),
                    span: at,
                };
                arguments = vec![target, value];
            }
        } else {
            return Err(c.expected("a primitive action"));
        }
        let end = c.expect(Symbol::Semicolon)?;
        body.push(Primitive {
            object,
            name,
            arguments,
            span: span.to(end),
        });
        Ok(())
    })?;
    Ok(Action {
        name,
        span: start.to(end),
        parameters,
        body,
    })
}

fn call_arguments(c: &mut Cursor<'_>) -> Read<Vec<super::tree::Expr>> {
    c.expect(Symbol::OpenParen)?;
    let arguments = match c.is(Symbol::CloseParen) {
        true => Vec::new(),
        false => c.list(Cursor::expression)?,
    };
    c.expect(Symbol::CloseParen)?;
    Ok(arguments)
}

pub(super) fn profile(c: &mut Cursor<'_>, start: Span) -> Read<Profile> {
    let name = c.name("a name")?;
    let mut profile = Profile {
        name,
        span: start,
        actions: Vec::new(),
        size: None,
        selector: None,
    };
    let end = c.block(|c| {
        if c.accept_word("actions") {
            profile.actions = c.names("an action")?;
        } else if c.accept_word("size") {
            profile.size = Some(c.property(Cursor::expression)?);
        } else if c.accept_word("dynamic_action_selection") {
            profile.selector = Some(c.property(|c| c.name("an action selector"))?);
        } else {
            return Err(c.expected("`actions`, `size` or `dynamic_action_selection`"));
        }
        Ok(())
    })?;
    profile.span = start.to(end);
    Ok(profile)
}

pub(super) fn selector(c: &mut Cursor<'_>) -> Read<Selector> {
    let name = c.name("a name")?;
    let mut selector = Selector {
        name,
        key: None,
        mode: None,
        kind: None,
    };
    c.block(|c| {
        let property = c.name("a property")?;
        let place = match &*property.text {
            "selection_key" => &mut selector.key,
            "selection_mode" => &mut selector.mode,
            "selection_type" => &mut selector.kind,
            other => {
                let message = format!("`{other}` is not a property of an action selector");
                return Err(c.error("property", property.span, message));
            }
        };
        *place = Some(c.property(|c| c.name("a name"))?);
        Ok(())
    })?;
    Ok(selector)
}

pub(super) fn table(c: &mut Cursor<'_>, start: Span, pragmas: Vec<Pragma>) -> Read<Table> {
    let name = c.name("a name")?;
    let mut table = Table {
        name,
        span: start,
        pragmas,
        reads: Vec::new(),
        actions: Vec::new(),
        profile: None,
        size: None,
        min_size: None,
        max_size: None,
        default: None,
        other: Vec::new(),
    };
    let end = c.block(|c| {
        let property = c.name("a property of the table")?;
        match &*property.text {
            "reads" => {
                c.block(|c| {
                    table.reads.push(table_read(c)?);
                    Ok(())
                })?;
            }
            "actions" => table.actions = c.names("an action")?,
            "action_profile" => table.profile = Some(c.property(|c| c.name("an action profile"))?),
            "size" => table.size = Some(c.property(Cursor::expression)?),
            "min_size" => table.min_size = Some(c.property(Cursor::expression)?),
            "max_size" => table.max_size = Some(c.property(Cursor::expression)?),
            "default_action" => table.default = Some(default_action(c, property.span, false)?),
            "const" if c.is_word("default_action") => {
                c.advance();
                table.default = Some(default_action(c, property.span, true)?);
            }
            _ => {
                let value = c.property(Cursor::expression)?;
                table.other.push((property, value));
            }
        }
        Ok(())
    })?;
    table.span = start.to(end);
    Ok(table)
}

fn table_read(c: &mut Cursor<'_>) -> Read<TableRead> {
    let value = c.reference()?;
    let mask = match c.accept_word("mask") {
        true => Some(c.expression()?),
        false => None,
    };
    c.expect(Symbol::Colon)?;
    let kind = c.name("a kind of match")?;
    let end = c.expect(Symbol::Semicolon)?;
    Ok(TableRead {
        span: value.span.to(end),
        value,
        mask,
        kind,
    })
}

fn default_action(c: &mut Cursor<'_>, start: Span, is_const: bool) -> Read<DefaultAction> {
    c.expect(Symbol::Colon)?;
    let action = c.name("an action")?;
    let arguments = match c.is(Symbol::OpenParen) {
        true => Some(call_arguments(c)?),
        false => None,
    };
    let end = c.expect(Symbol::Semicolon)?;
    Ok(DefaultAction {
        action,
        // Empty brackets say that the action is to stay; a name alone is only the first choice.
        is_const: is_const || arguments.as_ref().is_some_and(Vec::is_empty),
        arguments,
        span: start.to(end),
    })
}

pub(super) fn control(c: &mut Cursor<'_>, start: Span) -> Read<Control> {
    let name = c.name("a name")?;
    let body = statements(c)?;
    Ok(Control {
        name,
        span: start.to(c.before()),
        body,
    })
}

/// `{ ... }`
fn statements(c: &mut Cursor<'_>) -> Read<Vec<Statement>> {
    c.nested(|c| {
        let mut list = Vec::new();
        c.block(|c| {
            statement(c, &mut list)?;
            Ok(())
        })?;
        Ok(list)
    })
}

/// A block or one statement.
fn body(c: &mut Cursor<'_>) -> Read<Vec<Statement>> {
    let mut list = Vec::new();
    c.nested(|c| statement(c, &mut list))?;
    Ok(list)
}

fn statement(c: &mut Cursor<'_>, list: &mut Vec<Statement>) -> Read<()> {
    let span = c.span();
    if c.is(Symbol::OpenBrace) {
        list.extend(statements(c)?);
    } else if c.is_word("apply") && c.word_then(Symbol::OpenParen) {
        c.advance();
        c.advance();
        let table = c.name("a table")?;
        c.expect(Symbol::CloseParen)?;
        let mut cases = Vec::new();
        if c.is(Symbol::OpenBrace) {
            c.nested(|c| {
                c.block(|c| {
                    let span = c.span();
                    let mut labels = Vec::new();
                    while !c.is(Symbol::OpenBrace) {
                        // A case may be a single statement; then one label stands before it.
                        let statement = !labels.is_empty() && !c.accept(Symbol::Comma);
                        if statement {
                            break;
                        }
                        labels.push(c.name("`hit`, `miss`, `default` or an action")?);
                    }
                    if labels.is_empty() {
                        return Err(c.expected("`hit`, `miss`, `default` or an action"));
                    }
                    let body = body(c)?;
                    cases.push(ApplyCase {
                        labels,
                        body,
                        span: span.to(c.before()),
                    });
                    Ok(())
                })
            })?;
        } else {
            c.expect(Symbol::Semicolon)?;
        }
        list.push(Statement::Apply {
            table,
            cases,
            span: span.to(c.before()),
        });
    } else if c.is_word("if") {
        let (mut branches, mut otherwise) = (Vec::new(), None);
        while c.accept_word("if") {
            c.expect(Symbol::OpenParen)?;
            let condition = c.expression()?;
            c.expect(Symbol::CloseParen)?;
            branches.push((condition, body(c)?));
            if !c.accept_word("else") {
                break;
            }
            if !c.is_word("if") {
                otherwise = Some(body(c)?);
                break;
            }
        }
        list.push(Statement::If {
            branches,
            otherwise,
            span: span.to(c.before()),
        });
    } else if c.word_then(Symbol::OpenParen) {
        let control = c.name("a control function")?;
        c.expect(Symbol::OpenParen)?;
        c.expect(Symbol::CloseParen)?;
        let end = c.expect(Symbol::Semicolon)?;
        list.push(Statement::Call {
            control,
            span: span.to(end),
        });
    } else {
        return Err(c.expected("`apply`, `if` or a call of a control function"));
    }
    Ok(())
}
