//! Estimates as tables, a line and JSON.

use super::Estimated;
use crate::flows::{rate, short};
use ::plot::unit::rate_unit;
use ::report::text::{cells, number, time};
use node::Time;
use nodes::bandwidth::estimate::Method;
use serde_json::{Value, json};

/// The available bandwidth that probers found.
#[derive(Clone, Debug, PartialEq)]
pub struct Available {
    /// Samples without an answer, and of how many.
    pub unanswered: [u64; 2],
    /// Probers and methods with an answer; of each the mean of its answers.
    pub count: u64,
    /// The mean of those, bits a second.
    pub mean: f64,
    /// Mean of the true values, where they are known.
    pub truth: Option<f64>,
    /// Mean error of the means, with its sign, where the truth is known.
    pub error: Option<f64>,
    /// Maximum error of a mean, without its sign, where the truth is known.
    pub worst: Option<f64>,
}

impl Available {
    pub(super) fn of(all: &[Summary]) -> Option<Available> {
        let samples: u64 = all.iter().map(|one| one.samples).sum();
        let answers: u64 = all.iter().map(|one| one.answers).sum();
        let answered = || all.iter().filter(|one| one.answers > 0);
        let count = answered().count();
        let mean = |values: Vec<f64>| {
            let sum: f64 = values.iter().sum();
            (!values.is_empty()).then(|| sum / values.len() as f64)
        };
        let errors = || answered().filter_map(Summary::error);
        (samples > 0).then(|| Available {
            unanswered: [samples - answers, samples],
            count: count as u64,
            mean: mean(answered().map(|one| one.mean).collect()).unwrap_or(0.0),
            truth: mean(answered().filter_map(|one| one.truth).collect()),
            error: mean(errors().collect()),
            worst: errors().map(f64::abs).reduce(f64::max),
        })
    }

    pub(super) fn text(&self) -> String {
        let [none, all] = self.unanswered.map(number);
        let mut text = match (self.count, self.truth, self.worst) {
            (0, ..) => return format!("no available bandwidth found in {all} samples"),
            (1, Some(truth), _) => {
                format!(
                    "available bandwidth {}, true {}",
                    rate(self.mean),
                    rate(truth)
                )
            }
            (1, ..) => format!("available bandwidth {}", rate(self.mean)),
            (count, Some(_), Some(worst)) => {
                format!(
                    "{} available bandwidths, off by {} at most",
                    number(count),
                    rate(worst)
                )
            }
            (count, ..) => format!("{} available bandwidths", number(count)),
        };
        if self.unanswered[0] > 0 {
            text += &format!(", {none} of {all} samples without an answer");
        }
        text
    }
}

/// What a prober found by one method.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Summary {
    /// The prober, and by which method.
    pub node: String,
    pub method: Method,
    pub path: String,
    /// Samples, and how many of them have an answer.
    pub samples: u64,
    pub answers: u64,
    /// Of the answers, bits a second.
    pub mean: f64,
    pub sd: f64,
    pub least: f64,
    pub most: f64,
    /// The mean of the truth of samples with an answer, and the tight link of the last.
    pub truth: Option<f64>,
    pub link: Option<String>,
    pub published: Option<f64>,
    /// Probes, bytes on the wire there and back, and time, of all samples together.
    pub probes: u64,
    pub lost: u64,
    pub bytes: [u64; 2],
    pub took: Time,
}

