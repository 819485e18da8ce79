//! `wire cut`: fields of packets as columns; and packets chosen by a line filter that sees only
//! such an extract (`epcmd`, paper 000 section 6.1.1).

mod extract;
mod filter;

use crate::Verdict;
use crate::columns::Columns;
use crate::complaints::{Complaints, Strictness};
use crate::input::{self, Input, NO_LINE, place};
use crate::listen::{Directions, Listener};
use crate::output::{Buffering, Output};
use crate::select::{Selection, Selector};
use crate::sources::Sources;
use crate::time::TimeForm;
use ::capture::file::Next;
use confine::Permissions;
use extract::Extract;
use filter::Filter;
use packet::Tick;
use std::ffi::OsString;
use std::path::PathBuf;

/// Extract fields of packets as columns, or choose packets by them
///
/// FIELDS are names in the order wanted, such as time, ip.src, dport, ip.ttl, tcp.flags.syn,
/// dns.qry.name, http.host, tls.sni (--fields lists them all; Wireshark's names are among them); or
/// columns of the line as cut(1) has them, such as 4- or 1,3. A packet that has no such field shows
/// `-`; one that has it more than once, commas between. Files may be lines, records or captures; a PORT is listened to until
/// Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire cut ip.src,ip.dst,dport trace.pcapng | sort | uniq -c
  wire cut time,dns.qry.name,dns.answers dns.pcapng
  wire cut ip.src,ip.dst,tcp.flags any --filter tcp --duration 10
  wire cut ether --command 'grep 001122334455' trace.lines")]
pub struct Cut {
    /// Names, or ranges of columns, with commas between them
    #[arg(allow_hyphen_values = true, required_unless_present = "list")]
    fields: Option<String>,
    /// What to read, as by `wire cat`, `-` for standard input
    #[arg(value_name = "PORT|FILE", default_value = "-")]
    sources: Vec<OsString>,
    /// Give the extract to this filter and write the whole packets whose lines it lets through
    ///
    /// Run by `sh -c`, anew for each batch of some megabytes or of what came in without a pause,
    /// so that the filter must not depend on the lines before; see --once.
    #[arg(long, value_name = "CMD")]
    command: Option<String>,
    /// Run the filter a single time over all of the input, which has to fit in 1 GiB
    #[arg(long, requires = "command")]
    once: bool,
    /// How the field `time` is written: utc, local, relative, delta or boot; else it is the date or word
    #[arg(
        long,
        value_name = "FORM",
        hide_possible_values = true,
        conflicts_with = "command"
    )]
    time: Option<TimeForm>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    directions: Directions,
    /// One JSON object a packet
    #[arg(long, conflicts_with = "command")]
    json: bool,
    /// List the fields with their names, and what each is
    #[arg(long = "fields", exclusive = true)]
    list: bool,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

/// What is cut out of a line.
enum Cutting {
    Columns(Columns),
    Fields(Box<Extract>),
}

impl Cut {
    /// Cuts every file in turn.
    pub fn run(self) -> anyhow::Result<Verdict> {
        if self.list {
            extract::list();
            return Ok(Verdict::Good);
        }
        let fields = self.fields.as_deref().unwrap_or_default();
        let mut selection = match Columns::parse(fields)? {
            Some(_) if self.json => anyhow::bail!("--json needs named fields, not columns"),
            Some(_) if self.time.is_some() => {
                anyhow::bail!("--time needs named fields, not columns")
            }
            Some(columns) => Cutting::Columns(columns),
            None => {
                let extract = Extract::parse(fields, self.json)?;
                Cutting::Fields(Box::new(match self.time {
                    Some(form) => extract.with_times(form)?,
                    None => extract,
                }))
            }
        };
        let mut selector = self.selection.selector()?;
        ::capture::signal::install();
        let sources = Sources::of(&self.sources)?;
        let mut stdout = Output::reading(&sources.files, &self.buffering)?;
        let complaints = self.strictness.complaints();
        let listener = Listener::open(&sources.ports, Tick::EIGHT_NS, self.directions)?;
        if self.command.is_none() {
            sources.confine(Permissions::default())?;
        }
        // A command may be any, and is not confined.
        let selects = selector.selects();
        let inputs = input::all(&sources.files, listener, selects, &complaints);
        let cut = match &self.command {
            None => extract(
                inputs,
                &mut selection,
                &mut selector,
                &mut stdout,
                &complaints,
            ),
            Some(command) => {
                let filter = Filter::new(command, self.once);
                choose(
                    inputs,
                    &mut selection,
                    &mut selector,
                    filter,
                    &mut stdout,
                    &complaints,
                )
            }
        };
        // What was cut before something went wrong is written all the same.
        stdout.finish()?;
        let verdict = complaints.finish();
        cut?;
        Ok(verdict)
    }
}

/// Writes the extract.
fn extract(
    inputs: impl Iterator<Item = anyhow::Result<(PathBuf, Input)>>,
    selection: &mut Cutting,
    selector: &mut Selector,
    stdout: &mut Output,
    complaints: &Complaints,
) -> anyhow::Result<()> {
    for input in inputs {
        let (path, mut input) = input?;
        if !selector.wants_more() {
            break;
        }
        loop {
            let block = match input.next(complaints, selector, &mut || stdout.flush())? {
                Next::Item(block) => block,
                Next::End => break,
                Next::Stopped => return Ok(()),
            };
            if let Cutting::Columns(columns) = selection {
                columns.cut(block.text, stdout.buffer());
            } else {
                for (index, (number, line)) in block.lines().enumerate() {
                    let out = stdout.buffer();
                    if selection.append(line, block.lengths.get(index), out)? {
                        out.push(b'\n');
                    } else {
                        complaints.bad(place(&path, number), NO_LINE)?;
                    }
                }
            }
            stdout.relieve()?;
        }
    }
    Ok(())
}

/// Writes the packets whose extract the filter lets through.
fn choose(
    inputs: impl Iterator<Item = anyhow::Result<(PathBuf, Input)>>,
    selection: &mut Cutting,
    selector: &mut Selector,
    mut filter: Filter,
    stdout: &mut Output,
    complaints: &Complaints,
) -> anyhow::Result<()> {
    'inputs: for input in inputs {
        let (path, mut input) = input?;
        loop {
            let block = match input.next(complaints, selector, &mut || filter.idle(stdout))? {
                Next::Item(block) => block,
                Next::End => break,
                Next::Stopped => break 'inputs,
            };
            for (index, (number, line)) in block.lines().enumerate() {
                let length = block.lengths.get(index);
                let found = filter.add(line, |out| selection.append(line, length, out))?;
                if !found {
                    complaints.bad(place(&path, number), NO_LINE)?;
                }
            }
            filter.relieve(stdout)?;
        }
    }
    filter.finish(stdout)
}

impl Cutting {
    /// Appends what is selected of a line, without a newline; false, and nothing is appended, if
    /// it is no line. `length` is that of the packet before it was cut short, if it is known.
    ///
    /// # Errors
    /// When the packet has no time in the form that is asked for.
    fn append(
        &mut self,
        text: &[u8],
        length: Option<&u32>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<bool> {
        match self {
            Cutting::Columns(columns) => {
                columns.cut_line(text, out);
                Ok(true)
            }
            Cutting::Fields(extract) => extract.append(text, length.copied(), out),
        }
    }
}
