//! What only the whole graph shows: every node as it says it is, every port with one link.

use crate::fault::Fault;
use crate::file::{ENOUGH, Reader};
use crate::kinds::Context;
use crate::plan::Lab;
use node::{Frame, Graph, GraphError, Node, Out, Port, Rate, Time};

/// The most ports of all nodes together.
const MOST_PORTS: usize = 200_000;

impl Reader {
    /// Makes the graph once, to find what is wrong with nodes and ports.
    pub(crate) fn check(&mut self, lab: &Lab) {
        let mut graph = Graph::default();
        let mut all = 0;
        // Nodes that pass frames on before they are in.
        let mut early = Vec::new();
        for plan in &lab.nodes {
            match plan.kind.make(&plan.config, Context::default()) {
                Ok(node) => {
                    let ports = node.ports();
                    all += ports;
                    if node.needs().is_some() {
                        early.push(graph.members.len());
                    }
                    graph.add(
                        plan.name.clone(),
                        Box::new(Ports(ports, node.may_lack_links())),
                    );
                }
                Err(mut fault) => {
                    if fault.span == plan.config.span {
                        fault.span = plan.span.clone();
                    }
                    self.faults.push(fault);
                }
            }
            if all > MOST_PORTS || self.faults.len() >= ENOUGH {
                break;
            }
        }
        if all > MOST_PORTS {
            let message = format!("the nodes of a lab have at most {MOST_PORTS} ports together");
            let span = lab.nodes[graph.members.len() - 1].span.clone();
            let fault = Fault::new(span, message);
            self.faults.push(fault.help("make nodes with fewer ports"));
        }
        if !self.faults.is_empty() {
            return;
        }
        graph.links = lab.links.iter().map(|plan| plan.link.clone()).collect();
        for error in graph.check().err().unwrap_or_default() {
            let span = match &error {
                GraphError::NoSuchPort { link, node, .. } => {
                    let plan = &lab.links[*link];
                    let end = plan.link.ends.iter().position(|end| {
                        lab.nodes[end.node.0].name == *node
                            && end.port.index() >= graph.members[end.node.0].node.ports()
                    });
                    plan.spans[end.unwrap_or(0)].clone()
                }
                GraphError::PortUsedTwice {
                    second, node, port, ..
                } => {
                    let plan = &lab.links[*second];
                    let end =
                        plan.link.ends.iter().rposition(|end| {
                            lab.nodes[end.node.0].name == *node && end.port == *port
                        });
                    plan.spans[end.unwrap_or(0)].clone()
                }
                GraphError::Unconnected { member, .. } => lab.nodes[*member].span.clone(),
                GraphError::Blocks { link, .. }
                | GraphError::Down { link }
                | GraphError::NoQueue { link } => lab.links[*link].spans[0].clone(),
                // Found when the node was read.
                GraphError::DuplicateName(_) => 0..0,
            };
            self.faults.push(Fault::new(span, error.to_string()));
        }
        for node in early {
            self.one_rate(lab, node);
        }
    }

    /// A frame that is passed on while it still comes in must not leave faster than it comes.
    fn one_rate(&mut self, lab: &Lab, node: usize) {
        let links = lab.links.iter().map(|plan| &plan.link);
        let own = links.filter(|link| link.ends.iter().any(|end| end.node.0 == node));
        let mut rates: Vec<_> = own
            .flat_map(|link| link.channels.iter().map(|channel| channel.rate))
            .collect();
        rates.sort();
        rates.dedup();
        if let [one, .., other] = rates[..] {
            let plan = &lab.nodes[node];
            let named =
                |rate: Option<Rate>| rate.map_or("no limit".into(), |rate: Rate| rate.to_string());
            let message = format!(
                "`{}` passes frames on while they come in, but its links have different rates, {} and {}",
                plan.name,
                named(one),
                named(other)
            );
            let fault = Fault::new(plan.span.clone(), message);
            self.faults.push(
                fault.help("give all of them one rate, or write `mode = \"store-and-forward\"`"),
            );
        }
    }
}

/// In place of a node that was made: all its ports, whether they may lack links, and none of its memory.
struct Ports(usize, bool);

impl Node for Ports {
    fn ports(&self) -> usize {
        self.0
    }

    fn may_lack_links(&self) -> bool {
        self.1
    }

    fn frame(&mut self, _: Time, _: Port, frame: Frame, out: &mut Out) {
        out.done(frame);
    }
}
