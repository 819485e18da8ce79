//! A picture of a lab's network: nodes with their names and kinds, links with rate and delay.

pub(crate) mod layout;

use crate::error::LabError;
use crate::plan::{Lab, LinkPlan};
use ::plot::drawing::{Anchor, Element, INK};
use ::plot::{Colour, Drawing, PlotError, Text};
use ::report::text::time;
use node::Channel;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Height of a layer, of a node, and the room at the edges, in pixels.
const LAYER: f64 = 112.0;
const NODE: f64 = 38.0;
const EDGE: f64 = 18.0;
/// Space of a layer above and below its nodes that is cropped at the edges of the picture.
const SPARE: f64 = 26.0;
/// Sizes of texts.
const TITLE: f64 = 17.0;
const NAME: f64 = 13.0;
const SMALL: f64 = 11.0;
/// Maximum number of nodes in a diagram.
const MAX_DIAGRAM_NODES: usize = 2_000;
/// Minimum number of equal link labels that are replaced by one common label.
const MIN_SHARED_LABELS: usize = 3;
const LINE: Colour = Colour::rgb(110, 110, 110);
const HALO: Colour = Colour::rgb(255, 255, 255).with_alpha(225);
/// Fill colours of nodes by kind: light, and distinct for colour-blind readers.
const FILLS: [Colour; 6] = [
    Colour::rgb(200, 224, 240),
    Colour::rgb(250, 222, 190),
    Colour::rgb(198, 232, 216),
    Colour::rgb(240, 216, 230),
    Colour::rgb(236, 236, 236),
    Colour::rgb(250, 240, 190),
];

