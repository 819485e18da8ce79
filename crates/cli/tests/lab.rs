//! `wire lab` as people and scripts meet it.

use std::path::Path;
use std::process::{Command, Output};

fn lab(name: &str, text: &str, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("lab.toml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wire"));
    command.arg("lab").arg(&file).args(arguments);
    command.output().unwrap()
}

const PAIR: &str = "\
[node.a]
kind = 'generator'
count = 5
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
";

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_good_lab_is_reported_and_ends_well() {
    let output = lab("good", PAIR, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).contains("b.0        5     0"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn json_is_one_object_a_line() {
    let output = lab("json", PAIR, &["--json", "--seed", "9"]);
    let first = text(&output.stdout).lines().next().unwrap().to_string();
    let run: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&run["type"], &run["seed"]), (&"run".into(), &9.into()));
}

#[test]
fn a_faulty_lab_ends_with_2_and_says_where() {
    let output = lab("faulty", &PAIR.replace("count", "cuont"), &["--check"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("lab.toml:3:1"), "{said}");
    assert!(said.contains("did you mean `count`?"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_capture_that_cannot_be_made_ends_with_2() {
    let text_with_capture = format!("{PAIR}[[capture]]\nat = 'b.0'\nfile = 'x.pcapng'\n");
    let output = lab(
        "unwritable",
        &text_with_capture,
        &["--out", "/proc/nowhere"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/proc/nowhere/x.pcapng"));
}

#[test]
fn an_endless_lab_ends_by_interrupt_with_its_report() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("lab.toml");
    std::fs::write(&file, PAIR.replace("count = 5", "gap = '1 us'")).unwrap();
    // `timeout` exits with 124 when it had to interrupt; with --preserve-status as the command does.
    let output = Command::new("timeout")
        .args(["--preserve-status", "-s", "INT", "1"])
        // The tests may have been started with signals ignored.
        .args(["env", "--default-signal"])
        .arg(env!("CARGO_BIN_EXE_wire"))
        .arg("lab")
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.lines().next().unwrap().ends_with(", stopped"),
        "{said}"
    );
}
