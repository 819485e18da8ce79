//! Counts of bytes.

use crate::quantity::{QuantityError, quantity};
use core::fmt;
use core::str::FromStr;

/// A count of bytes. Units are SI's and IEC's: `1 kB` is 1000 bytes, `1 KiB` 1024; tc's and dd's bare `k`, `M`, `G` are those of 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

impl Size {
    /// So many bytes.
    pub const fn from_bytes(bytes: u64) -> Size {
        Size(bytes)
    }
    /// As bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

const UNITS: [(&str, u64); 6] = [
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
];

impl fmt::Display for Size {
    /// Exactly, in the largest unit of which it is a whole number: `64 KiB`, `1500 bytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |scale: &u64| self.0 > 0 && self.0.is_multiple_of(*scale);
        match UNITS.iter().find(|(_, scale)| fits(scale)) {
            Some((unit, scale)) => write!(f, "{} {unit}", self.0 / scale),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

impl FromStr for Size {
    type Err = QuantityError;
    /// Reads `1500`, `512 kB`, `64KiB`, `64k`, `1.5 MB`.
    fn from_str(text: &str) -> Result<Size, QuantityError> {
        let scale = |unit: &str| {
            Ok(match unit {
                "" | "B" | "byte" | "bytes" => 1,
                "kB" | "KB" => 1_000,
                "MB" => 1_000_000,
                "GB" => 1_000_000_000,
                "k" | "K" | "Ki" | "KiB" => 1 << 10,
                "m" | "M" | "Mi" | "MiB" => 1 << 20,
                "g" | "G" | "Gi" | "GiB" => 1 << 30,
                _ => {
                    let known = "bytes, kB, MB, GB (of 1000), KiB, MiB, GiB or k, M, G (of 1024)";
                    return Err(QuantityError::Unit(known));
                }
            })
        };
        let range = "a size is a whole number of bytes";
        quantity(text, "64 KiB", range, scale).map(Size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn sizes_have_their_units_of_a_thousand_and_of_1024() {
        for (text, bytes) in [
            ("1500", 1_500),
            ("0", 0),
            ("512 kB", 512_000),
            ("64KiB", 65_536),
            ("64k", 65_536),
            ("1.5 MB", 1_500_000),
            ("2G", 2 << 30),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for wrong in [
            "",
            "k",
            "1 kb",
            "1 Mbit",
            "1.0001 kB",
            "-1",
            "1e3",
            "99999999999GB",
        ] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_read_back_as_they_are_shown() {
        for bytes in [0, 1, 1_000, 1_024, 1_500, 65_536, 1_000_000, u64::MAX] {
            let shown = Size(bytes).to_string();
            assert_eq!(shown.parse(), Ok(Size(bytes)), "{shown}");
        }
        assert_eq!(Size(65_536).to_string(), "64 KiB");
    }
}
