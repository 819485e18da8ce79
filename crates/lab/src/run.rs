//! Running a lab in a world.

use crate::bits::BitKeep;
use crate::flops::Measured;
use crate::keep::{Era, Keep};
use crate::paced::{self, Gates, Pace};
use crate::plan::{Lab, LinkPlan, NodePlan, Place, Resolution};
use crate::real::Command;
use crate::registry::{Context, Registry};
use crate::replay::Notes;
use crate::report::{Report, Row};
use crate::watch::{Arrivals, Shared, Watch, lock};
use crate::{Fault, file, outside, plot};
use live::clock;
use live::crew::JobReport;
use live::file::Bytes;
use live::output::OutputError;
use node::link::{FCS, LinkCounters, PREAMBLE};
use node::outcome::Tap;
use node::{Graph, Level, Outcome, Rate, Time};
use nodes::meter::Statistics;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Where a lab runs.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// In exact virtual time.
    #[default]
    Sim,
    /// On this machine, in real time: over veth pairs between network namespaces, both made for the
    /// run. Needs root.
    Live,
}

impl World {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            World::Sim => "sim",
            World::Live => "live",
        }
    }
}

/// From so many nodes on a lab runs on all processors.
const MANY: usize = 48;

/// How finely the delays of what is drawn are counted: to 1/4096 of themselves.
const FINE: u32 = 12;

/// How to run a lab.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of the lab file, to which its file names belong.
    pub folder: PathBuf,
    /// The lab file, an absolute path: in the world `live` others may [run programs](live::crew::join) in its nodes by this name.
    pub file: Option<PathBuf>,
    /// The folder for what the run writes, if it is another one.
    pub out: Option<PathBuf>,
    /// In place of the lab file's seed.
    pub seed: Option<u64>,
    /// In place of the lab file's duration.
    pub duration: Option<Time>,
    /// Writes no captures and no plots.
    pub dry: bool,
    /// Lets the lab file name files outside of the folder for what the run writes.
    pub allow_paths: bool,
    /// In the world `sim`: keeps simulated time to the machine's clock, so that ports of the machine can take part.
    pub realtime: bool,
    /// In simulated time: the most threads; without it as many as there are processors, if the lab is large. What comes of
    /// it is the same.
    pub threads: Option<usize>,
    /// In simulated time: lets the lab file run the programs that its nodes name. A live lab always does.
    pub allow_commands: bool,
    /// Asked now and then whether the run shall end now.
    pub stop: Option<fn() -> bool>,
    /// In the world `live`: commands to be run one after another in nodes' namespaces, with this
    /// process's own input and output, in place of the lab file's commands that end by themselves.
    pub commands: Option<Vec<Command>>,
    /// In simulated time: told now and then how far the run has come, and when it ends, if that is known.
    pub progress: Option<fn(Time, Option<Time>)>,
}

