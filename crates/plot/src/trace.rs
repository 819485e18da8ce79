//! A series, in pixels.

use crate::drawing::{Colour, Drawing, Element, Point};
use crate::figure::{Bar, Mark, Series, Shape};
use crate::scale::Scale;
use std::collections::HashSet;

/// Told apart by colour-blind eyes too (Okabe and Ito's palette, without the yellow that is hard to
/// see on white).
const COLOURS: [Colour; 7] = [
    Colour::rgb(0, 114, 178),
    Colour::rgb(213, 94, 0),
    Colour::rgb(0, 158, 115),
    Colour::rgb(204, 121, 167),
    Colour::rgb(230, 159, 0),
    Colour::rgb(86, 180, 233),
    Colour::rgb(0, 0, 0),
];
/// Points drawn and left out, in turn; the first series is drawn through.
const DASHES: [&[f64]; 5] = [
    &[],
    &[8.0, 3.0],
    &[2.0, 2.0],
    &[9.0, 3.0, 2.0, 3.0],
    &[5.0, 5.0],
];
/// A line of no more points has a mark at each.
const MARKED: usize = 40;
/// Maximum number of points at different pixels that are drawn in full size.
const MAX_FULL_SIZE_POINTS: usize = 6_000;
/// Steps less wide than this, in pixels, are shown as a mark.
const NARROW: f64 = 3.0;
/// Width of the sample of a series in the legend.
pub(crate) const SAMPLE: f64 = 28.0;
/// The width of lines.
const WIDE: f64 = 1.6;

/// Where the values of a panel are.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub x: Scale,
    pub y: Scale,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    fn x(&self, value: f64) -> Option<f64> {
        self.x.pixel(value, (self.left, self.right))
    }

    fn y(&self, value: f64) -> Option<f64> {
        self.y.pixel(value, (self.bottom, self.top))
    }

    fn pixel(&self, (x, y): (f64, f64)) -> Option<Point> {
        Some((self.x(x)?, self.y(y)?))
    }

    fn holds(&self, (x, y): Point) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// The ends of a line of reference, if it is in the panel.
    pub fn across(&self, mark: &Mark) -> Option<[Point; 2]> {
        let ends = match mark.vertical {
            true => {
                let x = self.x(mark.at)?;
                [(x, self.top), (x, self.bottom)]
            }
            false => {
                let y = self.y(mark.at)?;
                [(self.left, y), (self.right, y)]
            }
        };
        self.holds(ends[0]).then_some(ends)
    }

    /// The part of a line that is inside (Liang and Barsky's way).
    fn clip(&self, from: Point, to: Point) -> Option<(Point, Point)> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for (step, room) in [
            (-dx, from.0 - self.left),
            (dx, self.right - from.0),
            (-dy, from.1 - self.top),
            (dy, self.bottom - from.1),
        ] {
            match step {
                0.0 if room < 0.0 => return None,
                0.0 => {}
                _ if step < 0.0 => enter = enter.max(room / step),
                _ => leave = leave.min(room / step),
            }
        }
        let at = |share: f64| (from.0 + share * dx, from.1 + share * dy);
        (enter <= leave).then(|| (at(enter), at(leave)))
    }
}

/// A series, and how it looks.
pub(crate) struct Trace<'a> {
    pub series: &'a Series,
    pub colour: Colour,
    dashes: &'static [f64],
    mark: usize,
    /// The size of marks, in pixels.
    size: f64,
    /// Whether each point has a mark.
    marked: bool,
}

impl<'a> Trace<'a> {
    /// The series number `index` of `count`.
    pub fn new(series: &'a Series, index: usize, count: usize, frame: &Frame) -> Trace<'a> {
        let few = series.len() <= MARKED;
        // Where series coincide, the first is seen as a rim round the later ones.
        let rim = (count - 1 - index).min(3) as f64;
        let (size, marked) = match &series.shape {
            Shape::Points(_) if few => (3.0 + rim, true),
            Shape::Points(_) => (1.5 + 0.7 * rim, true),
            Shape::Line(_) => (2.6, few),
            Shape::Steps(points) => {
                let x = points.iter().filter_map(|(x, _)| frame.x(*x));
                let (low, high) = x.fold((f64::MAX, f64::MIN), |(low, high), x| {
                    (low.min(x), high.max(x))
                });
                (4.0 + 1.5 * rim, high - low < NARROW)
            }
            Shape::Bars(_) => (0.0, false),
        };
        Trace {
            series,
            colour: COLOURS[index % COLOURS.len()],
            dashes: DASHES[index % DASHES.len()],
            mark: index,
            size,
            marked,
        }
    }

    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame) {
        self.spread(drawing, frame);
        match &self.series.shape {
            Shape::Points(points) => self.points(drawing, frame, points),
            Shape::Line(points) => {
                self.band(drawing, frame);
                let pixels: Vec<Point> = points.iter().filter_map(|p| frame.pixel(*p)).collect();
                self.line(drawing, frame, &pixels);
                if self.marked {
                    self.points(drawing, frame, points);
                }
            }
            Shape::Steps(points) => {
                self.line(drawing, frame, &corners(points, frame));
                let top = points.iter().filter_map(|p| frame.pixel(*p)).next_back();
                if let Some(top) = top.filter(|top| self.marked && frame.holds(*top)) {
                    self.marks(drawing, vec![top], 1);
                }
            }
            Shape::Bars(bars) => self.bars(drawing, frame, bars),
        }
    }

