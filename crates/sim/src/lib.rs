//! World 1: a graph in exact virtual time.
//!
//! The promise: time is counted in picoseconds and never rounded; the same graph and seed give the
//! same calls of the nodes in the same order, on every machine and at every optimisation level. No
//! clock is read and nothing is drawn but from the seed. Each stream of random numbers has a seed of its own by name
//! ([`node::Channel::seed_of`]). Events at one time happen in the order of names: arrivals by the node and the port that sent
//! them, then alarms by their node. Neither depends on the order of nodes and links in the graph, nor on others that are
//! added or removed.
//!
//! A frame costs one event for each link that it crosses: [`node::Transmitter`] decides its whole way
//! when it is sent. It reaches the next node when its last bit is in, or
//! as many bytes as that node [needs](node::Properties::needs). On a link it is padded to 60
//! bytes, as on a real one. In steady state nothing is allocated: one pool of buffers serves all nodes.
//!
//! | module | what is in it |
//! |---|---|
//! | `engine` | start here: [`Sim`], a graph that is being run |
//! | `part` | a part of the graph: the loop, and what a node's answers turn into |
//! | `partition`, `parallel` | how a graph is cut, and how its parts run side by side |
//! | `lane` | one direction of a link, with the frames that are on their way over it |
//! | `block` | a link at the level of 66-bit blocks: clocks, elastic buffer, wrong bits |
//! | `watcher` | who looks at a run from outside |
//! | `event_queue` | what happens next: a heap of the lanes and alarms that have something to come |
//!
//! ```
//! use node::{Channel, Frame, Graph, Node, Out, Port, Properties, Time};
//!
//! struct Hello;
//! impl Node for Hello {
//!     fn properties(&self) -> Properties { Properties::of(1) }
//!     fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
//!         frames.drain(..).for_each(|frame| out.drop(frame, "heard"));
//!     }
//! }
//!
//! let mut graph = Graph::default();
//! let a = graph.add("a", Box::new(Hello));
//! let b = graph.add("b", Box::new(Hello));
//! graph.connect((a, 0), (b, 0), Channel::default());
//! let outcome = sim::run(graph, sim::Options::default()).unwrap();
//! assert_eq!(outcome.frames, 0);
//! ```
#![forbid(unsafe_code)]

mod block;
mod engine;
mod event_queue;
mod lane;
mod parallel;
mod part;
mod partition;
mod watcher;

pub use block::tape::{BitTap, Bits, See as SeeBits};
pub use engine::Sim;

use node::outcome::Direction;
use node::{Graph, GraphError, NodeId, Outcome, Tap, Time};
use queue::egress::PortQueue;
use std::sync::Arc;

/// How to run a graph.
#[derive(Default)]
pub struct Options {
    /// Everything that is drawn by lot comes from this. Default 0.
    pub seed: u64,
    /// What happens later than this does not happen; default none: until nothing is left to happen.
    pub until: Option<Time>,
    /// Who looks at which link.
    pub taps: Vec<Tap>,
    /// Who looks at the blocks of which link.
    pub bits: Vec<BitTap>,
    /// Who looks at the queue of which direction of a link.
    pub queues: Vec<QueueTap>,
    /// Queue disciplines of directions of links; the others have a FIFO with their channel's limit.
    pub disciplines: Vec<PortQueue>,
    /// Who looks at the clocks that nodes' sublayers keep.
    pub clocks: Option<ClockTap>,
    /// On links at the level of blocks, makes every block and has the receiver look at it, whether or
    /// not a bit is wrong near it. The outcome is the same, and takes far longer: this is what tests
    /// prove it with. Default no.
    pub every_block: bool,
    /// On at most how many threads the graph runs, in parts: fewer where its links have no delay to part them
    /// by. What comes of it is the same to the last bit, but for who calls taps and recorders of different nodes first.
    /// Default one part, and no other thread.
    pub threads: usize,
    /// For how many events it runs on one thread first. Then it goes on in several if enough happens within the delays of the links
    /// between the parts; if not, that is looked at again after four times as many. Default 0: it runs in several from the start.
    pub whole_for: u64,
    /// Told now and then a time up to which everything has happened; default nobody. Whoever brings what taps see into
    /// one order waits for this.
    pub passed: Option<Box<dyn FnMut(Time) + Send>>,
    /// Asked every few thousand events whether the run shall end now; default none.
    pub stop: Option<Box<dyn Fn() -> bool + Send>>,
    /// Told as often how far the run has come, and [`until`](Options::until) when it goes; default none.
    pub progress: Option<fn(Time, Option<Time>)>,
}

/// Somebody who looks at what waits for one direction of a link.
pub struct QueueTap {
    /// The link's index in its graph.
    pub link: usize,
    /// Which way.
    pub direction: Direction,
    /// Called for each frame that has found its place.
    pub see: Box<SeeQueue>,
}

/// Called with the time and the number of waiting frames. For a plain queue: once for each frame offered to a link, which is counted,
/// with its departure. For a queue discipline, where departures are not known in advance: at each change, with `None`.
pub type SeeQueue = dyn FnMut(Time, u32, Option<Time>) + Send;

/// Somebody who looks at the counters of all nodes with a [sublayer](node::Sublayer).
#[derive(Clone)]
pub struct ClockTap {
    /// From one look to the next; the first is at the start of the run.
    pub every: Time,
    /// Called for each node at each look, behind all that happens at that time.
    pub see: Arc<SeeClock>,
}

/// Told the time, a node, and what its counter shows.
pub type SeeClock = dyn Fn(Time, NodeId, u128) + Send + Sync;

/// Why a graph cannot be run, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// The graph is wrong; everything that was found.
    #[error("the graph has {} fault(s); the first: {}", .0.len(), .0[0])]
    Graph(Vec<GraphError>),
    /// A tap or a queue on a link that is not there.
    #[error("a tap or a queue is on link {link}, but the graph has {links}, counted from 0")]
    NoSuchLink {
        /// The link asked for.
        link: usize,
        links: usize,
    },
    /// A look at the blocks of a link that has none.
    #[error("link {link} is at the level of frames: there are no blocks to be looked at")]
    NoBlocks {
        /// The link asked for.
        link: usize,
    },
    /// A node with a sublayer whose ports have different clocks.
    #[error(
        "what works below `{node}` has one clock, but the links there have different ones for it"
    )]
    TwoClocks {
        /// The node.
        node: String,
    },
    /// Somebody wants to advance by hand what runs in several parts.
    #[error("a simulation in several parts runs to its end at once; make it with one thread")]
    Parts,
    /// Time stands still.
    #[error(
        "time stands still at {at}: `{node}` is called again and again without any time passing; \
         give a link on its loop a rate or a delay, or let the node ask for a later wake"
    )]
    Stuck {
        /// The node that was called last.
        node: String,
        /// When.
        at: Time,
    },
}

/// Runs `graph` to its end.
///
/// # Errors
/// When the graph or a tap is wrong, or when time stands still.
pub fn run(graph: Graph, options: Options) -> Result<Outcome, SimError> {
    let mut sim = Sim::new(graph, options)?;
    sim.advance()?;
    Ok(sim.outcome())
}
