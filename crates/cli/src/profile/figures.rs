//! A profile as a table for people, in no more than a hundred columns.

use super::subject::{Stamps, Subject};
use ::report::text::{Table, bits, cells, figure, number, rate, time};
use measure::durations::Durations;
use measure::profile::{Octave, Profile, Rates};
use measure::statistics::Summary;
use node::Histogram;
use std::fmt::Write;

/// The columns of a distribution.
const HEAD: [&str; 8] = ["", "mean", "sd", "min", "p50", "p99", "p99.9", "max"];

/// Times in ps: sums, and where their percentiles come from.
pub struct Spread<'a> {
    pub of: Summary<u128>,
    values: Values<'a>,
}

enum Values<'a> {
    Durations(&'a Durations),
    Histogram(&'a Histogram),
}

impl<'a> From<&'a Durations> for Spread<'a> {
    fn from(all: &'a Durations) -> Spread<'a> {
        Spread {
            of: all.summary(),
            values: Values::Durations(all),
        }
    }
}

impl<'a> From<(Summary, &'a Histogram)> for Spread<'a> {
    fn from((of, histogram): (Summary, &'a Histogram)) -> Spread<'a> {
        let Summary {
            count,
            mean,
            sd,
            min,
            max,
        } = of;
        Spread {
            of: Summary {
                count,
                mean,
                sd,
                min: min.into(),
                max: max.into(),
            },
            values: Values::Histogram(histogram),
        }
    }
}

impl Spread<'_> {
    /// The value that `part` thousandths do not exceed.
    pub fn at(&self, part: u64) -> u128 {
        match self.values {
            Values::Durations(all) => all.value_at(part, 1_000),
            Values::Histogram(histogram) => histogram.value_at(part, 1_000).into(),
        }
    }
}

/// All subjects, one below the other.
pub fn text(subjects: &[Subject]) -> String {
    match subjects {
        [] => "no packet\n".into(),
        _ => subjects.iter().map(section).collect::<Vec<_>>().join("\n"),
    }
}

