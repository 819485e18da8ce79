//! Pictures of what was seen, place by place: arrivals, distributions, delays.

use crate::plan::{Lab, PlotKind, PlotPlan};
use crate::run::{LabError, folder_for};
use crate::watch::{Arrival, Shared, lock};
use ::plot::{Axis, Figure, Panel, Series, TimeUnit};
use node::Histogram;
use std::path::Path;

/// Bars of a histogram.
const BINS: usize = 120;
/// From this ratio of the longest to the shortest time on, an axis of times is logarithmic.
const WIDE: u64 = 100;

/// What was seen at one place.
struct Place {
    label: String,
    arrivals: Vec<Arrival>,
    gaps: Histogram,
    delays: Histogram,
}

/// Draws a plot into a file, as PNG or SVG by the file's ending.
pub(crate) fn draw(
    lab: &Lab,
    plan: &PlotPlan,
    watches: &[Shared],
    path: &Path,
) -> Result<(), LabError> {
    let places = plan.views.iter().map(|&view| {
        let watch = lock(&watches[view].0);
        let arrivals = watch.arrivals.as_ref();
        Place {
            label: lab.views[view].label.clone(),
            arrivals: arrivals.map_or(Vec::new(), |arrivals| arrivals.list.clone()),
            gaps: watch.statistics.gap_histogram().clone(),
            delays: watch.statistics.delay_histogram().clone(),
        }
    });
    let places: Vec<Place> = places.collect();
    if plan.kind == PlotKind::Delay && places.iter().all(|place| place.delays.total() == 0) {
        let why = "no frame there tells when it left, as those of generators do; \
                   `kind` may be arrivals, cdf or histogram"
            .into();
        let path = path.into();
        return Err(::plot::PlotError::Empty { path, why }.into());
    }
    let figure = Figure::new(plan.title.clone());
    let figure = match plan.kind {
        PlotKind::Arrivals => arrivals(figure, &places),
        PlotKind::Cdf => figure.panel(cdf(&places, GAP, |place| &place.gaps, |a| a.gap_ps)),
        PlotKind::Histogram => figure.panel(histogram(&places)),
        PlotKind::Delay => delays(figure, &places),
    };
    write_figure(&figure, path)
}

/// Writes a picture into a file, as PNG or SVG by its ending, in place of an old one. Folders that are
/// missing are made.
///
/// # Errors
/// When it cannot be drawn or written; then the old file stands.
pub fn write_figure(figure: &Figure, path: &Path) -> Result<(), LabError> {
    let image = figure.image(path)?;
    folder_for(path)?;
    Ok(live::output::replace(path, &image)?)
}

fn arrivals(figure: Figure, places: &[Place]) -> Figure {
    let of_all = || places.iter().flat_map(|place| &place.arrivals);
    let last = of_all().map(|arrival| arrival.at_ps).max().unwrap_or(0);
    let longest = of_all().filter_map(|arrival| arrival.gap_ps).max();
    let time = TimeUnit::of(last as f64);
    let gap = TimeUnit::of(longest.unwrap_or(0) as f64);
    let arrival = || Axis::new(format!("arrival of its first bit [{}]", time.name));
    let mut when = Panel::new(Axis::new("frame, counted from 0 at each place"), arrival());
    let mut since = Panel::new(
        arrival(),
        Axis::new(format!("inter-packet delay [{}]", gap.name)),
    );
    for place in places {
        let (label, arrivals) = (&place.label, &place.arrivals);
        let points = arrivals
            .iter()
            .map(|a| (a.number as f64, time.of_ps(a.at_ps)));
        when = when.series(Series::points(label, points));
        let points = arrivals.iter();
        let points = points.filter_map(|a| Some((time.of_ps(a.at_ps), gap.of_ps(a.gap_ps?))));
        since = since.series(Series::points(label, points));
    }
    figure.panel(when).panel(since)
}

/// What frames are apart, from first bit to first bit.
const GAP: &str = "inter-packet delay";

/// An axis for the times of all places, and its unit.
fn axis<'a>(name: &str, of: impl Iterator<Item = &'a Histogram>) -> (Axis, TimeUnit) {
    let of = of.filter(|histogram| histogram.total() > 0);
    let (least, most) = of.fold((u64::MAX, 0), |(least, most), histogram| {
        (least.min(histogram.min()), most.max(histogram.max()))
    });
    let unit = TimeUnit::of(most as f64);
    let log = least > 0 && most / least >= WIDE;
    (
        Axis::new(format!("{name} [{}]", unit.name)).log_if(log),
        unit,
    )
}

/// Cumulative distributions: of the frames kept, whose values are exact, where a histogram's are not.
fn cdf(
    places: &[Place],
    name: &str,
    of: impl Fn(&Place) -> &Histogram,
    value: impl Fn(&Arrival) -> Option<u64>,
) -> Panel {
    let (axis, unit) = axis(name, places.iter().map(&of));
    let panel = Panel::new(axis, Axis::new("share of frames").range(0.0, 1.05));
    places.iter().fold(panel, |panel, place| {
        let mut values: Vec<u64> = place.arrivals.iter().filter_map(&value).collect();
        values.sort_unstable();
        // Of a long run not every frame is kept; the greatest value belongs to the picture all the same.
        let greatest = of(place).max();
        values.extend(
            values
                .last()
                .filter(|last| **last < greatest)
                .map(|_| greatest),
        );
        let total = values.len() as f64;
        let distinct = values.chunk_by(|a, b| a == b);
        let mut seen = 0;
        let points = distinct.map(|equal| {
            seen += equal.len();
            (unit.of_ps(equal[0]), seen as f64 / total)
        });
        panel.series(Series::steps(&place.label, points.collect::<Vec<_>>()))
    })
}

fn histogram(places: &[Place]) -> Panel {
    let (axis, unit) = axis(GAP, places.iter().map(|place| &place.gaps));
    let log = axis.log;
    let panel = Panel::new(axis, Axis::new("frames").log());
    places.iter().fold(panel, |panel, place| {
        panel.series(match log {
            true => Series::log_histogram(&place.label, &place.gaps, unit.ps, BINS),
            false => Series::histogram(&place.label, &place.gaps, unit.ps, BINS),
        })
    })
}

/// The delays that probes tell, over time and as distributions.
fn delays(figure: Figure, places: &[Place]) -> Figure {
    let of_all = || places.iter().flat_map(|place| &place.arrivals);
    let last = of_all().map(|arrival| arrival.at_ps).max().unwrap_or(0);
    let time = TimeUnit::of(last as f64);
    let (y, unit) = axis("delay", places.iter().map(|place| &place.delays));
    let x = Axis::new(format!("arrival of its first bit [{}]", time.name));
    let panel = places.iter().fold(Panel::new(x, y), |panel, place| {
        let points = place.arrivals.iter();
        let points = points.filter_map(|a| Some((time.of_ps(a.at_ps), unit.of_ps(a.delay_ps?))));
        panel.series(Series::points(&place.label, points))
    });
    let shares = cdf(
        places,
        "delay",
        |place| &place.delays,
        |arrival| arrival.delay_ps,
    );
    figure.panel(panel).panel(shares)
}
