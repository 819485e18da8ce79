//! The figures of paper 003 from what OFLOPS measured: of one switch, or of several in one picture.

use plot::{Axis, Figure, Panel, Series, TimeUnit};
use serde_json::Value;

/// What one switch gave: its name, and the JSON Lines of its tests.
pub struct Device {
    /// What it is called in the legend.
    pub name: String,
    /// Lines as `wire of flops --json` writes them; those that are no rows of a test are not looked at.
    pub lines: Vec<Value>,
}

/// A panel of the figure: tests, and what of them is drawn.
struct Part {
    title: &'static str,
    tests: &'static [&'static str],
    series: &'static [&'static str],
    x: &'static str,
}

const PARTS: [Part; 11] = [
    Part {
        title: "several actions in one entry",
        tests: &["combined"],
        series: &["delay"],
        x: "actions",
    },
    Part {
        title: "packets to and from the controller",
        tests: &["packet-in", "packet-out"],
        series: &["latency"],
        x: "packets a second",
    },
    Part {
        title: "insertion of entries",
        tests: &["insert"],
        series: &["transmission", "barrier", "first packet"],
        x: "entries",
    },
    Part {
        title: "insertion of exact entries",
        tests: &["insert-exact"],
        series: &["transmission", "barrier", "first packet"],
        x: "entries",
    },
    Part {
        title: "modification of entries",
        tests: &["modify"],
        series: &["transmission", "barrier", "first packet"],
        x: "entries",
    },
    Part {
        title: "modification of exact entries",
        tests: &["modify-exact"],
        series: &["transmission", "barrier", "first packet"],
        x: "entries",
    },
    Part {
        title: "deletion of entries",
        tests: &["delete"],
        series: &["transmission", "barrier", "last packet"],
        x: "entries",
    },
    Part {
        title: "deletion of exact entries",
        tests: &["delete-exact"],
        series: &["transmission", "barrier", "last packet"],
        x: "entries",
    },
    Part {
        title: "insertion and modification, as packets see them",
        tests: &["insert", "insert-exact", "modify", "modify-exact"],
        series: &["first packet"],
        x: "entries",
    },
    Part {
        title: "flow statistics",
        tests: &["statistics"],
        series: &["delay"],
        x: "requests a second",
    },
    Part {
        title: "100 entries modified while statistics are asked for",
        tests: &["interaction"],
        series: &["barrier", "first packet", "statistics"],
        x: "requests a second",
    },
];

/// A curve: its points as x, median, and the 10th and 90th percentile (of several runs: the lowest and highest median), in picoseconds.
struct Curve {
    label: String,
    points: Vec<[f64; 4]>,
}

/// The figure; `None` where nothing was measured that it shows: actions are a table.
pub fn figure(title: &str, devices: &[Device]) -> Option<Figure> {
    let several = devices.len() > 1;
    let mut figure = Figure::new(title);
    for part in &PARTS {
        let mut curves = Vec::new();
        for device in devices {
            for test in part.tests {
                for series in part.series {
                    let points: Vec<[f64; 4]> = rows(device, test)
                        .filter_map(|row| point(row, series))
                        .collect();
                    let mut label = match part.tests.len() {
                        1 => series.to_string(),
                        _ => test.to_string(),
                    };
                    if several {
                        label = format!("{}: {label}", device.name);
                    }
                    if !points.is_empty() {
                        curves.push(Curve { label, points });
                    }
                }
            }
        }
        // A comparison of tests needs two of them.
        let compared = part.series == ["first packet"];
        let there = |test: &&&str| {
            devices
                .iter()
                .any(|device| rows(device, test).next().is_some())
        };
        if curves.is_empty() || compared && part.tests.iter().filter(there).count() < 2 {
            continue;
        }
        figure = figure.panel(panel(part, curves));
        if let Some(share) = shares(part, devices) {
            figure = figure.panel(share);
        }
    }
    (!figure.panels.is_empty()).then_some(figure)
}

/// The rows of a test; of several runs those over all of them.
fn rows<'a>(device: &'a Device, test: &str) -> impl Iterator<Item = &'a Value> {
    let of_runs = |line: &&Value| line["type"] == "flops-runs";
    let kind = match device.lines.iter().any(|line| of_runs(&line)) {
        true => "flops-runs",
        false => "flops",
    };
    let own = device.lines.iter();
    own.filter(move |line| line["type"] == kind && line["test"] == test)
}

fn point(row: &Value, series: &str) -> Option<[f64; 4]> {
    let all = row["series"].as_array()?;
    let found = all.iter().find(|one| one["what"] == series)?;
    let at = |key: &str| found[key].as_f64();
    Some([
        row["x"].as_f64()?,
        at("median_ps")?,
        at("p10_ps").or_else(|| at("lowest_ps"))?,
        at("p90_ps").or_else(|| at("highest_ps"))?,
    ])
}

fn panel(part: &Part, curves: Vec<Curve>) -> Panel {
    let of_all = || curves.iter().flat_map(|curve| &curve.points);
    let most = of_all().map(|point| point[3]).fold(0.0, f64::max);
    // In simulated time a switch may take no time at all, which has no place on a logarithmic axis.
    let least = of_all().map(|point| point[1]).fold(f64::MAX, f64::min);
    let unit = TimeUnit::of(most);
    let y = Axis::of_times("time", unit, least > 0.0);
    let panel = Panel::new(Axis::new(part.x).log(), y).title(part.title);
    curves.into_iter().fold(panel, |panel, curve| {
        let of = |ps: f64| ps / unit.ps;
        let line = curve.points.iter().map(|point| (point[0], of(point[1])));
        let spread = curve.points.iter();
        let spread = spread.map(|point| (point[0], of(point[2]), of(point[3])));
        panel.series(Series::line(curve.label.clone(), line).with_spread(spread))
    })
}

/// What belongs below: the packets lost on the way to and from the controller, the processor's load.
fn shares(part: &Part, devices: &[Device]) -> Option<Panel> {
    let (name, value): (&str, fn(&Value) -> Option<f64>) = match part.tests {
        ["packet-in", ..] => ("packets lost [%]", |row| {
            let (sent, received) = (row["sent"].as_f64()?, row["received"].as_f64()?);
            (sent > 0.0).then(|| 100.0 * (sent - received).max(0.0) / sent)
        }),
        ["statistics"] => ("processor [%]", |row| Some(row["busy"].as_f64()? / 10.0)),
        _ => return None,
    };
    let mut panel = Panel::new(Axis::new(part.x).log(), Axis::new(name));
    for device in devices {
        for test in part.tests {
            let points = rows(device, test);
            let points = points.filter_map(|row| Some((row["x"].as_f64()?, value(row)?)));
            let points: Vec<(f64, f64)> = points.collect();
            let label = match part.tests.len() {
                1 => device.name.clone(),
                _ => format!("{}: {test}", device.name),
            };
            if !points.is_empty() {
                panel = panel.series(Series::line(label, points));
            }
        }
    }
    (!panel.series.is_empty()).then_some(panel)
}
