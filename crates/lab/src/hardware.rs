//! Ports that are hardware: what the world `cosim` puts between nodes and their links. A [`Registry`](crate::Registry) may have
//! them; the command `wire` has none.

use node::{Node, Oscillator, Rate, Time};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The rate of ports of which nothing else is said.
pub(crate) const GIGABIT: Rate = match Rate::from_bits_per_second(1_000_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// Where ports are wanted.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its ports' rate: 1 or 10 Gb/s.
    pub rate: Rate,
    /// Their clock.
    pub oscillator: &'a Oscillator,
    /// The file for waveforms of its first port, and of which time.
    pub waves: Option<(&'a Path, Range<Time>)>,
}

/// Puts a node behind ports.
type Make = dyn Fn(Box<dyn Node>, Site<'_>) -> Result<Box<dyn Node>, Cause> + Send + Sync;

/// Why it cannot.
pub type Cause = Box<dyn Error + Send + Sync>;

/// What makes ports.
#[derive(Clone)]
pub(crate) struct Hardware(Arc<Make>);

impl Hardware {
    pub fn new(
        make: impl Fn(Box<dyn Node>, Site<'_>) -> Result<Box<dyn Node>, Cause> + Send + Sync + 'static,
    ) -> Hardware {
        Hardware(Arc::new(make))
    }

    pub fn put(&self, node: Box<dyn Node>, site: Site<'_>) -> Result<Box<dyn Node>, Cause> {
        (self.0)(node, site)
    }
}

impl fmt::Debug for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hardware")
    }
}
