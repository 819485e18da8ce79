//! MDA-Lite: all vertices of each hop, without node control while a diamond is uniform and not meshed.

use super::pair::Pair;
use super::{Discovery, Step};

impl Discovery {
    pub(super) fn lite(&mut self, ttl: u8) -> Step {
        let pair = self.pair(ttl);
        // Paths of several lengths: the vertices of a hop are no longer equally likely.
        let ends = pair.parents.iter().filter(|one| one.is_end).count();
        let in_full =
            ttl > self.plan.first && self.full[usize::from(ttl - 1)] && pair.parents.len() > 1;
        if in_full || (1..pair.parents.len()).contains(&ends) {
            self.full[usize::from(ttl)] = true;
            return Step::Again(ttl);
        }
        // First one flow of each vertex of the hop before, so that each gets a successor.
        for parent in &pair.parents {
            let bare = !parent.is_end && parent.tested + parent.pending == 0;
            if let (true, Some(flow)) = (bare, parent.untested) {
                return Step::send(ttl, flow);
            }
        }
        let wanted = self.stopping.point(pair.children.len());
        if pair.tested + pair.pending < wanted {
            let known = pair.parents.iter().filter(|one| !one.is_end);
            let known = known.filter_map(|one| one.untested).min();
            match known.or_else(|| self.unused_flow(ttl)) {
                Some(flow) => return Step::send(ttl, flow),
                None if self.give_up(&pair) => return Step::Wait,
                None => {}
            }
        }
        if pair.pending > 0 {
            return Step::Wait;
        }
        if let Some(step) = self.trace_back(ttl, &pair) {
            return step;
        }
        if pair.parents.len() < 2 || pair.children.len() < 2 {
            return Step::Done;
        }
        if let Some(step) = self.test_for_meshing(ttl, &pair) {
            return step;
        }
        match is_meshed(&pair) || is_asymmetric(&pair) {
            true => Step::Again(self.switch_to_node_control(ttl)),
            false => Step::Done,
        }
    }

    /// Sends `phi` flows from each vertex of the wider hop to the other (section 2.3.1).
    fn test_for_meshing(&mut self, ttl: u8, pair: &Pair) -> Option<Step> {
        // A link that shows it already saves the rest.
        if is_meshed(pair) {
            return None;
        }
        let phi = self.plan.phi;
        let mut waits = false;
        if pair.parents.len() >= pair.children.len() {
            for (index, parent) in pair.parents.iter().enumerate() {
                let under_way = parent.tested + parent.pending;
                waits |= parent.tested < phi;
                if under_way >= phi {
                    continue;
                }
                if let Some(flow) = parent.untested {
                    return Some(Step::send(ttl, flow));
                }
                match self.node_control(ttl, index, phi - under_way, pair) {
                    Some(step) => return Some(step),
                    None => waits = self.give_up(pair),
                }
            }
        } else {
            for child in &pair.children {
                let under_way = child.traced + child.pending;
                waits |= child.traced < phi;
                if under_way >= phi {
                    continue;
                }
                if let Some(flow) = child.untraced {
                    return Some(Step::send(ttl - 1, flow));
                }
                // A flow more at this hop, where it has to pass the vertex.
                if pair.pending >= phi - under_way {
                    return Some(Step::Wait);
                }
                match self.unused_flow(ttl) {
                    Some(flow) => return Some(Step::send(ttl, flow)),
                    None => waits = self.give_up(pair),
                }
            }
        }
        waits.then_some(Step::Wait)
    }

    /// Uses node control in the whole diamond of a hop; gives the diamond's first hop.
    fn switch_to_node_control(&mut self, ttl: u8) -> u8 {
        let mut begin = ttl;
        while begin > self.plan.first && self.width(begin - 1) > 1 {
            begin -= 1;
        }
        for ttl in begin..=ttl {
            self.full[usize::from(ttl)] = true;
        }
        begin
    }
}

/// Whether a vertex of the wider hop has several links to the other.
fn is_meshed(pair: &Pair) -> bool {
    let (parents, children) = (pair.parents.len(), pair.children.len());
    let forward = parents >= children && (0..parents).any(|one| pair.successors(one) > 1);
    forward || (parents <= children && (0..children).any(|one| pair.predecessors(one) > 1))
}

/// Whether the vertices of the narrower hop differ in their number of links, so that those of the wider one are not
/// equally likely (section 2.3.2).
fn is_asymmetric(pair: &Pair) -> bool {
    let (parents, children) = (pair.parents.len(), pair.children.len());
    let differ = |mut counts: alloc::vec::IntoIter<usize>| {
        let first = counts.next();
        counts.any(|count| Some(count) != first)
    };
    let collect = |counts: alloc::vec::Vec<usize>| differ(counts.into_iter());
    match parents < children {
        true => collect((0..parents).map(|one| pair.successors(one)).collect()),
        false => collect((0..children).map(|one| pair.predecessors(one)).collect()),
    }
}
