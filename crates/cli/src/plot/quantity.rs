//! What a column holds, by its name: `rtt_ns` is a time in nanoseconds.

/// The name of a quantity, and its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Without the unit where that is one of time; with it in brackets where it is another.
    pub name: String,
    /// Picoseconds in its unit, if it is a time.
    pub ps: Option<f64>,
}

impl Quantity {
    /// By the end of a column's name. A column that nobody named, and has a number instead, says nothing.
    pub fn of(column: &str) -> Quantity {
        if column.parse::<usize>().is_ok() {
            let name = String::new();
            return Quantity { name, ps: None };
        }
        let times = [
            ("_ps", 1.0),
            ("_ns", 1e3),
            ("_us", 1e6),
            ("_ms", 1e9),
            ("_s", 1e12),
        ];
        for (end, ps) in times {
            if let Some(name) = column.strip_suffix(end).filter(|name| !name.is_empty()) {
                let name = name.replace('_', " ");
                return Quantity { name, ps: Some(ps) };
            }
        }
        for unit in ["bytes", "bits", "packets", "frames"] {
            let name = column
                .strip_suffix(unit)
                .and_then(|name| name.strip_suffix('_'));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                let name = format!("{} [{unit}]", name.replace('_', " "));
                return Quantity { name, ps: None };
            }
        }
        Quantity {
            name: column.into(),
            ps: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_is_its_unit_if_it_is_one() {
        for (column, name, ps) in [
            ("rtt_ns", "rtt", Some(1e3)),
            ("gap.mean_ps", "gap.mean", Some(1.0)),
            ("longest_queue_bytes", "longest queue [bytes]", None),
            ("packets", "packets", None),
            ("_s", "_s", None),
            ("3", "", None),
            ("loss_rate", "loss_rate", None),
        ] {
            let name = name.into();
            assert_eq!(Quantity::of(column), Quantity { name, ps }, "{column}");
        }
    }
}
