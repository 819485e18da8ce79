//! What an editor asks of a program: what is wrong, what a name means, where it is declared and used, what could stand here.
//!
//! All places are bytes of the program's own text. A program with errors is answered for as far as it was understood.

mod complete;
mod index;

use crate::ast::NodeId;
use crate::check::{Checked, check};
use crate::compile::{Compiled, Options, read};
use crate::diagnostic::Diagnostics;
use crate::source::{Includes, Sources, Span};
use crate::token::Keyword;
use crate::types::{Constant, Type};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use complete::Item;
pub use index::{Definition, Index, Kind};

/// A program, read and understood as far as it goes.
pub struct Analysis {
    /// The texts.
    pub sources: Sources,
    pub diagnostics: Diagnostics,
    /// Types, constants and references.
    pub checked: Checked,
    /// Names.
    pub index: Index,
    /// Where the program's own text begins in places, and how long it is.
    own: Span,
}

/// What a name is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The name or expression it is about.
    pub span: Span,
    /// In P4: the head of the declaration, or the type.
    pub code: String,
    /// The comment before the declaration.
    pub comment: String,
}

/// A declaration with what is declared in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: Kind,
    pub full: Span,
    /// Its name's place.
    pub span: Span,
    /// What it holds.
    pub children: Vec<Symbol>,
}

impl Analysis {
    /// Reads and checks a program.
    pub fn new(name: &str, text: &str, includes: &mut dyn Includes, options: &Options) -> Self {
        let mut compiled = Compiled::default();
        let program = read(name, text, includes, options, &mut compiled);
        let mut diagnostics = compiled.diagnostics;
        let index = Index::new(&program);
        // After an error of syntax the checker's own would only follow from it.
        let checked = if diagnostics.failed() {
            check(program, &mut Diagnostics::default())
        } else {
            check(program, &mut diagnostics)
        };
        let own = compiled
            .sources
            .files()
            .iter()
            .find(|f| *f.name == *name)
            .map_or(Span::default(), |f| Span {
                start: f.start,
                end: f.start + f.text.len() as u32,
            });
        Analysis {
            sources: compiled.sources,
            diagnostics,
            checked,
            index,
            own,
        }
    }

    /// A byte of the program's text as places count it.
    #[must_use]
    pub fn place(&self, offset: usize) -> u32 {
        self.own.start + (offset as u32).min(self.own.end - self.own.start)
    }

    /// The name at a place: where it stands and what it means.
    fn target(&self, at: u32) -> Option<(Span, NodeId)> {
        let touches = |span: &Span| span.start <= at && at <= span.end;
        let used = self.index.uses.iter().filter(|(span, _)| touches(span));
        let found = used
            .filter_map(|(span, id)| Some((*span, *self.checked.references.get(id)?)))
            .min_by_key(|(span, _)| span.end - span.start);
        found.or_else(|| {
            self.index
                .definitions
                .iter()
                .find(|(_, d)| touches(&d.span))
                .map(|(id, d)| (d.span, *id))
        })
    }

    /// Where the name at a place is declared.
    #[must_use]
    pub fn definition(&self, at: u32) -> Option<Span> {
        let (_, id) = self.target(at)?;
        Some(self.index.definitions.get(&id)?.span)
    }

