//! World 2: a graph on real interfaces.
//!
//! [`run`] puts each node on a thread and in a network namespace of its own, and makes each link of
//! its graph a veth pair, all of which go with the run. [`node::Transmitter`] decides for each frame
//! when it leaves, when it arrives and whether at all, as in simulated time; one thread hands the
//! frames to the kernel when their last bit shall be in. Frames cross the kernel for real, and their
//! stamps are the kernel's. How exact the departures were that nodes asked for stands in the outcome.
//!
//! Members of a graph may be [`Real`]: a namespace for real programs, which a [`Crew`] starts and
//! ends ([`run_with`]), or ports that are there already. Their frames go through the same links.
//!
//! [`on_ports`] runs one node on ports that are there already.
//!
//! Nodes are woken 0.5 ms before the time they asked for and told that time, so that what they send
//! then leaves at that time, not some thread's wake-up later.
//!
//! | part | what it does |
//! |---|---|
//! | `host` | a node and its ports on a thread |
//! | `desk` | what a node's answers go through |
//! | `schedule` | the thread of departures |
//! | `wires` | namespaces and veth pairs for a graph |
//! | `real` | members that are no nodes |
//! | `parallel` | opens and closes many ports side by side |

mod desk;
mod host;
mod parallel;
mod real;
mod schedule;
mod wires;

pub use real::{Interface, Line, Outside, Real, Relay, Stack};

use crate::crew::{Crew, CrewError, Job, JobReport, Staff};
use crate::facts::{FactsError, Feed};
use crate::netns::NetnsError;
use crate::port::{Link, Port, PortError, RxCounters, Stamps, TxCounters};
use crate::thread::spawn_scoped;
use crate::{clock, interface, signal};
use host::{Host, HostPort, HostReport, Run, Staffed};
use node::link::{Level, seed_of};
use node::outcome::Finish;
use node::{Graph, GraphError, Node, Outcome, Tap, Time, Transmitter};
use schedule::{Exit, Lane, Refused, Schedule, ScheduleReport};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// From when everything is ready to time zero: threads have started by then.
const PREPARATION_NS: u64 = 20_000_000;
/// How often the end is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// Nothing to come and all frames accounted for, at so many looks in a row: the end.
const QUIET_LOOKS: u32 = 4;
/// Nothing to come, but frames missing that the kernel may have lost: the end after so many looks.
const SILENT_LOOKS: u32 = 60;

/// How long nodes may go on sending when the programs that end by themselves are over.
const LINGER: Time = Time::from_secs(1);

/// Whether a run shall end now.
pub type Stop = Box<dyn Fn() -> bool + Send>;

/// How to run a graph.
#[derive(Default)]
pub struct Options {
    /// Everything that links draw by lot comes from this. Default 0.
    pub seed: u64,
    /// What happens later than this does not happen; default none: until nothing is left to happen.
    pub until: Option<Time>,
    /// Who looks at which link.
    pub taps: Vec<Tap>,
    /// Asked every few milliseconds whether the run shall end now, beside Ctrl-C; default none.
    pub stop: Option<Stop>,
    /// Members that are something real, by their index; each has a [`Relay`] in the graph.
    pub real: BTreeMap<usize, Real>,
}

/// What came of a graph with real members.
#[derive(Debug)]
pub struct Ran {
    /// The figures of nodes and links.
    pub outcome: Outcome,
    /// What came of the programs, in their order.
    pub jobs: Vec<JobReport>,
}

/// Why a graph cannot be run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The graph is wrong; everything that was found.
    #[error("the graph has {} fault(s); the first: {}", .0.len(), .0[0])]
    Graph(Vec<GraphError>),
    /// A tap on a link that is not there.
    #[error("a tap is on link {link}, but the graph has {links}, counted from 0")]
    NoSuchLink {
        /// The link asked for.
        link: usize,
        /// How many there are.
        links: usize,
    },
    /// A link at the level of blocks.
    #[error(
        "link {link} is at the level of blocks, which simulated time has and the kernel has not; run the \
         graph there, or put the link at the level of frames"
    )]
    BlockLevel {
        /// Which, counted from 0.
        link: usize,
    },
    /// Namespaces or veth pairs cannot be made.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// A program cannot be run.
    #[error(transparent)]
    Crew(#[from] CrewError),
    /// A port cannot be opened.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Nothing is known of an interface.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// A node, or the departures of all, can have no thread.
    #[error(transparent)]
    Thread(io::Error),
    /// A node has not as many ports as it was given.
    #[error("the node has {node} port(s), but {given} were given; give it one for each")]
    Ports {
        /// Those of the node.
        node: usize,
        /// Those that were given.
        given: usize,
    },
}

