//! P4 programs in Verilog: the packets that STF files expect come out.

use cosim::p4::{Outcome, Rtl};
use p4::compile::{Options, compile};
use p4::library::WithFiles;
use pipeline::architecture::{Config, Pipeline};
use pipeline::context::Context;
use pipeline::control::Control;
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use pipeline::stf;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program that is compiled.
fn environment(program: &Path) -> Result<Arc<Environment>, String> {
    let name = program.display().to_string();
    let text = std::fs::read_to_string(program).expect(&name);
    let folder = program.parent().expect("it is in a folder");
    let compiled = compile(
        &name,
        &text,
        &mut WithFiles(|name: &str| std::fs::read_to_string(folder.join(name)).ok()),
        &Options::default(),
    );
    let program_of = compiled.program.ok_or("it does not compile")?;
    let environment =
        Environment::new(Arc::new(program_of), Default::default()).map_err(|e| e.to_string())?;
    Ok(Arc::new(environment))
}

/// How many expectations a program's test met, or why it is no hardware.
fn run(program: &Path) -> Result<usize, String> {
    let name = program.display().to_string();
    let environment = environment(program)?;
    let engine = Box::new(Rtl::new(&environment));
    let mut pipeline =
        Pipeline::new(&environment, engine, &Config::default()).map_err(|e| e.to_string())?;
    let script = std::fs::read_to_string(program.with_extension("stf")).expect(&name);
    let script = stf::parse(&script).map_err(|_| "its test has faults")?;
    let outcome = stf::run(&script, &mut pipeline);
    match outcome.failures.is_empty() {
        true => Ok(outcome.met),
        false => panic!("{name}: {:#?}", outcome.failures),
    }
}

/// Programs with tests in a folder, or one program.
fn programs(of: &Path) -> Vec<PathBuf> {
    if of.is_file() {
        return vec![of.into()];
    }
    let files = std::fs::read_dir(of)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let mut programs: Vec<PathBuf> = files
        .filter(|path| {
            path.extension().is_some_and(|e| e == "p4") && path.with_extension("stf").exists()
        })
        .collect();
    programs.sort();
    programs
}

/// Our own programs: those of the tests, or of an example.
fn own(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = root.join("examples").join(name);
    if example.exists() {
        example
    } else {
        root.join("testdata/p4").join(name)
    }
}

/// Whether a program can be compiled to something that runs here.
pub fn tools() -> bool {
    let there = |tool: &str| {
        std::process::Command::new(tool)
            .arg("--version")
            .output()
            .is_ok()
    };
    let all = there("verilator") && there("c++");
    if !all {
        println!("skipped: verilator or c++ is not here");
    }
    all
}

/// A sample of the corpus: `.ci/rtl-corpus` runs all of one.
#[test]
fn programs_in_verilog_pass_their_tests() {
    if !tools() {
        return;
    }
    let sample = [
        ("wire_bump.p4", 6),
        ("stacks.p4", 10),
        ("varbits.p4", 9),
        ("registers.p4", 15),
        ("value_sets.p4", 5),
        ("checksums.p4", 11),
        ("matches.p4", 20),
        ("crossbar.p4", 12),
        ("digests.p4", 5),
        ("field_lists.p4", 3),
        ("meters.p4", 14),
        ("psa_copies.p4", 9),
        ("psa_paths.p4", 24),
        ("random.p4", 5),
        ("replicas.p4", 17),
        ("selectors.p4", 6),
        ("wide_requests.p4", 10),
    ];
    for (name, met) in sample {
        assert_eq!(run(&own(name)), Ok(met), "{name}");
    }
}

#[test]
fn what_is_no_hardware_is_told() {
    let refused = [(
        "queue_depths.p4",
        "the program reads the depth of queues, which this hardware has not",
    )];
    for (name, why) in refused {
        let environment = environment(&own(name)).expect(name);
        match verilog::Design::of(&environment, &BUILD) {
            Ok(_) => panic!("{name} is not refused"),
            Err(error) => assert!(error.message.starts_with(why), "{name}: {error}"),
        }
    }
}

