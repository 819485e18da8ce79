//! The words in which people control a pipeline, one command a line. A file of control entries, a terminal, a lab and Rust speak the same
//! words, and a dump of a table is made of them.
//!
//! ```text
//! table ls                                  table dump [TABLE]
//! table add TABLE KEY... [priority N] [timeout TIME] do ACTION ARGUMENT...
//! table set TABLE KEY... [priority N] [timeout TIME] do ACTION ARGUMENT...
//! table rm TABLE KEY... [priority N]        table rm TABLE all
//! table set TABLE default do ACTION ...     table rm TABLE default
//! profile ls                                profile dump [PROFILE]
//! profile add|set PROFILE member ID do ACTION ARGUMENT...
//! profile add|set PROFILE group ID MEMBER[*WEIGHT]... [most N]
//! profile rm PROFILE member|group ID
//! register ls | read NAME [INDEX] | write NAME INDEX VALUE... | reset NAME
//! counter ls | read NAME [INDEX | KEY...] | reset NAME [INDEX] | write NAME INDEX packets=N bytes=N
//! meter ls | read NAME [INDEX] | set NAME INDEX RATE:BURST RATE:BURST | reset NAME [INDEX]
//! group ls | add|set ID PORT[:INSTANCE]... | rm ID
//! mirror ls | add|set ID PORT[:INSTANCE]... [truncate BYTES] [class N] | rm ID
//! value-set ls | dump [NAME] | add NAME MATCH... | rm NAME MATCH... | rm NAME all
//! digest ls | on NAME [most N] [within TIME] | off NAME
//! port ls | set PORT net|host | rm PORT     expiry ls | set PROFILE TIME|never | reset
//! crc ls | set 16|32 POLYNOMIAL INITIAL XOR [reflect-in] [reflect-out] | reset 16|32
//! ```
//!
//! `add` wants something new, `set` puts it there whether or not it was. A KEY is `NAME=MATCH`, or a MATCH in the order of the table's keys;
//! keys that are left out match anything. An ARGUMENT is `NAME=VALUE`, or a VALUE in the order of the parameters. In a table with an action
//! profile `do member N` and `do group N` choose, and `do one ACTION ARGUMENT... or ACTION ...` makes a group of its own.
//! `port` and `expiry` are for programs for PNA. An INDEX is a number, `FROM..TO`, or `all`. A RATE
//! is in packets or bytes a second, whichever the meter counts; a BURST in packets or
//! bytes.

mod json;
mod line;
mod nic;
mod read;
mod run;
#[cfg(test)]
pub(crate) mod tests;

use super::{EntryKey, Operation, Update};
use crate::externs::hash::Crc;
use crate::state::nic::Side;
use alloc::string::String;
use alloc::vec::Vec;
use node::Time;
use p4::ir::{KeyMatch, ObjectId, TableId, ValueSetId};

pub use read::{parse, parse_file};

/// What a line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Changes; all of them or none.
    Write(Vec<Update>),
    /// Removes a table's entries.
    Clear(TableId),
    /// Adds to a value set, or takes away from it.
    ValueSetMember(Operation, ValueSetId, Vec<KeyMatch>),
    /// The tables, with their keys, actions and how full they are.
    Tables,
    /// The entries of a table, or of all, as commands.
    Dump(Option<TableId>),
    /// The action profiles and selectors.
    Profiles,
    /// Members and groups, as commands.
    DumpProfile(Option<ObjectId>),
    /// Registers, counters, meters: names and sizes.
    Objects(&'static str),
    /// Cells of a register.
    ReadRegister(ObjectId, Cells),
    /// Changes cells of a register.
    WriteRegister(ObjectId, Cells, Vec<p4::value::Bits>),
    /// Cells of a counter.
    ReadCounter(ObjectId, Cells),
    /// The direct counters of a table's entries, or of one.
    ReadDirectCounter(ObjectId, Option<EntryKey>),
    /// Cells of a meter.
    ReadMeter(ObjectId, Cells),
    /// The direct meters of a table's entries, or of one.
    ReadDirectMeter(ObjectId, Option<EntryKey>),
    /// The multicast groups, as commands.
    Groups,
    /// The clone sessions, as commands.
    Mirrors,
    /// The value sets, with their members as commands.
    ValueSets(Option<ValueSetId>),
    /// The digests, and whether they are sent.
    Digests,
    /// What `crc16_custom` and `crc32_custom` are.
    Crcs,
    /// Makes the custom CRC of its width, 16 or 32, this one.
    SetCrc(Crc),
    /// Commands for programs for PNA.
    Nic(NicCommand),
}

/// Command about a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicCommand {
    /// The ports that are on a side, as commands.
    Sides,
    /// Puts a port on a side, or takes it away from there.
    SetSide(u32, Option<Side>),
    /// The expire time profiles, as commands.
    Expiry,
    /// For how long entries with this profile stay that are not used; none for ever.
    SetExpiry(u8, Option<Time>),
    /// The profiles as they are in the beginning.
    ResetExpiry,
}

/// Which cells of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// All of them.
    All,
    /// From and to, both included.
    Range(u64, u64),
}

/// What a command says: rows of text, each with the same as a JSON object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Line for people, and the object for programs.
    pub rows: Vec<(String, String)>,
}
