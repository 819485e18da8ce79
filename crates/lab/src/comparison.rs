//! The same lab in several worlds: what each measured, side by side.

use crate::report::Report;
use ::report::text::{Table, number, three_digits, time};

/// One figure of each report: what it is, and the value there.
type Figures = Vec<(String, String)>;

/// What the reports of one lab have measured, a column for each; nothing where they have nothing in common.
pub fn text(reports: &[Report]) -> String {
    let all: Vec<Figures> = reports.iter().map(figures).collect();
    let Some(first) = all.first() else {
        return String::new();
    };
    let mut head = vec!["side by side".to_string()];
    head.extend(reports.iter().map(|report| report.world.name().into()));
    let mut lines = vec![head];
    let mut names: Vec<&String> = first.iter().map(|(name, _)| name).collect();
    for (name, _) in all.iter().skip(1).flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let value = |figures: &Figures| {
            let found = figures.iter().find(|(other, _)| other == name);
            found.map_or("-".into(), |(_, value)| value.clone())
        };
        let mut line = vec![name.clone()];
        line.extend(all.iter().map(value));
        lines.push(line);
    }
    match lines.len() {
        1 => String::new(),
        _ => Table::new(lines).to_string(),
    }
}

/// Conversations that are looked at.
const SHOWN: usize = 16;

/// The figures that one looks at first: of conversations, of places, of instruments.
fn figures(report: &Report) -> Figures {
    let mut figures = Vec::new();
    for node in &report.outcome.nodes {
        for flow in node.flows.iter().take(SHOWN) {
            if flow.packets == 0 || flow.program.starts_with("sink") {
                continue;
            }
            let name = format!("{} {} to {}", node.name, flow.program, flow.to);
            if flow.round_trip.count > 0 {
                let mean = flow.round_trip.mean().as_ps() as f64;
                figures.push((format!("{name}: mean round trip"), three_digits(mean)));
            }
            if flow.bytes > 0 && flow.program != "ping" {
                let megabits = format!("{:.2} Mb/s", flow.goodput() / 1e6);
                figures.push((format!("{name}: goodput"), megabits));
            }
            if flow.lost > 0 {
                figures.push((format!("{name}: lost"), number(flow.lost)));
            }
        }
    }
    for row in &report.rows {
        figures.push((
            format!("{}: packets", row.at),
            number(row.statistics.packets()),
        ));
        if !report.gaps {
            continue;
        }
        let summaries = [
            ("distance", row.statistics.gaps()),
            ("delay", row.statistics.delays()),
        ];
        for (what, summary) in summaries
            .into_iter()
            .filter(|(_, summary)| summary.count > 1)
        {
            let name = |of: &str| format!("{}: {what}, {of}", row.at);
            figures.push((name("mean"), time(summary.mean)));
            figures.push((name("sd"), three_digits(summary.sd)));
        }
    }
    let sections = report.sections.iter();
    figures.extend(sections.flat_map(|section| section.compared()));
    figures
}
