//! Warts, the archive format of scamper: traces, multipath traces and pings, with their lists and cycles.
//!
//! A file is a sequence of records, each with a type and a length (warts(5) of scamper). Most fields are optional: flags before them
//! show which are present, so that each field here is an [`Option`]. [`records`] reads a file and [`write()`] a record. Times are since
//! 1970 in microseconds, and round trips in microseconds.
//!
//! Not read: the attributes after the hops of a trace (path MTU discovery, Doubletree), which are only counted, and fields of later
//! versions of scamper. Records of other kinds are [`Record::Other`].

mod fields;
mod list;
mod multipath;
mod parameters;
mod ping;
mod reader;
mod trace;

pub use fields::{Data, Extension, Extensions, Global, Length, Name, Stamps};
pub use list::{Cycle, CycleParameters, CycleStop, List, ListParameters};
pub use multipath::{
    Link, LinkParameters, Multipath, MultipathParameters, Node, Probe, ProbeParameters, Reply,
    SetParameters,
};
pub use parameters::{Flaw, TooLong};
pub use ping::{Ping, PingParameters, PingReply};
pub use reader::{Bad, Records, records};
pub use trace::{Hop, Trace, TraceParameters};

use alloc::vec::Vec;
use parameters::Output;

/// The first two bytes of a record.
const MAGIC: u16 = 0x1205;
/// Bytes of a record's header: magic, type and length.
const HEADER: usize = 8;

/// A record of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A list of targets.
    List(List),
    /// The start of a cycle over a list, or with `is_start` false the definition of a cycle that another file starts.
    Cycle(Cycle),
    /// The end of a cycle.
    CycleStop(CycleStop),
    /// The path of one flow.
    Trace(Trace),
    /// Round trips of a series of probes.
    Ping(Ping),
    /// All paths.
    Multipath(Multipath),
    /// A record of another type, whose body is not read; it cannot be written.
    Other {
        /// The type.
        kind: u16,
        /// Bytes of its body.
        length: usize,
    },
}

mod kind {
    pub const LIST: u16 = 1;
    pub const CYCLE_START: u16 = 2;
    pub const CYCLE_DEFINITION: u16 = 3;
    pub const CYCLE_STOP: u16 = 4;
    pub const ADDRESS: u16 = 5;
    pub const TRACE: u16 = 6;
    pub const PING: u16 = 7;
    pub const MULTIPATH: u16 = 8;
}

impl Record {
    /// Its type in a file.
    pub fn kind(&self) -> u16 {
        match self {
            Record::List(_) => kind::LIST,
            Record::Cycle(cycle) if cycle.is_start => kind::CYCLE_START,
            Record::Cycle(_) => kind::CYCLE_DEFINITION,
            Record::CycleStop(_) => kind::CYCLE_STOP,
            Record::Trace(_) => kind::TRACE,
            Record::Ping(_) => kind::PING,
            Record::Multipath(_) => kind::MULTIPATH,
            Record::Other { kind, .. } => *kind,
        }
    }
}

/// Name of a record's type in messages.
pub fn kind_name(number: u16) -> &'static str {
    match number {
        kind::LIST => "list",
        kind::CYCLE_START => "cycle start",
        kind::CYCLE_DEFINITION => "cycle definition",
        kind::CYCLE_STOP => "cycle stop",
        kind::ADDRESS => "address",
        kind::TRACE => "trace",
        kind::PING => "ping",
        kind::MULTIPATH => "tracelb",
        _ => "another type",
    }
}

/// Appends a record to a file.
///
/// # Errors
/// When a count or the parameters exceed 65,535, the record exceeds 4 GiB, or it is a [`Record::Other`]; `file` is as before.
pub fn write(record: &Record, file: &mut Vec<u8>) -> Result<(), TooLong> {
    let mut out = Output::default();
    match record {
        Record::List(list) => list.write(&mut out)?,
        Record::Cycle(cycle) => cycle.write(&mut out)?,
        Record::CycleStop(stop) => stop.write(&mut out),
        Record::Trace(trace) => trace.write(&mut out)?,
        Record::Ping(ping) => ping.write(&mut out)?,
        Record::Multipath(paths) => paths.write(&mut out)?,
        Record::Other { .. } => return Err(TooLong),
    }
    let length = u32::try_from(out.bytes.len()).map_err(|_| TooLong)?;
    file.extend(MAGIC.to_be_bytes());
    file.extend(record.kind().to_be_bytes());
    file.extend(length.to_be_bytes());
    file.append(&mut out.bytes);
    Ok(())
}
