//! What stands around the graph of a run: who looks at links, captures, and what nodes tell.

use super::{behind, put_behind};
use crate::bandwidth::Estimates;
use crate::block_capture::BlockCapture;
use crate::capture_file::{CaptureFile, TimeBase};
use crate::error::LabError;
use crate::flops::Measured;
use crate::kind::Context;
use crate::offsets::{self, Watched};
use crate::options::Options;
use crate::pings::Pings;
use crate::plan::{Lab, Location};
use crate::realtime::PortNodes;
use crate::replay::Notes;
use crate::timeline::{Queue, Timeline};
use crate::watch::{Arrivals, Passes, Shared, Watch};
use crate::world::World;
use measure::statistics::Statistics;
use node::outcome::Tap;
use node::random::seed_of;
use node::{Graph, Time};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How finely the delays of what is drawn are counted: to 1/4096 of themselves.
const FINE: u32 = 12;

/// Everything around the graph of a run.
pub(super) struct Stage {
    /// By view.
    pub(super) watches: Vec<Shared>,
    pub(super) keeps: Vec<Arc<Mutex<CaptureFile>>>,
    pub(super) bits: Vec<Arc<Mutex<BlockCapture>>>,
    pub(super) notes: Notes,
    pub(super) measured: Measured,
    pub(super) estimates: Estimates,
    /// Who asks hosts to ping others, if anybody does.
    pub(super) pings: Option<Pings>,
    /// Who looks at the clocks, if any are kept.
    pub(super) offsets: Option<Watched>,
}

impl Stage {
    pub(super) fn new(
        lab: &Lab,
        world: World,
        out: &Path,
        dry: bool,
        time_base: TimeBase,
    ) -> Result<Stage, LabError> {
        let mut watches: Vec<Watch> = lab.views.iter().map(|_| Watch::default()).collect();
        for (watch, view) in watches.iter_mut().zip(&lab.views) {
            if let Location::Node(node) = view.location {
                watch.statistics = Statistics::new(lab.nodes[node].planned.stream);
            }
        }
        for view in lab.journeys.iter().flatten() {
            watches[*view].passes = Some(Passes::default());
        }
        let (mut keeps, mut bits) = (Vec::new(), Vec::new());
        if !dry {
            for plan in &lab.bits {
                let keep = BlockCapture::create(lab, plan, out)?;
                bits.push(Arc::new(Mutex::new(keep)));
            }
            for view in lab.plots.iter().flat_map(|plan| &plan.views) {
                watches[*view].arrivals = Some(Arrivals::default());
                watches[*view].bytes = Some(Timeline::sums());
                watches[*view].queue = Some(Queue::default());
                let statistics = std::mem::take(&mut watches[*view].statistics);
                watches[*view].statistics = statistics.with_precision(FINE);
            }
            for plan in &lab.captures {
                let keep = Arc::new(Mutex::new(CaptureFile::create(lab, plan, out, time_base)?));
                for (interface, view) in plan.views.iter().enumerate() {
                    watches[*view].keeps.push((keep.clone(), interface));
                }
                keeps.push(keep);
            }
        }
        let estimates = world.is_simulated() && lab.nodes.iter().any(|plan| plan.kind.estimates);
        let links = lab.links.iter().filter(|_| estimates);
        let links = links.map(|plan| (&plan.names, &plan.link.channels));
        let share = |watch| Shared(Arc::new(Mutex::new(watch)));
        Ok(Stage {
            watches: watches.into_iter().map(share).collect(),
            keeps,
            bits,
            offsets: Watched::of(lab),
            notes: Notes::default(),
            measured: Measured::default(),
            estimates: Estimates::new(links),
            pings: None,
        })
    }

