//! `wire probe`: how much a path carries, by RFC 9097's method.

mod address;
mod answer;
mod ask;
mod cookie;
mod desk;
mod intervals;
mod line;
mod outcome;
mod report;
mod trains;

use crate::Verdict;
use clap::builder::PossibleValuesParser;
use node::{Rate, Time};
use nodes::bandwidth::capacity::Settings;
use nodes::bandwidth::capacity::rates::{ROWS, Table};
use nodes::bandwidth::estimate::Method;
use packet::udpstp::{Algorithm, Direction, PORT};
use std::path::PathBuf;

/// Measure how much a path carries, with a server at its other end
///
/// Load goes over UDP, by the protocol of RFC 9946 (UDPSTP version 20), as fast as the path lets it: the capacity at the IP layer is the most
/// that arrives in a sub-interval, RFC 9097's method. On the other machine `wire probe --answer` runs, or Broadband Forum's udpst from 9.0.0 on. It fills
/// the path for as long as it takes: what gives way, as TCP does, counts as free. Says what it cost.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire probe --answer                        # on the one machine
  wire probe 192.0.2.7                       # on the other: down, then up
  wire probe 192.0.2.7 --down --duration 5s --plot rates.png
  wire probe 192.0.2.7 --method minprobe --capacity 200Mb/s  # what is free")]
