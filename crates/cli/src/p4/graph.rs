//! `wire p4 graph`: pictures of programs.

use super::source::{Reading, told};
use crate::Verdict;
use crate::output::{Buffering, Output};
use anyhow::Context;
use confine::Permissions;
use p4::compile::{Compiled, read};
use p4::graph::{dot, graphs, svg};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Draw a program's parsers and controls
///
/// A parser's picture has its states, what they extract and the values that lead from one to the next; a control's has its tables with keys and
/// actions, its conditions, and what follows what.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire p4 graph router.p4 -o router.svg")]
pub struct Graph {
    /// The program, `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Where to, by the name's end as SVG or as text for Graphviz (.dot, .gv); else SVG to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only this parser or control
    #[arg(long, value_name = "NAME")]
    section: Option<String>,
    /// The boxes and arrows as JSON, a line for each parser and control
    #[arg(long)]
    json: bool,
}

impl Graph {
    /// Draws it.
    pub fn run(self) -> anyhow::Result<Verdict> {
        confine::reader(Permissions {
            writes: true,
            ..Permissions::default()
        })?;
        let name = self.file.display().to_string();
        let text = ::capture::file::text(&self.file).with_context(|| name.clone())?;
        let mut compiled = Compiled::default();
        let program = read(
            &name,
            &text,
            &mut self.reading.includes(),
            &self.reading.options(),
            &mut compiled,
        );
        if compiled.diagnostics.failed() {
            eprint!("{}", told(&compiled));
            return Ok(Verdict::Failed);
        }
        let found = graphs(&program, &compiled.sources, self.section.as_deref());
        if found.is_empty() {
            match &self.section {
                Some(section) => anyhow::bail!("{name} has no parser or control {section}"),
                None => anyhow::bail!("{name} has no parser or control that does anything"),
            }
        }
        let is_dot = |path: &Path| {
            path.extension()
                .is_some_and(|end| end == "dot" || end == "gv")
        };
        let picture = if self.json {
            let lines = found.iter().map(|graph| {
                let nodes = graph.nodes.iter().map(|node| {
                    json!({
                        "shape": format!("{:?}", node.shape).to_lowercase(),
                        "title": node.title,
                        "lines": node.lines.iter().filter(|l| *l != "-").collect::<Vec<_>>(),
                    })
                });
                let edges = graph
                    .edges
                    .iter()
                    .map(|edge| json!({ "from": edge.from, "to": edge.to, "label": edge.label }));
                let line = json_line!("p4", "graph", {
                    "kind": graph.kind,
                    "name": graph.name,
                    "nodes": nodes.collect::<Vec<_>>(),
                    "edges": edges.collect::<Vec<_>>(),
                });
                format!("{line}\n")
            });
            lines.collect()
        } else if self.output.as_deref().is_some_and(is_dot) {
            dot(&found)
        } else {
            svg(&found).with_context(|| {
                format!("{name} is too large for one picture; choose a part of it with --section")
            })?
        };
        match &self.output {
            Some(path) => {
                ::capture::output::apart(path, [self.file.as_path()])?;
                ::capture::output::replace(path, picture.as_bytes())?;
            }
            None => {
                let mut stdout = Output::open(&Buffering::default())?;
                stdout.write(picture.as_bytes())?;
                stdout.finish()?;
            }
        }
        Ok(Verdict::Good)
    }
}
