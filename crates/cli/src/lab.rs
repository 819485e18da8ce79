//! `wire lab`: a graph from a lab file.

mod progress;
mod shell;
mod sweep;
mod tables;
mod watch;

use crate::Verdict;
use crate::complaints::Leniency;
use crate::output::{Buffering, Output};
use ::lab::Registry;
use anyhow::Context;
use confine::Permissions;
use lab::{Command, Options, ReadError, Waves, World};
use node::Time;
use node::outcome::Finish;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Run a network that a lab file describes, and report what was measured
///
/// The captures and plots that the lab file asks for are written beside it, or into the folder
/// given by --out. Ctrl-C ends the run; what was measured until then is reported.
#[derive(clap::Args)]
#[command(
    override_usage = "wire lab [OPTIONS] <FILE>",
    after_help = "Examples:
  wire lab examples/first-light/lab.toml
  wire lab examples/bufferbloat/lab.toml --set link.0.forth.queue=codel --why codel
  echo pingall | wire lab --shell examples/vlan/lab.toml
  wire lab examples/star/lab.toml --sweep default.link.rate=1Gb/s..10Gb/s:10 --seeds 20
  sudo wire lab examples/openvswitch/lab.toml --world live --run 'h1 ping -c 3 h2'"
)]
pub struct Lab {
    /// The lab file (docs/book/src/labs.md describes it)
    #[arg(required_unless_present = "shell")]
    file: Option<PathBuf>,
    /// Where to run it; by default where the file says, else sim
    #[arg(long, value_enum)]
    world: Option<WorldName>,
    /// Seed of all random numbers, instead of the file's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// When the run ends, whatever the file says: 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// The folder for captures and plots
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Live: run 'h1 ping -c 1 h2', not the file's commands
    #[arg(long, value_name = "NODE COMMAND")]
    run: Vec<String>,
    /// By commands, `help` lists them; live: a node's shell
    #[arg(long, value_name = "NODE", num_args = 0..=1, conflicts_with_all = ["realtime", "json", "percentiles"])]
    shell: Option<Option<String>>,
    /// Simulated: with a web page at ADDRESS or 127.0.0.1:8600
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:8600",
        conflicts_with_all = ["realtime", "shell", "run", "check", "sweep", "seeds", "topology", "threads", "attach"])]
    watch: Option<SocketAddr>,
    /// A command, or a shell, in a node of this running lab
    #[arg(long, value_name = "NODE [COMMAND]", conflicts_with_all = ["run", "shell", "check", "world", "out", "dry", "json"])]
    attach: Option<String>,
    /// With `--world sim`: keep simulated time to the clock, so that programs of this machine take part by
    /// nodes of kind `tap`
    #[arg(long)]
    realtime: bool,
    /// The most threads in simulated time; the outcome is the same to the last bit. Default: all processors for a lab of 48 nodes or
    /// more, else one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Only check the file
    #[arg(long)]
    check: bool,
    /// Only draw the network: .svg, .png, or .dot for Graphviz
    #[arg(long, value_name = "FILE", conflicts_with_all = ["attach", "run", "shell", "realtime", "check"])]
    topology: Option<PathBuf>,
    /// Write neither captures nor plots
    #[arg(long)]
    dry: bool,
    /// Let the lab file write outside of its output folder, and name keys outside of its own
    #[arg(long)]
    allow_paths: bool,
    /// Let the lab file run the programs that its nodes name, in simulated time too
    #[arg(long)]
    allow_commands: bool,
    /// Give a key another value: link.0.forth.queue=codel
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Explain a drop or mark: by reason, by time or by number
    #[arg(long, value_name = "PACKET", conflicts_with_all = ["sweep", "seeds", "attach"])]
    why: Option<String>,
    /// Run the lab for each value of a key: link.0.rate=1Gb/s..10Gb/s:10 (ten values),
    /// node.a.count=100,1000, link.1.delay=1ms..5ms:1ms (steps)
    #[arg(long, value_name = "KEY=VALUES", help_heading = "Many runs", conflicts_with_all = ["attach", "run", "shell", "realtime"])]
    sweep: Vec<lab::sweep::Axis>,
    /// Run it with N seeds; means with 95 % confidence intervals
    #[arg(long, value_name = "N", help_heading = "Many runs", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with_all = ["attach", "run", "shell", "realtime"])]
    seeds: Option<u32>,
    /// Of each: throughput, goodput, delay(-p99), round-trip, loss, drops, queue, busy,
    /// fairness, duration, available(-error)
    #[arg(
        long,
        value_name = "WHAT",
        help_heading = "Many runs",
        value_delimiter = ','
    )]
    measure: Vec<lab::sweep::Measure>,
    /// Draw means; of one run rtt=, queue=, cwnd=, throughput=FILE
    #[arg(long, value_name = "[KIND=]FILE", help_heading = "Many runs")]
    plot: Vec<Plot>,
    /// In the world cosim: waveforms of a node's first port, box=20ms..20.1ms, to box.fst
    #[arg(long, value_name = "NODE=FROM..TO", value_parser = waves)]
    waves: Option<Waves>,
    /// Tell all detail of times
    #[arg(long, short)]
    verbose: bool,
    /// Report percentiles of inter-packet delays and delays too; --json has them in any case
    #[arg(long)]
    percentiles: bool,
    /// Report as JSON Lines
    #[arg(long)]
    json: bool,
    /// Write its lines as tables: DIR/flow.csv and others
    #[arg(long, value_name = "DIR", conflicts_with_all = ["attach", "run", "shell", "seeds", "sweep"])]
    csv: Option<PathBuf>,
    /// The same as Parquet: DIR/flow.parquet and others
    #[arg(long, value_name = "DIR", conflicts_with_all = ["attach", "run", "shell", "seeds", "sweep"])]
    parquet: Option<PathBuf>,
    /// Tell how far a simulation has come where there is no terminal too; with --json as lines of it
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    leniency: Leniency,
}

