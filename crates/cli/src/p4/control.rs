//! The control plane's words, from files, from a terminal, and to a pipeline that runs elsewhere on this machine.

use crate::Verdict;
use crate::control::{Rows, say};
use ::pipeline::control::Control;
use ::pipeline::control::commands::parse_file;
use anyhow::{Context, anyhow};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Carries out a file of commands.
///
/// # Errors
/// All lines that make no sense, before anything is done; or the first that is refused.
pub fn carry_out(control: &Control, path: &Path) -> anyhow::Result<()> {
    let name = path.display().to_string();
    let text = ::capture::file::text(path).with_context(|| name.clone())?;
    let commands = parse_file(control.program(), &name, &text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow!(errors.join("\n"))
    })?;
    for (line, command) in commands {
        let done = control.run(&command);
        done.map_err(|error| anyhow!("{name}:{line}: {error}"))?;
    }
    Ok(())
}

/// Control a pipeline that runs: `wire p4 run ... --control SOCKET`
///
/// The words are those of entry files: table ls|dump|add|set|rm, register, counter, meter, profile, group, mirror,
/// value-set, digest, crc, port, expiry. `-` reads commands from standard input, a line each.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire p4 table add ipv4_lpm 10.0.0.0/8 do forward 3 --control s1.sock
  wire p4 table dump --control s1.sock > entries.txt
  wire p4 counter read seen all --control s1.sock --json")]
pub struct Words {
    /// The command
    #[arg(required = true, allow_negative_numbers = true, value_name = "WORD")]
    words: Vec<String>,
    /// The socket of the pipeline
    #[arg(long, alias = "at", value_name = "SOCKET")]
    control: PathBuf,
    /// The answer as JSON, an object a line
    #[arg(long)]
    json: bool,
}

impl Words {
    /// Says them, `first` before the others.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn run(self, first: &str) -> anyhow::Result<Verdict> {
        let Words {
            words,
            control,
            json,
        } = self;
        say(&control, "pipeline", first, &words, json)
    }
}

/// Carries out a line that came to a pipeline's socket.
///
/// # Errors
/// Why it is refused.
pub fn said(control: &Control, line: &str) -> Result<Rows, String> {
    let answer = control.say(line).map_err(|error| error.message)?;
    let rows = answer.rows.into_iter().map(|(row, object)| {
        let object = serde_json::from_str(&object).unwrap_or(Value::Null);
        (row.to_string(), object)
    });
    Ok(rows.collect())
}
