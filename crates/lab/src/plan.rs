//! What a lab file says, as data.

use crate::registry::{Kind, Planned};
use crate::run::World;
use crate::tree::Value;
use node::outcome::Direction;
use node::{Link, Time};
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
    /// The world that it was read for, if it is another lab in others.
    pub(crate) only: Option<World>,
    /// What a topology left out, for the report.
    pub(crate) notes: Vec<String>,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) links: Vec<LinkPlan>,
    pub(crate) captures: Vec<CapturePlan>,
    pub(crate) bits: Vec<BitsPlan>,
    pub(crate) plots: Vec<PlotPlan>,
    pub(crate) views: Vec<View>,
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
}

/// A link to be made.
#[derive(Debug)]
pub(crate) struct LinkPlan {
    /// As the file has them: `sw.1`.
    pub names: [String; 2],
    pub link: Link,
    /// Where the file has them.
    pub spans: [Range<usize>; 2],
}

/// A place where frames are looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct View {
    /// What people call it: `b.0`, `b.0 out`, `meter`.
    pub label: String,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
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
    pub kind: PlotKind,
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlotKind {
    /// When each frame arrived, and the time since the one before.
    #[default]
    Arrivals,
    /// The cumulative distribution of inter-packet delays.
    Cdf,
    /// How often which inter-packet delay was.
    Histogram,
    /// The delay that probes tell, over time and its distribution.
    Delay,
}
