//! `wire completions`: what a shell needs to complete `wire`'s arguments.

use crate::{Verdict, Wire, output};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  wire completions bash > ~/.local/share/bash-completion/completions/wire"
)]
pub struct Completions {
    /// The shell to print them for
    shell: Shell,
}

impl Completions {
    /// Prints them on standard output.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Wire::command(), "wire", &mut text);
        let mut out = output::Output::open(&output::Buffering::default())?;
        out.write(&text)?;
        out.finish()?;
        Ok(Verdict::Good)
    }
}
