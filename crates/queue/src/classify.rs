//! Classes of packets.

use crate::packet::Packet;
use alloc::vec::Vec;
use node::ConfigError;
use node::random::{Random, split_mix};

/// Fact by which a packet's class is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum By {
    /// The hash of the five-tuple, spread evenly over the classes.
    #[default]
    Flow,
    /// The priority, 0..=15.
    Priority,
    /// The differentiated services codepoint, 0..=63.
    Dscp,
    /// The queue that an OpenFlow switch has chosen ([`Facts::queue`](crate::Facts::queue)).
    Queue,
}

/// Chooses among `classes`, of which there is at least one.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    by: By,
    /// Class of each priority, DSCP or queue. Values without an entry have the last class.
    map: Vec<u32>,
    classes: u32,
    /// Perturbs the hash.
    perturbation: u64,
}

impl Classifier {
    /// One that chooses among `classes`, which the key `key` lists.
    pub fn new(
        key: &'static str,
        classes: usize,
        by: By,
        map: &[u32],
        seed: u64,
    ) -> Result<Classifier, ConfigError> {
        if !(1..=65_536).contains(&classes) {
            return Err(ConfigError::new(key, "there are 1 to 65536 of them"));
        }
        let classes = classes as u32;
        if map.iter().any(|class| *class >= classes) {
            let reason = "the map, whose default is for three bands, has a number that no class or band has; they count from 0";
            return Err(ConfigError::new("priomap", reason));
        }
        Ok(Classifier {
            by,
            map: map.into(),
            classes,
            perturbation: Random::new(seed).bits(),
        })
    }

    /// The class of a packet, below the number of classes.
    pub fn class_of(&self, packet: &Packet) -> u32 {
        let value = match self.by {
            By::Flow => return spread(self.perturbation, packet.facts.flow.into(), self.classes),
            By::Priority => packet.facts.priority.into(),
            By::Dscp => packet.facts.dscp.into(),
            By::Queue => packet.facts.queue,
        };
        let last = self.classes - 1;
        let class = self.map.get(value as usize);
        class.map_or(last, |class| last.min(*class))
    }
}

/// A number below `count` for a key, evenly and without order: the queue of a flow.
#[inline]
pub(crate) fn spread(perturbation: u64, key: u64, count: u32) -> u32 {
    let mixed = split_mix(perturbation, key) >> 32;
    ((mixed * u64::from(count)) >> 32) as u32
}