impl Lab {
    /// Writes a picture of the network: .svg, .png, or .dot for Graphviz.
    ///
    /// # Errors
    /// When the ending is another, there are too many nodes for a picture, or the file cannot be written.
    pub fn draw_topology(&self, path: &Path) -> Result<(), LabError> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let image = match ending {
            Some("dot") => self.dot().into_bytes(),
            Some("svg" | "png") if self.nodes.len() > MAX_DIAGRAM_NODES => {
                let count = self.nodes.len();
                let why = format!(
                    "{count} nodes are too many for a picture; .dot is for Graphviz, which has room for them"
                );
                return Err(PlotError::Draw(why).into());
            }
            _ => self.diagram().image(path)?,
        };
        crate::plot::write_image(&image, path)
    }

    /// The network as Graphviz reads it.
    #[must_use]
    pub fn dot(&self) -> String {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut dot = format!("graph {} {{\n  node [shape=box];\n", quoted(&self.name));
        for plan in &self.nodes {
            let label = quoted(&format!("{}\n{}", plan.name, plan.kind.name)).replace('\n', "\\n");
            // Writing to a String does not fail.
            let _ = writeln!(dot, "  {} [label={label}];", quoted(&plan.name));
        }
        for plan in &self.links {
            let [from, to] = plan
                .link
                .ends
                .map(|end| quoted(&self.nodes[end.node.0].name));
            let [tail, head] = plan.link.ends.map(|end| end.port.index());
            let label = quoted(&told(plan));
            let _ = writeln!(
                dot,
                "  {from} -- {to} [label={label}, taillabel=\"{tail}\", headlabel=\"{head}\"];"
            );
        }
        dot.push_str("}\n");
        dot
    }

    /// The network as a drawing.
    #[must_use]
    pub fn diagram(&self) -> Drawing {
        let links: Vec<(usize, usize)> = self
            .links
            .iter()
            .map(|plan| (plan.link.ends[0].node.0, plan.link.ends[1].node.0))
            .collect();
        let layout = layout::layout(self.nodes.len(), &links);
        let wide = |text: &str, size: f64| Text::new(text, size, (0.0, 0.0)).length();
        let widths: Vec<f64> = self
            .nodes
            .iter()
            .map(|plan| wide(&plan.name, NAME).max(wide(&plan.kind.name, SMALL)) + 14.0)
            .collect();
        let labels: Vec<String> = self.links.iter().map(told).collect();
        let (once, tiers) = shared(&labels, &links, &layout.places);
        // What is said of a link between neighbours in a row stands between their boxes.
        let between = links
            .iter()
            .zip(&labels)
            .zip(&once)
            .map(|((ends, label), once)| {
                let [(x, y), (other_x, other_y)] = [ends.0, ends.1].map(|end| layout.places[end]);
                match (x - other_x).abs() {
                    apart if y == other_y && apart > 0.0 && !once && !label.is_empty() => {
                        let boxes = (widths[ends.0] + widths[ends.1]) / 2.0;
                        (wide(label, SMALL) + boxes) / apart
                    }
                    _ => 0.0,
                }
            });
        let widest = widths.iter().copied().chain(between);
        let room = widest.fold(54.0, f64::max) + 16.0;
        let heading = match self.name.is_empty() {
            true => 0.0,
            false => TITLE + 16.0,
        };
        let top = EDGE + heading - SPARE;
        let at: Vec<(f64, f64)> = layout
            .places
            .iter()
            .map(|(x, y)| (EDGE + x * room, top + y * LAYER))
            .collect();
        let margin = tiers
            .iter()
            .map(|(_, label)| wide(label, SMALL))
            .fold(0.0, f64::max);
        let right = EDGE + layout.width * room + if margin > 0.0 { margin + 10.0 } else { 0.0 };
        let title = wide(&self.name, TITLE) * 1.15;
        let width = (right + EDGE).max(title + 2.0 * EDGE).max(220.0);
        let mut drawing = Drawing::new(width.ceil() as u32, 0);
        let title = Text::new(&self.name, TITLE, (width / 2.0, EDGE + TITLE)).bold();
        drawing.text(title.anchor(Anchor::Middle));
        self.draw_links(&mut drawing, &at, &labels, &once);
        for (y, label) in &tiers {
            drawing.text(
                Text::new(label, SMALL, (right - margin, top + y * LAYER + 4.0)).colour(LINE),
            );
        }
        let mut kinds: Vec<&str> = Vec::new();
        for ((plan, (x, y)), width) in self.nodes.iter().zip(&at).zip(&widths) {
            let kind = &plan.kind.name[..];
            let known = kinds.iter().position(|other| *other == kind);
            let index = known.unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            let half = width / 2.0;
            let (from, to) = ((x - half, y - NODE / 2.0), (x + half, y + NODE / 2.0));
            drawing.rectangle(from, to, FILLS[index % FILLS.len()]);
            let corners = vec![from, (to.0, from.1), to, (from.0, to.1), from];
            drawing.line(corners, INK, 1.0);
            let name = Text::new(&plan.name, NAME, (*x, y - 2.0)).bold();
            drawing.text(name.anchor(Anchor::Middle));
            let kind = Text::new(kind, SMALL, (*x, y + 12.0));
            drawing.text(kind.anchor(Anchor::Middle));
        }
        drawing.height = (top + layout.height * LAYER - SPARE + EDGE).ceil() as u32;
        drawing
    }

    fn draw_links(
        &self,
        drawing: &mut Drawing,
        at: &[(f64, f64)],
        labels: &[String],
        once: &[bool],
    ) {
        let mut texts: Vec<(&String, Vec<(f64, f64)>)> = Vec::new();
        let mut pairs: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for ((plan, label), once) in self.links.iter().zip(labels).zip(once) {
            let [a, b] = plan.link.ends.map(|end| end.node.0);
            let parallel = pairs.entry((a.min(b), a.max(b))).or_default();
            let (from, to) = (at[a], at[b]);
            // Who stands between is passed by in a bow, and so are links beside each other.
            let covered = at
                .iter()
                .enumerate()
                .any(|(node, place)| node != a && node != b && is_on(*place, from, to));
            let bow = match *parallel as f64 * 26.0 {
                0.0 if covered => 0.3 * (to.0 - from.0).hypot(to.1 - from.1),
                bow => bow,
            };
            *parallel += 1;
            let line = curve(from, to, bow);
            let control = plan
                .link
                .channels
                .iter()
                .all(|channel| channel.rate.is_none());
            drawing.elements.push(Element::Lines {
                lines: vec![line.clone()],
                colour: LINE,
                width: 1.4,
                dashes: if control { &[4.0, 3.0] } else { &[] },
            });
            if !once && !label.is_empty() {
                texts.push((label, line));
            }
        }
        // Where a text would be over another it moves along its link.
        let mut taken: Vec<(f64, f64, f64)> = Vec::new();
        for (label, line) in texts {
            let text = Text::new(label, SMALL, (0.0, 0.0)).anchor(Anchor::Middle);
            let half = text.length() / 2.0 + 3.0;
            let free = |(x, y): &(f64, f64)| {
                let over = |(tx, ty, th): &(f64, f64, f64)| {
                    (x - tx).abs() < half + th && (y - ty).abs() < 14.0
                };
                !taken.iter().any(over)
            };
            let places = [0.5, 0.38, 0.62, 0.28, 0.72].map(|share| along(&line, share));
            let place = places.iter().copied().find(free);
            let (x, y) = place.unwrap_or(places[0]);
            taken.push((x, y, half));
            drawing.rectangle((x - half, y - 7.0), (x + half, y + 7.0), HALO);
            drawing.text(Text {
                at: (x, y + 4.0),
                ..text
            });
        }
    }
}

/// The place at a share of a line.
fn along(line: &[(f64, f64)], share: f64) -> (f64, f64) {
    match line {
        [from, to] => (
            from.0 + share * (to.0 - from.0),
            from.1 + share * (to.1 - from.1),
        ),
        _ => line[((line.len() - 1) as f64 * share).round() as usize],
    }
}

/// Whether a place is on the way from one to another.
fn is_on((x, y): (f64, f64), (fx, fy): (f64, f64), (tx, ty): (f64, f64)) -> bool {
    let (dx, dy) = (tx - fx, ty - fy);
    let length = dx.hypot(dy).max(1.0);
    let along = ((x - fx) * dx + (y - fy) * dy) / length;
    let beside = ((x - fx) * dy - (y - fy) * dx).abs() / length;
    along > 1.0 && along < length - 1.0 && beside < NODE / 2.0
}

