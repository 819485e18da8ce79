//! Tables of a trace, as texts.

use super::{InterfaceStats, Trace};
use crate::graph::Vertex;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use node::outcome::Table;

pub(super) fn tables(trace: &Trace) -> Vec<Table> {
    let graph = trace.graph();
    let (mut entries, mut links) = (Vec::new(), Vec::new());
    for (ttl, hop) in graph.hops() {
        for (index, vertex) in hop.vertices.iter().enumerate() {
            let mut line = format!("{ttl:>2} {}", name(vertex));
            line += &figures(&trace.interface_stats(ttl, index));
            if hop.per_packet {
                line += ", load balancing packet by packet";
            }
            entries.push(line);
        }
        let before = graph.hop(ttl.saturating_sub(1));
        for (from, to) in graph.links(ttl) {
            let from = before.map(|hop| name(&hop.vertices[usize::from(from)]));
            let to = name(&hop.vertices[usize::from(to)]);
            links.push(format!(
                "{} {} -> {ttl} {to}",
                ttl - 1,
                from.unwrap_or_default()
            ));
        }
    }
    let table = |name: &str, entries| Table {
        name: name.to_string(),
        entries,
    };
    [table("trace", entries), table("links", links)].into()
}

/// Address of a vertex, or `*`.
fn name(vertex: &Vertex) -> String {
    match vertex.address {
        Some(address) => address.to_string(),
        None => String::from("*"),
    }
}

fn figures(stats: &InterfaceStats) -> String {
    let Some(mean) = stats.mean() else {
        return format!(": {} probes, no answer", stats.probes);
    };
    let mut text = format!(
        ": {} probes, {} lost, round trip min {} mean {mean} max {}",
        stats.probes,
        stats.lost(),
        stats.min,
        stats.max
    );
    for label in stats.labels.entries() {
        text += &format!(", MPLS label {}", label.label);
    }
    if let Some(code) = stats.unreachable {
        text += &format!(", unreachable (code {code})");
    }
    text
}
