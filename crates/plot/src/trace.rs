//! A series, in pixels.

use crate::figure::{Bar, Mark, Series, Shape};
use crate::layout::{Area, Drawn, SAMPLE};
use crate::scale::Scale;
use plotters::prelude::*;
use std::collections::HashSet;

/// Told apart by colour-blind eyes too (Okabe and Ito's palette, without the yellow that is hard to
/// see on white).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
/// Pixels drawn and left out, in turn; the first series is drawn through.
const DASHES: [&[f64]; 5] = [
    &[],
    &[10.0, 4.0],
    &[3.0, 3.0],
    &[12.0, 4.0, 3.0, 4.0],
    &[6.0, 6.0],
];
/// A line of no more points has a mark at each.
const MARKED: usize = 40;
/// More points than this, at different pixels, are drawn small.
const MANY: usize = 6_000;
/// Steps less wide than this, in pixels, are shown as a mark.
const NARROW: f64 = 3.0;

type Pixel = (f64, f64);

/// Where the values of a panel are.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub x: Scale,
    pub y: Scale,
    pub left: i32,
    pub right: i32,
    pub top: i32,
    pub bottom: i32,
}

impl Frame {
    fn x(&self, value: f64) -> Option<f64> {
        self.x.pixel(value, (self.left, self.right))
    }

    fn y(&self, value: f64) -> Option<f64> {
        self.y.pixel(value, (self.bottom, self.top))
    }

    fn pixel(&self, (x, y): (f64, f64)) -> Option<Pixel> {
        Some((self.x(x)?, self.y(y)?))
    }

    fn holds(&self, (x, y): Pixel) -> bool {
        let (left, right) = (f64::from(self.left), f64::from(self.right));
        let (top, bottom) = (f64::from(self.top), f64::from(self.bottom));
        (left..=right).contains(&x) && (top..=bottom).contains(&y)
    }

    /// The ends of a line of reference, if it is in the panel.
    pub fn across(&self, mark: &Mark) -> Option<[Pixel; 2]> {
        let ends = match mark.vertical {
            true => {
                let x = self.x(mark.at)?;
                [(x, f64::from(self.top)), (x, f64::from(self.bottom))]
            }
            false => {
                let y = self.y(mark.at)?;
                [(f64::from(self.left), y), (f64::from(self.right), y)]
            }
        };
        self.holds(ends[0]).then_some(ends)
    }

