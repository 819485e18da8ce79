//! ns-3's queue discs as a third opinion, on the same arrivals: the same fates where both are exact, and the same drops and delays on average where ns-3 rounds
//! (CoDel counts 1024 ns and has 16 bits for a square root) or draws its own random numbers (PIE, RED).
//!
//! Needs g++ and the headers of ns-3 (Debian: libns3-dev).

use crate::drive::{Arrival, Sequence};
use node::random::Random;
use node::{Rate, Size, Time};
use queue::{Config, Ecn, Facts, Packet, Verdict, codel, fifo, fq_codel, pie, red};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// The program that runs a queue disc, compiled once.
static PROGRAM: LazyLock<Option<PathBuf>> = LazyLock::new(compile);

/// Compiles the program that runs a queue disc; `None`, with the reason on standard output, without ns-3.
fn compile() -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ns3/queue.cc");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ns3-queue");
    let libraries = ["-lns3-core", "-lns3-network", "-lns3-traffic-control"];
    let mut compiler = Command::new("g++");
    let compiler = compiler.args(["-std=c++17", "-O1", "-o"]).arg(&program);
    let made = compiler.arg(source).args(libraries).output();
    match made {
        Ok(made) if made.status.success() => Some(program),
        Ok(_) => {
            println!("skipped: no ns-3 (Debian: libns3-dev)");
            None
        }
        Err(error) => {
            println!("skipped: no g++: {error}");
            None
        }
    }
}

/// Lengths of packets.
const MIXED: [u64; 4] = [60, 590, 1514, 1514];

/// A verdict, and the time in the queue.
type End = (String, u64);

fn theirs(program: &Path, disc: &str, sequence: &Sequence) -> Vec<End> {
    let mut input = format!("{disc}\n{}\n", sequence.byte);
    for Arrival { at, packet, .. } in &sequence.arrivals {
        let capable = u8::from(packet.facts.ecn.is_capable());
        writeln!(
            input,
            "{} {} {} {capable}",
            at.as_ps(),
            packet.len,
            packet.facts.flow
        )
        .unwrap();
    }
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let ends = text.lines().map(|line| {
        let (verdict, waited) = line.split_once(' ').unwrap();
        (verdict.to_owned(), waited.parse().unwrap())
    });
    ends.collect()
}

fn ours(config: &Config, sequence: &Sequence, seed: u64) -> Vec<End> {
    let mut queue = config.build(seed).unwrap();
    let mut ends: Vec<End> = vec![("waiting".into(), 0); sequence.arrivals.len()];
    let (mut decisions, mut free) = (Vec::new(), Time::ZERO);
    let mut arrivals = sequence.arrivals.iter().peekable();
    loop {
        let leaves = queue.next_time(free).map(|at| at.max(free));
        let next = arrivals.next_if(|next| leaves.is_none_or(|leaves| next.at < leaves));
        let (at, sent) = match (next, leaves) {
            (Some(Arrival { at, packet, .. }), _) => {
                queue.enqueue(*at, *packet, &mut decisions);
                // An idle line takes it at once.
                free = free.max(*at);
                (*at, None)
            }
            (None, Some(at)) => (at, queue.dequeue(at, &mut decisions)),
            (None, None) => return ends,
        };
        for decision in decisions.drain(..) {
            let verdict = match decision.verdict {
                Verdict::Dropped => "dropped",
                Verdict::Marked => "marked",
            };
            ends[decision.packet.handle as usize] =
                (verdict.into(), decision.packet.sojourn(at).as_ps());
        }
        if let Some(packet) = sent {
            let end = &mut ends[packet.handle as usize];
            if end.0 != "marked" {
                end.0 = "sent".into();
            }
            end.1 = packet.sojourn(at).as_ps();
            free = at + Time::from_ps(sequence.byte * u64::from(packet.len));
        }
    }
}

/// Packets at a line of 10 Mb/s with a load from 105 % to `most`, some lengths, a quarter of them ECN-capable.
fn overload(random: &mut Random, count: usize, most: u64, lengths: &[u64]) -> Sequence {
    let byte = 800_000;
    let load = 105 + random.below(most - 105);
    let mean = lengths.iter().sum::<u64>() / lengths.len() as u64;
    let flows = 1 + random.below(8);
    let mut at = 0;
    let mut arrivals = Vec::with_capacity(count);
    while arrivals.len() < count {
        let len = lengths[random.index(lengths.len())];
        let most = 1 + random.below(flows);
        let flow = random.below(most) as u32;
        let facts = Facts {
            flow: flow * 0x0105_0301 + 77,
            ecn: Ecn::from_bits(2 * u8::from(random.below(4) == 0)),
            ..Facts::default()
        };
        let packet = Packet::new(arrivals.len() as u32, len as u32, facts);
        arrivals.push(Arrival {
            at: Time::from_ps(at),
            packet,
            segment: None,
        });
        at += random.below(2 * mean * byte * 100 / load);
    }
    Sequence {
        arrivals,
        byte,
        grid: 1,
        tcp: Vec::new(),
    }
}

