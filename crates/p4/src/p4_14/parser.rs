//! Reads the declarations of P4_14 (specification 1.0.5, appendix 20).

use super::cursor::{Cursor, Read};
use super::tree::{
    CalculatedField, Calculation, CalculationUse, Expr, Extern, ExternMethod, ExternParameter,
    ExternType, Field, FieldList, HeaderType, Instance, ListEntry, Pragma, Stateful, Tree,
    ValueSet,
};
use crate::ast::Name;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::token::{Symbol, Token, TokenKind};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The tree of a program; what cannot be read is told and left out.
pub(super) fn read(tokens: &[Token], diagnostics: &mut Diagnostics) -> Tree {
    let mut cursor = Cursor::new(tokens, diagnostics);
    let mut tree = Tree::default();
    let mut pragmas = Vec::new();
    while cursor.token().is_some() {
        if cursor.is(Symbol::At) {
            pragma(&mut cursor, &mut pragmas);
            continue;
        }
        let start = cursor.span();
        if declaration(&mut cursor, &mut tree, &mut pragmas).is_err() {
            skip_declaration(&mut cursor, start);
        }
        pragmas.clear();
    }
    tree
}

/// The words that begin a declaration.
pub(super) const DECLARATIONS: [&str; 22] = [
    "header_type",
    "header",
    "metadata",
    "field_list",
    "field_list_calculation",
    "calculated_field",
    "parser_value_set",
    "parser",
    "parser_exception",
    "counter",
    "meter",
    "register",
    "primitive_action",
    "action",
    "action_profile",
    "action_selector",
    "table",
    "control",
    "extern_type",
    "extern",
    "blackbox_type",
    "blackbox",
];

/// To the first token that begins a line and a declaration.
fn skip_declaration(cursor: &mut Cursor<'_>, start: Span) {
    while let Some(token) = cursor.token() {
        let begins = cursor
            .word()
            .is_some_and(|word| DECLARATIONS.contains(&word));
        if token.line_start && begins && token.span != start {
            return;
        }
        cursor.advance();
    }
}

/// `@pragma name word word`, to the end of the line.
fn pragma(cursor: &mut Cursor<'_>, pragmas: &mut Vec<Pragma>) {
    cursor.advance();
    if !cursor.accept_word("pragma") {
        cursor.expected("`pragma`");
        cursor.advance();
        return;
    }
    let mut words = Vec::new();
    let mut name = None;
    while let Some(token) = cursor.token().filter(|t| !t.line_start) {
        cursor.advance();
        let text: Arc<str> = match &token.kind {
            TokenKind::Name(text, _) | TokenKind::Integer(text) | TokenKind::String(text) => {
                text.clone()
            }
            _ => token.text().into(),
        };
        match &name {
            None => {
                name = Some(Name {
                    text,
                    span: token.span,
                });
            }
            Some(_) => words.push(text),
        }
    }
    if let Some(name) = name {
        pragmas.push(Pragma { name, words });
    }
}

fn declaration(c: &mut Cursor<'_>, tree: &mut Tree, pragmas: &mut Vec<Pragma>) -> Read<()> {
    let start = c.span();
    let Some(word) = c.word() else {
        return Err(c.expected("a declaration"));
    };
    if !DECLARATIONS.contains(&word) {
        let reported = c.expected("a declaration");
        return Err(reported);
    }
    c.advance();
    match word {
        "header_type" => tree.header_types.push(header_type(c, start)?),
        "header" | "metadata" => {
            let instance = instance(c, start, word == "metadata")?;
            tree.instances.push(instance);
        }
        "field_list" => {
            let name = c.name("a name")?;
            let list = match c.accept(Symbol::Semicolon) {
                true => return Ok(()),
                false => field_list(c, start, name)?,
            };
            tree.field_lists.push(list);
        }
        "field_list_calculation" => tree.calculations.push(calculation(c, start)?),
        "calculated_field" => tree.calculated_fields.push(calculated_field(c)?),
        "parser_value_set" => {
            let name = c.name("a name")?;
            let end = c.expect(Symbol::Semicolon)?;
            tree.value_sets.push(ValueSet {
                name,
                span: start.to(end),
                pragmas: core::mem::take(pragmas),
            });
        }
        "parser" => {
            let state = super::flow::state(c, start, core::mem::take(pragmas))?;
            tree.states.push(state);
        }
        "parser_exception" => {
            let state = super::flow::state(c, start, core::mem::take(pragmas))?;
            tree.exceptions.push(state);
        }
        "counter" => tree.counters.push(stateful(c, start)?),
        "meter" => tree.meters.push(stateful(c, start)?),
        "register" => tree.registers.push(stateful(c, start)?),
        "primitive_action" => {
            // Primitive actions are what the switch has; a declaration says nothing new.
            c.name("a name")?;
            c.expect(Symbol::OpenParen)?;
            if !c.accept(Symbol::CloseParen) {
                c.list(|c| c.name("a parameter"))?;
                c.expect(Symbol::CloseParen)?;
            }
            c.expect(Symbol::Semicolon)?;
        }
        "action" => tree.actions.push(super::flow::action(c, start)?),
        "action_profile" => tree.profiles.push(super::flow::profile(c, start)?),
        "action_selector" => tree.selectors.push(super::flow::selector(c)?),
        "table" => {
            let table = super::flow::table(c, start, core::mem::take(pragmas))?;
            tree.tables.push(table);
        }
        "control" => tree.controls.push(super::flow::control(c, start)?),
        "extern_type" | "blackbox_type" => tree.extern_types.push(extern_type(c, start)?),
        _ => tree.externs.push(extern_instance(c, start)?),
    }
    Ok(())
}