/// The worlds, as the command line has them.
#[derive(Clone, Copy, clap::ValueEnum)]
enum WorldName {
    /// In exact virtual time, as any user
    Sim,
    /// In real time over veth pairs and namespaces made for the run, as root
    Live,
    /// As sim, behind ports in Verilog: in the command `wire-rtl`, by `make rtl`
    Cosim,
}

/// A plot of one run or of many runs.
#[derive(Clone, Debug)]
enum Plot {
    /// Of one run: the kind as a setting key (`plot.KIND`), and the file.
    Run(String, String),
    /// Of many runs.
    Means(PathBuf),
}

impl FromStr for Plot {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Plot, Self::Err> {
        let is_kind = |kind: &str| kind.chars().all(|letter| letter.is_ascii_lowercase());
        Ok(
            match text.split_once('=').filter(|(kind, _)| is_kind(kind)) {
                Some((kind, file)) => Plot::Run(format!("plot.{kind}"), file.into()),
                None => Plot::Means(text.into()),
            },
        )
    }
}

/// A key, and a value.
fn setting(text: &str) -> anyhow::Result<(String, String)> {
    let parts = text.split_once('=');
    let (key, value) = parts.context("write a key and a value, such as link.0.rate=1Gb/s")?;
    Ok((key.trim().into(), value.trim().into()))
}

/// Of which node waveforms are wanted, and of which time.
fn waves(text: &str) -> anyhow::Result<Waves> {
    let parts = text
        .split_once('=')
        .and_then(|(node, window)| Some((node, window.split_once("..")?)));
    let (node, (from, to)) =
        parts.context("write a node and a window of time, such as box=20ms..20.1ms")?;
    let window = node::time::seconds(from)?..node::time::seconds(to)?;
    anyhow::ensure!(
        !window.is_empty(),
        "a window of time ends behind its beginning"
    );
    let node = node.into();
    Ok(Waves { node, window })
}

/// Reads a lab file; its faults are reported.
pub(crate) fn read(registry: &Registry, file: &Path, world: World) -> anyhow::Result<lab::Lab> {
    registry
        .read(file, world)
        .map_err(|error| reported(error, file))
}

/// An error of reading a lab file, whose faults are on stderr, each with its place.
fn reported(error: ReadError, file: &Path) -> anyhow::Error {
    let ReadError::Wrong(faults) = error else {
        return error.into();
    };
    eprint!("{faults}");
    let count = faults.list.len();
    anyhow::anyhow!("{}: {count} fault(s), nothing was run", file.display())
}

/// The faults of a lab file that was checked, as a line of JSON.
fn faults_line(faults: &lab::Faults) -> String {
    let all = faults.list.iter().map(|fault| {
        let (line, column) = faults.place(fault.span.start);
        serde_json::json!({
            "line": line, "column": column, "message": fault.message, "help": fault.help,
        })
    });
    let all: Vec<serde_json::Value> = all.collect();
    let line = json_line!("lab", "check", { "file": faults.file, "good": false, "faults": all });
    format!("{line}\n")
}

/// The command of a shell.
const SHELL: &str = "exec \"${SHELL:-/bin/sh}\"";

