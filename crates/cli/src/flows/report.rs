//! Flows as a table, or as JSON.

use super::table::{Flow, Table};
use crate::profile;
use ::report::text::{self, cells, number};
use packet::ipv4::protocol;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::fmt::Write;

const PS_PER_SECOND: f64 = 1e12;

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sort {
    Bytes,
    Packets,
    Duration,
    Retransmissions,
    Time,
}

/// The flows in order, the earlier first of those that are alike.
pub fn sorted(flows: &[Flow], sort: Sort, top: Option<usize>) -> Vec<&Flow> {
    let mut sorted: Vec<&Flow> = flows.iter().collect();
    let again = |flow: &Flow| {
        flow.tcp
            .as_ref()
            .map_or(0, |tcp| tcp.retransmissions().iter().sum())
    };
    sorted.sort_by_key(|flow| {
        let most: u128 = match sort {
            Sort::Bytes => flow.bytes().into(),
            Sort::Packets => flow.packets().into(),
            Sort::Duration => flow.duration(),
            Sort::Retransmissions => u64::into(again(flow)),
            Sort::Time => 0,
        };
        (Reverse(most), flow.first)
    });
    sorted.truncate(top.unwrap_or(usize::MAX));
    sorted
}

/// Packets and bytes of all flows, and the times of the first and the last packet.
fn total(flows: &Table) -> (u64, u64, Option<(u128, u128)>) {
    let flows = flows.flows();
    let first = flows.iter().map(|flow| flow.first).min();
    let last = flows.iter().map(|flow| flow.last).max();
    (
        flows.iter().map(Flow::packets).sum(),
        flows.iter().map(Flow::bytes).sum(),
        first.zip(last),
    )
}

/// The verdict in a line, and the flows in a table.
pub fn text(all: &Table, flows: &[&Flow]) -> String {
    let (packets, bytes, times) = total(all);
    let mut text = format!(
        "{}, {} packets, {} bytes",
        count(all.flows().len(), "flow"),
        number(packets),
        number(bytes)
    );
    // Writing to a String does not fail.
    if let Some((first, last)) = times {
        let _ = write!(text, " in {}", text::time((last - first) as f64));
    }
    let (others, _) = all.others();
    if others > 0 {
        let _ = write!(text, "; {} packets without such addresses", number(others));
    }
    text.push('\n');
    if flows.len() < all.flows().len() {
        let _ = writeln!(text, "the first {} of them:", flows.len());
    }
    let Some((start, _)) = times.filter(|_| !flows.is_empty()) else {
        return text;
    };
    let tcp = flows.iter().any(|flow| flow.tcp.is_some());
    let mut lines = vec![cells(&[
        "flow",
        "protocol",
        "packets >",
        "bytes >",
        "packets <",
        "bytes <",
        "begin",
        "duration",
        "rate",
    ])];
    if tcp {
        lines[0].extend(cells(&[
            "handshake",
            "rtt > min",
            "median",
            "rtt < min",
            "median",
            "again",
            "disorder",
            "end",
        ]));
    }
    for flow in flows {
        let [there, back] = flow.directions;
        let mut line = vec![
            format!("{} > {}", flow.ends[0], flow.ends[1]),
            name(flow.protocol),
            number(there.packets),
            number(there.bytes),
            number(back.packets),
            number(back.bytes),
            format!("{:.6} s", (flow.first - start) as f64 / PS_PER_SECOND),
            text::time(flow.duration() as f64),
            rate(flow).map_or("-".into(), ::report::text::bits),
        ];
        if let Some(tcp) = &flow.tcp {
            let time = |time: Option<u128>| time.map_or("-".into(), |ps| text::time(ps as f64));
            line.push(time(tcp.handshake));
            for trips in tcp.round_trips() {
                line.push(time(trips.least()));
                line.push(time(trips.median()));
            }
            line.push(number(tcp.retransmissions().iter().sum()));
            line.push(number(tcp.out_of_order().iter().sum()));
            line.push(tcp.state().into());
        } else if tcp {
            line.extend(cells(&["-"; 8]));
        }
        lines.push(line);
    }
    let _ = write!(text, "{}", text::Table::new(lines));
    text
}

/// An object a flow, and one of all.
pub fn objects(all: &Table, flows: &[&Flow]) -> String {
    let mut text = String::new();
    for flow in flows {
        let _ = writeln!(text, "{}", object(flow));
    }
    let (packets, bytes, times) = total(all);
    let part = |(packets, bytes): (u64, u64)| json!({ "packets": packets, "bytes": bytes });
    let summary = json_line!("flows", "summary", {
        "flows": all.flows().len(),
        "packets": packets,
        "bytes": bytes,
        "first_ps": times.map(|(first, _)| first.to_string()),
        "last_ps": times.map(|(_, last)| last.to_string()),
        "beyond": part(all.beyond()),
        "others": part(all.others()),
    });
    let _ = writeln!(text, "{summary}");
    text
}

fn object(flow: &Flow) -> Value {
    let way = |index: usize| json!({ "packets": flow.directions[index].packets, "bytes": flow.directions[index].bytes });
    let mut object = json_line!("flows", "flow", {
        "source": flow.ends[0].to_string(),
        "destination": flow.ends[1].to_string(),
        "protocol": flow.protocol,
        "there": way(0),
        "back": way(1),
        // Numbers of JSON may lose digits.
        "first_ps": flow.first.to_string(),
        "last_ps": flow.last.to_string(),
        "duration_ps": flow.duration().to_string(),
        "bits_per_second": rate(flow),
    });
    if let Some(tcp) = &flow.tcp {
        let both = |[there, back]: [u64; 2]| json!({ "there": there, "back": back });
        let trips = tcp.round_trips().map(|trips| {
            json!({
                "count": trips.count,
                "min_ps": trips.least().map(profile::count),
                "median_ps": trips.median().map(profile::count),
            })
        });
        object["tcp"] = json!({
            "state": tcp.state(),
            "handshake_ps": tcp.handshake.map(profile::count),
            "retransmissions": both(tcp.retransmissions()),
            "out_of_order": both(tcp.out_of_order()),
            "rtt": { "there": trips[0], "back": trips[1] },
        });
    }
    object
}

/// Bits a second of both directions, over the time from the first packet to the last.
fn rate(flow: &Flow) -> Option<f64> {
    let seconds = flow.duration() as f64 / PS_PER_SECOND;
    (seconds > 0.0).then(|| (flow.bytes() * 8) as f64 / seconds)
}

fn count(n: usize, what: &str) -> String {
    format!(
        "{} {what}{}",
        number(n as u64),
        if n == 1 { "" } else { "s" }
    )
}

fn name(number: u8) -> String {
    match number {
        0 => "-".into(),
        protocol::ICMP => "ICMP".into(),
        protocol::TCP => "TCP".into(),
        protocol::UDP => "UDP".into(),
        protocol::ICMPV6 => "ICMPv6".into(),
        number => number.to_string(),
    }
}
