//! Our own corpus in the fast engine: the packets that its STF files expect come out.

use jit::Jit;
use p4::compile::{Options, compile};
use p4::library::WithFiles;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::context::Waiting;
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use pipeline::stf;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[path = "../examples/own_extern.rs"]
#[expect(dead_code, reason = "its main is for the command line")]
mod own_extern;

/// How many expectations a program's test met.
fn run(program: &Path) -> u64 {
    let name = program.display().to_string();
    let text = std::fs::read_to_string(program).expect(&name);
    let folder = program.parent().expect("it is in a folder");
    let compiled = compile(
        &name,
        &text,
        &mut WithFiles(|name: &str| std::fs::read_to_string(folder.join(name)).ok()),
        &Options::default(),
    );
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
        let compiled = compile("chain.p4", text, &mut WithFiles(|_: &str| None), &options);
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
    let compiled = compile(
        "q.p4",
        &text,
        &mut WithFiles(|name: &str| std::fs::read_to_string(folder.join(name)).ok()),
        &Options::default(),
    );
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

const OWN: &str = include_str!("../examples/own_extern.p4");

/// What comes out for each of some sources, of a program with externs of its own.
fn with_own_externs(fast: bool) -> Vec<Option<Vec<u8>>> {
    let mut pipeline = own_extern::load(OWN, own_extern::registry(), fast).unwrap();
    let sources = [
        0x0a00_0001_u32,
        0x0a00_0007,
        0x0a00_0001,
        0x0a00_0001,
        0x0a00_0001,
    ];
    let sent = sources.map(|source| {
        let mut packet = source.to_be_bytes().to_vec();
        packet.extend([0; 5]);
        let mut out = Collected::default();
        pipeline.process(node::Time::ZERO, 0, &packet, &mut out);
        out.packets.pop().map(|(_, bytes)| bytes)
    });
    sent.into()
}

#[test]
fn externs_of_the_users_own_keep_state_in_both_engines() {
    let seen = |source: u32, times: u32, ones: u8| {
        let parts = [&source.to_be_bytes()[..], &times.to_be_bytes(), &[ones]];
        Some(parts.concat())
    };
    let wanted = [
        seen(0x0a00_0001, 1, 3),
        seen(0x0a00_0007, 1, 5),
        seen(0x0a00_0001, 2, 3),
        seen(0x0a00_0001, 3, 3),
        None,
    ];
    assert_eq!(with_own_externs(false), wanted);
    assert_eq!(with_own_externs(true), wanted);
}

#[test]
fn values_of_every_type_and_direction_reach_an_extern_and_come_back() {
    use p4::ir::Ty;
    use p4::value::Bits;
    use pipeline::externs::registry::{Method, Registry, Signature};
    let signature = Signature::default()
        .input(Ty::Bits(100))
        .inout(Ty::Signed(8))
        .input(Ty::Bool)
        .input(Ty::Bits(32))
        .input(Ty::Bits(8))
        .input(Ty::Bits(16))
        .output(Ty::Bool)
        .returns(Ty::Bits(100));
    let method = Method::new(signature, |call| {
        assert_eq!(
            (call.number(3), call.number(4), call.number(5)),
            (1, 7, 0x1234)
        );
        let sum = call.bits(0).unsigned() + 1_u8;
        call.give_bits(2, &Bits::new(100, sum));
        call.give(0, call.number(1).wrapping_add(1));
        call.give(1, call.number(2) ^ 1);
    });
    let registry = Registry::default().function("mix", method);
    let declared = "enum kind { a, b } struct pair { bit<8> x; bit<16> y; }
        extern bit<100> mix(in bit<100> wide, inout int<8> sign, in bool flag, in kind k, in pair p, out bool other);";
    let text = OWN
        .replace("extern bit<8> popcount(in bit<32> x);", declared)
        .replace("bit<8> ones; }", "bit<100> wide; int<8> sign; bool other; bit<3> rest; }")
        .replace("sources.add(h.seen.source, h.seen.times);", "")
        .replace("CountMin<bit<32>>(4, 1024) sources;", "")
        .replace(
            "h.seen.ones = popcount(h.seen.source);",
            "h.seen.wide = mix(h.seen.wide, h.seen.sign, h.seen.source == 0, kind.b, { 7, 0x1234 }, h.seen.other);",
        );
    for fast in [false, true] {
        let mut pipeline = own_extern::load(&text, registry.clone(), fast).unwrap();
        let mut packet = vec![0; 8];
        // 100 bits that are all set but the last, then -1, and four bits of which the first is `other`.
        packet.extend([0xff; 12]);
        packet.extend([0xef, 0xf0]);
        let mut out = Collected::default();
        pipeline.process(node::Time::ZERO, 0, &packet, &mut out);
        let mut wanted = vec![0; 8];
        wanted.extend([0xff; 12]);
        wanted.extend([0xf0, 0x00]);
        assert_eq!(out.packets, [(1, wanted)], "fast: {fast}");
    }
}

#[test]
fn externs_without_or_with_another_implementation_are_named() {
    use p4::ir::Ty;
    use pipeline::externs::registry::{Method, Registry, Signature};
    let refused = |registry: Registry, text: &str| {
        let told = [false, true].map(
            |fast| match own_extern::load(text, registry.clone(), fast) {
                Ok(_) => panic!("it is not refused"),
                Err(error) => error.to_string(),
            },
        );
        assert_eq!(told[0], told[1]);
        told[0].clone()
    };
    let told = refused(Registry::default(), OWN);
    assert!(
        told.starts_with(
            "`I.sources.add` of the extern `CountMin` with 1 argument(s) has no implementation here"
        ),
        "{told}"
    );
    let told = refused(
        Registry::default(),
        &OWN.replace("sources.add(h.seen.source, h.seen.times);", ""),
    );
    assert!(
        told.starts_with("the extern function `popcount` with 1"),
        "{told}"
    );
    let wrong = Method::new(
        Signature::default()
            .input(Ty::Bits(32))
            .output(Ty::Bits(16)),
        |_| (),
    );
    let told = refused(own_extern::registry().function("popcount", wrong), OWN);
    assert_eq!(
        told,
        "`popcount` is called as (bit<32>) -> (bit<8>), and its implementation in Rust is (bit<32>) -> (bit<16>)"
    );
    let told = refused(
        own_extern::registry(),
        &OWN.replace("(4, 1024)", "(0, 1024)"),
    );
    assert_eq!(
        told,
        "`I.sources`, a `CountMin`, cannot be made: `rows` is 1 to 1048576"
    );
}
