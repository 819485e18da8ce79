//! `wire dump`: lines, records or captures as a capture with nanosecond stamps (`ethdump`, paper 001
//! section 6.1).

use crate::Verdict;
use crate::cat::tick;
use crate::complaints::Strictness;
use crate::confine::{self, Still};
use crate::departures::Departures;
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Ended, Packets};
use crate::profile::Subjects;
use crate::{stream, zero};
use anyhow::bail;
use live::file::Item;
use nodes::profile::Config;
use packet::capture::{ETHERNET, Interface, PcapWriter, PcapngWriter, Resolution, Statistics};
use packet::{LONGEST, Tick};
use std::path::{Path, PathBuf};

/// Write packets as a pcapng or pcap file with nanosecond stamps
///
/// Lines and records become absolute in time by the machine's epoch, or by that of --epoch; the file
/// says which, so that `wire undump` gives the same timestamps back. Departures get the time at which
/// a port would send them; the stamps of captures are kept.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire cat eth0 --count 100 | wire dump -o eth0.pcapng")]
pub struct Dump {
    /// Files to read, `-` for standard input
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write the older pcap format, with nanosecond stamps
    #[arg(long)]
    pcap: bool,
    /// The time at which timestamps are zero, in ns since 1970
    #[arg(long, value_name = "NS")]
    epoch: Option<u64>,
    /// The unit of timestamps, such as 8ns (the default) or 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// Say at the end, on stderr, what the packets are like in time; see `wire profile`
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

/// A capture being written.
struct Writer {
    out: Output,
    format: Format,
    tick: Tick,
    epoch_ns: u64,
    begun: bool,
    packets: u64,
    departures: Departures,
    /// What the packets are like in time, if that is to be told.
    summary: Option<Subjects>,
}

enum Format {
    Pcap(PcapWriter),
    Pcapng(PcapngWriter),
}

impl Dump {
    /// Writes every packet of every file.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        let mut writer = Writer {
            out: Output::create(&self.output, &self.files, &self.buffering)?,
            format: match self.pcap {
                true => Format::Pcap(PcapWriter::NANO),
                false => Format::Pcapng(PcapngWriter::default()),
            },
            tick: self.tick,
            epoch_ns: self.epoch.unwrap_or_else(live::clock::epoch_ns),
            begun: false,
            packets: 0,
            departures: Departures::new(self.tick),
            summary: self
                .summary
                .then(|| Subjects::new(Config::default(), self.tick)),
        };
        if writer.out.is_terminal() {
            bail!("a capture is not for a terminal; use -o FILE, or pipe it into another command");
        }
        let writes = self.output != Path::new("-");
        confine::reader(Still {
            writes,
            ..Still::default()
        })?;
        let complaints = self.strictness.complaints();
        let copy = |writer: &mut Writer| -> anyhow::Result<()> {
            for path in &self.files {
                let mut packets = Packets::open(path, &complaints)?.with_lengths();
                if let Some(summary) = &mut writer.summary {
                    summary.begin(&stream::name(path));
                }
                let copied = packets.copy(writer);
                if let Some(summary) = &mut writer.summary {
                    summary.end();
                }
                if copied? == Ended::Stopped {
                    break;
                }
            }
            Ok(())
        };
        let result = copy(&mut writer);
        let summary = writer.summary.take();
        // What was taken before an error is a whole capture; without the error it takes its place.
        if result.is_ok() || writer.packets > 0 {
            writer.end();
        }
        if result.is_ok() {
            writer.out.finish()?;
        }
        if let Some(summary) = summary {
            summary.tell();
        }
        let verdict = complaints.finish();
        result?;
        Ok(verdict)
    }
}

impl Consumer for Writer {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        self.begin(Some(item));
        let at_ps = match item.at_ps {
            Some(at_ps) => at_ps,
            None => {
                let since = self.departures.ps(item.word.unwrap_or(0));
                u128::from(self.epoch_ns) * 1_000 + since
            }
        };
        if let Some(summary) = &mut self.summary {
            summary.packet(item, at_ps)?;
        }
        let out = self.out.buffer();
        match &mut self.format {
            Format::Pcap(pcap) => pcap.cut_packet(at_ps, item.original_len, item.bytes, out),
            Format::Pcapng(pcapng) => {
                pcapng.cut_packet(0, at_ps, item.original_len, item.bytes, out);
            }
        }
        self.packets += 1;
        self.out.relieve()?;
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.out.flush()
    }
}

impl Writer {
    /// Writes the header, once. A capture that is converted keeps what it says about its interface,
    /// and how fine its stamps are.
    fn begin(&mut self, first: Option<&Item<'_>>) {
        if self.begun {
            return;
        }
        self.begun = true;
        let out = self.out.buffer();
        match &mut self.format {
            Format::Pcap(pcap) => pcap.header(ETHERNET, LONGEST as u32, out),
            Format::Pcapng(pcapng) => {
                // A word of whole nanoseconds is exact in nanoseconds. Picoseconds reach 213 days
                // from the epoch, which no other tick of a running machine exceeds by much.
                let described = first.and_then(|item| item.described);
                let fine = described.is_some_and(|of| of.resolution.to_ps(1, 0) < 1_000);
                let whole = self.tick.as_ps().is_multiple_of(1_000) && !fine;
                let description = match first.map_or("", |item| item.description) {
                    "" => zero::describe(self.tick, self.epoch_ns),
                    known => known.into(),
                };
                let zero_ps = first.and_then(|item| item.at_ps);
                let zero_ps = zero_ps.unwrap_or(u128::from(self.epoch_ns) * 1_000);
                // Packets may be out of order by up to an hour.
                let epoch_s = i64::try_from(zero_ps / 1_000_000_000_000).unwrap_or(i64::MAX);
                let epoch_s = epoch_s.saturating_sub(3_600).max(0);
                let interface = Interface {
                    resolution: if whole {
                        Resolution::NANO
                    } else {
                        Resolution::PICO
                    },
                    offset_s: if whole { 0 } else { epoch_s },
                    description,
                    name: match described.map(|of| of.name.as_str()) {
                        None | Some("") => "wire".into(),
                        Some(name) => name.into(),
                    },
                    speed: described.map_or(0, |of| of.speed),
                    ..Interface::default()
                };
                pcapng.header(concat!("wire ", env!("CARGO_PKG_VERSION")), out);
                pcapng.interface(&interface, out);
            }
        }
    }

    /// Writes the header if nothing has been, and the statistics.
    fn end(&mut self) {
        self.begin(None);
        if let Format::Pcapng(pcapng) = &self.format {
            let now_ns = live::clock::epoch_ns() + live::clock::now_ns();
            let statistics = Statistics {
                interface: 0,
                at_ps: u128::from(now_ns) * 1_000,
                accepted: Some(self.packets),
                ..Statistics::default()
            };
            pcapng.statistics(&statistics, self.out.buffer());
        }
    }
}
