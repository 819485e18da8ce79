//! `cargo bench -p wireline-openflow --bench switch`: how fast the switch is, on one core, in memory; the marks beside.
//!
//! Packets have 64 bytes on the wire, and 500,000 flows do not fit a cache. `uniform` takes a flow for each packet by lot, so that
//! nothing near the processor is of use; `zipf` has a few large flows, as traffic has. Entries are five-tuples, or have one of
//! twenty masks. Times are those spent on the processor, best of several short runs, since other
//! programs load the machine.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

mod flows;
mod remote;

use flows::{Shape, Traffic, entry, fill, pattern, sequence, template};
use node::{Node, Port, Time};
use openflow::key::extract;
use openflow::message::{FlowCommand, FlowQuery, Message, MultipartRequest, Query};
use openflow::table::{Batch, Flow, Flows};
use openflow::version::Version;
use remote::{Remote, change};
use std::hint::black_box;

/// The least time of a run, seconds, and how many there are.
const RUN: f64 = 0.02;
const RUNS: usize = 7;
/// Packets of a sequence: more than caches remember.
const PACKETS: usize = 1 << 20;
/// Packets between two looks at what has left, as a live port has them.
const BATCH: usize = 64;
/// Flow-mods of a row, and how many go with one barrier.
const CHANGES: u32 = 50_000;
const GROUP: u32 = 100;

/// How long this thread has been on a processor, seconds: what other programs take is not counted.
fn on_processor() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the result of a clock that always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds of one call out of so many, best run; a call says how much it did.
fn best(mut run: impl FnMut() -> u64) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let (start, mut done) = (on_processor(), 0);
        let mut took = 0.0;
        while took < RUN {
            for _ in 0..64 {
                done += run();
            }
            took = on_processor() - start;
        }
        best = best.min(took / done as f64);
    }
    best
}

fn verdict(good: bool) -> &'static str {
    if good { "met" } else { "MISSED" }
}