/// Nodes that go on for ever, of which a message names so many.
const NAMED: usize = 3;

impl Lab {
    /// Runs the lab.
    pub fn run(mut self, registry: &Registry) -> anyhow::Result<Verdict> {
        if self.file.is_none() {
            // As in `wire lab --shell FILE`.
            let word = self.shell.as_mut().and_then(Option::take);
            self.file = word.map(PathBuf::from);
            anyhow::ensure!(
                self.file.is_some(),
                "of which lab? write wire lab --shell FILE"
            );
        }
        if let Some(wanted) = &self.attach {
            return self.attach(wanted);
        }
        if !self.sweep.is_empty() || self.seeds.is_some() {
            return self.sweep(registry);
        }
        anyhow::ensure!(
            !self.plot.iter().any(|plot| matches!(plot, Plot::Means(_))) && self.measure.is_empty(),
            "--plot FILE and --measure are for many runs: add --seeds 20, or --sweep KEY=VALUES; --plot rtt=FILE draws round trips of one run"
        );
        let commands = self.commands()?;
        if commands.is_some() {
            ::capture::signal::leave_to_others();
        }
        ::capture::signal::install();
        let worlds = match self.world {
            Some(WorldName::Sim) => vec![World::Sim],
            Some(WorldName::Live) => vec![World::Live],
            Some(WorldName::Cosim) => vec![World::Cosim],
            None => lab::worlds(self.file())?,
        };
        let is_shown = self.watch.is_some() && self.world.is_none();
        let worlds = match is_shown && worlds.contains(&World::Sim) {
            true => vec![World::Sim],
            false => worlds,
        };
        if self.shell == Some(None) && !self.check {
            return self.step_by_step(registry, &worlds);
        }
        let first = self.read(registry, worlds[0])?;
        if let Some(path) = &self.topology {
            ::capture::output::apart(path, [self.file()])?;
            first.draw_topology(path)?;
            return Ok(Verdict::Good);
        }
        anyhow::ensure!(
            commands.is_none() || worlds == [World::Live],
            "--run and --shell NODE need --world live: in simulated time no real program can run, and --shell without a node goes step by step"
        );
        anyhow::ensure!(
            self.waves.is_none() || worlds.contains(&World::Cosim),
            "--waves is for the world cosim, where ports are in Verilog: add --world cosim"
        );
        let mut stdout = Output::open(&Buffering::default())?;
        anyhow::ensure!(
            !self.realtime || !worlds.contains(&World::Live),
            "--realtime is for simulated time: the world live is in real time as it is; leave it out, or add --world sim"
        );
        let mut page = self.open_page(&worlds)?;
        // Live, a lab starts programs and makes namespaces; in real time it makes interfaces.
        let runs_programs = self.allow_commands && first.commands().next().is_some();
        // Hardware is compiled by programs.
        let makes = runs_programs
            || self.realtime
            || worlds.contains(&World::Live)
            || registry.engines().has_hardware();
        if self.check || !makes {
            confine::reader(Permissions {
                writes: !self.dry && !self.check,
                compiles: true,
                kernel: first.loads_programs(),
                accepts: page.is_some(),
                ..Permissions::default()
            })?;
        }
        if self.check {
            for world in &worlds {
                let lab = self.read(registry, *world)?;
                let options = self.options(*world, &worlds, &None);
                lab::check_keys(&lab, *world, &options)?;
                lab::check_outputs(&lab, *world, &options)?;
            }
            let endless = self.endless(&first, &commands);
            let name = self.file().display();
            stdout.tell(&match self.json {
                true => {
                    let worlds: Vec<&str> = worlds.iter().map(|world| world.name()).collect();
                    let line = json_line!("lab", "check", {
                        "file": name.to_string(), "good": true, "lab": first.name, "worlds": worlds,
                        "endless": endless,
                    });
                    format!("{line}\n")
                }
                false => {
                    let but = endless.map_or(String::new(), |why| format!(", but {why}"));
                    format!("{name}: good{but}\n")
                }
            })?;
            stdout.finish()?;
            return Ok(Verdict::Good);
        }
        if let Some(why) = self.endless(&first, &commands) {
            eprintln!("wire: {why}; Ctrl-C ends it with a report");
        }
        let complaints = self.leniency.complaints();
        let (mut verdict, mut reports) = (Verdict::Good, Vec::new());
        for world in &worlds {
            let lab = self.read(registry, *world)?;
            if worlds.len() > 1
                && let Some(reason) = lab::lacks(&lab, *world)
            {
                stdout.write(self.skipped(&lab, *world, &reason).as_bytes())?;
                continue;
            }
            if *world == World::Live && commands.is_none() {
                self.tell_who_waits(&lab);
            }
            let options = self.options(*world, &worlds, &commands);
            let report = match page.take() {
                Some(page) => watch::run(&lab, options, page)?,
                None => lab::run(&lab, *world, &options)?,
            };
            progress::finish();
            let mut text = match self.json {
                true => report.json(),
                false if self.percentiles => {
                    format!("{}\n{}", report.text(self.verbose), report.percentiles())
                }
                false => report.text(self.verbose),
            };
            if !self.json && worlds.len() > 1 {
                text.push('\n');
            }
            stdout.write(text.as_bytes())?;
            stdout.flush()?;
            for (folder, form) in [
                (&self.csv, tables::Form::Csv),
                (&self.parquet, tables::Form::Parquet),
            ] {
                let Some(folder) = folder else { continue };
                let folder = match worlds.len() {
                    1 => folder.clone(),
                    _ => folder.join(world.name()),
                };
                tables::write(&report, form, &folder)?;
            }
            anyhow::ensure!(report.failures.is_empty(), "{}", report.failures.join("; "));
            let failed = report
                .jobs
                .iter()
                .any(live::world::process::JobReport::failed);
            let mut kept = true;
            for broken in report.verdicts().filter(|verdict| !verdict.holds) {
                eprintln!("wire: {}", broken.told);
                kept = false;
            }
            verdict = verdict.max(Verdict::if_good(!failed && kept));
            for job in &report.jobs {
                for what in &job.lacking {
                    complaints.lost(1, format_args!("{} ran without {what}", job.name));
                }
            }
            let whole = report.outcome.finish != Finish::Stopped && !report.stopped;
            for what in &report.empty {
                // A run that was stopped may not have come to what a picture shows.
                match whole {
                    true => complaints.lost(1, what),
                    false => eprintln!("wire: {what}"),
                }
            }
            let lost = report.lost;
            let what =
                format_args!("{lost} packets of replayed files were skipped, cut short or lost");
            complaints.lost(lost, what);
            // Without a duration or commands, a simulation of what ends by itself has an end to come to, and a live
            // lab is up until somebody ends it.
            let asked = self.duration.or(lab.duration).is_some() || commands.is_some();
            let has_end = asked || world.is_simulated() && lab.endless().is_empty();
            verdict = verdict.max(Verdict::if_done(!has_end || whole));
            reports.push(report);
            if ::capture::signal::stop_requested() {
                break;
            }
        }
        if !self.json && reports.len() > 1 {
            stdout.write(lab::comparison::text(&reports).as_bytes())?;
        }
        stdout.finish()?;
        Ok(verdict.max(complaints.finish()))
    }

