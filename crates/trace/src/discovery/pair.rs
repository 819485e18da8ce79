//! Knowledge about two hops in a row, counted over all flows.

use super::Discovery;
use crate::graph::{Flow, Hop, Outcome};
use alloc::vec::Vec;

/// Flows of a vertex of the upper hop.
#[derive(Clone, Debug, Default)]
pub(super) struct Parent {
    pub is_end: bool,
    /// Flows with a result at the lower hop, and flows that wait for one.
    pub tested: u32,
    pub pending: u32,
    /// A flow that passes the vertex and was not sent to the lower hop.
    pub untested: Option<Flow>,
}

/// Flows of a vertex of the lower hop.
#[derive(Clone, Debug, Default)]
pub(super) struct Child {
    /// Flows with a result at the upper hop, and flows that wait for one.
    pub traced: u32,
    pub pending: u32,
    /// A flow that passes the vertex and was not sent to the upper hop.
    pub untraced: Option<Flow>,
}

/// The hops of `ttl - 1` and `ttl`.
#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    pub parents: Vec<Parent>,
    pub children: Vec<Child>,
    links: Vec<bool>,
    /// Flows at the lower hop: with a result, and waiting.
    pub tested: u32,
    pub pending: u32,
    /// Flows that wait for a result at the upper hop.
    pub pending_above: u32,
}

impl Pair {
    pub fn is_linked(&self, parent: usize, child: usize) -> bool {
        self.links[parent * self.children.len() + child]
    }

    /// Number of known successors of a vertex of the upper hop.
    pub fn successors(&self, parent: usize) -> usize {
        let all = 0..self.children.len();
        all.filter(|child| self.is_linked(parent, *child)).count()
    }

    /// Number of known predecessors of a vertex of the lower hop.
    pub fn predecessors(&self, child: usize) -> usize {
        let all = 0..self.parents.len();
        all.filter(|parent| self.is_linked(*parent, child)).count()
    }
}

impl Discovery {
    pub(super) fn pair(&self, ttl: u8) -> Pair {
        let upper = match ttl > self.plan.first {
            true => self.graph.hop(ttl - 1),
            false => None,
        };
        let lower = self.graph.hop(ttl);
        let mut pair = Pair::default();
        match upper {
            Some(hop) => pair.parents.extend(hop.vertices.iter().map(|one| Parent {
                is_end: one.is_end,
                ..Parent::default()
            })),
            // The source, through which every flow passes.
            None => pair.parents.push(Parent::default()),
        }
        let width = lower.map_or(0, |hop| hop.vertices.len());
        pair.children.resize(width, Child::default());
        pair.links.resize(width * pair.parents.len(), false);
        let states = |hop: Option<&Hop>| hop.map_or(Vec::new(), |hop| hop.outcomes().to_vec());
        let (mut above, mut below) = (states(upper), states(lower));
        let flows = above.len().max(below.len());
        let all = match upper {
            Some(_) => Outcome::Unknown,
            None => Outcome::Reached(0),
        };
        above.resize(flows, all);
        below.resize(flows, Outcome::Unknown);
        for (flow, (above, below)) in above.iter().zip(&below).enumerate() {
            if (*above, *below) != (Outcome::Unknown, Outcome::Unknown) {
                pair.count(flow as Flow, *above, *below);
            }
        }
        pair
    }
}

impl Pair {
    #[inline]
    fn count(&mut self, flow: Flow, above: Outcome, below: Outcome) {
        self.pending_above += u32::from(above == Outcome::Pending);
        let ended = match above {
            Outcome::Reached(parent) => self.parents[usize::from(parent)].is_end,
            _ => false,
        };
        match below {
            Outcome::Pending => self.pending += 1,
            Outcome::Reached(_) if !ended => self.tested += 1,
            _ => {}
        }
        if let Outcome::Reached(parent) = above {
            let one = &mut self.parents[usize::from(parent)];
            match below {
                Outcome::Unknown => one.untested = one.untested.or(Some(flow)),
                Outcome::Pending => one.pending += 1,
                Outcome::Reached(_) => one.tested += 1,
            }
        }
        if let Outcome::Reached(child) = below {
            let one = &mut self.children[usize::from(child)];
            match above {
                Outcome::Unknown => one.untraced = one.untraced.or(Some(flow)),
                Outcome::Pending => one.pending += 1,
                Outcome::Reached(_) => one.traced += 1,
            }
        }
        if let (Outcome::Reached(parent), Outcome::Reached(child), false) = (above, below, ended) {
            let place = usize::from(parent) * self.children.len() + usize::from(child);
            self.links[place] = true;
        }
    }
}
