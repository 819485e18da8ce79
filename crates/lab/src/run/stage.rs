//! What stands around the graph of a run: who looks at links, captures, and what nodes tell.

use super::{behind, put_behind};
use crate::block_capture::BlockCapture;
use crate::capture_file::{CaptureFile, TimeBase};
use crate::error::LabError;
use crate::kind::Context;
use crate::options::Options;
use crate::plan::instrument::{Attachments, Finished, Measurement, Section};
use crate::plan::{Lab, Location};
use crate::realtime::PortNodes;
use crate::replay::Notes;
use crate::services::Services;
use crate::timeline::{Queue, Timeline};
use crate::watch::{Arrivals, Shared, Watch};
use crate::world::World;
use measure::statistics::Statistics;
use node::outcome::{Direction, Tap};
use node::random::seed_of;
use node::{Graph, NodeId, Outcome, Sublayer, Time};
use nodes::dtp::Device;
use parking_lot::Mutex;
use queue::egress::{PortQueue, SeeDiscipline};
use queue::pause;
use sim::ClockTap;
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
    /// The services that instruments offer to nodes, and the session its own.
    pub(super) services: Services,
    measurements: Arc<[Box<dyn Measurement>]>,
    /// The instruments' observers, until the world has them.
    taps: Vec<Tap>,
    queues: Vec<(usize, Direction, Box<SeeDiscipline>)>,
    clocks: Option<ClockTap>,
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
        let mut attachments = Attachments::new(lab, world);
        let instruments = lab.instruments.iter();
        let measurements = instruments.filter_map(|instrument| instrument.attach(&mut attachments));
        let measurements: Vec<_> = measurements.collect();
        let share = |watch| Shared(Arc::new(Mutex::new(watch)));
        Ok(Stage {
            watches: watches.into_iter().map(share).collect(),
            keeps,
            bits,
            notes: Notes::default(),
            services: attachments.services,
            measurements: measurements.into(),
            taps: attachments.taps,
            clocks: attachments.clocks,
            queues: attachments.queues,
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
                node: (index, &plan.name),
                services: self.services.clone(),
                live: world == World::Live,
                alone: false,
                keeps: false,
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
        graph.sublayers = sublayers(lab);
        Ok(graph)
    }

    /// The observers of frames, those of instruments among them: once.
    pub(super) fn taps(&mut self, lab: &Lab) -> Vec<Tap> {
        let views = lab.views.iter().zip(&self.watches);
        let taps = views.filter_map(|(view, watch)| {
            let Location::Link(link, direction) = view.location else {
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
        let taps: Vec<Tap> = taps.collect();
        let own = std::mem::take(&mut self.taps);
        taps.into_iter().chain(own).collect()
    }

    /// The observer of nodes' counters, if an instrument has one: once.
    pub(super) fn clock_tap(&mut self) -> Option<ClockTap> {
        self.clocks.take()
    }

    /// Whether all instruments have what they were to measure.
    pub(super) fn is_done(&self) -> impl Fn() -> bool + Send + use<> {
        let measurements = self.measurements.clone();
        move || measurements.iter().all(|measurement| measurement.is_done())
    }

    /// The instruments' sections of the report, as far as the run has come.
    pub(super) fn sections(
        &self,
        lab: &Lab,
        world: World,
        outcome: &Outcome,
    ) -> Vec<Arc<dyn Section>> {
        let mut sections = Vec::new();
        for measurement in &*self.measurements {
            let run = Finished {
                lab,
                world,
                outcome,
                sections: &sections,
            };
            let section = measurement.finish(&run);
            sections.extend(section);
        }
        sections
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
            let see = Box::new(move |now: Time, waiting: u32, departed: Option<Time>| {
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

    /// The queue disciplines of links, with the observers of instruments: once.
    pub(super) fn disciplines(&mut self, lab: &Lab) -> Vec<PortQueue> {
        let mut observers = std::mem::take(&mut self.queues);
        let mut queues = Vec::new();
        for (link, plan) in lab.links.iter().enumerate() {
            for (way, config) in Direction::BOTH.into_iter().zip(&plan.disciplines) {
                let Some(config) = config.clone() else {
                    continue;
                };
                let seed = plan.queue_seed(lab.seed, way);
                let own =
                    observers.extract_if(.., |(at, direction, _)| (*at, *direction) == (link, way));
                let mut see: Vec<_> = own.map(|(.., see)| see).collect();
                queues.push(PortQueue {
                    link,
                    direction: way,
                    make: Box::new(move || {
                        config
                            .build(seed)
                            .expect("a file's parameters were checked")
                    }),
                    see: Some(Box::new(move |event| {
                        see.iter_mut().for_each(|see| see(event))
                    })),
                    pause: pause::Port::new(&plan.link.channels, &plan.pauses, way)
                        .expect("a file's parameters were checked"),
                });
            }
        }
        queues
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

/// Sublayers below the nodes of a lab.
fn sublayers(lab: &Lab) -> Vec<(NodeId, Box<dyn Sublayer>)> {
    let nodes = lab.nodes.iter().enumerate();
    let devices = nodes.filter_map(|(node, plan)| {
        let (config, _) = plan.dtp.as_ref()?;
        let device = Device::new(config, plan.planned.properties.ports);
        let device: Box<dyn Sublayer> = Box::new(device.expect("its keys were checked"));
        Some((NodeId(node), device))
    });
    devices.collect()
}
