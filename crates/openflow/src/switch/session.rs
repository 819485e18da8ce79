//! Controllers that the switch is connected with.

use super::table_features::Request;
use crate::channel::Peer;
use crate::message::{Async, Role};
use crate::port::PortNo;
use crate::table::{Filter, FlowId};
use crate::version::Version;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Messages of a bundle, and their bytes, at most.
pub(super) const BUNDLE_BYTES: usize = 64 << 20;
/// Bundles of a connection at most.
pub(super) const MOST_BUNDLES: usize = 16;

/// Messages that are to be carried out together.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    pub flags: u16,
    pub closed: bool,
    /// One behind the other.
    pub messages: Vec<u8>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Session {
    pub peer: Peer,
    /// `None` before the hellos.
    pub version: Option<Version>,
    /// 0 for the main connection.
    pub auxiliary: u8,
    pub role: Role,
    pub wanted: Async,
    pub bundles: BTreeMap<u32, Bundle>,
    /// Statistics that are told in part.
    pub pending_reply: Option<PendingReply>,
    /// A request for other tables of which there is more to come.
    pub tables: Option<Request>,
}

/// Entries of which a controller is still to be told. Nothing else is read from it until then.
#[derive(Debug)]
pub(super) struct PendingReply {
    pub xid: u32,
    pub filter: Filter,
    pub out_port: PortNo,
    pub out_group: u32,
    /// Those that the filter was about when it was asked.
    pub entries: Vec<FlowId>,
    /// How many of them are told.
    pub told: usize,
}

impl Session {
    pub fn new(peer: Peer, auxiliary: u8) -> Session {
        Session {
            peer,
            version: None,
            auxiliary,
            role: Role::Equal,
            // Packets that no entry matches and those that an action sends; all that becomes of entries and ports. A slave is
            // told of ports only.
            wanted: Async {
                packet_in: [0b011, 0],
                port_status: [0b111, 0b111],
                flow_removed: [0b1111, 0],
            },
            bundles: BTreeMap::new(),
            pending_reply: None,
            tables: None,
        }
    }

    /// Whether it wants to be told of something for this reason.
    pub fn wants(&self, masks: [u32; 2], reason: u32) -> bool {
        let mask = masks[usize::from(self.role == Role::Slave)];
        self.auxiliary == 0 && mask >> reason & 1 == 1
    }
}
