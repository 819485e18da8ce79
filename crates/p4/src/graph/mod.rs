//! Pictures of programs: of each parser its states and what leads from one to the next, of each control which tables, conditions and
//! actions follow one another. As SVG with a layout of its own, and as text for Graphviz.

mod control;
mod dot;
mod layout;
mod parser;
mod svg;

use crate::ast::{Declaration, DeclarationKind, Program};
use crate::source::Sources;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use dot::dot;
pub use svg::svg;

/// Maximum number of boxes of a graph.
pub const MAX_NODES: usize = 2000;

/// Meaning of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Where it begins.
    Start,
    /// Where it ends well: `accept`, or a control's end.
    End,
    /// `reject`, `exit`.
    Stop,
    /// A parser's state.
    State,
    /// A table with its keys and actions.
    Table,
    Condition,
    /// Statements.
    Action,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it stands for.
    pub shape: Shape,
    /// Its name; may be empty.
    pub title: String,
    /// What stands in it. A line that begins with `-` is a rule between two parts.
    pub lines: Vec<String>,
}

/// An arrow between two boxes, by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// When it is gone; may be empty.
    pub label: String,
}

/// One parser or control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Its name in the program.
    pub name: String,
    /// `parser` or `control`.
    pub kind: &'static str,
    /// The boxes; the first is where it begins.
    pub nodes: Vec<Node>,
    /// The arrows.
    pub edges: Vec<Edge>,
}

impl Graph {
    fn node(&mut self, shape: Shape, title: impl Into<String>, lines: Vec<String>) -> usize {
        self.nodes.push(Node {
            shape,
            title: title.into(),
            lines,
        });
        self.nodes.len() - 1
    }

    /// An arrow; several between the same two boxes become one.
    fn edge(&mut self, from: usize, to: usize, label: &str) {
        let same = |e: &&mut Edge| e.from == from && e.to == to;
        match self.edges.iter_mut().rev().take(64).find(same) {
            Some(edge) if edge.label.is_empty() || label.is_empty() => edge.label.clear(),
            Some(edge) => {
                edge.label.push('\n');
                edge.label.push_str(label);
            }
            None => self.edges.push(Edge {
                from,
                to,
                label: label.to_string(),
            }),
        }
    }
}

/// The parsers and controls that the program's own file declares, in the order of the text, or the one of the given name, wherever it is declared.
/// Those that do nothing are left out, unless asked for.
#[must_use]
pub fn graphs(program: &Program, sources: &Sources, name: Option<&str>) -> Vec<Graph> {
    let own = sources.files().iter().find(|f| !f.name.starts_with('<'));
    let in_own = |declaration: &&Declaration| {
        sources.file(declaration.span.start).map(|f| f.start) == own.map(|f| f.start)
    };
    let mut list = Vec::new();
    for declaration in program.declarations.iter() {
        let graph = match &declaration.kind {
            DeclarationKind::Parser(parser) => parser::graph(parser),
            DeclarationKind::Control(control) => control::graph(control),
            _ => continue,
        };
        let wanted = match name {
            Some(name) => graph.name == name,
            None => in_own(&declaration) && graph.nodes.len() > 2,
        };
        if wanted {
            list.push(graph);
        }
    }
    list
}

/// Cut to a width that fits into a box.
fn shortened(text: &str) -> String {
    const MAX_LABEL_CHARS: usize = 56;
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    if text.chars().count() <= MAX_LABEL_CHARS {
        return text;
    }
    let mut out: String = text.chars().take(MAX_LABEL_CHARS - 1).collect();
    out.push('…');
    out
}

#[cfg(test)]
mod tests;
