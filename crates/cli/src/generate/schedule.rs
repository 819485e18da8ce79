//! What a schedule was, for people and for programs.

use measure::statistics::Summary;
use nodes::generator::Schedule;
use serde_json::{Value, json};
use std::fmt::Write;

/// A time of so many picoseconds, in the unit that suits it.
pub fn time(ps: f64) -> String {
    let (scale, unit) = match ps {
        _ if ps >= 1e12 => (1e12, "s"),
        _ if ps >= 1e9 => (1e9, "ms"),
        _ if ps >= 1e6 => (1e6, "us"),
        _ if ps >= 1e3 => (1e3, "ns"),
        _ => (1.0, "ps"),
    };
    format!("{} {unit}", number(ps / scale))
}

/// With up to six decimals.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

/// A rate in bits a second, in the unit that suits it.
fn rate(bits: f64) -> String {
    match bits {
        _ if bits >= 1e9 => format!("{} Gb/s", number(bits / 1e9)),
        _ if bits >= 1e6 => format!("{} Mb/s", number(bits / 1e6)),
        _ => format!("{} kb/s", number(bits / 1e3)),
    }
}

pub fn line(schedule: &Schedule) -> String {
    let mut line = format!(
        "{} packets, {} bytes over {}",
        schedule.packets(),
        schedule.bytes(),
        time(schedule.span().as_ps() as f64)
    );
    // Writing to a String does not fail.
    if let Some(bits) = schedule.rate() {
        let Summary { mean, sd, .. } = schedule.intervals();
        let (mean, sd) = (time(mean), time(sd));
        let _ = write!(
            line,
            ", {} on the wire; one every {mean}, sd {sd}",
            rate(bits)
        );
    }
    if schedule.overlaps() > 0 {
        let _ = write!(
            line,
            "; {} would overlap the one before",
            schedule.overlaps()
        );
    }
    line
}

/// A table of both distances.
pub fn table(schedule: &Schedule) -> String {
    let mut table = format!("{}\n", line(schedule));
    if schedule.intervals().count == 0 {
        return table;
    }
    // Writing to a String does not fail.
    let _ = writeln!(
        table,
        "{:<9} {:>16} {:>16} {:>16} {:>16}",
        "", "mean", "sd", "min", "max"
    );
    let Summary {
        mean, sd, min, max, ..
    } = schedule.intervals();
    let columns = [mean, sd, min as f64, max as f64].map(time);
    let [mean, sd, min, max] = columns;
    let _ = writeln!(
        table,
        "{:<9} {mean:>16} {sd:>16} {min:>16} {max:>16}",
        "interval"
    );
    let Summary {
        mean, sd, min, max, ..
    } = schedule.idles();
    let columns = [mean, sd, min as f64, max as f64].map(number);
    let [mean, sd, min, max] = columns;
    let _ = writeln!(
        table,
        "{:<9} {mean:>16} {sd:>16} {min:>16} {max:>16}",
        "idles"
    );
    table
}

/// An object of type `schedule`.
pub fn object(schedule: &Schedule) -> Value {
    let summary = |summary: Summary| {
        let Summary {
            count,
            mean,
            sd,
            min,
            max,
        } = summary;
        json!({ "count": count, "mean": mean, "sd": sd, "min": min, "max": max })
    };
    json_line!("gen", "schedule", {
        "packets": schedule.packets(),
        "bytes": schedule.bytes(),
        "span_ps": schedule.span().as_ps(),
        "rate_bits_per_second": schedule.rate(),
        "interval_ps": summary(schedule.intervals()),
        "idles": summary(schedule.idles()),
        "overlaps": schedule.overlaps(),
    })
}
