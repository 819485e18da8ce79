//! A stop is no end of file: what was read is written, what is unfinished is left out, and the exit code tells.

use super::case::packets;
use super::files::each;
use super::inject::{self, ANY, Fault, Run, Setting, sample};
use crate::shell::{Place, lines};
use node::random::Random;
use std::io::{PipeReader, Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_signal_at_any_call_leaves_whole_packets_and_its_exit_code() {
    each("interrupt", ANY, "signal=INT", 4);
    each("terminate", ANY, "signal=TERM", 2);
}

/// The line of a command that reads a pipe, the form that it reads, the file that it writes, and whether a packet, by its
/// number, is one that it lets pass.
type Reader = (&'static str, &'static str, &'static str, fn(usize) -> bool);

const READERS: &[Reader] = &[
    ("wire cat", "lines", "stdout", |_| true),
    ("wire cat --raw", "lines", "stdout", |_| true),
    ("wire cat", "records", "stdout", |_| true),
    ("wire cut 1-", "lines", "stdout", |_| true),
    ("wire match type=0806", "lines", "stdout", |n| n % 2 == 1),
    ("wire dump -o out", "lines", "out", |_| true),
    ("wire dump", "pcapng", "stdout", |_| true),
    ("wire dump -o out", "records", "out", |_| true),
    ("wire undump", "pcapng", "stdout", |_| true),
];

/// What came of a command that read a pipe.
struct Piped {
    run: Run,
    /// Bytes that it read.
    read: usize,
}

/// Runs a command that reads `input` from a pipe, in pieces of some lengths; the pipe stays open until the command has
/// ended, or has been given all.
fn piped(place: &Place, line: &str, input: &[u8], fault: &Fault, random: &mut Random) -> Piped {
    let (reader, mut writer) = std::io::pipe().expect("there are descriptors");
    let rest: PipeReader = reader.try_clone().expect("there are descriptors");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let feeder = scope.spawn(|| {
            let mut at = 0;
            while at < input.len() && !ended.load(Ordering::Relaxed) {
                let piece = 1 + random.below(20_000) as usize;
                let end = input.len().min(at + piece);
                writer
                    .write_all(&input[at..end])
                    .expect("the test holds the other end");
                at = end;
                std::thread::sleep(Duration::from_micros(random.below(1_000)));
            }
            drop(writer);
            at
        });
        let by = Command::new("timeout");
        let setting = Setting {
            folder: &place.path,
            by,
        };
        let run = inject::run(setting, "read", Some(fault), reader.into(), line);
        ended.store(true, Ordering::Relaxed);
        let mut unread = Vec::new();
        let mut rest = rest;
        rest.read_to_end(&mut unread).expect("it is a pipe");
        let written = feeder.join().expect("it writes");
        Piped {
            run,
            read: written - unread.len(),
        }
    })
}

/// The frames of a file without their stamps, and whether there was nothing else in it. All lines are different.
fn frames(bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let (packets, sound) = packets(bytes);
    (packets.into_iter().map(|(_, bytes)| bytes).collect(), sound)
}

