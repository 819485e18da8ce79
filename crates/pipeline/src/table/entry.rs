//! What the control plane says and is told about tables.

use super::form::MatchKind;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use node::Time;
use p4::ir::{ActionCall, KeyMatch, TableId};

/// What a packet that hits an entry gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// An action with its arguments.
    Action(ActionCall),
    /// A member of the table's action profile or selector.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
}

/// An entry as the control plane gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// One for each key that takes part in the match ([`super::Form::keys`]).
    pub keys: Vec<KeyMatch>,
    /// The larger wins. At least 1 in tables with priorities, otherwise 0.
    pub priority: u32,
    /// What is done.
    pub call: Call,
    /// After how long without a hit somebody is told; `None` for never.
    pub idle_timeout: Option<Time>,
    /// The control plane's own, given back when read.
    pub metadata: Arc<[u8]>,
}

impl Entry {
    /// An entry without priority, idle timeout and metadata.
    #[must_use]
    pub fn new(keys: Vec<KeyMatch>, call: ActionCall) -> Self {
        Entry {
            keys,
            priority: 0,
            call: Call::Action(call),
            idle_timeout: None,
            metadata: Arc::new([]),
        }
    }

    /// Gives it a priority.
    #[must_use]
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }
}

/// An entry as it stands in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// Never given twice in a table.
    pub handle: u64,
    /// Its place, below the table's size; what direct counters and meters count by. Given again after the entry is gone.
    pub index: u32,
    /// Whether the program gave it as `const`.
    pub is_const: bool,
    /// As it was given, its values cut by their masks.
    pub entry: Entry,
    /// When a packet last hit it, or when it was inserted. Only kept in tables with idle timeouts.
    pub last_hit: Time,
}

/// One change of one table.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// A new entry.
    Insert(TableId, Entry),
    /// Gives the entry with the same keys and priority another call, timeout and metadata.
    Modify(TableId, Entry),
    /// Inserts, or modifies when it is there.
    Set(TableId, Entry),
    /// Removes the entry with these keys and priority.
    Delete(TableId, Vec<KeyMatch>, u32),
    /// Gives the entry with this handle another call.
    ModifyHandle(TableId, u64, Call),
    /// Removes the entry with this handle.
    DeleteHandle(TableId, u64),
    /// Gives the entry with this handle another idle timeout, which starts now.
    Expire(TableId, u64, Option<Time>),
    /// Another default action.
    SetDefault(TableId, Call),
    /// The program's default action.
    ResetDefault(TableId),
    /// Removes all entries but those that the program gave as `const`.
    Clear(TableId),
}

impl Update {
    /// The table concerned.
    #[must_use]
    pub fn table(&self) -> TableId {
        match self {
            Update::Insert(table, _)
            | Update::Modify(table, _)
            | Update::Set(table, _)
            | Update::Delete(table, ..)
            | Update::ModifyHandle(table, ..)
            | Update::DeleteHandle(table, _)
            | Update::Expire(table, ..)
            | Update::SetDefault(table, _)
            | Update::ResetDefault(table)
            | Update::Clear(table) => *table,
        }
    }
}

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// There is a new entry.
    Inserted {
        handle: u64,
        /// Its place for direct counters and meters, which begin anew.
        index: u32,
    },
    /// An entry was changed.
    Modified {
        handle: u64,
        /// Its place for direct counters and meters.
        index: u32,
    },
    /// An entry is gone.
    Deleted {
        /// The handle it had.
        handle: u64,
        /// The place it had.
        index: u32,
    },
    /// The default action is another.
    Default,
    /// So many entries are gone.
    Cleared(usize),
}

/// An entry that no packet has hit for its idle timeout.
#[derive(Clone, Debug, PartialEq)]
pub struct Idle {
    pub table: TableId,
    pub entry: Installed,
}