    /// The nodes and links; with `gates`, ports of the machine are among them.
    pub(super) fn graph(
        &self,
        lab: &Lab,
        options: &Options,
        world: World,
        mut gates: Option<&mut PortNodes>,
    ) -> Result<Graph, LabError> {
        let mut graph = Graph::default();
        let folder = &options.folder;
        for (index, plan) in lab.nodes.iter().enumerate() {
            if let Some(gates) = gates
                .as_deref_mut()
                .filter(|_| crate::live_nodes::is_port(plan))
            {
                let output_paths = crate::live_nodes::gate(lab, index, folder);
                let output_paths = output_paths.map_err(|fault| LabError::Real { fault })?;
                graph.add(plan.name.clone(), Box::new(gates.add(index, output_paths)));
                continue;
            }
            let view = lab
                .views
                .iter()
                .position(|view| view.location == Location::Node(index));
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
                estimates: self.estimates.of(index, &plan.name),
                live: world == World::Live,
                alone: false,
                keeps: false,
                questions: self.pings.as_ref().map(|pings| pings.of(index)),
                seed: seed_of(lab.seed, "node", &[&plan.name]),
            });
            let node = node.map_err(|fault| LabError::Node {
                node: plan.name.clone(),
                fault,
            })?;
            let node = match behind(lab, plan, world) {
                Some(rate) => put_behind(lab, plan, node, rate, options)?,
                None => node,
            };
            graph.add(plan.name.clone(), node);
        }
        graph.links = lab.links.iter().map(|plan| plan.link.clone()).collect();
        graph.sublayers = offsets::sublayers(lab);
        Ok(graph)
    }

    pub(super) fn taps(&self, lab: &Lab) -> Vec<Tap> {
        let views = lab.views.iter().zip(&self.watches);
        let taps = views.filter_map(|(view, watch)| {
            let Location::Link(link, direction) = view.location else {
                return None;
            };
            let watch = watch.clone();
            // Who it comes to has the counter.
            let to = lab.links[link].link.ends[1 - direction.index()].node.0;
            let watched = self.offsets.as_ref();
            let counter = watched.and_then(|watched| watched.reader(to));
            let see = Box::new(move |now: Time, frame: &node::Frame| {
                let mut watch = watch.0.lock();
                watch.see(now, frame);
                watch.pass(frame, |at| counter.as_ref().and_then(|read| read(at)));
            });
            Some(Tap {
                link,
                direction,
                see,
            })
        });
        taps.chain(self.estimates.taps()).collect()
    }

    /// Whether there are as many tests and estimates by now as end the run.
    pub(super) fn tests_done(&self, tests: usize) -> impl Fn() -> bool + Send + use<> {
        let (measured, estimates) = (self.measured.clone(), self.estimates.clone());
        move || measured.count() + estimates.count() >= tests && estimates.settled()
    }

    /// Who looks at the queues of the links that are drawn.
    pub(super) fn queue_taps(&self, lab: &Lab) -> Vec<sim::QueueTap> {
        let views = lab.views.iter().zip(&self.watches);
        let taps = views.filter_map(|(view, watch)| {
            let Location::Link(link, direction) = view.location else {
                return None;
            };
            watch.0.lock().queue.as_ref()?;
            let watch = watch.clone();
            let see = Box::new(move |now: Time, waiting: u32, departed: Time| {
                if let Some(queue) = &mut watch.0.lock().queue {
                    queue.see(now, waiting, departed);
                }
            });
            Some(sim::QueueTap {
                link,
                direction,
                see,
            })
        });
        taps.collect()
    }

    /// Brings what several threads see into one order.
    pub(super) fn passed(&self) -> Option<Box<dyn FnMut(Time) + Send>> {
        if self.keeps.is_empty() {
            return None;
        }
        let keeps = self.keeps.clone();
        keeps.iter().for_each(|keep| keep.lock().put_in_order());
        Some(Box::new(move |time| {
            keeps.iter().for_each(|keep| keep.lock().pass(time));
        }))
    }

    pub(super) fn bit_taps(&self, lab: &Lab) -> Vec<sim::BitTap> {
        let keeps = self.bits.iter().zip(&lab.bits);
        keeps
            .map(|(keep, plan)| BlockCapture::tap(keep, plan))
            .collect()
    }

    /// Ends all capture files, even if one fails.
    pub(super) fn finish(&self, ended: Time) -> Vec<Result<PathBuf, LabError>> {
        let keeps = self.keeps.iter().map(|keep| keep.lock().finish(ended));
        let bits = self.bits.iter().map(|keep| keep.lock().finish());
        keeps.chain(bits).map(|end| Ok(end?)).collect()
    }

    /// Leaves the files of an earlier run as they are, and what this one has captured beside them.
    pub(super) fn give_up(&self, error: LabError) -> LabError {
        let keeps = self.keeps.iter().filter_map(|keep| keep.lock().give_up());
        let bits = self.bits.iter().filter_map(|keep| keep.lock().give_up());
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
