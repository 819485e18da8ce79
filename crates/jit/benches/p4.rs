//! `cargo bench -p wireline-jit --bench p4`: packets a second of the fast engine in memory on one core, beside the interpreter and our plain
//! L2 switch in the same run; the microbenchmarks of paper 002; compile times; table updates while forwarding.
//!
//! `-- --json FOLDER` writes a file of JSON Lines for each, which `wire plot` draws; `-- forwarding parse` runs only these of `forwarding`,
//! `parse`, `tables`, `writes`, `feed`, `compile` and `updates`. `-- profile` only forwards, for ten seconds, for a profiler to look at.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "p4/programs.rs"]
mod programs;

use jit::Jit;
use node::random::Random;
use node::{Node, Out, Port, Time};
use p4::ir::{ActionCall, KeyMatch, Program, TableId};
use p4::value::Bits;
use pipeline::architecture::{Config, Drop, Output, Pipeline};
use pipeline::control::Control;
use pipeline::engine::Engine;
use pipeline::environment::{Environment, Options};
use pipeline::interpreter::Interpreter;
use pipeline::table::{Entry, Update};
use programs::{compiled, feed, long, micro, router};
use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Duration of each measurement.
const RUN: Duration = Duration::from_millis(400);
/// Number of compilations of a program; the fastest counts.
const TRIES: usize = 3;
const FLOWS: usize = 4096;
/// Maximum number of entries that are inserted.
const MAX_INSERTS: u64 = 150_000;
/// Time limit of the insertions.
const INSERTING: Duration = Duration::from_secs(2);
/// 64-byte frames at 10 Gb/s.
const LINE_RATE: f64 = 14.88;

/// Counts what comes out.
#[derive(Default)]
struct Count {
    sent: u64,
    dropped: u64,
}

impl Output for Count {
    fn send(&mut self, port: u32, bytes: &[u8]) {
        black_box((port, bytes));
        self.sent += 1;
    }
    fn drop(&mut self, _: Drop) {
        self.dropped += 1;
    }
}

fn environment(program: &Arc<Program>) -> Arc<Environment> {
    let environment = Environment::new(Arc::clone(program), Options::default());
    Arc::new(environment.expect("its objects are small"))
}

fn pipeline(environment: &Arc<Environment>, fast: bool) -> Pipeline {
    let engine: Box<dyn Engine> = if fast {
        Box::new(Jit::new(environment).expect("this machine can run code"))
    } else {
        Box::new(Interpreter::new(environment).expect("its externs are known"))
    };
    Pipeline::new(environment, engine, &Config::default()).expect("v1model is known")
}

/// Millions of packets a second. All must come out.
fn rate(pipeline: &mut Pipeline, packets: &[Vec<u8>]) -> f64 {
    let (mut count, mut given) = (Count::default(), 0u64);
    let best = best(packets.len(), || {
        for batch in packets.chunks(256) {
            let batch = batch.iter().map(|packet| (0, packet.as_slice()));
            pipeline.process_all(Time::ZERO, batch, &mut count);
        }
        given += packets.len() as u64;
    });
    assert_eq!((count.sent, count.dropped), (given, 0), "packets were lost");
    best
}

/// Millions a second of the `count` that a round does, in the best round: others may have the processor in between, but hardly for all of a
/// round that takes less than a millisecond.
fn best(count: usize, mut round: impl FnMut()) -> f64 {
    let (start, mut best) = (Instant::now(), f64::MAX);
    while start.elapsed() < RUN {
        let before = Instant::now();
        round();
        best = best.min(before.elapsed().as_secs_f64());
    }
    count as f64 / best / 1e6
}

/// The bound: each packet copied and given away, with nothing done to it.
fn copied(packets: &[Vec<u8>]) -> f64 {
    let (mut out, mut count) = (Vec::new(), Count::default());
    let count: &mut dyn Output = &mut count;
    best(packets.len(), || {
        for packet in packets {
            out.clear();
            out.extend_from_slice(packet);
            count.send(1, &out);
        }
    })
}

fn table(program: &Program, name: &str) -> TableId {
    let index = program
        .tables
        .iter()
        .position(|table| table.name.ends_with(name));
    TableId(index.expect("the program has this table") as u32)
}

