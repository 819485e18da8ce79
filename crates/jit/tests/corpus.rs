//! Our own corpus in the fast engine: the packets that its STF files expect come out.

use jit::Jit;
use p4::compile::{Options, compile};
use p4::source::Includes;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::context::Waiting;
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
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

/// `if` and so many `else if`.
fn chain(length: u32) -> String {
    let branches: String = (0..length)
        .map(|n| {
            let lead = if n == 0 { "" } else { "else " };
            format!("{lead}if (hdr.h.a == {n}) {{ hdr.h.b = {}; }}\n", n * 3 + 1)
        })
        .collect();
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<32> a; bit<32> b; }}
struct headers {{ h_t h; }}
struct none {{ }}
parser P(packet_in p, out headers hdr, inout none m, inout standard_metadata_t s) {{
    state start {{ p.extract(hdr.h); transition accept; }}
}}
control V(inout headers hdr, inout none m) {{ apply {{ }} }}
control I(inout headers hdr, inout none m, inout standard_metadata_t s) {{
    apply {{
        s.egress_spec = 1;
        {branches} else {{ hdr.h.b = 7; }}
    }}
}}
control E(inout headers hdr, inout none m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    )
}

#[test]
fn a_chain_of_thousands_of_else_if_is_no_nesting() {
    let script = "packet 0 0000000000000000
expect 1 0000000000000001
packet 0 00000bb700000000
expect 1 00000bb700002326
packet 0 ffffffff00000000
expect 1 ffffffff00000007
";
    let text = chain(3000);
    let formatted = p4::fmt::format(&text).unwrap();
    assert_eq!(p4::fmt::format(&formatted).unwrap(), formatted);
    for (text, unoptimized, fast) in [(&text, true, false), (&formatted, false, true)] {
        let options = Options {
            unoptimized,
            ..Options::default()
        };
        let compiled = compile("chain.p4", text, &mut Beside(Path::new("")), &options);
        let program = compiled.program.expect("it is valid");
        let environment = Environment::new(Arc::new(program), Default::default()).unwrap();
        let environment = Arc::new(environment);
        let engine: Box<dyn Engine> = if fast {
            Box::new(Jit::new(&environment).unwrap())
        } else {
            Box::new(Interpreter::new(&environment).unwrap())
        };
        let mut pipeline = Pipeline::new(&environment, engine, &Config::default()).unwrap();
        let outcome = stf::run(&stf::parse(script).unwrap(), &mut pipeline);
        assert_eq!((outcome.met, outcome.failures.len()), (3, 0));
    }
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
