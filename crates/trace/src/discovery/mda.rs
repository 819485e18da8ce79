//! The multipath detection algorithm: all successors of each vertex.

use super::pair::Pair;
use super::{Discovery, Step};
use crate::graph::{Flow, MAX_WIDTH, Outcome};

impl Discovery {
    pub(super) fn mda(&mut self, ttl: u8) -> Step {
        let pair = self.pair(ttl);
        let mut waits = false;
        for (index, parent) in pair.parents.iter().enumerate() {
            if parent.is_end {
                continue;
            }
            let wanted = self.stopping.point(pair.successors(index));
            let under_way = parent.tested + parent.pending;
            if parent.tested >= wanted {
                continue;
            }
            waits = true;
            if under_way >= wanted {
                continue;
            }
            match (parent.untested, ttl > self.plan.first) {
                (Some(flow), _) => return Step::send(ttl, flow),
                (None, false) => match self.unused_flow(ttl) {
                    Some(flow) => return Step::send(ttl, flow),
                    None => waits = self.give_up(&pair),
                },
                (None, true) => match self.node_control(ttl, index, wanted - under_way, &pair) {
                    Some(step) => return step,
                    None => waits = self.give_up(&pair),
                },
            }
        }
        if let Some(step) = self.trace_back(ttl, &pair) {
            return step;
        }
        match waits || pair.pending > 0 {
            true => Step::Wait,
            false => Step::Done,
        }
    }

    /// Looks for `missing` more flows through a vertex of the upper hop; `None` when there are no more flows.
    pub(super) fn node_control(
        &self,
        ttl: u8,
        parent: usize,
        missing: u32,
        pair: &Pair,
    ) -> Option<Step> {
        // As many as would be needed if all went this way; the next are sent when their results are there.
        if pair.pending_above >= missing {
            return Some(Step::Wait);
        }
        let flow = self
            .likely_flow(ttl - 1, parent)
            .or_else(|| self.unused_flow(ttl - 1))?;
        Some(Step::send(ttl - 1, flow))
    }

    /// A flow that passes a predecessor of a vertex, and was not sent to the vertex's hop.
    fn likely_flow(&self, ttl: u8, vertex: usize) -> Option<Flow> {
        let hop = self.graph.hop(ttl)?;
        let above = self.graph.hop(ttl.checked_sub(1)?)?;
        let mut leads = [false; MAX_WIDTH];
        for (parent, child) in above.outcomes().iter().zip(hop.outcomes()) {
            if let (Outcome::Reached(parent), Outcome::Reached(child)) = (parent, child) {
                leads[usize::from(*parent)] |= usize::from(*child) == vertex;
            }
        }
        let mut flows = above.flows().filter_map(|(flow, outcome)| match outcome {
            Outcome::Reached(parent) if leads[usize::from(parent)] => Some(flow),
            _ => None,
        });
        flows.find(|flow| hop.outcome(*flow) == Outcome::Unknown)
    }

    /// Sends a flow of a vertex without a known predecessor to the hop before it.
    pub(super) fn trace_back(&self, ttl: u8, pair: &Pair) -> Option<Step> {
        let mut waits = false;
        for (index, child) in pair.children.iter().enumerate() {
            if child.traced > 0 || pair.predecessors(index) > 0 {
                continue;
            }
            match child.untraced {
                Some(_) if child.pending > 0 => waits = true,
                Some(flow) => return Some(Step::send(ttl - 1, flow)),
                None => waits |= child.pending > 0,
            }
        }
        waits.then_some(Step::Wait)
    }

    /// No flow is left; outstanding probes still count.
    pub(super) fn give_up(&mut self, pair: &Pair) -> bool {
        self.is_incomplete = true;
        pair.pending + pair.pending_above > 0
    }
}
