//! SVG and PNG.

use crate::layout;
use crate::{Figure, PlotError};
use plotters::prelude::*;
use plotters::style::register_font;
use std::sync::Once;

/// The family under which the program's own fonts are known.
pub(crate) const FONT: &str = "sans-serif";
/// Height of the title above the panels, in pixels.
pub(crate) const TITLE: u32 = 56;
/// The most panels that are drawn: more make no picture.
const MOST_PANELS: usize = 32;

impl Figure {
    /// The picture as SVG.
    ///
    /// # Errors
    /// When it cannot be drawn, which is a fault of this crate.
    pub fn svg(&self) -> Result<String, PlotError> {
        let mut text = String::new();
        let root = SVGBackend::with_string(&mut text, self.size()).into_drawing_area();
        fonts();
        layout::figure(&root, self).map_err(|error| PlotError::Draw(error.to_string()))?;
        drop(root);
        Ok(text)
    }

    /// The picture as the content of a PNG file.
    ///
    /// # Errors
    /// As [`svg`](Figure::svg).
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        let (width, height) = self.size();
        let mut pixels = vec![0; 3 * width as usize * height as usize];
        {
            let size = (width, height);
            let root = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
            fonts();
            layout::figure(&root, self).map_err(|error| PlotError::Draw(error.to_string()))?;
        }
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&pixels)?;
            writer.finish()
        });
        written.map_err(|error| PlotError::Draw(error.to_string()))?;
        Ok(file)
    }

    /// Width and height in pixels.
    fn size(&self) -> (u32, u32) {
        let panels = self.panels.len().clamp(1, MOST_PANELS) as u32;
        let height = TITLE + panels * self.panel_height();
        (self.width.clamp(300, 8_000), height)
    }

    /// The height of a panel that is used.
    pub(crate) fn panel_height(&self) -> u32 {
        self.panel_height.clamp(150, 4_000)
    }

    /// The panels that are drawn.
    pub(crate) fn drawn(&self) -> &[crate::Panel] {
        &self.panels[..self.panels.len().min(MOST_PANELS)]
    }
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

#[cfg(test)]
mod tests {
    use crate::{Axis, Bar, Figure, Panel, PlotError, Series};
    use std::path::Path;

    /// Everything that can be in a panel.
    fn full(log: bool) -> Figure {
        let points = || (1..50).map(|n| (f64::from(n), f64::from(n * n)));
        let (from, to, height) = (3.0, 9.0, 500.0);
        let panel = Panel::new(Axis::new("x").log_if(log), Axis::new("y <&>").log_if(log))
            .title("a panel")
            .series(Series::points("points", points()))
            .series(Series::line("line", points()))
            .series(Series::steps("steps", points()))
            .series(Series::steps("one value", [(20.0, 1.0)]))
            .series(Series::bars("bars", [Bar { from, to, height }]))
            .series(Series::line("none", []))
            .mark_x(7.0, "here")
            .mark_y(700.0, "there");
        Figure::new("all of it").panel(panel.clone()).panel(panel)
    }

    #[test]
    fn both_formats_hold_the_whole_figure_and_are_the_same_every_time() {
        for log in [false, true] {
            let (svg, png) = (full(log).svg().unwrap(), full(log).png().unwrap());
            for text in [
                "all of it",
                "a panel",
                "one value",
                "there",
                "y &lt;&amp;&gt;",
            ] {
                assert!(svg.contains(text), "{text}");
            }
            assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
            assert_eq!(svg, full(log).svg().unwrap());
            assert_eq!(png, full(log).png().unwrap());
        }
    }

    #[test]
    fn a_million_points_make_no_larger_picture_than_they_have_pixels() {
        let noise = |n: u64| {
            (
                n as f64,
                (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64,
            )
        };
        for shape in [Series::points, Series::line, Series::steps] {
            let panel = Panel::new(Axis::new("x"), Axis::new("y"));
            let series = shape(
                "noise".to_string(),
                (0..1_000_000).map(noise).collect::<Vec<_>>(),
            );
            let svg = Figure::new("noise").panel(panel.series(series)).svg();
            let most = 40 << 20;
            assert!(svg.unwrap().len() < most);
        }
    }

    #[test]
    fn odd_values_and_sizes_make_a_picture_all_the_same() {
        let odd = [f64::NAN, f64::INFINITY, -1e308, 1e308, 0.0, -0.0, 5e-324];
        let points: Vec<(f64, f64)> = odd.iter().flat_map(|x| odd.map(|y| (*x, y))).collect();
        for shape in [Series::points, Series::line, Series::steps] {
            for log in [false, true] {
                let axis = || Axis::new("").log_if(log);
                let series = shape("odd".to_string(), points.clone());
                let panel = Panel::new(axis(), axis())
                    .series(series)
                    .mark_x(f64::NAN, "no");
                let mut figure = Figure::new("").panel(panel);
                (figure.width, figure.panel_height) = (0, 0);
                figure.png().unwrap();
            }
        }
        Figure::new("no panel").svg().unwrap();
    }

    #[test]
    fn an_ending_that_tells_no_format_is_refused() {
        let error = full(false).image(Path::new("picture.jpeg")).unwrap_err();
        assert!(matches!(error, PlotError::Ending(_)));
        assert!(error.to_string().contains(".svg"), "{error}");
    }
}
