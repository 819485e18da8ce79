//! How a graph is cut into parts that run side by side.
//!
//! Links between parts give the threads their slack: what a node sends arrives in another part not before the link's delay is over,
//! so that parts may be that far apart in time (conservative synchronisation; Chandy and Misra 1979). The cut goes through links with about the
//! longest delays that still let the parts be about equal. Hosts stay with their switches, and neighbours together.

use crate::lane::lookahead;
use node::{Graph, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

/// Cost of a node with one link, relative to one that only forwards.
const EDGE: u64 = 8;
/// Parts for each thread.
const EACH: usize = 8;
/// Minimum number of nodes of a part, unless there would be fewer parts than threads.
const MIN_PART_NODES: usize = 8;

/// A cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Part of each node.
    pub part: Vec<usize>,
    pub parts: usize,
    /// Minimum delay from a node's transmission to a node of another part.
    pub lookahead: Time,
    /// The same for each part and each of those that send to it.
    pub neighbours: Vec<Vec<(usize, Time)>>,
}

impl Partition {
    fn whole(nodes: usize) -> Partition {
        Partition {
            part: vec![0; nodes],
            parts: 1,
            lookahead: Time::MAX,
            neighbours: vec![Vec::new()],
        }
    }

    /// Cuts a graph into parts for so many threads; for fewer where its links leave no other way.
    pub fn of(graph: &Graph, threads: usize) -> Partition {
        let nodes = graph.members.len();
        if threads < 2 || nodes < threads {
            return Partition::whole(nodes);
        }
        let needs: Vec<usize> = graph
            .members
            .iter()
            .map(|member| member.node.properties().needs.unwrap_or(usize::MAX))
            .collect();
        // By direction, and for both.
        let leads = graph.links.iter().map(|link| {
            let [a, b] = link.ends.map(|end| needs[end.node.0]);
            let [forth, back] = &link.channels;
            [lookahead(forth, b), lookahead(back, a)]
        });
        let leads: Vec<[Time; 2]> = leads.collect();
        let slack: Vec<Time> = leads.iter().map(|[forth, back]| *forth.min(back)).collect();
        let degrees = degrees(graph);
        let weights = weights(graph, &degrees);
        let ends = graph.links.iter().map(|link| link.ends);
        let is_leaf = ends.map(|ends| ends.iter().any(|end| degrees[end.node.0] == 1));
        let is_leaf: Vec<bool> = is_leaf.collect();
        let longest = slack.iter().copied().max().unwrap_or_default();
        for least in (2..=threads).rev() {
            // A thread that is done with its own parts takes those that are left: smaller ones leave less to wait for.
            let most = (EACH * threads).min(nodes / MIN_PART_NODES).max(least);
            // From the longest delays down: links with less than that stay within a part.
            let mut level = longest;
            while level > Time::ZERO {
                let floor = Time::from_ps(level.as_ps() - level.as_ps() / 4);
                let cut = |leaves: bool| {
                    let may_cut = |link: usize| slack[link] >= floor && (leaves || !is_leaf[link]);
                    balanced(graph, &weights, least..=most, may_cut)
                };
                // A host stays with its switch if that can be.
                if let Some((part, parts)) = cut(false).or_else(|| cut(true)) {
                    let neighbours = neighbours(graph, &leads, &part, parts);
                    let all = neighbours.iter().flatten().map(|(_, lead)| *lead);
                    // Parts that nothing connects never hear of each other.
                    let lookahead = all.min().unwrap_or(longest);
                    return Partition {
                        part,
                        parts,
                        lookahead,
                        neighbours,
                    };
                }
                let shorter = slack.iter().copied().filter(|slack| *slack < floor);
                level = shorter.max().unwrap_or_default();
            }
        }
        Partition::whole(nodes)
    }
}

/// For each part, those that send to it, and from when a node there sends to when one here is told, at least.
fn neighbours(
    graph: &Graph,
    leads: &[[Time; 2]],
    part: &[usize],
    parts: usize,
) -> Vec<Vec<(usize, Time)>> {
    let mut least: Vec<BTreeMap<usize, Time>> = vec![BTreeMap::new(); parts];
    for (link, [forth, back]) in graph.links.iter().zip(leads) {
        let [a, b] = link.ends.map(|end| part[end.node.0]);
        for (from, to, lead) in [(a, b, *forth), (b, a, *back)] {
            if from != to {
                let known = least[to].entry(from).or_insert(lead);
                *known = lead.min(*known);
            }
        }
    }
    least
        .into_iter()
        .map(|least| least.into_iter().collect())
        .collect()
}