fn header_type(c: &mut Cursor<'_>, start: Span) -> Read<HeaderType> {
    let name = c.name("a name")?;
    let mut header = HeaderType {
        name,
        span: start,
        fields: Vec::new(),
        length: None,
        max_length: None,
    };
    let end = c.block(|c| {
        if c.accept_word("fields") {
            c.block(|c| {
                header.fields.push(field(c)?);
                Ok(())
            })?;
        } else if c.accept_word("length") {
            header.length = Some(c.property(Cursor::expression)?);
        } else if c.accept_word("max_length") {
            header.max_length = Some(c.property(Cursor::expression)?);
        } else {
            return Err(c.expected("`fields`, `length` or `max_length`"));
        }
        Ok(())
    })?;
    header.span = start.to(end);
    Ok(header)
}

/// `f : 8 (signed);`, and as some write it `bit<8> f;`.
fn field(c: &mut Cursor<'_>) -> Read<Field> {
    if !c.word_then(Symbol::Colon)
        && let Some((width, signed)) = sized_type(c)?
    {
        let span = c.before();
        let name = c.name("a field")?;
        c.expect(Symbol::Semicolon)?;
        return Ok(Field {
            name,
            width: Some(Expr {
                span,
                kind: super::tree::ExprKind::Integer(width.into(), None),
            }),
            signed,
            saturating: false,
        });
    }
    let name = c.name("a field")?;
    c.expect(Symbol::Colon)?;
    let width = match c.accept(Symbol::Star) {
        true => None,
        false => Some(c.expression()?),
    };
    let (mut signed, mut saturating) = (false, false);
    if c.accept(Symbol::OpenParen) {
        c.list(|c| attribute(c, &mut signed, &mut saturating))?;
        c.expect(Symbol::CloseParen)?;
    }
    c.expect(Symbol::Semicolon)?;
    Ok(Field {
        name,
        width,
        signed,
        saturating,
    })
}

fn attribute(c: &mut Cursor<'_>, signed: &mut bool, saturating: &mut bool) -> Read<()> {
    if c.accept_word("signed") {
        *signed = true;
    } else if c.accept_word("saturating") {
        *saturating = true;
    } else {
        return Err(c.expected("`signed` or `saturating`"));
    }
    Ok(())
}

fn instance(c: &mut Cursor<'_>, start: Span, metadata: bool) -> Read<Instance> {
    let ty = c.name("a header type")?;
    let name = c.name("a name")?;
    let mut instance = Instance {
        name,
        span: start,
        ty,
        metadata,
        size: None,
        initial: Vec::new(),
    };
    if !metadata && c.accept(Symbol::OpenBracket) {
        instance.size = Some(c.expression()?);
        c.expect(Symbol::CloseBracket)?;
    }
    if metadata && c.is(Symbol::OpenBrace) {
        c.block(|c| {
            let field = c.name("a field")?;
            let value = c.property(Cursor::expression)?;
            instance.initial.push((field, value));
            Ok(())
        })?;
        c.accept(Symbol::Semicolon);
    } else {
        c.expect(Symbol::Semicolon)?;
    }
    instance.span = start.to(c.before());
    Ok(instance)
}

