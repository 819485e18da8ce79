//! `wire lab`: a graph from a lab file.

use crate::Verdict;
use crate::output::{Buffering, Output};
use lab::{Options, ReadError, World};
use node::Time;
use std::path::{Path, PathBuf};

/// Run a network that a lab file describes, and report what was measured
///
/// The captures and plots that the lab file asks for are written beside it, or into the folder
/// given by --out. Ctrl-C ends the run; what was measured until then is reported.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire lab examples/first-light/lab.toml")]
pub struct Lab {
    /// The lab file (docs/book/src/labs.md describes it)
    file: PathBuf,
    /// Where to run it
    #[arg(long, value_enum, default_value_t = Place::Sim)]
    world: Place,
    /// What everything drawn by lot comes from, instead of the file's seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// When the run ends, instead of the file's duration, such as "10 s"
    #[arg(long, value_name = "TIME")]
    duration: Option<Time>,
    /// The folder for captures and plots, instead of the lab file's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only check the file
    #[arg(long)]
    check: bool,
    /// Write neither captures nor plots
    #[arg(long)]
    dry: bool,
    /// Report percentiles of inter-packet delays and delays too; --json has them in any case
    #[arg(long)]
    percentiles: bool,
    /// Report as JSON Lines
    #[arg(long)]
    json: bool,
}

/// The worlds, as the command line has them.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Place {
    /// In exact virtual time, as any user
    Sim,
    /// In real time over veth pairs and namespaces made for the run, as root
    Live,
}

impl Lab {
    /// Runs the lab.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        let lab = match lab::read(&self.file) {
            Ok(lab) => lab,
            Err(ReadError::Wrong(faults)) => {
                eprint!("{faults}");
                let count = faults.list.len();
                anyhow::bail!("{}: {count} fault(s), nothing was run", self.file.display());
            }
            Err(error) => return Err(error.into()),
        };
        let mut stdout = Output::open(&Buffering::default())?;
        if self.check {
            stdout.write(format!("{}: good\n", self.file.display()).as_bytes())?;
            stdout.finish()?;
            return Ok(Verdict::Good);
        }
        let world = match self.world {
            Place::Sim => World::Sim,
            Place::Live => World::Live,
        };
        let parent = self.file.parent().unwrap_or(Path::new(""));
        let options = Options {
            folder: parent.into(),
            out: self.out,
            seed: self.seed,
            duration: self.duration,
            dry: self.dry,
            stop: Some(live::signal::stop_requested),
        };
        let report = lab::run(&lab, world, &options)?;
        let text = match self.json {
            true => report.json(),
            false if self.percentiles => format!("{report}\n{}", report.percentiles()),
            false => report.to_string(),
        };
        stdout.write(text.as_bytes())?;
        stdout.finish()?;
        anyhow::ensure!(report.failures.is_empty(), "{}", report.failures.join("; "));
        Ok(Verdict::Good)
    }
}
