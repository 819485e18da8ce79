//! `wire man`: the manual pages, for packagers.

use crate::{Verdict, Wire};
use anyhow::Context;
use clap::CommandFactory;
use std::path::PathBuf;

/// Write the manual pages, one for `wire` and one for each command
#[derive(clap::Args)]
#[command(after_help = "Example:\n  wire man target/man && man -l target/man/wire-cat.1")]
pub struct Man {
    /// The directory to write them to; made where it is missing
    directory: PathBuf,
}

impl Man {
    /// Writes one page a command.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let place = || format!("cannot write manual pages to {}", self.directory.display());
        std::fs::create_dir_all(&self.directory).with_context(place)?;
        clap_mangen::generate_to(Wire::command(), &self.directory).with_context(place)?;
        Ok(Verdict::Good)
    }
}
