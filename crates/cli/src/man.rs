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
        // As its subcommands have it, whose names need what stands before them.
        let mut command = Wire::command();
        command.build();
        self.pages(&command)?;
        Ok(Verdict::Good)
    }

    fn pages(&self, command: &clap::Command) -> anyhow::Result<()> {
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        for one in shown {
            self.pages(one)?;
        }
        let man = clap_mangen::Man::new(command.clone());
        let mut page = Vec::new();
        man.render(&mut page)?;
        let path = self.directory.join(man.get_filename());
        Ok(live::output::replace(&path, &page)?)
    }
}
