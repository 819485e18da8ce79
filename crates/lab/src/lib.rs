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
//! | `expand` | sections that stand for many |
//! | `topology` | networks by a generator |
//! | `host_names` | names of hosts in place of their addresses |
//! | `channel` | what a link is like |
//! | `views` | where to look, and what to keep and draw of it |
//! | `check` | what only the whole graph shows |
//! | `registry` | [`Registry`]: which kinds of nodes there are; anybody's own, too |
//! | `kind` | what a kind of node is: its section read, checked, made |
//! | `kinds` | those that come with Wireline |
//! | `settings`, [`sweep`] | keys that are given other values; a lab run many times |
//! | `fault` | [`Faults`], and how they are shown |
//! | `plan` | [`Lab`]: what a file says, as data |
//! | `run` | [`run`]: a lab in a [`World`]; [`Session`]: one that goes on when it is told to |
//! | `options`, `error` | how to run it; why it did not run |
//! | `watch`, `timeline`, `capture_file` | what is seen at one place: statistics, times, capture files |
//! | `live_nodes` | nodes that are something real: programs, Open vSwitch, ports |
//! | `replay` | files that generators replay |
//! | [`program`], [`engine`] | P4 programs from files, and what runs them |
//! | [`single_node`] | one node of the registry by itself |
//! | [`comparison`] | one lab in several worlds |
//! | `programs` | what came of real programs |
//! | `diagram`, `overview` | the network as a picture, and as data for one |
//! | [`Instrument`], [`instruments`] | the topics that labs measure, each in one place |
//! | `services` | what instruments offer to nodes |
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
#![warn(missing_docs)]

mod block_capture;
mod block_counters;
mod capture_file;
mod channel;
mod check;
mod clocks;
pub mod comparison;
mod datapaths;
mod description;
mod diagram;
pub mod engine;
mod error;
mod expand;
mod fault;
mod fields;
mod file;
mod flows;
mod hardware;
mod host_names;
mod input;
pub mod instruments;
mod kind;
mod kinds;
mod live_nodes;
mod options;
mod output_file;
mod output_paths;
mod overview;
mod plan;
mod plot;
mod probe_streams;
pub mod program;
mod programs;
mod realtime;
mod registry;
mod replay;
mod report;
mod run;
mod services;
mod settings;
pub mod single_node;
pub mod sweep;
mod termination;
mod timeline;
mod topology;
mod tree;
mod views;
mod watch;
mod world;

pub use description::{Description, Key};
pub use error::{LabError, ReadError};
pub use expand::MAX_NODES;
pub use fault::{Fault, Faults};
pub use fields::OneOrMore;
pub use file::{MAX_FILE_LEN, parse};
pub use hardware::{Cause, Site};
pub use input::InputError;
pub use kind::{Context, Kind};
pub use kinds::group_key;
pub use live_nodes::lacks;
pub use options::{Command, Options, Waves};
pub use overview::{LinkOverview, NodeOverview};
pub use plan::Lab;
pub use plan::instrument::{Attachments, Finished, Instrument, Measurement, Reading, Section};
pub use plot::write_figure;
pub use realtime::Pace;
pub use registry::Registry;
pub use replay::{Notes, Replayed};
pub use report::{Busiest, Headline, Report, Row};
pub use run::{
    Flight, LinkState, Ping, Session, SessionError, check_keys, check_outputs, read, run, worlds,
};
pub use world::World;
