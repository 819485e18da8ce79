//! The kinds of nodes that come with Wireline: each file knows its own.
//!
//! | file | kinds |
//! |---|---|
//! | `basic` | `switch`, `mirror`, `vlan`, `sink`, `echo`, `ping`, `covert` |
//! | `capture` | `capture`, `meter` |
//! | `command` | `command`, `callback` |
//! | `delay` | `delay` |
//! | `filter` | `filter` |
//! | `flops` | `flops` |
//! | `generator` | `generator` |
//! | `host` | `host`, `tcp` |
//! | `openflow` | `openflow-switch`, `controller` |
//! | `p4` | `p4` |
//! | `real` | `process`, `openvswitch`, `tap`, and ports of the machine |
//! | `relay` | `through`, `compress`, `duplicate`, `early-discard`, `split`, `xor`, `paths` |

mod basic;
mod capture;
mod command;
mod delay;
mod filter;
mod flops;
mod generator;
mod host;
mod openflow;
mod p4;
mod real;
mod relay;

pub(crate) use openflow::controller;
pub(crate) use real::port;

use crate::fault::Fault;
use crate::registry::{Kind, Planned};
use std::path::Path;

/// All of them.
pub(crate) fn standard() -> Vec<Kind> {
    let all = [
        basic::kinds(),
        capture::kinds(),
        command::kinds(),
        delay::kinds(),
        filter::kinds(),
        flops::kinds(),
        generator::kinds(),
        host::kinds(),
        openflow::kinds(),
        p4::kinds(),
        real::kinds(),
        relay::kinds(),
    ];
    all.into_iter().flatten().collect()
}

/// Stands for a kind that is not known, until the faults are told.
pub(crate) fn unknown() -> Kind {
    Kind::new("unknown", |config, _| -> Result<Planned, Fault> {
        Err(Fault::new(config.span.clone(), "a node of no kind"))
    })
}

/// The longest list in a file, bytes.
const LONGEST_LIST: u64 = 64 << 20;

/// A file's text, if it is not too long.
pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    String::from_utf8(bytes_of(path, LONGEST_LIST)?).map_err(|error| error.to_string())
}

/// A file's bytes, if there are not too many.
fn bytes_of(path: &Path, longest: u64) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let file = live::file::Bytes::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(longest + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    match bytes.len() as u64 > longest {
        true => Err(format!("longer than {longest} bytes")),
        false => Ok(bytes),
    }
}