    /// Tells how to use a lab that does nothing by itself.
    fn tell_who_waits(&self, lab: &lab::Lab) {
        let awaits = match self.duration {
            None => lab.awaits(),
            Some(_) => Vec::new(),
        };
        if let Some(first) = awaits.first() {
            let (file, hosts) = (self.file().display(), awaits.join(", "));
            eprintln!(
                "wire: up until Ctrl-C: in other terminals `wire lab {file} --attach {first}` is a shell in {first}; there are {hosts}"
            );
        }
        let served = lab.p4runtime();
        if !served.is_empty() {
            let served = served
                .iter()
                .map(|(node, address)| format!("{node} {address}"));
            let until = match self.duration.or(lab.duration) {
                None => "up until Ctrl-C: ",
                Some(_) => "",
            };
            let served = served.collect::<Vec<_>>().join(", ");
            eprintln!("wire: {until}P4Runtime: {served}");
        }
    }

    /// What goes on for ever where nothing else ends a run, and the mend.
    fn endless(&self, lab: &lab::Lab, commands: &Option<Vec<Command>>) -> Option<String> {
        let reasons = match (self.duration, commands) {
            (None, None) => lab.endless(),
            _ => Vec::new(),
        };
        let more = match reasons.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let named: Vec<String> = reasons.into_iter().take(NAMED).collect();
        (!named.is_empty()).then(|| {
            format!(
                "nothing bounds a run: {}{more}; write `duration = \"10 s\"` under [lab], or --duration 10s",
                named.join(", ")
            )
        })
    }

