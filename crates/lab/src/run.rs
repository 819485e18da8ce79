//! Running a lab in a world.

mod session;
mod stage;

pub use session::{Flight, LinkState, Ping, Session, SessionError};

use crate::capture_file::TimeBase;
use crate::error::{LabError, ReadError, folder_for};
use crate::hardware::{GIGABIT, Site};
use crate::options::{Options, Waves};
use crate::plan::instrument::Section;
use crate::plan::{Lab, LinkPlan, Location, NodePlan, Resolution, Rtl};
use crate::realtime::{self, Pace, PortNodes};
use crate::registry::Registry;
use crate::report::{Report, Row};
use crate::world::World;
use crate::{output_paths, plot};
use ::capture::clock;
use ::capture::file::Bytes;
use live::world::process::JobReport;
use measure::probe;
use node::link::{FCS, LinkCounters, PREAMBLE};
use node::outcome::Direction;
use node::{Graph, Level, Node, Oscillator, Outcome, Rate, Time};
use stage::Stage;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Minimum number of nodes of a lab that runs on all processors by default.
const MIN_PARALLEL_NODES: usize = 48;
/// Number of events before which a lab runs on one processor: a short lab is over before several
/// threads pay.
const WHOLE_FOR: u64 = 1 << 18;

/// Runs a lab, writes its captures and plots, and tells what came of it.
///
/// # Errors
/// When a node or a file cannot be made, or the world cannot run the graph; then the files of an earlier run
/// stand, and what was captured is [beside them](capture::output). A file that could not be written to its end is
/// no error of the run: it is among the report's [`failures`](Report::failures).
pub fn run(lab: &Lab, world: World, options: &Options) -> Result<Report, LabError> {
    let time_base = TimeBase {
        zero_ps: match world {
            World::Sim | World::Cosim => 0,
            // Good to the time it takes to make the wires, some milliseconds.
            World::Live => 1_000 * u128::from(clock::epoch_ns() + clock::now_ns()),
        },
        resolution: Resolution::Nanosecond,
    };
    let out = options.out.as_ref().unwrap_or(&options.folder);
    let until = match &options.commands {
        // They end the run, however long the lab file's own would have taken.
        Some(_) => options.duration,
        None => options.duration.or(lab.duration),
    };
    prepare(lab, world, options)?;
    let realtime = world.is_simulated() && options.realtime;
    let mut stage = Stage::new(lab, world, out, options.dry, time_base)?;
    let mut gates = PortNodes::default();
    let graph = stage.graph(lab, options, world, realtime.then_some(&mut gates))?;
    let taps = stage.taps(lab);
    // The last test of OFLOPS, or estimate of a prober, ends the run: what else there is would go on forever.
    let tests: usize = lab.tests();
    let (done, asked) = (stage.is_done(), options.stop);
    let stop = move || tests > 0 && done() || asked.is_some_and(|stop| stop());
    let mut pace = None;
    let ran = match world {
        World::Sim | World::Cosim => {
            let options = sim::Options {
                seed: lab.seed,
                until,
                taps,
                bits: stage.bit_taps(lab),
                queues: stage.queue_taps(lab),
                disciplines: stage.disciplines(lab),
                progress: options.progress,
                threads: threads(lab, options, realtime),
                // What Verilog does in an event takes long.
                whole_for: match options.threads {
                    None if world == World::Sim => WHOLE_FOR,
                    _ => 0,
                },
                passed: stage.passed(),
                clocks: stage.clock_tap(),
                ..sim::Options::default()
            };
            match realtime {
                true => in_real_time(graph, options, gates, &stop).map(|(ran, kept)| {
                    pace = Some(kept);
                    ran
                }),
                false => {
                    let stop = Some(Box::new(stop) as Box<dyn Fn() -> bool + Send>);
                    in_simulated_time(graph, sim::Options { stop, ..options })
                }
            }
        }
        World::Live => {
            let plan = crate::live_nodes::prepare(lab, out, options)?;
            let options = live::world::Options {
                seed: lab.seed,
                until,
                taps,
                stop: Some(Box::new(stop)),
                disciplines: stage.disciplines(lab),
                real: plan.real,
                singly: !lab.aggregate,
            };
            let ran = live::world::run_with(graph, options, plan.programs);
            ran.map_err(LabError::from).map(|ran| Ran {
                outcome: ran.outcome,
                jobs: ran.jobs,
                probes_in_flight: None,
            })
        }
    };
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => return Err(stage.give_up(error)),
    };
    let mut report = conclude(lab, world, ran, &stage, options);
    report.pace = pace;
    Ok(report)
}

