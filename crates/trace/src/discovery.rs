//! Discovery of paths: decides which flow is sent to which hop.
//!
//! [`Discovery`] works hop by hop. The caller takes probes with [`poll_probe`](Discovery::poll_probe), and hands over their
//! results with [`handle_answer`](Discovery::handle_answer) and [`handle_timeout`](Discovery::handle_timeout), in any order.
//!
//! - [`Algorithm::Paris`] follows one flow (Augustin et al., "Avoiding traceroute anomalies with Paris traceroute", IMC 2006).
//! - [`Algorithm::Mda`] looks for all successors of each vertex, with flows that are known to pass it: node control (Veitch
//!   et al., INFOCOM 2009).
//! - [`Algorithm::MdaLite`] looks for all vertices of each hop, and takes to node control only in a diamond that
//!   tests show to be meshed or asymmetric (Vermeulen et al., "Multilevel MDA-Lite Paris Traceroute", IMC 2018, section 2.3).
//!
//! Once several interfaces follow on one, the same flow is sent again: different answers show that the load balancer
//! chooses packet by packet (Augustin et al., "Multipath tracing with Paris traceroute", E2EMON 2007).

mod lite;
mod mda;
mod pair;

use crate::graph::{Flow, Graph, MAX_FLOWS, Outcome};
use crate::stopping::Stopping;
use alloc::vec::Vec;
use core::net::IpAddr;

/// The way in which paths are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Algorithm {
    /// One path, of one flow.
    Paris,
    /// All paths, with node control everywhere.
    Mda,
    /// All paths, with node control where it is needed.
    #[default]
    MdaLite,
}

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// TTL of the first hop, at least 1.
    pub first: u8,
    /// TTL of the last hop.
    pub last: u8,
    /// Probability of missing a successor of one branching point, or with MDA-Lite a vertex of one hop.
    pub alpha: f64,
    /// Flows of each vertex that the test for meshing uses; at least 2.
    pub phi: u32,
    /// Silent hops in a row after which the search ends.
    pub gap: u8,
}

/// A probe to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// TTL of the hop.
    pub ttl: u8,
    /// Its flow.
    pub flow: Flow,
    /// Whether the flow was sent to this hop before, to see whether it takes the same way.
    pub is_repeat: bool,
}

/// Decision about a hop.
enum Step {
    Send(Probe),
    /// Results are outstanding.
    Wait,
    /// The hop is complete.
    Done,
    /// Other rules hold now, from this hop on.
    Again(u8),
}

/// Test for a choice packet by packet at a hop.
#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    sent: u32,
    finished: u32,
}

/// A search. See the [module](self).
#[derive(Clone, Debug)]
pub struct Discovery {
    plan: Plan,
    graph: Graph,
    stopping: Stopping,
    /// The hop that is worked on; those before it are complete.
    front: u8,
    pending: usize,
    is_finished: bool,
    is_incomplete: bool,
    /// TTLs at which node control is used everywhere.
    full: Vec<bool>,
    repeats: Vec<Repeats>,
}

impl Discovery {
    /// A search that has sent nothing.
    pub fn new(plan: Plan) -> Discovery {
        let first = plan.first.max(1);
        let plan = Plan {
            first,
            last: plan.last.clamp(first, 254),
            phi: plan.phi.max(2),
            gap: plan.gap.max(1),
            ..plan
        };
        Discovery {
            graph: Graph::new(first),
            stopping: Stopping::new(plan.alpha),
            front: first,
            pending: 0,
            is_finished: false,
            is_incomplete: false,
            full: alloc::vec![plan.algorithm == Algorithm::Mda; 256],
            repeats: alloc::vec![Repeats::default(); 256],
            plan,
        }
    }

    /// Interfaces and links found so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Whether nothing is left to send, and all results are there.
    pub fn is_over(&self) -> bool {
        self.is_finished && self.pending == 0
    }

    /// Whether a limit of flows or of interfaces has cut the search short.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Whether node control was used at a hop.
    pub fn used_node_control(&self, ttl: u8) -> bool {
        self.full[usize::from(ttl)]
    }

    /// The next probe; `None` when results are outstanding, or nothing is left.
    pub fn poll_probe(&mut self) -> Option<Probe> {
        while !self.is_finished {
            match self.examine(self.front) {
                Step::Send(probe) => {
                    match probe.is_repeat {
                        true => self.repeats[usize::from(probe.ttl)].sent += 1,
                        false => self
                            .graph
                            .hop_mut(probe.ttl)
                            .set(probe.flow, Outcome::Pending),
                    }
                    self.pending += 1;
                    return Some(probe);
                }
                Step::Wait => return None,
                Step::Again(front) => self.front = front,
                Step::Done if self.ends_at(self.front) => self.is_finished = true,
                Step::Done => self.front += 1,
            }
        }
        None
    }

    /// A probe was answered by an interface; `is_end`: the path goes no further.
    pub fn handle_answer(&mut self, probe: Probe, address: IpAddr, is_end: bool) {
        self.result(probe, Some(address), is_end);
    }

