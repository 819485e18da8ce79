//! Pipelines of programs, among them those in testdata/p4.

use p4::compile::{Compiled, Options, compile};
use p4::source::{IncludeError, Includes};
use pipeline::architecture::{Config, Pipeline};
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use std::path::Path;
use std::sync::Arc;

struct Folder;

impl Includes for Folder {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match p4::library::file(name) {
            Some(text) => text.to_string(),
            None => read(name),
        };
        Ok((name.to_string(), text))
    }
}

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/p4");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A pipeline of a file in testdata/p4.
pub fn pipeline(name: &str) -> (Pipeline, Compiled) {
    of(name, &read(name))
}

/// A pipeline as the program begins, in the interpreter.
pub fn of(name: &str, text: &str) -> (Pipeline, Compiled) {
    let compiled = compile(name, text, &mut Folder, &Options::default());
    let all = compiled.diagnostics.sorted();
    let told: String = all
        .iter()
        .map(|one| one.render(&compiled.sources))
        .collect();
    let program = compiled.program.clone().expect(&told);
    let environment = Environment::new(Arc::new(program), Default::default()).unwrap();
    let environment = Arc::new(environment);
    let engine = Box::new(Interpreter::new(&environment).unwrap());
    let pipeline = Pipeline::new(&environment, engine, &Config::default()).unwrap();
    (pipeline, compiled)
}