fn field_list(c: &mut Cursor<'_>, start: Span, name: Name) -> Read<FieldList> {
    let mut entries = Vec::new();
    let end = c.block(|c| {
        let entry = match c.is_word("payload") && c.word_then(Symbol::Semicolon) {
            true => {
                c.advance();
                ListEntry::Payload
            }
            false => ListEntry::Value(c.expression()?),
        };
        c.expect(Symbol::Semicolon)?;
        entries.push(entry);
        Ok(())
    })?;
    Ok(FieldList {
        name,
        span: start.to(end),
        entries,
    })
}

/// Says that a property stands twice.
fn once(c: &mut Cursor<'_>, before: bool, span: Span, what: &str) {
    if before {
        c.diagnostics.push(
            Diagnostic::error(
                "duplicate",
                span,
                format!("`{what}` stands here a second time"),
            )
            .help("leave one of them"),
        );
    }
}

fn calculation(c: &mut Cursor<'_>, start: Span) -> Read<Calculation> {
    let name = c.name("a name")?;
    let mut calculation = Calculation {
        name,
        span: start,
        input: Vec::new(),
        algorithms: Vec::new(),
        output_width: None,
    };
    let end = c.block(|c| {
        let span = c.span();
        if c.accept_word("input") {
            once(c, !calculation.input.is_empty(), span, "input");
            calculation.input = c.names("a field list")?;
        } else if c.accept_word("algorithm") {
            once(c, !calculation.algorithms.is_empty(), span, "algorithm");
            calculation.algorithms = match c.is(Symbol::OpenBrace) {
                true => c.names("an algorithm")?,
                false => alloc::vec![c.property(|c| c.name("an algorithm"))?],
            };
        } else if c.accept_word("output_width") {
            once(c, calculation.output_width.is_some(), span, "output_width");
            calculation.output_width = Some(c.property(Cursor::expression)?);
        } else {
            return Err(c.expected("`input`, `algorithm` or `output_width`"));
        }
        Ok(())
    })?;
    calculation.span = start.to(end);
    Ok(calculation)
}

fn calculated_field(c: &mut Cursor<'_>) -> Read<CalculatedField> {
    let field = c.reference()?;
    let mut uses = Vec::new();
    c.block(|c| {
        let update = c.accept_word("update");
        if !update {
            c.expect_word("verify")?;
        }
        let calculation = c.name("a field list calculation")?;
        let condition = match c.accept_word("if") {
            true => {
                c.expect(Symbol::OpenParen)?;
                let condition = c.expression()?;
                c.expect(Symbol::CloseParen)?;
                Some(condition)
            }
            false => None,
        };
        c.expect(Symbol::Semicolon)?;
        uses.push(CalculationUse {
            update,
            calculation,
            condition,
        });
        Ok(())
    })?;
    Ok(CalculatedField { field, uses })
}

fn stateful(c: &mut Cursor<'_>, start: Span) -> Read<Stateful> {
    let name = c.name("a name")?;
    let mut object = Stateful {
        name,
        span: start,
        unit: None,
        direct: None,
        fixed: None,
        count: None,
        width: None,
        layout: None,
        signed: false,
        result: None,
    };
    let end = c.block(|c| {
        let property = c.name("a property")?;
        let bound = object.direct.is_some() || object.fixed.is_some();
        match &*property.text {
            "type" => {
                let mut unit = c.property(|c| c.name("a type"))?;
                if let Some(word) = match &*unit.text {
                    "packet" => Some("packets"),
                    "byte" => Some("bytes"),
                    _ => None,
                } {
                    c.draft(&unit, word, "");
                    unit.text = word.into();
                }
                object.unit = Some(unit);
            }
            "direct" => {
                once(c, bound, property.span, "direct");
                object.direct = Some(c.property(|c| c.name("a table"))?);
            }
            "static" => {
                once(c, bound, property.span, "static");
                object.fixed = Some(c.property(|c| c.name("a table"))?);
            }
            "instance_count" => object.count = Some(c.property(Cursor::expression)?),
            // Words of drafts, as papers print them.
            "inst_count" => {
                c.draft(&property, "instance_count", "");
                object.count = Some(c.property(Cursor::expression)?);
            }
            "numPackets" => {
                let other = "; if the width of each cell is meant, the word is `min_width`";
                c.draft(&property, "instance_count", other);
                object.count = Some(c.property(Cursor::expression)?);
            }
            "width" => object.width = Some(c.property(Cursor::expression)?),
            "layout" => object.layout = Some(c.property(|c| c.name("a header type"))?),
            "result" => object.result = Some(c.property(Cursor::reference)?),
            "attributes" => {
                let mut saturating = false;
                c.property(|c| c.list(|c| attribute(c, &mut object.signed, &mut saturating)))?;
            }
            "saturating" => {
                c.expect(Symbol::Semicolon)?;
            }
            // What they say, the switch decides itself.
            "min_width" | "max_width" | "pre_color" | "implementation" => {
                c.property(Cursor::expression)?;
            }
            other => {
                let message =
                    format!("`{other}` is not a property of a counter, meter or register");
                return Err(c.error("property", property.span, message));
            }
        }
        Ok(())
    })?;
    object.span = start.to(end);
    Ok(object)
}

