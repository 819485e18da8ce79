//! A clock for programs: one writes, others read.

use ::capture::clock::now_ns;
use live::page::{PageError, Publisher, Reader, State};
use measure::clock::ClockReading;
use node::Time;
use std::path::PathBuf;

/// A name that is free, in a directory that is the test's own.
fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("clock")
}

/// A clock that showed 10^18 ns at time zero, and is fast by so much.
fn reading(rate_ppt: i64) -> ClockReading {
    ClockReading {
        shown_ps: 1_000_000_000_000_000_000_000,
        rate_ppt,
        follows: true,
        offsets: 1,
        offset: Some((Time::ZERO, 500)),
        bound_ps: Some(2_000_000),
        ahead_of_utc_s: 37,
        ..ClockReading::default()
    }
}

/// What that clock shows when CLOCK_MONOTONIC is at `now`.
fn shown(start: u64, now: u64, rate_ppt: i64) -> u64 {
    let passed = i128::from(now - start);
    let fast = passed * i128::from(rate_ppt) / 1_000_000_000_000;
    1_000_000_000_000_000_000 + (passed + fast) as u64
}

#[test]
fn a_reading_is_within_its_bound_of_the_clock() {
    let path = path("within");
    let start = now_ns();
    let mut publisher = Publisher::create(&path).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.read(), None, "nothing is known yet");
    assert_eq!(reader.writer(), std::process::id());
    let rate = 80_000_000;
    std::thread::scope(|scope| {
        let readers = [(); 3].map(|()| {
            scope.spawn(|| {
                let mut last = None;
                let mut states = 0;
                while states < 200_000 {
                    let before = shown(start, now_ns(), rate);
                    let Some(reading) = reader.read() else {
                        continue;
                    };
                    let after = shown(start, now_ns(), rate);
                    let (least, most) =
                        (reading.ns - reading.bound_ns, reading.ns + reading.bound_ns);
                    assert!(
                        least <= after && before <= most,
                        "{before} {reading:?} {after}"
                    );
                    assert_eq!((reading.state, reading.ahead_of_utc_s), (State::Set, 37));
                    // In an era it goes on, but for what the writer was held up between looking and telling.
                    if let Some((era, ns)) = last
                        && era == reading.era
                    {
                        assert!(reading.ns + 1_000_000 >= ns, "{ns} {reading:?}");
                    }
                    last = Some((reading.era, reading.ns));
                    states += 1;
                }
            })
        });
        let mut number = 0;
        while readers.iter().any(|reader| !reader.is_finished()) {
            number += 1;
            let news = ClockReading {
                offsets: number,
                ..reading(rate)
            };
            publisher.publish(&news, start);
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert!(number > 10, "it was written meanwhile: {number}");
    });
}

#[test]
fn a_page_outlives_its_writer_and_says_so() {
    let path = path("outlives");
    let start = now_ns();
    let mut publisher = Publisher::create(&path).unwrap();
    publisher.publish(&reading(0), start);
    let reader = Reader::open(&path).unwrap();
    let kept = reader.read().unwrap();
    assert_eq!(kept.state, State::Set);
    drop(publisher);
    let ended = reader.read().unwrap();
    assert_eq!(
        (ended.state, ended.stale, ended.era),
        (State::Ended, true, kept.era)
    );
    while now_ns() < start + 1_000_000_000 {
        std::thread::yield_now();
    }
    let before = shown(start, now_ns(), 0);
    let late = reader.read().unwrap();
    let after = shown(start, now_ns(), 0);
    assert!(
        late.ns > ended.ns && late.bound_ns > ended.bound_ns + 5_000,
        "{ended:?} {late:?}"
    );
    assert!(late.ns - late.bound_ns <= after && before <= late.ns + late.bound_ns);
    // Another writer goes on with the page that others have open.
    let mut publisher = Publisher::create(&path).unwrap();
    publisher.publish(&reading(0), start);
    let again = reader.read().unwrap();
    assert_eq!((again.state, again.stale), (State::Set, false));
    assert!(again.era > ended.era, "another writer, another era");
}

#[test]
fn a_clock_that_was_set_is_in_another_era_and_one_that_was_steered_is_not() {
    let path = path("eras");
    let start = now_ns();
    let mut publisher = Publisher::create(&path).unwrap();
    let reader = Reader::open(&path).unwrap();
    let mut era = |reading: &ClockReading| {
        publisher.publish(reading, start);
        reader.read().unwrap()
    };
    let first = era(&reading(0));
    let at = reading(0);
    // 200 us more are made up for by running faster.
    let steered = era(&ClockReading {
        shown_ps: at.shown_ps + 200_000_000,
        ..at
    });
    assert_eq!(steered.era, first.era);
    assert!(
        steered.bound_ns >= first.bound_ns + 150_000,
        "{steered:?} says what is left to make up for"
    );
    let set = era(&ClockReading {
        shown_ps: at.shown_ps + 7_000_000_000_000,
        steps: 1,
        ..at
    });
    assert!(
        set.era > first.era && set.ns > first.ns + 6_000_000_000,
        "{set:?}"
    );
    let alone = era(&ClockReading {
        follows: false,
        steps: 1,
        shown_ps: at.shown_ps + 7_000_000_000_000,
        ..at
    });
    assert_eq!((alone.state, alone.era), (State::Alone, set.era));
    publisher.publish(
        &ClockReading {
            bound_ps: None,
            ..at
        },
        start,
    );
    assert_eq!(reader.read(), None, "nothing is known of another master");
}

