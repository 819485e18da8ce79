//! `wire run`: one node on live ports.

use crate::Verdict;
use crate::complaints::{Complaints, Leniency};
use crate::on::On;
use crate::output::{Buffering, Output};
use crate::report::{
    Detail, begin, link_notice, put, put_departures, put_link, put_link_object, put_timing,
};
use crate::set::setting;
use crate::time::tick;
use ::lab::instruments::clocks;
use ::lab::{Notes, Registry};
use live::port::{self, Options, Port, PortSpec};
use live::world::hook::{Config, Runner};
use live::world::{self, PortsOptions, PortsOutcome, Stop};
use measure::clock::ClockReport;
use node::Time;
use node::outcome::Finish;
use packet::Tick;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt::Write;
use std::time::Duration;

/// Run one node on live ports until Ctrl-C
///
/// NODE is a kind of node as lab files have it: switch, delay, generator, mirror, filter, vlan, sink,
/// echo, capture, meter, covert, p4. Its ports are those of --on, in order; its keys are set by --set. Its
/// counters are reported at the end. Packets of queues of netfilter (nfqueue:NUMBER, filled by rules of yours) wait until the node has
/// sent them on, changed or not, or dropped them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire run switch --on eth1 eth2 tap:lan0
  wire run delay --set 'delay=20 ms' --on eth1 eth2
  wire run through --on nfqueue:0 nfqueue:1")]
pub struct Run {
    /// The kind of node; `wire nodes` tells which there are
    node: Option<OsString>,
    #[command(flatten)]
    on: On,
    /// A key of the node's configuration
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<String>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    leniency: Leniency,
}

impl Run {
    pub fn run(mut self, registry: &Registry) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let kind = self.on.word(self.node.take())?;
        let kind = kind.to_string_lossy().into_owned();
        let on = self.on.ports()?;
        let notes = Notes::default();
        let node = registry.lasting_node(&kind, &self.set.join("\n"), on.len(), &notes);
        let node = node.map_err(|faults| anyhow::anyhow!("{faults}"))?;
        let queue = |port: &PortSpec| match port {
            PortSpec::Queue(number) => Some(*number),
            _ => None,
        };
        if let Some(queues) = on.iter().map(queue).collect::<Option<Vec<u16>>>() {
            return self.at_queues(&kind, node, &queues);
        }
        let options = Options {
            tick: self.tick,
            ..Options::of_nodes(on.len())
        };
        let opened = Opened::open(&on, &options)?;
        if !registry.runs_programs(&kind) {
            match kind.starts_with("paxos-") {
                true => confine::member(&on, true)?,
                false => confine::ports(&on, false)?,
            }
        }
        let failed = notes.clone();
        let verdict = drive_until(
            &kind,
            node,
            opened,
            self.duration,
            Some(Box::new(move || failed.failure().is_some())),
            self.json,
            self.detail,
            &self.leniency.complaints(),
        );
        match notes.failure() {
            Some(why) => anyhow::bail!(why),
            None => verdict,
        }
    }
}

impl Run {
    /// At queues of netfilter the packets wait until the node has answered.
    fn at_queues(
        &self,
        kind: &str,
        node: Box<dyn node::Node>,
        queues: &[u16],
    ) -> anyhow::Result<Verdict> {
        let relay = Runner::on_queues(queues, &Config::default(), node)?;
        let duration = self.duration.map(|time| Duration::from_nanos(time.as_ns()));
        let ended = relay.wait(duration);
        let done = duration.is_none() || !::capture::signal::stop_requested();
        crate::relay::report::report(kind, &ended, self.json, self.detail)?;
        match ended.trouble {
            Some(error) => Err(error.into()),
            None => Ok(Verdict::if_done(done)),
        }
    }
}

/// Ports of a node, and their names.
pub struct Opened {
    pub ports: Vec<Port>,
    /// What they are called, in the same order.
    pub names: Vec<String>,
}

impl Opened {
    /// Opens them, in order.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub fn open(on: &[PortSpec], options: &Options) -> anyhow::Result<Opened> {
        let ports = on.iter().map(|spec| port::open(spec, options));
        let ports = ports.collect::<Result<Vec<_>, _>>()?;
        let names = ports.iter().map(|port| port.info.name.clone()).collect();
        Ok(Opened { ports, names })
    }
}

/// Runs a node on ports, and reports.
///
/// # Errors
/// When a port fails.
pub fn drive(
    name: &str,
    node: Box<dyn node::Node>,
    opened: Opened,
    duration: Option<Time>,
    json: bool,
    detail: Detail,
    complaints: &Complaints,
) -> anyhow::Result<Verdict> {
    drive_until(name, node, opened, duration, None, json, detail, complaints)
}

#[expect(clippy::too_many_arguments)]
fn drive_until(
    name: &str,
    node: Box<dyn node::Node>,
    Opened { ports, names }: Opened,
    duration: Option<Time>,
    stop: Option<Stop>,
    json: bool,
    detail: Detail,
    complaints: &Complaints,
) -> anyhow::Result<Verdict> {
    begin(name, &names, duration);
    let options = PortsOptions {
        until: duration,
        stop,
        notice: link_notice(&names),
        ..PortsOptions::default()
    };
    let ended = world::on_ports_with(name, node, ports, options)?;
    report(&ended, &names, json, detail)?;
    verdict(ended, duration, complaints)
}