/// What the probers found, one after the other, by each method.
pub(super) fn summaries(all: &[Estimated]) -> Vec<Summary> {
    let mut keys: Vec<(&str, Method)> = Vec::new();
    for one in all {
        let key = (&one.node[..], one.estimate.method);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let of = |(node, method): (&str, Method)| {
        let samples = || {
            let all = all.iter();
            all.filter(move |one| one.node == node && one.estimate.method == method)
        };
        let answered = || samples().filter_map(|one| Some((one, one.estimate.answer.estimate?)));
        let values: Vec<f64> = answered().map(|(_, interval)| interval.value).collect();
        let truths: Vec<f64> = answered()
            .filter_map(|(one, _)| Some(one.truth.as_ref()?.available))
            .collect();
        let mean = mean(&values).unwrap_or(0.0);
        let squares = values.iter().map(|value| (value - mean).powi(2));
        let freedom = values.len().saturating_sub(1).max(1) as f64;
        let sum = |of: fn(&Estimated) -> u64| samples().map(of).sum::<u64>();
        Summary {
            node: node.into(),
            method,
            path: samples()
                .next()
                .map_or(String::new(), |one| one.path.clone()),
            samples: samples().count() as u64,
            answers: values.len() as u64,
            mean,
            sd: (squares.sum::<f64>() / freedom).sqrt(),
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(0.0, f64::max),
            truth: self::mean(&truths),
            link: samples()
                .filter_map(|one| Some(one.truth.as_ref()?.link.clone()))
                .next_back(),
            published: samples().find_map(|one| one.published),
            probes: sum(|one| one.estimate.packets),
            lost: sum(|one| one.estimate.lost),
            bytes: [
                sum(|one| one.estimate.bits / 8),
                sum(|one| one.estimate.reply_bits() / 8),
            ],
            took: Time::from_ps(sum(|one| (one.estimate.known - one.estimate.begun).as_ps())),
        }
    };
    keys.into_iter().map(of).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Summary {
    /// By how much the mean of the answers is above the truth.
    pub fn error(&self) -> Option<f64> {
        Some(self.mean - self.truth.filter(|_| self.answers > 0)?)
    }
}

/// The table; empty without estimates.
pub(super) fn table(summaries: &[Summary]) -> Vec<Vec<String>> {
    if summaries.is_empty() {
        return Vec::new();
    }
    let most = summaries.iter().map(|one| one.mean).fold(0.0, f64::max);
    let (unit, by) = rate_unit(most);
    let published = summaries.iter().any(|one| one.published.is_some());
    let mut head = cells(&["prober", "method", "answers"]);
    head.extend([format!("available [{unit}]"), "sd".into()]);
    head.extend(cells(&["true", "off"]));
    if published {
        head.push("published".into());
    }
    head.extend(cells(&[
        "tight link",
        "probes",
        "lost",
        "sent",
        "replies",
        "each took",
    ]));
    let mut lines = vec![head];
    for one in summaries {
        let rate = |value: Option<f64>| value.map_or("-".into(), |value| shown(value / by));
        let answered = |value: f64| (one.answers > 0).then_some(value);
        let mut line = vec![
            one.node.clone(),
            one.method.name().into(),
            format!("{} of {}", one.answers, one.samples),
            rate(answered(one.mean)),
            rate(answered(one.sd).filter(|_| one.answers > 1)),
            rate(one.truth),
            one.error()
                .map_or("-".into(), |error| format!("{:+.3}", error / by)),
        ];
        if published {
            line.push(rate(one.published));
        }
        line.push(one.link.clone().unwrap_or("-".into()));
        line.extend([number(one.probes), number(one.lost)]);
        line.extend(one.bytes.map(|bytes| size(bytes as f64)));
        let each = one.took.as_ps() / one.samples.max(1);
        line.push(short(Time::from_ps(each)));
        lines.push(line);
    }
    lines
}

fn shown(value: f64) -> String {
    format!("{value:.3}")
}

fn size(bytes: f64) -> String {
    match bytes {
        _ if bytes < 1e3 => format!("{bytes} B"),
        _ if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{:.1} MB", bytes / 1e6),
    }
}

/// Why there is no answer, each prober's first reason.
pub(super) fn notes(all: &[Estimated], summaries: &[Summary]) -> Vec<String> {
    let without = summaries.iter().filter(|one| one.answers < one.samples);
    let notes = without.filter_map(|one| {
        let is_one = |other: &&Estimated| {
            other.node == one.node
                && other.estimate.method == one.method
                && other.estimate.answer.estimate.is_none()
        };
        let how = &all.iter().find(is_one)?.estimate.answer.how;
        let (node, method) = (&one.node, one.method.name());
        let count = one.samples - one.answers;
        Some(format!(
            "{node}, {method}: no answer {count} times; first: {how}"
        ))
    });
    notes.collect()
}

/// Each estimate.
pub(super) fn verbose(all: &[Estimated]) -> Vec<Vec<String>> {
    if all.is_empty() {
        return Vec::new();
    }
    let rates = all.iter().filter_map(|one| one.estimate.answer.estimate);
    let (unit, by) = rate_unit(rates.map(|interval| interval.value).fold(0.0, f64::max));
    let rate = |value: f64| shown(value / by);
    let mut lines = vec![cells(&["prober", "method", "from", "took"])];
    lines[0].extend([format!("available [{unit}]")]);
    lines[0].extend(cells(&["least", "most", "true", "off", "how"]));
    for one in all {
        let estimate = &one.estimate;
        let interval = estimate.answer.estimate;
        let of = |value: Option<f64>| value.map_or("-".into(), rate);
        lines.push(vec![
            one.node.clone(),
            estimate.method.name().into(),
            time(estimate.begun.as_ps() as f64),
            short(estimate.known - estimate.begun),
            of(interval.map(|interval| interval.value)),
            of(interval.map(|interval| interval.low)),
            of(interval.map(|interval| interval.high)),
            of(one.truth.as_ref().map(|truth| truth.available)),
            one.error()
                .map_or("-".into(), |error| format!("{:+.3}", error / by)),
            estimate.answer.how.clone(),
        ]);
    }
    lines
}

/// An estimate.
pub(super) fn json(one: &Estimated) -> Value {
    let estimate = &one.estimate;
    let interval = estimate.answer.estimate;
    let truth = one.truth.as_ref();
    json!({
        "type": "available", "node": one.node, "path": one.path, "method": estimate.method.name(),
        "available": interval.map(|interval| interval.value),
        "least": interval.map(|interval| interval.low), "most": interval.map(|interval| interval.high),
        "how": estimate.answer.how, "true": truth.map(|truth| truth.available),
        "tight_link": truth.map(|truth| &truth.link),
        "true_from_ps": truth.map(|truth| truth.from.as_ps()), "true_to_ps": truth.map(|truth| truth.to.as_ps()),
        "published": one.published, "probes": estimate.packets, "lost": estimate.lost, "trains": estimate.trains,
        "sent_bits": estimate.bits, "reply_bits": estimate.reply_bits(),
        "begun_ps": estimate.begun.as_ps(), "ended_ps": estimate.ended.as_ps(), "known_ps": estimate.known.as_ps(),
        "points": estimate.answer.points,
    })
}
