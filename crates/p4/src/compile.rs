//! A program's whole way, from text to the intermediate representation.

pub use crate::cancel::Cancel;

use crate::ast::Program;
use crate::cancel::stopped;
use crate::check::{Checked, check_until};
use crate::diagnostic::Diagnostics;
use crate::preprocess::{self, preprocess};
use crate::source::{Includes, Sources};
use crate::{ir, lower, p4_14, parse, passes};
use alloc::string::String;
use alloc::vec::Vec;

/// The two languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// P4_14, 1.0.5.
    P4_14,
    /// P4_16, 1.2.5.
    P4_16,
}

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Ends compiling early, with the error `stopped`.
    pub cancel: Option<Cancel>,
    /// Macros that are defined before the text: name and replacement.
    pub defines: Vec<(String, String)>,
    /// The language; found out from the text when nothing is said.
    pub language: Option<Language>,
    /// Leave the intermediate representation as lowering made it.
    pub unoptimized: bool,
}

/// What came of it. Whatever could be made is there; what is missing was stopped by an error in [`Compiled::diagnostics`].
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The texts, which the diagnostics point into.
    pub sources: Sources,
    /// Errors and warnings of all steps.
    pub diagnostics: Diagnostics,
    /// The program with its types.
    pub checked: Option<Checked>,
    /// What engines run. Absent too when the program is a library, without `main`.
    pub program: Option<ir::Program>,
}

/// Compiles a program.
pub fn compile(name: &str, text: &str, includes: &mut dyn Includes, options: &Options) -> Compiled {
    let mut compiled = front(name, text, includes, options);
    if let Some(checked) = compiled
        .checked
        .as_ref()
        .filter(|checked| checked.main.is_some())
    {
        let cancel = options.cancel.as_ref();
        compiled.program = lower::lower(checked, cancel, &mut compiled.diagnostics);
    }
    if compiled.diagnostics.failed() {
        compiled.program = None;
    }
    if let Some(program) = &mut compiled.program
        && !options.unoptimized
    {
        let cancel = || options.cancel.as_ref().is_some_and(Cancel::is_requested);
        if !passes::optimize_until(program, &cancel) {
            compiled.diagnostics.push(stopped());
            compiled.program = None;
        }
    }
    compiled
}

/// Compiles as far as the checker, which is all that a library or a program for an architecture of others needs.
pub fn front(name: &str, text: &str, includes: &mut dyn Includes, options: &Options) -> Compiled {
    let mut compiled = Compiled::default();
    let program = read(name, text, includes, options, &mut compiled);
    // What the parser could not read would only give errors that follow from it.
    if !compiled.diagnostics.failed() {
        let checked = check_until(program, options.cancel.as_ref(), &mut compiled.diagnostics);
        if !compiled.diagnostics.failed() {
            compiled.checked = Some(checked);
        }
    }
    compiled
}

/// The syntax tree, as far as it can be read.
pub fn read(
    name: &str,
    text: &str,
    includes: &mut dyn Includes,
    options: &Options,
    compiled: &mut Compiled,
) -> Program {
    let (sources, diagnostics) = (&mut compiled.sources, &mut compiled.diagnostics);
    let first = preprocess::Options {
        defines: options.defines.clone(),
    };
    let tokens = preprocess(name, text, includes, &first, sources, diagnostics);
    let language = options.language.unwrap_or(match p4_14::is_p4_14(&tokens) {
        true => Language::P4_14,
        false => Language::P4_16,
    });
    match language {
        Language::P4_14 => p4_14::parse(&tokens, sources, diagnostics),
        Language::P4_16 => parse::parse(&tokens, sources, diagnostics),
    }
}