#[test]
fn a_stopped_reader_has_written_exactly_what_it_had_read() {
    if !inject::works("stopping readers of pipes") {
        return;
    }
    let place = Place::new("faults-piped");
    place.write("t.lines", lines(6_000));
    let made = |to: &str| {
        let Place { path } = &place;
        place.run(&format!("wire {to} t.lines > made")).good();
        std::fs::read(path.join("made")).expect("it was made")
    };
    let inputs = [
        ("lines", lines(6_000).into_bytes()),
        ("records", made("cat --raw")),
        ("pcapng", made("dump")),
    ];
    let mut random = Random::new(1);
    let mut wrong = Vec::new();
    let mut stops = 0;
    for &(line, form, output, passes) in READERS {
        let input = &inputs
            .iter()
            .find(|(name, _)| *name == form)
            .expect("it is made")
            .1;
        for (nth, signal) in sample((1..=60).collect(), 8)
            .into_iter()
            .zip(["signal=INT", "signal=TERM"].into_iter().cycle())
        {
            let fault = Fault::at(signal, &("read".into(), nth));
            let _ = std::fs::remove_file(place.path.join("out"));
            let Piped { run, read } = piped(&place, line, input, &fault, &mut random);
            let code = if signal == "signal=INT" { 130 } else { 143 };
            let before_main = run.signal.is_some();
            let stopped = run.code == Some(code);
            stops += u32::from(stopped);
            let mut accepted = &input[..read];
            if form == "lines" {
                let end = accepted.iter().rposition(|&byte| byte == b'\n');
                accepted = &accepted[..end.map_or(0, |end| end + 1)];
            }
            let accepted = frames(accepted).0.into_iter().enumerate();
            let accepted: Vec<_> = accepted
                .filter(|&(n, _)| passes(n))
                .map(|(_, frame)| frame)
                .collect();
            let now = std::fs::read(place.path.join(output)).unwrap_or_default();
            let (now, sound) = frames(&now);
            let problem = run.blemish().or_else(|| match () {
                () if before_main => None,
                () if !stopped && run.code != Some(0) => Some(format!("exit code {:?}", run.code)),
                () if !stopped && read < input.len() => Some("exit code 0 before the end".into()),
                () if !sound => Some("the output is damaged".into()),
                () if now != accepted => Some(format!(
                    "{} packets of {} accepted",
                    now.len(),
                    accepted.len()
                )),
                () => None,
            });
            if let Some(problem) = problem {
                wrong.push(format!(
                    "{line} < {form}: {signal} at read {nth}: {problem}: {}",
                    run.said
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(stops > 0, "no signal came in time");
}

/// How many frames are in the lines that a capture became; they are the first of those that the words make, and whole.
#[track_caller]
fn are_the_first(place: &Place, words: &str) -> usize {
    let (seen, sound) = frames(&place.read("g.lines"));
    assert!(sound, "a damaged capture of {} frames", seen.len());
    let made = place.run(&format!("{words} --count {}", seen.len())).good();
    assert!(seen == frames(made.as_bytes()).0, "frames that nobody sent");
    seen.len()
}

#[test]
fn a_pipeline_that_is_stopped_leaves_a_capture_of_whole_frames() {
    let place = Place::new("faults-pipeline");
    let words = "wire gen --size 1000 --gap 1us";
    let mut random = Random::new(2);
    let mut sizes = Vec::new();
    for (round, signal) in ["INT", "TERM"]
        .into_iter()
        .cycle()
        .take(sample((0..20).collect(), 2).len())
        .enumerate()
    {
        let wait = 110 + random.below(100);
        let script = format!(
            "env --default-signal timeout -s {signal} 0.{wait} bash -c '{words} | wire dump -o g.pcapng; echo ${{PIPESTATUS[1]}} > code'; \
             wire undump g.pcapng > g.lines"
        );
        let ended = place.run(&script);
        assert_eq!(ended.code, Some(0), "round {round}: {}", ended.err);
        sizes.push(are_the_first(&place, words));
    }
    assert!(sizes.iter().any(|&size| size > 0), "{sizes:?}");
}

#[test]
fn a_writer_that_is_killed_leaves_the_frames_that_it_gave_whole() {
    let place = Place::new("faults-killed-writer");
    let words = "wire gen --size 1000 --gap 1us";
    let mut random = Random::new(4);
    let mut sizes = Vec::new();
    for round in 0..sample((0..20).collect::<Vec<_>>(), 2).len() {
        let raw = if round % 2 == 0 { "" } else { " --raw" };
        let wait = 110 + random.below(100);
        let script = format!(
            "rm -f p g.*; mkfifo p; {words}{raw} > p & pid=$!; (sleep 0.{wait}; kill -KILL $pid) & \
             wire dump -o g.pcapng < p; code=$?; wait; wire undump g.pcapng* > g.lines; exit $code"
        );
        let ended = place.run(&script);
        // What was begun and not ended is told.
        match ended.code {
            Some(0) => {}
            Some(1 | 2) => assert!(ended.err.contains("wire: "), "round {round}"),
            code => panic!("round {round}: {code:?}: {}", ended.err),
        }
        sizes.push(are_the_first(&place, words));
    }
    assert!(sizes.iter().any(|&size| size > 0), "{sizes:?}");
}
