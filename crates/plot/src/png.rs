//! A drawing as PNG.

use crate::PlotError;
use crate::drawing::{Colour, Drawing, Element, Point, font};
use std::collections::HashMap;
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

/// Pixels of the file for each of the drawing's, so that it is sharp in print and on fine screens.
const FINE: u32 = 2;
/// Maximum number of pixels of a file.
const MAX_PIXELS: u64 = 1 << 27;
/// Pixels of 1/96 inch in a metre.
const PER_METRE: f64 = 96.0 / 0.0254;

impl Drawing {
    /// The picture as the content of a PNG file, with two pixels for each of the drawing's where that makes no huge file.
    ///
    /// # Errors
    /// When it is too large.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        let pixels = u64::from(self.width) * u64::from(self.height);
        let scale = match pixels * u64::from(FINE * FINE) <= MAX_PIXELS {
            true => FINE,
            false => 1,
        };
        let map = Pixmap::new(self.width * scale, self.height * scale);
        let Some(mut map) = map.filter(|_| pixels <= MAX_PIXELS) else {
            let (width, height) = (self.width, self.height);
            let why =
                format!("{width} x {height} pixels are too many for a PNG; an SVG has any size");
            return Err(PlotError::Draw(why));
        };
        map.fill(Color::WHITE);
        let transform = Transform::from_scale(scale as f32, scale as f32);
        for element in &self.elements {
            draw(element, &mut map, transform);
        }
        encode(&map, scale).map_err(|error| PlotError::Draw(error.to_string()))
    }
}

/// Colours of a file: as many as a byte tells.
const COLOURS: usize = 256;

fn encode(map: &Pixmap, scale: u32) -> Result<Vec<u8>, png::EncodingError> {
    let (palette, pixels) = indexed(map);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, map.width(), map.height());
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_filter(png::Filter::NoFilter);
    let per_metre = (f64::from(scale) * PER_METRE).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}

type Rgb = [u8; 3];

/// Pixels side by side of one colour: which of those that were found, and how many.
type Run = (u32, usize);

/// The colours that are most frequent, and for each pixel the nearest of them: what differs are shades at the edges of lines.
fn indexed(map: &Pixmap) -> (Vec<u8>, Vec<u8>) {
    let (colours, runs) = runs(map.data());
    let mut order: Vec<usize> = (0..colours.len()).collect();
    order.sort_by_key(|&found| {
        let (colour, count) = colours[found];
        (std::cmp::Reverse(count), colour)
    });
    let kept = order.iter().take(COLOURS);
    let kept: Vec<Rgb> = kept.map(|&found| colours[found].0).collect();
    let apart = |a: &Rgb, b: &Rgb| {
        let squares = a
            .iter()
            .zip(b)
            .map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2));
        squares.sum::<u32>()
    };
    let nearest = |colour: &Rgb| {
        let places = (0u8..=255).zip(&kept);
        let near = places.min_by_key(|(_, other)| apart(colour, other));
        near.map_or(0, |(place, _)| place)
    };
    let places: Vec<u8> = colours.iter().map(|(colour, _)| nearest(colour)).collect();
    let mut pixels = Vec::with_capacity(map.data().len() / 4);
    for (found, count) in runs {
        pixels.resize(pixels.len() + count, places[found as usize]);
    }
    (kept.concat(), pixels)
}

/// The colours of a picture, each with the number of its pixels, and the runs of them.
fn runs(pixels: &[u8]) -> (Vec<(Rgb, usize)>, Vec<Run>) {
    let mut colours: Vec<(Rgb, usize)> = Vec::new();
    let mut found: HashMap<u32, u32> = HashMap::new();
    let mut runs = Vec::new();
    for run in pixels.as_chunks::<4>().0.chunk_by(|a, b| a == b) {
        // The white below covers everything, so that nothing shows through.
        let [red, green, blue, _] = run[0];
        let place = *found.entry(u32::from_ne_bytes(run[0])).or_insert_with(|| {
            colours.push(([red, green, blue], 0));
            colours.len() as u32 - 1
        });
        colours[place as usize].1 += run.len();
        runs.push((place, run.len()));
    }
    (colours, runs)
}

fn draw(element: &Element, map: &mut Pixmap, transform: Transform) {
    let mut path = PathBuilder::new();
    match element {
        Element::Lines {
            lines,
            colour,
            width,
            dashes,
        } => {
            for line in lines.iter().filter(|line| line.len() > 1) {
                polygon(line, &mut path);
            }
            let dashes: Vec<f32> = dashes.iter().map(|dash| *dash as f32).collect();
            let stroke = Stroke {
                width: *width as f32,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(dashes, 0.0),
                ..Stroke::default()
            };
            if let Some(path) = path.finish() {
                map.stroke_path(&path, &paint(*colour), &stroke, transform, None);
            }
        }
        Element::Areas { areas, colour } => {
            for area in areas.iter().filter(|area| area.len() > 2) {
                polygon(area, &mut path);
                path.close();
            }
            fill(path.finish(), *colour, map, transform);
        }
        Element::Discs {
            centres,
            radius,
            colour,
        } => {
            for (x, y) in centres {
                path.push_circle(*x as f32, *y as f32, *radius as f32);
            }
            fill(path.finish(), *colour, map, transform);
        }
        Element::Text(text) => {
            font::outline(text, &mut path);
            fill(path.finish(), text.colour, map, transform);
        }
    }
}

fn polygon(points: &[Point], path: &mut PathBuilder) {
    for (index, (x, y)) in points.iter().enumerate() {
        match index {
            0 => path.move_to(*x as f32, *y as f32),
            _ => path.line_to(*x as f32, *y as f32),
        }
    }
}

fn fill(path: Option<Path>, colour: Colour, map: &mut Pixmap, transform: Transform) {
    if let Some(path) = path {
        map.fill_path(&path, &paint(colour), FillRule::Winding, transform, None);
    }
}

fn paint(colour: Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(colour.red, colour.green, colour.blue, colour.alpha);
    paint
}