/// What came of a node on ports.
#[derive(Debug)]
pub struct PortsOutcome {
    /// The node's figures; there are no links.
    pub outcome: Outcome,
    /// What each port received.
    pub received: Vec<RxCounters>,
    /// What each port sent.
    pub sent: Vec<TxCounters>,
    /// For each port, frames that were to leave later when the run ended.
    pub unsent: Vec<u64>,
    /// What became of each port's link, where there is something to tell.
    pub links: Vec<Option<Link>>,
    /// What went wrong first with a port that is of no more use. The run went on with the others.
    pub trouble: Option<PortError>,
}

/// Runs `graph` over veth pairs between namespaces, both made for it, in real time. Needs the rights
/// to make them. Ends when the time is up, when nothing is left to happen - no node wants to be woken,
/// no frame waits or is on its way - or by Ctrl-C.
///
/// # Errors
/// When the graph or a tap is wrong, or the wires or a thread cannot be made.
///
/// # Panics
/// When a node or a tap does.
pub fn run(graph: Graph, options: Options) -> Result<Outcome, WorldError> {
    run_with(graph, options, Staff::default()).map(|ran| ran.outcome)
}

/// Runs a graph as [`run`] does, with programs in the namespaces of its real members. Those that start
/// ahead are ready before anything else happens. With real members it ends when all programs are over
/// that are neither services nor ahead of time zero, once no frame is under way, and a second later at the latest; without any such
/// program not by itself.
///
/// # Errors
/// As [`run`]; and when a program that starts ahead does not get ready.
///
/// # Panics
/// When a node or a tap does.
pub fn run_with(graph: Graph, options: Options, staff: Staff) -> Result<Ran, WorldError> {
    graph.check().map_err(WorldError::Graph)?;
    let links = graph.links.len();
    if let Some(tap) = options.taps.iter().find(|tap| tap.link >= links) {
        let link = tap.link;
        return Err(WorldError::NoSuchLink { link, links });
    }
    let blocks = |link: &node::Link| link.channels.iter().any(|way| way.level != Level::Frame);
    if let Some(link) = graph.links.iter().position(blocks) {
        return Err(WorldError::BlockLevel { link });
    }
    let real = options.real;
    let wires = wires::Wires::make(&graph, &real)?;
    // Ended by hand below; if something fails on the way, with this value.
    let programs = !staff.jobs.is_empty() || staff.doors.is_some();
    let mut jobs = staff.jobs.iter();
    let governed = jobs.any(|job| !job.service && job.at.is_some());
    // Commands ahead of time zero are over by then; those of the lab's own making are for nodes that come to an end.
    let stays = |job: &Job| job.service || job.at.is_none() && !job.hidden;
    let endless = !real.is_empty() && staff.jobs.iter().all(stays);
    let opened = wires.open(&graph, &real)?;
    let crew = match programs {
        true => Some(Crew::start(staff, wires.namespaces.clone())?),
        false => None,
    };
    let mut ports: Vec<Vec<Option<HostPort>>> = graph
        .members
        .iter()
        .map(|member| (0..member.node.properties().ports).map(|_| None).collect())
        .collect();
    let mut lanes = Vec::with_capacity(2 * links);
    let mut taps = options.taps;
    // Lane `2 * link + direction`, as everywhere.
    for (index, (link, opened)) in graph.links.iter().zip(opened).enumerate() {
        let sides = link.ends.map(|end| real.contains_key(&end.node.0));
        let plain = wires::is_plain(link, &real);
        let [a, b] = opened;
        // What one side sends goes into its own end of a pair between nodes, and else straight to
        // where the other side takes it.
        let (txs, infos, rxs) = match sides {
            _ if plain => ([a.tx, b.tx], [a.info, b.info], [a.rx, b.rx]),
            [false, false] => ([a.tx, b.tx], [a.info, b.info], [a.rx, b.rx]),
            _ => ([b.tx, a.tx], [a.info, b.info], [a.rx, b.rx]),
        };
        let mut halves = txs.into_iter().zip(infos).zip(rxs);
        for direction in 0..2 {
            let (end, far) = (link.ends[direction], 1 - direction);
            let Some(((tx, info), rx)) = halves.next() else {
                continue;
            };
            let mut seen_by = |direction: usize| -> Vec<Tap> {
                let mine = |tap: &mut Tap| tap.link == index && tap.direction.index() == direction;
                taps.extract_if(.., mine).collect()
            };
            let mut lane = lane(tx, end.node.0);
            if sides[far] {
                lane.exit = Some(Mutex::new(Exit {
                    taps: seen_by(direction),
                    link: link.channels[direction].clone(),
                    frames: 0,
                }));
            }
            lanes.push(lane);
            let seed = seed_of(options.seed, index, direction);
            let own = !sides[direction];
            ports[end.node.0][end.port.index()] = Some(HostPort {
                number: end.port,
                rx,
                stamps: info.stamps,
                lane: 2 * index + direction,
                link: Some(Transmitter::new(link.channels[direction].clone(), seed)),
                // What would come is lost from then on, and that is seen.
                changes: match own {
                    true => link.channels[far].changes().collect(),
                    false => VecDeque::new(),
                },
                has_link: true,
                downs: 0,
                from: own.then(|| link.channels[far].clone()),
                taps: if own { seen_by(far) } else { Vec::new() },
                real: !own,
                entrance: own && plain,
                open: own || !plain,
            });
        }
    }
    let nodes = graph.members.into_iter().zip(ports).map(|(member, ports)| {
        // The graph was checked: a port without a link is one that may have none.
        Staffed {
            name: member.name,
            node: member.node,
            ports: ports.into_iter().flatten().collect(),
            feed: None,
            notice: None,
        }
    });
    let company = Company {
        outside: endless,
        crew: crew.as_ref(),
        governed,
    };
    let ended = conduct(nodes.collect(), lanes, options.until, options.stop, company)?;
    let jobs = crew.map_or(Vec::new(), Crew::finish);
    let mut counters = vec![[Default::default(); 2]; links];
    let mut outcome = ended.outcome;
    let mut entered = Vec::new();
    for report in ended.hosts {
        entered.extend(report.entered);
        for (lane, link) in report.links {
            counters[lane / 2][lane % 2] = link.map(|link| link.counters()).unwrap_or_default();
        }
    }
    // What came by a plain link from something real was counted where it came.
    for (lane, came) in entered {
        let way = &mut counters[lane / 2][1 - lane % 2];
        (way.sent, way.bytes) = (came.received, came.bytes);
    }
    outcome.links = counters;
    match ended.trouble {
        Some(error) => Err(error.into()),
        None => Ok(Ran { outcome, jobs }),
    }
}

