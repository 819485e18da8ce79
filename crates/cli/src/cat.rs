//! `wire cat`: packets of ports and files as lines, records, text or JSON.

pub mod ports;

use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::confine::{self, Still};
use crate::form::{Form, FormOptions};
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Ended, Packets};
use crate::select::{Selection, Selector};
use crate::zero::Zero;
use anyhow::bail;
use live::file::Item;
use live::port::PortSpec;
use nodes::filter::Program;
use packet::{LONGEST, Packet, Stamp, Tick};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Write the packets of ports or files as lines
///
/// PORT is an interface, tap:NAME, xdp:IFACE, udp:HOST:PORT or `-` for standard input; a FILE may hold
/// lines, records, pcap or pcapng, plain or compressed by gzip or zstd. Files come one after the
/// other, ports all at once, until Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire cat trace.pcapng | grep ' 0806 ' | head -3
  wire cat eth0 --count 10 --text")]
pub struct Cat {
    /// What to read
    #[arg(value_name = "PORT|FILE", default_value = "-")]
    sources: Vec<OsString>,
    #[command(flatten)]
    selection: Selection,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", value_parser = tick)]
    tick: Option<Tick>,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

/// Reads a tick: a time from 1 ps to 4 ms.
pub fn tick(text: &str) -> Result<Tick, String> {
    let time: node::Time = text.parse().map_err(|error| format!("{error}"))?;
    let ps = u32::try_from(time.as_ps()).ok();
    ps.and_then(Tick::from_ps)
        .ok_or_else(|| "a tick is 1 ps to 4.29 ms".into())
}

/// Where packets come from.
pub enum Origin {
    File(PathBuf),
    Port(PortSpec),
}

/// Tells a file from a port: an interface of that name comes first, then a file of that name.
pub fn origin(text: &OsStr) -> anyhow::Result<Origin> {
    let file = |path: &OsStr| Path::new(path).exists().then(|| Origin::File(path.into()));
    let name = packet::printable::word(&text.to_string_lossy()).into_owned();
    match PortSpec::from_os(text) {
        Ok(PortSpec::Capture(path)) => Ok(Origin::File(path)),
        Ok(PortSpec::Standard) => Ok(Origin::File("-".into())),
        Ok(PortSpec::Path(path)) => Ok(Origin::File(path)),
        Ok(PortSpec::Interface(interface)) => {
            let known = live::interface::find(&interface)?.is_some();
            match file(text).filter(|_| !known) {
                Some(origin) => Ok(origin),
                None if known => Ok(Origin::Port(PortSpec::Interface(interface))),
                None => bail!(
                    "there is no interface and no file `{name}` here; `wire ports` lists the interfaces"
                ),
            }
        }
        Ok(spec) => Ok(Origin::Port(spec)),
        Err(error) => match file(text) {
            Some(origin) => Ok(origin),
            None => Err(error.into()),
        },
    }
}

impl Cat {
    /// Writes everything, files before ports.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        let mut files = Vec::new();
        let mut ports = Vec::new();
        for source in &self.sources {
            match origin(source)? {
                Origin::File(path) => files.push(path),
                Origin::Port(spec) => ports.push(spec),
            }
        }
        let mut out = Writer {
            stdout: Output::reading(&files, &self.buffering)?,
            form: self.form.form(),
            selector: self.selection.selector()?,
            epoch_ps: u128::from(live::clock::epoch_ns()) * 1_000,
        };
        let complaints = self.strictness.complaints();
        // Ports are opened first, so that nothing they receive meanwhile is lost.
        let opened = ports::open(&ports, self.tick)?;
        match ports.is_empty() {
            true => confine::reader(Still::default())?,
            false => confine::ports(&ports, !files.is_empty())?,
        }
        let copy = || -> anyhow::Result<()> {
            for path in &files {
                if self.file(path, &mut out, &complaints)? == Ended::Stopped {
                    return Ok(());
                }
            }
            ports::copy(opened, &mut out, &complaints)
        };
        let result = copy();
        let done = out.selector.is_done();
        // What was read before something went wrong is written all the same.
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
        Packets::open(path, complaints)?.copy(&mut reader)
    }
}

/// Compiles a BPF expression.
pub fn compile(expression: &str) -> anyhow::Result<Program> {
    Ok(Program::new(live::bpf::compile(
        expression,
        LONGEST as u32,
    )?)?)
}

/// Where packets go to, which, and how many more of them.
pub struct Writer {
    pub stdout: Output,
    pub form: Form,
    pub selector: Selector,
    /// The zero of words, ps since 1970.
    pub epoch_ps: u128,
}

impl Writer {
    /// Writes a packet; false if it was the last that is wanted.
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>, tick: Tick) -> anyhow::Result<bool> {
        let at_ps = || match packet.stamp.unwrap_or(Stamp::Word(0)) {
            Stamp::Date(date) => date.as_ps(),
            Stamp::Word(word) => self.epoch_ps + tick.ps(word),
        };
        if self.selector.takes(packet.bytes, at_ps) {
            self.form.append(packet, tick, self.stdout.buffer())?;
            self.stdout.relieve()?;
        }
        Ok(self.selector.wants_more())
    }
}

/// Writes the packets of one file.
pub struct FileReader<'a> {
    pub out: &'a mut Writer,
    /// What turns dates into words, where these are wanted.
    pub words: Option<Zero>,
    pub tick: Tick,
}

impl Consumer for FileReader<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let packet = match &mut self.words {
            Some(zero) => zero.stamped(item)?,
            None => item.packet(),
        };
        self.out.packet(&packet, self.tick)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.out.stdout.flush()
    }
}