/// How many links each node has.
fn degrees(graph: &Graph) -> Vec<usize> {
    let mut links = vec![0; graph.members.len()];
    for end in graph.links.iter().flat_map(|link| link.ends) {
        links[end.node.0] += 1;
    }
    links
}

/// What a node is taken to cost, beside others. Frames begin and end at the edge, where hosts and generators have one link, and cost most there;
/// next to it they all pass. How many of the links between others they take nobody knows before: a spanning tree leaves most of them idle.
fn weights(graph: &Graph, links: &[usize]) -> Vec<u64> {
    let is_edge = |node: usize| links[node] <= 1;
    let mut weights: Vec<u64> = (0..links.len())
        .map(|node| if is_edge(node) { EDGE } else { 1 })
        .collect();
    for link in &graph.links {
        let [a, b] = link.ends.map(|end| end.node.0);
        for (node, other) in [(a, b), (b, a)] {
            weights[node] += u64::from(is_edge(other));
        }
    }
    weights
}

/// As many parts of about equal weight as there can be of those numbers, with links between them that may be cut; `None` where one of
/// them would have to have more than six fifths of its share.
fn balanced(
    graph: &Graph,
    weights: &[u64],
    parts: RangeInclusive<usize>,
    may_cut: impl Fn(usize) -> bool,
) -> Option<(Vec<usize>, usize)> {
    let nodes = weights.len();
    let mut adjacent: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes];
    for (index, link) in graph.links.iter().enumerate() {
        let [a, b] = link.ends.map(|end| end.node.0);
        adjacent[a].push((b, index));
        adjacent[b].push((a, index));
    }
    // Nodes that stay together.
    let mut cluster = vec![usize::MAX; nodes];
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    for first in 0..nodes {
        if cluster[first] != usize::MAX {
            continue;
        }
        let index = clusters.len();
        let (mut members, mut next) = (vec![first], 0);
        cluster[first] = index;
        while let Some(&node) = members.get(next) {
            next += 1;
            for &(other, link) in &adjacent[node] {
                if !may_cut(link) && cluster[other] == usize::MAX {
                    cluster[other] = index;
                    members.push(other);
                }
            }
        }
        clusters.push(members);
    }
    parts.rev().find_map(|parts| {
        let part = grown(&clusters, &cluster, &adjacent, weights, parts)?;
        Some((part, parts))
    })
}

