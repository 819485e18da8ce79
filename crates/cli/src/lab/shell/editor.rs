//! Lines that are typed: edited, remembered, completed.

use super::command;
use lab::Lab;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

/// A terminal at which somebody types.
pub(super) struct Editor(rustyline::Editor<Words, MemHistory>);

impl Editor {
    /// For a lab, whose nodes are completed.
    pub fn new(lab: &Lab) -> anyhow::Result<Editor> {
        let config = rustyline::Config::default();
        let mut editor = rustyline::Editor::with_history(config, MemHistory::new())?;
        editor.set_helper(Some(Words(lab.names().map(Into::into).collect())));
        Ok(Editor(editor))
    }

    /// The next line; `None` at the end (Ctrl-D). Ctrl-C begins a new line.
    pub fn line(&mut self, prompt: &str) -> anyhow::Result<Option<String>> {
        loop {
            match self.0.readline(prompt) {
                Ok(line) => {
                    self.0.add_history_entry(&line)?;
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The names of nodes.
struct Words(Vec<String>);

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let start = line[..at].rfind(' ').map_or(0, |blank| blank + 1);
        let begun = &line[start..at];
        let mut known: Vec<&str> = self.0.iter().map(String::as_str).collect();
        if start == 0 {
            known.extend(command::words().map(|word| -> &str { word }));
        }
        let fits = known.into_iter().filter(|word| word.starts_with(begun));
        Ok((start, fits.map(|word| format!("{word} ")).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}
