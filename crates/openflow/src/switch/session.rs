//! Controllers that the switch is connected with.

use super::table_features::Request;
use crate::channel::Peer;
use crate::message::{Async, Role};
use crate::port::PortNo;
use crate::table::{Filter, FlowId};
use crate::version::Version;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use node::budget::{Account, Exhausted, Held, Limits};

/// Memory that connections may have the switch keep: bundles, and requests and answers in several parts.
pub(super) const MEMORY: Limits = Limits {
    each: 64 << 20,
    reserved: 64 << 10,
    all: 256 << 20,
};
/// A bundle's buffer grows by what it has, within these bounds, bytes.
const KIB: usize = 1 << 10;
const STEP: usize = 1 << 20;
/// Maximum number of bundles of a connection.
pub(super) const MAX_BUNDLES: usize = 16;

/// Messages that are to be carried out together.
#[derive(Debug)]
pub(super) struct Bundle {
    pub flags: u16,
    pub closed: bool,
    /// Concatenated messages.
    messages: Vec<u8>,
    held: Held,
}

impl Bundle {
    /// An empty one.
    pub fn new(flags: u16, account: &Account) -> Result<Bundle, Exhausted> {
        Ok(Bundle {
            flags,
            closed: false,
            messages: Vec::new(),
            held: account.hold(size_of::<Bundle>())?,
        })
    }

    pub fn messages(&self) -> &[u8] {
        &self.messages
    }

    /// Keeps a message if the connection's budget allows it.
    pub fn add(&mut self, message: &[u8]) -> Result<(), Exhausted> {
        let (used, capacity) = (self.messages.len(), self.messages.capacity());
        if used + message.len() > capacity {
            let more = message.len().max(capacity.clamp(KIB, STEP));
            self.held.grow(more)?;
            self.messages.reserve_exact(capacity - used + more);
        }
        self.messages.extend_from_slice(message);
        Ok(())
    }
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
    /// Memory charged for all of this.
    pub account: Account,
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
    /// The memory of the list, once it waits for the controller.
    pub held: Option<Held>,
}

impl Session {
    pub fn new(peer: Peer, auxiliary: u8, account: Account) -> Session {
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
            account,
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
