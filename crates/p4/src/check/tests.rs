//! Rules one by one: what keeps them is accepted, what breaks them is refused for that reason.

mod found;
mod rules;

use super::{Checked, check};
use crate::ast::*;
use crate::diagnostic::{Diagnostics, Severity};
use crate::preprocess::{Options, preprocess};
use crate::source::{IncludeError, Includes, Sources};
use crate::types::{Constant, Type};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        match crate::library::file(name) {
            Some(text) => Ok((name.to_string(), text.to_string())),
            None => Err("no such file".into()),
        }
    }
}

fn run(text: &str) -> (Checked, Diagnostics, Sources) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options::default();
    let tokens = preprocess(
        "t.p4",
        text,
        &mut Library,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let program = crate::parse::parse(&tokens, &sources, &mut diagnostics);
    if diagnostics.failed() {
        return (Checked::default(), diagnostics, sources);
    }
    let checked = check(program, &mut diagnostics);
    (checked, diagnostics, sources)
}

fn reported(diagnostics: &Diagnostics, sources: &Sources) -> String {
    let list: Vec<String> = diagnostics
        .sorted()
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| d.render(sources))
        .collect();
    list.join("\n")
}

fn accepted(text: &str) -> Checked {
    let (checked, diagnostics, sources) = run(text);
    assert!(
        !diagnostics.failed(),
        "refused: {text}\n{}",
        reported(&diagnostics, &sources)
    );
    checked
}

/// What is wrong with the answer, where the program should be refused for one reason alone, or accepted.
fn fault(text: &str, wanted: Option<&str>) -> Option<String> {
    let (_, diagnostics, sources) = run(text);
    let mut codes: Vec<&str> = diagnostics
        .sorted()
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| d.code)
        .collect();
    codes.dedup();
    let good = match wanted {
        Some(code) => codes == [code],
        None => codes.is_empty(),
    };
    (!good).then(|| {
        format!(
            "wanted {wanted:?}, got {codes:?}\n{}",
            reported(&diagnostics, &sources)
        )
    })
}

fn refused(text: &str, code: &str) {
    assert_eq!(fault(text, Some(code)), None);
}

/// All programs are accepted.
fn all_accepted(texts: &[&str], program: fn(&str) -> String) {
    let faults: Vec<String> = texts
        .iter()
        .filter_map(|text| fault(&program(text), None))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// All programs are refused, each for its reason.
fn all_refused(texts: &[(&str, &str)], program: fn(&str) -> String) {
    let faults: Vec<String> = texts
        .iter()
        .filter_map(|(text, code)| fault(&program(text), Some(code)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Declarations that the bodies below use.
const WORLD: &str = "#include <core.p4>
    enum E { A, B }
    enum bit<8> N { X = 1, Y = 2 }
    type bit<8> New;
    header H { bit<8> a; bit<16> b; }
    header V { bit<8> n; varbit<64> v; }
    header_union U { H h; V v; }
    struct S { bit<8> x; bool y; }
    struct G<T> { T t; }
    extern Box<T> { Box(); Box(T first); T get(); void set(in T value); void set(in T value, in bit<8> times); }
    extern void f<T>(in T value);
    extern T same<T>(in T value);
    extern void take(in bit<8> first, inout bit<8> second);
    extern void give(out bit<8> value);
    extern bit<8> number(in bit<8> x, in bit<8> y = 3);
    const bit<8> K = 5;
    ";

/// A program whose control's `apply` has these statements.
fn body(statements: &str) -> String {
    format!(
        "{WORLD} control c(inout bit<8> b, inout bit<16> w, inout int<8> i, inout H h, inout H[4] hs, inout U u, inout S s, in bool q) {{
            action act(bit<8> d) {{ b = d; }}
            table t {{ key = {{ b : exact; }} actions = {{ act; NoAction; }} }}
            apply {{ {statements} }}
        }}"
    )
}

/// A program with these declarations.
fn top(declarations: &str) -> String {
    format!("{WORLD} {declarations}")
}