/// Told of each port whose link has gone down, or come up again.
pub type Notice = Box<dyn FnMut(usize, bool) + Send>;

/// Runs one node on ports, in real time. Ends when the time is up, when all ports have ended and
/// nothing is left to happen, when the last port has failed, or by Ctrl-C. A link that goes down and comes
/// up again ends nothing: the node is told, and what it sends meanwhile is counted among its drops.
///
/// # Errors
/// When the ports are not as many as the node's.
///
/// # Panics
/// When the node does.
pub fn on_ports(
    name: &str,
    node: Box<dyn Node>,
    ports: Vec<Port>,
    until: Option<Time>,
) -> Result<PortsOutcome, WorldError> {
    on_ports_with(name, node, ports, until, None)
}

/// Runs one node on ports as [`on_ports`] does, and tells `notice` of their links.
///
/// # Errors
/// As [`on_ports`].
///
/// # Panics
/// As [`on_ports`].
pub fn on_ports_with(
    name: &str,
    node: Box<dyn Node>,
    ports: Vec<Port>,
    until: Option<Time>,
    notice: Option<Notice>,
) -> Result<PortsOutcome, WorldError> {
    let (wanted, given) = (node.properties().ports, ports.len());
    if wanted != given {
        return Err(WorldError::Ports {
            node: wanted,
            given,
        });
    }
    let feed = feed(&*node, &ports)?;
    let (mut lanes, mut hosted) = (Vec::new(), Vec::new());
    for (index, port) in ports.into_iter().enumerate() {
        lanes.push(lane(port.tx, 0));
        hosted.push(HostPort {
            number: node::Port(index as u16),
            rx: port.rx,
            stamps: port.info.stamps,
            lane: index,
            link: None,
            changes: VecDeque::new(),
            has_link: true,
            downs: 0,
            from: None,
            taps: Vec::new(),
            real: false,
            entrance: false,
            open: true,
        });
    }
    let company = Company {
        outside: true,
        crew: None,
        governed: false,
    };
    let staffed = Staffed {
        name: name.into(),
        node,
        ports: hosted,
        feed,
        notice,
    };
    let mut ended = conduct(vec![staffed], lanes, until, None, company)?;
    let host = ended.hosts.remove(0);
    Ok(PortsOutcome {
        outcome: ended.outcome,
        received: host.received,
        links: host.own_links,
        sent: ended.sent,
        unsent: ended.unsent,
        trouble: ended.trouble,
    })
}