pub struct Probe {
    /// The server, with its control port if that is not 24601
    #[arg(
        value_name = "HOST[:PORT]",
        required_unless_present = "answer",
        conflicts_with = "answer"
    )]
    host: Option<String>,
    /// From the server to here only
    #[arg(long, conflicts_with = "up")]
    down: bool,
    /// From here to the server only
    #[arg(long)]
    up: bool,
    /// Of load each way, whole seconds from 5s to 1h
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "10s")]
    duration: Time,
    /// Of a sub-interval, 100ms to 10s: one line, and the capacity is that of the best
    #[arg(long, short, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    interval: Time,
    /// How the rate follows: b, by steps (RFC 9097), or c, by a factor and again after a while
    #[arg(long, default_value = "b", value_parser = ["b", "c"], hide_possible_values = true)]
    algorithm: String,
    /// One rate all the time, instead of a search
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// The rate that the search begins with
    #[arg(long, value_name = "RATE", conflicts_with = "rate")]
    start_rate: Option<Rate>,
    /// Between two messages of what arrived, 5ms to 250ms
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "50ms")]
    trial: Time,
    /// Below this delay variation the rate grows
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "30ms")]
    low: Time,
    /// Above this it shrinks
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "90ms")]
    high: Time,
    /// Losses of a trial that are no congestion yet
    #[arg(long, value_name = "N", default_value_t = 10)]
    losses: u16,
    /// What comes out of order, or again, is a loss
    #[arg(long)]
    count_reordered: bool,
    /// Delay variation is that of one way, not of the round trip
    #[arg(long)]
    one_way: bool,
    /// Datagrams of an MTU of 1500 bytes, not 1250
    #[arg(long)]
    full_packets: bool,
    /// IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6')]
    ipv6: bool,
    /// Trains, up, and not load: minprobe, spruce, igi, ptr, pathchirp, pathload, topp, yaz, assolo or all
    #[arg(long, value_name = "METHOD", conflicts_with_all = ["down", "rate", "start_rate", "answer"],
        value_parser = PossibleValuesParser::new(Method::ALL.map(Method::name).into_iter().chain(["all"])), hide_possible_values = true)]
    method: Option<String>,
    /// Of trains: the most that the tight link may carry
    #[arg(long, value_name = "RATE", default_value = "1Gb/s")]
    capacity: Rate,
    /// Of trains: estimates of each method
    #[arg(long, value_name = "N", default_value_t = 10)]
    samples: u32,
    /// Of trains: packets of each; left out: the method's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=10_000))]
    packets: Option<u32>,
    /// Of trains: bytes of an IP packet; left out: 1500, or the MTU
    #[arg(long = "size", value_name = "BYTES", value_parser = clap::value_parser!(u16).range(66..=9000))]
    packet_size: Option<u16>,
    /// Exit with 1 if the capacity, or what is free, is below this
    #[arg(long, value_name = "RATE")]
    at_least: Option<Rate>,
    /// Answer: be the server
    #[arg(long)]
    answer: bool,
    /// Where it answers, instead of at all addresses of this machine
    #[arg(long, value_name = "ADDR[:PORT]", requires = "answer")]
    on: Option<String>,
    /// Tests at once that it has room for
    #[arg(long, value_name = "N", requires = "answer", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    at_once: u16,
    /// The most that a client may have sent, or send
    #[arg(long, value_name = "RATE", requires = "answer")]
    max_rate: Option<Rate>,
    /// The longest that a test may be
    #[arg(long, value_name = "TIME", requires = "answer", value_parser = node::time::seconds, default_value = "60s")]
    max_duration: Time,
    /// The key that both ends have, in a file with mode 0600; the server makes it if it is not there
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Serve clients of any address without a key: by default those of the Internet need one
    #[arg(long, requires = "answer", conflicts_with = "key_file")]
    public: bool,
    /// Serve clients that do not prove that they receive, such as udpst: load may then go to a forged address
    #[arg(long, requires = "answer")]
    any_client: bool,
    /// As root: the user that it becomes once its ports are open; without it one that nothing belongs to
    #[arg(long, value_name = "USER", requires = "answer")]
    user: Option<String>,
    /// It ends after so many tests
    #[arg(long, short, value_name = "N", requires = "answer")]
    count: Option<u64>,
    /// No line for each sub-interval
    #[arg(long, short)]
    quiet: bool,
    /// Tell all of each sub-interval, and of the settings
    #[arg(long, short)]
    verbose: bool,
    /// Lines and the report as JSON Lines
    #[arg(long)]
    json: bool,
    /// Rates, delay variation and loss, or what is free: PNG or SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Probe {
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        match &self.host {
            Some(host) => {
                let server = address::server(host, PORT, self.version())?;
                match self.method {
                    Some(_) => trains::run(&self, host, server),
                    None => ask::run(&self, host, server),
                }
            }
            None => answer::run(&self),
        }
    }

    fn version(&self) -> address::Version {
        match (self.ipv4, self.ipv6) {
            (true, _) => address::Version::V4,
            (_, true) => address::Version::V6,
            _ => address::Version::Any,
        }
    }

    /// Both ways, if none was chosen.
    fn directions(&self) -> &'static [Direction] {
        match (self.down, self.up) {
            (true, _) => &[Direction::Downstream],
            (_, true) => &[Direction::Upstream],
            _ => &[Direction::Downstream, Direction::Upstream],
        }
    }

    /// What is asked for.
    fn settings(&self, direction: Direction) -> anyhow::Result<Settings> {
        let table = Table::new(false, self.full_packets);
        // The last row is never wanted by a rate: it is as fast as this protocol goes.
        let row = |rate: Rate| table.within(rate.bits_per_second() as f64).min(ROWS - 1) as u16;
        let seconds = Time::from_secs(1);
        anyhow::ensure!(
            self.duration.as_ps().is_multiple_of(seconds.as_ps())
                && (5..=3600).contains(&(self.duration.as_ns() / seconds.as_ns())),
            "--duration is whole seconds, from 5s to 3600s"
        );
        Ok(Settings {
            direction,
            test_time: (self.duration.as_ns() / seconds.as_ns()) as u16,
            sub_interval: milliseconds(self.interval, 100, 10_000, "--interval")?,
            trial_interval: milliseconds(self.trial, 5, 250, "--trial")?,
            low_threshold: milliseconds(self.low, 1, 10_000, "--low")?,
            upper_threshold: milliseconds(self.high, 1, 10_000, "--high")?,
            error_threshold: self.losses,
            ignore_reordered: !self.count_reordered,
            one_way: self.one_way,
            algorithm: match self.algorithm.as_str() {
                "c" => Algorithm::C,
                _ => Algorithm::B,
            },
            row: self.rate.map(row),
            start: self.start_rate.map_or(0, row),
            traditional_mtu: self.full_packets,
            ..Settings::default()
        })
    }
}

/// A time as messages have it.
fn milliseconds(time: Time, least: u16, most: u16, option: &str) -> anyhow::Result<u16> {
    let ms = time.as_ns() / 1_000_000;
    match u16::try_from(ms) {
        Ok(ms) if time == Time::from_ms(u64::from(ms)) && (least..=most).contains(&ms) => Ok(ms),
        _ => anyhow::bail!("{option} is whole milliseconds, from {least}ms to {most}ms"),
    }
}

/// Which way, in a word.
fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Upstream => "up",
        Direction::Downstream => "down",
    }
}
