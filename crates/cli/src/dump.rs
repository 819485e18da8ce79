//! `wire dump`: lines, records or captures as captures (`ethdump`, paper 001 section 6.1): chosen, merged, moved in time, split.

mod file;
mod merge;
mod split;

use crate::Verdict;
use crate::cat::tick;
use crate::complaints::{Complaints, Strictness};
use crate::confine::{self, Still};
use crate::departures::Departures;
use crate::output::Buffering;
use crate::packets::{Consumer, Ended, Packets};
use crate::profile::Subjects;
use crate::select::{Selection, Selector};
use crate::stream;
use crate::time::Shift;
use anyhow::{bail, ensure};
use file::{Dated, File, Form, Losses};
use live::file::Item;
use merge::Taker;
use nodes::profile::Config;
use packet::Tick;
use packet::capture::{ETHERNET, Statistics};
use split::{Goes, Split, Splitter};
use std::path::{Path, PathBuf};

/// Write packets as a pcapng or pcap file
///
/// Captures keep dates to the last digit, interfaces, link types, lengths and comments. Words of lines and records
/// become dates by the machine's epoch, or by --epoch; the file says which, for `wire undump --words`. Departures get
/// the time at which a port would send them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire cat eth0 --count 100 | wire dump -o eth0.pcapng
  wire dump before.pcapng behind.pcapng --merge --since +1s -o both.pcapng")]
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
    #[command(flatten)]
    selection: Selection,
    /// Take the packets of all files by their times, not file by file
    #[arg(long)]
    merge: bool,
    /// Move all packets in time, by seconds such as -3600.5, or a time such as 10ns
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    shift: Option<Shift>,
    /// Write several files, named FILE-00001 and so on: a new one each 1000 (packets), 10s or 100MB; or one for each `flow`
    #[arg(long, value_name = "HOW")]
    split: Option<Split>,
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

/// Captures being written.
struct Writer<'a> {
    dump: &'a Dump,
    form: Form,
    selector: Selector,
    splitter: Option<Splitter>,
    files: Vec<Option<File>>,
    /// Those that are read: one's departures, and when its last packet came.
    read: Vec<(Departures, u128)>,
    /// Which file is being read.
    file: usize,
    losses: Losses,
    /// Packets of captures without a time.
    undated: u64,
    /// Of each capture, packets that are not in the order of time, and blocks that were left out.
    notes: Vec<(PathBuf, u64, u64)>,
    /// What the packets are like in time, if that is to be told.
    summary: Option<Subjects>,
}

impl Dump {
    /// Writes every packet of every file.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        let standard = self.output == Path::new("-");
        ensure!(
            self.split.is_none() || !standard,
            "--split writes several files; name them by -o FILE"
        );
        ensure!(
            !(self.merge && self.summary),
            "--summary tells of files one by one; leave out --merge, or ask `wire profile`"
        );
        let complaints = self.strictness.complaints();
        let form = Form {
            pcap: self.pcap,
            rounds: complaints.lenient(),
            tick: self.tick,
            epoch_ns: self.epoch.unwrap_or_else(live::clock::epoch_ns),
        };
        let mut writer = Writer {
            dump: &self,
            form,
            selector: self.selection.selector()?,
            splitter: self.split.map(Splitter::new),
            files: Vec::new(),
            read: (0..self.files.len())
                .map(|_| {
                    (
                        Departures::new(self.tick),
                        u128::from(form.epoch_ns) * 1_000,
                    )
                })
                .collect(),
            file: 0,
            losses: Losses::default(),
            undated: 0,
            notes: Vec::new(),
            summary: self
                .summary
                .then(|| Subjects::new(Config::default(), self.tick)),
        };
        // Inputs that are not there are found before an output is touched.
        let inputs = self.files.iter().map(PathBuf::as_path);
        live::output::apart(&self.output, inputs)?;
        if self.split.is_none() {
            let file = writer.create(&self.output)?;
            if file.is_terminal() {
                bail!(
                    "a capture is not for a terminal; use -o FILE, or pipe it into another command"
                );
            }
            writer.files.push(Some(file));
        }
        confine::reader(Still {
            writes: !standard,
            ..Still::default()
        })?;
        let open = |path: &PathBuf| Ok(Packets::open(path, &complaints)?.verbatim());
        let copy = |writer: &mut Writer<'_>| -> anyhow::Result<()> {
            if self.merge {
                let files: anyhow::Result<Vec<Packets>> = self.files.iter().map(open).collect();
                return merge::merge(files?, writer);
            }
            for (file, path) in self.files.iter().enumerate() {
                writer.file = file;
                let mut packets = open(path)?;
                if let Some(summary) = &mut writer.summary {
                    summary.begin(&stream::name(path));
                }
                let copied = packets.copy(writer);
                if let Some(summary) = &mut writer.summary {
                    summary.end();
                }
                writer.over(file, &packets, 0);
                if copied? == Ended::Stopped || !writer.selector.wants_more() {
                    break;
                }
            }
            Ok(())
        };
        let result = copy(&mut writer);
        let summary = writer.summary.take();
        // What was taken before an error is a whole capture; without the error it takes its place.
        writer.end(result.is_ok())?;
        if let Some(summary) = summary {
            summary.tell();
        }
        writer.tell(&complaints);
        let done = writer.selector.is_done();
        let verdict = complaints.finish();
        result?;
        Ok(verdict.max(Verdict::if_done(done)))
    }
}

