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
        if !file.exists() {
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
            ..Options::default()
        };
        let report = match lab::run(&lab, World::Sim, &options) {
            Err(error @ lab::LabError::OnlyLive { .. }) => {
                println!("{name}: skipped: {error}");
                continue;
            }
            report => report.unwrap(),
        };
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
                panic!("{name}: `{line}` is no line of cksum");
            };
            let bytes = std::fs::read(out.join(file)).unwrap();
            assert_eq!(length.parse(), Ok(bytes.len()), "{name}: {file}");
            assert_eq!(sum.parse(), Ok(cksum(&bytes)), "{name}: {file}");
        }
    }
    assert!(seen > 0);
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
