//! Interfaces at each hop, and the flows that pass them.

use crate::stopping::MAX_SUCCESSORS;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::IpAddr;

/// Number of a flow, from 0.
pub type Flow = u16;
/// Maximum number of flows of a trace.
pub const MAX_FLOWS: u16 = 8192;
/// Maximum number of interfaces of a hop; answers of more are ignored.
pub const MAX_WIDTH: usize = MAX_SUCCESSORS;

/// State of a flow at a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Not probed.
    #[default]
    Unknown,
    /// A probe is on its way.
    Pending,
    /// The index of the vertex that has answered.
    Reached(u8),
}

/// An interface at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Its address; `None` stands for all interfaces of the hop that do not answer.
    pub address: Option<IpAddr>,
    /// Whether paths end here: at the target, or at a router that reports it unreachable.
    pub is_end: bool,
}

/// The vertices of one hop.
#[derive(Clone, Debug, Default)]
pub struct Hop {
    /// In the order in which they were found.
    pub vertices: Vec<Vertex>,
    /// Whether a load balancer before this hop chooses the path packet by packet.
    pub per_packet: bool,
    outcomes: Vec<Outcome>,
}

impl Hop {
    /// State of a flow.
    pub fn outcome(&self, flow: Flow) -> Outcome {
        let outcome = self.outcomes.get(usize::from(flow));
        outcome.copied().unwrap_or_default()
    }

    /// The flows that have been used at this hop, with their states.
    pub fn flows(&self) -> impl Iterator<Item = (Flow, Outcome)> + '_ {
        let all = self.outcomes.iter().enumerate();
        all.map(|(flow, outcome)| (flow as Flow, *outcome))
    }

    /// States of the flows that have been used, by number.
    pub(crate) fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    pub(crate) fn set(&mut self, flow: Flow, outcome: Outcome) {
        let flow = usize::from(flow);
        if self.outcomes.len() <= flow {
            self.outcomes.resize(flow + 1, Outcome::Unknown);
        }
        self.outcomes[flow] = outcome;
    }

    /// The vertex with an address, which is added if it is new; `None` when the hop has too many.
    pub(crate) fn vertex(&mut self, address: Option<IpAddr>, is_end: bool) -> Option<u8> {
        let known = self.vertices.iter().position(|one| one.address == address);
        let index = match known {
            Some(index) => index,
            None if self.vertices.len() >= MAX_WIDTH => return None,
            None => {
                self.vertices.push(Vertex { address, is_end });
                self.vertices.len() - 1
            }
        };
        self.vertices[index].is_end |= is_end;
        Some(index as u8)
    }

    /// A flow that passes a vertex.
    pub fn flow_through(&self, vertex: usize) -> Option<Flow> {
        let wanted = Outcome::Reached(vertex as u8);
        let found = self.outcomes.iter().position(|one| *one == wanted);
        found.map(|flow| flow as Flow)
    }

    /// Whether no interface of the hop has answered.
    pub fn is_silent(&self) -> bool {
        self.vertices.iter().all(|one| one.address.is_none())
    }
}

/// Hops from the first TTL on.
#[derive(Clone, Debug)]
pub struct Graph {
    first: u8,
    hops: Vec<Hop>,
}

impl Graph {
    /// Without vertices; the first hop has the TTL `first`.
    pub fn new(first: u8) -> Graph {
        Graph {
            first,
            hops: Vec::new(),
        }
    }

    /// The hop of a TTL, if it has been probed.
    pub fn hop(&self, ttl: u8) -> Option<&Hop> {
        self.hops.get(usize::from(ttl.checked_sub(self.first)?))
    }

    pub(crate) fn hop_mut(&mut self, ttl: u8) -> &mut Hop {
        let index = usize::from(ttl.saturating_sub(self.first));
        if self.hops.len() <= index {
            self.hops.resize_with(index + 1, Hop::default);
        }
        &mut self.hops[index]
    }

    /// All hops with a vertex, with their TTLs.
    pub fn hops(&self) -> impl Iterator<Item = (u8, &Hop)> {
        let all = self.hops.iter().enumerate();
        let numbered = all.map(|(index, hop)| (self.first + index as u8, hop));
        numbered.filter(|(_, hop)| !hop.vertices.is_empty())
    }

    /// Links into the hop of a TTL: the indices of vertices of the hop before it and of this one, in order.
    pub fn links(&self, ttl: u8) -> BTreeSet<(u8, u8)> {
        let before = ttl.checked_sub(1).and_then(|before| self.hop(before));
        let (Some(before), Some(hop)) = (before, self.hop(ttl)) else {
            return BTreeSet::new();
        };
        let flows = before.flows().zip(hop.flows());
        let links = flows.filter_map(|((_, from), (_, to))| match (from, to) {
            (Outcome::Reached(from), Outcome::Reached(to)) => Some((from, to)),
            _ => None,
        });
        links
            .filter(|(from, _)| !before.vertices[usize::from(*from)].is_end)
            .collect()
    }
}
