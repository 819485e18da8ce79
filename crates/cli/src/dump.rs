//! `wire dump`: packets of ports and files as captures (`ethdump`, paper 001 section 6.1): chosen, merged, moved in time, split.

mod file;
mod merge;
mod split;

use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::departures::Departures;
use crate::fix::{Fix, Fixer};
use crate::import;
use crate::listen::{Directions, Listener};
use crate::output::Buffering;
use crate::packets::{Consumer, Ended, Packets};
use crate::profile::{self, Subjects};
use crate::report;
use crate::select::{Selection, Selector};
use crate::sources::Sources;
use crate::stream::{self, Stream};
use crate::time::Shift;
use crate::time::tick;
use ::capture::file::{Item, Unkept};
use anyhow::{Context, bail, ensure};
use confine::Permissions;
use file::{Dated, File, Form, Losses};
use measure::profile::Config;
use merge::MergeConsumer;
use node::{Size, Time};
use packet::Tick;
use packet::capture::{ETHERNET, NULL, Statistics, block_name};
use split::{Destination, Split, Splitter};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Write packets as a pcapng or pcap file
///
/// Captures keep dates to the last digit, interfaces, link types, lengths and comments; so do those of ports, which are
/// what `wire cat` reads. Words of lines and records become dates by the machine's epoch, or by --epoch; the file says
/// which, for `wire undump --words`. Departures get the time at which a port would send them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire dump any --filter 'udp port 53' --duration 60 -o dns.pcapng
  wire dump eth0 -o %Y%m%d-%H%M.pcapng -G 1h -W 24
  wire dump before.pcapng behind.pcapng --merge --since +1s -o both.pcapng")]
pub struct Dump {
    /// What to read, `-` for standard input
    #[arg(value_name = "PORT|FILE", default_value = "-")]
    pub sources: Vec<OsString>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    #[command(flatten)]
    pub written: Written,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub directions: Directions,
    /// Take the packets of all files in the order of their times
    #[arg(long)]
    pub merge: bool,
    /// Move all packets in time, by seconds such as -3600.5, or a time such as 10ns
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub shift: Option<Shift>,
    /// Files are other text, as `wire cat --from` has it: hex or json
    #[arg(long, value_name = "FORM", hide_possible_values = true)]
    pub from: Option<import::Form>,
    #[command(flatten)]
    pub fix: Fix,
    /// The time at which timestamp words are zero, in ns since 1970
    #[arg(long, value_name = "NS")]
    pub epoch: Option<u64>,
    /// The unit of timestamp words, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    pub tick: Tick,
    /// Say at the end what the packets are like in time; see `wire profile`
    #[arg(long)]
    pub summary: bool,
    #[command(flatten)]
    pub buffering: Buffering,
    #[command(flatten)]
    pub strictness: Strictness,
}

/// How captures are written.
#[derive(clap::Args, Default)]
pub struct Written {
    /// Write the older pcap format, with nanosecond stamps
    #[arg(long)]
    pcap: bool,
    /// Write several files, named FILE-00001 and so on, or by the time if FILE has %H as in strftime(3): a new one each 1000 (packets), 10s or 100MB; or one for each `flow`
    #[arg(long, value_name = "HOW")]
    split: Option<Split>,
    /// As --split, a new file each so many millions of bytes, or another size such as 64MiB
    #[arg(short = 'C', long, value_name = "SIZE", conflicts_with = "split", value_parser = split::millions)]
    split_size: Option<Size>,
    /// As --split, a new file each so many seconds, or another time such as 1h
    #[arg(short = 'G', long, value_name = "TIME", conflicts_with = "split", value_parser = split::seconds)]
    split_time: Option<Time>,
    /// Of files that are split, keep only so many, the newest
    #[arg(short = 'W', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Cut packets to so many bytes; their lengths are kept
    #[arg(short, long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(14..))]
    snap_length: Option<u32>,
}

impl Written {
    /// Where files are split: at whichever comes first.
    fn splits(&self) -> Vec<Split> {
        let size = self.split_size.map(|size| Split::Bytes(size.bytes()));
        let time = self.split_time.map(|time| Split::Time(time.as_ps().into()));
        [self.split, size, time].into_iter().flatten().collect()
    }

    /// For a command that writes none.
    ///
    /// # Errors
    /// When any of it was asked for.
    pub fn check_unused(&self) -> anyhow::Result<()> {
        let asked = self.pcap || self.keep.is_some() || self.snap_length.is_some();
        ensure!(
            !asked && self.splits().is_empty(),
            "--pcap, --split, -C, -G, -W and -s are for captures; add -o FILE"
        );
        Ok(())
    }
}

