//! Hosts, and the programs that run on them.

use crate::fault::{Fault, did_you_mean};
use crate::instruments::pings::Pings;
use crate::kind::{Context, Kind, Made, Planned, at_key};
use crate::tree::{Value, What};
use hosts::pinger::Pinger;
use hosts::program::Config as Program;

/// The programs by the names of `run`.
const PROGRAMS: [&str; 13] = [
    "ping",
    "bulk",
    "udp",
    "sink",
    "http",
    "http-server",
    "iperf3-server",
    "dns",
    "dns-server",
    "punch",
    "rendezvous",
    "ssh",
    "ssh-server",
];

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    let host = Kind::new("host", |config, folder| {
        Ok(Planned {
            endless: endless(config),
            ..Planned::by(config, folder, make)?
        })
    });
    let tcp = Kind::of("tcp", |config, context| {
        hosts::control::Tcp::new(config, context.seed())
    });
    vec![
        Kind {
            is_host: true,
            hosts: &["gateway", "program.to", "program.server"],
            ..host
        },
        Kind {
            hosts: &["gateway", "to"],
            ..tcp
        },
    ]
}

/// What of a host's programs goes on for ever.
fn endless(config: &Value) -> Vec<String> {
    let programs = config.get("program").map(|programs| &programs.what);
    let list = match programs {
        Some(What::List(list)) => &list[..],
        _ => &[],
    };
    list.iter().filter_map(endless_program).collect()
}

fn endless_program(config: &Value) -> Option<String> {
    let Some(What::Text(run)) = config.get("run").map(|run| &run.what) else {
        return None;
    };
    let has = |key| config.get(key).is_some();
    let missing = match run.as_str() {
        "bulk" if has("duration") || has("count") && has("bytes") => return None,
        "bulk" if has("count") => "`bytes`",
        "bulk" if has("bytes") => "`count` or `duration`",
        "bulk" => "`duration`, or `bytes` and `count`",
        "udp" | "http" | "ssh" if !has("count") && !has("duration") => "`count` or `duration`",
        "ping" | "dns" if !has("count") => "`count`",
        _ => return None,
    };
    Some(format!("runs {run} without {missing}"))
}

/// A host: one that answers, or with `[[node.NAME.program]]` one that runs them.
fn make(config: &Value, context: Context<'_>) -> Made {
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
    let read: hosts::host::Config = config.read()?;
    let refused = |refused| at_key(&config, refused);
    let seed = seed.unwrap_or(context.seed);
    let pings = context.service::<Pings>();
    let Some(questions) = pings.map(|pings| pings.of(context.node().0)) else {
        return hosts::host::make(read, programs, seed).map_err(refused);
    };
    let host = hosts::host::make(read.clone(), programs, seed).map_err(refused)?;
    Ok(Box::new(
        Pinger::new(host, &read, questions).map_err(refused)?,
    ))
}

fn program(section: &Value) -> Result<Program, Fault> {
    let mut section = section.clone();
    let Some(run) = section.take("run") else {
        let fault = Fault::new(section.span, "the program has no `run`");
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
        "punch" => Program::Punch(section.read()?),
        "rendezvous" => Program::Rendezvous(section.read()?),
        "ssh" => Program::Ssh(section.read()?),
        "ssh-server" => Program::SshServer(section.read()?),
        _ => {
            let message = format!("there is no program called `{name}`");
            let fault = Fault::new(run.value.span, message);
            return Err(fault.help(did_you_mean(&name, &PROGRAMS)));
        }
    })
}
