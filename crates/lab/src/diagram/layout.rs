//! Where the nodes of a graph are drawn: rows in a circle, a line, or layers above the leaves, as trees and fat trees have them.

use std::collections::VecDeque;

/// Places of nodes, in units of one node's room to the right and one layer down.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Layout {
    /// By node: to the right, and down.
    pub places: Vec<(f64, f64)>,
    /// To the right.
    pub width: f64,
    /// Down.
    pub height: f64,
}

/// Leaves round one node from which on they are in a circle.
const ROUND: usize = 13;
/// Minimum number of leaves around a node that are placed in two rings.
const MIN_TWO_RING_LEAVES: usize = 24;
/// Passes in which neighbours are brought together.
const PASSES: usize = 12;

/// Lays a graph out; `links` are pairs of nodes from 0 to `count`.
pub(crate) fn layout(count: usize, links: &[(usize, usize)]) -> Layout {
    let mut neighbours = vec![Vec::new(); count];
    for &(a, b) in links.iter().filter(|(a, b)| a != b) {
        if !neighbours[a].contains(&b) {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
    }
    let mut layout = Layout {
        places: vec![(0.0, 0.0); count],
        ..Layout::default()
    };
    for members in components(&neighbours) {
        let part = component(&members, &neighbours);
        let shift = layout.width + if layout.width > 0.0 { 0.6 } else { 0.0 };
        for (node, (x, y)) in members.iter().zip(&part.places) {
            layout.places[*node] = (x + shift, *y);
        }
        layout.width = shift + part.width;
        layout.height = layout.height.max(part.height);
    }
    layout
}

/// The nodes of each part that hangs together, in their order.
fn components(neighbours: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut seen = vec![false; neighbours.len()];
    let mut all = Vec::new();
    for first in 0..neighbours.len() {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let (mut members, mut next) = (vec![first], 0);
        while let Some(&node) = members.get(next) {
            next += 1;
            for &other in &neighbours[node] {
                if !std::mem::replace(&mut seen[other], true) {
                    members.push(other);
                }
            }
        }
        members.sort_unstable();
        all.push(members);
    }
    all
}

/// Lays out one component; places are in the order of its members.
fn component(members: &[usize], neighbours: &[Vec<usize>]) -> Layout {
    let place = |node: usize| members.binary_search(&node).unwrap_or(0);
    let near: Vec<Vec<usize>> = members
        .iter()
        .map(|node| {
            neighbours[*node]
                .iter()
                .map(|other| place(*other))
                .collect()
        })
        .collect();
    let most = near.iter().map(Vec::len).max().unwrap_or(0);
    let leaves = near.iter().filter(|near| near.len() <= 1).count();
    let hub = near.iter().position(|near| near.len() + 1 == members.len());
    match (most, leaves, hub) {
        (0..=2, 1.., _) => row(&near),
        (2, 0, _) => circle(&chain(&near, 0), None),
        (_, _, Some(hub)) if leaves + 1 == members.len() && leaves >= ROUND => {
            let others: Vec<usize> = (0..members.len()).filter(|node| *node != hub).collect();
            circle(&others, Some(hub))
        }
        _ => layers(&near),
    }
}

/// Nodes one after the other along a line or a ring.
fn chain(near: &[Vec<usize>], first: usize) -> Vec<usize> {
    let (mut order, mut at) = (vec![first], first);
    while let Some(next) = near[at].iter().copied().find(|next| !order.contains(next)) {
        order.push(next);
        at = next;
    }
    order
}

fn row(near: &[Vec<usize>]) -> Layout {
    let first = near.iter().position(|near| near.len() <= 1).unwrap_or(0);
    let mut places = vec![(0.0, 0.5); near.len()];
    for (index, node) in chain(near, first).into_iter().enumerate() {
        // What is on a line has room for what its links are like.
        places[node].0 = 0.5 + 1.6 * index as f64;
    }
    Layout {
        places,
        width: 1.0 + 1.6 * (near.len() - 1) as f64,
        height: 1.0,
    }
}

/// Nodes in a circle, with one in its middle perhaps.
fn circle(order: &[usize], middle: Option<usize>) -> Layout {
    let count = order.len() as f64;
    // Round a middle many stand in two rings, every other one nearer, so that the picture stays small.
    let two = middle.is_some() && order.len() >= MIN_TWO_RING_LEAVES;
    let apart = if two { 0.65 } else { 1.15 };
    let across = (count * apart / std::f64::consts::PI).max(2.2);
    // A layer is higher than a node is wide.
    let (rx, ry) = (across / 2.0, across / 2.0 * 0.8);
    let centre = (rx + 0.5, ry + 0.5);
    let mut places = vec![centre; order.len() + usize::from(middle.is_some())];
    for (index, node) in order.iter().enumerate() {
        let angle = std::f64::consts::TAU * index as f64 / count - std::f64::consts::FRAC_PI_2;
        let nearer = if two && index % 2 == 1 { 1.0 } else { 0.0 };
        let (rx, ry) = (rx - nearer, ry - nearer * 0.8);
        places[*node] = (centre.0 + rx * angle.cos(), centre.1 + ry * angle.sin());
    }
    Layout {
        places,
        width: 2.0 * rx + 1.0,
        height: 2.0 * ry + 1.0,
    }
}

/// Leaves at the bottom, and above them each node by how far it is from the nearest leaf.
fn layers(near: &[Vec<usize>]) -> Layout {
    let level = levels(near);
    let top = level.iter().copied().max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); top + 1];
    for (node, level) in level.iter().enumerate() {
        rows[*level].push(node);
    }
    order(&mut rows, near, &level);
    let widest = rows.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let mut x = vec![0.0; near.len()];
    for (index, node) in rows[0].iter().enumerate() {
        x[*node] = 0.5 + index as f64 * (widest / rows[0].len().max(1) as f64);
    }
    // Where nothing hangs below, nodes are in order; else above the middle of what does.
    for (current, row) in rows.iter().enumerate().skip(1) {
        let wanted: Vec<f64> = row
            .iter()
            .enumerate()
            .map(|(index, node)| {
                let below = near[*node].iter().filter(|other| level[**other] < current);
                let below: Vec<f64> = below.map(|other| x[*other]).collect();
                match below.is_empty() {
                    true => index as f64,
                    false => below.iter().sum::<f64>() / below.len() as f64,
                }
            })
            .collect();
        let apart = (0.55 * widest / row.len() as f64).clamp(1.0, 2.5);
        for (node, at) in row.iter().zip(spread(&wanted, apart)) {
            x[*node] = at;
        }
    }
    let least = x.iter().copied().fold(f64::INFINITY, f64::min);
    let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let places = x.iter().zip(&level);
    let places = places.map(|(x, level)| (x - least + 0.5, (top - level) as f64 + 0.5));
    Layout {
        places: places.collect(),
        width: most - least + 1.0,
        height: top as f64 + 1.0,
    }
}

