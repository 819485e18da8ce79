//! One capture file being written.

use crate::epoch;
use crate::output::{Buffering, Output};
use ::capture::file::{Captured, Item};
use anyhow::{bail, ensure};
use packet::capture::{Interface, Other, PcapWriter, PcapngWriter, Resolution, Statistics};
use packet::{MAX_FRAME_LEN, Tick};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SECOND: u128 = 1_000_000_000_000;
/// Of what wrote the file.
const APPLICATION: &str = concat!("wire ", env!("CARGO_PKG_VERSION"));

/// How captures are written.
#[derive(Clone, Copy)]
pub struct Form {
    pub pcap: bool,
    /// Whether pcap may round stamps.
    pub rounds: bool,
    /// The unit and the zero of words.
    pub tick: Tick,
    pub epoch_ns: u64,
}

/// What was left out or rounded.
#[derive(Clone, Copy, Default)]
pub struct Losses {
    /// Stamps between two nanoseconds, in pcap.
    pub rounded: u64,
    /// Packets of a capture that have no time, and were given one.
    pub dated: u64,
    /// Packets with comments or flags, in pcap.
    pub bare: u64,
    /// Blocks of names, secrets and the like, in pcap.
    pub blocks: u64,
}

/// A capture.
pub struct File {
    out: Output,
    form: Form,
    format: Format,
    interfaces: Vec<Written>,
    /// Of each capture that is read, how many interfaces and other blocks are written.
    known: BTreeMap<usize, Known>,
    /// The interface of the packet before.
    last: usize,
    /// Of the first interface, behind the header.
    link_type: Option<u16>,
    pub packets: u64,
    /// Bytes so far.
    pub bytes: u64,
}

enum Format {
    Pcap(PcapWriter),
    Pcapng(PcapngWriter),
}

/// Parts of a capture that are written.
#[derive(Clone, Copy, Default)]
struct Known {
    interfaces: u32,
    blocks: usize,
}

/// An interface in the file.
struct Written {
    of: Origin,
    resolution: Resolution,
    offset_s: i64,
    /// The longest packet of the interface, in bytes; zero for no limit.
    snap_len: u32,
    packets: u64,
    /// What the capture counted that it came from.
    statistics: Option<Statistics>,
}

/// Where packets come from: an interface of a file, by the numbers of both; or lines and records.
pub type Origin = Option<(usize, u32)>;

/// A packet on its way.
#[derive(Clone, Copy)]
pub struct Dated<'a> {
    pub item: &'a Item<'a>,
    pub at_ps: u128,
    pub of: Origin,
}

impl Written {
    fn takes(&self, packet: Dated<'_>) -> bool {
        let exact = || self.resolution.exact(packet.at_ps, self.offset_s).is_some();
        self.of == packet.of && holds(self.snap_len, packet.item) && exact()
    }
}

