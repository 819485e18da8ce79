//! `wire cat`: packets of ports and files as lines, records, text or JSON; or as a capture.

use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::dump::{Dump, Written};
use crate::epoch::{Words, in_words};
use crate::fix::{Fix, Fixer};
use crate::form::{Extra, Form, FormOptions};
use crate::import;
use crate::listen::{Directions, Listener};
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Ended, Packets};
use crate::select::{Selection, Selector};
use crate::sources::Sources;
use crate::stream::{Stream, name};
use crate::time::tick;
use ::capture::file::Item;
use confine::Permissions;
use packet::{Date, Packet, Stamp, Tick};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Write the packets of ports or files as lines
///
/// PORT is an interface, `any` for all of them, tap:NAME, xdp:IFACE, udp:HOST:PORT or `-` for standard input; a FILE may
/// hold lines, records, pcap or pcapng, plain or compressed by gzip or zstd. Files come one after the
/// other, ports all at once, until Ctrl-C. With -o a capture is written, as by `wire dump`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire cat trace.pcapng | grep ' 0806 ' | head -3
  wire cat eth0 --count 10 --text
  wire cat eth0 -o %H%M.pcapng -G 60 -W 10")]
pub struct Cat {
    /// What to read
    #[arg(value_name = "PORT|FILE", default_value = "-")]
    sources: Vec<OsString>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    directions: Directions,
    /// Dates in place of timestamp words, by this machine's epoch
    #[arg(long, conflicts_with = "no_time")]
    dates: bool,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", value_parser = tick)]
    tick: Option<Tick>,
    /// Files are other text: hex (xxd, hexdump -C, od -t x1, tcpdump -xx, text2pcap) or json (of --json)
    #[arg(long, value_name = "FORM", hide_possible_values = true)]
    from: Option<import::Form>,
    /// Write a capture, in place of lines
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["raw", "no_time", "hash", "text", "json", "time", "dates"])]
    output: Option<PathBuf>,
    #[command(flatten)]
    written: Written,
    #[command(flatten)]
    fix: Fix,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

impl Cat {
    /// Writes everything, files before ports.
    pub fn run(self) -> anyhow::Result<Verdict> {
        if let Some(output) = self.output {
            return Dump {
                sources: self.sources,
                output,
                written: self.written,
                selection: self.selection,
                directions: self.directions,
                from: self.from,
                fix: self.fix,
                tick: self.tick.unwrap_or(Tick::EIGHT_NS),
                buffering: self.buffering,
                strictness: self.strictness,
                merge: false,
                shift: None,
                epoch: None,
                summary: false,
            }
            .run();
        }
        self.written.check_unused()?;
        ::capture::signal::install();
        let sources = Sources::of(&self.sources)?;
        let mut out = Writer {
            stdout: Output::reading(&sources.files, &self.buffering)?,
            form: self.form.form(),
            selector: self.selection.selector()?,
            epoch_ps: u128::from(::capture::clock::epoch_ns()) * 1_000,
            dates: self.dates,
            fixer: self.fix.fixer(),
        };
        let complaints = self.strictness.complaints();
        // Ports are opened first, so that nothing they receive meanwhile is lost.
        let tick = self.tick.unwrap_or(Tick::EIGHT_NS);
        let mut listener = Listener::open(&sources.ports, tick, self.directions)?;
        sources.confine(Permissions::default())?;
        let mut copy = || -> anyhow::Result<()> {
            for path in &sources.files {
                if self.file(path, &mut out, &complaints)? == Ended::Stopped {
                    return Ok(());
                }
            }
            let mut heard = Heard {
                epoch_ps: out.epoch_ps,
                out: &mut out,
                tick,
            };
            listener.copy(&mut heard, &complaints)
        };
        let result = copy();
        let done = out.selector.is_done();
        // What was read before something went wrong is written all the same.
        out.fixer.tell();
        out.stdout.finish()?;
        let verdict = complaints.finish();
        result?;
        Ok(verdict.max(Verdict::if_done(done)))
    }

    fn file(
        &self,
        path: &Path,
        out: &mut Writer,
        complaints: &Complaints,
    ) -> anyhow::Result<Ended> {
        let mut reader = FileReader {
            out,
            words: None,
            tick: self.tick.unwrap_or(Tick::EIGHT_NS),
        };
        let stream = Stream::open(path)?;
        match self
            .from
            .or_else(|| stream.is_json().then_some(import::Form::Json))
        {
            Some(form) => import::copy(stream, &name(path), form, &mut reader),
            None => Packets::new(stream, name(path), complaints)?.copy(&mut reader),
        }
    }
}

/// Where packets go to, which, and how many more of them.
pub struct Writer {
    pub stdout: Output,
    pub form: Form,
    pub selector: Selector,
    /// The zero of words, ps since 1970.
    pub epoch_ps: u128,
    /// Whether words become dates.
    pub dates: bool,
    pub fixer: Fixer,
}

impl Writer {
    /// Writes a packet that came then, ps since 1970; false if it was the last that is wanted.
    #[inline]
    fn packet(
        &mut self,
        packet: &Packet<'_>,
        item: &Item<'_>,
        at_ps: impl Fn() -> u128,
        tick: Tick,
    ) -> anyhow::Result<bool> {
        if self.selector.takes(item, &at_ps)? {
            let dated = Packet {
                stamp: match self.dates {
                    true => Date::from_ps(at_ps()).map(Stamp::Date),
                    false => packet.stamp,
                },
                bytes: self.fixer.frame(packet.bytes),
                ..*packet
            };
            let extra = || Extra::of(item);
            self.form
                .append_with(&dated, tick, extra, self.stdout.buffer())?;
            self.stdout.relieve()?;
        }
        Ok(self.selector.wants_more())
    }
}

/// Writes the packets of ports, with their words.
struct Heard<'a> {
    out: &'a mut Writer,
    tick: Tick,
    /// The zero of words, ps since 1970.
    epoch_ps: u128,
}

impl Consumer for Heard<'_> {
    #[inline]
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let packet = in_words(item, self.epoch_ps, self.tick);
        let at_ps = || item.at_ps.unwrap_or(self.epoch_ps);
        self.out.packet(&packet, item, at_ps, self.tick)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.out.stdout.flush()
    }

    fn is_over(&mut self, now_ps: u128) -> bool {
        self.out.selector.is_over(now_ps)
    }

    fn waits(&self) -> bool {
        !self.out.stdout.is_empty()
    }
}

/// Writes the packets of one file.
pub struct FileReader<'a> {
    pub out: &'a mut Writer,
    /// What turns dates into words, where these are wanted.
    pub words: Option<Words>,
    pub tick: Tick,
}

impl Consumer for FileReader<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let packet = match &mut self.words {
            Some(words) => words.stamped(item)?,
            None => item.packet(),
        };
        let (tick, epoch_ps) = (self.tick, self.out.epoch_ps);
        let at_ps = || match packet.stamp.unwrap_or(Stamp::Word(0)) {
            Stamp::Date(date) => date.as_ps(),
            Stamp::Word(word) => epoch_ps + tick.ps(word),
        };
        self.out.packet(&packet, item, at_ps, tick)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.out.stdout.flush()
    }
}