fn call(program: &Program, id: TableId, name: &str, arguments: Vec<Bits>) -> ActionCall {
    let actions = &program.tables[id.index()].actions;
    let of = |action: &p4::ir::TableAction| &program.actions[action.action.index()].name;
    let index = actions.iter().position(|action| of(action).ends_with(name));
    ActionCall {
        action: index.expect("the table has this action") as u32,
        arguments,
    }
}

fn own_mac() -> u64 {
    0x0200_0000_0001
}

fn prefix(number: u64) -> KeyMatch {
    // 10,000 prefixes of 24 bits from 10.0.0.0 on, so that each packet's address has one.
    KeyMatch::Prefix(Bits::new(32, 0x0A00_0000 + (number << 8)), 24)
}

/// Fills a router's tables: so many routes over 16 next hops, so many entries of the filter that fit no packet.
fn fill(environment: &Environment, routes: u64, filter: u64) {
    let program = &*environment.program;
    let insert = |id, entry| {
        environment
            .tables
            .update(&Update::Insert(id, entry))
            .expect("it fits");
    };
    let own = table(program, "own");
    let key = vec![KeyMatch::Exact(Bits::new(48, own_mac()))];
    insert(own, Entry::new(key, call(program, own, "NoAction", vec![])));
    let id = table(program, "routes");
    let entries = (0..routes).map(|number| {
        let action = call(program, id, "route", vec![Bits::new(16, number % 16)]);
        Update::Insert(id, Entry::new(vec![prefix(number)], action))
    });
    let entries: Vec<_> = entries.collect();
    environment.tables.batch(&entries).expect("they fit");
    let hops = table(program, "hops");
    for hop in 0..16u64 {
        let arguments = vec![
            Bits::new(9, hop),
            Bits::new(48, 0x0200_0000_1000 + hop),
            Bits::new(48, own_mac()),
        ];
        let key = vec![KeyMatch::Exact(Bits::new(16, hop))];
        insert(
            hops,
            Entry::new(key, call(program, hops, "next_hop", arguments)),
        );
    }
    let mut random = Random::new(7);
    for number in 0..filter {
        let id = table(program, "acl");
        let length = [8, 16, 24, 32][number as usize % 4];
        let mask = (u64::from(u32::MAX) << (32 - length)) & u64::from(u32::MAX);
        // No packet comes from 192.0.0.0/2.
        let source = (0xC000_0000 | random.bits() & 0x3FFF_FFFF) & mask;
        let destination = 0x0A00_0000 | random.bits() & 0xFF_0000;
        let key = vec![
            KeyMatch::Mask(Bits::new(32, source), Bits::new(32, mask)),
            KeyMatch::Mask(Bits::new(32, destination), Bits::new(32, 0xFFFF_0000u32)),
            KeyMatch::Any,
        ];
        let mut entry = Entry::new(key, call(program, id, "deny", vec![]));
        entry.priority = number as u32 + 1;
        insert(id, entry);
    }
}

/// UDP over IPv4 to addresses all over the routes.
fn packets(routes: u64, length: usize) -> Vec<Vec<u8>> {
    let mut random = Random::new(1);
    (0..FLOWS)
        .map(|_| {
            let address = 0x0A00_0000 + ((random.bits() % routes) << 8) + random.bits() % 256;
            let mut bytes = Vec::new();
            bytes.extend(&own_mac().to_be_bytes()[2..]);
            bytes.extend([2, 0, 0, 0, 0, 9, 8, 0]);
            let mut ip = vec![
                0x45,
                0,
                0,
                (length - 14) as u8,
                0,
                0,
                0,
                0,
                64,
                17,
                0,
                0,
                10,
                1,
                2,
                3,
            ];
            ip.extend((address as u32).to_be_bytes());
            let sum: u32 = ip
                .chunks(2)
                .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
                .sum();
            let sum = (sum & 0xFFFF) + (sum >> 16);
            let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            bytes.extend(ip);
            bytes.resize(length, 0);
            bytes
        })
        .collect()
}

/// Our plain L2 switch on the same frames, each given back.
fn plain_switch(packets: &[Vec<u8>]) -> f64 {
    let config = nodes::switch::Config {
        ports: 2,
        ..Default::default()
    };
    let mut switch = nodes::switch::Switch::new(config).expect("a good configuration");
    let (mut out, mut lot) = (Out::default(), Vec::new());
    let mut teach = packets[0].clone();
    teach[6..12].copy_from_slice(&own_mac().to_be_bytes()[2..]);
    teach[0..6].fill(0xFF);
    lot.push(out.pool().take_with(&teach));
    switch.frames(Time::ZERO, Port(1), &mut lot, &mut out);
    best(packets.len(), || {
        for packet in packets {
            lot.push(out.pool().take_with(packet));
            switch.frames(Time::ZERO, Port(0), &mut lot, &mut out);
            let sent: Vec<_> = out.sends().collect();
            for departure in sent {
                out.done(departure.frame);
            }
        }
    })
}

