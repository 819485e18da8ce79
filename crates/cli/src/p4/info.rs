//! `wire p4 info`

use super::source::Reading;
use crate::Verdict;
use anyhow::Context;
use std::io::Write;
use std::path::PathBuf;

/// What a controller has to know of a program: its P4Info
///
/// Tables, actions, counters and all else that P4Runtime reads and writes, with the numbers that it gives them.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire p4 info router.p4 --p4info router.p4info.txtpb")]
pub struct Info {
    /// The program
    program: PathBuf,
    /// Write the P4Info to a file: as JSON when its name ends in .json, otherwise as text
    #[arg(long, value_name = "FILE")]
    p4info: Option<PathBuf>,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Info {
    /// Describes the program.
    ///
    /// # Errors
    /// When it has errors, or a file cannot be read or written.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let compiled = self.reading.load_valid(&self.program)?;
        let (Some(checked), Some(program)) = (&compiled.checked, &compiled.program) else {
            anyhow::bail!(
                "{}: without a `main` there is nothing to control",
                self.program.display()
            );
        };
        let info = p4::info::describe(checked, program);
        if let Some(path) = &self.p4info {
            let text = match path.extension().is_some_and(|end| end == "json") {
                true => info.json() + "\n",
                false => info.text(),
            };
            std::fs::write(path, text)
                .with_context(|| format!("{} cannot be written", path.display()))?;
            return Ok(Verdict::Good);
        }
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(
                out,
                "{{\"schema\":\"wire-p4-info/1\",\"p4info\":{}}}",
                info.json()
            )?;
        } else {
            out.write_all(info.text().as_bytes())?;
        }
        Ok(Verdict::Good)
    }
}
