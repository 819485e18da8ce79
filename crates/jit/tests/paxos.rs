//! The acceptor and the coordinator in `examples/paxos` do what those in Rust do, in both engines: from every state that few small messages
//! lead to, by each of them, and along random ways.

use consensus::acceptor::Cell;
use consensus::message::{AUXILIARIES, PORT};
use consensus::{Acceptor, Command, Kind, Message, Sequencer, Value};
use jit::Jit;
use node::Time;
use p4::compile::{Options, compile};
use p4::source::{IncludeError, Includes};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use packet::udp::Udp;
use pipeline::architecture::{Config, Drop, Output, Pipeline};
use pipeline::control::Control;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use std::collections::HashSet;
use std::fmt::Write;
use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;

/// Bytes before a message: Ethernet, IPv4, UDP.
const BEFORE: usize = 42;

struct Folder;

impl Includes for Folder {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match p4::library::file(name) {
            Some(text) => text.to_string(),
            None => read(name),
        };
        Ok((name.to_string(), text))
    }
}

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/paxos");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// What leaves.
#[derive(Default)]
struct Sent(Vec<(u32, Vec<u8>)>);

impl Output for Sent {
    fn send(&mut self, port: u32, bytes: &[u8]) {
        self.0.push((port, bytes.to_vec()));
    }
    fn drop(&mut self, _: Drop) {}
}

struct Switch {
    /// By which port it is asked.
    port: u32,
    pipeline: Pipeline,
    control: Control,
}

impl Switch {
    fn new(file: &str, window: usize, fast: bool) -> Switch {
        let options = Options {
            defines: vec![("PAXOS_WINDOW".to_string(), window.to_string())],
            ..Options::default()
        };
        let compiled = compile(file, &read(file), &mut Folder, &options);
        let program = compiled.program.expect("it has no errors");
        let environment = Environment::new(Arc::new(program), Default::default()).unwrap();
        let environment = Arc::new(environment);
        let engine: Box<dyn pipeline::engine::Engine> = match fast {
            true => Box::new(Jit::new(&environment).unwrap()),
            false => Box::new(Interpreter::new(&environment).unwrap()),
        };
        Switch {
            port: 2,
            pipeline: Pipeline::new(&environment, engine, &Config::default()).unwrap(),
            control: Control::new(environment),
        }
    }

    fn say(&self, line: &str) {
        let said = self.control.say(line);
        said.unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    /// The message that comes back for one, and by which port.
    fn ask(&mut self, message: &Message<Command>) -> Option<(u32, Message<Command>)> {
        let mut sent = self.process(message);
        let (port, bytes) = sent.0.pop()?;
        assert!(sent.0.is_empty(), "one message, at most one answer");
        assert_eq!(bytes[6..12], [2, 0, 0, 0, 0, 1], "in its own name");
        let ip = packet::ipv4::Ipv4View::new(&bytes[14..]).unwrap();
        assert!(ip.is_checksum_valid() && ip.source().octets() == [10, 0, 0, 1]);
        Some((port, Message::parse(&bytes[BEFORE..]).unwrap()))
    }

    /// A message that leaves as it came.
    fn pass(&mut self, message: &Message<Command>) {
        let mut sent = self.process(message);
        let (_, bytes) = sent.0.pop().unwrap();
        assert_eq!(bytes[6..12], [2, 0, 0, 0, 0, 9]);
        assert_eq!(Message::parse(&bytes[BEFORE..]).as_ref(), Ok(message));
    }

    fn process(&mut self, message: &Message<Command>) -> Sent {
        let mut frame = Vec::new();
        let ethernet = Ethernet {
            destination: Mac([1, 0, 0x5E, 0, 0, 1]),
            source: Mac([2, 0, 0, 0, 0, 9]),
            tags: &[],
            ethertype: ethertype::IPV4,
        };
        let ip = Ipv4::new([10, 0, 0, 9].into(), [239, 0, 0, 1].into(), protocol::UDP);
        let udp = Udp {
            source_port: PORT,
            destination_port: PORT,
        };
        ethernet.build(&mut frame, |out| {
            ip.build(out, |out| {
                udp.build(ip.pseudo(), out, |out| message.build(out));
            });
        });
        let mut sent = Sent::default();
        self.pipeline
            .process(Time::ZERO, self.port, &frame, &mut sent);
        sent
    }

    /// The cells of a register, as numbers.
    fn registers(&self, name: &str) -> Vec<Vec<p4::value::Bits>> {
        let program = self.control.program();
        let object = program
            .objects
            .iter()
            .position(|object| object.name.ends_with(name));
        let object = p4::ir::ObjectId(object.unwrap() as u32);
        let cells = self.control.registers(object, None).unwrap();
        cells.into_iter().map(|(_, values)| values).collect()
    }
}

/// An acceptor in P4.
struct InP4(Switch);

impl InP4 {
    fn new(window: usize, fast: bool) -> InP4 {
        InP4::of("acceptor.p4", window, fast)
    }