    /// A probe was not answered, however often it was sent.
    pub fn handle_timeout(&mut self, probe: Probe) {
        self.result(probe, None, false);
    }

    fn result(&mut self, probe: Probe, address: Option<IpAddr>, is_end: bool) {
        let hop = self.graph.hop_mut(probe.ttl);
        let before = hop.outcome(probe.flow);
        if probe.is_repeat {
            let repeats = &mut self.repeats[usize::from(probe.ttl)];
            repeats.finished += 1;
            self.pending = self.pending.saturating_sub(1);
            if address.is_none() {
                return;
            }
            // An interface that only shows now is a vertex, too.
            let known = hop.vertices.len();
            let Some(vertex) = hop.vertex(address, is_end) else {
                self.is_incomplete = true;
                return;
            };
            hop.per_packet |= before != Outcome::Reached(vertex);
            if hop.vertices.len() > known {
                hop.set(probe.flow, Outcome::Reached(vertex));
                self.go_back(probe.ttl);
            }
            return;
        }
        if before != Outcome::Pending {
            return;
        }
        self.pending = self.pending.saturating_sub(1);
        // Without a place for the vertex the flow counts as one of the last.
        let vertex = hop.vertex(address, is_end).unwrap_or_else(|| {
            self.is_incomplete = true;
            (hop.vertices.len() - 1) as u8
        });
        hop.set(probe.flow, Outcome::Reached(vertex));
        self.go_back(probe.ttl);
    }

    /// The same flow at the same hop was answered by another interface than before.
    pub fn saw_other_path(&mut self, ttl: u8) {
        self.graph.hop_mut(ttl).per_packet = true;
    }

    fn go_back(&mut self, ttl: u8) {
        self.front = self.front.min(ttl);
        self.is_finished = false;
    }

    /// Whether the search ends with a hop that is complete.
    fn ends_at(&self, ttl: u8) -> bool {
        let Some(hop) = self.graph.hop(ttl).filter(|_| ttl < self.plan.last) else {
            return true;
        };
        let begin = ttl.saturating_sub(self.plan.gap - 1).max(1);
        let mut silent =
            (begin..=ttl).map(|ttl| self.graph.hop(ttl).is_some_and(|hop| hop.is_silent()));
        let is_gap = ttl >= self.plan.first + self.plan.gap - 1 && silent.all(|silent| silent);
        is_gap || hop.vertices.iter().all(|one| one.is_end)
    }

    fn examine(&mut self, ttl: u8) -> Step {
        let step = match self.plan.algorithm {
            Algorithm::Paris => self.paris(ttl),
            _ if self.full[usize::from(ttl)] => self.mda(ttl),
            _ => self.lite(ttl),
        };
        match step {
            Step::Done => self.repeat(ttl),
            step => step,
        }
    }

    fn paris(&self, ttl: u8) -> Step {
        let outcome = self.graph.hop(ttl).map(|hop| hop.outcome(0));
        match outcome.unwrap_or_default() {
            Outcome::Unknown => Step::send(ttl, 0),
            Outcome::Pending => Step::Wait,
            Outcome::Reached(_) => Step::Done,
        }
    }

    /// Where paths part, one flow is sent as often as would show a second path.
    fn repeat(&mut self, ttl: u8) -> Step {
        let hop = self.graph.hop(ttl);
        let Some(hop) = hop.filter(|hop| hop.vertices.len() > 1 && !hop.per_packet) else {
            return Step::Done;
        };
        if self.plan.algorithm == Algorithm::Paris || self.width(ttl - 1) > 1 {
            return Step::Done;
        }
        let answers = |vertex: &usize| hop.vertices[*vertex].address.is_some();
        let vertex = (0..hop.vertices.len()).find(answers);
        let Some(flow) = vertex.and_then(|vertex| hop.flow_through(vertex)) else {
            return Step::Done;
        };
        let wanted = self.stopping.point(1) - 1;
        let repeats = self.repeats[usize::from(ttl)];
        if repeats.sent < wanted {
            return Step::Send(Probe {
                ttl,
                flow,
                is_repeat: true,
            });
        }
        match repeats.finished < wanted {
            true => Step::Wait,
            false => Step::Done,
        }
    }

    /// Number of vertices of a hop; before the first there is one, the source.
    fn width(&self, ttl: u8) -> usize {
        match ttl < self.plan.first {
            true => 1,
            false => self.graph.hop(ttl).map_or(0, |hop| hop.vertices.len()),
        }
    }

    /// A flow that was not sent to a hop; `None` when all were.
    fn unused_flow(&self, ttl: u8) -> Option<Flow> {
        let Some(hop) = self.graph.hop(ttl) else {
            return Some(0);
        };
        let states = hop.outcomes();
        let unused = states.iter().position(|state| *state == Outcome::Unknown);
        let flow = unused.unwrap_or(states.len()) as Flow;
        (flow < MAX_FLOWS).then_some(flow)
    }
}

impl Step {
    fn send(ttl: u8, flow: Flow) -> Step {
        Step::Send(Probe {
            ttl,
            flow,
            is_repeat: false,
        })
    }
}
