//! `wire plot`: columns of numbers as a picture.

mod columns;

use crate::Verdict;
use crate::complaints::Leniency;
use crate::confine::{self, Still};
use crate::output::{Buffering, Output, picture};
use crate::stream::name;
use ::plot::{Axis, Bar, Figure, Panel, Series};
use anyhow::{Context, ensure};
use columns::Table;
use lab::flops::{Device, figure};
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};

/// Draw columns of numbers as a PNG or SVG picture
///
/// Columns are divided by blanks, commas or tabs, or are the keys of JSON objects, one a line; a first
/// line without numbers names them. By default the first column is x and each other one a series; of
/// several files, each is drawn. Of a cdf and a histogram each column is a series.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire cat --json --time relative trace.pcapng | wire plot --x time --y length -o s.png
  seq 100 | awk '{print $1, $1^2, $1^3}' | wire plot --log xy -o powers.svg")]
pub struct Plot {
    /// Files to read, `-` for standard input
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,
    /// The picture to write, .png or .svg
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What is drawn: line, points, steps, bars, cdf or histogram; or flops: what `wire of flops --json` wrote, a file
    /// for each switch
    #[arg(
        long,
        short,
        value_enum,
        default_value = "line",
        hide_possible_values = true
    )]
    kind: Kind,
    /// The column of x, by name or number; `0` for the number of the row
    #[arg(long, value_name = "COLUMN")]
    x: Option<String>,
    /// The columns of the series
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    y: Vec<String>,
    /// What stands in the legend, series by series, in place of the columns' names
    #[arg(long, value_name = "TEXT")]
    label: Vec<String>,
    /// What stands above all
    #[arg(long, value_name = "TEXT", default_value = "")]
    title: String,
    /// What stands at the axis of x, with its unit
    #[arg(long, value_name = "TEXT")]
    x_name: Option<String>,
    /// What stands at the axis of y, with its unit
    #[arg(long, value_name = "TEXT")]
    y_name: Option<String>,
    /// Axes that are logarithmic: x, y or xy
    #[arg(long, value_name = "AXES", default_value = "", value_parser = axes)]
    log: String,
    /// From where to where the axis of x goes, such as 0:100
    #[arg(long, value_name = "FROM:TO", value_parser = range, allow_hyphen_values = true)]
    x_range: Option<(f64, f64)>,
    /// From where to where the axis of y goes
    #[arg(long, value_name = "FROM:TO", value_parser = range, allow_hyphen_values = true)]
    y_range: Option<(f64, f64)>,
    /// A vertical line of reference, such as '1356.8=as sent'
    #[arg(long, value_name = "X[=TEXT]", value_parser = mark, allow_hyphen_values = true)]
    mark_x: Vec<(f64, String)>,
    /// A horizontal line of reference
    #[arg(long, value_name = "Y[=TEXT]", value_parser = mark, allow_hyphen_values = true)]
    mark_y: Vec<(f64, String)>,
    /// Bars of a histogram
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=4000))]
    bins: u16,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1200x700", value_parser = size)]
    size: (u32, u32),
    /// Say what was drawn, as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    leniency: Leniency,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Line,
    Points,
    Steps,
    Bars,
    Cdf,
    Histogram,
    Flops,
}

fn axes(text: &str) -> Result<String, String> {
    match text {
        "" | "x" | "y" | "xy" | "yx" => Ok(text.into()),
        _ => Err("x, y or xy".into()),
    }
}

fn number(text: &str) -> Result<f64, String> {
    let value = text.trim().parse().ok();
    let value = value.filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| format!("`{text}` is no number"))
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let (from, to) = text
        .split_once(':')
        .ok_or("FROM:TO is wanted, such as 0:100")?;
    let (from, to) = (number(from)?, number(to)?);
    match from < to {
        true => Ok((from, to)),
        false => Err("a range begins below its end".into()),
    }
}

fn mark(text: &str) -> Result<(f64, String), String> {
    let (at, label) = text.split_once('=').unwrap_or((text, ""));
    Ok((number(at)?, label.into()))
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('x').map(|(w, h)| (w.parse(), h.parse()));
    match parts {
        Some((Ok(width @ 300..=8_000), Ok(height @ 200..=4_000))) => Ok((width, height)),
        _ => Err("WIDTHxHEIGHT is wanted, from 300x200 to 8000x4000".into()),
    }
}

