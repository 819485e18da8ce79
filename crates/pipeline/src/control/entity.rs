//! What the control plane reads and writes.

use super::Error;
use crate::state::meter::Rates;
use crate::state::profile::GroupMember;
use crate::state::replication::{Replica, Session};
use crate::table::{Call, Entry};
use alloc::format;
use alloc::vec::Vec;
use node::Time;
use p4::ir::{ActionCall, KeyMatch, ObjectId, TableId, ValueSetId};
use p4::value::Bits;

/// What becomes of an [`Entity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It must not be there yet.
    Insert,
    /// It must be there.
    Modify,
    /// Either.
    Put,
    /// It must be there; only what tells which one it is counts.
    Delete,
}

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// What to do.
    pub operation: Operation,
    pub entity: Entity,
}

/// Something that the control plane can see.
#[derive(Clone, Debug, PartialEq)]
pub enum Entity {
    /// An entry of a table.
    Entry(TableId, Entry),
    /// An entry with a group of its own in the table's action selector: actions with their weights. What the entry calls does not count.
    OneShot(TableId, Entry, Vec<(ActionCall, u32)>),
    /// A table's default action; none stands for the one that the program gives.
    Default(TableId, Option<Call>),
    /// A member of an action profile or selector.
    Member(Member),
    /// A group of an action selector.
    Group(Group),
    /// A cell of a counter; all cells without an index.
    Counter(ObjectId, Option<u64>, Count),
    /// The counter of a table's entry; of the default action without keys.
    DirectCounter(EntryKey, Count),
    /// A cell of a meter, all cells without an index; no rates let everything pass.
    Meter(ObjectId, Option<u64>, Option<Rates>),
    /// The meter of a table's entry.
    DirectMeter(EntryKey, Option<Rates>),
    /// A cell of a register, all cells without an index, and the value's scalars.
    Register(ObjectId, Option<u64>, Vec<Bits>),
    /// All members of a value set.
    ValueSet(ValueSetId, Vec<Vec<KeyMatch>>),
    /// A multicast group: its number, where copies go, and what the controller wants kept with it.
    Multicast(u32, Vec<Replica>, Vec<u8>),
    /// A clone session.
    Clone(u32, Session),
    /// Whether and how a digest is sent.
    Digest(u32, DigestConfig),
}

/// Which entry of which table.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryKey {
    pub table: TableId,
    /// One match for each key but selectors; none for the default action.
    pub keys: Option<Vec<KeyMatch>>,
    /// The larger wins; 0 in tables without.
    pub priority: u32,
}

/// A member of an action profile or selector.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The profile or selector.
    pub profile: ObjectId,
    /// The member's number.
    pub id: u32,
    /// What it does; the action's index is that in the first table that uses the profile.
    pub call: ActionCall,
}

/// A group of an action selector.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The selector.
    pub profile: ObjectId,
    /// The group's number.
    pub id: u32,
    /// The members, and how often each one stands in the group.
    pub members: Vec<GroupMember>,
    /// How many members there may be, counted by weight; 0 for as many as the selector allows.
    pub most: u32,
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

/// How a digest is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestConfig {
    /// A list is sent no later than this after its first message; 0 for at once.
    pub most_delay: Time,
    /// A list has no more messages than this; 0 for as many as come.
    pub most_messages: u32,
    /// The same message is not sent again before so long, or before it is acknowledged.
    pub acknowledge_within: Time,
}

/// Refuses rates that no meter with two rates can have (RFC 2698, section 3): the peak rate is at
/// least the committed one.
pub(crate) fn check_rates(rates: &Rates) -> Result<(), Error> {
    if rates.committed <= rates.peak {
        return Ok(());
    }
    Err(Error::value(format!(
        "the committed rate ({}) is above the peak rate ({}): raise the peak rate (RFC 2698, section 3)",
        rates.committed, rates.peak
    )))
}
