//! A pipeline as a node whose program can be replaced while it runs.

use crate::device::Device;
use crate::server::Running;
use node::Statistics;
use node::event::Event;
use node::{Frame, Node, Out, Port, Properties, Time};
use parking_lot::Mutex;
use pipeline::architecture::Pipeline;
use pipeline::environment::{Environment, Unsupported};
use pipeline::node::{PipelineNode, QUEUE_AGE};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Instant;

/// Interval at which the node polls for a new program in a world without wakers.
const POLL_INTERVAL: Time = Time::from_ms(1);

/// Makes a pipeline for an environment, with whatever engine.
pub type PipelineFactory =
    Box<dyn Fn(&Arc<Environment>) -> Result<Pipeline, Unsupported> + Send + Sync>;

struct Shared {
    /// Whether there is another program.
    waiting: AtomicBool,
    next: Mutex<Option<PipelineNode>>,
    /// The latest time that the node was given, ps.
    now: AtomicU64,
    /// Wakes the node; only worlds in real time have one.
    waker: OnceLock<Waker>,
    /// Time zero of such a world.
    zero: OnceLock<Instant>,
}

impl Shared {
    fn now(&self) -> Time {
        let told = Time::from_ps(self.now.load(Ordering::Relaxed));
        let zero = self.zero.get();
        zero.map_or(told, |zero| {
            told.max(Time::from_ns(zero.elapsed().as_nanos() as u64))
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "between two packets the time of a world in real time passes too"
    )]
    fn set_now(&self, now: Time) {
        self.now.store(now.as_ps(), Ordering::Relaxed);
        if self.waker.get().is_some() && self.zero.get().is_none() {
            let _ = self
                .zero
                .set(Instant::now() - std::time::Duration::from_nanos(now.as_ns()));
        }
    }

    fn call(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
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
            waker: OnceLock::new(),
            zero: OnceLock::new(),
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
        self.shared.set_now(now);
        if self.shared.waiting.load(Ordering::Acquire) {
            self.replace();
        }
    }

    #[cold]
    fn replace(&mut self) {
        let mut next = self.shared.next.lock();
        self.shared.waiting.store(false, Ordering::Release);
        if let Some(mut node) = next.take() {
            if let Some(waker) = self.shared.waker.get() {
                node.set_waker(waker);
            }
            self.current = node;
        }
    }
}

impl Node for SwitchNode {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(QUEUE_AGE),
            endless: Some("waits for controllers"),
            ..self.current.properties()
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.look(now);
        self.current.frames(now, port, frames, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.look(now);
        self.next_look = now + POLL_INTERVAL;
        self.current.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let inner = self.current.next_wake();
        if self.shared.zero.get().is_some() {
            return inner;
        }
        Some(inner.map_or(self.next_look, |at| at.min(self.next_look)))
    }

    fn set_waker(&mut self, waker: &Waker) {
        let _ = self.shared.waker.set(waker.clone());
        self.current.set_waker(waker);
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
        let mut next = self.shared.next.lock();
        *next = Some(PipelineNode::new(pipeline, self.ports));
        self.shared.waiting.store(true, Ordering::Release);
        self.shared.call();
        Ok(())
    }

    fn now(&self) -> Time {
        self.shared.now()
    }
}
