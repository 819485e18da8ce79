//! Why a lab did not run, or a lab file could not be used.

use crate::Fault;
use crate::world::World;
use ::capture::output::OutputError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a lab did not run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A signal came before anything had begun or was written.
    #[error("{0}")]
    Stopped(#[source] ::capture::signal::Stopped),
    /// A node could not be made after all.
    #[error("node `{node}`: {}", .fault.message)]
    Node {
        /// Its name.
        node: String,
        /// What is wrong, and where in the lab file.
        fault: Fault,
    },
    /// A program that the lab file may not run.
    #[error(
        "node `{node}` runs a program, `{command}`, as you: --allow-commands lets the lab file run what it names, if you trust it"
    )]
    Command {
        /// The node's name.
        node: String,
        /// The command line.
        command: String,
    },
    /// What only the live world has.
    #[error(
        "`{node}` is of kind `{kind}`, which runs on the machine itself: run the lab with `--world live`"
    )]
    OnlyLive {
        /// The node's name.
        node: String,
        /// Its kind.
        kind: String,
    },
    /// What simulated time has only while it is kept to the clock.
    #[error(
        "`{node}` is a port of this machine: run the lab with `--realtime`, which keeps simulated time to the clock, or with \
         `--world live`"
    )]
    OnlyPaced {
        /// The node's name.
        node: String,
    },
    /// The command has no hardware.
    #[error(
        "the world `cosim` is not in this command: `make rtl` builds `wire-rtl`, which has it (it needs Verilator)"
    )]
    NoHardware,
    /// Hardware cannot be made, or not for this node.
    #[error("the ports of `{node}`: {source}")]
    Hardware {
        /// The node's name.
        node: String,
        /// Why not.
        source: crate::hardware::Cause,
    },
    /// Waveforms of a node that is not there, or has no ports that are hardware.
    #[error(
        "there are no waveforms of `{0}`: no node of this name has ports that are hardware in this run"
    )]
    NoWaves(String),
    /// The lab was read for another world.
    #[error("the lab was read for the world `{}`, where its nodes are other ones", .0.name())]
    OtherWorld(World),
    /// Something real could not be prepared.
    #[error("{}", .fault.message)]
    Real {
        /// What is wrong, and where in the lab file.
        fault: Fault,
    },
    /// A link that only simulated time has.
    #[error(
        "the link of `{first}` and `{second}` is at the level of blocks, which only the world `sim` has; \
         for the world `live` take `level = \"block\"` and `clocks` out"
    )]
    BlockLevel {
        /// The first end.
        first: String,
        /// The other.
        second: String,
    },
    /// A link with pauses, whose bit times only simulated time keeps.
    #[error(
        "the link of `{first}` and `{second}` has `pause`, which only simulated time has; \
         for the world `live` take it out"
    )]
    Pauses {
        /// The first end.
        first: String,
        /// The other.
        second: String,
    },
    /// The simulation could not go on.
    #[error(transparent)]
    Sim(#[from] sim::SimError),
    /// The machine could not run it.
    #[error(transparent)]
    Live(#[from] live::world::WorldError),
    /// A file's folder could not be made.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that would be written elsewhere than in the folder for output.
    #[error(
        "`{}` leads out of {}, the folder for what this lab writes: --out gives another folder, and --allow-paths lets \
         the lab file write where it names, if you trust it", .file.display(), shown(.folder)
    )]
    Outside {
        /// As the lab file names it.
        file: PathBuf,
        /// The folder for output.
        folder: PathBuf,
    },
    /// A key or certificate that would be read from elsewhere than the lab file's folder.
    #[error(
        "`{}` leads out of {}, the lab file's folder, and a lab uses keys from there alone: --allow-paths lets it use \
         the files that it names, if you trust it", .file.display(), shown(.folder)
    )]
    KeyOutside {
        /// As the lab file names it.
        file: PathBuf,
        /// The lab file's folder.
        folder: PathBuf,
    },
    /// A file that the lab has another use for.
    #[error("`{}` {}: give it another name", .0.display(), .1)]
    Twice(PathBuf, &'static str),
    /// A file could not be written; what was there under its name stands.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A plot could not be drawn.
    #[error(transparent)]
    Plot(#[from] ::plot::PlotError),
    /// The world failed when something had been captured, which is beside the files' names.
    #[error("{error}; what was captured until then is in {}", list(.kept))]
    Broken {
        /// Why.
        error: Box<LabError>,
        /// Where it is.
        kept: Vec<PathBuf>,
    },
}

/// A folder's name; that of the folder one is in is empty.
fn shown(folder: &Path) -> std::path::Display<'_> {
    match folder.as_os_str().is_empty() {
        true => Path::new(".").display(),
        false => folder.display(),
    }
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(", ")
}

/// Makes the folder of a file that is to be written.
///
/// # Errors
/// Those of the system.
pub(crate) fn folder_for(path: &Path) -> Result<(), LabError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).map_err(|source| LabError::Write {
        path: path.into(),
        source,
    })
}

/// Why a lab file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not UTF-8.
    #[error("{}: byte {at} is not UTF-8 text; a lab file is TOML", .path.display())]
    NotText {
        /// Which.
        path: PathBuf,
        /// The first byte that is wrong.
        at: usize,
    },
    /// It has faults.
    #[error("{0}")]
    Wrong(crate::Faults),
}
