//! What only the whole graph shows: every node as it says it is, every port with one link.

use crate::fault::Fault;
use crate::file::{ENOUGH, Reader};
use crate::plan::{Lab, LinkPlan};
use node::{GraphError, Level, Rate};
use nodes::dtp::Device;
use std::path::Path;

/// Maximum number of ports of all nodes together.
const MAX_PORTS: usize = 200_000;

impl Reader<'_> {
    /// Checks each node by itself, and all of them with the links; with a folder also what they say of files.
    pub(crate) fn check(&mut self, lab: &mut Lab, folder: Option<&Path>) {
        let mut all = 0;
        let mut checked = 0;
        for plan in &mut lab.nodes {
            match plan.kind.plan(&plan.config, folder) {
                Ok(planned) => {
                    all += planned.properties.ports;
                    plan.planned = planned;
                }
                Err(mut fault) => {
                    if fault.span == plan.config.span {
                        fault.span = plan.span.clone();
                    }
                    self.faults.push(fault);
                }
            }
            checked += 1;
            if all > MAX_PORTS || self.faults.len() >= ENOUGH {
                break;
            }
        }
        if all > MAX_PORTS {
            let message = format!("the nodes of a lab have at most {MAX_PORTS} ports together");
            let span = lab.nodes[checked - 1].span.clone();
            let fault = Fault::new(span, message);
            self.faults.push(fault.help("make nodes with fewer ports"));
        }
        if !self.faults.is_empty() {
            return;
        }
        let lab = &*lab;
        let nodes = lab.nodes.iter();
        let members: Vec<_> = nodes
            .map(|plan| (&plan.name[..], plan.planned.properties))
            .collect();
        let links: Vec<_> = lab.links.iter().map(|plan| plan.link.clone()).collect();
        let checked = node::graph::check(&members, &links);
        for error in checked.err().unwrap_or_default() {
            let span = match &error {
                GraphError::NoSuchPort { link, node, .. } => {
                    let plan = &lab.links[*link];
                    let end = plan.link.ends.iter().position(|end| {
                        lab.nodes[end.node.0].name == *node
                            && end.port.index() >= members[end.node.0].1.ports
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
        for (node, plan) in lab.nodes.iter().enumerate() {
            let Some((config, span)) = &plan.dtp else {
                continue;
            };
            // Its commands name ports.
            if let Err(error) = Device::new(config, plan.planned.properties.ports) {
                self.faults
                    .push(Fault::new(span.clone(), error.to_string()));
            }
            let own = |link: &LinkPlan| link.link.ends.iter().any(|end| end.node.0 == node);
            let blocks = |link: &LinkPlan| link.link.channels[0].level != Level::Frame;
            if !lab.links.iter().any(|link| own(link) && blocks(link)) {
                let message = "DTP speaks between frames, on links at the level of blocks";
                let fault = Fault::new(span.clone(), message);
                self.faults
                    .push(fault.help("give the node's links `level = \"block\"`"));
            }
        }
        // Nodes that pass frames on before they are in.
        for (node, (_, properties)) in members.iter().enumerate() {
            if properties.needs.is_some() {
                self.one_rate(lab, node);
            }
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
