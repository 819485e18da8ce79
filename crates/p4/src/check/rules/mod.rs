//! Every rule that is not one of names and types.

mod annotations;
mod direct;
mod entries;
mod flow;
mod headers;
mod names;
mod parsers;
mod pna;
mod reach;
mod tables;
mod uninitialized;
mod unused;
mod v1model;
mod walk;

use super::Checked;
use crate::ast::{Annotation, AnnotationBody, Declaration, DeclarationKind, NodeId};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::Architecture;
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What the rules look at.
struct Rules<'a> {
    checked: &'a Checked,
    /// All, those in parsers, controls and blocks too, outer ones first.
    declarations: Vec<&'a Declaration>,
    by_id: BTreeMap<NodeId, &'a Declaration>,
    diagnostics: &'a mut Diagnostics,
}

impl<'a> Rules<'a> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The package that `main` instantiates, when it is one that engines run.
    fn architecture(&self) -> Option<Architecture> {
        let Some(Type::Object(package, _)) = self.checked.types.get(&self.checked.main?) else {
            return None;
        };
        match &self.by_id.get(package)?.kind {
            DeclarationKind::PackageType {
                name, parameters, ..
            } => {
                let blocks = parameters.iter().map(|parameter| &*parameter.name.text);
                let package = Architecture::from(name.text.clone());
                crate::library::runs(&package, blocks).then_some(package)
            }
            _ => None,
        }
    }

    /// The declaration that a path, member or type expression means.
    fn meant(&self, id: NodeId) -> Option<&'a Declaration> {
        self.by_id.get(self.checked.references.get(&id)?).copied()
    }
}

/// Checks the rules of a program whose names and types are right.
pub(super) fn run(checked: &Checked, diagnostics: &mut Diagnostics) {
    let mut declarations = Vec::new();
    walk::declarations(&checked.program.declarations, &mut declarations);
    let by_id = declarations.iter().map(|d| (d.id, *d)).collect();
    let mut rules = Rules {
        checked,
        declarations,
        by_id,
        diagnostics,
    };
    flow::run(&mut rules);
    parsers::run(&mut rules);
    tables::run(&mut rules);
    entries::run(&mut rules);
    direct::run(&mut rules);
    pna::run(&mut rules);
    annotations::run(&mut rules);
    names::run(&mut rules);
    v1model::run(&mut rules);
    // Warnings of what is surely not meant tell little about a program that is wrong anyway.
    if !rules.diagnostics.failed() {
        uninitialized::run(&mut rules);
        unused::run(&mut rules);
        headers::run(&mut rules);
    }
}

/// Whether `@noWarn` asks for silence about a warning with this code.
fn is_silenced(annotations: &[Annotation], code: &str) -> bool {
    annotations
        .iter()
        .any(|annotation| match &*annotation.name.text {
            "noWarn" => matches!(&annotation.body, AnnotationBody::Tokens(tokens)
                if tokens.is_empty() || tokens.iter().any(|token| token.trim_matches('"') == code)),
            "hidden" | "unused" => code == "unused",
            _ => false,
        })
}