/// Captures being written.
struct Writer<'a> {
    dump: &'a Dump,
    /// What is read: files, and behind them as one more the ports.
    inputs: &'a [PathBuf],
    form: Form,
    selector: Selector,
    splitter: Option<Splitter>,
    fixer: Fixer,
    /// A packet whose family is turned into the byte order of the file that is written.
    turned: Vec<u8>,
    /// The files of a ring, the oldest first.
    ring: VecDeque<PathBuf>,
    files: Vec<Option<File>>,
    /// Those that are read: one's departures, and when its last packet came, if it had one.
    read: Vec<(Departures, Option<u128>)>,
    /// Which file is being read.
    file: usize,
    /// Of each file that is read, how many blocks have been written that only one output has.
    once: Vec<usize>,
    losses: Losses,
    /// Of each capture, packets that are not in the order of time, and what was left out.
    notes: Vec<(PathBuf, u64, Unkept)>,
    /// What the packets are like in time, if that is to be told.
    summary: Option<Subjects>,
}

impl Dump {
    /// Writes every packet of every file, and what ports receive.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let standard = self.output == Path::new("-");
        let splits = self.written.splits();
        ensure!(
            splits.is_empty() || !standard,
            "--split, -C and -G write several files; name them by -o FILE"
        );
        ensure!(
            self.written.keep.is_none() || !(splits.is_empty() || splits.contains(&Split::Flow)),
            "--keep is for files that are split by count, size or time; add --split 100MB, -C 100 or -G 60"
        );
        let sources = Sources::of(&self.sources)?;
        let Sources { files, ports } = &sources;
        ensure!(
            !(self.merge && self.summary),
            "--summary tells of files one by one; leave out --merge, or ask `wire profile`"
        );
        ensure!(
            ports.is_empty() || !(self.merge || self.summary),
            "--merge and --summary are for files; ports come at once, and `wire profile PORT` tells what they are like"
        );
        ensure!(
            self.from.is_none() || !(self.merge || self.summary),
            "--merge and --summary are for packets as they are; read other text by `wire cat --from` before"
        );
        let complaints = self.strictness.complaints();
        let form = Form {
            pcap: self.written.pcap,
            rounds: complaints.lenient(),
            tick: self.tick,
            epoch_ns: self.epoch.unwrap_or_else(::capture::clock::epoch_ns),
        };
        let splitter = match splits.is_empty() {
            true => None,
            false => Some(Splitter::new(splits, &self.output)?),
        };
        let mut writer = Writer {
            dump: &self,
            inputs: files,
            form,
            selector: self.selection.selector()?,
            splitter,
            fixer: self.fix.fixer(),
            turned: Vec::new(),
            ring: VecDeque::new(),
            files: Vec::new(),
            read: (0..=files.len())
                .map(|_| (Departures::new(self.tick), None))
                .collect(),
            file: 0,
            once: vec![0; files.len() + 1],
            losses: Losses::default(),
            notes: Vec::new(),
            summary: self
                .summary
                .then(|| Subjects::new(Config::default(), self.tick)),
        };
        // Inputs that are not there are found before an output is touched.
        ::capture::output::apart(&self.output, files.iter().map(PathBuf::as_path))?;
        let mut listener = Listener::open(ports, self.tick, self.directions)?.verbatim();
        if writer.splitter.is_none() {
            let file = writer.create(&self.output)?;
            if file.is_terminal() {
                bail!(
                    "a capture is not for a terminal; use -o FILE, or pipe it into another command"
                );
            }
            writer.files.push(Some(file));
        }
        sources.confine(Permissions {
            writes: !standard,
            ..Permissions::default()
        })?;
        listener.tell_life(&self.selection);
        let result = self
            .copy(files, &mut writer, &complaints)
            .and_then(|goes_on| match goes_on {
                true => {
                    writer.file = files.len();
                    listener.copy(&mut writer, &complaints)
                }
                false => Ok(()),
            });
        let summary = writer.summary.take();
        // What was taken before an error is a whole capture; without the error it takes its place.
        writer.end(result.is_ok())?;
        // Of packets that did not get where they should there is nothing to tell.
        if let (Some(summary), true) = (summary, result.is_ok()) {
            let output = self.output.display().to_string();
            report::put(&profile::text(summary.list()), &[output])?;
        }
        writer.fixer.tell();
        writer.tell(&complaints);
        let done = writer.selector.is_done();
        let verdict = complaints.finish();
        result?;
        Ok(verdict.max(Verdict::if_done(done)))
    }

    /// Reads the files; whether anything more is to be read.
    fn copy(
        &self,
        files: &[PathBuf],
        writer: &mut Writer<'_>,
        complaints: &Complaints,
    ) -> anyhow::Result<bool> {
        let open = |path: &PathBuf| Ok(Packets::open(path, complaints)?.verbatim());
        if self.merge {
            let files: anyhow::Result<Vec<Packets>> = files.iter().map(open).collect();
            merge::merge(files?, writer)?;
            return Ok(false);
        }
        for (file, path) in files.iter().enumerate() {
            writer.file = file;
            let stream = Stream::open(path)?;
            let json = || stream.is_json().then_some(import::Form::Json);
            let ended = if let Some(form) = self.from.or_else(json) {
                import::copy(stream, &stream::name(path), form, writer)?
            } else {
                let mut packets = Packets::new(stream, stream::name(path), complaints)?.verbatim();
                if let Some(summary) = &mut writer.summary {
                    summary.begin(&stream::name(path));
                }
                let copied = packets.copy(writer);
                if let Some(summary) = &mut writer.summary {
                    summary.end();
                }
                writer.over(file, &packets, 0)?;
                copied?
            };
            if ended == Ended::Stopped || !writer.selector.wants_more() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Writer<'_> {
    fn create(&self, path: &Path) -> anyhow::Result<File> {
        File::create(path, self.inputs, &self.dump.buffering, self.form)
    }

    /// The file for a packet.
    fn place(&mut self, frame: &[u8], length: usize, at_ps: u128) -> anyhow::Result<usize> {
        let Some(splitter) = &mut self.splitter else {
            return Ok(0);
        };
        let so_far = match self.files.last() {
            Some(Some(file)) => (file.packets, file.bytes),
            _ => (0, 0),
        };
        let (name, completes) = match splitter.goes(frame, length, at_ps, so_far)? {
            Destination::Into(file) => return Ok(file),
            Destination::New { name, completes } => (name, completes),
        };
        if completes {
            self.end(true)?;
            self.files.clear();
        }
        let file = self.create(&name)?;
        self.files.push(Some(file));
        if let Some(keep) = self.dump.written.keep {
            // One of the name that is written again is not the oldest any more.
            self.ring.retain(|known| *known != name);
            self.ring.push_back(name);
            if self.ring.len() > keep as usize
                && let Some(oldest) = self.ring.pop_front()
            {
                let place = || format!("cannot remove {}, the oldest of --keep", oldest.display());
                std::fs::remove_file(&oldest).with_context(place)?;
            }
        }
        Ok(self.files.len() - 1)
    }

    /// Ends all files, which take their places if all went well.
    fn end(&mut self, well: bool) -> anyhow::Result<()> {
        for file in &mut self.files {
            complete(file, well)?;
        }
        Ok(())
    }

    /// What was rounded, made up or left out.
    fn tell(&self, complaints: &Complaints) {
        let Losses {
            rounded,
            dated,
            bare,
            blocks,
        } = self.losses;
        complaints.lost(
            dated,
            format_args!(
                "{dated} packets have no time and got that of the packet before them in the file, or 1970; a copy keeps them as they are in pcapng, where they are of its first interface and not cut by --snap-length"
            ),
        );
        complaints.lost(
            rounded,
            format_args!(
                "{rounded} packets have stamps between two nanoseconds, which pcap rounds down"
            ),
        );
        complaints.lost(
            bare,
            format_args!("{bare} packets have comments or flags, for which pcap has no room; without --pcap they are kept"),
        );
        if blocks > 0 {
            complaints.note(format_args!(
                "{blocks} blocks (names, secrets, journal, custom) were left out: pcap has no room for them; without --pcap they are kept"
            ));
        }
        for (path, behind, unkept) in &self.notes {
            let name = stream::name(path);
            if *behind > 0 {
                complaints.note(format_args!(
                    "{name}: {behind} packets have earlier times than the one before them, and stay behind it"
                ));
            }
            if !unkept.is_empty() {
                complaints.note(format_args!("{name}: left out: {}", left_out(unkept)));
            }
        }
    }
}

/// Parts of a capture that its copy lacks.
fn left_out(unkept: &Unkept) -> String {
    let Unkept {
        blocks,
        long_blocks,
        sections,
        options,
    } = unkept;
    let mut parts: Vec<String> = blocks
        .iter()
        .map(|(kind, count)| {
            let name = block_name(*kind).map_or(String::new(), |name| format!(" ({name})"));
            format!("blocks of type 0x{kind:08X}{name}: {count}")
        })
        .collect();
    for (count, what) in [
        (long_blocks, "blocks longer than 16 MiB"),
        (sections, "headers of later sections"),
        (options, "options beyond 16 MiB"),
    ] {
        if *count > 0 {
            parts.push(format!("{what}: {count}"));
        }
    }
    parts.join(", ")
}

/// Ends a file, if that has not been done; and gives it its place, if it is whole.
fn complete(file: &mut Option<File>, whole: bool) -> anyhow::Result<()> {
    let Some(mut file) = file.take() else {
        return Ok(());
    };
    if whole || file.packets > 0 {
        file.end()?;
    }
    if whole {
        file.finish()?;
    }
    Ok(())
}

impl Consumer for Writer<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let at_ps = self.date(self.file, item);
        self.take(self.file, item, at_ps)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.files.iter_mut().flatten().try_for_each(File::flush)
    }

    fn is_over(&mut self, now_ps: u128) -> bool {
        self.selector.is_over(now_ps)
    }

    fn waits(&self) -> bool {
        self.files.iter().flatten().any(|file| !file.is_flushed())
    }
}

