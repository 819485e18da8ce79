//! STF scripts: faults with their lines, or commands that run to their end on one of our own programs, whatever they say.

use crate::pipelines::compiled;
use p4::ir::Program;
use pipeline::architecture::{Config, Pipeline};
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use pipeline::stf;
use std::sync::{Arc, LazyLock};

/// Between them they have all that a script can name.
const PROGRAMS: &[&str] = &[
    include_str!("../../testdata/p4/digests.p4"),
    include_str!("../../testdata/p4/matches.p4"),
    include_str!("../../testdata/p4/meters.p4"),
    include_str!("../../testdata/p4/registers.p4"),
    include_str!("../../testdata/p4/replicas.p4"),
    include_str!("../../testdata/p4/selectors.p4"),
    include_str!("../../testdata/p4/value_sets.p4"),
];

static COMPILED: LazyLock<Vec<Arc<Program>>> = LazyLock::new(|| compiled(PROGRAMS));

/// The first byte, a letter from `a`, chooses the program; the rest is the script.
pub fn target(data: &[u8]) {
    let Some((number, script)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(script) else {
        return;
    };
    let lines = text.lines().count() as u32;
    let script = match stf::parse(text) {
        Ok(script) => script,
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!((1..=lines).contains(&fault.line) && !fault.message.is_empty());
            }
            return;
        }
    };
    let program = &COMPILED[usize::from(number.wrapping_sub(b'a')) % COMPILED.len()];
    let environment = Environment::new(Arc::clone(program), Default::default()).expect("fits");
    let environment = Arc::new(environment);
    let engine = Box::new(Interpreter::new(&environment).expect("its externs are known"));
    let config = Config {
        passes: 64,
        ..Config::default()
    };
    let mut pipeline =
        Pipeline::new(&environment, engine, &config).expect("its architecture is known");
    let outcome = stf::run(&script, &mut pipeline);
    for finding in outcome.failures {
        assert!(finding.line <= lines && !finding.message.is_empty());
    }
}
