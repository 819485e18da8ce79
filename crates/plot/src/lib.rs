//! Pictures of measurements, as SVG or PNG: all that the project draws is drawn here.
//!
//! A [`Figure`] is [`Panel`]s, one below the other. A panel has two [`Axis`] and any number of
//! [`Series`], which are points, a line, steps or bars. The picture is the same on every machine: the
//! fonts are part of the program, and nothing depends on the time or the place.
//!
//! Series are told apart by colour-blind eyes, and in black and white: each has its own colour (Okabe
//! and Ito's), its own dashes and its own marks. A series may have any number of points: those that
//! would fall on the same pixel are drawn once.
//!
//! | module | what is in it |
//! |---|---|
//! | [`figure`] | start here: [`Figure`], [`Panel`], [`Axis`], [`Series`]: what is to be drawn, as data |
//! | [`unit`](mod@unit) | the unit of time that suits an axis |
//! | `scale` | from values to pixels; where the marks of an axis are, and what stands at them |
//! | `layout` | where axes, names and legends are |
//! | `trace` | a series, in pixels |
//! | `image` | a figure as a file |
//! | [`drawing`] | lines, areas, discs and texts: what every picture is made of, also one that is no figure |
//! | `svg`, `png` | a drawing as SVG or PNG |
//!
//! ```
//! use plot::{Axis, Figure, Panel, Series};
//!
//! let mut gaps = node::Histogram::with_precision(10);
//! (0..1_000).for_each(|n| gaps.record(1_356_800 + n % 7 * 3_200)); // ps
//!
//! let shares = Panel::new(Axis::new("inter-packet delay [ns]"), Axis::new("share of packets"))
//!     .series(Series::cdf("behind the switch", &gaps, 1e3))
//!     .series(Series::steps("sent", [(1356.8, 1.0)])) // a single value: a vertical step and a mark
//!     .mark_x(1356.8, "as sent");
//! let counts = Panel::new(Axis::new("inter-packet delay [ns]"), Axis::new("packets").log())
//!     .series(Series::histogram("behind the switch", &gaps, 1e3, 100));
//!
//! let figure = Figure::new("A switch at 9 Gb/s").panel(shares).panel(counts);
//! assert!(figure.svg().starts_with("<svg"));
//! // Or, by the ending of a name: figure.image("switch.png".as_ref())?;
//! # Ok::<(), plot::PlotError>(())
//! ```
#![forbid(unsafe_code)]

pub mod drawing;
pub mod figure;
mod image;
mod layout;
mod png;
mod scale;
mod svg;
mod trace;
pub mod unit;

pub use drawing::{Colour, Drawing, Text};
pub use figure::{Axis, Bar, Figure, Mark, Panel, Quantile, Seen, Series, Shape};
pub use unit::TimeUnit;

use std::path::{Path, PathBuf};

/// The endings of files that can be written.
pub const ENDINGS: &[&str] = &["png", "svg"];

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The file's ending tells no format.
    #[error("the ending of {} tells no format; use .png or .svg", .0.display())]
    Ending(PathBuf),
    /// No value would be seen.
    #[error("{}: nothing to draw: {why}", .path.display())]
    Empty {
        /// The file that was to be.
        path: PathBuf,
        /// Why nothing would be seen.
        why: String,
    },
    /// It could not be drawn.
    #[error("cannot draw: {0}")]
    Draw(String),
}

impl Figure {
    /// The content of a file of this name, PNG or SVG by its ending.
    ///
    /// # Errors
    /// When the ending is another, no value would be seen, or the picture is too large.
    pub fn image(&self, path: &Path) -> Result<Vec<u8>, PlotError> {
        if let Some(why) = self.emptiness() {
            let path = path.into();
            return Err(PlotError::Empty { path, why });
        }
        self.drawing().image(path)
    }
}

impl Drawing {
    /// The content of a file of this name, PNG or SVG by its ending.
    ///
    /// # Errors
    /// When the ending is another, or the picture is too large.
    pub fn image(&self, path: &Path) -> Result<Vec<u8>, PlotError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(self.svg().into_bytes()),
            Some("png") => self.png(),
            _ => Err(PlotError::Ending(path.into())),
        }
    }
}
