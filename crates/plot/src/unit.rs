//! The unit of time that suits an axis.

/// A unit of time, as it stands behind the name of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    /// `s`, `ms`, `µs`, `ns` or `ps`.
    pub name: &'static str,
    /// Picoseconds in one of it.
    pub ps: f64,
}

impl TimeUnit {
    /// The largest unit of which there is at least one in `most_ps`.
    pub fn of(most_ps: f64) -> TimeUnit {
        let units = [("s", 1e12), ("ms", 1e9), ("µs", 1e6), ("ns", 1e3)];
        let fit = units.into_iter().find(|(_, ps)| most_ps >= *ps);
        let (name, ps) = fit.unwrap_or(("ps", 1.0));
        TimeUnit { name, ps }
    }

    /// A time in this unit.
    pub fn of_ps(self, ps: u64) -> f64 {
        ps as f64 / self.ps
    }
}