/// Share of dropped and of marked packets, and the mean time in the queue of the others in ms.
fn figures(ends: &[End]) -> [f64; 3] {
    let share = |verdict: &str| {
        let count = ends.iter().filter(|end| end.0 == verdict).count();
        count as f64 / ends.len() as f64
    };
    let left = ends.iter().filter(|end| end.0 != "dropped");
    let (sum, count) = left.fold((0.0, 0.0), |(sum, count), end| {
        (sum + end.1 as f64, count + 1.0)
    });
    [share("dropped"), share("marked"), sum / count / 1e9]
}

#[test]
fn a_fifo_decides_as_that_of_ns_3() {
    let Some(program) = &*PROGRAM else { return };
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let sequence = overload(&mut random, 2_000, 250, &MIXED);
        let limit = 1 + random.below(100) as u32;
        let config = Config::Fifo(fifo::Config {
            limit,
            ..fifo::Config::default()
        });
        let disc = format!("ns3::FifoQueueDisc\n1\nMaxSize {limit}p");
        assert_eq!(
            ours(&config, &sequence, 0),
            theirs(program, &disc, &sequence),
            "seed {seed}"
        );
    }
}

/// Name, our configuration, ns-3's, and the highest load and the lengths of packets.
type Case = (&'static str, Config, String, (u64, &'static [u64]));

/// Difference of two means at most, of the greater.
const BOUND: f64 = 0.08;

#[test]
fn on_average_disciplines_drop_and_delay_as_those_of_ns_3() {
    let Some(program) = &*PROGRAM else { return };
    let ms = Time::from_ms;
    let codel = codel::Config {
        ecn: true,
        ..codel::Config::default()
    };
    let cases: [Case; 4] = [
        (
            "codel",
            Config::Codel(codel),
            "ns3::CoDelQueueDisc\n3\nMaxSize 1000p\nUseEcn true\nMinBytes 1514".into(),
            (250, &MIXED),
        ),
        (
            "fq_codel",
            Config::FqCodel(fq_codel::Config {
                memory_limit: Size::from_bytes(1 << 30),
                ..fq_codel::Config::default()
            }),
            "ns3::FqCoDelQueueDisc\n1\nUseEcn true".into(),
            (250, &MIXED),
        ),
        // During the burst allowance ns-3's probability stays 0, which a high load makes plain.
        (
            "pie",
            Config::Pie(pie::Config {
                target: ms(15),
                ..pie::Config::default()
            }),
            "ns3::PieQueueDisc\n4\nMaxSize 1000p\nQueueDelayReference 15ms\nUseDerandomization true\nMaxBurstAllowance 150ms".into(),
            (130, &MIXED),
        ),
        // Where lengths count in bytes, ns-3 makes the probability proportional to that of the packet.
        (
            "red",
            Config::Red(red::Config {
                limit: Size::from_bytes(400_000),
                wait: true,
                bandwidth: Rate::from_bits_per_second(10_000_000).unwrap(),
                ..red::Config::default()
            }),
            "ns3::RedQueueDisc\n7\nMaxSize 400000B\nMinTh 30000\nMaxTh 90000\nLInterm 50\nMeanPktSize 1000\nQW 0.001953125\nLinkBandwidth 10Mbps".into(),
            (250, &[1_000]),
        ),
    ];
    let mut failed = Vec::new();
    for (name, config, disc, (most, lengths)) in cases {
        let (mut own, mut other) = ([0.0; 3], [0.0; 3]);
        for seed in 0..30 {
            let mut random = Random::new(seed);
            let sequence = overload(&mut random, 6_000, most, lengths);
            for (sums, ends) in [
                (&mut own, ours(&config, &sequence, seed)),
                (&mut other, theirs(program, &disc, &sequence)),
            ] {
                let figures = figures(&ends);
                sums.iter_mut()
                    .zip(figures)
                    .for_each(|(sum, figure)| *sum += figure / 30.0);
            }
        }
        println!(
            "{name}: dropped {:.4} {:.4}, marked {:.4} {:.4}, mean {:.3} ms {:.3} ms",
            own[0], other[0], own[1], other[1], own[2], other[2]
        );
        for (own, other) in own.iter().zip(other) {
            if (own - other).abs() > BOUND * own.max(other) {
                failed.push(name);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
