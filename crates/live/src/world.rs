//! World 2: a graph on real interfaces.
//!
//! [`run`] puts each node on a thread and in a network namespace of its own, and makes each link of
//! its graph a veth pair, all of which go with the run. [`node::Transmitter`] decides for each frame
//! when it leaves, when it arrives and whether at all, as in simulated time; one thread hands the
//! frames to the kernel when their last bit shall be in. Frames cross the kernel for real, and their
//! stamps are the kernel's. How exact the departures were that nodes asked for stands in the outcome.
//!
//! Members of a graph may be [`Real`]: a namespace for real programs, which a [`Supervisor`](process::Supervisor) starts and
//! ends ([`run_with`]), or ports that are there already. Their frames go through the same links.
//!
//! [`on_ports`] runs one node on ports that are there already.
//!
//! Nodes are woken 0.5 ms before the time they asked for and told that time, so that what they send
//! then leaves at that time, not some thread's wake-up later.
//!
//! | part | what it does |
//! |---|---|
//! | `graph`, `on_ports` | what can be run: a graph, a node |
//! | `wires` | namespaces and veth pairs for a graph |
//! | `real` | members that are no nodes |
//! | `nodes` | runs nodes, each on a thread, to the end |
//! | `runner` | a node and its ports on a thread |
//! | `egress` | what a node's answers go through |
//! | `schedule`, `lane` | the thread of departures, and the ways out |
//! | `parallel` | opens and closes many ports side by side |
//! | [`callback`], [`hook`], [`mount`], [`process`] | programs as nodes, nodes at hooks of the kernel, ports as files, programs in namespaces |

pub mod callback;
mod calls;
mod egress;
mod graph;
pub mod hook;
mod lane;
pub mod mount;
mod nodes;
mod on_ports;
mod parallel;
pub mod process;
mod real;
mod runner;
mod schedule;
mod shared;
mod wires;

pub use graph::{run, run_with};
pub use on_ports::{on_ports, on_ports_with};
pub use real::{Interface, Line, Outside, Real, Slot, Stack};

use crate::kernel::netns::NetnsError;
use crate::kernel::statistics::StatisticsError;
use crate::port::{Link, PortError, RxCounters, TxCounters};
use node::{Driver, GraphError, Outcome, Tap, Time};
use process::{JobReport, ProcessError};
use queue::egress::PortQueue;
use std::collections::BTreeMap;
use std::io;

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
    /// Queue disciplines of links, which replace their FIFOs. A discipline decides in the time that the run's clock shows, so that a frame is late only
    /// where the thread that sends wakes later than the frame takes on its link.
    pub disciplines: Vec<PortQueue>,
    /// Members that are something real, by their index; each has a [`Slot`] in the graph.
    pub real: BTreeMap<usize, Real>,
    /// Every frame crosses in a buffer of its own. Default no: those that nodes send to nodes at one time share one, where their link takes
    /// no time ([`port::Options::aggregates`](crate::port::Options::aggregates)).
    pub singly: bool,
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
    /// A tap or a queue on a link that is not there.
    #[error("a tap or a queue is on link {link}, but the graph has {links}, counted from 0")]
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
    Supervisor(#[from] ProcessError),
    /// A port cannot be opened.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Nothing is known of an interface.
    #[error(transparent)]
    Facts(#[from] StatisticsError),
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

/// Told of each port whose link has gone down, or come up again.
pub type Notice = Box<dyn FnMut(usize, bool) + Send>;

/// Looks at a node at a time of the world: on the node's thread, after each round of calls and at least every 10 ms. What it takes, the
/// node waits.
pub type Observe = Box<dyn FnMut(&Driver, Time) + Send>;

/// How to run one node on ports.
#[derive(Default)]
pub struct PortsOptions {
    /// What happens later than this does not happen; default none.
    pub until: Option<Time>,
    /// What [`clock::now_ns`](capture::clock::now_ns) is at the world's time zero; default shortly after the threads have begun.
    pub start_ns: Option<u64>,
    /// Who is told of the ports' links.
    pub notice: Option<Notice>,
    /// Who looks at the node.
    pub observe: Option<Observe>,
    /// Asked every few milliseconds whether the run shall end now, beside Ctrl-C; default none.
    pub stop: Option<Stop>,
}
