//! `wire plot`: columns of numbers as a picture.

mod columns;
mod quantity;

use crate::Verdict;
use crate::complaints::Leniency;
use crate::output::{Buffering, Output, picture};
use crate::stream::name;
use ::flops::{Device, figure};
use ::plot::{Axis, Bar, Figure, Panel, Series, TimeUnit};
use anyhow::{Context, ensure};
use columns::Table;
use confine::Permissions;
use quantity::Quantity;
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};

/// Draw columns of numbers as a PNG or SVG picture
///
/// Columns are divided by blanks, commas or tabs, or are the keys of JSON objects, one a line; a first
/// line without numbers names them. By default the first column is x and each other one a series; of
/// several files, each is drawn. Of a cdf and a histogram each column is a series, with marks at p50 and p99.
/// Axes are named by their columns; one whose name ends in _ps, _ns, _us, _ms or _s is shown in the unit that suits.
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
    /// Width and height in pixels of 1/96 inch; a PNG has two pixels for each
    #[arg(long, value_name = "WxH", default_value = "900x500", value_parser = size)]
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
        ::capture::output::apart(&self.output, inputs)?;
        confine::reader(Permissions {
            writes: true,
            ..Permissions::default()
        })?;
        if self.kind == Kind::Flops {
            return self.flops();
        }
        let complaints = self.leniency.complaints();
        let mut chosen = Vec::new();
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
            chosen.push(self.choose(table, path)?);
        }
        let (x, y) = self.axes(&chosen);
        let series = chosen.iter().flat_map(|chosen| self.series(chosen, &x, &y));
        let mut all: Vec<Series> = series.collect();
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
        let axis = |name: &Option<String>, scaled: Scaled, axis: char, range| Axis {
            name: name.clone().unwrap_or(scaled.name),
            log: self.log.contains(axis),
            range,
            ..Axis::default()
        };
        let mut panel = Panel::new(
            axis(&self.x_name, x, 'x', self.x_range),
            axis(&self.y_name, y, 'y', self.y_range),
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
        (figure.width, figure.panel_height) = self.size;
        // Title and legend have their own height above the panel.
        let above = figure.drawing().height.saturating_sub(self.size.1);
        figure.panel_height = self.size.1.saturating_sub(above);
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

    /// The columns of a file that are drawn.
    fn choose<'a>(&self, table: Table, path: &'a Path) -> anyhow::Result<Chosen<'a>> {
        let place = || name(path);
        let spread = self.spreads();
        let columns = table.names.len();
        let x = match self.x.as_deref() {
            Some("0") => None,
            Some(x) => Some(table.find(x).with_context(place)?),
            None if spread || columns == 1 => None,
            None => Some(0),
        };
        let y: Vec<usize> = match self.y.is_empty() {
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
        Ok(Chosen { table, path, x, y })
    }

    /// Whether values are on the axis of x, and how many there are on that of y.
    fn spreads(&self) -> bool {
        matches!(self.kind, Kind::Cdf | Kind::Histogram)
    }

    /// What both axes show, by what the columns are called.
    fn axes(&self, chosen: &[Chosen<'_>]) -> (Scaled, Scaled) {
        let of_y = || {
            let all = chosen.iter();
            all.flat_map(|one| one.y.iter().map(|column| (&one.table, *column)))
        };
        let of_x = || {
            let all = chosen.iter();
            all.filter_map(|one| Some((&one.table, one.x?)))
        };
        // Who says where an axis begins and ends does so in the columns' unit.
        let free_x = self.x_name.is_none() && self.x_range.is_none() && self.mark_x.is_empty();
        let free_y = self.y_name.is_none() && self.y_range.is_none() && self.mark_y.is_empty();
        let told = |name: &str| Scaled {
            name: name.into(),
            ..Scaled::default()
        };
        match self.kind {
            Kind::Cdf => (Scaled::of(of_y(), free_x), told("share")),
            Kind::Histogram => (Scaled::of(of_y(), free_x), told("count")),
            _ if of_x().next().is_none() => (told("row"), Scaled::of(of_y(), free_y)),
            _ => (Scaled::of(of_x(), free_x), Scaled::of(of_y(), free_y)),
        }
    }

    /// The series of one file.
    fn series(&self, chosen: &Chosen<'_>, x: &Scaled, y: &Scaled) -> Vec<Series> {
        let table = &chosen.table;
        let one = chosen.y.len() == 1;
        let x_values: Vec<f64> = match chosen.x {
            Some(column) => table.column(column).map(|value| value / x.by).collect(),
            None => (0..table.rows.len() as u64)
                .map(|row| (row * table.every) as f64)
                .collect(),
        };
        let series = chosen.y.iter().map(|&column| {
            let mut label = Quantity::of(&table.names[column]).name;
            if label.is_empty() && !one {
                label = format!("column {}", column + 1);
            }
            if self.files.len() > 1 {
                let stem = chosen.path.file_stem().unwrap_or_default();
                let stem = stem.to_string_lossy();
                label = match one {
                    true => stem.into(),
                    false => format!("{stem}: {label}"),
                };
            }
            if self.spreads() {
                let values = table.column(column).map(|value| value / x.by);
                let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
                values.sort_by(f64::total_cmp);
                let quantile = |percent: u32| {
                    let rank = (values.len() * percent as usize).div_ceil(100).max(1);
                    values.get(rank - 1).copied().unwrap_or(f64::NAN)
                };
                let series = match self.kind {
                    Kind::Cdf => cdf(label, &values),
                    _ => self.histogram(label, &values),
                };
                return series.with_quantiles(quantile, |value, apart| {
                    let label = ::plot::unit::brief_apart(value, apart);
                    format!("{label} {}", x.unit).trim_end().into()
                });
            }
            let y_values = table.column(column).map(|value| value / y.by);
            let points = x_values.iter().copied().zip(y_values);
            let points = points.filter(|(x, y)| x.is_finite() && y.is_finite());
            match self.kind {
                Kind::Points => Series::points(label, points),
                Kind::Steps => Series::steps(label, points),
                Kind::Bars => bars(label, points.collect()),
                _ => Series::line(label, points),
            }
        });
        series.collect()
    }

    fn histogram(&self, label: String, values: &[f64]) -> Series {
        let log = self.log.contains('x');
        let turn = |value: &f64| if log { value.ln() } else { *value };
        let values: Vec<f64> = values
            .iter()
            .map(turn)
            .filter(|value| value.is_finite())
            .collect();
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

/// A file, and the columns of it that are drawn.
struct Chosen<'a> {
    table: Table,
    path: &'a Path,
    x: Option<usize>,
    y: Vec<usize>,
}

/// What an axis shows: its name, and what values are divided by.
struct Scaled {
    name: String,
    by: f64,
    unit: &'static str,
}

impl Default for Scaled {
    fn default() -> Scaled {
        Scaled {
            name: String::new(),
            by: 1.0,
            unit: "",
        }
    }
}

impl Scaled {
    /// By the columns on it; in a unit that suits, if it is `free` to choose one.
    fn of<'a>(columns: impl Iterator<Item = (&'a Table, usize)>, free: bool) -> Scaled {
        let columns: Vec<(&Table, usize)> = columns.collect();
        let quantities = columns.iter();
        let quantities: Vec<Quantity> = quantities
            .map(|(table, column)| Quantity::of(&table.names[*column]))
            .collect();
        let Some(first) = quantities.first() else {
            return Scaled::default();
        };
        let alike = quantities.iter().all(|other| other.name == first.name);
        let same_unit = quantities.iter().all(|other| other.ps == first.ps);
        let name = match (alike, same_unit) {
            (true, _) => first.name.clone(),
            (false, true) if first.ps.is_some() => "time".into(),
            (false, _) => String::new(),
        };
        let Some(ps) = first.ps.filter(|_| same_unit) else {
            return Scaled {
                name,
                ..Scaled::default()
            };
        };
        let values = columns
            .iter()
            .flat_map(|(table, column)| table.column(*column));
        let most = values.filter(|value| value.is_finite());
        let most = most.fold(0.0, |most: f64, value| most.max(value.abs()));
        let unit = TimeUnit::of(if free { most * ps } else { ps });
        Scaled {
            name: format!("{name} [{}]", unit.name),
            by: unit.ps / ps,
            unit: unit.name,
        }
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

/// The distribution of values in ascending order.
fn cdf(label: String, values: &[f64]) -> Series {
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