/// How far each node is from the nearest leaf; of what has no leaf, from those of fewest neighbours.
fn levels(near: &[Vec<usize>]) -> Vec<usize> {
    let fewest = near.iter().map(Vec::len).min().unwrap_or(0).max(1);
    let mut level = vec![usize::MAX; near.len()];
    let mut queue: VecDeque<usize> = VecDeque::new();
    for node in 0..near.len() {
        if near[node].len() <= fewest {
            level[node] = 0;
            queue.push_back(node);
        }
    }
    while let Some(node) = queue.pop_front() {
        for &other in &near[node] {
            if level[other] == usize::MAX {
                level[other] = level[node] + 1;
                queue.push_back(other);
            }
        }
    }
    level
}

/// Brings neighbours together within the rows, and keeps the order with the fewest crossings.
fn order(rows: &mut Vec<Vec<usize>>, near: &[Vec<usize>], level: &[usize]) {
    let mut best = (crossings(rows, near, level), rows.clone());
    for pass in 0..PASSES {
        let down = pass % 2 == 0;
        let levels: Vec<usize> = match down {
            true => (0..rows.len()).rev().collect(),
            false => (0..rows.len()).collect(),
        };
        for at in levels {
            let mut position = vec![0.0; near.len()];
            for row in rows.iter() {
                for (index, node) in row.iter().enumerate() {
                    position[*node] = index as f64 / row.len() as f64;
                }
            }
            let weight = |node: usize| {
                let others = near[node].iter().filter(|other| match down {
                    true => level[**other] > at,
                    false => level[**other] < at,
                });
                let others: Vec<f64> = others.map(|other| position[*other]).collect();
                match others.is_empty() {
                    true => position[node],
                    false => others.iter().sum::<f64>() / others.len() as f64,
                }
            };
            rows[at].sort_by(|a, b| weight(*a).total_cmp(&weight(*b)));
        }
        let now = crossings(rows, near, level);
        if now < best.0 {
            best = (now, rows.clone());
        }
    }
    *rows = best.1;
}

