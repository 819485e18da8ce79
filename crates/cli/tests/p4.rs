//! `wire p4`: our own corpus in both engines, and what is said when a test or a program fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn wire(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_wire"))
        .arg("p4")
        .args(arguments)
        .current_dir(root())
        .output();
    command.unwrap()
}

fn scratch(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_corpus_passes_in_both_engines() {
    let mut folders = vec![root().join("testdata/p4")];
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    folders.extend(examples.map(|entry| entry.unwrap().path()));
    let (mut tests, mut met) = (0, 0);
    for folder in folders {
        let has_tests = std::fs::read_dir(&folder).unwrap().any(|entry| {
            entry
                .unwrap()
                .path()
                .extension()
                .is_some_and(|e| e == "stf")
        });
        if !has_tests {
            continue;
        }
        let ran = wire(&["test", folder.to_str().unwrap(), "--json"]);
        let out = text(&ran.stdout);
        assert!(
            ran.status.success(),
            "{}: {out}{}",
            folder.display(),
            text(&ran.stderr)
        );
        for line in out.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["schema"], "wireline.p4/1");
            assert_eq!(line["type"], "test");
            tests += 1;
            met += line["met"].as_u64().unwrap();
        }
    }
    println!("{tests} runs, {met} expectations");
    assert!(
        tests >= 40 && met >= 400,
        "{tests} runs, {met} expectations: the corpus is not all here"
    );
}

#[test]
fn a_packet_that_differs_is_shown_below_the_one_that_is_wanted() {
    let stf = scratch(
        "differs.stf",
        "packet 0 00 f0 20 00\nexpect 1 00 f0 20 fe $\n",
    );
    let ran = wire(&["test", "testdata/p4/arithmetic.p4", &stf]);
    assert_eq!(ran.status.code(), Some(1));
    let out = text(&ran.stdout);
    assert!(out.contains("FAILED"), "{out}");
    assert!(out.contains("port 1: byte 3 differs\n    wanted 00f020fe\n    got    00f020ff\n                  ^\n"), "{out}");
}

#[test]
fn an_unknown_command_of_a_test_is_never_passed_over() {
    let stf = scratch("unknown.stf", "frobnicate 7\n");
    let ran = wire(&["test", "testdata/p4/arithmetic.p4", &stf]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        text(&ran.stdout).contains(":1: there is no command `frobnicate`"),
        "{}",
        text(&ran.stdout)
    );
}

#[test]
fn several_errors_are_told_in_one_run_with_their_lines() {
    let program = scratch(
        "wrong.p4",
        "#include <core.p4>\nheader h_t { bit<8> a; }\ncontrol c(inout h_t h) {\n    apply {\n        h.b = 1;\n        h.a = true;\n    }\n}\n",
    );
    let ran = wire(&["check", &program]);
    assert_eq!(ran.status.code(), Some(1));
    let told = text(&ran.stderr);
    assert!(told.contains("wrong.p4:5:11: error:"), "{told}");
    assert!(told.contains("wrong.p4:6:15: error:"), "{told}");
    assert!(told.contains("2 errors"), "{told}");
    let json = wire(&["check", "--json", &program]);
    let out = text(&json.stdout);
    let first: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["line"].as_u64(), first["severity"].as_str()),
        (Some(5), Some("error"))
    );
}

#[test]
fn a_trace_tells_tables_actions_and_fields() {
    let entries = scratch("entries.txt", "table add longest 1 0x80/1 do set 7\n");
    let ran = wire(&[
        "trace",
        "testdata/p4/matches.p4",
        "--entries",
        &entries,
        "--packet",
        "0:01018100",
    ]);
    let out = text(&ran.stdout);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(
        out.contains("extract h.data: op = 1, a = 1, b = 129, c = 0"),
        "{out}"
    );
    assert!(out.contains("longest") && out.contains("set"), "{out}");
    assert!(out.contains("h.data.c: 0 -> 7"), "{out}");
    let json = wire(&[
        "trace",
        "testdata/p4/matches.p4",
        "--json",
        "--packet",
        "0:01018100",
    ]);
    let line = text(&json.stdout);
    assert!(
        serde_json::from_str::<serde_json::Value>(line.lines().next().unwrap()).is_ok(),
        "{line}"
    );
}

/// A user's folder: a program, its test and entries, and the corpus beside them.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let example = root().join("examples/p4-l2l3");
    for (from, to) in [
        ("l2l3.p4", "router.p4"),
        ("l2l3.stf", "router.stf"),
        ("entries.txt", "entries.txt"),
    ] {
        std::fs::copy(example.join(from), folder.join(to)).unwrap();
    }
    for shared in ["testdata", "examples"] {
        let shared = root().join(shared);
        let place = folder.join(shared.file_name().unwrap());
        std::os::unix::fs::symlink(shared, place).unwrap();
    }
    folder
}

/// Runs commands as they stand in a document, one by one.
fn run_commands(commands: &[&str], place: &Path) {
    let bin = Path::new(env!("CARGO_BIN_EXE_wire")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for command in commands {
        let ran = Command::new("sh")
            .args(["-c", command])
            .env("PATH", &path)
            .current_dir(place)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let told = text(&ran.stdout) + &text(&ran.stderr);
        assert!(ran.status.success(), "{command}\n{told}");
    }
}

#[test]
fn the_commands_of_the_book_s_chapter_run_as_they_stand() {
    let book = include_str!("../../../docs/book/src/p4.md");
    let lines = book.lines().filter_map(|line| line.strip_prefix("$ "));
    // What needs ports is run on ports elsewhere, and `lsp` by an editor.
    let commands: Vec<&str> = lines
        .filter(|line| line.starts_with("wire p4 ") && !line.contains("--at "))
        .collect();
    assert!(commands.len() >= 8, "only {commands:?}");
    run_commands(&commands, &folder("p4-book"));
}

#[test]
fn the_commands_of_the_readme_run_as_they_stand() {
    let readme = include_str!("../../../README.md");
    let ports = |line: &&str| line.starts_with("wire p4 ") && !line.contains("--on ");
    let commands: Vec<&str> = readme.lines().filter(ports).collect();
    assert!(commands.len() >= 2, "only {commands:?}");
    run_commands(&commands, &folder("p4-readme"));
}