/// `bit`, `bit<8>`, `int<8>`; `None` when no type of a width stands here, and nothing was read.
fn sized_type(c: &mut Cursor<'_>) -> Read<Option<(u32, bool)>> {
    let signed = c.is_word("int");
    if !signed && !c.is_word("bit") {
        return Ok(None);
    }
    c.advance();
    if !c.accept(Symbol::Less) {
        return Ok(Some((if signed { 32 } else { 1 }, signed)));
    }
    let span = c.span();
    let width = match c.token().map(|t| &t.kind) {
        Some(TokenKind::Integer(text)) => text.parse::<u32>().ok(),
        _ => None,
    };
    let Some(width) = width.filter(|w| (1..=super::MAX_WIDTH).contains(w)) else {
        let most = super::MAX_WIDTH;
        return Err(c.error(
            "width",
            span,
            format!("a width is a number from 1 to {most}"),
        ));
    };
    c.advance();
    c.expect(Symbol::Greater)?;
    Ok(Some((width, signed)))
}

fn extern_type(c: &mut Cursor<'_>, start: Span) -> Read<ExternType> {
    let name = c.name("a name")?;
    let mut methods = Vec::new();
    let end = c.block(|c| {
        if c.accept_word("attribute") {
            c.name("a name")?;
            // Attributes configure the object of a switch that we are not.
            c.block(|c| {
                c.skip_statement();
                Ok(())
            })?;
            return Ok(());
        }
        let span = c.expect_word("method")?;
        let name = c.name("a name")?;
        c.expect(Symbol::OpenParen)?;
        let parameters = match c.is(Symbol::CloseParen) {
            true => Vec::new(),
            false => c.list(extern_parameter)?,
        };
        c.expect(Symbol::CloseParen)?;
        if c.is(Symbol::OpenBrace) {
            c.block(|c| {
                c.name("`reads` or `writes`")?;
                c.block(|c| {
                    c.list(|c| c.name("a name"))?;
                    Ok(())
                })?;
                Ok(())
            })?;
        } else {
            c.expect(Symbol::Semicolon)?;
        }
        methods.push(ExternMethod {
            name,
            parameters,
            span: span.to(c.before()),
        });
        Ok(())
    })?;
    Ok(ExternType {
        name,
        span: start.to(end),
        methods,
    })
}

fn extern_parameter(c: &mut Cursor<'_>) -> Read<ExternParameter> {
    let optional = c.accept_word("optional");
    let out = c.accept_word("out");
    if !out {
        c.expect_word("in")?;
    }
    let ty = sized_type(c)?;
    if ty.is_none() {
        c.name("a type")?;
    }
    let name = c.name("a name")?;
    Ok(ExternParameter {
        name,
        out,
        optional,
        ty,
    })
}

fn extern_instance(c: &mut Cursor<'_>, start: Span) -> Read<Extern> {
    let ty = c.name("an extern type")?;
    let name = c.name("a name")?;
    if c.is(Symbol::OpenBrace) {
        c.block(|c| {
            c.name("an attribute")?;
            if c.is(Symbol::OpenBrace) {
                c.block(|c| {
                    c.skip_statement();
                    Ok(())
                })?;
                return Ok(());
            }
            c.expect(Symbol::Colon)?;
            c.skip_statement();
            Ok(())
        })?;
    } else {
        c.expect(Symbol::Semicolon)?;
    }
    Ok(Extern {
        name,
        ty,
        span: start.to(c.before()),
    })
}