/// How many links between neighbouring rows cross; of large graphs those of the first few thousand.
fn crossings(rows: &[Vec<usize>], near: &[Vec<usize>], level: &[usize]) -> usize {
    let mut position = vec![0; near.len()];
    for row in rows {
        for (index, node) in row.iter().enumerate() {
            position[*node] = index;
        }
    }
    let mut count = 0;
    for (at, row) in rows.iter().enumerate() {
        let ends: Vec<(usize, usize)> = row
            .iter()
            .flat_map(|node| near[*node].iter().map(move |other| (*node, *other)))
            .filter(|(_, other)| level[*other] == at + 1)
            .map(|(node, other)| (position[node], position[other]))
            .take(3_000)
            .collect();
        for (index, a) in ends.iter().enumerate() {
            let later = ends[index + 1..].iter();
            count += later
                .filter(|b| a.0 < b.0 && a.1 > b.1 || a.0 > b.0 && a.1 < b.1)
                .count();
        }
    }
    count
}

/// Places in order, at least so far apart, and as near to those that are wanted as that allows (by pooling adjacent violators).
fn spread(wanted: &[f64], apart: f64) -> Vec<f64> {
    // Blocks of places that are exactly so far apart: their sum, less the distances, and how many.
    let mut blocks: Vec<(f64, f64)> = Vec::new();
    for (index, at) in wanted.iter().enumerate() {
        blocks.push((at - index as f64 * apart, 1.0));
        while let [.., before, last] = blocks[..]
            && before.0 / before.1 > last.0 / last.1
        {
            blocks.pop();
            blocks.pop();
            blocks.push((before.0 + last.0, before.1 + last.1));
        }
    }
    let means = blocks
        .iter()
        .flat_map(|(sum, count)| std::iter::repeat_n(sum / count, *count as usize));
    means
        .enumerate()
        .map(|(index, mean)| mean + index as f64 * apart)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_row_and_a_ring_a_circle() {
        let line = layout(3, &[(0, 2), (2, 1)]);
        assert!(line.places.iter().all(|place| place.1 == 0.5));
        assert!(line.places[0].0 < line.places[2].0 && line.places[2].0 < line.places[1].0);
        let ring = layout(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let across = |a: usize, b: usize| {
            let (from, to) = (ring.places[a], ring.places[b]);
            (from.0 - to.0).hypot(from.1 - to.1)
        };
        assert!(across(0, 2) > across(0, 1));
    }

    #[test]
    fn a_tree_has_its_leaves_below_and_each_node_over_the_middle_of_its_own() {
        // 0 is the root, 1 and 2 are below it, 3 to 6 are leaves.
        let tree = layout(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]);
        let (x, y) = tree.places[0];
        assert_eq!(y, 0.5);
        let middle = (tree.places[3].0 + tree.places[4].0) / 2.0;
        assert!((tree.places[1].0 - middle).abs() < 1e-9);
        assert!((x - (tree.places[1].0 + tree.places[2].0) / 2.0).abs() < 1e-9);
        assert!(tree.places[3..].iter().all(|place| place.1 == 2.5));
    }

    #[test]
    fn no_two_nodes_are_at_one_place_and_parts_are_beside_each_other() {
        let mut links = Vec::new();
        for a in 0..9usize {
            links.extend([(a, (a * 7 + 3) % 20), (a, (a * 5 + 11) % 20)]);
        }
        for (count, links) in [
            (20, &links[..]),
            (30, &[][..]),
            (2, &[(0, 1)][..]),
            (0, &[][..]),
        ] {
            let layout = layout(count, links);
            for (index, a) in layout.places.iter().enumerate() {
                assert!(a.0 >= 0.0 && a.0 <= layout.width && a.1 <= layout.height);
                for b in &layout.places[index + 1..] {
                    assert!(
                        (a.0 - b.0).abs() > 0.4 || (a.1 - b.1).abs() > 0.4,
                        "{a:?} {b:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn places_are_as_near_to_the_wanted_ones_as_room_allows() {
        assert_eq!(spread(&[0.0, 5.0], 1.0), [0.0, 5.0]);
        assert_eq!(spread(&[2.0, 2.0, 2.0], 1.0), [1.0, 2.0, 3.0]);
    }
}
