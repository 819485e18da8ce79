//! P4 programs in Verilog: the packets that STF files expect come out.

use cosim::p4::{Outcome, Rtl};
use p4::compile::{Options, compile};
use p4::library::WithFiles;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::context::Context;
use pipeline::control::Control;
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use pipeline::stf;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verilog::map::TableKind;

/// A program that is compiled.
pub fn environment(program: &Path) -> Result<Arc<Environment>, String> {
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
    run_with(program, BUILD.width)
}

/// The same with words of so many bits.
fn run_with(program: &Path, width: u32) -> Result<usize, String> {
    let name = program.display().to_string();
    let environment = environment(program)?;
    let engine = Box::new(Rtl::new(&environment).with_width(width));
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
pub fn own(name: &str) -> PathBuf {
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
fn sample(programs: &[(&str, usize)]) {
    if !tools() {
        return;
    }
    for &(name, met) in programs {
        assert_eq!(run(&own(name)), Ok(met), "{name}");
    }
}

#[test]
fn programs_in_verilog_pass_their_tests() {
    sample(&[
        ("wire_bump.p4", 6),
        ("stacks.p4", 10),
        ("varbits.p4", 9),
        ("value_sets.p4", 5),
        ("matches.p4", 20),
        ("crossbar.p4", 12),
        ("wide_requests.p4", 10),
    ]);
}

#[test]
fn programs_with_externs_in_verilog_pass_their_tests() {
    sample(&[
        ("registers.p4", 15),
        ("double_writes.p4", 8),
        ("checksums.p4", 11),
        ("payload_sums.p4", 28),
        ("digests.p4", 5),
        ("field_lists.p4", 3),
        ("meters.p4", 14),
        ("psa_copies.p4", 9),
        ("psa_paths.p4", 24),
        ("random.p4", 5),
        ("replicas.p4", 19),
        ("selectors.p4", 6),
    ]);
}

/// Headers over several words and payload in the middle of one, copies, packets that begin anew.
#[test]
fn words_may_have_fewer_bits() {
    if !tools() {
        return;
    }
    for (name, met, width) in [
        ("stacks.p4", 10, 64),
        ("varbits.p4", 9, 64),
        ("checksums.p4", 11, 128),
        ("varbits.p4", 9, 256),
        ("replicas.p4", 19, 64),
        ("psa_paths.p4", 24, 64),
    ] {
        assert_eq!(run_with(&own(name), width), Ok(met), "{name}, {width} bits");
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
    let text = std::fs::read_to_string(own("payload_sums.p4")).expect("it is there");
    let text = text.replace("{ h.head.op,", "{ h.head.op[3:0],");
    let Err(error) = verilog::Design::of(&of_text(&text), &BUILD) else {
        panic!("data behind half a byte are not refused");
    };
    assert!(
        error
            .message
            .contains("has no whole bytes: it would shift the rest"),
        "{error}"
    );
}

#[test]
fn a_wire_names_its_value_and_the_line_that_wants_it() {
    let name = own("checksums.p4");
    let text = std::fs::read_to_string(&name).expect("it is there");
    let folder = name.parent().expect("it is in a folder");
    let compiled = compile(
        "checksums.p4",
        &text,
        &mut WithFiles(|name: &str| std::fs::read_to_string(folder.join(name)).ok()),
        &Options::default(),
    );
    let program = Arc::new(compiled.program.expect("it is valid"));
    let environment = Arc::new(Environment::new(program, Default::default()).expect("it is small"));
    let place = |span: p4::source::Span| {
        let at = compiled.sources.location(span.start)?;
        Some(format!("{}:{}", at.file, at.line))
    };
    let options = verilog::Options {
        place: &place,
        ..BUILD
    };
    let design = verilog::Design::of(&environment, &options).expect("it is hardware");
    let pipeline = &design.files[1].1;
    // The header is read in line 9, the first checksum verified in 13.
    for told in ["  // h.sum.a, checksums.p4:9\n", ";  // checksums.p4:13\n"] {
        assert!(pipeline.contains(told), "{told}: {pipeline}");
    }
    let design = verilog::Design::of(&environment, &BUILD).expect("it is hardware");
    assert!(!design.files[1].1.contains("checksums.p4"));
}

/// One packet behind the other, so that each is in the pipeline with others, as a test file's one by one.
#[test]
fn packets_back_to_back_fare_as_one_by_one() {
    if !tools() {
        return;
    }
    for name in ["payload_sums.p4", "varbits.p4", "stacks.p4", "unions.p4"] {
        let environment = environment(&own(name)).expect("it compiles");
        let script = std::fs::read_to_string(own(name).with_extension("stf")).expect(name);
        let packets: Vec<Vec<u8>> = script
            .lines()
            .filter_map(|line| line.strip_prefix("packet 0 "))
            .map(|hex| {
                let hex: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
                let (pairs, _) = hex.as_chunks::<2>();
                let bytes = pairs
                    .iter()
                    .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16));
                bytes.collect::<Result<_, _>>().expect("hex")
            })
            .collect();
        let interpreter = Box::new(Interpreter::new(&environment).expect("it runs"));
        let mut asked =
            Pipeline::new(&environment, interpreter, &Config::default()).expect("it runs");
        let mut rtl = Rtl::new(&environment);
        rtl.prepare(asked.path()).expect("it is hardware");
        let context = Context::new(Arc::clone(&environment), 0);
        let many: Vec<(u16, &[u8])> = packets.iter().map(|packet| (0, &packet[..])).collect();
        let passages = rtl.stream(&many, &context).expect("it goes on");
        assert!(
            passages.len() == packets.len() && packets.len() >= 4,
            "{name}"
        );
        for (passage, packet) in passages.iter().zip(&packets) {
            let mut out = Collected::default();
            asked.process(node::Time::ZERO, 0, packet, &mut out);
            let left = out
                .packets
                .first()
                .map(|(port, bytes)| (*port as u16, bytes.to_vec()));
            let got = match &passage.outcome {
                Outcome::Sent(port, bytes) => Some((*port, bytes.clone())),
                Outcome::Dropped(_) => None,
            };
            assert_eq!(got, left, "{name}: {packet:02x?}");
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
    ..verilog::Options::DEFAULT
};

/// What Verilator and Yosys say of a program's Verilog with words of so many bits, which should be nothing.
fn lint(program: &Path, width: u32, folder: &Path) -> Result<String, String> {
    lint_with(program, &verilog::Options { width, ..BUILD }, folder)
}

/// The same of Verilog with other options.
fn lint_with(
    program: &Path,
    options: &verilog::Options<'_>,
    folder: &Path,
) -> Result<String, String> {
    let environment = environment(program)?;
    let design = verilog::Design::of(&environment, options).map_err(|e| e.to_string())?;
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
        // timeout(1) says so by this when there is no such program.
        let Some(output) = output
            .ok()
            .filter(|output| output.status.code() != Some(127))
        else {
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
fn a_compiled_program_fits_between_the_ports_of_a_switch() {
    if !tools() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint-switch");
    assert_eq!(lint(&own("matches.p4"), 512, &folder), Ok(String::new()));
    let rtl = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl");
    let mut verilator = std::process::Command::new("verilator");
    verilator.args(["--lint-only", "-Wall", "-DP4_SWITCH_PROGRAM=dut", "-y", "."]);
    for block in ["p4_switch", "mac10g", "timing_nic", "p4"] {
        verilator.arg("-y").arg(rtl.join(block).join("rtl"));
    }
    verilator.args(["--top-module", "p4_switch4"]);
    verilator.arg(rtl.join("p4_switch/rtl/p4_switch4.v"));
    let output = verilator.current_dir(&folder).output().expect("it is here");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
}

#[test]
fn exact_matches_in_a_cam_are_those_of_the_interpreter() {
    if !tools() {
        return;
    }
    let text = ONE_TABLE.replace("size = 40", "size = 12");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint-cam");
    let cam = verilog::Options { cam: true, ..BUILD };
    assert_eq!(
        lint_with(&own("matches.p4"), &cam, &folder),
        Ok(String::new())
    );
    let environment = of_text(&text);
    let engine = Box::new(Rtl::new(&environment).with_cam());
    let config = Config::default();
    let mut hardware = Pipeline::new(&environment, engine, &config).expect("it is hardware");
    let same = of_text(&text);
    let interpreter = Box::new(Interpreter::new(&same).expect("it runs"));
    let mut asked = Pipeline::new(&same, interpreter, &config).expect("it runs");
    let controls = [Control::new(environment), Control::new(same)];
    let say = |line: &str| {
        let answers = controls.each_ref().map(|control| control.say(line).is_ok());
        assert_eq!(answers[0], answers[1], "{line}");
        answers[0]
    };
    // Keys that differ in each part of nine bits, and in one alone.
    let key_of = |number: u64| (number % 6) * 0x0804_0201 + (number / 6) * 0x0010_0000;
    let mut random = node::random::Random::new(5);
    let (mut there, mut hits) = (std::collections::BTreeSet::new(), 0);
    for _ in 0..400 {
        let key = key_of(random.below(30));
        let port = 1 + random.below(8);
        match random.below(4) {
            0 if say(&format!("table add t {key} do to {port}")) => {
                there.insert(key);
            }
            1 if there.remove(&key) => assert!(say(&format!("table rm t {key}"))),
            2 if there.contains(&key) => {
                assert!(say(&format!("table set t {key} do to {port}")));
            }
            _ => {}
        }
        let packet = (key_of(random.below(30)) as u32).to_be_bytes();
        let [one, two] = [&mut hardware, &mut asked].map(|pipeline| {
            let mut out = Collected::default();
            pipeline.process(node::Time::ZERO, 0, &packet, &mut out);
            out
        });
        assert_eq!(one, two, "{packet:02x?}");
        hits += usize::from(one.packets[0].0 != 0);
    }
    assert!(hits > 50, "{hits}");
}

#[test]
fn no_tool_warns_of_what_is_made() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint-sample");
    for (name, width) in [
        ("wire_bump.p4", 512),
        ("varbits.p4", 64),
        ("registers.p4", 512),
        ("checksums.p4", 256),
        ("crossbar.p4", 512),
        ("payload_sums.p4", 512),
        ("unused.p4", 512),
        ("digests.p4", 512),
        ("meters.p4", 512),
        ("psa_copies.p4", 128),
        ("selectors.p4", 512),
        ("wide_requests.p4", 512),
    ] {
        assert_eq!(
            lint(&own(name), width, &folder),
            Ok(String::new()),
            "{name}"
        );
    }
    let counting = verilog::Options {
        performance: true,
        ..BUILD
    };
    for name in ["unused.p4", "matches.p4", "psa_copies.p4"] {
        assert_eq!(
            lint_with(&own(name), &counting, &folder),
            Ok(String::new()),
            "{name} with counters"
        );
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
        if let Ok(told) = lint(&program, BUILD.width, &folder)
            && !told.is_empty()
        {
            println!("{}: {told}", program.display());
            warned += 1;
        }
    }
    println!("{warned} programs with warnings");
    assert_eq!(warned, 0, "programs that a tool warns of");
}

/// A table of 40 entries with a key of 32 bits.
const ONE_TABLE: &str = "#include <core.p4>
#include <v1model.p4>
header key_t { bit<32> k; }
struct headers { key_t key; }
struct metadata { }
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { b.extract(h.key); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    table t { key = { h.key.k: exact; } actions = { to; } default_action = to(0); size = 40; }
    apply { t.apply(); }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h.key); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// A program that is valid, by its text.
pub fn of_text(text: &str) -> Arc<Environment> {
    of_text_with(text, Default::default())
}

/// The same on a device that chooses otherwise.
pub fn of_text_with(text: &str, options: pipeline::environment::Options) -> Arc<Environment> {
    let compiled = compile(
        "one_table.p4",
        text,
        &mut WithFiles(|name: &str| std::fs::read_to_string(own(name)).ok()),
        &Options::default(),
    );
    let program = Arc::new(compiled.program.expect("it is valid"));
    Arc::new(Environment::new(program, options).expect("it is small"))
}

/// Such a table with another kind of match, and with other sizes.
fn table_of(kind: &str, size: u32) -> Arc<Environment> {
    let size = format!("size = {size}");
    of_text(&ONE_TABLE.replace("exact", kind).replace("size = 40", &size))
}

/// A table whose rows are in three banks: the first row that matches wins, whichever bank it is in.
#[test]
fn rows_in_several_banks_are_in_one_order() {
    if !tools() {
        return;
    }
    let mut ports = Vec::new();
    for hardware in [false, true] {
        let environment = table_of("ternary", 600);
        let control = Control::new(Arc::clone(&environment));
        for row in 0..600 {
            let pattern = match row {
                // Keys of rows behind them, in their own bank and in others.
                20 => "0x1e&&&0x1f".into(),
                300 => "0x1d&&&0x1f".into(),
                599 => "0&&&0".into(),
                _ => format!("{row}&&&0x3ff"),
            };
            let command = format!(
                "table add t {pattern} priority {} do to {}",
                1000 - row,
                row % 500 + 1
            );
            control.say(&command).expect(&command);
        }
        let engine: Box<dyn Engine> = match hardware {
            true => Box::new(Rtl::new(&environment)),
            false => Box::new(Interpreter::new(&environment).expect("it runs")),
        };
        let mut pipeline =
            Pipeline::new(&environment, engine, &Config::default()).expect("it runs");
        let ask = |key: u32| {
            let mut out = Collected::default();
            pipeline.process(node::Time::ZERO, 0, &key.to_be_bytes(), &mut out);
            out.packets[0].0
        };
        ports.push((0..1030).map(ask).collect::<Vec<_>>());
    }
    // Row 255 is the last of the first bank, 254 is hidden by row 20, 541 by row 300; 700 is found by the last row alone, 1024 is 0 in ten bits.
    let of = |key: usize| ports[1][key];
    assert_eq!(
        [
            of(255),
            of(256),
            of(254),
            of(541),
            of(598),
            of(700),
            of(1024)
        ],
        [256, 257, 21, 301, 99, 100, 1]
    );
    assert!(ports[0] == ports[1], "{ports:?}");
}

#[test]
fn tables_that_no_chip_has_are_told() {
    let warned = |kind, size| match verilog::Design::of(&table_of(kind, size), &BUILD) {
        Ok(design) => design.warnings,
        Err(error) => vec![format!("refused: {}", error.message)],
    };
    assert_eq!(warned("ternary", 1000), Vec::<String>::new());
    let told = warned("ternary", 10_000);
    assert_eq!(
        told,
        [
            "table `I.t`: 10000 rows of 32 bits, compared at once, take 660000 flip-flops, more than most chips have; a smaller `size`, or matches that are exact or of the longest prefix, take less"
        ]
    );
    let told = warned("ternary", 200_000);
    assert!(told[0].starts_with("refused: table `I.t`: 200000 rows of 32 bits, compared at once, take 13200000 flip-flops, more than 8388608, "), "{told:?}");
    let told = warned("exact", 1 << 23);
    assert!(told[0].starts_with("refused: table `I.t` would have 16777224 rows, more than the 16777215 that can be written; "), "{told:?}");
}

/// Keys of 32 bits that have the same places in each way: hashes are sums of bits, so that sums of keys have sums of hashes.
fn of_the_same_places(hashes: &[Vec<Vec<u64>>]) -> Vec<u32> {
    let hash = |key: u32| {
        let bits = hashes
            .iter()
            .flatten()
            .enumerate()
            .map(|(bit, mask)| u64::from((u64::from(key) & mask[0]).count_ones() & 1) << bit);
        bits.sum::<u64>()
    };
    let mut basis: Vec<(u64, u32)> = Vec::new();
    let mut keys = vec![0];
    for bit in 0..32 {
        let (mut sum, mut key) = (hash(1 << bit), 1 << bit);
        for (other, with) in &basis {
            if sum & (1 << other.ilog2()) != 0 {
                (sum, key) = (sum ^ other, key ^ with);
            }
        }
        match sum {
            0 => keys.extend(keys.clone().iter().map(|other| other ^ key)),
            _ => basis.push((sum, key)),
        }
        if keys.len() >= 16 {
            break;
        }
    }
    assert!(keys.iter().all(|key| hash(*key) == hash(keys[0])));
    keys
}

#[test]
fn entries_without_a_hashed_place_are_found_in_the_rows_beside() {
    if !tools() {
        return;
    }
    let environment = of_text(ONE_TABLE);
    let design = verilog::Design::of(&environment, &BUILD).expect("it is hardware");
    let (hashes, spare) = match &design.map.tables[0].kind {
        TableKind::Exact { hashes, spare, .. } => (hashes.clone(), *spare),
        other => panic!("{other:?}"),
    };
    let keys = of_the_same_places(&hashes);
    assert_eq!((keys.len(), spare), (16, 8));
    let control = Control::new(Arc::clone(&environment));
    for (number, key) in keys.iter().enumerate() {
        let command = format!("table add t {key} do to {}", number + 1);
        control.say(&command).expect(&command);
    }
    let engine = Box::new(Rtl::new(&environment));
    let mut pipeline = Pipeline::new(&environment, engine, &Config::default()).expect("it runs");
    let mut found = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let mut out = Collected::default();
        pipeline.process(node::Time::ZERO, 0, &key.to_be_bytes(), &mut out);
        let port = out.packets[0].0;
        assert!(
            port == 0 || port == number as u32 + 1,
            "{key} has another's port, {port}"
        );
        found.extend((port > 0).then_some(*key));
    }
    // Four hashed places, and the rows beside them.
    assert_eq!(found, keys[..12]);
    let told = environment.messages.drain();
    let told: Vec<&str> = told.iter().map(|message| &*message.text).collect();
    assert!(told[0].contains("4 entries have no row"), "{told:?}");
}
