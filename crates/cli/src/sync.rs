//! `wire sync`: a clock protocol on a port, and what it finds.

mod lab;
mod method;
mod report;
mod verdict;
mod watch;

use crate::Verdict;
use crate::ports::spec;
use crate::report::{link_notice, until};
use crate::run::Opened;
use crate::set::setting;
use ::capture::clock;
use ::lab::Registry;
use live::page::Publisher;
use live::port::{Options, Port, PortSpec};
use live::world::{self, PortsOptions, PortsOutcome};
use method::Method;
use node::Time;
use report::Teller;
pub use report::length;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use watch::Watch;

/// From when a clock is made to the time zero of its world.
const LEAD_NS: u64 = 100_000_000;

/// Find out how far off this machine's clock is from another one's, by PTP, NTP or coded probes
///
/// As a slave (the default) it follows the master at PORT with a clock of its own; the machine's clock is compared with that, and never set.
/// As a master it gives the machine's time to others. A line a second tells the last offset before its correction, how far the truth may
/// be from it, the delay, and by how much the machine's counter is faster. Stamps are the kernel's on arrival, this program's on
/// departure, never a network card's. That one way takes longer than the other cannot be seen: the bound is for any two ways.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire sync eth1 --duration 30s --plot offsets.png
  wire sync eth1 --method ntp --udp 192.0.2.9 --server 192.0.2.1
  wire sync eth1 --page /run/wire/clock      # for programs, and `wire clock`
  wire sync --lab examples/clocks/four.toml --node ptp --plot ptp.png
  wire sync eth1 --role master --interval 125ms")]
