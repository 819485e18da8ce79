//! The tree as text. What is printed is read again as the same tree; comments and macros are not in it.

mod expressions;
mod statements;

use crate::ast::{
    Annotation, AnnotationBody, CompositeKind, Declaration, DeclarationKind, Direction, Field,
    Member, Method, Parameter, Program, Prototype, State, Table, TablePropertyKind, Transition,
    TypeParameter,
};
use alloc::string::String;
use core::fmt::Display;

/// A program, laid out as [`crate::fmt`] does.
#[must_use]
pub fn program(program: &Program) -> String {
    let mut printer = Printer::default();
    for (n, declaration) in program.declarations.iter().enumerate() {
        if n > 0 {
            printer.line();
        }
        printer.declaration(declaration);
    }
    laid_out(printer.out)
}

#[must_use]
pub fn declaration(declaration: &Declaration) -> String {
    let mut printer = Printer::default();
    printer.declaration(declaration);
    laid_out(printer.out)
}

/// An expression, on one line.
#[must_use]
pub fn expression(expression: &crate::ast::Expression) -> String {
    let mut printer = Printer::default();
    printer.expression(expression);
    printer.out
}

/// A use of a type, on one line.
#[must_use]
pub fn type_expression(ty: &crate::ast::TypeExpression) -> String {
    let mut printer = Printer::default();
    printer.ty(ty);
    printer.out
}

/// A declaration's head on one line: all but bodies and values.
#[must_use]
pub fn head(declaration: &Declaration) -> String {
    let mut printer = Printer::default();
    printer.head(declaration);
    printer.out
}

/// A function's head on one line; a constructor's has no result.
#[must_use]
pub fn prototype(prototype: &Prototype, is_constructor: bool) -> String {
    let mut printer = Printer::default();
    if is_constructor {
        printer.text(&prototype.name.text);
        printer.parameters(&prototype.parameters);
    } else {
        printer.prototype(prototype);
    }
    printer.out
}

/// A parameter on one line.
#[must_use]
pub fn parameter(parameter: &Parameter) -> String {
    let mut printer = Printer::default();
    printer.parameter(parameter);
    printer.out
}

fn laid_out(text: String) -> String {
    crate::fmt::format(&text).unwrap_or(text)
}

#[derive(Default)]
struct Printer {
    out: String,
}

impl Printer {
    fn text(&mut self, text: impl Display) {
        use core::fmt::Write;
        let _ = write!(self.out, "{text}");
    }

    fn line(&mut self) {
        self.out.push('\n');
    }

    fn list<T>(&mut self, list: &[T], between: &str, mut print: impl FnMut(&mut Self, &T)) {
        for (n, element) in list.iter().enumerate() {
            if n > 0 {
                self.text(between);
            }
            print(self, element);
        }
    }

    fn annotations(&mut self, list: &[Annotation]) {
        for annotation in list {
            self.annotation(annotation);
            self.text(" ");
        }
    }

    fn annotation(&mut self, annotation: &Annotation) {
        self.text("@");
        self.text(&annotation.name.text);
        match &annotation.body {
            AnnotationBody::Empty => {}
            AnnotationBody::Tokens(tokens) => {
                self.text("(");
                self.list(tokens, " ", |p, token| p.text(token));
                self.text(")");
            }
            AnnotationBody::Numbers(list) => {
                self.text("(");
                self.list(list, ", ", Self::expression);
                self.text(")");
            }
            AnnotationBody::Expressions(list) => {
                self.text("[");
                self.list(list, ", ", Self::expression);
                self.text("]");
            }
            AnnotationBody::Pairs(list) => {
                self.text("[");
                self.list(list, ", ", |p, (name, value)| {
                    p.text(&name.text);
                    p.text(" = ");
                    p.expression(value);
                });
                self.text("]");
            }
        }
    }

    fn type_parameters(&mut self, list: &[TypeParameter]) {
        if !list.is_empty() {
            self.text("<");
            self.list(list, ", ", |p, t| p.text(&t.name.text));
            self.text(">");
        }
    }

    fn parameters(&mut self, list: &[Parameter]) {
        self.text("(");
        self.list(list, ", ", Self::parameter);
        self.text(")");
    }

    fn parameter(&mut self, parameter: &Parameter) {
        self.annotations(&parameter.annotations);
        self.text(match parameter.direction {
            Direction::None => "",
            Direction::In => "in ",
            Direction::Out => "out ",
            Direction::InOut => "inout ",
        });
        self.ty(&parameter.ty);
        self.text(" ");
        self.text(&parameter.name.text);
        if let Some(value) = &parameter.default {
            self.text(" = ");
            self.expression(value);
        }
    }

