//! A network as data: nodes, and the links between their ports.

use crate::link::Level;
use crate::{Channel, Node, OscillatorError, Port, Properties, Rate, Sublayer};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// A node's place in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: Port,
}

/// A full-duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    /// The two ends.
    pub ends: [End; 2],
    /// What carries frames from `ends[0]`, and what carries them from `ends[1]`.
    pub channels: [Channel; 2],
}

/// A node and its name.
pub struct Member {
    /// Unique in the graph.
    pub name: String,
    /// The packet function.
    pub node: Box<dyn Node>,
}

/// Nodes and links; what a world runs.
#[derive(Default)]
pub struct Graph {
    /// The nodes; a [`NodeId`] is an index here.
    pub members: Vec<Member>,
    /// The links, in the order in which they were made.
    pub links: Vec<Link>,
    /// What works below some of the nodes, on their links at the level of blocks; at most one for each node.
    pub sublayers: Vec<(NodeId, Box<dyn Sublayer>)>,
}

/// What is wrong with a graph. Links are named by their index, nodes by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two nodes have one name.
    #[error("two nodes are called `{0}`; give one of them another name")]
    DuplicateName(String),
    /// A link's end is at a port that the node does not have.
    #[error("`{node}` has {ports} port(s), counted from 0: there is no `{node}.{port}`")]
    NoSuchPort {
        /// The link.
        link: usize,
        /// The node's name.
        node: String,
        /// The port asked for.
        port: Port,
        /// How many it has.
        ports: usize,
    },
    /// A port with two links.
    #[error("port `{node}.{port}` has two links; a port takes one")]
    PortUsedTwice {
        /// The first link at the port.
        first: usize,
        /// The second.
        second: usize,
        /// The node's name.
        node: String,
        /// The port.
        port: Port,
    },
    /// A port with no link.
    #[error(
        "port `{node}.{port}` is not connected; add a link to it, or make the node with fewer ports"
    )]
    Unconnected {
        /// The node's index.
        member: usize,
        /// The node's name.
        node: String,
        /// The port.
        port: Port,
    },
    /// A link at the level of blocks that no 10GBASE-R is.
    #[error("{fault}")]
    Blocks {
        /// The link.
        link: usize,
        /// What is wrong.
        fault: BlocksFault,
    },
    /// Times without a link that are not in order.
    #[error(
        "link {link} is down at times that are not in order; each shall end behind its beginning and before the next"
    )]
    Down {
        /// The link.
        link: usize,
    },
    /// A queue that holds nothing: no frame could ever pass while another leaves.
    #[error("a queue of 0 holds no frame; give it room for at least one")]
    NoQueue {
        /// The link.
        link: usize,
    },
}

/// What is wrong with a link at the level of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlocksFault {
    /// Another rate than 10 Gb/s.
    #[error("a link at the level of blocks is 10GBASE-R: its rate is 10 Gb/s, not another")]
    Rate,
    /// A gap that cannot be coded: with less the terminate and the next start would share a block.
    #[error("a link at the level of blocks has a gap of at least 8 bytes")]
    Gap,
    /// An oscillator.
    #[error("{0}")]
    Oscillator(OscillatorError),
}

/// Minimum inter-frame gap of links at the level of blocks, bytes. The deficit idle count makes
/// gaps of 5 to 11 bytes of it, which can always be encoded.
pub const MIN_BLOCK_GAP: u32 = 8;

impl Channel {
    /// Whether there can be such a link at the level of blocks; `Ok` for one at the level of frames.
    ///
    /// # Errors
    /// The first fault.
    pub fn check_blocks(&self) -> Result<(), BlocksFault> {
        let Level::Block(clocks) = &self.level else {
            return Ok(());
        };
        if self.rate != Some(Rate::TEN_GIGABIT) {
            return Err(BlocksFault::Rate);
        }
        if self.gap < MIN_BLOCK_GAP {
            return Err(BlocksFault::Gap);
        }
        let ends = [&clocks.sender, &clocks.receiver];
        let mut checks = ends.into_iter().map(|clock| clock.check());
        checks
            .find_map(Result::err)
            .map_or(Ok(()), |error| Err(BlocksFault::Oscillator(error)))
    }
}

impl Graph {
    /// Adds a node.
    pub fn add(&mut self, name: impl Into<String>, node: Box<dyn Node>) -> NodeId {
        self.members.push(Member {
            name: name.into(),
            node,
        });
        NodeId(self.members.len() - 1)
    }

