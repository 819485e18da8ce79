//! The kinds of nodes that come with Wireline: each file knows its own. Those of an [instrument](crate::instruments) are with it.
//!
//! | file | kinds |
//! |---|---|
//! | `basic` | `switch`, `mirror`, `vlan`, `sink`, `echo`, `ping`, `trace`, `ptp`, `ntp`, `huygens`, `covert` |
//! | `capture` | `capture`, `meter` |
//! | `command` | `command`, `callback` |
//! | `delay` | `delay` |
//! | `filter` | `filter` |
//! | `generator` | `generator` |
//! | `host` | `host`, `tcp` |
//! | `openflow` | `openflow-switch`, `controller` |
//! | `p4` | `p4` |
//! | `paxos` | `paxos-acceptor`, `paxos-coordinator`, `paxos-replica`, `paxos-client` |
//! | `live_nodes` | `process`, `openvswitch`, `tap`, and ports of the machine |
//! | `router` | `router` |
//! | `relay` | `through`, `compress`, `duplicate`, `early-discard`, `split`, `xor`, `paths` |

mod basic;
mod capture;
mod command;
mod delay;
mod filter;
mod generator;
mod host;
mod live_nodes;
mod openflow;
mod p4;
mod paxos;
mod relay;
mod router;
mod services;

pub(crate) use live_nodes::port;
pub(crate) use openflow::controller;
pub use paxos::group_key;

use crate::fault::Fault;
use crate::instruments;
use crate::kind::{Kind, Planned};

/// All of them.
pub(crate) fn standard() -> Vec<Kind> {
    let all = [
        basic::kinds(),
        capture::kinds(),
        command::kinds(),
        delay::kinds(),
        filter::kinds(),
        generator::kinds(),
        host::kinds(),
        openflow::kinds(),
        p4::kinds(),
        paxos::kinds(),
        live_nodes::kinds(),
        relay::kinds(),
        router::kinds(),
        instruments::kinds(),
    ];
    all.into_iter().flatten().collect()
}

macro_rules! descriptions {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("kinds/descriptions/", $name, ".toml")))),*]
    };
}

/// Tables that a node of any kind may have, and what each is.
pub(crate) fn tables() -> impl IntoIterator<Item = (&'static str, &'static str)> {
    descriptions!["dtp"]
}

/// What each of them is, for people, in the folder `descriptions`.
pub(crate) fn descriptions() -> impl IntoIterator<Item = (&'static str, &'static str)> {
    descriptions![
        "callback",
        "capture",
        "command",
        "compress",
        "controller",
        "covert",
        "delay",
        "duplicate",
        "early-discard",
        "echo",
        "filter",
        "generator",
        "host",
        "huygens",
        "meter",
        "middlebox",
        "mirror",
        "ntp",
        "openflow-switch",
        "openvswitch",
        "p4",
        "paths",
        "paxos-acceptor",
        "paxos-client",
        "paxos-coordinator",
        "paxos-replica",
        "ping",
        "prober",
        "process",
        "ptp",
        "reflector",
        "router",
        "sink",
        "split",
        "switch",
        "tap",
        "tcp",
        "through",
        "trace",
        "vlan",
        "xor",
    ]
}

/// Stands for a kind that is not known, until the faults are told.
pub(crate) fn unknown() -> Kind {
    Kind::new("unknown", |config, _| -> Result<Planned, Fault> {
        Err(Fault::new(config.span.clone(), "a node of no kind"))
    })
}