/// So many parts, of nodes that stay together.
fn grown(
    clusters: &[Vec<usize>],
    cluster: &[usize],
    adjacent: &[Vec<(usize, usize)>],
    weights: &[u64],
    parts: usize,
) -> Option<Vec<usize>> {
    let weight = |index: usize| -> u64 { clusters[index].iter().map(|&node| weights[node]).sum() };
    let all: u64 = weights.iter().sum();
    let share = all.div_ceil(parts as u64);
    let most = share + share / 5;
    if clusters.len() < parts || (0..clusters.len()).any(|index| weight(index) > most) {
        return None;
    }
    // Each part grows from a switch with its hosts outwards, the heaviest first, until it has its share.
    let mut of_cluster = vec![usize::MAX; clusters.len()];
    let mut order: Vec<usize> = (0..clusters.len()).collect();
    order.sort_by_key(|&index| Reverse(weight(index)));
    let (mut part, mut filled, mut left) = (0, 0, all);
    let mut reached: VecDeque<usize> = VecDeque::new();
    let mut seeds = order.into_iter();
    while let Some(index) = reached.pop_front().or_else(|| seeds.next()) {
        if of_cluster[index] != usize::MAX {
            continue;
        }
        let own = weight(index);
        let goal = left.div_ceil((parts - part) as u64);
        if filled > 0 && 2 * filled + own > 2 * goal && part + 1 < parts {
            left -= filled;
            (part, filled) = (part + 1, 0);
            reached.clear();
        }
        of_cluster[index] = part;
        filled += own;
        for &node in &clusters[index] {
            for &(other, _) in &adjacent[node] {
                if of_cluster[cluster[other]] == usize::MAX {
                    reached.push_back(cluster[other]);
                }
            }
        }
    }
    let part: Vec<usize> = cluster.iter().map(|&index| of_cluster[index]).collect();
    let mut sums = vec![0; parts];
    for (node, &part) in part.iter().enumerate() {
        sums[part] += weights[node];
    }
    sums.iter()
        .all(|sum| (1..=most).contains(sum))
        .then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::{Channel, NodeId, Rate};
    use nodes::sink::{self, Sink};

    #[test]
    fn parts_share_the_hosts_with_their_switches_and_not_the_ports() {
        let mut graph = Graph::default();
        let channel = || Channel {
            delay: Time::from_us(5),
            ..Channel::default()
        };
        let add = |graph: &mut Graph, name: String| {
            let sink = Sink::new(sink::Config { ports: 12 }).unwrap();
            graph.add(name, Box::new(sink))
        };
        // Two switches with four hosts each, and between them eight that have no host and many links.
        let edges: Vec<NodeId> = (0..2)
            .map(|edge| add(&mut graph, format!("e{edge}")))
            .collect();
        for (edge, &switch) in edges.iter().enumerate() {
            for host in 0..4 {
                let host_id = add(&mut graph, format!("h{edge}-{host}"));
                let slow = Channel {
                    rate: Rate::from_bits_per_second(1_000_000_000),
                    ..channel()
                };
                graph.connect((host_id, 0), (switch, host), slow);
            }
        }
        for core in 0..8 {
            let switch = add(&mut graph, format!("c{core}"));
            for (edge, &other) in edges.iter().enumerate() {
                graph.connect((switch, edge as u16), (other, 4 + core), channel());
            }
        }
        let partition = Partition::of(&graph, 2);
        assert_eq!(partition.parts, 2);
        let hosts = |part: usize| {
            let is_host = |node: &usize| graph.members[*node].name.starts_with('h');
            let nodes = (0..graph.members.len()).filter(is_host);
            nodes.filter(|node| partition.part[*node] == part).count()
        };
        assert_eq!([hosts(0), hosts(1)], [4, 4]);
        // The links to hosts are slower, so that they would give a little more lookahead.
        for link in &graph.links[..8] {
            let [host, switch] = link.ends.map(|end| partition.part[end.node.0]);
            assert_eq!(host, switch);
        }
    }

    #[test]
    fn each_part_knows_who_sends_to_it_and_the_lookahead_of_that_direction() {
        let mut graph = Graph::default();
        let nodes: Vec<NodeId> = (0..4)
            .map(|node| {
                let sink = Sink::new(sink::Config { ports: 5 }).unwrap();
                graph.add(format!("n{node}"), Box::new(sink))
            })
            .collect();
        let channel = |us| Channel {
            delay: Time::from_us(us),
            rate: None,
            ..Channel::default()
        };
        // A ring, with two links between the first two, of which the shorter one counts.
        let links = [
            (0, 1, 50, 70),
            (0, 1, 60, 65),
            (1, 2, 52, 80),
            (2, 3, 55, 56),
            (3, 0, 57, 58),
        ];
        for (a, b, forth, back) in links {
            let ports = [graph.links.len() as u16; 2];
            graph.connect((nodes[a], ports[0]), (nodes[b], ports[1]), channel(forth));
            let link = graph.links.last_mut().unwrap();
            link.channels[1] = channel(back);
        }
        let partition = Partition::of(&graph, 4);
        assert_eq!(
            (partition.parts, partition.lookahead),
            (4, Time::from_us(50))
        );
        let part = |node: usize| partition.part[node];
        let mut known = vec![Vec::new(); 4];
        let between = [
            (0, 1, 65),
            (1, 0, 50),
            (1, 2, 80),
            (2, 1, 52),
            (2, 3, 56),
            (3, 2, 55),
            (3, 0, 58),
            (0, 3, 57),
        ];
        for (to, from, us) in between {
            known[part(to)].push((part(from), Time::from_us(us)));
        }
        known.iter_mut().for_each(|from| from.sort_unstable());
        assert_eq!(partition.neighbours, known);
    }
}