fn extraction() {
    println!("extraction of the key, ns a frame; mark: 20");
    let tcp = template();
    let mut tagged = tcp.to_vec();
    tagged.splice(12..12, [0x81, 0, 0x20, 5]);
    let mut six = vec![0; 74];
    six[..12].copy_from_slice(&tcp[..12]);
    six[12..22].copy_from_slice(&[0x86, 0xDD, 0x60, 0, 0, 0, 0, 20, 6, 64]);
    six[66] = 0x50;
    let mut arp = [0; 60];
    arp[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    for (name, frame) in [
        ("TCP over IPv4", &tcp[..]),
        ("the same, tagged", &tagged),
        ("TCP over IPv6", &six),
        ("ARP", &arp),
    ] {
        let mut frames: Vec<Vec<u8>> = (0..64).map(|_| frame.to_vec()).collect();
        for (number, frame) in frames.iter_mut().enumerate() {
            frame[11] = number as u8;
        }
        let seconds = best(|| {
            for frame in &frames {
                black_box(&extract(black_box(frame), 1));
            }
            frames.len() as u64
        });
        let ns = seconds * 1e9;
        println!("  {name:<22} {ns:>6.1}   {}", verdict(ns <= 20.0));
    }
}

const CASES: [(u32, Traffic, &str); 5] = [
    (1, Traffic::Uniform, "1, uniform"),
    (1_000, Traffic::Uniform, "1,000, uniform"),
    (1_000, Traffic::Zipf, "1,000, zipf"),
    (500_000, Traffic::Zipf, "500,000, zipf"),
    (500_000, Traffic::Uniform, "500,000, uniform"),
];

/// Key and lookup alone; then the whole way through the node.
fn lookups(shape: Shape, name: &str) {
    println!("\nlookups, {name}; million a second on one core; mark: 5 at 500,000 flows");
    println!(
        "  {:<22} {:>12} {:>10} {:>14} {:>10}",
        "flows, packets", "key, lookup", "ns", "through node", "ns"
    );
    let mut made: Option<(u32, Flows, Remote)> = None;
    for (count, traffic, case) in CASES {
        if made.as_ref().is_none_or(|made| made.0 != count) {
            // Large tables are given back before others are made.
            drop(made.take());
            made = Some((
                count,
                table(shape, count),
                filled(shape, Version::V13, count),
            ));
        }
        let Some((_, flows, remote)) = &mut made else {
            continue;
        };
        let packets = sequence(traffic, count, PACKETS);
        let mut batches = packets.chunks_exact(BATCH).cycle();
        let mut frame = template();
        let (mut keys, mut found, mut room) = (Vec::new(), Vec::new(), Batch::default());
        let mut missed = 0;
        let alone = best(|| {
            keys.clear();
            for &number in batches.next().unwrap_or_default() {
                fill(&mut frame, number);
                keys.push(extract(black_box(&frame), 1).0);
            }
            flows.lookup_each(0, &keys, &mut room, &mut found);
            missed += found.iter().filter(|found| found.is_none()).count();
            BATCH as u64
        });
        assert_eq!(missed, 0, "each packet has an entry");
        let before = (remote.forwarded, 0);
        let mut given = before.1;
        let through = best(|| {
            given += pass(remote, &mut frame, batches.next().unwrap_or_default());
            BATCH as u64
        });
        assert_eq!(remote.forwarded - before.0, given, "each packet has left");
        let million = |seconds: f64| 1e-6 / seconds;
        let mark = match count {
            500_000 => verdict(million(through) >= 5.0),
            _ => "",
        };
        println!(
            "  {case:<22} {:>12.2} {:>10.1} {:>14.2} {:>10.1}   {mark}",
            million(alone),
            alone * 1e9,
            million(through),
            through * 1e9,
        );
    }
}

/// Has packets of these flows pass through the node; how many.
fn pass(remote: &mut Remote, frame: &mut [u8; 60], batch: &[u32]) -> u64 {
    remote.now += Time::from_us(1);
    let mut frames = std::mem::take(&mut remote.frames);
    for &number in batch {
        fill(frame, number);
        frames.push(remote.out.pool().take_with(&frame[..]));
    }
    let (now, out) = (remote.now, &mut remote.out);
    remote.switch.frames(now, Port(0), &mut frames, out);
    remote.frames = frames;
    remote.collect();
    batch.len() as u64
}

fn table(shape: Shape, count: u32) -> Flows {
    let mut flows = Flows::new(1, 0x5EED_0F5E_ED00);
    for number in 0..count {
        let (fields, priority) = entry(shape, number);
        let pattern = pattern(&fields);
        let flow = Flow {
            rank: priority.into(),
            ..Flow::default()
        };
        if flows.find(0, &pattern, flow.rank).is_none() {
            flows.add(&pattern, flow);
        }
    }
    flows
}

/// A switch with so many entries that output to one of three ports.
fn filled(shape: Shape, version: Version, count: u32) -> Remote {
    let mut remote = Remote::new(version);
    let mut bytes = Vec::new();
    for first in (0..count).step_by(1000) {
        bytes.clear();
        for number in first..(first + 1000).min(count) {
            let entry = entry(shape, number);
            change(
                version,
                FlowCommand::Add,
                &entry,
                2 + number % 3,
                &mut bytes,
            );
        }
        remote.send(&bytes);
    }
    assert_eq!(remote.replies.errors, 0, "all entries are good");
    remote
}

/// Adds, modifies and deletes entries beside so many others.
fn changes(version: Version, shape: Shape, present: u32) {
    let mut remote = filled(shape, version, present);
    let rounds = [
        ("add", FlowCommand::Add, 2),
        ("modify, strict", FlowCommand::ModifyStrict, 3),
        ("modify", FlowCommand::Modify, 4),
        ("delete, strict", FlowCommand::DeleteStrict, 2),
        ("add", FlowCommand::Add, 2),
        ("delete", FlowCommand::Delete, 2),
    ];
    let mut told: Vec<(&str, f64, u64)> = Vec::new();
    for (turn, (name, command, port)) in rounds.into_iter().enumerate() {
        // What is not strict is about all entries within a match, of which prefixes have many: no rate of changes.
        if shape == Shape::Mixed && (turn == 2 || turn > 3) {
            continue;
        }
        let groups: Vec<(Vec<u8>, [u8; 60])> = (0..CHANGES / GROUP)
            .map(|group| {
                let mut bytes = Vec::new();
                let mut probe = template();
                for place in 0..GROUP {
                    let number = 1_000_000 + group * GROUP + place;
                    let entry = entry(shape, number);
                    change(version, command, &entry, port, &mut bytes);
                    fill(&mut probe, number);
                }
                let barrier = Message::BarrierRequest;
                barrier.encode(version, 8, &mut bytes).expect("a barrier");
                (bytes, probe)
            })
            .collect();
        let before = remote.replies.barriers;
        let (mut spent, mut wrong) = (0.0, 0);
        for (done, (bytes, probe)) in groups.iter().enumerate() {
            let start = on_processor();
            remote.send(bytes);
            let replied = remote.replies.barriers == before + done as u64 + 1;
            spent += on_processor() - start;
            // The reply is there: what it stands for is, too.
            let forwards = remote.forwards(probe);
            let masked = shape == Shape::Mixed && command.is_delete();
            wrong += u64::from(!replied || forwards == command.is_delete() && !masked);
        }
        if turn != 4 {
            told.push((name, f64::from(CHANGES) / spent, wrong));
        }
    }
    assert_eq!(remote.replies.errors, 0, "no change was refused");
    let name = match version {
        Version::V10 => "1.0",
        Version::V13 => "1.3",
    };
    let shape = match shape {
        Shape::Exact => "exact",
        Shape::Mixed => "20 masks",
    };
    print!("  {name:<4} {shape:<9} {present:>8}");
    for column in [
        "add",
        "modify, strict",
        "modify",
        "delete, strict",
        "delete",
    ] {
        match told.iter().find(|row| row.0 == column) {
            Some((_, rate, _)) => print!(" {:>15.0}", rate / 1e3),
            None => print!(" {:>15}", "-"),
        }
    }
    let wrong: u64 = told.iter().map(|row| row.2).sum();
    let met = told.iter().all(|row| row.1 >= 200_000.0);
    println!(" {wrong:>8}   {}", verdict(met && wrong == 0));
}

/// The statistics of so many entries: until the whole answer has left.
fn statistics(version: Version, shape: Shape, count: u32) {
    let mut remote = filled(shape, version, count);
    let mut request = Vec::new();
    let query = MultipartRequest {
        more: false,
        body: Query::Flow(FlowQuery::default()),
    };
    Message::MultipartRequest(query)
        .encode(version, 9, &mut request)
        .expect("a request that there is");
    remote.reads = true;
    remote.send(&request);
    let flows = remote.replies.flows;
    remote.reads = false;
    let mut best = f64::MAX;
    for _ in 0..20 {
        let before = remote.replies;
        let start = on_processor();
        remote.send(&request);
        best = best.min(on_processor() - start);
        let parts = remote.replies.statistics - before.statistics;
        assert_eq!(remote.replies.more - before.more + 1, parts);
    }
    let name = match version {
        Version::V10 => "1.0",
        Version::V13 => "1.3",
    };
    let mark = match count {
        10_000 => verdict(best <= 10e-3),
        _ => "",
    };
    println!(
        "  {name:<4} {flows:>8} entries: {:>8.3} ms   {mark}",
        best * 1e3
    );
}

/// Packets while entries change.
fn both(present: u32) {
    let version = Version::V13;
    let mut remote = filled(Shape::Mixed, version, present);
    let packets = sequence(Traffic::Uniform, present, PACKETS);
    let mut frame = template();
    println!(
        "\npackets through the node while flow-mods arrive, 20 masks, {present} flows, uniform"
    );
    for every in [0, 10_000, 1_000, 100] {
        let mut batches = packets.chunks_exact(BATCH).cycle();
        let mut messages = [FlowCommand::Add, FlowCommand::DeleteStrict]
            .map(|command| {
                let mut bytes = Vec::new();
                let entry = entry(Shape::Mixed, 2_000_000);
                change(version, command, &entry, 2, &mut bytes);
                bytes
            })
            .into_iter()
            .cycle();
        let (mut since, mut changes, mut all) = (0, 0u64, 0u64);
        let seconds = best(|| {
            let count = pass(&mut remote, &mut frame, batches.next().unwrap_or_default());
            (since, all) = (since + count, all + count);
            while every > 0 && since >= every {
                since -= every;
                changes += 1;
                if let Some(message) = messages.next() {
                    remote.send(&message);
                }
            }
            count
        });
        println!(
            "  {:>9.0} flow-mods/s: {:>6.2} million packets/s",
            changes as f64 / all as f64 / seconds,
            1e-6 / seconds
        );
    }
}

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    // A word picks the parts whose names have it.
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |part: &str| words.is_empty() || words.iter().any(|word| part.contains(*word));
    if wanted("extraction") {
        extraction();
    }
    if wanted("lookups exact") {
        lookups(Shape::Exact, "exact five-tuples");
    }
    if wanted("lookups masks") {
        lookups(Shape::Mixed, "20 masks");
    }
    if wanted("changes") {
        all_changes();
    }
    if wanted("statistics") {
        all_statistics();
    }
    if wanted("both") {
        both(500_000);
    }
}

fn all_changes() {
    println!(
        "\nchanges by messages, a barrier after every {GROUP}, thousand a second; mark: 200, and no barrier wrong"
    );
    println!(
        "  {:<14} {:>8} {:>15} {:>15} {:>15} {:>15} {:>15} {:>8}",
        "", "present", "add", "modify, strict", "modify", "delete, strict", "delete", "wrong"
    );
    for (version, shape, present) in [
        (Version::V13, Shape::Exact, 0),
        (Version::V13, Shape::Exact, 10_000),
        (Version::V13, Shape::Exact, 500_000),
        (Version::V13, Shape::Mixed, 500_000),
        (Version::V10, Shape::Exact, 10_000),
    ] {
        changes(version, shape, present);
    }
}

fn all_statistics() {
    println!("\nflow statistics, until the whole answer has left; mark: 10 ms for 10,000");
    for (version, count) in [
        (Version::V10, 10_000),
        (Version::V13, 10_000),
        (Version::V13, 500_000),
    ] {
        statistics(version, Shape::Exact, count);
    }
}
