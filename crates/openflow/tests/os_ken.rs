//! os-ken reads every message of ours, and we read its own and those that its package holds, among them
//! what Open vSwitch wrote. Skipped without os-ken in `target/os-ken-venv` (see .ci/setup).

use crate::samples;
use openflow::fault::Fault;
use openflow::message::{Message, Version, decode};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/os-ken-venv/bin/python");
    if !python.exists() {
        eprintln!("skipped: no os-ken in target/os-ken-venv (.ci/setup test makes it)");
        return None;
    }
    Some(python)
}

fn run(python: &Path, arguments: &[&str], input: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peer_os_ken.py");
    let mut child = Command::new(python)
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("python ends");
    writer.join().expect("no panic").expect("it reads all");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn os_ken_reads_every_message_of_ours() {
    let Some(python) = python() else { return };
    let mut input = String::new();
    let mut sent: Vec<(Version, Message<'static>)> = Vec::new();
    for version in Version::ALL {
        for seed in 0..12 {
            for message in samples::messages(version, seed) {
                let mut bytes = Vec::new();
                message
                    .encode(version, 7, &mut bytes)
                    .expect("it has a form");
                input.push_str(&hex(&bytes));
                input.push('\n');
                sent.push((version, message));
            }
        }
    }
    let told = run(&python, &[], &input);
    let (mut same, mut unread) = (0, 0);
    let mut wrong = Vec::new();
    assert_eq!(told.lines().count(), sent.len());
    for ((version, message), line) in sent.iter().zip(told.lines()) {
        if line.starts_with("error") || line.contains("differs") {
            wrong.push(format!("{version} {line}\n    {message:?}"));
        }
        same += usize::from(line.ends_with(" same"));
        unread += usize::from(line == "unread");
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        sent.len(),
        wrong.join("\n")
    );
    eprintln!(
        "of {}: {same} written again alike, {unread} without a reader in os-ken",
        sent.len()
    );
    assert!(unread * 2 < sent.len() && same > 0);
}

#[test]
fn we_read_every_request_that_os_ken_makes() {
    let Some(python) = python() else { return };
    let made = run(&python, &["make"], "");
    assert!(made.lines().count() > 40);
    for line in made.lines() {
        let (name, text) = line.split_once(' ').expect("a name and bytes");
        let bytes = unhex(text);
        let (header, message) = decode(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut again = Vec::new();
        let version = header.version().expect("1.0 or 1.3");
        message
            .encode(version, header.xid, &mut again)
            .expect("as it was read");
        assert_eq!(hex(&again), text, "{name}: {message:?}");
    }
}

#[test]
fn we_read_the_messages_in_os_kens_package() {
    let Some(python) = python() else { return };
    let find = "import os_ken.tests, os; print(os.path.dirname(os_ken.tests.__file__))";
    let found = Command::new(&python)
        .args(["-c", find])
        .output()
        .expect("python runs");
    let tests = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
    let (mut read, mut wrong, mut refused) = (0, Vec::new(), Vec::new());
    for folder in ["of10", "of13"] {
        let folder = tests.join("packet_data").join(folder);
        for entry in std::fs::read_dir(folder).expect("the package has its tests") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if !name.ends_with(".packet") {
                continue;
            }
            let bytes = std::fs::read(&path).expect("readable");
            read += 1;
            match decode(&bytes) {
                Ok((header, message)) => {
                    let version = header.version().expect("1.0 or 1.3");
                    let mut again = Vec::new();
                    message
                        .encode(version, header.xid, &mut again)
                        .expect("as it was read");
                    if again != bytes[..usize::from(header.length)] {
                        wrong.push(format!("{name}: {}\n  {}", hex(&bytes), hex(&again)));
                    }
                }
                Err(error) => refused.push((name, error.fault)),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {read}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    // Fields of Nicira's or the ONF's class are not known here, and cannot be set.
    refused.retain(|(name, fault)| {
        let foreign = [
            "ovs-ofctl-of13-",
            "libofproto-OFP13-flow_mod",
            "4-60-ofp_flow_mod",
        ];
        let field =
            *fault == Fault::BadField && foreign.iter().any(|front| name.starts_with(front));
        let set = [
            "4-2-ofp_flow_mod.packet",
            "4-12-ofp_flow_stats_reply.packet",
        ];
        let set = *fault == Fault::BadSetType && set.contains(&name.as_str());
        !(field || set)
    });
    assert!(refused.is_empty(), "{refused:?}");
    assert!(read > 80, "only {read} messages");
}