    fn of(file: &str, window: usize, fast: bool) -> InP4 {
        let switch = Switch::new(file, window, fast);
        switch.say("table set own default do say 02:00:00:00:00:01 10.0.0.1");
        // Coordinators are by port 2, where questions come from, learners by port 3; both are by 4.
        if !file.contains("bump") {
            switch.say("group set 1 2:0");
            switch.say("group set 4 3:0");
            switch.say("group set 5 4:0");
        }
        InP4(switch)
    }

    /// Puts an acceptor's state into the registers.
    fn set(&self, state: &Acceptor<Command>) {
        let say = |line: &str| self.0.say(line);
        say(&format!(
            "register write acceptor 0 swid={} boot={} admitted={}",
            state.id,
            state.boot,
            u8::from(state.admitted)
        ));
        say(&format!("register write promised 0 {}", state.promised));
        say(&format!("register write trimmed 0 {}", state.base - 1));
        say(&format!("register write highest 0 {}", state.high));
        let mut starts = "register write starts 0".to_string();
        for (number, boot) in state.boots.iter().enumerate() {
            write!(starts, " boot{number}={boot}").unwrap();
        }
        say(&starts);
        for (index, cell) in state.cells.iter().enumerate() {
            let mut value = "0x".to_string();
            let mut bytes = [0; 64];
            bytes[..cell.value.value.len()].copy_from_slice(&cell.value.value);
            bytes
                .iter()
                .for_each(|byte| write!(value, "{byte:02x}").unwrap());
            say(&format!(
                "register write cells {index} inst={} rnd={} length={} client={} sequence={} value={value}",
                cell.instance,
                cell.round,
                cell.value.value.len(),
                cell.value.client,
                cell.value.sequence
            ));
        }
    }

