//! P4 programs in Verilog: the packets that STF files expect come out.

use cosim::p4::Rtl;
use p4::compile::{Options, compile};
use p4::source::{IncludeError, Includes};
use pipeline::architecture::{Config, Pipeline};
use pipeline::environment::Environment;
use pipeline::stf;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Beside<'a>(&'a Path);

impl Includes for Beside<'_> {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match std::fs::read_to_string(self.0.join(name)) {
            Ok(text) => text,
            Err(_) => p4::library::file(name).ok_or("no such file")?.into(),
        };
        Ok((name.into(), text))
    }
}

/// How many expectations a program's test met, or why it is no hardware.
fn run(program: &Path) -> Result<usize, String> {
    let name = program.display().to_string();
    let text = std::fs::read_to_string(program).expect(&name);
    let folder = program.parent().expect("it is in a folder");
    let compiled = compile(&name, &text, &mut Beside(folder), &Options::default());
    let program_of = compiled.program.ok_or("it does not compile")?;
    let environment = Environment::new(Arc::new(program_of), Default::default()).map_err(|e| e.to_string())?;
    let environment = Arc::new(environment);
    let engine = Box::new(Rtl::new(&environment));
    let mut pipeline = Pipeline::new(&environment, engine, &Config::default()).map_err(|e| e.to_string())?;
    let script = std::fs::read_to_string(program.with_extension("stf")).expect(&name);
    let script = stf::parse(&script).map_err(|_| "its test has faults")?;
    let outcome = stf::run(&script, &mut pipeline);
    match outcome.failures.is_empty() {
        true => Ok(outcome.met),
        false => panic!("{name}: {:#?}", outcome.failures),
    }
}

#[test]
fn one_program() {
    let Some(program) = std::env::var_os("P4") else {
        return;
    };
    println!("{:?}", run(&PathBuf::from(program)));
}