impl Writer<'_> {
    fn create(&self, path: &Path) -> anyhow::Result<File> {
        File::create(path, &self.dump.files, &self.dump.buffering, self.form)
    }

    /// The file for a packet.
    fn place(&mut self, frame: &[u8], at_ps: u128) -> anyhow::Result<usize> {
        let Some(splitter) = &mut self.splitter else {
            return Ok(0);
        };
        let count = self.files.len();
        let (packets, bytes) = match self.files.last() {
            Some(Some(file)) => (file.packets, file.bytes),
            _ => (0, 0),
        };
        let (part, completes) = match splitter.goes(frame, at_ps, count, packets, bytes)? {
            Goes::Into(file) => return Ok(file),
            Goes::New { part, completes } => (part, completes),
        };
        if completes && let Some(file) = self.files.last_mut() {
            complete(file, true)?;
        }
        let file = self.create(&split::name(&self.dump.output, &part))?;
        self.files.push(Some(file));
        Ok(count)
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
        let Losses { rounded, bare } = self.losses;
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
        let undated = self.undated;
        complaints.lost(
            undated,
            format_args!("{undated} packets of captures have no time; each got that of the packet before it in its file"),
        );
        for (path, behind, unkept) in &self.notes {
            let name = stream::name(path);
            if *behind > 0 {
                complaints.note(format_args!(
                    "{name}: {behind} packets have earlier times than the one before them, and stay behind it"
                ));
            }
            if *unkept > 0 {
                complaints.note(format_args!(
                    "{name}: {unkept} blocks without packets (names, secrets, later headers) were left out"
                ));
            }
        }
    }
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
}

impl Taker for Writer<'_> {
    fn date(&mut self, file: usize, item: &Item<'_>) -> u128 {
        let (departures, last) = &mut self.read[file];
        *last = match (item.at_ps, item.word) {
            (Some(at_ps), _) => at_ps,
            (None, Some(word)) => u128::from(self.form.epoch_ns) * 1_000 + departures.ps(word),
            (None, None) => {
                self.undated += u64::from(item.captured.is_some());
                *last
            }
        };
        *last
    }

    fn take(&mut self, file: usize, item: &Item<'_>, at_ps: u128) -> anyhow::Result<bool> {
        let at_ps = match self.dump.shift {
            Some(shift) => shift.apply(at_ps)?,
            None => at_ps,
        };
        let of = item.captured.map(|_| (file, item.interface));
        let foreign = item.described().is_some_and(|of| of.link_type != ETHERNET);
        ensure!(
            !(foreign && self.selector.filters()),
            "--filter looks into Ethernet, and interface {} has another link type; leave out one of the two",
            item.interface
        );
        if self.selector.takes(item.bytes, || at_ps) {
            if let Some(summary) = &mut self.summary {
                summary.packet(item, at_ps)?;
            }
            let place = self.place(item.bytes, at_ps)?;
            if let Some(file) = &mut self.files[place] {
                file.packet(Dated { item, at_ps, of }, &mut self.losses)?;
            }
        }
        Ok(self.selector.wants_more())
    }

    fn over(&mut self, file: usize, packets: &Packets, behind: u64) {
        let Some(captured) = packets.captured() else {
            return;
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
                ..*counted
            })
            .collect();
        for written in self.files.iter_mut().flatten() {
            written.statistics(file, &statistics);
        }
        let path = self.dump.files[file].clone();
        self.notes.push((path, behind, captured.unkept()));
    }
}
