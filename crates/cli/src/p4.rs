//! `wire p4`: programs in P4.

mod bench;
mod check;
mod compile;
mod control;
mod counters;
mod cycles;
mod format;
mod graph;
mod info;
mod kernel;
mod lsp;
mod packets;
mod repl;
mod run;
mod source;
mod test;
mod trace;
mod tutorial;

use crate::Verdict;
use lab::engine::Engines;

/// Check, run, test and look into programs in P4
///
/// P4_16 and P4_14 for the architectures v1model, PSA, PNA, and Wireline's own `switch` and `bump`.
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
    Compile(compile::Compile),
    Counters(counters::Counters),
    Cycles(cycles::Cycles),
    #[command(name = "fmt")]
    Format(format::Format),
    Graph(graph::Graph),
    Lsp(lsp::Lsp),
    Repl(repl::Repl),
    Test(test::Test),
    Trace(trace::Trace),
    Run(run::Run),
    Bench(bench::Bench),
    /// Tables of a pipeline that runs: ls, dump, add, set, rm
    Table(control::Words),
    /// Registers of a pipeline that runs: ls, read, write, reset
    Register(control::Words),
    /// Counters of a pipeline that runs: ls, read, write, reset
    Counter(control::Words),
    /// Meters of a pipeline that runs: ls, read, set, reset
    Meter(control::Words),
    /// Action profiles and selectors of a pipeline that runs
    Profile(control::Words),
    /// Multicast groups of a pipeline that runs
    Group(control::Words),
    /// Clone sessions of a pipeline that runs
    Mirror(control::Words),
    /// Parser value sets of a pipeline that runs
    ValueSet(control::Words),
    /// Digests of a pipeline that runs
    Digest(control::Words),
    /// The custom CRCs of a pipeline that runs
    Crc(control::Words),
    /// On which side of a NIC its ports are: ls, set, rm
    Port(control::Words),
    /// For how long learned entries of a NIC stay: ls, set, reset
    Expiry(control::Words),
    Info(info::Info),
    Tutorial(tutorial::Tutorial),
}

impl P4 {
    /// Does what was asked for.
    pub fn run(self, engines: &Engines) -> anyhow::Result<Verdict> {
        // The others have nothing to finish: a signal ends them at once, in the middle of a long compilation too.
        if matches!(self.action, Action::Run(_) | Action::Trace(_)) {
            ::capture::signal::install();
        }
        match self.action {
            Action::Check(command) => command.run(),
            Action::Compile(command) => command.run(),
            Action::Counters(command) => command.run(engines),
            Action::Cycles(command) => command.run(engines),
            Action::Format(command) => command.run(),
            Action::Graph(command) => command.run(),
            Action::Lsp(command) => command.run(),
            Action::Repl(command) => command.run(),
            Action::Test(command) => command.run(engines),
            Action::Trace(command) => command.run(),
            Action::Run(command) => command.run(engines),
            Action::Bench(command) => command.run(),
            Action::Table(words) => words.run("table"),
            Action::Register(words) => words.run("register"),
            Action::Counter(words) => words.run("counter"),
            Action::Meter(words) => words.run("meter"),
            Action::Profile(words) => words.run("profile"),
            Action::Group(words) => words.run("group"),
            Action::Mirror(words) => words.run("mirror"),
            Action::ValueSet(words) => words.run("value-set"),
            Action::Digest(words) => words.run("digest"),
            Action::Crc(words) => words.run("crc"),
            Action::Port(words) => words.run("port"),
            Action::Expiry(words) => words.run("expiry"),
            Action::Info(command) => command.run(),
            Action::Tutorial(command) => command.run(),
        }
    }
}
