//! `wire-rtl check`: blocks in Verilog against the same in software.

mod bound;
mod dtp;
mod externs;
mod host;
mod replay;
mod software;
mod switch;

use clap::{Args, Parser, Subcommand};
use cosim::Module;
use cosim::module::Missing;
use cosim::ports::{dtp_device4, p4_replay, p4_switch4};
use pipeline::environment::{Environment, Options};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Check blocks in Verilog against the same in software
///
/// The exit code is 1 when they differ, with the place of the first difference and the seed that reproduces it.
#[derive(Parser)]
#[command(
    name = "wire-rtl check",
    disable_help_subcommand = true,
    after_help = "Examples:
  wire-rtl check dtp --seed 7 --runs 100
  wire-rtl check switch --program p4-l2l3/l2l3.p4 --runs 4
  wire-rtl check dtp-bound"
)]
struct Check {
    #[command(subcommand)]
    block: Block,
}

#[derive(Subcommand)]
enum Block {
    /// A DTP device of four ports: random messages, loads, links and commands, tick for tick
    Dtp(Random),
    /// Four ports of 10 Gb/s around a program, with a shared packet buffer: random traffic, each frame of which must be accounted for
    Switch(Switch),
    /// Externs of the user around a program's pipeline: random packets, against the externs in Rust
    Externs(Random),
    /// A host's channel to a program: random packets of host and network, against the program in software
    Host(Host),
    /// The packet generator and capturer: random traces, departures to the cycle, captures and losses
    Replay(Random),
    /// Two DTP devices that come to be 5 ticks apart: each beacon that the slower one hears
    DtpBound {
        /// When the slower clock begins, in units of 1/5000 tick
        #[arg(long, value_name = "UNITS", default_value_t = bound::PHASE,
            value_parser = clap::value_parser!(u64).range(..5_001))]
        phase: u64,
    },
}

/// A switch.
#[derive(Args)]
struct Switch {
    #[command(flatten)]
    random: Random,
    /// The program in P4 of the switch, checked against the same in software; without it a program that forwards by the last byte of the destination
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Table entries and packets for the program, in the format of STF [default: FILE.stf next to the program]
    #[arg(long, value_name = "FILE", requires = "program")]
    test: Option<PathBuf>,
}

/// A host.
#[derive(Args)]
struct Host {
    #[command(flatten)]
    random: Random,
    /// The program in P4, for which the host is port 3
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
    /// Table entries and packets for the program, in the format of STF [default: FILE.stf next to the program]
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
}

/// Random runs.
#[derive(Args)]
struct Random {
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 30)]
    seed: u64,
    /// Runs, from reset to reset
    #[arg(long, value_name = "N", default_value_t = 40)]
    runs: u64,
}

/// Whether the command line asks for this command, which `wire` does not have.
#[must_use]
pub fn is_wanted() -> bool {
    std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "check")
}

/// Runs the command.
pub fn main() -> ExitCode {
    // Errors in the arguments end here, with exit code 2.
    let check = Check::parse_from(std::env::args_os().skip(1));
    let fail = |message: &str, code| {
        eprintln!("wire-rtl: {message}");
        ExitCode::from(code)
    };
    let result = match check.run() {
        Ok(result) => result,
        Err(missing) => return fail(&missing.to_string(), 2),
    };
    match result {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                fail(&format!("cannot write to standard output: {error}"), 2)
            }
            // A reader that has seen enough is a normal end.
            _ => ExitCode::SUCCESS,
        },
        Err(difference) => fail(&difference, 1),
    }
}

impl Check {
    /// The text for standard output, or the first difference.
    fn run(self) -> Result<Result<String, String>, Missing> {
        Ok(match self.block {
            Block::Dtp(Random { seed, runs }) => {
                let module = Module::new(dtp_device4::LAYOUT)?;
                dtp::check(module, seed, runs).map(|seen| table(&seen))
            }
            Block::Switch(switch) => switch.run()?,
            Block::Externs(Random { seed, runs }) => {
                externs::check(seed, runs).map(|seen| table(&seen))
            }
            Block::Host(host) => host.run(),
            Block::Replay(Random { seed, runs }) => {
                let module = Module::new(p4_replay::LAYOUT)?;
                replay::check(module, seed, runs).map(|seen| table(&seen))
            }
            Block::DtpBound { phase } => {
                let module = || Module::new(dtp_device4::LAYOUT);
                bound::check([module()?, module()?], phase)
                    .map(|(trace, greatest)| format!("{trace}greatest offset: {greatest} ticks\n"))
            }
        })
    }
}

impl Switch {
    fn run(self) -> Result<Result<String, String>, Missing> {
        let Random { seed, runs } = self.random;
        Ok(match self.program {
            None => {
                let module = Module::new(p4_switch4::LAYOUT)?;
                switch::check(module, seed, runs).map(|seen| table(&seen))
            }
            Some(program) => load(&program, self.test)
                .and_then(|(environment, test)| {
                    switch::Program::new(&environment, &test)?.check(seed, runs)
                })
                .map_err(|fault| format!("{}: {fault}", program.display()))
                .map(|seen| table(&seen)),
        })
    }
}

impl Host {
    fn run(self) -> Result<String, String> {
        let Random { seed, runs } = self.random;
        load(&self.program, self.test)
            .and_then(|(environment, test)| host::check(&environment, &test, seed, runs))
            .map_err(|fault| format!("{}: {fault}", self.program.display()))
            .map(|seen| table(&seen))
    }
}

/// A program, and the text of its test.
fn load(program: &Path, test: Option<PathBuf>) -> Result<(Arc<Environment>, String), String> {
    let test = test.unwrap_or_else(|| program.with_extension("stf"));
    let compiled = lab::program::load(program, &[], &p4::compile::Options::default())
        .map_err(|error| error.to_string())?;
    let errors = compiled.diagnostics.sorted();
    let Some(valid) = compiled.program else {
        let errors = errors.iter().map(|error| error.render(&compiled.sources));
        return Err(format!(
            "it does not compile\n{}",
            errors.collect::<String>()
        ));
    };
    let environment = Environment::new(Arc::new(valid), Options::default());
    let environment = environment.map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(&test)
        .map_err(|error| format!("cannot read its test {}: {error}", test.display()))?;
    Ok((Arc::new(environment), text))
}

/// Number of events of each kind.
fn table(seen: &BTreeMap<String, u64>) -> String {
    let lines = seen
        .iter()
        .map(|(name, count)| format!("{count:>12} {name}\n"));
    format!("{}no difference\n", lines.collect::<String>())
}
