//! Packets into our own programs: whatever comes in, as many passes, steps and bytes as are allowed come of it and no more, a second run gives the
//! same, and so does a traced one.

use p4::compile::{Options, compile};
use p4::ir::Program;
use p4::source::{IncludeError, Includes};
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use std::sync::{Arc, LazyLock};

const PROGRAMS: &[&str] = &[
    include_str!("../../testdata/p4/checksums.p4"),
    include_str!("../../testdata/p4/crossbar.p4"),
    include_str!("../../testdata/p4/loops.p4"),
    include_str!("../../testdata/p4/psa_copies.p4"),
    include_str!("../../testdata/p4/psa_paths.p4"),
    include_str!("../../testdata/p4/registers.p4"),
    include_str!("../../testdata/p4/replicas.p4"),
    include_str!("../../testdata/p4/stacks.p4"),
    include_str!("../../testdata/p4/unions.p4"),
    include_str!("../../testdata/p4/varbits.p4"),
    include_str!("../../testdata/p4/wire_bump.p4"),
];

static COMPILED: LazyLock<Vec<Arc<Program>>> = LazyLock::new(|| compiled(PROGRAMS));

/// Programs of our own.
pub(crate) fn compiled(texts: &[&str]) -> Vec<Arc<Program>> {
    let compiled = texts.iter().map(|text| {
        let compiled = compile("fuzz.p4", text, &mut Library, &Options::default());
        Arc::new(compiled.program.expect("our own programs compile"))
    });
    compiled.collect()
}

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match name {
            "data.p4i" => Some(include_str!("../../testdata/p4/data.p4i")),
            "rest.p4i" => Some(include_str!("../../testdata/p4/rest.p4i")),
            _ => p4::library::file(name),
        };
        let text = text.ok_or_else(|| format!("there is no {name}"))?;
        Ok((name.to_owned(), text.to_owned()))
    }
}

/// The first byte chooses the program; then port, length and bytes of each packet.
pub fn target(data: &[u8]) {
    let Some((number, mut rest)) = data.split_first() else {
        return;
    };
    let mut packets = Vec::new();
    while let [port, length, behind @ ..] = rest {
        let (bytes, behind) = behind.split_at(behind.len().min(usize::from(*length)));
        packets.push((u32::from(*port), bytes));
        rest = behind;
        if packets.len() == 16 {
            break;
        }
    }
    let program = &COMPILED[usize::from(*number) % COMPILED.len()];
    let first = run(program, &packets, false);
    assert_eq!(first, run(program, &packets, false));
    assert_eq!(first, run(program, &packets, true));
    assert!(first.packets.len() + first.drops.len() <= packets.len() * 4096);
}

fn run(program: &Arc<Program>, packets: &[(u32, &[u8])], traced: bool) -> Collected {
    let environment = Environment::new(Arc::clone(program), Default::default()).expect("fits");
    let environment = Arc::new(environment);
    let engine = Box::new(Interpreter::new(&environment).expect("its externs are known"));
    let config = Config {
        passes: 64,
        ..Config::default()
    };
    let mut pipeline =
        Pipeline::new(&environment, engine, &config).expect("its architecture is known");
    pipeline.set_trace(traced).expect("its externs are known");
    let mut out = Collected::default();
    for (port, bytes) in packets {
        pipeline.process(node::Time::ZERO, *port, bytes, &mut out);
    }
    out
}
