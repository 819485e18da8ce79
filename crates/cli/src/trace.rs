//! `wire trace`: the route to a target through load balancers, with the port's own timer and stamps.

mod archive;
mod report;

use crate::Verdict;
use crate::ping::route::{self, Origin};
use crate::ping::session::{Clock, Prober, Session};
use crate::ports::spec;
use ::trace::Algorithm;
use ::trace::probe::Protocol;
use ::trace::tracer::{Config, Trace as Tracer};
use anyhow::Context;
use archive::{Archive, MAX_LOG};
use live::port::pace::Pacer;
use live::port::{self, Options, PortSpec};
use node::{Out, Time};
use report::Report;
use std::net::IpAddr;
use std::path::PathBuf;

/// Trace all paths to a host, with loss and round trip of each interface
///
/// Finds all interfaces and links of the paths: probes of one flow take one path, so flows are kept and
/// varied on purpose (MDA-Lite Paris traceroute). Then each interface is probed --probes times in each
/// of --rounds. Stamps are those of `wire ping`, and the report says how accurate they are.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire trace eth0 10.0.0.2 --source 10.0.0.1
  wire trace eth0 10.0.0.2 --source 10.0.0.1 --protocol tcp --rounds 10 --dot paths.dot
  wire trace eth0 10.0.0.2 --source 10.0.0.1 --protocol tcp --warts path.warts")]
pub struct Trace {
    /// By which port: an interface, tap:NAME, xdp:IFACE, udp:HOST:PORT
    #[arg(value_parser = spec())]
    port: PortSpec,
    /// The target, an IPv4 or IPv6 address
    target: IpAddr,
    /// Protocol of probes
    #[arg(long, value_enum, default_value = "udp")]
    protocol: ProtocolName,
    /// All paths (mda-lite, mda), or one path of one flow (paris)
    #[arg(
        id = "search",
        long = "algorithm",
        value_name = "ALGORITHM",
        value_enum,
        default_value = "mda-lite"
    )]
    algorithm: AlgorithmName,
    /// Rounds in which each interface is probed
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,
    /// Probes to each interface in a round
    #[arg(long, value_name = "N", default_value_t = 3)]
    probes: u32,
    /// Maximum number of probes a second
    #[arg(long, value_name = "N", default_value_t = 20)]
    rate: u32,
    /// TTL of the first hop
    #[arg(long, value_name = "N", default_value_t = 1)]
    first_hop: u8,
    /// TTL of the last hop, at most 64
    #[arg(long, value_name = "N", default_value_t = 30)]
    max_hops: u8,
    /// A probe without an answer after this time is lost
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    timeout: Time,
    /// Probability of missing an interface after any of --branchings branching points
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    alpha: f64,
    /// Number of branching points that share --alpha
    #[arg(long, value_name = "N", default_value_t = 1)]
    branchings: u32,
    /// Destination port, instead of 33434, or 80 with TCP
    #[arg(long, value_name = "PORT")]
    dport: Option<u16>,
    #[command(flatten)]
    origin: Origin,
    /// Interfaces, links and the report as JSON Lines
    #[arg(long)]
    json: bool,
    /// The graph of interfaces in the language of Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Write all probes and answers as a scamper archive (warts)
    #[arg(long, value_name = "FILE")]
    warts: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ProtocolName {
    Udp,
    Tcp,
    Icmp,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AlgorithmName {
    Paris,
    Mda,
    MdaLite,
}

impl Trace {
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let options = Options {
            tick: self.origin.tick,
            ..Options::default()
        };
        let mut port = port::open(&self.port, &options)?;
        let route = route::find(&self.port, self.target, &self.origin, &port.info)?;
        let config = Config {
            target: self.target,
            source: route.source,
            mac: route.mac,
            gateway: route.gateway,
            protocol: match self.protocol {
                ProtocolName::Udp => Protocol::Udp,
                ProtocolName::Tcp => Protocol::Tcp,
                ProtocolName::Icmp => Protocol::Icmp,
            },
            algorithm: match self.algorithm {
                AlgorithmName::Paris => Algorithm::Paris,
                AlgorithmName::Mda => Algorithm::Mda,
                AlgorithmName::MdaLite => Algorithm::MdaLite,
            },
            first_hop: self.first_hop,
            max_hops: self.max_hops,
            probes: self.probes,
            rounds: self.rounds,
            rate: self.rate,
            timeout: self.timeout,
            alpha: self.alpha,
            branchings: self.branchings,
            port: self.dport,
            // Differs from that of another trace on this machine.
            identifier: (u64::from(std::process::id()).wrapping_mul(0x9E37_79B9) >> 8) as u16,
            answers: !route.system_answers,
            start: Time::ZERO,
            ..Config::default()
        };
        let mut node = Tracer::new(config).context("cannot trace with these options")?;
        let archive = self.warts.as_deref().map(Archive::new).transpose()?;
        if archive.is_some() {
            node.keep_log(MAX_LOG);
        }
        let report = Report::new(&self, &port.info, &route)?;
        confine::ports([&self.port], self.dot.is_some() || self.warts.is_some())?;
        let pacer = Pacer::start(port.tx, self.origin.tick)?;
        let watch = pacer.watch();
        let mut session = Session {
            node,
            pacer: &pacer,
            out: Out::default(),
            clock: Clock::new(self.origin.tick),
        };
        let result = session.run(&mut *port.rx, &mut |_| Ok(()));
        let (node, clock) = (session.node, session.clock);
        let sent = pacer.stop();
        report.end(&node, &watch)?;
        if let Some(archive) = archive {
            archive.end(&node, &clock)?;
        }
        result?;
        if let Some(error) = sent.error {
            return Err(error.into());
        }
        let verdict = Verdict::if_good(node.is_reached());
        Ok(verdict.max(Verdict::if_done(node.is_over())))
    }
}

impl Prober for Tracer {
    type Answer = ();

    fn sent(&self) -> u64 {
        self.sent()
    }

    fn departed(&mut self, at: Time) {
        self.departed(at);
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }

    fn take_answer(&mut self) -> Option<()> {
        None
    }
}
