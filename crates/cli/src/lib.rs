//! The command `wire`: one file a subcommand, each a clap `Args` struct with a `run` method. It is a library, so that anybody
//! can have the command with nodes of their own:
//!
//! ```no_run
//! # use node::{Frame, Node, Out, Port, Properties, Time};
//! # struct Mine;
//! # impl Node for Mine {
//! #     fn properties(&self) -> Properties { Properties::of(2) }
//! #     fn frames(&mut self, _: Time, _: Port, _: &mut Vec<Frame>, _: &mut Out) {}
//! # }
//! fn main() -> std::process::ExitCode {
//!     cli::main(lab::Registry::standard().with("mine", |(), _| Ok(Mine)))
//! }
//! ```
//!
//! To add a subcommand: write `src/NAME.rs` with a struct and its `run`, list it in `commands!`
//! and in `Command::run`. Help, man pages and completions come from the same definition.
#![forbid(unsafe_code)]

// First: its macros stand in for those of the standard library in all others.
#[macro_use]
mod json;
#[macro_use]
mod print;

mod blocks;
mod cat;
mod clock;
mod columns;
mod complaints;
mod completions;
mod control;
mod covert;
mod craft;
mod cut;
mod delay;
mod departures;
mod dump;
mod epoch;
mod external;
mod fields;
mod fix;
mod flows;
mod form;
mod generate;
mod help;
mod import;
mod input;
mod lab;
mod layout;
mod listen;
mod man;
mod r#match;
mod middlebox;
mod mount;
mod multicall;
mod nodes;
mod of;
mod on;
mod output;
mod p4;
mod packets;
mod papers;
mod paxos;
mod phy;
mod ping;
mod plot;
mod ports;
mod probe;
mod profile;
mod progress;
mod relay;
mod report;
mod run;
mod select;
mod send;
mod set;
mod sources;
mod stream;
mod sync;
mod tap;
mod time;
mod token;
mod trace;
mod undump;

use ::lab::Registry;
use clap::{Args, FromArgMatches, Subcommand};
use std::process::ExitCode;

/// Defines the subcommands together, for help, and each alone, for a command line that names it.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:literal => $variant:ident($arguments:ty),)*) => {
        #[derive(Subcommand)]
        enum Command {
            $($(#[$attribute])* #[command(name = $name)] $variant($arguments),)*
        }

        impl Command {
            /// The definition of one.
            fn definition(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some(<$arguments>::augment_args(clap::Command::new($name))),)*
                    _ => None,
                }
                .map(with_shared)
            }
        }
    };
}

commands! {
    "ports" => Ports(ports::Ports),
    "cat" => Cat(cat::Cat),
    "send" => Send(send::Send),
    "gen" => Generate(generate::Generate),
    "dump" => Dump(dump::Dump),
    "undump" => Undump(undump::Undump),
    "cut" => Cut(cut::Cut),
    "flows" => Flows(flows::Flows),
    "craft" => Craft(craft::Craft),
    "tap" => Tap(tap::Tap),
    "delay" => Delay(delay::Delay),
    "ping" => Ping(ping::Ping),
    "trace" => Trace(trace::Trace),
    "probe" => Probe(probe::Probe),
    "middlebox" => Middlebox(middlebox::MiddleboxCommand),
    "sync" => Sync(sync::Sync),
    "clock" => Clock(clock::Clock),
    "run" => Run(run::Run),
    "match" => Match(r#match::Match),
    "profile" => Profile(profile::ProfileCommand),
    "plot" => Plot(plot::Plot),
    "lab" => Lab(lab::Lab),
    "nodes" => Nodes(nodes::Nodes),
    "phy" => Phy(phy::Phy),
    "covert" => Covert(covert::Covert),
    "of" => Of(of::Of),
    "p4" => P4(p4::P4),
    "paxos" => Paxos(paxos::Paxos),
    "papers" => Papers(papers::Papers),
    "relay" => Relay(relay::Relay),
    "mount" => Mount(mount::MountCommand),
    "completions" => Completions(completions::Completions),
    #[command(hide = true)]
    "man" => Man(man::Man),
}

/// Name of the argument by which nodes get real-time priority, and commands that run nodes.
const REAL_TIME: &str = "real_time";
const RUN_NODES: [&str; 10] = [
    "delay",
    "lab",
    "middlebox",
    "of",
    "p4",
    "ping",
    "probe",
    "run",
    "sync",
    "trace",
];

/// A subcommand with the arguments that several have.
fn with_shared(command: clap::Command) -> clap::Command {
    if !RUN_NODES.contains(&command.get_name()) {
        return command;
    }
    command.arg(
        clap::Arg::new(REAL_TIME)
            .long("real-time")
            .global(true)
            .action(clap::ArgAction::SetTrue)
            .help("Give threads that run nodes real-time priority, too, where allowed"),
    )
}

/// The command line's definition without subcommands.
fn root() -> clap::Command {
    clap::Command::new("wire")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Program what is on the wire, and when")
        .disable_help_subcommand(true)
        .arg_required_else_help(true)
}

/// The command line's definition.
fn definition() -> clap::Command {
    let all = Command::augment_subcommands(root()).subcommand_required(true);
    all.mut_subcommands(with_shared)
}

impl Command {
    fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        match self {
            Command::Ports(command) => command.run(),
            Command::Cat(command) => command.run(),
            Command::Send(command) => command.run(),
            Command::Generate(command) => command.run(),
            Command::Dump(command) => command.run(),
            Command::Undump(command) => command.run(),
            Command::Cut(command) => command.run(),
            Command::Flows(command) => command.run(),
            Command::Craft(command) => command.run(),
            Command::Tap(command) => command.run(),
            Command::Delay(command) => command.run(),
            Command::Ping(command) => command.run(),
            Command::Trace(command) => command.run(),
            Command::Probe(command) => command.run(),
            Command::Middlebox(command) => command.run(),
            Command::Sync(command) => command.run(registry),
            Command::Clock(command) => command.run(),
            Command::Run(command) => command.run(registry),
            Command::Match(command) => command.run(),
            Command::Profile(command) => command.run(),
            Command::Plot(command) => command.run(),
            Command::Lab(command) => command.run(registry),
            Command::Nodes(command) => command.run(registry),
            Command::Phy(command) => command.run(),
            Command::Covert(command) => command.run(),
            Command::Of(command) => command.run(),
            Command::P4(command) => command.run(registry.engines()),
            Command::Paxos(command) => command.run(),
            Command::Papers(command) => command.run(),
            Command::Relay(command) => command.run(registry),
            Command::Mount(command) => command.run(),
            Command::Completions(command) => command.run(registry),
            Command::Man(command) => command.run(),
        }
    }
}