/// What was measured, as a table and as JSON Lines.
struct Report {
    folder: Option<PathBuf>,
    /// Those that are run; all when it is empty.
    wanted: Vec<String>,
}

impl Report {
    fn wants(&self, bench: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == bench)
    }

    fn row(&self, what: &str, value: f64, unit: &str, ratio: Option<(f64, &str)>) {
        let ratio = ratio.map_or(String::new(), |(times, of)| format!("{times:8.2} x {of}"));
        println!("{what:<44} {value:>10.2} {unit:<10} {ratio}");
    }

    /// A line of a benchmark's file, which the first one begins.
    fn json(&self, bench: &str, first: bool, what: &str, values: &[(&str, f64)]) {
        let Some(folder) = &self.folder else { return };
        let path = folder.join(format!("p4-{bench}.jsonl"));
        let mut options = std::fs::OpenOptions::new();
        options
            .create(true)
            .write(true)
            .append(!first)
            .truncate(first);
        let mut line =
            format!("{{\"schema\":\"wireline.p4/1\",\"type\":\"bench\",\"bench\":\"{what}\"");
        for (name, value) in values {
            line += &format!(",\"{name}\":{value}");
        }
        let file = options.open(&path);
        let done = file.and_then(|mut file| writeln!(file, "{line}}}"));
        done.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn forwarding(report: &Report) {
    let plain = plain_switch(&packets(10_000, 64));
    report.row("our plain L2 switch node", plain, "Mpps", None);
    let bound = copied(&packets(10_000, 64));
    report.row("64 B copied and given away", bound, "Mpps", None);
    report.json(
        "forwarding",
        true,
        "64 B copied and given away",
        &[("fast_mpps", bound)],
    );
    report.json(
        "forwarding",
        false,
        "our plain L2 switch",
        &[("fast_mpps", plain)],
    );
    let mut without = 0.0;
    for (filter, what) in [
        (0, "l2l3, 10,000 routes, 64 B"),
        (500, "the same behind 500 ternary entries"),
    ] {
        let program = compiled(&router(filter > 0));
        let mut rates = [0.0; 2];
        for (fast, rate_of) in [(true, 0), (false, 1)] {
            let environment = environment(&program);
            fill(&environment, 10_000, filter);
            rates[rate_of] = rate(&mut pipeline(&environment, fast), &packets(10_000, 64));
        }
        let ratio = if filter == 0 {
            (rates[0] / LINE_RATE, "10 Gb/s")
        } else {
            (rates[0] / without, "without")
        };
        without = rates[0];
        report.row(what, rates[0], "Mpps", Some(ratio));
        report.row(
            "  interpreter",
            rates[1],
            "Mpps",
            Some((rates[0] / rates[1], "slower")),
        );
        let values = [
            ("ternary", filter as f64),
            ("fast_mpps", rates[0]),
            ("interpreter_mpps", rates[1]),
            ("of_line_rate", rates[0] / LINE_RATE),
        ];
        report.json("forwarding", false, what, &values);
    }
}

/// Forwards for long enough for a profiler.
fn profile() {
    let environment = environment(&compiled(&router(false)));
    fill(&environment, 10_000, 0);
    let mut pipeline = pipeline(&environment, true);
    let packets = packets(10_000, 64);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        rate(&mut pipeline, &packets);
    }
}

