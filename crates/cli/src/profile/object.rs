//! A profile as a line of JSON.

use super::figures::{Spread, notes};
use super::subject::Subject;
use measure::profile::{CLASSES, Line, Octave, Profile};
use measure::statistics::Summary;
use serde_json::{Value, json};

/// All about one subject, and a newline.
pub fn line(subject: &Subject) -> String {
    let profile = &subject.profile;
    let order = profile.order();
    let probes = (profile.probes() > 0).then(|| {
        json!({
            "packets": profile.probes(), "lost": order.lost, "reordered": order.reordered,
            "duplicates": order.duplicates, "stale": order.stale,
            "delay": spread(&profile.probe_delays().into()),
        })
    });
    let line = json_line!("profile", "profile", {
        "name": subject.name,
        "packets": profile.packets(),
        "bytes": profile.bytes(),
        "first_ns": profile.first_ps().map(|ps| count(ps / 1_000)),
        "duration_ps": count(profile.duration_ps()),
        "stamps": {
            "source": subject.stamps.source, "unit_ps": subject.stamps.unit_ps,
            "step_ps": profile.step_ps().map(count), "told": subject.stamps.told,
        },
        "backwards": profile.backwards(),
        "rate_bps": profile.line().map(|line| line.rate().bits_per_second()),
        "delay": with_units(&profile.delays().into(), profile.line()),
        "gap": profile.gaps().map(|gaps| with_units(&gaps.into(), profile.line())),
        "overlaps": profile.overlaps(),
        "bursts": bursts(profile),
        "length": lengths(profile),
        "rate": rate(profile),
        "energy": profile.energy().map(|octaves| octaves.iter().map(octave).collect::<Vec<_>>()),
        "probes": probes,
        "port": subject.port.map(|port| json!({
            "received": port.received, "lost": port.dropped, "refused": port.refused,
        })),
        "notes": notes(subject),
    });
    format!("{line}\n")
}

fn octave(found: &Octave) -> Value {
    json!({
        "octave": found.octave, "scale_ps": found.scale.as_ps(), "energy": found.energy, "pairs": found.pairs,
    })
}

/// A whole number: exact up to 2^64, 213 days in ps; a longer time has the 53 bits of a JSON
/// number.
pub fn count(value: u128) -> Value {
    match u64::try_from(value) {
        Ok(value) => json!(value),
        Err(_) => json!(value as f64),
    }
}

/// The same of one that may be below zero.
pub fn signed_count(value: i128) -> Value {
    match i64::try_from(value) {
        Ok(value) => json!(value),
        Err(_) => json!(value as f64),
    }
}

/// A distribution of times, in ps; `null` of nothing.
fn spread(spread: &Spread<'_>) -> Value {
    let of = &spread.of;
    let at = |part| count(spread.at(part));
    match of.count {
        0 => Value::Null,
        _ => json!({
            "count": of.count, "mean_ps": of.mean, "sd_ps": of.sd, "min_ps": count(of.min),
            "p50_ps": at(500), "p90_ps": at(900), "p99_ps": at(990), "p999_ps": at(999),
            "max_ps": count(of.max),
        }),
    }
}

/// The same, and mean, deviation and extremes in idles and bits of a line.
fn with_units(of: &Spread<'_>, line: Option<Line>) -> Value {
    let mut value = spread(of);
    if let (Some(line), Value::Object(_)) = (line, &value) {
        let Summary {
            mean, sd, min, max, ..
        } = of.of;
        let all = |turn: &dyn Fn(f64) -> f64| {
            json!({
                "mean": turn(mean), "sd": turn(sd), "min": turn(min as f64), "max": turn(max as f64),
            })
        };
        value["idles"] = all(&|ps| line.idles(ps));
        value["bits"] = all(&|ps| line.bits(ps));
    }
    value
}

fn bursts(profile: &Profile) -> Value {
    let (Some(bursts), Some(threshold)) = (profile.bursts(), profile.threshold()) else {
        return Value::Null;
    };
    let lengths = bursts.lengths();
    let share = bursts.packets() as f64 / profile.packets().max(1) as f64;
    json!({
        "threshold_ps": threshold.as_ps(), "count": bursts.count(),
        "packets": bursts.packets(), "share": share,
        "length": {
            "mean": bursts.packets() as f64 / bursts.count().max(1) as f64,
            "p50": lengths.value_at(1, 2), "p99": lengths.value_at(99, 100), "max": lengths.max(),
        },
    })
}

fn lengths(profile: &Profile) -> Value {
    let lengths = profile.lengths();
    let ends = CLASSES.iter().map(|end| json!(end)).chain([Value::Null]);
    let classes = ends.zip(profile.classes());
    let classes: Vec<Value> = classes
        .map(|(up_to, packets)| json!({ "up_to_with_fcs": up_to, "packets": packets }))
        .collect();
    json!({
        "mean": lengths.mean, "sd": lengths.sd, "min": lengths.min, "max": lengths.max,
        "classes": classes,
    })
}

fn rate(profile: &Profile) -> Value {
    let rates = profile.rates();
    let a_second = 1e12 / rates.width_ps.max(1) as f64;
    let of = |summary: &Summary, each: f64| {
        let turn = |value: f64| value * each * a_second;
        json!({
            "mean": turn(summary.mean), "sd": turn(summary.sd),
            "min": turn(summary.min as f64), "max": turn(summary.max as f64),
        })
    };
    json!({
        "window_ps": count(rates.width_ps), "windows": rates.windows,
        "bits_per_second": of(&rates.bytes, 8.0), "packets_per_second": of(&rates.packets, 1.0),
    })
}
