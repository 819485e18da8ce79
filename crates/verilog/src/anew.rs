//! What goes along with packets that begin anew, and what is told of them.

use crate::graph::Id;
use alloc::collections::{BTreeMap, BTreeSet};

/// How a packet comes to its beginning.
pub(crate) mod entry {
    pub(crate) const RESUBMITTED: u8 = 1;
    pub(crate) const RECIRCULATED: u8 = 2;
    /// An egress clone, which goes to the replication engine at once.
    pub(crate) const CLONED: u8 = 3;
}

/// Where a value goes: with which set (with all if none), and to which place in what is known of a packet.
pub(crate) type Goal = (Option<u8>, usize);

/// Which values go along with packets that begin anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Along {
    /// By entry and place in what is known of a packet.
    pub(crate) fields: BTreeMap<(u8, usize), BTreeSet<Goal>>,
    /// The entries that there are.
    pub(crate) entries: BTreeSet<u8>,
}

impl Along {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether egress makes clones.
    pub(crate) fn clones(&self) -> bool {
        self.entries.contains(&entry::CLONED)
    }
}

/// What the hardware behind the pipeline is told of packets that begin anew.
pub(crate) struct Anew {
    /// The number of the entry, or 0; 2 bits.
    pub(crate) entry: Id,
    /// Which set goes along, 8 bits.
    pub(crate) set: Id,
    /// Whether an egress clone is made, and the set that goes with it.
    pub(crate) clone: Id,
    pub(crate) clone_set: Id,
    /// As it came: without what is emitted.
    pub(crate) raw: Id,
    /// It began anew too often.
    pub(crate) full: Id,
    /// Fields, session, how often.
    pub(crate) vector: Id,
    /// Whether clones are of the packet as it came.
    pub(crate) clones_raw: bool,
}