/// The verdict on a run: what the ports lost is lost. Without a duration a signal is its normal end.
///
/// # Errors
/// When a port failed.
pub fn verdict(
    ended: PortsOutcome,
    duration: Option<Time>,
    complaints: &Complaints,
) -> anyhow::Result<Verdict> {
    if let Some(error) = ended.trouble {
        return Err(error.into());
    }
    let received = ended.received.iter().map(|rx| rx.dropped + rx.refused);
    let sent = ended.sent.iter().map(|tx| tx.refused);
    let lost = received.chain(sent).sum();
    let what = format_args!("{lost} packets were lost at the ports, or refused by them");
    complaints.lost(lost, what);
    let done = duration.is_none() || ended.outcome.finish != Finish::Stopped;
    Ok(complaints.finish().max(Verdict::if_done(done)))
}

/// Tells what came of a run.
///
/// # Errors
/// When standard output takes no more.
pub fn report(
    ended: &PortsOutcome,
    names: &[String],
    json: bool,
    detail: Detail,
) -> anyhow::Result<()> {
    if json {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(format!("{}\n", object(ended, names)).as_bytes())?;
        return stdout.finish();
    }
    put(&text(ended, names, detail), names)
}

fn text(ended: &PortsOutcome, names: &[String], detail: Detail) -> String {
    let mut text = String::new();
    let received: u64 = ended.received.iter().map(|rx| rx.received).sum();
    let lost: u64 = ended
        .received
        .iter()
        .map(|rx| rx.dropped + rx.refused)
        .sum();
    let sent: u64 = ended.sent.iter().map(|tx| tx.sent).sum();
    let refused: u64 = ended.sent.iter().map(|tx| tx.refused).sum();
    let lost = match lost + refused {
        0 => "none lost at the ports".into(),
        lost => format!("{lost} lost at the ports"),
    };
    // Writing to a String does not fail.
    let _ = writeln!(text, "{received} packets received, {sent} sent, {lost}");
    let ports = names.iter().zip(&ended.received).zip(&ended.sent);
    for (((name, rx), tx), unsent) in ports.zip(&ended.unsent) {
        let _ = write!(text, "{name}: {} received, {} sent", rx.received, tx.sent);
        for (count, what) in [
            (rx.dropped, "lost because they were not read in time"),
            (rx.refused, "refused because of their length"),
            (tx.refused, "refused by the port"),
            (rx.turned_away, "connections turned away"),
            (*unsent, "still to be sent"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text.push('\n');
    }
    for (name, link) in names.iter().zip(&ended.links) {
        put_link(&mut text, name, *link);
    }
    for node in &ended.outcome.nodes {
        let _ = write!(text, "{}:", node.name);
        for (name, count) in &node.counters {
            let _ = write!(text, " {name} {count}");
        }
        text.push('\n');
        if let Some(clock) = node.extensions.get::<ClockReport>() {
            let told = clocks::line(clock, ended.outcome.stamps);
            let _ = writeln!(text, "wire: {}: {told}", node.name);
        }
        for (reason, count) in &node.drops {
            let _ = writeln!(text, "{}: dropped {count}: {reason}", node.name);
        }
    }
    put_departures(&mut text, &ended.outcome, detail);
    text
}

fn object(ended: &PortsOutcome, names: &[String]) -> Value {
    let pairs = |pairs: &[(String, u64)]| -> Map<String, Value> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, count)| (name.clone(), json!(count)))
            .collect()
    };
    let ports: Vec<Value> = names
        .iter()
        .zip(&ended.received)
        .zip(&ended.sent)
        .zip(&ended.links)
        .zip(&ended.unsent)
        .map(|((((name, rx), tx), link), unsent)| {
            let mut port = json!({
                "name": name, "received": rx.received, "lost": rx.dropped,
                "sent": tx.sent, "refused": rx.refused + tx.refused,
                "turned_away": rx.turned_away,
                "unsent": unsent,
            });
            put_link_object(&mut port, *link);
            port
        })
        .collect();
    let nodes: Vec<Value> = ended
        .outcome
        .nodes
        .iter()
        .map(|node| {
            let mut told = json!({
                "kind": node.name, "counters": pairs(&node.counters), "drops": pairs(&node.drops),
            });
            if let Some(clock) = node.extensions.get::<ClockReport>() {
                told["clock"] = clocks::json(&node.name, clock);
            }
            told
        })
        .collect();
    let timing = ended.outcome.timing.unwrap_or_default();
    let mut line = json_line!("run", "run", {
        "ended_ns": ended.outcome.ended.as_ns(),
        "ports": ports,
        "nodes": nodes,
        "stamps": ended.outcome.stamps,
    });
    put_timing(&mut line, &timing);
    line
}
