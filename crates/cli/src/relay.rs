//! `wire relay`: nodes in the kernel's own path.

mod bench;
pub mod report;
mod run;
mod stats;
mod stats_server;
mod train;

use crate::Verdict;
use ::lab::Registry;

/// Nodes in the kernel's own path: packets out of it, and back as the node answers
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire relay run through --hook forward --on eth1 eth2
  wire relay run delay --set 'delay=20 ms' --filter icmp --on eth1 eth2
  wire relay bench
  wire relay train monday.pcapng -o web.dict
  wire relay stats --once"
)]
pub struct Relay {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Run(run::Run),
    Bench(bench::Bench),
    Train(train::Train),
    Stats(stats::Stats),
}

impl Relay {
    /// Does what was asked for.
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        match self.action {
            Action::Run(command) => command.run(registry),
            Action::Bench(command) => command.run(registry),
            Action::Train(command) => command.run(),
            Action::Stats(command) => command.run(),
        }
    }
}
