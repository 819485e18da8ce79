//! Names and what they stand for (specification 6.9).

use super::checker::{Checker, Context, Entity, name_of};
use crate::ast::{Declaration, DeclarationKind, Name};
use crate::diagnostic::Diagnostic;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    /// Declares a name in the innermost scope.
    pub(super) fn declare(&mut self, name: &'a Name, entity: Entity<'a>) {
        self.register(entity);
        if &*name.text == "_" {
            return;
        }
        let overloads = matches!(entity, Entity::Declaration(d) if overloadable(d));
        self.warn_of_twins(name, entity);
        let before = self
            .frames
            .last()
            .and_then(|frame| frame.names.get(&*name.text))
            .cloned();
        if let Some(before) = before {
            let clash = before.iter().find(|other| match (other, entity) {
                (Entity::Declaration(a), Entity::Declaration(b)) => {
                    !(overloads && may_overload(a, b))
                }
                _ => true,
            });
            if let Some(clash) = clash.copied() {
                let mut diagnostic = Diagnostic::error(
                    "duplicate-declaration",
                    name.span,
                    format!("`{}` is already declared in this scope", name.text),
                );
                if let Some(first) = self.name_of(clash) {
                    diagnostic = diagnostic.note(first.span, "first declared here");
                }
                self.report(diagnostic);
                return;
            }
        } else if self.frames.len() > 1 {
            self.warn_of_shadowing(name, entity);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.names.entry(&name.text).or_default().push(entity);
        }
    }

    /// Warns of two functions that no call can tell apart.
    fn warn_of_twins(&mut self, name: &'a Name, entity: Entity<'a>) {
        let Entity::Declaration(declaration) = entity else {
            return;
        };
        let twin = self
            .frames
            .last()
            .and_then(|frame| frame.names.get(&*name.text))
            .into_iter()
            .flatten()
            .find_map(|other| match other {
                Entity::Declaration(other)
                    if may_overload(other, declaration) && !differ(other, declaration) =>
                {
                    name_of(other)
                }
                _ => None,
            });
        if let Some(twin) = twin {
            self.report(
                Diagnostic::warning(
                    "ambiguous",
                    name.span,
                    format!("no call can tell this `{}` from another one: they have the same parameters", name.text),
                )
                .note(twin.span, "the other one"),
            );
        }
    }

    fn warn_of_shadowing(&mut self, name: &'a Name, entity: Entity<'a>) {
        if matches!(entity, Entity::Field(_) | Entity::Member(_)) {
            return;
        }
        let outer = self
            .frames
            .iter()
            .rev()
            .skip(1)
            .find_map(|frame| frame.names.get(&*name.text))
            .and_then(|all| all.first().copied());
        let Some(outer) = outer else { return };
        let hides = matches!(
            entity,
            Entity::Declaration(Declaration {
                kind: DeclarationKind::Variable { .. }
                    | DeclarationKind::Constant { .. }
                    | DeclarationKind::Instance { .. },
                ..
            })
        );
        // A block's local may not hide one of the parameters around; a parser's or control's own local only should not.
        let inside = !matches!(self.context, Context::ControlLocals | Context::ParserLocals);
        if let (true, Entity::Parameter(parameter)) = (hides && inside, outer) {
            self.report(
                Diagnostic::error(
                    "shadows-parameter",
                    name.span,
                    format!("`{}` hides the parameter of that name", name.text),
                )
                .note(parameter.name.span, "the parameter"),
            );
            return;
        }
        let mut diagnostic = Diagnostic::warning(
            "shadows",
            name.span,
            format!("`{}` shadows another declaration of that name", name.text),
        );
        if let Some(first) = self.name_of(outer) {
            diagnostic = diagnostic.note(first.span, "the other one");
        }
        self.report(diagnostic);
    }

    /// Where an entity has its name.
    pub(super) fn name_of(&self, entity: Entity<'a>) -> Option<&'a Name> {
        match entity {
            Entity::Declaration(d) => name_of(d),
            Entity::Parameter(p) => Some(&p.name),
            Entity::TypeParameter(p) => Some(&p.name),
            Entity::State(s) => Some(&s.name),
            Entity::Field(f) => Some(&f.name),
            Entity::Member(m) => Some(&m.name),
            Entity::Method(m) => Some(&m.prototype.name),
        }
    }

    /// What a name means here: nothing, one thing, or several functions.
    pub(super) fn find(&self, name: &str, absolute: bool) -> Vec<Entity<'a>> {
        if absolute {
            return self
                .frames
                .first()
                .and_then(|frame| frame.names.get(name))
                .cloned()
                .unwrap_or_default();
        }
        self.frames
            .iter()
            .rev()
            .find_map(|frame| frame.names.get(name))
            .cloned()
            .unwrap_or_default()
    }

    /// Complains of a name that means nothing here.
    pub(super) fn not_found(&mut self, name: &Name, what: &str) {
        let later = self.declared_later(name);
        if let Some(later) = later
            && let Some(declared) = name_of(later)
            && later.span.contains(name.span)
        {
            let word = kind_word(later);
            let diagnostic = Diagnostic::error(
                "recursion",
                name.span,
                format!(
                    "the {word} `{}` uses itself: P4 has no recursion",
                    name.text
                ),
            );
            return self.report(diagnostic.note(declared.span, "declared here"));
        }
        let mut diagnostic = Diagnostic::error(
            "not-found",
            name.span,
            format!("{what} `{}` is not declared here", name.text),
        );
        if let Some(later) = later.and_then(name_of) {
            diagnostic.message = format!("`{}` is used above its declaration", name.text);
            diagnostic = diagnostic.note(later.span, "declared here").help(
                "move the declaration above this place: P4 has names from their declaration on",
            );
        } else if let Some(ty) = of_c(&name.text) {
            diagnostic = diagnostic.help(format!("that is C; in P4 write `{ty}`"));
        } else if let Some(file) = crate::library::declaring(&name.text) {
            diagnostic = diagnostic.help(format!("`#include <{file}>` declares it"));
        } else if let Some(help) = of_p4_14(&name.text) {
            diagnostic = diagnostic.help(format!("that is P4_14; in P4_16 write {help}"));
        } else if let Some(close) = self.similar(&name.text) {
            diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
        } else if matches!(&*name.text, "exact" | "lpm" | "ternary") {
            diagnostic = diagnostic.help("did you `#include <core.p4>`?");
        }
        self.report(diagnostic);
    }

    /// What the program declares by a name, at its top or in the parser or control around the use, but not above the use.
    fn declared_later(&self, name: &Name) -> Option<&'a Declaration> {
        let named = |list: &'a [Declaration]| {
            list.iter()
                .find(|declaration| name_of(declaration).is_some_and(|n| n.text == name.text))
        };
        let program: &'a [Declaration] = &self.program.declarations;
        let around = program.iter().find(|outer| outer.span.contains(name.span));
        let inside = around.and_then(|outer| match &outer.kind {
            DeclarationKind::Control(control) => named(&control.locals),
            DeclarationKind::Parser(parser) => named(&parser.locals),
            _ => None,
        });
        inside.or_else(|| named(program))
    }

    /// The declared name that is nearest to a misspelt one.
    fn similar(&self, name: &str) -> Option<String> {
        // Later ones are not shown, and the search is long in large programs.
        if self.diagnostics.errors() > crate::diagnostic::MAX_ERRORS {
            return None;
        }
        let candidates = self
            .frames
            .iter()
            .flat_map(|frame| frame.names.keys().copied());
        nearest(name, candidates).map(String::from)
    }
}

