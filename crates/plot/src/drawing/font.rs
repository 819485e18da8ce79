//! The program's own font: how long texts are, and the outlines of their glyphs.

use super::{Anchor, Text};
use std::sync::OnceLock;
use tiny_skia::PathBuilder;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// What SVG calls it, and what stands for it where it is not installed.
pub(crate) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// The regular or the bold face.
fn face(bold: bool) -> &'static Face<'static> {
    static FACES: OnceLock<[Face<'static>; 2]> = OnceLock::new();
    let faces = FACES.get_or_init(|| {
        [dejavu::sans::regular(), dejavu::sans::bold()].map(|font| {
            Face::parse(font, 0).expect("the fonts are part of the program: they are valid")
        })
    });
    &faces[usize::from(bold)]
}

/// Calls `see` with each glyph and where it begins, in units of the face; gives where the last one ends.
fn glyphs(face: &Face<'_>, text: &str, mut see: impl FnMut(GlyphId, f64)) -> f64 {
    let (mut x, mut before) = (0.0, None);
    for character in text.chars() {
        let glyph = face.glyph_index(character).unwrap_or_default();
        x += before.map_or(0.0, |before| kerning(face, before, glyph));
        see(glyph, x);
        x += f64::from(face.glyph_hor_advance(glyph).unwrap_or(0));
        before = Some(glyph);
    }
    x
}

/// By how much two neighbours are closer together or farther apart.
fn kerning(face: &Face<'_>, left: GlyphId, right: GlyphId) -> f64 {
    let tables = face.tables().kern.into_iter();
    let mut tables = tables.flat_map(|table| table.subtables);
    let pairs = tables.find(|table| table.horizontal && !table.has_state_machine);
    let apart = pairs.and_then(|table| table.glyphs_kerning(left, right));
    f64::from(apart.unwrap_or(0))
}

/// The length of a text, in pixels.
pub(crate) fn length(text: &str, size: f64, bold: bool) -> f64 {
    let face = face(bold);
    glyphs(face, text, |_, _| ()) * size / f64::from(face.units_per_em())
}

/// Adds the outlines of a text to a path.
pub(crate) fn outline(text: &Text, path: &mut PathBuilder) {
    let face = face(text.bold);
    let scale = text.size / f64::from(face.units_per_em());
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => 0.5,
        Anchor::End => 1.0,
    };
    let back = back * text.length();
    glyphs(face, &text.text, |glyph, x| {
        let mut pen = Pen {
            path,
            at: text.at,
            ahead: x * scale - back,
            scale,
            upright: text.upright,
        };
        face.outline_glyph(glyph, &mut pen);
    });
}

/// Draws a glyph's outline.
struct Pen<'a> {
    path: &'a mut PathBuilder,
    at: (f64, f64),
    /// How far along the text.
    ahead: f64,
    scale: f64,
    upright: bool,
}

impl Pen<'_> {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let along = self.ahead + f64::from(x) * self.scale;
        let above = f64::from(y) * self.scale;
        let (x, y) = match self.upright {
            true => (self.at.0 - above, self.at.1 - along),
            false => (self.at.0 + along, self.at.1 - above),
        };
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_kerned_and_sizes_are_in_proportion() {
        let apart = length("A", 20.0, false) + length("V", 20.0, false);
        assert!(length("AV", 20.0, false) < apart - 0.5);
        let (small, large) = (
            length("10 Gb/s", 10.0, false),
            length("10 Gb/s", 30.0, false),
        );
        assert!((large - 3.0 * small).abs() < 1e-9);
        assert!(length("wide", 10.0, true) > length("wide", 10.0, false));
    }
}
