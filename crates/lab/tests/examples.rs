//! The examples are the same on every machine and at every optimisation level: the report is the
//! example's expected.txt, the capture has the checksum that stands there.

use lab::{Options, World};
use std::path::{Path, PathBuf};

/// The checksum of POSIX `cksum`: CRC-32 over the bytes and then their number.
fn cksum(bytes: &[u8]) -> u32 {
    let mut length = Vec::new();
    let mut rest = bytes.len();
    while rest > 0 {
        length.push(rest as u8);
        rest >>= 8;
    }
    let mut crc = 0u32;
    for &byte in bytes.iter().chain(&length) {
        crc ^= u32::from(byte) << 24;
        for _ in 0..8 {
            crc = (crc << 1) ^ if crc >> 31 == 1 { 0x04C1_1DB7 } else { 0 };
        }
    }
    !crc
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn every_example_gives_what_it_promises() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for folder in std::fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let file = folder.join("lab.toml");
        // One with a program of its own has kinds of nodes that are not known here.
        if !file.exists() || folder.join("Cargo.toml").exists() {
            continue;
        }
        seen += 1;
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let lab = match lab::read(&file) {
            Ok(lab) => lab,
            Err(error) if error.to_string().contains("needs libpcap") => {
                println!("{name}: skipped: {error}");
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let out = scratch(&name);
        let options = Options {
            folder: folder.clone(),
            out: Some(out.clone()),
            allow_commands: true,
            ..Options::default()
        };
        let report = match lab::run(&lab, World::Sim, &options) {
            Err(error @ lab::LabError::OnlyLive { .. }) => {
                println!("{name}: skipped: {error}");
                continue;
            }
            report => report.unwrap(),
        };
        everything_adds_up(&name, &report);
        let expected = std::fs::read_to_string(folder.join("expected.txt")).unwrap();
        let mut expected = expected.lines();
        for line in report
            .to_string()
            .lines()
            .filter(|line| !line.starts_with("wrote "))
        {
            let wanted = expected.by_ref().find(|line| !line.starts_with("wrote "));
            assert_eq!(Some(line), wanted, "{name}");
        }
        // Behind an empty line stands what other commands say of the files.
        let sums = expected.take_while(|line| !line.is_empty());
        for line in sums.filter(|line| !line.starts_with("wrote ")) {
            let words: Vec<&str> = line.split(' ').collect();
            let [sum, length, file] = words[..] else {
                panic!("{name}: `{line}` is not a line of cksum");
            };
            let bytes = std::fs::read(out.join(file)).unwrap();
            assert_eq!(length.parse(), Ok(bytes.len()), "{name}: {file}");
            assert_eq!(sum.parse(), Ok(cksum(&bytes)), "{name}: {file}");
        }
    }
    assert!(seen > 0);
}

/// All lab files below a folder.
pub fn labs_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            labs_below(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            found.push(path);
        }
    }
}

#[test]
fn every_lab_adds_up_in_the_middle_of_its_run() {
    let mut labs = Vec::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    labs_below(&examples, &mut labs);
    let (mut ran, mut flying) = (0, 0);
    for file in labs {
        let name = file.display().to_string();
        let Ok(lab) = lab::read(&file) else {
            println!("{name}: skipped: it cannot be read here");
            continue;
        };
        let options = Options {
            folder: file.parent().unwrap().into(),
            duration: Some(node::Time::from_ms(20)),
            dry: true,
            ..Options::default()
        };
        let report = match lab::run(&lab, World::Sim, &options) {
            Ok(report) => report,
            Err(error) => {
                println!("{name}: skipped: {error}");
                continue;
            }
        };
        everything_adds_up(&name, &report);
        ran += 1;
        let links = report.outcome.links.iter().flatten();
        flying += links.filter_map(|link| link.in_flight).sum::<u64>();
    }
    assert!(ran >= 30 && flying > 0, "{ran} labs, {flying} in flight");
}

/// What was sent by each link came, was lost for a reason that the table of drops has, or is on its way; and the meters behind
/// it have seen what came.
fn everything_adds_up(name: &str, report: &lab::Report) {
    let told = report.losses();
    let mut frames = 0;
    for (ends, counters) in report.links.iter().zip(&report.outcome.links) {
        for (direction, counters) in counters.iter().enumerate() {
            let way = format!("{} -> {}", ends[direction], ends[1 - direction]);
            let (delivered, in_flight) = (counters.delivered.unwrap(), counters.in_flight.unwrap());
            frames += delivered;
            let lost: u64 = told
                .iter()
                .filter(|(at, what, _)| {
                    *at == way && ["lost on the way", "bit errors"].contains(&what.as_str())
                })
                .map(|(.., count)| count)
                .sum();
            assert_eq!(
                counters.sent + counters.duplicated,
                delivered + lost + in_flight,
                "{name}: {way}: {counters:?}"
            );
            for row in report
                .rows
                .iter()
                .filter(|row| row.at == ends[1 - direction])
            {
                assert_eq!(row.statistics.packets(), delivered, "{name}: {}", row.at);
            }
        }
    }
    assert_eq!(report.outcome.frames, frames, "{name}");
    if report.outcome.finish == node::outcome::Finish::Idle {
        let left = |counters: &node::link::LinkCounters| counters.in_flight == Some(0);
        assert!(report.outcome.links.iter().flatten().all(left), "{name}");
    }
}

#[test]
fn checksums_are_those_of_cksum() {
    // As `printf 123456789 | cksum` says.
    assert_eq!(cksum(b"123456789"), 930_766_865);
}

#[test]
fn the_first_lab_of_the_book_gives_what_stands_there() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/labs.md");
    let book = std::fs::read_to_string(book).unwrap();
    let block = |start: &str| {
        let (_, behind) = book.split_once(start).unwrap();
        behind.split_once("```").unwrap().0
    };
    let lab = lab::parse(block("```toml\n")).unwrap();
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    assert_eq!(block("$ wire lab hello.toml\n"), report.to_string());
}
