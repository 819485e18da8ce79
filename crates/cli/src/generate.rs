//! `wire gen`: made or replayed packets at exact times, to a port or as lines, records or a capture.

mod schedule;

use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::form::{Form, FormOptions};
use crate::output::{Buffering, Output};
use crate::ports::spec;
use crate::report::{self, Detail};
use crate::select::{Filter, Network};
use crate::time::tick;
use ::capture::clock;
use anyhow::Context;
use confine::Permissions;
use lab::{Notes, Replayed};
use live::port::pace::{Pacer, SendRate};
use live::port::{self, Options, PortSpec};
use node::{Node, Out, Rate, Time};
use nodes::generator::{Config, Generator, Pattern, Payload, Schedule, Sizes};
use packet::ethernet::Mac;
use packet::{Departure, Packet, Stamp, Tick, word::Timer};
use std::net::IpAddr;
use std::path::PathBuf;

/// From the start to the first departure on a port, in ns: time to make packets meanwhile.
const LEAD: u64 = 10_000_000;

/// Make or replay packets with an exact schedule, for a port or as lines
///
/// Without PORT they are written with departures for `wire send` or a port's file: the first marks
/// timer 1, the others leave so long after it. Made ones are UDP and carry a stream and a sequence
/// number. What the schedule was is told behind a port's report and with --json; --dry tells only that.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire gen --count 100 --gap 10ms > /dev/ethpipe/1
  wire gen eth0 --rate 1Gb/s --imix --count 100000
  wire gen --rate 3G --size 'cbr2(792,0.5)' --pattern 'chains(0.5)' -c 9999 --dry")]
pub struct Generate {
    /// Where to: an interface, tap:NAME, xdp:IFACE, udp:HOST:PORT
    #[arg(value_parser = spec())]
    port: Option<PortSpec>,
    /// Stop after this many packets; without it or --duration they never end
    #[arg(long, short, value_name = "N")]
    count: Option<u64>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// From the start of a packet to that of the next (default 1ms)
    #[arg(long, value_name = "TIME", group = "pace")]
    gap: Option<Time>,
    /// Bits a second, preamble and gap between frames counted: 100Mb/s
    #[arg(long, value_name = "RATE", group = "pace")]
    rate: Option<Rate>,
    /// Packets a second
    #[arg(long, value_name = "N", group = "pace")]
    pps: Option<u64>,
    /// Idle characters between packets: 12 at full rate
    #[arg(long, value_name = "N", group = "pace")]
    idles: Option<u32>,
    /// The line whose characters count (default 10Gb/s, 800 ps each)
    #[arg(
        long,
        value_name = "RATE",
        default_value = "10Gb/s",
        hide_default_value = true
    )]
    line: Rate,
    /// even, poisson, train(N, TIME), train(N, every TIME), chains(D_LEN), or trains(N, R, G, D) as in MinProbe
    #[arg(
        long,
        value_name = "HOW",
        default_value = "even",
        hide_default_value = true
    )]
    pattern: Pattern,
    /// Bytes with FCS: 64 (the default, or the least that fits); 64,1518 in turn; 64-1518/2; imix; lognormal(MEAN,SD); cbr2(MEAN,D)
    #[arg(long, value_name = "BYTES")]
    size: Option<Sizes>,
    /// Sizes of the Internet mix: 64, 594 and 1518 bytes, 7 to 4 to 1
    #[arg(long, conflicts_with = "size")]
    imix: bool,
    /// What is drawn by lot comes from this
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    seed: u64,
    /// Packets of a file, with its own timing unless a pace is given
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Replay only packets that fit an expression as tcpdump has them, such as 'udp port 53'
    #[arg(long, short, value_name = "EXPRESSION", requires = "replay")]
    filter: Option<String>,
    #[command(flatten)]
    network: Network,
    /// Replay so many times as fast
    #[arg(long, alias = "scale", value_name = "FACTOR", requires = "replay")]
    speed: Option<f64>,
    /// Replay so often; 0 for ever
    #[arg(long = "loop", alias = "loops", value_name = "N", requires = "replay")]
    loops: Option<u64>,
    /// Source MAC address
    #[arg(long, value_name = "MAC")]
    src: Option<Mac>,
    /// Destination MAC address
    #[arg(long, value_name = "MAC")]
    dst: Option<Mac>,
    /// Source IP address
    #[arg(long, value_name = "ADDRESS")]
    ip_src: Option<IpAddr>,
    /// Destination IP address
    #[arg(long, value_name = "ADDRESS")]
    ip_dst: Option<IpAddr>,
    /// UDP source port
    #[arg(long, value_name = "PORT")]
    sport: Option<u16>,
    /// UDP destination port
    #[arg(long, value_name = "PORT")]
    dport: Option<u16>,
    /// Use so many UDP source ports in turn
    #[arg(long, value_name = "N")]
    flows: Option<u16>,
    /// VLAN identifier of an 802.1Q tag
    #[arg(long, value_name = "ID")]
    vlan: Option<u16>,
    /// What is behind the probe: zeros, random, random(SHARE) with zeros behind, text
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "zeros",
        hide_default_value = true
    )]
    payload: Payload,
    /// The stream's number, 0 to 65535
    #[arg(long, value_name = "N", default_value_t = 0)]
    stream: u16,
    /// Send by so many threads and sockets, each flow by one of them
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, requires = "port",
        value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
    /// Send nothing; tell what the schedule is
    #[arg(long, conflicts_with = "port")]
    dry: bool,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    strictness: Strictness,
}

