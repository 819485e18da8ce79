//! Figures 4.17 and 4.18 of paper 002, of what was estimated.

use super::Estimated;
use super::report::{Summary, summaries};
use ::plot::unit::rate_unit;
use ::plot::{Axis, Figure, Panel, Series};

/// Figure 4.17: estimated over true, a series for each path and method; bars are from the least to the greatest of the samples.
pub(super) fn accuracy(all: &[Estimated], name: &str) -> Figure {
    let summaries = summaries(all);
    let answered: Vec<&Summary> = summaries.iter().filter(|one| one.answers > 0).collect();
    let most = answered.iter().map(|one| one.most).fold(0.0, f64::max);
    let (unit, by) = rate_unit(most);
    let axis = |what: &str| Axis::new(format!("{what} [{unit}]")).range(0.0, 1.05 * most / by);
    let mut panel = Panel::new(axis("actual"), axis("estimated"));
    panel = panel.series(Series::line("equal", [(0.0, 0.0), (most / by, most / by)]));
    let mut labels: Vec<String> = Vec::new();
    for one in &answered {
        let label = label(one);
        if labels.contains(&label) {
            continue;
        }
        let own = || {
            let own = answered.iter().filter(|other| self::label(other) == label);
            own.filter_map(|one| Some((one.truth? / by, *one)))
        };
        let means = own().map(|(truth, one)| (truth, one.mean / by));
        let spread = own().map(|(truth, one)| (truth, one.least / by, one.most / by));
        panel = panel.series(Series::points(&label, means).with_spread(spread));
        let published: Vec<(f64, f64)> = own()
            .filter_map(|(truth, one)| Some((truth, one.published? / by)))
            .collect();
        if !published.is_empty() {
            panel = panel.series(Series::points(format!("{label}, published"), published));
        }
        labels.push(label);
    }
    let mut figure = Figure::new(name).panel(panel);
    figure.panel_height = 600;
    figure
}

fn label(one: &Summary) -> String {
    match one.path == one.node {
        true => one.method.name().into(),
        false => format!("{}, {}", one.path, one.method.name()),
    }
}

/// Figure 4.18: what the methods looked at over the rates of trains, a panel for each prober.
pub(super) fn points(all: &[Estimated], of: &[String], name: &str) -> Figure {
    let mut figure = Figure::new(name);
    figure.panel_height = 220;
    for one in summaries(all) {
        if !of.is_empty() && !of.contains(&one.node) {
            continue;
        }
        let own = all.iter().filter(|estimated| {
            estimated.node == one.node && estimated.estimate.method == one.method
        });
        let points = own.flat_map(|estimated| &estimated.estimate.answer.points);
        let points: Vec<(f64, f64)> = points.copied().collect();
        let most = points.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
        let (unit, by) = rate_unit(most);
        let y = one.method.estimator(node::Rate::TEN_GIGABIT, 1).figure();
        let mut panel = Panel::new(
            Axis::new(format!("rate of the train [{unit}]")),
            Axis::new(y).from_zero(),
        );
        panel = panel.title(format!("{}, {}", one.node, one.method.name()));
        let points = points.into_iter().map(|(rate, value)| (rate / by, value));
        panel = panel.series(Series::points("", points));
        if let Some(truth) = one.truth {
            panel = panel.mark_x(truth / by, "actual");
        }
        if one.answers > 0 {
            panel = panel.mark_x(one.mean / by, "estimated");
        }
        figure = figure.panel(panel);
    }
    figure
}
