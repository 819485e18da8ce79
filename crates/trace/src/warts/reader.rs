//! Reading a file record by record.

use super::list::{Cycle, CycleStop, List};
use super::multipath::Multipath;
use super::parameters::{Flaw, Input, ip};
use super::ping::Ping;
use super::trace::Trace;
use super::{HEADER, MAGIC, Record, kind, kind_name};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

/// A record that cannot be read. Reading continues with the next, unless the flaw is [`Flaw::Magic`] or [`Flaw::Cut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Offset of its first byte in the file.
    pub offset: usize,
    /// Its type, if its header could be read.
    pub kind: Option<u16>,
    /// Its flaw.
    pub flaw: Flaw,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record at byte {}", self.offset)?;
        if let Some(kind) = self.kind {
            write!(f, " ({}, type {kind})", kind_name(kind))?;
        }
        write!(f, ": {}", self.flaw)
    }
}

impl core::error::Error for Bad {}

/// Reads a file. Address records of old files are resolved and not returned.
///
/// Memory is proportional to the file's size. A caller counts the records that are bad, and goes on.
pub fn records(file: &[u8]) -> Records<'_> {
    Records {
        file,
        at: 0,
        addresses: Vec::new(),
    }
}

/// Flaw of a header, with the record's type if it could be read.
type Uncut = (Option<u16>, Flaw);

/// Records of a file, in order.
pub struct Records<'a> {
    file: &'a [u8],
    at: usize,
    /// Addresses from address records; `None` for those that are not IP.
    addresses: Vec<Option<IpAddr>>,
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Bad>;

    fn next(&mut self) -> Option<Result<Record, Bad>> {
        while self.at < self.file.len() {
            let offset = self.at;
            let (kind, body) = match self.cut() {
                Ok(record) => record,
                Err((kind, flaw)) => {
                    self.at = self.file.len();
                    return Some(Err(Bad { offset, kind, flaw }));
                }
            };
            let bad = |flaw| Bad {
                offset,
                kind: Some(kind),
                flaw,
            };
            if kind != self::kind::ADDRESS {
                let mut input = Input::new(body, &self.addresses);
                return Some(read(kind, body.len(), &mut input).map_err(bad));
            }
            // The record's first byte repeats the low bits of its number.
            let address = match body {
                [_, kind, address @ ..] => ip(*kind, address),
                _ => return Some(Err(bad(Flaw::Short))),
            };
            self.addresses.push(address);
        }
        None
    }
}

impl<'a> Records<'a> {
    /// Offset of the next record in the file.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Takes the type and the body of the next record.
    fn cut(&mut self) -> Result<(u16, &'a [u8]), Uncut> {
        let rest = &self.file[self.at..];
        let Some(header) = rest.first_chunk::<HEADER>() else {
            return Err((None, Flaw::Cut));
        };
        if header[..2] != MAGIC.to_be_bytes() {
            return Err((None, Flaw::Magic));
        }
        let kind = u16::from_be_bytes([header[2], header[3]]);
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let body = rest[HEADER..]
            .get(..length)
            .ok_or((Some(kind), Flaw::Cut))?;
        self.at += HEADER + length;
        Ok((kind, body))
    }
}

fn read(kind: u16, length: usize, input: &mut Input<'_>) -> Result<Record, Flaw> {
    Ok(match kind {
        kind::LIST => Record::List(List::read(input)?),
        kind::CYCLE_START | kind::CYCLE_DEFINITION => {
            Record::Cycle(Cycle::read(input, kind == kind::CYCLE_START)?)
        }
        kind::CYCLE_STOP => Record::CycleStop(CycleStop::read(input)?),
        kind::TRACE => Record::Trace(Trace::read(input)?),
        kind::PING => Record::Ping(Ping::read(input)?),
        kind::MULTIPATH => Record::Multipath(Multipath::read(input)?),
        kind => Record::Other { kind, length },
    })
}
