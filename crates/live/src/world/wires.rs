//! Namespaces and veth pairs for a graph.
//!
//! A link between nodes is a veth pair between their namespaces. The interface of a [`Real`] member
//! has its far end in a namespace of the world's own, the hub: there its frames are read, and those for
//! it are sent, when the link says so. So a link between two of those has no pair of its own, and one
//! from there to a node has one from the hub - unless the link is [plain](is_plain): then the node has
//! the hub's end itself, and no thread stands between it and the real member.

use super::real::{Absent, Outside, Real, Stack};
use super::{WorldError, parallel};
use crate::kernel::netns::{self, Batch, Namespace, NetnsError, VethEnd};
use crate::port::raw::{self, aggregate};
use crate::port::{self, Options, Port, Receive, Transmit};
use node::{End, Graph, Link, Probability, Time};
use packet::MAX_WIRE_FRAME_LEN;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// The number of a namespace's first interface: behind the loopback, and the tunnels that some kernels put into each.
const FIRST: u32 = 16;

/// The wires of a graph; they go with this value, or with the process.
pub struct Wires {
    /// One for each node, and the hub's if there is one.
    pub namespaces: Arc<Vec<Namespace>>,
    /// Whether each link is plain.
    pub plain: Vec<bool>,
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
fn is_plain(link: &Link, real: &BTreeMap<usize, Real>) -> bool {
    let sides = link.ends.map(|end| real.contains_key(&end.node.0));
    let never = Probability::default();
    let plain = |channel: &node::Channel| {
        channel.rate.is_none()
            && channel.delay == Time::ZERO
            && [channel.loss, channel.duplicate, channel.reorder] == [never; 3]
            && channel.bit_error == 0.0
            && channel.down.is_empty()
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
    ///
    /// Links with a queue discipline are in `queued`: these are not plain.
    pub fn make(
        graph: &Graph,
        real: &BTreeMap<usize, Real>,
        queued: &BTreeSet<usize>,
    ) -> Result<Wires, WorldError> {
        let links = graph.links.iter().enumerate();
        let plain: Vec<bool> = links
            .map(|(index, link)| is_plain(link, real) && !queued.contains(&index))
            .collect();
        let hub = graph.members.len();
        let count = hub + usize::from(!real.is_empty());
        let namespaces = parallel::each(count, |_| Namespace::new())?;
        let mut pairs: Vec<Pair> = Vec::new();
        let mut put = |pair: Pair| pairs.push(pair);
        for (index, link) in graph.links.iter().enumerate() {
            let inner = |end: End| (end.node.0, name(end), None);
            let sides = link.ends.map(|end| real.contains_key(&end.node.0));
            if sides == [false, false] {
                let ends = link.ends.map(inner);
                let mtu = aggregate::mtu(MAX_WIRE_FRAME_LEN);
                put(Pair { ends, mtu });
                continue;
            }
            let plain = plain[index];
            for side in 0..2 {
                let (end, outer) = (link.ends[side], (hub, hub_name(index, side), None));
                match real.get(&end.node.0) {
                    None if plain => {}
                    None => put(Pair {
                        ends: [inner(end), outer],
                        mtu: MAX_WIRE_FRAME_LEN as u32,
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
        // Interfaces are given numbers, so that nobody has to ask for them.
        let mut ends: Vec<Vec<(&str, u32)>> = vec![Vec::new(); count];
        let mut batches: Vec<Batch> = (0..count).map(|_| Batch::default()).collect();
        for Pair { ends: pair, mtu } in &pairs {
            let numbers = [0, 1].map(|side: usize| {
                let (member, name, _) = &pair[side];
                let number = FIRST + ends[*member].len() as u32;
                ends[*member].push((name, number));
                number
            });
            let pair_ends = [0, 1].map(|side: usize| VethEnd {
                namespace: &namespaces[pair[side].0],
                name: &pair[side].1,
                mac: pair[side].2,
            });
            // From the namespace of its first end, side by side with those of others.
            batches[pair[0].0].pair(pair_ends, numbers, *mtu);
        }
        let within = |batches: &[Batch]| {
            parallel::each(count, |member| -> Result<(), NetnsError> {
                namespaces[member].enter(|| batches[member].send())?
            })
        };
        within(&batches)?;
        // Both ends of a pair are there only now.
        let up = |ends: &Vec<(&str, u32)>| {
            let mut batch = Batch::default();
            for (name, number) in ends {
                batch.set_up(*number, name);
            }
            batch
        };
        within(&ends.iter().map(up).collect::<Vec<_>>())?;
        let mut lines: Vec<Vec<(&str, IpAddr, u8)>> = vec![Vec::new(); count];
        for (&member, real) in real {
            let Real::Stack(stack) = real else { continue };
            for line in &stack.lines {
                for (member, side) in [(member, 0), (line.to, 1)] {
                    let (name, address) = (&line.names[side], line.addresses[side]);
                    lines[member].push((name, address, line.prefix));
                }
            }
        }
        // An end has a link when the other is up too.
        parallel::each(count, |member| -> Result<(), NetnsError> {
            namespaces[member].enter(|| {
                let (ends, lines) = (&ends[member], &lines[member]);
                ends.iter()
                    .try_for_each(|(name, _)| netns::wait_here(name))?;
                match real.get(&member) {
                    Some(Real::Stack(stack)) => settle(stack, ends, lines),
                    _ => Ok(()),
                }
            })?
        })?;
        Ok(Wires {
            namespaces: Arc::new(namespaces),
            plain,
        })
    }

    /// Opens all ends of links: `[link][side]`; between nodes so that they [aggregate](Options::aggregates) frames, if that is wanted.
    pub fn open(
        &self,
        graph: &Graph,
        real: &BTreeMap<usize, Real>,
        aggregates: bool,
    ) -> Result<Vec<[Opened; 2]>, WorldError> {
        let (hub, links) = (graph.members.len(), &graph.links);
        let open = |index: usize| -> Result<[Opened; 2], WorldError> {
            let link = &links[index];
            let sides = link.ends.map(|end| real.get(&end.node.0));
            let from_real = |side: usize| -> Result<Port, WorldError> {
                let End { node, port } = link.ends[side];
                match sides[side] {
                    Some(Real::Ports(ports)) => self.outside(&ports[port.index()]),
                    Some(Real::Stack(stack)) if port.index() >= stack.interfaces.len() => {
                        let within = Some(node.0);
                        let port = stack.ports[port.index() - stack.interfaces.len()].clone();
                        self.outside(&Outside {
                            within,
                            ..Outside::of(port)
                        })
                    }
                    _ => self.within(hub, &hub_name(index, side), &Options::of_wires()),
                }
            };
            if self.plain[index] {
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
                return Ok(pair);
            }
            let pair = [0, 1].map(|side: usize| -> Result<Opened, WorldError> {
                let end = link.ends[side];
                Ok(match (sides[side], sides[1 - side]) {
                    // What the node sends goes into its own end of the pair.
                    (None, None) => {
                        let options = Options {
                            aggregates,
                            ..Options::of_wires()
                        };
                        opened_as(self.within(end.node.0, &name(end), &options)?)
                    }
                    (None, Some(_)) => {
                        let (rx, info) = self.receiver(end.node.0, &name(end))?;
                        let tx = self.sender(hub, &hub_name(index, side))?;
                        Opened { rx, tx, info }
                    }
                    (Some(_), _) => opened_as(from_real(side)?),
                })
            });
            let [a, b] = pair;
            Ok([a?, b?])
        };
        parallel::each(links.len(), open)
    }

    /// A port of a member's namespace.
    fn within(&self, member: usize, name: &str, options: &Options) -> Result<Port, WorldError> {
        let port = self.namespaces[member].enter(|| raw::open(name, options))?;
        Ok(port?)
    }

    /// The half that receives.
    fn receiver(
        &self,
        member: usize,
        name: &str,
    ) -> Result<(Box<dyn Receive>, port::PortInfo), WorldError> {
        let options = Options::of_wires();
        let opened = self.namespaces[member].enter(|| {
            let interface = raw::usable(name)?;
            let (rx, method) = raw::receiver(&interface, &options)?;
            Ok((rx, raw::info(&interface, &options, method)))
        })?;
        opened.map_err(WorldError::Port)
    }

    /// The half that sends.
    fn sender(&self, member: usize, name: &str) -> Result<Box<dyn Transmit>, WorldError> {
        let opened = self.namespaces[member]
            .enter(|| raw::sender(&raw::usable(name)?, &Options::of_wires()))?;
        Ok(opened?)
    }

    fn outside(&self, outside: &Outside) -> Result<Port, WorldError> {
        let open = || outside.open(&Options::of_wires());
        match outside.within {
            None => open(),
            Some(member) => self.namespaces[member].enter(open)?,
        }
    }
}

fn opened_as(port: Port) -> Opened {
    let Port { rx, tx, info } = port;
    Opened { rx, tx, info }
}

/// Gives the interfaces of this thread's namespace, each with its number, what they are to have.
fn settle(
    stack: &Stack,
    ends: &[(&str, u32)],
    lines: &[(&str, IpAddr, u8)],
) -> Result<(), NetnsError> {
    let number = |name: &str| {
        let own = ends.iter().find(|(known, _)| *known == name);
        // Not one of ours: that of a route to the loopback, say.
        own.map_or_else(|| netns::number_here(name), |(_, number)| Ok(*number))
    };
    let own = stack.interfaces.iter().flat_map(|interface| {
        let own = interface.addresses.iter();
        own.map(|&(address, prefix)| (&interface.name[..], address, prefix))
    });
    let all: Vec<(&str, IpAddr, u8)> = own.chain(lines.iter().copied()).collect();
    if all.iter().any(|(_, address, _)| address.is_ipv6()) {
        netns::quiet_ipv6(false);
    }
    let mut batch = Batch::default();
    for &(name, address, prefix) in &all {
        batch.address(number(name)?, name, address, prefix);
    }
    for route in &stack.routes {
        let on = route.on.as_deref().map_or(Ok(0), number)?;
        batch.route(route, on);
    }
    batch.send()?;
    if stack.forward {
        netns::forward_here()?;
    }
    Ok(())
}

fn name(end: End) -> String {
    format!("p{}", end.port)
}

/// The hub's end for one side of a link.
fn hub_name(link: usize, side: usize) -> String {
    format!("l{link}s{side}")
}