    fn prototype(&mut self, prototype: &Prototype) {
        self.ty(&prototype.result);
        self.text(" ");
        self.text(&prototype.name.text);
        self.type_parameters(&prototype.type_parameters);
        self.parameters(&prototype.parameters);
    }

    /// All up to a body, value or `;`.
    fn head(&mut self, declaration: &Declaration) {
        use DeclarationKind as D;
        let named = |p: &mut Self, word: &str, name: &str, types: &[TypeParameter]| {
            p.text(word);
            p.text(" ");
            p.text(name);
            p.type_parameters(types);
        };
        match &declaration.kind {
            D::Constant { ty, name, .. } => {
                self.text("const ");
                self.ty(ty);
                self.text(" ");
                self.text(&name.text);
            }
            D::Variable { ty, name, .. } => {
                self.ty(ty);
                self.text(" ");
                self.text(&name.text);
            }
            D::Instance {
                ty,
                arguments,
                name,
                ..
            } => {
                self.ty(ty);
                self.arguments(arguments);
                self.text(" ");
                self.text(&name.text);
            }
            D::Extern {
                name,
                type_parameters,
                ..
            } => named(self, "extern", &name.text, type_parameters),
            D::ExternFunction(prototype) => {
                self.text("extern ");
                self.prototype(prototype);
            }
            D::Function { prototype, .. } => self.prototype(prototype),
            D::Action {
                name, parameters, ..
            } => {
                named(self, "action", &name.text, &[]);
                self.parameters(parameters);
            }
            D::Composite {
                kind,
                name,
                type_parameters,
                ..
            } => {
                let word = match kind {
                    CompositeKind::Header => "header",
                    CompositeKind::Struct => "struct",
                    CompositeKind::Union => "header_union",
                };
                named(self, word, &name.text, type_parameters);
            }
            D::Enum {
                name, underlying, ..
            } => {
                self.text("enum ");
                if let Some(ty) = underlying {
                    self.ty(ty);
                    self.text(" ");
                }
                self.text(&name.text);
            }
            D::Error { .. } => self.text("error"),
            D::MatchKind { .. } => self.text("match_kind"),
            D::Typedef { ty, name } | D::NewType { ty, name } => {
                let is_new = matches!(declaration.kind, D::NewType { .. });
                self.text(if is_new { "type " } else { "typedef " });
                self.ty(ty);
                self.text(" ");
                self.text(&name.text);
            }
            D::ParserType {
                name,
                type_parameters,
                parameters,
            } => {
                named(self, "parser", &name.text, type_parameters);
                self.parameters(parameters);
            }
            D::ControlType {
                name,
                type_parameters,
                parameters,
            } => {
                named(self, "control", &name.text, type_parameters);
                self.parameters(parameters);
            }
            D::PackageType {
                name,
                type_parameters,
                parameters,
            } => {
                named(self, "package", &name.text, type_parameters);
                self.parameters(parameters);
            }
            D::Parser(parser) => {
                named(self, "parser", &parser.name.text, &parser.type_parameters);
                self.parameters(&parser.parameters);
                if !parser.constructor_parameters.is_empty() {
                    self.parameters(&parser.constructor_parameters);
                }
            }
            D::Control(control) => {
                named(
                    self,
                    "control",
                    &control.name.text,
                    &control.type_parameters,
                );
                self.parameters(&control.parameters);
                if !control.constructor_parameters.is_empty() {
                    self.parameters(&control.constructor_parameters);
                }
            }
            D::ValueSet {
                element,
                size,
                name,
            } => {
                self.text("value_set<");
                self.ty(element);
                self.text(">(");
                self.expression(size);
                self.text(") ");
                self.text(&name.text);
            }
            D::Table(table) => named(self, "table", &table.name.text, &[]),
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        self.declaration_without_end(declaration);
        self.line();
    }

    fn declaration_without_end(&mut self, declaration: &Declaration) {
        use DeclarationKind as D;
        self.annotations(&declaration.annotations);
        self.head(declaration);
        match &declaration.kind {
            D::Constant { value, .. } => {
                self.text(" = ");
                self.expression(value);
                self.text(";");
            }
            D::Variable { value, .. } => {
                if let Some(value) = value {
                    self.text(" = ");
                    self.expression(value);
                }
                self.text(";");
            }
            D::Instance { initializer, .. } => {
                if let Some(list) = initializer {
                    self.text(" = ");
                    self.braces(list, Self::declaration);
                }
                self.text(";");
            }
            D::Extern { methods, .. } => {
                self.text(" ");
                self.braces(methods, Self::method);
            }
            D::Function { body, .. } | D::Action { body, .. } => {
                self.text(" ");
                self.block(body);
            }
            D::Composite { fields, .. } => {
                self.text(" ");
                self.braces(fields, Self::field);
            }
            D::Enum { members, .. } | D::Error { members } | D::MatchKind { members } => {
                self.text(" {\n");
                self.list(members, ",\n", Self::member);
                self.text("\n}");
            }
            D::Parser(parser) => {
                self.text(" {\n");
                self.list(&parser.locals, "", Self::declaration);
                self.list(&parser.states, "", Self::state);
                self.text("}");
            }
            D::Control(control) => {
                self.text(" {\n");
                self.list(&control.locals, "", Self::declaration);
                self.text("apply ");
                self.block(&control.apply);
                self.text("\n}");
            }
            D::Table(table) => self.table(table),
            _ => self.text(";"),
        }
    }

    fn braces<T>(&mut self, list: &[T], print: impl FnMut(&mut Self, &T)) {
        self.text("{\n");
        self.list(list, "", print);
        self.text("}");
    }

    fn method(&mut self, method: &Method) {
        self.annotations(&method.annotations);
        if method.is_abstract {
            self.text("abstract ");
        }
        if method.is_constructor {
            self.text(&method.prototype.name.text);
            self.parameters(&method.prototype.parameters);
        } else {
            self.prototype(&method.prototype);
        }
        self.text(";\n");
    }

    fn field(&mut self, field: &Field) {
        self.annotations(&field.annotations);
        self.ty(&field.ty);
        self.text(" ");
        self.text(&field.name.text);
        self.text(";\n");
    }

    fn member(&mut self, member: &Member) {
        self.annotations(&member.annotations);
        self.text(&member.name.text);
        if let Some(value) = &member.value {
            self.text(" = ");
            self.expression(value);
        }
    }

    fn state(&mut self, state: &State) {
        self.annotations(&state.annotations);
        self.text("state ");
        self.text(&state.name.text);
        self.text(" {\n");
        self.list(&state.statements, "", Self::statement);
        match &state.transition {
            None => {}
            Some(Transition::Direct(next)) => {
                self.text("transition ");
                self.text(&next.name.text);
                self.text(";\n");
            }
            Some(Transition::Select {
                selectors, cases, ..
            }) => {
                self.text("transition select(");
                self.list(selectors, ", ", Self::expression);
                self.text(") ");
                self.braces(cases, |p, case| {
                    p.keyset(&case.keyset);
                    p.text(": ");
                    p.text(&case.next.name.text);
                    p.text(";\n");
                });
                self.line();
            }
        }
        self.text("}\n");
    }

    fn table(&mut self, table: &Table) {
        self.text(" ");
        self.braces(&table.properties, |p, property| {
            p.annotations(&property.annotations);
            if property.is_const {
                p.text("const ");
            }
            match &property.kind {
                TablePropertyKind::Key(list) => {
                    p.text("key = ");
                    p.braces(list, |p, element| {
                        p.expression(&element.expression);
                        p.text(": ");
                        p.text(&element.match_kind.text);
                        p.trailing(&element.annotations);
                        p.text(";\n");
                    });
                }
                TablePropertyKind::Actions(list) => {
                    p.text("actions = ");
                    p.braces(list, |p, reference| {
                        p.annotations(&reference.annotations);
                        p.expression(&reference.action);
                        p.text(";\n");
                    });
                }
                TablePropertyKind::Entries(list) => {
                    p.text("entries = ");
                    p.braces(list, |p, entry| {
                        if entry.is_const {
                            p.text("const ");
                        }
                        if let Some(priority) = &entry.priority {
                            p.text("priority = ");
                            p.in_brackets_unless_integer(priority);
                            p.text(": ");
                        }
                        p.keyset(&entry.keyset);
                        p.text(": ");
                        p.expression(&entry.action);
                        p.trailing(&entry.annotations);
                        p.text(";\n");
                    });
                }
                TablePropertyKind::Other { name, value } => {
                    p.text(&name.text);
                    p.text(" = ");
                    p.expression(value);
                    p.text(";");
                }
            }
            p.line();
        });
    }

    fn trailing(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.text(" ");
            self.annotation(annotation);
        }
    }

    /// A string literal.
    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

#[cfg(test)]
mod tests;
