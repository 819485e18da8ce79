//! The command `wire`: one file a subcommand, each a clap `Args` struct with a `run` method.
//!
//! To add a subcommand: write `src/NAME.rs` with a struct and its `run`, list it in [`Command`]
//! and in [`Command::run`]. Help, man pages and completions come from the same definition.
#![forbid(unsafe_code)]

// First: its macros stand in for those of the standard library in all others.
#[macro_use]
mod print;

mod blocks;
mod cat;
mod columns;
mod complaints;
mod completions;
mod confine;
mod covert;
mod cut;
mod delay;
mod departures;
mod dump;
mod fields;
mod form;
mod generate;
mod help;
mod input;
mod lab;
mod layout;
mod man;
mod r#match;
mod mount;
mod of;
mod output;
mod p4;
mod packets;
mod phy;
mod ping;
mod plot;
mod ports;
mod profile;
mod relay;
mod report;
mod run;
mod send;
mod stream;
mod tap;
mod undump;
mod zero;

use clap::{FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Program what is on the wire, and when.
#[derive(Parser)]
#[command(
    name = "wire",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub struct Wire {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
enum Command {
    Ports(ports::Ports),
    Cat(cat::Cat),
    Send(send::Send),
    #[command(name = "gen")]
    Generate(generate::Generate),
    Dump(dump::Dump),
    Undump(undump::Undump),
    Cut(cut::Cut),
    Tap(tap::Tap),
    Delay(delay::Delay),
    Ping(ping::Ping),
    Run(run::Run),
    Match(r#match::Match),
    Profile(profile::ProfileCommand),
    Plot(plot::Plot),
    Lab(lab::Lab),
    Phy(phy::Phy),
    Covert(covert::Covert),
    Of(of::Of),
    P4(p4::P4),
    Relay(relay::Relay),
    Mount(mount::MountCommand),
    Completions(completions::Completions),
    #[command(hide = true)]
    Man(man::Man),
}

impl Command {
    fn run(self) -> anyhow::Result<Verdict> {
        match self {
            Command::Ports(command) => command.run(),
            Command::Cat(command) => command.run(),
            Command::Send(command) => command.run(),
            Command::Generate(command) => command.run(),
            Command::Dump(command) => command.run(),
            Command::Undump(command) => command.run(),
            Command::Cut(command) => command.run(),
            Command::Tap(command) => command.run(),
            Command::Delay(command) => command.run(),
            Command::Ping(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Match(command) => command.run(),
            Command::Profile(command) => command.run(),
            Command::Plot(command) => command.run(),
            Command::Lab(command) => command.run(),
            Command::Phy(command) => command.run(),
            Command::Covert(command) => command.run(),
            Command::Of(command) => command.run(),
            Command::P4(command) => command.run(),
            Command::Relay(command) => command.run(),
            Command::Mount(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    }
}

/// What a command that came to its end has to say about what it looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Exit code 0.
    Good,
    /// Something that was to be checked did not hold: exit code 1.
    Failed,
}

fn main() -> ExitCode {
    // Errors in the arguments end here, with exit code 2.
    let wire = Wire::from_arg_matches(&help::command().get_matches());
    let wire = wire.unwrap_or_else(|error| error.exit());
    let code = match wire.command.run() {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::from(1),
        // A reader that has seen enough, as `head` does, is a normal end.
        Err(error) if error.is::<output::ReaderGone>() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wire: {}", message(&error));
            ExitCode::from(2)
        }
    };
    match print::lost() {
        Some(error) => {
            eprintln!("wire: cannot write to standard output: {error}");
            ExitCode::from(2)
        }
        None => code,
    }
}

/// An error and its causes, each once: many libraries repeat the cause in their own message.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if message.is_empty() {
            message = cause;
        } else if !message.ends_with(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message
}
