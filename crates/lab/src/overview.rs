//! The network of a lab as data, for programs that draw it.

use crate::diagram::layout;
use crate::host_names;
use crate::plan::Lab;
use node::{Rate, Time};

/// A node of a lab.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeOverview<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its kind, such as `host`.
    pub kind: &'a str,
    /// Its number of ports.
    pub ports: usize,
    /// Its addresses in the file.
    pub addresses: Vec<String>,
    /// Whether [`Session::ping`](crate::Session::ping) can send pings from it.
    pub pings: bool,
    /// Its place in a drawing, x and y, in units of a node's width and height.
    pub place: (f64, f64),
}

/// A link of a lab. Each pair is by end: the end itself, or the direction from it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOverview<'a> {
    /// Indices of its nodes.
    pub nodes: [usize; 2],
    /// Names of its ports, such as `h1.0`.
    pub names: [&'a str; 2],
    /// Rates; `None` without limit.
    pub rate: [Option<Rate>; 2],
    /// Propagation delays.
    pub delay: [Time; 2],
    /// Queue disciplines by their names; `None` for the plain queue.
    pub queue: [Option<&'static str>; 2],
}

impl Lab {
    /// The nodes, in the order of the file, with places that keep neighbours together.
    pub fn node_overviews(&self) -> Vec<NodeOverview<'_>> {
        let ends = self.links.iter().map(|plan| plan.link.ends);
        let links: Vec<(usize, usize)> = ends.map(|[a, b]| (a.node.0, b.node.0)).collect();
        let layout = layout::layout(self.nodes.len(), &links);
        let nodes = self.nodes.iter().zip(layout.places);
        nodes
            .map(|(plan, place)| NodeOverview {
                name: &plan.name,
                kind: &plan.kind.name,
                ports: plan.planned.properties.ports,
                addresses: host_names::all_addresses(&plan.config)
                    .map(|address| address.to_string())
                    .collect(),
                pings: plan.kind.pings,
                place,
            })
            .collect()
    }

    /// The links, in the order of the file.
    pub fn link_overviews(&self) -> impl Iterator<Item = LinkOverview<'_>> {
        self.links.iter().map(|plan| LinkOverview {
            nodes: plan.link.ends.map(|end| end.node.0),
            names: plan.names.each_ref().map(String::as_str),
            rate: plan.link.channels.each_ref().map(|channel| channel.rate),
            delay: plan.link.channels.each_ref().map(|channel| channel.delay),
            queue: plan
                .disciplines
                .each_ref()
                .map(|config| config.as_ref().map(|config| config.name())),
        })
    }
}
