//! The turning point of a curve that is flat up to it and rises behind it, by least squares.

/// A turning point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turning {
    pub at: f64,
    /// Where it might be as well by the scatter of the points alone: there the squares are not significantly greater (F test).
    pub low: f64,
    pub high: f64,
    /// Whether nothing is seen to be flat before it: the first point might be the turning point as well, and then so might
    /// anything before that.
    pub from_the_first: bool,
    /// The share of the variance that the curve explains and a flat line does not.
    pub explained: f64,
}

/// Places between two neighbouring points that are tried.
const FINE: usize = 10;
/// The F distribution's 95 % point for 1 and many degrees of freedom.
const F: f64 = 4.0;

/// Fits `y = a + b * rise(x, t)` with `b >= least` for each turning point `t`, and takes the best. Points are in the order of x.
/// `None` if there are fewer than five points, or nothing rises before the last two of them.
pub fn turning(
    points: &[(f64, f64)],
    least: f64,
    rise: impl Fn(f64, f64) -> f64,
) -> Option<Turning> {
    if points.len() < 5 {
        return None;
    }
    let count = points.len() as f64;
    let mean = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let flat: f64 = points.iter().map(|(_, y)| (y - mean) * (y - mean)).sum();
    let squares = |t: f64| {
        let rises = points.iter().map(|&(x, y)| (rise(x, t), y));
        let middle = rises.clone().map(|(r, _)| r).sum::<f64>() / count;
        let (mut both, mut own) = (0.0, 0.0);
        for (r, y) in rises {
            both += (r - middle) * (y - mean);
            own += (r - middle) * (r - middle);
        }
        if own <= 0.0 {
            return flat;
        }
        let slope = (both / own).max(least);
        flat - slope * (2.0 * both - slope * own)
    };
    // Behind the last but two a rise is a chance.
    let tried = || {
        points[..points.len() - 2].windows(2).flat_map(|pair| {
            let (from, to) = (pair[0].0, pair[1].0);
            (0..FINE).map(move |n| from + (to - from) * n as f64 / FINE as f64)
        })
    };
    let (at, best) = tried()
        .map(|t| (t, squares(t)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    if flat <= 0.0 || best >= flat {
        return None;
    }
    let bound = best * (1.0 + F / (count - 3.0)) + flat * 1e-12;
    let mut near = tried().filter(|t| squares(*t) <= bound);
    let low = near.next().unwrap_or(at);
    Some(Turning {
        at,
        low,
        from_the_first: low <= points[0].0,
        high: near.next_back().unwrap_or(at).max(at),
        explained: 1.0 - best / flat,
    })
}
