//! Frames a second through programs as nodes, by a terminal and by pipes.
//!
//! `cargo bench -p wireline-live --bench callback`
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark times what it runs, and prints"
)]

use live::world::callback::{Callback, Config, Io};
use node::{Frame, Node, Out, Port, Ticket, Time};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

const PROGRAMS: [(&str, &str); 10] = [
    ("cat", "cat"),
    ("sed", "sed 's/8100 00 02 /8100 00 01 /'"),
    ("sed -u", "sed -u 's/8100 00 02 /8100 00 01 /'"),
    ("grep", "grep ''"),
    ("mawk", "mawk 1"),
    ("mawk -W interactive", "mawk -W interactive 1"),
    ("gawk", "gawk 1"),
    ("gawk, fflush()", "gawk '{ print; fflush() }'"),
    (
        "python3",
        "python3 -c 'import sys\nfor line in sys.stdin: print(line, end=\"\")'",
    ),
    (
        "python3, flush",
        "python3 -c 'import sys\nfor line in sys.stdin: print(line, end=\"\", flush=True)'",
    ),
];
/// Frames that wait for an answer at once.
const WINDOW: usize = 256;

fn main() {
    println!(
        "{:22} {:>6} {:>12} {:>12} {:>8}",
        "program", "bytes", "terminal/s", "pipes/s", "ratio"
    );
    for (name, command) in PROGRAMS {
        for length in [64, 1514] {
            let [terminal, pipes] = [Io::Terminal, Io::Pipes].map(|io| rate(command, io, length));
            let text =
                |rate: Option<f64>| rate.map_or("stalls".into(), |rate| format!("{rate:.0}"));
            let ratio = terminal
                .zip(pipes)
                .map_or(String::new(), |(a, b)| format!("{:.2}", a / b));
            println!(
                "{name:22} {length:6} {:>12} {:>12} {ratio:>8}",
                text(terminal),
                text(pipes)
            );
        }
    }
}

/// Frames a second; `None` where frames are lost.
fn rate(command: &str, io: Io, length: usize) -> Option<f64> {
    let config = Config {
        io,
        ..Config::new(command)
    };
    let (mut node, mut out) = (Callback::new(config), Out::default());
    let begin = Instant::now();
    let now = || Time::from_ns(begin.elapsed().as_nanos() as u64);
    let (mut given, mut done, mut lost) = (0usize, 0usize, 0usize);
    let mut start = None;
    let mut frames = Vec::new();
    loop {
        // The first frame waits for the program to start.
        let window = if done == 0 { 1 } else { WINDOW };
        while given < done + window {
            given += 1;
            let mut frame = Frame::new(&vec![given as u8; length]);
            frame.set_ticket(Ticket(NonZeroU64::new(given as u64)?));
            frames.push(frame);
        }
        match frames.is_empty() {
            true => node.wake(now(), &mut out),
            false => node.frames(now(), Port(0), &mut frames, &mut out),
        }
        let before = done;
        done += out.sends().count();
        lost += out.ended().count();
        if lost > 0 {
            return None;
        }
        match start {
            None if done > 0 => start = Some((Instant::now(), done)),
            Some((start, first)) if start.elapsed() > Duration::from_secs(1) => {
                return Some((done - first) as f64 / start.elapsed().as_secs_f64());
            }
            _ => {}
        }
        if done == before {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}