    /// The part of a line that is inside (Liang and Barsky's way).
    fn clip(&self, from: Pixel, to: Pixel) -> Option<(Pixel, Pixel)> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for (step, room) in [
            (-dx, from.0 - f64::from(self.left)),
            (dx, f64::from(self.right) - from.0),
            (-dy, from.1 - f64::from(self.top)),
            (dy, f64::from(self.bottom) - from.1),
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
    colour: RGBColor,
    dashes: &'static [f64],
    mark: usize,
    /// The size of marks, in pixels.
    size: i32,
    /// Whether each point has a mark.
    marked: bool,
}

impl<'a> Trace<'a> {
    /// The series number `index` of `count`.
    pub fn new(series: &'a Series, index: usize, count: usize, frame: &Frame) -> Trace<'a> {
        let few = series.len() <= MARKED;
        // Where series coincide, the first is seen as a rim round the later ones.
        let rim = (count - 1 - index).min(3) as i32;
        let (size, marked) = match &series.shape {
            Shape::Points(_) if few => (4 + rim, true),
            Shape::Points(_) => (2 + rim, true),
            Shape::Line(_) => (4, few),
            Shape::Steps(points) => {
                let x = points.iter().filter_map(|(x, _)| frame.x(*x));
                let (low, high) = x.fold((f64::MAX, f64::MIN), |(low, high), x| {
                    (low.min(x), high.max(x))
                });
                (6 + 2 * rim, high - low < NARROW)
            }
            Shape::Bars(_) => (0, false),
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

    pub fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, frame: &Frame) -> Drawn<DB> {
        self.spread(area, frame)?;
        match &self.series.shape {
            Shape::Points(points) => self.points(area, frame, points),
            Shape::Line(points) => {
                let pixels: Vec<Pixel> = points.iter().filter_map(|p| frame.pixel(*p)).collect();
                self.line(area, frame, &pixels)?;
                match self.marked {
                    true => self.points(area, frame, points),
                    false => Ok(()),
                }
            }
            Shape::Steps(points) => {
                self.line(area, frame, &corners(points, frame))?;
                let top = points.iter().filter_map(|p| frame.pixel(*p)).next_back();
                match top.filter(|top| self.marked && frame.holds(*top)) {
                    Some(top) => self.mark(area, top, 1),
                    None => Ok(()),
                }
            }
            Shape::Bars(bars) => bars.iter().try_for_each(|bar| self.bar(area, frame, bar)),
        }
    }

    /// Draws how values spread: upright lines with feet.
    fn spread<DB: DrawingBackend>(&self, area: &Area<DB>, frame: &Frame) -> Drawn<DB> {
        for &(x, low, high) in &self.series.spread {
            let ends = (frame.pixel((x, low)), frame.pixel((x, high)));
            let (Some(low), Some(high)) = ends else {
                continue;
            };
            let foot = |(x, y): Pixel| ((x - 4.0, y), (x + 4.0, y));
            for (from, to) in [(low, high), foot(low), foot(high)] {
                let Some((from, to)) = frame.clip(from, to) else {
                    continue;
                };
                let round = |(x, y): Pixel| (x.round() as i32, y.round() as i32);
                let piece = [round(from), round(to)];
                area.draw(&PathElement::new(piece, self.colour.stroke_width(1)))?;
            }
        }
        Ok(())
    }

    /// Draws the sample in the legend, from `(x, y)` to the right.
    pub fn sample<DB: DrawingBackend>(&self, area: &Area<DB>, (x, y): (i32, i32)) -> Drawn<DB> {
        let middle = (f64::from(x + SAMPLE / 2), f64::from(y));
        let ends = [
            (f64::from(x), f64::from(y)),
            (f64::from(x + SAMPLE), f64::from(y)),
        ];
        match &self.series.shape {
            Shape::Points(_) => {
                let seen = Trace {
                    size: self.size.max(4),
                    ..*self
                };
                seen.mark(area, middle, self.mark)
            }
            Shape::Bars(_) => {
                let corners = [(x + 4, y - 7), (x + SAMPLE - 4, y + 7)];
                area.draw(&Rectangle::new(corners, self.colour.mix(0.45).filled()))?;
                area.draw(&Rectangle::new(corners, self.colour.stroke_width(1)))
            }
            Shape::Line(_) | Shape::Steps(_) => {
                for piece in dashed(&ends, self.dashes) {
                    area.draw(&PathElement::new(piece, self.colour.stroke_width(2)))?;
                }
                match (&self.series.shape, self.marked) {
                    (Shape::Steps(_), true) => self.mark(area, middle, 1),
                    (_, true) => self.mark(area, middle, self.mark),
                    (_, false) => Ok(()),
                }
            }
        }
    }

    fn points<DB: DrawingBackend>(
        &self,
        area: &Area<DB>,
        frame: &Frame,
        points: &[(f64, f64)],
    ) -> Drawn<DB> {
        let mut drawn = HashSet::new();
        let mut seen = Vec::new();
        for point in points.iter().filter_map(|point| frame.pixel(*point)) {
            let place = (point.0.round() as i32, point.1.round() as i32);
            if frame.holds(point) && drawn.insert(place) {
                seen.push(point);
            }
        }
        let small = Trace {
            size: if seen.len() > MANY { 1 } else { self.size },
            ..*self
        };
        seen.into_iter()
            .try_for_each(|point| small.mark(area, point, self.mark))
    }

    fn line<DB: DrawingBackend>(
        &self,
        area: &Area<DB>,
        frame: &Frame,
        pixels: &[Pixel],
    ) -> Drawn<DB> {
        let pixels = thinned(pixels);
        let mut run: Vec<Pixel> = Vec::new();
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
        for piece in runs.iter().flat_map(|run| dashed(run, self.dashes)) {
            area.draw(&PathElement::new(piece, self.colour.stroke_width(2)))?;
        }
        Ok(())
    }

    fn bar<DB: DrawingBackend>(&self, area: &Area<DB>, frame: &Frame, bar: &Bar) -> Drawn<DB> {
        let (Some(from), Some(to), Some(end)) =
            (frame.x(bar.from), frame.x(bar.to), frame.y(bar.height))
        else {
            return Ok(());
        };
        let (left, right) = (f64::from(frame.left), f64::from(frame.right));
        let (top, bottom) = (f64::from(frame.top), f64::from(frame.bottom));
        let foot = match frame.y.log {
            true => bottom,
            false => frame.y(0.0).unwrap_or(bottom).clamp(top, bottom),
        };
        if from.max(to) < left || from.min(to) > right || bar.height <= 0.0 && frame.y.log {
            return Ok(());
        }
        let from = from.clamp(left, right).round() as i32;
        // What is there is seen, however narrow it is.
        let to = (to.clamp(left, right).round() as i32).max(from + 4);
        let (end, foot) = (end.clamp(top, bottom).round() as i32, foot.round() as i32);
        let corners = [(from, end.min(foot)), (to, end.max(foot))];
        area.draw(&Rectangle::new(corners, self.colour.mix(0.45).filled()))?;
        let edge = [(from, end), (to, end)];
        area.draw(&PathElement::new(edge, self.colour.stroke_width(2)))
    }

    /// Draws a mark of a kind: a circle, a triangle, a square, a cross, a diamond.
    fn mark<DB: DrawingBackend>(&self, area: &Area<DB>, at: Pixel, kind: usize) -> Drawn<DB> {
        let (x, y, size) = (at.0.round() as i32, at.1.round() as i32, self.size);
        let full = self.colour.filled();
        match kind % 5 {
            0 => area.draw(&Circle::new((x, y), size, full)),
            1 => {
                let wide = size + 1;
                let corners = vec![(x, y - wide), (x + wide, y + size), (x - wide, y + size)];
                area.draw(&Polygon::new(corners, full))
            }
            2 => {
                let corners = [(x - size, y - size), (x + size, y + size)];
                area.draw(&Rectangle::new(corners, full))
            }
            3 => area.draw(&Cross::new((x, y), size, self.colour.stroke_width(2))),
            _ => {
                let wide = size + 1;
                let corners = vec![(x, y - wide), (x + wide, y), (x, y + wide), (x - wide, y)];
                area.draw(&Polygon::new(corners, full))
            }
        }
    }
}

/// Steps as a line: up from the foot to the first point, right, up.
fn corners(points: &[(f64, f64)], frame: &Frame) -> Vec<Pixel> {
    let mut corners: Vec<Pixel> = Vec::new();
    for (x, y) in points.iter().filter_map(|point| frame.pixel(*point)) {
        let before = corners
            .last()
            .map_or(f64::from(frame.bottom), |last| last.1);
        corners.extend([(x, before), (x, y)]);
    }
    corners
}

/// No more points than show: in each column of pixels the first, the highest, the lowest, the last.
fn thinned(pixels: &[Pixel]) -> Vec<Pixel> {
    let mut kept: Vec<Pixel> = Vec::new();
    for column in pixels.chunk_by(|a, b| a.0.round() == b.0.round()) {
        if column.len() <= 4 {
            kept.extend_from_slice(column);
            continue;
        }
        let by_y = |a: &&Pixel, b: &&Pixel| a.1.total_cmp(&b.1);
        let (first, last) = (column[0], column[column.len() - 1]);
        let least = column.iter().min_by(by_y).copied().unwrap_or(first);
        let most = column.iter().max_by(by_y).copied().unwrap_or(last);
        kept.extend([first, least, most, last]);
    }
    kept
}

/// A line in pieces; `dashes` are pixels drawn and left out, in turn.
pub(crate) fn dashed(line: &[Pixel], dashes: &[f64]) -> Vec<Vec<(i32, i32)>> {
    let whole = |&(x, y): &Pixel| (x.round() as i32, y.round() as i32);
    if dashes.is_empty() || line.len() < 2 {
        let line: Vec<_> = line.iter().map(whole).collect();
        return if line.len() < 2 {
            Vec::new()
        } else {
            vec![line]
        };
    }
    let mut pieces = Vec::new();
    let (mut dash, mut left) = (0, dashes[0]);
    let mut piece = vec![whole(&line[0])];
    for pair in line.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let drawn = dash % 2 == 0;
            if length <= left {
                left -= length;
                if drawn {
                    piece.push(whole(&to));
                }
                break;
            }
            let share = left / length;
            from = (
                from.0 + share * (to.0 - from.0),
                from.1 + share * (to.1 - from.1),
            );
            if drawn {
                piece.push(whole(&from));
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![whole(&from)];
            }
            dash = (dash + 1) % dashes.len();
            left = dashes[dash];
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_what_they_say() {
        let pieces = dashed(&[(0.0, 0.0), (100.0, 0.0)], &[10.0, 5.0]);
        assert_eq!(pieces.len(), 7);
        assert_eq!(pieces[1], [(15, 0), (25, 0)]);
        let bent = dashed(&[(0.0, 0.0), (6.0, 0.0), (6.0, 50.0)], &[10.0, 5.0]);
        assert_eq!(bent[0], [(0, 0), (6, 0), (6, 4)]);
        assert!(dashed(&[(1.0, 1.0)], &[2.0, 2.0]).is_empty());
    }

    #[test]
    fn thinning_keeps_the_extremes_of_each_column() {
        let noisy: Vec<Pixel> = (0..100_000)
            .map(|n| (f64::from(n) / 1_000.0, f64::from(n * 7_919 % 1_009)))
            .collect();
        let kept = thinned(&noisy);
        assert!(kept.len() <= 4 * 102, "{}", kept.len());
        let highest = |points: &[Pixel]| points.iter().fold(0.0f64, |most, p| most.max(p.1));
        assert_eq!(highest(&kept), highest(&noisy));
    }

    #[test]
    fn what_is_outside_is_cut_off_where_it_leaves() {
        let scale = Scale {
            low: 0.0,
            high: 1.0,
            log: false,
        };
        let (x, y) = (scale, scale);
        let (left, right, top, bottom) = (0, 100, 0, 100);
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
