//! Pipelines of programs, among them those in testdata/p4.

use node::random::Random;
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
    with(name, text, &Options::default())
}

/// The same, compiled with options.
pub fn with(name: &str, text: &str, options: &Options) -> (Pipeline, Compiled) {
    let compiled = compile(name, text, &mut Folder, options);
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

/// The numbers below `count` in a random order.
pub fn order(random: &mut Random, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, random.index(at + 1));
    }
    order
}