/// Packets that a pacing thread is given at a time, where there are several of these: each has real-time priority, and
/// would take the processor from who makes packets for every one of them.
const LOT: usize = 512;

/// Packets for one of several pacing threads.
#[derive(Default)]
struct Lot {
    /// When each leaves, and where its bytes end.
    packets: Vec<(Departure, usize)>,
    bytes: Vec<u8>,
}

impl Lot {
    fn add(&mut self, departure: Departure, bytes: &[u8], pacer: &Pacer) -> anyhow::Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.packets.push((departure, self.bytes.len()));
        match self.packets.len() < LOT {
            true => Ok(()),
            false => self.submit(pacer),
        }
    }

    fn submit(&mut self, pacer: &Pacer) -> anyhow::Result<()> {
        let mut from = 0;
        let packets = self.packets.iter().map(|&(departure, end)| {
            let frame = &self.bytes[std::mem::replace(&mut from, end)..end];
            (departure, frame)
        });
        let taken = pacer.submit_all(packets);
        self.packets.clear();
        self.bytes.clear();
        Ok(taken?)
    }
}

impl Generate {
    /// Makes them all.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let complaints = self.strictness.complaints();
        let verdict = match &self.port {
            None if self.dry => self.rehearse(&complaints),
            None => self.write(&complaints),
            Some(spec) => self.send(spec, &complaints),
        };
        let input = complaints.finish();
        Ok(verdict?.max(input))
    }

    /// Only the report, on standard output.
    fn rehearse(&self, complaints: &Complaints) -> anyhow::Result<Verdict> {
        anyhow::ensure!(
            !self.is_endless(),
            "--dry tells what a whole schedule is, and this one never ends: add --count N or --duration TIME"
        );
        let mut stdout = Output::open(&self.buffering)?;
        let filter = self.compiled()?;
        confine::reader(Permissions::default())?;
        let schedule = self.make(filter, complaints, |_, _| Ok(()))?;
        let told = match self.form.json() {
            true => schedule::object(&schedule).to_string(),
            false => schedule::table(&schedule),
        };
        stdout.write(format!("{}\n", told.trim_end()).as_bytes())?;
        stdout.finish()?;
        Ok(Verdict::Good)
    }

    /// To standard output.
    fn write(&self, complaints: &Complaints) -> anyhow::Result<Verdict> {
        let mut stdout = Output::open(&self.buffering)?;
        let filter = self.compiled()?;
        confine::reader(Permissions::default())?;
        let mut form = self.form.form();
        // A word with a mode is for a port; where words are times, they count from zero.
        let departures = matches!(form, Form::Lines(_) | Form::Records);
        let mut first = None;
        let mut short = 0;
        let schedule = self.make(filter, complaints, |at, bytes| {
            if bytes.len() < packet::MIN_FRAME_LEN {
                short += 1;
                return Ok(());
            }
            let since = at - *first.get_or_insert(at);
            let ticks = self.ticks(since.as_ps().into())?;
            let departure = match Timer::new(1) {
                Some(timer) if departures && ticks == 0 => Departure::Mark(timer),
                Some(timer) if departures => Departure::After(timer, ticks),
                _ => Departure::At(ticks),
            };
            let packet = Packet {
                stamp: Some(Stamp::Word(departure.to_word())),
                hash: None,
                bytes,
            };
            form.append(&packet, self.tick, stdout.buffer())?;
            stdout.relieve()
        })?;
        let what = format_args!(
            "{short} packets were not written: they are shorter than the 14 bytes of an Ethernet header, \
             which lines and records begin with"
        );
        complaints.lost(short, what);
        if self.form.json() {
            stdout.write(format!("{}\n", schedule::object(&schedule)).as_bytes())?;
        }
        stdout.finish()?;
        Ok(Verdict::Good)
    }

    /// To a port.
    fn send(&self, spec: &PortSpec, complaints: &Complaints) -> anyhow::Result<Verdict> {
        let options = Options {
            tick: self.tick,
            ..Options::default()
        };
        let several = matches!(spec, PortSpec::Interface(_) | PortSpec::Dummy(_));
        anyhow::ensure!(
            self.threads == 1 || several,
            "--threads is for interfaces: `{spec}` has one way in"
        );
        let flows = u64::from(self.flows.unwrap_or(1));
        anyhow::ensure!(
            flows >= self.threads.into() || self.replay.is_some(),
            "--threads {}: a flow goes by one thread, and there are {flows}: add --flows N, at least as many",
            self.threads
        );
        let (mut name, mut ways) = (String::new(), Vec::new());
        for _ in 0..self.threads {
            let port = port::open(spec, &options)?;
            name = port.info.name;
            ways.push(port.tx);
        }
        let filter = self.compiled()?;
        confine::ports([spec], self.replay.is_some())?;
        let end = match (self.count, self.duration) {
            (Some(count), None) => format!("{count} packets, or until Ctrl-C"),
            (_, duration) => report::until(duration),
        };
        report::begin_watched("sending to", &name, &end);
        let pacers = ways.into_iter().map(|tx| Pacer::start(tx, self.tick));
        let pacers = pacers.collect::<Result<Vec<_>, _>>()?;
        let mut packets = 0;
        let mut lots: Vec<Lot> = pacers.iter().map(|_| Lot::default()).collect();
        // A run's time begins at zero; the port's counter has been going since boot.
        let start = u128::from(clock::now_ns() + LEAD) * 1_000;
        let made = self.make(filter, complaints, |at, bytes| {
            let at = start + u128::from(at.as_ps());
            let departure = Departure::At(self.ticks(at)?);
            if let [pacer] = &pacers[..] {
                return Ok(pacer.submit(departure, bytes)?);
            }
            // Made packets are of their flows in turn.
            let flow = match self.replay {
                None => packets % flows,
                Some(_) => packet::flow::hash(bytes).into(),
            };
            packets += 1;
            let thread = flow as usize % pacers.len();
            lots[thread].add(departure, bytes, &pacers[thread])
        });
        let made = made.and_then(|schedule| {
            let mut lots = lots.iter_mut().zip(&pacers);
            lots.try_for_each(|(lot, pacer)| lot.submit(pacer))?;
            Ok(schedule)
        });
        let mut verdict = Ok(Verdict::Good);
        let mut rate = SendRate::default();
        for (thread, pacer) in pacers.into_iter().enumerate() {
            let report = pacer.finish();
            let done = self.is_endless() || report.unsent == 0;
            rate.merge(&report.rate);
            let name = match self.threads {
                1 => name.clone(),
                _ => format!("{name}, thread {}", thread + 1),
            };
            let told = report::tell(&name, report, self.form.json(), self.detail);
            verdict = verdict.and_then(|verdict: Verdict| {
                told.map(|told| verdict.max(told).max(Verdict::if_done(done)))
            });
        }
        if self.threads > 1 {
            self.tell_rate(&name, &rate)?;
        }
        match made {
            Err(error) if !error.is::<live::port::pace::Stopped>() => Err(error),
            Err(_) => verdict,
            Ok(schedule) if self.form.json() => {
                println!("{}", schedule::object(&schedule));
                verdict
            }
            Ok(schedule) => {
                report::put(
                    &format!("schedule: {}\n", schedule::line(&schedule)),
                    &[name],
                )?;
                verdict
            }
        }
    }

    /// The rate of all threads together.
    fn tell_rate(&self, port: &str, rate: &SendRate) -> anyhow::Result<()> {
        if self.form.json() {
            let mut line = json_line!("gen", "rate", { "port": port, "threads": self.threads });
            report::put_rate(&mut line, rate);
            println!("{line}");
            return Ok(());
        }
        match report::rate(rate) {
            Some(rate) => report::put(
                &format!("{port}: all threads together at {rate}\n"),
                &[port.into()],
            ),
            None => Ok(()),
        }
    }

    /// A time in ticks.
    fn ticks(&self, ps: u128) -> anyhow::Result<u64> {
        self.tick.checked_count(ps).with_context(|| {
            let tick = Time::from_ps(self.tick.as_ps().into());
            format!("a packet leaves later than a departure can say, which counts up to 2^56 ticks of {tick}; use a longer --tick")
        })
    }

    /// The filter of what is replayed: before the command gives up what compiling it needs.
    fn compiled(&self) -> anyhow::Result<Option<live::filter::Filter>> {
        Filter::of(self.filter.clone(), self.network).compiled()
    }

    /// Makes packets, the first to leave at 1 us, until there are enough or a signal asks to stop.
    fn make(
        &self,
        filter: Option<live::filter::Filter>,
        complaints: &Complaints,
        mut take: impl FnMut(Time, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Schedule> {
        let start = Time::from_us(1);
        let config = self.config(start);
        let notes = Notes::default();
        let generator = match &self.replay {
            None => Generator::new(config),
            Some(path) => {
                let source = Replayed::open(path.clone(), notes.clone());
                let source = source.map_err(anyhow::Error::msg)?.with_tick(self.tick);
                let source = match filter {
                    Some(filter) => source.with_filter(filter),
                    None => source,
                };
                let source = match complaints.strict() {
                    true => source.strict(),
                    false => source,
                };
                Generator::replay(config, Box::new(source))
            }
        };
        let mut generator = generator.context("cannot generate")?;
        let mut schedule = Schedule::new(self.line);
        let mut out = Out::default();
        let mut left = Vec::new();
        let mut stopped = false;
        while let Some(at) = generator.next_wake() {
            stopped = ::capture::signal::stop_requested();
            if stopped {
                // What never ends by itself is ended by a signal.
                if !self.is_endless() {
                    complaints.stopped();
                }
                break;
            }
            generator.wake(at, &mut out);
            left.extend(out.sends());
            for departure in left.drain(..) {
                let at = match departure.when {
                    node::When::At(at) => at,
                    node::When::Now => start,
                };
                take(at, &departure.frame)?;
                schedule.add(at, departure.frame.len());
                out.done(departure.frame);
            }
        }
        if generator.is_out_of_time() && !stopped {
            let unsent = self.count.map_or(1, |count| count - schedule.packets());
            complaints.lost(
                unsent,
                format_args!(
                    "the schedule ended early, behind {} packets: the next one would leave after 213 days, where the time of a run ends; a shorter gap fits more",
                    schedule.packets()
                ),
            );
        }
        if notes.is_stopped() {
            complaints.stopped();
        }
        for note in notes.list() {
            complaints.note(note);
        }
        let lost = notes.losses();
        anyhow::ensure!(lost == 0 || !complaints.strict(), "the replay ended there");
        let what = format_args!("{lost} packets of the file were skipped, cut short or lost");
        complaints.lost(lost, what);
        for (reason, count) in out.drops() {
            complaints.lost(
                *count,
                format_args!("{count} packets were not sent: {reason}"),
            );
        }
        Ok(schedule)
    }

    /// Whether it goes on until a signal ends it.
    fn is_endless(&self) -> bool {
        let made = self.count.is_none() && self.duration.is_none();
        made && (self.replay.is_none() || self.loops == Some(0))
    }

    fn config(&self, start: Time) -> Config {
        let defaults = Config::default();
        Config {
            start,
            gap: self.gap,
            rate: self.rate,
            packets_per_second: self.pps,
            count: self.count,
            duration: self.duration,
            size: match (&self.size, self.imix) {
                (_, true) => Sizes::Imix,
                (Some(size), false) => size.clone(),
                (None, false) => defaults.size,
            },
            idles: self.idles,
            line: self.line,
            pattern: self.pattern,
            seed: self.seed,
            speed: self.speed.unwrap_or(defaults.speed),
            loops: self.loops.unwrap_or(defaults.loops),
            source: self.src.unwrap_or(defaults.source),
            destination: self.dst.unwrap_or(defaults.destination),
            ip_source: self.ip_src.unwrap_or(defaults.ip_source),
            ip_destination: self.ip_dst.unwrap_or(defaults.ip_destination),
            udp_source: self.sport.unwrap_or(defaults.udp_source),
            udp_destination: self.dport.unwrap_or(defaults.udp_destination),
            flows: self.flows.unwrap_or(defaults.flows),
            vlan: self.vlan,
            stream: self.stream,
            payload: self.payload,
            ..defaults
        }
    }
}
