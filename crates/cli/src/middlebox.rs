//! `wire middlebox`: probe trains of applications' packets between two ports.

mod run;

use crate::Verdict;
use crate::control::say;
use std::path::PathBuf;

/// Make probe trains of applications' packets, and take them out at the far end
///
/// Packets of flows that are named are held until there are enough for a train, and leave with exact gaps; dummies make up what is
/// missing. All else passes with its gaps. At the far end another one stamps probes and tells the first, which estimates available
/// bandwidth.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire middlebox run --on eth0 eth1 --flow '10.0.0.1 10.9.0.2 tcp' --method minprobe
  wire middlebox run --on eth0 eth1 --flow '10.0.0.1 10.9.0.2 tcp' --mode extract
  wire middlebox set_gap 120,120,120 --control mp.sock"
)]
pub struct MiddleboxCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Run(run::Run),
    /// What it does with packets of its flows: forward, modulate or extract
    #[command(name = "set_mode")]
    SetMode(Words),
    /// Idle characters between the packets of a train, such as 120,120,120; none: by rates again
    #[command(name = "set_gap")]
    SetGap(Words),
    /// A flow whose packets are probes: SOURCE DESTINATION [PROTOCOL [SOURCE-PORT [DESTINATION-PORT]]]
    #[command(name = "flow_add")]
    FlowAdd(Words),
    /// A flow whose packets are probes no more
    #[command(name = "flow_remove")]
    FlowRemove(Words),
    /// List the flows
    Flows(Words),
    /// List idle characters between the last probes that came
    Gaps(Words),
    /// List the counters
    Counters(Words),
}

/// A command for a middlebox that runs.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire middlebox set_gap 120,120,120 --control mp.sock
  wire middlebox flow_add 10.0.0.1 10.9.0.2 udp --control mp.sock
  wire middlebox gaps --control mp.sock")]
struct Words {
    /// The rest of the command
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// The socket of the middlebox
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    /// The answer as JSON, an object a line
    #[arg(long)]
    json: bool,
}

impl MiddleboxCommand {
    pub fn run(self) -> anyhow::Result<Verdict> {
        let (first, said) = match self.action {
            Action::Run(command) => return command.run(),
            Action::SetMode(words) => ("set_mode", words),
            Action::SetGap(words) => ("set_gap", words),
            Action::FlowAdd(words) => ("flow_add", words),
            Action::FlowRemove(words) => ("flow_remove", words),
            Action::Flows(words) => ("flows", words),
            Action::Gaps(words) => ("gaps", words),
            Action::Counters(words) => ("counters", words),
        };
        let Words {
            words,
            control,
            json,
        } = said;
        say(&control, "middlebox", first, &words, json)
    }
}
