//! Each discipline against a model in Python that is written from the RFC or the paper: same drops, same marks, same order,
//! same departure times.

use crate::drive::{Sequence, drive};
use node::random::Random;
use node::{Size, Time};
use queue::{Config, codel, fifo};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Sequences of each discipline; the environment variable `WIRE_QUEUE_SEQUENCES` has another number.
const SEQUENCES: u64 = 250;
/// Packets of a sequence.
const PACKETS: usize = 200;

/// The models, in a process.
struct Models {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Models {
    fn start() -> Option<Models> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/run.py");
        let mut command = Command::new("python3");
        command.args(["-B", folder]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned
            .map_err(|error| println!("skipped: models of queue disciplines: no python3: {error}"))
            .ok()?;
        Some(Models {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take()?),
            child,
        })
    }

    fn trace(&mut self, config: &str, sequence: &Sequence, seed: u64) -> String {
        let mut random = Random::new(seed);
        let numbers: Vec<_> = (0..2 * PACKETS)
            .map(|_| random.bits().to_string())
            .collect();
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(
            input,
            "{{\"config\":{config},\"arrivals\":{},\"byte\":{},\"random\":[{}]}}",
            sequence.json(),
            sequence.byte,
            numbers.join(",")
        )
        .unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A value as JSON.
fn option(value: Option<u64>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

/// Compares a discipline with its model. `make` gives a configuration, and the same as JSON without its braces.
fn compare(kind: &str, make: impl Fn(&mut Random, &Sequence) -> (Config, String)) {
    let Some(mut models) = Models::start() else {
        return;
    };
    let sequences = std::env::var("WIRE_QUEUE_SEQUENCES").ok();
    let sequences = sequences.map_or(SEQUENCES, |count| count.parse().expect("a number"));
    let (mut drops, mut marks) = (0, 0);
    for seed in 0..sequences {
        let mut random = Random::new(seed ^ 0x5EED << 32);
        let sequence = Sequence::random(&mut random, PACKETS);
        let (config, keys) = make(&mut random, &sequence);
        let mut queue = config.build(seed).expect("a good configuration");
        let ours = drive(&mut *queue, &sequence, |_, _, _| ());
        let json = format!("{{\"kind\":\"{kind}\",{keys}}}");
        let theirs = models.trace(&json, &sequence, seed);
        let (ours, theirs) = (ours.split_whitespace(), theirs.split_whitespace());
        for (n, (our, their)) in ours.clone().zip(theirs.clone()).enumerate() {
            let before: Vec<_> = ours.clone().take(n).skip(n.saturating_sub(12)).collect();
            assert_eq!(our, their, "{kind} sequence {seed}: {before:?}\n{json}");
        }
        assert_eq!(
            ours.clone().count(),
            theirs.count(),
            "{kind} {seed}\n{json}"
        );
        drops += ours.clone().filter(|token| token.starts_with('d')).count();
        marks += ours.filter(|token| token.starts_with('m')).count();
    }
    println!("{kind}: {sequences} sequences, {drops} drops, {marks} marks");
    assert!(drops > 0, "the sequences test nothing");
}

fn maybe<T>(random: &mut Random, value: impl FnOnce(&mut Random) -> T) -> Option<T> {
    (random.below(3) == 0).then(|| value(random))
}

#[test]
fn fifo_is_that_of_its_model() {
    compare("fifo", |random, sequence| {
        let time = sequence.packet_time();
        let config = fifo::Config {
            limit: random.below(60) as u32,
            bytes: maybe(random, |random| Size::from_bytes(random.below(40_000))),
            time: maybe(random, |random| Time::from_ps(random.below(30 * time))),
            head_drop: random.below(2) == 0,
            mark: maybe(random, |random| random.below(20) as u32),
            ce_threshold: maybe(random, |random| Time::from_ps(random.below(20 * time))),
        };
        let keys = format!(
            "\"limit\":{},\"bytes\":{},\"time\":{},\"head_drop\":{},\"mark\":{},\"ce_threshold\":{}",
            config.limit,
            option(config.bytes.map(Size::bytes)),
            option(config.time.map(Time::as_ps)),
            config.head_drop,
            option(config.mark.map(u64::from)),
            option(config.ce_threshold.map(Time::as_ps)),
        );
        (Config::Fifo(config), keys)
    });
}

fn codel_config(random: &mut Random, sequence: &Sequence) -> (codel::Config, String) {
    let time = sequence.packet_time();
    let interval = time + random.below(40 * time);
    let reuse = [
        (codel::CountReuse::Delta, "delta"),
        (codel::CountReuse::MinusTwo, "minus_two"),
        (codel::CountReuse::None, "none"),
    ][random.index(3)];
    let config = codel::Config {
        limit: 1 + random.below(150) as u32,
        target: Time::from_ps(random.below(interval / 2)),
        interval: Time::from_ps(interval),
        ecn: random.below(2) == 0,
        ce_threshold: maybe(random, |random| Time::from_ps(random.below(20 * time))),
        mtu: [0, 1_514, 3_000][random.index(3)],
        count_reuse: reuse.0,
    };
    let keys = format!(
        "\"limit\":{},\"target\":{},\"interval\":{},\"ecn\":{},\"ce_threshold\":{},\"mtu\":{},\"count_reuse\":\"{}\"",
        config.limit,
        config.target.as_ps(),
        config.interval.as_ps(),
        config.ecn,
        option(config.ce_threshold.map(Time::as_ps)),
        config.mtu,
        reuse.1,
    );
    (config, keys)
}

#[test]
fn codel_is_that_of_its_model() {
    compare("codel", |random, sequence| {
        let (config, keys) = codel_config(random, sequence);
        (Config::Codel(config), keys)
    });
}
