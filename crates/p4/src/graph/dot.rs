//! As text for Graphviz.

use super::{Graph, Shape};
use alloc::format;
use alloc::string::String;
use core::fmt::Write;

/// All graphs as one directed graph with a cluster each.
#[must_use]
pub fn dot(graphs: &[Graph]) -> String {
    let mut out = String::from(
        "digraph program {\n  node [fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", fontsize=9];\n",
    );
    for (g, graph) in graphs.iter().enumerate() {
        let _ = writeln!(
            out,
            "  subgraph cluster_{g} {{\n    label={};",
            quoted(&format!("{} {}", graph.kind, graph.name))
        );
        for (n, node) in graph.nodes.iter().enumerate() {
            let shape = match node.shape {
                Shape::Start | Shape::End | Shape::Stop => "oval",
                Shape::Condition => "diamond",
                Shape::State | Shape::Table | Shape::Action => "box",
            };
            let mut text = node.title.clone();
            for line in &node.lines {
                text.push('\n');
                text.push_str(if line == "-" { "────" } else { line });
            }
            let text = quoted(text.trim_start());
            let _ = writeln!(out, "    n{g}_{n} [shape={shape}, label={text}];");
        }
        for edge in &graph.edges {
            let label = quoted(&edge.label);
            let (from, to) = (edge.from, edge.to);
            let _ = writeln!(out, "    n{g}_{from} -> n{g}_{to} [label={label}];");
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
