//! Our own corpus in the fast engine: the packets that its STF files expect come out.

use jit::Jit;
use p4::compile::{Options, compile};
use p4::source::Includes;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::context::Waiting;
use pipeline::environment::Environment;
use pipeline::stf;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Beside<'a>(&'a Path);

impl Includes for Beside<'_> {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), String> {
        let text = match std::fs::read_to_string(self.0.join(name)) {
            Ok(text) => text,
            Err(_) => p4::library::file(name).ok_or("no such file")?.into(),
        };
        Ok((name.into(), text))
    }
}

/// How many expectations a program's test met.
fn run(program: &Path) -> u64 {
    let name = program.display().to_string();
    let text = std::fs::read_to_string(program).expect(&name);
    let folder = program.parent().expect("it is in a folder");
    let compiled = compile(&name, &text, &mut Beside(folder), &Options::default());
    let program_of = compiled.program.expect(&name);
    let environment = Environment::new(Arc::new(program_of), Default::default()).expect(&name);
    let environment = Arc::new(environment);
    let engine = Box::new(Jit::new(&environment).expect(&name));
    let mut pipeline = Pipeline::new(&environment, engine, &Config::default()).expect(&name);
    let script = std::fs::read_to_string(program.with_extension("stf")).expect(&name);
    let script = stf::parse(&script).unwrap_or_else(|_| panic!("{name}: its test has faults"));
    let outcome = stf::run(&script, &mut pipeline);
    assert!(
        outcome.failures.is_empty(),
        "{name}: {:?}",
        outcome.failures
    );
    outcome.met as u64
}

#[test]
fn the_corpus_passes_in_the_fast_engine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("testdata/p4")];
    let examples = std::fs::read_dir(root.join("examples")).expect("they are here");
    folders.extend(examples.map(|entry| entry.expect("an entry").path()));
    let (mut programs, mut met) = (0, 0);
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let files = std::fs::read_dir(folder).expect("a folder");
        let files = files.map(|entry| entry.expect("an entry").path());
        let tested = |path: &PathBuf| {
            path.extension().is_some_and(|e| e == "p4") && path.with_extension("stf").exists()
        };
        for program in files.filter(tested) {
            met += run(&program);
            programs += 1;
        }
    }
    assert!(
        programs >= 20 && met >= 200,
        "{programs} programs, {met} expectations"
    );
}

#[test]
fn the_fast_engine_sees_what_waits_at_a_port() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/p4");
    let text = std::fs::read_to_string(folder.join("queue_depths.p4")).unwrap();
    let compiled = compile("q.p4", &text, &mut Beside(&folder), &Options::default());
    let environment = Environment::new(Arc::new(compiled.program.unwrap()), Default::default());
    let environment = Arc::new(environment.unwrap());
    let engine = Box::new(Jit::new(&environment).unwrap());
    let mut pipeline = Pipeline::new(&environment, engine, &Config::default()).unwrap();
    assert!(pipeline.reads_queues());
    let (packets, time) = (7, 300);
    pipeline.set_waiting(3, Waiting { packets, time });
    let mut out = Collected::default();
    for port in [3, 2] {
        pipeline.process(node::Time::ZERO, 0, &[port, 0, 0, 0], &mut out);
    }
    let expected = [(3, vec![3, 7, 7, 44]), (2, vec![2, 0, 0, 0])];
    assert_eq!(out.packets, expected);
}
