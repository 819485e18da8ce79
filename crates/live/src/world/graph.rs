//! Graphs over veth pairs.

use super::lane::{Exit, Lane};
use super::nodes::{self, Sources};
use super::process::{Job, Programs, Supervisor};
use super::runner::{RunnerPort, Setup};
use super::{Options, Ran, WorldError, wires};
use node::link::Level;
use node::{Graph, Outcome, Tap, Transmitter};
use queue::egress::Egress;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;

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
    run_with(graph, options, Programs::default()).map(|ran| ran.outcome)
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
pub fn run_with(graph: Graph, options: Options, programs: Programs) -> Result<Ran, WorldError> {
    graph.check().map_err(WorldError::Graph)?;
    let links = graph.links.len();
    let mut disciplines = options.disciplines;
    let asked = options.taps.iter().map(|tap| tap.link);
    let mut asked = asked.chain(disciplines.iter().map(|queue| queue.link));
    if let Some(link) = asked.find(|link| *link >= links) {
        return Err(WorldError::NoSuchLink { link, links });
    }
    let queued: BTreeSet<usize> = disciplines.iter().map(|queue| queue.link).collect();
    let blocks = |link: &node::Link| {
        link.channels
            .iter()
            .any(|channel| channel.level != Level::Frame)
    };
    if let Some(link) = graph.links.iter().position(blocks) {
        return Err(WorldError::BlockLevel { link });
    }
    let real = options.real;
    let wires = wires::Wires::make(&graph, &real, &queued)?;
    // Ended by hand below; if something fails on the way, with this value.
    let any = !programs.jobs.is_empty() || programs.joinable.is_some();
    let mut jobs = programs.jobs.iter();
    let governed = jobs.any(|job| !job.service && job.at.is_some());
    // Commands ahead of time zero are over by then; those of the lab's own making are for nodes that come to an end.
    let stays = |job: &Job| job.service || job.at.is_none() && !job.hidden;
    let endless = !real.is_empty() && programs.jobs.iter().all(stays);
    let opened = wires.open(&graph, &real, !options.singly)?;
    let supervisor = match any {
        true => Some(Supervisor::start(programs, wires.namespaces.clone())?),
        false => None,
    };
    let mut ports: Vec<Vec<Option<RunnerPort>>> = graph
        .members
        .iter()
        .map(|member| (0..member.node.properties().ports).map(|_| None).collect())
        .collect();
    let mut lanes = Vec::with_capacity(2 * links);
    let mut taps = options.taps;
    // Lane `2 * link + direction`, as everywhere.
    for (index, (link, opened)) in graph.links.iter().zip(opened).enumerate() {
        let sides = link.ends.map(|end| real.contains_key(&end.node.0));
        let plain = wires.plain[index];
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
            let mut lane = Lane::new(tx, end.node.0);
            if sides[far] {
                lane.exit = Some(Mutex::new(Exit {
                    taps: seen_by(direction),
                    link: link.channels[direction].clone(),
                    frames: 0,
                }));
            }
            lanes.push(lane);
            let seed = graph.link_seed(options.seed, index, direction);
            let own = !sides[direction];
            let transmitter = Transmitter::new(link.channels[direction].clone(), seed);
            let mut of_it = disciplines.extract_if(.., |queue| {
                (queue.link, queue.direction.index()) == (index, direction)
            });
            let discipline = of_it.next().map(|queue| Box::new(Egress::new(queue)));
            drop(of_it);
            ports[end.node.0][end.port.index()] = Some(RunnerPort {
                number: end.port,
                rx,
                stamps: info.stamps,
                lane: 2 * index + direction,
                line: (Some(transmitter), discipline),
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
        Setup {
            name: member.name,
            node: member.node,
            ports: ports.into_iter().flatten().collect(),
            feed: None,
            notice: None,
            observe: None,
        }
    });
    let sources = Sources {
        outside: endless,
        supervisor: supervisor.as_ref(),
        governed,
    };
    let ended = nodes::run(
        nodes.collect(),
        lanes,
        (None, options.until),
        options.stop,
        sources,
    )?;
    let jobs = supervisor.map_or(Vec::new(), Supervisor::finish);
    let mut counters = vec![[Default::default(); 2]; links];
    let mut outcome = ended.outcome;
    let mut entered = Vec::new();
    for report in ended.runners {
        entered.extend(report.entered);
        for (lane, link) in report.links {
            counters[lane / 2][lane % 2] = link.unwrap_or_default();
        }
    }
    // What came by a plain link from something real was counted where it came.
    for (lane, came) in entered {
        let counts = &mut counters[lane / 2][1 - lane % 2];
        (counts.sent, counts.bytes) = (came.received, came.bytes);
    }
    outcome.links = counters;
    match ended.trouble {
        Some(error) => Err(error.into()),
        None => Ok(Ran { outcome, jobs }),
    }
}
