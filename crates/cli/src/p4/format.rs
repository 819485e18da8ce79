//! `wire p4 fmt`: programs laid out.

use super::source::object;
use crate::Verdict;
use crate::output::{Buffering, Output};
use anyhow::Context;
use confine::Permissions;
use p4::source::Sources;
use std::path::{Path, PathBuf};

/// Lay programs out: four spaces, one statement a line, at most 100 columns
///
/// Comments, blank lines, directives, and line ends inside brackets stay. Without --write or --check the layout goes to standard
/// output. The exit code is 1 if --check finds a file that would change, or a file is no program.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire p4 fmt --check *.p4 || wire p4 fmt --write *.p4")]
pub struct Format {
    /// The programs, `-` for standard input
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,
    /// Only tell which files would change
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Change the files themselves
    #[arg(long)]
    write: bool,
    /// A line of JSON for each file, and for each error
    #[arg(long)]
    json: bool,
}

impl Format {
    /// Lays them out.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let mut stdout = Output::open(&Buffering::default())?;
        confine::reader(Permissions {
            writes: self.write,
            ..Permissions::default()
        })?;
        let mut verdict = Verdict::Good;
        for path in &self.files {
            let name = path.display().to_string();
            let is_stdin = path == Path::new("-");
            let text = ::capture::file::text(path).with_context(|| name.clone())?;
            let laid_out = match p4::fmt::format(&text) {
                Ok(laid_out) => laid_out,
                Err(diagnostics) => {
                    verdict = Verdict::Failed;
                    let mut sources = Sources::default();
                    sources.add(&name, &text);
                    for diagnostic in diagnostics.sorted() {
                        if self.json {
                            let line = object(diagnostic, &sources);
                            stdout.write(format!("{line}\n").as_bytes())?;
                        } else {
                            eprint!("{}", diagnostic.render(&sources));
                        }
                    }
                    continue;
                }
            };
            let changes = laid_out != text;
            if self.check && changes {
                verdict = Verdict::Failed;
            }
            if self.write && changes && !is_stdin {
                ::capture::output::replace(path, laid_out.as_bytes())?;
            }
            if self.json {
                let mut line = json_line!("p4", "fmt", { "file": name, "changes": changes });
                if !self.check && !self.write {
                    line["text"] = laid_out.into();
                }
                stdout.write(format!("{line}\n").as_bytes())?;
            } else if self.check {
                if changes {
                    stdout.write(format!("{name}\n").as_bytes())?;
                }
            } else if !self.write || is_stdin {
                stdout.write(laid_out.as_bytes())?;
            }
        }
        stdout.finish()?;
        Ok(verdict)
    }
}