/// Why a lab did not run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A signal came before anything had begun or was written.
    #[error("{0}")]
    Stopped(#[source] live::signal::Stopped),
    /// A node could not be made after all.
    #[error("node `{node}`: {}", .fault.message)]
    Node {
        /// Its name.
        node: String,
        /// What is wrong, and where in the lab file.
        fault: Fault,
    },
    /// A program that the lab file may not run.
    #[error(
        "node `{node}` runs a program, `{command}`, as you: --allow-commands lets the lab file run what it names, if you trust it"
    )]
    Command {
        /// The node's name.
        node: String,
        /// The command line.
        command: String,
    },
    /// What only the live world has.
    #[error(
        "`{node}` is of kind `{kind}`, which is something real: run the lab with `--world live`"
    )]
    OnlyLive {
        /// The node's name.
        node: String,
        /// Its kind.
        kind: String,
    },
    /// What simulated time has only while it is kept to the clock.
    #[error(
        "`{node}` is a port of this machine: run the lab with `--realtime`, which keeps simulated time to the clock, or with \
         `--world live`"
    )]
    OnlyPaced {
        /// The node's name.
        node: String,
    },
    /// The lab was read for another world.
    #[error("the lab was read for the world `{}`, where its nodes are other ones", .0.name())]
    OtherWorld(World),
    /// Something real could not be prepared.
    #[error("{}", .fault.message)]
    Real {
        /// What is wrong, and where in the lab file.
        fault: Fault,
    },
    /// A link that only simulated time has.
    #[error(
        "the link of `{first}` and `{second}` is at the level of blocks, which only the world `sim` has; \
         for the world `live` take `level = \"block\"` and `clocks` out"
    )]
    BlockLevel {
        /// One end.
        first: String,
        /// The other.
        second: String,
    },
    /// The simulation could not go on.
    #[error(transparent)]
    Sim(#[from] sim::SimError),
    /// The machine could not run it.
    #[error(transparent)]
    Live(#[from] live::world::WorldError),
    /// A file's folder could not be made.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that would be written elsewhere than in the folder for output.
    #[error(
        "`{}` leads out of {}, the folder for what this lab writes: --out gives another folder, and --allow-paths lets \
         the lab file write where it names, if you trust it", .file.display(), shown(.folder)
    )]
    Outside {
        /// As the lab file names it.
        file: PathBuf,
        /// The folder for output.
        folder: PathBuf,
    },
    /// A key or certificate that would be read from elsewhere than the lab file's folder.
    #[error(
        "`{}` leads out of {}, the lab file's folder, and a lab uses keys from there alone: --allow-paths lets it use \
         the files that it names, if you trust it", .file.display(), shown(.folder)
    )]
    KeyOutside {
        /// As the lab file names it.
        file: PathBuf,
        /// The lab file's folder.
        folder: PathBuf,
    },
    /// A file that the lab has another use for.
    #[error("`{}` {}: give it another name", .0.display(), .1)]
    Twice(PathBuf, &'static str),
    /// A file could not be written; what was there under its name stands.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A plot could not be drawn.
    #[error(transparent)]
    Plot(#[from] ::plot::PlotError),
    /// The world failed when something had been captured, which is beside the files' names.
    #[error("{error}; what was captured until then is in {}", list(.kept))]
    Broken {
        /// Why.
        error: Box<LabError>,
        /// Where it is.
        kept: Vec<PathBuf>,
    },
}

/// A folder's name; that of the folder one is in is empty.
fn shown(folder: &Path) -> std::path::Display<'_> {
    match folder.as_os_str().is_empty() {
        true => Path::new(".").display(),
        false => folder.display(),
    }
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(", ")
}

/// Makes the folder of a file that is to be written.
///
/// # Errors
/// Those of the system.
pub(crate) fn folder_for(path: &Path) -> Result<(), LabError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).map_err(|source| LabError::Write {
        path: path.into(),
        source,
    })
}

