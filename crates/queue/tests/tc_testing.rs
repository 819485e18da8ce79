//! Our reading of tc's words against the kernel's own suite for tc.

pub mod cases;

use cases::{Case, Tally, cases};
use queue::parameter::Quantity;
use queue::{Config, tc};

const HANDLE: &str = "the handle is wrong, which is not part of the words";
const TWICE: &str = "a discipline is there already, which is not part of the words";
const NO_EQUAL: &str = "parameter without an equal here: refused, with that message";
const BELOW_INTERVAL: &str = "CoDel's target is less than its interval (RFC 8289 section 4.3)";

/// Differences that are meant, with the reason.
const KNOWN: [(&str, &str, &str); 25] = [
    ("bfifo", "b1b1", HANDLE),
    ("bfifo", "972b", HANDLE),
    ("prio", "db37", HANDLE),
    ("prio", "6c0a", HANDLE),
    ("bfifo", "1298", TWICE),
    ("prio", "d88a", TWICE),
    ("codel", "9178", BELOW_INTERVAL),
    ("fq_codel", "630a", BELOW_INTERVAL),
    ("red", "53e8", NO_EQUAL),
    ("red", "af8e", NO_EQUAL),
    ("tbf", "c975", NO_EQUAL),
    ("tbf", "948c", NO_EQUAL),
    ("cake", "c940", NO_EQUAL),
    ("cake", "a032", NO_EQUAL),
    ("cake", "2341", NO_EQUAL),
    ("cake", "5134", NO_EQUAL),
    ("cake", "6572", NO_EQUAL),
    ("cake", "2436", NO_EQUAL),
    ("cake", "5421", NO_EQUAL),
    (
        "dualpi2",
        "a4c7",
        "the default is the ramp of RFC 9332 appendix A.1, not the kernel's step at 1 ms",
    ),
    ("dualpi2", "1ea4", NO_EQUAL),
    ("dualpi2", "7b3c", NO_EQUAL),
    ("dualpi2", "49a3", NO_EQUAL),
    ("dualpi2", "d0a1", NO_EQUAL),
    (
        "dualpi2",
        "456b",
        "a threshold in packets has no equal here",
    ),
];

#[test]
fn the_kernels_cases_are_read_as_the_kernel_reads_them() {
    let Some(cases) = cases(|name| tc::NAMES.contains(&name)) else {
        return;
    };
    let mut tally = Tally::default();
    for case in &cases {
        let known = KNOWN
            .iter()
            .find(|(name, id, _)| *name == case.words[0] && *id == case.id)
            .map(|(_, _, reason)| *reason);
        let difference = difference(case);
        if known == Some(NO_EQUAL) {
            let text = difference.as_deref().unwrap_or_default();
            assert!(
                text.contains("has an equal") || text.contains("no equal"),
                "{case:?}: {text}"
            );
        }
        tally.enter(case, difference, known);
    }
    tally.finish("disciplines");
}

/// How our reading of a case differs from the suite's.
fn difference(case: &Case) -> Option<String> {
    let words: Vec<&str> = case.words.iter().map(String::as_str).collect();
    match (tc::parse(&words), case.is_accepted) {
        (Ok(config), true) => shown_difference(case, &words, config),
        (Ok(_), false) => Some("accepted, and tc refuses it".into()),
        (Err(error), true) => Some(format!("refused, and tc accepts it: {error}")),
        (Err(_), false) => None,
    }
}

