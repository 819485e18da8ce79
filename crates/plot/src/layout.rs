//! Where axes, names and legends are.

use crate::drawing::{Anchor, Colour, Drawing, Element, Point, Text};
use crate::figure::{Figure, Mark, Panel, Shape};
use crate::scale::Scale;
use crate::trace::{Frame, SAMPLE, Trace};

const AXIS: Colour = Colour::rgb(90, 90, 90);
const GRID: Colour = Colour::rgb(228, 228, 228);
const FAINT: Colour = Colour::rgb(242, 242, 242);
/// Behind texts that stand over curves.
const HALO: Colour = Colour::rgb(255, 255, 255).with_alpha(215);
/// Sizes of texts.
const TITLE: f64 = 18.0;
const SUBTITLE: f64 = 14.0;
const NAME: f64 = 13.0;
const SMALL: f64 = 12.0;
/// Room at the edges of the picture.
const EDGE: f64 = 12.0;
const RIGHT: f64 = 22.0;
/// Below a panel: the numbers of its axis, and its name.
const BELOW: f64 = 50.0;
/// Height of a line of the legend, and of a panel's title.
const LINE: f64 = 20.0;
/// What is free round a sample in the legend.
const APART: f64 = 20.0;
/// From the middle of a line of text to its base line, in sizes.
const MIDDLE: f64 = 0.36;
/// Quantiles are named in panels of no more series.
const NAMED: usize = 3;

/// Draws the whole.
pub(crate) fn figure(figure: &Figure) -> Drawing {
    let width = figure.drawn_width();
    let panels = figure.drawn();
    let mut drawing = Drawing::new(width, 0);
    let mut top = EDGE;
    if !figure.title.is_empty() {
        let at = (f64::from(width) / 2.0, top + TITLE);
        let title = Text::new(&figure.title, TITLE, at).bold();
        drawing.text(title.anchor(Anchor::Middle));
        top += TITLE + 14.0;
    }
    let scales: Vec<(Scale, Scale)> = panels
        .iter()
        .map(|panel| (Scale::of_x(panel, panels), Scale::of_y(panel)))
        .collect();
    let height = f64::from(figure.drawn_height());
    // All panels begin at one place, so that what is below each other is at one time.
    let widest = scales
        .iter()
        .flat_map(|(_, y)| y.ticks(steps(height - BELOW)))
        .map(|(_, text)| Text::new(&text, SMALL, (0.0, 0.0)).length())
        .fold(0.0, f64::max);
    let left = (EDGE + NAME + 10.0 + widest + 8.0).round();
    let right = (f64::from(width) - RIGHT).max(left + 10.0);
    // Panels of the same series share a legend.
    let shared = panels.len() > 1
        && panels
            .windows(2)
            .all(|pair| labels(&pair[0]) == labels(&pair[1]));
    for (index, (panel, (x, y))) in panels.iter().zip(scales).enumerate() {
        if !panel.title.is_empty() {
            let at = ((left + right) / 2.0, top + SUBTITLE);
            let title = Text::new(&panel.title, SUBTITLE, at).bold();
            drawing.text(title.anchor(Anchor::Middle));
            top += LINE + 2.0;
        }
        let bottom = (top + height - BELOW).round() + 0.5;
        let frame = Frame {
            x,
            y,
            left: left + 0.5,
            right: right.round() + 0.5,
            top,
            bottom,
        };
        let traces = panel.series.iter().enumerate();
        let traces: Vec<Trace<'_>> = traces
            .map(|(index, series)| Trace::new(series, index, panel.series.len(), &frame))
            .collect();
        if index == 0 || !shared {
            top = legend(&mut drawing, &traces, (left, right), top);
        }
        // A legend takes room of its own, so that all panels are of one height.
        let shift = top - frame.top;
        let (top_edge, bottom) = (
            frame.top.round() + 0.5 + shift.round(),
            bottom + shift.round(),
        );
        let frame = Frame {
            top: top_edge.min(bottom - 10.0),
            bottom,
            ..frame
        };
        axes(&mut drawing, panel, &frame);
        for trace in &traces {
            trace.draw(&mut drawing, &frame);
        }
        for mark in &panel.marks {
            reference(&mut drawing, mark, &frame);
        }
        quantiles(&mut drawing, &traces, &frame);
        let Frame {
            left,
            right,
            top: edge,
            ..
        } = frame;
        let corners = vec![
            (left, edge),
            (right, edge),
            (right, bottom),
            (left, bottom),
            (left, edge),
        ];
        drawing.line(corners, AXIS, 1.0);
        top = bottom + BELOW;
    }
    drawing.height = (top + if panels.is_empty() { EDGE } else { 0.0 }).ceil() as u32;
    drawing
}