/// Runs a lab, writes its captures and plots, and tells what came of it.
///
/// # Errors
/// When a node or a file cannot be made, or the world cannot run the graph; then the files of an earlier run
/// stand, and what was captured is [beside them](live::output). A file that could not be written to its end is
/// no error of the run: it is among the report's [`failures`](Report::failures).
pub fn run(lab: &Lab, world: World, options: &Options) -> Result<Report, LabError> {
    let era = Era {
        zero_ps: match world {
            World::Sim => 0,
            // Good to the time it takes to make the wires, some milliseconds.
            World::Live => 1_000 * u128::from(clock::epoch_ns() + clock::now_ns()),
        },
        resolution: Resolution::Nanosecond,
    };
    let out = options.out.as_ref().unwrap_or(&options.folder);
    let seed = options.seed.unwrap_or(lab.seed);
    let until = match &options.commands {
        // They end the run, however long the lab file's own would have taken.
        Some(_) => options.duration,
        None => options.duration.or(lab.duration),
    };
    if let Some(other) = lab.only.filter(|only| *only != world) {
        return Err(LabError::OtherWorld(other));
    }
    let paced = world == World::Sim && options.realtime;
    let real =
        |plan: &&NodePlan| plan.kind.real.is_some() && !(paced && crate::real::is_port(plan));
    check_commands(lab, world, options)?;
    if world == World::Sim
        && let Some(plan) = lab.nodes.iter().find(real)
    {
        if crate::real::is_port(plan) {
            let node = plan.name.clone();
            return Err(LabError::OnlyPaced { node });
        }
        let (node, kind) = (plan.name.clone(), plan.kind.name.clone());
        return Err(LabError::OnlyLive { node, kind });
    }
    if world == World::Live {
        let blocks = |plan: &&LinkPlan| plan.link.channels[0].level != Level::Frame;
        if let Some(plan) = lab.links.iter().find(blocks) {
            let [first, second] = plan.names.clone();
            return Err(LabError::BlockLevel { first, second });
        }
    }
    check_keys(lab, world, options)?;
    if !options.dry {
        check_outputs(lab, world, options)?;
        // From here on old outputs are replaced.
        if options.stop.is_some_and(|stop| stop()) {
            return Err(LabError::Stopped(live::signal::Stopped));
        }
    }
    let stage = Stage::new(lab, out, options.dry, era)?;
    let mut gates = Gates::default();
    let graph = stage.graph(
        lab,
        &options.folder,
        seed,
        world,
        paced.then_some(&mut gates),
    )?;
    let taps = stage.taps(lab);
    // The last test of OFLOPS ends the run: switch and instrument would keep their channel up for ever.
    let tests: usize = lab.tests();
    let (measured, asked) = (stage.measured.clone(), options.stop);
    let stop = move || tests > 0 && measured.count() >= tests || asked.is_some_and(|stop| stop());
    let (mut jobs, mut pace) = (Vec::new(), None);
    let ran = match world {
        World::Sim => {
            let options = sim::Options {
                seed,
                until,
                taps,
                bits: stage.bit_taps(lab),
                progress: options.progress,
                threads: threads(lab, options, paced),
                passed: stage.passed(),
                ..sim::Options::default()
            };
            match paced {
                true => in_real_time(graph, options, gates, &stop).map(|(outcome, kept)| {
                    pace = Some(kept);
                    outcome
                }),
                false => {
                    let stop = Some(Box::new(stop) as Box<dyn Fn() -> bool + Send>);
                    let options = sim::Options { stop, ..options };
                    sim::run(graph, options).map_err(LabError::from)
                }
            }
        }
        World::Live => {
            let plan = crate::real::prepare(lab, out, options)?;
            let options = live::world::Options {
                seed,
                until,
                taps,
                stop: Some(Box::new(stop)),
                real: plan.real,
            };
            let ran = live::world::run_with(graph, options, plan.staff);
            ran.map_err(LabError::from).map(|ran| {
                jobs = ran.jobs;
                ran.outcome
            })
        }
    };
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(error) => return Err(stage.give_up(error)),
    };
    let mut written = stage.finish(outcome.ended);
    if !options.dry {
        for plan in &lab.plots {
            let path = out.join(&plan.file);
            written.push(plot::draw(lab, plan, &stage.watches, &path).map(|()| path));
        }
    }
    let mut report = report(lab, world, seed, (outcome, jobs), stage, written);
    report.pace = pace;
    Ok(report)
}

/// On how many threads a lab runs in simulated time. What is kept to the clock, or ends by what its nodes find out, has one.
fn threads(lab: &Lab, options: &Options, paced: bool) -> usize {
    let one = paced || lab.tests() > 0;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    match options.threads {
        _ if one => 1,
        Some(threads) => threads,
        // Fewer nodes have too little to do between two times at which threads meet.
        None if lab.nodes.len() < MANY => 1,
        None => processors(),
    }
}

/// Runs a graph in simulated time at the pace of the machine's clock.
fn in_real_time(
    graph: Graph,
    options: sim::Options,
    gates: Gates,
    stop: &dyn Fn() -> bool,
) -> Result<(Outcome, Pace), LabError> {
    let until = options.until;
    let mut sim = sim::Sim::new(graph, options)?;
    let pace = paced::run(&mut sim, gates.open()?, until, stop)?;
    Ok((sim.outcome(), pace))
}