impl Plot {
    /// Reads everything and draws it.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let ending = self.output.extension().and_then(|ending| ending.to_str());
        ensure!(
            ending.is_some_and(|ending| ::plot::ENDINGS.contains(&ending)),
            "the ending of {} tells no format; use .png or .svg",
            self.output.display()
        );
        let inputs = self.files.iter().map(PathBuf::as_path);
        live::output::apart(&self.output, inputs)?;
        confine::reader(Still {
            writes: true,
            ..Still::default()
        })?;
        if self.kind == Kind::Flops {
            return self.flops();
        }
        let complaints = self.leniency.complaints();
        let mut all = Vec::new();
        let (mut x_name, mut y_name) = (self.x_name.clone(), self.y_name.clone());
        for path in &self.files {
            let table = read(path)?;
            if table.every > 1 {
                let (every, name) = (table.every, name(path));
                eprintln!("wire: {name}: one row of {every} is drawn");
            }
            let (skipped, of) = (table.skipped, name(path));
            complaints.lost(
                skipped,
                format_args!("{of}: {skipped} lines without a number were skipped"),
            );
            let (names, series) = self.series(&table, path)?;
            x_name.get_or_insert(names.0);
            y_name.get_or_insert(names.1);
            all.extend(series);
        }
        for (series, label) in all.iter_mut().zip(&self.label) {
            series.label.clone_from(label);
        }
        if let ([only], true) = (&mut all[..], self.label.is_empty()) {
            // Its name is at the axis already.
            only.label.clear();
        }
        let drawn: Vec<_> = all
            .iter()
            .map(|series| json!({ "label": series.label, "points": series.len() }))
            .collect();
        let axis = |name: Option<String>, axis: char, range| Axis {
            name: name.unwrap_or_default(),
            log: self.log.contains(axis),
            range,
        };
        let mut panel = Panel::new(
            axis(x_name, 'x', self.x_range),
            axis(y_name, 'y', self.y_range),
        );
        panel.series = all;
        for (at, label) in &self.mark_x {
            panel = panel.mark_x(*at, label);
        }
        for (at, label) in &self.mark_y {
            panel = panel.mark_y(*at, label);
        }
        let seen = panel.seen();
        if seen.shown > 0 && seen.not_positive > 0 {
            let count = seen.not_positive;
            eprintln!(
                "wire: {count} values of zero or less are not drawn: a logarithmic axis has no place for them"
            );
        }
        let mut figure = Figure::new(&self.title).panel(panel);
        // The title has its own height above the panel.
        (figure.width, figure.panel_height) = (self.size.0, self.size.1 - 56);
        picture(&figure, &self.output)?;
        if self.json {
            let line = json_line!("plot", "plot", { "file": self.output.display().to_string(),
                "series": drawn,
            });
            let mut stdout = Output::open(&Buffering::default())?;
            stdout.write(format!("{line}\n").as_bytes())?;
            stdout.finish()?;
        }
        Ok(complaints.finish())
    }

    /// The figures of OFLOPS, with a curve for each file.
    fn flops(&self) -> anyhow::Result<Verdict> {
        let mut devices = Vec::new();
        for path in &self.files {
            let name = name(path);
            let mut lines = Vec::new();
            for (number, line) in open(path)?.lines().enumerate() {
                let line = line.with_context(|| name.clone())?;
                let line = serde_json::from_str(&line)
                    .with_context(|| format!("{name}: line {}", number + 1))?;
                lines.push(line);
            }
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let label = self.label.get(devices.len()).cloned();
            let name = label.unwrap_or_else(|| stem.into());
            devices.push(Device { name, lines });
        }
        let title = match self.title.is_empty() {
            true => "OFLOPS",
            false => &self.title,
        };
        let figure = figure(title, &devices);
        let mut figure =
            figure.context("there is nothing of OFLOPS to draw; what actions take is a table")?;
        figure.width = self.size.0;
        picture(&figure, &self.output)?;
        if self.json {
            let labels = devices.iter().map(|device| &device.name);
            let line = json_line!("plot", "plot", { "file": self.output.display().to_string(),
                "panels": figure.panels.len(), "switches": labels.collect::<Vec<_>>(),
            });
            let mut stdout = Output::open(&Buffering::default())?;
            stdout.write(format!("{line}\n").as_bytes())?;
            stdout.finish()?;
        }
        Ok(Verdict::Good)
    }

    /// The series of one file, and the names of x and y that follow from it.
    fn series(
        &self,
        table: &Table,
        path: &Path,
    ) -> anyhow::Result<((String, String), Vec<Series>)> {
        let place = || name(path);
        let spread = matches!(self.kind, Kind::Cdf | Kind::Histogram);
        let columns = table.names.len();
        let x = match self.x.as_deref() {
            Some("0") => None,
            Some(x) => Some(table.find(x).with_context(place)?),
            None if spread || columns == 1 => None,
            None => Some(0),
        };
        let y = match self.y.is_empty() {
            true => (0..columns).filter(|column| Some(*column) != x).collect(),
            false => {
                let found = self.y.iter().map(|y| table.find(y));
                found.collect::<Result<Vec<_>, _>>().with_context(place)?
            }
        };
        ensure!(
            !y.is_empty(),
            "{}: there is no column but that of x",
            place()
        );
        let one = y.len() == 1;
        for &column in x.iter().filter(|_| !spread).chain(&y) {
            if table.column(column).all(f64::is_nan) {
                // It is a finding about what was read, as an empty picture is.
                let column = &table.names[column];
                let why = format!(
                    "the column `{column}` of {} holds no number; choose columns by --x and --y, --x 0 counts rows",
                    place()
                );
                let path = self.output.clone();
                return Err(lab::LabError::from(::plot::PlotError::Empty { path, why }).into());
            }
        }
        let x_values: Vec<f64> = match x {
            Some(x) => table.column(x).collect(),
            None => (0..table.rows.len() as u64)
                .map(|row| (row * table.every) as f64)
                .collect(),
        };
        let series = y.iter().map(|&column| {
            let mut label = table.names[column].clone();
            if self.files.len() > 1 {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                label = if one {
                    stem.into()
                } else {
                    format!("{stem}: {label}")
                };
            }
            let points = x_values.iter().copied().zip(table.column(column));
            let points = points.filter(|(x, y)| x.is_finite() && y.is_finite());
            match self.kind {
                Kind::Points => Series::points(label, points),
                Kind::Line => Series::line(label, points),
                Kind::Steps => Series::steps(label, points),
                Kind::Bars => bars(label, points.collect()),
                Kind::Cdf => cdf(label, table.column(column)),
                Kind::Histogram | Kind::Flops => self.histogram(label, table.column(column)),
            }
        });
        let series: Vec<Series> = series.collect();
        let values = if one {
            table.names[y[0]].clone()
        } else {
            String::new()
        };
        // A column that nobody named says nothing by its number.
        let told = |name: String| {
            if name.parse::<usize>().is_ok() {
                String::new()
            } else {
                name
            }
        };
        let values = told(values);
        let names = match self.kind {
            Kind::Cdf => (values, "share".into()),
            Kind::Histogram => (values, "count".into()),
            _ => (
                x.map_or("row".into(), |x| told(table.names[x].clone())),
                values,
            ),
        };
        Ok((names, series))
    }

    fn histogram(&self, label: String, values: impl Iterator<Item = f64>) -> Series {
        let log = self.log.contains('x');
        let turn = |value: f64| if log { value.ln() } else { value };
        let values: Vec<f64> = values.map(turn).filter(|value| value.is_finite()).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bins = usize::from(self.bins);
        // Equal values get a bar that can be seen.
        let width = match high - low {
            span if span > 0.0 => span / bins as f64,
            _ => (low.abs() / bins as f64).max(f64::MIN_POSITIVE),
        };
        let mut counts = vec![0u64; bins];
        for value in &values {
            counts[(((value - low) / width) as usize).min(bins - 1)] += 1;
        }
        let back = |value: f64| if log { value.exp() } else { value };
        let bars = counts
            .into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0);
        Series::bars(
            label,
            bars.map(|(index, count)| Bar {
                from: back(low + index as f64 * width),
                to: back(low + (index + 1) as f64 * width),
                height: count as f64,
            }),
        )
    }
}

