//! Boxes in layers: each arrow goes down as far as it can, a label is a box of its own between two layers, and boxes are ordered
//! within their layer so that few arrows cross (after Sugiyama, Tagawa and Toda, 1981).

use super::{Graph, Shape};
use alloc::vec;
use alloc::vec::Vec;

/// Sizes in pixels of the picture.
pub(super) const LINE: i32 = 16;
pub(super) const CHARACTER: i32 = 7;
pub(super) const PADDING: i32 = 10;
const BETWEEN: i32 = 26;
const LAYERS: i32 = 22;
/// Rounds of ordering and of moving.
const ROUNDS: usize = 12;
/// Maximum number of places in layers, including those that only arrows pass.
const MAX_VERTICES: usize = 20_000;

/// A place in a layer: of a box, of a label, or where an arrow passes.
#[derive(Clone, Debug)]
pub(super) struct Vertex {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    layer: usize,
}

pub(super) struct Layout {
    /// First those of the boxes.
    pub(super) vertices: Vec<Vertex>,
    /// By arrow the places that it passes, both ends too, and which of them holds its label.
    pub(super) routes: Vec<(Vec<usize>, Option<usize>)>,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// How large a text is.
pub(super) fn text_size<'a>(lines: impl Iterator<Item = &'a str>) -> (i32, i32) {
    let (mut width, mut height) = (0, 0);
    for line in lines {
        width = width.max(line.chars().count() as i32 * CHARACTER);
        height += LINE;
    }
    (width, height)
}

/// `None` when there is too much for a picture.
pub(super) fn lay_out(graph: &Graph) -> Option<Layout> {
    let count = graph.nodes.len();
    let mut vertices: Vec<Vertex> = Vec::new();
    for node in &graph.nodes {
        let title = (!node.title.is_empty()).then_some(node.title.as_str());
        let lines = node.lines.iter().filter(|l| *l != "-");
        let (mut width, mut height) = text_size(title.into_iter().chain(lines.map(|l| l.as_str())));
        height += node.lines.iter().filter(|l| *l == "-").count() as i32 * LINE / 2;
        width += 2 * PADDING;
        height += 2 * PADDING - 4;
        if matches!(node.shape, Shape::Condition) {
            width += 2 * PADDING;
        }
        if !node.lines.is_empty() && title.is_some() {
            height += 6;
        }
        vertices.push(Vertex {
            x: 0,
            y: 0,
            width: width.max(60),
            height,
            layer: 0,
        });
    }
    let back = back_edges(graph);
    layers(graph, &back, &mut vertices);
    let routes = routes(graph, &mut vertices)?;
    let mut rows = ordered(&vertices, &routes, count);
    let neighbours = neighbours(&vertices, &routes);
    reduce_crossings(&mut rows, &neighbours, &vertices);
    positions(&rows, &neighbours, &mut vertices);
    let (width, height) = heights(&rows, &mut vertices, count);
    Some(Layout {
        vertices,
        routes,
        width,
        height,
    })
}

/// The arrows that close a loop, by a walk from the first box.
fn back_edges(graph: &Graph) -> Vec<bool> {
    let count = graph.nodes.len();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (n, edge) in graph.edges.iter().enumerate() {
        out[edge.from].push(n);
    }
    let mut back = vec![false; graph.edges.len()];
    // 0 not seen, 1 on the way here, 2 done.
    let mut state = vec![0_u8; count];
    for root in 0..count {
        if state[root] != 0 {
            continue;
        }
        let mut walk = vec![(root, 0)];
        state[root] = 1;
        while let Some((node, next)) = walk.last_mut() {
            let Some(&edge) = out[*node].get(*next) else {
                state[*node] = 2;
                walk.pop();
                continue;
            };
            *next += 1;
            let to = graph.edges[edge].to;
            match state[to] {
                0 => {
                    state[to] = 1;
                    walk.push((to, 0));
                }
                1 => back[edge] = true,
                _ => {}
            }
        }
    }
    back
}

