//! A node on ports that are there already.

use super::lane::Lane;
use super::nodes::{self, Sources};
use super::runner::{RunnerPort, Setup};
use super::{PortsOptions, PortsOutcome, WorldError};
use crate::kernel::interface;
use crate::kernel::statistics::Feed;
use crate::port::Port;
use node::{Node, Time};
use std::collections::VecDeque;

/// Runs one node on ports, in real time. Ends when the time is up, when all ports have ended and
/// nothing is left to happen, when the last port has failed, or by Ctrl-C. A link that goes down and comes
/// up again ends nothing: the node is told, and what it sends meanwhile is counted among its drops.
///
/// # Errors
/// When the ports are not as many as the node's.
///
/// # Panics
/// When the node does.
pub fn on_ports(
    name: &str,
    node: Box<dyn Node>,
    ports: Vec<Port>,
    until: Option<Time>,
) -> Result<PortsOutcome, WorldError> {
    let options = PortsOptions {
        until,
        ..PortsOptions::default()
    };
    on_ports_with(name, node, ports, options)
}

/// Runs one node on ports as [`on_ports`] does, and as the options have it.
///
/// # Errors
/// As [`on_ports`].
///
/// # Panics
/// As [`on_ports`].
pub fn on_ports_with(
    name: &str,
    node: Box<dyn Node>,
    ports: Vec<Port>,
    options: PortsOptions,
) -> Result<PortsOutcome, WorldError> {
    let PortsOptions {
        until,
        start_ns,
        notice,
        observe,
        stop,
    } = options;
    let (wanted, given) = (node.properties().ports, ports.len());
    if wanted != given {
        return Err(WorldError::Ports {
            node: wanted,
            given,
        });
    }
    let feed = feed(&*node, &ports)?;
    let (mut lanes, mut hosted) = (Vec::new(), Vec::new());
    for (index, port) in ports.into_iter().enumerate() {
        lanes.push(Lane::new(port.tx, 0));
        hosted.push(RunnerPort {
            number: node::Port(index as u16),
            rx: port.rx,
            stamps: port.info.stamps,
            lane: index,
            line: Default::default(),
            changes: VecDeque::new(),
            has_link: true,
            downs: 0,
            from: None,
            taps: Vec::new(),
            real: false,
            entrance: false,
            open: true,
        });
    }
    let sources = Sources {
        outside: true,
        supervisor: None,
        governed: false,
    };
    let setup = Setup {
        name: name.into(),
        node,
        ports: hosted,
        feed,
        notice,
        observe,
    };
    let mut ended = nodes::run(vec![setup], lanes, (start_ns, until), stop, sources)?;
    let runner = ended.runners.remove(0);
    Ok(PortsOutcome {
        outcome: ended.outcome,
        received: runner.received,
        links: runner.own_links,
        sent: ended.sent,
        unsent: ended.unsent,
        trouble: ended.trouble,
    })
}

/// What the kernel tells of the interfaces among these ports, if the node wants to know. Not of a TAP: what the kernel
/// sends there comes to us.
fn feed(node: &dyn Node, ports: &[Port]) -> Result<Option<Feed>, WorldError> {
    let names = ports.iter().enumerate().filter_map(|(index, port)| {
        let name = &port.info.name;
        let name = name.strip_prefix("xdp:").unwrap_or(name);
        // The query needs a socket, and a server without interfaces may not make one any more.
        let plain = port.info.mac.is_some()
            && !name.contains(':')
            && interface::find(name).is_ok_and(|it| it.is_some());
        plain.then_some((node::Port(index as u16), name))
    });
    let names: Vec<_> = names.collect();
    match node.properties().statistics_age {
        Some(_) if !names.is_empty() => Ok(Some(Feed::open(&names)?)),
        _ => Ok(None),
    }
}