/// Why an update was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// There is no such table.
    #[error("there is no table with number {0}")]
    NoTable(u32),
    /// No room.
    #[error(
        "table {table} holds {size} entries, its size; delete one first, or give the table a larger `size`"
    )]
    Full {
        table: Arc<str>,
        /// How many it holds.
        size: u32,
    },
    /// The same match again.
    #[error(
        "table {table} has an entry with this match already (handle {handle}); modify that one"
    )]
    Duplicate {
        /// The table's name.
        table: Arc<str>,
        /// The entry that is there.
        handle: u64,
    },
    /// No such match.
    #[error("table {table} has no entry with this match; it has {entries} others")]
    Absent {
        /// The table's name.
        table: Arc<str>,
        /// How many entries there are.
        entries: usize,
    },
    /// No such handle.
    #[error("table {table} has no entry with handle {handle}")]
    NoHandle {
        /// The table's name.
        table: Arc<str>,
        /// What was asked for.
        handle: u64,
    },
    /// Another number of keys.
    #[error("table {table} matches on {expected} key(s) ({names}), but {got} were given")]
    KeyCount {
        /// The table's name.
        table: Arc<str>,
        expected: usize,
        /// Their names.
        names: String,
        /// How many were given.
        got: usize,
    },
    /// A match of a kind that the key does not take.
    #[error("key {key} of table {table} is {kind}; it takes no {given}")]
    KeyKind {
        /// The table's name.
        table: Arc<str>,
        /// The key's name.
        key: Arc<str>,
        /// How it is compared.
        kind: MatchKind,
        given: &'static str,
    },
    /// A value that does not fit.
    #[error("key {key} of table {table} has {width} bits; {value} does not fit")]
    KeyWidth {
        /// The table's name.
        table: Arc<str>,
        /// The key's name.
        key: Arc<str>,
        /// How wide it is.
        width: u32,
        /// What was given.
        value: String,
    },
    /// A range that ends before it begins.
    #[error(
        "key {key} of table {table}: the range from {low} to {high} holds nothing; give the smaller value first"
    )]
    EmptyRange {
        /// The table's name.
        table: Arc<str>,
        /// The key's name.
        key: Arc<str>,
        /// First value.
        low: String,
        /// Last value.
        high: String,
    },
    /// A table with priorities needs one.
    #[error(
        "entries of table {table} have priorities, since key {key} is {kind}: give one from 1, the larger wins"
    )]
    NoPriority {
        /// The table's name.
        table: Arc<str>,
        key: Arc<str>,
        kind: MatchKind,
    },
    /// A table without priorities takes none.
    #[error(
        "entries of table {table} have no priorities: all its keys are exact or lpm; leave the priority out"
    )]
    UnwantedPriority {
        /// The table's name.
        table: Arc<str>,
    },
    /// An action that the table does not list.
    #[error("table {table} has {actions} action(s); there is none with number {action}")]
    NoAction {
        /// The table's name.
        table: Arc<str>,
        actions: usize,
        /// What was given.
        action: u32,
    },
    /// `@defaultonly`
    #[error("action {action} is `@defaultonly` in table {table}: no entry may have it")]
    DefaultOnly {
        /// The table's name.
        table: Arc<str>,
        /// The action's name.
        action: Arc<str>,
    },
    /// `@tableonly`
    #[error("action {action} is `@tableonly` in table {table}: it may not be the default action")]
    TableOnly {
        /// The table's name.
        table: Arc<str>,
        /// The action's name.
        action: Arc<str>,
    },
    /// Another number of arguments.
    #[error("action {action} of table {table} takes {expected} argument(s), but {got} were given")]
    ArgumentCount {
        /// The table's name.
        table: Arc<str>,
        /// The action's name.
        action: Arc<str>,
        /// How many parameters it has.
        expected: usize,
        /// How many were given.
        got: usize,
    },
    /// An argument that does not fit.
    #[error("parameter {parameter} of action {action} has {width} bits; {value} does not fit")]
    ArgumentWidth {
        /// The action's name.
        action: Arc<str>,
        /// The parameter's name.
        parameter: Arc<str>,
        /// How wide it is.
        width: u32,
        /// What was given.
        value: String,
    },
    /// The table has an action profile.
    #[error("entries of table {table} name a member or group of its action profile, no action")]
    NeedsMember {
        /// The table's name.
        table: Arc<str>,
    },
    /// The table has no action profile.
    #[error("table {table} has no action profile; give an action")]
    NeedsAction {
        /// The table's name.
        table: Arc<str>,
    },
    /// `const entries`
    #[error("the entries of table {table} are `const`")]
    ConstEntries {
        /// The table's name.
        table: Arc<str>,
    },
    /// A `const` entry among others.
    #[error("this entry of table {table} is `const` (handle {handle})")]
    ConstEntry {
        /// The table's name.
        table: Arc<str>,
        /// The entry.
        handle: u64,
    },
    /// `const default_action`
    #[error("the default action of table {table} is `const`")]
    ConstDefault {
        /// The table's name.
        table: Arc<str>,
    },
    /// The table has no `support_timeout`.
    #[error("table {table} has no idle timeouts; set its property `support_timeout` to true")]
    NoTimeouts {
        /// The table's name.
        table: Arc<str>,
    },
}