impl File {
    /// Begins one at `path`, which is none of `inputs`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(
        path: &Path,
        inputs: &[PathBuf],
        buffering: &Buffering,
        form: Form,
    ) -> anyhow::Result<File> {
        Ok(File {
            out: Output::create(path, inputs, buffering)?,
            form,
            format: match form.pcap {
                true => Format::Pcap(PcapWriter::NANO),
                false => Format::Pcapng(PcapngWriter::default()),
            },
            interfaces: Vec::new(),
            known: BTreeMap::new(),
            last: 0,
            link_type: None,
            packets: 0,
            bytes: 0,
        })
    }

    /// Whether it goes to a terminal.
    pub fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }

    /// Whether all has been written that it was given.
    pub fn is_flushed(&self) -> bool {
        self.out.is_empty()
    }

    /// Writes what is in the buffer.
    ///
    /// # Errors
    /// Those of writing.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.out.flush()
    }

    /// Writes a packet, and before it the blocks that its capture has before it. Of those that are
    /// not for every file, `once` have been written.
    ///
    /// # Errors
    /// When the format cannot hold it, and those of writing.
    pub fn packet(
        &mut self,
        packet: Dated<'_>,
        once: &mut usize,
        losses: &mut Losses,
    ) -> anyhow::Result<()> {
        let Dated { item, at_ps, of } = packet;
        let before = self.out.buffer().len();
        let undated = item.captured.is_some() && item.at_ps.is_none();
        let simple = undated && self.is_simple(packet)?;
        losses.dated += u64::from(undated && !simple);
        let interface = match simple {
            true => 0,
            false => self.interface(packet)?,
        };
        if let (Some((file, _)), Some(captured)) = (of, item.captured) {
            self.blocks(file, captured, once, losses);
        }
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
                        self.form.rounds,
                        "packet {place} came {at_ps} ps after 1970, and pcap has whole nanoseconds; \
                         leave out --pcap to write pcapng, or have it rounded down by --lenient"
                    );
                    losses.rounded += 1;
                }
                losses.bare += u64::from(!item.options.is_empty());
                pcap.cut_packet(at_ps, item.original_len, item.bytes, out);
            }
            Format::Pcapng(pcapng) if simple => {
                pcapng.simple_packet(item.original_len, item.bytes, out);
            }
            Format::Pcapng(pcapng) => pcapng.packet_with(
                interface as u32,
                at_ps,
                item.original_len,
                item.bytes,
                item.options,
                out,
            ),
        }
        self.bytes += (out.len() - before) as u64;
        self.interfaces[interface].packets += 1;
        self.packets += 1;
        self.out.relieve()
    }

    /// All of a capture has been read, whose number is `file`: takes what it counted at its
    /// interfaces, and writes the interfaces and blocks that no packet came behind.
    ///
    /// # Errors
    /// Those of writing.
    pub fn complete(
        &mut self,
        file: usize,
        captured: &Captured,
        statistics: &[Statistics],
        once: &mut usize,
        losses: &mut Losses,
    ) -> anyhow::Result<()> {
        self.interfaces_before(captured.interfaces(), file, captured, None)?;
        self.blocks(file, captured, once, losses);
        for counted in statistics {
            let of = Some((file, counted.interface));
            // Where one interface has become several, the first has its counters.
            if let Some(written) = self.interfaces.iter_mut().find(|written| written.of == of) {
                written.statistics = Some(counted.clone());
            }
        }
        self.out.relieve()
    }

    /// Writes the blocks of a capture that have not been.
    fn blocks(&mut self, file: usize, captured: &Captured, once: &mut usize, losses: &mut Losses) {
        let blocks = captured.blocks();
        let known = self.known.entry(file).or_default();
        for (number, block) in blocks.iter().enumerate().skip(known.blocks) {
            match &self.format {
                Format::Pcap(_) => losses.blocks += 1,
                Format::Pcapng(_) if number < *once && !block.is_shared() => {}
                Format::Pcapng(pcapng) => {
                    let out = self.out.buffer();
                    let before = out.len();
                    pcapng.other(block, out);
                    self.bytes += (out.len() - before) as u64;
                }
            }
        }
        known.blocks = blocks.len();
        *once = blocks.len().max(*once);
    }

    /// Whether a packet without a time can be written as it is, in a Simple Packet Block: these are
    /// of a section's first interface, and as long as its snap length lets them be.
    fn is_simple(&mut self, packet: Dated<'_>) -> anyhow::Result<bool> {
        let Dated { item, of, .. } = packet;
        if let (Some((file, 0)), Some(captured), true) =
            (of, item.captured, self.interfaces.is_empty())
        {
            self.interfaces_before(1, file, captured, None)?;
        }
        let Some(first) = self.interfaces.first().filter(|first| first.of == of) else {
            return Ok(false);
        };
        let limit = match first.snap_len {
            0 => u32::MAX,
            limit => limit,
        };
        let length = u64::from(item.original_len.min(limit));
        Ok(!self.form.pcap && item.options.is_empty() && length == item.bytes.len() as u64)
    }

    /// The interface for a packet with this date, which is described when its first packet comes. One whose
    /// resolution or snap length does not suit any more gets another.
    #[inline]
    fn interface(&mut self, packet: Dated<'_>) -> anyhow::Result<usize> {
        let takes = |written: &Written| written.takes(packet);
        if !self.interfaces.get(self.last).is_some_and(takes) {
            self.last = match self.interfaces.iter().position(takes) {
                Some(known) => known,
                None => self.describe(packet)?,
            };
        }
        Ok(self.last)
    }

    /// Writes the description of a new interface, and the header before the first. What a capture says about its
    /// interface is kept, and how fine its stamps are; so is the order of its interfaces.
    fn describe(&mut self, packet: Dated<'_>) -> anyhow::Result<usize> {
        let Dated { item, at_ps, of } = packet;
        if let (Some((file, number)), Some(captured)) = (of, item.captured) {
            self.interfaces_before(number, file, captured, Some(at_ps))?;
            // Another of one that is known changes nothing.
            let known = self.known.entry(file).or_default();
            known.interfaces = known.interfaces.max(number + 1);
        }
        let whole = item.described().and_then(|of| of.whole.as_deref());
        let mut interface = whole
            .cloned()
            .unwrap_or_else(|| self.unnamed(item.word.is_some()));
        if item.word.is_some() && !self.form.tick.as_ps().is_multiple_of(1_000) {
            interface.resolution = Resolution::PICO;
        }
        let Some((resolution, offset_s)) = unit(at_ps, &interface) else {
            bail!(
                "packet {} came {at_ps} ps after 1970, and no unit of pcapng tells that exactly; --skip or --until leaves it out",
                self.packets + 1
            );
        };
        let interface = Interface {
            resolution,
            offset_s,
            // A packet beyond the snap length breaks the format, and tcpdump refuses the file.
            snap_len: match holds(interface.snap_len, item) {
                true => interface.snap_len,
                false => 0,
            },
            ..interface
        };
        let section = item.captured.map_or(&[][..], |captured| captured.section());
        self.put(of, section, &interface)?;
        Ok(self.interfaces.len() - 1)
    }

    /// Writes the interfaces of a capture before a number, as far as they are not known, so that
    /// the others keep their numbers: with a unit for packets of about this date, or with their own
    /// where no packets come. pcap has none.
    fn interfaces_before(
        &mut self,
        number: u32,
        file: usize,
        captured: &Captured,
        at_ps: Option<u128>,
    ) -> anyhow::Result<()> {
        if self.form.pcap {
            return Ok(());
        }
        let known = self.known.get(&file).map_or(0, |known| known.interfaces);
        for number in known..number {
            let Some(described) = captured.described(number) else {
                break;
            };
            let Some(whole) = described.whole.as_deref() else {
                break;
            };
            let own = (whole.resolution, whole.offset_s);
            let (resolution, offset_s) = at_ps.map_or(own, |at_ps| preferred(at_ps, whole));
            let interface = Interface {
                resolution,
                offset_s,
                ..whole.clone()
            };
            self.put(Some((file, number)), captured.section(), &interface)?;
            self.known.entry(file).or_default().interfaces = number + 1;
        }
        Ok(())
    }

    /// Writes an interface, and takes note of it.
    fn put(&mut self, of: Origin, section: &[Other], interface: &Interface) -> anyhow::Result<()> {
        self.begin(section, interface)?;
        self.interfaces.push(Written {
            of,
            resolution: interface.resolution,
            offset_s: interface.offset_s,
            snap_len: interface.snap_len,
            packets: 0,
            statistics: None,
        });
        Ok(())
    }

    /// An interface for packets of lines and records. Where they have words it tells what these mean.
    fn unnamed(&self, words: bool) -> Interface {
        let Form { tick, epoch_ns, .. } = self.form;
        Interface {
            name: "wire".into(),
            description: match words {
                true => epoch::describe(tick, epoch_ns),
                false => String::new(),
            },
            ..Interface::default()
        }
    }

    /// Writes an interface, and the header before the first.
    fn begin(&mut self, section: &[Other], interface: &Interface) -> anyhow::Result<()> {
        let Interface {
            link_type, fcs_len, ..
        } = *interface;
        let out = self.out.buffer();
        match &mut self.format {
            Format::Pcap(pcap) => {
                ensure!(
                    fcs_len == 0 && self.link_type.is_none_or(|known| known == link_type),
                    "pcap has one link type and no FCS behind frames, and packet {} is other; \
                     leave out --pcap to write pcapng",
                    self.packets + 1
                );
                if self.link_type.is_none() {
                    pcap.header(link_type, MAX_FRAME_LEN as u32, out);
                }
            }
            Format::Pcapng(pcapng) => {
                if self.link_type.is_none() {
                    pcapng.header_with(section, APPLICATION, out);
                }
                pcapng.interface(interface, out);
            }
        }
        self.link_type.get_or_insert(link_type);
        Ok(())
    }

    /// Writes the header if nothing has been, and the statistics.
    ///
    /// # Errors
    /// Those of writing.
    pub fn end(&mut self) -> anyhow::Result<()> {
        let now_ps = u128::from(::capture::clock::epoch_ns() + ::capture::clock::now_ns()) * 1_000;
        if self.link_type.is_none() {
            self.begin(&[], &self.unnamed(true))?;
        }
        if let Format::Pcapng(pcapng) = &self.format {
            for (interface, written) in self.interfaces.iter().enumerate() {
                let ours = Statistics {
                    at_ps: now_ps,
                    accepted: Some(written.packets),
                    ..Statistics::default()
                };
                let counted = written.statistics.clone().unwrap_or(ours);
                // A time beyond what the interface's stamps reach is left out.
                let fits =
                    |at_ps: &u128| written.resolution.exact(*at_ps, written.offset_s).is_some();
                let statistics = Statistics {
                    interface: interface as u32,
                    start_ps: counted.start_ps.filter(fits),
                    end_ps: counted.end_ps.filter(fits),
                    ..counted
                };
                pcapng.statistics(&statistics, self.out.buffer());
            }
        }
        Ok(())
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> anyhow::Result<()> {
        self.out.finish()
    }
}

