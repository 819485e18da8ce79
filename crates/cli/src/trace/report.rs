//! Report of a trace: a table of interfaces, the links as a tree, JSON Lines, and Graphviz.

use super::{Trace, Tracer};
use crate::output::{Buffering, Output};
use crate::ping::accuracy::Accuracy;
use crate::ping::route::Route;
use ::trace::graph::{Hop, Vertex};
use ::trace::tracer::InterfaceStats;
use anyhow::Context;
use live::port::pace::Watch;
use live::port::{PortInfo, Stamps};
use node::{Node, Time};
use packet::word::Tick;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// A report in progress.
pub struct Report {
    stdout: Output,
    tick: Tick,
    stamps: Stamps,
    json: bool,
    dot: Option<PathBuf>,
}

impl Report {
    /// Begins it.
    pub fn new(command: &Trace, info: &PortInfo, route: &Route) -> anyhow::Result<Report> {
        let mut report = Report {
            stdout: Output::open(&Buffering::default())?,
            tick: info.tick,
            stamps: info.stamps,
            json: command.json,
            dot: command.dot.clone(),
        };
        if !report.json {
            let (target, source, port) = (command.target, route.source, &info.name);
            let line = format!(
                "trace {target} from {source} by {port}: {:?}, at most {} probes/s",
                command.protocol, command.rate
            );
            report.line(&line.to_lowercase())?;
            report.stdout.flush()?;
        }
        Ok(report)
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        self.stdout.write(format!("{line}\n").as_bytes())?;
        Ok(())
    }