fn read(path: &Path) -> anyhow::Result<Table> {
    Table::read(&mut open(path)?, &name(path))
}

fn open(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(stdin().lock()));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", name(path)))?;
    Ok(Box::new(BufReader::new(file)))
}

/// Bars round their x, as wide as the closest two are apart.
fn bars(label: String, points: Vec<(f64, f64)>) -> Series {
    let mut x: Vec<f64> = points.iter().map(|point| point.0).collect();
    x.sort_by(f64::total_cmp);
    let apart = x.windows(2).map(|pair| pair[1] - pair[0]);
    let apart = apart
        .filter(|apart| *apart > 0.0)
        .fold(f64::INFINITY, f64::min);
    let half = if apart.is_finite() { 0.4 * apart } else { 0.4 };
    Series::bars(
        label,
        points.into_iter().map(|(x, height)| Bar {
            from: x - half,
            to: x + half,
            height,
        }),
    )
}

fn cdf(label: String, values: impl Iterator<Item = f64>) -> Series {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let total = values.len() as f64;
    let mut seen = 0;
    let points: Vec<(f64, f64)> = values
        .chunk_by(|a, b| a == b)
        .map(|equal| {
            seen += equal.len();
            (equal[0], seen as f64 / total)
        })
        .collect();
    Series::steps(label, points)
}
