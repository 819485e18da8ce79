//! `wire of controller`: programs for switches, on sockets.

use super::rest::{self, Rest};
use super::{Keys, reached};
use crate::Verdict;
use crate::report::Detail;
use crate::run::{Opened, report};
use confine::Service;
use live::port::ChannelSpec;
use live::port::PortSpec;
use live::world;
use node::Time;
use node::outcome::Finish;
use openflow::controller::{App, Controller as Node, Options};
use openflow::version::Version;
use std::fmt::Write;
use std::path::PathBuf;

/// Run a controller for OpenFlow switches until Ctrl-C
///
/// APP is a program: learning (a learning switch), router (static), topology (links by LLDP, floods without loops), firewall,
/// collector (statistics). Several run together, in the order topology, collector, firewall, router, learning. Their keys are
/// those of the lab kind `controller`, from --config or --set, such as --set learning.idle_timeout=10.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire of controller learning --listen ptcp:6653
  wire of controller topology collector learning --listen ptcp:6653:0.0.0.0 --rest 127.0.0.1:8080 --token-file token
  wire of controller firewall learning --config rules.toml --listen pssl:6653:0.0.0.0 --private-key k.pem --certificate c.pem --ca-cert ca.pem")]
pub struct Controller {
    /// The programs
    #[arg(value_enum, value_name = "APP", required_unless_present = "config")]
    apps: Vec<AppName>,
    /// Where switches connect: ptcp:PORT (from this machine alone), ptcp:PORT:HOST (0.0.0.0 and `[::]` are all addresses), pssl:, punix:PATH; may be given more than once; without it ptcp:6653
    #[arg(long, value_name = "CHANNEL")]
    listen: Vec<ChannelSpec>,
    /// A switch that listens: tcp:HOST:PORT, ssl:, unix:PATH; may be given more than once
    #[arg(long, value_name = "CHANNEL", conflicts_with = "listen")]
    connect: Vec<ChannelSpec>,
    /// Only these versions
    #[arg(
        long,
        short = 'O',
        alias = "openflow",
        value_name = "VERSIONS",
        value_delimiter = ','
    )]
    protocols: Vec<Version>,
    /// A file of TOML with the programs' keys
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A key of a program
    #[arg(long, value_name = "APP.KEY=VALUE", value_parser = crate::set::setting)]
    set: Vec<String>,
    #[command(flatten)]
    rest: Rest,
    /// As root: the user that it becomes once its ports are open; without it one that nothing belongs to
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    #[command(flatten)]
    keys: Keys,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AppName {
    /// A learning switch
    Learning,
    /// A static router
    Router,
    /// Links by LLDP, hosts, and floods without loops
    Topology,
    /// Rules about flows
    Firewall,
    /// Counters of entries and ports
    Collector,
}

impl AppName {
    fn name(self) -> &'static str {
        match self {
            AppName::Learning => "learning",
            AppName::Router => "router",
            AppName::Topology => "topology",
            AppName::Firewall => "firewall",
            AppName::Collector => "collector",
        }
    }
}

impl Controller {
    pub fn run(self) -> anyhow::Result<Verdict> {
        let mut specs = match self.connect.is_empty() {
            true => self.listen.clone(),
            false => self.connect.clone(),
        };
        if specs.is_empty() {
            specs.push("ptcp:6653".parse()?);
        }
        let dial = !self.connect.is_empty();
        for spec in &specs {
            anyhow::ensure!(
                spec.listen != dial,
                "{spec}: --listen takes ptcp:, pssl: and punix:, --connect takes tcp:, ssl: and unix:"
            );
        }
        let config = lab::single_node::controller(&self.keys_text()?);
        let mut config = config.map_err(|faults| anyhow::anyhow!("{faults}"))?;
        config.ports = specs.len().try_into()?;
        config.dial = dial;
        let mut apps = config.apps();
        let options = Options {
            versions: match self.protocols.is_empty() {
                true => config.options().versions,
                false => self.protocols,
            },
            ..config.options()
        };
        let specs: Vec<PortSpec> = specs.into_iter().map(PortSpec::Channel).collect();
        let Opened { ports, names } = Opened::open(&specs, &self.keys.options())?;
        for (spec, name) in specs.iter().zip(&names) {
            eprintln!("wire: controller on {name}");
            if let Some(told) = reached(spec) {
                eprintln!("wire: {told}");
            }
        }
        let rest = self.rest.open()?;
        let service = Service {
            user: self.user.as_deref(),
            accepts: rest.is_some(),
            ..Service::default()
        };
        let _kept = confine::server(&specs, service)?;
        if let Some(answers) = rest.map(rest::Opened::start).transpose()? {
            // First, so that it sees every packet go by.
            apps.insert(0, Box::new(answers) as Box<dyn App>);
        }
        let node = Box::new(Node::new(options, apps));
        let ended = world::on_ports("controller", node, ports, self.duration)?;
        report(&ended, &names, self.json, Detail::default())?;
        let done = self.duration.is_none() || ended.outcome.finish != Finish::Stopped;
        match ended.trouble {
            Some(error) => Err(error.into()),
            None => Ok(Verdict::if_done(done)),
        }
    }

    /// The configuration as TOML: the file, the settings, and the programs without keys.
    fn keys_text(&self) -> anyhow::Result<String> {
        let mut text = match &self.config {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?,
            None => String::new(),
        };
        // Keys of the top come before the file's sections.
        let mut top = String::new();
        for line in &self.set {
            let _ = writeln!(top, "{line}");
        }
        for app in &self.apps {
            let name = app.name();
            let set = self
                .set
                .iter()
                .any(|line| line.starts_with(&format!("{name}.")));
            let section = text.lines().any(|line| {
                let line = line.trim_start();
                let section = line.trim_start_matches('[');
                section.len() < line.len() && section.starts_with(name)
                    || line.starts_with(&format!("{name} "))
                    || line.starts_with(&format!("{name}="))
                    || line.starts_with(&format!("{name}."))
            });
            if !set && !section {
                let _ = writeln!(top, "{name} = {{}}");
            }
        }
        text.insert_str(0, &top);
        Ok(text)
    }
}