    /// Writes the results.
    pub fn end(mut self, node: &Tracer, watch: &Watch) -> anyhow::Result<()> {
        let accuracy = Accuracy::new(self.tick, self.stamps, watch);
        match self.json {
            true => self.objects(node, &accuracy)?,
            false => self.text(node, &accuracy)?,
        }
        self.stdout.finish()?;
        if let Some(path) = &self.dot {
            std::fs::write(path, dot(node))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn text(&mut self, node: &Tracer, accuracy: &Accuracy) -> anyhow::Result<()> {
        if !node.is_resolved() {
            return self.line("no probe was sent: the router or the target does not answer to ARP or neighbour discovery; give the router with --via");
        }
        let vertices = node.graph().hops().flat_map(|(_, hop)| &hop.vertices);
        let width = vertices
            .map(|one| name(one).len())
            .max()
            .unwrap_or(0)
            .max(9);
        self.line(&format!(
            "hop  {:width$}  probes   loss     best     mean    worst  [us]",
            "interface"
        ))?;
        for (ttl, hop) in node.graph().hops() {
            for (index, vertex) in hop.vertices.iter().enumerate() {
                let stats = node.interface_stats(ttl, index);
                let number = if index == 0 {
                    ttl.to_string()
                } else {
                    String::new()
                };
                let mut line = format!("{number:>3}  {:width$}  {}", name(vertex), row(&stats));
                line += &remarks(hop, &stats);
                self.line(line.trim_end())?;
            }
        }
        if node.graph().hops().any(|(_, hop)| hop.vertices.len() > 1) {
            self.line("links:")?;
            for line in tree(node) {
                self.line(&line)?;
            }
        }
        let mut line = format!("{} probes", node.sent());
        if node.ignored() > 0 {
            line += &format!(", {} answers to other probes", node.ignored());
        }
        if !node.is_reached() {
            line += ", the target did not answer";
        }
        if node.discovery().is_incomplete() {
            line += ", incomplete: too many flows or interfaces";
        }
        self.line(&line)?;
        self.line(&accuracy.bound())
    }

    fn objects(&mut self, node: &Tracer, accuracy: &Accuracy) -> anyhow::Result<()> {
        let graph = node.graph();
        for (ttl, hop) in graph.hops() {
            for (index, vertex) in hop.vertices.iter().enumerate() {
                let line = interface(ttl, hop, vertex, &node.interface_stats(ttl, index));
                self.line(&line.to_string())?;
            }
            for [from, to] in links(node, ttl) {
                let line = json_line!("trace", "link", {
                    "ttl": ttl,
                    "from": from.address,
                    "to": to.address,
                });
                self.line(&line.to_string())?;
            }
        }
        let mut counters = json!({});
        for (name, value) in node.statistics().counters {
            counters[name] = json!(value);
        }
        let line = json_line!("trace", "trace", {
            "target": node.config().target,
            "counters": counters,
            "tick_ps": self.tick.as_ps(),
            "departure_stamps": accuracy.departure(),
            "arrival_stamps": accuracy.arrival.name(),
            "stamped_departures": accuracy.stamped,
            "departures": accuracy.marks,
            "error_bound_ns": accuracy.bound_ns(),
        });
        self.line(&line.to_string())
    }
}

/// Address of a vertex, or `*`.
fn name(vertex: &Vertex) -> String {
    let address = vertex.address.map(|address| address.to_string());
    address.unwrap_or_else(|| "*".into())
}

/// Probes, loss and round trips in columns.
fn row(stats: &InterfaceStats) -> String {
    let loss = match stats.probes {
        0 => 0.0,
        probes => stats.lost() as f64 * 100.0 / probes as f64,
    };
    let mut row = format!("{:>6} {loss:>5.1}%", stats.probes);
    if let Some(mean) = stats.mean() {
        for time in [stats.min, mean, stats.max] {
            let _ = write!(row, " {:>8.1}", time.as_ps() as f64 / 1e6);
        }
    }
    row
}

/// Peculiarities of an interface.
fn remarks(hop: &Hop, stats: &InterfaceStats) -> String {
    let mut text = String::new();
    for label in stats.labels.entries() {
        let _ = write!(text, "  MPLS {}", label.label);
    }
    if let Some(code) = stats.unreachable {
        let _ = write!(text, "  unreachable, code {code}");
    }
    if hop.per_packet {
        text += "  load balancing packet by packet";
    }
    text
}

fn interface(ttl: u8, hop: &Hop, vertex: &Vertex, stats: &InterfaceStats) -> Value {
    let ns = |time: Time| time.as_ps() as f64 / 1e3;
    let mut rtt = json!({});
    if let Some(mean) = stats.mean() {
        rtt = json!({ "min": ns(stats.min), "mean": ns(mean), "max": ns(stats.max) });
    }
    let labels = stats.labels.entries().iter();
    let labels: Vec<Value> = labels
        .map(|one| json!({ "label": one.label, "class": one.class, "ttl": one.ttl }))
        .collect();
    json_line!("trace", "interface", {
        "ttl": ttl,
        "address": vertex.address,
        "end": vertex.is_end,
        "probes": stats.probes,
        "lost": stats.lost(),
        "rtt_ns": rtt,
        "mpls": labels,
        "unreachable_code": stats.unreachable,
        "per_packet": hop.per_packet,
    })
}

/// Links into a hop.
fn links(node: &Tracer, ttl: u8) -> Vec<[Vertex; 2]> {
    let graph = node.graph();
    let before = ttl.checked_sub(1).and_then(|before| graph.hop(before));
    let (Some(before), Some(hop)) = (before, graph.hop(ttl)) else {
        return Vec::new();
    };
    let all = graph.links(ttl).into_iter();
    all.map(|(from, to)| {
        [
            before.vertices[usize::from(from)],
            hop.vertices[usize::from(to)],
        ]
    })
    .collect()
}

/// Each interface under one that leads to it; its own successors follow where it is first.
fn tree(node: &Tracer) -> Vec<String> {
    let mut lines = Vec::new();
    let mut shown = BTreeSet::new();
    let Some((first, hop)) = node.graph().hops().next() else {
        return lines;
    };
    for index in 0..hop.vertices.len() {
        branch(node, first, index, 1, &mut shown, &mut lines);
    }
    lines
}

fn branch(
    node: &Tracer,
    ttl: u8,
    index: usize,
    depth: usize,
    shown: &mut BTreeSet<(u8, usize)>,
    lines: &mut Vec<String>,
) {
    let Some(hop) = node.graph().hop(ttl) else {
        return;
    };
    let links = node.graph().links(ttl + 1);
    let next = links.iter().filter(|(from, _)| usize::from(*from) == index);
    let next: Vec<usize> = next.map(|(_, to)| usize::from(*to)).collect();
    let is_new = shown.insert((ttl, index));
    let more = if is_new || next.is_empty() {
        ""
    } else {
        " ..."
    };
    let indent = "  ".repeat(depth);
    lines.push(format!("{indent}{}{more}", name(&hop.vertices[index])));
    if is_new {
        for to in next {
            branch(node, ttl + 1, to, depth + 1, shown, lines);
        }
    }
}

/// The graph in the language of Graphviz.
fn dot(node: &Tracer) -> String {
    let mut text = String::from("digraph trace {\n  rankdir=LR;\n");
    let graph = node.graph();
    for (ttl, hop) in graph.hops() {
        for (index, vertex) in hop.vertices.iter().enumerate() {
            let _ = writeln!(text, "  \"{ttl}-{index}\" [label=\"{}\"];", name(vertex));
        }
        for (from, to) in graph.links(ttl) {
            let _ = writeln!(text, "  \"{}-{from}\" -> \"{ttl}-{to}\";", ttl - 1);
        }
    }
    text + "}\n"
}
