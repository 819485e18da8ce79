//! `wire p4 check`: is the program valid?

use super::source::{Reading, count, object, told};
use crate::Verdict;
use crate::output::{Buffering, Output};
use confine::Permissions;
use p4::diagnostic::Severity;
use std::path::PathBuf;

/// Tell all errors and warnings of programs
///
/// The exit code is 1 if a program has errors, with --strict if it has warnings.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire p4 check router.p4 -D WITH_TUNNELS")]
pub struct Check {
    /// The programs, `-` for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Let warnings fail too
    #[arg(long)]
    strict: bool,
    /// No warnings
    #[arg(long, conflicts_with = "strict")]
    quiet: bool,
    /// A line of JSON for each error or warning on standard output
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Checks them.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let mut stdout = Output::open(&Buffering::default())?;
        confine::reader(Permissions::default())?;
        let mut verdict = Verdict::Good;
        for path in &self.files {
            let mut compiled = self.reading.load(path)?;
            if self.quiet {
                compiled
                    .diagnostics
                    .retain(|d| d.severity == Severity::Error);
            }
            let errors = compiled.diagnostics.errors();
            let warnings = compiled
                .diagnostics
                .iter()
                .filter(|d| d.severity == Severity::Warning)
                .count();
            if errors > 0 || self.strict && warnings > 0 {
                verdict = Verdict::Failed;
            }
            if self.json {
                for diagnostic in compiled.diagnostics.sorted() {
                    let line = object(diagnostic, &compiled.sources);
                    stdout.write(format!("{line}\n").as_bytes())?;
                }
            } else {
                eprint!("{}", told(&compiled));
                let said =
                    [(errors, "error"), (warnings, "warning")].map(|(n, what)| count(n, what));
                if errors + warnings > 0 {
                    eprintln!("{}: {}", path.display(), said.join(", "));
                }
            }
        }
        stdout.finish()?;
        Ok(verdict)
    }
}