/// A line from one place to another, with a bow of so many pixels.
fn curve(from: (f64, f64), to: (f64, f64), bow: f64) -> Vec<(f64, f64)> {
    if bow == 0.0 {
        return vec![from, to];
    }
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let point = |share: f64| {
        let bent = 4.0 * share * (1.0 - share) * bow;
        (
            from.0 + share * dx + bent * dy / length,
            from.1 + share * dy - bent * dx / length,
        )
    };
    (0..=24).map(|n| point(f64::from(n) / 24.0)).collect()
}

/// What a link is like: rate and delay, those of both directions if they differ; nothing where it takes no time.
fn told(plan: &LinkPlan) -> String {
    let one = |channel: &Channel| {
        let rate = channel.rate.map(|rate| rate.to_string());
        let delay = (channel.delay != node::Time::ZERO).then(|| time(channel.delay.as_ps() as f64));
        let parts: Vec<String> = rate.into_iter().chain(delay).collect();
        parts.join(", ")
    };
    let [forth, back] = plan.link.channels.each_ref().map(one);
    match forth == back {
        true => forth,
        false => format!("{forth} / {back}"),
    }
}

/// Which links are told once, at the side of the layers that they join; and that, by how far down it is.
fn shared(
    labels: &[String],
    links: &[(usize, usize)],
    places: &[(f64, f64)],
) -> (Vec<bool>, Vec<(f64, String)>) {
    let mut tiers: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    for (index, (a, b)) in links.iter().enumerate() {
        let (one, other) = (places[*a].1, places[*b].1);
        // Layers are halves of a whole number apart from zero; a circle's places are not, and are one tier.
        let key = |y: f64| {
            if (y * 2.0).fract() == 0.0 {
                (y * 2.0) as u64
            } else {
                0
            }
        };
        let (one, other) = (key(one), key(other));
        tiers
            .entry((one.min(other), one.max(other)))
            .or_default()
            .push(index);
    }
    let mut named = labels.iter().filter(|label| !label.is_empty());
    let first = named.next().cloned().unwrap_or_default();
    if named.clone().count() + 1 >= MIN_SHARED_LABELS
        && named.all(|label| *label == first)
        && !first.is_empty()
    {
        let all = vec![true; labels.len()];
        return (all, vec![(0.5, format!("all links {first}"))]);
    }
    let mut once = vec![false; labels.len()];
    let mut told = Vec::new();
    for ((upper, lower), members) in &tiers {
        let mut named = members
            .iter()
            .map(|member| &labels[*member])
            .filter(|label| !label.is_empty());
        let Some(first) = named.next() else { continue };
        if named.clone().count() + 1 < MIN_SHARED_LABELS || !named.all(|label| label == first) {
            continue;
        }
        members.iter().for_each(|member| once[*member] = true);
        let y = match (upper, lower) {
            (0, _) => 0.5,
            _ => (upper + lower) as f64 / 4.0,
        };
        told.push((y, first.clone()));
    }
    (once, told)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_picture_has_every_node_and_what_links_are_like() {
        let lab = crate::parse(
            "[lab]\nname = 'odd <name>'\n[topology]\nkind = 'fat-tree'\nk = 4\nloops = 'keep'\nswitch = { kind = 'openflow-switch' }\n\
             controller = { kind = 'controller' }\nlink = { rate = '1 Gb/s', delay = '5 us' }\ncore = { rate = '10 Gb/s' }\n",
        );
        let lab = lab.unwrap_or_else(|faults| panic!("{faults}"));
        let svg = lab.diagram().svg();
        for text in (1..=20)
            .map(|n| format!(">s{n}<"))
            .chain((1..=16).map(|n| format!(">h{n}<")))
        {
            assert!(svg.contains(&text), "{text}");
        }
        for text in [
            "odd &lt;name&gt;",
            "1 Gb/s, 5 us",
            "10 Gb/s, 5 us",
            "openflow-switch",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        let dot = lab.dot();
        assert_eq!(dot.matches(" -- ").count(), lab.links.len());
        assert!(dot.contains("\"h1\" [label=\"h1\\nhost\"]"), "{dot}");
    }

    #[test]
    fn what_is_said_of_a_link_fits_between_its_neighbours() {
        let lab = crate::parse(
            "[node.a]\nkind = 'echo'\n[node.b]\nkind = 'echo'\n[[link]]\nends = ['a.0', 'b.0']\nrate = '20 Mb/s'\ndelay = '10.123456 ms'\n",
        );
        let lab = lab.unwrap_or_else(|faults| panic!("{faults}"));
        let text = "20 Mb/s, 10.123456 ms";
        assert_eq!(super::told(&lab.links[0]), text);
        let length = super::Text::new(text, super::SMALL, (0.0, 0.0)).length();
        // From the middle of one box to that of the other, and half as much on either side.
        assert!(f64::from(lab.diagram().width) > 2.0 * (length + super::NODE));
    }
}