/// Gives each box its layer: two below the lowest of those that lead to it, so that labels have layers between.
fn layers(graph: &Graph, back: &[bool], vertices: &mut [Vertex]) {
    let count = graph.nodes.len();
    let mut waiting = vec![0_usize; count];
    for (edge, _) in graph.edges.iter().zip(back).filter(|(_, b)| !**b) {
        waiting[edge.to] += 1;
    }
    let mut ready: Vec<usize> = (0..count).filter(|n| waiting[*n] == 0).collect();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (edge, _) in graph.edges.iter().zip(back).filter(|(_, b)| !**b) {
        out[edge.from].push(edge.to);
    }
    while let Some(node) = ready.pop() {
        for &to in &out[node] {
            vertices[to].layer = vertices[to].layer.max(vertices[node].layer + 2);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    // What ends the picture stands at its bottom.
    let last = vertices[..count].iter().map(|p| p.layer).max().unwrap_or(0);
    for (node, vertex) in graph.nodes.iter().zip(vertices.iter_mut()) {
        if node.shape == Shape::End {
            vertex.layer = last;
        }
    }
}

/// The places that each arrow passes, made where there is no box.
fn routes(graph: &Graph, vertices: &mut Vec<Vertex>) -> Option<Vec<(Vec<usize>, Option<usize>)>> {
    let mut routes = Vec::new();
    for edge in &graph.edges {
        let (a, b) = (vertices[edge.from].layer, vertices[edge.to].layer);
        let (low, high) = (a.min(b), a.max(b));
        let mut passed: Vec<usize> = Vec::new();
        let mut label = None;
        let labelled = !edge.label.is_empty();
        // The label stands near where the arrow begins.
        let label_layer = if a <= b {
            low + 1
        } else {
            high.saturating_sub(1)
        };
        for layer in low + 1..high {
            let here = labelled && layer == label_layer;
            let (width, height) = if here {
                let (width, height) = text_size(edge.label.split('\n'));
                (width + 8, height + 4)
            } else {
                (14, 0)
            };
            if here {
                label = Some(vertices.len());
            }
            passed.push(vertices.len());
            vertices.push(Vertex {
                x: 0,
                y: 0,
                width,
                height,
                layer,
            });
        }
        if a > b {
            passed.reverse();
        }
        let mut all = vec![edge.from];
        all.extend(passed);
        all.push(edge.to);
        routes.push((all, label));
        if vertices.len() > MAX_VERTICES {
            return None;
        }
    }
    Some(routes)
}

/// The places of each layer, in the order in which arrows reach them.
fn ordered(
    vertices: &[Vertex],
    routes: &[(Vec<usize>, Option<usize>)],
    count: usize,
) -> Vec<Vec<usize>> {
    let layers = vertices.iter().map(|p| p.layer).max().map_or(0, |l| l + 1);
    let mut rows = vec![Vec::new(); layers];
    let mut seen = vec![false; vertices.len()];
    let mut put = |n: usize| {
        if !core::mem::replace(&mut seen[n], true) {
            rows[vertices[n].layer].push(n);
        }
    };
    if count > 0 {
        put(0);
    }
    for (route, _) in routes {
        route.iter().for_each(|n| put(*n));
    }
    (0..count).for_each(put);
    rows
}

/// By place those above and those below that arrows lead to.
fn neighbours(vertices: &[Vertex], routes: &[(Vec<usize>, Option<usize>)]) -> Vec<[Vec<usize>; 2]> {
    let mut all = vec![[Vec::new(), Vec::new()]; vertices.len()];
    for pair in routes.iter().flat_map(|(route, _)| route.windows(2)) {
        let (a, b) = (pair[0], pair[1]);
        if vertices[a].layer < vertices[b].layer {
            all[a][1].push(b);
            all[b][0].push(a);
        } else if vertices[a].layer > vertices[b].layer {
            all[a][0].push(b);
            all[b][1].push(a);
        }
    }
    all
}

/// Orders each layer by the middle of its neighbours, downwards and upwards in turn; the order with the fewest crossings stays.
fn reduce_crossings(
    rows: &mut Vec<Vec<usize>>,
    neighbours: &[[Vec<usize>; 2]],
    vertices: &[Vertex],
) {
    let mut rank = vec![0_usize; vertices.len()];
    let note = |rows: &[Vec<usize>], rank: &mut [usize]| {
        for row in rows {
            row.iter()
                .enumerate()
                .for_each(|(n, vertex)| rank[*vertex] = n);
        }
    };
    note(rows, &mut rank);
    let mut best = (crossings(rows, neighbours, &rank), rows.clone());
    for round in 0..ROUNDS {
        let side = round % 2;
        let layers = rows.len();
        for step in 0..layers {
            let layer = if side == 0 { step } else { layers - 1 - step };
            let mut keyed: Vec<(usize, usize, usize)> = rows[layer]
                .iter()
                .enumerate()
                .map(|(n, vertex)| {
                    let near = &neighbours[*vertex][side];
                    // In thousandths, to keep halves.
                    let middle = if near.is_empty() {
                        n * 1000
                    } else {
                        near.iter().map(|m| rank[*m] * 1000).sum::<usize>() / near.len()
                    };
                    (middle, n, *vertex)
                })
                .collect();
            keyed.sort_unstable();
            for (n, (_, _, vertex)) in keyed.into_iter().enumerate() {
                rows[layer][n] = vertex;
                rank[vertex] = n;
            }
        }
        let found = crossings(rows, neighbours, &rank);
        if found < best.0 {
            best = (found, rows.clone());
        }
        if best.0 == 0 {
            break;
        }
    }
    *rows = best.1;
}

fn crossings(rows: &[Vec<usize>], neighbours: &[[Vec<usize>; 2]], rank: &[usize]) -> usize {
    let mut found = 0;
    for row in rows {
        let mut ends: Vec<usize> = Vec::new();
        for vertex in row {
            let mut below: Vec<usize> = neighbours[*vertex][1].iter().map(|m| rank[*m]).collect();
            below.sort_unstable();
            for end in &below {
                found += ends.iter().filter(|e| *e > end).count();
            }
            ends.extend(below);
            if ends.len() > 2000 {
                // Counting would take longer than ordering.
                break;
            }
        }
    }
    found
}

/// Moves each place towards the middle of its neighbours as far as those beside it let it.
fn positions(rows: &[Vec<usize>], neighbours: &[[Vec<usize>; 2]], vertices: &mut [Vertex]) {
    for row in rows {
        let mut x = 0;
        for vertex in row {
            vertices[*vertex].x = x + vertices[*vertex].width / 2;
            x += vertices[*vertex].width + BETWEEN;
        }
    }
    for round in 0..ROUNDS * 2 {
        // At last all neighbours count alike.
        let sides: &[usize] = match round % 3 {
            0 => &[0],
            1 => &[1],
            _ => &[0, 1],
        };
        let layers = rows.len();
        for step in 0..layers {
            let layer = if round % 3 == 1 {
                layers - 1 - step
            } else {
                step
            };
            let row = &rows[layer];
            let wanted: Vec<i32> = row
                .iter()
                .map(|vertex| {
                    let mut near: Vec<i32> = sides
                        .iter()
                        .flat_map(|side| neighbours[*vertex][*side].iter().map(|m| vertices[*m].x))
                        .collect();
                    if near.is_empty() {
                        return vertices[*vertex].x;
                    }
                    near.sort_unstable();
                    (near[(near.len() - 1) / 2] + near[near.len() / 2]) / 2
                })
                .collect();
            spread(row, &wanted, vertices);
        }
    }
}

/// Puts a row where it wants to be; what overlaps is pushed apart evenly to both sides.
fn spread(row: &[usize], wanted: &[i32], vertices: &mut [Vertex]) {
    // Groups of touching places: first index, and where its first one stands.
    let half = |vertex: &Vertex| vertex.width / 2;
    let mut groups: Vec<(usize, usize, i64, i64)> = Vec::new();
    let mut offset = vec![0_i64; row.len()];
    for n in 0..row.len() {
        if n > 0 {
            let gap = half(&vertices[row[n - 1]]) + BETWEEN + half(&vertices[row[n]]);
            offset[n] = offset[n - 1] + i64::from(gap);
        }
        // By group: first, count, sum of where its beginning would be, width so far.
        groups.push((n, 1, i64::from(wanted[n]) - offset[n], 1));
        while groups.len() > 1 {
            let (b, a) = (groups[groups.len() - 1], groups[groups.len() - 2]);
            if a.2 / a.3 <= b.2 / b.3 {
                break;
            }
            groups.pop();
            if let Some(last) = groups.last_mut() {
                *last = (a.0, a.1 + b.1, a.2 + b.2, a.3 + b.3);
            }
        }
    }
    for (first, count, sum, weight) in groups {
        for n in first..first + count {
            vertices[row[n]].x = (sum / weight + offset[n]) as i32;
        }
    }
}

/// Gives each layer its height, and moves all to the right of 0.
fn heights(rows: &[Vec<usize>], vertices: &mut [Vertex], count: usize) -> (i32, i32) {
    let left = vertices
        .iter()
        .map(|p| p.x - p.width / 2)
        .min()
        .unwrap_or(0);
    let mut y = 0;
    for (layer, row) in rows.iter().enumerate() {
        let height = row.iter().map(|n| vertices[*n].height).max().unwrap_or(0);
        for vertex in row {
            vertices[*vertex].y = y + height / 2;
            // An arrow goes straight down beside the boxes of a layer.
            if *vertex >= count && vertices[*vertex].height == 0 {
                vertices[*vertex].height = height;
            }
        }
        y += height
            + if layer % 2 == 0 || height > 0 {
                LAYERS
            } else {
                LAYERS / 2
            };
    }
    for vertex in vertices.iter_mut() {
        vertex.x -= left;
    }
    let width = vertices
        .iter()
        .map(|p| p.x + p.width / 2)
        .max()
        .unwrap_or(0);
    (width, y - LAYERS)
}
