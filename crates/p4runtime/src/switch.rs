//! A pipeline as a node whose program can be replaced while it runs.

use crate::device::Device;
use crate::server::Running;
use node::Statistics;
use node::event::Event;
use node::{Frame, Node, Out, Port, Properties, Time};
use pipeline::architecture::Pipeline;
use pipeline::environment::{Environment, Unsupported};
use pipeline::node::{PipelineNode, QUEUE_AGE};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How often the node looks for another program when no packet comes.
const LOOK: Time = Time::from_ms(1);

/// Makes a pipeline for an environment, with whatever engine.
pub type PipelineFactory =
    Box<dyn Fn(&Arc<Environment>) -> Result<Pipeline, Unsupported> + Send + Sync>;

struct Shared {
    /// Whether there is another program.
    waiting: AtomicBool,
    next: Mutex<Option<PipelineNode>>,
    now: AtomicU64,
}

/// The node. What it forwards with is replaced between two packets.
pub struct SwitchNode {
    current: PipelineNode,
    shared: Arc<Shared>,
    next_look: Time,
    server: Option<Running>,
}

/// What a [`Server`](crate::Server) steers a [`SwitchNode`] by.
pub struct SwitchHandle {
    shared: Arc<Shared>,
    make: PipelineFactory,
    ports: usize,
}

impl SwitchNode {
    /// A node with ports 0 to `ports` - 1, and its handle; `make` makes the pipelines of later programs.
    #[must_use]
    pub fn new(
        pipeline: Pipeline,
        ports: usize,
        make: PipelineFactory,
    ) -> (SwitchNode, SwitchHandle) {
        let shared = Arc::new(Shared {
            waiting: AtomicBool::new(false),
            next: Mutex::new(None),
            now: AtomicU64::new(0),
        });
        let node = SwitchNode {
            current: PipelineNode::new(pipeline, ports),
            shared: Arc::clone(&shared),
            next_look: Time::ZERO,
            server: None,
        };
        let handle = SwitchHandle {
            shared,
            make,
            ports,
        };
        (node, handle)
    }

    /// Gives the node its server, which ends with it.
    pub fn keep(&mut self, server: Running) {
        self.server = Some(server);
    }

    fn look(&mut self, now: Time) {
        self.shared.now.store(now.as_ps(), Ordering::Relaxed);
        if self.shared.waiting.load(Ordering::Acquire) {
            self.replace();
        }
    }

    #[cold]
    fn replace(&mut self) {
        let mut next = self
            .shared
            .next
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.shared.waiting.store(false, Ordering::Release);
        if let Some(node) = next.take() {
            self.current = node;
        }
    }
}

impl Node for SwitchNode {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(QUEUE_AGE),
            ..self.current.properties()
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.look(now);
        self.current.frames(now, port, frames, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.look(now);
        self.next_look = now + LOOK;
        self.current.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let inner = self.current.next_wake();
        Some(inner.map_or(self.next_look, |at| at.min(self.next_look)))
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        self.current.event(now, event, out);
    }

    fn statistics(&self) -> Statistics {
        self.current.statistics()
    }

    fn tables(&self, now: Time) -> Vec<node::outcome::Table> {
        self.current.tables(now)
    }
}

impl Device for SwitchHandle {
    fn install(&self, environment: &Arc<Environment>) -> Result<(), Unsupported> {
        let pipeline = (self.make)(environment)?;
        let mut next = self
            .shared
            .next
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *next = Some(PipelineNode::new(pipeline, self.ports));
        self.shared.waiting.store(true, Ordering::Release);
        Ok(())
    }

    fn now(&self) -> Time {
        Time::from_ps(self.shared.now.load(Ordering::Relaxed))
    }
}
