//! Lab files: a network and what is to be looked at in it, as data, run in any world.
//!
//! A lab file is TOML. It is checked as a whole: everything that is wrong with it is told at once,
//! each fault with its line and column. The same file runs in every [`World`], and the [`Report`] has
//! the same form.
//!
//! | module | what is in it |
//! |---|---|
//! | `file` | start here: [`parse`], section by section |
//! | `tree`, `fields` | TOML as values that know their places; the keys of a section |
//! | `each` | sections that stand for many |
//! | `topology` | networks by a generator |
//! | `names` | names of hosts in place of their addresses |
//! | `channel` | what a link is like |
//! | `views` | where to look, and what to keep and draw of it |
//! | `check` | what only the whole graph shows |
//! | `registry` | [`Registry`]: which kinds of nodes there are; anybody's own, too |
//! | `kinds` | those that come with Wireline |
//! | `fault` | [`Faults`], and how they are shown |
//! | `plan` | [`Lab`]: what a file says, as data |
//! | `run` | [`run`]: a lab in a world |
//! | `watch`, `keep` | what is seen at one place: statistics, times, capture files |
//! | `real` | nodes that are something real: programs, Open vSwitch, ports |
//! | `replay` | files that generators replay |
//! | [`program`], [`engine`] | P4 programs from files, and what runs them |
//! | [`single`] | one node of the registry by itself |
//! | [`table`] | tables and figures for people |
//! | [`flops`] | what OFLOPS measured |
//! | [`beside`] | one lab in several worlds |
//! | `programs` | what came of real programs |
//! | `report`, `flows`, `plot` | what comes of it |
//!
//! ```
//! let lab = lab::parse(r#"
//!     [node.a]
//!     kind = "generator"
//!     count = 100
//!     gap = "1 us"
//!
//!     [node.b]
//!     kind = "sink"
//!
//!     [[link]]
//!     ends = ["a.0", "b.0"]
//!     delay = "5 us"
//! "#)?;
//! let report = lab::run(&lab, lab::World::Sim, &lab::Options::default())?;
//! let at_b = report.rows.iter().find(|row| row.at == "b.0").unwrap();
//! assert_eq!(at_b.statistics.gaps().mean, 1_000_000.0);
//! assert_eq!(at_b.statistics.delays().min, 5_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod beside;
mod bits;
mod channel;
mod check;
mod clocks;
mod each;
mod endless;
pub mod engine;
mod fault;
mod fields;
mod file;
pub mod flops;
mod flows;
mod gathered;
mod keep;
mod kinds;
mod lines;
mod names;
mod outside;
mod paced;
mod plan;
mod plot;
pub mod program;
mod programs;
mod real;
mod registry;
mod replay;
mod report;
mod run;
pub mod single;
pub mod table;
mod topology;
mod tree;
mod views;
mod watch;

pub use fault::{Fault, Faults};
pub use file::{LONGEST, MOST, parse};
pub use paced::Pace;
pub use plan::Lab;
pub use plot::write_figure;
pub use real::{Command, lacks};
pub use registry::{Context, Registry};
pub use replay::{Notes, Replayed};
pub use report::{Report, Row};
pub use run::{LabError, Options, ReadError, World, check_keys, check_outputs, read, run, worlds};
