//! Pictures of arrival times: when each frame arrived, and the gap to the one before it.

use crate::plan::{Lab, PlotPlan};
use crate::run::LabError;
use crate::watch::{Arrival, Shared, lock};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use std::path::Path;
use std::sync::Once;

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 840;
const FONT: &str = "sans-serif";
/// Told apart by colour-blind eyes too (Okabe and Ito's palette).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// Points of one series in one panel; more would hide each other.
const POINTS: usize = 20_000;

/// One place's arrivals.
struct Series {
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
    let series: Vec<Series> = plan
        .views
        .iter()
        .map(|&view| {
            let watch = lock(&watches[view].0);
            let list = watch
                .arrivals
                .as_ref()
                .map_or(&[][..], |arrivals| &arrivals.list);
            let every = list.len().div_ceil(POINTS).max(1);
            Series {
                label: lab.views[view].label.clone(),
                arrivals: list.iter().step_by(every).copied().collect(),
            }
        })
        .collect();
    let image = match path.extension().is_some_and(|ending| ending == "svg") {
        true => svg(&plan.title, &series).map(String::into_bytes),
        false => png(&plan.title, &series),
    };
    let image = image.map_err(|reason| LabError::Draw {
        path: path.to_path_buf(),
        reason,
    })?;
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = written.and_then(|()| std::fs::write(path, image));
    written.map_err(|source| LabError::Write {
        path: path.to_path_buf(),
        source,
    })
}

fn fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (style, font) in [
            (FontStyle::Normal, dejavu::sans::regular()),
            (FontStyle::Bold, dejavu::sans::bold()),
        ] {
            // The fonts are part of the program: they are valid.
            let _ = register_font(FONT, style, font);
        }
    });
}

fn svg(title: &str, series: &[Series]) -> Result<String, String> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (WIDTH, HEIGHT)).into_drawing_area();
    panels(&root, title, series).map_err(|error| error.to_string())?;
    drop(root);
    Ok(text)
}

fn png(title: &str, series: &[Series]) -> Result<Vec<u8>, String> {
    let mut pixels = vec![0; (3 * WIDTH * HEIGHT) as usize];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, (WIDTH, HEIGHT)).into_drawing_area();
        panels(&root, title, series).map_err(|error| error.to_string())?;
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|error| error.to_string())?;
    Ok(file)
}

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn panels<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    title: &str,
    series: &[Series],
) -> Drawn<DB> {
    fonts();
    root.fill(&WHITE)?;
    let root = root.margin(14, 0, 0, 0);
    let root = root.titled(title, (FONT, 28).into_font().style(FontStyle::Bold))?;
    let (upper, lower) = root.split_vertically(HEIGHT * 45 / 100);
    let of_all = || series.iter().flat_map(|series| &series.arrivals);
    let last = of_all().map(|arrival| arrival.at_ps).max().unwrap_or(0);
    let most = of_all().map(|arrival| arrival.number).max().unwrap_or(0);
    let time = Unit::of(last as f64);
    let points = |series: &Series| -> Vec<(f64, f64)> {
        let point = |a: &Arrival| (a.number as f64, time.from_ps(a.at_ps));
        series.arrivals.iter().map(point).collect()
    };
    let panel = Panel {
        x: (0.0, (most as f64).max(1.0)),
        x_name: "frame, counted from 0 at each place".into(),
        y: padded(0.0, time.from_ps(last)),
        y_name: format!("arrival of its first bit [{}]", time.name),
    };
    panel.draw(&upper, series, points)?;

    let gaps = || of_all().filter_map(|arrival| arrival.gap_ps);
    let (shortest, longest) = (gaps().min().unwrap_or(0), gaps().max().unwrap_or(0));
    let gap = Unit::of(longest as f64);
    let points = |series: &Series| -> Vec<(f64, f64)> {
        let point = |a: &Arrival| Some((time.from_ps(a.at_ps), gap.from_ps(a.gap_ps?)));
        series.arrivals.iter().filter_map(point).collect()
    };
    let first = of_all().map(|arrival| arrival.at_ps).min().unwrap_or(0);
    let panel = Panel {
        x: (time.from_ps(first), time.from_ps(last.max(first + 1))),
        x_name: format!("arrival of its first bit [{}]", time.name),
        y: padded(gap.from_ps(shortest), gap.from_ps(longest)),
        y_name: format!("gap to the frame before [{}]", gap.name),
    };
    panel.draw(&lower, series, points)?;
    root.present()
}

/// A range with some room; equal values get room down to zero.
fn padded(low: f64, high: f64) -> (f64, f64) {
    let room = (high - low) * 0.06;
    match high - low {
        span if span > 0.0 => ((low - room).max(0.0), high + room),
        _ if high > 0.0 => (0.0, 2.0 * high),
        _ => (0.0, 1.0),
    }
}

/// One co-ordinate system.
struct Panel {
    x: (f64, f64),
    x_name: String,
    y: (f64, f64),
    y_name: String,
}

impl Panel {
    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        series: &[Series],
        points: impl Fn(&Series) -> Vec<(f64, f64)>,
    ) -> Drawn<DB> {
        let mut chart = ChartBuilder::on(area)
            .margin(14)
            .margin_right(36)
            .x_label_area_size(58)
            .y_label_area_size(104)
            .build_cartesian_2d(self.x.0..self.x.1, self.y.0..self.y.1)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .axis_style(RGBColor(90, 90, 90))
            .x_desc(&self.x_name)
            .y_desc(&self.y_name)
            .axis_desc_style((FONT, 19))
            .label_style((FONT, 17))
            .x_label_formatter(&|value| label(*value, self.x))
            .y_label_formatter(&|value| label(*value, self.y))
            .draw()?;
        for (index, of_place) in series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            // Where places coincide, the first is seen as a rim round the later ones.
            let size = 2 + (series.len() - 1 - index).min(4) as i32;
            let circle = |point| Circle::new(point, size, colour.filled());
            let (count, name) = (of_place.arrivals.len(), &of_place.label);
            let name = if count == 0 {
                format!("{name} (no frame)")
            } else {
                name.clone()
            };
            chart
                .draw_series(points(of_place).into_iter().map(circle))?
                .label(name)
                .legend(move |(x, y)| Circle::new((x + 10, y), 5, colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(190, 190, 190))
            .label_font((FONT, 17))
            .draw()?;
        Ok(())
    }
}

/// A number on an axis, with as many digits as the axis' span needs.
fn label(value: f64, (low, high): (f64, f64)) -> String {
    // Ten or so marks on the axis: two digits below the span tell them apart.
    let digits = (1.5 - (high - low).max(1e-9).log10())
        .ceil()
        .clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A unit of time on an axis.
#[derive(Clone, Copy)]
struct Unit {
    name: &'static str,
    ps: f64,
}

impl Unit {
    fn of(most_ps: f64) -> Unit {
        let units = [("s", 1e12), ("ms", 1e9), ("µs", 1e6), ("ns", 1e3)];
        let fit = units.into_iter().find(|(_, ps)| most_ps >= *ps);
        let (name, ps) = fit.unwrap_or(("ps", 1.0));
        Unit { name, ps }
    }

    #[allow(
        clippy::wrong_self_convention,
        reason = "the unit converts, it is not what is made"
    )]
    fn from_ps(self, ps: u64) -> f64 {
        ps as f64 / self.ps
    }
}
