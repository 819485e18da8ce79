//! `wire run`: one node on live ports.

use crate::Verdict;
use crate::cat::tick;
use crate::complaints::{Complaints, Leniency};
use crate::confine;
use crate::output::{Buffering, Output};
use crate::ports::spec;
use crate::report::{link_notice, put_departures, put_link, put_link_object, put_timing};
use ::lab::Registry;
use live::hook::{Config, Relay};
use live::port::{self, Options, Port, PortSpec};
use live::world::{self, PortsOutcome};
use node::Time;
use node::outcome::Finish;
use packet::Tick;
use serde_json::{Map, Value, json};
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
  wire run switch --on eth1 --on eth2 --on tap:lan0
  wire run delay --set 'delay=20 ms' --on eth1 --on eth2
  wire run through --on nfqueue:0 --on nfqueue:1")]
pub struct Run {
    /// The kind of node
    node: String,
    /// A port; given once for each port of the node
    #[arg(long, value_name = "PORT", required = true, value_parser = spec())]
    on: Vec<PortSpec>,
    /// A key of the node's configuration
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<String>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME")]
    duration: Option<Time>,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    leniency: Leniency,
}

/// Turns KEY=VALUE into a line of TOML: what is no number, flag, list or quoted text is quoted.
pub fn setting(text: &str) -> Result<String, String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is wanted")?;
    let plain = value.parse::<f64>().is_ok()
        || matches!(value, "true" | "false")
        || value.starts_with(['[', '"', '\'', '{']);
    Ok(match plain {
        true => format!("{key} = {value}"),
        false => format!("{key} = {value:?}"),
    })
}

impl Run {
    /// Runs it.
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        live::signal::install();
        let node = registry.node(&self.node, &self.set.join("\n"), self.on.len());
        let node = node.map_err(|faults| anyhow::anyhow!("{faults}"))?;
        let queue = |port: &PortSpec| match port {
            PortSpec::Queue(number) => Some(*number),
            _ => None,
        };
        if let Some(queues) = self.on.iter().map(queue).collect::<Option<Vec<u16>>>() {
            return self.at_queues(node, &queues);
        }
        let options = Options {
            tick: self.tick,
            ..Options::of_nodes(self.on.len())
        };
        let opened = Opened::open(&self.on, &options)?;
        if !registry.runs_programs(&self.node) {
            confine::ports(&self.on, false)?;
        }
        drive(
            &self.node,
            node,
            opened,
            self.duration,
            self.json,
            &self.leniency.complaints(),
        )
    }
}

impl Run {
    /// At queues of netfilter the packets wait until the node has answered.
    fn at_queues(&self, node: Box<dyn node::Node>, queues: &[u16]) -> anyhow::Result<Verdict> {
        let relay = Relay::on_queues(queues, &Config::default(), node)?;
        let duration = self.duration.map(|time| Duration::from_nanos(time.as_ns()));
        let ended = relay.wait(duration);
        let done = duration.is_none() || !live::signal::stop_requested();
        crate::relay::run::report(&self.node, &ended, self.json)?;
        match ended.trouble {
            Some(error) => Err(error.into()),
            None => Ok(Verdict::if_done(done)),
        }
    }
}

/// Ports of a node, and their names.
pub struct Opened {
    /// The ports.
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
    Opened { ports, names }: Opened,
    duration: Option<Time>,
    json: bool,
    complaints: &Complaints,
) -> anyhow::Result<Verdict> {
    let ended = world::on_ports_with(name, node, ports, duration, link_notice(&names))?;
    report(&ended, &names, json)?;
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
pub fn report(ended: &PortsOutcome, names: &[String], json: bool) -> anyhow::Result<()> {
    if json {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(format!("{}\n", object(ended, names)).as_bytes())?;
        return stdout.finish();
    }
    eprint!("{}", text(ended, names));
    Ok(())
}

fn text(ended: &PortsOutcome, names: &[String]) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let ports = names.iter().zip(&ended.received).zip(&ended.sent);
    for (((name, rx), tx), unsent) in ports.zip(&ended.unsent) {
        let _ = write!(
            text,
            "wire: {name}: {} received, {} sent",
            rx.received, tx.sent
        );
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
        let _ = write!(text, "wire: {}:", node.name);
        for (name, count) in &node.counters {
            let _ = write!(text, " {name} {count}");
        }
        text.push('\n');
        for (reason, count) in &node.drops {
            let _ = writeln!(text, "wire: {}: dropped {count}: {reason}", node.name);
        }
    }
    put_departures(&mut text, &ended.outcome);
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
            json!({
                "kind": node.name, "counters": pairs(&node.counters), "drops": pairs(&node.drops),
            })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_toml() {
        for (given, line) in [
            ("delay=20 ms", "delay = \"20 ms\""),
            ("count=5", "count = 5"),
            ("probe=false", "probe = false"),
            ("size=[64, 128]", "size = [64, 128]"),
            ("expression=udp port 53", "expression = \"udp port 53\""),
        ] {
            assert_eq!(setting(given).as_deref(), Ok(line));
        }
        assert!(setting("delay").is_err());
    }
}
