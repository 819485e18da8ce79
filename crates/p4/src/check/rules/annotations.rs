//! Annotations that the specification gives a meaning (section 20, P4Runtime's too) have the right form.

use super::Rules;
use crate::ast::{Annotation, AnnotationBody, Declaration, DeclarationKind, TablePropertyKind};
use crate::diagnostic::Diagnostic;
use alloc::format;
use alloc::vec::Vec;

pub(super) fn run(rules: &mut Rules<'_>) {
    for declaration in rules.declarations.clone() {
        for annotation in of(declaration) {
            rules.annotation(annotation);
        }
    }
}

/// The annotations of a declaration and its parts.
fn of(declaration: &Declaration) -> Vec<&Annotation> {
    let mut all: Vec<_> = declaration.annotations.iter().collect();
    match &declaration.kind {
        DeclarationKind::Composite { fields, .. } => {
            all.extend(fields.iter().flat_map(|field| &field.annotations));
        }
        DeclarationKind::Enum { members, .. }
        | DeclarationKind::Error { members }
        | DeclarationKind::MatchKind { members } => {
            all.extend(members.iter().flat_map(|member| &member.annotations));
        }
        DeclarationKind::Extern { methods, .. } => {
            all.extend(methods.iter().flat_map(|method| &method.annotations));
        }
        DeclarationKind::Action { parameters, .. } => {
            all.extend(parameters.iter().flat_map(|p| &p.annotations));
        }
        DeclarationKind::Table(table) => {
            for property in &table.properties {
                all.extend(&property.annotations);
                match &property.kind {
                    TablePropertyKind::Key(keys) => {
                        all.extend(keys.iter().flat_map(|key| &key.annotations));
                    }
                    TablePropertyKind::Actions(actions) => {
                        all.extend(actions.iter().flat_map(|action| &action.annotations));
                    }
                    TablePropertyKind::Entries(entries) => {
                        all.extend(entries.iter().flat_map(|entry| &entry.annotations));
                    }
                    TablePropertyKind::Other { .. } => {}
                }
            }
        }
        DeclarationKind::Parser(parser) => {
            all.extend(parser.states.iter().flat_map(|state| &state.annotations));
        }
        _ => {}
    }
    all
}

impl Rules<'_> {
    fn annotation(&mut self, annotation: &Annotation) {
        let wanted = match &*annotation.name.text {
            "name" | "deprecated" if !is_string(annotation) => "one string: `@name(\"...\")`",
            "pkginfo" | "p4runtime_translation" | "match"
                if matches!(annotation.body, AnnotationBody::Empty) =>
            {
                "something in brackets"
            }
            "p4runtime_translation" if !is_translation(annotation) => {
                "a URI as a string, and the type that the control plane sees: `string`, `bit<N>`, or a number of bits"
            }
            "match" if !is_word(annotation) => "a match kind",
            "hidden" | "tableonly" | "defaultonly" | "atomic" | "optional"
                if !matches!(&annotation.body, AnnotationBody::Empty) && !is_empty(annotation) =>
            {
                "nothing behind it"
            }
            _ => return,
        };
        self.report(Diagnostic::error(
            "annotation",
            annotation.span,
            format!("`@{}` takes {wanted}", annotation.name.text),
        ));
    }
}

fn tokens(annotation: &Annotation) -> Option<Vec<&str>> {
    match &annotation.body {
        AnnotationBody::Tokens(tokens) => Some(tokens.iter().map(|token| &**token).collect()),
        _ => None,
    }
}

fn is_empty(annotation: &Annotation) -> bool {
    tokens(annotation).is_some_and(|tokens| tokens.is_empty())
}

/// One string, perhaps in pieces that are concatenated, or named by constants.
fn is_string(annotation: &Annotation) -> bool {
    let Some(tokens) = tokens(annotation) else {
        return !matches!(annotation.body, AnnotationBody::Empty);
    };
    !tokens.is_empty()
        && tokens.iter().all(|token| {
            let first = token.chars().next().unwrap_or(' ');
            first == '"'
                || first.is_alphabetic()
                || matches!(*token, "_" | "++" | "(" | ")" | "." | ",")
        })
}

fn is_word(annotation: &Annotation) -> bool {
    tokens(annotation).is_none_or(|tokens| {
        matches!(tokens.as_slice(), [word] if word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
    })
}

fn is_translation(annotation: &Annotation) -> bool {
    let Some(tokens) = tokens(annotation) else {
        return true;
    };
    let Some(comma) = tokens.iter().position(|token| *token == ",") else {
        return false;
    };
    let (uri, ty) = (&tokens[..comma], &tokens[comma + 1..]);
    let good = match ty {
        ["string" | "bit"] => true,
        [number] => number.starts_with(|c: char| c.is_ascii_digit()),
        ["bit", "<", .., ">"] => true,
        _ => false,
    };
    good && uri
        .iter()
        .all(|token| token.starts_with('"') || !token.starts_with(|c: char| c.is_ascii_digit()))
}
