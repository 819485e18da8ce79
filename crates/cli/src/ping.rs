//! `wire ping`: round trips from a port, by the port's own timer and stamps.

mod report;
pub mod route;

use crate::Verdict;
use crate::confine;
use crate::ports::spec;
use crate::time::tick;
use ::capture::clock::now_ns;
use ::capture::signal::stop_requested;
use anyhow::{Context, bail};
use live::port::pace::{Pacer, Watch};
use live::port::{self, Options, PortSpec, Receive};
use node::Size;
use node::{Node, Out, Port, Time};
use nodes::ping::{Answer, Config, Method, Ping as Pinger};
use packet::ethernet::Mac;
use packet::word::{Departure, Tick, Timer};
use report::Report;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum interval between two passes of the loop.
const POLL_INTERVAL: Time = Time::from_ms(50);
/// A departure that takes longer than this has not been.
const STUCK_NS: u64 = 2_000_000_000;

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
    /// The address that asks, instead of the interface's own
    #[arg(long, value_name = "IP")]
    source: Option<IpAddr>,
    /// Its MAC address, instead of the port's
    #[arg(long, value_name = "MAC")]
    mac: Option<Mac>,
    /// The router to the target, instead of the system's
    #[arg(long, value_name = "IP")]
    via: Option<IpAddr>,
    /// The unit of the port's timer and stamps, such as 8ns (the default) or 1ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
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
            tick: self.tick,
            ..Options::default()
        };
        let mut port = port::open(&self.port, &options)?;
        let route = route::find(&self, &port.info)?;
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
        let pacer = Pacer::start(port.tx, self.tick)?;
        let watch = pacer.watch();
        let mut session = Session {
            node,
            pacer: &pacer,
            out: Out::default(),
            clock: Clock::new(self.tick),
        };
        let trouble = session.run(&mut *port.rx, &mut report);
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

/// The port's counter, in ticks from the start, as the node's time.
#[derive(Clone, Copy)]
struct Clock {
    tick: Tick,
    zero: u128,
}

impl Clock {
    fn new(tick: Tick) -> Clock {
        let mut clock = Clock { tick, zero: 0 };
        clock.zero = clock.ps(now_ns());
        clock
    }

    /// Cut to whole ticks, as a word has them.
    fn ps(&self, ns: u64) -> u128 {
        self.tick.ps(self.tick.count(u128::from(ns) * 1000))
    }

    fn time(&self, ns: u64) -> Time {
        let ps = self.ps(ns).saturating_sub(self.zero);
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    fn of_ticks(&self, ticks: u64) -> Time {
        let ps = self.tick.ps(ticks).saturating_sub(self.zero);
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    fn now(&self) -> Time {
        self.time(now_ns())
    }
}

/// A pinger on a port.
struct Session<'a> {
    node: Pinger,
    pacer: &'a Pacer,
    out: Out,
    clock: Clock,
}

impl Session<'_> {
    /// Until all is done, or somebody asks for the end.
    fn run(&mut self, rx: &mut dyn Receive, report: &mut Report) -> anyhow::Result<()> {
        live::scheduling::for_node();
        let mut answers: Vec<Answer> = Vec::new();
        while !stop_requested() && !self.node.is_over() {
            let now = self.clock.now();
            let wake = self.node.next_wake().unwrap_or(Time::MAX);
            if wake <= now {
                let sent = self.node.sent();
                self.node.wake(now, &mut self.out);
                self.leave(self.node.sent() > sent)?;
                continue;
            }
            let wait = Duration::from_nanos((wake - now).as_ns().min(POLL_INTERVAL.as_ns()) + 1);
            let Session {
                node, out, clock, ..
            } = self;
            rx.receive(wait, &mut |packet| {
                let mut frame = out.pool().take_with(packet.bytes);
                frame.set_arrived(clock.time(packet.at_ns));
                node.frames(clock.now(), Port(0), &mut vec![frame], out);
                answers.extend(node.take_answer());
            })?;
            self.leave(false)?;
            for answer in answers.drain(..) {
                report.answer(&answer)?;
            }
            report.flush()?;
        }
        Ok(())
    }

    /// Sends what the node has given; `marked`: the port's timer keeps when that really was.
    fn leave(&mut self, marked: bool) -> anyhow::Result<()> {
        let timer = Timer::new(1).expect("there is a timer 1");
        let watch = self.pacer.watch();
        let mut marked = marked;
        for departure in self.out.sends() {
            // A probe leaves with the first of its fragments.
            let marked = std::mem::take(&mut marked);
            let (before, refused) = (watch.marks(), watch.refused());
            let word = match marked {
                true => Departure::Mark(timer),
                false => Departure::Now,
            };
            self.pacer.submit(word, &departure.frame)?;
            if !marked {
                continue;
            }
            let begin = now_ns();
            while watch.marks() == before {
                if now_ns() > begin + STUCK_NS || stop_requested() {
                    break;
                }
                std::thread::park_timeout(Duration::from_micros(5));
            }
            if watch.refused() > refused {
                bail!("the port refuses probes of this size; choose a smaller --size");
            }
            if watch.marks() > before {
                self.node.departed(self.clock.of_ticks(watch.timers()[1]));
            }
        }
        Ok(())
    }
}