/// Whether a packet is within a snap length.
fn holds(snap_len: u32, item: &Item<'_>) -> bool {
    snap_len == 0 || item.bytes.len() as u64 <= snap_len.into()
}

/// The unit of an interface and its offset for a packet with this date: the
/// [preferred](preferred) one, or its own, or picoseconds, which reach 213 days from the offset.
fn unit(at_ps: u128, interface: &Interface) -> Option<(Resolution, i64)> {
    let own = (interface.resolution, interface.offset_s);
    let tells =
        |(resolution, offset_s): &(Resolution, i64)| resolution.exact(at_ps, *offset_s).is_some();
    [preferred(at_ps, interface), own, pico(at_ps)]
        .into_iter()
        .find(tells)
}

/// The unit of an interface and its offset for packets of about this date: nanoseconds where all
/// its stamps are whole nanoseconds, its own unit where that is a whole number of picoseconds (some
/// stamps in units such as 2^-10 s are whole nanoseconds, others are not), else picoseconds.
fn preferred(at_ps: u128, interface: &Interface) -> (Resolution, i64) {
    let Interface {
        resolution,
        offset_s,
        ..
    } = *interface;
    let reaches = Resolution::NANO.to_ps(u64::MAX, 0) >= at_ps;
    match resolution.to_ps(1, 0).is_multiple_of(1_000) && resolution.is_exact(1, 0) {
        true if reaches => (Resolution::NANO, 0),
        _ if resolution.is_exact(1, 0) => (resolution, offset_s),
        _ => pico(at_ps),
    }
}

/// Picoseconds for packets of about this date, which may be out of order by up to an hour.
fn pico(at_ps: u128) -> (Resolution, i64) {
    let offset_s = i64::try_from(at_ps / SECOND).unwrap_or(i64::MAX);
    (Resolution::PICO, offset_s.saturating_sub(3_600).max(0))
}