/// Paper 002, table 3.2: 65 cycles for l2l3 with 64 bytes.
#[test]
fn an_l2_l3_switch_takes_a_packet_a_cycle() {
    if !tools() {
        return;
    }
    let environment = environment(&own("p4-l2l3/l2l3.p4")).expect("it compiles");
    let control = Control::new(Arc::clone(&environment));
    let entries = std::fs::read_to_string(own("p4-l2l3/entries.txt")).expect("they are there");
    for command in entries.lines().filter(|line| line.starts_with("table")) {
        control.say(command).expect(command);
    }
    let interpreter = Interpreter::new(&environment).expect("it runs");
    let asked =
        Pipeline::new(&environment, Box::new(interpreter), &Config::default()).expect("it runs");
    let mut rtl = Rtl::new(&environment);
    rtl.prepare(asked.path()).expect("it is hardware");
    let context = Context::new(Arc::clone(&environment), 0);
    let mut routed = [0; 64];
    let head = [
        0x02, 0, 0, 0, 0, 0xfe, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x00, 0x45, 0, 0, 0x1c, 0, 1, 0, 0,
        0x40, 0x11, 0x63, 0xc9, 10, 0, 1, 1, 10, 0, 2, 7,
    ];
    routed[..head.len()].copy_from_slice(&head);
    let many: Vec<(u16, &[u8])> = (0..200).map(|_| (0, &routed[..])).collect();
    let passages = rtl.stream(&many, &context).expect("it goes on");
    assert_eq!(passages.len(), 200);
    assert!(
        passages
            .iter()
            .all(|passage| matches!(passage.outcome, Outcome::Sent(2, _))),
        "{:?}",
        passages[0]
    );
    let latency = passages[0].first_out - passages[0].first_in;
    assert!(latency <= 40, "{latency} cycles");
    let each = passages
        .windows(2)
        .map(|two| two[1].last_out - two[0].last_out);
    assert!(
        each.clone().all(|cycles| cycles == 1),
        "{:?}",
        each.collect::<Vec<_>>()
    );
}

/// What `.ci/rtl-corpus` runs: `RTL_CORPUS` is a folder or a program, or several with colons between.
#[test]
#[ignore = "for a corpus beside this one"]
fn a_corpus_that_is_named() {
    let Some(of) = std::env::var_os("RTL_CORPUS") else {
        return;
    };
    let (mut passed, mut failed) = (0, 0);
    let mut refused: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for program in std::env::split_paths(&of).flat_map(|of| programs(&of)) {
        let name = program
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        match std::panic::catch_unwind(|| run(&program)) {
            Ok(Ok(met)) => {
                println!("ok      {name}: {met} met");
                passed += 1;
            }
            Ok(Err(why)) => {
                println!("refused {name}: {why}");
                refused.entry(why).or_default().push(name);
            }
            Err(_) => {
                println!("FAILED  {name}");
                failed += 1;
            }
        }
    }
    let all: usize = refused.values().map(Vec::len).sum();
    println!("{passed} passed, {all} refused, {failed} failed");
    for (why, names) in refused {
        println!("{:4}  {why}\n      {}", names.len(), names.join(", "));
    }
    assert_eq!(failed, 0, "programs whose tests fail");
}

const BUILD: verilog::Options<'static> = verilog::Options {
    name: "dut",
    window: 1024,
    levels: 6,
    optimise: verilog::Optimise::ALL,
    place: &|_| None,
};

/// What Verilator and Yosys say of a program's Verilog, which should be nothing.
fn lint(program: &Path, folder: &Path) -> Result<String, String> {
    let environment = environment(program)?;
    let design = verilog::Design::of(&environment, &BUILD).map_err(|e| e.to_string())?;
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    for (name, text) in cosim::p4::files(&design) {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    let mut told = String::new();
    let verilator = [
        "--lint-only",
        "-Wall",
        "-y",
        ".",
        "--top-module",
        "dut",
        "dut.v",
    ];
    let yosys = [
        "-q",
        "-p",
        "read_verilog *.v; hierarchy -check -top dut; proc; check -assert",
    ];
    for (tool, arguments) in [("verilator", &verilator[..]), ("yosys", &yosys[..])] {
        let output = std::process::Command::new("timeout")
            .args(["300", tool])
            .args(arguments)
            .current_dir(folder)
            .output();
        let Ok(output) = output else {
            println!("skipped: {tool} is not here");
            continue;
        };
        let text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || text.to_lowercase().contains("warning") {
            told += &format!("{tool}: {text}");
        }
    }
    Ok(told)
}

#[test]
fn no_tool_warns_of_what_is_made() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint-sample");
    for name in [
        "wire_bump.p4",
        "varbits.p4",
        "registers.p4",
        "checksums.p4",
        "crossbar.p4",
        "digests.p4",
        "meters.p4",
        "psa_copies.p4",
        "selectors.p4",
        "wide_requests.p4",
    ] {
        assert_eq!(lint(&own(name), &folder), Ok(String::new()), "{name}");
    }
}

#[test]
#[ignore = "for a corpus beside this one"]
fn no_tool_warns_of_a_corpus_that_is_named() {
    let Some(of) = std::env::var_os("RTL_CORPUS") else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint");
    let mut warned = 0;
    for program in std::env::split_paths(&of).flat_map(|of| programs(&of)) {
        if let Ok(told) = lint(&program, &folder)
            && !told.is_empty()
        {
            println!("{}: {told}", program.display());
            warned += 1;
        }
    }
    println!("{warned} programs with warnings");
    assert_eq!(warned, 0, "programs that a tool warns of");
}