/// What stands in the legend of a panel.
fn labels(panel: &Panel) -> Vec<(&str, bool)> {
    let series = panel.series.iter();
    series.map(|one| (&one.label[..], one.is_empty())).collect()
}

/// About how many marks an upright axis has room for.
fn steps(height: f64) -> usize {
    (height / 36.0).max(0.0) as usize
}

/// Draws the legend in lines above the panel, where it hides nothing; returns where it ends.
fn legend(drawing: &mut Drawing, traces: &[Trace<'_>], (left, right): (f64, f64), top: f64) -> f64 {
    let (mut x, mut y) = (left, top + LINE / 2.0);
    let mut any = false;
    for trace in traces.iter().filter(|trace| !trace.series.label.is_empty()) {
        let mut label = trace.series.label.clone();
        if trace.series.is_empty() {
            label.push_str(" (none)");
        }
        let text = Text::new(&label, NAME, (0.0, 0.0));
        let wide = SAMPLE + 7.0 + text.length();
        if any && x + wide > right {
            (x, y) = (left, y + LINE);
        }
        any = true;
        trace.sample(drawing, (x, y));
        let at = (x + SAMPLE + 7.0, y + MIDDLE * NAME);
        drawing.text(Text { at, ..text });
        x += wide + APART;
    }
    if any { y + LINE / 2.0 + 6.0 } else { top + 2.0 }
}

/// To the middle of a pixel, where a thin line is sharp.
fn sharp(value: f64) -> f64 {
    value.floor() + 0.5
}

fn axes(drawing: &mut Drawing, panel: &Panel, frame: &Frame) {
    let Frame {
        left,
        right,
        top,
        bottom,
        ..
    } = *frame;
    let (mut faint, mut grid, mut feet) = (Vec::new(), Vec::new(), Vec::new());
    let mut texts = Vec::new();
    for value in frame.x.between() {
        if let Some(x) = frame.x.pixel(value, (left, right)).map(sharp) {
            faint.push(vec![(x, top), (x, bottom)]);
        }
    }
    for value in frame.y.between() {
        if let Some(y) = frame.y.pixel(value, (bottom, top)).map(sharp) {
            faint.push(vec![(left, y), (right, y)]);
        }
    }
    let mut end = f64::NEG_INFINITY;
    for (value, text) in frame.x.ticks(((right - left) / 85.0) as usize) {
        let Some(x) = frame.x.pixel(value, (left, right)).map(sharp) else {
            continue;
        };
        grid.push(vec![(x, top), (x, bottom)]);
        feet.push(vec![(x, bottom), (x, bottom + 4.0)]);
        let text = Text::new(&text, SMALL, (x, bottom + 7.0 + SMALL)).anchor(Anchor::Middle);
        let half = text.length() / 2.0;
        if x - half > end + 6.0 {
            end = x + half;
            texts.push(text);
        }
    }
    for (value, text) in frame.y.ticks(steps(bottom - top)) {
        let Some(y) = frame.y.pixel(value, (bottom, top)).map(sharp) else {
            continue;
        };
        grid.push(vec![(left, y), (right, y)]);
        feet.push(vec![(left - 4.0, y), (left, y)]);
        let text = Text::new(&text, SMALL, (left - 8.0, y + MIDDLE * SMALL));
        texts.push(text.anchor(Anchor::End));
    }
    for (lines, colour) in [(faint, FAINT), (grid, GRID), (feet, AXIS)] {
        drawing.elements.push(Element::Lines {
            lines,
            colour,
            width: 1.0,
            dashes: &[],
        });
    }
    texts.into_iter().for_each(|text| drawing.text(text));
    let at = ((left + right) / 2.0, bottom + BELOW - 12.0);
    drawing.text(Text::new(&panel.x.name, NAME, at).anchor(Anchor::Middle));
    let at = (EDGE + NAME, (top + bottom) / 2.0);
    let name = Text::new(&panel.y.name, NAME, at).anchor(Anchor::Middle);
    drawing.text(name.upright());
}

/// Draws a line of reference, and its name at the upper or the right end.
fn reference(drawing: &mut Drawing, mark: &Mark, frame: &Frame) {
    let Some(ends) = frame.across(mark) else {
        return;
    };
    drawing.elements.push(Element::Lines {
        lines: vec![ends.to_vec()],
        colour: AXIS,
        width: 1.0,
        dashes: &[6.0, 4.0],
    });
    let (x, y) = ends[0];
    match mark.vertical {
        true => beside(
            drawing,
            &mark.label,
            (x, frame.top + 4.0 + SMALL),
            frame,
            crate::drawing::INK,
        ),
        false => {
            let text = Text::new(&mark.label, SMALL, (frame.right - 5.0, y - 4.0));
            drawing.text(text.anchor(Anchor::End));
        }
    }
}

/// Writes a text to the right of a line, or to its left where there is no room.
fn beside(drawing: &mut Drawing, label: &str, (x, y): Point, frame: &Frame, colour: Colour) {
    let text = Text::new(label, SMALL, (x + 5.0, y)).colour(colour);
    let long = text.length();
    // What fits on neither side is on the right all the same.
    let (from, text) = match x + 10.0 + long < frame.right || x - 8.0 - long < frame.left {
        true => (x + 2.0, text),
        false => {
            let at = (x - 5.0, y);
            (x - long - 8.0, Text { at, ..text }.anchor(Anchor::End))
        }
    };
    if !text.text.is_empty() {
        drawing.rectangle((from, y - SMALL + 1.0), (from + long + 6.0, y + 3.0), HALO);
    }
    drawing.text(text);
}

/// Draws the quantiles of distributions: lines in the series' colour, and their names, series below series.
fn quantiles(drawing: &mut Drawing, traces: &[Trace<'_>], frame: &Frame) {
    let with = traces
        .iter()
        .filter(|trace| !trace.series.quantiles.is_empty());
    let with: Vec<&Trace<'_>> = with.collect();
    let mut row = 0.0;
    for trace in with.iter().filter(|_| with.len() <= NAMED) {
        let steps = matches!(trace.series.shape, Shape::Steps(_));
        // Right of a median a cumulative distribution has nothing at the bottom, a histogram nothing at the top.
        let y = match steps {
            true => frame.bottom - 6.0 - 16.0 * (with.len() as f64 - 1.0 - row),
            false => frame.top + 4.0 + SMALL + 16.0 * row,
        };
        let mut names: Vec<(f64, String)> = Vec::new();
        for quantile in &trace.series.quantiles {
            let Some(x) = frame.x.pixel(quantile.at, (frame.left, frame.right)) else {
                continue;
            };
            let top = match steps {
                true => frame.y.pixel(quantile.share, (frame.bottom, frame.top)),
                false => Some(frame.top),
            };
            if x < frame.left || x > frame.right {
                continue;
            }
            let ends = vec![
                (x, frame.bottom),
                (x, top.unwrap_or(frame.top).max(frame.top)),
            ];
            drawing.elements.push(Element::Lines {
                lines: vec![ends],
                colour: trace.colour,
                width: 1.0,
                dashes: &[3.0, 3.0],
            });
            match names.last_mut() {
                // Two at one place have one name.
                Some((before, name)) if x - *before < 10.0 => {
                    let value =
                        |label: &str| label.split_once(' ').map(|(_, value)| value.to_string());
                    *name = match value(name) == value(&quantile.label) {
                        true => format!(
                            "{}, {}",
                            name.split(' ').next().unwrap_or(""),
                            quantile.label
                        ),
                        false => format!("{name}, {}", quantile.label),
                    };
                }
                _ => names.push((x, quantile.label.clone())),
            }
        }
        for (index, (x, name)) in names.iter().enumerate() {
            let room = names.get(index + 1).map_or(frame.right, |next| next.0);
            let within = Frame {
                right: room.max(x + 1.0),
                ..*frame
            };
            beside(drawing, name, (*x, y), &within, trace.colour);
        }
        row += 1.0;
    }
}
