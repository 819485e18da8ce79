//! A signal is not the end of the input: what came whole is written, what was unfinished is dropped, and the
//! exit code says so.
#![allow(
    clippy::disallowed_methods,
    reason = "a signal comes at a moment of real time"
)]

use crate::shell::{DEFAULT_SIGNALS, Place, lines, prepare};
use node::random::Random;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// INT, TERM and HUP by their names and numbers.
const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];
/// What nothing here takes even on a machine that pauses.
const LONG: Duration = Duration::from_secs(30);

/// A command that has begun to take signals.
struct Running(Child);

impl Running {
    fn start(place: &Place, command: &str) -> Running {
        let [env, default] = DEFAULT_SIGNALS;
        let mut bash = Command::new(env);
        bash.args([default, "bash", "-c", &format!("exec {command}")]);
        let child = prepare(&mut bash)
            .current_dir(&place.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let running = Running(child.unwrap());
        let begin = Instant::now();
        // TERM is taken even where whoever runs the tests ignores INT.
        while !command.starts_with("wire p4") && running.mask("SigCgt") >> (15 - 1) & 1 == 0 {
            assert!(begin.elapsed() < LONG, "{command} takes no signals");
            std::thread::sleep(Duration::from_millis(2));
        }
        running
    }

    /// A set of signals as the system lists it.
    fn mask(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let digits = line.map(|rest| rest.trim_start_matches(':').trim());
        digits.map_or(0, |digits| u64::from_str_radix(digits, 16).unwrap())
    }

    fn send(&self, signal: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Its exit code, what it wrote to standard output, and what it said.
    fn end(mut self) -> (Option<i32>, Vec<u8>, String) {
        let mut stdout = self.0.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut out = Vec::new();
            stdout.read_to_end(&mut out).map(|_| out)
        });
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            if begin.elapsed() > LONG {
                self.0.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut told = String::new();
        let stderr = self.0.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut told).unwrap();
        // A command that has nothing to finish leaves the signal alone, which shells tell in the same way.
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        (code, reader.join().unwrap().unwrap(), told)
    }
}

/// Starts `command`, gives it `input` up to a place drawn by lot in pieces drawn by lot, and sends a signal while
/// the pipe stays open. Returns how many bytes it was given.
fn interrupt(
    place: &Place,
    command: &str,
    input: &[u8],
    signal: (&str, i32),
    random: &mut Random,
) -> (usize, Vec<u8>) {
    let mut running = Running::start(place, command);
    let mut stdin = running.0.stdin.take().unwrap();
    let stop = 1 + random.index(input.len() - 1);
    // Part of it may come behind the signal: what the writer still had in its buffer.
    let (before, after) = input[..stop].split_at(random.index(stop));
    for piece in before.chunks(1 + random.index(20_000)) {
        stdin.write_all(piece).unwrap();
    }
    std::thread::sleep(Duration::from_micros(random.index(3_000) as u64));
    running.send(signal.0);
    stdin.write_all(after).unwrap();
    let (code, out, told) = running.end();
    assert_eq!(
        code,
        Some(128 + signal.1),
        "{command}, {} at byte {stop}: {told}",
        signal.0
    );
    assert!(!told.contains("wire: standard input"), "{command}: {told}");
    (stop, out)
}

/// How many of the items that end at these places are whole in so many bytes.
fn whole(ends: &[usize], bytes: usize) -> usize {
    ends.partition_point(|&end| end <= bytes)
}

/// Where the items of a stream end, by the lines that each of its packets makes.
fn ends(stream: &[u8], item: &dyn Fn(&[u8]) -> usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < stream.len() {
        at += item(&stream[at..]);
        ends.push(at);
    }
    ends
}

fn line_len(stream: &[u8]) -> usize {
    stream.iter().position(|&byte| byte == b'\n').unwrap() + 1
}

/// A record has its length behind two bytes of magic, and 16 bytes of header.
fn record_len(stream: &[u8]) -> usize {
    16 + usize::from(u16::from_be_bytes([stream[2], stream[3]]))
}

/// A block of pcapng has its length behind its type.
fn block_len(stream: &[u8]) -> usize {
    u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize
}

fn first_lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').take(count).collect()
}

