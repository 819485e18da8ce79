//! `wire of`: OpenFlow.

mod ctl;
mod flops;
mod switch;

use crate::Verdict;

/// OpenFlow 1.0 and 1.3: a switch, and what asks and changes one
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire of switch --on eth1,eth2 --controller tcp:127.0.0.1:6653
  wire of ctl tcp:127.0.0.1:6653 dump-flows"
)]
pub struct Of {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Flops(flops::Flops),
    Switch(switch::Switch),
    Ctl(ctl::Ctl),
}

impl Of {
    /// Does what was asked for.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        match self.action {
            Action::Flops(command) => command.run(),
            Action::Switch(command) => command.run(),
            Action::Ctl(command) => command.run(),
        }
    }
}
