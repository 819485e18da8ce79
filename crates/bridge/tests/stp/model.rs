//! The spanning tree of a network by its definition (802.1D-2004 sections 17.3 to 17.7): shortest paths to the best
//! bridge of each component, computed for the whole network.

use super::network::{BridgeSpec, Link};
use bridge::stp::Role;

/// Identifier of a bridge as a pair that compares as the standard says.
fn identifier(spec: &BridgeSpec) -> (u16, [u8; 6]) {
    (spec.config.priority, spec.config.mac.0)
}

fn port_identifier(spec: &BridgeSpec, port: u16) -> (u8, u16) {
    (spec.ports[usize::from(port)].priority, port)
}

/// The role of each port of each bridge.
pub fn roles(specs: &[BridgeSpec], links: &[Link]) -> Vec<Vec<Role>> {
    let links: Vec<&Link> = links.iter().filter(|link| link.up).collect();
    // The best bridge that each can reach.
    let mut root: Vec<usize> = (0..specs.len()).collect();
    for _ in 0..specs.len() {
        for link in &links {
            let [(a, _), (b, _)] = link.ends;
            let best = root[a].min_by_identifier(root[b], specs);
            (root[a], root[b]) = (best, best);
        }
    }
    // Bellman and Ford: the cost of a hop is that of the port towards the root.
    let mut cost: Vec<Option<u64>> = (0..specs.len())
        .map(|b| (root[b] == b).then_some(0))
        .collect();
    for _ in 0..specs.len() {
        for link in &links {
            for [(from, _), (to, port)] in [link.ends, [link.ends[1], link.ends[0]]] {
                let step = specs[to].ports[usize::from(port)].cost.expect("configured");
                if let Some(there) = cost[from] {
                    let way = there + u64::from(step);
                    cost[to] = Some(cost[to].map_or(way, |known| known.min(way)));
                }
            }
        }
    }
    let mut roles: Vec<Vec<Role>> = specs
        .iter()
        .map(|spec| vec![Role::Disabled; spec.ports.len()])
        .collect();
    // The designated end of each link.
    for link in &links {
        let key = |&(bridge, port): &(usize, u16)| {
            (
                cost[bridge],
                identifier(&specs[bridge]),
                port_identifier(&specs[bridge], port),
            )
        };
        let [a, b] = link.ends;
        let (designated, other) = if key(&a) <= key(&b) { (a, b) } else { (b, a) };
        roles[designated.0][usize::from(designated.1)] = Role::Designated;
        let rest = if a.0 == b.0 {
            Role::Backup
        } else {
            Role::Alternate
        };
        roles[other.0][usize::from(other.1)] = rest;
    }
    for bridge in (0..specs.len()).filter(|&bridge| root[bridge] != bridge) {
        let ways = links
            .iter()
            .flat_map(|link| [link.ends, [link.ends[1], link.ends[0]]]);
        let ways = ways.filter(|[(from, _), (to, _)]| *to == bridge && *from != bridge);
        let best = ways.min_by_key(|&[(from, sender), (_, port)]| {
            let step = specs[bridge].ports[usize::from(port)]
                .cost
                .expect("configured");
            let sender = (
                identifier(&specs[from]),
                port_identifier(&specs[from], sender),
            );
            (
                cost[from].expect("connected") + u64::from(step),
                sender,
                port_identifier(&specs[bridge], port),
            )
        });
        let [_, (_, port)] = best.expect("a way");
        roles[bridge][usize::from(port)] = Role::Root;
    }
    roles
}

trait Best {
    fn min_by_identifier(self, other: usize, specs: &[BridgeSpec]) -> usize;
}

impl Best for usize {
    fn min_by_identifier(self, other: usize, specs: &[BridgeSpec]) -> usize {
        [self, other]
            .into_iter()
            .min_by_key(|&b| identifier(&specs[b]))
            .expect("two")
    }
}
