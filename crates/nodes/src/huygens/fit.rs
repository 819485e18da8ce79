//! The line between two clouds of points: how far a clock is ahead of another, and by how much it is faster.
//!
//! A probe to the server tells that the clock is no less ahead than its stamps are apart, a probe from there that it is no more. A line through
//! time that parts the points below from those above with the greatest margin is what Huygens has a linear support vector machine find.
//! Here it is found exactly. Both margins are vertical, as times are seconds and offsets micro- or nanoseconds: then only the corners of the upper hull of the points
//! below and of the lower hull of those above count, what lies between the hulls is convex, and the line goes through the middle of their narrowest place. Where the
//! clouds overlap, the same line has the least that it is violated by.

use crate::clock::Local;
use alloc::vec::Vec;

/// A time on the own clock, and an offset: picoseconds.
type Point = (Local, Local);

/// Points that come in the order of time, as the corners of their hull.
#[derive(Clone, Debug)]
struct Hull {
    /// 1: the hull below the points; -1: the one above them.
    side: Local,
    corners: Vec<Point>,
}

impl Hull {
    fn new(side: Local) -> Hull {
        Hull {
            side,
            corners: Vec::new(),
        }
    }

    /// Takes a point in; `false` for one that is older than the last.
    fn add(&mut self, point: Point) -> bool {
        let outer = |a: &Point, b: &Point| self.side * (a.1 - b.1) < 0;
        if let Some(last) = self.corners.last() {
            if point.0 < last.0 {
                return false;
            }
            if point.0 == last.0 {
                if !outer(&point, last) {
                    return true;
                }
                self.corners.pop();
            }
        }
        // The last corner is none any more if it is not outside of the line from the one before it to the point.
        while let [.., a, b] = self.corners[..] {
            let turn = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
            if self.side * turn > 0 {
                break;
            }
            self.corners.pop();
        }
        self.corners.push(point);
        true
    }

    fn range(&self) -> Option<(Local, Local)> {
        Some((self.corners.first()?.0, self.corners.last()?.0))
    }

    /// How high it is at a time within its range, from `base`, and how it goes on to the left and to the right; beyond its ends it is a wall.
    fn at(&self, x: Local, base: Local) -> (f64, [f64; 2]) {
        let slope = |a: Point, b: Point| (b.1 - a.1) as f64 / (b.0 - a.0) as f64;
        let wall = self.side as f64 * f64::INFINITY;
        let behind = self.corners.partition_point(|corner| corner.0 < x);
        let here = self.corners[behind];
        let before = behind.checked_sub(1).map(|index| self.corners[index]);
        let left = before.map_or(-wall, |before| slope(before, here));
        let y = (here.1 - base) as f64;
        if here.0 > x {
            return (y - left * (here.0 - x) as f64, [left, left]);
        }
        let right = self.corners.get(behind + 1);
        (y, [left, right.map_or(wall, |&right| slope(here, right))])
    }
}

/// What a window of points has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    /// The last time, on the own clock, for which there are points on both sides.
    pub at: Local,
    /// How far the clock was ahead then, picoseconds.
    pub offset: Local,
    /// By how much it is faster, a fraction.
    pub faster: f64,
    /// From the line to either hull at their narrowest place, picoseconds: half of the shortest round trip. Negative where the clouds overlap.
    pub margin: f64,
    /// How far the truth may be from `offset` if all stamps are right and both clocks kept their rates, picoseconds.
    pub bound: f64,
}

/// The points of a window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    below: Hull,
    above: Hull,
    /// How many there are on each side.
    pub points: [u64; 2],
}

impl Default for Window {
    fn default() -> Window {
        Window {
            below: Hull::new(-1),
            above: Hull::new(1),
            points: [0; 2],
        }
    }
}

impl Window {
    /// At `x` the clock was at least so far ahead. `false` for a point that is older than the last.
    pub fn at_least(&mut self, x: Local, ahead: Local) -> bool {
        let taken = self.below.add((x, ahead));
        self.points[0] += u64::from(taken);
        taken
    }

    /// At `x` it was at most so far ahead.
    pub fn at_most(&mut self, x: Local, ahead: Local) -> bool {
        let taken = self.above.add((x, ahead));
        self.points[1] += u64::from(taken);
        taken
    }