    fn file(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new(""))
    }

    /// Reads its file, with the values of the options in place of the file's.
    fn read(&self, registry: &Registry, world: World) -> anyhow::Result<lab::Lab> {
        let seed = self.seed.map(|seed| seed.to_string());
        let set = self.set.iter().map(|(key, value)| (&key[..], &value[..]));
        let seed = seed.iter().map(|seed| ("lab.seed", &seed[..]));
        let why = self.why.iter().map(|why| ("queues.why", &why[..]));
        let plots = self.plot.iter().filter_map(|plot| match plot {
            Plot::Run(kind, file) => Some((&kind[..], &file[..])),
            Plot::Means(_) => None,
        });
        let settings: Vec<_> = set.chain(seed).chain(why).chain(plots).collect();
        let read = registry.read_with(self.file(), world, &settings);
        if let (Err(ReadError::Wrong(faults)), true, true) = (&read, self.check, self.json) {
            let mut stdout = Output::open(&Buffering::default())?;
            stdout.tell(&faults_line(faults))?;
            stdout.finish()?;
        }
        read.map_err(|error| {
            let error = reported(error, self.file());
            match self.replaced() {
                with if with.is_empty() => error,
                // The reported place is that of the replaced key in the file.
                with => anyhow::anyhow!("{error}, with {with}"),
            }
        })
    }

    /// The options that replace keys of the file.
    fn replaced(&self) -> String {
        let set = self
            .set
            .iter()
            .map(|(key, value)| format!("--set {key}={value}"));
        let why = self.why.iter().map(|why| format!("--why {why}"));
        let plots = self.plot.iter().filter_map(|plot| match plot {
            Plot::Run(key, file) => {
                let kind = key.strip_prefix("plot.").unwrap_or(key);
                Some(format!("--plot {kind}={file}"))
            }
            Plot::Means(_) => None,
        });
        let all: Vec<String> = set.chain(why).chain(plots).collect();
        all.join(" ")
    }

    fn options(&self, world: World, worlds: &[World], commands: &Option<Vec<Command>>) -> Options {
        let folder: PathBuf = self.file().parent().unwrap_or(Path::new("")).into();
        // What one world writes the other one must not write over.
        let out = match worlds.len() {
            0 | 1 => self.out.clone(),
            _ => Some(self.out.as_ref().unwrap_or(&folder).join(world.name())),
        };
        Options {
            folder,
            file: self.file().canonicalize().ok(),
            out,
            duration: self.duration,
            dry: self.dry,
            allow_paths: self.allow_paths,
            realtime: self.realtime,
            threads: self.threads.map(usize::from),
            allow_commands: self.allow_commands,
            stop: Some(::capture::signal::stop_requested),
            commands: commands.clone(),
            waves: self.waves.clone().filter(|_| world == World::Cosim),
            progress: progress::teller(self.json, self.progress),
        }
    }

    /// A world that cannot run here.
    fn skipped(&self, lab: &lab::Lab, world: World, reason: &str) -> String {
        let (name, world) = (&lab.name, world.name());
        match self.json {
            true => {
                let line = json_line!("lab", "skipped", { "lab": name, "world": world, "reason": reason,
                });
                format!("{line}\n")
            }
            false => format!("{name}: world {world}: skipped: {reason}\n"),
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
        if let Some(Some(node)) = &self.shell {
            let (node, command) = (node.clone(), SHELL.into());
            commands.push(Command { node, command });
        }
        Ok((!commands.is_empty()).then_some(commands))
    }

    /// Runs a command, or a shell, in a node of the lab while another process has it up.
    fn attach(&self, wanted: &str) -> anyhow::Result<Verdict> {
        let name = self.file().display();
        let file = self.file().canonicalize();
        let runs = live::world::process::runs_of(&file.with_context(|| name.to_string())?)?;
        let folder = match &runs[..] {
            [one] => one,
            [] => anyhow::bail!(
                "{name} is not up, or another user's: bring it up in another terminal by `wire lab {name} --world live`"
            ),
            _ => anyhow::bail!("{name} is up {} times: end all but one", runs.len()),
        };
        let (node, command) = match wanted.trim().split_once(char::is_whitespace) {
            Some((node, command)) => (node, command.trim()),
            None => (wanted.trim(), SHELL),
        };
        let names = live::world::process::names(folder);
        anyhow::ensure!(
            names.iter().any(|name| name == node),
            "no node `{node}` that a command could run in; there are: {}",
            names.join(", ")
        );
        ::capture::signal::leave_to_others();
        let complaints = self.leniency.complaints();
        let (ended, lacking) = live::world::process::join(folder, node, command)?;
        for what in &lacking {
            complaints.lost(1, format_args!("{node} ran without {what}"));
        }
        Ok(Verdict::if_good(ended.success()).max(complaints.finish()))
    }
}
