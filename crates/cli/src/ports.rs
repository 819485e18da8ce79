//! `wire ports`: what ports there are, and what their stamps and departures are worth.

mod calibrate;

use crate::Verdict;
use crate::on::{names, ports};
use crate::output::{Buffering, Output};
use anyhow::Context;
use clap::builder::{OsStringValueParser, TypedValueParser};
use live::interface::{self, Interface};
use live::port::calibrate::Plan;
use live::port::calibration;
use live::port::raw;
use live::port::{Method, Options, PortInfo, PortSpec};
use serde::Serialize;
use std::ffi::OsString;
use std::fmt::Write;

/// Reads a port's name, whose path may be no UTF-8.
pub fn spec() -> impl TypedValueParser<Value = PortSpec> {
    OsStringValueParser::new().try_map(|name| PortSpec::from_os(&name))
}

/// List the ports: names, counters, what their stamps and departures are worth
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire ports --json | grep '\"link\":true'
  wire ports --calibrate eth0 eth1")]
pub struct Ports {
    /// Measure what departures and stamps of two connected ports are worth, and keep it for later runs
    #[arg(long, num_args = 1..=2, value_names = ["A", "B"])]
    calibrate: Vec<OsString>,
    /// Departures of each trial
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2_000,
        requires = "calibrate"
    )]
    count: u64,
    /// From one departure to the next
    #[arg(
        long,
        value_name = "TIME",
        default_value = "500us",
        requires = "calibrate"
    )]
    gap: node::Time,
    /// Do not keep what was measured
    #[arg(long, requires = "calibrate")]
    dry: bool,
    /// One JSON object a port
    #[arg(long)]
    json: bool,
}

/// One port, as `--json` shows it.
#[derive(Serialize)]
struct Row {
    schema: String,
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    tick_ps: u32,
    stamps: String,
    hardware_stamps: bool,
    method: &'static str,
    driver: String,
    mac: Option<String>,
    mtu: u32,
    up: bool,
    link: bool,
    /// What departures were worth when somebody measured them.
    calibrated: Option<Kept>,
    #[serde(flatten)]
    counters: Counters,
}

/// What `--calibrate` has found before.
#[derive(Serialize)]
struct Kept {
    to: String,
    at_unix_s: u64,
    method: Option<&'static str>,
    lead_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

/// The kernel's counters of an interface since it was made.
#[derive(Default, Serialize)]
struct Counters {
    rx_packets: u64,
    rx_bytes: u64,
    rx_dropped: u64,
    rx_errors: u64,
    tx_packets: u64,
    tx_bytes: u64,
    tx_dropped: u64,
    tx_errors: u64,
}

impl Ports {
    /// Writes the list.
    pub fn run(self) -> anyhow::Result<Verdict> {
        if !self.calibrate.is_empty() {
            let two = ports(&names(&self.calibrate))?;
            let [a, b] = &two[..] else {
                anyhow::bail!("--calibrate takes two ports, and these are {}", two.len());
            };
            let plan = Plan {
                count: self.count,
                gap: std::time::Duration::from_nanos(self.gap.as_ns()),
            };
            return calibrate::run(a, b, plan, !self.dry, self.json);
        }
        let counters = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        let mut rows = Vec::new();
        for name in interface::names().context("cannot list the interfaces")? {
            // One that has been removed in the meantime is no more.
            if let Some(interface) = interface::find(&name)?.filter(Interface::is_ethernet) {
                rows.push(row(&interface, &counters));
            }
        }
        let mut text = String::new();
        for row in &rows {
            if self.json {
                writeln!(text, "{}", serde_json::to_string(row)?)?;
            }
        }
        if !self.json {
            table(&rows, &mut text)?;
        }
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.tell(&text)?;
        stdout.finish()?;
        Ok(Verdict::Good)
    }
}

fn row(interface: &Interface, counters: &str) -> Row {
    let info: PortInfo = raw::info(interface, &Options::default(), "recvmmsg");
    Row {
        schema: packet::json::schema("ports"),
        kind: "port",
        name: info.name,
        tick_ps: info.tick.as_ps(),
        stamps: info.stamps.to_string(),
        hardware_stamps: info.hardware_stamps,
        method: info.method,
        driver: info.driver,
        mac: info
            .mac
            .map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")),
        mtu: info.mtu,
        up: interface.up,
        link: info.link,
        calibrated: kept(&interface.name),
        counters: read_counters(counters, &interface.name),
    }
}

fn kept(name: &str) -> Option<Kept> {
    let found = calibration::find(&PortSpec::Interface(name.into()))?;
    let [p50_ns, p99_ns, p999_ns, max_ns] = found.error_ns;
    Some(Kept {
        to: found.to,
        at_unix_s: found.at,
        method: found.method.map(Method::name),
        lead_ns: found.lead_ns,
        p50_ns,
        p99_ns,
        p999_ns,
        max_ns,
    })
}

/// An interface's line in /proc/net/dev, which is that of this process's network namespace.
fn read_counters(table: &str, name: &str) -> Counters {
    let lines = table.lines().filter_map(|line| line.trim().split_once(':'));
    let Some((_, line)) = lines.into_iter().find(|(known, _)| *known == name) else {
        return Counters::default();
    };
    let fields: Vec<u64> = line
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    Counters {
        rx_bytes: field(0),
        rx_packets: field(1),
        rx_errors: field(2),
        rx_dropped: field(3),
        tx_bytes: field(8),
        tx_packets: field(9),
        tx_errors: field(10),
        tx_dropped: field(11),
    }
}

fn table(rows: &[Row], text: &mut String) -> std::fmt::Result {
    let width = rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or(0)
        .max(4);
    writeln!(
        text,
        "{:width$}  tick    stamps    method    link  mtu    address            received  sent  dropped  departures",
        "name"
    )?;
    for row in rows {
        let tick = node::Time::from_ps(row.tick_ps.into()).to_string();
        let link = match (row.up, row.link) {
            (false, _) => "down",
            (true, false) => "none",
            (true, true) => "up",
        };
        let mac = row.mac.as_deref().unwrap_or("-");
        let Counters {
            rx_packets,
            tx_packets,
            rx_dropped,
            ..
        } = row.counters;
        let departures = match &row.calibrated {
            None => "not measured".into(),
            Some(kept) => format!(
                "p50 {}, p99 {} by {}, to {}",
                node::Time::from_ns(kept.p50_ns),
                node::Time::from_ns(kept.p99_ns),
                kept.method.unwrap_or("send"),
                kept.to
            ),
        };
        writeln!(
            text,
            "{:width$}  {tick:6}  {:8}  {:8}  {link:4}  {:5}  {mac:17}  {rx_packets:8}  {tx_packets}  {rx_dropped}  {departures}",
            row.name, row.stamps, row.method, row.mtu
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_interface_asked_for() {
        let table = "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 0 0 0 0\n\
                     eth0:100 2 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n";
        let lo = read_counters(table, "lo");
        assert_eq!(
            (lo.rx_bytes, lo.rx_packets, lo.tx_bytes, lo.tx_packets),
            (1, 2, 9, 10)
        );
        assert_eq!(read_counters(table, "eth0").rx_bytes, 100);
        assert_eq!(read_counters(table, "eth").rx_bytes, 0);
    }
}