/// What the kernel tells of the interfaces among these ports, if the node wants to know. Not of a TAP: what the kernel
/// sends there comes to us.
fn feed(node: &dyn Node, ports: &[Port]) -> Result<Option<Feed>, WorldError> {
    let names = ports.iter().enumerate().filter_map(|(index, port)| {
        let name = &port.info.name;
        let name = name.strip_prefix("xdp:").unwrap_or(name);
        let plain = !name.contains(':') && interface::find(name).is_ok_and(|it| it.is_some());
        plain.then_some((node::Port(index as u16), name))
    });
    let names: Vec<_> = names.collect();
    match node.properties().statistics_age {
        Some(_) if !names.is_empty() => Ok(Some(Feed::open(&names)?)),
        _ => Ok(None),
    }
}

fn lane(tx: Box<dyn crate::port::Transmit>, owner: usize) -> Lane {
    Lane {
        tx: Mutex::new(tx),
        owner,
        waiting: AtomicU64::new(0),
        refused: Default::default(),
        dead: AtomicBool::new(false),
        exit: None,
    }
}

/// Who else is there.
#[derive(Clone, Copy)]
struct Company<'a> {
    /// Whether frames come from elsewhere too, as long as a port is open.
    outside: bool,
    /// Programs that frames come from, too.
    crew: Option<&'a Crew>,
    /// Whether the run ends with those of them that end by themselves: a control channel alone would keep it up for ever.
    governed: bool,
}

/// A run that is over.
struct Ended {
    outcome: Outcome,
    hosts: Vec<HostReport>,
    sent: Vec<TxCounters>,
    unsent: Vec<u64>,
    trouble: Option<PortError>,
}

