//! How to run a lab.

use node::Time;
use std::path::PathBuf;

/// How to run a lab.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of the lab file, to which its file names belong.
    pub folder: PathBuf,
    /// The lab file, an absolute path: in the world `live` others may [run programs](live::world::process::join) in its nodes by this name.
    pub file: Option<PathBuf>,
    /// The folder for what the run writes, if it is another one.
    pub out: Option<PathBuf>,
    /// In place of the lab file's duration.
    pub duration: Option<Time>,
    /// Writes no captures and no plots.
    pub dry: bool,
    /// Lets the lab file name files outside of the folder for what the run writes.
    pub allow_paths: bool,
    /// In the world `sim`: keeps simulated time to the machine's clock, so that ports of the machine can take part.
    pub realtime: bool,
    /// In simulated time: the most threads; without it as many as there are processors, if the lab is large. What comes of
    /// it is the same.
    pub threads: Option<usize>,
    /// In simulated time: lets the lab file run the programs that its nodes name. A live lab always does.
    pub allow_commands: bool,
    /// Asked now and then whether the run shall end now.
    pub stop: Option<fn() -> bool>,
    /// In the world `live`: commands to be run one after another in nodes' namespaces, with this
    /// process's own input and output, in place of the lab file's commands that end by themselves.
    pub commands: Option<Vec<Command>>,
    /// In the world `cosim`: waveforms that are wanted.
    pub waves: Option<Waves>,
    /// In simulated time: told now and then how far the run has come, and when it ends, if that is known.
    pub progress: Option<fn(Time, Option<Time>)>,
}

/// Waveforms of the first port of a node, in `NODE.fst` in the folder for what the run writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waves {
    /// The node's name.
    pub node: String,
    /// From when to when.
    pub window: std::ops::Range<Time>,
}

/// A command from the command line, and the node in which it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The node's name.
    pub node: String,
    /// The command, for the shell.
    pub command: String,
}
