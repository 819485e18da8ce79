//! What the compiler has to say about a program.

use crate::source::{Sources, Span};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use packet::printable;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is valid; something in it is surely not meant.
    Warning,
    /// The program is invalid.
    Error,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// A stable name of the rule such as `unused-variable`, for tests and editors.
    pub code: &'static str,
    /// One sentence without a full stop, which names the things concerned.
    pub message: String,
    pub span: Span,
    /// Other places that belong to it, each with a word: `first declared here`.
    pub notes: Vec<(Span, String)>,
    /// What to do, when there is something better to say than the opposite of the message.
    pub help: Option<String>,
}

impl Diagnostic {
    #[must_use]
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            notes: Vec::new(),
            help: None,
        }
    }

    #[must_use]
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Adds another place.
    #[must_use]
    pub fn note(mut self, span: Span, message: impl Into<String>) -> Self {
        self.notes.push((span, message.into()));
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The diagnostic as text: `FILE:LINE:COLUMN: error: MESSAGE [code]`, the line with carets, notes, help.
    #[must_use]
    pub fn render(&self, sources: &Sources) -> String {
        let mut out = String::new();
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        excerpt(
            &mut out,
            sources,
            self.span,
            &format!("{severity}: {} [{}]", self.message, self.code),
        );
        for (span, message) in &self.notes {
            excerpt(&mut out, sources, *span, &format!("note: {message}"));
        }
        if let Some(help) = &self.help {
            let _ = writeln!(out, "  help: {help}");
        }
        // Names and lines of the program are as whoever wrote it liked.
        printable::lines(&out).into_owned()
    }
}

fn excerpt(out: &mut String, sources: &Sources, span: Span, message: &str) {
    let Some(location) = sources.location(span.start) else {
        let _ = writeln!(out, "{message}");
        return;
    };
    let _ = writeln!(
        out,
        "{}:{}:{}: {message}",
        location.file, location.line, location.column
    );
    let Some(line) = sources.line(span.start) else {
        return;
    };
    let number = format!("{}", location.line);
    let marked = sources.text(span).and_then(|text| text.lines().next());
    let length = printable::lines(marked.unwrap_or("")).chars().count();
    let (line, column) = window(line, location.column as usize - 1);
    let at = line.char_indices().nth(column);
    let (before, behind) = line.split_at(at.map_or(line.len(), |(at, _)| at));
    let room = printable::lines(behind).chars().count().max(1);
    // Tabs stay tabs, so that the carets stand below what they mean.
    let lead: String = printable::lines(before)
        .chars()
        .map(|c| if c == '\t' { '\t' } else { ' ' })
        .collect();
    let carets: String = core::iter::repeat_n('^', length.clamp(1, room)).collect();
    let _ = writeln!(out, " {number} | {line}");
    let _ = writeln!(out, " {:width$} | {lead}{carets}", "", width = number.len());
}

/// Maximum number of characters of a line that are shown.
const MAX_SHOWN_CHARS: usize = 400;

/// The part of a long line around a column, and where the column is in it.
fn window(line: &str, column: usize) -> (String, usize) {
    let count = line.chars().count();
    if count <= MAX_SHOWN_CHARS {
        return (line.into(), column);
    }
    let from = column
        .saturating_sub(MAX_SHOWN_CHARS / 2)
        .min(count - MAX_SHOWN_CHARS);
    let mut part: String = line.chars().skip(from).take(MAX_SHOWN_CHARS).collect();
    if from + MAX_SHOWN_CHARS < count {
        part.push_str("...");
    }
    match from {
        0 => (part, column),
        _ => (format!("...{part}"), column - from + 3),
    }
}

/// Collects what a run has to say, up to a bound.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
}

/// Maximum number of errors that are kept; later ones are only counted.
pub const MAX_ERRORS: usize = 200;

impl Diagnostics {
    /// Adds one, unless the same was said of the same place or there are [`MAX_ERRORS`].
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.list.len() < MAX_ERRORS && !self.list.contains(&diagnostic) {
            self.list.push(diagnostic);
        }
    }

    /// Whether there was an error.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.errors > 0
    }

    /// Leaves out what is not wanted.
    pub fn retain(&mut self, wanted: impl FnMut(&Diagnostic) -> bool) {
        self.list.retain(wanted);
    }

    /// How many errors there were.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// All that was kept, in the order of the text.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut list: Vec<_> = self.list.iter().collect();
        list.sort_by_key(|d| (d.span, core::cmp::Reverse(d.severity)));
        list
    }

    /// All that was kept, in the order it was found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }
}
