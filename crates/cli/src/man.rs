//! `wire man`: the manual pages, for packagers.

use crate::Verdict;
use anyhow::Context;
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
        let mut command = crate::definition();
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
        page.extend_from_slice(EXIT_STATUS.as_bytes());
        let path = self.directory.join(man.get_filename());
        Ok(::capture::output::replace(&path, &page)?)
    }
}

/// What all commands have in common; the book has more of it.
const EXIT_STATUS: &str = r#".SH "EXIT STATUS"
.TP
0
All went well.
.TP
1
Something that was checked did not hold, or packets were skipped, cut short, unreadable or lost; standard error tells of it.
With \fB\-\-lenient\fR losses exit with 0.
.TP
2
An error; with \fB\-\-strict\fR also the first bad packet.
.TP
129, 130, 143
HUP, INT or TERM came before the input had ended, or before what was asked for was done.
.SH SIGNALS
On HUP, INT or TERM what came whole is still written, and what was unfinished is dropped. A second signal ends the process at once.
What has no end of its own is ended by a signal in the normal way, with 0.
HUP and INT stay ignored where the parent ignored them, as nohup(1) and a shell's background jobs do; TERM always works.
"#;
