//! `wire p4`: programs in P4.

mod check;
mod format;
mod graph;
mod source;
mod test;

use crate::Verdict;

/// Check, run, test and look into programs in P4
///
/// P4_16 and P4_14 for the architectures v1model, PSA, and Wireline's own `switch` and `bump`.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire p4 check router.p4
  wire p4 test router.p4 router.stf
  wire p4 trace router.p4 --stf router.stf"
)]
pub struct P4 {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Check(check::Check),
    #[command(name = "fmt")]
    Format(format::Format),
    Graph(graph::Graph),
    Test(test::Test),
}

impl P4 {
    /// Does what was asked for.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        match self.action {
            Action::Check(command) => command.run(),
            Action::Format(command) => command.run(),
            Action::Graph(command) => command.run(),
            Action::Test(command) => command.run(),
        }
    }
}