    /// Where the thing named at a place is used, its declaration too.
    #[must_use]
    pub fn references(&self, at: u32) -> Vec<Span> {
        let Some((_, id)) = self.target(at) else {
            return Vec::new();
        };
        let declared = self.index.definitions.get(&id).map(|d| d.span);
        let refers = |n: &NodeId| self.checked.references.get(n) == Some(&id);
        let used = self
            .index
            .uses
            .iter()
            .filter(|(_, n)| refers(n))
            .map(|(span, _)| *span);
        let mut list: Vec<Span> = declared.into_iter().chain(used).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    /// What stands at a place.
    #[must_use]
    pub fn hover(&self, at: u32) -> Option<Hover> {
        if let Some((span, id)) = self.target(at)
            && let Some(definition) = self.index.definitions.get(&id)
        {
            let mut code = definition.detail.clone();
            if let Some(ty) = definition.ty.and_then(|ty| self.checked.types.get(&ty)) {
                // What a typedef stands for.
                let shown = self.show(ty);
                if !code.contains(&shown) {
                    code.push_str(&format!(" // {shown}"));
                }
            }
            if let Some(value) = self
                .value_at(span)
                .filter(|_| definition.kind == Kind::Constant)
            {
                code.push_str(&format!(" = {value}"));
            }
            return Some(Hover {
                span,
                code,
                comment: self.comment(definition.full),
            });
        }
        let inside = |span: &Span| span.start <= at && at < span.end;
        let (span, id) = self
            .index
            .expressions
            .iter()
            .filter(|(span, id)| inside(span) && self.checked.types.contains_key(id))
            .min_by_key(|(span, _)| span.end - span.start)?;
        let ty = self.checked.types.get(id).map(|ty| self.show(ty))?;
        let value = self
            .checked
            .constants
            .get(id)
            .map(|c| self.show_constant(c));
        Some(Hover {
            span: *span,
            code: value.map_or(ty.clone(), |value| format!("{ty} = {value}")),
            comment: String::new(),
        })
    }

    fn value_at(&self, span: Span) -> Option<String> {
        let (_, id) = self.index.uses.iter().find(|(s, _)| *s == span)?;
        Some(self.show_constant(self.checked.constants.get(id)?))
    }

    /// The comments on the lines before a declaration, without their marks.
    fn comment(&self, declaration: Span) -> String {
        let Some(file) = self.sources.file(declaration.start) else {
            return String::new();
        };
        let before = &file.text[..(declaration.start - file.start) as usize];
        let above = before.rfind('\n').map_or("", |end| &before[..end]);
        let mut lines: Vec<&str> = Vec::new();
        let mut in_block = false;
        for line in above.lines().rev().take(60) {
            let line = line.trim();
            let ends = line.ends_with("*/");
            if !in_block && !ends && !line.starts_with("//") {
                break;
            }
            in_block = (in_block || ends) && !line.starts_with("/*");
            let text = line
                .trim_start_matches("/*")
                .trim_end_matches("*/")
                .trim_start_matches(['/', '*', '!'])
                .trim();
            lines.push(text);
        }
        lines.reverse();
        lines.join("\n").trim().to_string()
    }

    /// The declarations of the program's own text.
    #[must_use]
    pub fn symbols(&self) -> Vec<Symbol> {
        self.children(None, 0)
    }

    fn children(&self, parent: Option<NodeId>, depth: usize) -> Vec<Symbol> {
        if depth > 8 {
            return Vec::new();
        }
        let own = |d: &Definition| self.own.start <= d.full.start && d.full.start < self.own.end;
        let shown = |d: &Definition| depth == 0 || !matches!(d.kind, Kind::Type | Kind::Variable);
        let mut list: Vec<Symbol> = self
            .index
            .definitions
            .iter()
            .filter(|(_, d)| d.parent == parent && own(d) && shown(d))
            .map(|(id, d)| Symbol {
                name: d.name.to_string(),
                kind: d.kind,
                full: d.full.to(d.span),
                span: d.span,
                children: self.children(Some(*id), depth + 1),
            })
            .collect();
        list.sort_by_key(|s| s.full.start);
        list
    }

    /// A type as P4 writes it.
    #[must_use]
    pub fn show(&self, ty: &Type) -> String {
        let named = |id: &NodeId| {
            self.index
                .definitions
                .get(id)
                .map_or("?".to_string(), |d| d.name.to_string())
        };
        let list = |types: &[Type]| {
            let all: Vec<_> = types.iter().map(|t| self.show(t)).collect();
            all.join(", ")
        };
        match ty {
            Type::Void => "void".into(),
            Type::Bool => "bool".into(),
            Type::Integer => "int".into(),
            Type::Bits(width) => format!("bit<{width}>"),
            Type::Signed(width) => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::String => "string".into(),
            Type::Error => "error".into(),
            Type::MatchKind => "match_kind".into(),
            Type::Composite(id, arguments) | Type::Object(id, arguments) => {
                if arguments.is_empty() {
                    named(id)
                } else {
                    format!("{}<{}>", named(id), list(arguments))
                }
            }
            Type::Enum(id) | Type::New(id) | Type::Parameter(id) => named(id),
            Type::Stack(base, size) => format!("{}[{size}]", self.show(base)),
            Type::Tuple(elements) => format!("tuple<{}>", list(elements)),
            Type::Fields(fields) => {
                let all: Vec<_> = fields
                    .iter()
                    .map(|(name, ty)| format!("{} {name}", self.show(ty)))
                    .collect();
                format!("{{{}}}", all.join("; "))
            }
            Type::List(element) => format!("list<{}>", self.show(element)),
            Type::Set(element) => format!("set<{}>", self.show(element)),
            Type::Name(ty) => self.show(ty),
            Type::Table(id) => format!("table {}", named(id)),
            Type::ApplyResult(id) => format!("{}.apply()", named(id)),
            Type::ActionRun(id) => format!("{}.apply().action_run", named(id)),
            Type::Callable(id) => self
                .index
                .definitions
                .get(id)
                .map_or("function".to_string(), |d| d.detail.clone()),
            Type::State => "state".into(),
            Type::Invalid => "{#}".into(),
            Type::Default => "...".into(),
            Type::Unknown | Type::Variable(_) => "?".into(),
        }
    }

    /// A constant as P4 writes it; larger integers in hexadecimal too.
    #[must_use]
    pub fn show_constant(&self, constant: &Constant) -> String {
        match constant {
            Constant::Bool(value) => value.to_string(),
            Constant::Integer(value) if value.bits() > 7 => format!("{value} ({value:#x})"),
            Constant::Integer(value) => value.to_string(),
            Constant::String(text) => format!("{text:?}"),
            Constant::Member(id) => self
                .index
                .definitions
                .get(id)
                .map_or("?".to_string(), |d| d.name.to_string()),
            Constant::List(list) => {
                let all: Vec<_> = list.iter().map(|c| self.show_constant(c)).collect();
                format!("{{{}}}", all.join(", "))
            }
            Constant::Invalid => "{#}".into(),
        }
    }
}

/// The words that can stand in a program.
fn keywords() -> impl Iterator<Item = &'static str> {
    Keyword::ALL.iter().map(|k| k.text()).filter(|k| *k != "_")
}

#[cfg(test)]
mod tests;
