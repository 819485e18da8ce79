//! The examples are the same on every machine and at every optimisation level: the report is the
//! example's expected.txt, the capture has the checksum that stands there.

use lab::{Options, Registry, World};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

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
    let folders: Vec<PathBuf> = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        // One with a program of its own has kinds of nodes that are not known here.
        .filter(|folder| folder.join("lab.toml").exists() && !folder.join("Cargo.toml").exists())
        // The kinds of an application are not known here, either: `apps/home/tests/story.rs` runs its lab.
        .filter(|folder| !folder.ends_with("home"))
        .collect();
    assert!(!folders.is_empty());
    side_by_side(folders, |folder| gives_what_it_promises(&folder));
}

fn gives_what_it_promises(folder: &Path) {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let lab = match flops::add(Registry::standard()).read(&folder.join("lab.toml"), World::Sim) {
        Ok(lab) => lab,
        Err(error) if error.to_string().contains("needs libpcap") => {
            println!("{name}: skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let out = scratch(name);
    let options = Options {
        folder: folder.into(),
        out: Some(out.clone()),
        allow_commands: true,
        ..Options::default()
    };
    let report = match lab::run(&lab, World::Sim, &options) {
        Err(error @ lab::LabError::OnlyLive { .. }) => {
            println!("{name}: skipped: {error}");
            return;
        }
        report => report.unwrap(),
    };
    everything_adds_up(name, &report);
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

/// The folder of examples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Does something with each, as many at once as there are processors: a lab on one thread leaves the others idle.
pub fn side_by_side<T: Send>(things: Vec<T>, act: impl Fn(T) + Sync) {
    let left = Mutex::new(things.into_iter());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(thing) = { left.lock().unwrap().next() } {
                    act(thing);
                }
            });
        }
    });
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

/// What was sent by each link came, was lost for a reason that the table of drops has, or is on its way; and the meters behind
/// it have seen what came.
pub fn everything_adds_up(name: &str, report: &lab::Report) {
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