#[test]
fn readers_write_each_packet_that_came_whole_and_no_other() {
    let place = Place::new("prefix");
    let text = lines(900);
    place.write("t.lines", &text);
    place
        .run("wire cat --raw t.lines > t.raw; wire dump --epoch 0 t.lines > t.pcapng")
        .good();
    let lines = ends(text.as_bytes(), &line_len);
    let (records, capture) = (place.read("t.raw"), place.read("t.pcapng"));
    let record_ends = ends(&records, &record_len);
    // The first two blocks are the section and its interface, the last its statistics.
    let block_ends = ends(&capture, &block_len)[2..902].to_vec();
    let mut random = Random::new(13);
    for (command, input, ends) in [
        ("wire cat", text.as_bytes(), &lines),
        ("wire cat", &records, &record_ends),
        (
            "wire undump --words --epoch 0 --line-buffered",
            &capture,
            &block_ends,
        ),
        ("wire cat --line-buffered", text.as_bytes(), &lines),
        ("wire cut 1-", text.as_bytes(), &lines),
        ("wire cut dst --command cat", text.as_bytes(), &lines),
        ("wire cut 1-", &records, &record_ends),
        ("wire match type=0800 type=0806", text.as_bytes(), &lines),
        ("wire match type=0800 type=0806", &records, &record_ends),
        ("wire undump --words --epoch 0", &capture, &block_ends),
        ("wire undump", text.as_bytes(), &lines),
    ] {
        for signal in SIGNALS {
            let (given, out) = interrupt(&place, command, input, signal, &mut random);
            let expected = first_lines(&text, whole(ends, given));
            let out = String::from_utf8(out).unwrap();
            assert!(
                out == expected,
                "{command}, {signal:?} at byte {given}: {} lines, not {}",
                out.lines().count(),
                expected.lines().count()
            );
        }
    }
}

#[test]
fn captures_and_bit_streams_end_with_the_last_whole_packet() {
    let place = Place::new("made");
    let text = lines(600);
    place.write("t.lines", &text);
    place.run("wire cat --raw t.lines > t.raw").good();
    let records = place.read("t.raw");
    let (lines, records_end) = (
        ends(text.as_bytes(), &line_len),
        ends(&records, &record_len),
    );
    let mut random = Random::new(7);
    for (command, back) in [
        (
            "wire dump --epoch 0 -o out.pcapng",
            "wire undump --words --epoch 0 out.pcapng",
        ),
        (
            "wire dump --pcap --epoch 0 -o out.pcap",
            "wire undump --words --epoch 0 out.pcap",
        ),
        (
            "wire phy encode --idles 20 -o out.phy",
            "wire phy decode out.phy",
        ),
    ] {
        for (signal, (input, ends)) in SIGNALS.into_iter().zip([
            (text.as_bytes(), &lines),
            (&records[..], &records_end),
            (text.as_bytes(), &lines),
        ]) {
            let (given, _) = interrupt(&place, command, input, signal, &mut random);
            let expected = first_lines(&text, whole(ends, given));
            let out = place.run(back).good();
            // On the line frames have other times, and at least 60 bytes.
            let same = |(out, sent): (&str, &str)| out[17..].starts_with(&sent[17..]);
            assert!(
                out.lines().count() == expected.lines().count()
                    && out.lines().zip(expected.lines()).all(same),
                "{command}, {signal:?} at byte {given}"
            );
        }
    }
    // A frame may be in several segments, so that of a bit stream only this much holds: no frame that was not sent,
    // none left out, and no word of damage.
    place
        .run("wire phy encode --idles 20 -o t.phy t.lines 2> told")
        .good();
    let all = place.run("wire phy decode t.phy").good();
    let stream = place.read("t.phy");
    for signal in SIGNALS {
        let (_, out) = interrupt(&place, "wire phy decode", &stream, signal, &mut random);
        assert!(all.as_bytes().starts_with(&out), "{signal:?}");
    }
}

#[test]
fn a_pipeline_that_is_interrupted_makes_up_no_frame() {
    let place = Place::new("pipeline");
    let mut random = Random::new(1);
    for _ in 0..4 {
        let after = 0.3 + random.index(300) as f64 / 1e3;
        // timeout(1) sends the signal to all of the pipeline, as a terminal does.
        let script = format!(
            "timeout --preserve-status -s INT {after} bash -c \
             'wire gen --size 1000 --gap 1us | wire dump -o g.pcapng'; echo $?; \
             wire undump --no-time g.pcapng > g.lines || exit; \
             wire gen --size 1000 --gap 1us --no-time | head -n $(wc -l < g.lines) | cmp - g.lines"
        );
        assert_eq!(place.run(&script).good(), "130\n");
    }
}

