//! Groups of ports: multicast groups and clone sessions, what the P4Runtime calls the packet replication engine.

use super::published::Published;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// One copy of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replica {
    /// The port that it leaves by.
    pub port: u32,
    /// What tells it from others: `egress_rid`, or PSA's `instance`.
    pub instance: u32,
}

/// What becomes of clones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The copies.
    pub replicas: Vec<Replica>,
    /// A multicast group whose copies are made too, as bmv2's mirroring sessions may have one.
    pub group: Option<u32>,
    /// For PSA's clones.
    pub class_of_service: u8,
    /// How many bytes are left of a clone; all of them if there is none.
    pub truncate: Option<u32>,
}

/// Multicast groups and clone sessions by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Multicast groups.
    pub multicast: BTreeMap<u32, Vec<Replica>>,
    /// Clone sessions.
    pub sessions: BTreeMap<u32, Session>,
}

impl Groups {
    /// The copies that a clone session makes, its multicast group's first, as bmv2 does.
    pub fn clones(&self, session: u32) -> Option<(&Session, impl Iterator<Item = Replica> + '_)> {
        let session = self.sessions.get(&session)?;
        let group = session.group.and_then(|group| self.multicast.get(&group));
        let replicas = group.into_iter().flatten().chain(&session.replicas);
        Some((session, replicas.copied()))
    }
}

/// Multicast groups and clone sessions.
pub type Replication = Published<Groups>;
