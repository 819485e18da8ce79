//! `wire of switch`: an OpenFlow switch on live ports.

use super::{Keys, reached};
use crate::Verdict;
use crate::complaints::Leniency;
use crate::on::On;
use crate::report::Detail;
use crate::run::{Opened, drive};
use crate::time::tick;
use confine::Service;
use live::port::{Options, PortSpec};
use node::{Rate, Time};
use openflow::switch::{Config, FailMode};
use openflow::version::Version;
use packet::Tick;

/// Run an OpenFlow switch on live ports until Ctrl-C
///
/// The ports of --on are OpenFlow's ports 1, 2, 3, ... Controllers and listeners are named as with Open vSwitch: tcp:HOST:PORT,
/// ssl:HOST:PORT, unix:PATH, and ptcp:PORT, pssl:PORT and punix:PATH to wait for them. ptcp:PORT is reached from this machine
/// alone, ptcp:PORT:HOST at one address; 0.0.0.0 and `[::]` are all addresses.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire of switch --on eth1 eth2 --controller tcp:127.0.0.1:6653
  wire of switch --on eth1 eth2 --listen ptcp:6654 --fail-mode standalone --protocols 1.3")]
pub struct Switch {
    #[command(flatten)]
    on: On,
    /// A controller to connect with; may be given several times
    #[arg(long, value_name = "CHANNEL")]
    controller: Vec<PortSpec>,
    /// Where to wait for controllers; may be given several times
    #[arg(long, value_name = "CHANNEL")]
    listen: Vec<PortSpec>,
    /// What controllers know the switch by, in hexadecimal
    #[arg(long, value_name = "ID", default_value = "1", value_parser = datapath_id)]
    datapath_id: u64,
    /// The versions to speak: 1.0, 1.3
    #[arg(
        long,
        short = 'O',
        alias = "openflow",
        value_name = "VERSIONS",
        value_delimiter = ',',
        default_value = "1.0,1.3"
    )]
    protocols: Vec<Version>,
    /// Without a controller: secure goes on with the entries there are, standalone forwards by learned addresses
    #[arg(long, value_name = "MODE", value_parser = fail_mode, default_value = "secure")]
    fail_mode: FailMode,
    /// How many flow tables, 1 to 255
    #[arg(long, value_name = "N", default_value_t = 255)]
    tables: u8,
    /// The most entries of a table
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    flows: usize,
    /// Packets kept for controllers
    #[arg(long, value_name = "N", default_value_t = 256)]
    buffers: u16,
    /// Connections beside the main one to each controller
    #[arg(long, value_name = "N", default_value_t = 0)]
    auxiliary: u8,
    /// MiB of each port's ring, in which packets wait while the switch has no processor: 1 to 32
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=32))]
    ring: u8,
    /// The rate of the ports, as controllers are told it
    #[arg(long, value_name = "RATE", default_value = "10 Gb/s")]
    rate: Rate,
    /// As root: the user that it becomes once its ports are open; without it one that nothing belongs to
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    #[command(flatten)]
    keys: Keys,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    leniency: Leniency,
}

fn datapath_id(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits);
    u64::from_str_radix(digits, 16).map_err(|_| "up to 16 hexadecimal digits are wanted".into())
}

fn fail_mode(text: &str) -> Result<FailMode, String> {
    match text {
        "secure" => Ok(FailMode::Secure),
        "standalone" => Ok(FailMode::Standalone),
        _ => Err("secure or standalone".into()),
    }
}

impl Switch {
    pub fn run(self) -> anyhow::Result<Verdict> {
        let complaints = self.leniency.complaints();
        let on = self.on.ports()?;
        let config = Config {
            ports: on.len().try_into()?,
            controllers: self.controller.len().try_into()?,
            listeners: self.listen.len().try_into()?,
            auxiliary: self.auxiliary,
            datapath_id: self.datapath_id,
            protocols: self.protocols,
            tables: self.tables,
            flows: self.flows,
            buffers: self.buffers,
            fail_mode: self.fail_mode,
            rate: self.rate,
            names: on.iter().map(ToString::to_string).collect(),
            // Nobody else knows it, so that nobody can choose flows that collide.
            seed: self.datapath_id ^ u64::from(std::process::id()) << 32,
            ..Config::default()
        };
        let node = Box::new(openflow::switch::Switch::new(config)?);
        let ports: Vec<PortSpec> = [on, self.controller, self.listen].concat();
        let usual = Options::of_nodes(ports.len());
        let options = Options {
            tick: self.tick,
            tls: Some(self.keys.tls()),
            buffer: usual.buffer.min(usize::from(self.ring) << 20),
            ..usual
        };
        let opened = Opened::open(&ports, &options)?;
        for told in ports.iter().filter_map(reached) {
            eprintln!("wire: {told}");
        }
        let service = Service {
            user: self.user.as_deref(),
            ..Service::default()
        };
        let _kept = confine::server(&ports, service)?;
        drive(
            "switch",
            node,
            opened,
            self.duration,
            self.json,
            self.detail,
            &complaints,
        )
    }
}
