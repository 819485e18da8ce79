//! A part of os-ken's switch tests against `wire of switch`, with Open vSwitch at the tester's side. All of them:
//! `.ci/openflow-conformance`.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs some of them; so many have to pass.
#[track_caller]
fn run(arguments: &[&str], expected: u32) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("timeout")
        .args(["-k", "5", "180"])
        .arg(root.join(".ci/openflow-conformance"))
        .args(arguments)
        .args(["--expect", &expected.to_string()])
        .env("WIRE", env!("CARGO_BIN_EXE_wire"))
        .stdin(Stdio::null())
        .output()
        .expect("timeout is everywhere");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return println!("{said}");
    }
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {told}\n{said}");
}

#[test]
fn actions_of_1_0_are_what_os_ken_expects() {
    run(&["--version", "1.0", "--folder", "action/"], 42);
}

#[test]
fn actions_of_1_3_are_what_os_ken_expects_but_for_its_own_crc() {
    // 16 of 226 want the CRC of a Python text in place of that of the SCTP packet.
    run(&["--version", "1.3", "--folder", "action/"], 210);
}

#[test]
fn every_twelfth_match_of_1_0_is_what_os_ken_expects() {
    run(
        &["--version", "1.0", "--folder", "match/", "--every", "12"],
        13,
    );
}

#[test]
fn every_twentieth_match_of_1_3_is_what_os_ken_expects() {
    run(
        &["--version", "1.3", "--folder", "match/", "--every", "20"],
        36,
    );
}