/// What a world has done.
struct Ran {
    outcome: Outcome,
    /// What came of the programs, where there are real ones.
    jobs: Vec<JobReport>,
    /// Probes that were on their way at the end, in a world that sees them.
    probes_in_flight: Option<u64>,
}

impl From<&sim::Sim> for Ran {
    fn from(sim: &sim::Sim) -> Ran {
        let probes = sim
            .in_flight()
            .filter(|frame| probe::parse(frame).is_some());
        Ran {
            outcome: sim.outcome(),
            jobs: Vec::new(),
            probes_in_flight: Some(probes.count() as u64),
        }
    }
}

/// Sees to it that a lab may run in a world, and may write where it wants to.
fn prepare(lab: &Lab, world: World, options: &Options) -> Result<(), LabError> {
    if let Some(other) = lab
        .only
        .filter(|only| only.is_simulated() != world.is_simulated())
    {
        return Err(LabError::OtherWorld(other));
    }
    if world == World::Cosim && lab.hardware.is_none() {
        return Err(LabError::NoHardware);
    }
    if let Some(waves) = &options.waves
        && !(lab.nodes.iter())
            .any(|plan| plan.name == waves.node && behind(lab, plan, world).is_some())
    {
        return Err(LabError::NoWaves(waves.node.clone()));
    }
    let realtime = world.is_simulated() && options.realtime;
    let real = |plan: &&NodePlan| {
        plan.kind.real.is_some() && !(realtime && crate::live_nodes::is_port(plan))
    };
    check_commands(lab, world, options)?;
    if world.is_simulated()
        && let Some(plan) = lab.nodes.iter().find(real)
    {
        if crate::live_nodes::is_port(plan) {
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
        let pauses = |plan: &&LinkPlan| plan.pauses.iter().any(Option::is_some);
        if let Some(plan) = lab.links.iter().find(pauses) {
            let [first, second] = plan.names.clone();
            return Err(LabError::Pauses { first, second });
        }
    }
    check_keys(lab, world, options)?;
    if !options.dry {
        check_outputs(lab, world, options)?;
        // From here on old outputs are replaced.
        if options.stop.is_some_and(|stop| stop()) {
            return Err(LabError::Stopped(::capture::signal::Stopped));
        }
    }
    Ok(())
}

/// The rate of a node's ports if they are hardware: those of all nodes of which that is said, or of all if it is said of none.
fn behind(lab: &Lab, plan: &NodePlan, world: World) -> Option<Rate> {
    let chosen = |plan: &NodePlan| matches!(plan.rtl, Some(Rtl::At(_)));
    match plan.rtl {
        _ if world != World::Cosim => None,
        Some(Rtl::At(rate)) => Some(rate),
        Some(Rtl::None) => None,
        None => (!lab.nodes.iter().any(chosen)).then_some(GIGABIT),
    }
}

/// A node behind ports that are hardware.
fn put_behind(
    lab: &Lab,
    plan: &NodePlan,
    node: Box<dyn Node>,
    rate: Rate,
    options: &Options,
) -> Result<Box<dyn Node>, LabError> {
    let hardware = lab.hardware.as_ref().ok_or(LabError::NoHardware)?;
    let waves = options
        .waves
        .as_ref()
        .filter(|waves| waves.node == plan.name);
    let waves = waves.map(|waves| (waves.file(options), waves.window.clone()));
    if let Some((file, _)) = &waves {
        folder_for(file)?;
    }
    let nominal = Oscillator::default();
    let made = hardware.put(
        node,
        Site {
            node: &plan.name,
            rate,
            oscillator: plan.clock.as_ref().map_or(&nominal, |(clock, _)| clock),
            waves: waves
                .as_ref()
                .map(|(file, window)| (file.as_path(), window.clone())),
        },
    );
    made.map_err(|source| LabError::Hardware {
        node: plan.name.clone(),
        source,
    })
}

impl Waves {
    /// Their file.
    fn file(&self, options: &Options) -> PathBuf {
        let out = options.out.as_ref().unwrap_or(&options.folder);
        out.join(format!("{}.fst", self.node))
    }
}

/// Ends what is written, draws, and tells what came of a run.
fn conclude(lab: &Lab, world: World, ran: Ran, stage: &Stage, options: &Options) -> Report {
    let outcome = &ran.outcome;
    let out = options.out.as_ref().unwrap_or(&options.folder);
    let mut written = stage.finish(outcome.ended);
    written.extend(options.waves.iter().map(|waves| Ok(waves.file(options))));
    if !options.dry {
        for plan in &lab.plots {
            let path = out.join(&plan.file);
            written.push(plot::draw(lab, plan, &stage.watches, outcome, &path).map(|()| path));
        }
    }
    let sections = stage.sections(lab, world, outcome);
    let figures = sections.iter().filter(|_| !options.dry);
    for (file, figure) in figures.flat_map(|section| section.figures()) {
        let path = out.join(file);
        written.push(plot::write_figure(&figure, &path).map(|()| path));
    }
    report(lab, world, ran, stage, sections, written)
}

/// On how many threads a lab runs in simulated time. What is kept to the clock, or ends by what its nodes find out, has one.
fn threads(lab: &Lab, options: &Options, realtime: bool) -> usize {
    let one = realtime || lab.tests() > 0;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    match options.threads {
        _ if one => 1,
        Some(threads) => threads,
        // Fewer nodes have too little to do between two times at which threads meet.
        None if lab.nodes.len() < MIN_PARALLEL_NODES => 1,
        None => processors(),
    }
}

/// Runs a graph in simulated time to its end.
fn in_simulated_time(graph: Graph, options: sim::Options) -> Result<Ran, LabError> {
    let mut sim = sim::Sim::new(graph, options)?;
    sim.advance()?;
    Ok(Ran::from(&sim))
}

/// Runs a graph in simulated time at the pace of the machine's clock.
fn in_real_time(
    graph: Graph,
    options: sim::Options,
    gates: PortNodes,
    stop: &dyn Fn() -> bool,
) -> Result<(Ran, Pace), LabError> {
    let until = options.until;
    let mut sim = sim::Sim::new(graph, options)?;
    let pace = realtime::run(&mut sim, gates.open()?, until, stop)?;
    Ok((Ran::from(&sim), pace))
}

/// Sees to it that a lab in simulated time runs no programs, if [`Options::allow_commands`] does not allow that.
///
/// # Errors
/// The first node that does.
fn check_commands(lab: &Lab, world: World, options: &Options) -> Result<(), LabError> {
    if !world.is_simulated() || options.allow_commands {
        return Ok(());
    }
    match lab.commands().next() {
        Some((node, command)) => Err(LabError::Command { node, command }),
        None => Ok(()),
    }
}

impl Lab {
    /// The names of its nodes, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|plan| &plan.name[..])
    }

    /// The link and the direction in which frames come to a port, such as `b.0`: what
    /// [`Attachments::on_frame`](crate::Attachments::on_frame) wants. `None` if no link ends there.
    #[must_use]
    pub fn arriving(&self, port: &str) -> Option<(usize, Direction)> {
        let links = self.links.iter().enumerate();
        let mut ends = links.flat_map(|(link, plan)| {
            let [a, b] = &plan.names;
            [(b, link, Direction::Forth), (a, link, Direction::Back)]
        });
        let found = ends.find(|(name, ..)| *name == port);
        found.map(|(_, link, direction)| (link, direction))
    }

    /// Programs that nodes of the lab run in any world, each with its node's name.
    pub fn commands(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let nodes = self.nodes.iter();
        nodes.filter_map(|plan| Some((plan.name.clone(), plan.planned.command.clone()?)))
    }

    /// Whether a node loads a program into the kernel, which needs root in any world.
    #[must_use]
    pub fn loads_programs(&self) -> bool {
        self.nodes.iter().any(|plan| plan.planned.loads_program)
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
    let files = captures.chain(bits).chain(plots).map(PathBuf::from);
    let instruments = lab.instruments.iter();
    let figures = instruments.flat_map(|instrument| instrument.files());
    let mut outputs: Vec<PathBuf> = files.chain(figures.map(PathBuf::from)).collect();
    if world == World::Live {
        let real = lab.nodes.iter().flat_map(crate::live_nodes::outputs);
        outputs.extend(real);
    }
    let read = lab.nodes.iter().flat_map(|plan| &plan.planned.inputs);
    let read = read.map(|file| options.folder.join(file));
    let keys = crate::live_nodes::keys::files(lab).into_iter();
    let inputs: Vec<PathBuf> = read
        .chain(keys.map(|file| options.folder.join(file)))
        .collect();
    let out = options.out.as_ref().unwrap_or(&options.folder);
    output_paths::check(out, &outputs, &inputs, options.allow_paths)
}

/// Sees to it that a run uses keys and certificates of the lab file's folder alone, if [`Options::allow_paths`] does not allow more:
/// else somebody else's lab would sign in one's name.
///
/// # Errors
/// The first file of which that does not hold.
pub fn check_keys(lab: &Lab, world: World, options: &Options) -> Result<(), LabError> {
    match world == World::Live && !options.allow_paths {
        true => crate::live_nodes::keys::stay(lab, &options.folder),
        false => Ok(()),
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
    ran: Ran,
    stage: &Stage,
    sections: Vec<Arc<dyn Section>>,
    written: Vec<Result<PathBuf, LabError>>,
) -> Report {
    let Ran {
        outcome,
        jobs,
        probes_in_flight,
    } = ran;
    let ends = lab.ends();
    let rows = lab
        .views
        .iter()
        .zip(&stage.watches)
        .map(|(view, watch)| Row {
            at: view.label.clone(),
            statistics: watch.0.lock().statistics.clone(),
            is_end: ends.contains(&view.location),
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
    let places = stage.watches.iter();
    let places = places.map(|watch| watch.0.lock().statistics.clone());
    let shared = lab.shared_streams_note(places);
    let duplicating = (outcome.links.iter().flatten()).any(|link| link.duplicated > 0);
    Report {
        lab: lab.name.clone(),
        about: lab.about.clone(),
        world,
        seed: lab.seed,
        rows: rows.collect(),
        sent: lab.sent(&outcome),
        shares_streams: shared.is_some() && !duplicating,
        elsewhere: lab.elsewhere(&outcome, &ends),
        probes_in_flight,
        gaps: lab.measures || lab.generators().next().is_some(),
        links: lab.links.iter().map(|plan| plan.names.clone()).collect(),
        busy: lab
            .links
            .iter()
            .zip(&outcome.links)
            .map(|(plan, counters)| busy(plan, counters, outcome.ended))
            .collect(),
        outcome,
        pace: None,
        sections,
        jobs,
        notes: lab
            .notes
            .iter()
            .cloned()
            .chain(stage.notes.list())
            .chain(shared)
            .collect(),
        lost: stage.notes.losses(),
        unsent: stage.notes.unsent_packets(),
        stopped: stage.notes.is_stopped(),
        files,
        failures,
        empty,
    }
}

impl Lab {
    /// How many links each node has.
    fn degrees(&self) -> Vec<usize> {
        let mut degrees = vec![0; self.nodes.len()];
        for end in self.links.iter().flat_map(|plan| &plan.link.ends) {
            degrees[end.node.0] += 1;
        }
        degrees
    }

    /// Where frames end: the views at nodes with one link, one for each node.
    fn ends(&self) -> Vec<Location> {
        let degrees = self.degrees();
        let mut nodes = std::collections::BTreeSet::new();
        let views = self.views.iter().map(|view| view.location);
        let ends = views.filter(|location| {
            let node = self.node_at(*location);
            degrees[node] == 1 && nodes.insert(node)
        });
        ends.collect()
    }

    /// Nodes that send probes at exact times.
    pub(crate) fn generators(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].kind.sends_probes)
    }

    /// Probes that nodes sent: generators that make their frames, and hosts' `udp`. `None` where frames of a file are replayed, of
    /// which some may be probes.
    fn sent(&self, outcome: &Outcome) -> Option<u64> {
        let mut sent = 0;
        for node in self.generators() {
            let config = &self.nodes[node].config;
            if config.get("replay").is_some() {
                return None;
            }
            let probes = config.get("probe").and_then(|value| value.read().ok());
            if probes.unwrap_or(true) {
                let counters = outcome.nodes[node].counters.iter();
                let packets = counters.filter(|(name, _)| name == "packets");
                sent += packets.map(|(_, count)| count).sum::<u64>();
            }
        }
        let flows = outcome.nodes.iter().flat_map(|node| &node.flows);
        let datagrams = flows.filter(|flow| flow.program == "udp");
        Some(sent + datagrams.map(|flow| flow.packets).sum::<u64>())
    }

    /// Whether frames came to the only link of a node where nothing is measured.
    fn elsewhere(&self, outcome: &Outcome, ends: &[Location]) -> bool {
        let degrees = self.degrees();
        let seen: Vec<usize> = ends.iter().map(|place| self.node_at(*place)).collect();
        let links = self.links.iter().zip(&outcome.links);
        let mut ways = links.flat_map(|(plan, counters)| {
            let [a, b] = plan.link.ends.map(|end| end.node.0);
            [(b, &counters[0]), (a, &counters[1])]
        });
        ways.any(|(node, counters)| {
            let came = counters.delivered.unwrap_or(counters.sent);
            degrees[node] == 1 && came > 0 && !seen.contains(&node)
        })
    }

    /// The node at which frames arrive that a place sees.
    fn node_at(&self, place: Location) -> usize {
        match place {
            Location::Node(node) => node,
            Location::Link(link, direction) => {
                self.links[link].link.ends[1 - direction.index()].node.0
            }
        }
    }

    /// The rate of the link at a view, if there is one.
    pub(crate) fn rate_at(&self, view: usize) -> Option<Rate> {
        match self.views[view].location {
            Location::Link(link, direction) => {
                self.links[link].link.channels[direction.index()].rate
            }
            Location::Node(_) => None,
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
        self.read_with(path, world, &[])
    }

    /// The same, with other values for some keys, each by the way to it: `link.0.rate`.
    ///
    /// # Errors
    /// When it cannot be read, or is wrong.
    pub fn read_with(
        &self,
        path: &Path,
        world: World,
        settings: &[(&str, &str)],
    ) -> Result<Lab, ReadError> {
        let text = text_of(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let lab = self.parse_with(&text, Some(folder), world, settings);
        lab.map_err(|faults| ReadError::Wrong(faults.of_file(path.display().to_string())))
    }
}