/// What a declaration declares, in a word.
fn kind_word(declaration: &Declaration) -> &'static str {
    match declaration.kind {
        DeclarationKind::Action { .. } => "action",
        DeclarationKind::Table(_) => "table",
        DeclarationKind::Function { .. } => "function",
        DeclarationKind::Control(_) => "control",
        DeclarationKind::Parser(_) => "parser",
        DeclarationKind::Composite { .. }
        | DeclarationKind::Typedef { .. }
        | DeclarationKind::NewType { .. } => "type",
        DeclarationKind::Constant { .. } => "constant",
        _ => "declaration of",
    }
}

/// What to write in place of a type of C such as `uint16_t`, `u16` or `__be16`.
fn of_c(name: &str) -> Option<String> {
    match name {
        "char" | "uchar" | "byte" => return Some("bit<8>".into()),
        "short" | "ushort" => return Some("bit<16>".into()),
        "uint" | "unsigned" => return Some("bit<32>".into()),
        _ => {}
    }
    let name = name.trim_start_matches("__");
    let plain = name.strip_suffix("_t").unwrap_or(name);
    let (digits, word) = ["uint", "int", "be", "le", "u", "s"]
        .iter()
        .find_map(|prefix| {
            let digits = plain.strip_prefix(prefix)?;
            Some((
                digits,
                if matches!(*prefix, "int" | "s") {
                    "int"
                } else {
                    "bit"
                },
            ))
        })?;
    matches!(digits, "8" | "16" | "32" | "64" | "128").then(|| format!("{word}<{digits}>"))
}

/// What to write in place of a primitive action of P4_14.
fn of_p4_14(name: &str) -> Option<&'static str> {
    Some(match name {
        "modify_field" => "`field = value;`",
        "add_to_field" => "`field = field + value;`",
        "subtract_from_field" => "`field = field - value;`",
        "add_header" => "`header.setValid();`",
        "remove_header" => "`header.setInvalid();`",
        "copy_header" => "`header = other;`",
        "no_op" => "`NoAction`, or nothing",
        "valid" => "`header.isValid()`",
        _ => return None,
    })
}

/// The candidate nearest to a misspelt name, if one is near.
pub(super) fn nearest<'n>(
    name: &str,
    candidates: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let allowed = (name.chars().count() / 3).max(1);
    candidates
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, right) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(left != *right);
            next.push(replaced.min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    row[b.len()]
}

fn overloadable(declaration: &Declaration) -> bool {
    matches!(
        declaration.kind,
        DeclarationKind::Function { .. }
            | DeclarationKind::ExternFunction(_)
            | DeclarationKind::Parser(_)
            | DeclarationKind::Control(_)
            | DeclarationKind::PackageType { .. }
    )
}

/// Whether two declarations of one name can live together: functions, and what has constructors (6.9.2).
fn may_overload(a: &Declaration, b: &Declaration) -> bool {
    let function = |declaration: &Declaration| {
        matches!(
            declaration.kind,
            DeclarationKind::Function { .. } | DeclarationKind::ExternFunction(_)
        )
    };
    overloadable(a)
        && overloadable(b)
        && function(a) == function(b)
        && (function(a) || differ(a, b))
}

/// Whether two of one name can be told by the number or the names of their arguments (6.9.2).
fn differ(a: &Declaration, b: &Declaration) -> bool {
    let parameters = |declaration: &Declaration| {
        let parameters = match &declaration.kind {
            DeclarationKind::Function { prototype, .. }
            | DeclarationKind::ExternFunction(prototype) => &prototype.parameters,
            DeclarationKind::Parser(parser) => &parser.constructor_parameters,
            DeclarationKind::Control(control) => &control.constructor_parameters,
            DeclarationKind::PackageType { parameters, .. } => parameters,
            _ => return Vec::new(),
        };
        parameters.iter().map(|p| p.name.text.clone()).collect()
    };
    parameters(a) != parameters(b)
}