impl MergeConsumer for Writer<'_> {
    fn date(&mut self, file: usize, item: &Item<'_>) -> u128 {
        let epoch = u128::from(self.form.epoch_ns) * 1_000;
        let (departures, last) = &mut self.read[file];
        let at_ps = match (item.at_ps, item.word, *last) {
            (Some(at_ps), ..) => at_ps,
            (None, Some(word), _) => epoch + departures.ps(word),
            (None, None, Some(last)) => last,
            // This machine's clock has nothing to do with a capture.
            (None, None, None) if item.captured.is_some() => 0,
            (None, None, None) => epoch,
        };
        *last = Some(at_ps);
        at_ps
    }

    fn take(&mut self, file: usize, item: &Item<'_>, at_ps: u128) -> anyhow::Result<bool> {
        let at_ps = match self.dump.shift {
            Some(shift) => shift.apply(at_ps)?,
            None => at_ps,
        };
        let of = item.captured.map(|_| (file, item.interface));
        let link_type = item.described().map_or(ETHERNET, |of| of.link_type);
        let foreign = link_type != ETHERNET;
        if self.selector.takes(item, || at_ps)? {
            if let Some(summary) = &mut self.summary {
                summary.packet(item, at_ps)?;
            }
            let snap = self
                .dump
                .written
                .snap_length
                .map_or(usize::MAX, |length| length as usize);
            // What is set right is as long as it was.
            let length = item.bytes.len().min(snap);
            let place = self.place(item.bytes, length, at_ps)?;
            let is_turned = link_type == NULL && item.described().is_some_and(|of| of.big_endian);
            let fixed = match foreign {
                // Families have the byte order of their file, and those that are written are
                // little-endian.
                true if is_turned => {
                    self.turned.clear();
                    self.turned.extend_from_slice(item.bytes);
                    if let Some(family) = self.turned.first_chunk_mut::<4>() {
                        family.reverse();
                    }
                    &self.turned
                }
                true => item.bytes,
                false => self.fixer.frame(item.bytes),
            };
            let kept = Item {
                bytes: &fixed[..length],
                ..*item
            };
            let from = file;
            if let Some(file) = &mut self.files[place] {
                let packet = Dated {
                    item: &kept,
                    at_ps,
                    of,
                };
                file.packet(packet, &mut self.once[from], &mut self.losses)?;
            }
        }
        Ok(self.selector.wants_more())
    }

    fn over(&mut self, file: usize, packets: &Packets, behind: u64) -> anyhow::Result<()> {
        let Some(captured) = packets.captured() else {
            return Ok(());
        };
        // They tell times too.
        let moved = |at_ps| match self.dump.shift {
            Some(shift) => shift.apply(at_ps).ok(),
            None => Some(at_ps),
        };
        let statistics: Vec<Statistics> = captured
            .statistics()
            .iter()
            .map(|counted| Statistics {
                at_ps: moved(counted.at_ps).unwrap_or(0),
                start_ps: counted.start_ps.and_then(moved),
                end_ps: counted.end_ps.and_then(moved),
                ..counted.clone()
            })
            .collect();
        for written in self.files.iter_mut().flatten() {
            let (once, losses) = (&mut self.once[file], &mut self.losses);
            written.complete(file, captured, &statistics, once, losses)?;
        }
        let path = self.inputs[file].clone();
        self.notes.push((path, behind, captured.unkept().clone()));
        Ok(())
    }
}