/// Sees to it that a lab in simulated time runs no programs, if [`Options::allow_commands`] does not allow that.
///
/// # Errors
/// The first node that does.
fn check_commands(lab: &Lab, world: World, options: &Options) -> Result<(), LabError> {
    if world != World::Sim || options.allow_commands {
        return Ok(());
    }
    match lab.commands().next() {
        Some((node, command)) => Err(LabError::Command { node, command }),
        None => Ok(()),
    }
}

impl Lab {
    /// Programs that nodes of the lab run in any world, each with its node's name.
    pub fn commands(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let nodes = self.nodes.iter();
        nodes.filter_map(|plan| Some((plan.name.clone(), plan.planned.command.clone()?)))
    }
}

/// Sees to it that what a run writes goes into the folder for it, if [`Options::allow_paths`] does not allow
/// more, that no two files are the same, and that none is one that the lab replays.
///
/// # Errors
/// The first file of which that does not hold.
pub fn check_outputs(lab: &Lab, world: World, options: &Options) -> Result<(), LabError> {
    let captures = lab.captures.iter().map(|plan| &plan.file);
    let bits = lab.bits.iter().map(|plan| &plan.file);
    let plots = lab.plots.iter().map(|plan| &plan.file);
    let mut outputs: Vec<PathBuf> = captures
        .chain(bits)
        .chain(plots)
        .map(PathBuf::from)
        .collect();
    if world == World::Live {
        let real = lab.nodes.iter().flat_map(crate::real::outputs);
        outputs.extend(real);
    }
    let read = lab.nodes.iter().flat_map(|plan| &plan.planned.inputs);
    let read = read.map(|file| options.folder.join(file));
    let keys = crate::real::keys::files(lab).into_iter();
    let inputs: Vec<PathBuf> = read
        .chain(keys.map(|file| options.folder.join(file)))
        .collect();
    let out = options.out.as_ref().unwrap_or(&options.folder);
    outside::check(out, &outputs, &inputs, options.allow_paths)
}

/// Sees to it that a run uses keys and certificates of the lab file's folder alone, if [`Options::allow_paths`] does not allow more:
/// else somebody else's lab would sign in one's name.
///
/// # Errors
/// The first file of which that does not hold.
pub fn check_keys(lab: &Lab, world: World, options: &Options) -> Result<(), LabError> {
    match world == World::Live && !options.allow_paths {
        true => crate::real::keys::stay(lab, &options.folder),
        false => Ok(()),
    }
}

/// Everything around the graph of a run.
struct Stage {
    /// By view.
    watches: Vec<Shared>,
    keeps: Vec<Arc<Mutex<Keep>>>,
    bits: Vec<Arc<Mutex<BitKeep>>>,
    notes: Notes,
    measured: Measured,
}

impl Stage {
    fn new(lab: &Lab, out: &Path, dry: bool, era: Era) -> Result<Stage, LabError> {
        let mut watches: Vec<Watch> = lab.views.iter().map(|_| Watch::default()).collect();
        for (watch, view) in watches.iter_mut().zip(&lab.views) {
            if let Place::Node(node) = view.place {
                watch.statistics = Statistics::new(lab.nodes[node].planned.stream);
            }
        }
        let (mut keeps, mut bits) = (Vec::new(), Vec::new());
        if !dry {
            for plan in &lab.bits {
                let keep = BitKeep::create(lab, plan, out)?;
                bits.push(Arc::new(Mutex::new(keep)));
            }
            for view in lab.plots.iter().flat_map(|plan| &plan.views) {
                watches[*view].arrivals = Some(Arrivals::default());
                let statistics = std::mem::take(&mut watches[*view].statistics);
                watches[*view].statistics = statistics.with_precision(FINE);
            }
            for plan in &lab.captures {
                let keep = Arc::new(Mutex::new(Keep::create(lab, plan, out, era)?));
                for (interface, view) in plan.views.iter().enumerate() {
                    watches[*view].keeps.push((keep.clone(), interface));
                }
                keeps.push(keep);
            }
        }
        let share = |watch| Shared(Arc::new(Mutex::new(watch)));
        Ok(Stage {
            watches: watches.into_iter().map(share).collect(),
            keeps,
            bits,
            notes: Notes::default(),
            measured: Measured::default(),
        })
    }

