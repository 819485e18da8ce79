//! The program that a command is about.

use p4::compile::{Compiled, Options};
use p4::diagnostic::{Diagnostic, Severity};
use p4::source::Sources;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How a program is read.
#[derive(clap::Args)]
pub struct Reading {
    /// A folder in which included files are looked for
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

impl Reading {
    /// The compiler's options.
    pub fn options(&self) -> Options {
        let defines = self.define.iter().map(|define| {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            (name.to_string(), value.to_string())
        });
        Options {
            defines: defines.collect(),
            ..Options::default()
        }
    }

    /// Where included files are looked for.
    pub fn includes(&self) -> lab::program::Folders<'_> {
        lab::program::Folders {
            folders: &self.include,
        }
    }

    /// Compiles a program.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn load(&self, path: &Path) -> anyhow::Result<Compiled> {
        self.load_with(path, &self.options())
    }

    /// Compiles a program in a given way.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn load_with(&self, path: &Path, options: &Options) -> anyhow::Result<Compiled> {
        Ok(lab::program::load(path, &self.include, options)?)
    }

    /// Compiles a program that must be valid: what is wrong with it goes to stderr.
    ///
    /// # Errors
    /// When its file cannot be read, or it has errors.
    pub fn load_valid(&self, path: &Path) -> anyhow::Result<Compiled> {
        self.load_valid_with(path, &self.options())
    }

    /// The same in a given way.
    ///
    /// # Errors
    /// As [`Self::load_valid`].
    pub fn load_valid_with(&self, path: &Path, options: &Options) -> anyhow::Result<Compiled> {
        let compiled = self.load_with(path, options)?;
        eprint!("{}", told(&compiled));
        let errors = compiled.diagnostics.errors();
        anyhow::ensure!(
            errors == 0,
            "{}: {}",
            path.display(),
            count(errors, "error")
        );
        Ok(compiled)
    }
}

/// All that is wrong, for people.
pub fn told(compiled: &Compiled) -> String {
    let all = compiled.diagnostics.sorted();
    all.iter()
        .map(|diagnostic| diagnostic.render(&compiled.sources))
        .collect()
}

/// A diagnostic as JSON.
pub fn object(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let place = |at| sources.location(at);
    let (start, end) = (place(diagnostic.span.start), place(diagnostic.span.end));
    let notes = diagnostic.notes.iter().map(|(span, message)| {
        let place = place(span.start);
        json!({
            "file": place.as_ref().map(|p| p.file.to_string()),
            "line": place.as_ref().map(|p| p.line),
            "column": place.as_ref().map(|p| p.column),
            "message": message,
        })
    });
    json_line!("p4", "diagnostic", {
        "severity": match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "code": diagnostic.code,
        "file": start.as_ref().map(|p| p.file.to_string()),
        "line": start.as_ref().map(|p| p.line),
        "column": start.as_ref().map(|p| p.column),
        "end_line": end.as_ref().map(|p| p.line),
        "end_column": end.as_ref().map(|p| p.column),
        "message": diagnostic.message,
        "notes": notes.collect::<Vec<_>>(),
        "help": diagnostic.help,
    })
}

/// `1 error`, `2 errors`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
