//! Networks from GraphML, as the Internet Topology Zoo has them.
//!
//! Nodes become switches in the order of the file. A link's rate is what its `LinkSpeedRaw` says, its delay
//! that of light in fibre between the nodes' `Latitude` and `Longitude`, where the file has these.

use super::shapes::{Shape, Tier, Trunk, populate};
use crate::input::InputError;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum number of elements, texts and attributes of one file.
const MAX_XML_NODES: u32 = 4_000_000;
/// Kilometres.
const EARTH: f64 = 6371.0;
/// Of light in fibre, to a kilometre.
const NS_PER_KM: f64 = 4_900.0;

/// Why a file is no network.
#[derive(Debug, thiserror::Error)]
pub(super) enum GraphmlError {
    #[error(transparent)]
    Read(#[from] InputError),
    #[error(transparent)]
    Xml(#[from] roxmltree::Error),
    #[error("not GraphML, but <{0}>")]
    NotGraphml(String),
    #[error("there is no <{0}>")]
    Missing(&'static str),
    #[error("a <{0}> without `{1}`")]
    NoAttribute(&'static str, &'static str),
    #[error("two nodes are called `{0}`")]
    SameName(String),
    #[error("an <edge> leads to `{0}`, which is no node")]
    NoSuchNode(String),
    #[error("more than {0} nodes or links")]
    TooLarge(usize),
}

/// Reads a file.
pub(super) fn read(path: &Path, hosts: usize, most: usize) -> Result<Shape, GraphmlError> {
    parse(&crate::input::text(path)?, hosts, most)
}

fn parse(text: &str, hosts: usize, most: usize) -> Result<Shape, GraphmlError> {
    let options = ParsingOptions {
        nodes_limit: MAX_XML_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)?;
    let root = document.root_element();
    let named = |node: &Node<'_, '_>, name| node.tag_name().name() == name;
    if !named(&root, "graphml") {
        return Err(GraphmlError::NotGraphml(root.tag_name().name().into()));
    }
    // What a file calls its data.
    let keys = root.children().filter(|node| named(node, "key"));
    let keys: BTreeMap<&str, &str> = keys
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
        .collect();
    let data = |node: Node<'_, '_>, name: &str| -> Option<f64> {
        let mut data = node.children().filter(|child| named(child, "data"));
        let found = data.find(|data| {
            let key = data.attribute("key").and_then(|key| keys.get(key));
            key.is_some_and(|key| key.eq_ignore_ascii_case(name))
        })?;
        found
            .text()?
            .trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    };
    let graph = root.children().find(|node| named(node, "graph"));
    let graph = graph.ok_or(GraphmlError::Missing("graph"))?;
    let mut numbers = BTreeMap::new();
    let mut places = Vec::new();
    for node in graph.children().filter(|node| named(node, "node")) {
        let id = node
            .attribute("id")
            .ok_or(GraphmlError::NoAttribute("node", "id"))?;
        if numbers.insert(id, places.len()).is_some() {
            return Err(GraphmlError::SameName(id.into()));
        }
        places.push(data(node, "Latitude").zip(data(node, "Longitude")));
    }
    if places.is_empty() {
        return Err(GraphmlError::Missing("node"));
    }
    let mut trunks = Vec::new();
    for edge in graph.children().filter(|node| named(node, "edge")) {
        let end = |name: &'static str| {
            let id = edge
                .attribute(name)
                .ok_or(GraphmlError::NoAttribute("edge", name))?;
            let number = numbers.get(id).copied();
            number.ok_or_else(|| GraphmlError::NoSuchNode(id.into()))
        };
        let ends = [end("source")?, end("target")?];
        // A switch is not linked to itself.
        if ends[0] == ends[1] {
            continue;
        }
        let rate = data(edge, "LinkSpeedRaw").filter(|rate| *rate >= 1.0);
        let delay = places[ends[0]].zip(places[ends[1]]);
        trunks.push(Trunk {
            ends,
            tier: Tier::Core,
            rate: rate.map(|rate| format!("{} b/s", rate as u64)),
            delay: delay
                .map(|(a, b)| format!("{} ns", (distance(a, b) * NS_PER_KM).round() as u64)),
        });
    }
    populate(places.len(), hosts, trunks, most).ok_or(GraphmlError::TooLarge(most))
}

/// Along the surface, in kilometres.
fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    let [(lat1, lon1), (lat2, lon2)] =
        [a, b].map(|(lat, lon)| (lat.to_radians(), lon.to_radians()));
    let (lat, lon) = ((lat2 - lat1) / 2.0, (lon2 - lon1) / 2.0);
    let h = lat.sin().powi(2) + lat1.cos() * lat2.cos() * lon.sin().powi(2);
    2.0 * EARTH * h.clamp(0.0, 1.0).sqrt().asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZOO: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d36" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d29">40.71427</data><data key="d32">-74.00597</data></node>
    <node id="1"><data key="d29">41.85003</data><data key="d32">-87.65005</data></node>
    <node id="2" />
    <edge source="0" target="1"><data key="d36">10000000000.0</data></edge>
    <edge source="1" target="2" />
    <edge source="2" target="2" />
  </graph>
</graphml>"#;

    #[test]
    fn a_map_of_the_zoo_becomes_switches_and_links() {
        let shape = parse(ZOO, 2, 100).unwrap();
        assert_eq!(
            (shape.switches, shape.hosts.len(), shape.trunks.len()),
            (3, 6, 2)
        );
        assert_eq!(shape.trunks[0].rate.as_deref(), Some("10000000000 b/s"));
        // New York to Chicago: some 1145 km, 5.6 ms.
        let delay = shape.trunks[0].delay.as_deref().unwrap();
        let ns: f64 = delay.strip_suffix(" ns").unwrap().parse().unwrap();
        assert!((5.5e6..5.7e6).contains(&ns), "{delay}");
        assert_eq!(shape.trunks[1].delay, None);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for text in [
            "",
            "<gml/>",
            "<graphml/>",
            "<graphml><graph/></graphml>",
            "<graphml><graph><node/></graph></graphml>",
            "<graphml><graph><node id='a'/><node id='a'/></graph></graphml>",
            "<graphml><graph><node id='a'/><edge source='a' target='b'/></graph></graphml>",
        ] {
            assert!(parse(text, 1, 100).is_err(), "{text}");
        }
    }
}
