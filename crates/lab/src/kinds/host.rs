//! Hosts, and the programs that run on them.

use super::{Context, at_key};
use crate::fault::{Fault, did_you_mean};
use crate::tree::{Value, What};
use hosts::program::Config as Program;
use node::Node;

/// The programs by the names of `run`.
const PROGRAMS: [&str; 9] = [
    "ping",
    "bulk",
    "udp",
    "sink",
    "http",
    "http-server",
    "iperf3-server",
    "dns",
    "dns-server",
];

/// A host: one that answers, or with `[[node.NAME.program]]` one that runs them.
pub(super) fn make(config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
    let mut config = config.clone();
    let seed: Option<u64> = match config.take("seed") {
        Some(seed) => Some(seed.value.read()?),
        None => None,
    };
    let programs = match config.take("program") {
        None => Vec::new(),
        Some(entry) => match entry.value.what {
            What::List(list) => list.iter().map(program).collect::<Result<_, _>>()?,
            What::Table(_) => {
                let fault = Fault::new(entry.key_span, "a host runs a list of programs");
                return Err(fault.help("write [[node.NAME.program]] with double brackets"));
            }
            _ => {
                let fault = Fault::new(entry.value.span, "a program is a table");
                return Err(fault.help("write [[node.NAME.program]] and `run = \"ping\"`"));
            }
        },
    };
    let read = config.read()?;
    hosts::host::make(read, programs, seed.unwrap_or(context.seed))
        .map_err(|refused| at_key(&config, refused))
}

fn program(section: &Value) -> Result<Program, Fault> {
    let mut section = section.clone();
    let Some(run) = section.take("run") else {
        let fault = Fault::new(section.span, "the program does not say what it is");
        return Err(fault.help(format!(
            "add `run = \"ping\"`, or another of: {}",
            PROGRAMS.join(", ")
        )));
    };
    let name: String = run.value.read()?;
    Ok(match name.as_str() {
        "ping" => Program::Ping(section.read()?),
        "bulk" => Program::Bulk(section.read()?),
        "udp" => Program::Udp(section.read()?),
        "sink" => Program::Sink(section.read()?),
        "http" => Program::Http(section.read()?),
        "http-server" => Program::HttpServer(section.read()?),
        "iperf3-server" => Program::Iperf3Server(section.read()?),
        "dns" => Program::Dns(section.read()?),
        "dns-server" => Program::DnsServer(section.read()?),
        _ => {
            let message = format!("there is no program called `{name}`");
            let fault = Fault::new(run.value.span, message);
            return Err(fault.help(did_you_mean(&name, &PROGRAMS)));
        }
    })
}
