//! As SVG, without anything from outside.

use super::layout::{self, LINE, Layout, PADDING};
use super::{Graph, Node, Shape};
use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use packet::printable;

const MARGIN: i32 = 24;
const HEADING: i32 = 40;

/// All graphs below one another; `None` when one is too large for a picture.
#[must_use]
pub fn svg(graphs: &[Graph]) -> Option<String> {
    let mut body = String::new();
    let (mut width, mut y) = (200, MARGIN);
    for graph in graphs {
        let layout = layout::lay_out(graph)?;
        let heading = format!("{} {}", graph.kind, graph.name);
        let _ = writeln!(
            body,
            "<g transform=\"translate({MARGIN} {y})\">\n<text class=\"heading\" y=\"16\">{}</text>\n<g transform=\"translate(0 {HEADING})\">",
            escaped(&heading)
        );
        arrows(&mut body, graph, &layout);
        for (n, node) in graph.nodes.iter().enumerate() {
            draw_node(&mut body, node, &layout.vertices[n]);
        }
        body.push_str("</g>\n</g>\n");
        width = width
            .max(layout.width + 2 * MARGIN)
            .max(heading.chars().count() as i32 * 9 + 2 * MARGIN);
        y += layout.height + HEADING + 2 * MARGIN;
    }
    let height = y.max(2 * MARGIN);
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n{STYLE}<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    ))
}

