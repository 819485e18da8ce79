//! Namespaces and veth pairs for a graph.

use crate::netns::{Namespace, NetnsError, VethEnd, veth};
use crate::port::{Options, Port};
use crate::raw;
use node::frame::LONGEST;
use node::{End, Graph};

use super::WorldError;

/// The wires of a graph; they go with this value, or with the process.
pub struct Wires {
    /// One for each node.
    namespaces: Vec<Namespace>,
}

impl Wires {
    /// Makes a namespace for each node and a veth pair for each link. A port's interface is called
    /// `p` and its number.
    pub fn make(graph: &Graph) -> Result<Wires, NetnsError> {
        let namespaces = graph.members.iter().map(|_| Namespace::new());
        let namespaces: Vec<Namespace> = namespaces.collect::<Result<_, _>>()?;
        for link in &graph.links {
            let names = link.ends.map(name);
            let end = |side: usize| VethEnd {
                namespace: &namespaces[link.ends[side].node.0],
                name: &names[side],
                mac: None,
            };
            veth([end(0), end(1)], LONGEST as u32)?;
        }
        Ok(Wires { namespaces })
    }

    /// Opens the port at one end of a link.
    pub fn open(&self, end: End) -> Result<Port, WorldError> {
        let port =
            self.namespaces[end.node.0].enter(|| raw::open(&name(end), &Options::default()))?;
        Ok(port?)
    }
}

fn name(end: End) -> String {
    format!("p{}", end.port)
}