    fn lines(
        &self,
        drawing: &mut Drawing,
        lines: Vec<Vec<Point>>,
        width: f64,
        dashes: &'static [f64],
    ) {
        let colour = self.colour;
        drawing.elements.push(Element::Lines {
            lines,
            colour,
            width,
            dashes,
        });
    }

    /// Draws how values spread: upright lines with feet.
    fn spread(&self, drawing: &mut Drawing, frame: &Frame) {
        let mut lines = Vec::new();
        for &(x, low, high) in &self.series.spread {
            let ends = (frame.pixel((x, low)), frame.pixel((x, high)));
            let (Some(low), Some(high)) = ends else {
                continue;
            };
            let foot = |(x, y): Point| ((x - 3.0, y), (x + 3.0, y));
            for (from, to) in [(low, high), foot(low), foot(high)] {
                let piece = frame.clip(from, to);
                lines.extend(piece.map(|(from, to)| vec![from, to]));
            }
        }
        if !lines.is_empty() {
            self.lines(drawing, lines, 1.0, &[]);
        }
    }

    /// Draws what a line is uncertain by: an area round it.
    fn band(&self, drawing: &mut Drawing, frame: &Frame) {
        let inside = |(x, y): Point| {
            let x = x.clamp(frame.left, frame.right);
            (x, y.clamp(frame.top, frame.bottom))
        };
        let edge = |high: bool| {
            let band = self.series.band.iter();
            band.filter_map(move |&(x, low, top)| frame.pixel((x, if high { top } else { low })))
        };
        let area: Vec<Point> = edge(true)
            .chain(edge(false).collect::<Vec<_>>().into_iter().rev())
            .map(inside)
            .collect();
        if area.len() > 3 {
            drawing.elements.push(Element::Areas {
                areas: vec![area],
                colour: self.colour.with_alpha(50),
            });
        }
    }

    /// Draws the sample in the legend, from `(x, y)` to the right.
    pub fn sample(&self, drawing: &mut Drawing, (x, y): Point) {
        let middle = vec![(x + SAMPLE / 2.0, y)];
        let ends = vec![(x, y), (x + SAMPLE, y)];
        match &self.series.shape {
            Shape::Points(_) => {
                let seen = Trace {
                    size: self.size.max(3.0),
                    ..*self
                };
                seen.marks(drawing, middle, self.mark);
            }
            Shape::Bars(_) => {
                let corners = ((x + 4.0, y - 5.0), (x + SAMPLE - 4.0, y + 5.0));
                drawing.rectangle(corners.0, corners.1, self.colour.with_alpha(115));
                let (x, right) = (corners.0.0, corners.1.0);
                self.lines(
                    drawing,
                    vec![vec![(x, y - 5.0), (right, y - 5.0)]],
                    WIDE,
                    &[],
                );
            }
            Shape::Line(_) | Shape::Steps(_) => {
                self.lines(drawing, vec![ends], WIDE, self.dashes);
                match (&self.series.shape, self.marked) {
                    (Shape::Steps(_), true) => self.marks(drawing, middle, 1),
                    (_, true) => self.marks(drawing, middle, self.mark),
                    (_, false) => {}
                }
            }
        }
    }

    fn points(&self, drawing: &mut Drawing, frame: &Frame, points: &[(f64, f64)]) {
        let mut drawn = HashSet::new();
        let mut seen = Vec::new();
        for point in points.iter().filter_map(|point| frame.pixel(*point)) {
            // Half a pixel is one of a PNG's.
            let place = (
                (2.0 * point.0).round() as i64,
                (2.0 * point.1).round() as i64,
            );
            if frame.holds(point) && drawn.insert(place) {
                seen.push(point);
            }
        }
        let small = Trace {
            size: if seen.len() > MAX_FULL_SIZE_POINTS {
                0.8
            } else {
                self.size
            },
            ..*self
        };
        small.marks(drawing, seen, self.mark);
    }

    fn line(&self, drawing: &mut Drawing, frame: &Frame, pixels: &[Point]) {
        let pixels = thinned(pixels);
        let mut run: Vec<Point> = Vec::new();
        let mut runs = Vec::new();
        for pair in pixels.windows(2) {
            let Some((from, to)) = frame.clip(pair[0], pair[1]) else {
                continue;
            };
            if run.last() != Some(&from) {
                runs.push(std::mem::replace(&mut run, vec![from]));
            }
            run.push(to);
        }
        runs.push(run);
        runs.retain(|run| run.len() > 1);
        self.lines(drawing, runs, WIDE, self.dashes);
    }

