//! `wire phy`: the line of 10GBASE-R as bits and blocks.

mod bench;
mod damage;
mod decode;
mod encode;
mod events;
mod inspect;
mod line;
mod lock;
mod order;
mod source;
mod timing;

use crate::Verdict;

/// Make, read and look at the bit stream of a 10 Gb/s Ethernet line
///
/// A stream is a file with an index in which idle blocks are counted, or raw bits as another
/// implementation has them. Idles are characters of 800 ps; the line has 10.3125 Gb/s, a bit 97 ps.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire gen --count 100 --size 1518 | wire phy encode --idles 170 -o line.phy
  wire phy decode line.phy --table | head -3
  wire phy inspect line.phy | head"
)]
pub struct Phy {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Encode(Box<encode::Encode>),
    Decode(decode::Decode),
    Lock(lock::Lock),
    Inspect(inspect::Inspect),
    Bench(bench::Bench),
}

impl Phy {
    /// Does what was asked for.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        match self.action {
            Action::Encode(command) => command.run(),
            Action::Decode(command) => command.run(),
            Action::Lock(command) => command.run(),
            Action::Inspect(command) => command.run(),
            Action::Bench(command) => command.run(),
        }
    }
}
