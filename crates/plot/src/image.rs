//! SVG and PNG.

use crate::drawing::Drawing;
use crate::layout;
use crate::{Figure, PlotError};

/// Maximum number of panels that are drawn.
const MAX_PANELS: usize = 32;

impl Figure {
    /// The image as a drawing.
    pub fn drawing(&self) -> Drawing {
        layout::figure(self)
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        self.drawing().svg()
    }

    /// The picture as the content of a PNG file.
    ///
    /// # Errors
    /// When it is too large.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        self.drawing().png()
    }

    /// The width that is used.
    pub(crate) fn drawn_width(&self) -> u32 {
        self.width.clamp(300, 8_000)
    }

    /// The height of a panel that is used.
    pub(crate) fn drawn_height(&self) -> u32 {
        self.panel_height.clamp(150, 4_000)
    }

    /// The panels that are drawn.
    pub(crate) fn drawn(&self) -> &[crate::Panel] {
        &self.panels[..self.panels.len().min(MAX_PANELS)]
    }
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
            let (svg, png) = (full(log).svg(), full(log).png().unwrap());
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
            assert_eq!(svg, full(log).svg());
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
            assert!(svg.len() < most);
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
        Figure::new("no panel").png().unwrap();
    }

    #[test]
    fn an_ending_that_tells_no_format_is_refused() {
        let error = full(false).image(Path::new("picture.jpeg")).unwrap_err();
        assert!(matches!(error, PlotError::Ending(_)));
        assert!(error.to_string().contains(".svg"), "{error}");
    }
}