/// The paper's microbenchmarks: one thing grows, and each point is a program or a packet of its own.
fn micro_benchmarks(report: &Report) {
    let one = |bench: &str, x: &str, at: usize, first: bool, text: &str, packets: &[Vec<u8>]| {
        let environment = environment(&compiled(text));
        let fast = rate(&mut pipeline(&environment, true), packets);
        let slow = rate(&mut pipeline(&environment, false), packets);
        let size = packets[0].len();
        let what = format!("{bench}: {at} {x}, {size} B");
        report.row(&what, fast, "Mpps", Some((fast / slow, "interpreter")));
        let values = [
            (x, at as f64),
            ("bytes", size as f64),
            ("fast_mpps", fast),
            ("interpreter_mpps", slow),
            ("fast_ns", 1e3 / fast),
            ("interpreter_ns", 1e3 / slow),
            ("fast_gbps", fast * size as f64 * 8.0 / 1e3),
        ];
        report.json(bench, first, bench, &values);
    };
    let zeros = vec![vec![0u8; 256]; 256];
    if report.wants("parse") {
        for headers in [1, 2, 4, 8, 16] {
            let text = micro(headers, 0, 0);
            one("parse", "headers", headers, headers == 1, &text, &zeros);
        }
    }
    if report.wants("tables") {
        for tables in [1, 2, 4, 8, 16, 32] {
            let text = micro(1, tables, 0);
            one("tables", "tables", tables, tables == 1, &text, &zeros);
        }
    }
    if report.wants("writes") {
        for writes in [8, 16, 32, 64] {
            // 16 headers of four fields each, so that each write is of another field.
            let text = micro(16, 0, writes);
            one("writes", "writes", writes, writes == 8, &text, &zeros);
        }
    }
    if report.wants("feed") {
        let text = feed();
        for size in [256usize, 512, 768, 1024] {
            let entries = (size - 20) / 32;
            let mut packet = vec![0u8; size];
            packet[19] = entries as u8;
            let packets = vec![packet; 256];
            one("feed", "entries", entries, size == 256, &text, &packets);
        }
    }
}

fn compile_times(report: &Report) {
    let packet = &packets(10_000, 64)[0];
    for (number, (what, text, limit)) in [
        ("l2l3, text to first packet", router(false), 100.0),
        ("5,000 lines, text to first packet", long(), 2000.0),
    ]
    .into_iter()
    .enumerate()
    {
        let lines = text.lines().count();
        let (mut front, mut all) = (f64::MAX, f64::MAX);
        for _ in 0..TRIES {
            let start = Instant::now();
            let program = compiled(&text);
            let read = start.elapsed().as_secs_f64() * 1e3;
            let environment = environment(&program);
            let mut pipeline = pipeline(&environment, true);
            pipeline.process(Time::ZERO, 0, packet, &mut Count::default());
            let whole = start.elapsed().as_secs_f64() * 1e3;
            if whole < all {
                (front, all) = (read, whole);
            }
        }
        report.row(
            &format!("{what} ({lines} lines)"),
            all,
            "ms",
            Some((all / limit, "the limit")),
        );
        report.row("  of that the front end and the passes", front, "ms", None);
        let values = [
            ("lines", lines as f64),
            ("ms", all),
            ("front_ms", front),
            ("limit_ms", limit),
        ];
        report.json("compile", number == 0, what, &values);
    }
}

/// An entry of a table of [`programs::filled`].
fn filling(kind: &str, number: u64) -> (Vec<KeyMatch>, u32) {
    let bits = |width: u32, value: u64| Bits::new(width, value);
    // Scattered as hashes are, so that nothing but the number of entries helps.
    let address = number.wrapping_mul(0x9e37_79b1) & 0xFFFF_FFFF;
    let all = bits(32, 0xFFFF_FFFF);
    match kind {
        "exact" => (vec![KeyMatch::Exact(bits(32, address))], 0),
        "lpm" => (vec![KeyMatch::Prefix(bits(32, address), 32)], 0),
        "ternary" => {
            // The masks of a packet filter: prefixes of addresses, with or without a port.
            let length = 20 + (number % 13) as u32;
            let mask = (u64::from(u32::MAX) << (32 - length)) & 0xFFFF_FFFF;
            let port = match number % 3 {
                0 => KeyMatch::Any,
                _ => KeyMatch::Mask(bits(16, number % 50_000), bits(16, 0xFFFF)),
            };
            let source = KeyMatch::Mask(bits(32, address & mask), bits(32, mask));
            let destination = KeyMatch::Mask(bits(32, number), all);
            (vec![source, destination, port], 1 + (address >> 12) as u32)
        }
        _ => {
            let port = number % 60_000;
            let ports = KeyMatch::Range(bits(16, port), bits(16, port + 7));
            let others = KeyMatch::Range(bits(16, 1024), bits(16, 65_535));
            let destination = KeyMatch::Mask(bits(32, address), all);
            (vec![destination, others, ports], 1 + (address >> 12) as u32)
        }
    }
}