const STYLE: &str = "<style>
text { font: 11.5px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2933; }
.heading { font: 600 15px ui-sans-serif, 'DejaVu Sans', Helvetica, Arial, sans-serif; }
.title { font-weight: 600; }
.middle { text-anchor: middle; }
.label { fill: #52606d; font-size: 10.5px; text-anchor: middle; }
.ground { fill: #ffffff; }
.box { stroke-width: 1.2; }
.state { fill: #eaf2fb; stroke: #4a7fb5; }
.table { fill: #fdf4e3; stroke: #c08a2d; }
.condition { fill: #f3eefb; stroke: #7d5fb2; }
.action { fill: #f5f7fa; stroke: #9aa5b1; }
.start { fill: #1f2933; stroke: #1f2933; }
.start-text { fill: #ffffff; }
.end { fill: #e3f6ea; stroke: #3a9a5f; }
.stop { fill: #fdeaea; stroke: #c25450; }
.rule { stroke-width: 1; opacity: 0.55; }
.arrow { fill: none; stroke: #616e7c; stroke-width: 1.2; }
.head { fill: #616e7c; }
</style>
";

fn draw_node(out: &mut String, node: &Node, vertex: &layout::Vertex) {
    let (class, round) = match node.shape {
        Shape::Start => ("start", vertex.height / 2),
        Shape::End => ("end", vertex.height / 2),
        Shape::Stop => ("stop", vertex.height / 2),
        Shape::State => ("state", 6),
        Shape::Table => ("table", 3),
        Shape::Condition => ("condition", 0),
        Shape::Action => ("action", 3),
    };
    let (x, y) = (vertex.x - vertex.width / 2, vertex.y - vertex.height / 2);
    let (w, h) = (vertex.width, vertex.height);
    if node.shape == Shape::Condition {
        let (middle, right, cut) = (vertex.y, x + w, PADDING + 2);
        let _ = writeln!(
            out,
            "<path class=\"box {class}\" d=\"M{x} {middle}L{} {y}H{}L{right} {middle}L{} {}H{}Z\"/>",
            x + cut,
            right - cut,
            right - cut,
            y + h,
            x + cut
        );
    } else {
        let _ = writeln!(
            out,
            "<rect class=\"box {class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{round}\"/>"
        );
    }
    let mut baseline = y + PADDING + 9;
    let plain = matches!(
        node.shape,
        Shape::Start | Shape::End | Shape::Stop | Shape::Condition
    );
    if !node.title.is_empty() {
        let weight = if node.shape == Shape::Condition {
            ""
        } else {
            " title"
        };
        let colour = if node.shape == Shape::Start {
            " start-text"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<text class=\"middle{weight}{colour}\" x=\"{}\" y=\"{baseline}\">{}</text>",
            vertex.x,
            escaped(&node.title)
        );
        baseline += LINE;
        if !node.lines.is_empty() && !plain {
            rule(out, class, x, y + PADDING + LINE + 2, w);
            baseline += 6;
        }
    }
    for line in &node.lines {
        if line == "-" {
            rule(out, class, x, baseline - LINE / 2, w);
            baseline += LINE / 2;
            continue;
        }
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{baseline}\">{}</text>",
            x + PADDING,
            escaped(line)
        );
        baseline += LINE;
    }
}

fn rule(out: &mut String, class: &str, x: i32, y: i32, width: i32) {
    let _ = writeln!(
        out,
        "<path class=\"rule {class}\" d=\"M{x} {y}H{}\"/>",
        x + width
    );
}

fn arrows(out: &mut String, graph: &Graph, layout: &Layout) {
    for (edge, (route, label)) in graph.edges.iter().zip(&layout.routes) {
        if edge.from == edge.to {
            own_loop(out, &layout.vertices[edge.from], &edge.label);
            continue;
        }
        let down = layout.vertices[edge.from].y < layout.vertices[edge.to].y;
        let points: alloc::vec::Vec<(i32, i32)> = route
            .iter()
            .enumerate()
            .flat_map(|(n, vertex)| {
                let vertex = &layout.vertices[*vertex];
                let half = vertex.height / 2;
                let (top, bottom) = ((vertex.x, vertex.y - half), (vertex.x, vertex.y + half));
                let (enters, leaves) = if down { (top, bottom) } else { (bottom, top) };
                if n == 0 {
                    [None, Some(leaves)]
                } else if n + 1 == route.len() {
                    [Some(enters), None]
                } else {
                    [Some(enters), Some(leaves)]
                }
            })
            .flatten()
            .collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            continue;
        };
        let mut path = format!("M{} {}", first.0, first.1);
        let tip = if down { -7 } else { 7 };
        for (n, pair) in points.windows(2).enumerate() {
            let ((x0, y0), (x1, mut y1)) = (pair[0], pair[1]);
            if n + 2 == points.len() {
                y1 += tip;
            }
            if x0 == x1 {
                let _ = write!(path, "V{y1}");
            } else {
                let middle = (y0 + y1) / 2;
                let _ = write!(path, "C{x0} {middle} {x1} {middle} {x1} {y1}");
            }
        }
        let _ = writeln!(out, "<path class=\"arrow\" d=\"{path}\"/>");
        let (x, y) = *last;
        let _ = writeln!(
            out,
            "<path class=\"head\" d=\"M{x} {y}L{} {}H{}Z\"/>",
            x - 4,
            y + tip - tip.signum(),
            x + 4
        );
        if let Some(label) = label {
            let vertex = &layout.vertices[*label];
            draw_label(out, &edge.label, vertex.x, vertex.y - vertex.height / 2);
        }
    }
}

/// A label whose top middle is given, on white ground, so that its arrow does not cross it.
fn draw_label(out: &mut String, label: &str, x: i32, top: i32) {
    let (width, height) = layout::text_size(label.split('\n'));
    let _ = writeln!(
        out,
        "<rect class=\"ground\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        x - width / 2,
        top + 1,
        width,
        height + 2
    );
    for (n, line) in label.split('\n').enumerate() {
        let _ = writeln!(
            out,
            "<text class=\"label\" x=\"{x}\" y=\"{}\">{}</text>",
            top + 13 + n as i32 * LINE,
            escaped(line)
        );
    }
}

/// An arrow from a box to itself, at its right side.
fn own_loop(out: &mut String, vertex: &layout::Vertex, label: &str) {
    let (x, y) = (vertex.x + vertex.width / 2, vertex.y);
    let _ = writeln!(
        out,
        "<path class=\"arrow\" d=\"M{x} {}C{} {} {} {} {} {}\"/>\n<path class=\"head\" d=\"M{x} {}l7 -4v8Z\"/>",
        y - 8,
        x + 34,
        y - 22,
        x + 34,
        y + 22,
        x + 6,
        y + 8,
        y + 8
    );
    for (n, line) in label.split('\n').filter(|l| !l.is_empty()).enumerate() {
        let _ = writeln!(
            out,
            "<text class=\"label\" x=\"{}\" y=\"{}\" style=\"text-anchor:start\">{}</text>",
            x + 30,
            y + 4 + n as i32 * LINE,
            escaped(line)
        );
    }
}

fn escaped(text: &str) -> String {
    printable::word(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
