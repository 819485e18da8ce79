//! What a lab file says, as data.

pub(crate) mod instrument;

use crate::hardware::Hardware;
use crate::kind::{Kind, Planned};
use crate::tree::Value;
use crate::world::World;
use instrument::Instrument;
use node::outcome::Direction;
use node::random::seed_of;
use node::{Link, Oscillator, Rate, Time};
use nodes::dtp;
use serde::Deserialize;
use std::ops::Range;
use std::sync::Arc;

/// A lab: nodes, links, and what is to be looked at. What stands in its file has been checked.
#[derive(Debug)]
pub struct Lab {
    /// What it is called.
    pub name: String,
    /// One line about it, for people.
    pub about: String,
    /// Everything drawn by lot comes from this.
    pub seed: u64,
    /// When the run ends, if not by itself.
    pub duration: Option<Time>,
    /// Where the file says that it is to be run, one after the other; empty where it does not.
    pub worlds: Vec<World>,
    /// In real time: whether frames that are sent at one time share a buffer of the kernel.
    pub(crate) aggregate: bool,
    /// Ports for the world `cosim`, if the command has any.
    pub(crate) hardware: Option<Hardware>,
    /// The world that it was read for, if it is another lab in others.
    pub(crate) only: Option<World>,
    /// What a topology left out, and that nothing is measured, for the report.
    pub(crate) notes: Vec<String>,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) links: Vec<LinkPlan>,
    pub(crate) captures: Vec<CapturePlan>,
    pub(crate) bits: Vec<BitsPlan>,
    pub(crate) plots: Vec<PlotPlan>,
    pub(crate) views: Vec<View>,
    /// The topics that it may measure, with their sections.
    pub(crate) instruments: Vec<Box<dyn Instrument>>,
    /// Whether the file says where to measure.
    pub(crate) measures: bool,
}

/// A node to be made.
#[derive(Debug)]
pub(crate) struct NodePlan {
    pub name: String,
    pub kind: Arc<Kind>,
    /// Its own keys.
    pub config: Value,
    /// Where it is defined.
    pub span: Range<usize>,
    /// What is to be made of it, when it has been checked.
    pub planned: Planned,
    /// Its clock, if it says, and where.
    pub clock: Option<(Oscillator, Range<usize>)>,
    /// What its ports are in the world `cosim`, if it says.
    pub rtl: Option<Rtl>,
    /// What keeps that in step with others, and where it says so.
    pub dtp: Option<(dtp::Config, Range<usize>)>,
}

/// What a node's ports are in the world `cosim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rtl {
    /// None that are hardware.
    None,
    /// Hardware of this rate.
    At(Rate),
}

/// A link to be made.
#[derive(Debug)]
pub(crate) struct LinkPlan {
    /// As the file has them: `sw.1`.
    pub names: [String; 2],
    pub link: Link,
    /// Of each direction the queue discipline; `None` for a FIFO with the channel's limit.
    pub disciplines: [Option<queue::Config>; 2],
    /// Of each direction the pauses that its receiver sends.
    pub pauses: [Option<queue::pause::Config>; 2],
    /// Where the file has them.
    pub spans: [Range<usize>; 2],
}

impl LinkPlan {
    /// Seed of the queue discipline of a direction in a run.
    pub fn queue_seed(&self, run: u64, way: Direction) -> u64 {
        let [from, to] = [way.index(), 1 - way.index()].map(|end| &self.names[end][..]);
        seed_of(run, "queue", &[from, to])
    }
}

/// A place where frames are looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct View {
    /// What people call it: `b.0`, `b.0 out`, `meter`.
    pub label: String,
    pub location: Location,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Location {
    /// What one direction of a link delivers.
    Link(usize, Direction),
    /// What a recording node sees.
    Node(usize),
}

/// A capture file to be written; `views` are indices into the lab's.
#[derive(Debug)]
pub(crate) struct CapturePlan {
    pub file: String,
    pub views: Vec<usize>,
    pub resolution: Option<Resolution>,
}

/// A file of the stream of blocks of one direction of a link.
#[derive(Debug)]
pub(crate) struct BitsPlan {
    pub file: String,
    pub link: usize,
    pub direction: Direction,
}

/// The finest difference of time in a capture file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(crate) enum Resolution {
    #[serde(rename = "ps")]
    Picosecond,
    #[serde(rename = "ns")]
    Nanosecond,
}

/// A picture to be drawn.
#[derive(Debug)]
pub(crate) struct PlotPlan {
    pub file: String,
    pub title: String,
    pub views: Vec<usize>,
    /// From top to bottom.
    pub kinds: Vec<PlotKind>,
    /// Whether the file does not say what to draw, so that what there is nothing of is left out.
    pub usual: bool,
}

/// What a panel of a picture shows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlotKind {
    /// Bits a second over time.
    Throughput,
    /// The delay that probes tell, over time and its distribution.
    Delay,
    /// How many frames wait for the link, over time.
    Queue,
    /// The congestion windows of a host's connections, over time.
    Cwnd,
    /// Round trips of a host's connections and pings, over time.
    Rtt,
    /// The time since the frame before, over time.
    Arrivals,
    /// The cumulative distribution of inter-packet delays.
    Cdf,
    /// How often which inter-packet delay was.
    Histogram,
}

impl PlotKind {
    /// What is drawn where the file does not say.
    pub const USUAL: [PlotKind; 4] = [
        PlotKind::Throughput,
        PlotKind::Delay,
        PlotKind::Queue,
        PlotKind::Cwnd,
    ];
}