/// Inserts by one thread while another forwards; every packet must come out.
fn updates(report: &Report) {
    for (place, kind) in ["exact", "lpm", "ternary", "range"].into_iter().enumerate() {
        let program = compiled(&programs::filled(kind));
        let environment = environment(&program);
        let id = table(&program, "filled");
        let forward = call(&program, id, "forward", vec![Bits::new(9, 2u32)]);
        let entries: Vec<Update> = (0..MAX_INSERTS)
            .map(|number| {
                let (keys, priority) = filling(kind, number);
                Update::Insert(id, Entry::new(keys, forward.clone()).priority(priority))
            })
            .collect();
        let mut pipeline = pipeline(&environment, true);
        let packets = packets(10_000, 64);
        let without = rate(&mut pipeline, &packets);
        let (stop, given, out) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let mut inserted = 0;
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut count = Count::default();
                while !stop.load(Ordering::Relaxed) {
                    for batch in packets.chunks(32) {
                        let batch = batch.iter().map(|packet| (0, packet.as_slice()));
                        pipeline.process_all(Time::ZERO, batch, &mut count);
                    }
                    given.fetch_add(packets.len() as u64, Ordering::Relaxed);
                }
                out.store(count.sent, Ordering::Relaxed);
            });
            for entry in &entries {
                environment.tables.update(entry).expect("it fits");
                inserted += 1;
                if inserted % 64 == 0 && start.elapsed() > INSERTING {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        let seconds = start.elapsed().as_secs_f64();
        let (given, out) = (given.into_inner(), out.into_inner());
        let inserts = f64::from(inserted) / seconds;
        let (mpps, lost) = (given as f64 / seconds / 1e6, (given - out) as f64);
        let what = format!("{kind} inserts one by one while forwarding");
        report.row(
            &what,
            inserts / 1e3,
            "k/s",
            Some((inserts / 2e5, "200,000/s")),
        );
        report.row(
            "  packets meanwhile",
            mpps,
            "Mpps",
            Some((mpps / without, "without")),
        );
        report.row("  of them lost", lost, "packets", None);
        // The same with nobody about, and in batches.
        let mut apart = [0.0; 2];
        for (batch, apart) in [1, 1000].into_iter().zip(&mut apart) {
            let environment = self::environment(&program);
            let start = Instant::now();
            let mut done = 0;
            for entries in entries.chunks(batch) {
                environment.tables.batch(entries).expect("they fit");
                done += entries.len();
                if done % 64 == 0 && start.elapsed() > INSERTING {
                    break;
                }
            }
            *apart = done as f64 / start.elapsed().as_secs_f64();
        }
        report.row("  with no packets", apart[0] / 1e3, "k/s", None);
        report.row(
            "  with no packets, 1,000 at a time",
            apart[1] / 1e3,
            "k/s",
            None,
        );
        if kind == "exact" {
            let environment = self::environment(&program);
            let control = Control::new(Arc::clone(&environment));
            let (start, mut done) = (Instant::now(), 0u32);
            while start.elapsed() < INSERTING / 4 {
                let line = format!("table add filled {done:#x} do forward 2");
                control.say(&line).expect("it fits");
                done += 1;
            }
            let rate = f64::from(done) / start.elapsed().as_secs_f64();
            report.row("  in words, a line each", rate / 1e3, "k/s", None);
        }
        let values = [
            ("inserts_per_s", inserts),
            ("mpps", mpps),
            ("mpps_without", without),
            ("lost", lost),
            ("alone_per_s", apart[0]),
            ("batches_per_s", apart[1]),
        ];
        report.json("updates", place == 0, kind, &values);
    }
}

fn main() {
    let mut report = Report {
        folder: None,
        wanted: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            // What cargo adds.
            "--bench" => {}
            "--json" => {
                let folder = PathBuf::from(arguments.next().expect("--json FOLDER"));
                std::fs::create_dir_all(&folder).expect("a folder to write to");
                report.folder = Some(folder);
            }
            _ => report.wanted.push(argument),
        }
    }
    if report.wanted == ["profile"] {
        return profile();
    }
    if report.wants("forwarding") {
        forwarding(&report);
    }
    if report.wants("compile") {
        compile_times(&report);
    }
    if report.wants("updates") {
        updates(&report);
    }
    micro_benchmarks(&report);
}
