//! Available bandwidth by trains over the kernel's UDP, to a server that stamps each probe and tells: up.

mod prober;

use super::Probe;
use crate::Verdict;
use crate::output::{Buffering, Output, picture};
use crate::progress;
use ::capture::signal::stop_requested;
use ::plot::{Axis, Figure, Panel, Series};
use ::report::text::bits;
use ::report::text::{Table, cells, number};
use anyhow::{Context, bail};
use live::datagram::headers;
use live::port::PortSpec;
use node::{Rate, Time};
use nodes::bandwidth::estimate::burst::{self, Check};
use nodes::bandwidth::estimate::{Answer, Method};
use nodes::bandwidth::message::REPLY;
use prober::{Cost, Prober};
use serde_json::Value;
use std::io::IsTerminal;
use std::net::SocketAddr;

/// Bytes of an IP packet that passes everywhere without fragments, nearly: the longest have the longest gaps.
const PACKET: usize = 1_500;

/// What came of a sample.
struct Sampled {
    method: Method,
    answer: Answer,
    cost: Cost,
    /// When it began and what it took.
    begun: Time,
    took: Time,
}

/// Asks by trains.
pub fn run(command: &Probe, host: &str, server: SocketAddr) -> anyhow::Result<Verdict> {
    let capacity = command.capacity;
    let headers = headers(server.ip());
    let socket = Prober::socket(server).with_context(|| format!("no way to {server}"))?;
    let spec = PortSpec::Udp {
        host: host.into(),
        port: server.port(),
        listen: false,
    };
    confine::ports([&spec], command.plot.is_some())?;
    let usual = socket.mtu().map_or(PACKET, |mtu| mtu.min(PACKET));
    let size = command.packet_size.map_or(usual, usize::from);
    let size = size.max(headers + REPLY);
    let mut prober = Prober::new(socket);
    let methods = match command.method.as_deref() {
        Some("all") | None => Method::ALL.to_vec(),
        Some(name) => Method::ALL
            .into_iter()
            .filter(|method| method.name() == name)
            .collect(),
    };
    let mut stdout = Output::open(&Buffering::default())?;
    let samples = u64::from(command.samples) * methods.len() as u64;
    let watched = !command.json && std::io::stderr().is_terminal();
    let bar = watched.then(|| progress::bar(samples, "{bar:30} {pos} of {len} samples, {msg}"));
    let mut all: Vec<Sampled> = Vec::new();
    // Each sees its own samples: ASSOLO's filter looks back.
    let estimator = |method: &Method| method.estimator(capacity, 8 * size as u64);
    let mut estimators: Vec<_> = methods.iter().map(estimator).collect();
    let (checked, checks) = check(&mut prober, capacity, size - headers, size)?;
    'samples: for _ in 0..command.samples {
        for (method, estimator) in methods.iter().zip(&mut estimators) {
            if stop_requested() {
                break 'samples;
            }
            let mut trains = method.usual_at(capacity).0;
            // Pairs and chirps are what they are.
            if trains.packets > 2 {
                trains.packets = command.packets.unwrap_or(trains.packets);
            }
            let begun = prober.now();
            let told = &mut |trains| {
                if let Some(bar) = &bar {
                    bar.set_message(format!("{}, {trains} trains", method.name()));
                }
            };
            let (cost, why) =
                prober.sample(estimator.as_mut(), trains, size - headers, size, told)?;
            let mut answer = estimator.answer();
            let is_blind = trains.packets <= 2 && checked.burst().is_none();
            let blind = is_blind.then(|| "none of the trains came whole that tell what the path lets through at once, of which these see nothing".into());
            let short = || checked.why(&trains, 8 * size as u64);
            if let Some(why) = why.or(blind).or_else(short) {
                (answer.estimate, answer.how) = (None, why);
            }
            let sampled = Sampled {
                method: *method,
                answer,
                cost,
                begun,
                took: prober.now() - begun,
            };
            if !command.quiet {
                let line = match command.json {
                    true => object(&sampled).to_string(),
                    false => text(&sampled),
                };
                let mut tell = || {
                    stdout
                        .tell(&format!("{line}\n"))
                        .and_then(|()| stdout.flush())
                };
                match &bar {
                    Some(bar) => bar.suspend(tell)?,
                    None => tell()?,
                }
            }
            if let Some(bar) = &bar {
                bar.inc(1);
            }
            // Between samples the queue is empty again.
            let rest = (sampled.took.as_ns() / 2).min(200_000_000);
            prober.pause(Time::from_ns(rest))?;
            all.push(sampled);
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let checked = (checked.burst(), checks);
    let good = summarize(command, host, &methods, &all, &prober, checked, &mut stdout)?;
    stdout.finish()?;
    if let Some(path) = &command.plot {
        match all.is_empty() {
            false => picture(&figure(host, &methods, &all), path)?,
            true => eprintln!("wire: no sample is over: {} is not drawn", path.display()),
        }
    }
    Ok(Verdict::if_good(good).max(Verdict::if_done(!stop_requested())))
}

/// What the path lets through at once, by trains of twice the rate that its tight link may have at most.
fn check(
    prober: &mut Prober,
    capacity: Rate,
    payload: usize,
    size: usize,
) -> anyhow::Result<(Check, Cost)> {
    let rate = Rate::from_bits_per_second(2 * capacity.bits_per_second()).unwrap_or(capacity);
    let mut check = Check::default();
    let trains = burst::trains(rate);
    let (cost, _) = prober.sample(&mut check, trains, payload, size, &mut |_| {})?;
    if !prober.heard() {
        bail!("nobody tells of probes: start `wire probe --answer` there; udpst has no trains");
    }
    prober.pause(Time::from_ms(50))?;
    Ok((check, cost))
}

fn text(it: &Sampled) -> String {
    let cost = format!(
        "{} packets in {} trains, {} lost, {:.1} MB, {:.2} s",
        number(it.cost.packets),
        number(it.cost.trains),
        number(it.cost.lost),
        it.cost.bytes as f64 / 1e6,
        it.took.as_secs_f64()
    );
    match &it.answer.estimate {
        Some(found) => format!(
            "{:<10} {:>12} ({} to {}); {cost}",
            it.method.name(),
            bits(found.value),
            bits(found.low),
            bits(found.high)
        ),
        None => format!(
            "{:<10} no answer: {}; {cost}",
            it.method.name(),
            it.answer.how
        ),
    }
}

fn object(it: &Sampled) -> Value {
    let found = it.answer.estimate.as_ref();
    json_line!("probe", "sample", {
        "method": it.method.name(), "available_bps": found.map(|it| it.value), "low_bps": found.map(|it| it.low), "high_bps": found.map(|it| it.high),
        "how": it.answer.how, "packets": it.cost.packets, "lost": it.cost.lost, "trains": it.cost.trains, "bytes": it.cost.bytes, "begun_s": it.begun.as_secs_f64(), "seconds": it.took.as_secs_f64(),
    })
}

/// A line for each method; false if the first one has no answer, or less than was asked for.
fn summarize(
    command: &Probe,
    host: &str,
    methods: &[Method],
    all: &[Sampled],
    prober: &Prober,
    (burst, checks): (Option<f64>, Cost),
    stdout: &mut Output,
) -> anyhow::Result<bool> {
    let head = [
        "method",
        "answers",
        "available",
        "deviation",
        "packets",
        "lost",
        "cost",
        "each took",
    ];
    let (warnings, [sent, again, uneven]) = (prober.warnings(), prober.evenness());
    let (mut rows, mut good) = (vec![cells(&head)], true);
    for method in methods {
        let own: Vec<&Sampled> = all.iter().filter(|it| it.method == *method).collect();
        let values: Vec<f64> = own
            .iter()
            .filter_map(|it| Some(it.answer.estimate.as_ref()?.value))
            .collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean) * (value - mean));
        let deviation = (squares.sum::<f64>() / count).sqrt();
        let sum = |of: fn(&Sampled) -> u64| own.iter().map(|it| of(it)).sum::<u64>();
        let least = command
            .at_least
            .map_or(0.0, |rate| rate.bits_per_second() as f64);
        good &= !values.is_empty() && mean >= least;
        if command.json {
            let line = json_line!("probe", "available", {
                "method": method.name(), "host": host, "direction": "up", "samples": own.len(), "answers": values.len(),
                "available_bps": (count > 0.0).then_some(mean), "deviation_bps": (count > 0.0).then_some(deviation),
                "packets": sum(|it| it.cost.packets), "lost": sum(|it| it.cost.lost), "cost_bytes": sum(|it| it.cost.bytes), "trains_sent": sent, "trains_again": again, "trains_uneven": uneven, "burst_bytes": burst.map(|bits| (bits / 8.0).round()), "check_bytes": checks.bytes, "warnings": warnings,
            });
            stdout.tell(&format!("{line}\n"))?;
            continue;
        }
        let took: f64 = own.iter().map(|it| it.took.as_secs_f64()).sum();
        let [available, deviation] = match values.is_empty() {
            true => ["-".into(), "-".into()],
            false => [bits(mean), bits(deviation)],
        };
        rows.push(vec![
            method.name().into(),
            format!("{} of {}", values.len(), own.len()),
            available,
            deviation,
            number(sum(|it| it.cost.packets)),
            number(sum(|it| it.cost.lost)),
            format!("{:.1} MB", sum(|it| it.cost.bytes) as f64 / 1e6),
            format!("{:.2} s", took / own.len().max(1) as f64),
        ]);
    }
    if !command.json {
        stdout.tell(&format!(
            "available bandwidth up to {host}, at the IP layer\n{}",
            Table::new(rows)
        ))?;
    }
    if command.verbose && !command.json {
        stdout.tell(&format!(
            "{} trains, {} sent again as they left unevenly, {} never even; {}, by {:.1} MB before\n",
            number(sent),
            number(again),
            number(uneven),
            match burst {
                Some(bits) => format!("the path lets {:.1} kB through at once", bits / 8e3),
                None => "what the path lets through at once is not known".into(),
            },
            checks.bytes as f64 / 1e6
        ))?;
    }
    for warning in warnings {
        eprintln!("wire: warning: {warning}");
    }
    Ok(good)
}

/// Estimates over time, a series for each method with its spread.
fn figure(host: &str, methods: &[Method], all: &[Sampled]) -> Figure {
    let panel = Panel::new(
        Axis::new("time [s]"),
        Axis::new("available [Mb/s]").from_zero(),
    );
    let panel = methods.iter().fold(panel, |panel, method| {
        let own = || {
            let own = all.iter().filter(|it| it.method == *method);
            own.filter_map(|it| Some(((it.begun + it.took).as_secs_f64(), it.answer.estimate?)))
        };
        let values = own().map(|(at, found)| (at, found.value / 1e6));
        let spread = own().map(|(at, found)| (at, found.low / 1e6, found.high / 1e6));
        panel.series(Series::points(method.name(), values).with_spread(spread))
    });
    let mut figure =
        Figure::new(format!("available bandwidth up to {host}, at the IP layer")).panel(panel);
    figure.panel_height = 500;
    figure
}
