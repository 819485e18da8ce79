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
use anyhow::{bail, ensure};
use live::file::Item;
use nodes::profile::Config;
use packet::capture::{ETHERNET, Interface, PcapWriter, PcapngWriter, Resolution, Statistics};
use packet::{LONGEST, Tick};
use std::path::{Path, PathBuf};

const SECOND: u128 = 1_000_000_000_000;

/// Write packets as a pcapng or pcap file
///
/// Dates are kept to the last digit: the file has nanoseconds, and picoseconds where a packet needs them. Timestamp
/// words of lines and records become dates by the machine's epoch, or by that of --epoch; the file says which, so that
/// `wire undump --words` gives them back. Departures get the time at which a port would send them.
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
    /// The time at which timestamp words are zero, in ns since 1970
    #[arg(long, value_name = "NS")]
    epoch: Option<u64>,
    /// The unit of timestamp words, such as 6.4ns
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
    interfaces: Vec<Written>,
    /// The interface of the packet before.
    last: usize,
    /// Which file is being read.
    file: usize,
    packets: u64,
    /// Whether pcap may round stamps, and how many it did.
    rounds: bool,
    rounded: u64,
    departures: Departures,
    /// What the packets are like in time, if that is to be told.
    summary: Option<Subjects>,
}

enum Format {
    Pcap(PcapWriter),
    Pcapng(PcapngWriter),
}

/// An interface in the file.
struct Written {
    of: Origin,
    resolution: Resolution,
    offset_s: i64,
    packets: u64,
}

/// Where packets come from: an interface of a file, or lines and records.
type Origin = Option<(usize, u32)>;

impl Written {
    fn takes(&self, of: Origin, at_ps: u128) -> bool {
        self.of == of && self.resolution.exact(at_ps, self.offset_s).is_some()
    }
}

impl Dump {
    /// Writes every packet of every file.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        let complaints = self.strictness.complaints();
        let mut writer = Writer {
            out: Output::create(&self.output, &self.files, &self.buffering)?,
            format: match self.pcap {
                true => Format::Pcap(PcapWriter::NANO),
                false => Format::Pcapng(PcapngWriter::default()),
            },
            tick: self.tick,
            epoch_ns: self.epoch.unwrap_or_else(live::clock::epoch_ns),
            interfaces: Vec::new(),
            last: 0,
            file: 0,
            packets: 0,
            rounds: complaints.lenient(),
            rounded: 0,
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
        let copy = |writer: &mut Writer| -> anyhow::Result<()> {
            for (file, path) in self.files.iter().enumerate() {
                writer.file = file;
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
        complaints.lost(
            writer.rounded,
            format_args!(
                "{} packets have stamps between two nanoseconds, which pcap rounds down",
                writer.rounded
            ),
        );
        let verdict = complaints.finish();
        result?;
        Ok(verdict)
    }
}

impl Consumer for Writer {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
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
        let interface = self.interface(Some(item), at_ps);
        let out = self.out.buffer();
        match &self.format {
            Format::Pcap(pcap) => {
                let place = self.packets + 1;
                ensure!(
                    at_ps / SECOND <= u32::MAX.into(),
                    "packet {place} came {at_ps} ps after 1970, behind 2106, where pcap ends; \
                     leave out --pcap to write pcapng"
                );
                if !at_ps.is_multiple_of(1_000) {
                    ensure!(
                        self.rounds,
                        "packet {place} came {at_ps} ps after 1970, and pcap has whole nanoseconds; \
                         leave out --pcap to write pcapng, or have it rounded down by --lenient"
                    );
                    self.rounded += 1;
                }
                pcap.cut_packet(at_ps, item.original_len, item.bytes, out);
            }
            Format::Pcapng(pcapng) => {
                pcapng.cut_packet(interface as u32, at_ps, item.original_len, item.bytes, out);
            }
        }
        self.interfaces[interface].packets += 1;
        self.packets += 1;
        self.out.relieve()?;
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.out.flush()
    }
}

impl Writer {
    /// The interface for a packet with this date, which is described when its first packet comes. One that a
    /// resolution does not suit any more gets another.
    #[inline]
    fn interface(&mut self, item: Option<&Item<'_>>, at_ps: u128) -> usize {
        let of = item.and_then(|item| item.described.map(|_| (self.file, item.interface)));
        let takes = |written: &Written| written.takes(of, at_ps);
        if !self.interfaces.get(self.last).is_some_and(takes) {
            self.last = match self.interfaces.iter().position(takes) {
                Some(known) => known,
                None => self.describe(item, of, at_ps),
            };
        }
        self.last
    }

    /// Writes the description of a new interface, and the header before the first. What a capture says about its
    /// interface is kept, and how fine its stamps are.
    fn describe(&mut self, item: Option<&Item<'_>>, of: Origin, at_ps: u128) -> usize {
        let described = item.and_then(|item| item.described);
        let fine = match described {
            Some(of) => of.resolution.to_ps(1, 0) < 1_000,
            None if item.is_some_and(|item| item.at_ps.is_some()) => false,
            None => !self.tick.as_ps().is_multiple_of(1_000),
        };
        let whole = !fine && Resolution::NANO.exact(at_ps, 0).is_some();
        // In picoseconds an interface reaches 213 days. Packets may be out of order by up to an hour.
        let offset_s = i64::try_from(at_ps / SECOND).unwrap_or(i64::MAX);
        let (resolution, offset_s) = match whole {
            true => (Resolution::NANO, 0),
            false => (Resolution::PICO, offset_s.saturating_sub(3_600).max(0)),
        };
        let out = self.out.buffer();
        match &mut self.format {
            Format::Pcap(pcap) if self.interfaces.is_empty() => {
                pcap.header(ETHERNET, LONGEST as u32, out);
            }
            Format::Pcap(_) => {}
            Format::Pcapng(pcapng) => {
                if self.interfaces.is_empty() {
                    pcapng.header(concat!("wire ", env!("CARGO_PKG_VERSION")), out);
                }
                let interface = Interface {
                    resolution,
                    offset_s,
                    description: match item.map_or("", |item| item.description) {
                        "" if of.is_none() => zero::describe(self.tick, self.epoch_ns),
                        known => known.into(),
                    },
                    name: match described.map(|of| of.name.as_str()) {
                        None | Some("") => "wire".into(),
                        Some(name) => name.into(),
                    },
                    speed: described.map_or(0, |of| of.speed),
                    ..Interface::default()
                };
                pcapng.interface(&interface, out);
            }
        }
        self.interfaces.push(Written {
            of,
            resolution,
            offset_s,
            packets: 0,
        });
        self.interfaces.len() - 1
    }

    /// Writes the header if nothing has been, and the statistics.
    fn end(&mut self) {
        let now_ps = u128::from(live::clock::epoch_ns() + live::clock::now_ns()) * 1_000;
        if self.interfaces.is_empty() {
            self.describe(None, None, now_ps);
        }
        if let Format::Pcapng(pcapng) = &self.format {
            for (interface, written) in self.interfaces.iter().enumerate() {
                let statistics = Statistics {
                    interface: interface as u32,
                    at_ps: now_ps,
                    accepted: Some(written.packets),
                    ..Statistics::default()
                };
                pcapng.statistics(&statistics, self.out.buffer());
            }
        }
    }
}
