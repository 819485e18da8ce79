//! `wire p4 counters`: performance counters of the hardware.

use super::source::Reading;
use crate::Verdict;
use crate::output::{Buffering, Output};
use anyhow::{Context, anyhow};
use lab::engine::{EngineKind, Engines, describe};
use pipeline::architecture::Config;
use pipeline::environment::Options;
use pipeline::stf;
use std::path::PathBuf;
use std::sync::Arc;

/// Performance counters of a program in hardware, while the packets of an STF file pass
///
/// Needs `wire-rtl`, which compiles the Verilog of the program with its counters (`wire p4 compile --counters`) and reads them over the register bus:
/// packets and words at both streams, cycles in which a word waits, packets that parser and tables have done, and for each table the packets that
/// come to it and those that hit. The exit code is 1 if the test fails.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire-rtl p4 counters router.p4 router.stf
  wire-rtl p4 counters router.p4 --json")]
pub struct Counters {
    /// The program
    program: PathBuf,
    /// The test; without one that of the program's own name
    test: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// A line of JSON for each counter on standard output
    #[arg(long)]
    json: bool,
}

impl Counters {
    /// Runs the test, and reads the counters.
    ///
    /// # Errors
    /// When the program is no hardware, or the files cannot be read.
    pub fn run(self, known: &Engines) -> anyhow::Result<Verdict> {
        let mut stdout = Output::open(&Buffering::default())?;
        let compiled = self.reading.load_valid(&self.program)?;
        let shown = self.program.display();
        let program = compiled.program.clone();
        let program = program.ok_or_else(|| anyhow!("{shown} has no `main`"))?;
        let test = self.test.clone();
        let test = test.unwrap_or_else(|| self.program.with_extension("stf"));
        let text = ::capture::file::text(&test).with_context(|| test.display().to_string())?;
        let script = stf::parse(&text).map_err(|faults| {
            let faults = faults.iter();
            let lines = faults.map(|f| format!("{}:{}: {}", test.display(), f.line, f.message));
            anyhow!(lines.collect::<Vec<_>>().join("\n"))
        })?;
        let options = Options {
            performance: true,
            ..Options::default()
        };
        let config = Config::default();
        let pipeline = known.pipeline(&Arc::new(program), EngineKind::Rtl, options, &config);
        let mut pipeline = pipeline.map_err(|fault| anyhow!(describe(&fault, &compiled)))?;
        let outcome = stf::run(&script, &mut pipeline);
        for failure in &outcome.failures {
            eprintln!("{}:{}: {}", test.display(), failure.line, failure.message);
        }
        for (name, count) in pipeline.performance() {
            let line = match self.json {
                true => json_line!("p4", "counters", { "name": *name, "count": count }).to_string(),
                false => format!("{count:>12} {name}"),
            };
            stdout.tell(&format!("{line}\n"))?;
        }
        stdout.finish()?;
        Ok(match outcome.failures.is_empty() {
            true => Verdict::Good,
            false => Verdict::Failed,
        })
    }
}