    /// The nodes and links; with `gates`, ports of the machine are among them.
    fn graph(
        &self,
        lab: &Lab,
        folder: &Path,
        seed: u64,
        world: World,
        mut gates: Option<&mut Gates>,
    ) -> Result<Graph, LabError> {
        let mut graph = Graph::default();
        for (index, plan) in lab.nodes.iter().enumerate() {
            if let Some(gates) = gates.as_deref_mut().filter(|_| crate::real::is_port(plan)) {
                let outside = crate::real::gate(lab, index, folder);
                let outside = outside.map_err(|fault| LabError::Real { fault })?;
                graph.add(plan.name.clone(), Box::new(gates.add(index, outside)));
                continue;
            }
            let view = lab
                .views
                .iter()
                .position(|view| view.place == Place::Node(index));
            let recorder = view.filter(|_| plan.kind.records).map(|view| {
                let recorder: Box<dyn nodes::capture::Recorder> =
                    Box::new(self.watches[view].clone());
                recorder
            });
            let node = plan.planned.make(Context {
                recorder,
                folder: Some(folder),
                notes: self.notes.of(index),
                measured: self.measured.clone(),
                live: world == World::Live,
                alone: false,
                // Nodes are numbered behind all links, so that no two share their luck.
                seed: node::link::seed_of(seed, file::MOST + index, 0),
            });
            let node = node.map_err(|fault| LabError::Node {
                node: plan.name.clone(),
                fault,
            })?;
            graph.add(plan.name.clone(), node);
        }
        graph.links = lab.links.iter().map(|plan| plan.link.clone()).collect();
        Ok(graph)
    }

    fn taps(&self, lab: &Lab) -> Vec<Tap> {
        let views = lab.views.iter().zip(&self.watches);
        let taps = views.filter_map(|(view, watch)| {
            let Place::Link(link, direction) = view.place else {
                return None;
            };
            let watch = watch.clone();
            let see = Box::new(move |now: Time, frame: &node::Frame| watch.see(now, frame));
            Some(Tap {
                link,
                direction,
                see,
            })
        });
        taps.collect()
    }

    /// Brings what several threads see into one order.
    fn passed(&self) -> Option<Box<dyn FnMut(Time) + Send>> {
        if self.keeps.is_empty() {
            return None;
        }
        let keeps = self.keeps.clone();
        keeps.iter().for_each(|keep| lock(keep).put_in_order());
        Some(Box::new(move |time| {
            keeps.iter().for_each(|keep| lock(keep).pass(time));
        }))
    }

    fn bit_taps(&self, lab: &Lab) -> Vec<sim::BitTap> {
        let keeps = self.bits.iter().zip(&lab.bits);
        keeps.map(|(keep, plan)| BitKeep::tap(keep, plan)).collect()
    }

    /// Ends all capture files, even if one fails.
    fn finish(&self, ended: Time) -> Vec<Result<PathBuf, LabError>> {
        let keeps = self.keeps.iter().map(|keep| lock(keep).finish(ended));
        let bits = self.bits.iter().map(|keep| lock(keep).finish());
        keeps.chain(bits).map(|end| Ok(end?)).collect()
    }

    /// Leaves the files of an earlier run as they are, and what this one has captured beside them.
    fn give_up(&self, error: LabError) -> LabError {
        let keeps = self.keeps.iter().filter_map(|keep| lock(keep).give_up());
        let bits = self.bits.iter().filter_map(|keep| lock(keep).give_up());
        let kept: Vec<PathBuf> = keeps.chain(bits).collect();
        match kept.is_empty() {
            true => error,
            false => LabError::Broken {
                error: Box::new(error),
                kept,
            },
        }
    }
}