    fn bars(&self, drawing: &mut Drawing, frame: &Frame, bars: &[Bar]) {
        let (mut areas, mut tops) = (Vec::new(), Vec::new());
        for ((left, top), (right, foot)) in bars.iter().filter_map(|bar| box_of(bar, frame)) {
            areas.push(vec![(left, top), (right, top), (right, foot), (left, foot)]);
            tops.push(vec![(left, top), (right, top)]);
        }
        let colour = self.colour.with_alpha(115);
        drawing.elements.push(Element::Areas { areas, colour });
        self.lines(drawing, tops, WIDE, &[]);
    }

    /// Draws marks of a kind: discs, triangles, squares, crosses, diamonds.
    fn marks(&self, drawing: &mut Drawing, centres: Vec<Point>, kind: usize) {
        let (size, colour) = (self.size, self.colour);
        let wide = size * 1.2;
        let corners: Vec<Point> = match kind % 5 {
            0 => {
                let radius = size;
                return drawing.elements.push(Element::Discs {
                    centres,
                    radius,
                    colour,
                });
            }
            1 => vec![(0.0, -wide), (wide, size), (-wide, size)],
            2 => vec![(-size, -size), (size, -size), (size, size), (-size, size)],
            3 => {
                let cross = |(x, y): Point| {
                    let line = |dy: f64| vec![(x - size, y - dy), (x + size, y + dy)];
                    [line(size), line(-size)]
                };
                let lines = centres.into_iter().flat_map(cross).collect();
                return self.lines(drawing, lines, WIDE, &[]);
            }
            _ => vec![(0.0, -wide), (wide, 0.0), (0.0, wide), (-wide, 0.0)],
        };
        let polygon = |(x, y): Point| corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        let areas = centres.into_iter().map(polygon).collect();
        drawing.elements.push(Element::Areas { areas, colour });
    }
}

/// The upper left and the lower right corner of a bar, or of one that grows down, of what of it is in the panel.
fn box_of(bar: &Bar, frame: &Frame) -> Option<(Point, Point)> {
    let (from, to) = (frame.x(bar.from)?, frame.x(bar.to)?);
    let end = frame.y(bar.height)?;
    let Frame {
        left,
        right,
        top,
        bottom,
        ..
    } = *frame;
    let foot = match frame.y.log {
        true => bottom,
        false => frame.y(0.0).unwrap_or(bottom).clamp(top, bottom),
    };
    if from.max(to) < left || from.min(to) > right || bar.height <= 0.0 && frame.y.log {
        return None;
    }
    let from = from.clamp(left, right);
    // What is there is seen, however narrow it is.
    let to = to.clamp(left, right).max(from + 2.0);
    let end = end.clamp(top, bottom);
    Some(((from, end), (to, foot)))
}

/// Steps as a line: up from the foot to the first point, right, up.
fn corners(points: &[(f64, f64)], frame: &Frame) -> Vec<Point> {
    let mut corners: Vec<Point> = Vec::new();
    for (x, y) in points.iter().filter_map(|point| frame.pixel(*point)) {
        let before = corners.last().map_or(frame.bottom, |last| last.1);
        corners.extend([(x, before), (x, y)]);
    }
    corners
}

/// No more points than show: in each column of half pixels the first, the highest, the lowest, the last.
fn thinned(pixels: &[Point]) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for column in pixels.chunk_by(|a, b| (2.0 * a.0).round() == (2.0 * b.0).round()) {
        if column.len() <= 4 {
            kept.extend_from_slice(column);
            continue;
        }
        let by_y = |a: &&Point, b: &&Point| a.1.total_cmp(&b.1);
        let (first, last) = (column[0], column[column.len() - 1]);
        let least = column.iter().min_by(by_y).copied().unwrap_or(first);
        let most = column.iter().max_by(by_y).copied().unwrap_or(last);
        kept.extend([first, least, most, last]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_of_each_column() {
        let noisy: Vec<Point> = (0..100_000)
            .map(|n| (f64::from(n) / 1_000.0, f64::from(n * 7_919 % 1_009)))
            .collect();
        let kept = thinned(&noisy);
        assert!(kept.len() <= 4 * 203, "{}", kept.len());
        let highest = |points: &[Point]| points.iter().fold(0.0f64, |most, p| most.max(p.1));
        assert_eq!(highest(&kept), highest(&noisy));
    }

    #[test]
    fn what_is_outside_is_cut_off_where_it_leaves() {
        let scale = Scale {
            low: 0.0,
            high: 1.0,
            log: false,
            time: None,
        };
        let (x, y) = (scale, scale);
        let (left, right, top, bottom) = (0.0, 100.0, 0.0, 100.0);
        let frame = Frame {
            x,
            y,
            left,
            right,
            top,
            bottom,
        };
        let cut = frame.clip((-50.0, 50.0), (150.0, 50.0));
        assert_eq!(cut, Some(((0.0, 50.0), (100.0, 50.0))));
        assert_eq!(frame.clip((-50.0, -50.0), (-1.0, 150.0)), None);
        assert_eq!(
            frame.clip((10.0, 10.0), (10.0, 10.0)),
            Some(((10.0, 10.0), (10.0, 10.0)))
        );
    }
}
