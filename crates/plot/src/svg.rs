//! A drawing as SVG.

use crate::drawing::font::FAMILY;
use crate::drawing::{Anchor, Colour, Drawing, Element, Point, Text};
use std::fmt::Write;

impl Drawing {
    /// The picture as SVG.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut svg = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
             font-family=\"{FAMILY}\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n"
        );
        for element in &self.elements {
            // Writing to a String does not fail.
            let _ = match element {
                Element::Lines {
                    lines,
                    colour,
                    width,
                    dashes,
                } => self::lines(&mut svg, lines, *colour, *width, dashes),
                Element::Areas { areas, colour } => self::areas(&mut svg, areas, *colour),
                Element::Discs {
                    centres,
                    radius,
                    colour,
                } => discs(&mut svg, centres, *radius, *colour),
                Element::Text(text) => self::text(&mut svg, text),
            };
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// A number with two digits behind the point, or fewer.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".into(),
        text => text.into(),
    }
}

/// `fill="#RRGGBB"`, and how much it covers.
fn paint(what: &str, colour: Colour) -> String {
    let Colour {
        red,
        green,
        blue,
        alpha,
    } = colour;
    let paint = format!("{what}=\"#{red:02X}{green:02X}{blue:02X}\"");
    match alpha {
        255 => paint,
        _ => format!(
            "{paint} {what}-opacity=\"{}\"",
            short(f64::from(alpha) / 255.0)
        ),
    }
}

fn points(points: &[Point]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{},{}", short(*x), short(*y)))
        .collect();
    points.join(" ")
}

fn lines(
    svg: &mut String,
    lines: &[Vec<Point>],
    colour: Colour,
    width: f64,
    dashes: &[f64],
) -> std::fmt::Result {
    write!(
        svg,
        "<g fill=\"none\" stroke-linejoin=\"round\" {} stroke-width=\"{}\"",
        paint("stroke", colour),
        short(width)
    )?;
    if !dashes.is_empty() {
        let dashes: Vec<String> = dashes.iter().map(|dash| short(*dash)).collect();
        write!(svg, " stroke-dasharray=\"{}\"", dashes.join(","))?;
    }
    svg.push('>');
    for line in lines {
        write!(svg, "<polyline points=\"{}\"/>", points(line))?;
    }
    writeln!(svg, "</g>")
}

fn areas(svg: &mut String, areas: &[Vec<Point>], colour: Colour) -> std::fmt::Result {
    write!(svg, "<g {}>", paint("fill", colour))?;
    for area in areas {
        write!(svg, "<polygon points=\"{}\"/>", points(area))?;
    }
    writeln!(svg, "</g>")
}

fn discs(svg: &mut String, centres: &[Point], radius: f64, colour: Colour) -> std::fmt::Result {
    write!(svg, "<g {}>", paint("fill", colour))?;
    let radius = short(radius);
    for (x, y) in centres {
        let (x, y) = (short(*x), short(*y));
        write!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>")?;
    }
    writeln!(svg, "</g>")
}

fn text(svg: &mut String, text: &Text) -> std::fmt::Result {
    let (x, y) = (short(text.at.0), short(text.at.1));
    write!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" {}",
        short(text.size),
        paint("fill", text.colour)
    )?;
    svg.push_str(match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    });
    if text.bold {
        svg.push_str(" font-weight=\"bold\"");
    }
    if text.upright {
        write!(svg, " transform=\"rotate(-90 {x} {y})\"")?;
    }
    svg.push('>');
    for character in text.text.chars() {
        match character {
            '<' => svg.push_str("&lt;"),
            '>' => svg.push_str("&gt;"),
            '&' => svg.push_str("&amp;"),
            '"' => svg.push_str("&quot;"),
            other => svg.push(other),
        }
    }
    writeln!(svg, "</text>")
}