pub struct Sync {
    /// The port that leads to the other clock, such as an interface
    #[arg(value_parser = spec(), required_unless_present = "lab")]
    port: Option<PortSpec>,
    /// In place of a port: the clocks of a lab in simulated time
    #[arg(long, value_name = "FILE", conflicts_with_all = ["port", "method", "role", "master_on", "domain", "delay", "udp", "server", "interval", "set", "count", "wait", "page"])]
    lab: Option<PathBuf>,
    /// Of --lab: of this node's clock alone, with a line a second
    #[arg(long, value_name = "NODE", requires = "lab")]
    node: Option<String>,
    /// ptp, ntp, or probes: coded, after Huygens
    #[arg(
        long,
        short,
        value_name = "HOW",
        default_value = "ptp",
        value_parser = Method::read
    )]
    method: Method,
    /// slave, master, or auto: as PTP's best master clock algorithm finds
    #[arg(long, default_value = "slave", value_parser = ["slave", "master", "auto"], hide_possible_values = true)]
    role: String,
    /// Be a master, too, at another port of this machine: then the truth is known
    #[arg(long, value_name = "PORT", value_parser = spec())]
    master_on: Option<PortSpec>,
    /// Of PTP: clocks of other domains are none of its business [default: 0]
    #[arg(long, value_name = "N")]
    domain: Option<u8>,
    /// How PTP finds the delay: end-to-end, or peer [default: end-to-end]
    #[arg(long, value_name = "HOW", value_parser = ["end-to-end", "peer"], hide_possible_values = true)]
    delay: Option<String>,
    /// Messages go over UDP, from this address; with ptp else over Ethernet
    #[arg(long, value_name = "IP")]
    udp: Option<Ipv4Addr>,
    /// Of ntp and probes: whom a slave asks
    #[arg(long, value_name = "IP")]
    server: Option<Ipv4Addr>,
    /// Between offsets: 1s, 500ms, 250ms ... 7.8125ms; of probes any time
    #[arg(long, short, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    interval: Time,
    /// Any other key of the kind of node (`wire nodes ptp`)
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<String>,
    /// Stop after this many offsets
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// Give up if no offset is found in this time; 0: never
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "15s")]
    wait: Time,
    /// Exit with 1 if the truth may be farther off than this in the end
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    within: Option<Time>,
    /// Give the clock to other programs, in this file
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// No line every second
    #[arg(long, short)]
    quiet: bool,
    /// Lines and the report as JSON Lines
    #[arg(long)]
    json: bool,
    /// Offsets with their bound, delay, drift over time: PNG or SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Sync {
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        if let Some(file) = &self.lab {
            return self.over_lab(registry, file);
        }
        let specs: Vec<PortSpec> = self.port.iter().chain(&self.master_on).cloned().collect();
        anyhow::ensure!(
            self.master_on.is_none() || self.role == "slave",
            "with --master-on the clock at PORT is a slave"
        );
        // What is wrong with the keys is told before a port is opened.
        self.clock(registry, &self.role, None, 0)?;
        let Opened { mut ports, names } = Opened::open(&specs, &Options::of_nodes(specs.len()))?;
        let publisher = self.page.as_deref().map(Publisher::create).transpose()?;
        confine::ports(&specs, self.plot.is_some())?;
        let start_ns = clock::now_ns() + LEAD_NS;
        let epoch_ns = clock::epoch_ns() + start_ns;
        let mac = |port: &Port| port.info.mac;
        let node = self.clock(registry, &self.role, mac(&ports[0]), epoch_ns)?;
        let master = ports
            .get(1)
            .map(|port| self.clock(registry, "master", mac(port), epoch_ns));
        let stop = Arc::new(AtomicBool::new(false));
        let options = |names: &[String]| {
            let stop = Arc::clone(&stop);
            PortsOptions {
                until: self.duration,
                start_ns: Some(start_ns),
                notice: link_notice(names),
                stop: Some(Box::new(move || stop.load(Ordering::Relaxed))),
                ..PortsOptions::default()
            }
        };
        if !self.json {
            let what = match &self.master_on {
                Some(_) => format!("{} between {}", self.method.name(), names.join(" and ")),
                None => format!("{} {} on {}", self.method.name(), self.role, names[0]),
            };
            eprintln!("wire: {what}, {}", until(self.duration));
        }
        let beside = match master.transpose()? {
            Some(node) => {
                let (options, name) = (options(&names[1..]), self.method.kind());
                let other = ports.split_off(1);
                let body = move || world::on_ports_with(name, node, other, options);
                Some(live::thread::spawn("master", body)?)
            }
            None => None,
        };
        let (sender, teller) = Teller::start(&self)?;
        let mut watch = Watch::new(
            &self,
            start_ns,
            epoch_ns,
            publisher,
            sender,
            Arc::clone(&stop),
        );
        let observed = PortsOptions {
            observe: Some(Box::new(move |driver, now| {
                watch.look(&driver.statistics(), now);
            })),
            ..options(&names)
        };
        let ended = world::on_ports_with(self.method.kind(), node, ports, observed);
        stop.store(true, Ordering::Relaxed);
        let told = teller.join();
        let master = beside.map(std::thread::JoinHandle::join);
        let told =
            told.map_err(|_| anyhow::anyhow!("the lines of each second came to an end"))??;
        let ended: PortsOutcome = ended?;
        if let Some(master) = master {
            let ended = master.map_err(|_| anyhow::anyhow!("the master came to an end"))??;
            ended.trouble.map_or(Ok(()), Err)?;
        }
        verdict::tell(&self, ended, told, &names)
    }

    /// The clock.
    fn clock(
        &self,
        registry: &Registry,
        role: &str,
        mac: Option<[u8; 6]>,
        epoch_ns: u64,
    ) -> anyhow::Result<Box<dyn node::Node>> {
        let mut keys = self.keys(role)?;
        keys.push(format!("clock.epoch_ns = {epoch_ns}"));
        if let Some(mac) = mac {
            keys.push(format!(
                "mac = {:?}",
                packet::ethernet::Mac(mac).to_string()
            ));
        }
        // What somebody sets stands instead of that.
        let name = |line: &str| line.split('=').next().unwrap_or("").trim().to_string();
        let set: Vec<String> = self.set.iter().map(|line| name(line)).collect();
        keys.retain(|line| !set.contains(&name(line)));
        keys.extend(self.set.iter().cloned());
        let node = registry.node(self.method.kind(), &keys.join("\n"), 1);
        node.map_err(|faults| anyhow::anyhow!("{faults}"))
    }

    fn domain(&self) -> u8 {
        self.domain.unwrap_or(0)
    }

    fn delay(&self) -> &str {
        self.delay.as_deref().unwrap_or("end-to-end")
    }
}
