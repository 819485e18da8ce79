//! Pictures of what was seen: when each frame arrived, and the time to the one before it.

use crate::plan::{Lab, PlotPlan};
use crate::run::LabError;
use crate::watch::{Arrival, Shared, lock};
use ::plot::{Axis, Figure, Panel, Series, TimeUnit};
use std::path::Path;

/// One place's arrivals.
struct Place {
    label: String,
    arrivals: Vec<Arrival>,
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
        }
    });
    let places: Vec<Place> = places.collect();
    let figure = Figure::new(plan.title.clone());
    let figure = arrivals(figure, &places);
    Ok(figure.write(path)?)
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
    for Place { label, arrivals } in places {
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
