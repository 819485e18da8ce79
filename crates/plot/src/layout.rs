//! Where axes, names and legends are. Everything is in pixels, from the upper left corner.

use crate::figure::{Figure, Mark, Panel};
use crate::image::{FONT, TITLE};
use crate::scale::Scale;
use crate::trace::{Frame, Trace};
use packet::printable;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(crate) type Area<DB> = DrawingArea<DB, Shift>;
pub(crate) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

const INK: RGBColor = RGBColor(40, 40, 40);
const AXIS: RGBColor = RGBColor(90, 90, 90);
const GRID: RGBColor = RGBColor(225, 225, 225);
/// Room round what is between the axes: left for numbers and the name, below too.
const LEFT: i32 = 104;
const RIGHT: i32 = 36;
const BELOW: i32 = 62;
const ABOVE: i32 = 10;
/// Height of a line of the legend, and of a panel's title.
const LINE: i32 = 26;
/// Width of the sample of a series in the legend, and what is free round it.
pub(crate) const SAMPLE: i32 = 34;
const APART: i32 = 28;

/// Draws the whole.
pub(crate) fn figure<DB: DrawingBackend>(root: &Area<DB>, figure: &Figure) -> Drawn<DB> {
    root.fill(&WHITE)?;
    let (width, _) = root.dim_in_pixel();
    let title = style(28, HPos::Center, VPos::Center, true);
    write(
        root,
        &figure.title,
        &title,
        (width as i32 / 2, TITLE as i32 / 2),
    )?;
    let mut top = TITLE;
    for panel in figure.drawn() {
        let bottom = top + figure.panel_height();
        let area = root.clone().shrink((0, top), (width, bottom - top));
        self::panel(&area, panel)?;
        top = bottom;
    }
    root.present()
}

/// Writes a text, which may be any: names and titles come from users' files.
fn write<DB: DrawingBackend>(
    area: &Area<DB>,
    text: &str,
    style: &TextStyle<'_>,
    at: (i32, i32),
) -> Drawn<DB> {
    area.draw_text(&printable::word(text), style, at)
}

fn style(size: u32, across: HPos, down: VPos, bold: bool) -> TextStyle<'static> {
    let font = (FONT, size).into_font();
    let font = if bold {
        font.style(FontStyle::Bold)
    } else {
        font
    };
    font.color(&INK).pos(Pos::new(across, down))
}

fn panel<DB: DrawingBackend>(area: &Area<DB>, panel: &Panel) -> Drawn<DB> {
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let mut top = ABOVE;
    if !panel.title.is_empty() {
        let bold = style(20, HPos::Center, VPos::Top, true);
        write(area, &panel.title, &bold, ((LEFT + width - RIGHT) / 2, top))?;
        top += LINE;
    }
    let frame = Frame {
        x: Scale::of_x(panel),
        y: Scale::of_y(panel),
        left: LEFT,
        right: (width - RIGHT).max(LEFT + 10),
        top: 0,
        bottom: height - BELOW,
    };
    let traces: Vec<Trace<'_>> = panel
        .series
        .iter()
        .enumerate()
        .map(|(index, series)| Trace::new(series, index, panel.series.len(), &frame))
        .collect();
    top = legend(area, &traces, width, top)?;
    let top = top.min(frame.bottom - 10);
    let frame = Frame { top, ..frame };
    axes(area, panel, &frame)?;
    for trace in &traces {
        trace.draw(area, &frame)?;
    }
    for mark in &panel.marks {
        reference(area, mark, &frame)?;
    }
    let corners = [(frame.left, frame.top), (frame.right, frame.bottom)];
    area.draw(&Rectangle::new(corners, AXIS.stroke_width(1)))
}

/// Draws the legend in lines above the panel, where it hides nothing; returns where it ends.
fn legend<DB: DrawingBackend>(
    area: &Area<DB>,
    traces: &[Trace<'_>],
    width: i32,
    top: i32,
) -> Result<i32, DrawingAreaErrorKind<DB::ErrorType>> {
    let text = style(17, HPos::Left, VPos::Center, false);
    let (mut x, mut y) = (LEFT, top + LINE / 2);
    let mut any = false;
    for trace in traces.iter().filter(|trace| !trace.series.label.is_empty()) {
        let mut label = printable::word(&trace.series.label).into_owned();
        if trace.series.is_empty() {
            label.push_str(" (none)");
        }
        let (long, _) = area.estimate_text_size(&label, &text)?;
        let wide = SAMPLE + 8 + long as i32;
        if any && x + wide > width - RIGHT {
            (x, y) = (LEFT, y + LINE);
        }
        any = true;
        trace.sample(area, (x, y))?;
        write(area, &label, &text, (x + SAMPLE + 8, y))?;
        x += wide + APART;
    }
    Ok(if any { y + LINE / 2 + 4 } else { top + 4 })
}

fn axes<DB: DrawingBackend>(area: &Area<DB>, panel: &Panel, frame: &Frame) -> Drawn<DB> {
    let Frame {
        left,
        right,
        top,
        bottom,
        ..
    } = *frame;
    let below = style(16, HPos::Center, VPos::Top, false);
    for (value, text) in frame.x.ticks(((right - left) / 110) as usize) {
        let Some(x) = frame.x.pixel(value, (left, right)) else {
            continue;
        };
        let x = x.round() as i32;
        area.draw(&PathElement::new([(x, top), (x, bottom + 5)], GRID))?;
        area.draw(&PathElement::new([(x, bottom), (x, bottom + 5)], AXIS))?;
        write(area, &text, &below, (x, bottom + 8))?;
    }
    let beside = style(16, HPos::Right, VPos::Center, false);
    for (value, text) in frame.y.ticks(((bottom - top) / 44) as usize) {
        let Some(y) = frame.y.pixel(value, (bottom, top)) else {
            continue;
        };
        let y = y.round() as i32;
        area.draw(&PathElement::new([(left, y), (right, y)], GRID))?;
        area.draw(&PathElement::new([(left - 5, y), (left, y)], AXIS))?;
        write(area, &text, &beside, (left - 9, y))?;
    }
    let name = style(18, HPos::Center, VPos::Bottom, false);
    let (_, height) = area.dim_in_pixel();
    write(
        area,
        &panel.x.name,
        &name,
        ((left + right) / 2, height as i32 - 8),
    )?;
    let upright = style(18, HPos::Center, VPos::Center, false);
    let upright = upright.transform(FontTransform::Rotate270);
    write(area, &panel.y.name, &upright, (20, (top + bottom) / 2))
}

/// Draws a line of reference, and its name at the upper or the right end.
fn reference<DB: DrawingBackend>(area: &Area<DB>, mark: &Mark, frame: &Frame) -> Drawn<DB> {
    let Some(ends) = frame.across(mark) else {
        return Ok(());
    };
    for piece in crate::trace::dashed(&ends, &[9.0, 6.0]) {
        area.draw(&PathElement::new(piece, AXIS.stroke_width(1)))?;
    }
    let (x, y) = (ends[0].0 as i32, ends[0].1 as i32);
    match mark.vertical {
        true if x < (frame.left + 3 * frame.right) / 4 => {
            let text = style(15, HPos::Left, VPos::Top, false);
            write(area, &mark.label, &text, (x + 6, frame.top + 4))
        }
        true => {
            let text = style(15, HPos::Right, VPos::Top, false);
            write(area, &mark.label, &text, (x - 6, frame.top + 4))
        }
        false => {
            let text = style(15, HPos::Right, VPos::Bottom, false);
            write(area, &mark.label, &text, (frame.right - 6, y - 3))
        }
    }
}
