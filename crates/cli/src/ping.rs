//! `wire ping`: round trips from a port, by the port's own timer and stamps.

pub mod accuracy;
mod report;
pub mod route;
pub mod session;

use crate::Verdict;
use crate::ports::spec;
use anyhow::Context;
use live::port::pace::{Pacer, Watch};
use live::port::{self, Options, PortSpec};
use node::Size;
use node::{Out, Time};
use nodes::ping::{Answer, Config, Method, Ping as Pinger};
use report::Report;
use route::Origin;
use session::{Clock, Prober, Session};
use std::net::IpAddr;
use std::path::PathBuf;

/// Ask a host whether it is there, and measure how long the answer takes
///
/// ICMP echo over IPv4 or IPv6, or with --arp ARP or neighbour discovery. Probes leave with a mark: the
/// port's timer keeps their real departure, and the port stamps the answers' arrival, so that the round
/// trip holds nothing of this program. The report says what both are worth. On an interface with an address
/// the system goes on using it; its own pings are told apart by the identifier.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire ping eth0 10.0.0.2 --source 10.0.0.1 --count 3 --interval 10ms
  wire ping eth0 10.0.0.2 --source 10.0.0.1 --arp -c 100 -i 0s --quiet --plot arp.png")]
pub struct Ping {
    /// By which port: an interface, tap:NAME, xdp:IFACE, udp:HOST:PORT
    #[arg(value_parser = spec())]
    port: PortSpec,
    /// Whose answer is wanted, an IPv4 or IPv6 address
    target: IpAddr,
    /// ARP, or neighbour discovery for IPv6, instead of ICMP echo
    #[arg(long)]
    arp: bool,
    /// Stop after this many probes; without it they never end
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Between probes; 0: the next when the last was answered, or 10 ms later
    #[arg(long, short, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    interval: Time,
    /// Bytes behind the ICMP header; a probe above the interface's MTU leaves in fragments
    #[arg(long, short, value_name = "SIZE", default_value = "56")]
    size: Size,
    /// An answer that takes longer is late
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    timeout: Time,
    /// Hops that a probe may take
    #[arg(long, value_name = "N", default_value_t = 64)]
    ttl: u8,
    #[command(flatten)]
    origin: Origin,
    /// No line for each answer
    #[arg(long, short)]
    quiet: bool,
    /// Tell all of what the stamps are worth
    #[arg(long, short)]
    verbose: bool,
    /// Answers and the report as JSON Lines
    #[arg(long)]
    json: bool,
    /// Round trips over time and their distribution, as PNG or SVG by the ending
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Ping {
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
            method: if self.arp {
                Method::Neighbour
            } else {
                Method::Echo
            },
            count: self.count,
            interval: self.interval,
            size: usize::try_from(self.size.bytes())?,
            mtu: port.info.mtu.try_into()?,
            ttl: self.ttl,
            timeout: self.timeout,
            // Another than that of another pinger on this machine.
            identifier: (u64::from(std::process::id()).wrapping_mul(0x9E37_79B9) >> 8) as u16,
            answers: !route.system_answers,
            start: Time::ZERO,
            ..Config::default()
        };
        let node = Pinger::new(config).context("cannot ask that")?;
        let mut report = Report::new(&self, &port.info, &route)?;
        confine::ports([&self.port], self.plot.is_some())?;
        let pacer = Pacer::start(port.tx, self.origin.tick)?;
        let watch = pacer.watch();
        let mut session = Session {
            node,
            pacer: &pacer,
            out: Out::default(),
            clock: Clock::new(self.origin.tick),
        };
        let trouble = session.run(&mut *port.rx, &mut |answers| {
            for answer in answers.drain(..) {
                report.answer(&answer)?;
            }
            report.flush()
        });
        let node = session.node;
        let sent = pacer.stop();
        report.end(&node, &watch, &sent)?;
        trouble?;
        if let Some(error) = sent.error {
            return Err(error.into());
        }
        let verdict = Verdict::if_good(node.statistics().answered > 0);
        let done = self.count.is_none() || node.is_over();
        Ok(verdict.max(Verdict::if_done(done)))
    }
}

impl Prober for Pinger {
    type Answer = Answer;

    fn sent(&self) -> u64 {
        self.sent()
    }

    fn departed(&mut self, at: Time) {
        self.departed(at);
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }

    fn take_answer(&mut self) -> Option<Answer> {
        self.take_answer()
    }
}
