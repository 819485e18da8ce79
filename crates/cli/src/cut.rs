//! `wire cut`: fields of packets as columns; and packets chosen by a line filter that sees only
//! such an extract (`epcmd`, paper 000 section 6.1.1).

mod filter;

use crate::Verdict;
use crate::columns::Columns;
use crate::complaints::{Complaints, Strictness};
use crate::confine::{self, Still};
use crate::fields::{Field, Line};
use crate::input::{Input, NO_LINE, place};
use crate::layout;
use crate::output::{Buffering, Output};
use filter::Filter;
use live::file::Next;
use packet::json::Head;
use std::io::Write;
use std::path::PathBuf;

/// Extract fields of packets as columns, or choose packets by them
///
/// FIELDS are names in the order wanted: time hash ether dst src type vlan ip.src ip.dst proto
/// sport dport payload; or columns of the line as cut(1) has them, such as 4- or 1,3. A packet
/// that has no such field shows `-`. Files may be lines, records or captures.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire cut ip.src,ip.dst,dport trace.pcapng | sort | uniq -c
  wire cut ether --command 'grep 001122334455' trace.lines")]
pub struct Cut {
    /// Names, or ranges of columns, with commas between them
    #[arg(allow_hyphen_values = true)]
    fields: String,
    /// Files to read, `-` for standard input
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,
    /// Give the extract to this filter and write the whole packets whose lines it lets through
    ///
    /// Run by `sh -c`, anew for each batch of some megabytes or of what came in without a pause,
    /// so that the filter must not depend on the lines before; see --once.
    #[arg(long, short, value_name = "CMD")]
    command: Option<String>,
    /// Run the filter a single time over all of the input, which has to fit in 1 GiB
    #[arg(long, requires = "command")]
    once: bool,
    /// One JSON object a packet
    #[arg(long, conflicts_with = "command")]
    json: bool,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

/// What is cut out of a line.
enum Selection {
    Columns(Columns),
    Fields(Vec<Field>),
}

impl Cut {
    /// Cuts every file in turn.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let selection = match Columns::parse(&self.fields)? {
            Some(_) if self.json => anyhow::bail!("--json needs named fields, not columns"),
            Some(columns) => Selection::Columns(columns),
            None => {
                let fields = self.fields.split(',').map(str::parse);
                Selection::Fields(fields.collect::<Result<_, _>>()?)
            }
        };
        live::signal::install();
        let mut stdout = Output::reading(&self.files, &self.buffering)?;
        let complaints = self.strictness.complaints();
        let cut = match &self.command {
            None => {
                confine::reader(Still::default())?;
                self.extract(&selection, &mut stdout, &complaints)
            }
            // The command may be any.
            Some(command) => {
                let filter = Filter::new(command, self.once);
                self.choose(&selection, filter, &mut stdout, &complaints)
            }
        };
        // What was cut before something went wrong is written all the same.
        stdout.finish()?;
        let verdict = complaints.finish();
        cut?;
        Ok(verdict)
    }

    /// Writes the extract.
    fn extract(
        &self,
        selection: &Selection,
        stdout: &mut Output,
        complaints: &Complaints,
    ) -> anyhow::Result<()> {
        let mut scratch = Vec::new();
        for path in &self.files {
            let mut input = Input::open(path, complaints)?;
            loop {
                let block = match input.next(complaints, &mut || stdout.flush())? {
                    Next::Item(block) => block,
                    Next::End => break,
                    Next::Stopped => return Ok(()),
                };
                if let Selection::Columns(columns) = selection {
                    columns.cut(block.text, stdout.buffer());
                } else {
                    for (number, line) in block.lines() {
                        let out = stdout.buffer();
                        if selection.append(line, &mut scratch, self.json, out) {
                            out.push(b'\n');
                        } else {
                            complaints.bad(place(path, number), NO_LINE)?;
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
        &self,
        selection: &Selection,
        mut filter: Filter,
        stdout: &mut Output,
        complaints: &Complaints,
    ) -> anyhow::Result<()> {
        let mut scratch = Vec::new();
        'files: for path in &self.files {
            let mut input = Input::open(path, complaints)?;
            loop {
                let block = match input.next(complaints, &mut || filter.idle(stdout))? {
                    Next::Item(block) => block,
                    Next::End => break,
                    Next::Stopped => break 'files,
                };
                for (number, line) in block.lines() {
                    let found =
                        filter.add(line, |out| selection.append(line, &mut scratch, false, out));
                    if !found {
                        complaints.bad(place(path, number), NO_LINE)?;
                    }
                }
                filter.relieve(stdout)?;
            }
        }
        filter.finish(stdout)
    }
}

impl Selection {
    /// Appends what is selected of a line, without a newline; false, and nothing is appended, if
    /// it is no line.
    fn append(&self, text: &[u8], scratch: &mut Vec<u8>, json: bool, out: &mut Vec<u8>) -> bool {
        let fields = match self {
            Selection::Columns(columns) => {
                columns.cut_line(text, out);
                return true;
            }
            Selection::Fields(fields) => fields,
        };
        let mut line = match Line::new(text) {
            Some(line) => line,
            None => {
                layout::tidy(text, scratch);
                match Line::new(scratch) {
                    Some(line) => line,
                    None => return false,
                }
            }
        };
        if json {
            return append_json(&mut line, fields, out);
        }
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            line.append(*field, out);
        }
        true
    }
}

/// Appends a JSON object with the fields' values as text. None of them needs an escape: they are
/// digits, blanks, dots and colons.
fn append_json(line: &mut Line<'_>, fields: &[Field], out: &mut Vec<u8>) -> bool {
    let head = Head {
        what: "cut",
        kind: "fields",
    };
    // Writing to a Vec does not fail.
    let _ = write!(out, "{head}");
    for (index, field) in fields.iter().enumerate() {
        if fields[..index].contains(field) {
            // Once is enough: an object has each key once.
            continue;
        }
        out.extend_from_slice(b",\"");
        let name = match field.name() {
            // `type` is what the object is.
            "type" => "ethertype",
            name => name,
        };
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":\"");
        line.append(*field, out);
        out.push(b'"');
    }
    out.push(b'}');
    true
}