fn section(subject: &Subject) -> String {
    let profile = &subject.profile;
    let mut text = format!("{}: {}\n", subject.name, headline(profile));
    // Writing to a String does not fail.
    let _ = writeln!(text, "stamps: {}", stamps(&subject.stamps, profile));
    if let Some(line) = profile.line() {
        let (idle, bit) = (
            8e12 / line.rate().bits_per_second() as f64,
            1e12 / line.bit_rate(),
        );
        let _ = writeln!(
            text,
            "line: {}, an idle character {}, a bit {}, least gap 12 idles",
            line.rate(),
            time(idle),
            short(bit),
        );
    }
    let _ = write!(text, "\n{}", table(profile));
    for told in [bursts(profile), probes(profile)].into_iter().flatten() {
        let _ = writeln!(text, "{told}");
    }
    if let Some(octaves) = profile.energy() {
        text += &energy(&octaves);
    }
    for note in notes(subject) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// A line for each octave.
fn energy(octaves: &[Octave]) -> String {
    if octaves.is_empty() {
        return "energy: the stream is too short\n".into();
    }
    let mut lines = vec![cells(&["octave", "scale", "log2 of energy", "pairs"])];
    lines.extend(octaves.iter().map(|found| {
        let power = match found.energy > 0.0 {
            true => format!("{:.2}", found.energy.log2()),
            false => "no energy".into(),
        };
        vec![
            found.octave.to_string(),
            found.scale.to_string(),
            power,
            number(found.pairs),
        ]
    }));
    Table::new(lines).to_string()
}

/// `100,000 packets in 135.6 ms, 737,028 packets/s, 8.951 Gb/s, 90 % of the line`.
fn headline(profile: &Profile) -> String {
    let mut text = format!("{} packets", number(profile.packets()));
    // Of packets whose time runs backwards, too: from the earliest to the latest.
    let mean = profile.duration_ps() as f64 / profile.packets().saturating_sub(1).max(1) as f64;
    if mean <= 0.0 {
        return text;
    }
    let duration = time(profile.duration_ps() as f64);
    let length = profile.lengths().mean + 4.0;
    let bit_rate = 8.0 * length / mean * 1e12;
    let _ = write!(
        text,
        " in {duration}, {} packets/s, {} with FCS",
        rate(1e12 / mean),
        bits(bit_rate)
    );
    if let Some(line) = profile.line() {
        // Preamble, start delimiter and least gap belong to each frame.
        let taken = line.taken_ps((length - 4.0) as u32) + line.least_gap_ps();
        let _ = write!(text, ", {:.1} % of the line", 100.0 * taken as f64 / mean);
    }
    text
}

/// What the stamps are worth.
pub fn stamps(stamps: &Stamps, profile: &Profile) -> String {
    let unit = match stamps.unit_ps {
        0 => "less than 1 ps".into(),
        ps => time(ps as f64),
    };
    let mut text = match (stamps.source, stamps.told.as_str()) {
        ("file", "") => format!("in units of {unit}; the file does not say who took them"),
        ("file", told) => format!("in units of {unit}; the file says \"{told}\""),
        ("words", _) => format!("words of {unit} a tick"),
        (source, _) => format!("taken by: {source}, in units of {unit}"),
    };
    if let Some(step) = coarse_step(profile).filter(|step| *step > stamps.unit_ps.max(1).into()) {
        let _ = write!(text, "; all delays are multiples of {}", time(step as f64));
    }
    text
}

/// The step of the stamps, where the delays are so many steps that it is not theirs.
fn coarse_step(profile: &Profile) -> Option<u128> {
    let least = profile.delays().summary().min;
    let step = profile.step_ps()?;
    (least == 0 || least >= 4 * step).then_some(step)
}

fn table(profile: &Profile) -> Table {
    let mut table = Table::new([cells(&HEAD)]);
    let delays = Spread::from(profile.delays());
    if delays.of.count > 0 {
        table.lines.push(times("inter-packet delay", &delays));
        if let Some(line) = profile.line() {
            let in_bits = |ps: f64| figure(line.bits(ps));
            table.lines.push(converted("  in bits", &delays, in_bits));
        }
    }
    if let (Some(gaps), Some(line)) = (profile.gaps().map(Spread::from), profile.line())
        && gaps.of.count > 0
    {
        table.lines.push(times("gap", &gaps));
        let in_idles = |ps: f64| figure(line.idles(ps));
        table.lines.push(converted("  in idles", &gaps, in_idles));
    }
    let delays = Spread::from(profile.probe_delays());
    if delays.of.count > 0 {
        table.lines.push(times("delay by probe", &delays));
    }
    let lengths = profile.lengths();
    if lengths.count > 0 {
        let bytes = |value: f64| format!("{} B", figure(value));
        let mut line = vec!["length without FCS".into()];
        line.extend([
            bytes(lengths.mean),
            bytes(lengths.sd),
            bytes(lengths.min as f64),
        ]);
        line.extend(["", "", ""].map(String::from));
        line.push(bytes(lengths.max as f64));
        table.lines.push(line);
    }
    if let Some(lines) = rates(&profile.rates()) {
        table.lines.extend(lines);
    }
    table
}

/// The rate over windows, in packets and in bits.
fn rates(rates: &Rates) -> Option<[Vec<String>; 2]> {
    if rates.windows < 2 {
        return None;
    }
    let a_second = 1e12 / rates.width_ps as f64;
    let line = |name: String, of: &measure::statistics::Summary, show: &dyn Fn(f64) -> String| {
        let mut line = vec![name, show(of.mean), show(of.sd), show(of.min as f64)];
        line.extend(["", "", ""].map(String::from));
        line.push(show(of.max as f64));
        line
    };
    let width = format!("rate in {}", time(rates.width_ps as f64));
    Some([
        line(width, &rates.bytes, &|bytes| bits(8.0 * bytes * a_second)),
        line("  packets/s".into(), &rates.packets, &|n| {
            rate(n * a_second)
        }),
    ])
}

/// A line of times.
pub fn times(name: &str, spread: &Spread<'_>) -> Vec<String> {
    let of = &spread.of;
    let mut line = vec![
        name.into(),
        time(of.mean),
        short(of.sd),
        time(of.min as f64),
    ];
    // The least and the greatest are known exactly, the values between to four digits.
    line.extend(
        percentiles(spread).map(|ps| match ps == of.min || ps == of.max {
            true => time(ps as f64),
            false => short(ps as f64),
        }),
    );
    line.push(time(of.max as f64));
    line
}

fn converted(name: &str, spread: &Spread<'_>, show: impl Fn(f64) -> String) -> Vec<String> {
    let of = &spread.of;
    let mut line = vec![name.into(), show(of.mean), show(of.sd), show(of.min as f64)];
    line.extend(percentiles(spread).map(|ps| show(ps as f64)));
    line.push(show(of.max as f64));
    line
}

fn percentiles(spread: &Spread<'_>) -> [u128; 3] {
    [500, 990, 999].map(|part| spread.at(part))
}

fn bursts(profile: &Profile) -> Option<String> {
    let (bursts, threshold) = (profile.bursts()?, profile.threshold()?);
    let what = match profile.line() {
        Some(_) => "gap",
        None => "inter-packet delay",
    };
    let threshold = time(threshold.as_ps() as f64);
    let mut text = format!(
        "bursts ({what} of at most {threshold}): {}",
        number(bursts.count())
    );
    if bursts.count() > 0 {
        let share = 100.0 * bursts.packets() as f64 / profile.packets() as f64;
        let mean = bursts.packets() as f64 / bursts.count() as f64;
        let lengths = bursts.lengths();
        let _ = write!(
            text,
            ", with {share:.2} % of the packets\n  packets in each: mean {}, p50 {}, p99 {}, max {}",
            figure(mean),
            number(lengths.value_at(1, 2)),
            number(lengths.value_at(99, 100)),
            number(lengths.max()),
        );
    }
    Some(text)
}

fn probes(profile: &Profile) -> Option<String> {
    if profile.probes() == 0 {
        return None;
    }
    let order = profile.order();
    let mut text = format!(
        "probes: {}, {} lost, {} reordered, {} duplicates",
        number(profile.probes()),
        number(order.lost),
        number(order.reordered),
        number(order.duplicates)
    );
    if order.stale > 0 {
        let _ = write!(text, ", {} too late to be told", number(order.stale));
    }
    Some(text)
}

/// What a reader of the figures has to know.
pub fn notes(subject: &Subject) -> Vec<String> {
    let profile = &subject.profile;
    let mut notes = Vec::new();
    if profile.backwards() > 0 {
        notes.push(format!(
            "{} packets have a stamp before that of one that stands before them; they have no inter-packet delay",
            number(profile.backwards())
        ));
    }
    if profile.overlaps() > 0 {
        notes.push(format!(
            "{} packets begin before the one before them has ended, and count with a gap of 0: the stamps are too coarse, or the rate is not that of the line",
            number(profile.overlaps())
        ));
    }
    let step = coarse_step(profile)
        .unwrap_or(0)
        .max(subject.stamps.unit_ps.into());
    let coarse = profile
        .line()
        .filter(|line| step > line.least_gap_ps().into());
    if coarse.is_some() && profile.delays().count() > 0 {
        notes.push(format!(
            "stamps in steps of {} are longer than the least gap: gaps and bursts are no better than that",
            time(step as f64)
        ));
    }
    let rates = profile.rates();
    if profile.duration_ps() / rates.width_ps.max(1) > u64::MAX.into() {
        notes.push(
            "--window makes more windows than there are numbers; a longer one gives a rate".into(),
        );
    }
    if subject.cut > 0 {
        notes.push(format!(
            "{} packets had been cut short; their length is that on the wire",
            number(subject.cut)
        ));
    }
    if let Some(counters) = subject.port.filter(|port| port.dropped + port.refused > 0) {
        notes.push(format!(
            "{} packets lost because they were not read in time, {} refused because of their length; they are missing above",
            number(counters.dropped),
            number(counters.refused)
        ));
    }
    notes
}

/// A time that may be below zero.
pub fn signed(ps: f64) -> String {
    match ps < 0.0 {
        true => format!("-{}", time(-ps)),
        false => time(ps),
    }
}

/// The same with four digits.
pub fn short_signed(ps: f64) -> String {
    match ps < 0.0 {
        true => format!("-{}", short(-ps)),
        false => short(ps),
    }
}

/// A time with four digits.
pub fn short(ps: f64) -> String {
    if ps <= 0.0 {
        return "0".into();
    }
    let power = 10f64.powi(3 - ps.log10().floor() as i32);
    match ps < 1.0 {
        true => format!("{} ps", figure(ps)),
        false => time((ps * power).round() / power),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_short_as_they_are_true() {
        assert_eq!(short(1_356_834.0), "1.357 us");
        assert_eq!(short(0.0), "0");
    }
}
