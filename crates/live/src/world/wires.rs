//! Namespaces and veth pairs for a graph.
//!
//! A link between nodes is a veth pair between their namespaces. The interface of a [`Real`] member
//! has its far end in a namespace of the world's own, the hub: there its frames are read, and those for
//! it are sent, when the link says so. So a link between two of those has no pair of its own, and one
//! from there to a node has one from the hub - unless the link is [plain](is_plain): then the node has
//! the hub's end itself, and no thread stands between it and the real member.

use super::WorldError;
use super::real::{Absent, Outside, Real, Stack};
use crate::netns::{self, Namespace, NetnsError, VethEnd};
use crate::port::{self, Options, Port, Receive, Transmit};
use crate::raw;
use node::frame::LONGEST;
use node::{End, Graph, Link, Probability, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Threads that make namespaces and what is in them.
const BUILDERS: usize = 4;

/// The wires of a graph; they go with this value, or with the process.
pub struct Wires {
    /// One for each node, and the hub's if there is one.
    pub namespaces: Arc<Vec<Namespace>>,
}

/// One end of a link, as the thread of its member has it.
pub struct Opened {
    /// Where what the member sends is read, or what arrives for the node.
    pub rx: Box<dyn Receive>,
    /// Where what arrives is sent to.
    pub tx: Box<dyn Transmit>,
    /// What is known of it.
    pub info: port::PortInfo,
}

/// Whether a link of a node and something real needs nobody who holds its frames up: they take no time on
/// it, and all arrive.
pub fn is_plain(link: &Link, real: &BTreeMap<usize, Real>) -> bool {
    let sides = link.ends.map(|end| real.contains_key(&end.node.0));
    let never = Probability::default();
    let plain = |channel: &node::Channel| {
        channel.rate.is_none()
            && channel.delay == Time::ZERO
            && [channel.loss, channel.duplicate, channel.reorder] == [never; 3]
            && channel.bit_error == 0.0
    };
    sides[0] != sides[1] && link.channels.iter().all(plain)
}

/// A veth pair to be made, from the namespace of its first end.
struct Pair {
    ends: [(usize, String, Option<[u8; 6]>); 2],
    mtu: u32,
}

impl Wires {
    /// Makes a namespace for each node and a veth pair for each link. A node's interface is called
    /// `p` and its number.
    pub fn make(graph: &Graph, real: &BTreeMap<usize, Real>) -> Result<Wires, WorldError> {
        let hub = graph.members.len();
        let count = hub + usize::from(!real.is_empty());
        let namespaces = in_parallel(count, |_| Namespace::new())?;
        let mut pairs: Vec<Vec<Pair>> = (0..count).map(|_| Vec::new()).collect();
        let mut put = |pair: Pair| pairs[pair.ends[0].0].push(pair);
        for (index, link) in graph.links.iter().enumerate() {
            let inner = |end: End| (end.node.0, name(end), None);
            let sides = link.ends.map(|end| real.contains_key(&end.node.0));
            if sides == [false, false] {
                let ends = link.ends.map(inner);
                let mtu = LONGEST as u32;
                put(Pair { ends, mtu });
                continue;
            }
            let plain = is_plain(link, real);
            for side in 0..2 {
                let (end, outer) = (link.ends[side], (hub, hub_name(index, side), None));
                match real.get(&end.node.0) {
                    None if plain => {}
                    None => put(Pair {
                        ends: [inner(end), outer],
                        mtu: LONGEST as u32,
                    }),
                    Some(Real::Stack(stack)) => {
                        let Some(interface) = stack.interfaces.get(end.port.index()) else {
                            continue;
                        };
                        let own = (end.node.0, interface.name.clone(), interface.mac);
                        put(Pair {
                            ends: [own, outer],
                            mtu: interface.mtu,
                        });
                    }
                    Some(Real::Ports(_)) => {}
                }
            }
        }
        for (&member, real) in real {
            let Real::Stack(stack) = real else { continue };
            for line in &stack.lines {
                let [here, there] = line.names.clone();
                put(Pair {
                    ends: [(member, here, None), (line.to, there, None)],
                    mtu: 1500,
                });
            }
        }
        // Each in its own namespace, where pairs are made side by side with those of others.
        in_parallel(count, |member| -> Result<(), NetnsError> {
            namespaces[member].enter(|| {
                for Pair { ends, mtu } in &pairs[member] {
                    let ends = [0, 1].map(|side: usize| VethEnd {
                        namespace: &namespaces[ends[side].0],
                        name: &ends[side].1,
                        mac: ends[side].2,
                    });
                    netns::lay(ends, *mtu)?;
                }
                Ok::<(), NetnsError>(())
            })?
        })?;
        // Both ends of a pair are there only now.
        let mut ends: Vec<Vec<&str>> = vec![Vec::new(); count];
        for pair in pairs.iter().flatten() {
            for (member, name, _) in &pair.ends {
                ends[*member].push(name);
            }
        }
        in_parallel(count, |member| -> Result<(), NetnsError> {
            let up = || {
                ends[member]
                    .iter()
                    .try_for_each(|name| netns::raise_here(name))
            };
            namespaces[member].enter(up)?
        })?;
        // An end has a link when the other is up too.
        in_parallel(count, |member| -> Result<(), NetnsError> {
            namespaces[member].enter(|| {
                ends[member]
                    .iter()
                    .try_for_each(|name| netns::wait_here(name))?;
                match real.get(&member) {
                    Some(Real::Stack(stack)) => settle(stack),
                    _ => Ok(()),
                }
            })?
        })?;
        for (&member, real) in real {
            let Real::Stack(stack) = real else { continue };
            for line in &stack.lines {
                for (member, side) in [(member, 0), (line.to, 1)] {
                    let (name, address) = (&line.names[side], line.addresses[side]);
                    namespaces[member].add_address(name, address, line.prefix)?;
                }
            }
        }
        Ok(Wires {
            namespaces: Arc::new(namespaces),
        })
    }

    /// Opens all ends of links: `[link][side]`.
    pub fn open(
        &self,
        graph: &Graph,
        real: &BTreeMap<usize, Real>,
    ) -> Result<Vec<[Opened; 2]>, WorldError> {
        let hub = graph.members.len();
        let mut opened = Vec::with_capacity(graph.links.len());
        for (index, link) in graph.links.iter().enumerate() {
            let sides = link.ends.map(|end| real.get(&end.node.0));
            let from_real = |side: usize| -> Result<Port, WorldError> {
                let End { node, port } = link.ends[side];
                match sides[side] {
                    Some(Real::Ports(ports)) => self.outside(&ports[port.index()]),
                    Some(Real::Stack(stack)) if port.index() >= stack.interfaces.len() => {
                        let within = Some(node.0);
                        let port = stack.ports[port.index() - stack.interfaces.len()].clone();
                        self.outside(&Outside { port, within })
                    }
                    _ => self.within(hub, &hub_name(index, side)),
                }
            };
            if is_plain(link, real) {
                let side = usize::from(sides[0].is_none());
                let port = from_real(side)?;
                let absent = Opened {
                    rx: Box::new(Absent),
                    tx: Box::new(Absent),
                    info: port.info.clone(),
                };
                let mut pair = [absent, opened_as(port)];
                if side == 1 {
                    pair.reverse();
                }
                opened.push(pair);
                continue;
            }
            let pair = [0, 1].map(|side: usize| -> Result<Opened, WorldError> {
                let end = link.ends[side];
                Ok(match (sides[side], sides[1 - side]) {
                    // What the node sends goes into its own end of the pair.
                    (None, None) => opened_as(self.within(end.node.0, &name(end))?),
                    (None, Some(_)) => {
                        let outer = self.within(hub, &hub_name(index, side))?;
                        let own = self.within(end.node.0, &name(end))?;
                        Opened {
                            rx: own.rx,
                            tx: outer.tx,
                            info: own.info,
                        }
                    }
                    (Some(_), _) => opened_as(from_real(side)?),
                })
            });
            let [a, b] = pair;
            opened.push([a?, b?]);
        }
        Ok(opened)
    }

    fn within(&self, member: usize, name: &str) -> Result<Port, WorldError> {
        let port = self.namespaces[member].enter(|| raw::open(name, &Options::default()))?;
        Ok(port?)
    }

    fn outside(&self, outside: &Outside) -> Result<Port, WorldError> {
        let open = || port::open(&outside.port, &Options::default());
        let port = match outside.within {
            None => open(),
            Some(member) => self.namespaces[member].enter(open)?,
        };
        Ok(port?)
    }
}

fn opened_as(port: Port) -> Opened {
    let Port { rx, tx, info } = port;
    Opened { rx, tx, info }
}

/// Gives the interfaces of this thread's namespace what they are to have.
fn settle(stack: &Stack) -> Result<(), NetnsError> {
    let addresses = |v6: bool| {
        let all = stack.interfaces.iter();
        all.flat_map(move |interface| {
            let own = interface.addresses.iter();
            own.filter(move |(address, _)| address.is_ipv6() == v6)
                .map(|address| (&interface.name, *address))
        })
    };
    if addresses(true).next().is_some() {
        netns::quiet_ipv6(false);
    }
    for (name, (address, prefix)) in addresses(false).chain(addresses(true)) {
        netns::add_address_here(name, address, prefix)?;
    }
    stack.routes.iter().try_for_each(netns::add_route_here)?;
    if stack.forward {
        netns::forward_here();
    }
    Ok(())
}

/// Calls `body` with each number below `count`, on a few threads; the results in order.
fn in_parallel<T: Send, E: Send>(
    count: usize,
    body: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let body = &body;
    let mut all: Vec<(usize, Result<T, E>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..BUILDERS.min(count))
            .map(|first| {
                let own = move || {
                    let mine = (first..count).step_by(BUILDERS);
                    mine.map(|index| (index, body(index))).collect::<Vec<_>>()
                };
                scope.spawn(own)
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<(usize, Result<T, E>)>>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

fn name(end: End) -> String {
    format!("p{}", end.port)
}

/// The hub's end for one side of a link.
fn hub_name(link: usize, side: usize) -> String {
    format!("l{link}s{side}")
}