    /// Joins two ports by a link that is the same in both directions, and returns its index.
    pub fn connect(&mut self, a: (NodeId, u16), b: (NodeId, u16), channel: Channel) -> usize {
        let end = |(node, port)| End {
            node,
            port: Port(port),
        };
        self.links.push(Link {
            ends: [end(a), end(b)],
            channels: [channel.clone(), channel],
        });
        self.links.len() - 1
    }

    /// The [seed](Channel::seed_of) of one direction of a link in a run: 0 is the way from `ends[0]`, 1 the way back.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn link_seed(&self, run: u64, link: usize, direction: usize) -> u64 {
        let Link { ends, channels } = &self.links[link];
        let port = |end: End| (&self.members[end.node.0].name[..], end.port);
        channels[direction].seed_of(run, port(ends[direction]), port(ends[1 - direction]))
    }

    /// Finds everything that is wrong with the graph, in order of place.
    ///
    /// # Errors
    /// All that were found; never an empty list.
    ///
    /// # Panics
    /// When a link names a [`NodeId`] that did not come from this graph's [`add`](Graph::add).
    pub fn check(&self) -> Result<(), Vec<GraphError>> {
        let members = self.members.iter();
        let members = members.map(|member| (member.name.as_str(), member.node.properties()));
        check(&members.collect::<Vec<_>>(), &self.links)
    }
}

/// Finds everything that is wrong with a graph of nodes with these names and properties, which need not be made yet.
///
/// # Errors
/// All that were found, in order of place; never an empty list.
///
/// # Panics
/// When a link names a node that is not there.
pub fn check(members: &[(&str, Properties)], links: &[Link]) -> Result<(), Vec<GraphError>> {
    let mut errors = Vec::new();
    let mut names = BTreeMap::new();
    for &(name, _) in members {
        if names.insert(name, ()).is_some() {
            errors.push(GraphError::DuplicateName(name.into()));
        }
    }
    let mut used = BTreeMap::new();
    for (index, link) in links.iter().enumerate() {
        for end in link.ends {
            let (name, Properties { ports, .. }) = members[end.node.0];
            let (node, port) = (String::from(name), end.port);
            if end.port.index() >= ports {
                errors.push(GraphError::NoSuchPort {
                    link: index,
                    node,
                    port,
                    ports,
                });
            } else if let Some(first) = used.insert(end, index) {
                errors.push(GraphError::PortUsedTwice {
                    first,
                    second: index,
                    node,
                    port,
                });
            }
        }
        if link.channels.iter().any(|channel| channel.queue.is_zero()) {
            errors.push(GraphError::NoQueue { link: index });
        }
        if !link.channels.iter().all(Channel::is_down_in_order) {
            errors.push(GraphError::Down { link: index });
        }
        let faults = link.channels.iter().map(Channel::check_blocks);
        if let Some(fault) = faults.filter_map(Result::err).next() {
            errors.push(GraphError::Blocks { link: index, fault });
        }
    }
    for (index, (name, properties)) in members.iter().enumerate() {
        if properties.may_lack_links {
            continue;
        }
        for port in 0..properties.ports {
            let port = Port(port as u16);
            if !used.contains_key(&End {
                node: NodeId(index),
                port,
            }) {
                let node = String::from(*name);
                errors.push(GraphError::Unconnected {
                    member: index,
                    node,
                    port,
                });
            }
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Out, Time};

    struct Ports(usize);
    impl Node for Ports {
        fn properties(&self) -> Properties {
            Properties::of(self.0)
        }
        fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
            frames.drain(..).for_each(|frame| out.drop(frame, "test"));
        }
    }

    #[test]
    fn every_fault_of_a_graph_is_found_in_one_go() {
        let mut graph = Graph::default();
        let a = graph.add("a", Box::new(Ports(1)));
        let b = graph.add("b", Box::new(Ports(2)));
        graph.add("a", Box::new(Ports(0)));
        graph.connect((a, 0), (b, 0), Channel::default());
        graph.connect((a, 0), (b, 7), Channel::default());
        let errors = graph.check().unwrap_err();
        assert_eq!(errors[0], GraphError::DuplicateName("a".into()));
        assert!(matches!(
            errors[1],
            GraphError::PortUsedTwice {
                first: 0,
                second: 1,
                ..
            }
        ));
        assert!(matches!(
            errors[2],
            GraphError::NoSuchPort {
                link: 1,
                ports: 2,
                ..
            }
        ));
        assert!(matches!(
            errors[3],
            GraphError::Unconnected {
                member: 1,
                port: Port(1),
                ..
            }
        ));
        assert_eq!(errors.len(), 4);
    }
}