#[test]
fn a_fifo_without_a_writer_is_left_on_a_signal() {
    let place = Place::new("fifo");
    place.run("mkfifo f g").good();
    for (number, command) in [
        "cat f",
        "dump f",
        "undump f",
        "cut dst f",
        "match type=0800 -f f",
        "profile f",
        "profile --compare f g",
        "phy encode f -o out.phy",
        "phy decode f",
        "phy lock f",
        "gen --replay f",
        "covert decode f",
        "lab f",
        "p4 check f",
        "p4 fmt f",
        "p4 bench f f",
    ]
    .into_iter()
    .enumerate()
    {
        let (signal, code) = SIGNALS[number % 3];
        let running = Running::start(&place, &format!("wire {command}"));
        std::thread::sleep(Duration::from_millis(20));
        running.send(signal);
        let (ended, _, told) = running.end();
        let complains = told.contains("wire: f") || told.contains("cannot");
        assert_eq!(
            (ended, complains),
            (Some(128 + code), false),
            "{command}: {told}"
        );
    }
    // A writer that comes and goes is waited for, and then the input has ended.
    place.write("t.lines", lines(3));
    let script = "wire cat f > out & sleep 0.1; cat t.lines > f; wait $!; echo $?; cmp out t.lines";
    assert_eq!(place.run(script).good(), "0\n");
}

#[test]
fn int_and_term_work_where_they_were_ignored_and_a_hang_up_stays_ignored() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let place = Place::new("ignored");
        place.run("mkfifo f").good();
        let mut bash = Command::new("bash");
        bash.args(["-c", "trap '' INT TERM HUP; exec wire cat f"]);
        let child = prepare(&mut bash)
            .current_dir(&place.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut running = Running(child.unwrap());
        let begin = Instant::now();
        // 2 for INT, 15 for TERM.
        while running.mask("SigCgt") & (1 << 1 | 1 << 14) != 1 << 1 | 1 << 14 {
            assert!(begin.elapsed() < LONG, "INT and TERM are not taken");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(running.mask("SigIgn") & 0b11, 0b01);
        running.send("HUP");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(running.0.try_wait().unwrap(), None);
        running.send(signal);
        assert_eq!(running.end().0, Some(code));
    }
}

#[test]
fn a_script_ends_what_it_has_in_the_background_by_an_interrupt() {
    let place = Place::new("background");
    // Without job control a shell has INT ignored in what it starts like this.
    place.write("t.lines", lines(3));
    let script = "mkfifo f; sh -c 'wire cat f > out & p=$!; cat t.lines > f & exec 3>f; until [ -s out ]; do sleep 0.05; done; kill -INT $p; wait $p; echo $?'; cmp out t.lines";
    assert_eq!(place.run(script).good(), "130\n");
}

#[test]
fn the_sums_of_a_delay_box_come_out_even_whenever_it_is_stopped() {
    let place = Place::new("sums");
    place.write("t.lines", lines(3_000));
    place.run("wire dump t.lines -o t.pcapng").good();
    let spec = "delay 20ms 19ms loss 10% duplicate 10% limit 400";
    let mut random = Random::new(3);
    for number in 0..6 {
        let command =
            format!("wire delay {spec} --json --on pcap:t.pcapng pcap:out{number}.pcapng");
        let running = Running::start(&place, &command);
        std::thread::sleep(Duration::from_millis(random.index(120) as u64));
        running.send("INT");
        let (code, out, told) = running.end();
        assert_eq!(code, Some(0), "{told}");
        let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let forth = &report["directions"][0];
        let count = |name: &str| forth[name].as_u64().unwrap();
        let came = count("packets") + count("duplicated");
        let went = count("sent") + count("lost") + count("dropped") + count("held");
        assert_eq!(came, went + count("refused"), "{report}");
    }
}

#[test]
fn a_signal_before_what_was_asked_for_is_told_by_the_exit_code() {
    let place = Place::new("asked");
    place.write("t.lines", lines(2_000));
    for (command, code) in [
        // Never ends by itself: a signal is its normal end.
        ("wire gen --line-buffered", 0),
        ("wire gen --line-buffered --count 1000000000", 130),
        ("wire gen --line-buffered --duration 9999s", 130),
        ("wire gen --line-buffered --replay t.lines --loops 0", 0),
        (
            "wire gen --line-buffered --replay t.lines --loops 99999999",
            130,
        ),
        // A regular file is left at the packet that it is at.
        ("wire send --gap 100ms pcap:sent.pcapng t.lines", 130),
    ] {
        let running = Running::start(&place, command);
        std::thread::sleep(Duration::from_millis(30));
        running.send("INT");
        let (ended, out, told) = running.end();
        assert_eq!(ended, Some(code), "{command}: {told}");
        assert!(out.is_empty() || out.ends_with(b"\n"), "{command}");
    }
}