/// Runs nodes to the end.
fn conduct(
    nodes: Vec<Staffed>,
    lanes: Vec<Lane>,
    until: Option<Time>,
    stop: Option<Stop>,
    company: Company<'_>,
) -> Result<Ended, WorldError> {
    let count = nodes.len();
    // A report is worth as much as the worst of its stamps.
    let ports = nodes.iter().flat_map(|staffed| &staffed.ports);
    let stamps = ports.map(|port| port.stamps).max();
    let run = Run {
        open: AtomicU64::new(
            nodes
                .iter()
                .flat_map(|staffed| &staffed.ports)
                .filter(|port| port.open)
                .count() as u64,
        ),
        schedule: Schedule::new(lanes, count),
        start: clock::now_ns() + PREPARATION_NS,
        until: until.unwrap_or(Time::MAX),
        stop: AtomicBool::new(false),
        trouble: AtomicBool::new(false),
        received: AtomicU64::new(0),
        entered: AtomicU64::new(0),
        // Not yet asked: nobody may take the run for idle.
        wakes: (0..count).map(|_| AtomicU64::new(0)).collect(),
    };
    run.schedule.begin(run.start);
    if let Some(crew) = company.crew {
        crew.begin(run.start);
    }
    let threads = std::thread::scope(|scope| {
        // Should a thread panic, the others still end.
        let _guard = StopGuard(&run);
        let departures = spawn_scoped(scope, "departures", || run.schedule.run())?;
        let nodes = nodes.into_iter().enumerate();
        let hosts: io::Result<Vec<_>> = nodes
            .map(|(index, staffed)| {
                let thread = format!("node {}", staffed.name);
                let host = Host::new(&run, index, staffed);
                spawn_scoped(scope, &thread, move || {
                    let guard = StopGuard(host.world());
                    let report = host.run();
                    drop(guard);
                    report
                })
            })
            .collect();
        // Those that did start end here, as do all if this returns.
        let hosts = hosts.inspect_err(|_| {
            run.stop.store(true, Ordering::SeqCst);
            run.schedule.stop();
        })?;
        let (finish, ended) = watch(&run, stop.as_ref(), company);
        run.stop.store(true, Ordering::SeqCst);
        let join = |thread: std::thread::ScopedJoinHandle<'_, HostReport>| match thread.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let hosts: Vec<HostReport> = hosts.into_iter().map(join).collect();
        run.schedule.stop();
        let departures: ScheduleReport = match departures.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok((hosts, departures, finish, ended))
    });
    let (mut hosts, departures, finish, ended) = threads.map_err(WorldError::Thread)?;
    let mut outcome = Outcome {
        ended,
        finish,
        stamps: stamps.map_or("", Stamps::name),
        timing: Some(departures.timing),
        ..Outcome::default()
    };
    let mut trouble = departures.trouble;
    for lane in run.schedule.lanes() {
        let drops = &mut hosts[lane.owner].outcome.drops;
        for (kind, words) in Refused::ALL {
            let refused = lane.refused[kind as usize].load(Ordering::SeqCst);
            match drops.iter_mut().find(|(reason, _)| reason == words) {
                _ if refused == 0 => {}
                Some((_, count)) => *count += refused,
                None => drops.push((words.into(), refused)),
            }
        }
    }
    for lane in run.schedule.lanes() {
        if let Some(exit) = &lane.exit {
            outcome.frames += exit.lock().map_or(0, |exit| exit.frames);
        }
    }
    for host in &mut hosts {
        outcome.frames += host.frames;
        outcome.events += host.events;
        outcome.nodes.push(std::mem::take(&mut host.outcome));
        if trouble.is_none() {
            trouble = host.trouble.take();
        }
    }
    let sent = run.schedule.counters();
    let lanes = run.schedule.lanes().iter();
    let unsent = lanes
        .map(|lane| lane.waiting.load(Ordering::SeqCst))
        .collect();
    parallel::close(run.schedule.into_lanes());
    Ok(Ended {
        outcome,
        hosts,
        sent,
        unsent,
        trouble,
    })
}

/// Ends the run when it goes out of scope, by a panic too.
struct StopGuard<'a>(&'a Run);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Ordering::SeqCst);
            self.0.schedule.stop();
        }
    }
}

/// Waits for the end of the run; why it ended, and when.
fn watch(run: &Run, stop: Option<&Stop>, company: Company<'_>) -> (Finish, Time) {
    let (mut quiet, mut last, mut active) = (0, (0, 0, 0), Time::ZERO);
    let outside = company.outside;
    // When the programs were.
    let mut over = None;
    loop {
        std::thread::park_timeout(LOOK);
        let now = run.now();
        if signal::stop_requested() || stop.is_some_and(|stop| stop()) {
            return (Finish::Stopped, now);
        }
        if now >= run.until {
            return (Finish::Duration, run.until);
        }
        if run.stop.load(Ordering::SeqCst)
            || run.trouble.load(Ordering::SeqCst)
            || run.schedule.failed()
        {
            return (Finish::Stopped, now);
        }
        let counts = (
            run.schedule.sent(),
            run.received.load(Ordering::SeqCst),
            run.entered.load(Ordering::SeqCst),
        );
        let programs_over = company.governed && !company.crew.is_some_and(Crew::is_busy);
        if programs_over && now - *over.get_or_insert(now) > LINGER {
            return (Finish::Idle, active);
        }
        let mut wakes = run.wakes.iter().map(|at| at.load(Ordering::SeqCst));
        let nothing_to_come = (programs_over || wakes.all(|at| at == u64::MAX))
            && run.schedule.waiting() == 0
            && !company.crew.is_some_and(Crew::is_busy)
            && !(outside && run.open.load(Ordering::SeqCst) > 0);
        if !nothing_to_come || counts != last {
            (quiet, last, active) = (0, counts, now);
            continue;
        }
        quiet += 1;
        let all_there = outside || counts.0 == counts.1;
        if quiet >= if all_there { QUIET_LOOKS } else { SILENT_LOOKS } {
            return (Finish::Idle, active);
        }
    }
}