/// How a configuration differs from what tc shows of it.
fn shown_difference(case: &Case, words: &[&str], mut config: Config) -> Option<String> {
    let name = words[0];
    let shown = case.shown();
    if name == "prio" && !shown.is_empty() {
        return priorities(&config, &shown);
    }
    let before = config.clone();
    let parameters = config.parameters();
    for (index, word) in shown.iter().enumerate() {
        let value = shown.get(index + 1);
        match value.filter(|value| value.starts_with(|first: char| first.is_ascii_digit())) {
            // Of a discipline that is changed the other parameters stay as they were.
            Some(_) if !case.is_whole && !words.contains(word) => {}
            Some(value) if *word == "overhead" => {
                // The kernel counts from the IP header on, the discipline from the frame's start.
                let Config::Cake(cake) = &before else {
                    continue;
                };
                if (cake.overhead + 14).to_string() != **value {
                    return Some(format!(
                        "overhead is {}, and tc shows {value}",
                        cake.overhead
                    ));
                }
            }
            Some(value) => {
                let ours = parameter(name, word);
                let ours = parameters.iter().find(|(name, _)| name == ours);
                if let Some((_, quantity)) = ours
                    && !is_shown_as(quantity, value)
                {
                    return Some(format!("{word} is {quantity}, and tc shows {value}"));
                }
            }
            // A switch that is shown is on already.
            None => {
                let with: Vec<&str> = words.iter().chain([word]).copied().collect();
                let is_word = tc::parse(&[name, word]).is_ok();
                if is_word && tc::parse(&with).as_ref() != Ok(&before) {
                    return Some(format!("tc shows {word}"));
                }
            }
        }
    }
    // Where tc shows other parameters it shows the switches that are on.
    let off = parameters.iter().find(|(name, quantity)| {
        quantity.is_switch() && quantity.get() == 1 && !shown.contains(&name.as_str())
    });
    match off {
        Some((switch, _))
            if case.is_whole
                && shown.len() > 4
                && !["gentle", "wait"].contains(&switch.as_str()) =>
        {
            Some(format!("{switch} is on, and tc does not show it"))
        }
        _ => None,
    }
}

/// Our name of a parameter that tc shows.
fn parameter<'a>(name: &str, shown: &'a str) -> &'a str {
    match (name, shown) {
        ("bfifo", "limit") => "bytes",
        (_, "coupling_factor") => "coupling",
        (_, shown) => shown,
    }
}

/// Whether tc shows a quantity as this value.
fn is_shown_as(quantity: &Quantity<'_>, shown: &str) -> bool {
    let end = shown.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = shown.split_at(end.unwrap_or(shown.len()));
    let unit = match (quantity, unit) {
        (Quantity::Count(_), "" | "p" | "%") | (Quantity::Size(_), "b") => 1.0,
        (Quantity::Size(_), "Kb") => 1024.0,
        (Quantity::Size(_), "Mb") => 1024.0 * 1024.0,
        (Quantity::Time(_), "us") => 1e6,
        (Quantity::Time(_), "ms") => 1e9,
        (Quantity::Time(_), "s") => 1e12,
        (Quantity::Rate(_), "bit") => 1.0,
        (Quantity::Rate(_), "Kbit") => 1e3,
        (Quantity::Rate(_), "Mbit") => 1e6,
        (Quantity::Rate(_), "Gbit") => 1e9,
        (Quantity::Factor(_), "") => 1e6,
        _ => return false,
    };
    let shown = number.parse::<f64>().unwrap() * unit;
    let rounding = match quantity {
        // Three digits.
        Quantity::Time(_) => 0.005 * shown,
        // The kernel keeps gains in steps of 1/256, and rounds down on the way in and out.
        Quantity::Factor(_) => 2.0 / 256.0 * unit,
        _ => 0.0,
    };
    (quantity.get() as f64 - shown).abs() <= rounding
}

/// How bands and their priorities differ, which are not among the parameters.
fn priorities(config: &Config, shown: &[&str]) -> Option<String> {
    let Config::Prio(prio) = config else {
        return Some("not a prio".into());
    };
    let numbers = shown.iter().filter_map(|word| word.parse::<u32>().ok());
    let ours = [prio.bands.len() as u32]
        .into_iter()
        .chain(prio.priomap.iter().copied());
    let ours: Vec<u32> = ours.collect();
    let theirs: Vec<u32> = numbers.collect();
    (!theirs.is_empty() && ours != theirs).then(|| format!("{ours:?}, and tc shows {theirs:?}"))
}
