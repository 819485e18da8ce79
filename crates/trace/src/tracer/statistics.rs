//! Loss and round trips of each interface.

use crate::discovery::Probe;
use crate::graph::{Graph, Outcome};
use crate::labels::Labels;
use crate::probe::{Answer, Kind};
use alloc::vec::Vec;
use node::Time;

/// Results of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceStats {
    /// Probes sent to it, as far as its flows show.
    pub probes: u64,
    /// Probes that it has answered.
    pub answers: u64,
    /// Shortest round trip.
    pub min: Time,
    /// Longest round trip.
    pub max: Time,
    /// MPLS labels of the last answer.
    pub labels: Labels,
    /// Code of destination unreachable, if it has reported that.
    pub unreachable: Option<u8>,
    sum_ps: u128,
    planned: u64,
}

impl InterfaceStats {
    /// Probes without an answer.
    pub fn lost(&self) -> u64 {
        self.probes - self.answers
    }

    /// Mean round trip; `None` without answers.
    pub fn mean(&self) -> Option<Time> {
        let mean = self.sum_ps.checked_div(self.answers.into())?;
        Some(Time::from_ps(mean as u64))
    }
}

/// Results by TTL and vertex.
#[derive(Debug, Default)]
pub(super) struct Results {
    hops: Vec<Vec<InterfaceStats>>,
}

impl Results {
    pub fn of(&self, ttl: u8, vertex: usize) -> InterfaceStats {
        let hop = self.hops.get(usize::from(ttl));
        hop.and_then(|hop| hop.get(vertex))
            .copied()
            .unwrap_or_default()
    }

    fn of_mut(&mut self, ttl: u8, vertex: usize) -> &mut InterfaceStats {
        let ttl = usize::from(ttl);
        if self.hops.len() <= ttl {
            self.hops.resize_with(ttl + 1, Vec::new);
        }
        let hop = &mut self.hops[ttl];
        if hop.len() <= vertex {
            hop.resize(vertex + 1, InterfaceStats::default());
        }
        &mut hop[vertex]
    }

    /// The vertex that a probe's flow passes at its hop.
    pub fn expected(&self, graph: &Graph, probe: Probe) -> Option<usize> {
        match graph.hop(probe.ttl)?.outcome(probe.flow) {
            Outcome::Reached(vertex) => Some(vertex.into()),
            _ => None,
        }
    }

    /// Probes to a vertex were not answered.
    pub fn lost(&mut self, ttl: u8, vertex: Option<usize>, count: u32) {
        if let (Some(vertex), 1..) = (vertex, count) {
            self.of_mut(ttl, vertex).probes += u64::from(count);
        }
    }

    /// A vertex has answered a probe.
    pub fn answered(&mut self, ttl: u8, vertex: Option<usize>, rtt: Time, answer: &Answer) {
        let Some(vertex) = vertex else {
            return;
        };
        let stats = self.of_mut(ttl, vertex);
        stats.probes += 1;
        stats.answers += 1;
        stats.min = match stats.answers {
            1 => rtt,
            _ => stats.min.min(rtt),
        };
        stats.max = stats.max.max(rtt);
        stats.sum_ps += u128::from(rtt.as_ps());
        stats.labels = answer.labels;
        if let Kind::Unreachable(code) = answer.kind {
            stats.unreachable = Some(code);
        }
    }

    /// The next probe of the rounds: to the vertex with the fewest probes, while it has fewer than `goal`.
    pub fn next(&mut self, graph: &Graph, goal: u64) -> Option<Probe> {
        let mut best: Option<(u64, Probe, usize)> = None;
        for (ttl, hop) in graph.hops() {
            for (index, vertex) in hop.vertices.iter().enumerate() {
                let stats = self.of(ttl, index);
                let count = stats.probes.max(stats.planned);
                let is_better = best.is_none_or(|(least, ..)| count < least);
                if vertex.address.is_none() || count >= goal || !is_better {
                    continue;
                }
                if let Some(flow) = hop.flow_through(index) {
                    let probe = Probe {
                        ttl,
                        flow,
                        is_repeat: false,
                    };
                    best = Some((count, probe, index));
                }
            }
        }
        let (count, probe, index) = best?;
        self.of_mut(probe.ttl, index).planned = count + 1;
        Some(probe)
    }
}
