//! Programs as nodes: a packet in, an answer out.
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

use live::world::callback::{Callback, Config, Io};
use node::{Frame, Node, Out, Port, Ticket, Time};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// A node at work, in real time.
struct Bed {
    node: Callback,
    out: Out,
    start: Instant,
    tickets: u64,
    /// What was sent: the port, the ticket, whether it was changed, the bytes.
    sent: Vec<(u16, Option<u64>, bool, Vec<u8>)>,
    /// Tickets of what ended.
    ended: Vec<u64>,
}

impl Bed {
    fn new(config: Config) -> Bed {
        Bed {
            node: Callback::new(config),
            out: Out::default(),
            start: Instant::now(),
            tickets: 0,
            sent: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        Time::from_ns(self.start.elapsed().as_nanos() as u64)
    }

    /// Packets whose last byte counts.
    fn give(&mut self, port: u16, count: u8) {
        let mut frames = Vec::new();
        for last in 0..count {
            let mut frame = Frame::new(&[0xAB; 60]);
            frame[59] = last;
            self.tickets += 1;
            frame.set_ticket(Ticket(NonZeroU64::new(self.tickets).unwrap()));
            frames.push(frame);
        }
        let now = self.now();
        self.node
            .frames(now, Port(port), &mut frames, &mut self.out);
        self.collect();
    }

    fn collect(&mut self) {
        for mut departure in self.out.sends() {
            let changed = departure.frame.is_changed();
            let ticket = departure.frame.take_ticket().map(|ticket| ticket.0.get());
            let bytes = departure.frame.to_vec();
            self.sent.push((departure.port.0, ticket, changed, bytes));
        }
        self.ended
            .extend(self.out.ended().map(|ticket| ticket.0.get()));
    }

    /// Until so many packets were answered.
    fn until(&mut self, answered: usize) {
        let count =
            |bed: &Bed| bed.ended.len() + bed.sent.iter().filter(|sent| sent.1.is_some()).count();
        for _ in 0..20_000 {
            if count(self) >= answered {
                assert_eq!(count(self), answered);
                return;
            }
            self.wake();
        }
        panic!("{} of {answered} were answered", count(self));
    }

    fn wake(&mut self) {
        std::thread::sleep(Duration::from_micros(500));
        let now = self.now();
        assert!(self.node.next_wake().is_some());
        self.node.wake(now, &mut self.out);
        self.collect();
    }

    fn counter(&self, name: &str) -> u64 {
        self.node.statistics().get(name).unwrap()
    }
}

#[test]
fn a_program_that_gives_packets_back_lets_them_through() {
    let mut bed = Bed::new(Config::new("cat"));
    bed.give(0, 200);
    bed.give(1, 3);
    bed.until(203);
    let ports = bed.sent.iter().map(|sent| sent.0);
    assert_eq!(ports.filter(|&port| port == 1).count(), 200);
    // In order, and untouched.
    assert!(
        bed.sent
            .iter()
            .zip(1..)
            .all(|(sent, ticket)| sent.1 == Some(ticket) && !sent.2)
    );
    assert_eq!((bed.counter("through"), bed.counter("modified")), (203, 0));
}

#[test]
fn lines_are_changed_dropped_and_sent_beside() {
    // By the last byte: 00 as it is, 01 changed, 02 dropped, 03 another one beside it.
    let command = "awk '$NF == \"01\" { $4 = \"CD\" } $NF == \"02\" { $0 = \"drop\" } $NF == \"03\" { print \"+\" $0 }
        { print; fflush() }'";
    let mut bed = Bed::new(Config::new(command));
    bed.give(0, 4);
    bed.until(4);
    let seen: Vec<_> = bed
        .sent
        .iter()
        .map(|sent| (sent.1, sent.2, sent.3[14], sent.3[59]))
        .collect();
    let wanted = [
        (Some(1), false, 0xAB, 0),
        (Some(2), true, 0xCD, 1),
        (None, true, 0xAB, 3),
        (Some(4), false, 0xAB, 3),
    ];
    assert_eq!(seen, wanted);
    assert_eq!((bed.ended, bed.node.properties().ports), (vec![3], 2));
}

/// Whether a program is here; else the test says that it does without.
fn has(program: &str) -> bool {
    let found = std::process::Command::new("sh")
        .args(["-c", &format!("command -v {program} >/dev/null")])
        .status()
        .unwrap()
        .success();
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

#[test]
fn programs_that_never_flush_answer_each_packet_at_once() {
    let commands = [
        "cat",
        "mawk 1",
        "mawk '{ $1 = $1; print }' 2>/dev/null",
        "gawk 1",
        "sed s/8100/8100/",
        "grep ''",
        "python3 -c 'import sys\nfor line in sys.stdin: print(line.strip())'",
        "python3 -c 'while True: print(input())'",
        // Within a pipe.
        "grep '' | sed s/8100/8100/ | gawk 1",
        "sed s/8100/8100/ | tr a-f A-F | cut -d' ' -f 1- | sed ''",
        "python3 -c 'import sys\nfor line in sys.stdin: print(line.strip())' | sed ''",
        // What is said elsewhere is no answer.
        "sed -n 'p; w /dev/stderr' 2>/dev/null",
    ];
    for command in commands {
        if !has(command.split(' ').next().unwrap()) {
            continue;
        }
        let config = Config::new(command);
        assert_eq!(config.io, Io::Terminal, "{command}");
        let mut bed = Bed::new(Config {
            patience: Time::from_secs(20),
            ..config
        });
        // The second is given when the first has been answered, and more than a block of them at once.
        for (round, count) in [1u8, 1, 250].into_iter().enumerate() {
            bed.give(0, count);
            bed.until([1, 2, 252][round]);
        }
        let counted = ["through", "unanswered", "answers_to_nothing", "starts"];
        assert_eq!(
            counted.map(|name| bed.counter(name)),
            [252, 0, 0, 1],
            "{command}"
        );
    }
}

#[test]
fn a_terminal_changes_no_byte_of_the_longest_lines() {
    for command in ["cat", "sed ''", "mawk 1", "gawk 1"] {
        if !has(command.split(' ').next().unwrap()) {
            continue;
        }
        let mut bed = Bed::new(Config {
            patience: Time::from_secs(20),
            ..Config::new(command)
        });
        for (number, length) in [1365, 4096, 65_535, 262_144].into_iter().enumerate() {
            // Every byte there is, and so every digit at every place of a block.
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
            let mut frame = Frame::new(&bytes);
            frame.set_ticket(Ticket(NonZeroU64::new(number as u64 + 1).unwrap()));
            let now = bed.now();
            bed.node
                .frames(now, Port(0), &mut vec![frame], &mut bed.out);
            bed.until(number + 1);
        }
        assert_eq!(
            (bed.counter("through"), bed.counter("modified")),
            (4, 0),
            "{command}"
        );
    }
}

#[test]
fn a_program_that_keeps_its_output_stalls_by_pipes_and_not_by_a_terminal() {
    for (io, ended) in [(Io::Pipes, 1), (Io::Terminal, 0)] {
        let mut bed = Bed::new(Config {
            io,
            patience: Time::from_ms(if ended == 1 { 200 } else { 20_000 }),
            ..Config::new("sed ''")
        });
        bed.give(0, 1);
        bed.until(1);
        assert_eq!(bed.ended.len(), ended, "{io:?}");
    }
    for flushes in ["sed -u p", "awk '{ print; fflush() }'", "stdbuf -oL cat"] {
        assert_eq!(Io::of(flushes), Io::Pipes);
    }
}

#[test]
fn records_are_answered_in_python() {
    if !has("python3") {
        return;
    }
    let program = "import sys, struct
i, o = sys.stdin.buffer, sys.stdout.buffer
while header := i.read(16):
    magic, length, time, hash = struct.unpack('>HHQI', header)
    packet = i.read(length)
    if packet[-1] == 1: packet = packet[:20]
    if packet[-1] == 2: packet = b''
    if packet and packet[-1] == 3: o.write(struct.pack('>HHQI', magic, length, 0, hash) + packet)
    o.write(struct.pack('>HHQI', magic, len(packet), time, hash) + packet); o.flush()";
    let mut config = Config::new(&format!("exec python3 -c \"{program}\""));
    config.raw = true;
    let mut bed = Bed::new(config);
    bed.give(1, 4);
    bed.until(4);
    let seen: Vec<_> = bed
        .sent
        .iter()
        .map(|sent| (sent.0, sent.1, sent.3.len()))
        .collect();
    assert_eq!(
        seen,
        [
            (0, Some(1), 60),
            (0, Some(2), 20),
            (0, None, 60),
            (0, Some(4), 60)
        ]
    );
    assert_eq!(bed.ended, [3]);
}

#[test]
fn a_program_that_stalls_is_not_waited_for() {
    for open in [false, true] {
        // It reads nothing for a while, and then answers everything.
        let mut config = Config::new("sleep 0.3; exec cat");
        config.patience = Time::from_ms(50);
        config.open = open;
        let mut bed = Bed::new(config);
        bed.give(0, 5);
        bed.until(5);
        assert!(bed.now() >= Time::from_ms(50));
        assert_eq!(bed.sent.len(), if open { 5 } else { 0 });
        assert_eq!(bed.counter("unanswered"), 5);
        // What comes too late is not taken for an answer to what came since.
        while bed.counter("late_answers") < 5 {
            bed.wake();
        }
        // On a busy machine one more may be too late, or two.
        let given = (6..100).find(|&given| {
            bed.give(0, 1);
            bed.until(given);
            bed.counter("through") == 1
        });
        let last = bed.sent.last().and_then(|sent| sent.1);
        assert_eq!(last, given.map(|given| given as u64));
        assert!(given.is_some());
    }
}

#[test]
fn a_program_that_ends_is_started_again() {
    let mut config = Config::new("read line; echo \"$line\"; exit 3");
    config.open = true;
    let mut bed = Bed::new(config);
    bed.give(0, 3);
    bed.until(3);
    assert_eq!((bed.counter("through"), bed.counter("unanswered")), (1, 2));
    // Not at once.
    bed.give(0, 1);
    bed.until(4);
    assert_eq!(bed.counter("unanswered"), 3);
    while bed.counter("starts") < 2 {
        bed.wake();
    }
    assert!(bed.now() >= Time::from_secs(1));
    bed.give(0, 1);
    bed.until(5);
    assert_eq!(bed.counter("through"), 2);
}

#[test]
fn what_a_program_owes_has_a_bound() {
    // It reads nothing at all.
    let mut bed = Bed::new(Config::new("exec sleep 60"));
    for _ in 0..50 {
        bed.give(0, 100);
    }
    assert_eq!(bed.ended.len(), 5000 - 4096);
    assert_eq!(bed.counter("unanswered"), 5000 - 4096);
    // And it does not outlive the node.
    let now = Instant::now();
    drop(bed);
    assert!(now.elapsed() < Duration::from_secs(30));
}

#[test]
fn nonsense_is_no_answer_and_records_out_of_step_begin_anew() {
    let mut bed = Bed::new(Config::new("while read line; do echo what; done"));
    bed.give(0, 2);
    bed.until(2);
    assert_eq!((bed.sent.len(), bed.ended.len()), (0, 2));
    let mut config = Config::new("cat; :");
    config.raw = true;
    let mut bed = Bed::new(config);
    bed.give(0, 1);
    bed.until(1);
    assert_eq!(bed.counter("through"), 1);
    let mut config = Config::new("while read line; do echo what what what what; done");
    config.raw = true;
    let mut bed = Bed::new(config);
    let mut frame = Frame::new(&[b'\n'; 60]);
    frame.set_ticket(Ticket(NonZeroU64::MIN));
    bed.node
        .frames(Time::ZERO, Port(0), &mut vec![frame], &mut bed.out);
    bed.until(1);
    assert_eq!(bed.ended, [1]);
}
