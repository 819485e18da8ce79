//! Hosts, and the programs that run on them.

use super::services;
use crate::fault::Fault;
use crate::instruments::pings::Pings;
use crate::kind::{Context, Kind, Made, Planned, at_key};
use crate::tree::{Entry, Value, What};
use hosts::pinger::Pinger;
use hosts::program::Config as Program;
use ip::service::Service;

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
            pings: true,
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
    let (mut programs, mut services) = (Vec::new(), Vec::new());
    for (run, section) in services::programs(&mut config, "host")? {
        let name: String = run.value.read()?;
        // Each program has random numbers of its own.
        let own = seed.unwrap_or(context.seed) ^ (1 + services.len() as u64) << 32;
        match services::make(&name, &section, own) {
            Some(service) => services.push(service?),
            None => programs.push(program(&run, &name, &section)?),
        }
    }
    let read: hosts::host::Config = config.read()?;
    let refused = |refused| at_key(&config, refused);
    let seed = seed.unwrap_or(context.seed);
    services.extend(pinger(&context));
    hosts::host::with_services(read, programs, services, seed).map_err(refused)
}

/// The pinger of a node, where a shell may ask for one.
pub(super) fn pinger(context: &Context<'_>) -> Option<Box<dyn Service>> {
    let pings = context.service::<Pings>()?;
    Some(Box::new(Pinger::new(pings.of(context.node().0))))
}

fn program(run: &Entry, name: &str, section: &Value) -> Result<Program, Fault> {
    Ok(match name {
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
            let known: Vec<&str> = PROGRAMS.into_iter().chain(services::names()).collect();
            return Err(services::unknown(run, name, &known));
        }
    })
}
