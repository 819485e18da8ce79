//! World 2: Linux ports, their clock, and whole graphs on real interfaces.
//!
//! Everything that makes a system call is here. A port's stamps are CLOCK_MONOTONIC, the counter
//! that all ports of a machine share (FORMATS section 3); what they are worth stands in
//! [`PortInfo`](port::PortInfo).
//!
//! | module | what is in it |
//! |---|---|
//! | [`port`] | what a port is, how it is named, and opening one |
//! | [`file`](mod@file) | anything that packets come from: captures, lines and records, compressed too |
//! | [`output`] | files that are written: whole under their name, or not at all |
//! | [`hook`] | nodes at the hooks of the kernel's own path |
//! | [`interface`] | what the kernel tells about an interface |
//! | [`raw`] | ports over AF_PACKET: the default for an interface |
//! | [`facts`] | what the kernel tells nodes of interfaces and queues |
//! | [`netns`] | network namespaces and veth pairs |
//! | [`pace`] | scheduled departures, and what they were worth |
//! | [`calibrate`] | what a pair of ports is worth, measured and kept |
//! | [`crew`] | programs in namespaces |
//! | [`callback`] | programs in any language as nodes |
//! | [`world`] | graphs over veth pairs, and nodes on ports |
//! | [`mount`] | ports as files |
//! | [`xdp`] | ports over AF_XDP, on request |
//! | [`tap`], [`udp`], [`stream`] | other ports: TAP, datagrams, files and pipes |
//! | [`channel`] | ports for control channels: TCP, TLS and Unix sockets |
//! | [`clock`] | the counter, and the wall-clock time of its zero |
//! | [`bpf`] | filter expressions, compiled by libpcap |
//! | [`thread`] | starting threads |
//! | [`signal`] | Ctrl-C and TERM as a flag that loops poll |
//!
//! ```no_run
//! use live::port::{self, Options, PortError};
//! use std::time::Duration;
//!
//! let mut port = port::open(&"eth0".parse()?, &Options::default())?;
//! port.rx.receive(Duration::from_secs(1), &mut |packet| {
//!     println!("{} bytes at {} ns", packet.bytes.len(), packet.at_ns);
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bpf;
pub mod calibrate;
pub mod callback;
pub mod channel;
pub mod clock;
pub mod crew;
pub mod facts;
pub mod file;
pub mod hook;
pub mod interface;
pub mod mount;
pub mod netns;
pub mod output;
pub mod pace;
pub mod port;
pub mod raw;
pub mod signal;
pub mod stream;
pub mod tap;
pub mod thread;
pub mod udp;
mod wait;
pub mod world;
pub mod xdp;
