//! Our reading of netem's words against the kernel's own suite for tc.

#[path = "../../queue/tests/tc_testing/cases.rs"]
mod cases;

use cases::{Case, Tally, cases};
use node::{Rate, Time};
use nodes::delay::Spec;

/// Differences that are meant, with the reason.
const KNOWN: [(&str, &str); 1] = [(
    "7235",
    "a bare number is refused as a time: it is nanoseconds in this place, microseconds in others",
)];

#[test]
fn the_kernels_cases_of_netem_are_read_as_the_kernel_reads_them() {
    let Some(cases) = cases(|name| name == "netem") else {
        return;
    };
    let mut tally = Tally::default();
    for case in &cases {
        let known = KNOWN.iter().find(|(id, _)| *id == case.id);
        tally.enter(case, difference(case), known.map(|(_, reason)| *reason));
    }
    tally.finish("netem");
}

/// How our reading of a case differs from the suite's.
fn difference(case: &Case) -> Option<String> {
    let spec: Result<Spec, _> = case.words.join(" ").parse();
    match (spec, case.is_accepted) {
        (Ok(spec), true) => shown_difference(case, &spec.to_string()),
        (Ok(_), false) => Some("accepted, and tc refuses it".into()),
        (Err(error), true) => Some(format!("refused, and tc accepts it: {error}")),
        (Err(_), false) => None,
    }
}

/// The first word that tc shows and our text of it has not, in this order.
fn shown_difference(case: &Case, ours: &str) -> Option<String> {
    let mut words = ours.split_whitespace().map(value);
    let mut shown = case.shown();
    // Names of probabilities, which our text does without; a limit without a number.
    shown.retain(|word| !matches!(*word, "p" | "p13" | "p31" | "p32" | "p23" | "p14"));
    if shown == ["limit"] {
        shown.clear();
    }
    let missing = shown
        .into_iter()
        .find(|shown| !words.any(|word| word == value(shown)))?;
    Some(format!("tc shows {missing}, and we read `{ours}`"))
}

/// A word as a quantity, where it is one.
fn value(word: &str) -> String {
    match (word.parse::<Time>(), Rate::from_tc(word)) {
        (Ok(time), _) => format!("{} ps", time.as_ps()),
        (_, Ok(rate)) => format!("{} bit/s", rate.bits_per_second()),
        _ => word.into(),
    }
}
