//! The command `wire`, run as a user runs it.

mod capture_filters;
mod captures;
mod copies;
mod covert;
mod craft;
mod dates;
mod delay;
mod dissect;
mod edits;
mod examples;
mod external;
mod faults;
mod flows;
mod import;
mod lab;
mod lab_plots;
mod lab_shell;
mod lab_watch;
mod listen;
mod live;
mod long_times;
mod middlebox;
mod mount;
mod ntp;
mod of_conformance;
mod of_ctl;
mod of_links;
mod openflow;
mod p4;
mod p4_editor;
mod p4_live;
mod papers;
mod paxos;
mod phy;
mod ping;
mod pipes;
mod plot;
mod probe;
mod profile;
mod ptp;
mod relay;
mod relay_stats;
mod reports;
mod scripts;
mod security;
mod shell;
mod signals;
mod sync;
mod testbed;
mod trace;

/// What stands before the names of a [`testbed`]'s ports.
const PORTS: &str = "";

/// The command.
fn wire() -> &'static str {
    env!("CARGO_BIN_EXE_wire")
}

/// Why it can mount no such ports: it can.
fn why_not() -> Option<String> {
    None
}
