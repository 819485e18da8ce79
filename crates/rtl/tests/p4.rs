//! P4 programs with the engine `rtl`: the same packets come out of a lab as with the fast engine, and of a test.

use super::{EXAMPLES, folder, run};
use std::path::Path;

/// Whether hardware can be compiled here.
fn tools() -> bool {
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

/// A copy of an example, in which each P4 node has another engine.
fn with_engine(example: &str, engine: &str) -> String {
    let copy = folder(&format!("{example}-{engine}"));
    for entry in std::fs::read_dir(Path::new(EXAMPLES).join(example)).unwrap() {
        let file = entry.unwrap().path();
        let to = copy.join(file.file_name().unwrap());
        match file.extension().is_some_and(|e| e == "toml") {
            true => {
                let text = std::fs::read_to_string(&file).unwrap();
                let changed = text.replace(
                    "kind = \"p4\"",
                    &format!("kind = \"p4\"\nengine = \"{engine}\""),
                );
                // Of several labs one may be of hosts alone.
                let is_run = file.ends_with("lab.toml");
                assert!(!is_run || text != changed, "{example} has P4 nodes");
                std::fs::write(to, changed).unwrap();
            }
            false => drop(std::fs::copy(&file, to).unwrap()),
        }
    }
    copy.join("lab.toml").display().to_string()
}

fn report(example: &str, engine: &str) -> String {
    let output = run(&["lab", &with_engine(example, engine)]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{example} with {engine}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn labs_bring_the_same_with_hardware_as_with_software() {
    if !tools() {
        return;
    }
    for example in ["p4-l2l3", "p4-mdp", "paxos"] {
        assert_eq!(report(example, "rtl"), report(example, "fast"), "{example}");
    }
}

#[test]
fn a_test_runs_in_all_engines() {
    if !tools() {
        return;
    }
    let program = format!("{EXAMPLES}/p4-l2l3/l2l3.p4");
    let output = run(&["p4", "test", "--engine", "all", "--json", &program]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for engine in ["reference", "fast", "rtl"] {
        assert!(
            text.contains(&format!("\"engine\":\"{engine}\",\"passed\":true")),
            "{text}"
        );
    }
}

/// A program whose CRC the control plane chooses: hardware has no such.
const CUSTOM: &str = r#"#include <core.p4>
#include <v1model.p4>
header e_t { bit<48> dst; bit<48> src; bit<16> type; }
struct h_t { e_t e; }
struct m_t { bit<32> sum; }
parser P(packet_in p, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { p.extract(h.e); transition accept; } }
control V(inout h_t h, inout m_t m) { apply {} }
control I(inout h_t h, inout m_t m, inout standard_metadata_t s) {
    apply { hash(m.sum, HashAlgorithm.crc32_custom, 32w0, { h.e.dst }, 32w1000); s.egress_spec = 1; }
}
control E(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply {} }
control C(inout h_t h, inout m_t m) { apply {} }
control D(packet_out p, in h_t h) { apply { p.emit(h.e); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

#[test]
fn what_is_no_hardware_fails_with_its_place() {
    let folder = folder("no-hardware");
    let program = folder.join("custom.p4");
    std::fs::write(&program, CUSTOM).unwrap();
    let packet = "packet 0 000000000001 000000000002 0800\n";
    std::fs::write(program.with_extension("stf"), packet).unwrap();
    let output = run(&["p4", "test", "--engine", "rtl", program.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("custom.p4:9:13: a CRC that the control plane chooses"),
        "{text}"
    );
}

#[test]
fn cycles_of_packets_are_those_of_the_width() {
    if !tools() {
        return;
    }
    let program = format!("{EXAMPLES}/p4-l2l3/l2l3.p4");
    let words = [
        "p4", "cycles", &program, "--width", "64", "--size", "64", "--json",
    ];
    let output = run(&words);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    let line = String::from_utf8(output.stdout).unwrap();
    // Eight words of 64 bits, one a cycle.
    for part in [
        "\"bytes\":64",
        "\"cycles_per_packet\":8.0",
        "\"gigabits_per_second\":16.0",
    ] {
        assert!(line.contains(part), "{line}");
    }
}