/// The share of the run for which each direction of a link was busy, preambles and gaps among it.
fn busy(plan: &LinkPlan, counters: &[LinkCounters; 2], ended: Time) -> [Option<f64>; 2] {
    [0, 1].map(|direction| {
        let (channel, counters) = (&plan.link.channels[direction], &counters[direction]);
        let around = PREAMBLE + FCS + channel.gap as usize;
        let bytes = counters.bytes + counters.sent * around as u64;
        let seconds = ended.as_secs_f64();
        let rate = channel.rate.filter(|_| seconds > 0.0)?.bits_per_second() as f64;
        Some((8.0 * bytes as f64 / rate / seconds).min(1.0))
    })
}

fn report(
    lab: &Lab,
    world: World,
    seed: u64,
    (outcome, jobs): (Outcome, Vec<JobReport>),
    stage: Stage,
    written: Vec<Result<PathBuf, LabError>>,
) -> Report {
    let rows = lab
        .views
        .iter()
        .zip(&stage.watches)
        .map(|(view, watch)| Row {
            at: view.label.clone(),
            statistics: lock(&watch.0).statistics.clone(),
        });
    let (mut files, mut failures, mut empty) = (Vec::new(), Vec::new(), Vec::new());
    for file in written {
        match file {
            Ok(path) => files.push(path),
            Err(LabError::Plot(error @ ::plot::PlotError::Empty { .. })) => {
                empty.push(error.to_string());
            }
            Err(error) => failures.push(error.to_string()),
        }
    }
    Report {
        lab: lab.name.clone(),
        about: lab.about.clone(),
        world,
        seed,
        rows: rows.collect(),
        links: lab.links.iter().map(|plan| plan.names.clone()).collect(),
        busy: lab
            .links
            .iter()
            .zip(&outcome.links)
            .map(|(plan, counters)| busy(plan, counters, outcome.ended))
            .collect(),
        outcome,
        pace: None,
        jobs,
        flops: stage.measured.all(),
        notes: lab
            .notes
            .iter()
            .cloned()
            .chain(stage.notes.list())
            .collect(),
        lost: stage.notes.losses(),
        stopped: stage.notes.is_stopped(),
        files,
        failures,
        empty,
    }
}

impl Lab {
    /// The rate of the link at a view, if there is one.
    pub(crate) fn rate_at(&self, view: usize) -> Option<Rate> {
        match self.views[view].place {
            Place::Link(link, direction) => self.links[link].link.channels[direction.index()].rate,
            Place::Node(_) => None,
        }
    }
}

/// Reads a lab file for the world `sim`, and checks what it refers to: files to replay, filter expressions. It may have the
/// nodes that come with Wireline; [`Registry::read`] reads one with others.
///
/// # Errors
/// When it cannot be read, or is wrong.
pub fn read(path: &Path) -> Result<Lab, ReadError> {
    Registry::standard().read(path, World::Sim)
}

/// Where a lab file says that it is to be run, one after the other; in simulated time if it does not. What else is
/// wrong with it shows when it is [read](Registry::read) for one of them.
///
/// # Errors
/// When it cannot be read.
pub fn worlds(path: &Path) -> Result<Vec<World>, ReadError> {
    let worlds = crate::file::worlds(&text_of(path)?);
    Ok(match worlds.is_empty() {
        true => vec![World::Sim],
        false => worlds,
    })
}

fn text_of(path: &Path) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    let read = Bytes::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|source| ReadError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| ReadError::NotText {
        path: path.to_path_buf(),
        at: error.utf8_error().valid_up_to(),
    })
}

impl Registry {
    /// Reads a lab file for a world, and checks what it refers to: files to replay, filter expressions.
    ///
    /// # Errors
    /// When it cannot be read, or is wrong.
    pub fn read(&self, path: &Path, world: World) -> Result<Lab, ReadError> {
        let text = text_of(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let lab = self.parse_for(&text, Some(folder), world);
        lab.map_err(|faults| ReadError::Wrong(faults.of_file(path.display().to_string())))
    }
}

/// Why a lab file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not UTF-8.
    #[error("{}: byte {at} is not UTF-8 text; a lab file is TOML", .path.display())]
    NotText {
        /// Which.
        path: PathBuf,
        /// The first byte that is wrong.
        at: usize,
    },
    /// It has faults.
    #[error("{0}")]
    Wrong(crate::Faults),
}