    /// The line between them; `None` if no two points of both sides are of one time, or all of them are.
    pub fn line(&self) -> Option<Line> {
        let (below, above) = (self.below.range()?, self.above.range()?);
        let (from, to) = (below.0.max(above.0), below.1.min(above.1));
        if from >= to {
            return None;
        }
        let base = self.below.corners[0].1;
        let corners = self.below.corners.iter().chain(&self.above.corners);
        let places = corners.map(|corner| corner.0);
        let places = places.filter(|x| (from..=to).contains(x));
        let width = |x: Local| self.above.at(x, base).0 - self.below.at(x, base).0;
        let narrowest = places.min_by(|&a, &b| width(a).total_cmp(&width(b)))?;
        let (top, [above_left, above_right]) = self.above.at(narrowest, base);
        let (bottom, [below_left, below_right]) = self.below.at(narrowest, base);
        // The line stays between the hulls on both sides of their narrowest place.
        let least = above_left.max(below_right);
        let most = above_right.min(below_left);
        let faster = match (least.is_finite(), most.is_finite()) {
            (true, true) => f64::midpoint(least, most),
            (true, false) => least,
            (false, true) => most,
            (false, false) => return None,
        };
        let end = f64::midpoint(top, bottom) + faster * (to - narrowest) as f64;
        let (roof, floor) = (self.above.at(to, base).0, self.below.at(to, base).0);
        Some(Line {
            at: to,
            offset: base + libm::round(end) as Local,
            faster,
            margin: (top - bottom) / 2.0,
            bound: (roof - end).max(end - floor),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    const MS: Local = 1_000_000_000;
    const NS: Local = 1_000;

    /// A clock that is 20 ppm fast and 3 us ahead, 900 ns from its server, 1,000 probes each way; what each took longer.
    fn window(mut late: impl FnMut(usize) -> Local) -> Window {
        let mut window = Window::default();
        for probe in 0..1_000 {
            let truth = |x: Local| 3_000 * NS + x / 50_000;
            let (to, from) = (probe * MS, probe * MS + MS / 3);
            assert!(window.at_least(to, truth(to) - 900 * NS - late(0)));
            assert!(window.at_most(from, truth(from) + 900 * NS + late(1)));
        }
        window
    }

    #[test]
    fn a_line_is_found_to_the_picosecond_where_nothing_is_in_the_way() {
        let line = window(|_| 0).line().unwrap();
        assert_eq!(line.at, 999 * MS);
        assert!((line.offset - (3_000 * NS + 999 * MS / 50_000)).abs() <= 1);
        assert!((line.faster - 20e-6).abs() < 1e-12, "{line:?}");
        assert!((line.margin - 900e3).abs() < 1.0, "{line:?}");
        assert!((line.bound - 900e3).abs() < 2.0, "{line:?}");
    }

    #[test]
    fn what_waited_does_not_move_it_as_long_as_some_did_not() {
        // Nine of ten wait up to 100 us, and longer in one direction.
        let mut random = Random::new(7);
        let window = window(|side| match random.below(10) {
            0 => 0,
            _ => Local::from(random.below(100_000_000)) * (1 + side as Local),
        });
        assert!(window.below.corners.len() < 100);
        let line = window.line().unwrap();
        let truth = 3_000 * NS + line.at / 50_000;
        assert!((line.offset - truth).abs() < 2 * NS, "{line:?}");
        assert!((line.offset - truth).abs() as f64 <= line.bound);
        assert!((line.faster - 20e-6).abs() < 1e-9, "{line:?}");
    }

    #[test]
    fn no_line_has_a_greater_margin() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let mut window = Window::default();
            let mut points = Vec::new();
            for x in 0..12 {
                let y = Local::from(random.below(1_000));
                points.push((x, y, random.below(2) == 0));
                match points[x as usize].2 {
                    true => window.at_least(x, y),
                    false => window.at_most(x, y),
                };
            }
            let Some(line) = window.line() else { continue };
            let margin = |end: f64, faster: f64| {
                let side = points.iter().map(|&(x, y, below)| {
                    let above = y as f64 - (end + faster * (x - line.at) as f64);
                    if below { -above } else { above }
                });
                side.fold(f64::INFINITY, f64::min)
            };
            // The offset of a line is whole.
            let best = margin(line.offset as f64, line.faster);
            assert!((best - line.margin).abs() <= 0.5 + 1e-6, "{line:?}");
            for _ in 0..200 {
                let end = line.offset as f64 + 200.0 * (random.unit() - 0.5);
                let faster = line.faster + 40.0 * (random.unit() - 0.5);
                assert!(margin(end, faster) <= line.margin + 1e-6, "{points:?}");
            }
        }
    }

    #[test]
    fn clouds_that_overlap_have_a_negative_margin() {
        let mut window = window(|_| 0);
        // The truth is 23 us.
        assert!(window.at_least(1_000 * MS, 22_100 * NS));
        assert!(window.at_most(1_000 * MS, 3_000 * NS));
        let line = window.line().unwrap();
        assert!(line.margin < 0.0, "{line:?}");
    }

    #[test]
    fn too_little_is_no_line() {
        let mut window = Window::default();
        assert_eq!(window.line(), None);
        window.at_least(5, 0);
        window.at_most(5, 10);
        assert_eq!(window.line(), None, "of one time");
        assert!(!window.at_least(4, 0), "older");
        window.at_least(9, 0);
        assert_eq!(window.line(), None, "only one time has both");
        window.at_most(8, 12);
        assert!(window.line().is_some());
    }
}