#[test]
fn what_is_no_page_is_neither_read_nor_written() {
    let path = path("other");
    assert!(matches!(Reader::open(&path), Err(PageError::Open { .. })));
    for content in [vec![b'x'; 10], vec![b'x'; 4096], vec![0; 4096]] {
        std::fs::write(&path, &content).unwrap();
        assert!(matches!(Reader::open(&path), Err(PageError::Other { .. })));
        assert!(matches!(
            Publisher::create(&path),
            Err(PageError::Other { .. })
        ));
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
    let folder = path.parent().unwrap();
    assert!(Reader::open(folder).is_err() && Publisher::create(folder).is_err());
    std::fs::remove_file(&path).unwrap();
    let _first = Publisher::create(&path).unwrap();
    assert!(matches!(
        Publisher::create(&path),
        Err(PageError::Busy { .. })
    ));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 2;
    let newer = folder.join("newer");
    std::fs::write(&newer, &bytes).unwrap();
    let error = Reader::open(&newer).unwrap_err();
    assert!(
        matches!(error, PageError::Version { version: 2, .. }),
        "{error}"
    );
}

/// Reads a page as often as it is told, and what no page is.
const PROGRAM: &str = r#"
#include "wireclock.h"
#include <stdio.h>
#include <string.h>
int main(int count, char **names)
{
    struct wireclock clock;
    struct wireclock_time time;
    char line[8];
    (void)count;
    if (wireclock_open(&clock, names[1]) != 0) {
        printf("%s\n", strerror(errno));
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        if (wireclock_read(&clock, &time))
            printf("%llu %llu %u %d %d %d\n", (unsigned long long)time.ns, (unsigned long long)time.bound_ns, time.era,
                   time.ahead_of_utc_s, (int)time.state, time.stale);
        else
            puts("unknown");
        fflush(stdout);
    }
    wireclock_close(&clock);
    return 0;
}
"#;

#[test]
fn a_program_in_c_reads_what_a_program_in_rust_does() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    let path = path("c");
    let folder = path.parent().unwrap();
    std::fs::write(folder.join("read.c"), PROGRAM).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    // The header is C as much as C++.
    for (compiler, standard) in [("cc", "-std=gnu11"), ("c++", "-std=c++17")] {
        let mut compile = Command::new(compiler);
        compile.args(["-Wall", "-Wextra", "-Werror", "-O2", standard, "-x"]);
        compile.arg(if compiler == "cc" { "c" } else { "c++" });
        compile.args(["read.c", "-o", "read", "-I", include]);
        match compile.current_dir(folder).status() {
            Err(error) if compiler == "cc" => {
                println!("skipped: a program in C: {compiler}: {error}");
                return;
            }
            Err(error) => println!("skipped: a program in C++: {compiler}: {error}"),
            Ok(status) => assert!(status.success(), "{compiler}"),
        }
    }
    let read = |path: &std::path::Path| {
        let mut program = Command::new(folder.join("read"));
        program.arg(path).stdin(Stdio::piped());
        program.stdout(Stdio::piped()).spawn().unwrap()
    };
    let start = now_ns();
    let mut publisher = Publisher::create(&path).unwrap();
    let reader = Reader::open(&path).unwrap();
    let mut program = read(&path);
    let mut ask = program.stdin.take().unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let mut told = || {
        writeln!(ask).unwrap();
        lines.next().unwrap().unwrap()
    };
    assert_eq!(told(), "unknown");
    publisher.publish(&reading(-80_000_000), start);
    // What is read in between two times of ours is between them.
    let mut between = |stale: bool| {
        let before = reader.read().unwrap();
        let line = told();
        let after = reader.read().unwrap();
        let words: Vec<i64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        let [ns, bound, era, utc, state, old] = words[..] else {
            panic!("{line}");
        };
        assert!(
            (before.ns..=after.ns).contains(&(ns as u64)),
            "{line} {before:?}"
        );
        assert!(
            (before.bound_ns..=after.bound_ns).contains(&(bound as u64)),
            "{line}"
        );
        assert_eq!(
            (era as u32, utc as i32),
            (before.era, before.ahead_of_utc_s)
        );
        assert_eq!((state, old), (before.state as i64, i64::from(stale)));
    };
    between(false);
    drop(publisher);
    between(true);
    drop(ask);
    assert!(program.wait().unwrap().success());
    let other = folder.join("other");
    std::fs::write(&other, [b'x'; 4096]).unwrap();
    let ended = read(&other).wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "Invalid argument\n");
}

/// A writer can truncate the file; this used to end readers by SIGBUS.
#[test]
fn a_page_whose_file_becomes_shorter_says_nothing_any_more() {
    let path = path("shorter");
    let mut publisher = Publisher::create(&path).unwrap();
    let reader = Reader::open(&path).unwrap();
    let news = ClockReading {
        offsets: 2,
        ..reading(0)
    };
    let start = now_ns();
    while reader.read().is_none() {
        publisher.publish(&news, start);
    }
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(reader.read(), None);
    // The writer goes on as well; a new file has a page again.
    publisher.publish(&news, start);
    assert!(matches!(Reader::open(&path), Err(PageError::Other { .. })));
    drop(publisher);
    std::fs::remove_file(&path).unwrap();
    let _publisher = Publisher::create(&path).unwrap();
    assert_eq!(Reader::open(&path).unwrap().read(), None);
}
