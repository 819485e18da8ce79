//! `wire lab --shell`: a lab in simulated time, step by step, by commands that are typed or come from a pipe.

mod command;
mod editor;

use super::Lab;
use crate::Verdict;
use crate::output::{Buffering, Output};
use ::capture::signal;
use ::lab::{Options, Registry, Session, World};
use anyhow::Context;
use command::Command;
use confine::Permissions;
use editor::Editor;
use std::io::{BufRead, IsTerminal, Read};

/// Maximum length of a line that is read from a pipe, bytes; a command takes far fewer.
const MAX_LINE_LEN: u64 = 65_536;

impl Lab {
    /// Does what is typed, or what comes from a pipe, until the end.
    pub(super) fn step_by_step(
        &self,
        registry: &Registry,
        worlds: &[World],
    ) -> anyhow::Result<Verdict> {
        let file = self.file().display();
        anyhow::ensure!(
            worlds.contains(&World::Sim),
            "in the world live a shell is in a node: `wire lab {file} --shell NODE`; without a node it is for simulated time"
        );
        let lab = self.read(registry, World::Sim)?;
        let options = Options {
            progress: None,
            ..self.options(World::Sim, &[World::Sim], &None)
        };
        let stdin = std::io::stdin();
        let editor = stdin.is_terminal().then(|| Editor::new(&lab)).transpose()?;
        if !self.allow_commands || lab.commands().next().is_none() {
            confine::reader(Permissions {
                writes: !self.dry,
                compiles: true,
                kernel: lab.loads_programs(),
                edits: editor.is_some(),
                accepts: false,
            })?;
        }
        let mut shell = Shell {
            session: Session::open(&lab, &options)?,
            stdout: Output::open(&Buffering::default())?,
        };
        let verdict = match editor {
            Some(editor) => {
                eprintln!(
                    "wire: {} in simulated time, which stands still between commands; `help` lists them",
                    lab.name
                );
                shell.converse(editor, &lab.name)?
            }
            None => shell.follow(stdin.lock())?,
        };
        let Shell { session, stdout } = shell;
        let report = session.end();
        stdout.finish()?;
        for file in &report.files {
            eprintln!("wire: wrote {}", file.display());
        }
        for empty in &report.empty {
            eprintln!("wire: {empty}");
        }
        anyhow::ensure!(report.failures.is_empty(), "{}", report.failures.join("; "));
        Ok(verdict)
    }
}

/// A lab that waits for commands.
struct Shell<'a> {
    session: Session<'a>,
    stdout: Output,
}

impl Shell<'_> {
    /// Does what is typed. What was mistyped is nothing to fail for.
    fn converse(&mut self, mut editor: Editor, name: &str) -> anyhow::Result<Verdict> {
        while let Some(line) = editor.line(&format!("{name} {}> ", self.session.now()))? {
            match self.obey(&line)? {
                Some(Ok(())) => {}
                Some(Err(why)) => eprintln!("wire: {why}"),
                None => break,
            }
            if signal::stop_requested() {
                // Ctrl-C ends what a command does; other signals end all.
                if signal::number() != Some(libc::SIGINT) {
                    return Ok(Verdict::Stopped);
                }
                signal::go_on();
                eprintln!("wire: stopped at {}", self.session.now());
            }
        }
        Ok(Verdict::Good)
    }

    /// Does what comes from a pipe or a file, to its end; failed if anything of it could not be done.
    fn follow(&mut self, mut lines: impl BufRead) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::Good;
        for number in 1u64.. {
            let mut line = Vec::new();
            let mut some = lines.by_ref().take(MAX_LINE_LEN);
            let count = some
                .read_until(b'\n', &mut line)
                .context("standard input")?;
            if count == 0 || signal::stop_requested() {
                break;
            }
            anyhow::ensure!(
                (count as u64) < MAX_LINE_LEN,
                "line {number} is longer than {MAX_LINE_LEN} bytes: these are not commands"
            );
            match self.obey(&String::from_utf8_lossy(&line))? {
                Some(Ok(())) => {}
                Some(Err(why)) => {
                    eprintln!("wire: line {number}: {why}");
                    verdict = Verdict::Failed;
                }
                None => break,
            }
        }
        Ok(verdict.max(Verdict::if_done(false)))
    }

    /// Does what a line says, and tells what came of it, or what is wrong with it; `None` where the session is to end.
    ///
    /// # Errors
    /// When standard output cannot be written.
    fn obey(&mut self, line: &str) -> anyhow::Result<Option<Result<(), String>>> {
        let done = match Command::parse(line) {
            Ok(Command::Quit) => return Ok(None),
            Ok(command) => command.run(&mut self.session),
            Err(why) => Err(why),
        };
        let told = match done {
            Ok(answer) => {
                self.stdout.tell(&answer)?;
                Ok(())
            }
            Err(why) => Err(why),
        };
        // Before what is said on standard error, and before the next command.
        self.stdout.flush()?;
        Ok(Some(told))
    }
}
