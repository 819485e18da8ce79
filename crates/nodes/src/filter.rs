//! Lets frames pass that a packet filter program matches, or those that it does not.
//!
//! - **Ports:** 2; what comes in by one goes out by the other, or is dropped.
//! - **Parameters:** `expression`, empty: what to match, in the language of `tcpdump`; empty matches
//!   everything. `program`: the compiled form instead, as `tcpdump -ddd` prints it, for machines
//!   without libpcap. `matching`, `keep`: whether matching frames are those to `keep` or to `reject`.
//!   `back`, `filter`: whether frames from port 1 to port 0 are filtered too or all `pass`.
//! - **Counters:** `packets`; `bytes`, without FCS; `matched`; `passed`.
//! - **Drops:** `filtered out`.
//!
//! A node has no compiler: the caller turns the expression into a [`Program`]. It is verified when
//! it is made, so that running it always ends.

pub use packet::bpf::{Instruction, Program, ProgramError};

use alloc::string::String;
use alloc::vec::Vec;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// What becomes of matching frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Matching {
    /// They pass, the others are dropped.
    #[default]
    Keep,
    /// They are dropped, the others pass.
    Reject,
}

/// What becomes of frames from port 1 to port 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Back {
    /// They are filtered like those from port 0 to port 1.
    #[default]
    Filter,
    Pass,
}

/// What a filter is made from, besides the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// What to match, for the one who compiles it; the node itself runs the program.
    pub expression: String,
    /// The compiled form, as `tcpdump -ddd` prints it, in place of `expression`.
    pub program: Option<String>,
    /// What becomes of matching frames.
    pub matching: Matching,
    /// What becomes of frames from port 1 to port 0.
    pub back: Back,
}

#[derive(Debug)]
pub struct Filter {
    program: Program,
    matching: Matching,
    back: Back,
    packets: u64,
    bytes: u64,
    matched: u64,
    passed: u64,
}

impl Filter {
    /// A filter that runs `program`; of `config`, only how to use it counts.
    pub fn new(config: Config, program: Program) -> Filter {
        Filter {
            program,
            matching: config.matching,
            back: config.back,
            packets: 0,
            bytes: 0,
            matched: 0,
            passed: 0,
        }
    }
}

impl Node for Filter {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, _now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.packets += 1;
            self.bytes += frame.len() as u64;
            let passes = if port.0 == 1 && self.back == Back::Pass {
                true
            } else {
                let matched = self.program.run(&frame) != 0;
                self.matched += u64::from(matched);
                matched == (self.matching == Matching::Keep)
            };
            if passes {
                self.passed += 1;
                out.send(Port(port.0 ^ 1), frame);
            } else {
                out.drop(frame, "filtered out");
            }
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("matched", self.matched),
            ("passed", self.passed),
        ])
    }
}