    /// All registers, so that two states can be told apart.
    fn all(&self) -> Vec<Vec<Vec<p4::value::Bits>>> {
        let names = [
            "acceptor", "promised", "trimmed", "highest", "starts", "cells",
        ];
        names
            .map(|name| self.0.registers(&format!(".{name}")))
            .into()
    }
}

fn command(number: u8) -> Command {
    Command {
        client: number.into(),
        sequence: u32::from(number) + 1,
        value: Value::new(&[number; 7]).unwrap(),
    }
}

/// By which port an acceptor answers a question.
fn back(question: &Message<Command>, answer: &Message<Command>) -> u32 {
    match (answer.kind, question.boot) {
        (Kind::Phase2B, 0) => 4,
        // A switch has asked.
        (Kind::Phase2B, _) => 3,
        _ => 2,
    }
}

/// Few small messages, of all kinds that mean something to an acceptor.
fn small() -> Vec<Message<Command>> {
    let mut all = Vec::new();
    for round in 1..=3 {
        for instance in 1..=4 {
            let asked = Message {
                instance,
                round,
                ..Message::new(Kind::Phase1A)
            };
            all.push(asked);
            let value = command(round as u8);
            all.push(Message {
                kind: Kind::Phase2A,
                value,
                ..asked
            });
        }
    }
    all.push(Message {
        boots: [1, 2, 0, 0, 0],
        ..all[0]
    });
    all.push(Message {
        instance: 3,
        ..Message::new(Kind::Trim)
    });
    all.push(Message {
        instance: 2,
        ..Message::new(Kind::Trim)
    });
    all.push(Message {
        sender: 1,
        boot: 2,
        round: 1,
        base: 2,
        boots: [1, 2, 3, 0, 0],
        ..Message::new(Kind::Admit)
    });
    all.push(Message {
        sender: 1,
        boot: 1,
        round: 2,
        ..Message::new(Kind::Admit)
    });
    all
}

/// Every state that the messages lead to from some.
fn reachable<S: Clone + Eq + Hash>(
    from: Vec<S>,
    messages: &[Message<Command>],
    step: impl Fn(&mut S, &Message<Command>),
) -> HashSet<S> {
    let (mut known, mut left): (HashSet<S>, _) = (from.iter().cloned().collect(), from);
    while let Some(state) = left.pop() {
        for message in messages {
            let mut next = state.clone();
            step(&mut next, message);
            if known.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    known
}

#[test]
fn an_acceptor_in_p4_does_the_same_from_every_small_state() {
    let messages = small();
    let from = vec![Acceptor::formed(1, 2), Acceptor::restarted(1, 2, 2)];
    let states = reachable(from, &messages, |state, message| {
        state.step(message);
    });
    println!("{} states, {} messages", states.len(), messages.len());
    assert!(states.len() > 300, "{} states", states.len());
    for fast in [false, true] {
        let (mut switch, expected) = (InP4::new(2, fast), InP4::new(2, fast));
        for state in &states {
            for message in &messages {
                switch.set(state);
                let mut next = state.clone();
                let answer = next.step(message);
                let told = switch.0.ask(message);
                assert_eq!(
                    told,
                    answer.map(|answer| (back(message, &answer), answer)),
                    "{state:?} {message:?}"
                );
                if next != *state || message.round == 1 {
                    expected.set(&next);
                    assert_eq!(switch.all(), expected.all(), "{state:?} {message:?}");
                }
            }
        }
    }
}

/// splitmix64
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        node::random::split_mix(self.0, 0) % bound
    }

    /// Near a number most of the time, and else anything.
    fn near(&mut self, number: u64) -> u64 {
        match self.below(400) {
            0 => self.below(u64::MAX),
            1 => u64::MAX - self.below(3),
            _ => number.saturating_add(self.below(10)).saturating_sub(2),
        }
    }

    /// A message that may mean something where the window begins at `base`, and `round` is promised.
    fn message(&mut self, kinds: &[Kind], base: u64, round: u64) -> Message<Command> {
        let kind = kinds[self.below(kinds.len() as u64) as usize];
        Message {
            sender: self.below(3) as u16,
            boot: self.below(3) as u16,
            instance: match kind {
                Kind::Trim => self.near(base.saturating_sub(3)),
                _ => self.near(base),
            },
            round: match self.below(3) {
                0 => self.near(round.saturating_sub(7)),
                _ => round,
            },
            vote_round: self.near(round),
            base: self.near(base.saturating_sub(1)),
            // Once in a while it calls auxiliary acceptors.
            high: self.below(4),
            boots: std::array::from_fn(|_| self.below(4) as u16),
            value: command(self.below(200) as u8),
            ..Message::new(kind)
        }
    }
}

#[test]
fn an_acceptor_in_p4_goes_the_same_random_ways() {
    const KINDS: [Kind; 6] = [
        Kind::Phase1A,
        Kind::Phase2A,
        Kind::Phase2A,
        Kind::Phase2A,
        Kind::Admit,
        Kind::Trim,
    ];
    // By which port it is asked.
    let files = [
        ("acceptor.p4", 2),
        ("acceptor_switch.p4", 2),
        ("acceptor_bump.p4", 0),
    ];
    for ((file, port), fast) in files
        .into_iter()
        .flat_map(|file| [(file, false), (file, true)])
    {
        let mut switch = InP4::of(file, 8, fast);
        switch.0.port = port;
        let mut votes = 0;
        for seed in 0..60 {
            let mut random = Random(seed);
            let mut state = match seed % 2 {
                0 => Acceptor::formed(1, 8),
                _ => Acceptor::restarted(1, 2, 8),
            };
            switch.set(&state);
            for _ in 0..100 {
                let message = random.message(&KINDS, state.base, state.promised);
                let answer = state.step(&message);
                votes += usize::from(answer.is_some_and(|answer| answer.kind == Kind::Phase2B));
                let told = switch.0.ask(&message);
                assert_eq!(
                    told,
                    answer.map(|answer| (
                        if port == 0 {
                            1
                        } else {
                            back(&message, &answer)
                        },
                        answer
                    )),
                    "{seed}: {state:?} {message:?}"
                );
            }
            let expected = InP4::new(8, false);
            expected.set(&state);
            assert_eq!(switch.all(), expected.all(), "{seed}: {state:?}");
        }
        assert!(votes > 500, "{votes} votes");
    }
}

#[test]
fn a_coordinator_in_p4_goes_the_same_random_ways() {
    const KINDS: [Kind; 6] = [
        Kind::Request,
        Kind::Request,
        Kind::Request,
        Kind::Activate,
        Kind::Trim,
        Kind::Refused,
    ];
    let files = [
        "coordinator.p4",
        "coordinator_switch.p4",
        "coordinator_bump.p4",
    ];
    for (file, fast) in files
        .into_iter()
        .flat_map(|file| [(file, false), (file, true)])
    {
        let mut switch = Switch::new(file, 8, fast);
        let is_bump = file.contains("bump");
        switch.say("table set own default do say 02:00:00:00:00:01 10.0.0.1");
        switch.port = u32::from(!is_bump) * 2;
        if !is_bump {
            switch.say("group set 2 5:0");
            switch.say("group set 34 6:0");
        }
        let (mut asked, mut called) = (0, 0);
        for seed in 0..60 {
            let mut random = Random(seed);
            let mut state = Sequencer::new(1, 8);
            switch.say("register write boot 0 1");
            switch.say("register write round 0 0");
            switch.say("register write place 0 active=0 auxiliaries=0 next=0 base=0");
            for _ in 0..100 {
                let message = random.message(&KINDS, state.next, state.round);
                let request = state.step(&message);
                asked += usize::from(request.is_some());
                let calls = |request: Message<Command>| request.high == AUXILIARIES;
                called += usize::from(request.is_some_and(calls));
                // What it does not change passes in the name of who sent it: all through a bump, and trims to acceptors.
                if request.is_none() && (is_bump || message.kind == Kind::Trim) {
                    switch.pass(&message);
                    continue;
                }
                let told = switch.ask(&message);
                assert_eq!(
                    told,
                    request.map(|request| {
                        let port = match (is_bump, calls(request)) {
                            (true, _) => 1,
                            (false, false) => 5,
                            (false, true) => 6,
                        };
                        (port, request)
                    }),
                    "{file} {seed}: {state:?} {message:?}"
                );
            }
        }
        assert!(asked > 200 && called > 20, "{asked} asked for, {called}");
    }
}

/// A mistake in the program is found by what is above.
#[test]
fn another_acceptor_is_told_apart() {
    let mut switch = InP4::new(2, false);
    let state = Acceptor {
        promised: 2,
        ..Acceptor::formed(1, 2)
    };
    switch.set(&Acceptor {
        promised: 1,
        ..state.clone()
    });
    let message = small()[0];
    let told = switch.0.ask(&message).map(|(_, answer)| answer);
    assert_ne!(told, state.clone().step(&message));
    let cell = Cell {
        instance: 1,
        round: 1,
        value: command(1),
    };
    let voted = Acceptor {
        cells: vec![cell.clone(), cell],
        ..state.clone()
    };
    let (one, other) = (InP4::new(2, false), InP4::new(2, false));
    one.set(&voted);
    other.set(&state);
    assert_ne!(one.all(), other.all());
}
