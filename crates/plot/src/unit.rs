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

    /// A time with its unit: this one, or a smaller one where it is far below.
    pub fn text(self, ps: f64) -> String {
        self.told_apart(ps, 0.0)
    }

    /// The same with as many digits as tell it from one that is so far from it.
    pub fn told_apart(self, ps: f64, apart: f64) -> String {
        let unit = match ps.abs() < self.ps / 10.0 {
            true => TimeUnit::of(ps.abs()),
            false => self,
        };
        let value = brief_apart(ps / unit.ps, apart / unit.ps);
        format!("{value} {}", unit.name)
    }

    /// A time in this unit.
    pub fn of_ps(self, ps: u64) -> f64 {
        ps as f64 / self.ps
    }
}

/// A number with four digits, and no more than it needs.
pub fn brief(value: f64) -> String {
    brief_apart(value, 0.0)
}

/// The same with as many digits as tell it from one that is so far from it, by two of them.
pub fn brief_apart(value: f64, apart: f64) -> String {
    let power = |value: f64| value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    let apart = if apart > 0.0 { 1 - power(apart) } else { 0 };
    let digits = (3 - power(value)).max(apart).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// Unit of rate: `Gb/s` and so on, and bits a second in one of it, for the greatest value of an axis.
pub fn rate_unit(most: f64) -> (&'static str, f64) {
    let units = [("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)];
    let fit = units.into_iter().find(|(_, bits)| most >= *bits);
    fit.unwrap_or(("b/s", 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_brief_and_units_suit() {
        for (value, text) in [
            (1.3568, "1.357"),
            (0.0, "0"),
            (12345.6, "12346"),
            (0.05, "0.05"),
            (100.0, "100"),
        ] {
            assert_eq!(brief(value), text);
        }
        assert_eq!(brief_apart(1.000_025_3, 0.000_147), "1.00003");
        assert_eq!(
            TimeUnit::of(1e12).told_apart(1.000_172e12, 1.47e8),
            "1.00017 s"
        );
        assert_eq!(brief_apart(1356.8, 700.0), "1357");
        assert_eq!(rate_unit(9.3e9).0, "Gb/s");
        assert_eq!(rate_unit(12.0), ("b/s", 1.0));
        assert_eq!(TimeUnit::of(2.0e9).name, "ms");
    }
}
