//! A parser's states.

use super::{Graph, MAX_NODES, Shape, shortened};
use crate::ast::{Expression, ExpressionKind, Parser, State, Statement, StatementKind, Transition};
use crate::print;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Maximum number of lines of a box for a state.
const MAX_LINES: usize = 8;

pub(super) fn graph(parser: &Parser) -> Graph {
    let mut graph = Graph {
        name: parser.name.text.to_string(),
        kind: "parser",
        ..Graph::default()
    };
    let mut known: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    let start = parser.states.iter().filter(|s| &*s.name.text == "start");
    let others = parser.states.iter().filter(|s| &*s.name.text != "start");
    let states: Vec<&State> = start.chain(others).take(MAX_NODES).collect();
    for state in &states {
        let node = graph.node(Shape::State, &*state.name.text, lines(state));
        known.entry(state.name.text.clone()).or_insert(node);
    }
    for (from, state) in states.iter().enumerate() {
        let mut arrow = |name: &Arc<str>, label: &str| {
            let to = known.get(name).copied().unwrap_or_else(|| {
                let shape = if &**name == "accept" {
                    Shape::End
                } else {
                    Shape::Stop
                };
                let node = graph.node(shape, &**name, Vec::new());
                known.insert(name.clone(), node);
                node
            });
            graph.edge(from, to, label);
        };
        match &state.transition {
            Some(Transition::Direct(next)) => arrow(&next.name.text, ""),
            Some(Transition::Select { cases, .. }) => {
                for case in cases {
                    arrow(&case.next.name.text, &label(&case.keyset));
                }
            }
            None => arrow(&"reject".into(), ""),
        }
    }
    graph
}

/// A keyset as an arrow shows it.
fn label(keyset: &Expression) -> String {
    match &keyset.kind {
        ExpressionKind::Default | ExpressionKind::DontCare => "default".into(),
        ExpressionKind::List { elements, .. } => {
            let all: Vec<_> = elements.iter().map(value).collect();
            shortened(&all.join(", "))
        }
        _ => shortened(&value(keyset)),
    }
}

/// A value; larger integers as people know them, in hexadecimal.
fn value(expression: &Expression) -> String {
    match &expression.kind {
        ExpressionKind::Integer { value, .. } if value.bits() > 7 => format!("{value:#x}"),
        ExpressionKind::Integer { value, .. } => value.to_string(),
        ExpressionKind::Mask { value: v, mask } => format!("{} &&& {}", value(v), value(mask)),
        ExpressionKind::Range { low, high } => format!("{} .. {}", value(low), value(high)),
        _ => print::expression(expression),
    }
}

fn lines(state: &State) -> Vec<String> {
    let mut out = Vec::new();
    for statement in &state.statements {
        collect(statement, &mut out);
    }
    if out.len() > MAX_LINES {
        let more = out.len() - (MAX_LINES - 1);
        out.truncate(MAX_LINES - 1);
        out.push(format!("… {more} more"));
    }
    if let Some(Transition::Select { selectors, .. }) = &state.transition {
        if !out.is_empty() {
            out.push("-".into());
        }
        let all: Vec<_> = selectors.iter().map(print::expression).collect();
        out.push(shortened(&format!("select {}", all.join(", "))));
    }
    out
}

fn collect(statement: &Statement, out: &mut Vec<String>) {
    match &statement.kind {
        StatementKind::Call(call) => out.push(shortened(&extract(call))),
        StatementKind::Assign { target, value, .. } => out.push(shortened(&format!(
            "{} = {}",
            print::expression(target),
            print::expression(value)
        ))),
        StatementKind::Block(block) => block.statements.iter().for_each(|s| collect(s, out)),
        StatementKind::If {
            branches,
            otherwise,
        } => {
            for branch in branches {
                let condition = print::expression(&branch.condition);
                out.push(shortened(&format!("if {condition}")));
                collect(&branch.body, out);
            }
            if let Some(otherwise) = otherwise {
                collect(otherwise, out);
            }
        }
        _ => {}
    }
}

/// `extract hdr.ethernet` for a call of `extract`, whatever the packet is called.
fn extract(call: &Expression) -> String {
    if let ExpressionKind::Call {
        callee, arguments, ..
    } = &call.kind
        && let ExpressionKind::Member { member, .. } = &callee.kind
        && &*member.text == "extract"
    {
        let all: Vec<_> = arguments
            .iter()
            .map(|a| print::expression(&a.value))
            .collect();
        return format!("extract {}", all.join(", "));
    }
    print::expression(call)
}
