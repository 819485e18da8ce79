//! The program `wire-home`, which `wire home` runs.

mod arguments;
mod demo;
mod hostapd;
mod machine;
mod run;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    match run::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wire home: {error:#}");
            ExitCode::from(2)
        }
    }
}
