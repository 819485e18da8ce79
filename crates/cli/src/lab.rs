//! `wire lab`: a graph from a lab file.

mod progress;

use crate::Verdict;
use crate::output::{Buffering, Output};
use lab::{Command, Options, ReadError, World};
use node::Time;
use std::path::{Path, PathBuf};

/// Run a network that a lab file describes, and report what was measured
///
/// The captures and plots that the lab file asks for are written beside it, or into the folder
/// given by --out. Ctrl-C ends the run; what was measured until then is reported.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire lab examples/first-light/lab.toml
  sudo wire lab examples/openvswitch/lab.toml --world live --run 'h1 ping -c 3 h2'")]
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
    /// With `--world live`: run a command in a node's namespace, such as 'h1 ping -c 1 h2', and end the
    /// lab with it; several are run one after another, in place of the file's own commands
    #[arg(long, value_name = "NODE COMMAND")]
    run: Vec<String>,
    /// With `--world live`: a shell in a node's namespace while the lab is up
    #[arg(long, value_name = "NODE")]
    shell: Option<String>,
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
    /// Tell how far a simulation has come where there is no terminal too; with --json as lines of it
    #[arg(long)]
    progress: bool,
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
        let commands = self.commands()?;
        if commands.is_some() {
            live::signal::leave_to_others();
        }
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
            stop: Some(|| live::signal::stop_requested() || lab::flops::is_over()),
            commands,
            progress: progress::teller(self.json, self.progress),
        };
        let report = lab::run(&lab, world, &options)?;
        progress::finish();
        let text = match self.json {
            true => report.json(),
            false if self.percentiles => format!("{report}\n{}", report.percentiles()),
            false => report.to_string(),
        };
        stdout.write(text.as_bytes())?;
        stdout.finish()?;
        anyhow::ensure!(report.failures.is_empty(), "{}", report.failures.join("; "));
        match report.jobs.iter().any(live::crew::JobReport::failed) {
            true => Ok(Verdict::Failed),
            false => Ok(Verdict::Good),
        }
    }

    /// What --run and --shell ask for.
    fn commands(&self) -> anyhow::Result<Option<Vec<Command>>> {
        let mut commands = Vec::new();
        for text in &self.run {
            let Some((node, command)) = text.trim().split_once(char::is_whitespace) else {
                anyhow::bail!(
                    "--run {text:?}: write a node and a command, such as --run 'h1 ping -c 1 h2'"
                );
            };
            let (node, command) = (node.into(), command.trim().into());
            commands.push(Command { node, command });
        }
        if let Some(node) = &self.shell {
            let (node, command) = (node.clone(), "exec \"${SHELL:-/bin/sh}\"".into());
            commands.push(Command { node, command });
        }
        let any = !commands.is_empty();
        anyhow::ensure!(
            !any || matches!(self.world, Place::Live),
            "--run and --shell need --world live: in simulated time no real program can run"
        );
        Ok(any.then_some(commands))
    }
}
