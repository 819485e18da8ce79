//! What a run writes, and what becomes of it when that does not work.

use lab::{Options, World};
use std::path::{Path, PathBuf};

const PAIR: &str = "\
[node.a]
kind = 'generator'
gap = '1 us'
count = 20_000
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
[[plot]]
at = 'b.0'
file = 'pictures/b.svg'
[[capture]]
at = 'b.0'
direction = 'both'
file = 'b.pcap'
";

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(text: &str, out: &Path) -> lab::Report {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let options = Options {
        out: Some(out.to_path_buf()),
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options).unwrap()
}

#[test]
fn folders_are_made_and_files_have_their_formats() {
    let out = scratch("formats");
    let report = run(PAIR, &out);
    assert_eq!(report.failures, Vec::<String>::new());
    let picture = std::fs::read_to_string(out.join("pictures/b.svg")).unwrap();
    assert!(picture.starts_with("<svg"));
    let capture = std::fs::read(out.join("b.pcap")).unwrap();
    // pcap with nanoseconds: 24 bytes, and 16 before each frame.
    assert_eq!(capture[..4], 0xA1B2_3C4Du32.to_le_bytes());
    assert_eq!(capture.len(), 24 + 20_000 * (16 + 60));
}

#[test]
fn a_full_disk_is_told_and_the_report_is_there_all_the_same() {
    let out = scratch("full");
    std::os::unix::fs::symlink("/dev/full", out.join("b.pcap")).unwrap();
    let report = run(PAIR, &out);
    assert_eq!(report.failures.len(), 1);
    assert!(
        report.failures[0].contains("b.pcap: No space left"),
        "{}",
        report.failures[0]
    );
    assert_eq!(report.rows[0].statistics.packets(), 20_000);
    assert!(out.join("pictures/b.svg").exists());
}

#[test]
fn a_replay_keeps_the_times_of_its_capture() {
    let out = scratch("replay");
    run(PAIR, &out);
    let text = "\
[node.a]
kind = 'generator'
replay = 'b.pcap'
speed = 0.5
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
";
    let file = out.join("lab.toml");
    std::fs::write(&file, text).unwrap();
    let lab = lab::read(&file).unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        folder: out.clone(),
        ..Options::default()
    };
    let report = lab::run(&lab, World::Sim, &options).unwrap();
    let gaps = report.rows[0].statistics.gaps();
    assert_eq!((gaps.count, gaps.mean), (19_999, 2_000_000.0));
    // A file that is not there is a fault of the lab file, at its place.
    std::fs::remove_file(out.join("b.pcap")).unwrap();
    let error = lab::read(&file).err().unwrap().to_string();
    assert!(error.contains("lab.toml:3:10"), "{error}");
}

#[test]
fn json_lines_have_a_schema_and_a_type() {
    let report = run(PAIR, &scratch("json"));
    for line in report.json().lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["schema"], lab::SCHEMA);
        assert!(object["type"].is_string());
    }
}

#[test]
fn a_stopped_run_reports_what_it_has() {
    let lab = lab::parse(&PAIR.replace("count = 20_000", "")).unwrap();
    let options = Options {
        dry: true,
        stop: Some(|| true),
        ..Options::default()
    };
    let report = lab::run(&lab, World::Sim, &options).unwrap();
    assert_eq!(report.outcome.finish, node::outcome::Finish::Stopped);
}
