//! Lines, areas, discs and texts: what a picture is made of, before it is SVG or PNG.

pub(crate) mod font;

use packet::printable;

/// A place, from the upper left corner to the right and down, in pixels of 1/96 inch.
pub type Point = (f64, f64);

/// A colour, with how much of what is below it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// From 0 to 255.
    pub red: u8,
    /// From 0 to 255.
    pub green: u8,
    /// From 0 to 255.
    pub blue: u8,
    /// From 0, nothing, to 255, everything.
    pub alpha: u8,
}

impl Colour {
    /// A colour that covers everything.
    pub const fn rgb(red: u8, green: u8, blue: u8) -> Colour {
        Colour {
            red,
            green,
            blue,
            alpha: 255,
        }
    }

    /// The same colour, through which one sees.
    pub const fn with_alpha(self, alpha: u8) -> Colour {
        Colour { alpha, ..self }
    }
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// In pixels of 1/96 inch.
    pub width: u32,
    /// In pixels of 1/96 inch.
    pub height: u32,
    /// Later ones are drawn over earlier ones.
    pub elements: Vec<Element>,
}

/// A part of a picture: shapes that look the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Lines from point to point.
    Lines {
        /// Each with two points or more.
        lines: Vec<Vec<Point>>,
        /// Their colour.
        colour: Colour,
        /// Their width in pixels.
        width: f64,
        /// Pixels drawn and left out, in turn; empty for a line drawn through.
        dashes: &'static [f64],
    },
    /// Filled polygons.
    Areas {
        /// The corners of each.
        areas: Vec<Vec<Point>>,
        /// Their colour.
        colour: Colour,
    },
    /// Filled discs.
    Discs {
        /// Their centres.
        centres: Vec<Point>,
        /// In pixels.
        radius: f64,
        /// Their colour.
        colour: Colour,
    },
    Text(Text),
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    #[default]
    Start,
    Middle,
    /// It ends there.
    End,
}

/// A line of text. It may come from anywhere: what does not print is shown as an escape.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// What it says.
    pub text: String,
    /// Where its base line is.
    pub at: Point,
    /// In pixels.
    pub size: f64,
    /// What of it is at its place.
    pub anchor: Anchor,
    pub bold: bool,
    /// Whether it goes from below upwards.
    pub upright: bool,
    pub colour: Colour,
}

impl Text {
    /// A text that begins at a place.
    pub fn new(text: &str, size: f64, at: Point) -> Text {
        Text {
            text: printable::word(text).into_owned(),
            at,
            size,
            anchor: Anchor::Start,
            bold: false,
            upright: false,
            colour: INK,
        }
    }

    /// With its middle or end there instead.
    pub fn anchor(self, anchor: Anchor) -> Text {
        Text { anchor, ..self }
    }

    pub fn bold(self) -> Text {
        Text { bold: true, ..self }
    }

    /// From below upwards.
    pub fn upright(self) -> Text {
        Text {
            upright: true,
            ..self
        }
    }

    pub fn colour(self, colour: Colour) -> Text {
        Text { colour, ..self }
    }

    /// How long it is, in pixels.
    pub fn length(&self) -> f64 {
        font::length(&self.text, self.size, self.bold)
    }
}

/// What texts are written in.
pub const INK: Colour = Colour::rgb(40, 40, 40);

impl Drawing {
    /// An empty one.
    pub fn new(width: u32, height: u32) -> Drawing {
        Drawing {
            width,
            height,
            elements: Vec::new(),
        }
    }

    /// Draws a line, if it has two points.
    pub fn line(&mut self, points: Vec<Point>, colour: Colour, width: f64) {
        self.elements.push(Element::Lines {
            lines: vec![points],
            colour,
            width,
            dashes: &[],
        });
    }

    /// Fills a rectangle between two corners.
    pub fn rectangle(&mut self, (left, top): Point, (right, bottom): Point, colour: Colour) {
        let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
        self.elements.push(Element::Areas {
            areas: vec![corners],
            colour,
        });
    }

    /// Writes a text, if it is not empty.
    pub fn text(&mut self, text: Text) {
        if !text.text.is_empty() {
            self.elements.push(Element::Text(text));
        }
    }
}
