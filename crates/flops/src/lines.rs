//! Results of OFLOPS as JSON Lines.

use super::{is_count_of_mods, per_second};
use node::Time;
use openflow::flops::{Report, Row, Series};
use serde_json::{Value, json};

/// A line for each row and each fault.
pub fn lines(reports: &[Report]) -> Vec<Value> {
    let mut all = Vec::new();
    for report in reports {
        all.extend(report.rows.iter().map(|row| line(report, row)));
        for fault in &report.faults {
            all.push(json!({ "type": "flops-fault", "test": report.test, "fault": fault }));
        }
    }
    all
}

fn line(report: &Report, row: &Row) -> Value {
    let series = |series: &Series| {
        let ps = |part| series.percentile(part).map(Time::as_ps);
        let (mean, deviation) = series.mean_and_deviation();
        let mut line = json!({
            "what": series.name, "times": series.times.len(), "p10_ps": ps(10),
            "median_ps": ps(50), "p90_ps": ps(90), "mean_ps": mean, "sd_ps": deviation,
        });
        let median = series.percentile(50).filter(|_| is_count_of_mods(report));
        let rate = median.and_then(|median| per_second(row, &series.name, median));
        if let Some(rate) = rate {
            line["per_second"] = rate.into();
        }
        line
    };
    let series: Vec<Value> = row.series.iter().map(series).collect();
    json!({
        "type": "flops", "test": report.test, "of": report.of, "name": row.name, "x": row.x,
        "sent": row.sent, "received": row.received, "wrong": row.wrong,
        "refused": row.refused, "busy": row.busy, "series": series,
    })
}