/// What a command that came to its end has to say about what it looked at; of two the greater one holds.
/// The book's page on exit codes has the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Exit code 0.
    Good,
    /// Something that was to be checked did not hold, or something of the input was skipped or lost: exit
    /// code 1.
    Failed,
    /// A signal came before the end of the input, or before what was asked for was done: exit code 128 and
    /// the signal's number, as shells have it.
    Stopped,
}

impl Verdict {
    /// Of a command that a signal may have ended: `done` says whether it had no end of its own, or had
    /// reached it.
    pub fn if_done(done: bool) -> Verdict {
        match done || !::capture::signal::stop_requested() {
            true => Verdict::Good,
            false => Verdict::Stopped,
        }
    }

    /// Good, or failed.
    pub fn if_good(good: bool) -> Verdict {
        match good {
            true => Verdict::Good,
            false => Verdict::Failed,
        }
    }

    fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Verdict::Good => 0,
            Verdict::Failed => 1,
            Verdict::Stopped => 128 + ::capture::signal::number().map_or(0, |number| number as u8),
        })
    }
}

/// Runs the command with the arguments of the process, and with these kinds of nodes and OFLOPS; its exit code is as the book has it.
pub fn main(registry: Registry) -> ExitCode {
    let registry = ::flops::add(registry);
    ::capture::signal::take_int_and_term();
    ::capture::signal::fail_at_file_limit();
    // Errors in the arguments end here, with exit code 2.
    let arguments = multicall::arguments(std::env::args_os().collect());
    if let Some(code) = external::run(&arguments) {
        return code;
    }
    let matches = help::command(&arguments).get_matches_from(arguments);
    let command = Command::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Ok(Some(true)) = named(&matches).try_get_one(REAL_TIME) {
        live::scheduling::prefer_nodes();
    }
    let code = match command.run(&registry) {
        Ok(verdict) => verdict.code(),
        Err(error) if ::capture::signal::is_stop(error.as_ref()) => Verdict::Stopped.code(),
        // A reader that has seen enough, as `head` does, is a normal end.
        Err(error) if error.is::<output::ReaderGone>() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wire: {}", message(&error));
            // That there was nothing to draw is a finding, if all had come that was to come.
            match error.downcast_ref::<::lab::LabError>() {
                Some(::lab::LabError::Plot(::plot::PlotError::Empty { .. })) => {
                    Verdict::Failed.max(Verdict::if_done(false)).code()
                }
                _ => ExitCode::from(2),
            }
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

/// Matches of the subcommand, or of the subcommand below it, that was named.
fn named(matches: &clap::ArgMatches) -> &clap::ArgMatches {
    matches
        .subcommand()
        .map_or(matches, |(_, below)| named(below))
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
